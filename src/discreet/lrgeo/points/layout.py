"""The plane of a region of places: its frame, its places in decimeters, and the coordinates of reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.core.spaces.lattice import LatticeLengths
from discreet.lrgeo.places.plane import DEGREE, cosine_for, sphere_to_plane
from discreet.lrgeo.places.region import Region
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.frame import SCALE, PointFrame

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.spaces.metric import MetricSpace


def plane_of(region: Region, side: int | None = None) -> tuple[PointFrame, NDArray[np.int64], int]:
    """Return the frame of a region and its envelope, its places there ``(K, 2)`` int64, and the reach, in decimeters.

    `side` is that of the largest cell with which a net may end beyond the last place, by default twice the reach, which
    is also the most. ``O(K log K)``.

    Raises
    ------
    InvalidProblemError
        For places on one line.
    """
    reach = _reach(region)
    frame, places = _plane(region, reach + min(2 * reach, side or 2 * reach))
    if (np.ptp(places, axis=0) == 0).any() or np.linalg.matrix_rank(places - places[0]) < 2:
        cures = "`serve --places-only` serves those, `design --radius` designs for them"
        expected = f"places that do not lie on one line: {cures}"
        raise InvalidProblemError("region", expected, "places on a line")
    return frame, places, reach


def report_texts(
    region: Region, frame: PointFrame, places: NDArray[np.int64]
) -> tuple[tuple[str, str], ...]:
    """Return the coordinates of each of `places` ``(K, 2)``, decimeters, as two decimal texts, as reports show them.

    On a globe they are those of the region's places, to seven decimals, whatever `places` are.
    """
    if region.origin is None:
        return tuple(frame.shown(places))
    first, second = ([f"{one:.7f}" for one in axis] for axis in region.coordinates.T.tolist())
    return tuple(zip(first, second, strict=True))


def region_of(space: MetricSpace) -> tuple[Region, NDArray[np.int64], float]:
    """Return the region of the secrets of a plane or a sphere, each moved to a whole decimeter.

    ``O(n log n)``. Distances of the region are not those of the secrets: each end may move by `moved`.

    Parameters
    ----------
    space
        Points with Euclidean distances or great circles, in km or m.

    Returns
    -------
    region : Region
        The different places, in the order of their first secrets.
    labels : ndarray
        ``(n,)``: the place of each secret.
    moved : float
        Upper bound on the distance from a secret to its place, and between two secrets of it, in the unit.

    Raises
    ------
    InvalidProblemError
        For another metric or unit, fewer than two places, or places that are not those of a city.

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> points = [(0.0, 0.0), (0.0, 0.00001), (1.0, 2.0)]
    >>> region, labels, _ = region_of(MetricSpace.from_points(points, unit="km"))
    >>> region.places.tolist(), labels.tolist()
    ([[0, 0], [10000, 20000]], [0, 0, 1])
    """
    if space.metric not in {"euclidean", "haversine", "grid"} or space.points is None:
        raise InvalidProblemError("space", "points of a plane or of a sphere", space.metric)
    per, points, origin, cosine = per_unit(space.unit), space.points, None, 1.0
    if points.shape[1] != 2:
        raise InvalidProblemError("space", "points of a plane or of a sphere", "others")
    if space.metric == "haversine":
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        # To six digits, as a file states it.
        latitude, longitude = (np.rint(middle * 1e6) / 1e6).tolist()
        origin = (latitude, longitude)
        cosine = cosine_for(points[:, 0], float(np.ptp(points[:, 1])), unrounded=True)
        plane = sphere_to_plane(points, origin, cosine)
    else:
        plane = points * per
    rounded = np.rint(plane).astype(np.int64)
    _, first, labels = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    # In the order of the secrets.
    rank = np.argsort(np.argsort(first))
    places, labels = rounded[np.sort(first)], rank[labels.ravel()]
    # A decimeter of the plane may be more on the sphere, by less than a cosine of 88 degrees.
    moved = math.sqrt(2) / per / min(cosine, 1.0) if (rounded != plane).any() else 0.0
    return Region(places, origin, space.unit, None, cosine), labels, moved


def _reach(region: Region) -> int:
    return math.ceil(region.reach * per_unit(region.unit)) + 1


def _plane(region: Region, around: int) -> tuple[PointFrame, NDArray[np.int64]]:
    """Return the frame of a region and its places in the plane, ``(K, 2)`` int64 decimeters, rounded on a globe.

    The envelope has `around` decimeters more on each side. ``O(K)``.
    """
    if region.origin is None:
        return PointFrame.plain(region.unit), region.places
    sphere = region.coordinates
    # A little for the cosine itself is in the width.
    room = around / DEGREE
    latitudes = (float(sphere[:, 0].min()) - room, float(sphere[:, 0].max()) + room)
    highest = max(map(abs, latitudes))
    wide = np.ptp(sphere[:, 1]) + 2 * room / math.cos(math.radians(min(highest, 88.0)))
    origin = (repr(region.origin[0]), repr(region.origin[1]))
    frame = PointFrame.on_sphere(region.unit, origin, latitudes, float(wide) * 1.01)
    return frame, np.rint(in_plane(frame, sphere)).astype(np.int64)


def in_plane(frame: PointFrame, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points ``(K, 2)`` in the plane of a frame, float64 decimeters, not rounded.

    They are latitudes and longitudes where there is an origin, else east and north in the unit. ``O(K)``.
    """
    if frame.origin is None:
        return points * per_unit(frame.unit)
    latitude, longitude = map(float, frame.origin)
    east = (points[:, 1] - longitude + 180) % 360 - 180
    north = points[:, 0] - latitude
    return np.stack([east * frame.east, north * frame.north], axis=1) / SCALE


