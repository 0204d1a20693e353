"""The location service on a small grid, attacked in both modes and audited, through its recorded traffic.

This module imports no server: its caller hands over a function that runs the application with real clients and
records what comes to its door, such as :func:`discreet.service.recorded.record`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, final

import numpy as np

from discreet.core.channels.channel import LIMB_BITS, Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.printed import at_least
from discreet.core.randomness import as_bits
from discreet.evaluate.attack.bayes import distances_of, infer, success_limit
from discreet.evaluate.attack.finding import Attacked
from discreet.evaluate.attack.location import Session, World
from discreet.evaluate.attack.location_messages import (
    attack_center,
    attack_discs,
    attack_targets,
    attack_traffic,
    attack_uploads,
    distinct_sessions,
)
from discreet.evaluate.attack.location_reports import attack_repeats, score_tiles
from discreet.evaluate.attack.reports import attack_reports, draw_secrets
from discreet.evaluate.attack.rows import ShownRows
from discreet.evaluate.audit.audit import Pair, audit
from discreet.evaluate.audit.implicit import telling_pairs
from discreet.lrgeo import Client, Epochs, Instance, Mechanism, Region, State, design, locate
from discreet.lrgeo.local.geo_ind_graph import GeoIndGraph

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits
    from discreet.evaluate.attack.finding import Finding
    from discreet.evaluate.attack.request import AttackRequest
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest
    from discreet.lrgeo.points.published import PublishedPoints

__all__ = [
    "PublishedParameters",
    "Record",
    "RecordedService",
    "attack_places",
    "audit_service",
]

_SIDE = 6
_TARGETS = (3, 13, 32)
"""Where people go: public in the sound mode, and what the published one means to hide."""

_GAMMA, _REACH, _R_OBF, _R_EXP = 1.5, 1.5, 2.0, 1.0
_AUDITED_SIDE, _PAIRS = 3, 2
_TRIALS = 40
_REPEATS = 10
_HOUR = 3600
_BEGIN = 1_800_000_000.0


@final
class PublishedParameters(NamedTuple):
    """What is public in the published protocol: epsilon, the reach of the graph's edges, and three radii."""

    epsilon: float
    gamma: float
    reach: float
    r_obf: float
    r_exp: float


class RecordedService(Protocol):
    """The application of the location service in this process, whose clients' traffic is recorded."""

    def locate(self, place: int, times: int, now: float, bits: RandomBits) -> Session:
        """Be a client of the sound mode: fetch the mechanism, verify it, and locate so often at one time."""

    def ask(self, place: int, bits: RandomBits) -> Session:
        """Go through the published protocol once."""

    def prepare(self, place: int, times: int, bits: RandomBits) -> Session:
        """Begin the published protocol so often, each time with a disc."""

    def fetched(self) -> Mechanism | PublishedPoints:
        """Give what a new client fetched and verified, and draws its reports from."""

    def user(self, place: int) -> Visit:
        """Give a user who is at a place."""


class Visit(Protocol):
    """A user of the service who stays at one place."""

    def report_many(self, size: int, bits: RandomBits) -> list[tuple[float, float]]:
        """Report as so many users would who are there, each with an empty ledger."""


class Record(Protocol):
    """Runs the application."""

    def __call__(
        self,
        mechanism: Mechanism | PublishedPoints,
        region: Region,
        *,
        published: PublishedParameters | None = None,
        targets: Sequence[int] = (),
    ) -> AbstractContextManager[RecordedService]:
        """Run it with a mechanism, and with the published protocol where its parameters are given."""


