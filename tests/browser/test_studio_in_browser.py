"""The studio in real headless Chromium: the whole way with the keyboard alone, and nothing fetched from elsewhere.

Run by ``make test-browser``. With ``DISCREET_SCREENSHOTS`` set to a folder the pictures are kept there.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from browser.watching import WIDTHS, Watched, opened, served
from discreet.artefact import load_anonymous
from discreet.datasets import made_patients

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with opened() as browser:
        yield browser


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("studio") / "patients.csv"
    pl.DataFrame(made_patients(200)).write_csv(path)
    return path


def mark(watched: Watched, file: Path) -> None:
    """Load a file, draw a taxonomy, mark its columns, and ask for the risk."""
    page, keys = watched.page, watched.page.keyboard
    watched.tab_to("#table")
    # A dialog of the system opens on Space; what it gives is set here.
    page.set_input_files("#table", file)
    watched.tab_to("#load button")
    keys.press("Enter")
    page.wait_for_selector("#roles")
    assert page.evaluate("document.activeElement.id") == "columns-title"
    watched.choose("#role-0", "somebody")
    watched.choose("#role-1", "somebody")
    watched.choose("#kind-1", "by groups")
    watched.tab_to("[data-column='1'] .values")
    keys.press("Enter")
    page.wait_for_selector("[data-column='1'] textarea:focus")
    assert page.input_value("#outline-1") == "F\nM"
    watched.choose("#role-2", "left")
    watched.choose("#role-3", "nobody")
    watched.judge()
    watched.shot("columns-desk")
    watched.tab_to("#roles button.main")
    keys.press("Enter")
    page.wait_for_selector("#promise")


def promise(watched: Watched) -> None:
    """Compare what each k costs, choose one, and run."""
    page, keys = watched.page, watched.page.keyboard
    watched.tab_to("#seconds")
    keys.press("Control+A")
    keys.type("2")
    watched.tab_to("#compare")
    keys.press("Enter")
    page.wait_for_selector(".choice")
    page.wait_for_selector("#compare:enabled")
    page.focus("#risk-title")
    watched.tab_to(".choice")
    keys.press("Space")
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    assert page.input_value("#k") == "5"
    watched.judge()
    watched.shot("risk-desk")
    watched.tab_to("#promise button.main")
    keys.press("Enter")
    page.wait_for_selector("#result-title")
    assert "5-anonymous in age, sex" in page.inner_text("#result")


def take(watched: Watched, out: Path) -> None:
    """Download the table and its certificate."""
    page = watched.page
    for part, path in (("table", out), ("certificate", Path(f"{out}.discreet.json"))):
        page.focus("#result-title")
        watched.tab_to(f"a[href$='/{part}']")
        with page.expect_download() as caught:
            page.keyboard.press("Enter")
        caught.value.save_as(path)


def test_the_whole_way_by_keyboard(chromium: Any, file: Path, tmp_path: Path) -> None:
    original, out = file.read_bytes(), tmp_path / "anonymized.csv"
    with served() as (url, desks):
        watched = Watched(chromium, url)
        mark(watched, file)
        promise(watched)
        for name, size in WIDTHS.items():
            watched.page.set_viewport_size({"width": size[0], "height": size[1]})
            watched.judge()
            watched.shot(f"whole-{name}")
        take(watched, out)
        kept = load_anonymous(out)
        assert (kept.guarantee.k, kept.altered) == (5, False)
        assert watched.complaints == []
        assert [one for one in watched.asked if not one.startswith((url, "data:"))] == []
        folder = next(iter(desks._desks.values())).folder
        assert (folder / "table.parquet").is_file()
        watched.page.close(run_before_unload=True)
        end = time.monotonic() + 20
        while folder.exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert not folder.exists()
        watched.context.close()
    assert file.read_bytes() == original


def test_a_bad_file_is_a_sentence(chromium: Any, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.touch()
    with served() as (url, _):
        watched = Watched(chromium, url, WIDTHS["phone"])
        watched.page.set_input_files("#table", empty)
        watched.page.click("#load button")
        watched.page.wait_for_selector("#file-alert:not(:empty)")
        assert "an empty file" in watched.page.inner_text("#file-alert")
        watched.judge()
        watched.shot("empty-phone")
        watched.context.close()


def test_the_risk_of_100_000_rows_is_soon_there(chromium: Any, tmp_path: Path) -> None:
    """Three seconds on a machine that is free; the bound here allows for one that is not."""
    large = tmp_path / "large.csv"
    pl.DataFrame(made_patients(100_000)).write_csv(large)
    with served() as (url, _):
        watched = Watched(chromium, url)
        watched.page.set_input_files("#table", large)
        began = time.monotonic()
        watched.page.click("#load button")
        watched.page.wait_for_selector("#roles")
        loaded = time.monotonic() - began
        for at in range(3):
            watched.page.select_option(f"#role-{at}", "quasi")
        began = time.monotonic()
        watched.page.click("#roles button.main")
        watched.page.wait_for_selector("#promise")
        painted = time.monotonic() - began
        print(f"loaded in {loaded:.2f} s, risk in {painted:.2f} s")  # noqa: T201 - the figure is the point
        assert loaded + painted < 10
        watched.context.close()
