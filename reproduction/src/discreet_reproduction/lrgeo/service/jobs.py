"""Jobs of the published protocol: a bounded queue, solved in a process that can be killed.

A solver may hang, and a thread can't be stopped. So each batch is solved in a process of its own that lives on for the
next one; when its time is up it is killed, the batch fails, and the next batch gets a new process. Nothing of a job is
written to disk: a server that is restarted knows none of them, and clients send theirs again.
"""

from __future__ import annotations

import math
import multiprocessing
import secrets
import signal
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, final

from discreet.core.errors import DiscreetError, InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    import numpy as np
    from numpy.typing import NDArray

    Solve = Callable[[Sequence[Any]], Sequence[NDArray[np.float64]]]

__all__ = ["JobLimits", "JobState", "Jobs"]

_STARTING = 120.0
"""Seconds for the solver's process to load its libraries; they are none of a job's."""

_POLL = 0.05
"""Seconds between two looks at whether the queue is being closed."""


@final
@dataclass(frozen=True)
class JobLimits:
    """Bounds on a queue of jobs.

    Parameters
    ----------
    jobs
        Jobs that wait or run.
    results
        Results that are kept.
    job_seconds
        Seconds that one batch of jobs may take; the process that solves it is then killed.
    result_seconds
        Seconds for which a result is kept.
    batch
        Jobs that are solved together, since their users share the scales.

    Raises
    ------
    InvalidProblemError
        For a bound that is not positive and finite.

    Examples
    --------
    >>> JobLimits(jobs=4).jobs
    4
    """

    jobs: int = 16
    results: int = 64
    job_seconds: float = 60.0
    result_seconds: float = 600.0
    batch: int = 8

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if not (math.isfinite(value) and value > 0):
                raise InvalidProblemError(part.name, "a positive number that is finite", value)


@final
@dataclass(frozen=True, eq=False)
class JobState:
    """Where a job stands.

    Parameters
    ----------
    status
        What it is doing.
    result
        The obfuscation matrix, when it is done.
    reason
        Why it failed, when it did.
    """

    status: Literal["waiting", "running", "done", "failed"]
    result: NDArray[np.float64] | None = None
    reason: str | None = None


@final
@dataclass
class _Entry:
    upload: object | None
    job: JobState
    changed: float


@final
class Jobs:
    """A queue of jobs and the one worker that solves them.

    Parameters
    ----------
    solve
        Takes a batch of uploads and gives the obfuscation matrix of each. It goes to another process, so it is a
        function of a module, or a frozen value with ``__call__``.
    limits
        How many wait, how long they may take, how long results are kept.

    Notes
    -----
    Names of jobs are 256 bits from the operating system: without one there is no way to ask for it.
    """

    def __init__(self, solve: Solve, limits: JobLimits) -> None:
        self._solve = solve
        self._limits = limits
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._change = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, upload: object) -> str | None:
        """Take a job; give its name, or nothing when as many wait as may."""
        with self._change:
            self._forget()
            open_jobs = sum(entry.upload is not None for entry in self._entries.values())
            if self._closed or open_jobs >= self._limits.jobs:
                return None
            name = secrets.token_urlsafe(32)
            job = JobState("waiting")
            self._entries[name] = _Entry(upload, job, time.monotonic())
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)
                self._thread.start()
            self._change.notify_all()
        return name

    def get(self, name: str) -> JobState | None:
        """Say where a job stands, or nothing when there is none of that name."""
        with self._change:
            self._forget()
            entry = self._entries.get(name)
            return None if entry is None else entry.job

    def close(self) -> None:
        """Take no more jobs, end the one that runs, and wait for the worker."""
        with self._change:
            self._closed = True
            self._change.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _forget(self) -> None:
        """Drop results that are too old or too many; the caller holds the lock."""
        oldest = time.monotonic() - self._limits.result_seconds
        done = [name for name, entry in self._entries.items() if entry.upload is None]
        excess = len(done) - self._limits.results
        for position, name in enumerate(done):
            if position < excess or self._entries[name].changed < oldest:
                del self._entries[name]

    def _work(self) -> None:
        worker = _Worker(self._solve)
        try:
            while (batch := self._next()) is not None:
                uploads = [upload for _, upload in batch]
                found = worker.run(uploads, self._limits.job_seconds, lambda: self._closed)
                self._finish([name for name, _ in batch], found)
        finally:
            worker.stop()

    def _next(self) -> list[tuple[str, object]] | None:
        """Wait for jobs and take a batch, or nothing when the queue is closed."""
        with self._change:
            while not self._closed:
                batch = [
                    (name, entry.upload)
                    for name, entry in self._entries.items()
                    if entry.upload is not None
                ][: self._limits.batch]
                if batch:
                    for name, _ in batch:
                        self._entries[name].job = JobState("running")
                    return batch
                self._change.wait()
        return None

    def _finish(self, names: Sequence[str], found: Sequence[NDArray[np.float64]] | str) -> None:
        with self._change:
            for position, name in enumerate(names):
                job = (
                    JobState("failed", reason=found)
                    if isinstance(found, str)
                    else JobState("done", found[position])
                )
                self._entries[name] = _Entry(None, job, time.monotonic())
                self._entries.move_to_end(name)