def attack_places(request: AttackRequest, record: Record) -> Attacked:
    """Attack the location service on a grid of 6 x 6 places 1 km apart, in one of its modes.

    Real clients talk to the real application, and the attacks see what came to its door.

    Parameters
    ----------
    request
        The mode, ``"sound"`` or ``"published"``, and epsilon per km, by default 1.
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
    if mode not in {"published", "sound"}:
        raise InvalidProblemError(
            "mode", "published, sound, every-point or places-only", repr(mode)
        )
    region = Region.from_grid(_SIDE, _SIDE, cell=1, unit="km")
    claim = MetricDP(request.epsilon or "1", unit="km")
    bench = _Bench(region, claim, request, record)
    findings, facts = bench.published() if mode == "published" else bench.sound()
    facts |= {"mode": mode, "places": region.K, "epsilon": float(claim.epsilon)}
    return Attacked(f"lrgeo, {mode}, {_SIDE} x {_SIDE} km", tuple(findings), facts)


@final
class _Bench:
    """A service, clients and what an attacker knows."""

    def __init__(
        self, region: Region, claim: MetricDP, request: AttackRequest, record: Record
    ) -> None:
        self._region, self._claim, self._request, self._record = region, claim, request, record
        self._bits: RandomBits = as_bits(request.bits)
        instance = Instance.from_region(region, targets=np.array(_TARGETS))
        graph = GeoIndGraph(instance.distances, _GAMMA)
        self._world = World(instance, graph, _REACH, _R_OBF)
        trials = request.trials or _TRIALS
        self._victims = draw_secrets(instance.prior, trials, self._bits).tolist()
        made = design(region, claim, targets=list(_TARGETS), gap=0.5, scope="places")
        self._mechanism = Mechanism.from_design(made, region)

    def sound(self) -> tuple[list[Finding], dict[str, object]]:
        """Attack what the library publishes."""
        with self._record(self._mechanism, self._region) as service:
            sessions, own = (
                [service.locate(place, 3, _BEGIN, self._bits) for place in places]
                for places in (self._victims, range(self._region.K))
            )
        failure = self._request.failure
        findings = [attack_traffic(sessions, own, self._world, failure=failure)]
        findings += self._on_messages(sessions, sessions)
        rows = [self._mechanism.channel.row(place).tolist() for place in range(self._region.K)]
        channel = Channel.from_weights([_rounded(row) for row in rows])
        findings += self._on_reports(channel, failure)
        for epochs in (1, _REPEATS):
            watched = [self._stay(place, epochs) for place in self._victims * 5]
            label = f"{_REPEATS} asks, {epochs} epoch{'s' * (epochs > 1)}"
            findings.append(self._repeats(watched, channel.probabilities, epochs, label))
        half = np.arange(self._region.K) // (self._region.K // 4)
        findings.append(score_tiles(half, self._world, disclosed=True))
        facts = infer(channel, None, distances_of(self._region.space)).to_dict()
        return findings, {**facts, "distinct_sessions": distinct_sessions([*sessions, *own])}

    def published(self) -> tuple[list[Finding], dict[str, object]]:
        """Attack the paper's protocol."""
        epsilon = float(self._claim.epsilon)
        public = PublishedParameters(epsilon, _GAMMA, _REACH, _R_OBF, _R_EXP)
        with self._record(
            self._mechanism, self._region, published=public, targets=_TARGETS
        ) as service:
            sessions = [service.ask(place, self._bits) for place in self._victims]
            own = [service.ask(place, self._bits) for place in range(self._region.K)]
            asking = [service.prepare(place, _REPEATS, self._bits) for place in self._victims]
        failure = self._request.failure
        findings = [attack_traffic(sessions, own, self._world, failure=failure)]
        findings += self._on_messages(sessions, asking)
        channel = Channel.from_weights([self._sampled(one) for one in own])
        findings += self._on_reports(channel, failure)
        # Nothing is said of time, and every ask is drawn anew.
        drawn = [
            (place, channel.report_many([place] * _REPEATS, self._bits))
            for place in self._victims * 5
        ]
        watched = [
            Session(place, (), reports=tuple(enumerate(seen.tolist()))) for place, seen in drawn
        ]
        label = f"{_REPEATS} asks, each drawn anew"
        findings.append(self._repeats(watched, channel.probabilities, _REPEATS, label))
        facts = infer(channel, None, distances_of(self._region.space)).to_dict()
        return findings, {**facts, "distinct_sessions": distinct_sessions([*sessions, *own])}

    def _on_messages(self, sessions: list[Session], asking: list[Session]) -> list[Finding]:
        """Run the attacks on messages; where there are none, they guess without looking."""
        failure, size = self._request.failure, self._region.K
        shares = np.zeros(size)
        shares[list(_TARGETS)] = 1 / len(_TARGETS)
        return [
            *attack_uploads(sessions, self._world, failure=failure),
            *attack_center(sessions, self._world, failure=failure),
            *attack_discs(asking, self._world, requests=(1, 3, _REPEATS), failure=failure),
            *attack_targets(asking, self._region.travel, shares),
        ]

    def _on_reports(self, channel: Channel, failure: float) -> list[Finding]:
        space = self._region.space
        return attack_reports(
            channel,
            loss=distances_of(space),
            unit="km",
            limit=success_limit(space, self._claim),
            trials=4_000,
            failure=failure,
            bits=self._bits,
        )

    def _repeats(
        self, watched: Sequence[Session], laws: NDArray[np.float64], fresh: int, label: str
    ) -> Finding:
        return attack_repeats(
            watched,
            laws,
            self._region.space,
            self._claim,
            self._world,
            allowed=fresh,
            label=label,
            failure=self._request.failure,
        )

    def _stay(self, place: int, epochs: int) -> Session:
        """Ask for a report so often, evenly over some epochs."""
        client = Client(self._mechanism, verified_digest=self._mechanism.digest)
        names = self._mechanism.channel.names
        seen = {self._region.where(int(name)): at for at, name in reversed(list(enumerate(names)))}
        state, clock, reports = State(), Epochs(_HOUR), []
        for ask in range(_REPEATS):
            now = _BEGIN + _HOUR * (ask * epochs // _REPEATS)
            report, state = locate(
                client, state, self._region.where(place), now, epochs=clock, bits=self._bits
            )
            reports.append((clock.number(now), seen[report]))
        return Session(place, (), reports=tuple(reports))

    def _sampled(self, session: Session) -> list[int]:
        """Give the row that a client sampled from, from the answer to its upload."""
        from discreet.lrgeo.local.geo_ind_graph import lr_set

        rows = lr_set(self._world.graph, session.place, _REACH)
        matrix = session.matrices[0]
        row = np.maximum(matrix[int(np.searchsorted(rows, session.place))], 0.0)
        return _rounded(np.floor(row * 2.0**53).astype(np.int64).tolist())


def _rounded(weights: Sequence[int]) -> list[int]:
    """Scale weights to the sum that a channel has; what is left over goes to the largest."""
    total, whole = sum(weights), 1 << LIMB_BITS
    scaled = [weight * whole // total for weight in weights]
    scaled[scaled.index(max(scaled))] += whole - sum(scaled)
    return scaled


def audit_service(request: AuditRequest, record: Record) -> Audit:
    """Audit the service on a grid of 3 x 3 places 1 km apart, by what its clients report.

    A real client fetches the mechanism from the real application, verifies it, and reports; what is compared are the
    coordinates that it would show.

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
    request.refuse("delta", "rho", "neighbors", "k")
    if request.epsilon is None:
        raise InvalidProblemError("epsilon", "the claimed epsilon per km", "none")
    request.choose("sampled")
    region = Region.from_grid(_AUDITED_SIDE, _AUDITED_SIDE, cell=1, unit="km")
    made = design(region, MetricDP(request.epsilon, unit="km"), scope="places")
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
            for i, j in telling_pairs(rows, claim, request.samples)[:_PAIRS]
        ]
        return audit(
            None,
            pairs,
            claim,
            batch=_reports,
            failure=request.failure,
            samples=request.samples,
            bits=request.bits,
            on_stage=request.on_stage,
        )


def _reports(user: Visit, size: int, bits: RandomBits) -> list[tuple[float, float]]:
    return user.report_many(size, bits)
