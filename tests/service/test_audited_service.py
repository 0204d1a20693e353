"""The service is audited as it is used: a real client, the real application, and what the client would show."""

from __future__ import annotations

import functools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.commands import say
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import CertificateError
from discreet.core.guarantee import MetricDP
from discreet.core.randomness import SeededBits
from discreet.evaluate.audit.audit import Pair, audit
from discreet.lrgeo import Epochs, Mechanism, Region, State, design, locate
from discreet.service import Client, create_app
from discreet.service.keeping import MechanismCache
from discreet.service.recorded import TrafficRecorder, Visited
from discreet.web import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.randomness import RandomBits
    from discreet.evaluate.audit.audit import Audit

    Batch = Callable[[Visited, int, RandomBits], list[tuple[float, float]]]

NOW = 1_800_000_000.0
HERE, THERE = 0, 1
"""Neighbors, of which the honest mechanism names neither often."""


@functools.cache
def region() -> Region:
    return Region.from_grid(3, 3, cell=1, unit="km")


@functools.cache
def honest(epsilon: str = "1") -> Mechanism:
    return Mechanism.from_design(
        design(region(), MetricDP(epsilon, "km"), scope="places"), region()
    )


@functools.cache
def overstated() -> Mechanism:
    """Claim half of the epsilon that the integers have, with a certificate that nobody checked."""
    made = Mechanism.from_design(design(region(), MetricDP(2, "km"), scope="places"), region())
    believed = Certificate((Check("believed", 0, 0, exact=True),))
    claim = replace(made.guarantee, epsilon=Fraction(1))
    return replace(made, guarantee=claim, certificate=believed)


def users(mechanism: Mechanism, *places: int) -> list[Visited]:
    app = create_app(mechanism, region(), limits=Limits(rate=1e6, burst=10**6))
    server = TrafficRecorder(app).server()
    return [Visited(server, region().where(place)) for place in places]


def audited(mechanism: Mechanism, places: tuple[int, int], **options: Any) -> Audit:
    distance = region().space.distance(*places)
    here, there = users(mechanism, *places)
    pair = Pair(here, there, "two users", distance)
    run = options.pop("run", None)
    return audit(run, [pair], mechanism.guarantee, bits=SeededBits(3), **options)


def leaking(user: Visited, size: int, bits: RandomBits) -> list[tuple[float, float]]:
    """Tell the true place one time in ten."""
    shown = user.report_many(size, bits)
    return [user.point if bits.randrange(10) == 0 else report for report in shown]


def telling(user: Visited, bits: RandomBits) -> tuple[float, float]:
    """Go all the way, and then tell the true place."""
    user.report_once(bits)
    return user.point


def trusting(folder: Path, mechanism: Mechanism) -> Batch:
    """Make a client that does not verify: the mechanism lies in its cache, and the server says that it still is it."""

    def reports(user: Visited, size: int, bits: RandomBits) -> list[tuple[float, float]]:
        MechanismCache(folder, user.server.url).write(mechanism, NOW)
        client = Client(
            user.server,
            state=folder / "state",
            cache=folder,
            refresh=0,
            now=lambda: NOW,
            scope="places",
        )
        prepared, clock = client.prepared(), Epochs()
        return [
            locate(prepared, State(), user.point, NOW, epochs=clock, bits=bits)[0]
            for _ in range(size)
        ]

    return reports


@pytest.fixture(autouse=True)
def _no_waiting_for_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is audited is what is shown, not whether it outlives a power cut."""
    monkeypatch.setattr("discreet.artefact.private_files.os.fsync", lambda _: None)


def test_the_true_claim_of_the_service_is_not_refused() -> None:
    found = audited(honest(), (HERE, THERE), batch=Visited.report_many, samples=3_000)
    assert not found.rejected
    assert 0.2 < found.lower <= found.claimed == 1
    assert "proves nothing" in found.verdict


@pytest.mark.slow
def test_from_nothing_each_time_the_claim_is_not_refused_either() -> None:
    """Each run fetches, verifies, reports and writes a ledger."""
    found = audited(honest(), (HERE, THERE), run=Visited.report_once, samples=100)
    assert not found.rejected
    assert found.runs == 100


def test_a_client_that_tells_the_place_is_refused_even_after_few_whole_runs() -> None:
    found = audited(honest("0.25"), (HERE, THERE), run=telling, samples=100)
    assert found.rejected
    assert found.lower > 0.5


def test_a_client_that_tells_the_place_one_time_in_ten_is_refused() -> None:
    found = audited(honest(), (1, 4), batch=leaking, samples=8_000)
    assert found.rejected
    assert found.failure == 1e-9


def test_a_mechanism_that_claims_half_is_refused_by_clients_and_by_the_audit(
    tmp_path: Path,
) -> None:
    """The client verifies, and reports nothing; if it did not, its reports would show it."""
    (user,) = users(overstated(), HERE)
    for report in (Visited.report_once, functools.partial(Visited.report_many, size=1)):
        with pytest.raises(CertificateError):
            report(user, bits=SeededBits(1))
    batch = trusting(tmp_path, overstated())
    found = audited(overstated(), (HERE, 4), batch=batch, samples=6_000)
    assert found.rejected
    assert 1 < found.lower <= 2


def test_whole_runs_and_quick_ones_show_the_same_places() -> None:
    """The law is that of the mechanism's row by both ways: every draw of the one source is used alike."""
    (user,) = users(honest(), HERE)
    for seed in range(6):
        assert [user.report_once(SeededBits(seed))] == user.report_many(1, SeededBits(seed))


def test_the_command_audits_the_service(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--method", "service", "--epsilon", "1", "--samples", "600", "--json")
    said = say(capsys, "audit", "lrgeo", *asked)
    assert said.status == 0, said.err
    assert said.data["strength"] == "sampled"
    assert "users at places" in said.data["pair"]
    assert said.data["lower"] <= 1


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--method", "service"), "--epsilon"),
        (("--method", "service", "--epsilon", "1", "--strength", "exact"), "--strength"),
        (("--method", "service", "--epsilon", "1", "-k", "2"), "-k"),
        (("--method", "guess", "--epsilon", "1"), "frozen-scales, lr-geo, places-only, service"),
    ],
)
def test_what_makes_no_sense_of_the_service_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], word: str
) -> None:
    said = say(capsys, "audit", "lrgeo", *arguments)
    assert said.status == 2
    assert word in said.err