@final
class _Worker:
    """A process that solves one batch after the other, and is made anew after it had to be killed."""

    def __init__(self, solve: Solve) -> None:
        self._solve = solve
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def run(
        self, uploads: Sequence[object], seconds: float, closed: Callable[[], bool]
    ) -> Sequence[NDArray[np.float64]] | str:
        """Solve a batch; a text says why there is no solution."""
        try:
            fresh = self._process is None or not self._process.is_alive()
            pipe = self._started()
            if fresh and not _wait(pipe, _STARTING, closed):
                self.stop()
                return "the solver's process did not start"
            if fresh:
                pipe.recv()
            pipe.send(uploads)
            if not _wait(pipe, seconds, closed):
                self.stop()
                return f"no solution within {seconds} seconds"
            found: Sequence[NDArray[np.float64]] | str = pipe.recv()
        except (EOFError, OSError):
            self.stop()
            return "the solver's process ended"
        except RuntimeError:
            # What multiprocessing raises where a script that starts us has no ``__main__`` guard.
            self.stop()
            return (
                "the solver's process cannot start: guard the script with if __name__ == '__main__'"
            )
        return found

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def _started(self) -> Connection:
        if self._pipe is None or self._process is None or not self._process.is_alive():
            self.stop()
            # Not a fork: the server has threads.
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(self._solve, theirs), daemon=True)
            process.start()
            theirs.close()
            # Only now: one that never started can't be killed either.
            self._process = process
        return self._pipe


def _wait(pipe: Connection, seconds: float, closed: Callable[[], bool]) -> bool:
    """Wait for a message; say whether one came before the time was up or the queue was closed."""
    end = time.monotonic() + seconds
    while not pipe.poll(_POLL):
        if closed() or time.monotonic() > end:
            return False
    return True


def _serve(solve: Solve, pipe: Connection) -> None:
    """Solve batches until the server is gone."""
    # Ctrl-C goes to the whole group; the server ends this process when it is done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe.send("ready")
    while True:
        try:
            uploads = pipe.recv()
        except EOFError:
            return
        pipe.send(_solved(solve, uploads))


def _solved(solve: Solve, uploads: Sequence[object]) -> Any:  # noqa: ANN401 - matrices, or a text
    try:
        return list(solve(uploads))
    except DiscreetError as error:
        # Its kind alone: what a solver says of an upload may hold what was uploaded.
        return f"{type(error).__name__}: the joint problem of this batch has no solution that may be used"
    except Exception as error:  # noqa: BLE001 - a job that breaks must not end the worker
        return f"internal: {type(error).__name__}"
