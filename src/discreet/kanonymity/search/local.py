"""Local search over unions of near classes: which unions to look at, and for how long."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.jit import clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays
    from discreet.kanonymity.candidate import SearchLimits
    from discreet.kanonymity.demand import Wanted
    from discreet.kanonymity.kernels.unions import NearTable, SearchState
    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class LocalSearchTuning:
    """Measured limits of the local search: work is in estimated microseconds.

    Parameters
    ----------
    max_microseconds_per_call
        Microseconds of estimated work between two looks at the clock, at most.
    max_microseconds_per_union
        Microseconds of estimated work for one union, at most: Ctrl-C is not heard within it.
    max_microseconds_per_call_untimed
        The same as for a call, where work is counted and no clock is read, so that a run can be repeated.
    untimed_cycles
        Turns of each kind of union without a time limit or a number of rounds, at least.
    untimed_work_per_class, untimed_work_per_k
        Work without either, in unions of each kind: for each class, and at least for each row of the smallest
        class, as large classes are few. Fewer lose up to 4 % more, in .1 to 2 CPU seconds less (ten tables,
        2026-11).
    untimed_share_under_demands
        Part of that work under demands, where a union costs two to three times its estimate: all of it loses 1 %
        less in 1.6 times the CPU seconds (18 tables of 600 and 2,000 rows, l = 3; 2026-11).
    min_gain_per_cycle
        Part of the loss that all kinds of a large table have to gain in one turn each, for another to follow.
    partners_considered
        Classes next in number among which a class that fails a demand looks for a partner; methods number near
        classes alike.
    max_rows_under_demands, max_classes_under_demands
        Of a union that is partitioned anew under demands.
    """

    max_microseconds_per_call: float = 1e8
    max_microseconds_per_union: float = 1e6
    max_microseconds_per_call_untimed: float = 2e5
    untimed_cycles: int = 8
    untimed_work_per_class: int = 10
    untimed_work_per_k: int = 20
    untimed_share_under_demands: float = 0.6
    min_gain_per_cycle: float = 1e-3
    partners_considered: int = 1_000
    max_rows_under_demands: int = 400
    max_classes_under_demands: int = 6


LOCAL = LocalSearchTuning()


@final
@dataclass(frozen=True)
class Union:
    """A kind of union: the classes of the nearest points, up to so many rows and classes.

    Parameters
    ----------
    rows
        Rows in it at most.
    classes
        Classes in it at most.

    Examples
    --------
    >>> Union(12, 4).work > Union(9, 3).work
    True
    """

    rows: int
    classes: int

    @property
    def work(self) -> float:
        """Estimated microseconds to improve one union, as measured for eight columns."""
        return 3 + 0.04 * self.rows**2


def unions_for(k: int) -> tuple[Union, ...]:
    """Return unions of two, four and six classes of the largest size, which take turns of equal work.

    Examples
    --------
    >>> [union.rows for union in unions_for(3)]
    [10, 20, 30]
    """
    return tuple(Union(classes * (2 * k - 1), classes) for classes in (2, 4, 6))


def unions_under_demands(labels: NDArray[np.int32], k: int) -> tuple[Union, ...]:
    """Return unions for classes without a largest size: of few classes of the middle one, and of the largest.

    `labels` ``(n,)`` are those to begin with.

    Examples
    --------
    >>> [union.rows for union in unions_under_demands(np.repeat([0, 1], [3, 9]).astype(np.int32), 3)]
    [21, 18, 36, 21]
    """
    sizes = np.bincount(labels)
    most = (3 * k + 2 * int(np.median(sizes)), 6 * k, 12 * k, int(sizes.max()) + 4 * k)
    return tuple(
        Union(
            min(max(rows, 4 * k, 16), LOCAL.max_rows_under_demands),
            LOCAL.max_classes_under_demands,
        )
        for rows in most
    )


def state_of(
    problem: Problem, labels: NDArray[np.int32], k: int, suppress: int, seed: int
) -> SearchState:
    """Return the search state of partition `labels` ``(n,)``, -1 for suppressed rows, at most `suppress` of them.

    The state has room for n // k classes; `seed` starts the draws. A sort.
    """
    from discreet.kanonymity.kernels.unions import SearchState

    slots = problem.n // k
    boxes = problem.boxes(labels)
    size, cost = np.zeros(slots, dtype=np.int64), np.zeros(slots)
    size[: len(boxes.sizes)] = boxes.sizes
    cost[: len(boxes.sizes)] = boxes.sizes * boxes.costs.sum(axis=1)
    left_out = np.flatnonzero(labels < 0)
    rows = np.argsort(labels, kind="stable")[len(left_out) :]
    first, after = np.full(slots, -1, dtype=np.int64), np.full(problem.n, -1, dtype=np.int64)
    begins = np.append(True, labels[rows[1:]] != labels[rows[:-1]])
    first[labels[rows[begins]]] = rows[begins]
    after[rows[:-1][~begins[1:]]] = rows[1:][~begins[1:]]
    outside = np.full(suppress, -1, dtype=np.int64)
    outside[: len(left_out)] = left_out
    draw = np.array([seed * 7919 % 2147483646 + 1], dtype=np.int64)
    n_outside = np.array([len(left_out)], dtype=np.int64)
    return SearchState(labels.astype(np.int64), first, after, size, cost, outside, n_outside, draw)


def work(  # noqa: PLR0917 - the parts of one search
    arrays: Arrays,
    table: NearTable,
    state: SearchState,
    wanted: Wanted | None,
    unions: tuple[Union, ...],
    k: int,
    rounds: int | None,
    limits: SearchLimits,
) -> None:
    """Improve the state in place until `rounds` (``None``: no limit) or the time is over.

    The kinds of `unions` take turns; without rounds and time limit the work is bounded by the number of classes.
    """
    from discreet.kanonymity.kernels.unions import improve

    unions = tuple(union for union in unions if union.work <= LOCAL.max_microseconds_per_union)
    if not unions:
        return
    # By the clock about ten looks at it a second; else work alone decides, so that a run can be repeated.
    counted = rounds is not None or limits.left == math.inf
    budget = math.inf
    if counted and rounds is None:
        share = 1.0 if wanted is None else LOCAL.untimed_share_under_demands
        each = max(LOCAL.untimed_work_per_class * len(state.size), LOCAL.untimed_work_per_k * k)
        budget = share * each * sum(union.work for union in unions)
    portion = budget / (LOCAL.untimed_cycles * len(unions)) if counted else 20_000.0
    large = LOCAL.max_microseconds_per_call_untimed < portion < math.inf
    if counted:
        portion = min(portion, LOCAL.max_microseconds_per_call_untimed)
    turn, done, spent, before = 0, 0, 0.0, float(state.cost.sum())
    while (rounds is None or done < rounds) and spent < budget and (done == 0 or limits.left > 0):
        if not state.cost.any():
            # Where nothing is lost, nothing can be gained.
            return
        union = unions[turn % len(unions)]
        n_unions = max(1, int(portion / union.work))
        if rounds is not None:
            # So that each kind has its turn.
            n_unions = min(n_unions, rounds - done, max(1, rounds // (2 * len(unions))))
        began = clock()
        improve(arrays, table, state, wanted, k, union.rows, union.classes, n_unions)
        done += n_unions
        spent += n_unions * union.work
        turn += 1
        if large and turn % len(unions) == 0:
            after = float(state.cost.sum())
            if before - after < LOCAL.min_gain_per_cycle * before:
                return
            before = after
        if not counted:
            took = max(clock() - began, 1e-6)
            portion = min(
                2 * portion, LOCAL.max_microseconds_per_call, max(1000.0, portion * 0.1 / took)
            )
