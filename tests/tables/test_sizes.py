"""Small files that hold large tables are refused before they are read, in a sentence that states the limit."""

from __future__ import annotations

import io
import json
import resource
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from cli.commands import say
from discreet.artefact.sidecar import sidecar_of
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.streaming.run import in_words as large_in_words
from discreet.studio.reading import LIMITS, read_upload
from discreet.tables import parsing
from discreet.tables.sizes import allowed, csv_size, in_words, parquet_size, refuse_long_text

GIB = 1 << 30


def coded(rows: int, value: object, kind: pa.DataType) -> pa.DictionaryArray:
    """Give a column of one value that is written once."""
    return pa.DictionaryArray.from_arrays(
        pa.nulls(rows, pa.int32()).fill_null(0), pa.array([value], kind)
    )


def written(path: Path, columns: dict[str, object], **options: object) -> Path:
    parquet.write_table(pa.table(columns), path, compression="zstd", store_schema=False, **options)
    return path


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the file of the fault: 999,999 rows by 150 columns in far less than 3 MB."""
    column = coded(999_999, "a value", pa.string())
    path = tmp_path_factory.mktemp("wide") / "wide.parquet"
    written(path, {f"c{at}": column for at in range(150)})
    assert path.stat().st_size < 3 << 20
    return path


@pytest.fixture
def never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object, **__: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(pl, "read_parquet", read)
    monkeypatch.setattr(pl, "read_csv", read)


@pytest.mark.usefixtures("never_read")
def test_the_studio_refuses_a_dictionary_that_expands(wide: Path) -> None:
    with pytest.raises(InvalidProblemError) as refused:
        read_upload(wide, "wide.parquet")
    assert str(refused.value) == (
        "The file: expected a table of at most 1 GiB once it is read, where a cell of text takes 16 bytes; leave "
        "columns out, or use `discreet anonymize FILE -k K --quasi A,B --memory 4GB -o OUT` on the command line, got "
        "999,999 rows and 150 columns, about 2.2 GiB"
    )


@pytest.mark.usefixtures("never_read")
def test_commands_refuse_what_takes_more_than_half_of_the_memory(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, wide: Path
) -> None:
    monkeypatch.setattr("discreet.tables.reading.allowed", lambda: 2 * GIB)
    said = say(capsys, "verify", wide, "-k", 2, "--quasi", "c0", "--json")
    assert (said.status, said.out) == (2, "")
    error = json.loads(said.err)["error"]
    assert error["argument"] == "FILE"
    assert "at most 2 GiB once it is read, half of the memory" in error["expected"]
    assert error["got"] == "999,999 rows and 150 columns, about 2.2 GiB"
    for command in (["risk", wide], ["anonymize", wide, "-k", 2]):
        said = say(capsys, *command, "--quasi", "c0")
        assert said.status == 2
        assert "TABLE: expected a table of at most 2 GiB" in said.err


@pytest.mark.usefixtures("never_read")
def test_lines_of_empty_cells_are_counted_before_they_are_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "wide.csv"
    names = ",".join(f"c{at}" for at in range(150))
    path.write_text(f"{names}\n" + ("," * 149 + "\n") * 5_000, encoding="utf-8")
    monkeypatch.setattr("discreet.tables.reading.allowed", lambda: 4 << 20)
    said = say(capsys, "risk", path, "--quasi", "c0")
    assert said.status == 2
    assert "got 5,000 rows and 150 columns, about 12 MiB" in said.err
    monkeypatch.setattr("discreet.studio.reading.LIMITS", LIMITS._replace(memory=4 << 20))
    with pytest.raises(InvalidProblemError, match="5,000 rows and 150 columns, about 12 MiB"):
        read_upload(path, "wide.csv")


def test_one_long_cell_that_many_rows_refer_to_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A reader keeps it once, so that it fits; whoever writes it out would not."""
    column = coded(20_000, "x" * 100_000, pa.string())
    path = written(tmp_path / "long.parquet", {"a": column})
    size = parquet_size(path)
    assert size is not None
    assert size.size < 1 << 20
    with pytest.raises(InvalidProblemError, match="20,000 rows and 1 column, about 1.9 GiB"):
        read_upload(path, "long.parquet")
    monkeypatch.setattr("discreet.tables.reading.allowed", lambda: GIB)
    assert "about 1.9 GiB" in say(capsys, "risk", path, "--quasi", "a").err
    binary = pl.DataFrame({"a": [b"x" * 10]})
    with pytest.raises(InvalidProblemError, match="about 10 bytes"):
        refuse_long_text(binary, 9, "a", "less")
    refuse_long_text(binary, 10, "a", "less")


