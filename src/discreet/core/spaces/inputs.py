"""What a metric space is made of, read and refused at the border."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import read_unit
from discreet.core.options import array_of, pairs_of
from discreet.core.printed import at_least
from discreet.core.spaces import lengths as measures
from discreet.core.spaces.geography import lat_lon
from discreet.core.spaces.lengths import TOTAL_BITS, closure, scale_for

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_UNITS = {"haversine": ("km", "m"), "angular": ("rad",)}
"""The units of metrics that have one of their own."""


def positive_count(value: object, field: str, most: int | None = None) -> int:
    """Read `value` as an integer of at least 1, and at most `most` if that is given.

    Raises
    ------
    InvalidProblemError
        For anything but an integer from 1 to `most`; `field` names the argument.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InvalidProblemError(field, "a positive integer", repr(value))
    if most is not None and value > most:
        raise InvalidProblemError(field, f"at most {most}", value)
    return int(value)


def unit_name(unit: object, metric: str) -> str:
    """Read the name of a unit; some metrics have one of their own.

    Returns the name as it is.

    Raises
    ------
    InvalidProblemError
        For anything that is no name of a unit, or a unit that the metric does not have.
    """
    name = read_unit(unit)
    if name not in _UNITS.get(metric, (name,)):
        raise InvalidProblemError("unit", f"{' or '.join(_UNITS[metric])} for {metric}", repr(name))
    return name


def point_table(points: ArrayLike, metric: str) -> NDArray[np.float64]:
    """Read points as a read-only array ``(n, dimensions)``; name the row that is wrong.

    Coordinates become float64; they must be below ``2^100``, and integers at most ``2^53``. `metric` adds its own
    limits: degrees for ``"haversine"``, a direction for ``"angular"``, and the unit ball for ``"hyperbolic"``, one
    exact sum of squares for each point. InvalidProblemError for others.
    """
    array = array_of(points, "points", "an array (n, dimensions)", np.float64).copy()
    if (
        isinstance(points, np.ndarray)
        and points.dtype.kind in "iu"
        and (abs(array) > 2.0**53).any()
    ):
        # Beyond it floats are not these integers, and a distance could come out longer than it is.
        raise InvalidProblemError("points", "whole coordinates up to 2^53", "larger ones")
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidProblemError("points", "an array (n, dimensions)", f"shape {array.shape}")
    wrong = ~(np.abs(array) < 2.0**100).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidProblemError(
            "points", "finite coordinates below 1e30", f"{array[row].tolist()} in row {row}"
        )
    if metric == "haversine":
        array = lat_lon(array)
    elif metric == "angular" and (np.abs(array).max(axis=1) < 2.0**-100).any():
        row = int(np.argmin(np.abs(array).max(axis=1)))
        raise InvalidProblemError(
            "points", "vectors with a direction, some coordinate above 1e-30", f"row {row}"
        )
    elif metric == "hyperbolic":
        for row, point in enumerate(array.tolist()):
            # In floats a point on the sphere could look as if it were inside.
            if sum((Fraction(x) ** 2 for x in point), Fraction(0)) >= 1:
                raise InvalidProblemError(
                    "points", "points strictly inside the unit ball", f"{point} in row {row}"
                )
    array.setflags(write=False)
    return array


