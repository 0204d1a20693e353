"""Checks of a channel against constraints on pairs of secrets, for verifiers.

Used by the checker of every mechanism that makes channels, and by nothing that makes one. Floats only sort out the
inequalities that are far from equality, by products whose error is bounded with IEEE arithmetic alone; the others are
settled in integers.

Trusted: the guarantee rests on this code, which verifies it.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.certificate import Check
from discreet.core.channels.channel import LIMB_BITS
from discreet.core.exact import FRACTIONAL_BITS, exp_floor, log_ceil

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.channels.channel import Channel

_FLOAT_ERROR = 64 * sys.float_info.epsilon
"""Upper bound on the relative error of a product of floats here: 128 roundings, of half an epsilon each."""

_SLICE = 1 << 18
"""Entries compared at once, so that they stay in the cache."""


@final
@dataclass(frozen=True, eq=False)
class BoundPairs:
    """The pairs of secrets that a guarantee binds.

    Parameters
    ----------
    mask
        ``(n, n)``, symmetric, False on the diagonal: which pairs.
    lengths
        ``(n, n)`` distances of all pairs in units of ``2^-scale_bits``.
    scale_bits
        The scale.
    """

    mask: NDArray[np.bool_]
    lengths: NDArray[np.int64]
    scale_bits: int


def row_sum_check(channel: Channel) -> Check:
    """Count rows that do not sum to the total, in integers.

    One pass over the limbs; the residual is the number of such rows.

    Examples
    --------
    >>> from discreet.core.channels.channel import Channel
    >>> row_sum_check(Channel.from_weights([[2**61, 2**61]])).residual
    0
    """
    # Sums of halves of limbs do not overflow.
    n_limbs = len(channel.limbs)
    half = np.uint64(LIMB_BITS // 2)
    sums = [0] * channel.limbs.shape[1]
    for limb in channel.limbs:
        low = (limb & np.uint64((1 << int(half)) - 1)).sum(axis=1).tolist()
        high = (limb >> half).sum(axis=1).tolist()
        sums = [
            (s << LIMB_BITS) + (h << int(half)) + w for s, h, w in zip(sums, high, low, strict=True)
        ]
    off = sum(total != 1 << (LIMB_BITS * n_limbs) for total in sums)
    return Check(
        "row sums off", off, 0, exact=True, detail=f"{len(sums)} rows of 2^{LIMB_BITS * n_limbs}"
    )


def ratio_checks(channel: Channel, bound: BoundPairs, epsilon: Fraction) -> list[Check]:
    """Check ``W_ik <= e^(epsilon d_ij) W_jk`` for all bound pairs, in both directions, and all reports.

    Parameters
    ----------
    channel
        One row for each secret.
    bound
        The pairs and their lengths.
    epsilon
        Nats per unit of distance.

    Returns
    -------
    list of Check
        No zero beside a positive weight; no inequality violated; the least epsilon that the channel has on these pairs.

    Notes
    -----
    A pair is left out when two other bound pairs over a third secret, both of positive length, add up to no more than
    its length, since these imply it: see :func:`implied_pairs`.

    Complexity
    ----------
    O(pairs n_reports): 1.2 seconds for all pairs of 500 secrets in a plane with 500 reports.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.core.channels.channel import Channel
    >>> pair = BoundPairs(~np.eye(2, dtype=bool), 1 - np.eye(2, dtype=np.int64), 0)
    >>> leaky = Channel.from_weights([[2**62 - 1, 1], [2**62, 0]])
    >>> [check.residual for check in ratio_checks(leaky, pair, Fraction(1))]
    [1, 1, inf]
    """
    limbs, scale = channel.limbs, bound.scale_bits
    compared = np.argwhere(np.triu(bound.mask))
    n_pairs = len(compared)
    if n_pairs * limbs.shape[2] > _SLICE:
        compared = np.argwhere(np.triu(bound.mask & ~implied_pairs(bound)))
    lengths = bound.lengths[compared[:, 0], compared[:, 1]]
    growth = growth_of(lengths, epsilon / 2**scale, len(limbs))
    least, most = _extremes(limbs, compared)
    unsure = np.flatnonzero(
        ~((most <= growth * (1 - _FLOAT_ERROR)) & (least * growth * (1 - _FLOAT_ERROR) >= 1))
    )
    zeros = violated = settled = 0
    for pair in unsure.tolist():
        i, j = compared[pair].tolist()
        x = epsilon * Fraction(int(lengths[pair]), 2**scale)
        alone, wrong, close = _settle(limbs[:, [i, j]], float(growth[pair]), x)
        zeros, violated, settled = zeros + alone, violated + wrong, settled + close
    inequalities = 2 * len(compared) * limbs.shape[2]
    detail = f"{inequalities} looked at, {settled} close ones in integers"
    if n_pairs > len(compared):
        detail += f"; {n_pairs - len(compared)} pairs follow from others"
    apart = np.log(np.maximum(most, 1 / least))
    achieved, where = _achieved(limbs, compared, lengths, apart, scale)
    # Inequalities that hold say more than a logarithm rounded up.
    achieved = min(achieved, epsilon) if not violated else achieved
    return [
        Check(
            "zeros beside positives", zeros, 0, exact=True, detail=f"{n_pairs} constrained pairs"
        ),
        Check("inequalities violated", violated, 0, exact=True, detail=detail),
        Check("achieved epsilon", achieved, epsilon, exact=True, detail=where),
    ]


def _weights(limbs: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the weights of all entries as floats ``(n, n_reports)``, off by a rounding or two for each limb."""
    weights = np.zeros(limbs.shape[1:])
    for limb in limbs:
        weights = weights * 2.0**LIMB_BITS + limb.astype(np.float64)
    return weights


