"""Run ``python -c CODE`` as a process of its own that is forked from one which has loaded the libraries.

Loading numba, its caches and the command takes one to two seconds of a processor, each time; a fork takes milliseconds.
The child has its own folder, environment, streams and exit status, and ends as Python does. What counts before a
process has begun is not for a fork: other options of Python, limits of memory, variables that libraries read when they
are loaded. Then, and where there is no fork, :func:`run` starts Python.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parents[1]
WHERE: Final = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "COLUMNS": "100"}
"""The usual environment of a command in a test."""
COMMAND: Final = [sys.executable, "-c", "from discreet.cli import main; main()"]

READ_LATE: Final = {"COLUMNS", "NO_COLOR", "TMPDIR", "XDG_STATE_HOME"}
"""Variables that a child may have otherwise than the process that it is forked from, beside our own: no library reads
them early."""

LOADED: Final = (
    "discreet.cli.app",
    "discreet.artefact.judging",
    "discreet.artefact.outputs",
    "discreet.cli.calls",
    "discreet.core.kernels.distances",
    "discreet.hierarchy.contingency",
    "discreet.kanonymity",
    "discreet.ledger",
    "discreet.lrgeo.points.published",
    "discreet.metricdp",
    "discreet.service",
    "discreet.submodular",
    "discreet.tables.frames",
    "highspy",
    "narwhals._polars.dataframe",
    "polars",
    "pydantic",
    "typer._adapters",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
)
"""Modules loaded before a fork; importing them starts no thread."""


def command(code: str = COMMAND[2], env: Mapping[str, str] = WHERE) -> list[str]:
    """Give the beginning of a command line that runs ``CODE``: in a fork where that is the same, else by Python.

    A fork begins in a millisecond, and is killed a moment after the process that stands for it.
    """
    different = {name for name, _ in {*env.items()} ^ {*WHERE.items()}} - READ_LATE
    if hasattr(os, "pidfd_open") and all(name.startswith("DISCREET_") for name in different):
        return [sys.executable, "-I", "-S", str(ROOT / "tests" / "warm_client.py"), _parent(), code]
    return [sys.executable, "-c", code]


def run(
    *arguments: object,
    code: str = COMMAND[2],
    cwd: Path | None = None,
    env: Mapping[str, str] = WHERE,
    data: bytes = b"",
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run ``python -c CODE ARGUMENTS``, as :func:`command` does; return its status and what it wrote, as UTF-8."""
    return begin(*command(code, env), *arguments, cwd=cwd, env=env, data=data, timeout=timeout)


def begin(
    *words: object,
    cwd: Path | None = None,
    env: Mapping[str, str] = WHERE,
    data: bytes = b"",
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run a command line; return its status and what it wrote, as UTF-8."""
    line = [str(word) for word in words]
    done = subprocess.run(
        line, input=data, capture_output=True, cwd=cwd, env=dict(env), timeout=timeout, check=False
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(line, done.returncode, out, err)


@cache
def _parent() -> str:
    """Start the process that has loaded the libraries; return its address. It ends with this one."""
    folder = tempfile.mkdtemp(prefix="warm-")
    address = str(Path(folder, "socket"))
    process = subprocess.Popen(
        [sys.executable, "-c", "import warm; warm.serve()", address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**WHERE, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}"},
    )

    def end() -> None:
        process.communicate()
        shutil.rmtree(folder)

    atexit.register(end)
    assert process.stdout is not None
    assert process.stdout.readline() == b"loaded\n"
    return address


def serve() -> None:
    """Load the libraries, and fork for each request; return in the children alone, once the code of each has run.

    A request is a length of four bytes with three descriptors, and JSON; the answers are lines: the number of the
    child, and its status once it has ended.
    """
    # As the command does, before NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in LOADED:
        import_module(name)
    from discreet.cli.commands import OWN, command_named

    for panel in OWN.values():
        for name in panel:
            command_named(name)
    from numba.core.registry import cpu_target

    cast("Any", cpu_target).target_context.refresh()
    gc.freeze()
    # Polars warns of its threads, and has none before a table is read.
    warnings.filterwarnings("ignore", message=".*fork", category=RuntimeWarning)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen()
        os.write(1, b"loaded\n")
        asks = listener.fileno()
        while asks in select.select([asks, 0], [], [])[0]:
            asked, _ = listener.accept()
            with asked:
                if not os.fork():
                    listener.close()
                    _answer(asked)


def _answer(asked: socket.socket) -> None:
    """Fork a child for a request, and report its end, or end it with whoever asked; the child becomes what is asked."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, descriptors, _, _ = socket.recv_fds(asked, 4, 3)
    told = b""
    while len(told) < int.from_bytes(length, "big"):
        told += asked.recv(1 << 16) or sys.exit("the request ended")
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        asked.close()
        os.close(theirs)
        if os.read(ours, 1):
            os.close(ours)
            _become(json.loads(told), descriptors)
        os._exit(1)
    for one in (*descriptors, ours):
        os.close(one)
    with contextlib.suppress(ConnectionError):
        asked.sendall(b"%d\n" % child)
        os.write(theirs, asked.recv(1))
        if (gone := asked.fileno()) in select.select([os.pidfd_open(child), gone], [], [])[0]:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        asked.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Take the streams, the folder and the environment of a request, run its code as the main module, and end."""
    os.setpgid(0, 0)
    for place, one in enumerate(descriptors):
        os.dup2(one, place)
        os.close(one)
    # Opened anew, as they were: what Python opened was no pipe.
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        old, mode = getattr(sys, name), "w" if place else "r"
        lines = 1 if place == 2 else -1
        stream = open(place, mode, lines, old.encoding, old.errors, closefd=False)  # noqa: SIM115 - for the whole run
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    tempfile.tempdir = None
    code, *arguments = request["words"]
    sys.argv = ["-c", *arguments]
    sys.path[:] = [one for one in sys.path if one != str(ROOT / "tests")]
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    status: object = None
    try:
        exec(compile(code, "<string>", "exec"), vars(main))  # noqa: S102 - the code of a test
    except SystemExit as end:
        status = end.code
    if status is None or isinstance(status, int):
        _end(status or 0)
    sys.exit(cast("Any", status))


def _end(status: int) -> None:
    """End as Python does: threads, what was registered, streams; without taking apart every module, for seconds."""
    cast("Any", threading)._shutdown()
    cast("Any", atexit)._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status & 0xFF)
