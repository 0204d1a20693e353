"""What operators look at: probes, counters, pages, numbers of requests, settings, and how a server ends."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import subprocess
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from cli.commands import say
from discreet.artefact import save_mechanism
from discreet.cli.serve import _SETTINGS
from discreet.core.errors import InvalidProblemError
from discreet.service import create_app
from discreet.service.operations import Metrics
from meta.canary import SENTINEL
from service.running import ask, mechanism, region, sound_app, started

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

ROOT = Path(__file__).parents[2]
HERE = {"host": "127.0.0.1:8080"}


def put(app: FastAPI, path: str, peer: str = "127.0.0.1", **headers: str) -> httpx.Response:
    """Ask from an address."""

    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(app, client=(peer, 5))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get(path, headers=headers)

    import asyncio

    return asyncio.run(once())


def test_readiness_follows_the_design_and_the_order_to_stop() -> None:
    future: Future[Any] = Future()
    stopping = threading.Event()
    app = create_app(future, region(), stopping=stopping)
    assert (ask(app, "GET", "/livez").status_code, ask(app, "GET", "/readyz").status_code) == (
        200,
        503,
    )
    assert ask(app, "GET", "/readyz").json() == {"status": "designing"}
    future.set_result(mechanism())
    ready = ask(app, "GET", "/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
    assert "connection" not in ready.headers
    stopping.set()
    for path, status in (("/livez", 200), ("/readyz", 503), ("/v1/region", 200)):
        answer = ask(app, "GET", path)
        assert (answer.status_code, answer.headers["connection"]) == (status, "close")


def test_a_design_that_failed_is_never_ready() -> None:
    future: Future[Any] = Future()
    future.set_exception(ValueError(str(SENTINEL)))
    answer = ask(create_app(future, region()), "GET", "/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "failed"})


def test_head_is_get_without_a_body() -> None:
    app = sound_app()
    whole, head = ask(app, "GET", "/v1/mechanism"), ask(app, "HEAD", "/v1/mechanism")
    assert head.status_code == 200
    same = ("etag", "content-length", "content-type")
    assert [head.headers[name] for name in same] == [whole.headers[name] for name in same]


def test_a_request_gets_a_number_of_the_server_and_keeps_none_of_its_own() -> None:
    app = sound_app()
    own = "0123456789abcdef"
    first = ask(app, "GET", "/livez", headers={"request-id": own, "x-request-id": own})
    second = ask(app, "GET", "/livez")
    numbers = [answer.headers["request-id"] for answer in (first, second)]
    assert all(re.fullmatch(r"[0-9a-f]{16}", number) for number in numbers)
    assert len({own, *numbers}) == 3
    assert own not in str(first.headers)


def test_counters_name_routes_and_neither_addresses_nor_what_was_sent() -> None:
    app = sound_app()
    put(app, f"/v1/{SENTINEL}", "192.0.2.77")
    put(app, f"/v1/region?place={SENTINEL}", "192.0.2.77")
    put(app, "/static/service.css", "192.0.2.77")
    told = put(app, "/metrics", **HERE).text
    assert "192.0.2.77" not in told
    assert str(SENTINEL) not in told
    assert 'route="none",status="404"} 1.0' in told
    assert 'route="/v1/region",status="200"} 1.0' in told
    assert 'route="/static/{name}",status="200"} 1.0' in told
    assert "discreet_ready 1.0" in told
    labels = set(re.findall(r"(\w+)=\"", told))
    assert labels <= {
        "route",
        "method",
        "status",
        "le",
        "implementation",
        "major",
        "minor",
        "patchlevel",
        "version",
    }
    # No time of day of a request: only that at which the process began.
    assert [line for line in told.splitlines() if "_created" in line] == []


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("192.0.2.1", {}),
        ("127.0.0.1", {"x-forwarded-for": "192.0.2.1"}),
        ("127.0.0.1", {"forwarded": "for=192.0.2.1"}),
        ("127.0.0.1", {"host": "places.example.org"}),
        ("unknown", {}),
    ],
)
def test_counters_are_for_this_machine(peer: str, headers: dict[str, str]) -> None:
    assert put(sound_app(), "/metrics", peer, **(HERE | headers)).status_code == 404
    assert (
        put(sound_app(show_metrics="any"), "/metrics", peer, **(HERE | headers)).status_code == 200
    )
    assert put(sound_app(show_metrics="off"), "/metrics", **HERE).status_code == 404


def test_another_word_for_who_sees_them_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="loopback, any or off"):
        sound_app(show_metrics="all")


def test_a_proxy_counts_for_those_it_asks_for_and_another_header_is_not_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from discreet.web import Limits

    few = Limits(rate=0.001, burst=2)

    def statuses(app: FastAPI, peer: str, *said: str) -> list[int]:
        return [put(app, "/livez", peer, **{"x-forwarded-for": each}).status_code for each in said]

    behind = sound_app(limits=few, trusted_proxies=("10.0.0.0/8",))
    assert statuses(behind, "10.0.0.7", *["192.0.2.1, 10.0.0.9"] * 3) == [200, 200, 429]
    assert statuses(behind, "10.0.0.7", "192.0.2.2") == [200]
    # What the client wrote itself stands on the left, and is not believed.
    assert statuses(behind, "10.0.0.7", "192.0.2.55, 192.0.2.2", "192.0.2.56, 192.0.2.2") == [
        200,
        429,
    ]
    # Nothing that is an address: those requests count for the proxy.
    assert statuses(behind, "10.0.0.7", *["no address"] * 3) == [200, 200, 429]
    said = "a trusted proxy named no client, or two; requests count for its address"
    assert [record.getMessage() for record in caplog.records] == [said]
    caplog.clear()
    alone = sound_app(limits=few)
    assert statuses(alone, "192.0.2.9", "1.1.1.1", "1.1.1.2", "1.1.1.3") == [200, 200, 429]
    assert [record.getMessage() for record in caplog.records] == [
        "X-Forwarded-For came from an address that is no trusted proxy; it is not read"
    ]
    with pytest.raises(InvalidProblemError, match=r"10\.0\.0\.0/24"):
        sound_app(trusted_proxies=("proxy.example.org",))


def test_the_page_says_what_is_promised_and_that_its_digest_proves_nothing() -> None:
    answer = ask(sound_app(), "GET", "/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = answer.text
    assert mechanism().digest in page
    assert "2 per km" in page
    assert "This digest is no proof of itself" in page
    # The place in the example is one of this region: whoever types it gets a report.
    first, second = re.search(r"echo '(\S+) (\S+)'", page).groups()  # type: ignore[union-attr] # found, or it fails
    region().snap((float(first), float(second)))
    assert "being designed" in ask(create_app(Future(), region()), "GET", "/").text


def test_the_interface_asks_only_what_has_one_answer_for_all() -> None:
    app = sound_app()
    page = ask(app, "GET", "/docs").text
    assert re.findall(r'data-path="([^"]+)"', page) == [
        "/v1/healthz",
        "/v1/mechanism",
        "/v1/region",
    ]
    assert not re.search(r"<(form|input|textarea|select)\b", page)
    for text in (page, ask(app, "GET", "/").text):
        # Nothing from elsewhere.
        assert not re.search(r"(?:src|href)=\"(?!/)", text)
    for name in ("service.css", "interface.js"):
        assert ask(app, "GET", f"/static/{name}").status_code == 200
    for name in ("page.html", "../app.py", "client.js"):
        assert ask(app, "GET", f"/static/{name}").status_code == 404


def test_a_failure_is_logged_with_its_number_and_its_kind(caplog: pytest.LogCaptureFixture) -> None:
    app = sound_app()

    @app.get("/fail")
    def fail() -> None:
        raise RuntimeError(str(SENTINEL))

    answer = ask(app, "GET", "/fail")
    assert answer.status_code == 500
    (record,) = caplog.records
    assert answer.headers["request-id"] in record.getMessage()
    assert "RuntimeError" in record.getMessage()
    assert str(SENTINEL) not in record.getMessage()


def test_every_setting_of_the_environment_is_an_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = "".join(say(capsys, "serve", "--help-all").out.split())
    for name in _SETTINGS:
        assert f"--{name.replace('_', '-')}" in shown


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("METRICS", "all", "--metrics: expected loopback, any or off"),
        ("LOG", "xml", "--log: expected text or json"),
        ("DRAIN", "-1", "--drain: expected seconds from 0 to 600"),
        ("DRAIN", "nan", "--drain: expected seconds from 0 to 600"),
        ("TRUSTED_PROXY", "nobody", "--trusted-proxy: expected addresses or networks"),
        ("EPSILON", "much", "--epsilon"),
        ("PORT", "http", "--port"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(
    name: str,
    value: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DISCREET_EPSILON", "2/km")
    monkeypatch.setenv(f"DISCREET_{name}", value)
    done = say(capsys, "serve", "--grid", "3x3", "--cell", "1")
    assert done.status == 2
    assert said in done.err


def test_a_variable_that_is_nearly_a_setting_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DISCREET_PROT", "80")
    done = say(capsys, "serve", "--grid", "3x3", "--cell", "1", "--epsilon", "much")
    assert "DISCREET_PROT is no setting; did you mean DISCREET_PORT?" in done.err


def test_what_is_deployed_is_set_by_settings_that_there_are() -> None:
    deploy = ROOT / "deploy"
    manifest = (deploy / "kubernetes.yaml").read_text(encoding="utf-8")
    unit = (deploy / "discreet.service").read_text(encoding="utf-8")
    named = set(re.findall(r"DISCREET_(\w+)", manifest + unit))
    assert {"HOST", "PORT", "DRAIN"} <= named <= {name.upper() for name in _SETTINGS}
    drains = [
        int(each)
        for each in re.findall(r'DRAIN\s+value: "(\d+)"|--drain (\d+)', manifest + unit)
        for each in each
        if each
    ]
    stops = [
        int(each)
        for each in re.findall(
            r"(?:TimeoutStopSec=|terminationGracePeriodSeconds: )(\d+)", manifest + unit
        )
    ]
    assert len(drains) == len(stops) == 2
    assert max(drains) + 10 < min(stops)
    for right in (
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "CapabilityBoundingSet=\n",
        "LimitCORE=0",
    ):
        assert right in unit
    for right in (
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        'drop: ["ALL"]',
        "allowPrivilegeEscalation: false",
    ):
        assert right in manifest


@contextlib.contextmanager
def served(stored: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Publish a stored mechanism in a process of its own."""
    process, port = started(stored, "--log", "json", "--rate", "100000", *options)
    try:
        yield process, port
    finally:
        process.kill()
        process.communicate(timeout=60)


