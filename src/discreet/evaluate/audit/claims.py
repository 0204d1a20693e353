r"""Lower bounds on the parameter of a claim from two probabilities of one event.

An event with probability at least ``p`` on one input and at most ``q`` on its neighbor shows that

===================  =========================================================================
pure, metric         :math:`\varepsilon \ge \ln(p / q)`, divided by the distance for metric privacy
approximate          :math:`\varepsilon \ge \ln((p - \delta) / q)`
zero-concentrated    :math:`\rho \ge D_\alpha(p \| q) / \alpha` of the two coins, for each order :math:`\alpha \ge 1`
===================  =========================================================================

Logarithms are rounded down, so that what is refused is refused by arithmetic without error in the other direction.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import float_floor, log_floor
from discreet.core.guarantee import ApproxDP, MetricDP, PureDP, ZeroConcentratedDP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Auditable = PureDP | ApproxDP | ZeroConcentratedDP | MetricDP

ORDERS = (1, 2, 3, 4, 6, 8, 16, 32)
"""Orders of the Rényi divergences that are looked at; 1 is the divergence of Kullback and Leibler."""

_INFINITE = Fraction(-1)
"""Stands for an infinite strength; a fraction has no infinity."""


def check_claim(guarantee: object) -> Auditable:
    """Return the guarantee if it can be tested on pairs of neighbors: pure, approximate, concentrated or metric DP.

    Raises
    ------
    InvalidProblemError
        For any other object, k-anonymity included.
    """
    if not isinstance(guarantee, PureDP | ApproxDP | ZeroConcentratedDP | MetricDP):
        raise InvalidProblemError(
            "guarantee",
            "PureDP, ApproxDP, ZeroConcentratedDP or MetricDP",
            type(guarantee).__name__,
        )
    return guarantee


def strength(claim: Auditable, p: Fraction, q: Fraction, distance: Fraction | None) -> Fraction:
    """Bound the claim's parameter from below, given an event with chance at least p, and at most q on the neighbor.

    Parameters
    ----------
    claim
        The guarantee that is claimed.
    p, q
        Bounds between 0 and 1.
    distance
        Between the two inputs, for metric privacy.

    Returns
    -------
    Fraction
        At least 0, rounded down; -1 where it is infinite.

    Examples
    --------
    >>> claim = PureDP(1, "replace-one")
    >>> float(strength(claim, Fraction(1, 2), Fraction(1, 4), None))
    0.6931471805599453
    >>> strength(claim, Fraction(1, 2), Fraction(0), None)
    Fraction(-1, 1)
    """
    if isinstance(claim, ZeroConcentratedDP):
        if p <= q:
            return Fraction(0)
        return _INFINITE if q == 0 else max(_coin_divergence(p, q, a) / a for a in ORDERS)
    top = p - claim.delta if isinstance(claim, ApproxDP) else p
    if top <= q:
        return Fraction(0)
    if q == 0:
        return _INFINITE
    nats = nats_floor(top / q)
    return nats / distance if isinstance(claim, MetricDP) and distance else nats


def nats_floor(ratio: Fraction, *, bits: int = 64) -> Fraction:
    """Return the natural logarithm of a positive ratio, rounded down to a fraction of `bits` bits."""
    return Fraction(log_floor(ratio, bits), 1 << bits)


def _coin_divergence(p: Fraction, q: Fraction, order: int) -> Fraction:
    """Return a lower bound on the Rényi divergence, of integer order, of coins with probabilities p and q, exact."""
    if order == 1:
        divergence = p * nats_floor(p / q)
        if p < 1:
            divergence += (1 - p) * nats_floor((1 - p) / (1 - q))
        return max(divergence, Fraction(0))
    power = p**order / q ** (order - 1)
    if p < 1:
        power += (1 - p) ** order / (1 - q) ** (order - 1)
    return nats_floor(power) / (order - 1)


def rough_strength(
    claim: Auditable, p: NDArray[np.float64], q: NDArray[np.float64], distance: Fraction | None
) -> NDArray[np.float64]:
    """Return :func:`strength` in floats for arrays of p and q, to choose among events; no verdict depends on it.

    Of the shape of `p` and `q`; `distance` is for metric claims.
    """
    q = np.maximum(q, 1e-300)
    if isinstance(claim, ZeroConcentratedDP):
        best = np.zeros(p.shape)
        low, high = np.clip(p, 1e-300, 1 - 1e-15), np.minimum(q, 1 - 1e-15)
        for order in ORDERS:
            if order == 1:
                divergence = low * np.log(low / high) + (1 - low) * np.log((1 - low) / (1 - high))
            else:
                first = order * np.log(low) + (1 - order) * np.log(high)
                second = order * np.log1p(-low) + (1 - order) * np.log1p(-high)
                divergence = np.logaddexp(first, second) / (order - 1)
            best = np.maximum(best, divergence / order)
        return np.where(p > q, best, 0.0)
    top = p - float(claim.delta) if isinstance(claim, ApproxDP) else p
    nats = np.log(np.maximum(top, 1e-300) / q)
    scale = float(distance) if isinstance(claim, MetricDP) and distance else 1.0
    return np.asarray(np.maximum(nats, 0.0) / scale)


def as_number(found: Fraction) -> float:
    """Return a strength as a float, rounded down; infinite if the strength is."""
    return math.inf if found == _INFINITE else float_floor(found)
