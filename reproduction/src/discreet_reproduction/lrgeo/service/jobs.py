"""Jobs of the published protocol: a bounded queue, solved in batches by one thread.

A server that is restarted has no jobs; clients send theirs again. The solver bounds its own time.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

from discreet.core.errors import DiscreetError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Solve = Callable[[Sequence[Any]], Sequence[NDArray[np.float64]]]


@final
@dataclass(frozen=True)
class JobLimits:
    """Bounds on a queue of jobs.

    Parameters
    ----------
    jobs
        Jobs that wait or run.
    results
        Results that are kept; the oldest is removed first.
    batch
        Jobs that are solved together, since their users share the scales.

    Examples
    --------
    >>> JobLimits(jobs=4).jobs
    4
    """

    jobs: int = 16
    results: int = 64
    batch: int = 8


@final
@dataclass(frozen=True, eq=False)
class JobState:
    """State of a job.

    Parameters
    ----------
    status
        ``"waiting"``, ``"running"``, ``"done"`` or ``"failed"``.
    result
        Obfuscation matrix of a job that is done.
    reason
        Reason of a failure.
    """

    status: Literal["waiting", "running", "done", "failed"]
    result: NDArray[np.float64] | None = None
    reason: str | None = None


@final
class Jobs:
    """A queue of jobs and the thread that solves them.

    Parameters
    ----------
    solve
        From a batch of uploads to the obfuscation matrix of each.
    limits
        Bounds on the queue.

    Notes
    -----
    Names of jobs are 256 random bits: a result cannot be requested without its name.
    """

    def __init__(self, solve: Solve, limits: JobLimits) -> None:
        self._solve, self._limits = solve, limits
        self._lock = threading.Lock()
        self._states: OrderedDict[str, JobState] = OrderedDict()
        self._waiting: list[tuple[str, object]] = []
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="jobs")
        self._closed = False

    def submit(self, upload: object) -> str | None:
        """Add a job and return its name, or ``None`` if the queue is full or closed."""
        with self._lock:
            unsolved = [
                one for one in self._states.values() if one.status in ("waiting", "running")
            ]
            if self._closed or len(unsolved) >= self._limits.jobs:
                return None
            name = secrets.token_urlsafe(32)
            self._states[name] = JobState("waiting")
            self._waiting.append((name, upload))
            self._pool.submit(self._solve_batch)
        return name

    def get(self, name: str) -> JobState | None:
        """Return the state of a job, or ``None`` for an unknown name."""
        with self._lock:
            return self._states.get(name)

    def close(self) -> None:
        """Accept no more jobs, drop those that wait, and wait for the batch that runs."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
        self._pool.shutdown(cancel_futures=True)

    def _solve_batch(self) -> None:
        with self._lock:
            batch = self._waiting[: self._limits.batch]
            del self._waiting[: self._limits.batch]
            self._states |= {name: JobState("running") for name, _ in batch}
        if not batch:
            return
        states = self._solved([upload for _, upload in batch])
        with self._lock:
            for (name, _), state in zip(batch, states, strict=True):
                self._states[name] = state
                self._states.move_to_end(name)
            solved = [
                name for name, one in self._states.items() if one.status in ("done", "failed")
            ]
            for name in solved[: max(0, len(solved) - self._limits.results)]:
                del self._states[name]

    def _solved(self, uploads: Sequence[object]) -> list[JobState]:
        try:
            return [JobState("done", matrix) for matrix in self._solve(uploads)]
        except DiscreetError as error:
            # Its kind alone: the message of a solver may contain what was uploaded.
            reason = f"{type(error).__name__}: the joint problem of this batch has no solution that may be used"
        except Exception as error:  # noqa: BLE001 - a job that breaks must not end the thread
            reason = f"internal: {type(error).__name__}"
        return [JobState("failed", reason=reason)] * len(uploads)
