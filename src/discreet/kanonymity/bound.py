r"""A lower bound for tables of any size: the cost of each row and its (k - 1)-th nearest other row.

The class of row i has k - 1 other rows or more, and its cells cover i and the farthest of them. By monotonicity they
cost no less than the class of these two alone, so that

.. math:: \text{information loss} \;\ge\; \sum_i d_{(k-1)}(i),
          \qquad d(i, l) = \sum_j w_j\, c_j(\{i, l\}),

where :math:`d_{(k-1)}(i)` is the (k-1)-th smallest distance of i to another row. Every row counts for itself, so the
sum over some rows is a bound too. A suppressed row costs all weights, and no distance is larger, so that the bound
holds for tables with suppressed rows as well.

The near points of each point, among which classes are looked for, are found by the same kernels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.jit import clock
from discreet.kanonymity.arrays import points_of
from discreet.kanonymity.candidate import SearchLimits, order_of, portions, require_feasible
from discreet.kanonymity.problem import Numeric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Points
    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class NearRowsTuning:
    """Measured limits of the bound by near rows, and of near points.

    Parameters
    ----------
    max_points_of_all_pairs
        Different rows up to which all pairs are looked at.
    first_portion_points
        Points, or rows, before the first look at the clock.
    seconds_per_row_of_tree
        Seconds for each row to build a tree, as measured for two million rows; where there are fewer, nothing
        is proved.
    columns_of_measured_tree
        Columns of that measurement; more columns take more time, by the square of their number.
    untimed_tree_seconds
        Seconds that this may take whatever the time.
    seconds_before_forecast
        Seconds after which it is judged how far the time goes.
    min_share_of_points
        Part of the points that makes a bound worth its time: a point that was not looked at counts nothing.
    max_values_with_coordinates
        Values up to which a set has a coordinate for each in the tree of rows.
    seconds_per_pair_and_column
        Seconds for a pair of points and a column, as measured, when all pairs are looked at.
    max_near_seconds
        Seconds that near points may take; windows of orders lead to .1 to .3 % more loss (thirty columns,
        2026-11).
    share_of_time_for_near_points
        Part of the time that is left which goes into near points.
    neighbor_places
        Places of an order in which near points are looked for, to either side.
    relative_rounding
        Upper bound on the relative rounding error of a sum of all rows: so much is taken off the bound.
    rounding_per_row
        Upper bound on the rounding error of a row's distances, as a share of all weights: positions that differ
        little lose all digits but these.
    """

    max_points_of_all_pairs: int = 20_000
    first_portion_points: int = 64
    seconds_per_row_of_tree: float = 1e-6
    columns_of_measured_tree: int = 8
    untimed_tree_seconds: float = 0.1
    seconds_before_forecast: float = 0.2
    min_share_of_points: float = 0.25
    max_values_with_coordinates: int = 8
    seconds_per_pair_and_column: float = 0.7e-9
    max_near_seconds: float = 3.0
    share_of_time_for_near_points: float = 0.2
    neighbor_places: int = 12
    relative_rounding: float = 1e-11
    rounding_per_row: float = 1e-15


NEAR = NearRowsTuning()


def nearest_bound(problem: Problem, k: int, limits: SearchLimits | None = None) -> float:
    """Return a lower bound on the loss of every k-anonymous partition; a suppressed row costs the sum of all weights.

    0 for k = 1, and where the tree would take longer than the time that is left. Raises InvalidProblemError or
    InfeasibleError as :func:`~discreet.kanonymity.candidate.require_feasible`.

    Parameters
    ----------
    problem
        The problem.
    k
        Least class size.
    limits
        When to end; rows that were not looked at count nothing. The bound holds all the same.

    Returns
    -------
    float
        The bound, rounded down.

    Complexity
    ----------
    All pairs of different rows up to 20,000 of them; beyond that a tree of rows by their numbers, small sets and top
    branches of taxonomies alone, whose distances are no larger.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [20, 21, 40, 50, 60]}, [Numeric("age")])
    >>> round(nearest_bound(problem, 2), 6), round(problem.loss_of([0, 0, 1, 1, 1]), 6)
    (0.8, 1.55)
    """
    require_feasible(problem.n, k)
    limits = SearchLimits() if limits is None else limits
    if k == 1:
        return 0.0
    order = order_of(problem, range(problem.m))
    points = points_of(problem, order)
    if points.n <= NEAR.max_points_of_all_pairs:
        sums = []
        seen = 0
        counts = np.diff(points.first)
        for begin, stop in _worthwhile(points.n, limits):
            _, far = nearest_rows(points, k, begin, stop)
            sums.append(float(far @ counts[begin:stop]))
            seen += int(counts[begin:stop].sum())
    elif NEAR.seconds_per_row_of_tree * problem.n * max(
        1.0, problem.m / NEAR.columns_of_measured_tree
    ) ** 2 <= max(limits.left, NEAR.untimed_tree_seconds):
        sums, seen = _by_tree(embed(problem), k, limits)
    else:
        return 0.0
    error = NEAR.rounding_per_row * seen * problem.suppressed_cost
    return max(0.0, math.fsum(sums) * (1.0 - NEAR.relative_rounding) - error)


def nearest_rows(
    points: Points, k: int, begin: int, stop: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    r"""Return the near points of points `begin` to ``stop - 1``, and the least distance within which there are k rows.

    .. math:: d_i = \min\{\, t : \sum_{q:\, d(i, q) \le t} c_q \ge k \,\}

    for points q of :math:`c_q` rows, the point's own included. The near points are ``(stop - begin, k - 1)`` or fewer,
    nearest first, -1 where there are no more; the k - 1 nearest have enough rows, if the table has k. ``O(n m)`` for
    each point.
    """
    from discreet.kanonymity.kernels.boxes import nearest_points

    counts, n_nearest = np.diff(points.first), max(1, min(k - 1, points.n - 1))
    nearest, apart = nearest_points(points.arrays, begin, stop, n_nearest)
    rows = np.column_stack([counts[begin:stop], np.where(nearest >= 0, counts[nearest], 0)])
    last = np.argmax(np.cumsum(rows, axis=1) >= k, axis=1)
    distances = np.column_stack([np.zeros(stop - begin), apart])
    return nearest, distances[np.arange(stop - begin), last]


def _worthwhile(total: int, limits: SearchLimits) -> Iterator[tuple[int, int]]:
    """Yield (begin, stop) of portions of `total` points until time is over or a forecast leaves too few done."""
    began = clock()
    for begin, stop in portions(total, limits, first=NEAR.first_portion_points):
        yield begin, stop
        took = clock() - began
        if (
            took > NEAR.seconds_before_forecast
            and stop * (1 + limits.left / took) < NEAR.min_share_of_points * total
        ):
            return


def _by_tree(
    coordinates: NDArray[np.float64], k: int, limits: SearchLimits
) -> tuple[list[float], int]:
    """Return sums of the distances of rows to their (k - 1)-th nearest others, by batch, and how many rows were seen.

    `coordinates` is ``(n, columns)``, with Manhattan distances. A nearest-neighbor query a row, until time is up.
    """
    from scipy.spatial import KDTree

    if not coordinates.shape[1]:
        return [], 0
    tree = KDTree(coordinates)
    sums: list[float] = []
    seen = 0
    for begin, stop in _worthwhile(len(coordinates), limits):
        # A row is its own nearest, so that the k-th of all is the (k - 1)-th of the others.
        far, _ = tree.query(coordinates[begin:stop], k=[k], p=1, workers=limits.threads)
        sums.append(float(np.sum(far)))
        seen = stop
    return sums, seen


def embed(problem: Problem) -> NDArray[np.float64]:
    """Return coordinates ``(n, dimensions)`` whose sum of differences is at most the cost of the class of two rows.

    A number has one coordinate, and one more that half of its weight away from all others is where it is missing. A set
    of at most eight values has one for each, at half of the cost of two. The branches below the root of a taxonomy have
    one each, at half of its weight, where there are at most eight. Other columns have none.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Categorical, Problem
    >>> embed(Problem.from_columns({"sex": ["F", "M"]}, [Categorical("sex")])).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    parts = []
    for column, codes in zip(problem.columns, problem.codes.T, strict=True):
        if isinstance(column.attribute, Numeric):
            weight = column.attribute.weight
            missing = np.array([value is None for value in column.domain])[codes]
            parts.append(np.where(missing, weight / 2, column.place[codes]))
            if missing.any():
                parts.append(np.where(missing, weight / 2, 0.0))
            continue
        if column.is_set:
            branch = np.arange(len(column.domain))
            cost = float(column.set_cost(min(2, len(column.domain))))
        else:
            cost = float(column.place.max())
            branch = np.concatenate([[0], np.cumsum(column.place[:-1] >= cost)])
        if cost > 0 and branch[-1] < NEAR.max_values_with_coordinates:
            parts.extend(np.where(branch[codes] == b, cost / 2, 0.0) for b in range(branch[-1] + 1))
    return np.stack(parts, axis=1) if parts else np.zeros((problem.n, 0))


