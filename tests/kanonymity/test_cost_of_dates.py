"""What a span of dates costs is what ``Dates.weight`` says, and the optimum is that of all partitions."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet import KAnonymity
from discreet.kanonymity import anonymize
from discreet.kanonymity.problem import Dates

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVELS = ("day", "month", "quarter", "year", "5 years", "10 years")
DAYS = st.dates(date(1968, 1, 1), date(2003, 12, 31)) | st.dates(date(1980, 1, 1), date(1980, 4, 9))


def span(day: date, level: str) -> tuple[date, date]:
    """Return the first day of a span of the calendar, and the first one after it."""
    if level == "day":
        return day, day + timedelta(1)
    if level in {"month", "quarter"}:
        months = {"month": 1, "quarter": 3}[level]
        first = (day.month - 1) // months * months
        after = day.year * 12 + first + months
        return date(day.year, first + 1, 1), date(after // 12, after % 12 + 1, 1)
    years = {"year": 1, "5 years": 5, "10 years": 10}[level]
    start = day.year - day.year % years
    return date(start, 1, 1), date(start + years, 1, 1)


def length(ends: tuple[date, date]) -> int:
    """Return the days of a span."""
    return (ends[1] - ends[0]).days


def documented_cost(days: list[date], together: tuple[int, ...], finest: str) -> float:
    """Return the cost of a cell of a class: that of the narrowest span which holds its dates."""
    decades = [span(day, "10 years") for day in days]
    unit = min(length(span(day, finest)) for day in days)
    whole = (max(end for _, end in decades) - min(start for start, _ in decades)).days
    for level in LEVELS[LEVELS.index(finest) :]:
        spans = {span(days[at], level) for at in together}
        if len(spans) == 1:
            if level == finest:
                return 0.0
            return (max(length(spans.pop()) // unit, 2) - 1) / (max(whole // unit, 2) - 1)
    return 1.0


@cache
def partitions(count: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """List the partitions of rows into classes of two or more."""

    def split(left: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
        if not left:
            yield ()
            return
        first, *rest = left
        for mask in range(1, 1 << len(rest)):
            mates = [one for at, one in enumerate(rest) if mask >> at & 1]
            others = tuple(one for at, one in enumerate(rest) if not mask >> at & 1)
            for more in split(others):
                yield ((first, *mates), *more)

    return tuple(split(tuple(range(count))))


@pytest.mark.jit
@settings(max_examples=25, deadline=None)
@given(st.lists(DAYS, min_size=2, max_size=6), st.sampled_from(LEVELS), st.sampled_from([1.0, 2.5]))
@example([date(1980, 1, 1), date(1980, 2, 29), date(1980, 3, 31)], "month", 1.0)
@example([date(1983, 12, 31), date(1984, 1, 1)], "5 years", 1.0)
@example([date(1979, 12, 31), date(1980, 1, 1)], "10 years", 1.0)
def test_the_optimum_is_that_of_the_documented_cost(
    days: list[date], finest: str, weight: float
) -> None:
    rows = pl.DataFrame({"born": [day.isoformat() for day in days]})
    kinds = [Dates("born", weight, "YYYY-MM-DD", finest)]
    made = anonymize(rows, KAnonymity(2, ("born",)), attributes=kinds, method="optimal")
    best = min(
        sum(len(group) * documented_cost(days, group, finest) for group in classes)
        for classes in partitions(len(days))
    )
    assert made.diagnostics.information_loss == pytest.approx(weight * best, rel=1e-9, abs=1e-12)
