"""Places on the ground: great circles with a proven error, grids of cells, road networks as arrays.

The Earth is a sphere of radius 6371.0088 km, the mean radius of the IUGG. Latitudes and longitudes are degrees, in this
order, with latitudes in [-90, 90] and longitudes in [-180, 360]. What an ellipsoid would add (up to 0.6 %) is part of
the model, not of the error stated here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "EARTH_RADIUS_KM",
    "GREAT_CIRCLE_ERROR",
    "RoadNetwork",
    "cell_polygons",
    "from_plane",
    "great_circle",
    "grid_centers",
    "lat_lon",
    "road_network",
    "to_plane",
]

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth in kilometers: (2a + b) / 3 of the ellipsoid GRS 80."""

GREAT_CIRCLE_ERROR = 2.0**-46
"""Bound on the relative error of :func:`great_circle`; its notes hold the proof."""


def lat_lon(points: ArrayLike, field: str = "points") -> NDArray[np.float64]:
    """Read places as an array of latitude and longitude in degrees, and refuse what lies outside the ranges.

    Parameters
    ----------
    points
        Array ``(..., 2)``: latitude in [-90, 90], longitude in [-180, 360].
    field
        The name of the argument, for the error message.

    Returns
    -------
    ndarray
        The same as float64.

    Raises
    ------
    InvalidProblemError
        For another shape, NaN, or a place out of range; the message names the row.

    Examples
    --------
    >>> lat_lon([[41.9, 12.5]]).shape
    (1, 2)
    >>> lat_lon([[12.5, 141.9], [141.9, 12.5]])
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: points: expected (latitude, longitude) in [-90, 90] x [-180, 360] ...
    """
    array = np.asarray(points, dtype=np.float64)
    if array.ndim < 1 or array.shape[-1] != 2:
        raise InvalidProblemError(field, "pairs of latitude and longitude", f"shape {array.shape}")
    flat = array.reshape(-1, 2)
    right = (np.abs(flat[:, 0]) <= 90) & (flat[:, 1] >= -180) & (flat[:, 1] <= 360)
    if not right.all():
        row = int(np.argmin(right))
        raise InvalidProblemError(
            field,
            "(latitude, longitude) in [-90, 90] x [-180, 360] degrees",
            f"{tuple(flat[row].tolist())} in row {row}",
        )
    return array


