r"""Audit of the mechanism that :func:`discreet.lrgeo.design` makes, and of any table of rows of places.

Each row is the law of the reports of a user at one place. The claim is metric privacy between places, so rows are
compared in pairs: exactly, as fractions, or by samples of the pairs that samples tell apart best.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, final

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

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

__all__ = ["audit_places", "audit_rows", "claimed_epsilon"]

DEFAULT = "design"
_GRID_SIDE = 4
"""Cells along a side of the region whose mechanism is audited: all pairs of its places can be judged exactly."""

_SAMPLED_PAIRS = 4
"""Pairs of places that a sampled audit draws reports for, the most telling first; each takes samples of its own."""


def claimed_epsilon(request: AuditRequest) -> Fraction:
    """Return the claimed epsilon per km, the one claim that a mechanism for places makes.

    Raises
    ------
    InvalidProblemError
        If there is none, or a claim of another kind.
    """
    request.refuse("delta", "rho", "neighbors", "k")
    if request.epsilon is None:
        raise InvalidProblemError("epsilon", "the claimed epsilon a km", "none")
    return to_fraction(request.epsilon, "epsilon")


def audit_places(request: AuditRequest) -> Audit:
    """Audit the designed mechanism on a grid of 4 x 4 places 1 km apart.

    Parameters
    ----------
    request
        The claimed epsilon per km, and the method ``"design"`` or none.

    Returns
    -------
    Audit
        Default: certified.

    Raises
    ------
    InvalidProblemError
        For another method.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_places(AuditRequest("design", epsilon="1")).rejected
    False
    """
    if request.method not in (None, DEFAULT):
        raise InvalidProblemError("method", DEFAULT, repr(request.method))
    claim = MetricDP(claimed_epsilon(request), unit="km")
    strength = request.choose("certified", "exact", "sampled")
    region = Region.from_grid(_GRID_SIDE, _GRID_SIDE, cell=1, unit="km")
    made = design(region, claim, scope="places")
    if strength == "certified":
        checks = verify(made.channel, made.guarantee, totals_share=made.totals_share)
        return certified(checks, made.guarantee)
    rows = [made.channel.row(place).tolist() for place in range(region.K)]
    distances = [[region.space.distance(i, j) for j in range(region.K)] for i in range(region.K)]
    return audit_rows(rows, distances, claim, request, strength)


def audit_rows(
    rows: Sequence[Sequence[int]],
    distances: Sequence[Sequence[Fraction]],
    claim: MetricDP,
    request: AuditRequest,
    strength: str,
) -> Audit:
    """Compare the rows of all pairs of places that a claim constrains.

    Parameters
    ----------
    rows
        Row i: integer weights of the reports of a user at place i.
    distances
        Distances between places, in km.
    claim
        Claimed guarantee; with a radius, it constrains pairs within it.
    request
        Number of samples and the error probability of a sampled audit.
    strength
        ``"exact"`` or ``"sampled"``.

    Returns
    -------
    Audit
        Exact: of all pairs. Sampled: of the four pairs that so many samples tell apart best.
    """
    near = [
        (i, j)
        for i, j in combinations(range(len(rows)), 2)
        if claim.radius is None or distances[i][j] <= claim.radius
    ]
    if strength == "exact":
        laws = [_law(row) for row in rows]
        pairs = [_pair(rows, distances, i, j) for i, j in near]
        return audit_laws([(laws[i], laws[j]) for i, j in near], pairs, claim)
    return audit(
        None,
        [
            _pair(rows, distances, i, j)
            for i, j in _best_sampled_pairs(rows, distances, near, claim, request.samples)
        ],
        claim,
        batch=_reports,
        failure=request.failure,
        samples=request.samples,
        executor=request.executor,
        bits=request.bits,
        on_stage=request.on_stage,
    )


@final
@dataclass(frozen=True, eq=False)
class _Place:
    """A place: the weights from which a user there draws."""

    weights: Sequence[int]


def _reports(case: _Place, size: int, bits: RandomBits) -> NDArray[np.int64]:
    return categoricals(list(case.weights), size, bits)


def _law(weights: Sequence[int]) -> Law:
    total = sum(weights)
    masses: dict[Hashable, Fraction] = {
        report: Fraction(weight, total) for report, weight in enumerate(weights) if weight
    }
    return Law(masses, Fraction(0), 1)


def _pair(
    rows: Sequence[Sequence[int]], distances: Sequence[Sequence[Fraction]], i: int, j: int
) -> Pair:
    label = f"users at places {i} and {j}, {estimate(float(distances[i][j]))} km apart"
    return Pair(_Place(rows[i]), _Place(rows[j]), label, distances[i][j])


def _best_sampled_pairs(
    rows: Sequence[Sequence[int]],
    distances: Sequence[Sequence[Fraction]],
    near: list[tuple[int, int]],
    claim: MetricDP,
    samples: int,
) -> list[tuple[int, int]]:
    """Return the pairs whose rows so many samples tell apart best; rows are public."""
    shares = np.array([[weight / sum(row) for weight in row] for row in rows])
    half = max(1, samples // 2)

    def shown(pair: tuple[int, int]) -> float:
        best = 0.0
        for one, other in (pair, pair[::-1]):
            p = least_chance(shares[one] * half, half, 1e-9)
            q = most_chance(shares[other] * half, half, 1e-9)
            best = max(best, float(rough_strength(claim, p, q, distances[one][other]).max()))
        return best

    return sorted(near, key=shown, reverse=True)[:_SAMPLED_PAIRS]
