"""Local search: unions of near classes are partitioned anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.arrays import points_of
from discreet.kanonymity.bound import near_points
from discreet.kanonymity.candidate import (
    CandidateClasses,
    SearchInterrupted,
    SearchLimits,
    order_of,
    require_feasible,
    without_gaps,
)
from discreet.kanonymity.demand import Demand, failing_classes, require_whole, wanted_of
from discreet.kanonymity.methods.segmentation import Segmentation
from discreet.kanonymity.search.local import (
    LOCAL,
    state_of,
    unions_for,
    unions_under_demands,
    work,
)
from discreet.kanonymity.search.merging import merge_failing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class LocalSearch:
    r"""Improve a partition: pick a class and some near it, and partition their rows anew if that loses no more.

    Where rows may be suppressed, one of them is left out at times, and one that was left out taken back.

    Demands such as l-diversity are kept by merging, so that all rows as one class hold them if any partition does.
    Each class that fails is first merged with one near to it until all hold; what is partitioned anew is kept only
    where each part meets the demands. Classes then have no largest size: that :math:`2k - 1` rows suffice does not
    stand here, since splitting may break a demand.

    Parameters
    ----------
    rounds
        Unions to look at, at most; ``None`` for as many as fit into the time.
    nearest
        Near points that are kept for each point.
    seed
        Where the search begins to look. It decides no question of privacy.
    demands
        What each class must hold besides k rows; not combined with suppression.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60, 52]}, [Numeric("age")])
    >>> start = np.array([0, 1, 0, 0, 1, 1], dtype=np.int32)
    >>> labels = LocalSearch(rounds=5).solve(problem, 3, SearchLimits(start=start)).labels
    >>> np.flatnonzero(labels == labels[0]).tolist()
    [0, 4, 5]
    """

    rounds: int | None = None
    nearest: int = 16
    seed: int = 1
    demands: tuple[Demand, ...] = ()

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Search until the rounds or the time are over; without either, for 60 rounds a class, at least 300 and 60 k.

        Raises
        ------
        InvalidProblemError
            For more suppressed rows than allowed, and suppression beside demands.
        InfeasibleError
            When all rows as one class fail a demand, so that every partition does.

        Complexity
        ----------
        ``O(p^2 m)`` once for the near points of p different rows, where that takes three seconds or less; else windows
        of m orders are looked at.
        """
        from discreet.kanonymity.kernels.unions import NearTable

        require_feasible(problem.n, k)
        if self.demands and limits.suppress:
            raise InvalidProblemError("suppress", "0, with demands on sensitive columns", "more")
        require_whole(self.demands, problem.n)
        start = limits.start
        if start is None:
            start = Segmentation(3).solve(problem, k, limits).labels
        if (start < 0).sum() > limits.suppress:
            raise InvalidProblemError("start", "no more suppressed rows than allowed", "more")
        points = points_of(problem, order_of(problem, range(problem.m)))
        near = near_points(problem, points, self.nearest, limits)
        table = NearTable(points.of_row, points.rows, points.first, near)
        name, wanted = "local-search", None
        if self.demands:
            name, wanted = "diverse", wanted_of(self.demands)
            begun = merge_failing(
                problem,
                without_gaps(start).astype(np.int32),
                self._failing,
                limits,
                window=LOCAL.partners_considered,
            )
            unions = unions_under_demands(begun, k)
        else:
            begun = split_large(problem, start, k)
            unions = unions_for(k)
        state = state_of(problem, begun, k, limits.suppress, self.seed)
        stopped = False
        try:
            work(points.arrays, table, state, wanted, unions, k, self.rounds, limits)
        except KeyboardInterrupt:
            # No kernel is left half-way: the interpreter hears the signal after it.
            stopped = True
        labels = np.full(problem.n, -1, dtype=np.int32)
        unsuppressed = state.labels >= 0
        labels[unsuppressed] = without_gaps(state.labels[unsuppressed])
        candidate = CandidateClasses(name, labels)
        if stopped:
            raise SearchInterrupted(candidate)
        return candidate

    def _failing(self, labels: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Mark the classes that fail a demand; rows of label -1 are in none."""
        rows = np.flatnonzero(labels >= 0)
        some = [replace(demand, codes=demand.codes[rows]) for demand in self.demands]
        return failing_classes(some, labels[rows].astype(np.int64))


def split_large(problem: Problem, labels: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Return labels ``(n,)`` with classes of 2k rows or more split into classes of k to 2k - 1; no loss rises.

    `labels` are 0 or more, and -1 for suppressed rows, which stays; so does a class of fewer than k rows. Rows of a
    class are cut in the order of their codes, the first column first. Classes are numbered anew without gaps. A sort
    of the rows: ``O(n m log n)``.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [5, 2, 5, 2, 2]}, [Numeric("age")])
    >>> split_large(problem, np.zeros(5, dtype=np.int32), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    by_value = order_of(problem, range(problem.m))
    by_value = by_value[labels[by_value] >= 0]
    order = by_value[np.argsort(labels[by_value], kind="stable")]
    sizes = np.unique(labels[order], return_counts=True)[1]
    parts = np.maximum(sizes // k, 1)
    cut = np.full(int(parts.sum()), k, dtype=np.int64)
    cut[np.cumsum(parts) - 1] += sizes - k * parts
    split = np.full(problem.n, -1, dtype=np.int32)
    split[order] = np.repeat(np.arange(len(cut), dtype=np.int32), cut)
    return split
