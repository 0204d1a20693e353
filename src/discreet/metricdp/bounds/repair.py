r"""Repair: from a solver's answer, private up to tolerances, to a channel of integers that is private.

A solver that calls its answer optimal returns zeros beside positive probabilities, an infinite ratio, and rows that sum
to one up to a millionth. The repair works in a slightly narrower cone, so that slack is left for what follows:

1. *Closure.* Replace each column by the least one above it with :math:`u_i \ge e^{-w_{ij}} u_j`, where
   :math:`w_{ij} = \max(0, (1 - \delta)\,\epsilon d_{ij} - b)` and *b* is :math:`\min(\delta, 10^{-3})` times the median
   over secrets of :math:`\epsilon d` to the nearest. The set of such columns is closed under sums, maxima and positive
   scaling.
2. *Rows.* Let :math:`s_i` be the row sums. If :math:`|\ln s_i - \ln s_j| \le (\epsilon d_{ij} - w_{ij})/2` on every
   binding edge, stop; otherwise divide the rows by :math:`s_i` and go to 1.
3. *Round* the matrix to integers (:mod:`discreet.core.channels.rounding`), which needs the slack
   :math:`a = \min (\epsilon d_{ij} - w_{ij} - |\ln s_i - \ln s_j|)`.

**Proof.** At the stop ``z_ik / z_jk <= e^w_ij`` in every column, so that after division by the row sums the logarithm
of the ratio is at most ``w_ij + |ln s_i - ln s_j| <= epsilon d_ij - a``. That is what the rounding asks for. ∎

**It always ends.** For :math:`\delta = 3/4` step 2 stops at once: the row sums are sums of closed columns, so that
:math:`|\ln s_i - \ln s_j| \le w_{ij} \le \epsilon d_{ij}/4 < (\epsilon d_{ij} - w_{ij})/2`. It is the argument for the
factor 1/2 of the exponential mechanism. And for :math:`\delta = 1` all rows are equal, which needs no slack.

**Short edges.** Where ``w_ij = 0`` the closure makes two rows equal, bit for bit; they are rounded alike, and no slack
is asked of the edge. So secrets that are much closer than most do not dictate :math:`\delta`.

**Floats.** Entries are kept at ``2^-70`` or more (``2^-132`` for two limbs): the maximum of a closed column and a
constant is closed, the rounding lifts every entry beyond that anyway, and nothing underflows, whatever epsilon times
the diameter. A column is zero in a whole component or nowhere in it. The slack is lowered by more than all roundings
can add up to, and the channel is verified by others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.channels.rounding import mixing_weight, round_channel
from discreet.core.errors import InvalidProblemError, first_unfit
from discreet.core.exact import to_fraction
from discreet.metricdp.bounds.closure import close_columns, in_threads
from discreet.metricdp.bounds.mixing import mixed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.channels.channel import Channel
    from discreet.core.exact import Exact
    from discreet.core.spaces.adjacency import Adjacency

__all__ = ["Repaired", "repair"]

_PIVOTS, _COLUMNS = 64, 512
"""Pivots, and columns, that the closure of a matrix works on at once."""

_FLOOR = {1: 2.0**-70, 2: 2.0**-132}
"""Least positive entry that is kept, for one limb and for two: below what the rounding can tell from zero."""

_DUPLICATE = 1e-6
"""Nats to the nearest secret, beside the largest of these, up to which it is a near duplicate."""

_UNUSED = 2.0**-60
"""A column whose entries are all below this is not used at all."""

_TINY = 1e-300
"""Stands for a zero that the closure will raise."""

_ERROR = 2.0**-40
"""More than the floats below err: a logarithm of numbers above 2^-132 by 2^-45, an exponent of at most 110 by 2^-45, a
sum of K terms by K 2^-53, a closure's product and quotient by 2^-51."""

_ROUNDS, _ROUNDS_ALL = 60, 12
"""Rounds of closure and division before a larger delta is tried; and over all pairs at once, which takes long."""

_FEW_USED = 0.5
"""Part of the reports up to which only those that are used are closed."""

