"""What a client accepts: a mechanism that keeps what it claims may still claim too little."""

from __future__ import annotations

import json
import socket
import subprocess
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.commands import say
from discreet import lrgeo
from discreet.artefact import save_mechanism
from discreet.core.errors import CertificateError, InvalidProblemError
from discreet.core.guarantee import MetricDP, Scope
from discreet.lrgeo import Mechanism, Region, design
from discreet.lrgeo.client import held_everywhere
from discreet.service import Client, create_app
from discreet.service.asking import Server
from service.running import mechanism, quick, region, started

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

ROOT = Path(__file__).parents[2]
HERE = (41.8934, 12.4851)
DAY = 86_400.0


def offering(epsilon: int) -> FastAPI:
    """Make an application that publishes a mechanism of some epsilon, which keeps what it claims."""
    done: Future[Mechanism] = Future()
    done.set_result(mechanism(epsilon))
    return create_app(done, region())


def client(folder: Path, app: FastAPI, now: float = 0.0, **options: Any) -> Client:
    return Client(
        quick(app),
        state=folder / "state.json",
        cache=folder / "cache",
        now=lambda: 1_750_000_000.0 + now,
        **options,
        scope="places",
    )


@pytest.mark.parametrize("accepted", [MetricDP(2, "km"), MetricDP(3, "km"), MetricDP("0.002", "m")])
def test_what_is_as_strong_as_accepted_is_taken(accepted: MetricDP) -> None:
    made = mechanism()
    digest = made.digest
    assert lrgeo.Client(made, verified_digest=digest, accepts=accepted).mechanism is made


@pytest.mark.parametrize(
    "accepted", [MetricDP("1.999999", "km"), MetricDP("0.0019", "m"), MetricDP("1/2", "km")]
)
def test_what_is_weaker_than_accepted_is_refused_verified_or_not(accepted: MetricDP) -> None:
    made = mechanism()
    for digest in (None, made.digest):
        with pytest.raises(CertificateError, match="2 per km between any two places, where"):
            lrgeo.Client(made, verified_digest=digest, accepts=accepted)


def test_a_radius_counts_by_what_holds_for_all_pairs() -> None:
    """The epsilon of neighbors is smaller than that of places far apart, and a claim about these is not believed."""
    place = Region.from_grid(4, 4, cell="0.5", unit="km")
    near = Mechanism.from_design(design(place, MetricDP(2, "km", "0.5"), gap=0.5, scope="places"))
    held = held_everywhere(near)
    assert held is not None
    assert held.epsilon > 2
    with pytest.raises(CertificateError, match="2\\.828\\d* per km"):
        lrgeo.Client(near, accepts=MetricDP(2, "km"))
    assert lrgeo.Client(near, accepts=held).mechanism is near
    scope = near.guarantee.scope
    assert isinstance(scope, Scope)
    lies = Scope(scope.space, scope.n_secrets, near.guarantee.epsilon)
    claim = MetricDP(2, "km", "0.5", scope=lies)
    with pytest.raises(CertificateError, match="2\\.828"):
        lrgeo.Client(replace(near, guarantee=claim), accepts=MetricDP(2, "km"))


def test_a_radius_that_joins_nothing_is_refused() -> None:
    made = mechanism()
    apart = replace(made, guarantee=MetricDP(2, "km", "0.1", scope=made.guarantee.scope))
    assert held_everywhere(apart) is None
    with pytest.raises(CertificateError, match="no epsilon between any two places"):
        lrgeo.Client(apart, accepts=MetricDP(10**9, "km"))


def test_an_acceptance_is_about_all_pairs_per_kilometer_or_meter() -> None:
    with pytest.raises(InvalidProblemError, match="accepts: expected a guarantee for all pairs"):
        lrgeo.Client(mechanism(), accepts=MetricDP(2, "km", "0.5"))
    with pytest.raises(InvalidProblemError, match="unit: expected 'km' or 'm'"):
        lrgeo.Client(mechanism(), accepts=MetricDP(2, "mile"))


