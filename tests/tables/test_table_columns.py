"""Columns: what holds numbers, names or free text, and how a message calls a column that is not there."""

from __future__ import annotations

import polars as pl
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.tables.columns import columns_at, holds_numbers, labels_of, no_column, numbers_of


@pytest.mark.parametrize(
    ("cells", "numeric"),
    [
        (["30", "-4", " 5.5 ", "1e3", ".5"], True),
        (["30", None, ""], True),
        (["30", "00100"], False),
        (["30", "-01"], False),
        (["nan"], False),
        (["inf"], False),
        (["1_0"], False),
        (["", None], False),
        (["0", "0.5"], True),
    ],
)
def test_text_holds_numbers_where_each_cell_is_one(
    cells: list[str | None], *, numeric: bool
) -> None:
    assert holds_numbers(pl.Series(cells, dtype=pl.String)) is numeric


def test_a_type_says_what_holds_numbers() -> None:
    assert holds_numbers(pl.Series([1.5]))
    assert not holds_numbers(pl.Series([True]))


def test_names_are_text_or_numbers_one_in_each_row() -> None:
    table = pl.DataFrame({"a": [1, 2], "b": ["x", None], "c": [[1], [2]]})
    assert labels_of(table, "a", "--matroid") == ["1", "2"]
    with pytest.raises(InvalidProblemError, match="a name in each row of column b"):
        labels_of(table, "b", "--matroid")
    with pytest.raises(InvalidProblemError, match="column, got a column of List$"):
        labels_of(table, "c", "--matroid")


def test_numbers_are_finite_and_wrong_ones_are_found_by_row() -> None:
    table = pl.DataFrame({"x": [1.0, None], "y": [1.0, float("inf")], "z": ["a", "b"]})
    for name, words in (("x", "an empty cell in row 2"), ("y", "inf in row 2"), ("z", "got text")):
        with pytest.raises(InvalidProblemError, match=words):
            numbers_of(table, name, "PLACES")


def test_a_column_that_nobody_typed_is_called_by_its_place() -> None:
    """Where the line of names is missing, a name is a cell of a person."""
    columns = ["Schmidt", "diabetes"]
    assert "Schmidt" not in str(no_column("--quasi", "age", columns))
    assert "Schmidt" not in columns_at(["Schmidt"], columns)
    assert (
        columns_at(map(str, range(9)), [str(i) for i in range(9)])
        == "columns 1, 2, 3, 4, 5 and more"
    )
    assert "did you mean 'diabetes'?" in str(no_column("--quasi", "diabets", columns))
