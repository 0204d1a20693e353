"""Audits of channels, with or without a table: the steps of the production sampler, its samples, or the verifier.

:class:`~discreet.core.channels.channel.Channel` promises that a report never falls as its one draw grows. The law of a
secret is then found exactly, by bisection of the draws at which the report goes on, however large the total of a row
is: whatever the sampler is, what is found is what it does. An observer of an implicit channel sees the name of a
report, so that reports of one name are one outcome.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, combinations, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.channels.channel import LIMB_BITS, Channel
from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import float_floor
from discreet.core.printed import estimate
from discreet.core.randomness.replay import Law
from discreet.evaluate.attack.bayes import distances_of
from discreet.evaluate.attack.rows import ShownRows
from discreet.evaluate.audit.audit import Pair, audit, audit_laws, certified
from discreet.evaluate.audit.claims import nats_floor

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from discreet.core.certificate import Certificate
    from discreet.core.guarantee import MetricDP
    from discreet.core.randomness import RandomBits
    from discreet.core.spaces.metric import MetricSpace
    from discreet.evaluate.attack.rows import Reporting
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest


class _PairChoice(NamedTuple):
    """Limits on the pairs that an audit compares; no verdict depends on them."""

    max_secrets_of_all_pairs: int = 40
    """Secrets up to which an exact audit compares all pairs: 780 pairs."""
    compared: int = 4
    """Pairs that are compared otherwise, those that reports tell apart best."""
    max_ratios: int = 1 << 27
    """Ratios of probabilities that are computed to choose pairs: a second or two."""
    max_table_entries: int = 1 << 25
    """Entries of a table whose pairs are all ranked, at six floats each; of a larger one the worst pair is compared."""
    standard_deviations: float = 4.0
    """Allowance for sampling noise."""


_PAIRS = _PairChoice()


def audit_channel(
    channel: Channel | AnchoredChannel,
    space: MetricSpace,
    guarantee: MetricDP,
    certificate: Certificate | None,
    request: AuditRequest,
    *,
    noun: str | None = None,
) -> Audit:
    """Audit a channel against the guarantee that it claims.

    Parameters
    ----------
    channel, space
        The channel, and the space of its secrets.
    guarantee
        The claim.
    certificate
        Certificate of the verifier; ``None`` if there is none, and an audit then replays draws by default.
    request
        ``"certified"``, ``"exact"`` or ``"sampled"``. An exact audit compares all pairs of up to 40 secrets, and the
        pairs that reports tell apart best beyond.
    noun
        Noun for the secrets in the outcome; default: "secrets" of a table, else "places".

    Returns
    -------
    Audit
        Default: certified.

    Raises
    ------
    InvalidProblemError
        If no two secrets are constrained, or a channel without a table has more than 2600 secrets and the audit is
        exact or sampled.

    Examples
    --------
    >>> from discreet import MetricDP, MetricSpace
    >>> from discreet.core.channels.check_implicit import verify_anchored
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> space = MetricSpace.grid(2, 3, cell=1, unit="km")
    >>> made = AnchoredChannel(space, "0.5", range(6), [2**40] * 6, lift=2**20)
    >>> for epsilon in ("1", "0.4"):
    ...     claim = MetricDP(epsilon, "km")
    ...     checks = verify_anchored(made, claim, totals_share="0.5")
    ...     print(audit_channel(made, space, claim, checks, AuditRequest(strength="exact")).rejected)
    False
    True
    """
    usual = ("certified",) if certificate is not None else ()
    strength = request.choose(*usual, "exact", "sampled")
    worst = None
    if isinstance(channel, Channel):
        worst = channel.privacy_loss(space, radius=guarantee.radius)
    if strength == "certified" and certificate is not None:
        if worst is None or worst.pair is None or worst.report is None:
            return certified(certificate, guarantee)
        i, j = worst.pair
        least, most = sorted(int(channel.row(secret)[worst.report]) for secret in (i, j))
        # A report that neither secret has tells them not apart.
        lower = math.inf if most else 0.0
        if least:
            lower = float_floor(nats_floor(Fraction(most, least)) / space.distance(i, j))
        label, event = _label("secrets", space, i, j), f"report {worst.report}"
        count = space.n * (space.n - 1) // 2
        return certified(certificate, guarantee, lower=lower, pair=label, event=event, pairs=count)
    rows = channel if isinstance(channel, Channel) else ShownRows(channel)
    if strength == "exact" and space.n <= _PAIRS.max_secrets_of_all_pairs:
        every = combinations(range(space.n), 2)
        chosen = [both for both in every if is_constrained(space, guarantee, *both)]
    else:
        samples = request.samples if strength == "sampled" else None
        small = rows.n_secrets * rows.n_reports <= _PAIRS.max_table_entries
        telling = telling_pairs(rows, space, guarantee, samples) if small else []
        # The floats that choose pairs may overlook one that the integers of a table show.
        first = [] if worst is None or worst.pair is None else [(min(worst.pair), max(worst.pair))]
        chosen = list(dict.fromkeys([*first, *telling]))[: _PAIRS.compared]
    if not chosen:
        raise InvalidProblemError("channel", "two secrets or more that are constrained", "none")
    noun = noun or ("secrets" if isinstance(channel, Channel) else "places")
    pairs = [
        Pair(_Secret(rows, i), _Secret(rows, j), _label(noun, space, i, j), space.distance(i, j))
        for i, j in chosen
    ]
    if strength == "exact":
        laws = {i: law_of_secret(rows, i) for i in sorted({i for both in chosen for i in both})}
        return audit_laws([(laws[i], laws[j]) for i, j in chosen], pairs, guarantee)
    return audit(None, pairs, guarantee, batch=_reports, **request.sampling)


@final
@dataclass(frozen=True, eq=False)
class _Secret:
    """A secret of a channel, whose reports an audit draws."""

    rows: Reporting
    number: int


def _reports(case: _Secret, size: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw reports with the production sampler, many at once."""
    return case.rows.report_many(np.full(size, case.number), bits)


