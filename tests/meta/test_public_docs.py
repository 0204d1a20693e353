"""Every source that is cited has an entry, and every entry is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIB = (ROOT / "docs" / "refs.bib").read_text(encoding="utf-8")

IN_DOCSTRINGS = re.compile(r"\[([A-Z][A-Za-z]*\d{2}[a-z]?)\]_")
IN_PAGES = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")
ENTRY = re.compile(r"^@(\w+)\{([^,\s]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)

NEEDS = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"author", "title", "year"},
}


def cited(text: str, *, page: bool) -> set[str]:
    """Collect the keys that a docstring or a page cites."""
    if not page:
        return set(IN_DOCSTRINGS.findall(text))
    return {key.strip() for keys in IN_PAGES.findall(text) for key in keys.split(",")}


def entries(bib: str) -> dict[str, tuple[str, set[str]]]:
    """Map each key of a BibTeX file to its kind and its fields."""
    return {
        key: (kind.lower(), set(re.findall(r"^\s*(\w+)\s*=", body, re.MULTILINE)))
        for kind, key, body in ENTRY.findall(bib)
    }


def uses() -> dict[str, set[str]]:
    """Map each cited key to the files that cite it."""
    found: dict[str, set[str]] = {}
    sources = [path for part in ("src", "reproduction/src") for path in (ROOT / part).rglob("*.py")]
    for path in [*sources, *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        if path.is_file() and "_build" not in path.parts:
            for key in cited(path.read_text(encoding="utf-8"), page=path.suffix == ".md"):
                found.setdefault(key, set()).add(path.name)
    return found


def test_every_cited_source_has_an_entry() -> None:
    found = uses()
    assert len(found) > 5
    assert {key: files for key, files in found.items() if key not in entries(BIB)} == {}


def test_every_entry_is_cited() -> None:
    assert sorted(set(entries(BIB)) - set(uses())) == []


def test_every_entry_is_complete_and_written_once() -> None:
    parsed = entries(BIB)
    assert len(parsed) == len(re.findall(r"^@", BIB, re.MULTILINE))
    assert {
        key: NEEDS[kind] - fields for key, (kind, fields) in parsed.items() if NEEDS[kind] - fields
    } == {}


def test_every_theory_page_names_code_and_tests() -> None:
    """A theory page ends with where its claims live and what would fail if they were wrong."""
    pages = sorted(
        set((ROOT / "docs" / "theory").glob("*.md")) - {ROOT / "docs" / "theory" / "index.md"}
    )
    assert len(pages) > 3
    lacking = [p.name for p in pages if "## Code and tests" not in p.read_text(encoding="utf-8")]
    assert lacking == []


@pytest.mark.parametrize(
    ("text", "page", "keys"),
    [
        ("as in [BS16]_, Lemma 1.7, and [CKS20]_", False, {"BS16", "CKS20"}),
        ("an index a[3]_ or [x]_ is none", False, set()),
        ("{cite:t}`CABP13` and {cite:p}`BCP14, Qiu24`", True, {"CABP13", "BCP14", "Qiu24"}),
    ],
)
def test_citations_are_found(text: str, page: bool, keys: set[str]) -> None:  # noqa: FBT001 - a parameter of the test
    assert cited(text, page=page) == keys


def test_an_incomplete_entry_would_be_seen() -> None:
    ((kind, fields),) = entries("@article{A01,\n  author = {A},\n  year = 2001\n}").values()
    assert NEEDS[kind] - fields == {"title", "journal"}
