"""One verdict of counts, selections and risks at every entrance, with one charge and one code."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from refusals.cases import some
from refusals.entrances import studio_process
from refusals.releases import RELEASES
from refusals.releasing import place, release_by_command, release_by_page, release_by_python

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from refusals.entrances import Studio
    from refusals.releases import ReleaseCase
    from refusals.releasing import ReleaseVerdict


def judge(case: ReleaseCase, verdict: ReleaseVerdict) -> None:
    """Hold a verdict against that of the case."""
    assert verdict.refused == (case.verdict == "refused"), verdict
    assert verdict.named == case.named, verdict
    assert verdict.charged == case.charge, verdict
    assert verdict.written == case.charge, verdict


@pytest.mark.parametrize("case", some(RELEASES, 1))
def test_the_library_and_the_command_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: ReleaseCase
) -> None:
    verdicts = []
    for name in ("python", "command"):
        folder = tmp_path / name
        folder.mkdir()
        table = place(case, folder)
        if name == "python":
            verdicts.append(release_by_python(case, str(table), folder))
        else:
            verdicts.append(release_by_command(case, table, folder, capsys))
        judge(case, verdicts[-1])
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("case", some(RELEASES, 16))
def test_the_command_as_a_process_agrees(tmp_path: Path, case: ReleaseCase) -> None:
    judge(case, release_by_command(case, place(case, tmp_path), tmp_path, None))


def expectation(verdict: ReleaseVerdict) -> str:
    """Take what was expected, without the names of columns, which are repeated of frames alone."""
    return re.sub(r" \(.*\)", "", verdict.sentence.partition(", got")[0])


FRAMES = [
    case for case in RELEASES if isinstance(case.table, pl.DataFrame) or case.verdict == "published"
]


@pytest.mark.parametrize("library", ["polars", "pandas"])
@pytest.mark.parametrize("case", some(FRAMES, 2))
def test_frames_agree_with_the_file_of_the_same_table(
    tmp_path: Path, case: ReleaseCase, library: str
) -> None:
    table = place(case, tmp_path)
    frame: Any = case.table
    if isinstance(frame, bytes):
        frame = pl.read_csv(table, infer_schema=False, encoding="utf8-lossy")
    if library == "pandas":
        pytest.importorskip("pandas")
        frame = frame.to_pandas()
    verdict = release_by_python(case, frame, tmp_path)
    if library == "pandas" and case.undeclared:
        # A column of objects declares no type: whether its cells are lists depends on rows, which are left out.
        assert (verdict.refused, verdict.charged, verdict.written) == (False, True, True)
        return
    judge(case, verdict)
    again = tmp_path / "file"
    again.mkdir()
    expected = release_by_python(case, str(place(case, again)), again)
    assert replace(verdict, sentence="") == replace(expected, sentence="")
    assert expectation(verdict) == expectation(expected)


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    with studio_process() as started:
        yield started


@pytest.mark.parametrize("case", some([case for case in RELEASES if not case.skip], 16))
def test_the_studio_agrees(tmp_path: Path, studio: Studio, case: ReleaseCase) -> None:
    verdicts = []
    for name in ("python", "page"):
        folder = tmp_path / name
        folder.mkdir()
        table = place(case, folder)
        if name == "python":
            verdicts.append(release_by_python(case, str(table), folder))
        else:
            verdicts.append(release_by_page(case, table, folder, studio))
    judge(case, replace(verdicts[1], written=case.charge))
    assert verdicts[0] == replace(verdicts[1], written=verdicts[0].written)
