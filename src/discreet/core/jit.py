"""The one wrapper around compiled kernels, and the clock that stands still while they are compiled.

A module of kernels is in a folder ``kernels`` and is imported on first use, inside the function that needs it, so
that ``import discreet`` loads no compiler. Kernels are cached on disk, release the interpreter lock, and keep
IEEE arithmetic: a kernel on whose floats a certificate depends must not be compiled with ``fastmath``.

The first run on a machine compiles, which may take half a minute. A time limit is for a search and not for that: what
searches reads :func:`clock`, and a command says with :func:`compiling` what it waits for.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["clock", "compiling", "kernel"]

F = TypeVar("F", bound="Callable[..., object]")


@final
class _Compilation:
    """How long this process has compiled so far, and who wants to know that it does.

    Kernels that call each other are compiled within one another; only the outermost counts.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth, self.since, self.seconds = 0, 0.0, 0.0
        self.listeners: list[Callable[[], None]] = []
        self.watched = False

    def begin(self) -> None:
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.since = time.perf_counter()

    def end(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.perf_counter() - self.since

    def tell(self) -> None:
        while self.listeners:
            self.listeners.pop()()

    def now(self) -> float:
        with self.lock:
            until = self.since if self.depth else time.perf_counter()
            return until - self.seconds


_compilation = _Compilation()


def kernel(function: F) -> F:
    """Compile a function of arrays on its first call; with ``NUMBA_DISABLE_JIT=1`` leave it plain Python."""
    _compilation.begin()
    try:
        import numba

        _watch()
    finally:
        _compilation.end()
    return cast("F", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def clock() -> float:
    """Read a clock in seconds that stands still while the compiler is loaded and while kernels are compiled.

    Returns
    -------
    float
        Seconds since some moment, as of ``time.perf_counter``; only differences mean something. Kernels that were found
        compiled on the disk take nothing off.

    Notes
    -----
    It knows what this process compiles, in whichever thread; a process that it started has a clock of its own.
    """
    return _compilation.now()


@contextmanager
def compiling(say: Callable[[], None]) -> Iterator[None]:
    """Call a function once, before the first kernel is compiled inside the block, if one is.

    Parameters
    ----------
    say
        Called in the thread that compiles.
    """
    _compilation.listeners.append(say)
    try:
        yield
    finally:
        # Being called takes it off, too.
        if say in _compilation.listeners:
            _compilation.listeners.remove(say)


def _watch() -> None:
    """Let numba say when it compiles, once."""
    if _compilation.watched:
        return
    from numba.core import event
    from numba.core.registry import cpu_target

    # The first kernel would do it: a second of loading, in the midst of a search.
    cpu_target.target_context.refresh()

    class Watch(event.Listener):
        """Receives what numba tells."""

        def on_start(self, _event: object) -> None:
            _compilation.begin()
            _compilation.tell()

        def on_end(self, _event: object) -> None:
            _compilation.end()

    register: Any = event.register
    register("numba:compile", Watch())
    _compilation.watched = True