def great_circle(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    r"""Compute distances on the sphere in kilometers.

    .. math:: d = 2R\,\mathrm{atan2}(\sqrt h, \sqrt g),\quad
        h = \sin^2\tfrac{\Delta\varphi}2 + \cos\varphi_1\cos\varphi_2\sin^2\tfrac{\Delta\lambda}2,\quad
        g = \sin^2\tfrac{\varphi_1+\varphi_2}2 + \cos\varphi_1\cos\varphi_2\cos^2\tfrac{\Delta\lambda}2 = 1 - h.

    Parameters
    ----------
    a, b
        Arrays ``(..., 2)`` of latitude and longitude in degrees, broadcast against each other.

    Returns
    -------
    ndarray
        Distances ``(...)``, each within a factor ``1 ± 2^-46`` of the true one; zero exactly for the same place.

    Raises
    ------
    InvalidProblemError
        For places out of range.

    Notes
    -----
    *Error.* Let ``u = 2^-53``; sine, arc tangent are assumed to be within 8 units in the last place (16 ``u``), which
    every libm in use keeps. Both sums have terms of one sign, so that nothing cancels. Every angle is formed from
    exact float inputs by an error-free subtraction followed by at most two rounded ones, then multiplied by a rounded
    ``pi/360`` or ``pi/180``: at most 5 ``u`` relative. Cosines of latitudes are sines of ``90 - |latitude|``. On
    ``[0, pi/2]`` the relative condition of the sine is ``x cot x <= 1``: at most 21 ``u`` for each sine. Hence at
    most 88 ``u`` for ``h`` and ``g``, 45 ``u`` for the roots, 90 ``u`` for their ratio; the arc tangent has condition
    at most 1, adds 16 ``u``, and the radius 2 ``u``: 108 ``u`` and terms of second order, less than ``2^-46``.

    Examples
    --------
    >>> round(float(great_circle((41.8986, 12.4769), (41.9028, 12.4964))), 3)
    1.68
    >>> float(great_circle((10.0, 190.5), (10.0, -169.5)))
    0.0
    """
    p, q = lat_lon(a, "a"), lat_lon(b, "b")
    half, whole = np.pi / 360, np.pi / 180
    latitude_p, latitude_q = p[..., 0], q[..., 0]
    sine_north = np.sin(np.abs(latitude_p - latitude_q) * half)
    sine_sum = np.sin(np.abs(latitude_p + latitude_q) * half)
    cosines = np.sin((90 - np.abs(latitude_p)) * whole) * np.sin((90 - np.abs(latitude_q)) * whole)
    turn, rest = _two_difference(p[..., 1], q[..., 1])
    rest = np.where(turn < 0, -rest, rest)
    turn = np.abs(turn)
    # Up to 540 degrees apart: one whole turn less is exact, and the lesser way round is at most 180.
    turn = np.where(turn > 360, turn - 360, turn)
    east = np.where(turn > 180, (360 - turn) - rest, turn + rest)
    opposite = np.abs((180 - turn) - rest)
    h = sine_north**2 + cosines * np.sin(np.abs(east) * half) ** 2
    g = sine_sum**2 + cosines * np.sin(opposite * half) ** 2
    distance: NDArray[np.float64] = 2 * EARTH_RADIUS_KM * np.arctan2(np.sqrt(h), np.sqrt(g))
    return distance


def _two_difference(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Subtract without error: ``x - y`` is the sum of the two results (Knuth)."""
    difference = x - y
    virtual = x - difference
    return difference, (x - (difference + virtual)) + (virtual - y)


def to_plane(points: ArrayLike, origin: ArrayLike) -> NDArray[np.float64]:
    """Project places to kilometers east and north of an origin (equirectangular).

    For cities: at 50 km from the origin, at latitudes below 60 degrees, lengths are distorted by less than 1.5 %. It is
    for laying out cells and drawing maps, never for a privacy claim, whose distances come from :func:`great_circle`.

    Parameters
    ----------
    points
        Array ``(..., 2)`` of latitude and longitude.
    origin
        Latitude and longitude of the point that becomes ``(0, 0)``; not a pole.

    Returns
    -------
    ndarray
        Array ``(..., 2)`` of kilometers east and north.

    Raises
    ------
    InvalidProblemError
        For places out of range, or an origin at a pole.

    Examples
    --------
    >>> to_plane([[42.0, 12.5]], (41.9, 12.5)).round(3).tolist()
    [[0.0, 11.12]]
    """
    center = _origin(origin)
    offset = lat_lon(points) - center
    east = (offset[..., 1] + 180) % 360 - 180
    scale = np.radians(1.0) * EARTH_RADIUS_KM
    return np.stack([east * scale * np.cos(np.radians(center[0])), offset[..., 0] * scale], axis=-1)


def from_plane(plane: ArrayLike, origin: ArrayLike) -> NDArray[np.float64]:
    """Turn kilometers east and north of an origin back into latitude and longitude; undoes :func:`to_plane`.

    Parameters
    ----------
    plane
        Array ``(..., 2)`` of kilometers east and north.
    origin
        Latitude and longitude of ``(0, 0)``.

    Returns
    -------
    ndarray
        Array ``(..., 2)`` of latitude and longitude.

    Raises
    ------
    InvalidProblemError
        When the result is no place, or the origin is a pole.

    Examples
    --------
    >>> from_plane([[0.0, 11.12]], (41.9, 12.5)).round(3).tolist()
    [[42.0, 12.5]]
    """
    center = _origin(origin)
    array = np.asarray(plane, dtype=np.float64)
    scale = np.radians(1.0) * EARTH_RADIUS_KM
    latitude = center[0] + array[..., 1] / scale
    longitude = center[1] + array[..., 0] / (scale * np.cos(np.radians(center[0])))
    return lat_lon(np.stack([latitude, longitude], axis=-1), "plane")


def _origin(origin: ArrayLike) -> NDArray[np.float64]:
    center = lat_lon(origin, "origin")
    if center.shape != (2,) or abs(center[0]) == 90:
        raise InvalidProblemError("origin", "one place that is not a pole", center.tolist())
    return center


def grid_centers(rows: int, columns: int, cell: float) -> NDArray[np.float64]:
    """Give the centers of a grid of square cells, row by row, as ``(x, y)`` from the grid's corner.

    Parameters
    ----------
    rows, columns
        Numbers of cells along y and along x.
    cell
        Side of a cell.

    Returns
    -------
    ndarray
        Array ``(rows * columns, 2)``; the cell in row ``r`` and column ``c`` is number ``r * columns + c``.

    Examples
    --------
    >>> grid_centers(1, 2, 1.0).tolist()
    [[0.5, 0.5], [1.5, 0.5]]
    """
    row, column = np.divmod(np.arange(rows * columns), columns)
    return np.stack([(column + 0.5) * cell, (row + 0.5) * cell], axis=-1)


def cell_polygons(centers: ArrayLike, cell: float) -> NDArray[np.float64]:
    """Give the four corners of square cells, counterclockwise from the lower left, for maps.

    Parameters
    ----------
    centers
        Array ``(n, 2)``.
    cell
        Side of a cell.

    Returns
    -------
    ndarray
        Array ``(n, 4, 2)``.

    Examples
    --------
    >>> cell_polygons([[0.5, 0.5]], 1.0)[0].tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]) * cell
    array: NDArray[np.float64] = np.asarray(centers, dtype=np.float64)[:, None, :] + corners
    return array


