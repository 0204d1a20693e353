"""What the verifiers of both forms of mechanisms for every point check alike: the unit, the region, and the plane.

Trusted: the guarantee rests on this code, which verifies it.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.certificate import Check
from discreet.core.exact import to_fraction
from discreet.core.guarantee import MetricDP, PointScope

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DECIMETERS", "FARTHEST", "MOST_BITS", "Stated", "check_claims", "check_none"]

DECIMETERS = {"km": 10_000, "m": 10}
"""In a unit."""

MOST_BITS = 53
"""Largest bits of a row sum, so that weights are exact doubles."""

FARTHEST = 1 << 30
"""Coordinates are below this, so that products of two of their differences are below 2^63."""

_SCALE = 1 << 20
_PI = Fraction("3.14159265358979323846264338327950288419716939937510")
_PER_DEGREE = int(63_710_088 * _PI / 180 * _SCALE)
"""Decimeters in a degree of latitude on a sphere of radius 6371.0088 km, times 2^20, rounded down."""


@dataclass(frozen=True)
class Stated:
    """What is stated of the plane and the region.

    Parameters
    ----------
    unit
        Of distances.
    origin
        Degrees, as decimal texts.
    factors
        Of the plane, east and north.
    reach
        Decimeters around the region.
    corners
        Of the region, counterclockwise, in decimeters.
    guarantee
        The claim.
    """

    unit: str
    origin: tuple[str, str] | None
    factors: tuple[int, int]
    reach: int
    corners: Sequence[Sequence[int]]
    guarantee: MetricDP


def check_none(name: str, found: int | bool, detail: str = "") -> Check:  # noqa: FBT001 - a count
    """Check that something does not occur."""
    return Check(name, int(found), 0, exact=True, detail=detail)


def check_claims(stated: Stated) -> list[Check]:
    """Check the unit, the region that the claim names, and the plane against the sphere.

    Parameters
    ----------
    stated
        The plane, the region, and the claim.

    Returns
    -------
    list of Check
        Exact, but for the plane, which is compared in floats with a margin of 2^-31.
    """
    guarantee = stated.guarantee
    wrong = guarantee.radius is not None or guarantee.unit != stated.unit
    scope = guarantee.scope
    other = not isinstance(scope, PointScope) or scope.region != _digest(stated)
    return [
        check_none("facts misstated in the claim", wrong),
        check_none("another region than stated", other),
        Check("distances longer in the plane", int(not _is_flat(stated)), 0, exact=False),
    ]


def _digest(stated: Stated) -> str:
    east, north = stated.factors
    named = {
        "unit": stated.unit,
        "origin": None if stated.origin is None else list(stated.origin),
        "east": east,
        "north": north,
        "reach": stated.reach,
        "outline": [list(corner) for corner in stated.corners],
    }
    text = json.dumps(named, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(b"discreet.points/1 " + text.encode()).hexdigest()


def _is_flat(stated: Stated) -> bool:
    """Whether the distance in the plane is at most that on the ground, for all points within the reach."""
    east, north = stated.factors
    if stated.origin is None:
        return east == north == DECIMETERS[stated.unit] * _SCALE
    if not 0 < east <= north <= _PER_DEGREE:
        return False
    left, right = (end(x for x, _ in stated.corners) for end in (min, max))
    low, high = (end(y for _, y in stated.corners) for end in (min, max))
    latitude, reach = float(to_fraction(stated.origin[0], "origin")), stated.reach
    ends = [latitude + at * _SCALE / north for at in (low - reach, high + reach)]
    highest, width = max(map(abs, ends)), (right - left + 2 * reach) * _SCALE / east
    if width > 20 or highest > 88:
        return False
    top = math.tan(math.radians(highest)) / math.cos(math.radians(width / 2))
    return east <= north * math.cos(math.atan(top)) * (1 - 2.0**-31)
