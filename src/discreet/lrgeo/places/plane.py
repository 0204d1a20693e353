r"""From latitude and longitude to integers in the plane, such that no distance grows.

A place at latitude :math:`\varphi` and longitude :math:`\lambda` lies :math:`R c (\lambda - \lambda_0)` east and
:math:`R (\varphi - \varphi_0)` north of the origin, with one number c for the whole region, at most the cosine of the
highest latitude that any shortest way between two places reaches.

**No two places are farther apart in the plane than on the sphere.** *Proof.* Along the shortest way on the sphere
:math:`ds^2 = R^2 (d\varphi^2 + \cos^2 \varphi\, d\lambda^2) \ge R^2 (d\varphi^2 + c^2 d\lambda^2)`, since
:math:`\cos \varphi \ge c` all along it. So its image in the plane is no longer than it is, and the straight line
between the ends is no longer than that. ∎

**The highest latitude.** On a great circle :math:`\tan \varphi = A \cos(\lambda - \lambda^*)` with A the tangent of its
highest latitude. If the way between two places at absolute latitudes of at most :math:`\varphi_m` passes
:math:`\lambda^*`, one of its ends is within half of their difference in longitude of it, so that
:math:`A \cos(\Delta\lambda / 2) \le \tan \varphi_m`; else it goes no higher than its ends. Across the equator the same
holds for the reflection. So :math:`c = \cos \arctan(\tan \varphi_m / \cos(\Delta\lambda / 2))` is small enough, with
:math:`\varphi_m` and :math:`\Delta\lambda` those of the region. ∎
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import at_most, decimal_up, estimate
from discreet.core.spaces.geography import EARTH_RADIUS_KM
from discreet.core.statements import state

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.guarantee import MetricDP

PER_UNIT = {"km": 10_000, "m": 10}
"""Decimeters in a unit."""


class _Degrees(NamedTuple):
    """Limits of a region, in degrees."""

    width: float = 20.0
    """Largest difference of longitudes: a wider region is no city."""
    latitude: float = 88.0
    """Largest latitude: a degree of longitude is four kilometers wide there."""
    rounding: float = 1e-5
    """Margin for rounding to decimeters: ten of them along a meridian."""


_DEGREES = _Degrees()

DEGREE = math.radians(1.0) * EARTH_RADIUS_KM * PER_UNIT["km"]
"""Decimeters in a degree of latitude."""


def cosine_for(latitudes: ArrayLike, width: float, *, unrounded: bool = False) -> float:
    """Return the factor c for places at `latitudes` (degrees) whose longitudes differ by `width` degrees at most.

    A degree of longitude counts as c degrees of latitude in the plane: at most the true one, so that nothing is
    farther apart there than on the sphere. `unrounded` places are still to be rounded to decimeters, which may widen
    the region.

    Raises
    ------
    InvalidProblemError
        For a region more than 20 degrees of longitude wide, or beyond 88 degrees of latitude.
    """
    margin = _DEGREES.rounding if unrounded else 0.0
    highest = float(np.abs(latitudes).max()) + margin
    width += 2 * margin
    if highest > _DEGREES.latitude or width > _DEGREES.width:
        high = estimate(_DEGREES.latitude)
        expected = (
            f"latitudes from -{high} to {high} and longitudes within {estimate(_DEGREES.width)} "
            "degrees; MetricSpace.from_points(points, metric='haversine', unit='km') takes places anywhere"
        )
        got = [f"latitudes up to {at_most(highest)}"] * (highest > _DEGREES.latitude)
        got += [f"{at_most(width)} degrees of longitude"] * (width > _DEGREES.width)
        raise InvalidProblemError("places", expected, " and ".join(got))
    top = math.tan(math.radians(highest)) / math.cos(math.radians(width / 2))
    # The factor makes up for what floats err in a cosine.
    return math.cos(math.atan(top)) * (1 - 2.0**-30)


def on_the_ground(guarantee: MetricDP, stretch: Fraction) -> str:
    """Write a guarantee for distances in the plane, and the epsilon that it is by geodesics of WGS 84.

    Parameters
    ----------
    guarantee
        The guarantee.
    stretch
        Upper bound on a distance in the plane, as a multiple of the geodesic.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.guarantee import MetricDP
    >>> on_the_ground(MetricDP(2, "km"), Fraction("1.005")).partition("; ")[2]
    'd is at most 1.005 times the geodesic of WGS 84, by which this is 2.01 per km'
    """
    is_longer = stretch > 1
    times = f"{at_most(stretch)} times " if is_longer else ""
    factor = stretch if is_longer else 1
    epsilon, unit = decimal_up(guarantee.epsilon * factor), guarantee.unit
    all_pairs = getattr(guarantee.scope, "all_pairs_epsilon", None)
    if guarantee.radius is not None and all_pairs is not None:
        # "This" follows a clause about all pairs.
        epsilon = f"{decimal_up(all_pairs * factor)} per {unit} for all pairs, and within the radius {epsilon}"
    return f"{guarantee}{state('geodesics', times=times, epsilon=epsilon, unit=unit)}"


def sphere_to_plane(
    points: NDArray[np.float64], origin: tuple[float, float], cosine: float
) -> NDArray[np.float64]:
    """Convert latitudes and longitudes in degrees, ``(..., 2)``, to decimeters east and north of `origin`, as floats.

    `origin` is a latitude and a longitude; `cosine` shrinks degrees of longitude, see :func:`cosine_for`. Same shape,
    linear; the shorter way around the globe is taken.
    """
    away = points - np.array(origin)
    east = (away[..., 1] + 180) % 360 - 180
    return np.stack([east * (DEGREE * cosine), away[..., 0] * DEGREE], axis=-1)


def plane_to_sphere(
    plane: NDArray[np.float64], origin: tuple[float, float], cosine: float
) -> NDArray[np.float64]:
    """Convert decimeters east and north of the origin, ``(..., 2)``, to latitudes and longitudes in degrees.

    `cosine` shrinks degrees of longitude; see :func:`cosine_for`. Same shape.
    """
    return np.stack(
        [
            origin[0] + plane[..., 1] / DEGREE,
            origin[1] + plane[..., 0] / (DEGREE * cosine),
        ],
        axis=-1,
    )
