"""Keys of cells that Polars cannot write: no value of a row may end a release."""

from __future__ import annotations

import datetime as dt

import narwhals as nw
import polars as pl
import pytest

from discreet.tables.keys import key_of, key_text, nth_rows, whole_of, with_plain_cells

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


def test_each_set_of_rows_of_a_person_is_kept_as_often_as_another() -> None:
    """4 of 6 rows are kept at random: 15 sets, each 400 times in 6,000 draws on average."""
    rows = nw.from_native(
        pl.DataFrame({"who": [f"p{n}" for n in range(6000)] * 6}).with_columns(
            why=pl.lit(0), cell=pl.int_range(pl.len()) // 6000
        )
    )
    kept = nth_rows(rows, "who", ["why", "cell"]).to_native().filter(pl.col("discreet nth") < 4)
    sets = kept.group_by("who").agg(pl.col("cell").sort().implode())["cell"]
    sizes = sets.list.len().unique().to_list()
    many = sets.list.eval(pl.element().cast(pl.String)).list.join("").value_counts()["count"]
    assert (sizes, len(many)) == ([4], 15)
    # The standard deviation is 19; a fair draw fails once in 10^8 runs.
    assert 280 < many.min() < many.max() < 520


def test_other_persons_and_the_order_of_rows_change_no_draw() -> None:
    rows = pl.DataFrame({"who": ["a", "b", "b", "a", "b", "c"], "why": [0] * 6, "cell": range(6)})
    key = b"any"

    def numbers(table: pl.DataFrame) -> set[tuple[object, ...]]:
        return set(nth_rows(nw.from_native(table), "who", ["why", "cell"], key).rows())

    whole = numbers(rows)
    assert numbers(rows[::-1]) == whole
    for who in "abc":
        left = {row for row in whole if row[0] != who}
        assert numbers(rows.filter(pl.col("who") != who)) == left
