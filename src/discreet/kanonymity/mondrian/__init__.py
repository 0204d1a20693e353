"""Mondrian [LDR06]_, a baseline of the paper: cut the table at medians until no cut leaves k rows on each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.kanonymity._arrays import arrays_of
from discreet.kanonymity.candidate import Candidate, Limits, require_feasible

if TYPE_CHECKING:
    from discreet.kanonymity.problem import Problem

__all__ = ["Mondrian"]


@final
@dataclass(frozen=True)
class Mondrian:
    """Cut the widest column at its median, then each part, while every part keeps k rows.

    Parameters
    ----------
    strict
        Whether equal values stay together; relaxed cuts divide them and always succeed.

    Notes
    -----
    Columns without a cut are passed over for the next widest. Width is what a cell costs, weights included. Sets and
    taxonomies are cut in the order of their codes, which for a taxonomy is that of its leaves. What is published is the
    box of a part, not the region that cuts made. The settings of the program that the paper ran are unknown (E17).

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> Mondrian().solve(problem, 2, Limits()).labels.tolist()
    [1, 0, 0, 0, 1]
    """

    strict: bool = True

    def solve(self, problem: Problem, k: int, limits: Limits) -> Candidate:  # noqa: ARG002 - every method has them
        """Cut until nothing can be cut.

        Complexity
        ----------
        ``O(m n log(n / k))`` looks and a sort of each part.
        """
        from discreet.kanonymity.mondrian._kernels import cut_at_medians

        require_feasible(problem, k)
        labels = cut_at_medians(arrays_of(problem), k, self.strict)
        return Candidate("mondrian", labels, note="The table was cut at medians.")