def _extremes(
    limbs: NDArray[np.uint64], pairs: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest ratio of the weights of each pair of rows, ``(pairs,)`` each.

    The cost is pairs times reports.

    `limbs` is ``(n_limbs, n, n_reports)``, `pairs` ``(pairs, 2)``, sorted by the first.
    """
    weights = _weights(limbs)
    # A report without a positive weight has the ratio 1 in each pair, from which the extremes start. Unlike an index,
    # `compress` leaves rows in one piece, as they are read below.
    weights = weights.compress(weights.any(axis=0), axis=1)
    # Two zeros have the ratio 1, and one zero a ratio beyond every other.
    weights[weights == 0] = 2.0 ** -(LIMB_BITS * len(limbs) + 64)
    least, most = np.empty(len(pairs)), np.empty(len(pairs))
    step = max(1, _SLICE // max(weights.shape[1], 1))
    starts = np.searchsorted(pairs[:, 0], np.arange(len(weights) + 1)).tolist()
    for i, row in enumerate(weights):
        inverse = 1 / row
        for first in range(starts[i], starts[i + 1], step):
            part = slice(first, min(first + step, starts[i + 1]))
            ratios = weights[pairs[part, 1]]
            ratios *= inverse
            ratios.min(axis=1, initial=1.0, out=least[part])
            ratios.max(axis=1, initial=1.0, out=most[part])
    return least, most


def _settle(limbs: NDArray[np.uint64], growth: float, x: Fraction) -> tuple[int, int, int]:
    """Count zeros beside positives, violations, and reports settled in integers, for two rows.

    `limbs` is ``(n_limbs, 2, n_reports)``; `growth` is ``e^x`` in floats, `x` exact. ``O(n_reports)``.
    """
    weights = _weights(limbs)
    high, low = weights.max(axis=0), weights.min(axis=0)
    certain = high > low * (growth * (1 + _FLOAT_ERROR))
    close = np.flatnonzero(~certain & (high > low * (growth * (1 - _FLOAT_ERROR))))
    wrong = int(certain.sum())
    for report in close.tolist():
        p, q = sorted((_weight(limbs, 0, report), _weight(limbs, 1, report)))
        wrong += q << FRACTIONAL_BITS > p * exp_floor(x, FRACTIONAL_BITS)
    return int(((low == 0) & (high > 0)).sum()), wrong, len(close)


def implied_pairs(bound: BoundPairs, *, max_relays: int = 16) -> NDArray[np.bool_]:
    """Mark bound pairs that follow from two other bound pairs over a near secret, all lengths positive: ``(n, n)``.

    The unmarked pairs imply the marked ones, by induction on the length: both parts are shorter than the
    whole, and each of them is unmarked or follows in turn.

    A near secret is one of the `max_relays` nearest ones to an end, so that some implied pairs stay unmarked.
    ``O(max_relays n^2)``: for neighbors on a lattice 16 relays mark almost all.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    >>> implied_pairs(BoundPairs(line > 0, line, 0)).astype(int).tolist()
    [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    """
    far = np.int64(1 << 60)
    # Not above it either, so that no sum of two wraps.
    lengths = np.where(bound.mask & (bound.lengths > 0), np.minimum(bound.lengths, far), far)
    implied = np.zeros(lengths.shape, dtype=bool)
    relays = min(max_relays, len(lengths))
    # A copy, so that the indices of all others are not kept.
    nearest = np.argpartition(lengths, relays - 1, axis=1)[:, :relays].copy()
    rows = np.arange(len(lengths))
    few = 4 * np.count_nonzero(lengths < far) < lengths.size
    i, j = np.nonzero(lengths < far) if few else (rows, rows)
    for relay in nearest.T:
        if few:
            over = relay[i]
            implied[i, j] |= lengths[i, over] + lengths[over, j] <= lengths[i, j]
        else:
            implied |= (lengths[rows, relay][:, None] + lengths[relay] <= lengths) & (lengths < far)
    return implied | implied.T


def growth_of(lengths: NDArray[np.int64], rate: Fraction, n_limbs: int) -> NDArray[np.float64]:
    """Return ``e^(rate length)`` of `lengths` ``(m,)``, not negative, as float64 of this shape, to 15 roundings.

    Capped beyond ratios of weights of `n_limbs` limbs.

    `rate` is positive, in nats for each unit of the lengths.
    """
    longest = min(math.floor(44 * n_limbs / rate), 2**62)
    near = lengths <= longest
    capped = np.where(near, lengths, 0)
    growth = np.where(near, 1.0, 2.0 ** (LIMB_BITS * n_limbs + 1))
    for shift in range(0, int(capped.max(initial=0)).bit_length(), 8):
        digits = ((capped >> shift) & 255).astype(np.uint8)
        table = np.ones(256)
        for digit in np.flatnonzero(np.bincount(digits, minlength=256)).tolist():
            table[digit] = exp_floor(rate * (digit << shift), 64) / 2**64
        growth *= table[digits]
    return growth


def _weight(limbs: NDArray[np.uint64], secret: int, report: int) -> int:
    """Return one entry of the channel as an integer, from `limbs` ``(n_limbs, n, n_reports)`` of 62 bits."""
    weight = 0
    for limb in limbs[:, secret, report].tolist():
        weight = (weight << LIMB_BITS) + limb
    return weight


def _achieved(
    limbs: NDArray[np.uint64],
    pairs: NDArray[np.int64],
    lengths: NDArray[np.int64],
    apart: NDArray[np.float64],
    scale_bits: int,
) -> tuple[Fraction | float, str]:
    """Return the largest log-ratio per unit of distance, rounded up, infinite for a zero beside a positive weight.

    `pairs` ``(m, 2)`` have lengths ``(m,)`` and, in floats, log-ratios `apart` ``(m,)``. Also returns where it is.
    The worst pair is computed exactly, ``O(n_reports)``.

    `limbs` is ``(n_limbs, n, n_reports)``; lengths are in units of ``2^-scale_bits``.
    """
    ratio = apart / np.maximum(lengths, 1)
    for pair in np.flatnonzero(lengths == 0).tolist():
        i, j = pairs[pair]
        ratio[pair] = 0.0 if (limbs[:, i] == limbs[:, j]).all() else math.inf
    if not ratio.size:
        return Fraction(0), "no pair is bound"
    worst = int(ratio.argmax())
    i, j = pairs[worst].tolist()
    if not lengths[worst]:
        nothing = Fraction(0) if not ratio[worst] else math.inf
        return nothing, f"at secrets {i} and {j}, distance 0"
    rows = ([_weight(limbs, row, report) for report in range(limbs.shape[2])] for row in (i, j))
    ratios = [(max(p, q), min(p, q)) for p, q in zip(*rows, strict=True) if p or q]
    if not all(q for _, q in ratios):
        return math.inf, f"at secrets {i} and {j}"
    # Logarithms take long: that of the largest ratio bounds all.
    nats = log_ceil(max(Fraction(p, q) for p, q in ratios), FRACTIONAL_BITS)
    exact, digits = Fraction(nats << scale_bits, int(lengths[worst]) << FRACTIONAL_BITS), 10**15
    return Fraction(math.ceil(exact * digits), digits), f"at secrets {i} and {j}"
