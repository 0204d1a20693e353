r"""The verifier of mechanisms for every point of a road network: one condition for each part of a road, in integers.

A point at t of the way from node a to node b draws b with probability t and a else, and then from its row:
:math:`z_k(t) = ((1 - t) W_{ak} + t W_{bk}) / 2^B`. **Theorem.** If for each part, of length h, and each report k

.. math:: |W_{ak} - W_{bk}| \le \epsilon h \min(W_{ak}, W_{bk})

then :math:`z_k(x) \le e^{\epsilon d(x, y)} z_k(y)` for all points x, y of the roads, d being the length of a shortest
way along them in either direction. *Proof.* Along a way :math:`z_k` is continuous, and linear on each part, with a
slope of at most :math:`\epsilon` times its least value there. So :math:`\ln z_k` changes by at most :math:`\epsilon`
times the length of the way; where the least value is 0, so is the slope, and :math:`z_k` is 0 on all roads that are
joined. ∎ Points of roads that no way joins are infinitely far apart, and nothing is promised between them.

Nothing is known here of how roads are cut or points found: only arrays are read.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.guarantee import MetricDP, RoadScope

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ClaimedRoads", "verify"]

_DECIMETERS = {"km": 10_000, "m": 10}
_MOST_BITS = 62
_FARTHEST = 1 << 30
_HALF = (1 << 31) - 1

_CLEAR = 2.0**-44
"""Part by which one side of the condition has to be larger for floats to settle it: see :func:`_violations`."""

_ALLOWS_ALL = Fraction(1 << 200)
"""A rise beyond all quotients of weights."""

_BLOCK = 1 << 20
"""Pairs of a part and a report that are looked at together."""


@dataclass(frozen=True, eq=False)
class ClaimedRoads:
    """What is verified: arrays of integers, and what is claimed of them.

    Parameters
    ----------
    unit
        Of distances.
    n_vertices
        How many vertices the roads have; cuts are numbered after them, segment by segment.
    segments
        ``(m, 2)`` vertices.
    lengths
        ``(m,)`` decimeters.
    parts
        ``(m,)`` into how many parts each segment is cut.
    weights
        ``(nodes, K)``.
    bits
        Of what a row sums to.
    guarantee
        The claim.
    """

    unit: str
    n_vertices: int
    segments: NDArray[np.int64]
    lengths: NDArray[np.int64]
    parts: NDArray[np.int64]
    weights: NDArray[np.int64]
    bits: int
    guarantee: MetricDP


def verify(claimed: ClaimedRoads) -> Certificate:
    """Verify a mechanism for every point of a road network, in exact integers.

    Parameters
    ----------
    claimed
        The arrays and the claim: ``claimed()`` of a mechanism or a design.

    Returns
    -------
    Certificate
        Passed only if the claim holds between any two points of the roads.

    Guarantee
    ---------
    Exact.

    Complexity
    ----------
    Parts times reports.
    """
    checks = _rows(claimed)
    if all(check.passed for check in checks):
        checks += [_condition(claimed), *_claims(claimed)]
    return Certificate(tuple(checks))


def _none(name: str, found: int | bool, detail: str = "") -> Check:  # noqa: FBT001 - a count
    return Check(name, int(found), 0, exact=True, detail=detail)


def _rows(claimed: ClaimedRoads) -> list[Check]:
    """Check shapes and sizes first, so that everything else fits its types, and then the sums."""
    segments, lengths, parts, weights = (
        claimed.segments,
        claimed.lengths,
        claimed.parts,
        claimed.weights,
    )
    m = len(segments)
    shaped = (
        (segments.ndim, lengths.ndim, parts.ndim, weights.ndim) == (2, 1, 1, 2)
        and segments.shape[1] == 2
        and len(lengths) == len(parts) == m > 0
        and weights.shape[1] > 0
        and {array.dtype for array in (segments, lengths, parts, weights)} == {np.dtype(np.int64)}
        and 0 < claimed.bits <= _MOST_BITS
        and claimed.n_vertices > 0
    )
    if not shaped:
        return [_none("arrays of other shapes", 1)]
    strange = int(((segments < 0) | (segments >= claimed.n_vertices)).sum())
    strange += int(((lengths < 1) | (lengths >= _FARTHEST)).sum())
    strange += int(((parts < 1) | (parts > lengths)).sum())
    if not strange:
        strange = len(weights) != claimed.n_vertices + sum(parts.tolist()) - m
    negative = int((weights < 0).sum())
    # Entries that may not be there could make a sum overflow.
    too_large = int((weights > 1 << claimed.bits).sum())
    off = len(weights)
    if not negative + too_large:
        off = _off(weights, 1 << claimed.bits)
    return [
        _none("numbers out of range", strange),
        _none("negative weights", negative),
        _none("row sums off", off, f"{len(weights)} rows"),
    ]


def _off(weights: NDArray[np.int64], whole: int) -> int:
    """Count rows of another sum: upper and lower halves are added apart, so that neither sum overflows."""
    low = (weights & _HALF).sum(axis=1)
    high = (weights >> 31).sum(axis=1) + (low >> 31)
    return int(((high != whole >> 31) | (low & _HALF != whole & _HALF)).sum())


def _condition(claimed: ClaimedRoads) -> Check:
    """Count the parts and reports for which the condition does not hold."""
    rate = claimed.guarantee.epsilon / _DECIMETERS.get(claimed.guarantee.unit, 1)
    first, last, sizes = _parts(claimed)
    reports = claimed.weights.shape[1]
    each = max(1, _BLOCK // reports)
    wrong = 0
    for at in range(0, len(sizes), each):
        some = slice(at, at + each)
        ends = claimed.weights[first[some]], claimed.weights[last[some]]
        wrong += _violations(*ends, sizes[some], rate)
    detail = f"{len(sizes) * reports} pairs of a part of a road and a report"
    return Check("inequalities violated", wrong, 0, exact=True, detail=detail)


def _parts(
    claimed: ClaimedRoads,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Give the nodes before and after each part, and its length in decimeters."""
    parts = claimed.parts
    segment = np.repeat(np.arange(len(parts)), parts)
    index = np.arange(len(segment)) - (np.cumsum(parts) - parts)[segment]
    # The cuts of a piece of road are numbered in a row, from the one after its first part.
    cut = (claimed.n_vertices + np.cumsum(parts - 1) - (parts - 1))[segment] + index
    start, stop = claimed.segments[segment].T
    of, length = parts[segment], claimed.lengths[segment]
    first = np.where(index == 0, start, cut - 1)
    last = np.where(index == of - 1, stop, cut)
    # Lengths are below 2^30, and no array has 2^33 entries.
    return first, last, (index + 1) * length // of - index * length // of


