"""The client in JavaScript for noise and for rows on a lattice, in a real browser: bit for bit what their pages say.

Run by ``make test-browser``. ``tests/service/test_net_clients_in_node.py`` asks the same under Node.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from browser import lattice_by_the_page, noise_by_the_page
from browser.devtools import Browser
from browser.looking import ask, opened_with_client
from browser.noise_by_the_page import CASES, READ, WORDS, holds, told_of_words, vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

PAGES: dict[str, Any] = {"noise": noise_by_the_page, "lattice": lattice_by_the_page}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from opened_with_client(tmp_path_factory.mktemp("profile"))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", CASES)
def test_the_client_finds_control_points_reports_and_their_law(
    browser: Browser, page: str, name: str
) -> None:
    case = vectors(name, PAGES[page].Made)
    text = json.dumps(case["file"])
    asked = {"text": text, "digest": case["file"]["digest"], "points": case["points"]}
    holds(case["points"], ask(browser, PAGES[page].FIND, asked))


@pytest.mark.parametrize("page", PAGES)
def test_draws_take_words_in_the_order_of_the_page(browser: Browser, page: str) -> None:
    case, words = told_of_words(PAGES[page].Made)
    text = json.dumps(case["file"])
    drawn = ask(browser, WORDS, [text, case["file"]["digest"], words])
    assert drawn == [one["report"] for one in words]


@pytest.mark.parametrize(
    ("page", "at"), [(page, at) for page in PAGES for at in range(len(PAGES[page].BROKEN))]
)
def test_parts_that_do_not_fit_are_refused(browser: Browser, page: str, at: int) -> None:
    text, digest, complaint = PAGES[page].broken(at)
    assert ask(browser, READ, [text, digest]).startswith(complaint)
