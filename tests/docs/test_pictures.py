"""The picture of the README is what the README's own example draws."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree as ET

import pytest

from docs.loading import TOOLS, tool

SVG = "{http://www.w3.org/2000/svg}"


def words(svg: str) -> list[str]:
    """Read the letters of a picture, in order."""
    root = ET.fromstring(svg)  # noqa: S314 - our own picture
    return ["".join(e.itertext()).strip() for e in root.iter(f"{SVG}text")]


def shades(svg: str) -> list[int]:
    """Read how dark the cells are, in order: the sums of their colors."""
    found = re.findall(r"fill: #([0-9a-f]{6}); stroke: #c9ced4", svg)
    return [sum(bytes.fromhex(color)) for color in found]


def test_the_committed_picture_is_what_the_example_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    pictures = tool("pictures")
    kept, drawn = pictures.PICTURE.read_text(encoding="utf-8"), pictures.draw()
    sys.modules.pop("drawn", None)
    assert words(kept) == words(drawn)
    assert len(shades(kept)) == 49
    # Another release of a solver may draw another optimum of the same loss.
    assert shades(kept) == pytest.approx(shades(drawn), abs=40)


def test_the_middle_is_the_darkest_cell_and_has_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    kept = tool("pictures").PICTURE.read_text(encoding="utf-8")
    sys.modules.pop("drawn", None)
    assert min(range(49), key=shades(kept).__getitem__) == 24
    assert 'aria-label="A grid of seven by seven' in kept
