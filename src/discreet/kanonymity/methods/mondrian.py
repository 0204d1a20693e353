"""Mondrian [LDR06]_, a baseline of the paper: cut the table at medians until no cut leaves k rows on each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.kanonymity.arrays import arrays_of
from discreet.kanonymity.candidate import CandidateClasses, SearchLimits, require_feasible
from discreet.kanonymity.search.parts import SPLITTING

if TYPE_CHECKING:
    from discreet.kanonymity.problem import Problem

ROWS_BETWEEN_CLOCK_READS = SPLITTING.rows_between_clock_reads // 10
"""Rows between two looks at the clock, a part more at most: a row takes ten times as long as in splitting."""


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
    >>> Mondrian().solve(problem, 2, SearchLimits()).labels.tolist()
    [1, 0, 0, 0, 1]
    """

    strict: bool = True

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Split until no part can be split or the time is over; a part that is left becomes a class.

        InvalidProblemError or InfeasibleError as for :func:`~discreet.kanonymity.candidate.require_feasible`. Demands
        and suppression are not considered; there is no lower bound.

        Complexity
        ----------
        ``O(m n log(n / k))`` looks and a sort of each part.
        """
        from discreet.kanonymity.kernels.medians import cut_at_medians, start_parts

        require_feasible(problem.n, k)
        arrays = arrays_of(problem)
        parts = start_parts(arrays, k)
        while parts.counts[0] and limits.left > 0:
            cut_at_medians(arrays, k, self.strict, parts, ROWS_BETWEEN_CLOCK_READS)
        for place, (begin, stop) in enumerate(parts.stack[: parts.counts[0]].tolist()):
            parts.labels[parts.rows[begin:stop]] = parts.counts[1] + place
        return CandidateClasses("mondrian", parts.labels, note="The table was cut at medians.")
