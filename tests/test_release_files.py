"""A page that can't be rendered loses no result: the table is written, and the ledger knows of it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from discreet import PureDP, Tree
from discreet.artefact import OutputFile, ReleaseFiles, load_counts
from discreet.artefact.counts import counts_content
from discreet.artefact.outputs import recover_files
from discreet.core.release import ChargedError
from discreet.hierarchy import GroupSizes, plan
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.artefact.sidecar import FileContent

PROMISE = PureDP(1, neighbors="add-remove-person")
TREE = Tree.from_paths([("GA",), ("NY",)])
DATA = GroupSizes.from_counts(TREE, [[2, 0], [1, 1]], units="private")


def table(made: Any) -> FileContent:
    return counts_content(made, ".csv")


def failing(error: BaseException) -> Any:
    def render(*_: object) -> Any:
        raise error

    return render


def prepared(folder: Path, **text: Any) -> tuple[Ledger, Any]:
    ledger = Ledger.create(folder / "ledger.db", "people", PROMISE)

    def run(page: Any, first: Any = table) -> object:
        files = [
            OutputFile("--output", folder / "counts.csv", first),
            OutputFile("--report", folder / "counts.html", page),
        ]
        outputs = ReleaseFiles(files, **text)
        planned = plan(DATA.frame, PROMISE)
        return planned.release(DATA, budget=ledger, dataset="people", outputs=outputs)

    return ledger, run


def test_a_page_that_fails_leaves_the_table_in_its_place(tmp_path: Path) -> None:
    ledger, run = prepared(tmp_path)
    with pytest.raises(ChargedError, match="--report: .*all other outputs are in place.*KeyError"):
        run(failing(KeyError("a cell")))
    (charge,) = ledger.history("people")
    made = load_counts(tmp_path / "counts.csv")
    assert made.provenance.charge == f"release {charge.release_id}"
    assert charge.state == "reading"
    packed = ledger.spooled(charge.release_id)
    assert packed is not None
    before = (tmp_path / "counts.csv").read_bytes()
    ledger.complete(charge.release_id, recover_files(packed, None, print))
    assert (tmp_path / "counts.csv").read_bytes() == before
    assert ledger.history("people")[0].state == "done"
    assert not (tmp_path / "counts.html").exists()


def test_an_interrupted_page_leaves_the_table_and_stays_an_interrupt(tmp_path: Path) -> None:
    ledger, run = prepared(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(failing(KeyboardInterrupt()))
    assert load_counts(tmp_path / "counts.csv").provenance.charge.startswith("release ")
    assert ledger.history("people")[0].state == "reading"


def test_a_text_that_fails_leaves_the_files(tmp_path: Path) -> None:
    _, run = prepared(tmp_path, text=failing(ValueError("x")))
    with pytest.raises(ChargedError, match="standard output: .*ValueError"):
        run(table)
    assert (tmp_path / "counts.csv").exists()
    assert (tmp_path / "counts.html").exists()


def test_a_result_that_fails_is_lost_and_nothing_is_written(tmp_path: Path) -> None:
    ledger, run = prepared(tmp_path)
    with pytest.raises(KeyError) as caught:
        run(table, first=failing(KeyError("a cell")))
    assert "stays charged" in caught.value.__notes__[0]
    assert not (tmp_path / "counts.csv").exists()
    assert ledger.account("people").left == (Fraction(0),)


def test_a_text_with_the_result_is_kept_if_the_only_page_fails(tmp_path: Path) -> None:
    shown: list[str] = []
    ledger = Ledger.create(tmp_path / "ledger.db", "people", PROMISE)
    outputs = ReleaseFiles(
        [OutputFile("--report", tmp_path / "page.html", failing(KeyboardInterrupt()))],
        text=lambda made, _left: str(made.result.counts.sum()),
        show=shown.append,
        text_has_result=True,
    )
    with pytest.raises(KeyboardInterrupt):
        plan(DATA.frame, PROMISE).release(DATA, budget=ledger, dataset="people", outputs=outputs)
    assert shown
    assert shown[0].isdigit()
