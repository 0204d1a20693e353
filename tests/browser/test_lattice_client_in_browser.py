"""The client in JavaScript for rows on a lattice, in a real browser: bit for bit what its page says.

Run by ``make test-browser``. ``tests/service/test_lattice_client_in_node.py`` asks the same under Node.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

from browser.devtools import Browser
from browser.lattice_by_the_page import BROKEN, FIND, Made, broken
from browser.noise_by_the_page import CASES, READ, WORDS, holds, told_of_words, vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    executable = os.environ.get("DISCREET_BROWSER") or shutil.which("chromium")
    if executable is None:
        pytest.skip("NOT RUN: no Chromium; tests/browser/run.sh installs it where it may")
    with Browser(executable, tmp_path_factory.mktemp("profile")) as opened:
        blank = tmp_path_factory.mktemp("page") / "blank.html"
        blank.write_text("<!doctype html><title>blank</title>", encoding="utf-8")
        opened.open(blank.as_uri(), 390, 844)
        source = resources.files("discreet.service").joinpath("static", "client.js").read_bytes()
        module = base64.b64encode(source).decode("ascii")
        opened.evaluate(
            f"import('data:text/javascript;base64,{module}').then((m) => {{ window.client = m; }})"
        )
        yield opened


def ask(browser: Browser, function: str, value: object) -> Any:
    return browser.evaluate(f"({function})({json.dumps(value)})")


@pytest.mark.parametrize("name", CASES)
def test_the_client_finds_control_points_reports_and_their_law(browser: Browser, name: str) -> None:
    case = vectors(name, Made)
    text = json.dumps(case["file"])
    asked = {"text": text, "digest": case["file"]["digest"], "points": case["points"]}
    holds(case["points"], ask(browser, FIND, asked))


def test_draws_take_words_in_the_order_of_the_page(browser: Browser) -> None:
    case, words = told_of_words(Made)
    text = json.dumps(case["file"])
    drawn = ask(browser, WORDS, [text, case["file"]["digest"], words])
    assert drawn == [one["report"] for one in words]


@pytest.mark.parametrize("at", range(len(BROKEN)))
def test_parts_that_do_not_fit_are_refused(browser: Browser, at: int) -> None:
    text, digest, complaint = broken(at)
    assert ask(browser, READ, [text, digest]).startswith(complaint)
