"""The page that verifies a dropped file, in a real browser: alone, and inside of a report.

Run by ``make test-browser``.
"""

from __future__ import annotations

import base64
import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lattices
import noises
from browser.looking import complaints, opened
from discreet.cli.app import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browser.devtools import Browser

pytestmark = pytest.mark.browser

DATA = Path(__file__).parents[1] / "data"

DROP = """(async () => {
  const bytes = Uint8Array.from(atob("%s"), (c) => c.charCodeAt(0)), carried = new DataTransfer();
  carried.items.add(new File([bytes], "<b>a.channel"));
  const place = document.querySelector("[data-verify]");
  delete place.dataset.status;
  place.querySelector(".drop").dispatchEvent(new DragEvent("drop", {dataTransfer: carried, cancelable: true}));
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from opened(tmp_path_factory.mktemp("profile"))


def drop(browser: Browser, body: bytes) -> tuple[str, str]:
    """Drop a file; give the status and all that the page says of it."""
    browser.evaluate(DROP % base64.b64encode(body).decode("ascii"))
    until = time.monotonic() + 60
    status: Any = None
    while status is None and time.monotonic() < until:
        status = browser.evaluate("document.querySelector('[data-verify]').dataset.status ?? null")
        time.sleep(0.05)
    return status, browser.evaluate("document.querySelector('[data-verify]').innerText")


def test_the_page_says_what_the_program_finds(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "verify_standalone.html"
    source = resources.files("discreet.report").joinpath("templates", page.name)
    page.write_bytes(source.read_bytes())
    browser.open(page.as_uri(), 390, 844)
    assert "A page can't vouch for itself" in browser.evaluate("document.body.innerText")
    assert "What this page does not check" in browser.evaluate("document.body.innerText")
    assert complaints(browser, 390) == []
    whole = (DATA / "channel-1.channel").read_bytes()
    status, said = drop(browser, whole)
    assert (status, "All of it holds." in said) == ("0", True)
    assert "epsilon 2 per km, pairs within 3/2 km" in said
    assert "<b>a.channel, SHA-256 6db79bace6dbafdb" in said
    status, said = drop(browser, whole[:-1])
    assert (status, "NOT CHECKED" in said) == ("3", True)
    at = whole.index(b"limbs.npy") + 200
    status, said = drop(browser, whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert (status, "Not a whole file" in said) == ("2", True)
    status, said = drop(browser, (DATA / "frozen.mechanism").read_bytes())
    assert (status, "All of it holds." in said) == ("0", True)
    assert complaints(browser, 390) == []
    status, said = drop(browser, (DATA / "anonymous-1.csv").read_bytes())
    assert (status, "NOT CHECKED" in said) == ("3", True)


def test_the_page_checks_noise_on_a_lattice(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "verify_standalone.html"
    source = resources.files("discreet.report").joinpath("templates", page.name)
    page.write_bytes(source.read_bytes())
    browser.open(page.as_uri(), 390, 844)
    parts = noises.KINDS["a box"].parts()
    status, said = drop(browser, noises.sealed(parts))
    assert (status, "All of it holds." in said) == ("0", True)
    assert "epsilon 3 per km, any two points of the region" in said
    assert "168 knots and middles of the torus" in said
    parts["guarantee"]["epsilon"] = "29/10"
    status, said = drop(browser, noises.sealed(parts))
    assert (status, "something does not hold" in said) == ("1", True)
    assert complaints(browser, 390) == []


def test_the_page_checks_rows_on_a_lattice(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "verify_standalone.html"
    source = resources.files("discreet.report").joinpath("templates", page.name)
    page.write_bytes(source.read_bytes())
    browser.open(page.as_uri(), 390, 844)
    parts = lattices.KINDS["a box"].parts()
    status, said = drop(browser, noises.sealed(parts))
    assert (status, "All of it holds." in said) == ("0", True)
    assert "epsilon 3 per km, any two points of the region" in said
    assert "35 knots and middles, 5 reports each" in said
    parts["guarantee"]["epsilon"] = "2"
    status, said = drop(browser, noises.sealed(parts))
    assert (status, "something does not hold" in said) == ("1", True)
    assert complaints(browser, 390) == []


def test_the_page_can_be_read_in_the_dark(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "verify_standalone.html"
    source = resources.files("discreet.report").joinpath("templates", page.name)
    page.write_bytes(source.read_bytes())
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.call("Emulation.setEmulatedMedia", features=dark)
    try:
        browser.open(page.as_uri(), 1280, 900)
        ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(20, 24, 28)"
        drop(browser, (DATA / "channel-1.channel").read_bytes()[:-1])
        assert complaints(browser, 1280) == []
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])


def test_a_report_shows_that_a_file_was_altered_since(browser: Browser, tmp_path: Path) -> None:
    channel, report = tmp_path / "c.channel", tmp_path / "c.html"
    channel.write_bytes((DATA / "channel-1.channel").read_bytes())
    assert run(["verify", str(channel), "--report", str(report)]) == 0
    browser.open(report.as_uri(), 1280, 900)
    assert complaints(browser, 1280) == []
    browser.evaluate("document.querySelector('[data-verify]').closest('details').open = true")
    status, said = drop(browser, channel.read_bytes())
    assert (status, "All of it holds." in said, "altered" in said) == ("0", True, False)
    status, said = drop(browser, (DATA / "anchored-1.channel").read_bytes())
    assert status == "0"
    assert "This is not the file that this report is about: it was altered" in said
