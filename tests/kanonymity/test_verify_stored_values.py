"""Values as they are stored: what text makes one of two different values is two classes, in every library."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity import Categorical
from discreet.kanonymity.models import AlphaFrequency, Closeness, DistinctDiversity
from discreet.kanonymity.problem.native import Beyond, rank_of, values_of_column
from discreet.kanonymity.risk import risk
from discreet.kanonymity.verify import cells, classes_of, verify
from kanonymity.tables import anonymize_kept as anonymize

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAN = float("nan")
OTHER_NAN = float(np.array([0xFFF8000000000001], np.uint64).view(np.float64)[0])
ZONE = "Europe/Rome"
WIDE = 2**53


def moments(dtype: Any, *stored: int) -> pl.Series:
    narrow = pl.Int32 if dtype == pl.Date else pl.Int64
    return pl.Series(stored, dtype=narrow).cast(dtype)


AUTUMN = 1_603_584_000_000_000
"""Microseconds until the hour before clocks in Rome go back in 2020: its times of day come twice."""

POLARS = {
    "datetime in ns": moments(pl.Datetime("ns"), 1, 2),
    "datetime in us": moments(pl.Datetime("us"), 1, 2),
    "datetime in ms": moments(pl.Datetime("ms"), 1, 2),
    "datetime in ns with a zone": moments(pl.Datetime("ns", ZONE), 1001, 1002),
    "an hour that comes twice": moments(pl.Datetime("us", ZONE), AUTUMN, AUTUMN + 3_600_000_000),
    "datetimes beyond 9999": moments(pl.Datetime("us"), 4 * 10**17, 4 * 10**17 + 1),
    "datetimes before year 1": moments(pl.Datetime("ms"), -(10**15), -(10**15) - 1),
    "dates": moments(pl.Date, 1, 2),
    "dates beyond 9999": moments(pl.Date, 3_000_000, 2**31 - 1),
    "times in ns": moments(pl.Time, 1, 2),
    "durations in ns": moments(pl.Duration("ns"), 1, 2),
    "durations in us": moments(pl.Duration("us"), 1, 2),
    "long durations": moments(pl.Duration("ms"), 2**62, 2**62 + 1),
    "nan and null": pl.Series([NAN, None]),
    "zeros": pl.Series([0.0, -0.0]),
    "two kinds of nan": pl.Series([NAN, OTHER_NAN]),
    "near floats": pl.Series([0.1, float(np.nextafter(0.1, 1))]),
    "near short floats": pl.Series(
        [0.1, float(np.nextafter(np.float32(0.1), 1))], dtype=pl.Float32
    ),
    "half floats": pl.Series([0.0, -0.0], dtype=pl.Float16),
    "zero and null": pl.Series([0, None]),
    "no and null": pl.Series([False, None]),
    "large integers": pl.Series([WIDE, WIDE + 1]),
    "largest integers": pl.Series([2**64 - 1, 2**64 - 2], dtype=pl.UInt64),
    "integers of 128 bits": pl.Series([2**100, 2**100 + 1], dtype=pl.Int128),
    "unsigned of 128 bits": pl.Series([2**127, 2**127 + 1], dtype=pl.UInt128),
    "short integers": pl.Series([1, -1], dtype=pl.Int8),
    "decimals": pl.Series([Decimal("0.00000000000000000001"), Decimal("0.00000000000000000002")]),
    "empty text and null": pl.Series(["", None]),
    "text": pl.Series(["é", "e\u0301"]),
    "text with a space": pl.Series(["a", "a "]),
    "bytes": pl.Series([b"a", b"a\0"]),
    "bytes and null": pl.Series([b"", None]),
    "categories": pl.Series(["a", "b"], dtype=pl.Categorical),
    "category and null": pl.Series(["", None], dtype=pl.Categorical),
    "enum": pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])),
}

ARROW = {
    **{
        f"polars: {name}": series.to_arrow()
        for name, series in POLARS.items()
        if "128 bits" not in name
    },
    "timestamps in ns": pa.array([1, 2], pa.timestamp("ns")),
    "timestamps in s": pa.array([1, 2], pa.timestamp("s", "+02:00")),
    "times in s": pa.array([1, 2], pa.time32("s")),
    "times in ns": pa.array([1, 2], pa.time64("ns")),
    "times past midnight": pa.array([0, 86_400_000_000], pa.time64("us")),
    "dates of one day": pa.array([1, 2], pa.date64()),
    "days": pa.array([1, 2], pa.date32()),
    "durations": pa.array([1, 2], pa.duration("ns")),
    "floats": pa.array([NAN, None]),
    "half floats": pa.array([np.float16(0), np.float16(-0.0)], pa.float16()),
    "decimals of 256 bits": pa.array([Decimal(10**60), Decimal(10**60 + 1)], pa.decimal256(70, 0)),
    "dictionary": pa.array(["", None]).dictionary_encode(),
    "dictionary of times": pa.array([1, 2], pa.time64("ns")).dictionary_encode(),
    "bytes of one length": pa.array([b"ab", b"ac"], pa.binary(2)),
    "views of text": pa.array(["a", "b"], pa.string_view()),
    "chunks": pa.chunked_array([[0.0], [-0.0]]),
}

NUMPY = {
    "datetime64 in ns": np.array([1, 2], "M8[ns]"),
    "datetime64 in ps": np.array([1, 2], "M8[ps]"),
    "datetime64 in weeks": np.array([1, 2], "M8[W]"),
    "datetime64 in days": np.array([1, "NaT"], "M8[D]"),
    "timedelta64 in ns": np.array([1, 2], "m8[ns]"),
    "timedelta64 in days": np.array([1, 2], "m8[D]"),
    "float16": np.array([0.0, -0.0], np.float16),
    "float32": np.array([0.0, -0.0], np.float32),
    "float64": np.array([NAN, OTHER_NAN]),
    "other byte order": np.array([1.0, 2.0], ">f8"),
    "int64": np.array([WIDE, WIDE + 1]),
    "bool": np.array([True, False]),
    "text": np.array(["a", "b"]),
    "bytes": np.array([b"a", b"b"]),
    "objects": np.array([1, "1"], object),
    "every other": np.array([0.0, 9.0, -0.0, 9.0])[::2],
}

OBJECTS: dict[str, Sequence[Any]] = {
    "number and text": [1, "1"],
    "number and truth": [1, True],
    "integer and float": [1, 1.0],
    "nothing and nan": [None, NAN],
    "nothing and empty": [None, ""],
    "zeros": (0.0, -0.0),
    "decimals": [Decimal("1.0"), Decimal("1.00")],
    "fractions": [Fraction(1, 3), Fraction(2, 3)],
    "names of one number": [uuid.UUID(int=1), uuid.UUID(int=2)],
    "times of one moment": [
        dt.datetime(2020, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    ],
    "an hour that comes twice": [dt.time(2), dt.time(2, fold=1)],
    "a date and its midnight": [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)],  # noqa: DTZ001 - a time without a zone
    "spans": [dt.timedelta(0), dt.timedelta(microseconds=1)],
    "numbers of NumPy": [np.float32(0.0), np.float32(-0.0)],
    "moments of NumPy": [np.datetime64(1, "ns"), np.datetime64(2, "ns")],
    "text of NumPy": [np.str_("a"), np.str_("b")],
    "bytes": [b"a", b"b"],
}

PAIRS = {
    f"{library}: {name}": pair
    for library, pairs in {
        "Polars": POLARS,
        "Arrow": ARROW,
        "NumPy": NUMPY,
        "Python": OBJECTS,
    }.items()
    for name, pair in pairs.items()
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_different_values_are_different_classes(pair: Any) -> None:
    table = {"value": pair}
    assert classes_of(table, ["value"]).sizes.tolist() == [1, 1]
    assert not verify(table, KAnonymity(2, ("value",))).passed
    assert risk(table, ["value"]).k == 1


@pytest.mark.parametrize("pair", POLARS.values(), ids=POLARS)
def test_a_file_keeps_them_apart(pair: pl.Series, tmp_path: Path) -> None:
    file = tmp_path / "made.parquet"
    pl.DataFrame({"value": pair}).write_parquet(file)
    read = pl.read_parquet(file)
    assert classes_of(read, ["value"]).sizes.tolist() == [1, 1]
    if read["value"].dtype not in {pl.Int128, pl.UInt128}:
        assert classes_of(read.to_arrow(), ["value"]).sizes.tolist() == [1, 1]


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_equal_values_are_one_class(pair: Any) -> None:
    if isinstance(pair, pl.Series | np.ndarray):
        twice: Any = (
            pair[[0, 1, 0, 1]] if isinstance(pair, np.ndarray) else pair.gather([0, 1, 0, 1])
        )
    elif isinstance(pair, list | tuple):
        twice = [*pair, *pair]
    else:
        chunks = pair.chunks if isinstance(pair, pa.ChunkedArray) else [pair]
        twice = pa.chunked_array([*chunks, *chunks])
    assert classes_of({"value": twice}, ["value"]).labels.tolist() == [0, 1, 0, 1]


REFUSED = {
    "lists": pl.Series([[1], [2]]),
    "records": pl.Series([{"a": 1}]),
    "objects": pl.Series([object()], dtype=pl.Object),
    "lists of Arrow": pa.array([[1]]),
    "spans of months": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    "complex": np.array([1j]),
    "long floats": np.array([1], np.longdouble),
    "tables": np.zeros((2, 2)),
    "records of NumPy": np.zeros(2, [("a", "i4")]),
    "sets": [{1}],
    "tuples": [(1, 2)],
    "a long float": [np.longdouble(1)],
}


@pytest.mark.parametrize("column", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_told_apart_is_refused(column: Any) -> None:
    with pytest.raises(InvalidProblemError, match="value: expected values that can be told apart"):
        classes_of({"value": column}, ["value"])


def test_missing_values_and_columns_of_nothing() -> None:
    for nothing in (
        pl.Series([None, None]),
        pa.nulls(2),
        [None, None],
        pl.Series([None, None], dtype=pl.String),
    ):
        assert classes_of({"value": nothing}, ["value"]).sizes.tolist() == [2]
    assert values_of_column(pa.chunked_array([], pa.int64()), "value").values == ()


class Plain:
    """A column of a library that nobody knows."""

    def tolist(self) -> list[float]:
        """Give its values."""
        return [0.0, -0.0]


def test_columns_of_other_libraries_are_read_value_by_value() -> None:
    for column in (Plain(), range(2), (0, None)):
        assert classes_of({"value": column}, ["value"]).sizes.tolist() == [1, 1]


class Series:
    """A series of pandas that keeps its values as Arrow does, as far as it is looked at."""

    __module__ = "pandas.core.series"
    dtype = "time64[ns][pyarrow]"

    def __init__(self, values: pa.Array) -> None:
        self.array = self
        self._values = values

    def __arrow_array__(self) -> pa.Array:
        return self._values

    def to_list(self) -> list[Any]:
        """Give times as Python has them, to microseconds."""
        return [dt.time(0)] * len(self._values)


def test_a_series_of_pandas_is_read_as_it_is_stored() -> None:
    fine = Series(pa.array([1, 2], pa.time64("ns")))
    assert classes_of({"value": fine}, ["value"]).sizes.tolist() == [1, 1]
    fine.dtype = "object"
    assert classes_of({"value": fine}, ["value"]).sizes.tolist() == [2]


def test_pandas_itself(tmp_path: Path) -> None:
    pandas: Any = pytest.importorskip("pandas")
    stamps = pandas.Series(pandas.to_datetime([1, 2], unit="ns"))
    for series in (
        stamps,
        stamps.dt.tz_localize(ZONE),
        pandas.Series(pandas.to_timedelta([1, 2], unit="ns")),
        pandas.Series([0.0, -0.0]),
        pandas.Series([None, 0], dtype="Int64"),
        pandas.Series([1, 2], dtype="time64[ns][pyarrow]"),
        pandas.Series(["a", None], dtype="category"),
    ):
        assert classes_of(pandas.DataFrame({"value": series}), ["value"]).sizes.tolist() == [1, 1]


def test_text_says_all_of_a_moment() -> None:
    table = pl.DataFrame(
        {
            "at": moments(pl.Datetime("ns", ZONE), 1_001, 1_000),
            "time": moments(pl.Time, 1, 0),
            "span": moments(pl.Duration("ns"), 1, 1000),
            "day": moments(pl.Date, 3_000_000, 0),
        }
    )
    assert cells(table, "at") == [
        "1970-01-01 01:00:00.000001001+01:00",
        "1970-01-01 01:00:00.000001+01:00",
    ]
    assert cells(table, "time") == ["00:00:00.000000001", "00:00:00"]
    assert cells(table, "span") == ["1 ns", "0:00:00.000001"]
    assert cells(table, "day") == ["3000000 D after 1970-01-01", "1970-01-01"]
    zone = pa.table({"at": pa.array([0], pa.timestamp("s", "Mars/X"))})
    assert cells(zone, "at") == ["1970-01-01 00:00:00+00:00"]


def test_an_altered_nanosecond_is_rejected_beside_the_original() -> None:
    original = pl.DataFrame({"age": [1, 1], "at": moments(pl.Datetime("ns"), 1, 1)})
    altered = pl.DataFrame({"age": ["1", "1"], "at": moments(pl.Datetime("ns"), 1, 2)})
    fine = altered.with_columns(original["at"])
    assert verify(fine, KAnonymity(2, ("age",)), against=original).passed
    assert not verify(altered, KAnonymity(2, ("age",)), against=original).passed


def test_nanoseconds_are_published_and_verified() -> None:
    table = pl.DataFrame({"at": moments(pl.Datetime("ns"), 1, 2, 3, 4), "age": [1, 1, 2, 2]})
    sets = [Categorical("at")]
    made = anonymize(table, KAnonymity(2, ("at", "age")), attributes=sets)
    claim = KAnonymity(2, ("at", "age"))
    assert verify(made.table, claim, against=table, attributes=sets).passed
    days = anonymize(table, claim)
    assert set(days.table["at"]) == {"1970-01-01"}
    assert verify(days.table, claim, against=table).passed
    assert set(made.table["at"]) == {
        "1970-01-01 00:00:00.000000001|1970-01-01 00:00:00.000000002",
        "1970-01-01 00:00:00.000000003|1970-01-01 00:00:00.000000004",
    }


def test_moments_out_of_range_are_refused_by_position_alone() -> None:
    stored = 4 * 10**17
    table = pl.DataFrame({"at": moments(pl.Datetime("us"), 0, stored, 0, 1)})
    with pytest.raises(InvalidProblemError) as caught:
        anonymize(table, KAnonymity(2, ("at",)))
    assert str(caught.value).endswith("got another date in row 2")
    assert "14645" not in str(caught.value)
    assert isinstance(values_of_column(table["at"], "at").values[1], Beyond)


def test_what_is_the_same_number_makes_no_class_diverse() -> None:
    """0.0 and -0.0, or nothing and NaN, are two cells to an adversary, and one value to who counts them."""
    for values in ([0.0, -0.0], [None, NAN], [None, ""]):
        table = {"age": [1, 1], "ill": values}
        for asked in ({"diverse": {"ill": 2}}, {"models": {"ill": [DistinctDiversity(2)]}}):
            assert not verify(table, KAnonymity(2, ("age",)), **asked).passed
        assert not verify(
            table, KAnonymity(2, ("age",)), models={"ill": [AlphaFrequency("1/2")]}
        ).passed
        assert not verify(table, KAnonymity(2, ("age",)), person="ill").passed


def test_what_is_stored_apart_is_apart_for_closeness() -> None:
    table = {"age": [1, 1, 2, 2], "ill": [None, None, NAN, NAN]}
    guarantee = KAnonymity(2, ("age",))
    assert not verify(table, guarantee, close={"ill": "1/4"}).passed
    assert not verify(table, guarantee, models={"ill": [Closeness("1/4")]}).passed
    assert verify(table, guarantee, close={"ill": "1/2"}).passed
    assert risk(table, ["age"], sensitive=["ill"]).closeness["ill"] == Fraction(1, 2)


def test_ranks_of_values() -> None:
    """Digits are numbers, exactly compared; what only float() reads as one is text."""
    texts = [
        "nan",
        "inf",
        "1_0",
        "\u0661",
        "",
        "-1",
        "9999999999999999999999",
        "10000000000000000000001",
    ]
    assert sorted(texts, key=rank_of) == [
        *("-1", "9999999999999999999999", "10000000000000000000001"),
        *("", "1_0", "inf", "nan", "\u0661"),
    ]
    mixed = [Decimal("NaN"), NAN, None, Decimal("0.5"), 2**70, 0.25, float("inf"), "1e999999999999"]
    assert sorted(mixed, key=rank_of)[:4] == [0.25, Decimal("0.5"), 2**70, float("inf")]
    assert min([dt.timedelta(2), dt.timedelta(1)], key=rank_of) == dt.timedelta(1)
    dates = values_of_column(moments(pl.Date, 5, -5, 3_000_000), "day")
    assert min(dates.ranks) == dates.ranks[1]


HASHED = """
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity.models import Closeness
from discreet.kanonymity.verify import verify

