r"""Audits of location reports: the designed mechanism, and LR-Geo as published, across its users.

What a user of LR-Geo samples from is one row of a program of its own. The published claim is metric privacy between
*places*; rows of different programs meet no constraint. The audit puts a user at every place, takes the rows as the
laws that they are, and compares places at most :math:`\gamma` apart, as the claim does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import MetricDP
from discreet.core.printed import estimate
from discreet.core.randomness import categoricals
from discreet.core.randomness.replay import Law
from discreet.evaluate.audit.audit import Pair, audit, audit_laws, certified
from discreet.evaluate.audit.claims import least_chance, most_chance, rough_strength
from discreet.lrgeo.design import design
from discreet.lrgeo.places.region import Region
from discreet.lrgeo.verify import verify
from discreet_reproduction.lrgeo.as_published.instance import Instance, trip_cost
from discreet_reproduction.lrgeo.as_published.lr_geo import LRGeo
from discreet_reproduction.lrgeo.as_published.protocol import reproduce
from discreet_reproduction.lrgeo.frozen_scales import FrozenScales

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

__all__ = ["audit_places", "rows_of_users"]

DEFAULT = "design"
PUBLISHED: dict[str, Callable[[], Any]] = {
    "frozen-scales": lambda: FrozenScales(reach=3.0, r_exp=2.0, r_obf=4.0),
    "lr-geo": lambda: LRGeo(reach=3.0, r_exp=2.0, r_obf=4.0),
}
"""Methods whose claim is published, with distances in cells of the audit's grid."""
_SIDE = 4
_TARGET = 5
"""The place that everybody travels to."""
_PAIRS = 4
_BITS = 53


def audit_places(request: AuditRequest) -> Audit:
    """Audit a method by its name, on a small grid of places 1 km apart.

    Parameters
    ----------
    request
        ``"design"``, ``"lr-geo"`` or ``"frozen-scales"``, and epsilon a km.

    Returns
    -------
    Audit
        Default: certified for designs, exact for what was published.

    Raises
    ------
    InvalidProblemError
        For an unknown method.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_places(AuditRequest("lr-geo", epsilon="1")).rejected
    True
    >>> audit_places(AuditRequest("design", epsilon="1")).rejected
    False
    """
    request.refuse("delta", "rho", "neighbors", "k")
    if request.epsilon is None:
        raise InvalidProblemError("epsilon", "the claimed epsilon a km", "none")
    epsilon = to_fraction(request.epsilon, "epsilon")
    name = request.method or DEFAULT
    if name != DEFAULT and name not in PUBLISHED:
        names = ", ".join(sorted([DEFAULT, *PUBLISHED]))
        raise InvalidProblemError("method", f"one of {names}", repr(name))
    if name in PUBLISHED:
        # The paper's gamma: places next to each other.
        claim = MetricDP(epsilon, unit="km", radius=1)
        strength = request.choose("exact", "sampled")
        rows, apart = rows_of_users(PUBLISHED[name](), claim)
    else:
        claim = MetricDP(epsilon, unit="km")
        strength = request.choose("certified", "exact", "sampled")
        region = Region.from_grid(_SIDE, _SIDE, cell=1, unit="km")
        made = design(region, claim, scope="places")
        if strength == "certified":
            checks = verify(made.channel, made.guarantee, totals_share=made.totals_share)
            return certified(checks, made.guarantee)
        rows = [made.channel.row(place).tolist() for place in range(region.K)]
        apart = [[region.space.distance(i, j) for j in range(region.K)] for i in range(region.K)]
    near = [
        (i, j)
        for i, j in combinations(range(len(rows)), 2)
        if claim.radius is None or apart[i][j] <= claim.radius
    ]
    if strength == "exact":
        laws = [_law(row) for row in rows]
        pairs = [_pair(rows, apart, i, j) for i, j in near]
        return audit_laws([(laws[i], laws[j]) for i, j in near], pairs, claim)
    return audit(
        None,
        [
            _pair(rows, apart, i, j)
            for i, j in _promising(rows, apart, near, claim, request.samples)
        ],
        claim,
        batch=_reports,
        failure=request.failure,
        samples=request.samples,
        executor=request.executor,
        bits=request.bits,
        on_stage=request.on_stage,
    )


def rows_of_users(method: Any, claim: MetricDP) -> tuple[list[list[int]], list[list[Fraction]]]:  # noqa: ANN401 - a published method
    """Run a published method with a user at every place of the grid.

    Returns
    -------
    rows
        What each user samples from: its floats as integers in units of ``2^-53``, each at least what it was.
    apart
        Distances of the places, exactly as the method was given them.
    """
    xy = np.array([(column, row) for row in range(_SIDE) for column in range(_SIDE)], dtype=float)
    distances = np.sqrt(((xy[:, None] - xy[None]) ** 2).sum(axis=2))
    places = Instance(distances, trip_cost(distances[:, [_TARGET]]), unit="km")
    made = reproduce(places, claim, method).result
    # Rounded up, so that nothing that was possible becomes impossible.
    rows = np.ceil(made.matrix * 2.0**_BITS).astype(np.int64).tolist()
    return rows, [[Fraction(d) for d in row] for row in distances.tolist()]


@final
@dataclass(frozen=True, eq=False)
class _Place:
    """A place: what its owner samples from."""

    weights: list[int]


def _reports(case: _Place, size: int, bits: RandomBits) -> NDArray[np.int64]:
    return categoricals(case.weights, size, bits)


def _law(weights: list[int]) -> Law:
    total = sum(weights)
    masses: dict[Hashable, Fraction] = {
        report: Fraction(weight, total) for report, weight in enumerate(weights) if weight
    }
    return Law(masses, Fraction(0), 1)


def _pair(rows: list[list[int]], apart: list[list[Fraction]], i: int, j: int) -> Pair:
    label = f"users at places {i} and {j}, {estimate(float(apart[i][j]))} km apart"
    return Pair(_Place(rows[i]), _Place(rows[j]), label, apart[i][j])


def _promising(
    rows: list[list[int]],
    apart: list[list[Fraction]],
    near: list[tuple[int, int]],
    claim: MetricDP,
    samples: int,
) -> list[tuple[int, int]]:
    """Choose the pairs of which so many samples would show most, from the rows, which are public."""
    shares = np.array([[weight / sum(row) for weight in row] for row in rows])
    half = max(1, samples // 2)

    def shown(pair: tuple[int, int]) -> float:
        best = 0.0
        for one, other in (pair, pair[::-1]):
            p = least_chance(shares[one] * half, half, 1e-9)
            q = most_chance(shares[other] * half, half, 1e-9)
            best = max(best, float(rough_strength(claim, p, q, apart[one][other]).max()))
        return best

    return sorted(near, key=shown, reverse=True)[:_PAIRS]
