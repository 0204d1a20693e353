"""The page of ``discreet locate --page`` with noise or rows on a lattice: smooth odds, two points side by side.

Run by ``make test-browser``. With ``DISCREET_SCREENSHOTS`` set to a folder the pictures are kept there.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

import lattices
import noises
from browser.noise_by_the_page import unpacked
from browser.test_page_in_browser import WIDTHS, browser, opening
from discreet.lrgeo import Region
from discreet.lrgeo.points.noise import NoiseMechanism
from discreet.lrgeo.points.table import LatticeMechanism

if TYPE_CHECKING:
    from browser.devtools import Browser

__all__ = ["browser", "opening"]

pytestmark = pytest.mark.browser

PLACES, STEP = 6, 5000
"""A grid of places, and how far they are apart in decimeters."""


def parts() -> dict[str, Any]:
    """State noise over the grid: each node has the name of the place that is nearest to it."""
    cells, torus = (PLACES * 2, PLACES * 2), (34, 34)
    small = noises.Small(cells, torus, Fraction(1), side=STEP // 2, low=(-STEP // 2, -STEP // 2))
    places = [(i * STEP, j * STEP) for i in range(PLACES) for j in range(PLACES)]

    def nearest(node: int) -> int:
        # A node beyond the last control point is reached from both sides of the torus.
        at = node if node < cells[0] + 2 + 10 else node - torus[0]
        return min(max(round((at - 1) * 0.5 - 0.25), 0), PLACES - 1)

    names = [nearest(x) * PLACES + nearest(y) for x in range(torus[0]) for y in range(torus[1])]
    return {
        **small.parts(),
        "names": noises.packed(names),
        "reports": noises.packed([axis for place in places for axis in place]),
        "shown": [[str(x / 10_000), str(y / 10_000)] for x, y in places],
    }


def made(form: str = "noise") -> NoiseMechanism | LatticeMechanism:
    """Give the noise, or the same law as a table: a row for each control point."""
    said = parts()
    if form == "noise":
        return NoiseMechanism.from_dict(json.loads(noises.sealed(said)))
    small = noises.Small((PLACES * 2, PLACES * 2), (34, 34), Fraction(1), side=STEP // 2)
    names = unpacked(said["names"])
    rows = lattices.renamed(small.cells, small.torus, small.noise(), names)
    said = {name: part for name, part in said.items() if name not in {"torus", "noise", "names"}}
    said |= {"form": "discreet.lrgeo.lattice", "weights": noises.packed(rows), "mesh_lower": None}
    return LatticeMechanism.from_dict(json.loads(noises.sealed(said)))


def where() -> Region:
    return Region.from_grid(PLACES, PLACES, cell="0.5", unit="km")


def typed(page: Any, first: float, second: float) -> None:
    page.browser.evaluate(
        f"document.querySelector('#point').value = '{first} {second}';"
        " document.querySelector('#typed').requestSubmit(); undefined"
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("scheme", "form"), [("light", "noise"), ("dark", "noise"), ("light", "rows")]
)
def test_a_point_is_chosen_and_a_report_taken(
    opening: Any, browser: Browser, scheme: str, form: str, width: str
) -> None:
    page = opening(made(form), where())
    browser.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    try:
        page.show(width)
        page.click("#map", 0.4, 0.45)
        page.until("!document.querySelector('#facts').hidden")
        page.click("#hold")
        typed(page, 1.25, 1.2)
        page.until("!document.querySelector('#two').hidden")
        page.click("#take")
        page.until("document.querySelector('#report').textContent.startsWith('Reported')")
        page.picture(f"locate-{form}-{width}-{scheme}")
        report = json.loads(browser.evaluate("document.querySelector('#report').dataset.report"))
        assert [str(x) for x in map(float, report)] in parts()["shown"]
        assert page.text("#where").startswith("Your point: 1.25 east, 1.2 north")
        assert browser.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width][0]
        assert page.complaints() == []
        assert browser.evaluate("document.querySelectorAll('#heat circle').length") > 10
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])


@pytest.mark.parametrize("form", ["noise", "rows"])
def test_the_odds_are_those_of_the_file_and_move_as_the_pin_moves(opening: Any, form: str) -> None:
    """The largest ratio of two near points is within what is allowed, and grows with how far they are apart."""
    page = opening(made(form), where())
    page.show()
    typed(page, 1.0, 1.0)
    page.click("#hold")
    before = 1.0
    for meters in (0.1, 1, 10, 100, 500):
        typed(page, 1.0 + meters / 1000, 1.0)
        most, allowed = (
            float(page.browser.evaluate(f"document.querySelector('#apart').dataset.{name}"))
            for name in ("most", "allowed")
        )
        assert math.isclose(allowed, math.exp(meters / 1000), rel_tol=1e-9)
        assert before < most <= allowed
        # So near to what is allowed that the condition is seen, and not another one that is far stricter.
        assert math.log(most) > 0.3 * math.log(allowed)
        before = most
    law = [float(share) for share in made().law(("1.5", "1.0"))]
    shown = page.browser.evaluate(
        "document.querySelector('#likely tbody td:last-child').textContent"
    )
    assert shown == f"{100 * max(law):.3g} %"


def test_what_lies_beyond_the_reach_is_refused_and_not_repeated(opening: Any) -> None:
    page = opening(made(), where())
    page.show()
    typed(page, 44.75, 1.0)
    assert "lies outside the region" in page.text("#point-said")
    assert "44.75" not in page.text("#point-said")
