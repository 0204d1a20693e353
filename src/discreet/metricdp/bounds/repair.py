r"""Repair: from a solver's answer, private up to tolerances, to a channel of integers that is private.

A solver's optimal answer has zeros beside positive probabilities, an infinite ratio, and rows whose sums are off by up
to a millionth. The repair works in a slightly narrower cone, which leaves slack for the rounding:

1. *Closure.* Replace each column by the least one above it with :math:`u_i \ge e^{-w_{ij}} u_j`, where
   :math:`w_{ij} = \max(0, (1 - \delta)\,\epsilon d_{ij} - b)` and *b* is :math:`\min(\delta, 10^{-3})` times the mean
   over secrets of :math:`\epsilon d` to the nearest. The set of such columns is closed under sums, maxima and positive
   scaling.
2. *Rows.* Let :math:`s_i` be the row sums. If :math:`|\ln s_i - \ln s_j| \le (\epsilon d_{ij} - w_{ij})/2` on every
   binding edge, stop; otherwise divide the rows by :math:`s_i` and go to 1.
3. *Round* the matrix to integers (:mod:`discreet.core.channels.rounding`), which needs the slack
   :math:`a = \min (\epsilon d_{ij} - w_{ij} - |\ln s_i - \ln s_j|)`.

**Proof.** At the stop ``z_ik / z_jk <= e^w_ij`` in every column, so that after division by the row sums the logarithm
of the ratio is at most ``w_ij + |ln s_i - ln s_j| <= epsilon d_ij - a``. This is the premise of the rounding. ∎

**Termination.** For :math:`\delta = 3/4` step 2 stops at once: the row sums are sums of closed columns, so that
:math:`|\ln s_i - \ln s_j| \le w_{ij} \le \epsilon d_{ij}/4 < (\epsilon d_{ij} - w_{ij})/2`. The factor 1/2
of the exponential mechanism has the same argument. For :math:`\delta = 1` all rows are equal, which needs no slack.

**Mixture.** Closing columns and dividing rows, in turn, does not converge on
every graph: at a junction of several roads a row is raised for each of them, and divided by more than its neighbors
are, so that the same constraints are violated again. The mixture takes one pass.

Let w be the lengths to keep, z a matrix whose rows sum to 1, and :math:`v_{ik}` the largest violation at entry (i, k),
:math:`\max_j e^{-w_{ij}} z_{jk} - z_{ik}`, or 0. With a share :math:`\beta < 1/2`, let a be the least matrix above
:math:`v_{ik} / (1 - e^{-(1 - 2 \beta) w_i})`, :math:`w_i` the least length at i, whose columns keep the lengths
:math:`\beta w`, :math:`m_i` its row sums, and :math:`\theta` the largest of these in the component. Then

.. math:: \frac{z_{ik} + \theta\, a_{ik} / m_i}{1 + \theta}

has rows that sum to 1 and keeps w. *Proof.* Row sums of a are sums of columns that keep :math:`\beta w`, so that the
columns of :math:`p = a / m` keep :math:`2 \beta w`, and :math:`p_{ik} - e^{-w_{ij}} p_{jk} \ge p_{ik} (1 -
e^{-(1 - 2 \beta) w_{ij}})`. Times :math:`\theta \ge m_i` this is at least :math:`v_{ik}`. ∎ A component without
violations does not change.

**Short edges.** Where ``w_ij = 0`` the closure makes two rows equal, bit for bit; they are rounded alike, and the edge
needs no slack. So secrets much closer than most do not determine :math:`\delta`.

**Floats.** Entries are kept at ``2^-70`` or more (``2^-132`` for two limbs): the maximum of a closed column and a
constant is closed, the rounding lifts every entry beyond that anyway, and nothing underflows, whatever epsilon times
the diameter. A column is zero in a whole component or nowhere in it. The slack is lowered by more than the sum of all
rounding errors.

Proposes; checked by :func:`~discreet.metricdp.verify`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.channels.rounding import mixing_weight, round_channel
from discreet.core.errors import InvalidProblemError, first_unfit
from discreet.core.exact import to_fraction
from discreet.core.spaces.adjacency import compress_rows
from discreet.core.spaces.lengths import LENGTHS_AT_ONCE
from discreet.metricdp.bounds.closure import close_columns, close_over_all_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.channels.channel import Channel
    from discreet.core.exact import Exact
    from discreet.core.spaces.adjacency import Adjacency

_MIN_ENTRY = {1: 2.0**-70, 2: 2.0**-132}
"""Least positive entry for one limb and for two: below the resolution of the rounding."""

_MAX_ROUNDS, _MAX_ROUNDS_OVER_ALL = 60, 12
"""Rounds of closure and division at one delta: along edges, and over all pairs, where a round takes longer."""

_SUFFICIENT_DELTA = Fraction(3, 4)
"""Delta at which one closure is always enough, if floats resolve the lengths."""


class _Tuning(NamedTuple):
    """Limits of the repair, most of them upper ones."""

    unused_entry: float = 2.0**-60
    """Entries of an unused column: if all are at most this, the column becomes zero."""
    error_in_nats: float = 2.0**-40
    """Bound on the error of the floats below: a logarithm of numbers above 2^-132 by 2^-45, an exponent of at most 110
    by 2^-45, a sum of K terms by K 2^-53, a closure's product and quotient by 2^-51."""
    one_limb_loss: float = 1e-4
    """Loss that rounding to one limb may add, as a share of the loss."""
    unchanged_loss: float = 1e-6
    """Loss that rounding may add to a matrix with enough slack of its own, as a share of the loss."""
    delta: float = 1e-8
    """Delta of the first closure, and of a mixture: they add about as much of the loss."""
    least_nats: float = 1e-10
    """Least delta, in nats between nearest secrets: more than the error of the floats."""
    extra_share: float = 1e-3
    """Limit on the nats that an edge gives up beyond delta, as a share of those between nearest secrets."""
    min_binding_share_for_product: float = 0.5
    """Share of binding pairs beyond which all pairs are closed by one product of matrices, with maxima for sums,
    instead of sweeps over the edges until nothing changes: all pairs of 1,000 random points are constrained and all but
    73 bind; sweeps took 1 to 3 CPU seconds a closure, the product 0.5; November 2026."""


