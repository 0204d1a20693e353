"""An accusation against a paper is ours to prove: where it is printed, how we read it, a verdict, and a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from meta.theory_pages import ROOT

VERDICTS = "false|two readings|limit|holds|contradicted|not reproduced|unstated|slip|code"
"""The closed list; ``docs/theory/errata.md`` explains each word."""

PAPER = (
    r"(?:(?:Section|Theorem|Lemma|Proposition|Remark|Equation|Definition|Algorithm|Table|Appendix) \(?[A-Z0-9]"
    r"|Abstract|`\w+\.m`)"
)
ENTRY = re.compile(
    r"## (?P<name>[A-Z]\d+)\. (?P<title>[^\n]+)\n\n"
    rf"- \*\*Paper:\*\* {PAPER}[^\n]*?\"[^\n]+?\"[^\n]*\n"
    r"- \*\*Read as:\*\* (?P<readings>[^\n]+)\n"
    rf"- \*\*Verdict:\*\* (?P<verdict>{VERDICTS})\.[^\n]*\n"
    r"- \*\*Test:\*\* (?P<tests>[^\n]+)\n"
)
PAGES = sorted((ROOT / "docs" / "theory").glob("errata-*.md"))


def faults(text: str) -> list[str]:
    """List the entries of an errata page that lack a citation, a reading, a verdict or a test that exists."""
    entries = {entry["name"]: entry for entry in ENTRY.finditer(text)}
    found = [
        f"{name} has not the four lines of an entry"
        for name in re.findall(r"^## (\S+)\.", text, re.MULTILINE)
        if name not in entries
    ]
    for name, entry in entries.items():
        if (entry["verdict"] == "two readings") != ("(1)" in entry["readings"]):
            found.append(f"{name} does not number its two readings")
        cited = re.findall(r"`([\w/.]+\.py)`: ((?:`test_\w+`(?:, )?)+)", entry["tests"])
        found += [] if cited else [f"{name} names no test"]
        for file, names in cited:
            path = ROOT / file
            source = path.read_text(encoding="utf-8") if path.is_file() else ""
            found += [
                f"{name}: {file} has no {test}"
                for test in re.findall(r"test_\w+", names)
                if f"def {test}(" not in source
            ]
    return found if entries else [*found, "the page has no entry"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_erratum_has_its_sentence_its_reading_its_verdict_and_its_test(page: Path) -> None:
    assert len(PAGES) == 5
    assert faults(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"even', "even", "E4 has not the four lines of an entry"),
        ("limit.", "wrong.", "E4 has not the four lines of an entry"),
        ("limit.", "two readings.", "E4 does not number its two readings"),
        ("test_errata_pages.py`: `", "test_errata_pages.py` ", "E4 names no test"),
        ("`test_an_e", "`test_no_e", "E4: tests/meta/test_errata_pages.py has no test_no_erratum"),
    ],
)
def test_an_erratum_without_one_of_them_is_refused(old: str, new: str, fault: str) -> None:
    good = (
        '## E4. A claim\n\n- **Paper:** Theorem 4, "even so".\n- **Read as:** it says.\n- **Verdict:** limit.\n'
        "- **Test:** `tests/meta/test_errata_pages.py`: `test_an_erratum_without_one_of_them_is_refused`.\n"
    )
    assert faults(good) == []
    assert any(found.startswith(fault) for found in faults(good.replace(old, new, 1)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_number_that_a_room_cites_stands_on_its_errata_page(page: Path) -> None:
    room = page.stem.removeprefix("errata-")
    kept = set(re.findall(r"^## (\S+)\.", page.read_text(encoding="utf-8"), re.MULTILINE))
    letters = {"lrgeo": "A-D", "submodular": "S"}.get(room, "E")
    places = (ROOT / "docs").rglob(f"{room}/*.md"), (ROOT / "src").rglob(f"{room}/**/*.py")
    for path in (ROOT / f"docs/reproduction/{room}.md", *places[0], *places[1]):
        cited = re.findall(rf"[(\[ ]([{letters}]\d+)(?=[]),])", path.read_text(encoding="utf-8"))
        assert set(cited) <= kept, path
