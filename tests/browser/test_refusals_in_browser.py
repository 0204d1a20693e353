"""Twelve cases of the catalogue in headless Chromium: what a person reads is the sentence of the library."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import pytest

from browser.watching import Watched, opened, served
from refusals.cases import CASES
from refusals.entrances import by_path, neutral, stored
from refusals.sourced import SOURCED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from refusals.cases import Case

pytestmark = pytest.mark.browser

IDS = (
    "mark alone",
    "cr alone",
    "zero bytes",
    "name twice",
    "short row",
    "open quote",
    "zip",
    "decimal commas",
    "points for thousands",
    "day and month unclear",
    "ids of 16 digits as text",
    "plain",
)
CHOSEN = {case.id: case for case in (*CASES, *SOURCED) if case.id in IDS}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with opened() as browser:
        yield browser


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served() as (address, _):
        yield address


def alert(watched: Watched, section: str) -> str:
    """Wait for the alert of a section, and read it."""
    selector = f"#{section}-alert:not(:empty)"
    watched.page.wait_for_selector(selector)
    return html.unescape(str(watched.page.inner_text(selector)))


def told(watched: Watched, path: Path, case: Case) -> str:
    """Load a table, mark its columns and publish; return the refusal that the page shows, or "" for a result."""
    page = watched.page
    page.set_input_files("#table", path)
    page.click("#load button")
    page.wait_for_selector("#roles, #file-alert:not(:empty)")
    if not page.query_selector("#roles"):
        return alert(watched, "file")
    roles = {**dict.fromkeys(case.quasi, "quasi"), **dict.fromkeys(case.sensitive, "sensitive")}
    legends = [one.strip() for one in page.locator("#roles legend").all_inner_texts()]
    for at, name in enumerate(legends):
        page.select_option(f"#role-{at}", roles.get(name, "drop"))
    page.click("#roles button.main")
    page.wait_for_selector("#promise, #columns-alert:not(:empty)")
    if not page.query_selector("#promise"):
        return alert(watched, "columns")
    page.fill("#k", "2")
    page.click("#promise button.main")
    page.wait_for_selector("#result-title, #risk-alert:not(:empty), #progress-alert:not(:empty)")
    if page.query_selector("#result-title"):
        return ""
    for section in ("risk", "progress"):
        if page.query_selector(f"#{section}-alert:not(:empty)"):
            return alert(watched, section)
    raise AssertionError(page.inner_text("body"))


def test_there_are_twelve() -> None:
    assert len(CHOSEN) == len(IDS) == 12


@pytest.mark.parametrize("case", CHOSEN.values(), ids=CHOSEN)
def test_a_page_shows_the_sentence_of_the_library(
    tmp_path: Path, chromium: Any, url: str, case: Case
) -> None:
    path = stored(case, tmp_path)
    expected = by_path(path, case)
    watched = Watched(chromium, url)
    shown = told(watched, path, case)
    watched.context.close()
    assert bool(shown) == expected.refused
    if shown:
        field, _, words = shown.partition(": ")
        assert neutral(field, words, str(path), case) == (expected.named, expected.sentence)
