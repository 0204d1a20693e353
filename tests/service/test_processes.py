"""Two real processes over loopback: the server is killed, restarted and stopped; the client recovers."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.lrgeo import Epochs
from discreet.service import Client
from discreet.service.asking import Server
from discreet.web import bind, connections, serve
from service.running import in_thread, sound_app
from warm import COMMAND, WHERE, command, run

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
HERE, THERE = (41.8934, 12.4851), (41.9041, 12.5012)


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    """Give a list of processes that are ended whatever happens."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate(timeout=60)


def start(
    processes: list[subprocess.Popen[str]], *arguments: object, code: list[str] = COMMAND
) -> subprocess.Popen[str]:
    line = [*code, *(str(argument) for argument in arguments)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True, env=WHERE)
    processes.append(process)
    return process


def url_of(process: subprocess.Popen[str]) -> str:
    """Read the first JSON object that a server says."""
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line.startswith("}"):
            return str(json.loads(text)["url"])
    raise AssertionError(process.stderr.read() if process.stderr else "")


YEAR = Epochs(365 * 86_400)
"""A test that runs at the end of an hour would see two epochs."""


def files(folder: Path) -> tuple[Path, Path]:
    return folder / "state.json", folder / "cache"


def test_a_server_is_killed_and_restarted_and_the_client_recovers_with_its_ledger(
    tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    line = "serve --places-only --grid 4x4 --cell 0.5 --unit km --origin 41.89,12.48 --epsilon 2/km --json --quiet"
    kept = tmp_path / "city.mechanism"
    first = start(processes, *line.split(), "--port", 0, "-o", kept)
    url = url_of(first)
    state, cache = files(tmp_path)
    options = ["--state", str(state), "--cache", str(cache)]
    line = f"locate - --places-only --server {url} --json --wait 300 --epoch {YEAR.seconds}"
    done = run(*line.split(), *options, data=b"41.8986 12.4869\n")
    assert done.returncode == 0, done.stderr
    assert "the server chose epsilon: 2 per km" in done.stderr
    told = json.loads(done.stdout)
    assert set(told) >= {"report", "epoch", "spent_today", "spent_in_all"}
    assert (told["spent_today"], told["spent_in_all"]) == (2.0, 2.0)
    first.send_signal(signal.SIGKILL)
    first.wait(60)
    ledger = (tmp_path / "state.json").read_bytes()
    # The mechanism is kept: without a server the client still reports, and repeats within the epoch.
    with Client(
        Server(url, patience=0), epochs=YEAR, state=state, cache=cache, scope="places"
    ) as client:
        assert list(client.locate((41.8926, 12.4909)).report) == told["report"]
    # Asked to look whether it still is the one, it says that nobody answers, and reports nothing.
    with (
        Client(
            Server(url, patience=0),
            epochs=YEAR,
            refresh=0,
            state=state,
            cache=cache,
            scope="places",
        ) as client,
        pytest.raises(LimitReachedError, match="can't be reached"),
    ):
        client.locate((41.8926, 12.4909))
    assert (tmp_path / "state.json").read_bytes() == ledger
    line = f"serve --mechanism {kept} --port {url.rpartition(':')[2]} --json"
    second = start(processes, *line.split(), code=command())
    with Client(
        Server(url, patience=300),
        epochs=YEAR,
        refresh=0,
        state=state,
        cache=cache,
        scope="places",
    ) as client:
        assert list(client.locate((41.8926, 12.4909)).report) == told["report"]
    assert (tmp_path / "state.json").read_bytes() == ledger
    second.send_signal(signal.SIGTERM)
    assert second.wait(60) == 0


class Recorder(threading.Thread):
    """A proxy between client and server that keeps every byte that goes to the server."""

    def __init__(self, target: str) -> None:
        super().__init__(daemon=True)
        self._port = int(target.rpartition(":")[2])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.seen: list[bytes] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.start()

    def run(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client, socket.create_connection(("127.0.0.1", self._port)) as server:
                back = threading.Thread(target=self._copy, args=(server, client, None), daemon=True)
                back.start()
                self._copy(client, server, self.seen)
                server.shutdown(socket.SHUT_WR)
                back.join(30)

    def _copy(self, source: socket.socket, target: socket.socket, kept: list[bytes] | None) -> None:
        while data := source.recv(1 << 16):
            if kept is not None:
                kept.append(data)
            target.sendall(data)

    def close(self) -> None:
        # Waking a thread from accept takes a shutdown, not a close.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.join(30)


def test_on_the_wire_no_byte_to_the_server_depends_on_the_place(tmp_path: Path) -> None:
    with in_thread(sound_app()) as url:
        recorder = Recorder(url)
        sent = []
        for place in (HERE, THERE):
            recorder.seen.clear()
            clock = iter([0.0, 0.0, 9e8, 9e8 + 1e5, 9e8 + 1e5])
            name = f"{place[0]}"
            for _ in range(2):
                with Client(
                    recorder.url,
                    state=tmp_path / name / "state",
                    cache=tmp_path / name / "cache",
                    refresh=1.0,
                    now=lambda clock=clock: 1e9 + next(clock),  # type: ignore[misc]
                    scope="places",
                ) as client:
                    client.locate(place)
            sent.append(b"".join(recorder.seen))
        recorder.close()
    assert sent[0] == sent[1]
    assert sent[0].count(b"GET /v1/mechanism") == 2
    assert b"POST" not in sent[0]


def test_other_machines_are_kept_out_unless_they_are_let_in() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):  # noqa: S104 - it is refused
        with pytest.raises(InvalidProblemError, match="host: expected a loopback address"):
            bind(host, 0)
    with bind("0.0.0.0", 0, allow_remote=True) as bound:  # noqa: S104 - on purpose
        assert bound.getsockname()[1] > 0
    with pytest.raises(InvalidProblemError, match="host: expected a name"):
        bind("no such host", 0)


def test_a_port_that_is_taken_or_none_is_refused() -> None:
    with bind("127.0.0.1", 0) as bound:
        bound.listen()
        port = bound.getsockname()[1]
        with pytest.raises(InvalidProblemError, match="port: expected one that can be bound"):
            bind("127.0.0.1", port)
    for port in (-1, 65_536):
        with pytest.raises(InvalidProblemError, match="port: expected a number from 0 to 65535"):
            bind("127.0.0.1", port)


def test_a_request_whose_headers_never_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some thousand such connections would be all that a server takes. One that asks again and again stays."""
    # A machine that stands still between two requests for longer closes the steady connection as well.
    monkeypatch.setattr(connections, "_DEADLINES", connections._DEADLINES._replace(headers=6.0))
    stop: Future[None] = Future()
    started: Future[str] = Future()
    bound = bind("127.0.0.1", 0)
    server = threading.Thread(
        target=lambda: serve(sound_app(), bound, until=stop, on_started=started.set_result)
    )
    server.start()
    try:
        started.result(30)
        host, port = bound.getsockname()
        with (
            socket.create_connection((host, port), timeout=30) as half,
            contextlib.closing(http.client.HTTPConnection(host, port, timeout=30)) as steady,
        ):
            half.sendall(b"GET /v1/healthz HTTP/1.1\r\nHost: a\r\n")
            for _ in range(20):
                steady.request("GET", "/v1/healthz")
                with steady.getresponse() as answer:
                    assert answer.status == 200
                    answer.read()
                time.sleep(0.4)
            assert half.recv(1) == b""
    finally:
        stop.set_exception(RuntimeError())
        server.join(30)
        bound.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_costs_the_log_and_neither_the_service_nor_its_status() -> None:
    region = ("--grid", "2x2", "--cell", "1", "--epsilon", "3/km", "--places-only")
    options = ("--port", "0", "--json", "--log", "json", "--drain", "0")
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        process = subprocess.Popen(
            [*command(), "serve", *region, *options],
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            env=WHERE,
        )
        try:
            with contextlib.closing(Server(url_of(process), patience=60)) as server:
                assert server.get("/readyz", lambda _: True)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
            process.communicate(timeout=60)
