"""What does the steps of a large table: this process, or the workers of dask.distributed."""

from __future__ import annotations

import logging
import secrets
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, final
from urllib.parse import urlsplit

from discreet.core.errors import InvalidProblemError, SolverError
from discreet.core.extras import require
from discreet.streaming.steps import look_around, perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.streaming.workspace import Workspace

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class _Patience(NamedTuple):
    """How long a run waits for others."""

    seconds_without_workers: int = 60
    """For a scheduler, for a first worker, and for a worker after all were lost."""

    seconds_between_checks: float = 2.0
    """Between checks for workers."""

    seconds_to_end: float = 10.0
    """For running steps when a run is cancelled."""

    step_retries: int = 5
    """Times that a step is restarted after the loss of its worker."""


PATIENCE = _Patience()

GONE = "lost", "the scheduler went away"
"""What is said of it."""


def _ignore(done: int) -> None:
    """Ignore the number of steps that are done."""
    del done


class Engine(Protocol):
    """Does steps of one kind."""

    def run(
        self,
        space: Workspace,
        kind: str,
        count: int,
        on_done: Callable[[int], None] = _ignore,
    ) -> None:
        """Do the steps 0 to ``count - 1`` of a kind, in any order, and raise what went wrong.

        `on_done` is called with the number of steps that are done. Steps whose result is stored are not done again.
        """
        ...

    def look(self, space: Workspace) -> None:
        """Raise InvalidProblemError for workers that do not share the workspace, or have other versions.

        No row is read.
        """
        ...

    def workers(self) -> int:
        """Return the number of concurrent steps."""
        ...

    def threads_alone(self) -> int:
        """Return the number of threads of a step that runs alone."""
        ...

    def close(self, space: Workspace) -> None:
        """Cancel or wait for all steps that use the workspace."""
        ...


