"""Misuse is a type error: every line marked ``# E: code`` is refused by mypy for that reason, and no other line is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"# E: ([\w-]+)$")
SAID = re.compile(r"^(?P<path>[^:]+):(?P<line>\d+): error: .*\[(?P<code>[\w-]+)\]$")

Errors = set[tuple[str, int, str]]


def expected(paths: list[Path]) -> Errors:
    """Read the marks: file, line, error code."""
    return {
        (path.name, number, mark.group(1))
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (mark := MARK.search(line))
    }


def reported(output: str) -> Errors:
    """Read what mypy said: file, line, error code."""
    found = (SAID.match(line) for line in output.splitlines())
    return {(Path(m["path"]).name, int(m["line"]), m["code"]) for m in found if m}


def check(paths: list[Path]) -> str:
    """Run mypy with the project's own settings."""
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--no-error-summary",
        "--hide-error-context",
        "--no-pretty",
    ]
    done = subprocess.run(
        [*command, *map(str, paths)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout


def test_every_misuse_is_refused_and_nothing_else() -> None:
    paths = sorted((ROOT / "typing_tests" / "must_fail").glob("*.py"))
    wanted = expected(paths)
    assert len(wanted) > 10
    output = check(paths)
    found = {error for error in reported(output) if error[0] in {path.name for path in paths}}
    assert found == wanted, output


def test_the_comparison_sees_a_missing_and_a_surplus_error(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("f(1)  # E: arg-type\nf(2)\n", encoding="utf-8")
    assert expected([path]) == {("a.py", 1, "arg-type")}
    assert reported("a.py:2: error: Too many arguments  [call-arg]\na.py:2: note: f is here") == {
        ("a.py", 2, "call-arg")
    }