def test_a_swapped_mechanism_is_refused_and_nothing_is_kept_or_spent(tmp_path: Path) -> None:
    """The default: no weaker than the last one. The first is what it is."""
    first = client(tmp_path, offering(2))
    first.locate(HERE)
    assert first.is_first
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    with pytest.raises(CertificateError, match="5 per km between any two places, where 2 per km"):
        client(tmp_path, offering(5), 2 * DAY).locate(HERE)
    assert before == {path: path.read_bytes() for path in before}
    stronger = client(tmp_path, offering(1), 3 * DAY)
    assert stronger.mechanism.digest == mechanism(1).digest
    assert not stronger.is_first
    with pytest.raises(CertificateError, match="where 1 per km"):
        client(tmp_path, offering(2), 6 * DAY).prepared()


def test_what_is_accepted_decides_alone(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="2 per km"):
        client(tmp_path, offering(2), accepts=MetricDP(1, "km")).prepared()
    assert not (tmp_path / "state.json").exists()
    assert list((tmp_path / "cache").glob("*")) == []
    client(tmp_path, offering(2), accepts=MetricDP(2, "km")).prepared()
    weaker = client(tmp_path, offering(5), 2 * DAY, accepts=MetricDP(5, "km"))
    assert weaker.mechanism.digest == mechanism(5).digest
    # From the cache, too: it was taken when more was accepted.
    with pytest.raises(CertificateError, match="5 per km"):
        client(tmp_path, offering(5), 2 * DAY, accepts=MetricDP(2, "km")).prepared()


def test_over_plain_http_from_another_machine_a_limit_is_needed(tmp_path: Path) -> None:
    exposed = Server("http://192.0.2.1", allow_plain=True)
    assert exposed.is_exposed
    assert not Server("https://192.0.2.1").is_exposed
    assert not Server("http://127.0.0.1:1").is_exposed
    files: dict[str, Any] = {"state": tmp_path / "s", "cache": tmp_path / "c"}
    with pytest.raises(InvalidProblemError, match="accepts: expected the weakest guarantee"):
        Client(exposed, **files, scope="places")
    Client(exposed, accepts=MetricDP(2, "km"), **files, scope="places").close()


@pytest.fixture
def servers() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate(timeout=60)


def serve(servers: list[subprocess.Popen[str]], path: Path, port: int) -> None:
    """Start the real server with a mechanism, in place of the one before."""
    for process in servers:
        process.kill()
        process.wait(timeout=60)
    servers.append(started(path, "-q", port=port)[0])


def test_a_server_process_whose_mechanism_was_swapped_is_refused_on_the_command_line(
    servers: list[subprocess.Popen[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for epsilon in (2, 5):
        save_mechanism(mechanism(epsilon), tmp_path / f"{epsilon}.mechanism")
    place = ["locate", "--places-only", "41.8934", "12.4851", "--server"]
    place.append(f"http://127.0.0.1:{port}")
    files = ["--state", tmp_path / "s", "--cache", tmp_path / "c", "--refresh", "0", "--json"]
    serve(servers, tmp_path / "2.mechanism", port)
    said = say(capsys, *place, *files)
    assert said.status == 0
    assert "the server chose epsilon: 2 per km" in said.err
    assert said.data["guarantee"]["epsilon"] == "2"
    again = say(capsys, *place, *files)
    assert (again.status, "the server chose" in again.err) == (0, False)
    spent = json.loads((tmp_path / "s").read_bytes())
    serve(servers, tmp_path / "5.mechanism", port)
    for limit in ([], ["--max-epsilon", "4.9/km"], ["--max-epsilon", "0.002/m"]):
        refused = say(capsys, *place, *files, *limit, "-q")
        assert (refused.status, refused.out) == (1, "")
        assert "5 per km between any two places" in json.loads(refused.err)["error"]["message"]
    assert json.loads((tmp_path / "s").read_bytes()) == spent
    taken = say(capsys, *place, *files, "--max-epsilon", "5/km", "-q")
    # The report of this epoch is repeated, and is as private as when it was drawn.
    assert (taken.status, taken.data["guarantee"]["epsilon"]) == (0, "2")
    files[1] = tmp_path / "t"
    fresh = say(capsys, *place, *files, "--max-epsilon", "5/km", "-q")
    assert (fresh.status, fresh.data["guarantee"]["epsilon"]) == (0, "5")
