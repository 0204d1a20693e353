"""Audits of channels: the steps of the production sampler, its samples, or the verifier's exact arithmetic.

A report is one draw below 2^62 or more, which cannot be tried value by value. But the report never falls as the draw
grows, so that its law is known from the places where it rises, and those are found by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import float_floor, log_floor
from discreet.core.guarantee import MetricDP
from discreet.core.printed import estimate
from discreet.core.randomness.replay import Law
from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate.audit.audit import Pair, audit, audit_laws, certified
from discreet.metricdp import Problem, design
from discreet.metricdp.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from discreet.core.certificate import Certificate
    from discreet.core.channels.channel import Channel
    from discreet.core.randomness import RandomBits
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

__all__ = [
    "audit_channel",
    "audit_designs",
    "audited_grid",
    "find_steps",
    "is_constrained",
    "law_by_steps",
    "pair_of",
    "worst_pairs",
]

_SIDE = 3
_EVERY_PAIR = 40
"""Secrets up to which an exact audit looks at all pairs."""
_PAIRS = 4
_BITS = 64


def audit_designs(request: AuditRequest) -> Audit:
    """Audit a method by its name, on what it designs for a small grid of cells of 1 km.

    Parameters
    ----------
    request
        Name of a method with a guarantee in :data:`discreet.metricdp.methods.METHODS`, and epsilon per km.

    Returns
    -------
    Audit
        Default: certified.

    Raises
    ------
    InvalidProblemError
        For an unknown method, or one without a guarantee.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_designs(AuditRequest("kernel", epsilon="1")).verdict
    'not rejected: every check of the verifier passed'
    """
    problem, claim = audited_grid(request)
    made = design(problem, claim, method=request.method or "kernel", throw=False)
    return audit_channel(made.channel, problem.space, made.guarantee, verify(made), request)


def audited_grid(request: AuditRequest, radius: int | None = None) -> tuple[Problem, MetricDP]:
    """Return the problem of an audit of a method, 3 x 3 cells of 1 km, and the claim for it.

    Raises
    ------
    InvalidProblemError
        If there is no claimed epsilon, or a claim of another kind.
    """
    request.refuse("delta", "rho", "neighbors", "k")
    if request.epsilon is None:
        raise InvalidProblemError("epsilon", "the claimed epsilon a km", "none")
    space = MetricSpace.grid(_SIDE, _SIDE, cell=1, unit="km")
    claim = MetricDP(request.epsilon, unit="km", radius=radius)
    return Problem(space, utility_loss="distance"), claim


def audit_channel(
    channel: Channel,
    space: MetricSpace,
    guarantee: MetricDP,
    certificate: Certificate | None,
    request: AuditRequest,
) -> Audit:
    """Audit a channel against the guarantee that it claims.

    Parameters
    ----------
    channel, space, guarantee
        The channel, and what is claimed for it.
    certificate
        What the verifier says; ``None`` leaves a certified audit out.
    request
        ``"certified"``, ``"exact"`` or ``"sampled"``.

    Returns
    -------
    Audit
        Default: certified.

    Raises
    ------
    InvalidProblemError
        For a space of one secret, which has no neighbors.
    """
    strength = request.choose(
        *(("certified", "exact", "sampled") if certificate is not None else ("exact", "sampled"))
    )
    if strength == "certified" and certificate is not None:
        return _certified(channel, space, guarantee, certificate)
    if strength == "exact":
        every = space.n <= _EVERY_PAIR
        places = (
            list(combinations(range(space.n), 2))
            if every
            else worst_pairs(channel, space, guarantee)
        )
        near = [(i, j) for i, j in places if is_constrained(space, guarantee, i, j)]
        pairs = [pair_of(channel, space, i, j) for i, j in near]
        laws = {
            i: law_by_steps(channel.report, channel, i) for i in {i for both in near for i in both}
        }
        return audit_laws([(laws[i], laws[j]) for i, j in near], pairs, guarantee)
    pairs = [pair_of(channel, space, i, j) for i, j in worst_pairs(channel, space, guarantee)]
    return audit(
        None,
        pairs,
        guarantee,
        batch=reports,
        failure=request.failure,
        samples=request.samples,
        executor=request.executor,
        bits=request.bits,
        on_stage=request.on_stage,
    )


@final
@dataclass(frozen=True, eq=False)
class _Secret:
    """A secret of a channel: what its owner knows."""

    channel: Channel
    secret: int


def reports(case: _Secret, size: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw reports with the production sampler, many at once."""
    return case.channel.report_many(np.full(size, case.secret), bits)


