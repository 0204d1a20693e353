"""The gates of `make coverage` and `make wheel` are shown to shut."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from meta.coverage_gate import ROOT, deal, missing, trusted_base
from meta.coverage_gate import test_files as files_of_tests
from meta.wheel_gate import complaints


def measured(lines: list[int], branches: list[list[int]]) -> dict[str, Any]:
    """Make the part of a coverage report that speaks of one file."""
    return {"files": {"a.py": {"missing_lines": lines, "missing_branches": branches}}}


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (measured([], []), []),
        (measured([3, 4], []), ["a.py: 3, 4"]),
        (measured([], [[7, 9], [7, -1]]), ["a.py: 7->9, 7->exit"]),
        (measured([3], [[3, 4]]), ["a.py: 3"]),
        ({"files": {}}, ["a.py: not measured"]),
    ],
    ids=["complete", "lines", "branches", "a branch of a missing line", "never imported"],
)
def test_coverage_is_refused(report: dict[str, Any], said: list[str]) -> None:
    assert missing(report, ["a.py"]) == said


def test_the_trusted_base_is_found() -> None:
    base = trusted_base()
    assert "src/discreet/core/exact.py" in base
    assert {path for path in base if "/core/" not in path} == {
        # What tells stored values apart decides what a class is.
        "src/discreet/kanonymity/problem/native.py",
        *(
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / "src").rglob("verify.py")
            if path.parent.name != "cli"
        ),
    }
    assert all(path.name.startswith("test_") for path in files_of_tests())


def test_every_file_is_dealt_to_one_process() -> None:
    files = [Path(str(number)) for number in range(7)]
    hands = deal(files, 3)
    assert sorted(path for hand in hands for path in hand) == files
    assert [len(hand) for hand in hands] == [3, 2, 2]
    assert deal(files[:1], 3) == [files[:1]]


GOOD = [
    "discreet/__init__.py",
    "discreet/py.typed",
    "discreet/core/exact.py",
    "discreet-1.dist-info/METADATA",
    "discreet-1.dist-info/licenses/LICENSE",
]


def test_a_whole_wheel_is_accepted() -> None:
    assert complaints(GOOD) == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([*GOOD, "tests/core/test_exact.py"], "tests/core/test_exact.py does not belong"),
        (GOOD[:1] + GOOD[2:], "discreet/py.typed is missing"),
        (GOOD[:-1], "the licence is missing"),
    ],
)
def test_a_wheel_is_refused(names: list[str], said: str) -> None:
    assert complaints(names) == [said]


def test_the_wheel_of_the_papers_is_judged_by_what_it_needs() -> None:
    folder = ROOT / "reproduction" / "src"
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    names += ["discreet_reproduction-1.dist-info/licenses/LICENSE"]
    assert complaints(names, "discreet_reproduction") == []
    without = [name for name in names if not name.endswith(".html")]
    assert complaints(without, "discreet_reproduction") == [
        "discreet_reproduction/templates/experiment.html is missing"
    ]
    assert "discreet/__init__.py does not belong" in complaints(GOOD, "discreet_reproduction")


def test_make_bench_runs_every_benchmark() -> None:
    said = runpy.run_path(str(ROOT / "benchmarks" / "run.py"))
    named = {line[0] for line in [*said["QUICK"], *said["LONG"]]}
    named |= {*said["PEERS"], *said["ADULT"], *said["BOTH"], *said["APART"], "run.py"}
    assert named == {path.name for path in (ROOT / "benchmarks").glob("*.py")}
