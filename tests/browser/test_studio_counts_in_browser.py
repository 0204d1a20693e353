"""Counts in the studio in real headless Chromium: the whole way with the keyboard alone, at two widths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from browser.watching import WIDTHS, Watched, opened, served
from discreet.artefact import load_counts
from discreet.cli.app import run
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

STATES = {"GA": ["Fulton", "Cobb", "Gwinnett"], "NY": ["Kings", "Queens", "Erie"], "VT": ["Essex"]}
PLACES = [(state, county) for state, counties in STATES.items() for county in counties]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with opened() as browser:
        yield browser


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Write a table of persons and the list of regions, with another delimiter."""
    people, regions = tmp_path / "people.csv", tmp_path / "regions.csv"
    rows = [
        {"person": f"p{home}-{one}", "household": f"h{home}", "state": state, "county": county}
        for home in range(1_200)
        for state, county in (PLACES[(home * home) % len(PLACES)],)
        for one in range(1 + home % 5)
    ]
    pl.DataFrame(rows).write_csv(people)
    listed = pl.DataFrame([*PLACES, ("WY", "Teton")], schema=["state", "county"], orient="row")
    listed.write_csv(regions, separator=";")
    return people, regions


def describe(watched: Watched, people: Path, regions: Path) -> None:
    """Load the table, say what its columns are, and give the list of regions."""
    page, keys = watched.page, watched.page.keyboard
    watched.tab_to("#table")
    # A dialog of the system opens on Space; what it gives is set here.
    page.set_input_files("#table", people)
    watched.judge()
    watched.shot("counts-file-workspace")
    watched.tab_to("#load button")
    keys.press("Enter")
    page.wait_for_selector("#layout")
    assert page.evaluate("document.activeElement.id") == "columns-title"
    watched.choose("#unit", "household")
    watched.choose("#person", "person")
    watched.choose("#region-0", "state")
    watched.choose("#region-1", "county")
    watched.tab_to("#public-list")
    keys.press("Space")
    watched.tab_to("#file-list")
    page.set_input_files("#file-list", regions)
    page.wait_for_selector("#said-list:not(:empty)")
    assert "8 rows and 2 columns" in page.inner_text("#said-list")
    page.wait_for_selector("#layout button.main:enabled")
    page.focus("#file-list")
    watched.tab_to("#max_size")
    keys.type("7")
    watched.tab_to("#neighbors-add-remove-person")
    keys.press("Space")
    watched.judge()
    watched.shot("counts-columns-workspace")
    watched.tab_to("#layout button.main")
    keys.press("Enter")
    page.wait_for_selector("#release")


def fund(watched: Watched) -> None:
    """Grant a budget, compare what each epsilon costs, and choose one."""
    page, keys = watched.page, watched.page.keyboard
    assert page.evaluate("document.activeElement.id") == "budget-title"
    watched.tab_to("#limit-amount")
    keys.type("4")
    watched.tab_to("#grant")
    keys.press("Enter")
    page.wait_for_selector("#book strong")
    assert "4 left for people" in page.inner_text("#book")
    page.wait_for_selector("#compare:enabled")
    assert page.evaluate("document.activeElement.id") == "amount"
    watched.tab_to("#compare")
    keys.press("Enter")
    page.wait_for_selector(".choice")
    page.wait_for_selector("#compare:enabled")
    assert page.evaluate("document.activeElement.id") == "costs-title"
    watched.tab_to(".choice")
    keys.press("Space")
    for _ in range(3):
        keys.press("ArrowDown")
    assert page.input_value("#amount") == "1"
    watched.judge()
    watched.shot("counts-budget-workspace")


def publish(watched: Watched) -> None:
    """Charge the budget and publish."""
    watched.tab_to("#release button.main")
    watched.page.keyboard.press("Enter")
    watched.page.wait_for_selector("#result-title")
    said = watched.page.inner_text("#result")
    assert "is right at most 74 times in 100" in said
    assert "Budget left for people: 3" in said


def take(watched: Watched, folder: Path) -> None:
    """Download everything."""
    page = watched.page
    for link in page.query_selector_all("a.download"):
        link.focus()
        with page.expect_download() as caught:
            page.keyboard.press("Enter")
        caught.value.save_as(folder / caught.value.suggested_filename)


