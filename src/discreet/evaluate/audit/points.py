r"""Count violated promises between points exactly: a judge of laws that are mixtures of rows.

A mechanism for every point has integer weights :math:`W_{vk}` at the control points of a net. A point x with
interpolation weights :math:`w_v(x)` reports k with probability :math:`z_k(x) \propto \sum_v w_v(x) W_{vk}`. The
promise is

.. math:: z_k(x) \le e^{\epsilon |x - y|}\, z_k(y) \qquad \text{for all points x, y and all reports k,}

and its violations are counted here, for pairs of points and not for cells. Nothing of the design or of its verifier is
used: neither their condition nor their location of points, nor their arithmetic.

**Exact.** Points are rational. Most comparisons are decided by floats whose error is bounded: with
:math:`z_k(x) / z_k(y) = 1 + r_k`,

.. math:: r_k = \frac{\sum_v (w_v(x) - w_v(y)) W_{vk}}{\sum_v w_v(y) W_{vk}},

where the differences of weights are taken in integers before anything is rounded, so that points that are nearly equal
can be compared. A product and a sum of eighteen are off by at most :math:`20 u`
of the sum of magnitudes, :math:`u = 2^{-53}`. What is not cleared with three times that error is decided in fractions:
:math:`\ln q \le \sqrt s` for rational q and s, with as many digits as it takes. For s > 0 both sides differ, since the
exponential of an algebraic number other than 0 is transcendental.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.printed import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.evaluate.audit.nets import NetLaws, NetPairs

_FLOAT_ERROR = 32 * float(np.finfo(np.float64).eps)
"""Relative error that a comparison is granted: 64 roundings, more than twice the 28 that it may need."""

_CHUNK_ENTRIES = 1 << 21
"""Entries of a table of pairs, vertices and reports at a time: 16 MiB of floats."""


@final
@dataclass(frozen=True)
class Broken:
    """Violations among some pairs of points.

    Parameters
    ----------
    pairs
        Pairs of points that were compared, both ways, for all reports.
    violated
        Number of them that break the promise, exactly.
    exact
        Comparisons of a pair and a report that floats could not decide.
    worst
        Largest log-ratio as a part of epsilon times the distance, to a float's digits; infinite where a report
        rules one of two points out, or where two points at one spot have two laws.
    where
        The pair that shows it, and the report, in words.
    """

    pairs: int
    violated: int
    exact: int
    worst: float
    where: str


def count_broken(
    laws: NetLaws,
    pairs: NetPairs,
    *,
    on_stage: Callable[[int, float], None] | None = None,
) -> Broken:
    """Count the pairs that break the promise, both ways and for all reports, exactly.

    Parameters
    ----------
    laws
        The laws of all points.
    pairs
        The pairs of points.
    on_stage
        Called with the number of pairs compared, and the worst ratio so far.

    Returns
    -------
    Broken
        ``violated`` is exact: no tolerance is granted.

    Complexity
    ----------
    ``O(P K)`` floats for P pairs and K reports, and fractions for what they leave open.
    """
    step = max(1, _CHUNK_ENTRIES // (18 * laws.weights.shape[1]))
    violated = exact = 0
    worst, where = 0.0, ""
    for begin in range(0, len(pairs), step):
        some = slice(begin, begin + step)
        strength, open_ = _compare(laws, pairs, some)
        for at in np.flatnonzero(open_.any(axis=1)).tolist():
            reports = np.flatnonzero(open_[at]).tolist()
            exact += len(reports)
            broken, ratio = _decide(laws, pairs, begin + at, reports)
            violated += broken
            strength[at] = np.where(open_[at], ratio, strength[at])
        highest = strength.max(axis=1)
        at = int(highest.argmax())
        if highest[at] > worst:
            worst = float(highest[at])
            where = _words(laws, pairs, begin + at, int(strength[at].argmax()))
        if on_stage is not None:
            on_stage(min(begin + step, len(pairs)), worst)
    return Broken(len(pairs), violated, exact, worst, where)


def _compare(
    laws: NetLaws, pairs: NetPairs, some: slice
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return log-ratios as parts of epsilon times the distance, and a mask of the ones that floats do not clear.

    Both are ``(pairs, K)``, for the slice `some`; an infinite ratio is 0, in the mask. ``O(K)`` a pair.
    """
    first, second, left, right, unit, far = laws.ends(pairs, some)
    same = first[:, :, None] == second[:, None, :]
    shared = np.where(same, right[:, None, :], 0).sum(axis=2)
    delta = np.concatenate([left - shared, np.where(same.any(axis=1), 0, -right)], axis=1)
    allowed = float(laws.epsilon) * far
    change = (delta / unit).astype(np.float64)
    rows = laws.weights[np.concatenate([first, second], axis=1)].astype(np.float64)
    moved = np.einsum("pv,pvk->pk", change, rows)
    slack = np.einsum("pv,pvk->pk", np.abs(change), rows) * _FLOAT_ERROR
    at_one = np.einsum("pv,pvk->pk", (left / unit).astype(np.float64), rows[:, : first.shape[1]])
    at_two = np.einsum("pv,pvk->pk", (right / unit).astype(np.float64), rows[:, first.shape[1] :])
    base = np.where(moved >= 0, at_two, at_one)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.log1p((np.abs(moved) + slack) / base)
        strength = np.log1p(np.abs(moved) / base) / allowed[:, None]
    silent = (moved == 0) & (slack == 0)
    cleared = silent | (most * (1 + _FLOAT_ERROR) <= allowed[:, None] * (1 - _FLOAT_ERROR))
    return np.where(np.isfinite(strength), strength, 0.0), ~cleared


