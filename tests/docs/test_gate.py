"""The gate of the built documentation is shown to shut, and what it counts in sources is counted here too."""

from __future__ import annotations

import json
import re
import zlib
from typing import TYPE_CHECKING

import pytest

from docs.loading import TOOLS, tool
from docs.walking import ROOT

if TYPE_CHECKING:
    from pathlib import Path

gate = tool("gate")


def built(folder: Path, *, names: str, links: int, run: bool = True) -> Path:
    """Lay out what a build leaves, as far as the gate looks at it."""
    head = b"# Sphinx inventory version 2\n# Project: x\n# Version: 1\n# The rest is compressed using zlib.\n"
    lines = "".join(f"{name} py:function 1 a.html#$ -\n" for name in names.split())
    (folder / "objects.inv").write_bytes(head + zlib.compress(lines.encode()))
    sidebar = '<div class="sidebar-tree">' + '<a href="x">x</a>' * links + "\n</div>"
    (folder / "index.html").write_text(sidebar, encoding="utf-8")
    notebook = folder / "_downloads" / "1" / "tour.ipynb"
    notebook.parent.mkdir(parents=True)
    cell = {"cell_type": "code", "execution_count": 1 if run else None, "source": ["1"]}
    notebook.write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    return folder


def test_whole_pages_pass(tmp_path: Path) -> None:
    whole = built(tmp_path, names="a.b a.c", links=40)
    assert gate.complaints(whole, {"a.b"}, {"tour"}) == []


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    lacking = built(tmp_path, names="a.b", links=41, run=False)
    assert gate.complaints(lacking, {"a.b", "a.c"}, {"tour", "walk"}) == [
        "no page for a.c",
        "41 links in the sidebar, at most 40 are allowed",
        "1 cells of tour were not run",
        "no notebook of walk",
    ]


@pytest.mark.parametrize("text", [b"no inventory", b"# Sphinx inventory version 1\nzlib.\n"])
def test_another_inventory_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "objects.inv").write_bytes(text)
    with pytest.raises(ValueError, match="no inventory of version 2"):
        gate.inventory(tmp_path / "objects.inv")


def test_the_table_of_contents_has_five_sections_and_few_links() -> None:
    """The sidebar as it will be, without building it."""
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    sections = re.findall(r":caption: ([^\n]+)\n:hidden:\n\n(.*?)```", text, re.DOTALL)
    assert [title for title, _ in sections] == [
        "Start", "Tutorials", "How-to", "Concepts and reference", "Research notes",
    ]  # fmt: skip
    assert sum(len(pages.split()) for _, pages in sections) <= gate.MOST_LINKS


def test_every_public_name_has_a_page_and_a_group(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    pages = tool("api_pages")
    (tmp_path / "src" / "discreet").mkdir(parents=True)
    pages.write_reference(tmp_path / "src", tmp_path)
    snapshot = (ROOT / "tests" / "meta" / "api.txt").read_text(encoding="utf-8").split()
    written = {path.stem for path in (tmp_path / "generated").glob("discreet.*.md")}
    assert {f"discreet.{name}" for name in snapshot} <= written
    assert {
        "discreet.metricdp.design",
        "discreet.kanonymity.anonymize",
        "discreet.hierarchy.query",
    } <= written
    monkeypatch.setattr(pages, "GROUPS", pages.GROUPS[1:])
    with pytest.raises(ValueError, match="put these names into a group"):
        pages.write_reference(tmp_path / "src", tmp_path)
