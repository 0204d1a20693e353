"""Dates as text: formats are told apart or refused, and spans of the calendar are read back."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from discreet.core.dates import FORMATS, day_of, formats_of, resolved_format, span_of
from discreet.core.errors import InvalidProblemError

DAY = date(1980, 4, 25).toordinal()
WRITTEN = {
    "YYYY-MM-DD": "1980-04-25",
    "YYYY/MM/DD": "1980/4/25",
    "YYYY.MM.DD": "1980.04.25",
    "YYYYMMDD": "19800425",
    "DD.MM.YYYY": "25.04.1980",
    "MM.DD.YYYY": "04.25.1980",
    "DD/MM/YYYY": "25/04/1980",
    "MM/DD/YYYY": "04/25/1980",
    "DD-MM-YYYY": "25-04-1980",
    "MM-DD-YYYY": "04-25-1980",
    "DD Mon YYYY": "25 April 1980",
    "Mon DD, YYYY": "Apr 25th, 1980",
    "DDMonYYYY": "25APR1980",
}

FIRST = {
    "YYYY-MM": "1980-04",
    "YYYY/MM": "1980/04",
    "MM/YYYY": "04/1980",
    "YYYYMmm": "1980M04",
    "MonYYYY": "APR1980",
    "YYYYQn": "1980Q2",
}
"""Formats without a day, which stand for the first."""

SHORT = {"DD-Mon-": "25-APR-80", "DD.MM.": "25.04.80", "DD/MM/": "25/04/80", "MM/DD/": "04/25/80"}
CENTURIES = {"19YY": 1980, "20YY": 2080, "RR": 1980}
"""Years of two digits, by the century that is stated."""


def test_every_format_has_an_example() -> None:
    short = {f"{days}{century}" for days in SHORT for century in CENTURIES}
    assert {*WRITTEN, *FIRST, *short} == {*FORMATS}


@pytest.mark.parametrize("form", FIRST)
def test_a_month_stands_for_its_first_day(form: str) -> None:
    assert day_of(FIRST[form], form) == date(1980, 4, 1).toordinal()
    assert resolved_format("born", [FIRST[form]]) == form


@pytest.mark.parametrize("days", SHORT)
def test_a_century_is_stated_and_never_guessed(days: str) -> None:
    for century, year in CENTURIES.items():
        assert day_of(SHORT[days], f"{days}{century}") == date(year, 4, 25).toordinal()
    with pytest.raises(InvalidProblemError, match="century"):
        resolved_format("born", [SHORT[days]])


@pytest.mark.parametrize("form", WRITTEN)
def test_a_day_above_twelve_has_one_format(form: str) -> None:
    assert day_of(WRITTEN[form], form) == DAY
    assert formats_of([WRITTEN[form]]) == [form]
    assert resolved_format("born", [WRITTEN[form]]) == form


@pytest.mark.parametrize("text", ["1980-13-01", "1980-02-30", "spring", "", "1980-4"])
def test_what_is_no_date_has_no_day(text: str) -> None:
    assert day_of(text, "YYYY-MM-DD") is None


@pytest.mark.parametrize("text", ["3 Apx 1980", "3 Mayor 1980", "31 Feb 1980"])
def test_a_name_that_is_no_month_is_none(text: str) -> None:
    assert day_of(text, "DD Mon YYYY") is None


def test_dates_that_are_no_text_have_every_format() -> None:
    cells = [date(1980, 4, 25), datetime(1980, 4, 25, 13, 5)]  # noqa: DTZ001 - as frames hold them
    assert {day_of(cell, form) for cell in cells for form in FORMATS} == {DAY}
    assert resolved_format("born", cells) == "YYYY-MM-DD"


def test_a_time_of_the_day_is_dropped() -> None:
    assert day_of("1980-04-25T23:59:59.5+02:00", "YYYY-MM-DD") == DAY


def test_the_declared_format_is_held_to() -> None:
    assert resolved_format("born", ["03/04/1980"], "MM/DD/YYYY") == "MM/DD/YYYY"
    with pytest.raises(InvalidProblemError, match="one of YYYY-MM-DD"):
        resolved_format("born", ["03/04/1980"], "D/M/Y")
    with pytest.raises(InvalidProblemError, match="dates as MM/DD/YYYY in each cell"):
        resolved_format("born", ["25/04/1980"], "MM/DD/YYYY")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["03/04/1980"], "--date born=DD/MM/YYYY or --date born=MM/DD/YYYY"),
        (["1980-04-25", "25.04.1980"], r"several \(YYYY-MM-DD, DD.MM.YYYY\), or other cells"),
        (["spring"], "no dates"),
    ],
)
def test_what_cannot_be_told_is_refused_without_a_cell(cells: list[str], said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said) as caught:
        resolved_format("born", cells)
    assert not any(cell in str(caught.value) for cell in cells)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1980-02-29", (1980, 2, 29), (1980, 2, 29)),
        ("1980-02", (1980, 2, 1), (1980, 2, 29)),
        ("1980-12", (1980, 12, 1), (1980, 12, 31)),
        ("1980-Q3", (1980, 7, 1), (1980, 9, 30)),
        ("1980-Q4", (1980, 10, 1), (1980, 12, 31)),
        ("1980", (1980, 1, 1), (1980, 12, 31)),
        ("1980 to 1989", (1980, 1, 1), (1989, 12, 31)),
    ],
)
def test_spans_have_their_first_and_last_day(
    text: str, first: tuple[int, int, int], last: tuple[int, int, int]
) -> None:
    assert span_of(text) == (date(*first).toordinal(), date(*last).toordinal())


@pytest.mark.parametrize("text", ["1980-13", "1980-02-30", "0000", "spring", "1980-Q5"])
def test_what_names_no_span_has_none(text: str) -> None:
    assert span_of(text) is None


def test_spans_reach_the_first_and_the_last_day_of_the_calendar() -> None:
    assert span_of("0000 to 0004") == (1, date(4, 12, 31).toordinal())
    assert span_of("9990 to 9999") == (date(9990, 1, 1).toordinal(), date.max.toordinal())
    assert span_of("0000") is None
