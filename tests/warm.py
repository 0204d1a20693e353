"""Run ``python -c CODE`` as a process of its own that is forked from one which has loaded the libraries.

Loading numba, its caches and the command takes one to two seconds of a processor, each time; a fork takes milliseconds.
The child has its own folder, environment, streams and exit status, and ends as Python does. What counts before a
process has begun is not for a fork: other options of Python, limits of memory, variables that libraries read when they
are loaded. Then, and where there is no fork, :func:`run` starts Python.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT: Final = Path(__file__).parents[1]
WHERE: Final = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "COLUMNS": "100"}
"""The usual environment of a command in a test."""
COMMAND: Final = [sys.executable, "-c", "from discreet.cli import main; main()"]

READ_LATE: Final = {"COLUMNS", "NO_COLOR", "TMPDIR", "XDG_STATE_HOME"}
"""Variables that a child may have otherwise than the process that it is forked from: no library reads them early."""

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
    "discreet.submodular",
    "discreet.tables.frames",
    "highspy",
    "narwhals._polars.dataframe",
    "polars",
    "pydantic",
    "typer._adapters",
)
"""Modules loaded before a fork; importing them starts no thread."""


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] = WHERE,
    data: bytes = b"",
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run ``[sys.executable, "-c", CODE, *ARGUMENTS]``; return its status and what it wrote, as UTF-8.

    Raises
    ------
    subprocess.TimeoutExpired
        After `timeout` seconds; the process is killed.
    """
    words = [str(word) for word in command]
    if _may_fork(words, env):
        status, out, err = _parent().run(words, cwd, env, data, timeout)
        return subprocess.CompletedProcess(words, status, out.decode(), err.decode())
    return begin(words, cwd=cwd, env=env, data=data, timeout=timeout)


def begin(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] = WHERE,
    data: bytes = b"",
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run a command as :func:`run` does, in a process that is begun anew."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, input=data, capture_output=True, cwd=cwd, env=dict(env), timeout=timeout, check=False
    )
    return subprocess.CompletedProcess(
        words, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def _may_fork(words: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a fork is the same as a process: Linux, plain code, and an environment that differs in late variables."""
    different = {name for name, value in {*env.items()} ^ {*WHERE.items()}}
    return (
        sys.platform == "linux" and words[:2] == [sys.executable, "-c"] and different <= READ_LATE
    )


class _Parent:
    """The process that has loaded everything, seen from the tests."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-c", "import warm; warm.serve()", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**WHERE, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}"},
        )
        theirs.close()
        self._answers = self._ours.makefile("r", encoding="utf-8")
        atexit.register(self.close)

    def run(
        self,
        words: list[str],
        cwd: Path | None,
        env: Mapping[str, str],
        data: bytes,
        timeout: float,
    ) -> tuple[int, bytes, bytes]:
        """Fork a child for a command, wait for it, and return its status and what it wrote."""
        request = {"words": words[2:], "cwd": str(cwd or Path.cwd()), "env": dict(env)}
        told = json.dumps(request).encode()
        pipes = [os.pipe() for _ in range(3)]
        (their_in, our_in), (our_out, their_out), (our_err, their_err) = pipes
        theirs = [their_in, their_out, their_err]
        socket.send_fds(self._ours, [len(told).to_bytes(4, "big")], theirs)
        self._ours.sendall(told)
        for one in theirs:
            os.close(one)
        child = int(self._answers.readline())
        read: dict[int, bytes] = {}

        def take(descriptor: int) -> None:
            with os.fdopen(descriptor, "rb") as stream:
                read[descriptor] = stream.read()

        readers = [threading.Thread(target=take, args=[one]) for one in (our_out, our_err)]
        for reader in readers:
            reader.start()
        late = threading.Event()

        def kill() -> None:
            late.set()
            os.kill(child, signal.SIGKILL)

        clock = threading.Timer(timeout, kill)
        clock.start()
        try:
            with os.fdopen(our_in, "wb") as stream:
                stream.write(data)
        except BrokenPipeError:
            pass
        status = int(self._answers.readline())
        clock.cancel()
        for reader in readers:
            reader.join()
        if late.is_set():
            raise subprocess.TimeoutExpired(words, timeout, read[our_out], read[our_err])
        return status, read[our_out], read[our_err]

    def close(self) -> None:
        """End the process: it ends with its socket."""
        self._answers.close()
        self._ours.close()
        self._process.wait(30)


@cache
def _parent() -> _Parent:
    return _Parent()


def serve() -> None:
    """Load the libraries, and fork a child for each request; return in the process of the tests' choice, once it ends.

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
    number = int(sys.argv[1])
    with socket.socket(fileno=number) as theirs:
        while True:
            length, descriptors, _, _ = socket.recv_fds(theirs, 4, 3)
            if not length:
                return
            told = b""
            while len(told) < int.from_bytes(length, "big"):
                told += theirs.recv(1 << 16)
            child = _fork()
            if not child:
                theirs.detach()
                os.close(number)
                break
            theirs.sendall(b"%d\n" % child)
            for one in descriptors:
                os.close(one)
            _, status = os.waitpid(child, 0)
            theirs.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    _become(json.loads(told), descriptors)


def _fork() -> int:
    """Fork; polars warns of its threads, and has none before a table is read."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Take the streams, the folder and the environment of a request, and run its code as the main module."""
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
