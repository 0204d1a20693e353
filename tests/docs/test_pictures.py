"""The picture of the README is what the figures beside it draw, from zero, and its words say the same."""

from __future__ import annotations

import importlib.util
import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from docs.walking import ROOT

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def beside() -> Any:
    spec = importlib.util.spec_from_file_location("beside", ROOT / "benchmarks" / "beside_peers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words(svg: str) -> list[str]:
    """Read the letters of a picture, in order."""
    root = ET.fromstring(svg)  # noqa: S314 - our own picture
    return ["".join(e.itertext()).strip() for e in root.iter(f"{SVG}text")]


def test_the_committed_picture_is_what_the_figures_draw(beside: Any) -> None:
    figures = json.loads(beside.FIGURES.read_text(encoding="utf-8"))
    kept = beside.PICTURE.read_text(encoding="utf-8")
    assert words(kept) == words(beside.draw(figures))
    for panel, digits in (("places", 2), ("table", 3)):
        for loss in (figures[panel]["discreet"], *figures[panel]["others"].values()):
            assert f"{loss:.{digits}f}" in words(kept)
            assert loss >= figures[panel]["lower"]
    assert beside.alt(figures).startswith("Two panels of bars.")


@pytest.mark.slow
def test_the_panel_of_places_is_measured_again(beside: Any) -> None:
    kept = json.loads(beside.FIGURES.read_text(encoding="utf-8"))["places"]
    anew = beside.places()
    assert kept["others"] == pytest.approx(anew["others"], rel=0.01)
    assert kept["discreet"] == pytest.approx(anew["discreet"], rel=0.02)


def test_other_figures_draw_another_picture(beside: Any) -> None:
    figures = json.loads(beside.FIGURES.read_text(encoding="utf-8"))
    figures["table"]["discreet"] *= 2
    assert words(beside.draw(figures)) != words(beside.PICTURE.read_text(encoding="utf-8"))


def test_the_comparison_quotes_the_same_figures(beside: Any) -> None:
    page = (ROOT / "docs" / "concepts" / "comparison.md").read_text(encoding="utf-8")
    figures = json.loads(beside.FIGURES.read_text(encoding="utf-8"))["table"]
    for value in (figures["discreet"], figures["lower"]):
        assert f"{value:.4f}".lstrip("0") in page
