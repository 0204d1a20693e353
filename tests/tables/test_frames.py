"""Frames go back as they came, and say nothing of rows that are left out; files are refused by what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.tables.frames import left_out, name_rows, open_table, rebuilt, records_of
from discreet.tables.validate import refuse_times
from discreet.tables.writing import bytes_of, join_files

if TYPE_CHECKING:
    from pathlib import Path

TABLE = pl.DataFrame({"age": [30, 40, 50], "ill": ["yes", "no", "maybe"]})


@pytest.mark.parametrize("kind", ["polars", "arrow", "pandas"])
def test_a_frame_goes_back_as_it_came(kind: str) -> None:
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        table: Any = pandas.DataFrame(TABLE.to_dict(as_series=False), index=[7, 8, 9])
    else:
        table = TABLE if kind == "polars" else TABLE.to_arrow()
    made = rebuilt(table, {"age": ["*", "[30, 50]"]}, np.array([2, 0]), np.array([1, 1]))
    assert type(made) is type(table)
    found = (
        made
        if kind == "polars"
        else pl.DataFrame(made.to_dict("list") if kind == "pandas" else made)
    )
    assert found.rows() == [("[30, 50]", "maybe"), ("[30, 50]", "yes")]
    assert type(left_out(table, ["ill"])) is type(table)


def test_a_dictionary_is_made_anew() -> None:
    table = pa.table({"ill": pa.array(["yes", "no", "rare"]).dictionary_encode()})
    made = rebuilt(table, {}, np.array([0, 1]), np.array([0, 0]))
    assert sorted(made["ill"].combine_chunks().dictionary.to_pylist()) == ["no", "yes"]


def test_a_file_is_scanned_with_positions_and_refused_by_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age;zip\n30;00100\n", encoding="utf-8")
    opened = open_table(path, "people", ["zip"])
    assert opened.collect().rows() == [(0, "00100")]  # type: ignore[union-attr]
    path.write_text("age;age\n30;00100\n", encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="people: .*columns 1 and 2 have the same"):
        open_table(path, "people", ["age"])
    assert name_rows([0]) == "rows 1"


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        (pl.Date, [-719_162, 2_932_896], [-719_163, 2_932_897]),
        (pl.Time, [0, 86_399_999_999_999], []),
        (pl.Datetime("ns"), [-(2**63) + 1, 2**63 - 2], [2**63 - 1]),
        (pl.Datetime("ms"), [-719_162 * 86_400_000], [-719_162 * 86_400_000 - 1]),
        (
            pl.Datetime("ms", "Asia/Tokyo"),
            [-719_161 * 86_400_000, 2_932_896 * 86_400_000 - 1],
            [-719_161 * 86_400_000 - 1, 2_932_896 * 86_400_000],
        ),
        (pl.Duration("us"), [-(2**63) + 1], []),
        (pl.Duration("ms"), [999_999_999 * 86_400_000], [1_000_000_000 * 86_400_000]),
    ],
    ids=str,
)
def test_moments_end_where_the_calendar_does(
    kind: Any, inside: list[int], outside: list[int]
) -> None:
    width = pl.Int32 if kind == pl.Date else pl.Int64

    def table(number: int) -> pl.DataFrame:
        return pl.DataFrame({"n": [1, 2], "t": pl.Series([None, number], dtype=width).cast(kind)})

    for number in inside:
        refuse_times(table(number), "TABLE")
    refuse_times(table(0).head(0), "TABLE")
    for number in outside:
        with pytest.raises(InvalidProblemError, match="TABLE: .* other values in column 2"):
            refuse_times(table(number), "TABLE")


def test_written_files_hold_the_table(tmp_path: Path) -> None:
    for suffix, read in ((".csv", pl.read_csv), (".parquet", pl.read_parquet)):
        (tmp_path / f"a{suffix}").write_bytes(bytes_of(TABLE, suffix))
        assert read(tmp_path / f"a{suffix}").equals(TABLE)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_are_joined_with_one_line_of_names(tmp_path: Path, suffix: str) -> None:
    table = pl.DataFrame({"a,\nb": ["x", "", None, 'y\n"z"'], "n": ["1", "2", "3", "4"]})
    parts = []
    for at in range(2):
        parts.append(tmp_path / f"{at}{suffix}")
        parts[-1].write_bytes(bytes_of(table[2 * at : 2 * at + 2], suffix))
    join_files(parts, tmp_path / f"out{suffix}", table.columns)
    read = (
        pl.read_parquet
        if suffix == ".parquet"
        else lambda path: pl.read_csv(path, infer_schema=False)
    )
    assert read(tmp_path / f"out{suffix}").equals(table)


def test_records_are_read_from_whatever_holds_them() -> None:
    rows = [{"u": 1, "v": 2}, {"u": 3, "v": 4}]
    for table in (rows, {"u": [1, 3], "v": [2, 4]}, pl.DataFrame(rows)):
        assert records_of(table, "edges") == rows
    line = {"type": "LineString", "coordinates": [[0, 1], [2, 3]]}
    point = {"type": "Point", "coordinates": [4, 5]}
    features = [
        {"id": 7, "properties": {"u": 1}, "geometry": line},
        {"properties": None, "geometry": point},
    ]
    assert records_of({"type": "FeatureCollection", "features": features}, "edges") == [
        {"id": 7, "u": 1, "geometry": [(0.0, 1.0), (2.0, 3.0)]},
        {"id": None, "geometry": [(4.0, 5.0)]},
    ]
    with pytest.raises(InvalidProblemError, match="edges: expected columns of equal length"):
        records_of({"u": [1], "v": []}, "edges")
    with pytest.raises(InvalidProblemError, match="edges: .* got int"):
        records_of(3, "edges")
