"""Quotes of private CSV files: what the rule of RFC 4180 writes is read whole; no misplaced quote hides rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.tables.dialect import first_misquoted, refuse_rows
from discreet.tables.parsing import UnquotedFile, scan
from discreet.tables.reading import as_quoted, refuse_unreadable

CELLS = st.text(alphabet='ab",;\n é\x00', max_size=4)
PIECES = st.sampled_from(['"', '""', "a", ",", "\n", "\r\n", '"a"', '"a', 'a"', " "])


def misquoted(data: bytes, mark: str = ",") -> int:
    """Return the line of the first misplaced quote of these bytes."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        path.write_bytes(data)
        return first_misquoted(path, mark)


def read(data: bytes) -> list[tuple[str, ...]]:
    """Read the rows of these bytes as commands that spend budget do."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        path.write_bytes(data)
        return [
            tuple(cell or "" for cell in row)
            for row in scan(path, ",", row_by_row=True).collect().rows()
        ]


@given(
    st.lists(st.tuples(CELLS, CELLS), max_size=6), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_whatever_the_rule_writes_passes_and_is_read_whole(
    rows: list[tuple[str, str]],
    end: str,
    always: bool,  # noqa: FBT001
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(
        text, lineterminator=end, quoting=csv.QUOTE_ALL if always else csv.QUOTE_MINIMAL
    )
    writer.writerows([("x", "y"), *rows])
    data = text.getvalue().encode()
    assert misquoted(data) == 0
    assert read(data) == rows


@given(st.lists(PIECES, max_size=12))
def test_what_passes_is_read_as_the_lines_of_the_rule(pieces: list[str]) -> None:
    data = ("x,y\n" + "".join(pieces)).encode()
    if misquoted(data):
        return
    parsed = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))[1:]
    # A carriage return at the end of a cell belongs to the end of the line for Polars.
    wanted = [tuple(cell.removesuffix("\r") for cell in [*row, "", ""][:2]) for row in parsed]
    found = [tuple(cell.removesuffix("\r") for cell in row) for row in read(data)]
    assert [row for row in found if any(row)] == [row for row in wanted if any(row)]


def test_two_cells_beyond_the_last_name_do_not_hide_the_rows_between(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    others = "".join(f"o{at},GA,F\n" for at in range(50))
    path.write_text(f'who,state,sex\np,GA,M,x"y\n{others}p,NY,M,x"y\n', encoding="utf-8")
    assert scan(path, ",", row_by_row=True).collect().height < 52
    with pytest.raises(InvalidProblemError) as caught:
        refuse_rows(str(path), ",", "people", row_by_row=True)
    assert caught.value.code == "quotes"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n"1",2\n', 0),
        ('a,b\n"1""2",3\n', 0),
        ('a,b\n"one\ntwo",3\n"x",y\n', 0),
        ('a,b\n1,h"2\n', 2),
        ('a,b\n1,"h"2\n', 2),
        ('a,b\n1,2\n"open,3\n4,5\n', 3),
        ('a,b\n"one\ntwo"x,3\n', 2),
        ('\ufeff"a",b\n1,2\n', 0),
        ("", 0),
    ],
)
def test_the_line_of_the_first_misplaced_quote_is_found(text: str, line: int) -> None:
    assert misquoted(text.encode()) == line


LINES = st.lists(PIECES, max_size=8).map(lambda parts: "".join(parts).replace("\n", ""))


def read_unquoted(lines: list[str]) -> list[tuple[str, ...]]:
    """Read the rows of these lines as those of a file without quoting, which is refused in no case."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        path.write_bytes("".join(f"{line}\n" for line in ["x,y", *lines]).encode())
        refuse_unreadable(UnquotedFile(path), ",", "people", row_by_row=True)
        rows = scan(UnquotedFile(path), ",", row_by_row=True).collect().rows()
    return [row for row in (tuple(cell or "" for cell in row) for row in rows) if any(row)]


@given(st.lists(LINES, max_size=5), LINES, st.integers(0, 5))
def test_a_line_of_a_file_without_quoting_is_a_row_and_changes_no_other(
    lines: list[str], line: str, at: int
) -> None:
    several = read_unquoted([*lines[:at], line, *lines[at:]])
    one = read_unquoted([line])
    assert several == read_unquoted(lines[:at]) + one + read_unquoted(lines[at:])
    # A carriage return at the end of a cell belongs to an end of line for Polars.
    cells = [*line.replace("\r", "").split(","), ""][:2]
    plain = [tuple(cell.replace("\r", "") for cell in row) for row in one]
    assert [row for row in plain if any(row)] == ([tuple(cells)] if any(cells) else [])


def test_another_word_for_quotes_is_refused() -> None:
    assert as_quoted("a.csv", "doubled") == "a.csv"
    with pytest.raises(InvalidProblemError, match="quotes: expected doubled"):
        as_quoted("a.csv", "single")


def test_a_long_cell_is_a_cell() -> None:
    assert misquoted(b'a,b\n"' + b"x" * 300_000 + b'",2\n') == 0
