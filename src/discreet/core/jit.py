"""The one wrapper around compiled kernels, and the clock that stands still while they are compiled.

A module of kernels is in a folder ``kernels`` and is imported on first use, inside the function that needs it, so
that ``import discreet`` loads no compiler. Kernels are cached on disk, release the interpreter lock, and keep
IEEE arithmetic: a kernel on whose floats a certificate depends must not be compiled with ``fastmath``.

Several processes may compile one kernel for different types at the same time, each with an empty cache before it.
Numba numbers the files of a kernel by an index that each process writes from what it read, so that one may be given
the machine code of another's types: a crash, or a wrong number. Here the names of the files follow from the types, and
the files say for which they are. Numba also checks only the file of a kernel for changes, and not those of the kernels
whose code it holds; here a change of any file of a folder recompiles all kernels of it.

Where there is no numba, as on platforms that have no compiler, kernels run as plain Python on small arrays: enough to
verify, to sample and to design for some dozens of secrets. More is refused in a sentence, since it would take hours.

The first run on a machine compiles, which may take half a minute. A time limit is for a search and not for that: what
searches reads :func:`clock`, and a command says with :func:`compiling` what it waits for.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
import time
from contextlib import contextmanager, suppress
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast, final

from discreet.core.errors import SolverError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

F = TypeVar("F", bound="Callable[..., object]")

_WITHIN = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True}
"""Options for functions that only kernels call: no wrapper for Python or C."""

PLAIN_MOST = 1 << 17
"""Numbers in the arrays of one call up to which a kernel runs as plain Python: a design
for 8 by 8 cells takes 33,000 and 5 seconds, one for 10 by 10 with a radius 71,000 and 2.5 (2026-11)."""


@cache
def has_compiler() -> bool:
    """Whether numba is installed; it is not imported."""
    with suppress(ImportError):
        return importlib.util.find_spec("numba") is not None
    return False


def user_cache() -> str:
    """Return the user's folder for compiled code, used where that of the package can't be written.

    No kernel is loaded, which would make its folder. ImportError without numba.
    """
    from numba.misc import appdirs

    of_user: Any = appdirs
    return str(of_user.user_cache_dir("numba", appauthor=False))


def need_compiler() -> None:
    """Refuse what has no plain form where numba is missing.

    Raises
    ------
    SolverError
        Without numba.
    """
    if not has_compiler():
        detail = (
            "without it, verification, sampling and designs for some dozens of secrets work, and nothing larger; "
            "install numba, or use a machine that has it"
        )
        raise SolverError("numba", "not installed", detail)


def _plain(function: F) -> F:
    """Return a kernel that runs as Python does, on small arrays only; like compiled code it warns of no overflow.

    A call whose arrays, those in tuples too, have more than PLAIN_MOST entries together raises SolverError.
    """

    @wraps(function)
    def run(*given: object) -> object:
        import numpy as np

        every = [array for one in given for array in (one if isinstance(one, tuple) else (one,))]
        if sum(array.size for array in every if isinstance(array, np.ndarray)) > PLAIN_MOST:
            need_compiler()
        with np.errstate(all="ignore"):
            return function(*given)

    return cast("F", run)


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
        """Note that a compilation begins; several may run inside each other or at once.

        The first one stops the clock of :meth:`now`, until each of them has ended.
        """
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.since = time.perf_counter()

    def end(self) -> None:
        """Note that a compilation ends; add the seconds in which any ran.

        It must follow a :meth:`begin`.
        """
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.perf_counter() - self.since

    def tell(self) -> None:
        """Call each listener once and forget it."""
        while self.listeners:
            self.listeners.pop()()

    def now(self) -> float:
        """Return the seconds of a clock that stands still while anything is compiled."""
        with self.lock:
            until = self.since if self.depth else time.perf_counter()
            return until - self.seconds


_compilation = _Compilation()


@contextmanager
def _loading() -> Iterator[None]:
    """Count the time in which the compiler is loaded as time of compilation: a context manager."""
    _compilation.begin()
    try:
        yield
    finally:
        _compilation.end()


def kernel(function: F) -> F:
    """Compile a function of arrays on its first call; with ``NUMBA_DISABLE_JIT=1`` leave it plain Python.

    Where numba is missing it is plain Python too, and a call with more than :data:`PLAIN_MOST` numbers in its arrays
    raises a :class:`~discreet.core.errors.SolverError`.
    """
    return _compile(function, no_cfunc_wrapper=True)


def part(function: F) -> F:
    """Compile a function that only kernels call: it has no entry from Python, and a call from there is refused.

    An entry takes every array of every argument apart, a fifth of the time to compile where arguments are
    tuples of arrays (121 and 97 seconds for top-down splitting and local search on a busy machine, November 2026).
    """
    return _without_entry(_compile(function, **_WITHIN))


def _compile(function: F, **options: Any) -> F:  # noqa: ANN401 - options of numba
    """Compile a function, and keep its compiled forms on the disk where numba can write there.

    `options` are those of ``numba.njit``. Without numba, the function runs as Python; see :func:`_plain`. Compiled
    for each combination of types at the first call.
    """
    if not has_compiler():
        return _plain(function)
    with _loading():
        import numba

        _watch()
    try:
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    except RuntimeError:  # pragma: no cover - an account without a home
        # No folder can be written, as in an account without a home: kernels are compiled in each process.
        compiled = numba.njit(nogil=True, error_model="numpy", **options)(function)
    _separate(compiled)
    return cast("F", compiled)


def _without_entry(compiled: F) -> F:
    """Refuse calls from Python, which would jump to nowhere; plain functions stay as they are.

    `compiled` is changed in place and returned; a call from Python raises TypeError.
    """
    name, base = compiled.__name__, type(compiled)
    if not hasattr(compiled, "py_func"):
        return compiled

    def refuse(_self: object, *_given: object) -> None:
        detail = f"{name} has no entry from Python; kernels call it"
        raise TypeError(detail)

    # A class of its own kind, which numba takes for what it was.
    cast("Any", compiled).__class__ = type(base.__name__, (base,), {"__call__": refuse})
    return compiled


def inlined(function: F) -> F:
    """Inline a function into every kernel that calls it; all kernels share one inference of its types.

    A call passes each array in seven words and counts references to it, which takes longer than what small functions
    do: 10 against 4 microseconds for a node of ten rows (Adult, top-down splitting, 2026-11).
    """
    return _without_entry(_not_kept(function, forceinline=True, nogil=True, **_WITHIN))


def disjoint(function: F) -> F:
    """Inline a function, as :func:`inlined`, whose arrays share no memory.

    Loops over its arrays become vector instructions without a test, before each loop, whether the arrays overlap, which
    takes as long as the work on rows of 16 numbers. No result is defined where an array that is written overlaps
    another argument.

    Without numba, the function itself is returned.
    """
    options = {"forceinline": True, "nogil": True, "pipeline_class": _disjoint_passes(), **_WITHIN}
    return _without_entry(_not_kept(function, **options))


def _disjoint_passes() -> Any:  # noqa: ANN401 - numba has no types
    """Return numba's usual passes, with arguments declared not to overlap; ``None`` without numba."""
    if not has_compiler():
        return None
    with _loading():
        from numba.core.compiler import Compiler

    class Disjoint(Compiler):
        """The usual passes."""

        def define_pipelines(self) -> Any:  # noqa: ANN401 - as above  # pragma: no cover - numba calls it
            self.state.flags.noalias = True
            return super().define_pipelines()  # type: ignore[no-untyped-call] # as above

    return Disjoint