texts = ["nan", "NaN", "-nan", "1", "2", "10", "b", "inf", "", "a"]
table = {"age": [at // 2 for at in range(10)], "ill": texts}
order = ("1", "2", "10", "nan", "NaN", "-nan", "b", "inf", "a")
asked = [Closeness(t, ordered=True, order=order) for t in LIMITS]
found = verify(table, KAnonymity(2, ("age",)), models={"ill": asked})
print([int(check.residual) for check in found.checks])
"""


@pytest.mark.jit
def test_ordered_closeness_does_not_depend_on_the_hashing_of_text() -> None:
    """Twelve seeds of string hashing gave two verdicts where a sensitive text was ``nan``."""
    limits = [f"{at}/40" for at in range(10, 36)]
    program = HASHED.replace("LIMITS", repr(limits))
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(4)
    ]
    told = {process.communicate(timeout=120)[0] for process in running}
    assert len(told) == 1, told
    assert told.pop().count(",") == len(limits)


@pytest.mark.parametrize("column", [1, None, "ab", b"ab"])
def test_what_is_no_column_is_refused(column: Any) -> None:
    """A text would be gone through letter by letter."""
    with pytest.raises(InvalidProblemError, match="a: expected a column of values"):
        verify({"a": column}, KAnonymity(2, ("a",)))


def test_a_lazy_frame_is_to_be_collected_first() -> None:
    with pytest.raises(InvalidProblemError, match="collect a lazy frame first"):
        verify(pl.DataFrame({"a": [1, 1]}).lazy(), KAnonymity(2, ("a",)))


def test_missing_values_are_one_more_value_or_none_for_closeness() -> None:
    """The distance is the larger one of both readings."""
    table = {"age": [1, 1, 2, 2], "ill": ["a", "b", "a", None]}
    assert risk(table, ["age"], sensitive=["ill"]).closeness["ill"] == Fraction(1, 3)


def test_text_takes_the_order_that_is_stated() -> None:
    values = values_of_column(["low", "high", "", "mid"], "grade")
    ordered = values.in_order(("low", "mid", "high"), "grade")
    place = {text: rank[1] for text, rank in zip(ordered.texts, ordered.ranks, strict=True)}
    assert (place["low"], place["mid"], place["high"]) == (0, 1, 2)
    for order in ((), ("low", "high")):
        with pytest.raises(InvalidProblemError) as caught:
            values.in_order(order, "grade")
        assert caught.value.code == "order-unstated"
    numbers = values_of_column([3, 1, None], "n")
    assert numbers.in_order((), "n") is numbers


def test_a_guarantee_of_persons_says_so_in_its_record() -> None:
    assert KAnonymity(2, ("age",), "person").to_dict()["unit"] == "person"
    assert "unit" not in KAnonymity(2, ("age",)).to_dict()
