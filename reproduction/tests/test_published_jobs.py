"""The queue of jobs, with solvers that do what they are told, in the process that can be killed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from discreet_reproduction.lrgeo.service.jobs import JobLimits, Jobs
from solving import BROKEN, DYING, GOOD, HANGING, INFEASIBLE, Chosen, upload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet_reproduction.lrgeo.service.jobs import JobState


@pytest.fixture
def jobs(request: pytest.FixtureRequest) -> Iterator[Jobs]:
    made = Jobs(Chosen(), request.param)
    yield made
    made.close()


def ended(jobs: Jobs, name: str | None) -> JobState:
    """Wait for the end of a job."""
    assert name is not None
    for _ in range(6000):
        job = jobs.get(name)
        assert job is not None
        if job.status in {"done", "failed"}:
            return job
        time.sleep(0.02)
    raise AssertionError


@pytest.mark.parametrize("jobs", [JobLimits(batch=1, job_seconds=5, jobs=5)], indirect=True)
def test_whatever_a_solver_does_the_next_job_is_solved(jobs: Jobs) -> None:
    kinds = [GOOD, INFEASIBLE, BROKEN, DYING, HANGING]
    names = [jobs.submit(upload(kind)) for kind in kinds]
    assert len(set(names)) == 5
    assert jobs.submit(upload(GOOD)) is None  # as many wait as may
    good, infeasible, broken, dying, hanging = (ended(jobs, name) for name in names)
    assert good.result is not None
    assert good.result.tolist() == [[0.1, 0.1, 0.1]]
    assert infeasible.reason is not None
    assert infeasible.reason.startswith("InfeasibleError: the joint problem")
    assert broken.reason == "internal: ValueError"
    assert dying.reason == "the solver's process ended"
    assert hanging.reason == "no solution within 5 seconds"
    for job in (infeasible, broken, dying, hanging):
        assert job.result is None
        assert "817263549" not in str(job.reason)
    assert ended(jobs, jobs.submit(upload(GOOD))).status == "done"


@pytest.mark.parametrize(
    "jobs", [JobLimits(batch=3, jobs=8, results=2, result_seconds=1000)], indirect=True
)
def test_jobs_that_wait_together_are_solved_together_and_old_results_are_forgotten(
    jobs: Jobs,
) -> None:
    names = [jobs.submit(upload(GOOD)) for _ in range(3)]
    # The first may have been taken before the others came.
    shares = []
    for name in names:
        job = None if name is None else jobs.get(name)
        while job is not None and job.status not in {"done", "failed"}:
            time.sleep(0.02)
            assert name is not None
            job = jobs.get(name)
        shares.append(None if job is None or job.result is None else float(job.result[0, 0]))
    assert shares.count(None) <= 1
    assert set(shares) <= {None, 0.1, 0.2, 0.3}
    again = jobs.submit(upload(GOOD))
    assert ended(jobs, again).status == "done"
    assert sum(jobs.get(str(name)) is not None for name in [*names, again]) == 2
    assert jobs.get("A" * 43) is None


@pytest.mark.parametrize("jobs", [JobLimits(job_seconds=600)], indirect=True)
def test_closing_ends_what_runs_and_takes_no_more(jobs: Jobs) -> None:
    name = jobs.submit(upload(HANGING))
    assert name is not None
    begun = time.monotonic()
    jobs.close()
    assert time.monotonic() - begun < 60
    assert jobs.submit(upload(GOOD)) is None
    job = jobs.get(name)
    assert job is None or job.status in {"waiting", "failed"}


@pytest.mark.parametrize("jobs", [JobLimits(result_seconds=0.2)], indirect=True)
def test_a_result_is_kept_for_so_long_and_no_longer(jobs: Jobs) -> None:
    name = jobs.submit(upload(GOOD))
    assert name is not None
    for _ in range(6000):
        if jobs.get(name) is None:
            return
        time.sleep(0.02)
    raise AssertionError


@pytest.mark.parametrize("jobs", [JobLimits(batch=1, jobs=5)], indirect=True)
def test_a_process_that_cannot_start_fails_its_job_and_not_the_queue(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a script without a guard of its main part meets: the thread lives on, and says why."""

    def refuse(*_: object) -> None:
        message = "before the current process has finished its bootstrapping phase"
        raise RuntimeError(message)

    with monkeypatch.context() as patch:
        patch.setattr("multiprocessing.context.SpawnProcess._Popen", staticmethod(refuse))
        reason = ended(jobs, jobs.submit(upload(GOOD))).reason
    assert reason is not None
    assert "cannot start" in reason
    assert ended(jobs, jobs.submit(upload(GOOD))).status == "done"