_LIMB_PRICE = 1e-4
"""Part of the loss that rounding to one limb may cost."""

_GIVEN_PRICE = 1e-6
"""Part of the loss that it may cost where the matrix is rounded as it was given."""

_FIRST = 1e-7
"""Delta of the first trial, which shows what is best."""

_FAILED = Fraction(1, 1000)
"""Delta beyond which closing and dividing did not end where it was hoped for, and mixing is tried: subdivided streets,
385 nodes .22 nats apart, 80 reports, ended at 3/4 with a loss of 3.25 for 1.62 before; November 2026."""

_MIXING = Fraction(1, 1_000_000)
"""Delta of what is mixed."""

_SURE = Fraction(3, 4)
"""Delta at which one closure is always enough, for floats that can tell lengths apart."""

_LAST = Fraction(1)
"""Delta at which all rows of a component are equal."""

_MOST_EXTRA = 1e-3
"""Most that an edge gives up beyond delta, as a part of the nats between nearest secrets."""

_ALL_PAIRS = 100
"""Secrets from which on all pairs of them are closed by one product of matrices, with maxima for sums, instead of by
sweeps over the edges until nothing changes."""

_MOST_PAIRS = 0.5
"""Part of all pairs that bind from which on all are taken: of 1,000 random points all pairs are constrained and all but
73 bind; sweeps over these took 1 to 3 CPU seconds each time, the product 0.5; November 2026."""

_WIDTH = 64
"""Columns that the closure works on at once: 500 rows of them fit into the second-level cache."""


@final
@dataclass(frozen=True, eq=False)
class Repaired:
    """A private channel, and what it took.

    Parameters
    ----------
    channel
        Integers.
    delta
        The part of epsilon that was given up for slack; 0 where the matrix had enough.
    slack
        Nats that the rounding could rely on.
    theta
        Probability that the rounding moved to the uniform report.
    limbs
        Words of 62 bits in a weight.
    rounds
        How often rows were divided by their sums after a closure.
    upper
        Expected loss of the channel, rounded up.
    """

    channel: Channel
    delta: Fraction
    slack: Fraction
    theta: Fraction
    limbs: int
    rounds: int
    upper: float


@final
@dataclass(frozen=True, eq=False)
class _Closed:
    """A matrix with positive slack, not yet rounded."""

    matrix: NDArray[np.float64]
    delta: Fraction
    slack: Fraction
    rounds: int


@final
@dataclass(frozen=True, eq=False)
class _Frame:
    """Edges that can bind with their lengths in nats, the nats between nearest secrets, every secret's neighbors.

    ``every`` are the nats of all pairs, infinite for those that do not bind, where most of many do; else ``None``.
    """

    pairs: NDArray[np.int32]
    nats: NDArray[np.float64]
    scale: float
    limbs: int
    start: NDArray[np.int64]
    ends: NDArray[np.int32]
    ids: NDArray[np.int64]
    every: NDArray[np.float64] | None
    labels: NDArray[np.int32]
    threads: int
    late: Callable[[], bool]


