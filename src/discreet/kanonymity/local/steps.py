"""One worker's part of local search: a partition as the kernels want it, and improving it by the clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from discreet.kanonymity.local.unions import Schedule, Union

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity._arrays import Arrays
    from discreet.kanonymity.candidate import Limits
    from discreet.kanonymity.local._kernels import State, Table
    from discreet.kanonymity.problem import Problem

__all__ = ["state_of", "work"]

MOST_AT_ONCE = 1e8
"""Microseconds of estimated work between two looks at the clock, at most."""


def state_of(
    problem: Problem, labels: NDArray[np.int32], k: int, suppress: int, seed: int
) -> State:
    """Write a partition as the search wants it."""
    from discreet.kanonymity.local._kernels import State

    slots = problem.n // k
    boxes = problem.boxes(labels)
    size, cost = np.zeros(slots, dtype=np.int64), np.zeros(slots)
    size[: len(boxes.sizes)] = boxes.sizes
    cost[: len(boxes.sizes)] = boxes.sizes * boxes.costs.sum(axis=1)
    members = np.full((slots, 2 * k - 1), -1, dtype=np.int64)
    left_out = np.flatnonzero(labels < 0)
    rows = np.argsort(labels, kind="stable")[len(left_out) :]
    first = np.concatenate([[0], np.cumsum(size)])
    members[labels[rows], np.arange(len(rows)) - first[labels[rows]]] = rows
    outside = np.full(suppress, -1, dtype=np.int64)
    outside[: len(left_out)] = left_out
    draw = np.array([seed * 7919 % 2147483646 + 1], dtype=np.int64)
    n_outside = np.array([len(left_out)], dtype=np.int64)
    return State(labels.astype(np.int64), members, size, cost, outside, n_outside, draw)


def work(  # noqa: PLR0917 - the parts of one search
    arrays: Arrays,
    table: Table,
    state: State,
    unions: tuple[Union, ...],
    k: int,
    rounds: int | None,
    limits: Limits,
) -> None:
    """Improve the state in place until rounds or time are over."""
    from discreet.kanonymity.local._kernels import improve
    from discreet.kanonymity.subsets._kernels import room_for

    room = room_for(max([1, *(u.rows for u in unions if u.exact)]), arrays.codes.shape[1], k)
    schedule = Schedule(unions)
    if rounds is None and limits.left == float("inf"):
        rounds = max(300, 20 * len(state.size))
    # By the clock about ten looks at it a second; else work alone decides, so that a run can be repeated.
    portion, done = 20_000.0, 0
    while (rounds is None or done < rounds) and (done == 0 or limits.left > 0):
        if not state.cost.any():
            # Nothing is lost, so that nothing can be gained.
            return
        at = schedule.next()
        union = unions[at]
        here = max(1, int(portion / union.work))
        if rounds is not None:
            # So that each kind has its turn.
            here = min(here, rounds - done, max(1, rounds // (2 * len(unions))))
        began = time.monotonic()
        gain = improve(
            arrays,
            table,
            state,
            room,
            k,
            union.rows if union.exact else 0,
            union.rows,
            union.classes,
            union.samples,
            here,
        )
        schedule.learn(at, gain, here)
        done += here
        if rounds is None:
            took = max(time.monotonic() - began, 1e-6)
            portion = min(2 * portion, MOST_AT_ONCE, max(1000.0, portion * 0.1 / took))
