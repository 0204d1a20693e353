r"""Private channels of exponential tails for very many secrets, without a linear program or a table.

.. math:: \Pr[k \mid i] \propto A_k e^{-\rho d_{i o_k}}

With equal anchors and :math:`\rho = \epsilon / 2` this is the exponential mechanism [MT07]_; half of the budget
pays for the row totals, which hardly differ away from the border. Here anchors make the totals nearly
equal, by the multiplicative iteration ``A <- A T'(1 / TA) / T'1`` of expectation-maximization with Nesterov's momentum
on the logarithms, and tails fall at nearly :math:`\epsilon`. On a grid T is a convolution, so that a round takes four
fast Fourier transforms.

Proposes; checked by :func:`~discreet.core.channels.check_implicit.verify_anchored` on the integers of the channel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.channels.check_implicit import least_lift, triangle_defect, verify_anchored
from discreet.core.channels.implicit import LARGEST_ANCHOR, AnchoredChannel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.jit import clock
from discreet.core.options import (
    callback,
    instance_of,
    positive_seconds,
    relative_gap,
    whole_number,
)
from discreet.core.printed import at_most
from discreet.core.progress import gap_between
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.lengths import LENGTHS_AT_ONCE
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.bounds.local import length_table, local_bound, nats_away, near_groups
from discreet.metricdp.costs import ImplicitCosts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.certificate import Certificate
    from discreet.core.progress import Progress
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.bounds.local import LocalBound

    Operator = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_TOTALS_SHARES = tuple(Fraction(1, share) for share in (40, 25, 20, 16, 12, 8, 5, 3))
"""Candidate shares of epsilon for the row totals, ascending."""

_TOTALS_SHARES_OF_POINTS = (Fraction(1, 4), Fraction(1, 3))
"""The same for scattered points, where a round takes long: of 1,600 random points a
few edges need 0.24 after 50 rounds, 0.22 after 100 and 0.206 however many there are (half a nat, November 2026)."""

_MIN_SLACK_SHARE, _MAX_SLACK_SHARE = 1 / 5000, 1 / 10
"""Limits on the share of the columns' budget that is left to the rounding, which determines the lift."""

_MAX_ANCHOR_SUM = 1 << 61
"""Limit on the sum of all anchors, so that row totals fit into 64 bits."""

_WEIGHED_NATS, _CANDIDATE_NATS = 9.0, 3.0
"""Nats from a report's center to the secrets with weighed costs, and to its candidate names. On 900
random points and on a grid, half a nat and a skewed prior, the best names of all secrets lost 9 and 7 % less than the
centers, November 2026."""

_MAX_SECRETS_FOR_TABLE = 1 << 14
"""Secrets up to which a table of decays is computed, in single precision: 1 GiB."""


@final
@dataclass(frozen=True, eq=False)
class TailDesign:
    """A verified channel of tails.

    Parameters
    ----------
    channel
        The channel.
    guarantee
        The verified guarantee.
    totals_share
        Share of epsilon for the row totals.
    certificate
        The verifier's checks, all passed.
    rounds
        Rounds of the iteration on the anchors; 0 if they are equal.
    costs
        Costs of the reports, or ``None`` without a stated loss.
    bound
        Lower bound on the expected loss, with the size of its search, or ``None`` without a stated loss.
    upper
        Expected utility loss of the channel, rounded up.
    """

    channel: AnchoredChannel
    guarantee: MetricDP
    totals_share: Fraction
    certificate: Certificate
    rounds: int
    costs: ImplicitCosts | None = None
    bound: LocalBound | None = None
    upper: float | None = None

    @property
    def lower(self) -> float | None:
        """Lower bound on the expected loss of every channel with this guarantee, or ``None`` without a stated loss."""
        return None if self.bound is None else self.bound.lower

    @property
    def gap(self) -> float | None:
        """``(upper - lower) / upper``, 0 when both are 0; ``None`` without a stated loss."""
        return gap_between(self.lower, self.upper)


