"""Jobs of the studio: stopped with what they have, killed, failing without their own words."""

from __future__ import annotations

import time

from discreet.studio.jobs import Job
from studio.waiting import Breaks, Dies, Waits


def _until(job: Job, events: int) -> None:
    end = time.monotonic() + 60
    while len(job.events) < events and time.monotonic() < end:
        time.sleep(0.02)


def test_a_job_that_is_stopped_gives_what_it_has() -> None:
    job = Job(Waits(), "run")
    _until(job, 1)
    job.stop()
    _until(job, 2)
    assert job.events == [{"type": "step", "text": "waiting"}, {"type": "done"}]
    assert job.result == {"stopped": True}
    job.end()


def test_a_job_that_is_ended_has_no_result() -> None:
    job = Job(Waits(), "run")
    _until(job, 1)
    job.end()
    assert job.events[-1]["type"] == "failed"
    assert job.result is None


def test_a_failure_keeps_its_words() -> None:
    broken, dead = Job(Breaks(), "run"), Job(Dies(), "run")
    for job in (broken, dead):
        _until(job, 1)
        assert job.events[-1]["type"] == "failed"
    assert "ValueError" in broken.events[-1]["message"]
    assert "47" not in broken.events[-1]["message"]
