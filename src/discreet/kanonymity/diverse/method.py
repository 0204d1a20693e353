"""The search under demands: merge classes that fail, then partition unions of near classes anew."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity._arrays import points_of
from discreet.kanonymity.candidate import (
    Candidate,
    Interrupted,
    Limits,
    order_of,
    require_feasible,
)
from discreet.kanonymity.diverse.demand import (
    Demand,
    failing_classes,
    require_whole,
    wanted_of,
)
from discreet.kanonymity.segmentation import Segmentation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity._arrays import Arrays, Points
    from discreet.kanonymity.candidate import Method
    from discreet.kanonymity.diverse.demand import Wanted
    from discreet.kanonymity.problem import Problem

__all__ = ["Diverse"]

PAIR = 0.7e-9
"""Seconds for a pair of points and a column, as measured."""

EVERY_PAIR = 10.0
"""Seconds that all pairs may take, and at most a fifth of the time that is left."""

NEAREST = 12

ROUNDS = 20
"""Unions for each class, where neither rounds nor a time limit are given."""


@final
@dataclass(frozen=True)
class Diverse:
    r"""Find classes of k rows or more that hold demands on sensitive columns.

    Demands such as l-diversity are kept by merging, so that all rows as one class hold them if any partition does.
    Starting from a k-anonymous partition, each class that fails is merged with one near to it until all hold; then
    unions of near classes are partitioned anew, and kept only where each part holds what is asked. Classes have no
    largest size: that :math:`2k - 1` rows suffice does not stand here, since splitting may break a demand.

    Parameters
    ----------
    demands
        What is asked; one or more.
    first
        Gives the partition to begin with, where the limits have none.
    rounds
        Unions to look at; ``None`` for as many as fit into the time, or twenty for each class without one.
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
    >>> labels = Diverse((ill,)).solve(problem, 2, Limits()).labels
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

    def solve(self, problem: Problem, k: int, limits: Limits) -> Candidate:
        """Merge, then search until the rounds or the time are over.

        Raises
        ------
        InfeasibleError
            When all rows as one class fail a demand, so that every partition does.
        """
        require_feasible(problem, k)
        if limits.suppress:
            raise InvalidProblemError("suppress", "0, with demands on sensitive columns", "more")
        require_whole(self.demands, problem.n)
        start = limits.start
        if start is None:
            start = self.first.solve(problem, k, limits).labels
        points = points_of(problem, order_of(problem, range(problem.m)))
        near = _near(problem, points, min(EVERY_PAIR, limits.left / 5))
        wanted = wanted_of(self.demands)
        labels = self._merged(points, near, wanted, start)
        stopped = False
        try:
            self._work(points, near, wanted, labels, k, limits)
        except KeyboardInterrupt:
            stopped = True
        found = Candidate(
            "diverse",
            np.unique(labels, return_inverse=True)[1].astype(np.int32),
            note="Classes were merged until each held what was asked, and near ones partitioned anew.",
        )
        if stopped:
            raise Interrupted(found)
        return found

    def _merged(
        self,
        points: Points,
        near: NDArray[np.int32],
        wanted: Wanted,
        start: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """Merge until all classes hold everything, by exact decision."""
        from discreet.kanonymity.diverse._kernels import merge_failing

        labels = np.unique(start, return_inverse=True)[1].astype(np.int64)
        draw = np.array([self.seed * 7919 % 2147483646 + 1], dtype=np.int64)
        rows = points.rows.astype(np.int64)
        merge_failing(
            points.arrays,
            wanted,
            points.of_row,
            rows,
            points.first,
            near,
            labels,
            int(labels.max()) + 1,
            draw,
        )
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        # Kernels ask for a little more entropy than is demanded, which one class of all may lack.
        if failing_classes(self.demands, labels).any():
            labels[:] = 0
        return labels

    def _work(  # noqa: PLR0917 - the parts of one search
        self,
        points: Points,
        near: NDArray[np.int32],
        wanted: Wanted,
        labels: NDArray[np.int64],
        k: int,
        limits: Limits,
    ) -> None:
        from discreet.kanonymity.diverse._kernels import improve_diverse

        draw = np.array([self.seed * 104729 % 2147483646 + 1], dtype=np.int64)
        rounds = self.rounds
        if rounds is None and limits.left == float("inf"):
            rounds = max(300, ROUNDS * (int(labels.max()) + 1))
        arrays: Arrays = points.arrays
        done, portion, turn = 0, 64, 0
        sizes = np.bincount(labels)
        while (rounds is None or done < rounds) and (done == 0 or limits.left > 0):
            # Larger unions now and then, among them such as hold the largest classes.
            most = (3 * k + 2 * int(np.median(sizes)), 6 * k, 12 * k, int(sizes.max()) + 4 * k)[
                turn % 4
            ]
            most = min(max(most, 4 * k, 16), 400)
            here = portion if rounds is None else min(portion, rounds - done)
            began = time.monotonic()
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
                here,
            )
            took = max(time.monotonic() - began, 1e-6)
            done += here
            turn += 1
            if rounds is None:
                portion = int(min(4 * portion, 1_000_000, max(4, portion * 0.1 / took)))
            else:
                portion = max(16, rounds // 16)
            sizes = np.bincount(labels)
            sizes = sizes[sizes > 0]


def _near(problem: Problem, points: Points, seconds: float) -> NDArray[np.int32]:
    """Near points of each, among all where that fits into the time, else in windows of several orders."""
    from discreet.kanonymity._kernels import nearest_in_orders, nearest_points

    n_near = max(1, min(NEAREST, points.n - 1))
    if PAIR * points.n**2 * problem.m <= seconds:
        return nearest_points(points.arrays, 0, points.n, n_near)[0]
    ranks = [points.arrays.codes[:, j] for j in range(problem.m)]
    turned = [[*ranks[j:], *ranks[:j]] for j in range(problem.m)]
    orders = np.stack([np.lexsort(keys) for keys in turned]).astype(np.int64)
    return nearest_in_orders(points.arrays, orders, 12, n_near)