def _violations(
    a: NDArray[np.int64], b: NDArray[np.int64], sizes: NDArray[np.int64], rate: Fraction
) -> int:
    """Count parts and reports whose weights rise by more than a part of the lesser: in floats where these are sure.

    Weights err by 2^-53 of themselves as floats, and so do their difference, the rate and each product: a comparison
    that holds with a margin of 2^-44 of the right side is sure.
    """
    low, high = np.minimum(a, b), np.maximum(a, b)
    # Weights are below 2^63, so that a larger rate allows no more, and no float holds all.
    rate = min(rate, _ALLOWS_ALL)
    left = (high - low).astype(np.float64)
    right = low * (float(rate) * sizes.astype(np.float64))[:, None]
    wrong = left > right * (1 + _CLEAR)
    close = ~wrong & (left > right * (1 - _CLEAR)) & (high > low)
    count = int(wrong.sum())
    p, q = rate.numerator, rate.denominator
    size = np.broadcast_to(sizes[:, None], low.shape)[close].tolist()
    for least, rise, long in zip(
        low[close].tolist(), (high - low)[close].tolist(), size, strict=True
    ):
        count += rise * q > least * p * long
    return count


def _claims(claimed: ClaimedRoads) -> list[Check]:
    """Check the unit, and the roads that the claim names."""
    guarantee = claimed.guarantee
    wrong = guarantee.radius is not None or guarantee.unit != claimed.unit
    wrong |= claimed.unit not in _DECIMETERS
    scope = guarantee.scope
    other = not isinstance(scope, RoadScope) or scope.roads != _digest(claimed)
    return [
        _none("facts misstated in the claim", wrong),
        _none("other roads than stated", other),
    ]


def _digest(claimed: ClaimedRoads) -> str:
    named = {
        "unit": claimed.unit,
        "segments": claimed.segments.tolist(),
        "lengths": claimed.lengths.tolist(),
    }
    text = json.dumps(named, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(b"discreet.roads/1 " + text.encode()).hexdigest()
