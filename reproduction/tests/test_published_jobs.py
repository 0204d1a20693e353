"""The queue of jobs of the published protocol: batches, failures that say nothing of an upload, and bounds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.core.errors import InfeasibleError
from discreet_reproduction.lrgeo.service.jobs import JobLimits, Jobs, JobState

GATE = threading.Event()


def solve(uploads: Sequence[object]) -> list[NDArray[np.float64]]:
    """Wait for the gate; then fail as the first upload asks, or return the size of the batch."""
    assert GATE.wait(60)
    if isinstance(uploads[0], Exception):
        raise uploads[0]
    return [np.full((1, 3), float(len(uploads))) for _ in uploads]


@pytest.fixture
def jobs(request: pytest.FixtureRequest) -> Iterator[Jobs]:
    GATE.clear()
    queue = Jobs(solve, request.param)
    yield queue
    GATE.set()
    queue.close()


def ended(jobs: Jobs, name: str | None) -> JobState:
    """Wait for the end of a job."""
    GATE.set()
    assert name is not None
    for _ in range(6000):
        job = jobs.get(name)
        assert job is not None
        if job.status in {"done", "failed"}:
            return job
        time.sleep(0.01)
    raise AssertionError


@pytest.mark.parametrize("jobs", [JobLimits(batch=1, jobs=3)], indirect=True)
def test_whatever_a_solver_does_the_next_job_is_solved(jobs: Jobs) -> None:
    uploads = (1, InfeasibleError("the uploaded 817263549"), ValueError("the uploaded 817263549"))
    names = [jobs.submit(upload) for upload in uploads]
    assert jobs.submit(1) is None
    good, infeasible, broken = (ended(jobs, name) for name in names)
    assert good.result is not None
    assert good.result.tolist() == [[1.0, 1.0, 1.0]]
    assert str(infeasible.reason).startswith("InfeasibleError: the joint problem")
    assert broken.reason == "internal: ValueError"
    assert (infeasible.result, broken.result) == (None, None)
    assert ended(jobs, jobs.submit(1)).status == "done"


@pytest.mark.parametrize("jobs", [JobLimits(batch=3, jobs=8, results=2)], indirect=True)
def test_jobs_that_wait_together_are_solved_together_and_old_results_are_removed(
    jobs: Jobs,
) -> None:
    first = jobs.submit(1)
    while (job := jobs.get(str(first))) is not None and job.status == "waiting":
        time.sleep(0.01)
    pair = [jobs.submit(1), jobs.submit(1)]
    last = ended(jobs, pair[1])
    assert last.result is not None
    assert last.result[0, 0] == 2.0
    assert [jobs.get(str(name)) is None for name in (first, *pair)] == [True, False, False]


@pytest.mark.parametrize("jobs", [JobLimits()], indirect=True)
def test_closing_drops_what_waits_and_takes_no_more(jobs: Jobs) -> None:
    GATE.set()
    jobs.close()
    assert jobs.submit(1) is None
    assert jobs.get("A" * 43) is None