_TUNING = _Tuning()


@final
@dataclass(frozen=True, eq=False)
class Repaired:
    """A private channel with the parameters of its repair.

    Parameters
    ----------
    channel
        The channel of integers.
    delta
        Share of epsilon given up for slack; 0 if the matrix had enough.
    slack
        Slack of the matrix before rounding, in nats.
    theta
        Probability moved to the uniform report by the rounding.
    limbs
        Words of 62 bits in a weight.
    upper
        Expected loss of the channel, rounded up.
    """

    channel: Channel
    delta: Fraction
    slack: Fraction
    theta: Fraction
    limbs: int
    upper: float


@final
@dataclass(frozen=True, eq=False)
class _Closed:
    """A matrix with positive slack, not yet rounded."""

    matrix: NDArray[np.float64]
    delta: Fraction
    slack: Fraction


@final
@dataclass(frozen=True, eq=False)
class _Frame:
    """Edges that can bind, their lengths in nats, and the typical nearest distance."""

    binding: Adjacency
    pairs: NDArray[np.int32]
    nats: NDArray[np.float64]
    scale: float
    limbs: int
    threads: int
    is_late: Callable[[], bool]

    @property
    def over_all(self) -> bool:
        """Whether so many pairs bind that all are closed by one product instead of sweeps over the edges."""
        n = self.binding.n
        return len(self.binding) > _TUNING.min_binding_share_for_product * n * (n - 1) / 2

    @cached_property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """The edges as of :func:`~discreet.core.spaces.adjacency.compress_rows`."""
        return compress_rows(self.pairs, self.binding.n)


