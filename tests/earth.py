"""Geodesics of WGS 84 by Vincenty's formula, and map projections in closed form: what tests compare lengths with."""

from __future__ import annotations

import math

AXIS = 6378.137
"""Equatorial radius in kilometers."""

FLATTENING = 1 / 298.257223563
POLAR_AXIS = AXIS * (1 - FLATTENING)


def geodesic(here: tuple[float, float], there: tuple[float, float]) -> float:
    """Compute the geodesic between two latitudes and longitudes in kilometers, within a part of 10^-10.

    Antipodes excepted, for which the iteration does not end.
    """
    (phi, east), (psi, west) = (map(math.radians, point) for point in (here, there))
    u, v = (math.atan((1 - FLATTENING) * math.tan(x)) for x in (phi, psi))
    turn = math.remainder(west - east, 2 * math.pi)
    sin_u, cos_u, sin_v, cos_v = math.sin(u), math.cos(u), math.sin(v), math.cos(v)
    wide = turn
    for _ in range(200):
        sine = math.hypot(cos_v * math.sin(wide), cos_u * sin_v - sin_u * cos_v * math.cos(wide))
        if sine == 0:
            return 0.0
        cosine = sin_u * sin_v + cos_u * cos_v * math.cos(wide)
        arc = math.atan2(sine, cosine)
        azimuth = cos_u * cos_v * math.sin(wide) / sine
        square = 1 - azimuth**2
        middle = cosine - 2 * sin_u * sin_v / square if square > 1e-15 else 0.0
        c = FLATTENING / 16 * square * (4 + FLATTENING * (4 - 3 * square))
        inner = middle + c * cosine * (2 * middle**2 - 1)
        before, wide = wide, turn + (1 - c) * FLATTENING * azimuth * (arc + c * sine * inner)
        if abs(wide - before) < 1e-14:
            break
    else:
        raise AssertionError("antipodes")
    k = square * (AXIS**2 - POLAR_AXIS**2) / POLAR_AXIS**2
    a = 1 + k / 16384 * (4096 + k * (-768 + k * (320 - 175 * k)))
    b = k / 1024 * (256 + k * (-128 + k * (74 - 47 * k)))
    outer = middle * (4 * sine**2 - 3) * (4 * middle**2 - 3)
    inner = cosine * (2 * middle**2 - 1) - b / 6 * outer
    return POLAR_AXIS * a * (arc - b * sine * (middle + b / 4 * inner))


def to_mercator(longitude: float, latitude: float) -> tuple[float, float]:
    """Project to meters of EPSG:3857."""
    radius = 1000 * AXIS
    return (
        radius * math.radians(longitude),
        radius * math.asinh(math.tan(math.radians(latitude))),
    )


def from_mercator(x: float, y: float) -> tuple[float, float]:
    """Turn meters of EPSG:3857 into longitude and latitude."""
    radius = 1000 * AXIS
    return math.degrees(x / radius), math.degrees(math.atan(math.sinh(y / radius)))
