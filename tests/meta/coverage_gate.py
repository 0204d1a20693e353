"""Measure the trusted base: every branch of core and of every verifier runs in its own tests, or this fails.

Kernels run as plain Python (``NUMBA_DISABLE_JIT=1``), so that their branches are seen; tests that need compiled speed
are marked ``jit`` and left out. The test files are dealt out to one process for two cores.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import find, strategies

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"
LEFT_OUT = "not jit and not slow and not statistical and not browser and not peers and not bench"
NO_TESTS_COLLECTED = 5


def trusted_base() -> list[str]:
    """List the files on which a guarantee rests, relative to the root."""
    stored = SOURCE / "kanonymity" / "problem" / "native.py"
    verifiers = [path for path in SOURCE.rglob("verify.py") if path.parent.name != "cli"]
    files = [*(SOURCE / "core").rglob("*.py"), *verifiers, stored]
    return sorted(path.relative_to(ROOT).as_posix() for path in files)


def test_files() -> list[Path]:
    """List the tests that speak for the trusted base, the largest first."""
    tests = ROOT / "tests"
    found = {
        *(tests / "core").rglob("test_*.py"),
        *(tests / "laws").rglob("test_*.py"),
        *tests.rglob("test_verify*.py"),
        tests / "meta" / "test_wrong_types.py",
    }
    return sorted(found, key=lambda path: (-path.stat().st_size, path))


def deal(files: list[Path], hands: int) -> list[list[Path]]:
    """Deal the files out, to and fro, so that the hands weigh about the same."""
    dealt: list[list[Path]] = [[] for _ in range(hands)]
    for place, path in enumerate(files):
        turn, seat = divmod(place, hands)
        dealt[seat if turn % 2 == 0 else hands - 1 - seat].append(path)
    return [hand for hand in dealt if hand]


def measure(folder: Path) -> dict[str, Any]:
    """Run the tests under coverage and return its report."""
    environment = {
        **os.environ,
        "COVERAGE_FILE": str(folder / "data"),
        "NUMBA_DISABLE_JIT": "1",
        "DISCREET_TEST_EXAMPLES": "20",
        "PYTHONPATH": str(ROOT / "src"),
    }
    # Other files run without being traced.
    measured_files = ",".join(str(ROOT / name) for name in trusted_base())
    run = [
        "run",
        "--branch",
        "--parallel-mode",
        f"--include={measured_files}",
        "-m",
        "pytest",
        "-q",
    ]
    options = ["-m", LEFT_OUT, "-p", "no:xdist", "-p", "no:cacheprovider"]
    # Types and kernels are checked beside it, and each hand imports all anew, for 17 CPU seconds (2026-11).
    hands = deal(test_files(), max(1, (os.cpu_count() or 1) // 2))
    if not hands:
        sys.exit("coverage: there are no tests of the trusted base")
    started = [
        (
            subprocess.Popen(
                [sys.executable, "-m", "coverage", *run, *options, *map(str, hand)],
                cwd=ROOT,
                env=environment,
                stdout=(log := (folder / f"{number}.log").open("w", encoding="utf-8")),
                stderr=subprocess.STDOUT,
            ),
            log,
        )
        for number, hand in enumerate(hands)
    ]
    codes = []
    for process, log in started:
        codes.append(process.wait())
        log.close()
    if set(codes) - {0, NO_TESTS_COLLECTED}:
        for path in sorted(folder.glob("*.log")):
            print(path.read_text(encoding="utf-8"))  # noqa: T201 - a gate says why it is shut
        sys.exit("coverage: the tests fail when kernels run as plain Python")
    report = folder / "report.json"
    for command in (["combine", "-q"], ["json", "-q", "-o", str(report)]):
        subprocess.run(
            [sys.executable, "-m", "coverage", *command], cwd=ROOT, env=environment, check=True
        )
    measured: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return measured


def missing(report: dict[str, Any], files: list[str]) -> list[str]:
    """Say what no test ran: one line for each incomplete file.

    Parameters
    ----------
    report
        What ``coverage json`` wrote.
    files
        The files that must be complete. One that the report does not know was never measured.
    """
    found = []
    for name in files:
        if name not in report["files"]:
            found.append(f"{name}: not measured")
            continue
        measured = report["files"][name]
        lines = measured["missing_lines"]
        jumps = [
            f"{a}->{b if b > 0 else 'exit'}"
            for a, b in measured["missing_branches"]
            if a not in lines
        ]
        if lines or jumps:
            told = [*map(str, lines), *jumps]
            found.append(f"{name}: {', '.join(told)}")
    return found


def main() -> None:
    """Measure, and fail with the list of what no test ran."""
    files = trusted_base()
    find(strategies.text(), lambda _: True)  # lists all characters: traced, ten seconds
    with tempfile.TemporaryDirectory() as folder:
        report = measure(Path(folder))
    found = missing(report, files)
    if found:
        sys.exit("coverage: never run in the trusted base\n  " + "\n  ".join(found))
    lines = sum(report["files"][name]["summary"]["num_statements"] for name in files)
    left_out = sum(report["files"][name]["summary"]["excluded_lines"] for name in files)
    print(  # noqa: T201 - a gate says what it measured
        f"coverage: all branches of {len(files)} files of the trusted base ran ({lines} statements; "
        f"{left_out} lines excluded as unreachable or for types alone)"
    )


if __name__ == "__main__":
    main()