def test_counts_are_published_by_keyboard(
    chromium: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    people, regions = files
    originals, out = [path.read_bytes() for path in files], tmp_path / "out"
    out.mkdir()
    ledger = tmp_path / "ledger.db"
    with served(ledger=ledger) as (url, workspaces):
        watched = Watched(chromium, url)
        watched.tab_to("a[href='counts']")
        watched.page.keyboard.press("Enter")
        watched.page.wait_for_selector("html[data-ready] #kind-persons")
        describe(watched, people, regions)
        fund(watched)
        publish(watched)
        drawn = watched.page.evaluate(
            "() => [...document.images].every((i) => i.complete && i.naturalWidth > 0)"
        )
        assert drawn
        for name, size in WIDTHS.items():
            watched.page.set_viewport_size({"width": size[0], "height": size[1]})
            watched.judge()
            watched.shot(f"counts-whole-{name}")
        take(watched, out)
        assert run(["verify", str(out / "counts.csv")]) == 0
        assert run(["verify", str(out / "counts.parquet")]) == 0
        assert load_counts(out / "counts.csv").result.frame.tree.n == 13
        links = [one.get_attribute("href") for one in watched.page.query_selector_all("a.download")]
        # Nothing is lost with the page, so nothing is asked when it is closed.
        watched.page.click("#result a[href=released]")
        watched.page.wait_for_selector("main h2")
        shown = [one.get_attribute("href") for one in watched.page.query_selector_all("a.download")]
        assert shown == links
        watched.judge()
        watched.shot("released-workspace")
        assert watched.complaints == []
        assert [one for one in watched.asked if not one.startswith((url, "data:"))] == []
        folders = [workspace.folder for workspace in workspaces._workspaces.values()]
        watched.page.close(run_before_unload=True)
        watched.context.close()
    assert not any(folder.exists() for folder in folders)
    assert [str(amount) for amount in Ledger(ledger).account("people").left] == ["3"]
    assert [path.read_bytes() for path in files] == originals


def test_refusals_are_sentences_at_the_width_of_a_phone(
    chromium: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    people, regions = files
    with served(ledger=tmp_path / "ledger.db") as (url, _):
        watched = Watched(chromium, f"{url}counts", WIDTHS["phone"])
        page = watched.page
        page.set_input_files("#table", people)
        page.click("#load button")
        page.wait_for_selector("#layout")
        page.select_option("#unit", "household")
        page.select_option("#region-0", "county")
        page.check("#public-list")
        page.fill("#max_size", "7")
        page.check("#neighbors-replace-person")
        page.click("#layout button.main")
        page.wait_for_selector("#columns-alert:not(:empty)")
        assert "a file; choose one first" in page.inner_text("#columns-alert")
        watched.judge()
        watched.shot("counts-columns-phone")
        page.set_input_files("#file-list", regions)
        page.wait_for_selector("#said-list:not(:empty)")
        page.click("#layout button.main")
        page.wait_for_selector("#release")
        page.check("#public-table")
        page.click("#layout button.main")
        page.wait_for_selector("#budget .notice")
        page.fill("#amount", "1")
        page.click("#release button.main")
        page.wait_for_selector("#budget-alert:not(:empty)")
        assert "has no budget" in page.inner_text("#budget-alert")
        watched.judge()
        watched.shot("counts-budget-phone")
        watched.context.close()


def test_a_row_that_does_not_count_is_left_out_without_a_word_on_the_page(
    chromium: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    people, regions = files
    people.write_text(people.read_text(encoding="utf-8") + "p,h,Atlantis,Deep\n", encoding="utf-8")
    ledger = tmp_path / "ledger.db"
    with served(ledger=ledger) as (url, _):
        watched = Watched(chromium, f"{url}counts")
        page = watched.page
        page.set_input_files("#table", people)
        page.click("#load button")
        page.wait_for_selector("#layout")
        for field, value in (("unit", "household"), ("region-0", "state"), ("region-1", "county")):
            page.select_option(f"#{field}", value)
        page.check("#public-list")
        page.set_input_files("#file-list", regions)
        page.wait_for_selector("#said-list:not(:empty)")
        page.fill("#max_size", "7")
        page.check("#neighbors-add-remove-person")
        page.click("#layout button.main")
        page.wait_for_selector("#release")
        page.fill("#limit-amount", "2")
        page.click("#grant")
        page.wait_for_selector("#book strong")
        page.fill("#amount", "0.5")
        page.click("#release button.main")
        page.wait_for_selector("#result:not([hidden])", timeout=90_000)
        assert "Atlantis" not in page.inner_text("body")
        page.wait_for_function("document.querySelector('#book').innerText.includes('1.5 left')")
        watched.judge()
        watched.shot("counts-refused-workspace")
        watched.context.close()
    assert [str(amount) for amount in Ledger(ledger).account("people").left] == ["3/2"]