def tail_channel(
    space: MetricSpace,
    guarantee: MetricDP,
    *,
    rounds: int = 150,
    utility_loss: str | None = None,
    prior: ArrayLike | None = None,
    gap: float = 0.01,
    time_limit: float | None = None,
    threads: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> TailDesign:
    """Compute a private channel of exponential tails with every secret as a report, and bounds on its loss.

    Parameters
    ----------
    space
        The secrets, no two at distance 0, connected by the pairs within the radius.
    guarantee
        Epsilon, unit, and a radius beyond 5120 secrets.
    rounds
        Limit on the rounds on the anchors for each candidate share. 0 gives the exponential mechanism, as do spaces of
        more than 16,384 secrets that are not full grids.
    utility_loss
        The name of a loss, as :class:`~discreet.metricdp.Problem` knows it. With it reports are
        renamed as their cheapest secrets, and the result has ``lower``, ``upper`` and ``gap``.
    prior
        ``(n,)`` probabilities of the secrets for that loss; uniform by default. Public.
    gap
        Relative gap between the bound and the estimated least loss at which the search for the bound ends. The channel
        does not depend on it, and its own gap may be larger.
    time_limit
        Seconds from the start after which steps for the bound end; the first hundred are always taken.
    threads
        Threads of these steps.
    on_progress
        Called at each evaluation of the bound.

    Returns
    -------
    TailDesign
        The channel with its certificate, and with its loss and bound for a stated loss.

    Raises
    ------
    InvalidProblemError
        For another unit, negative rounds, all pairs of too many secrets, secrets so near to each other that the lift
        would exceed all weights, an unknown loss, an invalid prior, or a prior without a loss.
    CertificateError
        If the pairs within the radius do not connect the secrets, or some are at distance 0.

    Guarantee
    ---------
    As verified; see docs/theory/metricdp/anchored-channels.md.

    Complexity
    ----------
    A grid of 10^5 cells at half a nat a cell: 14 s of one core and 260 MB, for 300 rounds of 0.02 s and the exact
    totals. Loss and bound: see :func:`~discreet.metricdp.bounds.local.local_bound`.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> grid = MetricSpace.grid(12, 12, cell=1, unit="km")
    >>> made = tail_channel(grid, MetricDP(1, "km", "1.5"), utility_loss="euclidean")
    >>> made.certificate.passed, made.totals_share, made.channel
    (True, Fraction(1, 40), AnchoredChannel(n_secrets=144, n_reports=144, ball=0 entries))
    >>> made.lower > 0, made.gap < 0.1
    (True, True)
    """
    start = clock()
    instance_of(space, MetricSpace, "space", "a MetricSpace")
    instance_of(guarantee, MetricDP, "guarantee", "a MetricDP")
    whole_number(rounds, "rounds", "a non-negative number", least=0)
    relative_gap(gap, optional=False)
    positive_seconds(time_limit)
    whole_number(threads, "threads", "at least one thread")
    callback(on_progress)
    if prior is not None and utility_loss is None:
        raise InvalidProblemError("prior", "a utility_loss beside it", "none")
    costs = None if utility_loss is None else ImplicitCosts(space, utility_loss, prior)
    edges = space.adjacency(guarantee.radius)
    tail_design = _private(space, guarantee, edges, rounds)
    if costs is None:
        return tail_design
    channels = [tail_design.channel, rename_reports(tail_design.channel, costs)]
    losses = [expected_loss(channel, costs) for channel in channels]
    remaining = None if time_limit is None else max(0.0, time_limit - (clock() - start))
    bound = local_bound(
        costs,
        edges,
        guarantee.epsilon,
        gap=gap,
        time_limit=remaining,
        threads=threads,
        on_progress=on_progress,
    )
    # Names are post-processing: the certificate is about the weights, which are the same.
    best = channels[losses.index(min(losses))]
    return replace(tail_design, channel=best, costs=costs, bound=bound, upper=min(losses))


def rename_reports(channel: AnchoredChannel, costs: ImplicitCosts) -> AnchoredChannel:
    """Rename each report as the secret of least expected cost given the report, among those near its center.

    Parameters
    ----------
    channel
        The channel.
    costs
        Costs of the reports under each name.

    Returns
    -------
    AnchoredChannel
        The same integers under other names. Secrets far from a center are left out of the expectation, so that a name
        is not always better; compare the expected losses of both channels.

    Complexity
    ----------
    For each report its weights at the secrets near its center, and their losses under each candidate name.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> line = MetricSpace.grid(1, 3, cell=1, unit="km")
    >>> channel = tail_channel(line, MetricDP("0.1", "km")).channel
    >>> rename_reports(channel, ImplicitCosts(line, "distance", [0.8, 0.1, 0.1])).names.tolist()
    [0, 0, 0]
    """
    rate = float(channel.rate) * 2.0**-channel.space.scale_bits
    every, names = np.arange(channel.n_secrets), np.array(channel.names)
    for group in near_groups(channel.lengths, channel.centers):
        away = nats_away(channel.lengths, channel.centers[group], every, rate)
        weighed = np.flatnonzero(away <= _WEIGHED_NATS)
        candidates = np.flatnonzero(away <= _CANDIDATE_NATS)
        expected = np.zeros((len(group), len(candidates)))
        step = max(1, LENGTHS_AT_ONCE // len(candidates))
        for first in range(0, len(weighed), step):
            some = weighed[first : first + step]
            pairs = np.repeat(some, len(group)), np.tile(group, len(some))
            weights = channel.weights_at(*pairs).reshape(len(some), len(group))
            likely = weights / channel.totals[some, None]
            expected += likely.T @ costs.block(some, candidates)
        names[group] = candidates[expected.argmin(axis=1)]
    return replace(channel, names=names)


def expected_loss(channel: AnchoredChannel, costs: ImplicitCosts) -> float:
    """Compute the expected loss of a channel, rounded up, without a table.

    Parameters
    ----------
    channel
        A channel whose names are secrets.
    costs
        Costs of the reports.

    Returns
    -------
    float
        At least the expected loss.

    Complexity
    ----------
    One weight and one cost for each secret and report, in blocks.

    Notes
    -----
    All summands are non-negative, so that the relative error is at most the number of roundings, fewer than ``n + K +
    8``, times ``2^-53``; twice that is added.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> pair = MetricSpace.from_matrix([[0, 1], [1, 0]], unit="km")
    >>> made = tail_channel(pair, MetricDP(1, "km"))
    >>> 0 < expected_loss(made.channel, ImplicitCosts(pair, "distance")) - 1 / (1 + math.e) < 0.01
    True
    """
    n, k = channel.n_secrets, channel.n_reports
    reports, step = np.arange(k), max(1, LENGTHS_AT_ONCE // k)
    losses = []
    for first in range(0, n, step):
        some = np.arange(first, min(first + step, n))
        weights = channel.weights_at(np.repeat(some, k), np.tile(reports, len(some)))
        weighed = weights.reshape(len(some), k) * costs.block(some, channel.names)
        losses += (weighed.sum(axis=1) / channel.totals[some]).tolist()
    return float(math.fsum(losses) * (1 + 2 * (n + k + 8) * 2.0**-53))


def _private(space: MetricSpace, guarantee: MetricDP, edges: Adjacency, rounds: int) -> TailDesign:
    """Return the first verified design among the candidate shares, or the exponential mechanism.

    `edges` are the pairs within the radius. `rounds` limits the products with the decay for each share; without any,
    the exponential mechanism is made at once. CertificateError if that fails, too.
    """
    slack = _slack(guarantee, edges)
    anchors, count = np.ones(space.n), 0
    operators = _operators(space) if rounds else None
    scattered = not (space.has_matrix or isinstance(space.source, LatticeLengths))
    for share in _TOTALS_SHARES_OF_POINTS if scattered else _TOTALS_SHARES:
        if operators is None:
            break
        rate = guarantee.epsilon * (1 - share) * (1 - slack)
        operator = operators(float(rate))
        room = float(guarantee.epsilon * share) * 2.0**-edges.scale_bits
        anchors, rounds_taken, even = _equalize_totals(operator, anchors, edges, room, rounds)
        count += rounds_taken
        if even:
            channel = _to_integers(space, guarantee, edges, (share, slack), anchors)
            certificate = verify_anchored(channel, guarantee, totals_share=share)
            if certificate.passed:
                return TailDesign(channel, guarantee, share, certificate, count)
    # The exponential mechanism spends as much on the row totals as on the columns, and never fails.
    half = Fraction(1, 2)
    channel = _to_integers(space, guarantee, edges, (half, slack), np.ones(space.n))
    certificate = verify_anchored(channel, guarantee, totals_share=half)
    certificate.raise_for_failure()
    return TailDesign(channel, guarantee, half, certificate, 0)


def _slack(guarantee: MetricDP, edges: Adjacency, *, uniform_cost: float = 50 / 16) -> Fraction:
    """Return the slack s that minimizes its own loss plus that of the uniform reports of the lift, ``s + c / s``.

    This is the square root of c, with a lift of ``2 / (s nats)`` for n reports, in rows that weigh
    about ``16 2^61 / n``. `uniform_cost` is the loss of a uniform report in units of that of the channel, divided by
    the number of reports with most of the weight of a row: guesses, which only affect the slack.
    """
    units = max(1, int(edges.lengths.min(initial=1 << 46)))
    nats = float(guarantee.epsilon) * units * 2.0**-edges.scale_bits
    best = math.sqrt(2 * uniform_cost * edges.n**2 / (nats * _MAX_ANCHOR_SUM))
    return Fraction(1, round(1 / min(max(best, _MIN_SLACK_SHARE), _MAX_SLACK_SHARE)))


def _to_integers(
    space: MetricSpace,
    guarantee: MetricDP,
    edges: Adjacency,
    parts: tuple[Fraction, Fraction],
    anchors: NDArray[np.float64],
) -> AnchoredChannel:
    """Round `anchors` ``(n,)``, scaled to their largest sum, to integers, with the least lift that the theorem allows.

    `edges` are the constrained pairs, `guarantee` has epsilon; `parts` are the shares of epsilon for the totals, and
    of the rest for rounding. Not verified. InvalidProblemError for secrets that nearly coincide.
    """
    column = guarantee.epsilon * (1 - parts[0])
    rate = column * (1 - parts[1])
    shortest = int(edges.lengths.min(initial=1 << 46))
    spare = column * shortest - rate * (shortest + triangle_defect(space))
    # Without slack no lift is enough, and the verification fails.
    lift = least_lift(spare / 2**edges.scale_bits) if spare > 0 else 1
    if space.n * lift > _MAX_ANCHOR_SUM >> 3:
        expected = "secrets that are farther apart; merge those that nearly coincide"
        raise InvalidProblemError("space", expected, at_most(shortest * 2.0**-edges.scale_bits, 3))
    scale = min(_MAX_ANCHOR_SUM / float(anchors.sum()), (LARGEST_ANCHOR - 1) / float(anchors.max()))
    integers = np.floor(anchors * scale).astype(int)
    return AnchoredChannel(space, rate, np.arange(space.n), integers, lift=lift)


def _equalize_totals(
    operator: Operator,
    anchors: NDArray[np.float64],
    edges: Adjacency,
    room: float,
    rounds: int,
    *,
    used_share: float = 0.98,
    rounds_per_check: int = 10,
) -> tuple[NDArray[np.float64], int, bool]:
    """Equalize row totals until their ratio on each edge fits its room.

    `operator` maps anchors ``(n,)`` to totals, once a round; `room` is in nats a stored unit; the
    iteration may use `used_share` of it, and the rest covers the rounding of the anchors. Returns the anchors, the
    number of rounds, and whether the totals fit.
    """
    i, j = edges.pairs.T
    scale = operator(np.ones_like(anchors))
    iterate = previous = np.log(anchors / operator(anchors).mean())
    step, least = 1, math.inf
    for count in range(rounds + 1):
        extrapolated = iterate + (step - 1) / (step + 2) * (iterate - previous)
        candidate = np.exp(extrapolated)
        totals = operator(candidate)
        logs = np.log(totals)
        within_room = (
            count % rounds_per_check == 0
            and (np.abs(logs[i] - logs[j]) <= used_share * room * edges.lengths).all()
        )
        if within_room:
            return candidate, count, True
        # The objective of the iteration: if it grows, the momentum is reset.
        value = float(candidate @ scale - logs.sum())
        step = 1 if value > least else step + 1
        previous, iterate, least = (
            iterate,
            extrapolated + np.log(operator(1 / totals) / scale),
            value,
        )
    return np.exp(iterate), rounds, False


def _operators(space: MetricSpace) -> Callable[[float], Operator] | None:
    """Return the product with ``e^(-rate d)`` as a function of the rate: a table, or transforms on full grids.

    Returns ``None`` for too many secrets.
    """
    source = space.source
    if isinstance(source, LatticeLengths) and not space.has_matrix:
        height, width = (np.ptp(source.places, axis=0) + 1).tolist()
        cells = np.stack(np.divmod(np.arange(height * width), width), axis=1)
        if len(cells) == space.n and (source.places - source.places.min(axis=0) == cells).all():
            return lambda rate: _convolution(height, width, rate * float(source.cell))
    if space.n > _MAX_SECRETS_FOR_TABLE:
        return None
    lengths = _rough_lengths(space)

    def single(rate: float) -> Operator:
        decay = lengths * np.float32(-rate)
        np.exp(decay, out=decay)
        least = math.ulp(1.0)
        # Far tails may underflow to zero.
        return lambda vector: np.maximum((decay @ vector.astype(np.float32)).astype(float), least)

    return single


def _rough_lengths(space: MetricSpace) -> NDArray[np.float32]:
    """Return all distances ``(n, n)`` in single precision, in the unit of the space, in blocks: ``O(n^2)``.

    The channel computed from them is verified, so that their errors do not matter.
    """
    n, source = space.n, space.source
    if space.has_matrix:
        return np.ldexp(space.distances.astype(np.float32), -space.scale_bits)
    lengths = np.empty((n, n), dtype=np.float32)
    every, step = np.arange(n), max(1, LENGTHS_AT_ONCE // n)
    for first in range(0, n, step):
        some = np.arange(first, min(first + step, n))
        lengths[some] = np.ldexp(length_table(source, some, every), -space.scale_bits)
    return lengths


def _convolution(height: int, width: int, rate: float) -> Operator:
    """Return the product with ``e^(-rate distance)`` on a grid, as a function of a vector: a fast Fourier transform.

    Vectors are ``(height * width,)`` float64, row by row, non-negative and of magnitude about 1; distances are in
    steps of the grid. Errors are about ``2^-52`` of the largest entry, and no entry of a result is below ``2^-52``,
    not even for zeros. ``O(n log n)`` each, on a torus of ``4 n`` nodes.
    """
    from scipy.fft import irfft2, next_fast_len, rfft2

    shape = (next_fast_len(2 * height - 1, real=True), next_fast_len(2 * width - 1, real=True))
    # Distances on a torus twice as wide as the grid.
    down, along = (np.minimum(np.arange(size), size - np.arange(size)) for size in shape)
    transform = rfft2(np.exp(-rate * np.hypot(down[:, None], along[None, :])))

    def apply(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        image = irfft2(rfft2(vector.reshape(height, width), shape) * transform, shape)
        # Rounding may make far tails of a transform slightly negative.
        inside: NDArray[np.float64] = np.maximum(image[:height, :width], math.ulp(1.0))
        return inside.ravel()

    return apply
