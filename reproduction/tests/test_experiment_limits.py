"""Runs in a process of their own: what they give, in order, until they take too long or die."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from discreet_reproduction.limited import each_within

if TYPE_CHECKING:
    from collections.abc import Iterator


def slower(stop: int, nap: float) -> Iterator[int]:
    """Give numbers, the last of them after a nap."""
    yield os.getpid()
    yield from range(stop)
    time.sleep(nap)
    yield stop


def dying() -> Iterator[int]:
    """Die after one number."""
    yield 0
    yield 7
    os._exit(3)


def test_all_is_given_where_time_suffices() -> None:
    assert list(each_within(60, slower, 3, 0.0)) == [0, 1, 2, 3]


def test_what_takes_too_long_is_left_and_its_process_ended() -> None:
    start = time.monotonic()
    assert list(each_within(0.3, slower, 2, 3600.0)) == [0, 1]
    assert time.monotonic() - start < 60


def test_a_process_that_dies_ends_the_row() -> None:
    assert list(each_within(60, dying)) == [7]
