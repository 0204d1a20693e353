"""Tables in the studio in real headless Chromium: from the file to what verify accepts, at two widths."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from browser.watching import WIDTHS, Watched, opened, served
from discreet.cli.app import run
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

PLACES = [("GA", "Fulton"), ("GA", "Cobb"), ("NY", "Kings")]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with opened() as browser:
        yield browser


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Write a table of persons, the list of regions and the list of categories."""
    people, regions = tmp_path / "people.csv", tmp_path / "regions.csv"
    rows = [
        {"state": state, "county": county, "sex": "FM"[at % 2], "age": ("0-17", "18+")[at % 3 > 0]}
        for at in range(900)
        for state, county in (PLACES[at % 3],)
    ]
    pl.DataFrame(rows).write_csv(people)
    pl.DataFrame(PLACES, schema=["state", "county"], orient="row").write_csv(regions)
    listed = tmp_path / "domain.json"
    listed.write_text(json.dumps({"sex": ["F", "M"], "age": ["0-17", "18+"]}), encoding="utf-8")
    return people, regions, listed


def describe(watched: Watched, files: tuple[Path, Path, Path]) -> None:
    """Load the table, say what its columns are, and give the public lists."""
    people, regions, listed = files
    page = watched.page
    page.set_input_files("#table", people)
    watched.judge()
    page.click("#load button.main")
    page.wait_for_selector("#layout")
    page.select_option("#region-0", "state")
    page.select_option("#region-1", "county")
    page.fill("#categories", "sex: F")
    page.check("#neighbors-add-remove-person")
    page.click("#layout button.main")
    page.wait_for_selector("#columns-alert:not(:empty)")
    assert "a file; choose one first" in page.inner_text("#columns-alert")
    # Chromium notes the refusal, and so far nothing else.
    assert ["400 (Bad Request)" in said for said in watched.complaints] == [True]
    watched.complaints.clear()
    page.set_input_files("#file-list", regions)
    page.wait_for_selector("#said-list:not(:empty)")
    page.set_input_files("#file-categories", listed)
    for _ in range(50):
        if "0-17" in page.input_value("#categories"):
            break
        page.wait_for_timeout(100)
    page.fill("#workload", "total, sex, cells")
    watched.judge()
    watched.shot("tables-columns-workspace")
    page.click("#layout button.main")
    page.wait_for_selector("#release")


def test_tables_are_published(
    chromium: Any, files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    ledger, out = tmp_path / "ledger.db", tmp_path / "out"
    out.mkdir()
    with served(ledger=ledger) as (url, _):
        watched = Watched(chromium, url)
        page = watched.page
        watched.tab_to("a[href='tables']")
        page.keyboard.press("Enter")
        page.wait_for_selector("html[data-ready] #table")
        describe(watched, files)
        page.select_option("#limit-notion", "rho")
        page.fill("#limit-amount", "2")
        page.click("#grant")
        page.wait_for_selector("#book strong")
        page.fill("#amount", "1")
        page.click("#compare")
        page.wait_for_selector("#compared table")
        assert page.evaluate("document.activeElement.id") == "plan-title"
        watched.judge()
        watched.shot("tables-plan-workspace")
        page.click("#release button.main")
        page.wait_for_selector("#result-title")
        assert "Budget left for people: 1" in page.inner_text("#result")
        for name, size in WIDTHS.items():
            page.set_viewport_size({"width": size[0], "height": size[1]})
            watched.judge()
            watched.shot(f"tables-whole-{name}")
        for link in page.query_selector_all("a.download"):
            with page.expect_download() as caught:
                link.click()
            caught.value.save_as(out / caught.value.suggested_filename)
        assert run(["verify", str(out / "tables.csv")]) == 0
        assert run(["verify", str(out / "tables.parquet")]) == 0
        assert watched.complaints == []
        watched.context.close()
    assert [str(amount) for amount in Ledger(ledger).account("people").left] == ["1"]
