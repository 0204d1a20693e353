"""One record of progress for every callback."""

from __future__ import annotations

import pytest

from discreet.core.progress import FINAL_VERIFICATION, Pace, Progress, Reporter


@pytest.mark.parametrize(
    ("step", "line", "gap"),
    [
        (Progress(1.5, "direct"), "1.5 s, direct", None),
        (Progress(0.0, "draws", done=3), "0 s, draws, 3", None),
        (Progress(0.0, "draws", done=3, total=20), "0 s, draws, 3 of 20", None),
        (Progress(2.0, "kernel", lower=0.5), "2 s, kernel, loss at least 0.5", None),
        (Progress(2.0, "kernel", upper=2.0), "2 s, kernel, loss 2", None),
        (Progress(2.5, "kernel", lower=0.9, upper=1.0), "2.5 s, kernel, loss 1, gap 10 %", 0.1),
        (Progress(2.5, "kernel", lower=0.0, upper=0.0), "2.5 s, kernel, loss 0, gap 0 %", 0.0),
    ],
)
def test_a_line_says_what_is_known(step: Progress, line: str, gap: float | None) -> None:
    assert str(step) == line
    assert step.gap == pytest.approx(gap)


def test_a_reporter_tells_seconds_since_it_was_made() -> None:
    told: list[Progress] = []
    seconds = iter([10.0, 12.0])
    Reporter(told.append, clock=lambda: next(seconds))("draws", done=1)
    assert told == [Progress(2.0, "draws", done=1)]


def test_a_reporter_may_have_started_earlier() -> None:
    told: list[Progress] = []
    Reporter(told.append, clock=lambda: 10.0, start=4.0)("direct", lower=1.0, upper=2.0)
    assert told == [Progress(6.0, "direct", lower=1.0, upper=2.0)]


def test_without_a_callback_nobody_is_told() -> None:
    Reporter(None)("draws")


def test_a_pace_gives_the_share_done_and_the_time_left_of_a_stage() -> None:
    pace = Pace()
    assert pace(Progress(1.0, "start")) == "1 s, start"
    assert pace(Progress(2.0, "columns", done=0, total=10)) == "2 s, columns, 0 of 10"
    assert pace(Progress(5.0, "columns", done=3, total=10)).endswith("30 %, about 7 s left")
    assert pace(Progress(9.0, "columns", done=10, total=10)) == "9 s, columns, 10 of 10"
    # Another stage has a pace of its own, and its first step none.
    assert pace(Progress(9.0, "rows", done=1, total=10)) == "9 s, rows, 1 of 10, 10 %"
    assert "left" in pace(Progress(10.0, "rows", done=2, total=10))


def test_a_release_without_times_has_no_time_left() -> None:
    pace = Pace()
    pace(Progress(None, "draws", done=0, total=4))
    assert pace(Progress(None, "draws", done=2, total=4)) == "draws, 2 of 4, 50 %"


def test_a_search_shows_the_share_of_the_way_to_its_gap_and_the_time_left() -> None:
    pace = Pace(target=0.01, time_limit=20)
    start, then = Progress(1.0, "a", lower=0.0, upper=1.0), Progress(4.0, "b", lower=0.9, upper=1.0)
    assert pace(start).endswith("gap 100 %, at most 19 s left")
    # A tenth each three seconds: half of the way to a hundredth.
    assert pace(then).endswith("gap 10 %, 50 %, about 3 s left")
    assert pace(Progress(19.5, "b", lower=0.9, upper=1.0)).endswith("50 %, at most 1 s left")
    assert pace(Progress(5.0, "b", lower=0.995, upper=1.0)).endswith(
        "gap 0.51 %, at most 15 s left"
    )
    # The limit does not apply to the final verification, and says nothing once it is over.
    for late in (Progress(25.0, "b", lower=0.9, upper=1.0), Progress(19, FINAL_VERIFICATION)):
        assert "left" not in Pace(time_limit=20)(late)
    unlimited = Pace(target=0.01)
    assert unlimited(Progress(1.0, "a")) == "1 s, a"
    assert unlimited(start) == str(start)


def test_time_left_is_in_whole_seconds_rounded_up() -> None:
    pace = Pace()
    pace(Progress(0.0, "columns", done=0, total=3))
    assert pace(Progress(1.467, "columns", done=1, total=3)).endswith("about 3 s left")
