"""Audits of implicit channels: the production sampler's steps and samples, and the verifier.

What an observer sees is the name of a report, so that reports of one name are one outcome.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.printed import estimate
from discreet.core.randomness.replay import Law
from discreet.evaluate.attack.bayes import distances_of
from discreet.evaluate.attack.rows import ShownRows
from discreet.evaluate.audit.audit import Pair, audit, audit_laws, certified
from discreet.evaluate.audit.metricdp import find_steps

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from discreet.core.certificate import Certificate
    from discreet.core.guarantee import MetricDP
    from discreet.core.randomness import RandomBits
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

__all__ = ["audit_anchored", "law_of_place", "telling_pairs"]

_EVERY_PAIR = 40
"""Secrets up to which an exact audit looks at all pairs."""
_PAIRS = 4
_ENTRIES = 1 << 27
"""Most ratios that are looked at to choose pairs: a second or two."""
_DEVIATIONS = 4.0


def audit_anchored(
    channel: AnchoredChannel,
    guarantee: MetricDP,
    certificate: Certificate,
    request: AuditRequest,
) -> Audit:
    """Audit an implicit channel against the guarantee that it claims.

    Parameters
    ----------
    channel, guarantee
        The channel, and what is claimed for it.
    certificate
        What the verifier says.
    request
        ``"certified"``, ``"exact"`` or ``"sampled"``.

    Returns
    -------
    Audit
        Default: certified.

    Raises
    ------
    InvalidProblemError
        Beyond 2600 secrets for the exact and the sampled audit.

    Examples
    --------
    >>> from discreet import MetricDP, MetricSpace
    >>> from discreet.core.channels.check_implicit import verify_anchored
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> made = AnchoredChannel(MetricSpace.grid(2, 3, cell=1, unit="km"), "0.5", range(6), [2**40] * 6, lift=2**20)
    >>> for epsilon in ("1", "0.4"):
    ...     claim = MetricDP(epsilon, "km")
    ...     checks = verify_anchored(made, claim, totals_share="0.5")
    ...     print(audit_anchored(made, claim, checks, AuditRequest(strength="exact")).rejected)
    False
    True
    """
    strength = request.choose("certified", "exact", "sampled")
    if strength == "certified":
        return certified(certificate, guarantee)
    rows, space = ShownRows(channel), channel.space
    if strength == "exact":
        every = combinations(range(space.n), 2)
        chosen = (
            [(i, j) for i, j in every if _bound(channel, guarantee, i, j)]
            if space.n <= _EVERY_PAIR
            else telling_pairs(rows, guarantee)
        )
        pairs = [_pair(channel, i, j) for i, j in chosen]
        laws = {i: law_of_place(rows, i) for i in sorted({i for both in chosen for i in both})}
        return audit_laws([(laws[i], laws[j]) for i, j in chosen], pairs, guarantee)
    return audit(
        None,
        [_pair(channel, i, j) for i, j in telling_pairs(rows, guarantee, request.samples)],
        guarantee,
        batch=_reports,
        failure=request.failure,
        samples=request.samples,
        executor=request.executor,
        bits=request.bits,
        on_stage=request.on_stage,
    )


def law_of_place(rows: ShownRows, secret: int) -> Law:
    """Find the law of what is shown for a secret, from the draws at which the production sampler goes on.

    Each step is where the row says, or is searched for; what is found is what the sampler does.
    """
    channel = rows.channel
    total = int(channel.row(secret).sum())
    # Names are given after the draw; without them the report never falls as the draw grows.
    plain = AnchoredChannel(
        channel.space,
        channel.rate,
        channel.centers,
        channel.anchors,
        lift=channel.lift,
        ball=channel.ball,
        names=np.arange(channel.n_reports),
    )
    guesses = np.cumsum(channel.row(secret)).tolist()
    steps, tried = find_steps(plain.report, secret, total, channel.n_reports, guesses)
    masses: dict[Hashable, Fraction] = {}
    for report, (before, after) in enumerate(pairwise(steps)):
        if after > before:
            name = int(channel.names[report])
            masses[name] = masses.get(name, Fraction(0)) + Fraction(after - before, total)
    return Law(MappingProxyType(masses), Fraction(0), tried)


def telling_pairs(
    rows: ShownRows, guarantee: MetricDP, samples: int | None = None
) -> list[tuple[int, int]]:
    """List the constrained pairs whose shown reports tell them apart best, per unit of distance.

    Beyond some hundred secrets the first of each pair is one of a few, spread over all.

    Parameters
    ----------
    rows, guarantee
        The channel, and what is claimed.
    samples
        How many there will be: chances are moved by four standard deviations against the audit, so that reports too
        rare to be seen do not count. None where rows are compared exactly.
    """
    shares, n = rows.probabilities, rows.n_secrets
    apart = distances_of(rows.channel.space)
    firsts = np.unique(
        np.linspace(0, n - 1, max(1, min(n, _ENTRIES // shares.size))).astype(np.int64)
    )
    size = np.inf if samples is None else max(1, samples // 2)
    noise = _DEVIATIONS * np.sqrt(shares / size)
    least, most = np.maximum(shares - noise, 0), shares + noise + _DEVIATIONS**2 / size
    found: list[tuple[float, int, int]] = []
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.log(least), np.log(most)
        for i in firsts.tolist():
            bound = apart[i] > 0
            if guarantee.radius is not None:
                bound &= apart[i] <= float(guarantee.radius)
            others = np.flatnonzero(bound)
            told = np.maximum(low[i] - high[others], low[others] - high[i])
            nats = np.nan_to_num(told, nan=-np.inf, posinf=np.inf).max(axis=1) / apart[i, others]
            best = np.argsort(-nats, kind="stable")[:_PAIRS].tolist()
            found += [(float(nats[at]), i, int(others[at])) for at in best]
    ranked = sorted(found, key=lambda entry: -entry[0])
    pairs = dict.fromkeys((min(i, j), max(i, j)) for _, i, j in ranked)
    return [pair for pair in pairs if _bound(rows.channel, guarantee, *pair)][:_PAIRS]


class _Place(NamedTuple):
    """A place of a channel: what its owner knows."""

    channel: AnchoredChannel
    place: int


def _reports(case: _Place, size: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw what is shown with the production sampler."""
    return case.channel.report_many([case.place] * size, bits)


def _bound(channel: AnchoredChannel, guarantee: MetricDP, i: int, j: int) -> bool:
    distance = channel.space.distance(i, j)
    return distance > 0 and (guarantee.radius is None or distance <= guarantee.radius)


def _pair(channel: AnchoredChannel, i: int, j: int) -> Pair:
    distance = channel.space.distance(i, j)
    label = f"places {i} and {j}, {estimate(distance)} {channel.space.unit} apart"
    return Pair(_Place(channel, i), _Place(channel, j), label, distance)
