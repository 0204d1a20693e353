"""The structure keeps what it reached: no circle, no foreign private name, one parser of CSV."""

from __future__ import annotations

from pathlib import Path

import pytest

from meta.house import (
    ROOT,
    SEVERAL_WITH_REASON,
    causes,
    circles,
    code_lines,
    modules,
    several_meanings,
    structure,
)
from meta.traced import Trace

PACKAGE = ROOT / "src" / "discreet"

REACHED = {"import circles": 0, "private names of another package": 0, "modules that parse CSV": 1}
"""Figures that must not rise again."""


def test_the_structure_keeps_what_it_reached() -> None:
    found = structure(PACKAGE)
    assert {name: found[name] for name in REACHED} == REACHED, "\n".join(causes(PACKAGE))


def test_a_class_name_with_two_meanings_has_a_reason() -> None:
    found = several_meanings(modules(PACKAGE))
    assert sorted(found) == sorted(SEVERAL_WITH_REASON)
    assert len(found) < 5


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write a package."""
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return root


WRONG: dict[str, tuple[dict[str, str], str, int]] = {
    "a circle in a function": (
        {
            "core/a.py": "def f():\n    from discreet.core import b\n",
            "core/b.py": "from discreet.core.a import f\n",
        },
        "import circles",
        1,
    ),
    "a circle for types": (
        {
            "core/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
            "    from discreet.core.b import B\n",
            "core/b.py": "from discreet.core.a import f\nclass B:\n    pass\n",
        },
        "import circles",
        1,
    ),
    "a private name": (
        {"core/a.py": "_f = 1\n", "plot/b.py": "from discreet.core.a import _f\n"},
        "private names of another package",
        1,
    ),
    "a private module": (
        {"core/_a.py": "f = 1\n", "plot/b.py": "from discreet.core._a import f\n"},
        "private names of another package",
        1,
    ),
    "a parser": (
        {"plot/a.py": "import polars as pl\npl.read_csv('x')\n"},
        "modules that parse CSV",
        1,
    ),
    "a small file": ({"plot/a.py": "def f():\n    return 1\n"}, "small files", 1),
    "one name, two classes": (
        {"core/a.py": "class Row:\n    pass\n", "plot/a.py": "class Row:\n    pass\n"},
        "class names with several meanings",
        1,
    ),
}


@pytest.mark.parametrize(("files", "figure", "count"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_counted(
    tmp_path: Path, files: dict[str, str], figure: str, count: int
) -> None:
    assert structure(plant(tmp_path, files))[figure] == count
    assert causes(tmp_path)


def test_three_modules_in_a_ring_are_one_circle() -> None:
    assert circles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}) == [["a", "b", "c"]]
    assert circles({"a": ["b"], "b": []}) == []


def test_a_path_that_goes_back_has_returns() -> None:
    calls = [("d.a.x", "d.b.y"), ("d.b.y", "d.b.z"), ("d.b.z", "d.a.x"), ("d.b.z", "d.c.w")]
    found = Trace(calls)
    assert found.entered == ["d.a.x", "d.b.y", "d.b.z", "d.c.w"]
    assert found.returns == [("d.b.z", "d.a.x")]
    assert found.folders.entered == ["d.a", "d.b", "d.c"]
    assert found.folders.returns == [("d.b", "d.a")]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('"""Prose."""\n\nx = 1  # why\n', 1),
        ("def f():\n    '''Prose.\n\n    More.'''\n    return (\n        1\n    )\n", 4),
        ("# a comment\n", 0),
        ("x = '''text\nof two lines'''\n", 2),
        ('x = """\n# text\n\n"""  # why\n', 4),
        ("""x = "# it's \\\\"  # "no string"\ny = '"'\n""", 2),
    ],
)
def test_lines_of_code_are_no_prose(source: str, lines: int) -> None:
    assert code_lines(source) == lines