def repair(
    matrix: ArrayLike,
    binding: Adjacency,
    epsilon: Exact,
    *,
    cost: ArrayLike,
    threads: int = 1,
    late: Callable[[], bool] = lambda: False,
) -> Repaired:
    r"""Turn any matrix into a channel that is private on the edges of a graph, near to it where it nearly is one.

    Parameters
    ----------
    matrix
        Z, ``(n_secrets, n_reports)`` finite; what is negative counts as zero. Rows should sum to about 1.
    binding
        The edges that the channel must keep, and with them every pair that they imply: a pruned graph is enough.
        It may have several components.
    epsilon
        Nats per unit of distance, exact.
    cost
        ``(n_secrets, n_reports)`` non-negative, the prior included: what is charged for a change.
    threads
        What columns are divided among; the channel does not depend on it.
    late
        Looked at between closures: whether to end with the delta at which one is always enough.

    Returns
    -------
    Repaired
        With ``W_ik <= e^(epsilon d_ij) W_jk`` on every edge and report, in integers.

    Raises
    ------
    InvalidProblemError
        For shapes that do not match, entries that are not finite, or a row without a positive entry.

    Guarantee
    ---------
    By the proof in this module; ``verify`` checks the integers and does not rely on it.

    Complexity
    ----------
    A few sweeps of ``2 m K`` products for m edges and K reports, a nanosecond each or less, then a microsecond for each
    entry in the rounding.

    Notes
    -----
    The loss grows by about :math:`\kappa\delta` for the slack, with :math:`\kappa` the nats to the nearest secret or 1,
    and by :math:`\theta`, about :math:`2K / (a 2^{62})`, times the mean cost for the rounding. Delta is chosen where
    the sum is least, and tenfold as often as step 2 does not end in time. Two limbs are taken where one would cost more
    than a ten thousandth of the loss. Measured on simplex answers for 7 x 7 grids: 3e-8 of the loss or less at epsilon
    0.5 to 2, 2.3e-6 at epsilon 10. Closing from above and from below and taking the geometric mean cost more in 58 of
    63 trials on disturbed answers, and 7 % less of what the repair costs in the other five.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.core.spaces.adjacency import Adjacency
    >>> pair = Adjacency(2, [(0, 1)], [1], scale_bits=0)
    >>> repaired = repair(np.eye(2), pair, 3, cost=1 - np.eye(2))
    >>> repaired.channel.probabilities.round(4).tolist(), float(repaired.delta)
    ([[0.9526, 0.0474], [0.0474, 0.9526]], 1e-09)
    """
    rate = to_fraction(epsilon, "epsilon")
    table, price = _read(matrix, cost, binding, rate)
    table = _normal(table, binding)
    used = np.flatnonzero(table.any(axis=0))
    if len(used) > _FEW_USED * table.shape[1]:
        used = np.arange(table.shape[1])
    given, paid = np.ascontiguousarray(table[:, used]), np.ascontiguousarray(price[:, used])
    frame = _frame(binding, rate, len(used), 1, threads, late)
    closed, limbs = _with_slack(given, frame, paid), 1
    if not _cheap(closed, paid, _LIMB_PRICE):
        limbs = 2
        frame = _frame(binding, rate, len(used), limbs, threads, late)
        closed = _balanced(given, frame, paid)
    matrix = np.zeros_like(table)
    matrix[:, used] = closed.matrix
    channel = round_channel(matrix, slack=closed.slack, limbs=limbs)
    reports = int((matrix > 0).sum(axis=1).max())
    theta = mixing_weight(reports, closed.slack, limbs)
    upper = channel.expected_loss(price)
    return Repaired(channel, closed.delta, closed.slack, theta, limbs, closed.rounds, upper)


