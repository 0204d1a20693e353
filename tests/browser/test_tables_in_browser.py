"""Pages of comparisons and of experiments in a real browser: they fit a phone and a workspace, and fetch nothing.

Run by ``make test-browser``. With ``DISCREET_SCREENSHOTS`` set to a folder the pictures are kept there.
"""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.devtools import Browser
from browser.looking import opened as start_browser
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate.comparison import compare_methods
from discreet.metricdp import Exponential, Kernel, Problem
from discreet.report import make_chapter, write_report
from discreet_reproduction import Experiment, write_experiment

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

WIDTHS = {"phone": (390, 844), "workspace": (1280, 900)}
PAGES = ("comparison", "experiment")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from start_browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write a comparison of three methods, one of which does not apply, and an experiment with many columns."""
    folder = tmp_path_factory.mktemp("pages")
    problem = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")
    methods = {"optimal": None, "exponential": Exponential(), "kernel": Kernel()}
    epsilons = [Fraction(1, 2), Fraction(1), Fraction(2)]
    entries = compare_methods(problem, MetricDP(1, unit="km"), methods, epsilons)
    chapter = make_chapter("comparison", entries, unit="km")
    comparison = write_report([chapter], folder / "comparison.html", title="What privacy costs")
    names = [f"column {i} of the table" for i in range(12)]
    found = Experiment(
        "metricdp/table9",
        "Seconds and iterations of the decomposition with four partitioners",
        columns=tuple(names),
        rows=[dict.fromkeys(names, 1234.5) for _ in range(20)],
        published=(names[-1],),
        notes=(
            "A difference that is named, in a sentence long enough to need a second line on a phone.",
        ),
        settings={"N": 500, "a setting with a rather long name": "and a rather long value"},
        panels={f"Panel {i}": lambda ax: ax.plot([1, 2], [3, 4]) for i in range(3)},
    )
    experiment = write_experiment(found, folder)[-1]
    return {"comparison": comparison.as_uri(), "experiment": experiment.as_uri()}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_nothing_overflows_and_nothing_is_fetched(
    browser: Browser, pages: dict[str, str], page: str, width: str
) -> None:
    browser.open(pages[page], *WIDTHS[width])
    assert browser.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width][0]
    sticking = browser.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, pre, svg') && "
        "e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"
    )
    assert sticking == []
    asked = [event["request"]["url"] for event in browser.of("Network.requestWillBeSent")]
    assert asked == [pages[page]]
    assert browser.of("Log.entryAdded", "Runtime.exceptionThrown") == []
    if "DISCREET_SCREENSHOTS" in os.environ:
        browser.screenshot(Path(os.environ["DISCREET_SCREENSHOTS"]) / f"{page}-{width}.png")


@pytest.mark.parametrize("page", PAGES)
def test_text_is_large_enough_to_read_on_a_phone(
    browser: Browser, pages: dict[str, str], page: str
) -> None:
    browser.open(pages[page], *WIDTHS["phone"])
    least = browser.evaluate(
        "Math.min(...[...document.querySelectorAll('p, li, dt, dd, td, th, figcaption, h1, h2, h3')]"
        ".filter(e => e.offsetParent).map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert least >= 14
    drawn = browser.evaluate(
        "Math.min(...[...document.querySelectorAll('.plot svg text')].map(e => e.getBoundingClientRect().height))"
    )
    assert drawn >= 9


@pytest.mark.parametrize("width", WIDTHS)
def test_every_number_of_a_comparison_can_be_seen(
    browser: Browser, pages: dict[str, str], width: str
) -> None:
    """On a phone too: the loss of each method is what the page is for."""
    browser.open(pages["comparison"], *WIDTHS[width])
    shown = browser.evaluate(
        "[...document.querySelectorAll('tbody tr')].map(r => [...r.children].filter(c => c.offsetParent)"
        ".map(c => c.textContent).join(' '))"
    )
    assert len(shown) == 9
    assert all("exponential" in row for row in shown[1::3])
    least = browser.evaluate(
        "Math.min(...[...document.querySelectorAll('tbody tr')].map(r => [...r.children]"
        ".filter(c => c.offsetParent).length))"
    )
    assert least == 9