def near_points(
    problem: Problem, points: Points, most: int, limits: SearchLimits
) -> NDArray[np.int32]:
    """Return the near points of each point, nearest first, padded with -1: int32 ``(points, at most `most`)``.

    Parameters
    ----------
    problem
        The problem.
    points
        Its different rows, sorted by all columns in their order.
    most
        Near points that are kept for each.
    limits
        A fifth of the time that is left is used at most; points that were not looked at by then have none.
    """
    from discreet.kanonymity.kernels.boxes import nearest_in_order, nearest_points

    n_near = max(1, min(most, points.n - 1))
    seconds = NEAR.share_of_time_for_near_points * limits.left
    short = limits if np.isinf(seconds) else SearchLimits.within(seconds)
    nearest = np.full((points.n, n_near), -1, dtype=np.int32)
    if NEAR.seconds_per_pair_and_column * points.n**2 * problem.m <= min(
        NEAR.max_near_seconds, seconds
    ):
        for begin, stop in portions(points.n, short, first=64):
            nearest[begin:stop], _ = nearest_points(points.arrays, begin, stop, n_near)
        return nearest
    apart = np.full(nearest.shape, np.inf)
    # Points are sorted by all columns; one stable sort more brings the next column to the front.
    order = np.arange(points.n)
    plain = replace(problem, codes=points.arrays.codes)
    for j in range(problem.m):
        if j:
            order = order[np.argsort(plain.narrow(problem.m - j)[order], kind="stable")]
        for begin, stop in portions(points.n, short, first=1000):
            nearest_in_order(
                points.arrays, order, NEAR.neighbor_places, nearest, apart, begin, stop
            )
        if short.left <= 0:
            break
    return nearest
