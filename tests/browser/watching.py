"""A studio served in a thread, and a page of it in headless Chromium whose requests and complaints are kept."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet.studio import OpenWorkspaces, create_studio
from discreet.web import bind

if TYPE_CHECKING:
    from collections.abc import Iterator

playwright = pytest.importorskip("playwright.sync_api")
uvicorn = pytest.importorskip("uvicorn")

WIDTHS = {"phone": (390, 844), "workspace": (1280, 900)}

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
def served(**options: Any) -> Iterator[tuple[str, OpenWorkspaces]]:
    """Serve a studio in a thread."""
    token, workspaces = secrets.token_urlsafe(32), OpenWorkspaces()
    with bind("127.0.0.1", 0) as bound:
        host = f"127.0.0.1:{bound.getsockname()[1]}"
        app = create_studio(workspaces, host=host, token=token, **options)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=2))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield f"http://{host}/{token}/", workspaces
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def opened() -> Iterator[Any]:
    """Start a headless Chromium, or skip the test where there is none."""
    executable = os.environ.get("DISCREET_BROWSER") or shutil.which("chromium")
    if executable is None:
        pytest.skip("NOT RUN: no Chromium; tests/browser/run.sh installs it where it may")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield started
        started.close()


class Watched:
    """A page whose requests and complaints are kept."""

    def __init__(
        self,
        chromium: Any,
        url: str,
        size: tuple[int, int] = WIDTHS["workspace"],
        *,
        scheme: str = "light",
    ) -> None:
        viewport = {"width": size[0], "height": size[1]}
        self.context = chromium.new_context(
            viewport=viewport, accept_downloads=True, color_scheme=scheme
        )
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
