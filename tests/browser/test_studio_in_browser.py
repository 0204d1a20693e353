"""The studio in real headless Chromium: the whole way with the keyboard alone, and nothing fetched from elsewhere.

Run by ``make test-browser``. With ``DISCREET_SCREENSHOTS`` set to a folder the pictures are kept there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from discreet.artefact import load_anonymous
from discreet.datasets import made_patients
from discreet.service import bind
from discreet.studio import Desks, create_studio

if TYPE_CHECKING:
    from collections.abc import Iterator

playwright = pytest.importorskip("playwright.sync_api")
uvicorn = pytest.importorskip("uvicorn")

pytestmark = pytest.mark.browser

WIDTHS = {"phone": (390, 844), "desk": (1280, 900)}

CONTRAST = """() => {
  const light = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number).map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    const c = e ? getComputedStyle(e).backgroundColor : "rgb(255, 255, 255)";
    return c === "rgba(0, 0, 0, 0)" ? ground(e.parentElement) : c;
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || e.disabled) continue;
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${e.tagName} ${e.textContent.slice(0, 40)} ${ratio.toFixed(2)}`);
  }
  return found;
}"""

UNLABELLED = """() => [...document.querySelectorAll("input, select, textarea, button")]
  .filter((e) => e.checkVisibility())
  .filter((e) => !(e.labels && e.labels.length) && !e.textContent.trim() && !e.ariaLabel).map((e) => e.outerHTML)"""


@contextlib.contextmanager
def served() -> Iterator[tuple[str, Desks]]:
    """Serve a studio in a thread."""
    token, desks = secrets.token_urlsafe(32), Desks()
    with bind("127.0.0.1", 0) as bound:
        host = f"127.0.0.1:{bound.getsockname()[1]}"
        app = create_studio(desks, host=host, token=token)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=2))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield f"http://{host}/{token}/", desks
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    executable = os.environ.get("DISCREET_BROWSER") or shutil.which("chromium")
    if executable is None:
        pytest.skip("NOT RUN: no Chromium; tests/browser/run.sh installs it where it may")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield opened
        opened.close()


class Watched:
    """A page whose requests and complaints are kept."""

    def __init__(self, chromium: Any, url: str, size: tuple[int, int] = WIDTHS["desk"]) -> None:
        viewport = {"width": size[0], "height": size[1]}
        self.context = chromium.new_context(viewport=viewport, accept_downloads=True)
        self.page = self.context.new_page()
        self.page.set_default_timeout(90_000)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]")

    def tab_to(self, selector: str) -> None:
        """Press Tab until a control has the focus."""
        for _ in range(80):
            if self.page.evaluate("(s) => document.activeElement.matches(s)", selector):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{selector} cannot be reached by the keyboard")

    def choose(self, selector: str, beginning: str) -> None:
        """Choose an option of a list by typing its beginning."""
        self.tab_to(selector)
        self.page.keyboard.type(beginning)

    def shot(self, name: str) -> None:
        """Keep a picture."""
        folder = os.environ.get("DISCREET_SCREENSHOTS")
        if folder:
            self.page.screenshot(path=str(Path(folder, f"studio-{name}.png")), full_page=True)

    def judge(self) -> None:
        """See that it fits, that contrasts are AA, and that every control has a label."""
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert self.page.evaluate(CONTRAST) == []
        assert self.page.evaluate(UNLABELLED) == []


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