@final
@dataclass(frozen=True, eq=False)
class RoadNetwork:
    """A connected, undirected road network as arrays; :func:`road_network` makes it.

    Parameters
    ----------
    points
        Array ``(n, 2)`` of latitude and longitude, one row a node.
    edges
        Array ``(m, 2)`` of nodes, the lesser first, in lexicographic order, none twice.
    lengths
        Array ``(m,)`` of lengths in kilometers.
    nodes
        Array ``(n,)``: the row of each node among the points that were given.
    """

    points: NDArray[np.float64]
    edges: NDArray[np.int64]
    lengths: NDArray[np.float64]
    nodes: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.points)


def road_network(
    points: ArrayLike, edges: ArrayLike, lengths: ArrayLike | None = None
) -> RoadNetwork:
    """Make a road network of the largest connected part of an edge list.

    Directions are dropped, of parallel roads the shortest is kept, loops are left out. Of parts of equal size the one
    with the first node is taken.

    Parameters
    ----------
    points
        Array ``(n, 2)`` of latitude and longitude.
    edges
        Array ``(m, 2)`` of rows of ``points``.
    lengths
        Array ``(m,)`` of kilometers, positive; by default great circles between the ends. Roads between two nodes at
        the same place need a length of their own.

    Returns
    -------
    RoadNetwork
        Read-only arrays, nodes numbered anew in their old order.

    Raises
    ------
    InvalidProblemError
        For places out of range, edges that name no node, or lengths that are not positive and finite.

    Complexity
    ----------
    O(n + m log m).

    Examples
    --------
    >>> places = [(41.90, 12.49), (41.91, 12.49), (41.91, 12.50), (45.46, 9.19)]
    >>> roads = road_network(places, [(0, 1), (1, 0), (1, 2)])
    >>> roads.n, roads.edges.tolist(), roads.lengths.round(3).tolist()
    (3, [[0, 1], [1, 2]], [1.112, 0.828])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    places = lat_lon(points)
    if places.ndim != 2 or not len(places):
        raise InvalidProblemError("points", "an array (n, 2)", f"shape {places.shape}")
    table = np.asarray(edges)
    if table.ndim != 2 or table.shape[1] != 2 or not np.issubdtype(table.dtype, np.integer):
        raise InvalidProblemError(
            "edges", "an array (m, 2) of integers", f"{table.dtype} {table.shape}"
        )
    if len(table) and (table.min() < 0 or table.max() >= len(places)):
        raise InvalidProblemError("edges", f"nodes 0 to {len(places) - 1}", int(table.max()))
    table = table.astype(np.int64)
    if lengths is None:
        measured = great_circle(places[table[:, 0]], places[table[:, 1]])
    else:
        measured = np.asarray(lengths, dtype=np.float64)
    loop = table[:, 0] == table[:, 1]
    if measured.shape != (len(table),) or not (np.isfinite(measured) & (measured > 0) | loop).all():
        raise InvalidProblemError(
            "lengths", f"{len(table)} positive, finite kilometers", f"shape {measured.shape}"
        )
    table, measured = np.sort(table[~loop], axis=1), measured[~loop]
    order = np.lexsort((measured, table[:, 1], table[:, 0]))
    table, measured = table[order], measured[order]
    first = np.ones(len(table), dtype=bool)
    first[1:] = (table[1:] != table[:-1]).any(axis=1)
    table, measured = table[first], measured[first]
    graph = coo_array((measured, (table[:, 0], table[:, 1])), shape=(len(places), len(places)))
    _, label = connected_components(graph, directed=False)
    inside = label == np.argmax(np.bincount(label))
    number = np.cumsum(inside) - 1
    kept = inside[table[:, 0]]
    arrays = (
        places[inside].copy(),
        number[table[kept]],
        measured[kept],
        np.flatnonzero(inside),
    )
    for array in arrays:
        array.setflags(write=False)
    return RoadNetwork(*arrays)
