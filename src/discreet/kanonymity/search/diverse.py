"""The search under demands: merge classes that fail, then partition unions of near classes anew."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
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
from discreet.kanonymity.search.merging import merge_failing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays, Points
    from discreet.kanonymity.candidate import Method
    from discreet.kanonymity.demand import Wanted
    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class DiverseTuning:
    """Measured limits of the search under demands.

    Parameters
    ----------
    near_points_kept
        Near points that are kept for each point.
    partners_considered
        Classes next in number among which a failing class looks for a partner; methods number near classes
        alike.
    unions_per_class, more_unions_per_first_class, first_classes
        Unions for each class, where neither rounds nor a time limit are given, and more of them for so many
        classes: from grown classes of small tables the search then loses no more than from split ones (dates,
        1,500 rows, k = 4, l = 3: 4.6 % more at 20 unions, .6 % at 60; 2026-11).
    """

    near_points_kept: int = 12
    partners_considered: int = 1_000
    unions_per_class: int = 20
    more_unions_per_first_class: int = 40
    first_classes: int = 1_000


DIVERSE = DiverseTuning()


@final
@dataclass(frozen=True)
class Diverse:
    r"""Find classes of k rows or more that hold demands on sensitive columns.

    Demands such as l-diversity are kept by merging, so that all rows as one class hold them if any partition does.
    Starting from a k-anonymous partition, each class that fails is merged with one near to it until all hold; then
    unions of near classes are partitioned anew, and kept only where each part meets the demands. Classes have no
    largest size: that :math:`2k - 1` rows suffice does not stand here, since splitting may break a demand.

    Parameters
    ----------
    demands
        What is asked; one or more.
    first
        Gives the partition to begin with, where the limits have none.
    rounds
        Unions to look at; ``None`` for as many as fit into the time. Without a time limit: sixty for each of the first
        thousand classes, and twenty for each of the others.
    seed
        Where the search begins to look. It decides no question of privacy.

    Raises
    ------
    InvalidProblemError
        Without demands.

    Examples
    --------
    >>> from discreet.kanonymity.models import DistinctDiversity
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [20, 21, 40, 41]}, [Numeric("age")])
    >>> ill = Demand("ill", DistinctDiversity(2), np.array([0, 0, 1, 1]))
    >>> labels = Diverse((ill,)).solve(problem, 2, SearchLimits()).labels
    >>> bool(failing_classes([ill], labels).any())
    False
    """

    demands: tuple[Demand, ...]
    first: Method = field(default_factory=lambda: Segmentation(3))
    rounds: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.demands:
            raise InvalidProblemError("demands", "one or more", "none")

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Merge classes until all demands hold, then search until the rounds or the time are over.

        Raises
        ------
        InfeasibleError
            When all rows as one class fail a demand, so that every partition does.
        """
        require_feasible(problem.n, k)
        if limits.suppress:
            raise InvalidProblemError("suppress", "0, with demands on sensitive columns", "more")
        require_whole(self.demands, problem.n)
        start = limits.start
        if start is None:
            start = self.first.solve(problem, k, limits).labels
        points = points_of(problem, order_of(problem, range(problem.m)))
        near = near_points(problem, points, DIVERSE.near_points_kept, limits)
        wanted = wanted_of(self.demands)
        start = without_gaps(start).astype(np.int32)
        start = merge_failing(
            problem, start, self._failing, limits, window=DIVERSE.partners_considered
        )
        labels = start.astype(np.int64)
        stopped = False
        try:
            self._work(points, near, wanted, labels, k, limits)
        except KeyboardInterrupt:
            stopped = True
        candidate = CandidateClasses(
            "diverse",
            without_gaps(labels).astype(np.int32),
            note="Classes were merged until each met the demands, and near ones partitioned anew.",
        )
        if stopped:
            raise SearchInterrupted(candidate)
        return candidate

    def _failing(self, labels: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Mark the classes that fail a demand; rows of label -1 are in none."""
        rows = np.flatnonzero(labels >= 0)
        some = [replace(demand, codes=demand.codes[rows]) for demand in self.demands]
        return failing_classes(some, labels[rows].astype(np.int64))

    def _work(  # noqa: PLR0917 - the parts of one search
        self,
        points: Points,
        near: NDArray[np.int32],
        wanted: Wanted,
        labels: NDArray[np.int64],
        k: int,
        limits: SearchLimits,
    ) -> None:
        """Improve `labels` ``(n,)`` in place: cut unions of near classes anew, until rounds or time are over.

        `near` ``(points, n_near)`` are near points. A round costs the square of its union's rows.
        """
        from discreet.kanonymity.kernels.diverse import improve_diverse

        draw = np.array([self.seed * 104729 % 2147483646 + 1], dtype=np.int64)
        rounds = self.rounds
        if rounds is None and limits.left == float("inf"):
            classes = int(labels.max()) + 1
            more = DIVERSE.more_unions_per_first_class * min(classes, DIVERSE.first_classes)
            rounds = max(300, DIVERSE.unions_per_class * classes + more)
        arrays: Arrays = points.arrays
        done, portion, turn = 0, 64, 0
        sizes = np.bincount(labels)
        while (rounds is None or done < rounds) and (done == 0 or limits.left > 0):
            # Larger unions now and then, among them such as hold the largest classes.
            most = (3 * k + 2 * int(np.median(sizes)), 6 * k, 12 * k, int(sizes.max()) + 4 * k)[
                turn % 4
            ]
            most = min(max(most, 4 * k, 16), 400)
            n_unions = portion if rounds is None else min(portion, rounds - done)
            began = clock()
            improve_diverse(
                arrays,
                wanted,
                points.of_row,
                points.rows.astype(np.int64),
                points.first,
                near,
                labels,
                k,
                most,
                draw,
                n_unions,
            )
            took = max(clock() - began, 1e-6)
            done += n_unions
            turn += 1
            if rounds is None:
                portion = int(min(4 * portion, 1_000_000, max(4, portion * 0.1 / took)))
            else:
                portion = max(16, rounds // 16)
            sizes = np.bincount(labels)
            sizes = sizes[sizes > 0]
