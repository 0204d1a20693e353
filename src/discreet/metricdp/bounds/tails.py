r"""Private channels for very many secrets, of exponential tails alone: no linear program and no table.

.. math:: \Pr[k \mid i] \propto A_k e^{-\rho d_{i o_k}}

With equal anchors and :math:`\rho = \epsilon / 2` this is the exponential mechanism [MT07]_; half of the budget
is for the row totals, which hardly differ away from the border. Here anchors are chosen such that the totals are nearly
equal, by the multiplicative iteration ``A <- A T'(1 / TA) / T'1`` of expectation-maximization with Nesterov's momentum
on the logarithms, and tails fall at nearly :math:`\epsilon`. On a grid T is a convolution, so that a round takes four
fast Fourier transforms.

All of that is done in floats and proves nothing. The channel consists of integers, and
:func:`~discreet.core.channels.check_implicit.verify_anchored` judges it.
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
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.metric import MetricSpace
from discreet.core.spaces.points import PointLengths
from discreet.metricdp.bounds.local import local_bound
from discreet.metricdp.bounds.renaming import renamed
from discreet.metricdp.costs import ImplicitCosts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.certificate import Certificate
    from discreet.core.progress import Progress
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.bounds.local import LocalBound

    Operator = Callable[[NDArray[np.float64]], NDArray[np.float64]]

__all__ = ["TailDesign", "expected_loss", "tail_channel"]

_SHARES = tuple(Fraction(1, share) for share in (40, 25, 20, 16, 12, 8, 5, 3))
"""Parts of epsilon for the totals that are tried, least first. One half never fails, with equal anchors."""

_SHARES_OF_POINTS = (Fraction(1, 4), Fraction(1, 3))
"""The same where points lie without a pattern and there are so many that a round takes long: of 1,600 random points a
few edges need 0.24 after 50 rounds, 0.22 after 100 and 0.206 however many there are (half a nat, November 2026)."""

_HALF = Fraction(1, 2)

_LEAST_SLACK, _MOST_SLACK = 1 / 5000, 1 / 10
"""Least and largest part of the columns' budget that is left to the rounding: it decides the lift."""

_PRICE = 50.0
"""A uniform report costs so many times as much as one of the channel: a guess, which decides no more than the slack."""

_OVERLAP = 16.0
"""Reports that share a row, roughly: another guess."""

_LARGEST_SUM = 1 << 61
"""Of all anchors."""

_MARGIN = 0.98
"""Part of the totals' budget that floats may use."""

_SLICE = 1 << 21
"""Weights that are computed at once, to bound memory."""

_LARGEST_TABLE = 1 << 14
"""Secrets up to which a table of decays is made, in single precision: 1 GiB."""

_EVERY = 10
"""Rounds between two looks at the totals."""


@final
@dataclass(frozen=True, eq=False)
class TailDesign:
    """A verified channel of tails.

    Parameters
    ----------
    channel
        The channel.
    guarantee
        What it was verified against.
    totals_share
        The part of epsilon that is for the row totals.
    certificate
        The verifier's checks, all passed.
    rounds
        Rounds of the iteration on the anchors; 0 where they are equal.
    costs
        What reports cost, where a loss was stated.
    bound
        The lower bound on that, and what it took.
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
        """No channel with this guarantee loses less on the stated loss; ``None`` only where none was stated."""
        return None if self.bound is None else self.bound.lower

    @property
    def gap(self) -> float | None:
        """``(upper - lower) / upper``, 0 when both are 0; ``None`` only where no loss was stated."""
        if self.bound is None or self.upper is None:
            return None
        lower = self.bound.lower
        return 0.0 if self.upper <= lower else (self.upper - lower) / self.upper


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
    """Make a private channel of tails in which every secret may be reported, and bound what it loses.

    Parameters
    ----------
    space
        The secrets, none at distance 0 from another, connected by the pairs within the radius.
    guarantee
        Epsilon, unit, and a radius beyond 5120 secrets.
    rounds
        Most rounds on the anchors for each share that is tried. 0 asks for the exponential mechanism, which is also
        what spaces of more than 16,384 secrets get that are no full grids.
    utility_loss
        The name of a loss, as :class:`~discreet.metricdp.Problem` knows it. With it reports get the names that cost
        least given them, and the result has ``lower``, ``upper`` and ``gap``, none of them ever ``None``.
    prior
        ``(n,)`` probabilities of the secrets for that loss; uniform by default. Public.
    gap
        How near the bound should come to the least loss as far as it is known, relatively. The channel does not depend
        on it, and may lose more than the gap beyond its bound.
    time_limit
        Seconds from the start after which no step for the bound is taken any more, a hundred apart, which are always
        taken.
    threads
        Threads of these steps.
    on_progress
        Called at each look at the bound.

    Returns
    -------
    TailDesign
        The channel with its certificate, and with its loss and bound where a loss was stated.

    Raises
    ------
    InvalidProblemError
        For another unit, negative rounds, all pairs of too many secrets, secrets so near to each other that their
        lift would be all there is, an unknown loss, or a prior that is none or has no loss beside it.
    CertificateError
        When the pairs within the radius do not connect the secrets, or some are at distance 0.

    Guarantee
    ---------
    As verified; see docs/theory/metricdp/anchored-channels.md.

    Complexity
    ----------
    A grid of 10^5 cells at half a nat a cell takes 300 rounds of 0.02 s, then the exact totals: 14 s of one core,
    and 260 MB. Loss and bound: see :func:`~discreet.metricdp.bounds.local.local_bound`.

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
    made = _private(space, guarantee, edges, rounds)
    if costs is None:
        return made
    upper = expected_loss(made.channel, costs)
    better = renamed(made.channel, costs)
    less = expected_loss(better, costs)
    if less < upper:
        # Names are post-processing: the certificate is about the weights, which are the same.
        made, upper = replace(made, channel=better), less
    left = None if time_limit is None else max(0.0, time_limit - (clock() - start))
    bound = local_bound(
        costs,
        edges,
        guarantee.epsilon,
        gap=gap,
        time_limit=left,
        threads=threads,
        on_progress=on_progress,
    )
    return replace(made, costs=costs, bound=bound, upper=upper)


