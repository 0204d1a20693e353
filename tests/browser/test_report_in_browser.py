"""The report in a real browser: it fits a phone and a workspace, its map answers a click, and it fetches nothing.

Run by ``make test-browser``. With ``DISCREET_SCREENSHOTS`` set to a folder the pictures are kept there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from browser.devtools import Browser
from browser.looking import opened as start_browser
from discreet.core.spaces.metric import MetricSpace
from discreet.datasets import made_city
from discreet.plot import Curve
from discreet.report import make_chapter, write_report
from discreet.report.maps import Backdrop
from report.made import design_on

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

WIDTHS = {"phone": (390, 844), "workspace": (1280, 900)}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from start_browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a report of a city and a grid by hand-made designs: how it looks does not depend on a solver."""
    city = made_city(60, seed=4)
    space = MetricSpace.from_points(city.points, unit="km")
    on_city = design_on(space, radius=1, prior=city.prior, utility_loss=city.travel())
    steps = (0.5, 1.0, 2.0, 4.0)
    curves = [
        Curve("no mechanism loses less", steps, (1.4, 1.1, 0.7, 0.2), "bound"),
        Curve("this library", steps, (1.41, 1.11, 0.71, 0.21), "optimum"),
        Curve("exponential mechanism", steps, (1.5, 1.4, 1.2, 0.9)),
    ]
    on_grid = design_on(MetricSpace.grid(8, 10, cell=1, unit="km"))
    chapters = [
        make_chapter(
            "metricdp", on_city, title="A city", anchor="city", lead=("A lead.",), curves=curves,
            backdrop=Backdrop(city.edges, np.arange(len(city.edges), dtype=float), city.river),
            loss_unit="km", artefact="demo/city.channel",
        ),
        make_chapter("metricdp", on_grid, title="A grid", anchor="grid", loss_unit="km"),
    ]  # fmt: skip
    path = write_report(
        chapters, tmp_path_factory.mktemp("page") / "index.html", lead=("One.", "Two.")
    )
    return path.as_uri()


def asked_for(browser: Browser) -> list[str]:
    """List the addresses that the page asked for."""
    return [event["request"]["url"] for event in browser.of("Network.requestWillBeSent")]


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overflows_and_nothing_is_fetched(
    browser: Browser, report: str, width: str
) -> None:
    browser.open(report, *WIDTHS[width])
    assert browser.evaluate("innerWidth") == WIDTHS[width][0]
    assert browser.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width][0]
    # Nothing sticks out unseen either, but for what scrolls inside a box of its own.
    sticking = browser.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, pre, svg') && "
        "e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"
    )
    assert sticking == []
    assert asked_for(browser) == [report]
    assert browser.of("Log.entryAdded", "Runtime.exceptionThrown") == []
    if "DISCREET_SCREENSHOTS" in os.environ:
        browser.screenshot(Path(os.environ["DISCREET_SCREENSHOTS"]) / f"report-{width}.png")


def test_text_is_large_enough_to_read_on_a_phone(browser: Browser, report: str) -> None:
    browser.open(report, *WIDTHS["phone"])
    least = browser.evaluate(
        "Math.min(...[...document.querySelectorAll('p, li, dt, dd, td, th, button, figcaption, h1, h2, h3')]"
        ".filter(e => e.offsetParent).map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert least >= 14
    plot = browser.evaluate(
        "Math.min(...[...document.querySelectorAll('.plot svg text')].map(e => e.getBoundingClientRect().height))"
    )
    assert plot >= 9


def test_a_button_shows_another_place(browser: Browser, report: str) -> None:
    browser.open(report, *WIDTHS["phone"])
    read = (
        "JSON.stringify([document.querySelector('#city .marks').innerHTML, "
        "document.querySelector('#city .facts').textContent, "
        "[...document.querySelectorAll('#city button')].map(b => b.getAttribute('aria-pressed'))])"
    )
    before = browser.evaluate(read)
    browser.evaluate("document.querySelectorAll('#city button')[2].click()")
    after = browser.evaluate(read)
    assert before != after
    assert '["false","false","true"]' in after
    browser.evaluate("document.querySelectorAll('#city button')[0].click()")
    # What the script draws is what the page came with, number by number.
    first = browser.evaluate("document.querySelectorAll('#city .marks circle').length")
    browser.open(report, *WIDTHS["phone"])
    assert browser.evaluate("document.querySelectorAll('#city .marks circle').length") == first
    assert browser.evaluate(read) == before


@pytest.mark.parametrize("chapter", ["city", "grid"])
def test_a_click_on_the_map_chooses_the_nearest_place(
    browser: Browser, report: str, chapter: str
) -> None:
    browser.open(report, *WIDTHS["workspace"])
    secret, x, y, fact = browser.evaluate(
        f"""(() => {{
          const table = JSON.parse(document.getElementById('{chapter}-data').textContent);
          const svg = document.querySelector('#{chapter} .map svg');
          svg.scrollIntoView({{block: 'center', behavior: 'instant'}});
          const s = 7, inside = new DOMPoint(table.at[2 * s] + 1, table.at[2 * s + 1] - 1);
          const p = inside.matrixTransform(svg.getScreenCTM());
          return [s, p.x, p.y, table.facts[s][0]];
        }})()"""
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    ring, shown = browser.evaluate(
        f"[document.querySelector('#{chapter} .map .true').getAttribute('transform'), "
        f"document.querySelector('#{chapter} .facts dd').textContent]"
    )
    at = browser.evaluate(
        f"JSON.parse(document.getElementById('{chapter}-data').textContent).at.slice({2 * secret}, {2 * secret + 2})"
    )
    assert ring == f"translate({at[0]:g} {at[1]:g})"
    assert shown == fact


def test_without_scripts_the_page_still_says_everything(browser: Browser, report: str) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(report, *WIDTHS["phone"])
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.evaluate("getComputedStyle(document.querySelector('.picks')).display") == "none"
    assert browser.evaluate("document.querySelectorAll('#city .marks circle').length") > 3


def test_a_page_that_overflows_or_fetches_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    """The checks above are shown to reject."""
    path = tmp_path / "bad.html"
    path.write_text(
        '<meta name="viewport" content="width=device-width"><div style="width:900px">wide</div>'
        '<img src="http://127.0.0.1:9/a.png">',
        encoding="utf-8",
    )
    browser.open(path.as_uri(), *WIDTHS["phone"])
    assert browser.evaluate("document.documentElement.scrollWidth") > WIDTHS["phone"][0]
    assert "http://127.0.0.1:9/a.png" in asked_for(browser)
