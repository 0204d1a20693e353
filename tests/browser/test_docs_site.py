"""The documentation in a real browser: it fetches nothing, fits a phone and a workspace, and is reached by keyboard.

Run by ``make test-browser``. ``DISCREET_DOCS`` names a folder of built pages; without it they are built first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.looking import WIDTHS, complaints, opened, picture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browser.devtools import Browser

pytestmark = pytest.mark.browser

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "index",
    "start/first-mechanism",
    "how-to/plots",
    "how-to/patient-table",
    "how-to/choose-parameters",
    "theory/metricdp/bound",
    "reproduction/metricdp",
    "concepts/concepts",
    "reference/generated/index",
    "reference/generated/discreet.metricdp.design",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from opened(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the pages, warnings as errors, unless they are there."""
    if "DISCREET_DOCS" in os.environ:
        return Path(os.environ["DISCREET_DOCS"])
    pytest.importorskip("furo", reason="NOT RUN: the group docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(folder)]
    subprocess.run(command, check=True)
    return folder


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_legible_and_fetches_nothing(
    browser: Browser, site: Path, page: str, width: str
) -> None:
    browser.open((site / f"{page}.html").as_uri(), *WIDTHS[width])
    picture(browser, f"docs-{page.replace('/', '-')}-{width}")
    assert complaints(browser, WIDTHS[width][0]) == []


@pytest.mark.parametrize("page", ["index", "how-to/plots", "theory/metricdp/bound"])
def test_a_dark_page_is_legible_too(browser: Browser, site: Path, page: str) -> None:
    """Who asks for dark pages gets them; pictures stay ink on paper."""
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.call("Emulation.setEmulatedMedia", features=dark)
    try:
        browser.open((site / f"{page}.html").as_uri(), *WIDTHS["workspace"])
        assert complaints(browser, WIDTHS["workspace"][0]) == []
        grounds = browser.evaluate(
            "[document.body, ...document.querySelectorAll('.drawn svg')]"
            ".map((e) => getComputedStyle(e).backgroundColor)"
        )
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])
    assert grounds[0] != "rgb(255, 255, 255)"
    assert set(grounds[1:]) <= {"rgb(255, 255, 255)"}


@pytest.mark.parametrize("width", WIDTHS)
def test_formulas_are_drawn_without_a_script(browser: Browser, site: Path, width: str) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open((site / "theory/metricdp/bound.html").as_uri(), *WIDTHS[width])
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    heights = browser.evaluate(
        "[...document.querySelectorAll('math')].map((e) => e.getBoundingClientRect().height)"
    )
    assert len(heights) > 20
    assert min(heights) > 5
    assert browser.evaluate("document.body.textContent.includes('\\\\sum')") is False


def test_the_first_key_leads_past_the_navigation(browser: Browser, site: Path) -> None:
    browser.open((site / "index.html").as_uri(), *WIDTHS["workspace"])
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
        )
    # It slides in.
    text, target, seen = browser.evaluate(
        "new Promise((r) => setTimeout(r, 400)).then(() => {"
        " const e = document.activeElement, b = e.getBoundingClientRect();"
        " return [e.textContent.trim(), e.getAttribute('href'), b.bottom > 0 && b.width > 20]; })"
    )
    assert (text, seen) == ("Skip to content", True)
    assert browser.evaluate(f"document.querySelector('{target}') !== null")


def test_every_link_and_control_shows_where_the_keyboard_is(browser: Browser, site: Path) -> None:
    browser.open((site / "how-to/patient-table.html").as_uri(), *WIDTHS["workspace"])
    reached = set()
    for _ in range(60):
        for kind in ("keyDown", "keyUp"):
            browser.call(
                "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
            )
        name, outlined = browser.evaluate(
            "(() => { const e = document.activeElement, s = getComputedStyle(e), l = e.labels && e.labels[0];"
            " const t = l ? getComputedStyle(l) : s;"
            " const lit = (x) => x.outlineStyle !== 'none' || x.boxShadow !== 'none';"
            " return [e.outerHTML.slice(0, 80), e === document.body || lit(s) || lit(t)]; })()"
        )
        assert outlined, name
        reached.add(name)
    assert len(reached) > 30


def test_files_that_pages_hand_out_are_there(browser: Browser, site: Path) -> None:
    browser.open((site / "how-to/patient-table.html").as_uri(), *WIDTHS["workspace"])
    links = browser.evaluate(
        "[...document.querySelectorAll('a.download')].map((e) => decodeURI(e.href))"
    )
    assert {Path(link).name for link in links} == {"patients.csv", "zip.csv", "neighbors.csv"}
    assert all(Path(link.removeprefix("file://")).is_file() for link in links)


def test_a_page_that_is_not_whole_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    """The checks above are shown to reject."""
    path = tmp_path / "bad.html"
    path.write_text(
        '<html><meta name="viewport" content="width=device-width"><h1>One</h1><h3>Three</h3>'
        '<p style="color:#aaa;font-size:9px">faint</p><div style="width:900px">wide</div>'
        '<svg width="9" height="9"></svg><img src="http://127.0.0.1:9/a.png">'
        "<script>missing()</script></html>",
        encoding="utf-8",
    )
    browser.open(path.as_uri(), *WIDTHS["phone"])
    found = "\n".join(complaints(browser, WIDTHS["phone"][0]))
    for wrong in (
        "asks for http://127.0.0.1:9/a.png",
        "the page is 9",
        "sticks out",
        "heading 3 after 1",
        "no language",
        "no words: <svg",
        "contrast 2.32",
        "letters of 9px",
        "missing is not defined",
    ):
        assert wrong in found
