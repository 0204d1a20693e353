"""A fork and a process that is begun anew can't be told apart by what tests look at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import warm

CODES = {
    "an end": "print('out')",
    "a status": "import sys; sys.stderr.write('err'); sys.exit(5)",
    "words": "import sys; sys.exit('words')",
    "an error": "raise ValueError('odd')",
    "an interrupt": "raise KeyboardInterrupt",
    "a signal": "import os; os.kill(os.getpid(), 15)",
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
    command = [sys.executable, "-c", code, "one", "two"]
    env = {**warm.WHERE, "COLUMNS": "77"}
    assert warm._may_fork(command, env) is (sys.platform == "linux")
    forked, anew = (
        one(command, cwd=tmp_path, env=env, data=b"in") for one in (warm.run, warm.begin)
    )
    assert (forked.returncode, forked.stdout) == (anew.returncode, anew.stdout)
    # A traceback also shows whence the code was run.
    assert forked.stderr.splitlines()[-1:] == anew.stderr.splitlines()[-1:]


def test_what_counts_before_a_process_begins_is_not_for_a_fork() -> None:
    plain = [sys.executable, "-c", "pass"]
    assert not warm._may_fork([sys.executable, "-I", "-c", "pass"], warm.WHERE)
    assert not warm._may_fork(["sh", "-c", "pass"], warm.WHERE)
    for name in ("NUMBA_CACHE_DIR", "PYTHONUTF8", "FORCE_COLOR"):
        assert not warm._may_fork(plain, {**warm.WHERE, name: "1"})
    assert not warm._may_fork(
        plain, {name: value for name, value in warm.WHERE.items() if name != "PYTHONPATH"}
    )


def test_a_fork_that_takes_too_long_is_killed() -> None:
    command = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"]
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run(command, timeout=0.5)
    assert warm.run([sys.executable, "-c", "print('next')"]).stdout == "next\n"
