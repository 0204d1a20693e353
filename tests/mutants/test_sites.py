"""Breaking by rule: every change is a change, is named, and leaves what only speaks to people alone."""

from __future__ import annotations

import ast

import pytest

from mutants.equivalent import EQUIVALENT
from mutants.mutant import ROOT
from mutants.sites import broken, sites
from mutants.sweep import TESTS

SOURCE = '''
"""A docstring with 3 < 4."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    LIMIT = 1
__all__ = ["f"]

def f(x: int = 5) -> int:
    """Compare 1 < 2."""
    if not x < 2 and g(x):
        raise ValueError(f"below {x + 1}")
    x += floor(x)
    return min(x, 7)
'''
CHANGES = {
    "f: 5 -> 6",
    "f: 5 -> 4",
    "f: not x < 2 and g(x) -> not x < 2 or g(x)",
    "f: not x < 2 -> x < 2",
    "f: x < 2 -> x <= 2",
    "f: x < 2 -> x >= 2",
    "f: 2 -> 3",
    "f: 2 -> 1",
    "f: raise ValueError(f'below {x + 1}') -> pass",
    "f: x += floor(x) -> pass",
    "f: floor(x) -> ceil(x)",
    "f: min(x, 7) -> max(x, 7)",
    "f: 7 -> 8",
    "f: 7 -> 6",
}


def test_every_rule_finds_its_places_and_nothing_else_is_touched() -> None:
    assert {site.name for site in sites(SOURCE)} == CHANGES


def test_every_change_is_made_where_it_was_found() -> None:
    made = {site.name: broken(SOURCE, site) for site in sites(SOURCE)}
    assert len(set(made.values())) == len(CHANGES)
    assert "return max(x, 7)" in made["f: min(x, 7) -> max(x, 7)"]
    for source in made.values():
        assert ast.dump(ast.parse(source)) != ast.dump(ast.parse(SOURCE))


def test_names_that_come_twice_are_numbered() -> None:
    twice = sites("a = 1\nb = 1\n")
    assert [site.name for site in twice] == [
        "module: 1 -> 2",
        "module: 1 -> 0",
        "module: 1 -> 2 #2",
        "module: 1 -> 0 #2",
    ]
    assert broken("a = 1\nb = 1\n", twice[2]) == "a = 1\nb = 2"


@pytest.mark.parametrize("file", TESTS)
def test_what_is_swept_is_there_and_so_are_its_tests(file: str) -> None:
    assert len(sites((ROOT / "src" / "discreet" / file).read_text(encoding="utf-8"))) > 30
    assert all((ROOT / test).is_file() for test in TESTS[file])


def test_every_exception_is_a_place_that_is_there_and_has_a_reason() -> None:
    """An exception for code that was changed must be thought over again."""
    files = {name.split(": ", 1)[0] for name in EQUIVALENT}
    known = {
        f"{file}: {site.name}"
        for file in files
        for site in sites((ROOT / "src" / "discreet" / file).read_text(encoding="utf-8"))
    }
    assert set(EQUIVALENT) <= known
    assert all(len(reason) > 20 for reason in EQUIVALENT.values())
