"""Outputs of releases are matched with their charges: missing, altered and foreign files are all found."""

from __future__ import annotations

import hashlib
import json
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
    # Many counts far above zero: no two releases have equal bytes.
    data = GroupSizes.from_counts(tree, [[90] * 12, [70] * 12], units="private")
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


def write(path: Path, charge: str, text: bytes = b"1,all,1,1\n") -> str:
    """Write a table and its record; return the SHA-256 of the table."""
    path.write_bytes(text)
    path.with_name(f"{path.name}.discreet.json").write_text(json.dumps({"charge": charge}))
    return hashlib.sha256(text).hexdigest()


def test_of_two_releases_with_equal_bytes_each_needs_a_file_of_its_own(tmp_path: Path) -> None:
    ids = "a" * 20, "b" * 20
    paths = [tmp_path / f"{one}.csv" for one in ids]
    digests = [write(path, f"release {one}") for path, one in zip(paths, ids, strict=True)]
    assert digests[0] == digests[1]
    outputs = {one: {str(path): digests[0]} for path, one in zip(paths, ids, strict=True)}
    assert len(reconcile(tmp_path, outputs).matched) == 2
    write(paths[0], f"release {ids[0]}", b"1,all,1,2\n")
    found = reconcile(tmp_path, outputs)
    assert (found.altered, found.missing) == ({str(paths[0]): ids[0]}, {})
    paths[0].unlink()
    paths[0].with_name(f"{paths[0].name}.discreet.json").unlink()
    found = reconcile(tmp_path, outputs)
    assert (found.altered, found.missing) == ({}, {str(paths[0]): ids[0]})
    # A file that was moved without its record is the output that is not in its place.
    (tmp_path / "moved.csv").write_bytes(b"1,all,1,1\n")
    write(paths[1], f"release {ids[1]}", b"1,all,1,3\n")
    found = reconcile(tmp_path, outputs)
    assert found.matched[str(tmp_path / "moved.csv")] == ids[0]
    assert (found.altered, found.missing) == ({str(paths[1]): ids[1]}, {})
    (tmp_path / "moved.csv").unlink()
    write(paths[1], f"release {ids[1]}")
    # A copy that states the other release is no output of this one.
    write(tmp_path / "copy.csv", f"release {ids[1]}")
    found = reconcile(tmp_path, outputs)
    assert found.missing == {str(paths[0]): ids[0]}
    assert found.matched[str(tmp_path / "copy.csv")] == ids[1]
    # Equal bytes do not make a foreign file one of this ledger.
    write(tmp_path / "foreign.csv", "charged to no ledger")
    found = reconcile(tmp_path, outputs)
    tables = {path: why for path, why in found.uncharged.items() if path.endswith(".csv")}
    assert tables == {str(tmp_path / "foreign.csv"): "charged to no ledger"}


A, B = "a" * 20, "b" * 20


def record(release: str) -> bytes:
    """Return a record that states the charge of a release."""
    return json.dumps({"charge": f"release {release}"}).encode()


@pytest.mark.parametrize(
    ("files", "charged", "listed"),
    [
        # An output that is gone does not take the altered file of its namesake.
        (
            {"x/t.csv": b"ALT", "x/t.csv.discreet.json": record(A)},
            {A: {"x/t.csv": b"1", "x/t.csv.discreet.json": record(A), "y/t.csv": b"2"}},
            {"altered": ["x/t.csv"], "missing": ["y/t.csv"]},
        ),
        # Of two releases with one path one is altered and the other is gone.
        (
            {"t.csv": b"ALT"},
            {A: {"t.csv": b"1"}, B: {"t.csv": b"2"}},
            {"altered": ["t.csv"], "missing": ["t.csv"]},
        ),
        # A forged record beside a table is listed, wherever its true record went.
        (
            {
                "t.csv": b"1",
                "t.csv.discreet.json": json.dumps(
                    {"charge": f"release {A}", "epsilon": "0"}
                ).encode(),
                "old/t.csv.discreet.json": record(A),
            },
            {A: {"t.csv": b"1", "t.csv.discreet.json": record(A)}},
            {"uncharged": ["t.csv.discreet.json"]},
        ),
        # A foreign table of another suffix is known by its record, though that is garbled.
        (
            {"f.tsv": b"rows", "f.tsv.discreet.json": b"{}"},
            {},
            {"uncharged": ["f.tsv"]},
        ),
    ],
)
def test_no_difference_hides_behind_another_file(
    tmp_path: Path,
    files: dict[str, bytes],
    charged: dict[str, dict[str, bytes]],
    listed: dict[str, list[str]],
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    outputs = {
        release: {
            str(tmp_path / name): hashlib.sha256(content).hexdigest()
            for name, content in contents.items()
        }
        for release, contents in charged.items()
    }
    found = reconcile(tmp_path, outputs)
    kinds = {"missing": found.missing, "altered": found.altered, "uncharged": found.uncharged}
    names = {
        kind: [path.removeprefix(f"{tmp_path}/") for path in paths]
        for kind, paths in kinds.items()
        if paths
    }
    assert names == listed


def test_altered_removed_and_foreign_files_are_found(tmp_path: Path) -> None:
    check(tmp_path, 15, 3)


@pytest.mark.slow
def test_of_two_hundred_releases_all_differences_are_found(tmp_path: Path) -> None:
    check(tmp_path, 200, 20)
