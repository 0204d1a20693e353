"""Jobs of the studio: stopped with what they have, killed, failing without their own words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.studio.jobs import Job
from studio.waiting import Breaks, Dies, Panics, Waits


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


def test_a_panic_is_a_failure_of_the_job() -> None:
    job = Job(Panics(), "run")
    _until(job, 1)
    assert job.events[-1]["message"] == "It failed: Panic. Please report this."


ALONE = """
import os, time
from multiprocessing import active_children
from discreet.studio.jobs import Job
from studio.waiting import Waits

if __name__ == "__main__":
    job = Job(Waits(), "run")
    while not job.events:
        time.sleep(0.02)
    print(active_children()[0].pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the state of a process is read")
def test_a_job_whose_studio_was_killed_ends(tmp_path: Path) -> None:
    """It would search for an hour, with the table in its memory, for nobody."""
    (tmp_path / "alone.py").write_text(ALONE, encoding="utf-8")
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(tmp_path / "alone.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=places) as process:
        assert process.stdout is not None
        state = Path("/proc", process.stdout.readline().strip(), "stat")
        assert state.exists()
        process.send_signal(signal.SIGKILL)
    end = time.monotonic() + 60
    # One that has ended and that nobody asked after is a zombie.
    while state.exists() and " Z " not in state.read_text() and time.monotonic() < end:
        time.sleep(0.05)
    assert not state.exists() or " Z " in state.read_text()
