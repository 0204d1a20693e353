"""Keys of cells that Polars cannot write: no value of a row may end a release."""

from __future__ import annotations

import datetime as dt

import narwhals as nw
import polars as pl
import pytest

from discreet.tables.keys import key_of, key_text, whole_of, with_plain_cells

ENDS = [2**63 - 1, -(2**63), 0, None]


def keys(series: pl.Series, *, lazy: bool) -> list[str]:
    """Read keys, and whole numbers, of which days are none."""
    table = pl.DataFrame({"day": series})
    frame = nw.from_native(table.lazy() if lazy else table)
    numbers, fine = whole_of(frame, "day")
    chosen = frame.select(key_of(frame, "day").alias("key"), numbers.alias("n"), fine.alias("fine"))
    made: pl.DataFrame = chosen.lazy().collect().to_polars()
    assert made["n"].sum() == 0
    assert not made["fine"].any()
    return made["key"].to_list()


@pytest.mark.parametrize("lazy", [False, True])
def test_days_of_no_calendar_are_empty_keys(*, lazy: bool) -> None:
    days = pl.Series([2**31 - 1, -(2**31), 0, None], dtype=pl.Int32).cast(pl.Date)
    assert keys(days, lazy=lazy) == ["", "", "1970-01-01", ""]
    for unit in ("ms", "us"):
        for zone in (None, "UTC", "Pacific/Kiritimati"):
            moments = pl.Series(ENDS).cast(pl.Datetime(unit, zone))
            first, last, third, none = keys(moments, lazy=lazy)
            assert (first, last, none) == ("", "", "")
            assert third in {"1970-01-01", "1969-12-31T13:20:00"}
    # All nanoseconds are in the calendar.
    assert keys(pl.Series(ENDS).cast(pl.Datetime("ns")), lazy=lazy)[:2] == [
        "2262-04-11T23:47:16",
        "1677-09-21T00:12:43",
    ]


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "pandas on Arrow"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_moments_have_the_same_keys_in_each_library(
    library: str, unit: str, zone: str | None
) -> None:
    pa = pytest.importorskip("pyarrow")
    # Moments of no calendar, but for nanoseconds.
    column = pa.array([2**63 - 1, -(2**63) + 1, 0, None]).cast(pa.timestamp(unit, zone))
    table = pa.table({"day": column})
    if library != "pyarrow":
        pd = pytest.importorskip("pandas")
        table = table.to_pandas(types_mapper=pd.ArrowDtype if "Arrow" in library else None)
    frame = with_plain_cells(nw.from_native(table, eager_only=True), ["day"])
    first, last, third, none = frame.select(key_of(frame, "day"))["day"].to_list()
    assert (third, none) == ("1970-01-01", "")
    if unit != "ns":
        assert (first, last) == ("", "")


@pytest.mark.parametrize("lazy", [False, True])
def test_the_whole_calendar_has_keys(*, lazy: bool) -> None:
    days = [dt.date.min, dt.date.max]
    assert keys(pl.Series(days), lazy=lazy) == [key_text(day) for day in days]
    moments = [
        dt.datetime.combine(dt.date.min, dt.time()),
        dt.datetime.combine(dt.date.max, dt.time(23, 59, 59)),
    ]
    for unit in ("ms", "us"):
        series = pl.Series(moments, dtype=pl.Datetime(unit))
        assert keys(series, lazy=lazy) == ["0001-01-01", "9999-12-31T23:59:59"]
