"""Places on the ground: great circles with a proven error, geodesics between bounds, grids of cells.

Latitudes and longitudes are degrees, in this order, with latitudes in [-90, 90] and longitudes in [-180, 360]. Great
circles are those of a sphere of radius 6371.0088 km, the mean radius of the IUGG; geodesics are those of WGS 84, and
:func:`ground_factor` and :func:`longest_geodesics` compare the two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth in kilometers: (2a + b) / 3 of the ellipsoid GRS 80."""


class _Ellipsoid(NamedTuple):
    """An ellipsoid of revolution, WGS 84 by default."""

    equator_km: float = 6378.137
    """Equatorial radius."""

    flattening: float = 1 / 298.257223563
    """f, relative to the equatorial radius: ``1 - f`` is the ratio of both radii."""

    @property
    def squared_eccentricity(self) -> float:
        """Square of the eccentricity, ``1 - (1 - f)^2``."""
        return (2 - self.flattening) * self.flattening


_WGS84 = _Ellipsoid()


def lat_lon(points: ArrayLike, field: str = "points") -> NDArray[np.float64]:
    """Read places as an array of latitude and longitude in degrees, and refuse what lies outside the ranges.

    An array of float64 is returned as it is, not copied.

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


def unify_longitudes(points: NDArray[np.float64], field: str = "points") -> NDArray[np.float64]:
    """Count longitudes on both sides of the 180th meridian from 0 to 360, and refuse a table with two conventions.

    In degrees; a changed array is a new one. There is at least one row.

    Parameters
    ----------
    points
        Array ``(n, 2)`` of latitude and longitude.
    field
        The name of the argument, for the error message.

    Returns
    -------
    ndarray
        The same array, if longitudes differ by 180 degrees or less.

    Raises
    ------
    InvalidProblemError
        For a longitude below 0 and another above 180; the message names the rows.

    Examples
    --------
    >>> unify_longitudes(np.array([[-17.5, 179.5], [-17.5, -179.5]])).tolist()
    [[-17.5, 179.5], [-17.5, 180.5]]
    >>> unify_longitudes(np.array([[-17.5, -179.5], [-17.5, 180.5]]))
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: points: expected longitudes all in [-180, 180] or all in [0, 360]; ...
    """
    west, east = int(np.argmin(points[:, 1])), int(np.argmax(points[:, 1]))
    if points[west, 1] < 0 and points[east, 1] > 180:
        expected = "longitudes all in [-180, 180] or all in [0, 360]; type longitude % 360"
        got = f"{points[west, 1]} in row {west} and {points[east, 1]} in row {east}"
        raise InvalidProblemError(field, expected, got)
    if points[east, 1] - points[west, 1] <= 180:
        return points
    return np.stack([points[:, 0], points[:, 1] % 360], axis=1)


def ground_factor(latitudes: ArrayLike) -> float:
    r"""Compute a factor, at most 1, with which great circles between places are no longer than geodesics of WGS 84.

    Parameters
    ----------
    latitudes
        Latitudes of the places, in degrees.

    Returns
    -------
    float
        From .9944, if places lie on both sides of the equator, to 1, if all are beyond 48.2 degrees.

    Notes
    -----
    *Proof.* A way on the ellipsoid has :math:`ds^2 = M^2 d\varphi^2 + N^2 \cos^2\varphi\, d\lambda^2` with
    :math:`N = a / \sqrt{1 - e^2 \sin^2\varphi} \ge M = a (1 - e^2) / (1 - e^2 \sin^2\varphi)^{3/2}`, which both grow
    with the absolute latitude, and on a sphere of radius R both are R. A shortest way does not leave the hemisphere of
    its ends, since reflecting what crosses the equator makes no way longer; along it latitude first grows and then
    falls, so that no point is nearer to the equator than both ends. With M at the latitude nearest to the equator, 0
    if places lie on both sides of it, the geodesic is at least M / R times as long as its image on the sphere, and that
    is at least the great circle. ∎

    Examples
    --------
    >>> round(ground_factor([0.3, -0.5]), 4), ground_factor([-60.2, -48.3])
    (0.9944, 1.0)
    """
    low, high = float(np.min(latitudes)), float(np.max(latitudes))
    nearest = math.sin(math.radians(max(low, -high, 0.0)))
    meridian: float = (
        _WGS84.equator_km
        * (1 - _WGS84.squared_eccentricity)
        / (1 - _WGS84.squared_eccentricity * nearest**2) ** 1.5
    )
    return min(1.0, meridian / EARTH_RADIUS_KM * (1 - 2.0**-40))


def longest_geodesics(places: ArrayLike) -> NDArray[np.float64]:
    r"""Compute upper bounds on the geodesics of WGS 84 between places, in kilometers.

    Returns ``(n, n)`` float64, 0 or nearly so on the diagonal; ``O(n^2)``. InvalidProblemError for places out of
    range.

    Parameters
    ----------
    places
        Array ``(n, 2)`` of latitude and longitude in degrees.

    Notes
    -----
    *Proof.* With parametric latitudes, :math:`\tan\beta = (1 - f) \tan\varphi`, the ellipsoid has :math:`ds^2 = (a^2 -
    a^2 e^2 \cos^2\beta)\, d\beta^2 + a^2 \cos^2\beta\, d\lambda^2`. Along the great circle of the sphere of the
    :math:`\beta` with azimuth :math:`\alpha` that is :math:`a^2 (1 - e^2 \cos^2\beta \cos^2\alpha)\, d\sigma^2`, and
    :math:`\cos\beta \sin\alpha = s` is constant, so that the geodesic, which is no longer, is at most
    :math:`a \sigma \sqrt{1 - e^2 (\cos^2\beta_m - s^2)}` with the highest latitude :math:`\beta_m` that great circles
    between the places reach: :math:`\tan\beta_m` is at most that of the places over :math:`\cos(w / 2)` if longitudes
    differ by :math:`w < 180` degrees. Here :math:`s = \cos\beta_1 \cos\beta_2 \sin\Delta\lambda / \sin\sigma`. ∎

    Examples
    --------
    >>> longest_geodesics([(0.0, 36.8), (0.009, 36.8), (0.0, 36.809)])[0].round(5).tolist()
    [0.0, 0.99517, 1.00188]
    """
    points = np.array(lat_lon(places))
    points[:, 0] = np.degrees(
        np.arctan(math.sqrt(1 - _WGS84.squared_eccentricity) * np.tan(np.radians(points[:, 0])))
    )
    tallest = math.tan(math.radians(float(np.abs(points[:, 0]).max())))
    narrow = math.cos(math.radians(min(float(np.ptp(points[:, 1])), 179.9) / 2))
    lowest = (1 - 2.0**-30) / (1 + (tallest / narrow) ** 2) if np.ptp(points[:, 1]) < 179 else 0.0
    flat, longest = np.cos(np.radians(points[:, 0])), np.zeros((len(points), len(points)))
    for i, point in enumerate(points):
        arc = great_circle(point, points) / EARTH_RADIUS_KM
        turn = flat[i] * flat * np.sin(np.radians(points[:, 1] - point[1]))
        # At the same place and at an antipode no azimuth is known; 0 stands for the longest.
        known = np.sin(arc) > 1e-12
        saved = np.where(known, lowest - (turn / np.where(known, np.sin(arc), 1)) ** 2, 0)
        longest[i] = (
            _WGS84.equator_km
            * arc
            * np.sqrt(1 - _WGS84.squared_eccentricity * np.maximum(saved, 0))
        )
    return longest * (1 + 2.0**-30)


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
    half, radians = np.pi / 360, np.pi / 180
    latitude_p, latitude_q = p[..., 0], q[..., 0]
    sine_north = np.sin(np.abs(latitude_p - latitude_q) * half)
    sine_sum = np.sin(np.abs(latitude_p + latitude_q) * half)
    cosines = np.sin((90 - np.abs(latitude_p)) * radians) * np.sin(
        (90 - np.abs(latitude_q)) * radians
    )
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
    """Subtract without error: ``x - y`` is the sum of the two results, of the same shape (Knuth)."""
    difference = x - y
    virtual = x - difference
    return difference, (x - (difference + virtual)) + (virtual - y)


def to_plane(points: ArrayLike, origin: ArrayLike) -> NDArray[np.float64]:
    """Project places to kilometers east and north of an origin (equirectangular).

    For cities: at 50 km from the origin, at latitudes below 60 degrees, lengths are distorted by less than 1.5 %. It is
    for laying out cells and drawing maps, never for a privacy claim, whose distances come from :func:`great_circle`.

    Linear. East is counted the shorter way around.

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


