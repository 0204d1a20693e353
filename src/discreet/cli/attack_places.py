"""``discreet attack lrgeo``: both modes of the location service, attacked through their recorded traffic."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.cli.serving import need_service
from discreet.core.channel import LIMB_BITS, Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.randomness import as_bits
from discreet.evaluate.attack.bayes import distances_of, infer, success_limit
from discreet.evaluate.attack.finding import Attacked
from discreet.evaluate.attack.location import Session, World
from discreet.evaluate.attack.location_center import attack_center
from discreet.evaluate.attack.location_discs import attack_discs
from discreet.evaluate.attack.location_reports import attack_repeats
from discreet.evaluate.attack.location_targets import attack_targets
from discreet.evaluate.attack.location_tiles import score_tiles
from discreet.evaluate.attack.location_traffic import attack_traffic, distinct_sessions
from discreet.evaluate.attack.location_uploads import attack_uploads
from discreet.evaluate.attack.reports import attack_reports, draw_secrets
from discreet.lrgeo import Client, Epochs, Instance, Mechanism, Region, State, design, locate
from discreet.lrgeo.geo_ind_graph import GeoIndGraph
from discreet.lrgeo.messages import PROTOCOL, Parameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fastapi import FastAPI
    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits
    from discreet.evaluate.attack.asked import AttackRequest
    from discreet.evaluate.attack.finding import Finding

__all__ = ["attack_places"]

_SIDE = 6
_TARGETS = (3, 13, 32)
"""Where people go: public in the sound mode, and what the published one means to hide."""

_GAMMA, _REACH, _R_OBF, _R_EXP = 1.5, 1.5, 2.0, 1.0
_TRIALS = 40
_REPEATS = 10
_HOUR = 3600
_BEGIN = 1_800_000_000.0


def attack_places(asked: AttackRequest) -> Attacked:
    """Attack the location service on a grid of 6 x 6 places 1 km apart, in one of its modes.

    Real clients talk to the real application, and the attacks see what came to its door.
    """
    asked.only(("mode", "epsilon"))
    mode = asked.need("mode")
    if mode not in {"published", "sound"}:
        raise InvalidProblemError("--mode", "published or sound", repr(mode))
    need_service("attack lrgeo")
    region = Region.from_grid(_SIDE, _SIDE, cell=1, unit="km")
    claim = MetricDP(asked.epsilon or "1", unit="km")
    bench = _Bench(region, claim, asked)
    findings, facts = bench.published() if mode == "published" else bench.sound()
    facts |= {"mode": mode, "places": region.K, "epsilon": float(claim.epsilon)}
    return Attacked(f"lrgeo, {mode}, {_SIDE} x {_SIDE} km", tuple(findings), facts)


@final
class _Bench:
    """A service, clients and what an attacker knows."""

    def __init__(self, region: Region, claim: MetricDP, asked: AttackRequest) -> None:
        self._region, self._claim, self._asked = region, claim, asked
        self._bits: RandomBits = as_bits(asked.bits)
        instance = Instance.from_region(region, targets=np.array(_TARGETS))
        graph = GeoIndGraph(instance.distances, _GAMMA)
        self._world = World(instance, graph, _REACH, _R_OBF)
        trials = asked.trials or _TRIALS
        self._victims = draw_secrets(instance.prior, trials, self._bits).tolist()
        made = design(region, claim, targets=list(_TARGETS), gap=0.5)
        self._mechanism = Mechanism.from_design(made, region)

    def sound(self) -> tuple[list[Finding], dict[str, object]]:
        """Attack what the library publishes."""
        from discreet.service import Limits, create_app

        app = create_app(self._mechanism, self._region, limits=Limits(rate=1e6, burst=10**6))
        sessions = [self._fetch(app, place) for place in self._victims]
        own = [self._fetch(app, place) for place in range(self._region.K)]
        failure = self._asked.failure
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
        with self._paper() as app:
            sessions = [self._ask(app, place) for place in self._victims]
            own = [self._ask(app, place) for place in range(self._region.K)]
            asking = [self._prepare(app, place) for place in self._victims]
        failure = self._asked.failure
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
        failure, size = self._asked.failure, self._region.K
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
            failure=self._asked.failure,
        )

    def _fetch(self, app: FastAPI, place: int) -> Session:
        """Be a client of the sound mode: fetch, then locate three times in an epoch."""
        from discreet import service
        from discreet.cli.recording import Recorder

        recorder = Recorder(app)
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder)
            with service.Client(
                recorder.server(),
                state=files / "state.json",
                cache=files / "cache",
                now=lambda: _BEGIN,
            ) as client:
                for _ in range(3):
                    client.locate(self._region.where(place), bits=self._bits)
        return recorder.session(place)

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

    @contextmanager
    def _paper(self) -> Iterator[FastAPI]:
        import asyncio

        from discreet.service import Limits, PaperServer, create_app

        epsilon = float(self._claim.epsilon)
        public = Parameters(PROTOCOL, epsilon, _GAMMA, _REACH, _R_OBF, _R_EXP)
        paper = PaperServer(self._region, public, targets=np.array(_TARGETS))
        limits = Limits(rate=1e6, burst=10**6)
        app = create_app(self._mechanism, self._region, paper=paper, limits=limits)

        async def end() -> None:
            async with app.router.lifespan_context(app):
                pass

        try:
            yield app
        finally:
            # Ends the process in which programs are solved.
            asyncio.run(end())

    def _ask(self, app: FastAPI, place: int) -> Session:
        """Go through the published protocol once."""
        from discreet.cli.recording import Recorder
        from discreet.service import PaperClient

        recorder = Recorder(app)
        client = PaperClient(recorder.server())
        client.report(self._region.where(place), bits=self._bits)
        client.close()
        return recorder.session(place)

    def _prepare(self, app: FastAPI, place: int) -> Session:
        """Begin the published protocol again and again, each time with a disc."""
        from discreet.cli.recording import Recorder
        from discreet.service import PaperClient

        recorder = Recorder(app)
        client = PaperClient(recorder.server())
        for _ in range(_REPEATS):
            client.prepare(place, bits=self._bits)
        client.close()
        return recorder.session(place)

    def _sampled(self, session: Session) -> list[int]:
        """Give the row that a client sampled from, from the answer to its upload."""
        from discreet.lrgeo.lr_set import lr_set

        rows = lr_set(self._world.graph, session.place, _REACH)
        matrix = next(job.rows for job in session.jobs if job.rows is not None)
        row = np.maximum(matrix[int(np.searchsorted(rows, session.place))], 0.0)
        return _rounded(np.floor(row * 2.0**53).astype(np.int64).tolist())


def _rounded(weights: Sequence[int]) -> list[int]:
    """Scale weights to the sum that a channel has; what is left over goes to the largest."""
    total, whole = sum(weights), 1 << LIMB_BITS
    scaled = [weight * whole // total for weight in weights]
    scaled[scaled.index(max(scaled))] += whole - sum(scaled)
    return scaled
