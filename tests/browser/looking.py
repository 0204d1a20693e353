"""What is looked for on every page: overflow, requests, complaints, contrast, headings, names of pictures."""

from __future__ import annotations

import base64
import json
import os
import shutil
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser.devtools import Browser

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTHS = {"phone": (390, 844), "workspace": (1280, 900)}

LOOK = r"""((width) => {
  const found = [];
  const short = (e) => e.outerHTML.slice(0, 90);
  const root = document.documentElement;
  if (root.scrollWidth > width) found.push(`the page is ${root.scrollWidth} wide`);
  // What scrolls in a box of its own may be wide; what waits outside to be slid in has no place on the page.
  const boxed = (e) => { for (let p = e.parentElement; p; p = p.parentElement) {
    if (p === document.body) return false;
    const style = getComputedStyle(p);
    if (style.position === 'fixed' || ['auto', 'scroll', 'hidden'].includes(style.overflowX)) return true; }
    return false; };
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility() || e.closest('svg') && e.tagName !== 'svg') continue;
    if (getComputedStyle(e).position === 'fixed') continue;
    if (e.getBoundingClientRect().right > width + 1 && !boxed(e)) found.push(`sticks out: ${short(e)}`);
  }
  let level = 0;
  for (const h of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    if (!h.checkVisibility()) continue;
    const own = Number(h.tagName[1]);
    if (own > level + 1) found.push(`heading ${own} after ${level}: ${h.textContent.slice(0, 50)}`);
    level = own;
  }
  if (document.querySelectorAll('h1').length !== 1) found.push('not one h1');
  if (!root.lang) found.push('no language');
  for (const e of document.querySelectorAll('img, svg')) {
    if (!e.checkVisibility() || e.closest('[aria-hidden=true], button, label, a, .visually-hidden')) continue;
    if (e.getAttribute('alt') || e.getAttribute('aria-label') || e.querySelector('title')) continue;
    found.push(`no words: ${short(e)}`);
  }
  const numbers = (c) => c.match(/[\d.]+/g).map(Number);
  const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => { const [r, g, b] = numbers(c); return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
  const behind = (e) => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (numbers(c)[3] !== 0) return c; }
    return 'rgb(255, 255, 255)'; };
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg, math') || !e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const box = e.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ${short(e)}`);
    const size = getComputedStyle(e).fontSize;
    if (parseFloat(size) < 11) found.push(`letters of ${size}: ${short(e)}`);
  }
  // What a picture leaves without a color is black: legible on white alone.
  for (const e of document.querySelectorAll('svg text')) {
    if (!e.checkVisibility() || !e.textContent.trim() || getComputedStyle(e).fill !== 'rgb(0, 0, 0)') continue;
    if (light(behind(e.closest('svg'))) < 0.2) found.push(`black in the dark: ${e.textContent.trim().slice(0, 50)}`);
  }
  return [...new Set(found)];
})"""


def opened(folder: Path) -> Iterator[Browser]:
    """Start a headless Chromium with a new profile, or skip the test where there is none."""
    executable = os.environ.get("DISCREET_BROWSER") or shutil.which("chromium")
    if executable is None:
        pytest.skip("NOT RUN: no Chromium; tests/browser/run.sh installs it where it may")
    with Browser(executable, folder) as browser:
        yield browser


def opened_with_client(folder: Path) -> Iterator[Browser]:
    """Start a headless Chromium with a blank page that holds the client in JavaScript as ``client``."""
    for browser in opened(folder):
        blank = folder / "blank.html"
        blank.write_text("<!doctype html><title>blank</title>", encoding="utf-8")
        browser.open(blank.as_uri(), 390, 844)
        source = resources.files("discreet.service").joinpath("static", "client.js").read_bytes()
        module = base64.b64encode(source).decode("ascii")
        browser.evaluate(
            f"import('data:text/javascript;base64,{module}').then((m) => {{ window.client = m; }})"
        )
        yield browser


def ask(browser: Browser, function: str, value: object) -> Any:
    """Call a function of the page with a value."""
    return browser.evaluate(f"({function})({json.dumps(value)})")


def complaints(browser: Browser, width: int) -> list[str]:
    """Say what is wrong with the page that is open, on a screen of some CSS pixels."""
    asked = [event["request"]["url"] for event in browser.of("Network.requestWillBeSent")]
    outside = [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    said = [str(event)[:900] for event in browser.of("Log.entryAdded", "Runtime.exceptionThrown")]
    seen: list[Any] = browser.evaluate(f"{LOOK}({width})")
    return [*(f"asks for {url}" for url in outside), *said, *map(str, seen)]


def picture(browser: Browser, name: str) -> None:
    """Keep a picture of the page where ``DISCREET_SCREENSHOTS`` names a folder."""
    if "DISCREET_SCREENSHOTS" in os.environ:
        browser.screenshot(Path(os.environ["DISCREET_SCREENSHOTS"]) / f"{name}.png")