def repair(
    matrix: ArrayLike,
    binding: Adjacency,
    epsilon: Exact,
    *,
    cost: ArrayLike,
    threads: int = 1,
    is_late: Callable[[], bool] = lambda: False,
) -> Repaired:
    r"""Convert a matrix to a channel that is private on the edges of a graph, and close to a nearly private matrix.

    Parameters
    ----------
    matrix
        Z, ``(n_secrets, n_reports)`` finite; negative entries count as zero. Rows should sum to about 1.
    binding
        Edges that the channel must keep; a pruned graph is enough, since pairs implied by edges are kept with them. It
        may have several components.
    epsilon
        Nats per unit of distance, exact.
    cost
        ``(n_secrets, n_reports)`` non-negative: ``p_i c_ik``.
    threads
        Number of threads; the channel does not depend on it.
    is_late
        Called between closures; once it returns true, the delta is used at which one closure is always enough.

    Returns
    -------
    Repaired
        A channel with ``W_ik <= e^(epsilon d_ij) W_jk`` on every edge and report, in integers.

    Raises
    ------
    InvalidProblemError
        For shapes that do not match, entries that are not finite, or a row without a positive entry.

    Guarantee
    ---------
    That of the proof in this module; ``verify`` checks the integers and does not rely on it.

    Complexity
    ----------
    A few sweeps of ``2 m K`` products for m edges and K reports, up to a nanosecond each, and a microsecond for each
    entry in the rounding.

    Notes
    -----
    The loss grows by about :math:`\kappa\delta` for the slack, with :math:`\kappa` the nats to the nearest secret or 1,
    and by :math:`\theta`, about :math:`2K / (a 2^{62})`, times the mean cost for the rounding. Delta minimizes
    the sum, and is multiplied by ten whenever step 2 does not end in time. Two limbs are used if one would add more
    than a ten thousandth of the loss. Measured on simplex answers for 7 x 7 grids: 3e-8 of the loss or less at epsilon
    0.5 to 2, 2.3e-6 at epsilon 10. The geometric mean of closures from above and below added more loss in 58 of
    63 trials on perturbed answers, and 7 % less of the repair's loss in the other five.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.core.spaces.adjacency import Adjacency
    >>> pair = Adjacency(2, [(0, 1)], [1], scale_bits=0)
    >>> repaired = repair(np.eye(2), pair, 3, cost=1 - np.eye(2))
    >>> repaired.channel.probabilities.round(4).tolist(), float(repaired.delta)
    ([[0.9526, 0.0474], [0.0474, 0.9526]], 1e-08)
    """
    rate = to_fraction(epsilon, "epsilon")
    table, price = np.array(matrix, dtype=float, order="C"), np.asarray(cost, dtype=float)
    if table.shape != price.shape or table.ndim != 2 or len(table) != binding.n or not table.size:
        raise InvalidProblemError("matrix", f"a table of {binding.n} rows", f"shape {table.shape}")
    if not np.isfinite(table).all():
        unfit = first_unfit(table, np.isfinite(table))
        raise InvalidProblemError("matrix", "finite entries", unfit)
    del matrix
    table = _normalize(table, binding)
    used = np.flatnonzero(table.any(axis=0))
    all_used = len(used) == table.shape[1]
    # Columns that are all used are not copied; nor is anything kept that the rounding does not need.
    columns, used_price = table, price
    if not all_used:
        # Unlike `table[:, used]`, these have their rows in one piece, as kernels along rows need.
        columns, used_price = np.take(table, used, axis=1), np.take(price, used, axis=1)
    for limbs in _MIN_ENTRY:
        frame = _frame(binding, rate, len(used), limbs, threads, is_late)
        closed = _with_slack(columns, frame, used_price)
        if _rounding_loss(closed, used_price, limbs) <= _TUNING.one_limb_loss:
            break
    del frame, columns, used_price
    rounded = closed.matrix
    if not all_used:
        rounded = np.zeros_like(table)
        rounded[:, used] = closed.matrix
    del table
    channel = round_channel(rounded, slack=closed.slack, limbs=limbs)
    reports = int((rounded > 0).sum(axis=1).max())
    theta = mixing_weight(reports, closed.slack, limbs)
    upper = channel.expected_loss(price)
    return Repaired(channel, closed.delta, closed.slack, theta, limbs, upper)


def _normalize(table: NDArray[np.float64], binding: Adjacency) -> NDArray[np.float64]:
    """Scale rows of ``(n, k)`` to sum 1, in place, and return them; negative entries count as 0.

    InvalidProblemError for a row without a positive entry. Columns hardly used in a component of `binding` become 0
    in it, and all other zeros a tiny number, after the scaling.
    """
    np.maximum(table, 0.0, out=table)
    top = table.max(axis=1, keepdims=True)
    if not (top > 0).all():
        raise InvalidProblemError("matrix", "a positive entry in each row", "a row without")
    # Divided by the largest entry first, since the sum of a row of the largest floats overflows.
    table /= top
    table /= table.sum(axis=1, keepdims=True)
    labels = binding.components
    largest = np.zeros((int(labels.max()) + 1, table.shape[1]))
    np.maximum.at(largest, labels, table)
    np.maximum(table, min(_MIN_ENTRY.values()), out=table)
    table[~(largest > _TUNING.unused_entry)[labels]] = 0.0
    return table


