"""The location service on a small grid, attacked and audited through its recorded traffic.

This module imports no server: its caller hands over a function that runs the application with real clients and
records what comes to its door, such as :func:`discreet.service.recorded.record`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.printed import at_least
from discreet.core.randomness import as_bits
from discreet.evaluate.attack.bayes import distances_of, infer, success_limit
from discreet.evaluate.attack.finding import Attacked
from discreet.evaluate.attack.location import (
    Session,
    attack_repeats,
    attack_traffic,
    distinct_sessions,
)
from discreet.evaluate.attack.reports import attack_reports, draw_secrets
from discreet.evaluate.attack.rows import ShownRows
from discreet.evaluate.audit.audit import Pair, audit
from discreet.evaluate.audit.channels import channel_of, telling_pairs
from discreet.lrgeo import Client, Epochs, Mechanism, Region, State, design, locate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from discreet.core.channels.channel import Channel
    from discreet.core.randomness import RandomBits
    from discreet.evaluate.attack.finding import Finding
    from discreet.evaluate.attack.request import AttackRequest
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest
    from discreet.lrgeo.points.published import PublishedPoints


class _Scene(NamedTuple):
    """The city and the clients of a simulation."""

    side: int = 6
    """Places along a side of the attacked grid."""
    targets: tuple[int, ...] = (3, 13, 32)
    """Places where trips end; public."""
    audited_side: int = 3
    """Places along a side of the grid of an audit."""
    audited_pairs: int = 2
    """Pairs of places that an audit compares."""
    victims: int = 40
    """Clients whose place is guessed by default."""
    reports_per_stay: int = 10
    """Reports that a client asks for at one place."""
    start: float = 1_800_000_000.0
    """Unix time of the first report, in seconds."""


_SCENE = _Scene()


class RecordedService(Protocol):
    """The application of the location service in this process, whose clients' traffic is recorded."""

    def locate(self, place: int, times: int, now: float, bits: RandomBits) -> Session:
        """Be a client of the sound mode: fetch the mechanism, verify it, and locate so often at one time."""

    def fetched(self) -> Mechanism | PublishedPoints:
        """Return the mechanism that a new client fetched and verified."""

    def user(self, place: int) -> Visit:
        """Return a user who is at a place."""


class Visit(Protocol):
    """A user of the service who stays at one place."""

    def report_many(self, size: int, bits: RandomBits) -> list[tuple[float, float]]:
        """Draw `size` reports as that many users at the place would, each with an empty ledger."""


class Record(Protocol):
    """Runs the application."""

    def __call__(
        self, mechanism: Mechanism | PublishedPoints, region: Region
    ) -> AbstractContextManager[RecordedService]:
        """Run it with a mechanism."""


def attack_places(request: AttackRequest, record: Record) -> Attacked:
    """Attack the location service on a grid of 6 x 6 places 1 km apart.

    Real clients send requests to the real application, and the attacks read what arrives there.

    One finding for the bytes of the traffic, four for single reports, two for repeated ones. Victims are ``trials``
    of the request, by default 40.

    Parameters
    ----------
    request
        The mode ``"sound"``, and epsilon per km, by default 1.
    record
        Runs the application and records its traffic.

    Returns
    -------
    Attacked
        One finding for each attack.

    Raises
    ------
    InvalidProblemError
        For another mode, or an option that has no meaning here.
    """
    request.only(("mode", "epsilon"))
    mode = request.need("mode")
    if mode != "sound":
        raise InvalidProblemError("mode", "sound, every-point or places-only", repr(mode))
    bench = Bench(request)
    mechanism, region, bits = bench.mechanism, bench.region, bench.bits
    with record(mechanism, region) as service:
        sessions, own = (
            [service.locate(place, 3, _SCENE.start, bits) for place in places]
            for places in (bench.victims, range(region.K))
        )
    findings = [attack_traffic(sessions, own, bench.prior, failure=request.failure)]
    channel = channel_of([mechanism.channel.row(place).tolist() for place in range(region.K)])
    findings += bench.attack_channel(channel)
    for epochs in (1, _SCENE.reports_per_stay):
        watched = [_stay(mechanism, place, epochs, bits) for place in bench.victims * 5]
        label = f"{_SCENE.reports_per_stay} asks, {epochs} epoch{'s' * (epochs > 1)}"
        findings.append(bench.attack_repeats(watched, channel, epochs, label))
    return bench.attacked(mode, channel, findings, distinct_sessions([*sessions, *own]))


