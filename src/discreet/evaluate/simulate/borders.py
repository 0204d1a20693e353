"""A bench for border attacks: mechanisms on a small grid and on regions of few places, and the points at their borders.

Mode ``places-only`` designs for places, and a point is snapped to the nearest one; ``every-point`` designs for all
points of a region.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, final

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
from discreet.evaluate.audit.borders import audit_laws_of_points, audit_snapped_points
from discreet.evaluate.audit.nets import NetLaws, rows_of_noise
from discreet.lrgeo import Client, Region, design
from discreet.lrgeo.points.noise import NoiseMechanism
from discreet.lrgeo.points.published import PublishedPoints
from discreet.lrgeo.points.table import LatticeMechanism

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.evaluate.attack.borders import Law
    from discreet.evaluate.attack.request import AttackRequest
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest
    from discreet.evaluate.simulate.location import Record

_GRID_SIDE = 4
"""Places along a side of the grid: the fewest with borders at the edge and between inner places."""
_METER = Fraction(1, 1000)
"""One meter, in kilometers."""
_NINTH_DECIMAL = Fraction(1, 10**9)
"""Distance of two points that differ in the ninth decimal, in kilometers."""
_PAIR_DISTANCE = Fraction(16, 1000)
"""Distance of the two points of republished regions, in kilometers."""


def snapped_law(region: Region, claim: MetricDP) -> Law:
    """Return a function from a point to its law of reports in a mechanism for places: that of its nearest place.

    A point is two decimal texts in the unit of the region; the law is exact, a fraction for each report. One design.
    """
    # A gap is beside the point: two places far apart lose next to nothing.
    client = Client(design(region, claim, gap=0.5, throw=False, scope="places"))

    def law(point: tuple[str, str]) -> Sequence[Fraction]:
        row = client.row(client.snap((float(point[0]), float(point[1])))).tolist()
        total = sum(row)
        return [Fraction(weight, total) for weight in row]

    return law


def point_law(region: Region, claim: MetricDP) -> Law:
    """Return the law of reports by point of a mechanism for every point of a region, by the default design.

    A point is two decimal texts in the unit of the region; the law is exact, a fraction for each report. One design.
    """
    return design(region, claim).published().law


@final
class BorderMode(NamedTuple):
    """How a region becomes the law of each point, and which regions a server republishes.

    Parameters
    ----------
    law
        Designs for a region.
    spots
        Places of a region whose border is at the origin, the first one west of it; kilometers.
    regions
        How many are published to tell two points apart.
    """

    law: Callable[[Region, MetricDP], Law]
    spots: tuple[tuple[int, int], ...]
    regions: int


BORDER_MODES: dict[str, BorderMode] = {
    "every-point": BorderMode(point_law, ((-2, -1), (2, -1), (0, 2)), 6),
    "places-only": BorderMode(snapped_law, ((-100, 0), (100, 0)), 10),
}
"""The modes by name. Two places on a line are no region of points: there it is three."""


def attack_borders(request: AttackRequest) -> Attacked:
    """Attack the borders of a mechanism for a grid of 4 x 4 places 1 km apart, and of regions of two places.

    Two designs, and up to ``2^14`` laws for each of eight users of the bisecting attack.

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
    kind = BORDER_MODES[mode]
    law = kind.law(Region.from_grid(_GRID_SIDE, _GRID_SIDE, cell=1, unit="km"), claim)
    base = kind.law(Region(np.array(kind.spots) * 10_000, None, claim.unit), claim)

    def moved(border: Fraction) -> Law:
        """Publish the region of few places again, moved so that its border is elsewhere."""
        return lambda point: base(
            (exact_decimal(to_fraction(point[0], "point") - border), point[1])
        )

    pair = Straddle(("0.008", "0"), ("0.024", "0"), _PAIR_DISTANCE)
    borders = [Fraction(9 + at, 1000) for at in range(kind.regions)]
    # Half of the region, so that no border leaves it behind; nowhere near a border, and with few decimals.
    length = Fraction(kind.spots[1][0] - kind.spots[0][0], 2)
    users = [length * (2 * at + 1) / 64 + Fraction(1, 800) for at in range(0, 32, 4)]
    findings = (
        attack_straddling(law, _straddles(_METER), claim.epsilon, attack="a meter across a border"),
        attack_straddling(
            law, _straddles(_NINTH_DECIMAL), claim.epsilon, attack="the ninth decimal"
        ),
        attack_republished([moved(border) for border in borders], pair, claim.epsilon),
        attack_bisecting(moved, length, users),
    )
    facts = {"mode": mode, "places": _GRID_SIDE * _GRID_SIDE, "epsilon": float(claim.epsilon)}
    return Attacked(f"lrgeo, {mode}, borders", findings, facts)


