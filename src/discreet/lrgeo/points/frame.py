r"""The plane of a region, exactly: how coordinates that a person types become rational decimeters.

Rounding a point to a unit first would bring borders back, so nothing is rounded: coordinates are decimals, the map is
affine, and its two factors are integers. With an origin they are decimeters per degree, times :math:`2^{20}`, and so
small that no two points of the *envelope* are farther apart in the plane than on the ground: the theorem of
:mod:`discreet.lrgeo.places.plane` compares the plane with great circles, and
:func:`~discreet.core.spaces.geography.ground_factor` these with geodesics of WGS 84. So what holds at distances in the
plane holds at those on the ground. Files from before have factors for great circles alone, at most .56 % larger.

Trusted: the guarantee rests on this code, which maps points to the plane of the promise.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.spaces.geography import ground_factor
from discreet.lrgeo.places.plane import cosine_for
from discreet.lrgeo.places.space import per_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

SCALE = 1 << 20
"""What the factors of the map are multiplied by, so that they are integers."""

PER_DEGREE = 1_165_964_924_509
"""Decimeters in a degree of latitude, times :data:`SCALE`, rounded down: 63,710,088 pi / 180 of them."""

_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LONGEST, _LARGEST_POWER = 60, 40
"""Characters of a coordinate, and what its power of ten may be."""


def read_decimal(value: object) -> Fraction:
    """Read a coordinate exactly: a decimal text, an integer, or a double by its shortest decimal.

    Raises
    ------
    InvalidProblemError
        For anything else; the message does not repeat it.

    Examples
    --------
    >>> read_decimal("3.2104567"), read_decimal(0.1)
    (Fraction(32104567, 10000000), Fraction(1, 10))
    """
    text = str(value).strip() if isinstance(value, str | int | float) else ""
    if isinstance(value, bool) or len(text) > _LONGEST or not _DECIMAL.fullmatch(text):
        raise InvalidProblemError("point", "two finite decimal numbers", "something else")
    power = text.lower().partition("e")[2] or "0"
    if abs(int(power)) > _LARGEST_POWER:
        raise InvalidProblemError("point", "two finite decimal numbers", "something else")
    return to_fraction(text, "point")


@final
@dataclass(frozen=True)
class PointFrame:
    """How coordinates become decimeters in the plane.

    Parameters
    ----------
    unit
        ``"km"`` or ``"m"``.
    origin
        Latitude and longitude of (0, 0) in degrees, as decimal texts; ``None`` for a plane that lies nowhere.
    east, north
        Decimeters per degree of longitude and of latitude, times :data:`SCALE`; without an origin per unit.

    Raises
    ------
    InvalidProblemError
        For another unit, factors that are not positive, or not those of the unit or the sphere.

    Examples
    --------
    >>> frame = PointFrame.plain("km")
    >>> frame.plane(("0.5", "1e-9"))
    (Fraction(5000, 1), Fraction(1, 100000))
    """

    unit: str
    origin: tuple[str, str] | None
    east: int
    north: int

    def __post_init__(self) -> None:
        scale = per_unit(self.unit) * SCALE
        if self.origin is None:
            if (self.east, self.north) != (scale, scale):
                raise InvalidProblemError("east and north", f"{scale} without an origin", "others")
            return
        latitude, longitude = (read_decimal(text) for text in self.origin)
        if abs(latitude) > 90 or not -180 <= longitude <= 360:
            raise InvalidProblemError("origin", "a latitude and a longitude", "something else")
        if not 0 < self.east <= self.north <= PER_DEGREE:
            raise InvalidProblemError("east and north", "those of the Earth", "others")

    @classmethod
    def plain(cls, unit: str) -> PointFrame:
        """Return the frame of a plane that is not on the globe."""
        return cls(unit, None, per_unit(unit) * SCALE, per_unit(unit) * SCALE)

    @classmethod
    def on_sphere(
        cls,
        unit: str,
        origin: tuple[str, str],
        latitudes: tuple[float, float],
        width: float,
    ) -> PointFrame:
        """Return the frame of an envelope on the sphere.

        Parameters
        ----------
        unit
            ``"km"`` or ``"m"``.
        origin
            As decimal texts.
        latitudes
            Least and greatest of the envelope, in degrees.
        width
            What its longitudes differ by at most.

        Raises
        ------
        InvalidProblemError
            For a region that is no city.
        """
        # What decimeters are, and so how far the envelope reaches, depends on the factor: by less than a part in 100.
        more = (latitudes[1] - latitudes[0]) / 100
        north = PER_DEGREE * ground_factor((latitudes[0] - more, latitudes[1] + more))
        east = north * cosine_for(latitudes, width)
        return cls(unit, origin, math.floor(east), math.floor(north))

    def stretch(self, low: int, high: int) -> Fraction | None:
        """Return an upper bound on a distance in the plane, as a multiple of the geodesic of WGS 84.

        Constant time. Points between these latitudes, in the plane, are covered.

        Parameters
        ----------
        low, high
            Least and greatest decimeters north of the origin.

        Returns
        -------
        Fraction or None
            1, or up to 1.00562 for files from before; ``None`` without an origin.
        """
        if self.origin is None:
            return None
        latitude = float(read_decimal(self.origin[0]))
        shortest = ground_factor([latitude + y * SCALE / self.north for y in (low, high)])
        return max(Fraction(1), Fraction(self.north, PER_DEGREE) / Fraction(shortest))

    def plane(self, point: object) -> tuple[Fraction, Fraction]:
        """Convert a point, read as decimals, to decimeters east and north, exactly.

        Parameters
        ----------
        point
            Latitude and longitude where there is an origin, else east and north in the unit: decimal texts, integers,
            or doubles, which are read by their shortest decimals.

        Raises
        ------
        InvalidProblemError
            For what is no point; the message does not repeat it.
        """
        stated: Any = point
        try:
            first, second = (getattr(one, "item", lambda one=one: one)() for one in stated)
        except (TypeError, ValueError):
            raise InvalidProblemError("point", "two numbers", "something else") from None
        x, y = read_decimal(first), read_decimal(second)
        if self.origin is None:
            return x * self.east / SCALE, y * self.north / SCALE
        if abs(x) > 90 or not -180 <= y <= 360:
            raise InvalidProblemError("point", "a latitude and a longitude", "something else")
        latitude, longitude = (read_decimal(text) for text in self.origin)
        away = (y - longitude + 180) % 360 - 180
        return away * self.east / SCALE, (x - latitude) * self.north / SCALE

    def shown(self, places: NDArray[np.int64]) -> list[tuple[str, str]]:
        """Return points ``(K, 2)`` of the plane, in decimeters, as a list of pairs of decimal texts.

        Latitude and longitude to seven decimals of a degree, or east and north, exactly, in the unit.
        """
        if self.origin is None:
            per = per_unit(self.unit)
            return [(_exact(x, per), _exact(y, per)) for x, y in places.tolist()]
        latitude, longitude = (read_decimal(text) for text in self.origin)
        return [
            (
                _rounded(latitude + Fraction(y * SCALE, self.north)),
                _rounded((longitude + Fraction(x * SCALE, self.east) + 180) % 360 - 180),
            )
            for x, y in places.tolist()
        ]


def region_digest(frame: PointFrame, corners: Sequence[tuple[int, int]], reach: int) -> str:
    """Return the SHA-256 of a region: its plane, its corners and its reach, and no mechanism.

    Parameters
    ----------
    frame
        The plane.
    corners
        Decimeters, counterclockwise from the one least by (east, north).
    reach
        Decimeters outside of the region within which a point is taken.

    Examples
    --------
    >>> region_digest(PointFrame.plain("km"), [(0, 0), (4, 0), (0, 4)], 3)[:16]
    '9db70ac457fe941f'
    """
    named = {
        "unit": frame.unit,
        "origin": None if frame.origin is None else list(frame.origin),
        "east": frame.east,
        "north": frame.north,
        "reach": reach,
        "outline": [list(corner) for corner in corners],
    }
    text = json.dumps(named, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(b"discreet.points/1 " + text.encode()).hexdigest()


def _exact(value: int, per: int) -> str:
    """Write ``value / per``, `per` a power of ten, as the shortest decimal, exactly."""
    digits = len(str(per)) - 1
    integer, part = divmod(abs(value), per)
    tail = str(part).zfill(digits).rstrip("0")
    text = f"{integer}.{tail}" if tail else str(integer)
    return f"-{text}" if value < 0 else text


def _rounded(degrees: Fraction) -> str:
    return _exact(round(degrees * 10**7), 10**7)
