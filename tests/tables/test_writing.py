"""A table that is written is the table that is read again, in each kind of file; what a kind cannot hold is refused."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.commands import say
from discreet.core.errors import InvalidProblemError
from discreet.tables.foreign_files import Labels, read_written_workbook
from discreet.tables.options import FileRequest, ReadingOptions
from discreet.tables.reading import read_labels, read_rows
from discreet.tables.validate import refuse_name, refuse_unwritable
from discreet.tables.writing import WRITABLE, bytes_of

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("openpyxl")
pyreadstat = pytest.importorskip("pyreadstat")

TYPED = (".parquet", ".xlsx", ".sav")

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.integers(1 - 2**53, 2**53 - 1),
    "part": st.floats(-1e9, 1e9).map(lambda number: round(number, 4)),
    "text": st.text(
        st.characters(
            codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"
        ),
        min_size=1,
    ).filter(lambda text: text == text.strip() and "_x" not in text),
    "formula": st.sampled_from(["=1+1", "=A1", "+1", "@x", "020", "1e5", "TRUE"]),
    "day": st.dates(dt.date(1900, 3, 1), dt.date(9999, 12, 30)),
    "moment": st.datetimes(
        dt.datetime.fromisoformat("1900-03-01"), dt.datetime.fromisoformat("2200-01-01")
    ).map(lambda moment: moment.replace(microsecond=0)),
}


@pytest.mark.parametrize("suffix", TYPED)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read_with_its_types_and_order(
    suffix: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    names = data.draw(st.permutations(sorted(VALUES)))
    rows = data.draw(st.integers(1, 4))
    table = pl.DataFrame(
        {name: data.draw(st.lists(VALUES[name], min_size=rows, max_size=rows)) for name in names}
    )
    # A column of whole floats, or of moments at midnight, is read as one of integers or days by design.
    table = table.with_columns(
        pl.col("part") + 0.5 * (pl.col("part") % 1 == 0), pl.col("moment") + pl.duration(hours=12)
    )
    refuse_unwritable(table.lazy(), (), f"a{suffix}", "--output")
    path = tmp_path_factory.mktemp("tables") / f"a{suffix}"
    path.write_bytes(bytes_of(table, suffix))
    again = read_rows(str(path), "TABLE")
    assert again.columns == table.columns
    assert again.schema == table.schema
    assert again.rows() == table.rows()


@pytest.mark.parametrize("suffix", TYPED)
def test_missing_values_stay_missing(suffix: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"n": [1, None], "d": [None, dt.date(2020, 1, 1)], "f": [0.5, None]})
    path = tmp_path / f"a{suffix}"
    path.write_bytes(bytes_of(table, suffix))
    assert read_rows(str(path), "TABLE").rows() == table.rows()


ODD: dict[str, tuple[pl.DataFrame, tuple[str, ...]]] = {
    "long integers": (pl.DataFrame({"a": [2**53 + 1]}), (".xlsx", ".sav")),
    "infinite": (pl.DataFrame({"a": [float("inf")]}), (".xlsx", ".sav")),
    "durations": (pl.DataFrame({"a": [dt.timedelta(1)]}), (".csv", ".xlsx", ".sav")),
    "bytes": (pl.DataFrame({"a": [b"x"]}), (".csv", ".xlsx", ".sav")),
    "zones": (
        pl.DataFrame({"a": [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]}),
        (".xlsx", ".sav"),
    ),
    "microseconds": (
        pl.DataFrame({"a": [dt.datetime.fromisoformat("2020-01-01T00:00:00.000001")]}),
        (".xlsx", ".sav"),
    ),
    "before 1900": (pl.DataFrame({"a": [dt.date(1900, 2, 28)]}), (".xlsx",)),
    "before 1582": (pl.DataFrame({"a": [dt.date(1582, 10, 14)]}), (".xlsx", ".sav")),
    "control": (pl.DataFrame({"a": ["x\x07"]}), (".xlsx",)),
    "zero": (pl.DataFrame({"a": ["x\0"]}), (".xlsx", ".sav")),
    "escape": (pl.DataFrame({"a": ["_x000D_"]}), (".xlsx",)),
    "blank in a name": (pl.DataFrame({"a b": [1]}), (".sav",)),
    "digit first": (pl.DataFrame({"1a": [1]}), (".sav",)),
    "reserved": (pl.DataFrame({"With": [1]}), (".sav",)),
    "case": (pl.DataFrame({"a": [1], "A": [1]}), (".sav",)),
    "long name": (pl.DataFrame({"a" * 65: [1]}), (".sav",)),
    "many rows": (
        pl.DataFrame({"a": [1]}).select(pl.col("a").repeat_by(2**20).explode()),
        (".xlsx",),
    ),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_a_kind_of_file_cannot_hold_is_refused_by_its_place(kind: str) -> None:
    table, refusing = ODD[kind]
    for suffix in WRITABLE:
        if suffix not in refusing:
            refuse_unwritable(table.lazy(), (), f"a{suffix}", "--output")
            continue
        with pytest.raises(InvalidProblemError, match="let .* end in") as raised:
            refuse_unwritable(table.lazy(), (), f"a{suffix}", "--output")
        assert raised.value.field == "--output"
        assert "x\x07" not in str(raised.value)


def test_a_cell_is_never_cut_off() -> None:
    table = pl.DataFrame({"a": ["x" * 32_768]})
    for suffix in (".xlsx", ".sav"):
        with pytest.raises(InvalidProblemError, match="longer cell in column 1"):
            bytes_of(table, suffix)
    assert len(bytes_of(table, ".csv")) > 32_767


def test_names_of_kinds_that_are_not_written_are_refused() -> None:
    for name in ("a.dta", "a.xls", "a", "a.zsav"):
        with pytest.raises(InvalidProblemError, match=".csv, .parquet, .xlsx or .sav"):
            refuse_name(name, "--output")
    refuse_name(None, "--output")


LABELS = Labels({"sex": "Sex"}, {"sex": {1.0: "F", 2.0: "M", 9.0: "refused"}})


@pytest.mark.parametrize(
    ("cells", "coded"),
    [
        (["F", "M", None], {1.0: "F", 2.0: "M"}),
        (["F|M", "F", "5"], {1.0: "F", 10.0: "F|M"}),
        (["F|M", "M|refused", "F"], {1.0: "F", 10.0: "F|M", 11.0: "M|refused"}),
        # A number that has another label, a label that is too long for SPSS, and a column without a label stay text.
        (["F", "1"], {}),
        (["F", "x" * 121], {}),
        (["<18", ">=18"], {}),
    ],
)
def test_coded_values_keep_their_codes_and_read_as_they_did(
    cells: list[str | None], coded: dict[float, str], tmp_path: Path
) -> None:
    path = tmp_path / "a.sav"
    path.write_bytes(bytes_of(pl.DataFrame({"sex": cells}), ".sav", labels=LABELS))
    assert read_rows(str(path), "TABLE")["sex"].to_list() == cells
    found = read_labels(str(path), ReadingOptions())
    assert found.columns == LABELS.columns
    assert dict(found.values.get("sex", {})) == coded


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write synthetic patients as a file of SPSS: codes with labels, a date, and a number with decimals."""
    monkeypatch.chdir(tmp_path)
    n = 24
    table = pl.DataFrame(
        {
            "id": range(n),
            "sex": [1 + at % 2 for at in range(n)],
            "age": [20 + at % 8 for at in range(n)],
            "seen": [dt.date(2020, 1, 1) + dt.timedelta(at) for at in range(n)],
            "illness": [(1, 2, 9)[at % 3] for at in range(n)],
            "score": [at / 4 for at in range(n)],
        }
    )
    labels = {
        "sex": {1: "female", 2: "male", 7: "refused"},
        "illness": {1: "flu", 2: "cold", 9: "other"},
    }
    pyreadstat.write_sav(
        table, "p.sav", column_labels={"illness": "Diagnosis"}, variable_value_labels=labels
    )
    return tmp_path


