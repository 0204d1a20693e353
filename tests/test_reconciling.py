"""Outputs of releases are matched with their charges: missing, altered and foreign files are all found."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from discreet.artefact import OutputFile, ReleaseFiles
from discreet.artefact.counts import counts_content
from discreet.artefact.reconciling import reconcile
from discreet.core.guarantee import PureDP
from discreet.core.tree import Tree
from discreet.hierarchy import GroupSizes, plan
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path


def releases(ledger: Ledger | None, folder: Path, count: int) -> list[Path]:
    """Release counts so often, each under the same name in a folder of its own."""
    tree = Tree.from_paths([("GA",), ("NY",)])
    data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="private")
    planned = plan(data.frame, PureDP(1, neighbors="add-remove-person"))
    made = []
    for number in range(count):
        (folder / f"{number}").mkdir(parents=True)
        path = folder / f"{number}" / "counts.csv"
        file = OutputFile("path", path, lambda one: counts_content(one, ".csv"))
        charged: Any = {} if ledger is None else {"budget": ledger, "dataset": "d"}
        planned.release(data, **charged, outputs=ReleaseFiles([file]))
        made.append(path)
    return made


def check(tmp_path: Path, count: int, each: int) -> None:
    limit = PureDP(1000, neighbors="add-remove-person")
    ledger = Ledger.create(tmp_path / "ledger.db", "d", limit)
    published = tmp_path / "published"
    made = releases(ledger, published, count)
    ids = {path: one.release_id for one in ledger.history("d") for path in one.outputs}
    outputs = {one.release_id: one.outputs for one in ledger.history("d")}
    whole = reconcile(published, outputs)
    assert len(whole.matched) == 2 * count
    assert (whole.missing, whole.altered, whole.uncharged) == ({}, {}, {})

    altered, removed, moved = made[:each], made[each : 2 * each], made[2 * each : 3 * each]
    for path in altered:
        path.write_bytes(path.read_bytes() + b"1,all,9,9\n")
    for path in removed:
        path.unlink()
        path.with_name("counts.csv.discreet.json").unlink()
    for number, path in enumerate(moved):
        shutil.move(path, published / f"moved-{number}.csv")
    foreign = releases(None, published / "foreign", each)
    found = reconcile(published, outputs)
    assert found.altered == {str(path): ids[str(path)] for path in altered}
    gone = {f"{path}{suffix}" for path in removed for suffix in ("", ".discreet.json")}
    assert set(found.missing) == gone
    assert found.uncharged == dict.fromkeys(map(str, foreign), "charged to no ledger")
    assert len(found.matched) == 2 * count - 3 * each


def test_altered_removed_and_foreign_files_are_found(tmp_path: Path) -> None:
    check(tmp_path, 15, 3)


@pytest.mark.slow
def test_of_two_hundred_releases_all_differences_are_found(tmp_path: Path) -> None:
    check(tmp_path, 200, 20)