def cell_sides(
    region: Region,
    rate: Fraction,
    rates: Sequence[Fraction],
    spacing: Exact | None,
    *,
    coarser: Fraction,
    finer: int,
) -> list[int]:
    """Return the candidate sides of a net's cells, in decimeters, in the order of ``rates``.

    Parameters
    ----------
    region
        The places.
    rate
        Epsilon per decimeter.
    rates
        Epsilon times the side of a cell: what is wanted.
    spacing
        The side itself, in the unit, in place of ``rates``.
    coarser, finer
        How much coarser, and about how much finer than wanted a net may be, so that its cells divide those of a grid.

    Raises
    ------
    InvalidProblemError
        For a spacing below a decimeter.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.lrgeo import Region
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> cell_sides(region, Fraction(1, 5000), [Fraction(1, 3)], None, coarser=Fraction(1), finer=4)
    [1250]
    """
    if spacing is not None:
        side = math.floor(to_fraction(spacing, "spacing") * per_unit(region.unit))
        if side < 1:
            raise InvalidProblemError("spacing", "a decimeter or more", repr(spacing))
        return [side]
    cell = _grid_cell(region)
    return [_side(cell, one / rate, coarser, finer) for one in rates]


def _side(cell: int, wanted: Fraction, coarser: Fraction, finer: int) -> int:
    """Return the side of a net's cells in decimeters: a part of the grid's `cell` of about the `wanted` side.

    `cell` is 0 for a region that is no grid; the side is then `wanted`, rounded down, 1 at least. The parts of a cell
    are at least ``cell / (wanted coarser)``, and at most `finer` times as many; the fewest that divide it are taken,
    or, if none do, a side of `wanted`, rounded down.
    """
    if cell:
        fewest = math.ceil(cell / (wanted * coarser))
        # No part is less than a decimeter: with a large epsilon there would be no end to try.
        for parts in range(fewest, min(finer * fewest, cell) + 1):
            if cell % parts == 0:
                return cell // parts
    return max(1, math.floor(wanted))


def _grid_cell(region: Region) -> int:
    """Return the side of the cells of a grid that is not on the globe, in decimeters; 0 for other regions."""
    source = region.space.source
    if isinstance(source, LatticeLengths) and region.origin is None:
        return int(source.cell * per_unit(region.unit))
    return 0
