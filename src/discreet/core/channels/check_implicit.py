r"""The verifier of implicit channels, whose rows are computed on demand.

For an edge (i, j) of length d, ``p_ik / p_jk = (W_ik / W_jk) (S_j / S_i)``. A part :math:`\delta` of epsilon is for the
row totals and the rest for the columns:

1. *tails*: both secrets outside the ball of k. Nothing is compared; a theorem of four lines
   (docs/theory/metricdp/anchored-channels.md) says that the lift, the rate and the shortest edge decide;
2. *balls*: one of them inside. Both weights are computed and compared in integers;
3. *totals*: :math:`S_i \le e^{\delta \epsilon d} S_j`, in integers. For :math:`\delta \ge 1/2` it follows from 1 and 2.

The table of factors of the exponential is compared with brackets of the numbers that it stands for. Floats only sort
out what is far from equality.

Trusted: the guarantee rests on this code, which verifies it.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.channels.check_ratios import growth_of
from discreet.core.channels.decay import DECAY_DIGITS
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import FRACTIONAL_BITS, exp_ceil, exp_floor, to_fraction
from discreet.core.printed import at_least
from discreet.core.randomness.inversion import WORD_BITS
from discreet.core.spaces.check_distances import distance_checks
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.lengths import TOTAL_BITS, TableLengths
from discreet.core.spaces.plane import PlaneLengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.channels.implicit import AnchoredChannel
    from discreet.core.exact import Exact
    from discreet.core.guarantee import MetricDP
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.core.spaces.metric import MetricSpace

_FLOAT_ERROR = 256 * sys.float_info.epsilon
"""Upper bound on the relative error of a product of floats here: fewer than 64 roundings, of half an epsilon each."""

_SLICE = 1 << 20
"""Comparisons made at once, to bound memory."""


def verify_anchored(
    channel: AnchoredChannel, guarantee: MetricDP, *, totals_share: Exact
) -> Certificate:
    r"""Verify a channel against all pairs of its space that a guarantee binds; no table of the channel is made.

    Parameters
    ----------
    channel
        The channel. Its space defines the secrets and their distances.
    guarantee
        Epsilon, unit and radius. Beyond 5120 secrets balls need a radius.
    totals_share
        :math:`\delta`, the share of epsilon spent on the totals, strictly between 0 and 1.

    Returns
    -------
    Certificate
        Passed only if :math:`p_{ik} \le e^{\epsilon d_{ij}} p_{jk}` for all pairs within the radius and all reports,
        and these pairs connect all secrets.

    Raises
    ------
    InvalidProblemError
        For another unit than that of the space, a share that is not between 0 and 1, or balls without a radius beyond
        5120 secrets.

    Guarantee
    ---------
    By docs/theory/metricdp/anchored-channels.md. Assumption: computed lengths are distances rounded down by at most
    the units of :func:`triangle_defect`. A table of lengths is not trusted but compared with the points, if the space
    has points.

    Complexity
    ----------
    One comparison for each entry of a ball and each neighbor of its secret, and the row totals where the share is below
    one half. Up to 5120 secrets also the matrix of distances, ``8 n^2`` bytes and up to ``O(n^3)`` at its first access,
    and ``O(n^2 dimensions)`` to compare it with the points.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.core.channels.implicit import AnchoredChannel
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> space = MetricSpace.grid(4, 4, cell=1, unit="km")
    >>> half = AnchoredChannel(space, "0.4999", range(16), [2**40] * 16, lift=2**16)
    >>> verify_anchored(half, MetricDP(1, "km"), totals_share="0.5").passed
    True
    >>> verify_anchored(half, MetricDP("0.9", "km"), totals_share="0.5").passed
    False
    """
    space, share = channel.space, to_fraction(totals_share, "totals_share")
    if guarantee.unit != space.unit:
        raise InvalidProblemError("unit", f"{space.unit!r}, that of the space", guarantee.unit)
    if not 0 < share < 1:
        raise InvalidProblemError("totals_share", "a number between 0 and 1", totals_share)
    edges = _bound_pairs(channel, guarantee, share)
    per_unit = guarantee.epsilon / 2**edges.scale_bits
    shortest = int(edges.lengths.min(initial=2**TOTAL_BITS))
    groups = int(edges.components.max()) + 1
    checks = [
        *(distance_checks(space) if space.has_matrix else ()),
        Check("groups of secrets", groups, 1, exact=True, detail=f"{len(edges)} constrained pairs"),
        Check("pairs at distance 0", int((edges.lengths == 0).sum()), 0, exact=True),
        _table_check(channel),
        _lift_check(channel, edges, (1 - share) * per_unit, shortest),
        _ball_check(channel, edges, (1 - share) * per_unit),
        _totals_follow()
        if share >= Fraction(1, 2)
        else _totals_check(channel, edges, share * per_unit),
    ]
    return Certificate(tuple(checks))


def _bound_pairs(channel: AnchoredChannel, guarantee: MetricDP, share: Fraction) -> Adjacency:
    """List the pairs that must be looked at: those within the radius, or enough of all pairs.

    Without a radius and without a table, row totals that differ by ``ln(max S / min S)`` nats at most can't break the
    third condition (totals) beyond that distance over `share` times epsilon, and where there are no balls the second
    binds no pair. The first looks at the shortest distance alone, which is among those of pairs within any radius that
    connects all. Balls beyond 5120 secrets without a radius are refused.
    """
    space = channel.space
    if guarantee.radius is not None or space.has_matrix:
        return space.adjacency(guarantee.radius)
    if len(channel.ball):
        raise InvalidProblemError("radius", "one for balls beyond 5120 secrets", "none")
    low, high = int(channel.totals.min()), int(channel.totals.max())
    # Upwards: a float logarithm errs by far less than a part in 2^40.
    nats = Fraction(math.log(high / low) * (1 + 2.0**-40) + 2.0**-40)
    radius = nats / (share * guarantee.epsilon)
    radius = max(radius, Fraction(1 << 16, 2**space.scale_bits))
    near = space.adjacency(radius)
    while int(near.components.max()) > 0:
        radius *= 2
        near = space.adjacency(radius)
    return near


def triangle_defect(space: MetricSpace) -> int:
    r"""Bound by how many units a length may exceed the sum of two others over a third secret.

    Returns
    -------
    int
        :math:`\tau` with :math:`D_{ik} \le D_{ij} + D_{jk} + \tau` for all secrets.

    Raises
    ------
    InvalidProblemError
        For a metric that is not listed here.

    Notes
    -----
    A table is closed: 0, and so are lengths of :class:`~discreet.core.spaces.plane.PlaneLengths` and lattices that
    satisfy the condition of :class:`~discreet.core.spaces.lattice.LatticeLengths`. Else lengths are true distances
    rounded down by less than an ``e``, so that ``D_ik <= D_ij + D_jk + 2 e``. On a lattice ``e`` is a greatest common
    divisor of two numbers of cells. For Euclidean and Manhattan distances it is 1, and what is below 2 is at most 1 in
    integers. For great circles the factor ``1 - 2^-45`` and the error of the float, at most ``2^-46``, take less than
    ``2^-44 2^46 = 4`` units besides; for angles it is twice the stated error; in the Poincare ball ``2 (m + 64) 2^-53
    2^46`` units in m dimensions.
    """
    source = space.source
    if space.has_matrix or isinstance(source, TableLengths | PlaneLengths):
        return 0
    if isinstance(source, LatticeLengths):
        return 0 if source.is_closed else 2 * int(np.ptp(source.places, axis=0).max())
    if source.metric in {"euclidean", "manhattan"}:
        return 1
    if source.metric == "haversine":
        return 2 * (1 + 4)
    dimensions = int(source.points.shape[1])
    if source.metric == "hyperbolic":
        return 2 * (1 + math.ceil((dimensions + 64) / 64))
    if source.metric == "angular":
        error = math.ldexp(3 * dimensions + 128, space.scale_bits - 53)
        return 2 * (1 + math.ceil(2 * error))
    raise InvalidProblemError("space", "a metric whose rounding is stated here", source.metric)


def least_lift(slack: Fraction) -> int:
    """Compute a lift that covers two units of error: an integer of at least ``2 / (1 - e^-a)`` for ``a`` nats of slack.

    ``1 / (1 - e^-a) = (1 + coth(a/2)) / 2``, and ``coth(a/2) <= 2/a + a/6``.

    `slack` is positive; more than one nat counts as one. Zero raises ZeroDivisionError.

    Examples
    --------
    >>> least_lift(Fraction(1, 1000))
    2002
    """
    a = min(slack, Fraction(1))
    return math.ceil(2 / a + 1 + a / 6)


def _table_check(channel: AnchoredChannel) -> Check:
    """Return the check that counts factors above the exponential, or more than two units below it, exactly.

    Constant time: two exact exponentials for each factor of `channel`.
    """
    decay, wrong = channel.decay, 0
    for place in range(DECAY_DIGITS):
        for digit in range(256):
            x = -channel.rate / 2**channel.space.scale_bits * (digit << 8 * place)
            factor = int(decay.tables[place, digit])
            # Sixteen more bits than the factor has; a digit of zero must change nothing.
            low, high = exp_floor(x, WORD_BITS + 16), exp_ceil(x, WORD_BITS + 16)
            right = factor << 16 <= low and high - (factor << 16) < 2 << 16
            wrong += not (right if digit else factor == 1 << WORD_BITS)
    return Check("factors of the exponential off", wrong, 0, exact=True, detail="1792 factors")


def _lift_check(
    channel: AnchoredChannel, edges: Adjacency, column: Fraction, shortest: int
) -> Check:
    """Return the check that the lift is at least what the shortest edge needs.

    `column` is the rate that a column may have, exact, in nats for each stored unit; `shortest` the length of the
    shortest edge in stored units. The residual is infinite where the tails leave no slack. With a table of lengths
    its triangles are measured, edges times centers; else constant time.
    """
    rate = channel.rate / 2**edges.scale_bits
    defect = triangle_defect(channel.space)
    if channel.space.has_matrix:
        defect = max(defect, _measured_defect(channel, edges))
    slack = column * shortest - rate * (shortest + defect)
    # Longer edges have no less slack only if the columns may use more than the tails fall.
    needed = least_lift(slack) if slack > 0 and column > rate else math.inf
    detail = (
        f"{at_least(max(slack, Fraction(0)), 3)} nats of slack, triangles open by {defect} units"
    )
    return Check("lift that tails need", needed, channel.lift, exact=True, detail=detail)


def _measured_defect(channel: AnchoredChannel, edges: Adjacency) -> int:
    """Return by how much the distances of an edge's ends to a center differ by more than its length, in stored units.

    The largest excess over all edges and centers, at least 0, which a metric has. The space has a matrix. Edges times
    centers.
    """
    distances = channel.space.distances[:, np.unique(channel.centers)]
    worst, step = 0, max(1, _SLICE // distances.shape[1])
    for first in range(0, len(edges), step):
        i, j = edges.pairs[first : first + step].T
        apart = np.abs(distances[i] - distances[j]).max(axis=1)
        worst = max(worst, int((apart - edges.lengths[first : first + step]).max()))
    return worst


def _ball_check(channel: AnchoredChannel, edges: Adjacency, rate: Fraction) -> Check:
    """Compare each explicit weight with the weights of its secret's neighbors, in both directions; return the check.

    `rate` is exact, per stored unit. Two comparisons for each explicit weight and neighbor.
    """
    ball, looked, wrong = channel.ball, 0, 0
    i, j = edges.pairs.T.astype(np.int64)
    order = np.argsort(np.concatenate([i, j]), kind="stable")
    ends = np.concatenate([j, i])[order]
    lengths = np.concatenate([edges.lengths, edges.lengths])[order]
    degree = np.bincount(edges.pairs.ravel(), minlength=edges.n)
    start = np.concatenate([[0], np.cumsum(degree)])
    step = max(1, _SLICE // max(1, int(degree.max())))
    for first in range(0, len(ball), step):
        secrets = ball.secrets[first : first + step]
        counts = degree[secrets]
        entry = np.repeat(np.arange(len(secrets)), counts)
        before = np.repeat(np.cumsum(counts) - counts, counts)
        at = start[secrets][entry] + np.arange(len(entry)) - before
        weights = ball.weights[first : first + step][entry]
        end_weights = channel.weights_at(ends[at], ball.reports[first : first + step][entry])
        looked += 2 * len(entry)
        wrong += _violations(weights, end_weights, lengths[at], rate)
    return Check(
        "column inequalities violated",
        wrong,
        0,
        exact=True,
        detail=f"{looked} looked at, the others by the theorem on tails",
    )


def _totals_follow() -> Check:
    """Return the check of totals that follow from the columns: a total is a sum of weights, each in proportion."""
    detail = "follow from the columns, which have no larger share"
    return Check("total inequalities violated", 0, 0, exact=True, detail=detail)


def _totals_check(channel: AnchoredChannel, edges: Adjacency, rate: Fraction) -> Check:
    """Return the check that counts the edges on which totals differ by more than ``e^(rate length)``, exactly.

    `rate` is in nats a stored unit. Linear in the edges.
    """
    totals, wrong = channel.totals, 0
    for first in range(0, len(edges), _SLICE):
        i, j = edges.pairs[first : first + _SLICE].T
        wrong += _violations(totals[i], totals[j], edges.lengths[first : first + _SLICE], rate)
    detail = f"{len(totals)} totals, both directions"
    return Check("total inequalities violated", wrong, 0, exact=True, detail=detail)


def _violations(
    p: NDArray[np.int64], q: NDArray[np.int64], lengths: NDArray[np.int64], rate: Fraction
) -> int:
    """Count pairs of positive integers `p`, `q` ``(m,)`` with ``max > e^(rate length) min``, exactly.

    Floats decide but where they are too close; these few pairs are compared in integers.

    `lengths` ``(m,)`` are in stored units, `rate` is exact and positive, in nats for each unit. Linear, with an exact
    exponential for each close pair.
    """
    high = np.maximum(p, q).astype(np.float64)
    low = np.minimum(p, q).astype(np.float64) * growth_of(lengths, rate, 1)
    certain = high > low * (1 + _FLOAT_ERROR)
    wrong = int(certain.sum())
    for at in np.flatnonzero(~certain & (high > low * (1 - _FLOAT_ERROR))).tolist():
        more, less = sorted((int(p[at]), int(q[at])), reverse=True)
        wrong += more << FRACTIONAL_BITS > less * exp_floor(
            rate * int(lengths[at]), FRACTIONAL_BITS
        )
    return wrong
