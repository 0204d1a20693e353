"""The command line. It is an extra: without it, one line says how to install it."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from pathlib import Path

from discreet.cli.signals import ended_in_order, press_again, said_while_running

__all__ = ["main"]


def main() -> None:
    """Run ``discreet`` with the arguments of the process, and exit with its status."""
    # Matrices are small, and threads of BLAS wait for each other in loops: on two shared cores the anchored program
    # for 900 secrets took 7 to 45 CPU seconds with them, 1.8 without. It counts only before NumPy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_streams()
    _keep_stderr()
    sys.unraisablehook = _again
    threading.excepthook = _in_a_thread
    with ended_in_order(to_the_end=True):
        try:
            from discreet.cli.app import run
        except KeyboardInterrupt:
            sys.exit(130)
        except ModuleNotFoundError as error:
            from discreet.core.extras import install_command, packages_of

            missing = (error.name or "").partition(".")[0]
            if missing not in packages_of("cli"):
                raise
            needs = f"the command line needs: {install_command('cli')}"
            sys.stderr.write(f"discreet: {missing} is not installed; {needs}\n")
            sys.exit(2)
        with said_while_running(sys.argv[1:]):
            status = run(sys.argv[1:])
        sys.exit(status)


def _open_streams() -> None:
    """Open standard streams that the parent process closed: else the next file would take their numbers.

    Letters that a stream cannot write are escaped from now on.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - for the whole run
            setattr(sys, name, nowhere)
    for stream in (sys.stdout, sys.stderr):
        # A name of a place that a terminal cannot show is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _keep_stderr() -> None:
    """Keep standard error for what the command says itself.

    Libraries in Rust and C write to descriptor 2 by themselves, and a panic may quote a cell there. So what is ours
    goes through a copy of it, and descriptor 2 leads nowhere, in child processes too.
    """
    ours = sys.stderr
    with contextlib.suppress(OSError, ValueError):
        if isinstance(ours, io.TextIOWrapper) and ours is sys.__stderr__:
            ours.flush()
            descriptor = ours.fileno()
            copy = os.dup(descriptor)
            sys.stderr = os.fdopen(copy, "w", 1, encoding=ours.encoding, errors=ours.errors)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def _again(lost: sys.UnraisableHookArgs) -> None:
    """Press Ctrl-C again where it fell into a callback, such as those of a compiler, which drop what is raised."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        threading.Timer(0.05, press_again).start()
    elif lost.exc_value is not None:
        _say_ignored(lost.exc_value)


def _in_a_thread(lost: threading.ExceptHookArgs) -> None:
    """Print that an error ended a thread; the command goes on."""
    if lost.exc_value is not None and not isinstance(lost.exc_value, SystemExit):
        _say_ignored(lost.exc_value)


def _say_ignored(error: BaseException) -> None:
    """Report a failure outside the main thread in one line, without its message, which may quote a value."""
    from discreet.core.faults import place_of

    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"discreet: a failure aside, please report it: {place_of(error)}\n")
