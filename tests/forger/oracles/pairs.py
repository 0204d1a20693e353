"""What oracles of mechanisms for every point compare alike: pairs of points, regions, and distances on a sphere."""

from __future__ import annotations

import hashlib
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from forger.exactly import apart, as_decimal, common, number
from forger.sealing import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    Spot = tuple[Fraction, Fraction]

DECIMETERS = {"km": 10_000, "m": 10}
SCALE = 2**20

SURE = Decimal("1e-120")
"""Logarithms nearer than this are equal."""

ON_SPHERE = Decimal("1e-30")
"""Relative difference up to which a distance in the plane and one on the sphere are equal: sixty digits are kept."""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that comes twice: such a file states two things."""
    if len(dict(pairs)) != len(pairs):
        raise KeyError("a key comes twice")
    return dict(pairs)


def spoken(stated: dict[str, Any]) -> str:
    """Say that two reports are told alike."""
    told = [(first, second) for first, second in stated["shown"]]
    return "two reports that are told alike" if len({*told}) < len(told) else ""


def other_region(stated: dict[str, Any], region: Sequence[tuple[int, int]]) -> str:
    claim, unit = stated["guarantee"], stated["unit"]
    if claim["kind"] != "metric-dp" or claim["unit"] != unit or claim["radius"] is not None:
        return "another guarantee than one between any two points, in the unit"
    named: dict[str, Any] = {
        name: stated[name] for name in ("unit", "origin", "east", "north", "reach")
    }
    named["outline"] = [[*corner] for corner in region]
    digest = hashlib.sha256(b"discreet.points/1 " + canonical(named)).hexdigest()
    if claim["scope"] != {"region": digest}:
        return "a scope of another region"
    if stated["origin"] is None and (stated["east"], stated["north"]) != (
        DECIMETERS[unit] * SCALE,
        DECIMETERS[unit] * SCALE,
    ):
        return "a plane in which a unit has another length"
    return ""


def broken(p: Fraction, q: Fraction, allowed: Decimal) -> bool:
    """Tell whether a report is likelier than is allowed: by the logarithm of the ratio of both chances."""
    if not p or not q:
        return p != q
    return abs((as_decimal(p) / as_decimal(q)).ln()) > allowed + SURE


def length(x: Fraction, y: Fraction) -> Decimal:
    return as_decimal(x * x + y * y).sqrt()


def compare(found: dict[Spot, list[Fraction]], rate: Decimal, nearly: float) -> str:
    """Compare what is told at all pairs of some points; floats sort out what is clear."""
    spots = [(spot, values, [float(value) for value in values]) for spot, values in found.items()]
    logs = [[math.log(value) if value else -math.inf for value in rough] for _, _, rough in spots]
    for (i, (p, exact, _)), (j, (q, others, _)) in combinations(enumerate(spots), 2):
        far = nearly * math.hypot(float(p[0] - q[0]), float(p[1] - q[1])) * (1 - 1e-9) - 1e-9
        for report, (one, other) in enumerate(zip(logs[i], logs[j], strict=True)):
            if one != other and abs(one - other) >= far:
                allowed = rate * length(p[0] - q[0], p[1] - q[1])
                if broken(exact[report], others[report], allowed):
                    return "a report tells more of two points than epsilon times their distance"
    return ""


def farther(stated: dict[str, Any], region: Sequence[tuple[int, int]]) -> str:
    """Say whether two points that are taken are farther apart in the plane than they are."""
    reach = stated["reach"]
    if type(reach) is not int or not 0 <= reach < 2**30:
        return "no reach"
    if stated["origin"] is None:
        return ""
    latitude, longitude = (number(text) for text in stated["origin"])
    if abs(latitude) > 90 or not -180 <= longitude <= 360:
        return "an origin that is no place"
    return _longer(latitude, stated["east"], stated["north"], reach, (*region,))


@lru_cache(512)
def _longer(
    latitude: Fraction, east: int, north: int, reach: int, region: tuple[tuple[int, int], ...]
) -> str:
    """Compare points around the region, far ones and near ones, on the sphere and in the plane."""
    if east <= 0 or north <= 0:
        return "a plane without extent"
    least = min(y for _, y in region)
    # Points of the region, and as far outside of it as they are taken, north and south with two that are near.
    taken: set[Spot] = set()
    for x, y in region:
        taken |= {
            (Fraction(x), Fraction(y)),
            (Fraction(x - reach), Fraction(y)),
            (Fraction(x + reach), Fraction(y)),
        }
        away = -reach if y == least else reach
        beside = Fraction(reach, 1000)
        taken |= {(x + beside * sign, y + away * Fraction(999_999, 1_000_000)) for sign in (-1, 1)}
    placed = [(latitude + y * SCALE / north, x * SCALE / east) for x, y in sorted(taken)]
    if any(abs(away) > 180 or abs(up) > 90 for up, away in placed):
        return "beyond: a plane around more than there is of the globe"
    with common():
        globe, _ = apart("haversine", "m", placed)
        for i, j in combinations(range(len(placed)), 2):
            (a, b), (c, d) = (sorted(taken)[at] for at in (i, j))
            if length(a - c, b - d) / 10 > globe(i, j) * (1 + ON_SPHERE):
                return "two points are farther apart in the plane than on the sphere"
    return ""
