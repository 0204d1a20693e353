"""Tests run in forks of a process that has loaded the heavy libraries: for sweeps, half the time of fresh processes.

What is mutated is never loaded here: a fork imports the library from its copy. Files of kernels are not swept: what was
compiled of them outlives a fork.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HEAVY = (
    "hypothesis.extra.numpy",
    "narwhals",
    "numba",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "sybil",
)
OPTIONS = ("-q", "-x", "--tb=no", "--hypothesis-seed=0", "-p", "no:randomly", "-p", "no:xdist")
QUIET = ("-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")


def preload() -> None:
    """Load what every fork needs; one thread each, since threads do not survive a fork."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in HEAVY:
        importlib.import_module(name)
    loaded = [name for name in sys.modules if name.split(".")[0] == "discreet"]
    if loaded:
        raise RuntimeError(f"forks would share {loaded[0]}")


def run_forked(copy: Path, tests: Sequence[str], *, limit: float) -> tuple[int | None, float, str]:
    """Run tests in a fork that works in a copy, up to the first that fails.

    Returns
    -------
    tuple of int or None, float and str
        pytest's exit status, ``None`` where the time was not enough; seconds; what was printed.
    """
    began, log = time.monotonic(), copy / "log"
    child = os.fork()
    if not child:
        _test(copy, tests, log)
    while time.monotonic() - began < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            seconds = time.monotonic() - began
            return os.waitstatus_to_exitcode(status), seconds, log.read_text(encoding="utf-8")
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None, time.monotonic() - began, log.read_text(encoding="utf-8")


def _test(copy: Path, tests: Sequence[str], log: Path) -> None:
    """Be the fork: never return."""
    status = -1
    try:
        os.setsid()
        printed = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        os.chdir(copy)
        sys.path[:0] = [str(copy / "src"), str(copy / "tests")]
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
        status = int(pytest.main([*OPTIONS, *QUIET, *tests]))
        sys.stdout.flush()
    finally:
        os._exit(status & 0xFF)