@final
class Bench:
    """The grid of an attack, the mechanism for it, and victims at places drawn from the uniform prior.

    Parameters
    ----------
    request
        Epsilon per km, the number of victims, the error probability, and the source of chance.
    """

    def __init__(self, request: AttackRequest) -> None:
        self.region = Region.from_grid(_SCENE.side, _SCENE.side, cell=1, unit="km")
        self.claim = MetricDP(request.epsilon or "1", unit="km")
        self.targets = _SCENE.targets
        self.bits: RandomBits = as_bits(request.bits)
        self.failure = request.failure
        self.prior = np.full(self.region.K, 1 / self.region.K)
        self.victims = draw_secrets(
            self.prior, request.trials or _SCENE.victims, self.bits
        ).tolist()
        made = design(
            self.region, self.claim, targets=list(_SCENE.targets), gap=0.5, scope="places"
        )
        self.mechanism = Mechanism.from_design(made, self.region)

    def attack_channel(self, channel: Channel) -> list[Finding]:
        """Attack single reports of a channel over the places.

        4,000 trials; errors are in km.
        """
        space = self.region.space
        return attack_reports(
            channel,
            loss=distances_of(space),
            unit="km",
            limit=success_limit(space, self.claim),
            trials=4_000,
            failure=self.failure,
            bits=self.bits,
        )

    def attack_repeats(
        self, watched: Sequence[Session], channel: Channel, allowed: int, label: str
    ) -> Finding:
        """Return the finding of an attack on sessions with several reports, of which `allowed` are independent.

        `watched` are the sessions, `channel` gives the distribution of reports of each place, `label` names the
        attack.
        """
        return attack_repeats(
            watched,
            channel.probabilities,
            self.region.space,
            self.claim,
            self.prior,
            allowed=allowed,
            label=label,
            failure=self.failure,
        )

    def attacked(
        self, mode: str, channel: Channel, findings: list[Finding], distinct: int
    ) -> Attacked:
        """Return the findings, with facts about the channel and the number of distinct sessions."""
        facts = {
            **infer(channel, None, distances_of(self.region.space)).to_dict(),
            "distinct_sessions": distinct,
            "mode": mode,
            "places": self.region.K,
            "epsilon": float(self.claim.epsilon),
        }
        return Attacked(f"lrgeo, {mode}, {_SCENE.side} x {_SCENE.side} km", tuple(findings), facts)


def _stay(mechanism: Mechanism, place: int, epochs: int, bits: RandomBits) -> Session:
    """Simulate ten requests for a report at one place, evenly over `epochs` epochs; return the session."""
    client = Client(mechanism, verified_digest=mechanism.digest)
    region, names = mechanism.region, mechanism.channel.names
    numbers = {region.where(int(name)): at for at, name in reversed(list(enumerate(names)))}
    state, clock, reports = State(), Epochs(), []
    for ask in range(_SCENE.reports_per_stay):
        now = _SCENE.start + clock.seconds * (ask * epochs // _SCENE.reports_per_stay)
        report, state = locate(client, state, region.where(place), now, epochs=clock, bits=bits)
        reports.append((clock.number(now), numbers[report]))
    return Session(place, (), reports=tuple(reports))


def audit_service(request: AuditRequest, record: Record) -> Audit:
    """Audit the service on a grid of 3 x 3 places 1 km apart, by the reports of its clients.

    A real client fetches the mechanism from the real application, verifies it, and reports; what is compared are the
    coordinates that it would show.

    One design, and up to as many samples of each of four users as the request says.

    Parameters
    ----------
    request
        The claimed epsilon per km, and how many samples.
    record
        Runs the application.

    Returns
    -------
    Audit
        Sampled: there is no other way to audit what runs on two sides.

    Raises
    ------
    InvalidProblemError
        For options that have no meaning here, and without an epsilon.
    """
    stated = request.metric()
    request.choose("sampled")
    region = Region.from_grid(_SCENE.audited_side, _SCENE.audited_side, cell=1, unit="km")
    made = design(region, stated, scope="places")
    mechanism = Mechanism.from_design(made, region)
    claim = mechanism.guarantee
    rows = ShownRows(mechanism.channel)
    with record(mechanism, region) as service:
        pairs = [
            Pair(
                service.user(i),
                service.user(j),
                f"users at places {i} and {j}, {at_least(region.space.distance(i, j))} km apart",
                region.space.distance(i, j),
            )
            for i, j in telling_pairs(rows, region.space, claim, request.samples)[
                : _SCENE.audited_pairs
            ]
        ]
        return audit(None, pairs, claim, batch=_reports, **{**request.sampling, "executor": None})


def _reports(user: Visit, size: int, bits: RandomBits) -> list[tuple[float, float]]:
    """Draw reports of a visit."""
    return user.report_many(size, bits)
