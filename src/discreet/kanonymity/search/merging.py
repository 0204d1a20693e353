"""Merge equivalence classes that fail a condition which merging can only help, such as l-diversity or k-map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.candidate import SearchLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Boxes, Problem

    Failing = Callable[[NDArray[np.int32]], NDArray[np.bool_]]


def merge_failing(
    problem: Problem,
    labels: NDArray[np.int32],
    failing: Failing,
    limits: SearchLimits | None = None,
    *,
    window: int | None = None,
) -> NDArray[np.int32]:
    """Merge each failing class with the class with which it loses least, the smallest first, until no class fails.

    Parameters
    ----------
    problem
        The table.
    labels
        ``(n,)`` classes 0, 1, ... without gaps; -1 for suppressed rows.
    failing
        Takes labels of some rows, -1 for the others, and marks the classes that fail. All rows as one class must not
        fail, and a union of classes that do not fail must not fail.
    limits
        When to stop choosing by loss: from then on all failing classes become one, with as many others as it needs.
    window
        Number of classes, by their labels, among which a partner is looked for, the class itself included: 2 or more;
        ``None`` for all.

    Returns
    -------
    ndarray
        ``(n,)`` labels without gaps, none of whose classes fails.

    Raises
    ------
    InvalidProblemError
        If no failing class has a partner: one class is left, or the window is 1.

    Complexity
    ----------
    In each round, in which a class takes part in one merge at most, ``O(n (m + log n))``, one call of `failing`, and
    ``O(m w)`` for each failing class with w classes tried.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> ages = Problem.from_columns({"age": [20, 21, 40, 60]}, [Numeric("age")])
    >>> fewer_than_2 = lambda labels: np.bincount(labels[labels >= 0]) < 2
    >>> merge_failing(ages, np.arange(4, dtype=np.int32), fewer_than_2).tolist()
    [0, 0, 1, 1]
    """
    limits = SearchLimits() if limits is None else limits
    labels = labels.astype(np.int32)
    fails = failing(labels)
    while fails.any():
        if limits.left <= 0:
            return _merge_at_once(labels, fails, failing)
        target, merged = _partners(problem, labels, fails, window)
        if not merged.any():
            expected = "a condition that all rows as one class meet, and a window of 2 or more"
            raise InvalidProblemError("failing, window", expected, "failing classes that stay")
        survivors = np.flatnonzero(target == np.arange(len(target)))
        number = np.full(len(target), -1, dtype=np.int32)
        number[survivors] = np.arange(len(survivors), dtype=np.int32)
        number = number[target]
        changed = np.unique(number[merged])
        labels = np.where(labels >= 0, number[labels], -1).astype(np.int32)
        still = np.zeros(len(survivors), dtype=np.bool_)
        still[number[~merged]] = fails[~merged]
        # Only classes that were merged can have changed.
        place = np.full(len(survivors), -1, dtype=np.int32)
        place[changed] = np.arange(len(changed), dtype=np.int32)
        still[changed] = failing(np.where(labels >= 0, place[labels], -1).astype(np.int32))
        fails = still
    return labels


def _partners(
    problem: Problem, labels: NDArray[np.int32], fails: NDArray[np.bool_], window: int | None
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the class that each class joins, itself by default, and a mask of the classes in a merge.

    Both are ``(classes,)``, as `fails`; `window` limits the neighbors tried, ``None`` for all. Each failing class is
    compared with them.
    """
    boxes = problem.boxes(labels)
    sizes, own = boxes.sizes, boxes.sizes * boxes.costs.sum(axis=1)
    target, merged = np.arange(len(sizes)), np.zeros(len(sizes), dtype=np.bool_)
    values = [_values_of_classes(problem, labels, j) for j in range(problem.m)]
    for one in np.flatnonzero(fails)[np.argsort(sizes[fails], kind="stable")].tolist():
        if merged[one]:
            continue
        begin, stop = 0, len(sizes)
        if window is not None:
            begin = max(0, min(one - window // 2, len(sizes) - window))
            stop = begin + min(window, len(sizes))
        rise = _joined_loss(problem, boxes, values, one, slice(begin, stop)) - own[begin:stop]
        rise[merged[begin:stop]] = np.inf
        rise[one - begin] = np.inf
        other = int(np.argmin(rise))
        if np.isfinite(rise[other]):
            target[one] = other + begin
            merged[one] = merged[other + begin] = True
    return target, merged


def _values_of_classes(
    problem: Problem, labels: NDArray[np.int32], j: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the different codes of each class in set column `j`, class after class, and where those of a class begin.

    Other columns give ``None``; `labels` is ``(n,)``, the second array ``(classes + 1,)``. A sort.
    """
    column = problem.columns[j]
    if not column.is_set:
        return None
    rows, size = np.flatnonzero(labels >= 0), len(column.domain)
    pairs = np.unique(labels[rows].astype(np.int64) * size + problem.codes[rows, j])
    n_classes = int(labels.max()) + 1
    return pairs % size, np.searchsorted(pairs, np.arange(n_classes + 1) * size)


def _joined_loss(
    problem: Problem,
    boxes: Boxes,
    values: list[tuple[NDArray[np.int64], NDArray[np.int64]] | None],
    one: int,
    near: slice,
) -> NDArray[np.float64]:
    """Return the loss of class `one` united with each of the classes `near`, a slice: floats ``(classes,)``.

    `values` are as of :func:`_values_of_classes`, by column. ``O(classes m)``, and the values of sets.
    """
    cost = np.zeros(near.stop - near.start)
    for j, column in enumerate(problem.columns):
        listed = values[j]
        if listed is not None:
            codes, first = listed
            mine = np.zeros(len(column.domain), dtype=np.int64)
            mine[codes[first[one] : first[one + 1]]] = 1
            begin = first[near]
            both = np.add.reduceat(mine[codes[begin[0] : first[near.stop]]], begin - begin[0])
            cost += column.set_cost(boxes.counts[near, j] + boxes.counts[one, j] - both)
        else:
            low = np.minimum(boxes.lo[near, j], boxes.lo[one, j])
            cost += column.span_cost(low, np.maximum(boxes.hi[near, j], boxes.hi[one, j]))
    return np.asarray((boxes.sizes[near] + boxes.sizes[one]) * cost)


def _merge_at_once(
    labels: NDArray[np.int32], fails: NDArray[np.bool_], failing: Failing
) -> NDArray[np.int32]:
    """Unite all failing classes with twice as many others each time, until their union does not fail.

    `labels` is ``(n,)``, `fails` ``(classes,)``; returns new labels, int32 ``(n,)``. ``O(n log classes)``.
    """
    passing, added = np.flatnonzero(~fails), 0
    while True:
        joined = fails.copy()
        joined[passing[:added]] = True
        union = (labels >= 0) & joined[labels]
        if added >= len(passing) or not failing(np.where(union, 0, -1).astype(np.int32)).any():
            number = np.where(joined, 0, np.cumsum(~joined))
            return np.where(labels >= 0, number[labels], -1).astype(np.int32)
        added = max(1, 2 * added)