def _label(noun: str, space: MetricSpace, i: int, j: int) -> str:
    """Return the name of a pair of secrets, with their distance."""
    return f"{noun} {i} and {j}, {estimate(space.distance(i, j))} {space.unit} apart"


def is_constrained(space: MetricSpace, guarantee: MetricDP, i: int, j: int) -> bool:
    """Return whether a guarantee constrains the reports of two secrets."""
    distance = space.distance(i, j)
    return distance > 0 and (guarantee.radius is None or distance <= guarantee.radius)


def telling_pairs(
    rows: Reporting, space: MetricSpace, guarantee: MetricDP, samples: int | None = None
) -> list[tuple[int, int]]:
    """List the constrained pairs whose reports tell them apart best, per unit of distance.

    Returns at most 4 pairs (i, j), i < j, the most telling first; none where no pair is constrained. Up to ``n^2``
    times reports floats, or 2^27 with fewer first secrets.

    Parameters
    ----------
    rows
        A channel, or the shown rows of an implicit one.
    space
        The space of its secrets.
    guarantee
        Whose radius says which pairs are constrained.
    samples
        Samples of each input by which pairs would be told apart; ``None`` if the laws are known. With few samples a
        rare report tells little, however telling it is. Where all pairs are too many, those from a few secrets.
    """
    shares, n = rows.probabilities, rows.n_secrets
    apart = distances_of(space)
    firsts = np.unique(
        np.linspace(0, n - 1, max(1, min(n, _PAIRS.max_ratios // shares.size))).astype(np.int64)
    )
    size = np.inf if samples is None else max(1, samples // 2)
    deviations = _PAIRS.standard_deviations
    noise = deviations * np.sqrt(shares / size)
    least, most = np.maximum(shares - noise, 0), shares + noise + deviations**2 / size
    ranked: list[tuple[float, int, int]] = []
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.log(least), np.log(most)
        for i in firsts.tolist():
            bound = apart[i] > 0
            if guarantee.radius is not None:
                bound &= apart[i] <= float(guarantee.radius)
            neighbors = np.flatnonzero(bound)
            ratios = np.maximum(low[i] - high[neighbors], low[neighbors] - high[i])
            # A report that no sample shows tells nothing.
            ratios = np.where(np.isnan(ratios), -np.inf, ratios)
            nats = ratios.max(axis=1) / apart[i, neighbors]
            best = np.argsort(-nats, kind="stable")[: _PAIRS.compared].tolist()
            ranked += [(float(nats[at]), i, int(neighbors[at])) for at in best]
    ranked.sort(key=lambda entry: -entry[0])
    pairs = dict.fromkeys((min(i, j), max(i, j)) for _, i, j in ranked)
    return [pair for pair in pairs if is_constrained(space, guarantee, *pair)][: _PAIRS.compared]


def law_of_secret(rows: Channel | ShownRows, secret: int) -> Law:
    """Find the law of the reports of a secret, as an observer sees them, from the steps of the production sampler.

    Outcomes are numbers of reports, for `ShownRows` names; nothing is unexplored. See :func:`law_by_steps` for the
    cost and errors.
    """
    if isinstance(rows, Channel):
        return law_by_steps(rows.report, rows, secret)
    channel = rows.channel
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
    return law_by_steps(plain.report, channel, secret, channel.names.tolist())


def law_by_steps(
    report: Callable[[int, RandomBits], int],
    channel: Channel | AnchoredChannel,
    secret: int,
    names: Sequence[int] | None = None,
) -> Law:
    """Find the law of a sampler whose report never falls when its one draw grows, exactly.

    Each step is where the row of the channel says, or is searched for.

    The law has an exact probability for each name, and nothing unexplored. Two draws a report where the row is right,
    else up to ``log2(total)``.

    Parameters
    ----------
    report
        The sampler of one report.
    channel
        The total of a row, and where steps are looked for first.
    secret
        Whose reports.
    names
        Name of each report, by which an observer tells reports apart; by default its number.

    Raises
    ------
    InvalidProblemError
        If the sampler asks for another draw than one below the total, or falls between two draws that were tried.

    Examples
    --------
    >>> channel = Channel.from_weights([[2**62, 0], [2**60, 3 * 2**60]])
    >>> law_by_steps(channel.report, channel, 1).masses
    mappingproxy({0: Fraction(1, 4), 1: Fraction(3, 4)})
    """
    weights = [int(weight) for weight in channel.row(secret)]
    total, guesses = sum(weights), list(accumulate(weights))
    steps, runs = find_steps(report, secret, total, len(weights), guesses)
    masses: dict[Hashable, Fraction] = {}
    for number, (before, after) in enumerate(pairwise(steps)):
        if after > before:
            name = number if names is None else names[number]
            masses[name] = masses.get(name, Fraction(0)) + Fraction(after - before, total)
    return Law(MappingProxyType(masses), Fraction(0), runs)


def find_steps(
    report: Callable[[int, RandomBits], int],
    secret: int,
    total: int,
    n_reports: int,
    guesses: Sequence[int] = (),
) -> tuple[list[int], int]:
    """Find the draws at which a sampler goes on to the next report, by bisection.

    Two draws for a right guess, else about ``log2(total)`` draws a report.

    Parameters
    ----------
    report, secret
        As in :func:`law_by_steps`.
    total
        Exclusive upper limit of its one draw.
    n_reports
        Number of reports, numbered from 0.
    guesses
        Expected steps, the last one the total. Each is tried on both sides, so that a wrong one costs time and
        nothing else.

    Returns
    -------
    steps : list of int
        0, and for each report the least draw that gives a later one.
    tried : int
        Number of draws that were tried.

    Raises
    ------
    InvalidProblemError
        If the report falls as the draw grows, or the sampler makes no draw.
    """
    answer: dict[int, int] = {}

    def at(target: int) -> int:
        if target not in answer:
            bits = _Scripted(target, total)
            answer[target] = int(report(secret, bits))
            if not bits.used:
                raise InvalidProblemError("report", "one draw", "none")
        return answer[target]

    steps = [0]
    for number in range(1, n_reports + 1):
        low, high = steps[-1], total
        for guess in guesses[number - 1 : number]:
            if low < guess <= high and at(guess - 1) < number:
                low = guess
            if low <= guess < high and at(guess) >= number:
                high = guess
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if at(middle) >= number else (middle + 1, high)
        steps.append(low)
    answers = [answer[target] for target in sorted(answer)]
    if answers != sorted(answers):
        raise InvalidProblemError("report", "a report that never falls as the draw grows", "one")
    return steps, len(answer)


@final
class _Scripted:
    """Bits that answer one question with a chosen number, and no second one."""

    def __init__(self, answer: int, total: int) -> None:
        self._answer, self._total = answer, total
        self.used = False

    def randrange(self, stop: int, /) -> int:
        """Return the scripted number once; refuse another bound or a second draw."""
        if self.used or stop != self._total:
            raise InvalidProblemError("report", f"one draw below {self._total}", "another draw")
        self.used = True
        return self._answer

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        """Return the scripted number, for one draw; refuse more."""
        return np.array([self.randrange(stop) for _ in range(size)], dtype=np.uint64)


def channel_of(rows: Sequence[Sequence[int]]) -> Channel:
    """Return the channel of rows of integer weights, each scaled to the sum ``2^62`` of a channel.

    Weights become multiples of ``2^-62`` of the sum, the largest one taking what rounding leaves.

    Each row needs a positive sum. Linear in the weights.
    """
    row_total, scaled = 1 << LIMB_BITS, []
    for weights in rows:
        total = sum(weights)
        row = [weight * row_total // total for weight in weights]
        row[row.index(max(row))] += row_total - sum(row)
        scaled.append(row)
    return Channel.from_weights(scaled)
