"""One dialect: what separates cells, how text is divided, and files that are refused by what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.tables.dialect import (
    cells_of_text,
    first_ragged,
    look,
    mark_of,
    names_in,
    text_in,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("lines", "mark"),
    [
        (["age,sex"], ","),
        (["age;sex;zip,code"], ";"),
        (["age\tsex"], "\t"),
        (["age|sex"], "|"),
        (["age"], ","),
        ([], ","),
        # The mark that divides all lines alike wins over the one that makes more cells of some.
        (["name;place", "a;x, y, z", "b;x, y"], ";"),
        # A mark between quotes separates nothing.
        (['"a;b;c",d'], ","),
        # A cell that is longer than a reader takes divides nothing.
        (["x" * 200_000 + ";y"], ","),
    ],
)
def test_a_mark_is_recognized(lines: list[str], mark: str) -> None:
    assert mark_of(lines) == mark


def test_every_reader_of_a_file_finds_the_same_mark(tmp_path: Path) -> None:
    """The line of names decides where rows are private; all lines where there are no names."""
    path = tmp_path / "a.csv"
    path.write_text("age;zip\n30;1,2,3\n40;1,2,3\n", encoding="utf-8-sig")
    mark = look(str(path), "TABLE")
    assert mark == ";"
    assert names_in(path, mark) == ["age", "zip"]
    assert cells_of_text(text_in(path, "TABLE")) == [
        ["age", "zip"],
        ["30", "1,2,3"],
        ["40", "1,2,3"],
    ]
    assert first_ragged(path, mark) == ""
    assert first_ragged(path, ",") == "3 instead of 1 cells in line 2"


def test_only_a_line_feed_ends_a_line_of_cells() -> None:
    assert cells_of_text("a\x0bb,1\u2028\nc,2\n") == [["a\x0bb", "1\u2028"], ["c", "2"]]


def test_zero_bytes_are_refused_in_all_of_a_file_or_in_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n\0,2\n")
    assert look(str(path), "TABLE", whole=False) == ","
    with pytest.raises(InvalidProblemError, match="which holds zero bytes"):
        look(str(path), "TABLE")
    path.write_bytes(b"a,b\0\n1,2\n")
    with pytest.raises(InvalidProblemError, match="which holds zero bytes"):
        look(str(path), "TABLE", whole=False)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("Käse".encode("latin-1"), "in another encoding"),
        (b"a\0b", "with zero bytes"),
        (None, "No such file"),
    ],
)
def test_text_that_cannot_be_read_is_refused(
    tmp_path: Path, data: bytes | None, words: str
) -> None:
    path = tmp_path / "a.csv"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InvalidProblemError, match=f"--prior: .*{words}"):
        text_in(path, "--prior")


def test_a_path_with_a_zero_byte_is_refused_as_a_file_that_cannot_be_read() -> None:
    with pytest.raises(InvalidProblemError, match="--prior: .*a path with a zero byte"):
        text_in("a\0b.csv", "--prior")