def expected_loss(channel: AnchoredChannel, costs: ImplicitCosts) -> float:
    """Compute what a channel loses, rounded up, without a table.

    Parameters
    ----------
    channel
        A channel whose names are secrets.
    costs
        What reports cost.

    Returns
    -------
    float
        At least the expected loss.

    Complexity
    ----------
    One weight and one cost for each secret and report, in slices.

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
    reports, step = np.arange(k), max(1, _SLICE // k)
    spent = []
    for first in range(0, n, step):
        some = np.arange(first, min(first + step, n))
        weights = channel.weights_at(np.repeat(some, k), np.tile(reports, len(some)))
        weighed = weights.reshape(len(some), k) * costs.block(some, channel.names)
        spent += (weighed.sum(axis=1) / channel.totals[some]).tolist()
    return float(math.fsum(spent) * (1 + 2 * (n + k + 8) * 2.0**-53))


def _private(space: MetricSpace, guarantee: MetricDP, edges: Adjacency, rounds: int) -> TailDesign:
    """Try shares of epsilon for the totals until one is verified."""
    slack = _slack(guarantee, edges)
    anchors, count = np.ones(space.n), 0
    operators = _operators(space) if rounds else None
    few = not (space.has_matrix or isinstance(space.source, LatticeLengths))
    for share in _SHARES_OF_POINTS if few else _SHARES:
        if operators is None:
            break
        rate = guarantee.epsilon * (1 - share) * (1 - slack)
        operator = operators(float(rate))
        room = float(guarantee.epsilon * share) * 2.0**-edges.scale_bits
        anchors, used, even = _even(operator, anchors, edges, room, rounds)
        count += used
        if even:
            made = _finish(space, guarantee, edges, (share, slack), anchors)
            certificate = verify_anchored(made, guarantee, totals_share=share)
            if certificate.passed:
                return TailDesign(made, guarantee, share, certificate, count)
    made = _finish(space, guarantee, edges, (_HALF, slack), np.ones(space.n))
    certificate = verify_anchored(made, guarantee, totals_share=_HALF)
    certificate.raise_for_failure()
    return TailDesign(made, guarantee, _HALF, certificate, 0)


def _slack(guarantee: MetricDP, edges: Adjacency) -> Fraction:
    """Balance what the slack costs against the uniform reports that a lift for the shortest edge costs.

    The cost ``s + c / s`` is least at the root of c: with a lift of ``2 / (s nats)`` for n reports, in rows that weigh
    about ``16 2^61 / n``.
    """
    units = max(1, int(edges.lengths.min(initial=1 << 46)))
    nats = float(guarantee.epsilon) * units * 2.0**-edges.scale_bits
    best = math.sqrt(2 * _PRICE * edges.n**2 / (nats * _OVERLAP * _LARGEST_SUM))
    return Fraction(1, round(1 / min(max(best, _LEAST_SLACK), _MOST_SLACK)))


def _finish(
    space: MetricSpace,
    guarantee: MetricDP,
    edges: Adjacency,
    parts: tuple[Fraction, Fraction],
    anchors: NDArray[np.float64],
) -> AnchoredChannel:
    """Choose the lift by the theorem, and anchors as large as their sum may be."""
    column = guarantee.epsilon * (1 - parts[0])
    rate = column * (1 - parts[1])
    shortest = int(edges.lengths.min(initial=1 << 46))
    spare = column * shortest - rate * (shortest + triangle_defect(space))
    # Without any slack no lift is enough, and the verifier says so.
    lift = least_lift(spare / 2**edges.scale_bits) if spare > 0 else 1
    if space.n * lift > _LARGEST_SUM >> 3:
        expected = "secrets that are farther apart; merge those that nearly coincide"
        raise InvalidProblemError("space", expected, at_most(shortest * 2.0**-edges.scale_bits, 3))
    scale = min(_LARGEST_SUM / float(anchors.sum()), (LARGEST_ANCHOR - 1) / float(anchors.max()))
    whole = np.floor(anchors * scale).astype(np.int64)
    return AnchoredChannel(space, rate, np.arange(space.n), whole, lift=lift)


def _even(
    operator: Operator,
    anchors: NDArray[np.float64],
    edges: Adjacency,
    room: float,
    rounds: int,
) -> tuple[NDArray[np.float64], int, bool]:
    """Make totals alike until each edge has room for their difference; say after how many rounds, and whether."""
    i, j = edges.pairs.T
    scale = operator(np.ones_like(anchors))
    here = before = np.log(anchors / operator(anchors).mean())
    step, least = 1, math.inf
    for count in range(rounds + 1):
        ahead = here + (step - 1) / (step + 2) * (here - before)
        tried = np.exp(ahead)
        totals = operator(tried)
        logs = np.log(totals)
        even = (
            count % _EVERY == 0
            and (np.abs(logs[i] - logs[j]) <= _MARGIN * room * edges.lengths).all()
        )
        if even:
            return tried, count, True
        # What the iteration makes less: where it does not, momentum has gone too far.
        value = float(tried @ scale - logs.sum())
        step = 1 if value > least else step + 1
        before, here, least = here, ahead + np.log(operator(1 / totals) / scale), value
    return np.exp(here), rounds, False


def _operators(space: MetricSpace) -> Callable[[float], Operator] | None:
    """Find how to multiply a vector by ``e^(-rate d)`` for any rate: by a table, or by transforms on full grids."""
    if space.has_matrix:

        def tabled(rate: float) -> Operator:
            decay = np.exp(-(rate * 2.0**-space.scale_bits) * space.distances)
            return lambda vector: np.asarray(decay @ vector)

        return tabled
    source = space.source
    if isinstance(source, LatticeLengths):
        height, width = (np.ptp(source.places, axis=0) + 1).tolist()
        cells = np.stack(np.divmod(np.arange(height * width), width), axis=1)
        if len(cells) == space.n and (source.places - source.places.min(axis=0) == cells).all():
            return lambda rate: _convolution(height, width, rate * float(source.cell))
    if space.n > _LARGEST_TABLE:
        return None
    lengths = _rough_lengths(space)

    def single(rate: float) -> Operator:
        decay = lengths * np.float32(-rate)
        np.exp(decay, out=decay)
        least = math.ulp(1.0)
        # Far tails may come out as zero.
        return lambda vector: np.maximum((decay @ vector.astype(np.float32)).astype(float), least)

    return single


def _rough_lengths(space: MetricSpace) -> NDArray[np.float32]:
    """Compute all distances in single precision, in slices: the verifier judges what comes of them."""
    n, source = space.n, space.source
    lengths = np.empty((n, n), dtype=np.float32)
    every, step = np.arange(n), max(1, _SLICE // n)
    for first in range(0, n, step):
        some = np.arange(first, min(first + step, n))
        pairs = np.repeat(some, n), np.tile(every, len(some))
        if isinstance(source, PointLengths):
            found = source.measure(*pairs)
        else:
            found = np.ldexp(source.between(*pairs).astype(np.float64), -space.scale_bits)
        lengths[some] = found.reshape(len(some), n)
    return lengths


def _convolution(height: int, width: int, rate: float) -> Operator:
    from scipy.fft import irfft2, next_fast_len, rfft2

    shape = (next_fast_len(2 * height - 1, real=True), next_fast_len(2 * width - 1, real=True))
    # Distances around a torus that is twice as wide as the grid.
    down, along = (np.minimum(np.arange(size), size - np.arange(size)) for size in shape)
    transform = rfft2(np.exp(-rate * np.hypot(down[:, None], along[None, :])))

    def apply(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        image = irfft2(rfft2(vector.reshape(height, width), shape) * transform, shape)
        # Far tails of a transform may come out a little below zero.
        inside: NDArray[np.float64] = np.maximum(image[:height, :width], math.ulp(1.0))
        return inside.ravel()

    return apply