def _read(
    matrix: ArrayLike, cost: ArrayLike, binding: Adjacency, rate: Fraction
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    table, price = np.array(matrix, dtype=np.float64), np.asarray(cost, dtype=np.float64)
    if rate <= 0:
        raise InvalidProblemError("epsilon", "a positive number", rate)
    if table.ndim != 2 or table.shape[0] != binding.n or not table.shape[1]:
        raise InvalidProblemError("matrix", f"a table of {binding.n} rows", f"shape {table.shape}")
    if not np.isfinite(table).all():
        raise InvalidProblemError(
            "matrix", "finite entries", first_unfit(table, np.isfinite(table))
        )
    if price.shape != table.shape or not (np.isfinite(price) & (price >= 0)).all():
        raise InvalidProblemError(
            "cost", f"finite non-negative numbers of shape {table.shape}", f"shape {price.shape}"
        )
    return table, price


def _normal(table: NDArray[np.float64], binding: Adjacency) -> NDArray[np.float64]:
    """Make rows sum to 1, leave out columns that a component hardly uses, and make no other entry zero."""
    table = np.maximum(table, 0.0)
    top = table.max(axis=1, keepdims=True)
    if not (top > 0).all():
        raise InvalidProblemError("matrix", "a positive entry in each row", "a row without")
    # Divided by the largest first: the sum of a row of the largest floats is no float.
    table /= top
    table /= table.sum(axis=1, keepdims=True)
    labels = binding.components
    most = np.zeros((int(labels.max()) + 1, table.shape[1]))
    np.maximum.at(most, labels, table)
    used: NDArray[np.float64] = np.where((most > _UNUSED)[labels], np.maximum(table, _TINY), 0.0)
    return used


def _frame(  # noqa: PLR0917 - one call, in the order of the fields
    binding: Adjacency,
    rate: Fraction,
    n_reports: int,
    limbs: int,
    threads: int,
    late: Callable[[], bool],
) -> _Frame:
    n = binding.n
    nats = np.asarray(binding.lengths * float(rate / 2**binding.scale_bits), dtype=np.float64)
    nearest = np.full(n, np.inf)
    for side in binding.pairs.T:
        np.minimum.at(nearest, side, np.where(nats > 0, nats, np.inf))
    positive = nearest[np.isfinite(nearest)]
    # Near duplicates, even most of the secrets, do not say how far apart the others are.
    positive = positive[positive > _DUPLICATE * positive.max(initial=0.0)]
    scale = float(np.median(positive)) if positive.size else 1.0
    every = None
    if n >= _ALL_PAIRS and len(nats) >= _MOST_PAIRS * n * (n - 1) / 2:
        # Those that others imply are found by closing the rest.
        every = np.full((n, n), np.inf)
        np.fill_diagonal(every, 0.0)
        i, j = binding.pairs.T
        every[i, j] = every[j, i] = nats
    # Entries lie between the floor and 1, row sums between 1 and K: a longer edge has a nat of slack whatever happens.
    short = nats <= 2.0 - math.log(_FLOOR[limbs]) + math.log(n_reports)
    pairs, nats = binding.pairs[short], nats[short]
    i, j = pairs.T
    order = np.argsort(np.concatenate([i, j]), kind="stable")
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs.ravel(), minlength=n), out=start[1:])
    ids = np.concatenate([np.arange(len(pairs)), np.arange(len(pairs))])[order]
    ends = np.concatenate([j, i])[order]
    return _Frame(
        pairs, nats, scale, limbs, start, ends, ids, every, binding.components, threads, late
    )