def _decide(laws: NetLaws, pairs: NetPairs, at: int, reports: Sequence[int]) -> tuple[bool, float]:
    """Test in fractions whether pair `at` breaks the promise with some of these reports; also return the worst ratio.

    The ratio is a log-ratio as a part of epsilon times the distance. One comparison a report.

    Only the broken pair's first sure violation is looked for: an infinite ratio ends the search.
    """
    (law, (x, y)), (other, (u, v)) = laws.exactly(pairs, at)
    squared = laws.epsilon**2 * ((x - u) ** 2 + (y - v) ** 2)
    broken, worst = False, 0.0
    for report in reports:
        low, high = sorted((law[report], other[report]))
        if low == high:
            continue
        if not low or not squared:
            return True, math.inf
        broken = broken or exceeds(high / low, squared)
        worst = max(worst, math.log1p(float(high / low - 1)) / math.sqrt(float(squared)))
    return broken, worst


def exceeds(ratio: Fraction, squared: Fraction) -> bool:
    """Test exactly whether the logarithm of `ratio` > 1 exceeds the square root of `squared` > 0; digits as needed."""
    digits = 64
    while True:
        low = math.isqrt((squared.numerator << (2 * digits)) // squared.denominator)
        if low >> digits > ratio.numerator.bit_length():
            return False
        least, most = (
            _exponential(root, digits, up=up) for root, up in ((low, False), (low + 1, True))
        )
        scaled = (ratio.numerator << digits) // ratio.denominator
        if scaled > most:
            return True
        if scaled + 1 < least:
            return False
        digits *= 2


def _exponential(x: int, digits: int, *, up: bool) -> int:
    """Bound ``e^(x / 2^digits)`` by an integer in units of ``2^-digits``: from above with `up`, else from below.

    By its series, each term rounded that way.
    """
    one = 1 << digits
    term = total = one << digits
    n = 1
    # Each term is x / n of the last; beyond n = 2x those that are left add up to no more than the last one.
    while term > one >> 1 or n * one < 2 * x:
        term = term * x // (n * one) + up
        total += term
        n += 1
    return -(-(total + term + n) // one) if up else (total // one)


def _words(laws: NetLaws, pairs: NetPairs, at: int, report: int) -> str:
    """Return a report and the pair of points that it tells apart, in words."""
    (_, (x, y)), (_, (u, v)) = laws.exactly(pairs, at)
    far = math.hypot(float(x - u), float(y - v))
    return f"report {report}, {pairs.label}, {estimate(far, 3)} apart at ({estimate(x)}, {estimate(y)})"
