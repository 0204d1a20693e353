r"""The verifier of mechanisms: every pair of places and every report, by brute force and with no theorem.

It looks at the rows that a client samples from, whatever made them. For two places i and j all reports are compared at
once,

.. math:: \max_k \left| \ln \frac{W_{ik}}{S_i} - \ln \frac{W_{jk}}{S_j} \right| \le \epsilon\, d_{ij},

in floats whose error is bounded; what is close to equality is settled in integers.

Trusted: the guarantee rests on this code, which verifies it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.channels.check_implicit import verify_anchored
from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import FRACTIONAL_BITS, exp_floor, to_fraction
from discreet.core.guarantee import MetricDP, PointScope
from discreet.core.options import instance_of
from discreet.core.spaces.check_distances import distance_checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.exact import Exact

MAX_PLACES_FOR_TRIPLES = 2600
"""Places up to which all triples are looked at, cubic work; beyond, the theorem on tails is used."""


def verify(
    channel: AnchoredChannel, guarantee: MetricDP, *, totals_share: Exact | None = None
) -> Certificate:
    r"""Verify a mechanism against all pairs of places that a guarantee binds.

    Parameters
    ----------
    channel
        The channel, over the space of the places.
    guarantee
        Epsilon, unit and radius; without a radius all pairs.
    totals_share
        The part of epsilon that is for the row totals; needed beyond 2600 places only, where
        :func:`~discreet.core.channels.check_implicit.verify_anchored` does the work by its theorem.

    Returns
    -------
    Certificate
        Passed only if :math:`\Pr[k | i] \le e^{\epsilon d_{ij}} \Pr[k | j]` for each bound pair and each report.

    Raises
    ------
    InvalidProblemError
        For another unit, or a missing share.

    Guarantee
    ---------
    Distances are compared with the places in integers, rows are the sampled ones, and every verdict is exact.

    Complexity
    ----------
    ``O(K^2 R)`` for K places and R reports: 2 seconds for 1600.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.core.channels.implicit import AnchoredChannel
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> space = MetricSpace.grid(4, 4, cell=1, unit="km")
    >>> half = AnchoredChannel(space, "0.4999", range(16), [2**40] * 16, lift=2**16)
    >>> verify(half, MetricDP(1, "km")).passed, verify(half, MetricDP("0.5", "km")).passed
    (True, False)
    """
    instance_of(channel, AnchoredChannel, "channel", "an AnchoredChannel")
    instance_of(guarantee, MetricDP, "guarantee", "a MetricDP")
    space = channel.space
    if isinstance(guarantee.scope, PointScope):
        raise InvalidProblemError("guarantee", "one about places", "one about points")
    if guarantee.unit != space.unit:
        raise InvalidProblemError("unit", f"{space.unit!r}, that of the space", guarantee.unit)
    if space.n > MAX_PLACES_FOR_TRIPLES:
        if totals_share is None:
            raise InvalidProblemError(
                "totals_share", f"one beyond {MAX_PLACES_FOR_TRIPLES} places", "none"
            )
        share = to_fraction(totals_share, "totals_share")
        return verify_anchored(channel, guarantee, totals_share=share)
    bound = _bound(space.distances, guarantee, space.scale_bits)
    unbound = int((space.distances == 0).sum()) - space.n
    wrong, looked = _violations(channel, guarantee, bound)
    detail = f"{looked} pairs of places, {channel.n_reports} reports each, both directions"
    checks = [
        *distance_checks(space),
        Check("pairs at distance 0", unbound // 2, 0, exact=True),
        Check("groups of places", _groups(bound), 1, exact=True),
        Check("inequalities violated", wrong, 0, exact=True, detail=detail),
    ]
    return Certificate(tuple(checks))


def _bound(distances: NDArray[np.int64], guarantee: MetricDP, scale_bits: int) -> NDArray[np.bool_]:
    """Return the pairs that a guarantee constrains, a boolean mask ``(K, K)``, each place with itself included.

    `distances` is ``(K, K)`` in units of ``2^-scale_bits``.
    """
    if guarantee.radius is None:
        return np.ones(distances.shape, dtype=np.bool_)
    return np.asarray(distances <= int(guarantee.radius * 2**scale_bits), dtype=np.bool_)


def _groups(bound: NDArray[np.bool_]) -> int:
    """Count the groups of places that chains of bound pairs ``(K, K)`` connect; ``O(K^2)`` and more."""
    left, groups = np.ones(len(bound), dtype=np.bool_), 0
    while left.any():
        groups += 1
        group = np.zeros(len(bound), dtype=np.bool_)
        fresh = group.copy()
        fresh[left.argmax()] = True
        while fresh.any():
            group |= fresh
            fresh = bound[fresh].any(axis=0) & ~group
        left &= ~group
    return groups


def _violations(
    channel: AnchoredChannel,
    guarantee: MetricDP,
    bound: NDArray[np.bool_],
    *,
    log_bits: int = 24,
    max_log_error: int = 4,
) -> tuple[int, int]:
    """Count the constrained pairs ``i < j`` of places whose ratio is too large for some report, and all such pairs.

    The second number is that of all constrained pairs; `bound` is their mask ``(K, K)``. Logarithms with `log_bits`
    fractional bits sort out what is clear: below 2^6, they fit 31 bits. A difference of two of them and the limit that
    it is compared with err by less than `max_log_error` units: half a unit for each of three roundings, and the error
    of the floats, which is below 2^-40. Integers settle what is closer. Time is ``O(K^2 R)`` for K places and R
    reports, memory ``O(K R)``.
    """
    from discreet.core.kernels.distances import widest

    space, n = channel.space, channel.n_secrets
    logs = np.empty((n, channel.n_reports), dtype=np.int32)
    for place in range(n):
        weights = channel.row(place)
        shares = np.log(weights) - np.log(int(weights.sum()))
        logs[place] = np.rint(shares * 2.0**log_bits)
    rate = guarantee.epsilon / 2**space.scale_bits
    wrong = compared = 0
    for i in range(n - 1):
        # A limit beyond any difference there may be needs no precision.
        limit = np.minimum(float(rate) * space.distances[i] * 2.0**log_bits, 2.0**31)
        most = widest(logs, i)
        pairs = bound[i].copy()
        pairs[: i + 1] = False
        compared += int(pairs.sum())
        wrong += int((pairs & (most > limit + max_log_error)).sum())
        close = pairs & (np.abs(most - limit) <= max_log_error)
        wrong += sum(_breaks(channel, guarantee, i, j) for j in np.flatnonzero(close).tolist())
    return wrong, compared


def _breaks(channel: AnchoredChannel, guarantee: MetricDP, i: int, j: int) -> bool:
    """Test whether places i and j violate the guarantee for any report, in integers: ``O(R)``.

    Exact up to ``2^-128``: the exponential is rounded down, so that a ratio that close to the limit counts as a
    violation.
    """
    p, q = channel.row(i).tolist(), channel.row(j).tolist()
    nats = guarantee.epsilon * channel.space.distance(i, j)
    factor = exp_floor(nats, FRACTIONAL_BITS)
    total_p, total_q = sum(p), sum(q)
    return any(
        max(a * total_q, b * total_p) << FRACTIONAL_BITS > factor * min(a * total_q, b * total_p)
        for a, b in zip(p, q, strict=True)
    )
