"""How much a channel tells about its secrets, per unit of distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.channel import LIMB_BITS
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.channel import Channel
    from discreet.core.exact import Exact
    from discreet.core.metric import MetricSpace

__all__ = ["PrivacyLoss", "log_weights", "privacy_loss"]

_SLICE = 1 << 22
"""Entries looked at in one go, which bounds the memory."""


@dataclass(frozen=True)
class PrivacyLoss:
    """What a channel gives away on a space, and where.

    Parameters
    ----------
    epsilon
        An epsilon per unit of distance that holds for the pairs looked at, above the least such by no more than
        ``10^-12`` nats over the distance of a pair; ``None`` when it is infinite.
    pair
        A pair of secrets that attains it, or ``None`` when there is one secret only.
    report
        The report that tells them apart.
    """

    epsilon: Fraction | None
    pair: tuple[int, int] | None
    report: int | None


def log_weights(channel: Channel) -> tuple[NDArray[np.float64], float]:
    """Natural logarithms of the weights, and a bound on their absolute error.

    Returns
    -------
    logs
        ``(n_secrets, n_reports)``; minus infinity where a weight is zero.
    error
        No logarithm is off by more than this, assuming a logarithm within 8 units in the last place, several times
        the documented error of NumPy's.
    """
    scaled = np.zeros(channel.limbs.shape[1:])
    for limb in channel.limbs:
        scaled = scaled * 2.0**LIMB_BITS + limb.astype(np.float64)
    with np.errstate(divide="ignore"):
        logs: NDArray[np.float64] = np.log(scaled)
    largest = len(channel.limbs) * LIMB_BITS * math.log(2)
    return logs, (8 * largest + 2 * len(channel.limbs)) * 2.0**-52


def privacy_loss(channel: Channel, space: MetricSpace, radius: Exact | None) -> PrivacyLoss:
    """Compute :meth:`discreet.Channel.privacy_loss`; see there."""
    if space.n != channel.n_secrets:
        raise InvalidProblemError("space", f"{channel.n_secrets} secrets", space.n)
    adjacency = space.adjacency(radius)
    logs, error = log_weights(channel)
    worst, where = -1.0, None
    for start in range(0, len(adjacency.pairs), max(1, _SLICE // channel.n_reports)):
        stop = start + max(1, _SLICE // channel.n_reports)
        pairs, lengths = adjacency.pairs[start:stop], adjacency.lengths[start:stop]
        first, second = logs[pairs[:, 0]], logs[pairs[:, 1]]
        with np.errstate(invalid="ignore"):
            apart = np.abs(first - second)
        # A report that neither secret can give says nothing; one that only one can give says everything.
        apart[np.isneginf(first) & np.isneginf(second)] = 0.0
        reports = apart.argmax(axis=1)
        nats = apart[np.arange(len(pairs)), reports]
        for row in np.flatnonzero(lengths == 0):
            a, b = pairs[row]
            # At distance zero nothing but equality will do, and logarithms cannot tell equality.
            same = bool((channel.limbs[:, a] == channel.limbs[:, b]).all())
            nats[row] = 0.0 if same else math.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(lengths == 0, nats, (nats + 2 * error) / lengths)
        best = int(ratio.argmax())
        if ratio[best] > worst:
            worst, where = float(ratio[best]), (*map(int, pairs[best]), int(reports[best]))
    if where is None:
        return PrivacyLoss(Fraction(0), None, None)
    i, j, report = where
    if math.isinf(worst):
        return PrivacyLoss(None, (i, j), report)
    # Two roundings more in the sum and the quotient.
    epsilon = Fraction(worst) * (1 + Fraction(4, 2**53)) * (1 << adjacency.scale_bits)
    return PrivacyLoss(epsilon, (i, j), report)