def _frame(  # noqa: PLR0917 - one call, in the order of the fields
    binding: Adjacency,
    rate: Fraction,
    n_reports: int,
    limbs: int,
    threads: int,
    is_late: Callable[[], bool],
) -> _Frame:
    """Return what all closures of a repair share: sparse graph of `binding`, lengths in nats, scale and limits."""
    per_unit = float(rate / 2**binding.scale_bits)
    nats = np.asarray(binding.lengths * per_unit, dtype=float)
    scale = per_unit * binding.nearest or 1.0
    # Entries lie between the floor and 1, row sums between 1 and K: a longer edge has a nat of slack whatever happens.
    short = nats <= 2.0 - math.log(_MIN_ENTRY[limbs]) + math.log(n_reports)
    pairs, nats = binding.pairs[short], nats[short]
    return _Frame(binding, pairs, nats, scale, limbs, threads, is_late)


def _keep_unchanged(table: NDArray[np.float64], frame: _Frame) -> _Closed | None:
    """Return `table` ``(n, k)``, its small entries raised, if it has slack without a closure, or ``None``.

    At the cost of edges times reports.
    """
    table = _raise_to_floor(table, frame)
    least = _least_slack(table, frame, table.sum(axis=1, keepdims=True))
    return None if least is None else _Closed(table, Fraction(0), Fraction(least))


def _least_slack(
    table: NDArray[np.float64], frame: _Frame, sums: NDArray[np.float64] | float = 1.0
) -> float | None:
    """Return the least slack, in nats, of the edges between different rows; ``None`` if an edge has none.

    `table` has a row for each secret, which is divided by its entry of `sums` ``(n, 1)`` first.
    """
    from discreet.metricdp.kernels.columns import farthest_apart

    # A report is unused in a whole component.
    logs = np.zeros_like(table)
    np.log(table, out=logs, where=table > 0)
    slack = frame.nats - farthest_apart(logs - np.log(sums), frame.pairs)
    for edge in np.flatnonzero(slack <= _TUNING.error_in_nats).tolist():
        i, j = frame.pairs[edge]
        if not (table[i] == table[j]).all():
            return None
        slack[edge] = 1.0
    return min(float(slack.min(initial=1.0)) - _TUNING.error_in_nats, 1.0)


def _raise_to_floor(table: NDArray[np.float64], frame: _Frame) -> NDArray[np.float64]:
    """Return a table ``(n, k)`` whose positive entries are at least what a channel's integers can hold."""
    floored: NDArray[np.float64] = np.maximum(table, _MIN_ENTRY[frame.limbs])
    floored[~(table > 0)] = 0.0
    return floored


def _close_at_delta(table: NDArray[np.float64], frame: _Frame, delta: Fraction) -> _Closed:
    """Close a table ``(n, k)`` and divide at a delta, or at the first larger one at which this ends in time."""
    while True:
        closed = _attempt(table, frame, delta)
        if closed is not None:
            return closed
        delta = _next_delta(delta, frame)


def _next_delta(delta: Fraction, frame: _Frame) -> Fraction:
    """Return the delta that follows one that was too small: ten times as large, or one that is always enough.

    The latter at once if the frame's time is up; after it comes the one at which all rows are equal.
    """
    if delta >= _SUFFICIENT_DELTA:
        return Fraction(1)
    return _SUFFICIENT_DELTA if frame.is_late() else min(10 * delta, _SUFFICIENT_DELTA)


