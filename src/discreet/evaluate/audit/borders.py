"""Audits between points: whether a location mechanism keeps its epsilon for pairs of points, borders included."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.exact import float_floor, to_fraction
from discreet.core.printed import estimate
from discreet.core.randomness import SeededBits
from discreet.evaluate.audit.audit import Audit
from discreet.evaluate.audit.nets import (
    NetLaws,
    edge_net_pairs,
    random_net_pairs,
)
from discreet.evaluate.audit.points import count_broken, exceeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.guarantee import MetricDP
    from discreet.lrgeo import Region

_OFFSETS = 1 << 20
"""Offsets of a point from its place, at most a hundredth of the unit."""


def audit_laws_of_points(
    laws: NetLaws,
    claim: MetricDP,
    count: int,
    *,
    on_stage: Callable[[int, float], None] | None = None,
) -> Audit:
    """Audit laws of points: half of the pairs are random, half lie across edges, at corners or on the outline.

    ``O(count K)`` floats for K reports, and fractions for what they leave open; pairs are the same at each call.

    Parameters
    ----------
    laws
        The net and its integers, with the epsilon of the claim in their own unit.
    claim
        The guarantee.
    count
        Pairs in all.
    on_stage
        As in :func:`~discreet.evaluate.audit.audit.audit`.

    Returns
    -------
    Audit
        Exact: rejected if and only if a pair breaks the promise.
    """
    half, rest = count // 2, count - count // 2
    counts = [
        count_broken(laws, pairs, on_stage=on_stage)
        for pairs in (random_net_pairs(laws, half), edge_net_pairs(laws, rest))
    ]
    worst = max(counts, key=lambda one: one.worst)
    violated = sum(one.violated for one in counts)
    return _audit(claim, worst.worst, violated, count, worst.where)


def audit_snapped_points(
    region: Region, row: Callable[[int], list[int]], claim: MetricDP, count: int
) -> Audit:
    """Audit a mechanism for places by points: half of the pairs are random, half straddle the middle of two places.

    Points are drawn with a fixed seed. One exact ratio of two rows for each pair of places met.

    Parameters
    ----------
    region
        Snaps a point.
    row
        Weights of a place; all of one sum, or of any.
    claim
        The guarantee, as if it were between points.
    count
        Pairs in all.

    Returns
    -------
    Audit
        Exact. A mechanism whose neighbors differ at all is rejected: points may be as near as one likes.
    """
    bits = SeededBits(0)
    at = [(to_fraction(x, "places"), to_fraction(y, "places")) for x, y in region.points.tolist()]
    near = np.argsort(
        np.hypot(*(region.points[:, None] - region.points).transpose(2, 0, 1)), axis=1
    )[:, 1:5].tolist()
    ratios: dict[tuple[int, int], Fraction | None] = {}
    violated, worst, where = 0, 0.0, ""
    for number in range(count):
        one = bits.randrange(region.K)
        if number % 2:
            other = bits.randrange(region.K)
            first, second = (_beside(at[place], bits) for place in (one, other))
        else:
            other = near[one][bits.randrange(len(near[one]))]
            middle = tuple((a + b) / 2 for a, b in zip(at[one], at[other], strict=True))
            # From a tenth of the way to a five-billionth.
            part = Fraction(1, 10 << bits.randrange(30))
            first, second = (
                (
                    middle[0] + (at[place][0] - middle[0]) * part,
                    middle[1] + (at[place][1] - middle[1]) * part,
                )
                for place in (one, other)
            )
        places = tuple(sorted(region.snap((float(x), float(y))) for x, y in (first, second)))
        pair = (places[0], places[1])
        if pair not in ratios:
            ratios[pair] = _ratio(row(pair[0]), row(pair[1]))
        ratio = ratios[pair]
        if ratio == 1:
            continue
        squared = claim.epsilon**2 * sum((a - b) ** 2 for a, b in zip(first, second, strict=True))
        broken = ratio is None or not squared or exceeds(ratio, squared)
        violated += broken
        strength = math.inf
        if ratio is not None and squared:
            strength = _log(ratio) / math.sqrt(float(squared))
        if strength > worst:
            worst = strength
            far = math.sqrt(float(squared)) / float(claim.epsilon)
            where = f"points {estimate(far, 3)} {claim.unit} apart, snapped to places {pair[0]} and {pair[1]}"
    return _audit(claim, worst, violated, count, where)


def _beside(place: tuple[Fraction, Fraction], bits: SeededBits) -> tuple[Fraction, Fraction]:
    """Return a point close to a place, well inside its border."""
    x, y = (axis + Fraction(bits.randrange(_OFFSETS), 100 * _OFFSETS) for axis in place)
    return x, y


def _ratio(one: list[int], other: list[int]) -> Fraction | None:
    """Return the largest ratio of two laws, weights ``(K,)`` each, either way, exact.

    ``None`` for 0 beside a positive.
    """
    totals, worst = (sum(one), sum(other)), Fraction(1)
    for p, q in zip(one, other, strict=True):
        if not p and not q:
            continue
        if not p or not q:
            return None
        ratio = Fraction(p * totals[1], q * totals[0])
        worst = max(worst, ratio, 1 / ratio)
    return worst


def _log(ratio: Fraction) -> float:
    """Return the logarithm of a ratio that may exceed the range of floats."""
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _audit(claim: MetricDP, worst: float, violated: int, count: int, where: str) -> Audit:
    """Return the audit of `count` pairs, `violated` of them broken, the worst a multiple `worst` of epsilon.

    `where` names the pair; ``inf`` means no bound at all.
    """
    infinite = math.isinf(worst)
    lower = math.inf if infinite else float_floor(Fraction(worst) * claim.epsilon)
    event = f"{violated} of {count} pairs of points break the promise" if violated else ""
    return Audit(
        claim,
        "exact",
        "epsilon",
        claim.epsilon,
        lower,
        violated > 0,
        where if violated else "",
        event,
        pairs=count,
    )
