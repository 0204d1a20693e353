"""A bench for border attacks: mechanisms on a small grid and on regions of two places, and the points at their borders.

Mode ``places-only`` designs for places and snaps each point to the nearest one, as the library does on request.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import MetricDP
from discreet.evaluate.attack.borders import (
    Straddle,
    attack_bisecting,
    attack_republished,
    attack_straddling,
    exact_decimal,
)
from discreet.evaluate.attack.finding import Attacked
from discreet.evaluate.audit.borders import audit_snapped_points
from discreet.lrgeo import Client, Region, design

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.evaluate.attack.borders import Law
    from discreet.evaluate.attack.request import AttackRequest
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

__all__ = ["BORDER_MODES", "attack_borders", "audit_points", "snapped_law"]

_SIDE = 4
_METER = Fraction(1, 1000)
_HAIR = Fraction(1, 10**9)
_LONG = 200
"""Kilometers between the places of a republished region."""

_ROUNDS, _REGIONS = 14, 10
_APART = Fraction(16, 1000)


def snapped_law(region: Region, claim: MetricDP) -> Law:
    """Design for the places of a region; a point reports what its nearest place reports."""
    # A gap is beside the point: two places far apart lose next to nothing.
    client = Client(design(region, claim, gap=0.5, throw=False))

    def law(point: tuple[str, str]) -> Sequence[Fraction]:
        row = client.row(client.snap((float(point[0]), float(point[1])))).tolist()
        total = sum(row)
        return [Fraction(weight, total) for weight in row]

    return law


BORDER_MODES: dict[str, Callable[[Region, MetricDP], Law]] = {"places-only": snapped_law}
"""How a region becomes the law of each point."""


def attack_borders(request: AttackRequest) -> Attacked:
    """Attack the borders of a mechanism for a grid of 4 x 4 places 1 km apart, and of regions of two places.

    Parameters
    ----------
    request
        The mode, a key of :data:`BORDER_MODES`, and epsilon per km, by default 2.

    Returns
    -------
    Attacked
        One finding for each attack. Limits are those of a promise between points.

    Raises
    ------
    InvalidProblemError
        For an option that has no meaning here.
    """
    request.only(("mode", "epsilon"))
    mode = request.need("mode")
    claim = MetricDP(request.epsilon or "2", unit="km")
    law_of = BORDER_MODES[mode]
    law = law_of(Region.from_grid(_SIDE, _SIDE, cell=1, unit="km"), claim)

    half = _LONG * 5_000
    base = law_of(Region(np.array([[-half, 0], [half, 0]]), None, claim.unit), claim)

    def two(border: Fraction) -> Law:
        """Publish two places on a line, as far from the border on both sides: the same region, moved."""
        return lambda point: base(
            (exact_decimal(to_fraction(point[0], "point") - border), point[1])
        )

    first, second = (("100.008", "0"), ("100.024", "0"))
    borders = [Fraction(100_009 + at, 1000) for at in range(_REGIONS)]
    # Nowhere near a border of the first rounds, and with few decimals.
    users = [Fraction(_LONG * (2 * at + 1), 64) + Fraction(1, 800) for at in range(0, 32, 4)]
    findings = (
        attack_straddling(law, _straddles(_METER), claim.epsilon, attack="a meter across a border"),
        attack_straddling(law, _straddles(_HAIR), claim.epsilon, attack="the ninth decimal"),
        attack_republished(
            [two(border) for border in borders], Straddle(first, second, _APART), claim.epsilon
        ),
        attack_bisecting(two, Fraction(_LONG, 1), users, _ROUNDS),
    )
    facts = {"mode": mode, "places": _SIDE * _SIDE, "epsilon": float(claim.epsilon)}
    return Attacked(f"lrgeo, {mode}, borders", findings, facts)


def audit_points(request: AuditRequest) -> Audit:
    """Audit the same mechanism by pairs of points, as if its promise were between points.

    Parameters
    ----------
    request
        The method ``"places-only"``, how many pairs, and epsilon per km, by default 2.

    Returns
    -------
    Audit
        Exact.

    Raises
    ------
    InvalidProblemError
        For an option that has no meaning here, or fewer than two pairs.
    """
    request.refuse("delta", "rho", "neighbors", "k")
    request.choose("exact")
    if request.points is None or request.points < 2:
        raise InvalidProblemError("points", "two pairs of points, or more", request.points)
    claim = MetricDP(request.epsilon or "2", unit="km")
    region = Region.from_grid(_SIDE, _SIDE, cell=1, unit="km")
    client = Client(design(region, claim, gap=0.5, throw=False))
    return audit_snapped_points(
        region, lambda place: client.row(place).tolist(), claim, request.points
    )


def _straddles(distance: Fraction) -> list[Straddle]:
    """Give pairs of points so far apart whose middle is between two places next to each other."""
    pairs = []
    for row in range(_SIDE):
        for column in range(_SIDE - 1):
            across, along = Fraction(column + 1), Fraction(2 * row + 1, 2) + Fraction(1, 7919)
            one, other = across - distance / 2, across + distance / 2
            pairs.append(Straddle(_typed(one, along), _typed(other, along), distance))
            pairs.append(Straddle(_typed(along, one), _typed(along, other), distance))
    return pairs


def _typed(*point: Fraction) -> tuple[str, str]:
    """Write a point with twelve decimals."""
    first, second = (
        f"{value.numerator * 10**12 // value.denominator / 10**12:.12f}" for value in point
    )
    return first, second