def _attempt(table: NDArray[np.float64], frame: _Frame, delta: Fraction) -> _Closed | None:
    """Close a table ``(n, k)`` at ``1 - delta`` times the lengths, divide by row sums, and repeat until it is private.

    Returns ``None`` where the rounds end, or will end, before the differences of row sums fit into the delta. A round
    costs k times the edges of the frame, or ``n^2 k`` where all pairs are bound.
    """
    share = float(delta)
    extra = min(share, _TUNING.extra_share) * frame.scale
    lengths = np.maximum((1 - share) * frame.nats - extra, 0.0)
    room = np.where(lengths > 0, frame.nats - lengths, np.inf)
    i, j = frame.pairs.T
    closed, rounds, last_log = table, 0, 0.0
    max_rounds = _MAX_ROUNDS_OVER_ALL if frame.over_all else _MAX_ROUNDS
    every = _closed_factors(frame, lengths) if frame.over_all else None
    while True:
        rounds += 1
        closed = _raise_to_floor(closed, frame)
        if every is None:
            start, ends, ids = frame.rows
            close_columns(closed, start, ends, np.exp(-lengths)[ids], threads=frame.threads)
        else:
            source, closed = closed, np.empty_like(closed)
            close_over_all_pairs(source, every, closed, threads=frame.threads)
            del source
        sums = closed.sum(axis=1)
        apart = np.abs(np.log(sums[i]) - np.log(sums[j]))
        excess = float((2 * apart / room).max(initial=0.0))
        if excess <= 1:
            slack = min(float((room - apart).min(initial=1.0)) - _TUNING.error_in_nats, 1.0)
            closed /= sums[:, None]
            if every is not None:
                # The factors are rounded sums of many floats, so that the slack is measured.
                slack = min(_least_slack(closed, frame) or 0.0, slack)
            return _Closed(closed, delta, Fraction(slack)) if slack > 0 else None
        # The excess falls geometrically: give up if the line of its logarithm ends above zero.
        log_excess = math.log(excess)
        hopeless = rounds > 5 and log_excess + (log_excess - last_log) * (max_rounds - rounds) > 0
        if hopeless or (delta < _SUFFICIENT_DELTA and frame.is_late()):
            return None
        closed /= sums[:, None]
        last_log = log_excess


def _with_slack(table: NDArray[np.float64], frame: _Frame, price: NDArray[np.float64]) -> _Closed:
    """Return ``(n, k)`` as it is if it has slack and rounding is cheap, else closed or mixed.

    It is closed at the least delta, or at one for which slack and rounding add the same loss: a delta adds about
    ``kappa delta`` of the loss, and its rounding a share proportional to ``1 / delta``. If closing fails at the least
    delta, it is mixed with private columns, or closed at a larger delta if that loses less. `price` ``(n, k)`` is the
    cost.
    """
    unchanged, most = _keep_unchanged(table, frame), _TUNING.unchanged_loss
    if unchanged is not None and _rounding_loss(unchanged, price, frame.limbs) <= most:
        return unchanged
    # Below this the slack does not exceed the error of the floats.
    least = _round_delta(max(_TUNING.delta, _TUNING.least_nats / frame.scale))
    closed = _attempt(table, frame, least)
    if closed is None:
        closed = _close_at_delta(table, frame, _next_delta(least, frame))
        # A mixture takes n^2 K operations over all pairs: 2 CPU seconds for 1,000 secrets.
        mixture = None if frame.over_all and frame.is_late() else _mix(table, frame)
        if mixture is not None and (price * mixture.matrix).sum() < (price * closed.matrix).sum():
            return mixture
        return closed
    rounding = _rounding_loss(closed, price, frame.limbs) * float(least)
    better = _round_delta(math.sqrt(rounding / max(1.0, frame.scale)))
    if better <= 3 * least or frame.is_late():
        return closed
    return _close_at_delta(table, frame, better)


def _round_delta(delta: float) -> Fraction:
    """Round a delta to one digit, at most to the one at which a closure is always enough."""
    return min(Fraction(f"{delta:.0e}"), _SUFFICIENT_DELTA)


def _mix(table: NDArray[np.float64], frame: _Frame) -> _Closed | None:
    """Return a mixture of `table` ``(n, k)`` that keeps nearly all of epsilon, or ``None`` if it has no slack."""
    share = _TUNING.delta
    lengths = (1 - share) * frame.nats - np.minimum(share * frame.scale, frame.nats / 4)
    floored = _raise_to_floor(table, frame)
    matrix = mix_with_private(
        floored / floored.sum(axis=1, keepdims=True),
        lengths,
        *frame.rows,
        labels=frame.binding.components,
        threads=frame.threads,
    )
    if matrix is None:
        return None
    least = _least_slack(matrix, frame)
    return None if least is None else _Closed(matrix, _round_delta(share), Fraction(least))


