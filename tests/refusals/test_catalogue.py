"""One verdict at every entrance, with one sentence but for the names of options."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refusals.cases import CASES as OWN
from refusals.cases import Case, some
from refusals.entrances import by_command, by_frame, by_path, stored, studio_process
from refusals.releases import RELEASES
from refusals.sourced import SOURCED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from refusals.entrances import Studio, Verdict


CASES = [*OWN, *SOURCED]


PROCESSES = CASES[::13]
"""Cases that run as processes, too; the others run in this one."""

PAGES = [case for case in CASES if case.studio]


def test_the_catalogue_has_the_kinds_that_it_states() -> None:
    cases: list[Any] = [*CASES, *RELEASES]
    kinds = Counter(case.kind for case in cases)
    assert len(cases) >= 90
    assert len(kinds) >= 20
    assert max(kinds.values()) <= 6, kinds.most_common(3)
    assert len({case.id for case in cases}) == len(cases)
    assert sum(case.verdict == "published" for case in cases) >= 25
    assert sum(not case.studio for case in CASES) + sum(bool(case.skip) for case in RELEASES) <= 12
    sources = [case.source for case in cases if case.source]
    assert len(set(sources)) >= 40
    assert all(source.startswith("https://github.com/") for source in sources)
    assert {case.verb for case in RELEASES} == {"sizes", "categories", "select", "risk"}


def judge(case: Case, found: Verdict) -> None:
    """Hold a verdict against that of the case."""
    assert found.refused == (case.verdict == "refused"), found
    if found.refused:
        assert case.named == found.named, found
        return
    assert found.rows
    assert case.holds is None or case.holds(set(found.rows)), found


@pytest.mark.parametrize("case", some(CASES, 2))
def test_the_library_and_the_command_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], case: Case
) -> None:
    path = stored(case, tmp_path)
    python = by_path(path, case)
    judge(case, python)
    assert by_command(path, tmp_path / "out.csv", case, capsys) == python


@pytest.mark.parametrize("case", some(PROCESSES, 6))
def test_the_command_as_a_process_agrees(tmp_path: Path, case: Case) -> None:
    path = stored(case, tmp_path)
    assert by_command(path, tmp_path / "out.csv", case, None) == by_path(path, case)


OF_FILES = ("frame without rows", "moment beyond the calendar", "name with a blank", "utf-16")
"""Cases that are not those of a frame, or not in the words of a file."""

FRAMES = [
    case
    for case in CASES
    if case.id not in OF_FILES
    and (isinstance(case.table, pl.DataFrame) or case.verdict == "published")
]


@pytest.mark.parametrize("library", ["polars", "pandas"])
@pytest.mark.parametrize("case", some(FRAMES, 3))
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
    assert (found.refused, found.named, found.code) == (
        expected.refused,
        expected.named,
        expected.code,
    )
    if found.refused:
        assert found.sentence.partition(", got")[0] == expected.sentence.partition(", got")[0]


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    with studio_process() as started:
        yield started


@pytest.mark.parametrize("case", some(PAGES, 16))
def test_the_studio_agrees(tmp_path: Path, studio: Studio, case: Case) -> None:
    path = stored(case, tmp_path)
    assert studio(path, case) == by_path(path, case)


@st.composite
def drawn(draw: st.DrawFn) -> Case:
    """Draw a column of a few kinds of cells, of which any may be odd."""
    usual = draw(st.sampled_from(["30", "1.5", "2020-05-01", "02139", "blue", "true"]))
    texts = ("", " ", "NaN", "inf", "-0", "1e3", "1,5", "1.000,5", "*", "30 ", "a|b", "x\\y")
    odd = st.sampled_from([*texts, "0x1F", "٣"])
    cells = draw(st.lists(st.one_of(st.just(usual), odd), min_size=4, max_size=7))
    rows = "".join(f'"{cell}",flu\n' for cell in cells for _ in range(2))
    return Case("drawn", "drawn", f"age,ill\n{rows}".encode(), "drawn")


FEW = settings(
    max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@FEW
@given(case=drawn())
def test_drawn_tables_have_one_verdict(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], case: Case
) -> None:
    folder = tmp_path_factory.mktemp("drawn")
    path = stored(case, folder)
    python = by_path(path, case)
    assert by_command(path, folder / "out.csv", case, capsys) == python
    frame = pl.read_csv(path, infer_schema=False)
    assert by_frame(frame, case).refused == python.refused
    columns = [case.quasi[0], *case.sensitive]
    assert python.refused or _covers(frame.select(columns).rows(), python.rows)


def _covers(rows: list[tuple[Any, ...]], published: frozenset[tuple[str, ...]]) -> bool:
    """Whether each illness of the original is published, and no other."""
    return {row[1] for row in rows} == {row[1] for row in published}


@pytest.mark.slow
@FEW
@given(case=drawn())
def test_drawn_tables_have_one_verdict_in_the_studio(
    tmp_path_factory: pytest.TempPathFactory, studio: Studio, case: Case
) -> None:
    path = stored(case, tmp_path_factory.mktemp("drawn"))
    python, page = by_path(path, case), studio(path, case)
    assert (page.refused, page.named, page.code) == (python.refused, python.named, python.code)
