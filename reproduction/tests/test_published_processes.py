"""A server of the published protocol is killed while a job runs, and the client sends the job again."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from discreet.core.outcome import Unproven
from discreet.service.asking import Server
from discreet_reproduction.lrgeo.service.published import PaperClient
from service.running import region
from service.test_processes import HERE, ROOT, processes, start

__all__ = ["processes"]


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
    for _ in range(6000):
        if (tmp_path / "begun").exists():
            break
        time.sleep(0.05)
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