def worst_pairs(channel: Channel, space: MetricSpace, guarantee: MetricDP) -> list[tuple[int, int]]:
    """List a few constrained pairs: the one that the weights tell apart best, then the nearest to its first secret.

    Raises
    ------
    InvalidProblemError
        When no pair is constrained.
    """
    found = channel.privacy_loss(space, radius=guarantee.radius).pair
    if found is None:
        raise InvalidProblemError("channel", "two secrets or more that are constrained", "none")
    first = found[0]
    order = np.argsort(space.distances[first], kind="stable").tolist()
    near = [(first, j) for j in order if j != first and is_constrained(space, guarantee, first, j)]
    return list(dict.fromkeys([(found[0], found[1]), *near]))[:_PAIRS]


def law_by_steps(report: Callable[[int, RandomBits], int], channel: Channel, secret: int) -> Law:
    """Find the law of a sampler whose report never falls when its one draw grows, exactly.

    Parameters
    ----------
    report
        The sampler: the secret and a source of bits, of which it makes one draw below ``channel.total``.
    channel
        Whose total and number of reports it has.
    secret
        The secret.

    Returns
    -------
    Law
        Nothing is unexplored.

    Raises
    ------
    InvalidProblemError
        When it draws otherwise, or a report falls between two draws that were tried.

    Examples
    --------
    >>> from discreet import Channel
    >>> coin = Channel.from_weights([[3 * 2**60, 2**60]])
    >>> dict(law_by_steps(coin.report, coin, 0).masses)
    {0: Fraction(3, 4), 1: Fraction(1, 4)}
    """
    steps, tried = find_steps(report, secret, channel.total, channel.n_reports)
    masses: dict[Hashable, Fraction] = {
        number: Fraction(after - before, channel.total)
        for number, (before, after) in enumerate(pairwise(steps))
        if after > before
    }
    return Law(MappingProxyType(masses), Fraction(0), tried)


def find_steps(
    report: Callable[[int, RandomBits], int],
    secret: int,
    total: int,
    n_reports: int,
    guesses: Sequence[int] = (),
) -> tuple[list[int], int]:
    """Find the draws at which a sampler goes on to the next report, by bisection.

    Parameters
    ----------
    report, secret
        As in :func:`law_by_steps`.
    total
        What its one draw is below.
    n_reports
        How many reports there are, numbered from 0.
    guesses
        Where the steps should be, the last one the total. Each is tried on both sides, so that a wrong one costs time
        and nothing else.

    Returns
    -------
    steps : list of int
        0, and for each report the least draw that gives a later one.
    tried : int
        Draws that were tried.
    """
    request: dict[int, int] = {}

    def at(target: int) -> int:
        if target not in request:
            bits = _Scripted(target, total)
            request[target] = int(report(secret, bits))
            if not bits.request:
                raise InvalidProblemError("report", "one draw", "none")
        return request[target]

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
    answers = [request[target] for target in sorted(request)]
    if answers != sorted(answers):
        raise InvalidProblemError("report", "a report that never falls as the draw grows", "one")
    return steps, len(request)


@final
class _Scripted:
    """Bits that answer one question with a chosen number, and no second one."""

    def __init__(self, answer: int, total: int) -> None:
        self._answer, self._total = answer, total
        self.request = False

    def randrange(self, stop: int, /) -> int:
        if self.request or stop != self._total:
            raise InvalidProblemError("report", f"one draw below {self._total}", "another draw")
        self.request = True
        return self._answer

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        return np.array([self.randrange(stop) for _ in range(size)], dtype=np.uint64)


def is_constrained(space: MetricSpace, guarantee: MetricDP, i: int, j: int) -> bool:
    """Whether a guarantee constrains the reports of two secrets."""
    distance = space.distance(i, j)
    return distance > 0 and (guarantee.radius is None or distance <= guarantee.radius)


def pair_of(channel: Any, space: MetricSpace, i: int, j: int) -> Pair:  # noqa: ANN401 - or none, with laws
    """Return two secrets as a pair of an audit; `channel` may be ``None`` for laws that are known."""
    distance = space.distance(i, j)
    label = f"secrets {i} and {j}, {estimate(distance)} {space.unit} apart"
    return Pair(_Secret(channel, i), _Secret(channel, j), label, distance)


def _certified(
    channel: Channel, space: MetricSpace, guarantee: MetricDP, certificate: Certificate
) -> Audit:
    """Take the verifier's word, and say how much the weights give away at least."""
    loss = channel.privacy_loss(space, radius=guarantee.radius)
    lower, label, event = 0.0, "", ""
    if loss.pair is not None and loss.report is not None:
        i, j = loss.pair
        weights = sorted(channel.row(secret)[loss.report] for secret in (i, j))
        label, event = pair_of(channel, space, i, j).label, f"report {loss.report}"
        # A report that neither secret has tells them not apart.
        lower = float("inf") if weights[1] else 0.0
        if weights[0]:
            nats = Fraction(log_floor(Fraction(weights[1], weights[0]), _BITS), 1 << _BITS)
            lower = float_floor(nats / space.distance(i, j))
    return certified(
        certificate,
        guarantee,
        lower=lower,
        pair=label,
        event=event,
        pairs=space.n * (space.n - 1) // 2,
    )