def integer_table(matrix: ArrayLike, *, tolerance: float = 1e-9) -> tuple[NDArray[np.int64], int]:
    """Read a distance matrix, round it down to integers and close it in ``O(n^3)``; the caller's array is not changed.

    Entries are rounded down, of two mirrored ones the lesser counts. At most 5120 rows.

    Returns
    -------
    table : ndarray
        Array ``(n, n)``, closed.
    scale : int
        Its unit is ``2^-scale``.

    Raises
    ------
    InvalidProblemError
        Naming the first entry, pair or triple that is wrong.
    """
    array = array_of(matrix, "matrix", "a square array", np.float64).copy()
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not len(array):
        raise InvalidProblemError("matrix", "a square array", f"shape {array.shape}")
    if len(array) > measures.DENSE_LIMIT:
        raise InvalidProblemError("matrix", f"at most {measures.DENSE_LIMIT} rows", len(array))
    wrong = ~(np.isfinite(array) & (array >= 0))
    np.fill_diagonal(wrong, np.diag(array) != 0)
    if wrong.any():
        i, j = np.argwhere(wrong)[0].tolist()
        raise InvalidProblemError(
            "matrix",
            "finite nonnegative entries and a zero diagonal",
            f"d({i}, {j}) = {array[i, j]}",
        )
    apart = np.abs(array - array.T)
    i, j = np.unravel_index(np.argmax(apart - tolerance * array), array.shape)
    if apart[i, j] > tolerance * array[i, j]:
        raise InvalidProblemError(
            "matrix",
            "symmetry; of one-way distances take the lesser of both directions, as lengths of MetricSpace.from_graph: "
            "privacy for these is privacy for both",
            f"d({i}, {j}) = {array[i, j]} and d({j}, {i}) = {array[j, i]}",
        )
    scale = scale_for(float(array.max()), TOTAL_BITS)
    lengths = np.floor(np.ldexp(np.minimum(array, array.T), scale))
    table = closure(lengths.copy())
    if (lengths - table > tolerance * lengths + len(table)).any():
        _refuse_triple(array, tolerance)
    return table, scale


def _refuse_triple(array: NDArray[np.float64], tolerance: float) -> None:
    """Raise InvalidProblemError for the worst violated triangle of the first row of ``(n, n)`` with one. ``O(n^3)``.

    A violation is more than `tolerance` of a distance. No error where small violations only add up.
    """
    for i in range(len(array)):
        around = array[i, :, None] + array
        excess = array[i] - around.min(axis=0) * (1 + tolerance)
        j = int(np.argmax(excess))
        if excess[j] > 0:
            k = int(np.argmin(around[:, j]))
            raise InvalidProblemError(
                "matrix",
                "the triangle inequality",
                f"d({i}, {j}) = {float(array[i, j])} > d({i}, {k}) + d({k}, {j}) ="
                f" {float(around[k, j])}, by {at_least(array[i, j] - around[k, j], 3)}",
            )


def edge_table(
    n: int, edges: ArrayLike, lengths: ArrayLike
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Read the edges of a connected graph, of parallel ones the shortest, with lengths rounded down.

    ``O(m log m)``. At most 5120 nodes.

    Returns
    -------
    pairs : ndarray
        Array ``(m, 2)`` with ``i < j``, none twice.
    lengths : ndarray
        Array ``(m,)``, in units of ``2^-scale``.
    scale : int
        The scale.

    Raises
    ------
    InvalidProblemError
        See :meth:`discreet.core.spaces.metric.MetricSpace.from_graph`.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = positive_count(n, "n", measures.DENSE_LIMIT)
    ends = pairs_of(edges, "edges", "nodes")
    sizes = array_of(lengths, "lengths", "one for each edge", np.float64)
    wrong = (ends < 0).any(axis=1) | (ends >= n).any(axis=1) | (ends[:, 0] == ends[:, 1])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidProblemError(
            "edges", f"two different nodes 0 to {n - 1} each", f"{ends[row].tolist()} in row {row}"
        )
    if sizes.shape != (len(ends),):
        raise InvalidProblemError("lengths", f"one for each of {len(ends)} edges", sizes.shape)
    if not (np.isfinite(sizes) & (sizes > 0)).all():
        row = int(np.argmin(np.isfinite(sizes) & (sizes > 0)))
        raise InvalidProblemError("lengths", "positive and finite", f"{sizes[row]} in row {row}")
    pairs = np.sort(ends.astype(np.int32), axis=1)
    order = np.lexsort((sizes, pairs[:, 1], pairs[:, 0]))
    pairs, sizes = pairs[order], sizes[order]
    first = np.ones(len(pairs), dtype=bool)
    first[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    pairs, sizes = pairs[first], sizes[first]
    graph = coo_array((sizes, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    parts, labels = connected_components(graph, directed=False)
    if parts > 1:
        counts = sorted(np.bincount(labels).tolist(), reverse=True)
        shown = ", ".join(map(str, counts[:8])) + (", ..." if parts > 8 else "")
        raise InvalidProblemError("edges", "a connected graph", f"{parts} components: {shown}")
    # No path is longer than all edges together.
    scale = scale_for(float(sizes.sum()), TOTAL_BITS)
    return pairs, np.floor(np.ldexp(sizes, scale)).astype(np.int64), scale
