"""What files may not say: no machine, no unfinished business, no second version number, no file beyond 600 lines."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = 600

MACHINE = re.compile(r"(?<![\w.])/(?:work|tmp|home|root|Users)/\w|[A-Z]:\\\\?Users")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
ADDRESS = re.compile(r"--(?:extra-)?index-url|--trusted-host|https?://[^\s/]*@")


PLAIN = (
    "made data",
    "never written down",
    "rows that look alike",
    "how likely people are found",
    "what somebody may know",
    "unless told",
    "prices that are paid",
    "honest to",
    "whoever",
    "somebody",
    "from cheap to dear",
    "believe none of them",
)
"""What code and its pages never say: the phrases of STYLE.md's table that need no reader to judge."""

JUDGED = frozenset({"loses least", "asked", "desk", "arriving"})
"""Phrases of that table that are right in some sentences."""


def ours() -> list[Path]:
    """List the files of the repository, tracked or new, that are text."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        # An unpacked source archive has no history: read the folders that it ships.
        found = [p for name in ("src", "tests", "docs") for p in (ROOT / name).rglob("*")]
        return [path for path in found if path.is_file() and readable(path)]
    names = listed.stdout.decode().split("\0")
    return [
        ROOT / name for name in names if name and (ROOT / name).is_file() and readable(ROOT / name)
    ]


def readable(path: Path) -> bool:
    """Tell whether a file is text."""
    return b"\0" not in path.read_bytes()[:1024]


def matches(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    """List where a pattern occurs."""
    return [
        f"{path}:{number}: {line.strip()[:80]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def too_long(paths: list[Path]) -> list[str]:
    """List the files beyond the limit, with their lengths."""
    lengths = ((path, path.read_text(encoding="utf-8").count("\n")) for path in paths)
    return [f"{path.name}: {length} lines" for path, length in lengths if length > MOST_LINES]


def test_no_file_names_a_path_of_a_machine() -> None:
    assert matches(MACHINE, [path for path in ours() if path != Path(__file__)]) == []


def test_no_file_holds_an_address_of_a_registry() -> None:
    assert matches(ADDRESS, [path for path in ours() if path != Path(__file__)]) == []


def test_nothing_is_left_unfinished() -> None:
    inside = [
        path
        for path in ours()
        if path.relative_to(ROOT).parts[0] in {"src", "reproduction", "docs"}
    ]
    assert len(inside) > 10
    assert matches(UNFINISHED, inside) == []


def not_to_write() -> list[str]:
    """Read what STYLE.md's table of language lists on its right side."""
    text = (ROOT / "STYLE.md").read_text(encoding="utf-8")
    rows = text.split("| write | not |")[1].split("\n")
    right = [row.rstrip(" |").rpartition("|")[2] for row in rows if row.startswith("| ")][1:]
    plain = [re.sub(r"\(.*?\)|: 1$|\.$", "", cell) for cell in right]
    return [part.strip().lower() for cell in plain for part in re.split("[;,]", cell)]


def test_code_and_pages_are_in_plain_english() -> None:
    inside = [
        path
        for path in ours()
        if path.relative_to(ROOT).parts[0] in {"src", "reproduction"}
        and path.suffix in {".py", ".html", ".js"}
    ]
    assert len(inside) > 400
    assert matches(re.compile(rf"(?i)\b(?:{'|'.join(PLAIN)})\b"), inside) == []


def test_the_words_are_those_of_the_style_guide() -> None:
    listed = not_to_write()
    assert "whoever" in listed
    unknown = [phrase for phrase in listed if not any(word in phrase for word in (*PLAIN, *JUDGED))]
    assert unknown == ["as a column's heading"]


def test_no_source_file_is_longer_than_600_lines() -> None:
    sources = {ROOT / "src", ROOT / "reproduction" / "src"}
    inside = [
        path for path in ours() if path.suffix == ".py" and not sources.isdisjoint(path.parents)
    ]
    assert too_long(inside) == []


def test_the_version_is_written_once() -> None:
    """The number stands in pyproject.toml; code asks the installed package, prose does not repeat it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    elsewhere = re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d.])")
    places = [
        path
        for path in ours()
        if path.suffix in {".py", ".md", ".cff"}
        and path.name != "CHANGELOG.md"
        and path != Path(__file__)
    ]
    assert matches(elsewhere, places) == []
    assert matches(re.compile(r"__version__\s*=(?!=)"), places) == []


def test_constraints_hold_names_and_versions_alone() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 10
    assert [
        line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)
    ] == []


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (MACHINE, "see /" + "home/me/notes"),
        (MACHINE, "path = '/" + "tmp/x'"),
        (UNFINISHED, "# TO" + "DO: later"),
        (UNFINISHED, "FIX" + "ME"),
        (re.compile("|".join(PLAIN)), "for whoever reads it"),
        (ADDRESS, "pip install --index" + "-url somewhere"),
    ],
)
def test_the_patterns_reject(tmp_path: Path, pattern: re.Pattern[str], line: str) -> None:
    path = tmp_path / "a.py"
    path.write_text(f"fine\n{line}\n", encoding="utf-8")
    assert matches(pattern, [path]) == [f"{path}:2: {line}"]


def test_a_long_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x\n" * MOST_LINES, encoding="utf-8")
    assert too_long([path]) == []
    path.write_text("x\n" * (MOST_LINES + 1), encoding="utf-8")
    assert too_long([path]) == [f"a.py: {MOST_LINES + 1} lines"]