def test_a_limit_is_never_printed_above_itself_and_a_need_never_below() -> None:
    sizes = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    for size in (999, 1_599, 99_999_999, 1_549_999_999, 3_000_000_001, 123_456_789_012):
        for words, side in ((printed.at_least, -1), (printed.at_most, 1)):
            number, unit = in_words(size, words).split()
            assert (float(number.replace(",", "")) * sizes[unit] - size) * side >= 0
            number = large_in_words(size, words)
            stated = float(number[:-2].replace(",", "")) * {"MB": 10**6, "GB": 10**9}[number[-2:]]
            assert (stated - size) * side >= 0


def test_what_is_of_fixed_width_is_copied_to_each_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    column = coded(1_000, b"x" * 2_000, pa.binary(2_000))
    path = written(tmp_path / "fixed.parquet", {"a": column})
    size = parquet_size(path)
    assert size is not None
    assert (size.rows, size.columns, size.size) == (1_000, 1, 2_000_000)
    monkeypatch.setattr("discreet.studio.reading.LIMITS", LIMITS._replace(memory=1 << 20))
    with pytest.raises(InvalidProblemError, match="1,000 rows and 1 column, about 2 MiB"):
        read_upload(path, "fixed.parquet")


def test_a_bound_is_no_less_than_what_polars_takes(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "number": range(1_000),
            "real": [0.5 * at for at in range(1_000)],
            "flag": [at % 2 == 0 for at in range(1_000)],
            "small": pl.Series(range(1_000), dtype=pl.Int16),
            "text": [f"a text that is longer than twelve {at}" for at in range(1_000)],
            "missing": pl.Series([None] * 1_000, dtype=pl.Int64),
            "many": [[at, at] for at in range(1_000)],
            "day": pl.Series(range(1_000), dtype=pl.Int32).cast(pl.Date),
        }
    )
    for groups in (None, 100):
        table.write_parquet(tmp_path / "a.parquet", row_group_size=groups)
        size = parquet_size(tmp_path / "a.parquet")
        assert size is not None
        # What Polars estimates leaves out the references to text.
        assert table.estimated_size() <= size.size <= 3 * table.estimated_size()
    plain = table.select(pl.col("number", "real", "flag", "small", "text").cast(pl.String))
    plain.write_csv(tmp_path / "a.csv")
    read = pl.read_csv(tmp_path / "a.csv", infer_schema=False)
    found = csv_size(tmp_path / "a.csv", 5)
    assert found.rows == 1_000
    assert read.estimated_size() + 16 * 5_000 <= found.size


def test_records_of_tables_of_counts_do_not_make_them_small(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from discreet.artefact import load_counts

    for form in ("csv", "parquet"):
        for name in (f"counts-1.{form}", f"counts-1.{form}.discreet.json"):
            (tmp_path / name).write_bytes((Path(__file__).parents[1] / "data" / name).read_bytes())
        path = tmp_path / f"counts-1.{form}"
        assert sidecar_of(path).is_file()
        load_counts(path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("discreet.artefact.sidecar.allowed", lambda: 100)
            with pytest.raises(InvalidProblemError, match="at most 100 bytes once it is read"):
                load_counts(path)


def test_a_file_that_does_not_describe_itself_is_left_to_its_reader(tmp_path: Path) -> None:
    assert parquet_size(io.BytesIO(b"PAR1 and no more")) is None
    assert parquet_size(tmp_path / "none.parquet") is None


def test_the_memory_that_there_is_is_the_least_of_what_the_system_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    group = tmp_path / "memory.max"
    monkeypatch.setattr(parsing, "CONTROL_GROUPS", (str(group),))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, 0))
    whole = allowed()
    assert whole > 0
    group.write_text("max\n")
    assert allowed() == whole
    group.write_text("1000000\n")
    assert allowed() == 500_000
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2000, 0))
    assert allowed() == 1000
    assert in_words(LIMITS.memory) == "1 GiB"
