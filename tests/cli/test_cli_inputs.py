from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.cli.inputs import parse_budget, parse_grid, parse_reports, read_loss, read_prior
from discreet.cli.statement import secret_names
from discreet.core.errors import InvalidProblemError
from discreet.tables.columns import numbers_of
from discreet.tables.reading import read_table

NAMES = secret_names(3, ["home", "work", "1"])


@pytest.mark.parametrize("text", ["7x7", "7X7", " 7 x 7 "])
def test_a_grid_is_rows_times_columns(text: str) -> None:
    assert parse_grid(text, 49) == (7, 7)


@pytest.mark.parametrize(
    "text", ["", "7", "7x", "x7", "7*7", "0x3", "3x0", "-1x3", "7x7x7", "2.5x2"]
)
def test_other_grids_are_refused(text: str) -> None:
    with pytest.raises(InvalidProblemError, match="--grid: expected rows x columns") as caught:
        parse_grid(text, 99)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("2", (Fraction(2), None)),
        ("0.1", (Fraction(1, 10), None)),
        ("1/3", (Fraction(1, 3), None)),
        ("1.5/km", (Fraction(3, 2), "km")),
        ("1.5 / km", (Fraction(3, 2), "km")),
        ("1/3/km", (Fraction(1, 3), "km")),
    ],
)
def test_a_budget_is_a_number_with_or_without_a_unit(
    text: str, budget: tuple[Fraction, str | None]
) -> None:
    assert parse_budget(text) == budget


@pytest.mark.parametrize(
    "text",
    [
        "",
        "much",
        "2/",
        "0",
        "-1",
        "nan",
        "inf",
        "0/km",
        "/km",
        "1/0",
        "2/km, proved optimal",
        "2/k m",
    ],
)
def test_other_budgets_are_refused(text: str) -> None:
    with pytest.raises(InvalidProblemError, match="--epsilon"):
        parse_budget(text)


def test_labels_come_before_numbers() -> None:
    """A label that is a number names its secret, and not the one with that number."""
    assert NAMES == {"0": 0, "1": 2, "2": 2, "home": 0, "work": 1}


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_tables_are_read(tmp_path: Path, kind: str) -> None:
    table, path = pl.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}), tmp_path / f"t.{kind}"
    if kind == "parquet":
        table.write_parquet(path)
    else:
        table.write_csv(path, separator="," if kind == "csv" else "\t")
    assert numbers_of(read_table(str(path), "PLACES"), "b", "--x").tolist() == [0.5, 1.5]


def test_a_column_that_becomes_a_number_late_is_read_whole(tmp_path: Path) -> None:
    """The type of a column is that of all its rows."""
    rows = "\n".join(["a", *["1"] * 500, "0.5"])
    (tmp_path / "t.csv").write_text(rows)
    assert numbers_of(read_table(str(tmp_path / "t.csv"), "PLACES"), "a", "--x")[-1] == 0.5


BAD_TABLES = {
    "no file": ("missing.csv", None),
    "another kind": ("t.xlsx", b"a\n1\n"),
    "empty": ("t.csv", b""),
    "only a header": ("t.csv", b"a,b\n"),
    "ragged": ("t.csv", b"a,b\n1,2,3,4\n"),
    "no parquet": ("t.parquet", b"a,b\n"),
}


