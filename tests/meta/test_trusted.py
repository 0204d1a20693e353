"""Modules that privacy rests on say so, CONTRIBUTING lists them, and their code stays small enough to be read."""

from __future__ import annotations

import ast
import re
from functools import cache

from meta.house import ROOT, code_lines
from meta.theory_pages import is_there

SOURCE = ROOT / "src" / "discreet"
ROW = re.compile(r"^\| (\w+) \| ((?:`[\w/]+` ?)+) \| ([\d,]+) \|$", re.MULTILINE)
MAX_GROUND_LINES = 2_500


def listed() -> dict[str, tuple[list[str], int]]:
    """Read the table of CONTRIBUTING: part -> its modules, and the most code lines that they may have."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return {
        part: (re.findall(r"`([\w/]+)`", modules), int(limit.replace(",", "")))
        for part, modules, limit in ROW.findall(text)
    }


@cache
def docstrings() -> dict[str, str]:
    """Read the docstring of each module of the package, by its path without the ending."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found[path.relative_to(SOURCE).with_suffix("").as_posix()] = text
    return found


def test_modules_that_say_trusted_are_those_of_the_list() -> None:
    said = {name for name, text in docstrings().items() if re.search("(?m)^Trusted: ", text)}
    named = [name for modules, _ in listed().values() for name in modules]
    assert len(named) == len(set(named))
    assert said == set(named)


def test_trusted_code_has_no_more_lines_than_the_list_says() -> None:
    parts = listed()
    assert len(parts) == 8
    for part, (modules, limit) in parts.items():
        lines = sum(
            code_lines((SOURCE / f"{name}.py").read_text(encoding="utf-8")) for name in modules
        )
        assert 0.9 * limit < lines <= limit, (part, lines)
    assert sum(parts[part][1] for part in ("chance", "statements", "charge")) <= MAX_GROUND_LINES


def test_samplers_verifiers_and_ledger_are_trusted() -> None:
    named = {name for modules, _ in listed().values() for name in modules}
    must = re.compile(r"(core/randomness|ledger)/(?!__init__|replay)\w+|(?!cli/)[\w/]+/verify")
    assert {name for name in docstrings() if must.fullmatch(name)} <= named


def test_a_module_that_proposes_names_a_checker_that_is_there() -> None:
    checkers = [
        name
        for text in docstrings().values()
        for name in re.findall(r"^Proposes; checked by `([\w.]+)`", text, re.MULTILINE)
    ]
    assert len(checkers) > 10
    assert [name for name in checkers if not is_there(name)] == []
    assert not any("Trusted: " in text and "Proposes" in text for text in docstrings().values())