def expanded(function: F) -> F:
    """Write a function out where it is called, in the same file, before types are inferred.

    It suits one that calls large kernels: each compiled function holds a copy of all that it calls, which is optimized
    anew (3 to 6 CPU seconds for each level of calls above those of top-down splitting, 2026-11).

    Without numba, the function itself is returned.
    """
    return _not_kept(function, inline="always")


def _not_kept(function: F, **options: Any) -> F:  # noqa: ANN401 - options of numba
    """Compile a function as a part of the kernels that call it; it has no file on the disk of its own.

    `options` are those of ``numba.njit``. Without numba, the function itself is returned.
    """
    if not has_compiler():
        return function
    with _loading():
        import numba
    return cast("F", numba.njit(error_model="numpy", **options)(function))


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

    A context manager; `say` has no arguments. It is never called where all kernels are compiled or on the disk.

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
    """Subscribe to the compile events of numba, once a process.

    The first call loads numba's CPU target, about a second.
    """
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


@final
class Compiled:
    """The compiled forms of one kernel on the disk, files of their own for each combination of types.

    Parameters
    ----------
    folder
        Where the files are.
    name
        What their names begin with: the kernel and its line.
    stamp
        What changes with the source; forms of another stamp, or of another version of the compiler, are not there.
    """

    def __init__(self, folder: str, name: str, stamp: object) -> None:
        self.folder, self.name, self.stamp = folder, name, stamp

    def save(self, key: object, data: object) -> None:
        """Write the compiled form for some types to the disk; if that fails, it is compiled again the next time."""
        files = self._files(key)
        name = files._data_name(1)
        with suppress(OSError):
            # The index last: until then, nothing that it names is of another source.
            files._save_data(name, data)
            files._save_index({key: name})

    def load(self, key: object) -> object | None:
        """Read the compiled form for some types, or ``None`` if there is none, it is damaged or can't be read.

        `key` is what numba made of the types.
        """
        try:
            return cast("object | None", self._files(key).load(key))
        except Exception:  # noqa: BLE001 - pickle raises any error for a damaged file
            return None

    def _files(self, key: object) -> Any:  # noqa: ANN401 - numba has no types
        """Return numba's files of the compiled form for some types; their name is a hash of the types."""
        from numba.core import caching

        files: Any = caching.IndexDataCacheFile
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:20]
        return files(self.folder, f"{self.name}.{digest}", self.stamp)


def _separate(compiled: Any) -> None:  # noqa: ANN401 - numba has no types
    """Use separate cache files for each combination of argument types, if this version of numba allows it.

    The cache of `compiled` is replaced in place; nothing happens where numba has none of the kind.
    """
    cache = getattr(compiled, "_cache", None)
    impl = getattr(cache, "_impl", None)
    if cache is not None and impl is not None and hasattr(cache, "_cache_file"):
        stamp = (
            impl.locator.get_source_stamp(),
            _sources(compiled.py_func.__code__.co_filename.rpartition(os.sep)[0]),
        )
        cache._cache_file = Compiled(cache.cache_path, impl.filename_base, stamp)


@cache
def _sources(folder: str) -> tuple[tuple[str, int, int], ...]:
    """Return name, time and size of the sources in a folder: a compiled kernel is stale once one of them changes.

    Times are in nanoseconds, sizes in bytes; sorted by name, and empty for a folder that can't be read.
    """
    sources = []
    with suppress(OSError):
        for file in os.scandir(folder):
            if file.name.endswith(".py"):
                about = file.stat()
                sources.append((file.name, about.st_mtime_ns, about.st_size))
    return tuple(sorted(sources))