def azimuthal(points: ArrayLike, *, shortest: float = 1e-9) -> NDArray[np.float64]:
    r"""Project places to a plane by the azimuthal equidistant projection around their mean direction.

    With the place c on the sphere in the mean direction of all places, a place at the great-circle distance r from c
    goes to the distance r from the origin, at its bearing. Lengths are true along bearings and longer by
    :math:`\theta / \sin\theta`, :math:`\theta = r / R`, across them: by a part in :math:`10^7` at 5 km.

    Linear. InvalidProblemError for places out of range.

    Parameters
    ----------
    points
        Array ``(n, 2)`` of latitude and longitude, at least one row.
    shortest
        Length of the mean of unit vectors up to which rounding decides its direction.

    Returns
    -------
    ndarray
        Array ``(n, 2)`` of kilometers. Places around the whole sphere, which have no mean direction, are projected
        from the direction of the first.

    Examples
    --------
    >>> abs(azimuthal([[-17.5, 179.9], [-17.5, -179.9]])[:, 0]).round(1).tolist()
    [10.6, 10.6]
    """
    latitude, longitude = np.radians(lat_lon(points)).T
    level = np.cos(latitude)
    unit = np.stack(
        [level * np.cos(longitude), level * np.sin(longitude), np.sin(latitude)], axis=1
    )
    center = unit.mean(axis=0)
    if float(np.linalg.norm(center)) < shortest:
        center = unit[0]
    center /= np.linalg.norm(center)
    # At a pole any bearing may be called east.
    level_center = math.hypot(center[0], center[1])
    east = np.array([0.0, 1.0, 0.0])
    if level_center > shortest:
        east = np.array([-center[1], center[0], 0.0]) / level_center
    across = np.stack([unit @ east, unit @ np.cross(center, east)], axis=1)
    sine = np.linalg.norm(across, axis=1)
    angle = np.arctan2(sine, unit @ center)
    factor = np.divide(angle, sine, out=np.ones_like(sine), where=sine > 0)
    plane: NDArray[np.float64] = EARTH_RADIUS_KM * factor[:, None] * across
    return plane


def _origin(origin: ArrayLike) -> NDArray[np.float64]:
    """Read latitude and longitude of one place, ``(2,)``; raise InvalidProblemError for a pole or another shape."""
    center = lat_lon(origin, "origin")
    if center.shape != (2,) or abs(center[0]) == 90:
        raise InvalidProblemError("origin", "one place that is not a pole", center.tolist())
    return center


def grid_centers(rows: int, columns: int, cell: float) -> NDArray[np.float64]:
    """Return the centers of a grid's square cells, row by row, as ``(x, y)`` from the grid's corner.

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
