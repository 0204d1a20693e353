"""Mondrian [LDR06]_, a baseline of the paper: cut the table at medians until no cut leaves k rows on each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.candidate import CandidateClasses, SearchLimits, require_feasible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


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
        Rounds of ``O(n (m + log n))``, in each of which all parts are cut: about ``log2(n / k)`` of them, and one more
        for each column that is passed over.
        """
        require_feasible(problem.n, k)
        labels, tried = np.zeros(problem.n, dtype=np.int32), np.zeros(1, dtype=np.int64)
        while limits.left > 0:
            boxes, parts = problem.boxes(labels), np.arange(len(tried))
            by_width = np.argsort(-boxes.costs, axis=1, kind="stable")
            column = by_width[parts, np.minimum(tried, problem.m - 1)]
            is_open = (boxes.sizes >= 2 * k) & (tried < problem.m)
            is_open &= boxes.costs[parts, column] > 0
            if not is_open.any():
                break
            tried = self._cut(problem, labels, column, is_open, tried, k)
        return CandidateClasses("mondrian", labels)

    def _cut(  # noqa: PLR0917 - one round over all parts
        self,
        problem: Problem,
        labels: NDArray[np.int32],
        column: NDArray[np.int64],
        is_open: NDArray[np.bool_],
        tried: NDArray[np.int64],
        k: int,
    ) -> NDArray[np.int64]:
        """Return how many columns of each part, old and new, were tried in vain, after a cut of each open part.

        `labels` ``(n,)`` are changed in place: the upper side of a cut is a new part. The others are ``(parts,)``.
        Strict: the median goes below, or above where that alone leaves k rows on each side. A sort.
        """
        rows = np.flatnonzero(is_open[labels])
        values = problem.codes[rows, column[labels[rows]]]
        order = np.lexsort((values, labels[rows]))
        rows, values = rows[order], values[order]
        parts, first, sizes = np.unique(labels[rows], return_index=True, return_counts=True)
        below = sizes // 2
        if self.strict:
            median = np.repeat(values[first + (sizes - 1) // 2], sizes)
            up_to = np.add.reduceat((values <= median).astype(np.int64), first)
            less = np.add.reduceat((values < median).astype(np.int64), first)
            fit = [(side >= k) & (sizes - side >= k) for side in (up_to, less)]
            below = np.select(fit, [up_to, less], sizes)
        is_cut = below < sizes
        above = np.arange(len(rows)) - np.repeat(first, sizes) >= np.repeat(below, sizes)
        number = len(tried) - 1 + np.cumsum(is_cut)
        labels[rows[above]] = np.repeat(number, sizes)[above]
        tried[parts] = np.where(is_cut, 0, tried[parts] + 1)
        return np.append(tried, np.zeros(int(is_cut.sum()), dtype=np.int64))
