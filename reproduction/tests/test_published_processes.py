"""A server of the published protocol is killed while a job runs, and the client sends the job again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet.core.outcome import Unproven
from discreet.service.asking import Server
from discreet_reproduction.lrgeo.service.published import PaperClient
from service.running import region

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]
WHERE = {
    **os.environ,
    "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}",
    "OPENBLAS_NUM_THREADS": "1",
}
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
    command = [*code, *(str(argument) for argument in arguments)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=WHERE)
    processes.append(process)
    return process


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.slow
def test_a_server_is_killed_in_mid_job_and_the_client_sends_it_again(
    tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    port = free_port()
    code = [sys.executable, str(ROOT / "reproduction" / "tests" / "solving.py")]
    first = start(processes, tmp_path, port, code=code)
    assert first.stdout is not None
    assert first.stdout.readline().startswith("http")
    found: list[object] = []
    client = PaperClient(Server(f"http://127.0.0.1:{port}", patience=300), patience=600)
    thread = threading.Thread(target=lambda: found.append(client.report(HERE)), daemon=True)
    thread.start()
    until((tmp_path / "begun").exists)
    first.send_signal(signal.SIGKILL)
    first.wait(60)
    (tmp_path / "begun").unlink()
    (tmp_path / "go").touch()
    start(processes, tmp_path, port, code=code)
    thread.join(300)
    client.close()
    (outcome,) = found
    assert isinstance(outcome, Unproven)
    assert outcome.result in [region().where(k) for k in range(region().K)]
    assert (tmp_path / "begun").exists()


def until(happens: Any) -> None:
    """Wait for something that other processes do."""
    for _ in range(6000):
        if happens():
            return
        time.sleep(0.05)
    raise AssertionError
