"""What the verifiers of both forms of mechanisms for every point share: unit, region, plane, and the inequality.

Trusted: the guarantee rests on this code, which verifies it.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.certificate import Check
from discreet.core.exact import to_fraction
from discreet.core.guarantee import MetricDP, PointScope

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DECIMETERS = {"km": 10_000, "m": 10}
"""In a unit."""

MOST_BITS = sys.float_info.mant_dig
"""Largest bits of a row sum, so that weights are exact doubles."""

_FARTHEST = 1 << 30
"""Coordinates are below this, so that products of two of their differences are below 2^63."""

_SCALE = 1 << 20
_PI = Fraction("3.14159265358979323846264338327950288419716939937510")
_PER_DEGREE = int(63_710_088 * _PI / 180 * _SCALE)
"""Decimeters in a degree of latitude on a sphere of radius 6371.0088 km, times 2^20, rounded down."""


_FLOAT_MARGIN = 2.0**-44
"""Part by which one side of (**) has to be larger for floats to settle it: see :func:`count_violations`."""

_ALLOWS_ALL = Fraction(1 << 200)
"""A rate beyond all slopes, which are below 2^57, and below what floats hold: a larger one allows no more."""


@dataclass(frozen=True, eq=False)
class Claimed:
    """What is verified: what is stated of the plane, the net and the sums, and what is claimed of them.

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
    low, side, cells
        The box: its corner, the side of its cells in decimeters, and how many there are.
    bits
        Bits of the sum of the noise, or of each row.
    guarantee
        The claim.
    """

    unit: str
    origin: tuple[str, str] | None
    factors: tuple[int, int]
    reach: int
    low: tuple[int, int]
    side: int
    cells: tuple[int, int]
    bits: int
    guarantee: MetricDP

    @property
    def corners(self) -> tuple[tuple[int, int], ...]:
        """Corners of the box, counterclockwise, in decimeters."""
        (x, y), (wide, tall) = self.low, self.cells
        right, high = x + wide * self.side, y + tall * self.side
        return ((x, y), (right, y), (right, high), (x, high))

    @property
    def is_in_range(self) -> bool:
        """Whether all numbers are so small that whatever is computed of them fits its type."""
        return (
            self.side >= 1
            and min(self.cells) >= 1
            and max(abs(end) for corner in self.corners for end in corner) < _FARTHEST
            and 0 <= self.reach < _FARTHEST
            and 0 < self.bits <= MOST_BITS
            and self.unit in _DECIMETERS
        )

    @property
    def rate(self) -> Fraction:
        """Epsilon times the side of a cell: rho in (**)."""
        return min(self.guarantee.epsilon * self.side / _DECIMETERS[self.unit], _ALLOWS_ALL)


def count_violations(
    value: NDArray[np.int64], east: NDArray[np.int64], north: NDArray[np.int64], rate: Fraction
) -> int:
    r"""Count where :math:`G_1^2 + G_2^2 \le (\rho V)^2` is false, in floats where these are sure, else in integers.

    Returns the number of entries. Linear, in integers only where the comparison is close.

    Parameters
    ----------
    value, east, north
        V, G_1 and G_2, of one shape: sums of entries of at most 2^53 with factors whose magnitudes sum to at most 8, so
        that they are at most 2^56 and exact. As floats they err by 2^-53 of themselves, the length by less than 2^-50
        of itself, and the other side likewise: a comparison that holds with a margin of 2^-44 of both is sure.
    rate
        The factor rho.
    """
    left = np.hypot(east.astype(np.float64), north.astype(np.float64))
    right = float(rate) * value.astype(np.float64)
    wrong = left > right * (1 + _FLOAT_MARGIN)
    close = ~wrong & (left > right * (1 - _FLOAT_MARGIN))
    count = int(wrong.sum())
    over, under = rate.numerator**2, rate.denominator**2
    for v, gx, gy in zip(
        value[close].tolist(), east[close].tolist(), north[close].tolist(), strict=True
    ):
        count += (gx * gx + gy * gy) * under > over * v * v
    return count


def check_none(name: str, found: int | bool, detail: str = "") -> Check:  # noqa: FBT001 - a count
    """Return a check that passes only if `found`, a count or a truth value, is 0; `name` says what must not occur."""
    return Check(name, int(found), 0, exact=True, detail=detail)


def check_claims(claimed: Claimed) -> list[Check]:
    """Check the unit, the region that the claim names, and the plane against the sphere.

    Parameters
    ----------
    claimed
        The plane, the region, and the claim.

    Returns
    -------
    list of Check
        Exact, but for the plane, which is compared in floats with a margin of 2^-31.
    """
    guarantee = claimed.guarantee
    wrong = guarantee.radius is not None or guarantee.unit != claimed.unit
    scope = guarantee.scope
    other = not isinstance(scope, PointScope) or scope.region != _digest(claimed)
    return [
        check_none("facts misstated in the claim", wrong),
        check_none("another region than stated", other),
        Check("distances longer in the plane", int(not _is_flat(claimed)), 0, exact=False),
    ]


def _digest(stated: Claimed) -> str:
    """Return the SHA-256 of the space of a claim's guarantee (frame, reach and outline), in hexadecimal."""
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


def _is_flat(stated: Claimed) -> bool:
    """Return whether the distance in the plane is at most that on the ground, for all points within the reach.

    False also for regions beyond 88 degrees of latitude or more than 20 degrees of longitude wide. Without an origin
    it is whether the factors are those of the unit.
    """
    east, north = stated.factors
    if stated.origin is None:
        return east == north == _DECIMETERS[stated.unit] * _SCALE
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