def laws_of(mechanism: PublishedPoints) -> NetLaws:
    """Take the published integers of a mechanism, to be judged by code that knows nothing else of it.

    One noise is spread to the row of each control point: time and memory ``O(V K)`` for V control points and K
    reports.

    Raises
    ------
    InvalidProblemError
        For a form without a judge, or a net with too many control points and reports.
    """
    epsilon = mechanism.guarantee.epsilon / (10_000 if mechanism.frame.unit == "km" else 10)
    if isinstance(mechanism, NoiseMechanism):
        net = mechanism.net
        weights = rows_of_noise(mechanism.noise, mechanism.names, mechanism.K, net.cells)
    elif isinstance(mechanism, LatticeMechanism):
        net, weights = mechanism.net, mechanism.weights
    else:
        raise InvalidProblemError("mechanism", "rows, or one noise", type(mechanism).__name__)
    return NetLaws(weights, net.low, net.side, net.cells, epsilon)


def audit_points(request: AuditRequest) -> Audit:
    """Audit a mechanism for a grid of 4 x 4 places 1 km apart, by pairs of points.

    One design, and the comparisons of all pairs.

    Parameters
    ----------
    request
        The method, a key of :data:`BORDER_MODES`, the number of pairs, and epsilon per km, by default 2. A mechanism
        for places is judged as if its promise were between points.

    Returns
    -------
    Audit
        Exact.

    Raises
    ------
    InvalidProblemError
        For an option that has no meaning here, or fewer than two pairs.
    """
    region, claim, count = _audited(request)
    if request.method == "places-only":
        client = Client(design(region, claim, gap=0.5, throw=False, scope="places"))
        return audit_snapped_points(region, lambda place: client.row(place).tolist(), claim, count)
    made = design(region, claim).published()
    return audit_laws_of_points(laws_of(made), made.guarantee, count, on_stage=request.on_stage)


def audit_service_points(request: AuditRequest, record: Record) -> Audit:
    """Audit a service that publishes for every point, by pairs of points: the grid of :func:`audit_points`.

    A real client fetches the mechanism from the real application and verifies it; what is compared are the laws of the
    integers that it draws from.

    Parameters
    ----------
    request
        As for :func:`audit_points`, without a method.
    record
        Runs the application.

    Returns
    -------
    Audit
        Exact.

    Raises
    ------
    InvalidProblemError
        As :func:`audit_points`, and for a service that publishes for places.
    """
    region, claim, count = _audited(request)
    made = design(region, claim).published()
    with record(made, region) as service:
        fetched = service.fetched()
    if not isinstance(fetched, PublishedPoints):
        raise InvalidProblemError("service", "a mechanism for every point", "one for places")
    return audit_laws_of_points(
        laws_of(fetched), fetched.guarantee, count, on_stage=request.on_stage
    )


def _audited(request: AuditRequest) -> tuple[Region, MetricDP, int]:
    """Return the region, the claim and the number of pairs of a request for an audit by points; refuse others."""
    request.refuse("delta", "rho", "neighbors", "k")
    request.choose("exact")
    if request.points is None or request.points < 2:
        raise InvalidProblemError("points", "two pairs of points, or more", request.points)
    claim = MetricDP(request.epsilon or "2", unit="km")
    return Region.from_grid(_GRID_SIDE, _GRID_SIDE, cell=1, unit="km"), claim, request.points


def _straddles(distance: Fraction) -> list[Straddle]:
    """Return pairs of points at a distance, whose middle is between two neighboring places."""
    pairs = []
    for row in range(_GRID_SIDE):
        for column in range(_GRID_SIDE - 1):
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
