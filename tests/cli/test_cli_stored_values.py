"""Tables of types that text cuts short, or that it cannot hold: told apart by ``verify``, refused by position."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cli.commands import say

FAR = 4 * 10**17
YEAR = "14645"
"""The year of that many microseconds after 1970: private, and in no message."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def moments(dtype: Any, *stored: int) -> pl.Series:
    return pl.Series(stored, dtype=pl.Int64).cast(dtype)


@pytest.mark.parametrize(
    "column",
    [
        moments(pl.Datetime("ns"), 1, 2, 3, 4),
        moments(pl.Time, 1, 2, 3, 4),
        moments(pl.Duration("ns"), 1, 2, 3, 4),
        pl.Series([float("nan"), None, 0.0, -0.0]),
    ],
    ids=["datetimes", "times", "durations", "floats"],
)
def test_four_different_values_are_no_class(
    capsys: pytest.CaptureFixture[str], column: pl.Series
) -> None:
    pl.DataFrame({"value": column}).write_parquet("made.parquet")
    said = say(capsys, "verify", "made.parquet", "-k", 2, "--quasi", "value", "--json")
    assert said.status == 1
    assert (said.data["classes"], said.data["smallest_class"]) == (4, 1)
    # Risk is judged by what cells mean: both zeros are one value, and a NaN is missing.
    k = 2 if column.dtype.is_float() else 1
    assert say(capsys, "risk", "made.parquet", "--quasi", "value", "--json").data["k"] == k


@pytest.mark.parametrize("more", [(), ("--memory", "1GB")])
@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_a_year_out_of_range_is_refused_without_it(
    capsys: pytest.CaptureFixture[str], more: tuple[str, ...], output: str
) -> None:
    """By the place of the column, whether it is a quasi-identifier or not, and before anything is searched for."""
    table = pl.DataFrame({"age": [1, 1, 1, 1], "at": moments(pl.Datetime("us"), 0, FAR, 0, 1)})
    table.write_parquet("far.parquet")
    for quasi in ("age,at", "age"):
        said = say(
            capsys, "anonymize", "far.parquet", "--quasi", quasi, "-k", 2, "-o", output, *more
        )
        assert said.status == 2
        assert "dates in the years 1 to 9999" in said.err
        assert "other values in column 2" in said.err
        assert YEAR not in said.err + said.out
        assert "Traceback" not in said.err
        assert not Path(output).exists()


def test_moments_out_of_range_are_refused_by_judges(capsys: pytest.CaptureFixture[str]) -> None:
    pl.DataFrame(
        {
            "age": ["1", "1"],
            "at": moments(pl.Datetime("us"), FAR, FAR + 1),
            "day": pl.Series([2**31 - 1, 0], dtype=pl.Int32).cast(pl.Date),
        }
    ).write_parquet("far.parquet")
    for asked in (
        ("risk", "far.parquet", "--quasi", "age", "--sensitive", "at,day"),
        ("risk", "far.parquet", "--quasi", "at,day"),
        ("verify", "far.parquet", "-k", 2, "--quasi", "age", "--require", "at=ordered-closeness:1"),
        ("verify", "far.parquet", "-k", 2, "--quasi", "age", "--against", "far.parquet"),
    ):
        said = say(capsys, *asked)
        assert said.status == 2, said
        assert "dates in the years 1 to 9999" in said.err
        assert YEAR not in said.err + said.out


@pytest.mark.parametrize("more", [(), ("--memory", "1GB")])
@pytest.mark.parametrize("column", [[dt.timedelta(1)] * 4, [b"a"] * 4], ids=["durations", "bytes"])
def test_a_column_that_no_csv_file_holds_is_refused(
    capsys: pytest.CaptureFixture[str], column: list[Any], more: tuple[str, ...]
) -> None:
    pl.DataFrame({"age": [1, 1, 2, 2], "how": column}).write_parquet("made.parquet")
    asked = ("anonymize", "made.parquet", "-k", 2, "--quasi", "age", "--keep", "how", "-o")
    said = say(capsys, *asked, "out.csv", *more)
    assert said.status == 2
    assert "columns that a CSV file can hold; let --output end in .parquet" in said.err
    assert say(capsys, *asked, "out.parquet", *more).status == 0