@final
class LocalEngine:
    """Steps in threads of this process, which share its memory.

    Parameters
    ----------
    threads
        Steps that are done at a time.
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads

    def run(
        self,
        space: Workspace,
        kind: str,
        count: int,
        on_done: Callable[[int], None] = _ignore,
    ) -> None:
        """Run the steps 0 to ``count - 1`` of a kind, in their order with one thread, else in several threads.

        `on_done` is called with the number of steps done so far. Raises InvalidProblemError, MemoryError or
        SolverError, by the error that a step left in the workspace; steps that have not begun are then cancelled.
        """
        if self.threads == 1 or count == 1:
            for number in range(count):
                if not perform(str(space.folder), kind, number):
                    _raise(space)
                on_done(number + 1)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            steps = [pool.submit(perform, str(space.folder), kind, at) for at in range(count)]
            try:
                for done, step in enumerate(as_completed(steps), start=1):
                    if not step.result():
                        _raise(space)
                    on_done(done)
            finally:
                # Those that have begun end by themselves, within seconds.
                pool.shutdown(wait=True, cancel_futures=True)

    def look(self, space: Workspace) -> None:
        """Do nothing: no other worker has to share the workspace."""
        del space

    def workers(self) -> int:
        """Return the number of concurrent steps."""
        return self.threads

    def threads_alone(self) -> int:
        """Return the number of threads of a step that runs alone: all."""
        return self.threads

    def close(self, space: Workspace) -> None:
        """Do nothing: :meth:`run` returns when all steps have ended."""
        del space


@final
class DaskEngine:
    """Steps as tasks of ``dask.distributed``; a worker that is lost costs time alone.

    Parameters
    ----------
    client
        A ``distributed.Client``.
    """

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - dask has no types
        self.client = client
        self.futures: list[Any] = []
        self.ready = False

    def run(
        self,
        space: Workspace,
        kind: str,
        count: int,
        on_done: Callable[[int], None] = _ignore,
    ) -> None:
        """Run the steps 0 to ``count - 1`` of a kind on the workers; task names hold nothing of the rows.

        `on_done` gets the number of steps done so far. Raises the error of a step, or SolverError if workers were
        lost.
        """
        import distributed

        if not self.ready:
            self.look(space)
        run, done_by = secrets.token_hex(4), cast("Any", distributed.as_completed)
        lost = SolverError("dask", *GONE)
        try:
            self.futures = self.client.map(
                perform,
                [str(space.folder)] * count,
                [kind] * count,
                range(count),
                key=[f"discreet-{kind}-{number}-{run}" for number in range(count)],
                pure=False,
                retries=PATIENCE.step_retries,
            )
            with self.client.as_current():
                steps = done_by(self.futures, with_results=True)
                n_done = 0
                while not steps.is_empty():
                    self._wait(steps)
                    _, done = next(steps)
                    if done is False:
                        _raise(space)
                    if done is not True:
                        # The result of a step that was cancelled is its error, and is not raised.
                        raise lost
                    n_done += 1
                    on_done(n_done)
        except distributed.KilledWorker:
            message = "a step lost its worker several times: give workers more memory, or --memory"
            raise SolverError("dask", "workers lost", message) from None
        except (OSError, distributed.CancelledError, TimeoutError, RuntimeError):
            raise lost from None
        self.futures = []

    def _wait(self, steps: Any) -> None:  # noqa: ANN401 - dask has no types
        """Wait until a step of `steps`, Dask's iterator of results, has ended, while there are workers.

        Raises SolverError if there has been no worker for a minute, or the scheduler is gone.
        """
        last_seen = last_checked = time.monotonic()
        while not steps.has_ready():
            time.sleep(0.01)
            now = time.monotonic()
            if now - last_checked < PATIENCE.seconds_between_checks:
                continue
            last_checked = now
            if self._threads():
                last_seen = now
            elif now - last_seen > PATIENCE.seconds_without_workers:
                message = f"no worker was there for {PATIENCE.seconds_without_workers} seconds"
                raise SolverError("dask", "workers lost", message)

    def workers(self) -> int:
        """Return the number of threads of all current workers."""
        return max(1, sum(self._threads().values()))

    def threads_alone(self) -> int:
        """Return the least number of threads of a current worker: any worker may get the step."""
        return max(1, min(self._threads().values(), default=1))

    def _threads(self) -> dict[str, int]:
        """Return the number of threads by address of each current worker.

        Raise SolverError if the scheduler is gone.
        """
        try:
            threads: dict[str, int] = self.client.nthreads()
        except (OSError, RuntimeError):
            raise SolverError("dask", *GONE) from None
        return threads

    def close(self, space: Workspace) -> None:
        """Cancel waiting steps, and wait up to ten seconds for running ones to end; errors are passed over."""
        if not self.futures:
            return
        with suppress(Exception):
            self.client.cancel(self.futures, force=True)
        until = time.monotonic() + PATIENCE.seconds_to_end
        while time.monotonic() < until and any(space.folder.glob("running.*")):
            time.sleep(0.1)

    def look(self, space: Workspace) -> None:
        """Check that the workers share the workspace, and have the same versions of all packages as this process.

        Runs a function on every worker. InvalidProblemError if they differ, or if no worker comes within a minute.
        """
        token = secrets.token_hex(16)
        space.put("token", token)
        mine = look_around(str(space.folder), token)[1]
        field = "scheduler"
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE.seconds_without_workers)
            answers = self.client.run(look_around, str(space.folder), token)
            versions = self.client.get_versions()["scheduler"]["packages"]
        except TimeoutError:
            expected = f"a worker within {PATIENCE.seconds_without_workers} seconds"
            raise InvalidProblemError(field, expected, "none") from None
        except Exception as error:  # noqa: BLE001 - whatever a worker without the package raises
            expected = "workers that have discreet, its extra dask and the same versions"
            got = f"one that can't load them ({type(error).__name__})"
            raise InvalidProblemError(field, expected, got) from None
        if str(versions.get("distributed")) != mine[1]:
            expected = f"a scheduler of distributed {mine[1]}"
            raise InvalidProblemError(field, expected, versions.get("distributed"))
        for shared, theirs in answers.values():
            if theirs != mine:
                expected = f"workers of the versions {', '.join(mine)}"
                raise InvalidProblemError(field, expected, ", ".join(theirs))
            if not shared:
                expected = "workers that share the folder of the output with this process"
                raise InvalidProblemError(field, expected, "one that does not see it")
        self.ready = True


def _raise(space: Workspace) -> None:
    """Raise the error that a failed step left in the workspace as ``trouble``; never returns.

    InvalidProblemError for input, files or a full disk, MemoryError, or SolverError for any other error.
    """
    if not space.has("trouble"):
        expected = "a folder that can be written, with room for all rows on their way"
        raise InvalidProblemError("target", expected, "one that is full or gone")
    kind, what, got = space.get("trouble")
    if what == "invalid":
        raise got
    if what == "memory":
        raise MemoryError
    if what == "reader":
        expected = "files that can be read, with values of one kind in each column"
        raise InvalidProblemError("source", expected, "others")
    if what == "system":
        expected = "a folder that can be written, with room for all rows on their way"
        raise InvalidProblemError("target", expected, got)
    raise SolverError("steps", what, f"{kind}: {got}")


def engine_of(executor: object | None, threads: int = 1) -> Engine:
    """Return the engine for a client of Dask or its executor, or for `threads` threads of this process with ``None``.

    Raises
    ------
    InvalidProblemError
        For anything else.
    """
    if executor is None:
        return LocalEngine(threads)
    client = getattr(executor, "_client", executor)
    if hasattr(client, "get_versions") and hasattr(client, "wait_for_workers"):
        return DaskEngine(client)
    expected = "a Client of dask.distributed, its executor, or None"
    raise InvalidProblemError("executor", expected, type(executor).__name__)


def _quiet() -> None:
    """Silence dask's own log, which has tracebacks for lost connections."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def connected(address: str, field: str = "scheduler") -> Any:  # noqa: ANN401 - dask has no types
    """Return a client of the scheduler at `address`; beyond this machine only where the connection is encrypted.

    The address begins with ``tcp://`` or ``tls://``. Waits up to a minute; Dask's own log is quiet from then on.
    `field` names the argument in messages.

    Raises
    ------
    InvalidProblemError
        For an invalid or unencrypted address, or one that does not answer.
    """
    parts = urlsplit(address)
    local = parts.hostname in LOOPBACK
    if parts.scheme not in ("tcp", "tls") or not parts.hostname or not address.rpartition(":")[2]:
        expected = "an address such as tcp://127.0.0.1:8786 or tls://host:8786"
        raise InvalidProblemError(field, expected, repr(address))
    if parts.scheme == "tcp" and not local:
        expected = "tls:// beyond this machine, since private rows and counts follow from tasks"
        raise InvalidProblemError(field, expected, repr(address))
    require("dask", field)
    from distributed import Client

    make: Callable[..., Any] = Client
    _quiet()
    try:
        return make(address, timeout=f"{PATIENCE.seconds_without_workers}s", set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        expected = "a scheduler that answers"
        raise InvalidProblemError(field, expected, f"{address}: {type(error).__name__}") from None
