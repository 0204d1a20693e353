"""Every page that a command writes with ``--report``, and that of the demo: whole, legible, in order, printable.

Each is opened in a real browser, where it fetches nothing.
Run by ``make test-browser``. With ``DISCREET_SCREENSHOTS`` set to a folder the pictures are kept there.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.looking import WIDTHS, complaints, opened, picture
from discreet.cli.app import run
from true_pages import small_demo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browser.devtools import Browser

pytestmark = pytest.mark.browser

FILES = Path(__file__).parents[2] / "docs" / "files"
COMMANDS = {
    "design": "design places.csv --x x --y y --label name --unit km --epsilon 1.5 --prior demand -o c.channel",
    "verify": "verify c.channel",
    "attack": "attack c.channel --reports 1,5",
    "audit": "audit c.channel",
    "compare": "compare places.csv --x x --y y --unit km --epsilon 1,2 --methods optimal,exponential",
    "counts": "counts people.csv --unit household --regions state,county --region-list regions.csv --max-size 8"
    " --epsilon 1 --neighbors add-remove-person --measurements kept.parquet -o households.csv",
    "query": "query kept.parquet --level 3 --sizes 4-8",
    "anonymize": "anonymize patients.csv -k 5 --quasi age,sex,zip --sensitive disease --taxonomy zip=zip.csv"
    " --time-limit 2 -o anonymous.csv",
    "risk": "risk anonymous.csv --against patients.csv --quasi age,sex,zip --sensitive disease",
    "attack-table": "attack anonymous.csv --against patients.csv --others neighbors.csv --sensitive disease",
    "select": "select --coverage reach.csv --matroid partition:districts.csv --epsilon 1"
    " --neighbors add-remove-one",
    "frontier": "compare submodular --epsilon 1,2",
}


PAGES = (*COMMANDS, "demo")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from opened(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write every report, by the files that the documentation hands out."""
    folder = tmp_path_factory.mktemp("reports")
    names = {path.name for path in FILES.iterdir()}
    made = {"c.channel", "kept.parquet", "households.csv", "anonymous.csv"}
    for name, line in COMMANDS.items():
        words = []
        for word in line.split():
            head, separator, last = word.rpartition("=" if "=" in word else ":")
            home = FILES if last in names else folder if last in made else None
            words.append(f"{head}{separator}{home / last}" if home else word)
        assert run([*words, "--report", str(folder / f"{name}.html")]) == 0, name
    demo = small_demo(folder / "demo")
    demo.page.rename(folder / "demo.html")
    return folder


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_report_is_whole_and_legible_and_fetches_nothing(
    browser: Browser, reports: Path, name: str, width: str
) -> None:
    browser.open((reports / f"{name}.html").as_uri(), *WIDTHS[width])
    picture(browser, f"report-{name}-{width}")
    assert complaints(browser, WIDTHS[width][0]) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_printed_report_cuts_no_table_and_no_picture(
    browser: Browser, reports: Path, name: str
) -> None:
    """Nothing is wider than the paper, and what may not be cut is shorter than a sheet of A4."""
    browser.open((reports / f"{name}.html").as_uri(), 680, 980)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        wide, tall = browser.evaluate(
            "[document.documentElement.scrollWidth, [...document.querySelectorAll('figure, tr, pre, .claim')]"
            ".map((e) => [e.getBoundingClientRect().height, e.outerHTML.slice(0, 60)]).filter((e) => e[0] > 980)]"
        )
        paper = browser.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
    assert (wide <= 680, tall) == (True, [])
    sheets = base64.b64decode(paper["data"]).count(b"/Type /Page\n")
    assert 1 <= sheets <= (48 if name == "demo" else 12)


