"""One verdict at every entrance, with one sentence but for the names of options."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from refusals.cases import CASES, Case
from refusals.entrances import by_command, by_frame, by_path, stored, studio_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from refusals.entrances import Studio, Verdict


def third_of(cases: list[Case]) -> list[Any]:
    """Parametrize with each third case in every run, and with the others in slow runs."""
    marks = [() if at % 3 == 0 else pytest.mark.slow for at in range(len(cases))]
    return [
        pytest.param(case, id=case.id, marks=mark) for case, mark in zip(cases, marks, strict=True)
    ]


PROCESSES = CASES[::13]
"""Cases that run as processes, too; the others run in this one."""

PAGES = [
    case for case in CASES if case.studio and (case.verdict == "refused" or case in CASES[::6])
]
"""Cases for the studio: all refusals, and of the published ones a sixth, since each runs a search in a process."""

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


def test_the_catalogue_has_the_kinds_that_it_states() -> None:
    kinds = Counter(case.kind for case in CASES)
    assert len(CASES) >= 90
    assert len(kinds) >= 20
    assert max(kinds.values()) <= 6
    assert len({case.id for case in CASES}) == len(CASES)
    assert sum(case.verdict == "published" for case in CASES) >= 25
    assert sum(not case.studio for case in CASES) <= 12


def judge(case: Case, found: Verdict) -> None:
    """Hold a verdict against that of the case."""
    assert found.refused == (case.verdict == "refused"), found
    if found.refused:
        assert case.named == found.named, found
        return
    assert found.rows
    assert case.holds is None or case.holds(set(found.rows)), found


@every_case
def test_the_library_and_the_command_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: Case
) -> None:
    path = stored(case, tmp_path)
    python = by_path(path, case)
    judge(case, python)
    assert by_command(path, tmp_path / "out.csv", case, capsys) == python


@pytest.mark.parametrize("case", third_of(PROCESSES))
def test_the_command_as_a_process_agrees(tmp_path: Path, case: Case) -> None:
    path = stored(case, tmp_path)
    assert by_command(path, tmp_path / "out.csv", case, None) == by_path(path, case)


OF_FILES = ("frame without rows", "moment beyond the calendar")
"""Cases that a frame is not refused for in the words of a file."""

FRAMES = [
    case
    for case in CASES
    if case.id not in OF_FILES
    and (isinstance(case.table, pl.DataFrame) or case.verdict == "published")
]


@pytest.mark.parametrize("library", ["polars", "pandas"])
@pytest.mark.parametrize("case", FRAMES, ids=lambda case: case.id)
def test_frames_agree_with_the_file_of_the_same_table(
    tmp_path: Path, case: Case, library: str
) -> None:
    path = stored(case, tmp_path)
    table: Any = case.table
    if isinstance(table, bytes):
        mark = next(mark for mark in b",;\t|\n" if mark in table.split(b"\n")[0] + b"\n")
        table = pl.read_csv(path, separator=chr(mark) if mark != 10 else ",", infer_schema=False)
    if library == "pandas":
        pytest.importorskip("pandas")
        table = table.to_pandas()
    found = by_frame(table, case)
    judge(case, found)
    expected = by_path(path, case)
    assert (found.refused, found.named) == (expected.refused, expected.named)
    if found.refused:
        assert found.sentence.partition(", got")[0] == expected.sentence.partition(", got")[0]


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    with studio_process() as started:
        yield started


@pytest.mark.parametrize("case", third_of(PAGES))
def test_the_studio_agrees(tmp_path: Path, studio: Studio, case: Case) -> None:
    path = stored(case, tmp_path)
    assert studio(path, case) == by_path(path, case)
