"""Test files are collected by their base names, for no folder of tests is a package."""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def shared(names: list[str]) -> list[str]:
    """Names that come more than once."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def test_no_two_test_files_share_a_name() -> None:
    root = Path(__file__).parents[2]
    folders = (root / "tests", root / "reproduction" / "tests")
    found = [path.name for folder in folders for path in folder.rglob("test_*.py")]
    assert shared(found) == []


def test_a_name_that_comes_twice_is_found() -> None:
    assert shared(["test_a.py", "test_b.py", "test_a.py"]) == ["test_a.py"]
