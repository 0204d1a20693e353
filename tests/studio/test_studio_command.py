"""The command: it prints an address on loopback that works, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from discreet.cli.app import run

RUN = "import sys; from discreet.cli.app import run; sys.exit(run(sys.argv[1:]))"


@pytest.mark.skipif(sys.platform == "win32", reason="signals and modes of POSIX")
def test_it_serves_and_leaves_nothing(tmp_path: Path) -> None:
    places = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    ledger = tmp_path.with_name(f"{tmp_path.name}-ledger.db")
    options = ["studio", "--no-browser", "--ledger", str(ledger)]
    command = [sys.executable, "-c", RUN, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=places) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        for page in (url, f"{url}counts"):
            assert httpx.get(page, trust_env=False, timeout=30).status_code == 200
        assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o700]
        assert not ledger.exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["studio", "--no-browser", "--port", "70000"]) == 2
    assert "--port" in capsys.readouterr().err
