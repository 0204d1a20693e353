"""A fork and a process that is begun anew can't be told apart by what tests look at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warm import WHERE, begin, command

CODES = {
    "an end": "print('out')",
    "a status": "import sys; sys.stderr.write('err'); sys.exit(5)",
    "words": "import sys; sys.exit('words')",
    "an error": "raise ValueError('odd')",
    "an interrupt": "raise KeyboardInterrupt",
    "a signal": "import os; os.kill(os.getpid(), 15)",
    "a kill": "import os; os.kill(os.getpid(), 9)",
    "streams": "import sys; print(sys.stdin.read(), sys.stdout.isatty(), sys.stderr.encoding)",
    "letters": "print('caf\\u00e9', file=__import__('sys').stderr)",
    "arguments": "import os, sys; print(sys.argv, os.getcwd(), os.environ['COLUMNS'])",
    "what was registered": "import atexit; atexit.register(print, 'at last')",
    "a thread": "import threading, time; threading.Thread(target=lambda: [time.sleep(0.1), print('late')]).start()",
    "the main module": "import sys; print(__name__, sys.modules['__main__'].__dict__ is globals())",
    "a process of its own": "import subprocess; subprocess.run(['true'], check=True); print('ran')",
}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_a_fork_does_what_a_process_does(code: str, tmp_path: Path) -> None:
    env, plain = {**WHERE, "COLUMNS": "77"}, [sys.executable, "-c", code]
    assert (command(code, env) != plain) is hasattr(os, "pidfd_open")
    forked, anew = (
        begin(*line, "one", "na\udcffme", cwd=tmp_path, env=env, data=b"in")
        for line in (command(code, env), plain)
    )
    assert (forked.returncode, forked.stdout) == (anew.returncode, anew.stdout)
    # A traceback also shows whence the code was run.
    assert forked.stderr.splitlines()[-1:] == anew.stderr.splitlines()[-1:]


def test_what_counts_before_a_process_begins_is_not_for_a_fork() -> None:
    for name in ("NUMBA_CACHE_DIR", "PYTHONUTF8", "FORCE_COLOR"):
        assert command("pass", {**WHERE, name: "1"}) == [sys.executable, "-c", "pass"]
    fewer = {name: value for name, value in WHERE.items() if name != "PYTHONPATH"}
    assert command("pass", fewer) == [sys.executable, "-c", "pass"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_signals_reach_a_fork(number: signal.Signals) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with subprocess.Popen(command(code), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.send_signal(number)
        assert process.wait(30) == -number
    end = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and child != process.pid:
        assert time.monotonic() < end
        time.sleep(0.01)