def hammer(port: int, until: threading.Event, answered: threading.Event) -> tuple[int, int]:
    """Ask again and again; return how many answers came whole, and how many were begun and not ended."""
    whole = cut = 0
    while not until.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            while not until.is_set():
                connection.request("GET", "/v1/mechanism")
                answer = connection.getresponse()
                try:
                    answer.read()
                except (http.client.HTTPException, OSError):
                    cut += 1
                    raise
                whole += 1
                answered.set()
                if answer.will_close:
                    break
        except ConnectionRefusedError:
            break
        except (http.client.HTTPException, OSError):
            # Not taken any more: its headers were not read, or the counters below tell.
            time.sleep(0.01)
        finally:
            connection.close()
    return whole, cut


def restart(stored: Path, clients: int, seconds: float) -> None:
    """Stop a server under load: what it began it answered, and what it answered arrived whole."""
    until, answered = threading.Event(), threading.Event()
    with served(stored, "--drain", "0.5") as (process, port), ThreadPoolExecutor(clients) as pool:
        work = [pool.submit(hammer, port, until, answered) for _ in range(clients)]
        # A busy machine may have answered nothing by then.
        answered.wait(60)
        time.sleep(seconds)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        until.set()
        results = [each.result() for each in work]
    assert process.returncode == 0, said
    stopped = json.loads(said.strip().splitlines()[-1])
    assert stopped["event"] == "stopped"
    whole, cut = (sum(column) for column in zip(*results, strict=True))
    assert cut == 0
    assert stopped["begun"] == stopped["answered"] == whole > 0


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "city.mechanism"
    save_mechanism(mechanism(), path)
    return path


def test_a_server_that_is_stopped_under_load_answers_what_it_has_read(stored: Path) -> None:
    restart(stored, clients=12, seconds=0.4)


@pytest.mark.slow
@pytest.mark.parametrize("time_of_load", [0.5 + 0.1 * i for i in range(20)])
def test_twenty_restarts_under_150_clients_lose_nothing(stored: Path, time_of_load: float) -> None:
    restart(stored, clients=150, seconds=time_of_load)


def test_a_server_that_drains_says_so_at_once_and_still_answers(stored: Path) -> None:
    with served(stored, "--drain", "4") as (process, port):
        process.send_signal(signal.SIGTERM)
        began, seen = time.monotonic(), []
        with contextlib.suppress(httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError):
            while time.monotonic() - began < 20:
                seen.append(httpx.get(f"http://127.0.0.1:{port}/readyz").status_code)
        assert process.wait(30) == 0
    assert seen
    # The signal may come a moment after the first requests.
    assert 503 in seen
    assert set(seen[seen.index(503) :]) == {503}


def test_metrics_of_one_application_are_its_own() -> None:
    first, second = Metrics(), Metrics()
    first.begin()
    assert (first.begun, second.begun) == (1, 0)
