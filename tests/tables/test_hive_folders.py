"""A folder of folders named ``column=value`` is read as one file is: by the same options, and within one limit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.tables import reading
from discreet.tables.reading import read_row_by_row, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

READERS = {"read_rows": read_rows, "read_row_by_row": partial(read_row_by_row, unknown=False)}
MEGABYTE = 1_000_000


def folder_of(path: Path, frame: pl.DataFrame, *, files: int = 2) -> str:
    for number in range(files):
        part = path / f"part={number}"
        part.mkdir()
        frame.write_parquet(part / "a.parquet")
    return str(path)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_the_files_of_a_folder_take_its_limit_together(
    tmp_path: Path, read: Callable[..., pl.DataFrame]
) -> None:
    text = pl.DataFrame({"text": [f"{row:0100}" for row in range(MEGABYTE // 100)]})
    folder = folder_of(tmp_path, text, files=4)
    with pytest.raises(InvalidProblemError, match="in those before it") as refusal:
        read(folder, "TABLE", most=2 * MEGABYTE)
    assert refusal.value.code == "table-too-large"
    assert read(folder, "TABLE", most=8 * MEGABYTE).height == 4 * text.height


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_text_that_many_rows_share_counts_for_each_of_them_in_all_files(
    tmp_path: Path, read: Callable[..., pl.DataFrame]
) -> None:
    shared = pl.DataFrame({"text": ["x" * 10_000] * 100})
    folder = folder_of(tmp_path, shared, files=4)
    with pytest.raises(InvalidProblemError) as refusal:
        read(folder, "TABLE", most=2 * MEGABYTE)
    assert refusal.value.code == "table-too-large"


def test_lists_in_a_folder_are_read_where_they_are_allowed(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pl.DataFrame({"many": [[1, 2], [3]]}))
    assert read_rows(folder, "TABLE", nested=True).columns == ["many", "part"]
    with pytest.raises(InvalidProblemError, match="many"):
        read_rows(folder, "TABLE", show_columns=True)
    with pytest.raises(InvalidProblemError) as refusal:
        read_rows(folder, "TABLE")
    assert "many" not in str(refusal.value)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_mark_that_is_given_divides_the_files_of_a_folder(
    tmp_path: Path, read: Callable[..., pl.DataFrame]
) -> None:
    (tmp_path / "part=0").mkdir()
    (tmp_path / "part=0" / "a.csv").write_text("a,b;c\n1,2;3\n")
    assert read(str(tmp_path), "TABLE", mark=";").columns == ["a,b", "c", "part"]


@pytest.mark.parametrize("unknown", [True, False])
@pytest.mark.parametrize("read", [read_rows, read_row_by_row])
def test_the_files_of_a_folder_have_the_origin_that_was_stated(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[..., pl.DataFrame],
    *,
    unknown: bool,
) -> None:
    stated: list[bool] = []

    def note(*_: Any, unknown: bool, **__: Any) -> None:
        stated.append(unknown)

    monkeypatch.setattr(reading, "refuse_killers", note)
    read(folder_of(tmp_path, pl.DataFrame({"a": [1]})), "TABLE", unknown=unknown)
    assert stated == [unknown, unknown]