def _as_given(table: NDArray[np.float64], frame: _Frame) -> _Closed | None:
    """Accept a matrix that has some slack already, as closed forms and interior points may."""
    table = _floored(table, frame)
    # A report that is unused in a component is unused in both rows of each edge.
    logs = np.log(np.where(table > 0, table, 1.0)) - np.log(table.sum(axis=1, keepdims=True))
    # A few columns show that most matrices have none.
    few = np.ascontiguousarray(logs[:, :: max(1, table.shape[1] // 16)])
    if _least_slack(table, few, frame) is None:
        return None
    least = _least_slack(table, logs, frame)
    return None if least is None else _Closed(table, Fraction(0), Fraction(least), 0)


def _least_slack(
    table: NDArray[np.float64], logs: NDArray[np.float64], frame: _Frame
) -> float | None:
    """Measure the slack of all edges but those between equal rows; ``None`` where there is none."""
    from discreet.metricdp.kernels.columns import farthest_apart

    slack = frame.nats - farthest_apart(logs, frame.pairs)
    for edge in np.flatnonzero(slack <= _ERROR).tolist():
        i, j = frame.pairs[edge]
        if not (table[i] == table[j]).all():
            return None
        slack[edge] = 1.0
    return min(float(slack.min(initial=1.0)) - _ERROR, 1.0)


def _floored(table: NDArray[np.float64], frame: _Frame) -> NDArray[np.float64]:
    return np.where(table > 0, np.maximum(table, _FLOOR[frame.limbs]), 0.0)


def _closed(table: NDArray[np.float64], frame: _Frame, delta: Fraction) -> _Closed:
    """Close and divide at the given delta, or at the first tenfold one that ends in time."""
    while True:
        found = _attempt(table, frame, delta)
        if found is not None:
            return found
        delta = _following(delta, frame)


def _following(delta: Fraction, frame: _Frame) -> Fraction:
    """Say what is tried after a delta that was too small."""
    if delta >= _SURE:
        return _LAST
    return _SURE if frame.late() else min(10 * delta, _SURE)


def _attempt(table: NDArray[np.float64], frame: _Frame, delta: Fraction) -> _Closed | None:
    part = float(delta)
    extra = min(part, _MOST_EXTRA) * frame.scale
    kept = np.maximum((1 - part) * frame.nats - extra, 0.0) if delta < 1 else 0 * frame.nats
    room = np.where(kept > 0, frame.nats - kept, np.inf)
    i, j = frame.pairs.T
    factor = np.exp(-kept)[frame.ids]
    closed, number, before = table, 0, 0.0
    most = _ROUNDS if frame.every is None else _ROUNDS_ALL
    every = None if frame.every is None else _closed_factors(frame.every, part, extra)
    while True:
        number += 1
        closed = _floored(closed, frame)
        if every is None:
            close_columns(closed, frame.start, frame.ends, factor, threads=frame.threads)
        else:
            source, closed = closed, np.empty_like(closed)
            _over_all(source, every, closed, frame.threads)
        sums = closed.sum(axis=1)
        apart = np.abs(np.log(sums[i]) - np.log(sums[j]))
        excess = float((2 * apart / room).max(initial=0.0))
        if excess <= 1:
            slack = min(float((room - apart).min(initial=1.0)) - _ERROR, 1.0)
            matrix = closed / sums[:, None]
            if every is not None:
                # Sums of many floats made the factors: what they led to is measured.
                logs = np.log(np.where(matrix > 0, matrix, 1.0))
                slack = min(_least_slack(matrix, logs, frame) or 0.0, slack)
            return _Closed(matrix, delta, Fraction(slack), number) if slack > 0 else None
        # Excess falls geometrically, so that its logarithm falls along a line: give up when that ends above zero.
        high = math.log(excess)
        hopeless = number > 5 and high + (high - before) * (most - number) > 0
        if hopeless or (delta < _SURE and frame.late()):
            return None
        closed, before = closed / sums[:, None], high


def _over_all(
    source: NDArray[np.float64],
    factor: NDArray[np.float64],
    raised: NDArray[np.float64],
    threads: int,
) -> None:
    """Close columns over all pairs at once, side by side."""
    from discreet.metricdp.kernels.columns import raise_over_all

    columns = source.shape[1]

    def close(piece: int) -> None:
        first = _WIDTH * piece
        raise_over_all(first, min(first + _WIDTH, columns), source, factor, raised, _WIDTH)

    in_threads(close, -(-columns // _WIDTH), threads)


def _with_slack(table: NDArray[np.float64], frame: _Frame, price: NDArray[np.float64]) -> _Closed:
    given = _as_given(table, frame)
    if given is not None and _cheap(given, price, _GIVEN_PRICE):
        return given
    return _balanced(table, frame, price)


def _balanced(table: NDArray[np.float64], frame: _Frame, price: NDArray[np.float64]) -> _Closed:
    """Close at the delta, to one digit, at which slack and rounding cost the same.

    A delta costs about ``kappa delta`` of the loss, and its rounding a price that falls with ``1 / delta``.
    """
    delta, other = _digit(_FIRST if frame.limbs == 1 else 0.0, frame), None
    found = _attempt(table, frame, delta)
    if found is None and frame.every is None:
        other = _mixed(table, frame)
        if other is not None and _cheaper(other, delta, table, frame, price):
            return other
    first = found or _closed(table, frame, _following(delta, frame))
    # Mixing looks at every pair for every column: with 1,000 secrets and all pairs for 2 CPU seconds.
    if first.delta > _FAILED and (frame.every is None or not frame.late()):
        other = other or _mixed(table, frame)
        if other is not None and (price * other.matrix).sum() < (price * first.matrix).sum():
            return other
    if frame.late():
        return first
    loss = float((price * first.matrix).sum())
    rounding = _price_of_rounding(first, price, frame.limbs) * float(first.slack) / frame.scale
    kappa = max(1.0, frame.scale)
    better = _digit(math.sqrt(rounding / (loss * kappa)) if loss > 0 else 0.0, frame)
    return first if first.delta / 3 <= better <= first.delta * 3 else _closed(table, frame, better)


def _cheaper(
    other: _Closed,
    failed: Fraction,
    table: NDArray[np.float64],
    frame: _Frame,
    price: NDArray[np.float64],
) -> bool:
    """Tell whether what was mixed costs less than closing would.

    It does where the largest delta that costs less is too small. To find that of each smaller one takes as long again:
    1,000 words, a quarter nat, six deltas from 1e-6 to 0.1 took 2.1 CPU seconds, and mixing .18; November 2026.
    """
    before = float((price * table / table.sum(axis=1, keepdims=True)).sum())
    cost, unit = float((price * other.matrix).sum()) - before, max(1.0, frame.scale) * before
    if cost >= _SURE * unit:
        return False
    if cost <= failed * unit:
        return True
    delta = Fraction(10) ** math.floor(math.log10(cost / unit))
    return _attempt(table, frame, max(delta, failed)) is None


def _mixed(table: NDArray[np.float64], frame: _Frame) -> _Closed | None:
    """Mix where closing and dividing did not end for a small delta."""
    part = float(_MIXING)
    kept = (1 - part) * frame.nats - np.minimum(part * frame.scale, frame.nats / 4)
    floored = _floored(table, frame)
    matrix = mixed(
        floored / floored.sum(axis=1, keepdims=True),
        kept,
        frame.start,
        frame.ends,
        frame.ids,
        labels=frame.labels,
        threads=frame.threads,
    )
    if matrix is None:
        return None
    least = _least_slack(matrix, np.log(np.where(matrix > 0, matrix, 1.0)), frame)
    return None if least is None or least <= 0 else _Closed(matrix, _MIXING, Fraction(least), 1)


def _digit(delta: float, frame: _Frame) -> Fraction:
    """Round to one digit, at least so much that floats can vouch for the slack."""
    least = max(delta, 1e-10 / frame.scale)
    return min(Fraction(f"{least:.0e}"), _SURE)


def _cheap(closed: _Closed, price: NDArray[np.float64], part: float) -> bool:
    return _price_of_rounding(closed, price, 1) <= part * float((price * closed.matrix).sum())


def _price_of_rounding(closed: _Closed, price: NDArray[np.float64], limbs: int) -> float:
    """Estimate what the rounding adds to the loss: theta times the loss of the uniform report."""
    support = closed.matrix > 0
    reports = support.sum(axis=1)
    theta = mixing_weight(int(reports.max()), closed.slack, limbs)
    return float(theta) * float(((price * support).sum(axis=1) / reports).sum())


def _closed_factors(nats: NDArray[np.float64], part: float, extra: float) -> NDArray[np.float64]:
    r"""Give :math:`e^{-w}`, w the closure of what is left of lengths, each of which gives up something.

    Where all pairs are constrained, the least column above z that keeps :math:`z_i \ge e^{-w_{ij}} z_j` is
    :math:`\max_j e^{-w_{ij}} z_j`, if w keeps the triangle inequality: one product of matrices, with maxima for sums.
    Where edges give up something besides their part of epsilon, w is closed first.

    Parameters
    ----------
    nats
        ``(n, n)`` symmetric lengths.
    part, extra
        A part of each length is given up, and so many nats besides; 1 leaves nothing.

    Returns
    -------
    ndarray
        ``(n, n)``, 1 on the diagonal.

    Complexity
    ----------
    ``n^3`` additions.
    """
    from discreet.core.kernels.distances import close

    kept = np.zeros_like(nats)
    if part < 1:
        np.maximum((1 - part) * nats - extra, 0.0, out=kept)
    np.fill_diagonal(kept, 0.0)
    close(kept, _PIVOTS, _COLUMNS)
    factors: NDArray[np.float64] = np.exp(-kept)
    return factors
