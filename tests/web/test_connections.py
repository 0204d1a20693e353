"""Connections of real servers: slow readers, crowds, too few descriptors, and lines that are all JSON."""

from __future__ import annotations

import contextlib
import json
import logging
import resource
import signal
import socket
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psutil  # type: ignore[import-untyped] # it has no types
import pytest

import warm
from discreet.artefact import save_mechanism
from discreet.core.errors import InvalidProblemError
from discreet.web import Limits, bind, connections, serve
from discreet.web.connections import Crowd, max_connections
from discreet.web.logs import Repetitions, logged_by
from service.running import mechanism, sound_app, started

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
ASK = b"GET /v1/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
LARGE = 4 << 20


@contextlib.contextmanager
def in_thread(app: Any, **options: Any) -> Iterator[tuple[str, int]]:
    """Serve an application in a thread."""
    stop: Future[None] = Future()
    started: Future[str] = Future()
    bound = bind("127.0.0.1", 0)
    server = threading.Thread(
        target=lambda: serve(app, bound, until=stop, on_started=started.set_result, **options)
    )
    server.start()
    try:
        started.result(30)
        yield bound.getsockname()
    finally:
        stop.set_exception(RuntimeError())
        server.join(30)
        bound.close()


async def large(scope: Any, receive: Any, send: Any) -> None:
    """Answer everything with more than a connection holds."""
    if scope["type"] != "http":
        return
    await receive()
    headers = [(b"content-length", str(LARGE).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": bytes(LARGE)})


def slow(address: tuple[str, int]) -> socket.socket:
    """Ask for a large answer, and read nothing."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(60)
    made.connect(address)
    made.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return made


def rest(connection: socket.socket) -> int:
    """Read what still comes; give its bytes, or -1 where the server ended the connection at once."""
    size = 0
    try:
        while part := connection.recv(1 << 16):
            size += len(part)
    except ConnectionResetError:
        return -1
    return size


def test_a_client_that_takes_nothing_is_cut_off_and_one_that_reads_slowly_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "_DEADLINES", connections._DEADLINES._replace(part=4.0))
    ended: list[str] = []
    with in_thread(large, on_ended=ended.append) as address, slow(address) as still:
        with slow(address) as steady:
            size = 0
            while size < LARGE:
                part = steady.recv(LARGE // 24)
                assert part
                size += len(part)
                time.sleep(0.01)
        deadline = time.monotonic() + 30
        while "slow" not in ended:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert rest(still) < LARGE
    assert ended == ["slow"]


def test_a_client_has_a_number_of_connections_and_a_proxy_has_more() -> None:
    ended: list[str] = []
    few = Limits(connections_per_address=3)
    with (
        in_thread(sound_app(), limits=few, on_ended=ended.append) as address,
        contextlib.ExitStack() as stack,
    ):
        made, answers = [], []
        for _ in range(5):
            # The server may end a connection that it refuses before the client knows that it has one.
            with contextlib.suppress(ConnectionError):
                made.append(stack.enter_context(socket.create_connection(address, 30)))
        for each in made:
            with contextlib.suppress(ConnectionError):
                each.sendall(ASK)
                answers.append(each.recv(12))
        assert [answer for answer in answers if answer] == [b"HTTP/1.1 200"] * 3
        assert ended == ["crowded"] * 2
        made[0].close()
        deadline = time.monotonic() + 30
        while True:
            # Its place is free when the server has noticed.
            with (
                contextlib.suppress(ConnectionError),
                socket.create_connection(address, 30) as again,
            ):
                again.sendall(ASK)
                if again.recv(12):
                    break
            assert time.monotonic() < deadline
    from discreet.web.clients import networks

    proxies = networks(["127.0.0.0/8"])
    crowd = Crowd(few, proxies)
    assert all(crowd.admits("127.0.0.1") for _ in range(9))


def test_where_all_are_taken_the_next_waits_and_the_log_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with (
        in_thread(sound_app(), limits=Limits(connections=2)) as address,
        contextlib.ExitStack() as stack,
    ):
        made = [stack.enter_context(socket.create_connection(address, 30)) for _ in range(4)]
        for each in made:
            each.sendall(ASK)
        assert [each.recv(12) for each in made[:2]] == [b"HTTP/1.1 200"] * 2
        made[2].settimeout(0.3)
        with pytest.raises(TimeoutError):
            made[2].recv(12)
        made[2].settimeout(30)
        made[0].close()
        assert made[2].recv(12) == b"HTTP/1.1 200"
        made[1].close()
        assert made[3].recv(12) == b"HTTP/1.1 200"
    said = {record.getMessage() for record in caplog.records if record.name == "discreet.service"}
    assert said == {"2 connections are open; more are taken when one ends"}


def test_requests_that_are_not_http_are_counted_and_soon_not_answered() -> None:
    ended: list[str] = []
    few = Limits(rate=0.001, burst=2)
    answers = []
    with in_thread(sound_app(), limits=few, on_ended=ended.append) as address:
        for _ in range(4):
            with socket.create_connection(address, 30) as made:
                made.sendall(b"\x16\x03\x01 TLS\r\n\r\n")
                try:
                    answers.append(made.recv(12))
                except ConnectionResetError:
                    answers.append(b"")
    assert answers == [b"HTTP/1.1 400"] * 2 + [b""] * 2
    assert ended == ["invalid"] * 4


def test_no_more_connections_than_files_that_may_be_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for most, expected in ((1024, 960), (80, 16), (10**6, 4096), (resource.RLIM_INFINITY, 4096)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, most=most: (most, most))
        assert max_connections(4096) == expected
    monkeypatch.setattr(resource, "getrlimit", lambda _: (79, 10**6))
    with pytest.raises(InvalidProblemError, match="limit of open files: expected 80 or more"):
        max_connections(4096)


def test_one_message_is_logged_once_a_minute_with_the_number_left_out() -> None:
    now = [0.0]
    repetitions = Repetitions(lambda: now[0])

    def passes(value: int, level: int = logging.WARNING) -> str | None:
        record = logging.LogRecord(
            "discreet.service", level, "f", 1, "%s connections", (value,), None
        )
        return record.getMessage() if repetitions.filter(record) else None

    assert [passes(value) for value in (5, 6, 7)] == ["5 connections", None, None]
    now[0] = 61.0
    assert passes(8) == "8 connections (2 more before)"
    assert passes(9, logging.ERROR) == passes(9, logging.ERROR) == "9 connections"


def test_what_libraries_and_python_say_is_one_line_without_the_words_of_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A test of Dask may have silenced it in this process.
    monkeypatch.setattr(logging.getLogger("asyncio"), "level", logging.WARNING)
    logging.getLogger("asyncio").manager._clear_cache()  # type: ignore[attr-defined] # levels are cached
    lines: list[tuple[str, str]] = []
    with logged_by(lambda level, message: lines.append((level, message))):
        logging.getLogger("uvicorn.error").warning("first\nline")
        try:
            int("private 4711")
        except ValueError:
            logging.getLogger("asyncio").exception("Task exception: private 4711")
        logging.getLogger("py.warnings").warning("deprecated")
    assert [level for level, _ in lines] == ["warning", "error", "warning"]
    assert lines[0][1] == "first line"
    assert lines[1][1].startswith("asyncio: ValueError at ")
    assert "4711" not in str(lines)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "city.mechanism"
    save_mechanism(mechanism(), path)
    return path


def test_more_clients_than_descriptors_cost_no_log_and_no_processor(stored: Path) -> None:
    """By itself asyncio wrote a traceback for each try: 6.6 MB in ten seconds."""
    process, port = started(stored, "--log", "json", files=120)
    try:
        with contextlib.ExitStack() as stack:
            made = [
                stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
                for _ in range(150)
            ]
            made[0].sendall(ASK)
            assert made[0].recv(12) == b"HTTP/1.1 200"
            one = psutil.Process(process.pid)
            before = sum(one.cpu_times()[:2])
            time.sleep(3)
            assert sum(one.cpu_times()[:2]) - before < 1.0
            assert len([c for c in one.net_connections() if c.status == "ESTABLISHED"]) == 56
        answer = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=30)
        assert answer.status_code == 200
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    lines = [json.loads(line) for line in err.splitlines()]
    assert [line["event"] for line in lines] == ["started", "ready", "warning", "stopped"]
    assert lines[2]["message"] == "56 connections are open; more are taken when one ends"


def test_too_few_descriptors_are_said_at_start(stored: Path) -> None:
    line = ["serve", "--mechanism", str(stored), "--port", "0"]
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (70, 70));"
        "from discreet.cli import main; main()"
    )
    done = warm.run(*line, code=code)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "limit of open files: expected 80 or more: `ulimit -n 1024` before it" in done.stderr


def test_every_line_of_a_log_for_programs_is_json(stored: Path) -> None:
    process, port = started(
        stored, "--log=json", "--rate", "1", DISCREET_PROT="1", DISCREET_LOG="text"
    )
    try:
        for request in (
            b"\x16\x03\x01 TLS\r\n\r\n",
            b"GET / HTTP/9\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n",
        ):
            with socket.create_connection(("127.0.0.1", port), 30) as made:
                made.sendall(request)
                assert made.recv(12).startswith(b"HTTP/1.1 ")
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    lines = [json.loads(line) for line in err.splitlines()]
    told = {line.get("message") for line in lines if line["event"] == "warning"}
    assert told == {
        "DISCREET_PROT is no setting; did you mean DISCREET_PORT?",
        "Invalid HTTP request received.",
        "X-Forwarded-For came from an address that is no trusted proxy; it is not read",
    }


@pytest.mark.parametrize(
    ("options", "environment"), [(["--log", "json"], {}), ([], {"DISCREET_LOG": "json"})]
)
def test_the_reason_of_an_end_is_json_too(options: list[str], environment: dict[str, str]) -> None:
    line = ["serve", "--grid", "3x3", "--cell", "1", "--epsilon", "much", *options]
    done = warm.run(*line, env={**warm.WHERE, **environment})
    assert done.returncode == 2
    (only,) = done.stderr.splitlines()
    assert json.loads(only)["error"]["argument"] == "--epsilon"