@pytest.mark.parametrize("suffix", WRITABLE)
def test_a_table_comes_back_in_the_kind_of_file_that_it_came_in(
    suffix: str, patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = read_rows("p.sav", "TABLE").drop("id")
    (patients / f"p{suffix}").write_bytes(
        bytes_of(read_rows("p.sav", "TABLE"), suffix, labels=read_labels("p.sav", ReadingOptions()))
    )
    made = say(
        capsys,
        *("anonymize", f"p{suffix}", "-k", "4", "--quasi", "sex,age", "--sensitive", "illness"),
        *("--keep", "seen,score", "--drop", "id", "-o", f"out{suffix}", "-q"),
    )
    assert made.status == 0, made.err
    out = read_rows(f"out{suffix}", "TABLE")
    assert out.columns == whole.columns
    if suffix != ".csv":
        assert (
            out.select("seen", "illness", "score").schema
            == whole.select("seen", "illness", "score").schema
        )
    assert say(capsys, "verify", f"out{suffix}", "--against", f"p{suffix}").status == 0
    assert say(capsys, "verify", f"out{suffix}").status == 0
    changed = (patients / f"out{suffix}").read_bytes()
    (patients / f"out{suffix}").write_bytes(changed + b"\n")
    assert say(capsys, "verify", f"out{suffix}").status != 0


def test_only_labels_of_what_is_published_are_written(
    patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "anonymize",
        "p.sav",
        "-k",
        "4",
        "--quasi",
        "sex,age",
        "--drop",
        "id,seen,illness,score",
    )
    assert say(capsys, *words, "-o", "out.sav", "-q").status == 0
    _, about = pyreadstat.read_sav("out.sav", output_format="polars")
    assert about.variable_value_labels["sex"] == {1.0: "female", 2.0: "male"}
    assert b"Diagnosis" not in (patients / "out.sav").read_bytes()
    assert b"refused" not in (patients / "out.sav").read_bytes()


@pytest.mark.parametrize(
    ("output", "more"),
    [
        ("out.dta", ()),
        ("out.xlsx", ("--memory", "1GB")),
        ("out.sav", ()),
    ],
)
def test_a_refused_output_leaves_nothing(
    output: str, more: tuple[str, ...], patients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pl.DataFrame({"age": [30, 30, 30], "with": [1, 2, 3]}).write_csv("q.csv")
    before = sorted(patients.iterdir())
    words = ("anonymize", "q.csv", "-k", "2", "--quasi", "age", "--keep", "with", "-q")
    ended = say(capsys, *words, "-o", output, *more)
    assert ended.status == 2
    assert "--output" in ended.err
    assert sorted(patients.iterdir()) == before


def test_a_workbook_holds_whole_numbers_of_any_length_and_no_time() -> None:
    """Noise has no largest value; and the time of writing would depend on private rows."""
    rows = [("=1+1", 2**62 + 1, 0.5), ("020", -(2**53) - 1, 1.0), (" a\n", 0, 0.1 + 0.2)]
    table = pl.DataFrame(rows, schema=["region", "count", "share"], orient="row")
    data = bytes_of(table, ".xlsx")
    request = FileRequest("path", "out.xlsx", ReadingOptions(), 10**9, "less")
    assert read_written_workbook(data, table.schema, request).equals(table)
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        assert {one.date_time for one in book.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        about = book.read("docProps/core.xml").decode()
    assert re.findall(r"\d{4}-\d\d-\d\dT[0-9:]+", about) == ["1980-01-01T00:00:00"] * 2
    for wrong in ({**table.schema, "region": pl.Int64}, {"region": pl.String}):
        with pytest.raises(InvalidProblemError, match="complete file"):
            read_written_workbook(data, wrong, request)
    with pytest.raises(InvalidProblemError, match="complete file"):
        read_written_workbook(data[:-30], table.schema, request)
