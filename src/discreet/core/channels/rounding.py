"""The proved rounding: from a matrix of floats to the integers of a channel, without losing a single inequality.

Rounding to the nearest integers breaks privacy where a weight is small: at 62 bits and epsilon 10 it turns one small
weight into zero beside a one, an infinite ratio. Here every weight is first lifted to at least ``m`` units by mixing
in a little of the uniform report, with ``m`` so large that a change by one unit cannot use up the slack that there is.

**Statement.** Let ``y`` be a matrix with rows summing to 1 and ``ln y_ik - ln y_jk <= epsilon d_ij - a`` for all
constrained pairs and all reports, ``a > 0``. Let ``m >= coth(a/2)``, ``B`` bits, K reports in the support, ``theta =
K (m + 1) / 2^B < 1``, and ``w_ik`` within one unit of ``x_ik = 2^B ((1 - theta) y_ik + theta / K)``. Then
``w_ik <= e^(epsilon d_ij) w_jk``.

**Proof.** Put ``r = e^(epsilon d_ij - a)``. Rows sum to 1, so some report has ``y_ik >= y_jk``, hence ``r >= 1``, hence
``x_ik <= r x_jk`` (both sides gain the same ``theta/K``, and ``r >= 1``). With ``x_jk >= m + 1 > m``,

    w_ik / w_jk <= (x_ik + 1) / (x_jk - 1) <= r (x_jk + 1) / (x_jk - 1) <= r (m + 1) / (m - 1) <= r e^a,

since ``(m + 1)/(m - 1) <= e^a`` is the same as ``m >= coth(a/2)``. ∎

Weights may even be ``1 + t`` units off, as long as ``t <= 1/m``: with ``x_jk >= m + 1`` the same ratio is at most
``(m + 2 + t)/(m - t)``, and that is at most ``(m + 1)/(m - 1)`` when ``2 t m <= 2``. So one limb is rounded in pairs of
floats, which err by ``t < 2^-38``, and in exact integers where ``m`` is larger or there are more limbs.

Nothing here depends on the least probability, or on epsilon times the diameter.

Proposes; checked by `discreet.metricdp.verify.verify`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.channels.channel import LIMB_BITS, Channel, split_limbs
from discreet.core.errors import InvalidProblemError, first_unfit
from discreet.core.exact import Exact, to_positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_LARGEST_LIFT = 1 << 38
"""Up to here the error of pairs of floats is below 1/m."""


def round_channel(matrix: ArrayLike, *, slack: Exact, limbs: int = 1) -> Channel:
    """Round a matrix of floats to a channel that keeps every inequality that the matrix has with some slack.

    Parameters
    ----------
    matrix
        ``(n_secrets, n_reports)`` finite non-negative floats, read as the exact numbers that they are. Rows need
        not sum to 1: they are divided by their exact sums.
    slack
        ``a`` in nats, positive: after that division ``ln y_ik - ln y_jk <= epsilon d_ij - a`` for every
        constrained pair and report.
    limbs
        62 bits each; two where one would move too much probability.

    Returns
    -------
    Channel
        For which ``W_ik <= e^(epsilon d_ij) W_jk`` on the same pairs. Zero exactly where the matrix is zero.

    Raises
    ------
    InvalidProblemError
        For a matrix that is no channel, a slack that is not positive, or one so small that lifting every weight
        would take more than half of the probability: use more slack or another limb.

    Guarantee
    ---------
    By the proof in the module's text, given the slack. ``verify`` checks the integers anew and does not rely on it.

    Complexity
    ----------
    O(n_secrets n_reports): about ten nanoseconds for each entry, or a microsecond where integers are needed.

    References
    ----------
    docs/theory/channels.md.

    Examples
    --------
    >>> channel = round_channel([[0.75, 0.25], [0.25, 0.75]], slack="1e-6")
    >>> int(channel.weights.sum(axis=1)[0]) == 2**62
    True
    """
    table = np.asarray(matrix, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidProblemError("matrix", "a (secrets, reports) table", f"shape {table.shape}")
    if not np.isfinite(table).all() or table.min() < 0:
        raise InvalidProblemError(
            "matrix",
            "finite non-negative entries",
            first_unfit(table, np.isfinite(table) & (table >= 0)),
        )
    if not (table.max(axis=1) > 0).all():
        raise InvalidProblemError("matrix", "a positive entry in each row", "a row of zeros")
    lift = _lift(slack) + 1
    total = 1 << (LIMB_BITS * limbs)
    support = table > 0
    if 2 * lift * int(support.sum(axis=1).max()) > total:
        raise InvalidProblemError("slack", f"enough slack for {LIMB_BITS * limbs} bits", slack)
    if limbs == 1 and lift <= _LARGEST_LIFT:
        from discreet.core.kernels.distances import round_rows

        exponents = np.frexp(table.max(axis=1, keepdims=True))[1]
        return Channel(round_rows(np.ldexp(table, -exponents), lift)[None].view(np.uint64))
    rows = [_round_row(row, lift, total) for row in table]
    return Channel(split_limbs(rows, limbs))


def mixing_weight(n_reports: int, slack: Exact, limbs: int = 1) -> Fraction:
    """Probability ``theta`` that the rounding moves to the uniform report.

    K is `n_reports`, m the least lift for the slack, B the bits of all limbs. InvalidProblemError for a slack that is
    not positive.

    Parameters
    ----------
    n_reports
        Reports in the support of a row.
    slack, limbs
        As in :func:`round_channel`.

    Returns
    -------
    Fraction
        ``theta = K (m + 1) / 2^B``.

    Examples
    --------
    >>> float(mixing_weight(500, "1e-6")) < 1e-9
    True
    """
    return Fraction(n_reports * (_lift(slack) + 1), 1 << (LIMB_BITS * limbs))


def _lift(slack: Exact) -> int:
    """Return an integer m of at least ``coth(a/2)`` for a slack of ``a`` nats, by ``coth x <= 1/x + x/3``.

    More than one nat counts as one. InvalidProblemError for a slack that is not positive.
    """
    a = min(to_positive(slack, "slack"), Fraction(1))  # more slack than one nat buys nothing
    return math.ceil(2 / a + a / 6)


def _round_row(row: NDArray[np.float64], lift: int, total: int) -> list[int]:
    """Return integers that sum to `total`: each positive entry's `lift` and its share of the rest of it, exactly.

    The largest remainders are rounded up; zeros stay zero.

    `row` is ``(n_reports,)`` with a positive entry; `lift` times the positive entries must be at most `total`, which
    is not checked. ``O(n log n)`` Python integers.
    """
    support = np.flatnonzero(row)
    mantissas, exponents = np.frexp(row[support])
    digits = np.ldexp(mantissas, 53).astype(np.int64).tolist()
    shifts = (exponents - exponents.min()).tolist()
    numbers = [digit << shift for digit, shift in zip(digits, shifts, strict=True)]
    mass = sum(numbers)
    free = total - lift * len(numbers)
    shares = [divmod(free * number, mass) for number in numbers]
    left = free - sum(quotient for quotient, _ in shares)
    order = sorted(range(len(numbers)), key=lambda k: shares[k][1], reverse=True)
    weights = [0] * len(row)
    for place, (quotient, _) in zip(support.tolist(), shares, strict=True):
        weights[place] = quotient + lift
    for k in order[:left]:
        weights[int(support[k])] += 1
    return weights