def mix_with_private(
    table: NDArray[np.float64],
    nats: NDArray[np.float64],
    start: NDArray[np.int64],
    ends: NDArray[np.int32],
    ids: NDArray[np.int64],
    *,
    labels: NDArray[np.int32],
    beta: float = 0.3,
    min_nats: float = 1e-9,
    threads: int = 1,
) -> NDArray[np.float64] | None:
    """Return a mixture that keeps the lengths, or ``None`` if a length is nearly 0, which makes two rows equal.

    Parameters
    ----------
    table
        ``(n, K)`` positive, or zero in a whole component; its rows sum to 1.
    nats
        ``(m,)``: lengths to keep, in nats.
    start, ends, ids
        Edges in compressed rows: positions ``start[i]`` to ``start[i + 1]`` hold the other ends and the numbers of the
        edges of secret i.
    labels
        ``(n,)``: component of each secret.
    beta
        Share of each length that the added columns keep: a small one adds less mass, and spreads it farther.
    min_nats
        Length below which floats can't separate two rows that may differ a little from two equal ones.
    threads
        Number of threads.

    Returns
    -------
    ndarray
        ``(n, K)`` floats; the caller's slack has to cover their rounding errors.

    Complexity
    ----------
    ``m K`` for the violations, and a closure.
    """
    if not len(nats) or not nats.min() > min_nats:
        return None
    lengths = nats[ids]
    degree = np.diff(start)
    with_edges = np.flatnonzero(degree > 0)
    shortest = np.minimum.reduceat(lengths, start[with_edges])
    room = 1 - np.exp(-(1 - 2 * beta) * shortest)
    factor = np.exp(-lengths)[:, None]
    needed = np.zeros_like(table)
    width = max(1, LENGTHS_AT_ONCE // len(ends))
    for first in range(0, table.shape[1], width):
        columns = slice(first, first + width)
        required = np.maximum.reduceat(factor * table[ends, columns], start[with_edges])
        needed[with_edges, columns] = (
            np.maximum(required - table[with_edges, columns], 0.0) / room[:, None]
        )
    close_columns(needed, start, ends, np.exp(-beta * lengths), threads=threads)
    sums = needed.sum(axis=1)
    share = np.zeros(int(labels.max()) + 1)
    np.maximum.at(share, labels, sums)
    theta = share[labels][:, None]
    added = np.divide(needed, sums[:, None], out=np.zeros_like(needed), where=sums[:, None] > 0)
    return np.asarray((table + theta * added) / (1 + theta))


def _rounding_loss(closed: _Closed, price: NDArray[np.float64], limbs: int) -> float:
    """Estimate the loss added by rounding, as a share of the loss: theta times that of the uniform report; ``O(n k)``.

    0 if the channel loses nothing.
    """
    support = closed.matrix > 0
    reports = support.sum(axis=1)
    theta = mixing_weight(int(reports.max()), closed.slack, limbs)
    added = float(theta) * float(((price * support).sum(axis=1) / reports).sum())
    return added / (float((price * closed.matrix).sum()) or math.inf)


def _closed_factors(frame: _Frame, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return :math:`e^{-w}`, w the closure of shortened lengths under the triangle inequality.

    If all pairs are constrained, the least column above z that keeps :math:`z_i \ge e^{-w_{ij}} z_j` is
    :math:`\max_j e^{-w_{ij}} z_j`, if w keeps the triangle inequality: one product of matrices, with maxima for sums.
    Lengths shortened by a constant violate it, so that w is closed first.

    Parameters
    ----------
    frame
        The edges; the lengths of implied pairs follow from the closure of the others.
    lengths
        ``(m,)``: shortened lengths of the edges.

    Returns
    -------
    ndarray
        ``(n, n)``, 1 on the diagonal.

    Complexity
    ----------
    ``n^3`` additions.
    """
    from discreet.core.kernels.distances import close

    i, j = frame.pairs.T
    table = np.full((frame.binding.n, frame.binding.n), np.inf)
    table[i, j] = table[j, i] = lengths
    np.fill_diagonal(table, 0.0)
    close(table)
    np.negative(table, out=table)
    return np.asarray(np.exp(table, out=table))