@pytest.mark.parametrize(("name", "content"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables_are_refused(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidProblemError, match="PLACES: expected") as caught:
        read_table(str(tmp_path / name), "PLACES")
    assert "\n" not in str(caught.value)


BAD_COLUMNS = {
    "unknown": ({"a": [1]}, r"--x: expected a column of the table \(a\), got 'x'"),
    "text": ({"x": ["far"]}, "numbers such as 1.5 in column x; .*, got text"),
    "commas": (
        {"x": ["1,5", "2"]},
        "numbers such as 1.5 in column x; .*, got numbers with commas",
    ),
    "missing value": ({"x": [1.0, None]}, "finite numbers in column x; .*, got an empty cell in"),
    "not a number": ({"x": [1.0, float("nan")]}, "got nan in row 2"),
    "infinite": ({"x": [float("inf")]}, "got inf in row 1"),
}


@pytest.mark.parametrize(("data", "message"), BAD_COLUMNS.values(), ids=BAD_COLUMNS)
def test_bad_columns_are_refused(data: dict[str, list[object]], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        numbers_of(pl.DataFrame(data), "x", "--x")


def test_a_prior_is_uniform_or_a_column_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prior.csv"
    path.write_text("secret,weight\nwork,2\n0,1\n1,5\n")
    table = pl.DataFrame({"w": [1, 1, 2]})
    assert read_prior("uniform", table, NAMES) == (None, 1.0)
    by_column, total = read_prior("w", table, NAMES)
    assert by_column is not None
    assert (by_column.tolist(), total) == ([0.25, 0.25, 0.5], 4.0)
    by_file, total = read_prior(str(path), None, NAMES)
    assert by_file is not None
    assert (by_file.tolist(), total) == ([1 / 8, 2 / 8, 5 / 8], 8.0)


BAD_PRIORS = {
    "negative": ("secret,weight\n0,1\n1,-1\n2,1\n", "non-negative weights, got -1 at 1"),
    "all zero": ("secret,weight\n0,0\n1,0\n2,0\n", "a positive finite sum, got a sum of 0"),
    "not a number": (
        "secret,weight\n0,nan\n1,1\n2,1\n",
        "numbers such as 1.5 in column weight; .*, got text",
    ),
    "a secret missing": ("secret,weight\n0,1\n1,1\n", "each of 3 secrets once, got 2 rows"),
    "a secret twice": ("secret,weight\n0,1\n1,1\n1,1\n", "each of 3 secrets once, got 3 rows"),
    "of others": ("secret,weight\n0,1\n1,1\n9,1\n", "1 of other secrets"),
    "no weights": ("secret,p\n0,1\n", r"a column of the table \(secret, p\)"),
    "no secrets": ("name,weight\n0,1\n", "a column secret in the file"),
}


@pytest.mark.parametrize(("text", "message"), BAD_PRIORS.values(), ids=BAD_PRIORS)
def test_bad_priors_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "prior.csv").write_text(text)
    with pytest.raises(InvalidProblemError, match=message) as caught:
        read_prior(str(tmp_path / "prior.csv"), None, secret_names(3, None))
    assert caught.value.field == "--prior"


def test_a_prior_that_is_nothing_of_all_that_is_refused() -> None:
    table = pl.DataFrame({"x": [1], "w": [1]})
    with pytest.raises(InvalidProblemError, match=r"a column of the table \(x, w\)"):
        read_prior("weight", table, NAMES)
    with pytest.raises(InvalidProblemError, match="uniform, or a file"):
        read_prior("weight", None, NAMES)


def test_a_loss_is_a_name_or_a_matrix(tmp_path: Path) -> None:
    np.save(tmp_path / "loss.npy", np.eye(2))
    (tmp_path / "loss.csv").write_text("1,0\n0,1\n")
    assert read_loss("euclidean") == "euclidean"
    for name in ("loss.npy", "loss.csv"):
        assert np.array_equal(read_loss(str(tmp_path / name)), np.eye(2))


def test_bad_losses_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "pickle.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "text.csv").write_text("a,b\n")
    (tmp_path / "ragged.csv").write_text("1,2\n3\n")
    for name in ("empty.npy", "empty.csv"):
        (tmp_path / name).write_bytes(b"")
    refused = {
        "text.csv": "other cells in row 1",
        "ragged.csv": "a matrix of numbers, 2 in each row, got other cells in row 2",
        "empty.csv": "a matrix of numbers with at least one row, got",
        "missing.csv": "a CSV file that exists",
        **dict.fromkeys(("pickle.npy", "empty.npy", "missing.npy"), "a .npy file of numbers"),
    }
    for name, words in refused.items():
        with pytest.raises(InvalidProblemError, match=f"--loss: expected .*{words}"):
            read_loss(str(tmp_path / name))


def test_reports_are_secrets_by_index_or_label(tmp_path: Path) -> None:
    (tmp_path / "reports.txt").write_text("home\n\nwork\n")
    assert parse_reports("0, work", NAMES).tolist() == [0, 1]
    assert parse_reports(str(tmp_path / "reports.txt"), NAMES).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "got"), [("0,9", "'9'"), ("", "''"), (",", "','"), ("1.5", "'1.5'")]
)
def test_other_reports_are_refused(text: str, got: str) -> None:
    with pytest.raises(
        InvalidProblemError, match="--reports: expected secrets by index from 0 to 2"
    ) as caught:
        parse_reports(text, NAMES)
    assert caught.value.got == got


def test_reports_in_a_file_that_is_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "reports").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidProblemError, match="--reports: expected a text file"):
        parse_reports(str(tmp_path / "reports"), NAMES)