@pytest.mark.parametrize("name", PAGES)
def test_letters_of_pictures_can_be_read_on_a_phone(
    browser: Browser, reports: Path, name: str
) -> None:
    browser.open((reports / f"{name}.html").as_uri(), *WIDTHS["phone"])
    heights = browser.evaluate(
        "[...document.querySelectorAll('.plot svg text')].filter((e) => e.textContent.trim() && e.checkVisibility())"
        ".map((e) => e.getBoundingClientRect().height)"
    )
    assert all(height >= 9 for height in heights), json.dumps(sorted(heights)[:5])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_each_tab_of_the_demo_is_legible_in_the_light_and_in_the_dark(
    browser: Browser, reports: Path, width: str, scheme: str
) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.call("Emulation.setEmulatedMedia", features=features)
    try:
        browser.open((reports / "demo.html").as_uri(), *WIDTHS[width])
        for tab in range(5):
            browser.evaluate(f"document.querySelectorAll('.tabs a')[{tab}].click()")
            # What is folded is looked at too.
            browser.evaluate(
                "document.querySelectorAll('details').forEach((e) => { e.open = false; })"
            )
            tall = browser.evaluate("document.documentElement.scrollHeight")
            # The map of losses takes 1,400 of them on a phone.
            assert tall <= 9_500
            picture(browser, f"demo-{tab + 1}-{width}-{scheme}")
            edge = browser.evaluate(
                f"document.querySelectorAll('.tabs a')[{tab}].getBoundingClientRect().right"
            )
            assert edge <= WIDTHS[width][0]
            browser.evaluate(
                "document.querySelectorAll('details').forEach((e) => { e.open = true; })"
            )
            assert complaints(browser, WIDTHS[width][0]) == []
        ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_the_map_and_its_slider_are_above_the_fold_and_the_slider_changes_the_claim(
    browser: Browser, reports: Path
) -> None:
    browser.open((reports / "demo.html").as_uri(), *WIDTHS["workspace"])
    bottom = browser.evaluate(
        "Math.max(...['#city .map svg', '#city input[type=range]']"
        ".map((s) => document.querySelector(s).getBoundingClientRect().bottom))"
    )
    assert bottom <= WIDTHS["workspace"][1]
    read = "['output', '.statement span', '.facts'].map((s) => document.querySelector('#city ' + s).textContent)"
    before = browser.evaluate(read)
    browser.evaluate("document.querySelector('#city input[type=range]').focus()")
    press(browser, "ArrowRight")
    after = browser.evaluate(read)
    assert (before[0], after[0]) == ("epsilon 2 per km", "epsilon 4 per km")
    assert all(was != now for was, now in zip(before, after, strict=True))


def test_tabs_are_chosen_by_keys_and_by_links_and_all_are_there_without_scripts(
    browser: Browser, reports: Path
) -> None:
    page = (reports / "demo.html").as_uri()
    browser.open(page, *WIDTHS["workspace"])
    shown = "[...document.querySelectorAll('.panel')].map((e) => e.checkVisibility())"
    assert browser.evaluate(shown) == [True, False, False, False, False]
    browser.evaluate("document.querySelector('.tabs a').focus()")
    press(browser, "End")
    assert browser.evaluate(shown) == [False, False, False, False, True]
    press(browser, "ArrowRight")
    assert browser.evaluate(shown) == [True, False, False, False, False]
    assert browser.evaluate("document.activeElement.getAttribute('aria-selected')") == "true"
    browser.evaluate("location.hash = '#census'; new Promise((done) => setTimeout(done, 50))")
    assert browser.evaluate(shown) == [False, False, False, True, False]
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page, *WIDTHS["phone"])
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.evaluate(shown) == [True] * 5


def press(browser: Browser, key: str) -> None:
    """Press a key and let it go."""
    codes = {"ArrowRight": 39, "End": 35}
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key]
        )


@pytest.mark.parametrize("width", WIDTHS)
def test_map_slider_and_claim_are_on_the_first_screen(
    browser: Browser, reports: Path, width: str
) -> None:
    browser.open((reports / "demo.html").as_uri(), *WIDTHS[width])
    map_, slider, claim = browser.evaluate(
        "['.map svg', '.strength', '.statement'].map((name) => document.querySelector(`#city ${name}`)"
        ".getBoundingClientRect()).map((box) => [box.top, box.bottom])"
    )
    tall = WIDTHS[width][1]
    assert max(map_[1], slider[1]) <= tall
    # On a phone the claim begins there.
    assert claim[0 if width == "phone" else 1] <= tall
