"""The page of ``discreet locate --page`` in a real browser, between a real server and a real person's click.

Run by ``make test-browser``. With ``DISCREET_SCREENSHOTS`` set to a folder the pictures are kept there.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from browser.devtools import Browser
from browser.looking import opened as start_browser
from discreet.artefact import save_mechanism
from discreet.core.guarantee import MetricDP
from discreet.datasets import made_city
from discreet.lrgeo import Epochs, Mechanism, Region, design
from discreet.service import Client, create_app
from discreet.service.asking import Server
from discreet.service.page import Page, RequestLog
from service.running import in_thread, mechanism, region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.web.asgi import Message, Receive, Send

pytestmark = pytest.mark.browser

WIDTHS = {"phone": (390, 844), "workspace": (1280, 900)}
YEAR = Epochs(365 * 86_400)


class Heard:
    """An application that keeps every byte that it is sent."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.requests: list[tuple[str, str, bytes]] = []

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        at = len(self.requests)
        self.requests.append((scope["method"], scope["path"], b""))

        async def hear() -> Message:
            message = await receive()
            method, path, body = self.requests[at]
            self.requests[at] = (method, path, body + message.get("body", b""))
            return message

        await self.app(scope, hear, send)


class Open:
    """A page, the browser that shows it, and all that the two processes were sent."""

    def __init__(self, browser: Browser, url: str, server: Heard, workspace: Heard) -> None:
        self.browser, self.url, self.server, self.workspace = browser, url, server, workspace

    def show(self, width: str = "workspace") -> None:
        self.browser.open(self.url, *WIDTHS[width])
        self.until("document.documentElement.dataset.ready === 'yes'")
        # The ends of the requests of loading are read before anything is counted.
        self.browser.evaluate("new Promise((r) => setTimeout(r, 100))")

    def until(self, condition: str) -> None:
        end = time.monotonic() + 30
        while not self.browser.evaluate(condition):
            assert time.monotonic() < end, self.browser.evaluate("document.body.innerText")
            time.sleep(0.05)

    def click(self, selector: str, right: float = 0.5, down: float = 0.5) -> None:
        x, y = self.browser.evaluate(
            f"(() => {{ const e = document.querySelector({selector!r}); "
            "e.scrollIntoView({block: 'center', behavior: 'instant'}); const b = e.getBoundingClientRect(); "
            f"return [b.x + {right} * b.width, b.y + {down} * b.height]; }})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            code = {"Enter": 13}.get(key, 0)
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.browser.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=code, **text,
            )  # fmt: skip

    def text(self, selector: str) -> str:
        return str(self.browser.evaluate(f"document.querySelector({selector!r}).textContent"))

    def asked_for(self) -> list[str]:
        return [e["request"]["url"] for e in self.browser.of("Network.requestWillBeSent")]

    def complaints(self) -> list[Any]:
        return self.browser.of(
            "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"
        )

    def picture(self, name: str) -> None:
        if "DISCREET_SCREENSHOTS" in os.environ:
            self.browser.screenshot(Path(os.environ["DISCREET_SCREENSHOTS"]) / f"{name}.png")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from start_browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def city() -> tuple[Mechanism, Region]:
    """Make a city of sixty places with its roads."""
    made = made_city(60, seed=4)
    nodes = {"osmid": np.arange(60), "x": made.points[:, 0], "y": made.points[:, 1]}
    edges = {"u": made.edges[:, 0], "v": made.edges[:, 1]}
    found = Region.from_roads(nodes, edges, spacing="0.5", planar=True)
    return Mechanism.from_design(
        design(found, MetricDP(2, "km"), gap=0.5, scope="places"), found
    ), found


@pytest.fixture
def opening(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Give what opens a page between a server and the browser, and closes both."""
    with contextlib.ExitStack() as stack:

        def opened(
            made: Mechanism,
            where: Region,
            *,
            epochs: Epochs = YEAR,
            keep: str = "s",
        ) -> Open:
            server = Heard(create_app(made, where))
            url = stack.enter_context(in_thread(server))  # type: ignore[arg-type]
            recorder = RequestLog()
            client = stack.enter_context(
                Client(
                    Server(url, transport=recorder),
                    state=tmp_path / keep, cache=tmp_path / f"{keep}c", epochs=epochs, scope="places",
                )
            )  # fmt: skip
            client.prepared()
            workspace = Heard(None)
            at = stack.enter_context(in_thread(workspace))  # type: ignore[arg-type]
            page = Page(
                client, at.removeprefix("http://"),
                url=url, requests=recorder.requests, region=where,
            )  # fmt: skip
            workspace.app = page
            return Open(browser, page.address, server, workspace)

        yield opened


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["city", "grid"])
def test_it_fits_says_nothing_on_the_console_and_fetches_only_its_files(
    opening: Any, city: tuple[Mechanism, Region], kind: str, width: str
) -> None:
    page = opening(*(city if kind == "city" else (mechanism(), region())))
    page.show(width)
    page.picture(f"locate-{kind}-{width}-before")
    page.click("#map", 0.4, 0.45)
    page.until("!document.querySelector('#facts').hidden")
    page.click("#take")
    page.until("document.querySelector('#report').textContent.startsWith('Reported')")
    page.picture(f"locate-{kind}-{width}-after")
    assert page.browser.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width][0]
    sticking = page.browser.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('pre, svg') && "
        "e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"
    )
    assert sticking == []
    assert page.complaints() == []
    names = [
        "",
        "page.css",
        "page.js",
        "client.js",
        "data.json",
        "mechanism.json",
        "take",
        "keep",
    ]
    asked = [url for url in page.asked_for() if not url.startswith("data:")]
    assert sorted(asked) == sorted(page.url + name for name in names)
    small = page.browser.evaluate(
        "[...document.querySelectorAll('button, input')].filter(e => e.offsetParent)"
        ".map(e => e.getBoundingClientRect().height)"
    )
    assert min(small) >= 44


def test_choosing_a_place_sends_nothing_to_anybody(opening: Any) -> None:
    """Neither the server nor the client's own process hears of it, by click, by key or by typing."""
    page = opening(mechanism(), region())
    page.show()
    before = len(page.workspace.requests), len(page.server.requests), len(page.asked_for())
    seen = set()
    for at in (0.2, 0.4, 0.6, 0.8):
        page.click("#map", at, 1 - at)
        seen.add(page.text("#where"))
    page.browser.evaluate("document.querySelector('#map').focus()")
    for key in ("ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight"):
        page.press(key)
        seen.add(page.text("#where"))
    page.browser.evaluate("document.querySelector('#point').value = '41.8934, 12.4851'")
    page.click("#typed button")
    seen.add(page.text("#where"))
    page.browser.evaluate("new Promise((r) => setTimeout(r, 500))")
    assert len(seen) >= 6
    assert (
        len(page.workspace.requests),
        len(page.server.requests),
        len(page.asked_for()),
    ) == before
    # The check would see one.
    page.browser.evaluate("fetch('data.json').then((r) => r.text()).then(() => null)")
    assert len(page.asked_for()) == before[2] + 1
    assert len(page.workspace.requests) == before[0] + 1


def test_no_byte_that_is_sent_depends_on_the_place_but_the_report_that_was_drawn(
    opening: Any,
) -> None:
    """From two far places, with the draw forced to the same report, both processes get the same bytes."""
    heard = []
    for turn, at in enumerate((0.15, 0.85)):
        page = opening(mechanism(), region(), keep=f"user{turn}")
        page.show()
        page.click("#map", at, at)
        row = page.browser.evaluate("document.querySelector('#where').textContent")
        # The least word is the first report, wherever one is.
        page.browser.evaluate(
            "crypto.getRandomValues = (a) => { a.fill(0n); return a; }; undefined"
        )
        page.click("#take")
        page.until("document.querySelector('#report').textContent.startsWith('Reported')")
        token = page.url.rstrip("/").rpartition("/")[2]
        workspace = [
            (m, path.replace(token, "token"), body) for m, path, body in page.workspace.requests
        ]
        heard.append((row, workspace, page.server.requests))
    assert heard[0][0] != heard[1][0]
    assert heard[0][1:] == heard[1][1:]
    assert [path for _, path, _ in heard[0][2]] == ["/v1/mechanism"]
    take, keep = heard[0][1][-2:]
    assert take == ("POST", "/token/take", b"")
    assert json.loads(keep[2]) == {"report": list(region().where(0))}


def test_the_report_is_charged_kept_and_repeated_whatever_the_place(opening: Any) -> None:
    page = opening(mechanism(), region())
    page.show()
    assert page.browser.evaluate("document.querySelector('#take').disabled")
    page.click("#map", 0.2, 0.2)
    page.click("#take")
    page.until("document.querySelector('#report').textContent.startsWith('Reported')")
    told = page.text("#report")
    assert page.text("#in-all") == "2 per km"
    page.click("#map", 0.9, 0.8)
    page.click("#take")
    page.until("document.querySelector('#to-client').textContent.split('\\n').length === 3")
    page.until("!document.querySelector('#take').disabled")
    assert (page.text("#report"), page.text("#in-all")) == (told, "2 per km")
    page.show()
    assert (page.text("#report"), page.text("#in-all")) == (told, "2 per km")


def test_a_budget_that_is_gone_is_said_and_nothing_is_reported(opening: Any) -> None:
    page = opening(mechanism(), region(), epochs=Epochs(YEAR.seconds, for_life=1))
    page.show()
    page.click("#map")
    page.click("#take")
    page.until("document.querySelector('#report').textContent !== ''")
    assert page.text("#report").startswith("No report may be drawn")
    assert page.complaints() == []


def test_everything_can_be_done_with_keys(opening: Any) -> None:
    page = opening(mechanism(), region())
    page.show()
    order = []
    for _ in range(4):
        page.browser.call(
            "Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9
        )
        page.browser.call(
            "Input.dispatchKeyEvent", type="keyUp", key="Tab", code="Tab", windowsVirtualKeyCode=9
        )
        order.append(
            page.browser.evaluate("document.activeElement.id || document.activeElement.tagName")
        )
        if order[-1] == "map":
            assert (
                page.browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                == "solid"
            )
            page.press("ArrowRight")
            middle = page.text("#where")
            page.press("ArrowUp")
            assert page.text("#where") != middle
    assert order == ["map", "point", "BUTTON", "take"]
    page.press("Enter")
    page.until("document.querySelector('#report').textContent.startsWith('Reported')")


def test_what_is_typed_outside_is_refused_without_a_word_of_it(opening: Any) -> None:
    page = opening(mechanism(), region())
    page.show()
    for wrong in ("41.7263549 12.4817", "somewhere", "1 2 3", "99 0"):
        page.browser.evaluate(f"document.querySelector('#point').value = {wrong!r}")
        page.click("#typed button")
        assert page.text("#point-said").startswith("That is ") or "lies outside" in page.text(
            "#point-said"
        )
        assert wrong not in page.text("#point-said")
    assert page.text("#where") == "No place is chosen yet."


def test_what_the_map_shows_is_the_row(opening: Any) -> None:
    page = opening(mechanism(), region())
    page.show()
    made, shares = mechanism(), page.browser
    page.browser.evaluate(
        "document.querySelector('#point').value = '{} {}'".format(*region().where(7))
    )
    page.click("#typed button")
    row = made.channel.row(7)
    assert len(set(made.channel.names.tolist())) == len(row)
    likely = int(made.channel.names[row.argmax()])
    first = shares.evaluate(
        "[...document.querySelectorAll('#likely td')].map((e) => e.textContent)"
    )
    assert first[0] == "{:.5f}, {:.5f}".format(*region().where(likely))
    assert float(first[2].rstrip(" %")) == pytest.approx(100 * row.max() / row.sum(), rel=0.01)
    away = np.hypot(*(region().points[made.channel.names] - region().points[7]).T)
    cost = float((row / row.sum() * away).sum())
    assert float(page.text("#cost").removesuffix(" km")) == pytest.approx(cost, rel=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_for_all_text(opening: Any, scheme: str) -> None:
    """WCAG AA: 4.5 to 1 against the nearest background that is painted."""
    page = opening(mechanism(), region())
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.browser.call("Emulation.setEmulatedMedia", features=features)
    page.show()
    page.click("#map")
    paper = page.browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 28)")
    page.picture(f"locate-contrast-{scheme}")
    found = page.browser.evaluate("""(() => {
      const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number);
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
      const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
        if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
      return [...document.querySelectorAll('h1,h2,h3,p,dt,dd,td,th,li,button,input,label,pre,caption,code')]
        .filter((e) => e.offsetParent).map((e) => { const [a, b] = [light(getComputedStyle(e).color), light(behind(e))];
          return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.outerHTML.slice(0, 60)]; })
        .sort((a, b) => a[0] - b[0]);
    })()""")
    page.browser.call("Emulation.setEmulatedMedia", features=[])
    assert len(found) > 30
    assert found[0][0] >= 4.5, found[0]


def test_two_real_processes_and_a_browser(browser: Browser, tmp_path: Path) -> None:
    """The commands as one types them: ``serve``, then ``locate --page``, then a click; the ledger holds the report."""
    made = tmp_path / "city.mechanism"
    save_mechanism(mechanism(), made)
    files = ["--state", str(tmp_path / "s"), "--cache", str(tmp_path / "c")]
    with (
        started("serve", "--mechanism", str(made), "--port", "0") as served,
        started("locate", "--places-only", "--page", "--server", served["url"], *files) as shown,
    ):
        page = Open(browser, shown["page"], Heard(None), Heard(None))
        page.show()
        page.click("#map", 0.3, 0.7)
        page.click("#take")
        page.until("document.querySelector('#report').textContent.startsWith('Reported')")
        told = json.loads(page.browser.evaluate("document.querySelector('#report').dataset.report"))
        assert page.complaints() == []
    ledger = json.loads((tmp_path / "s").read_text(encoding="utf-8"))["state"]
    assert (ledger["report"], ledger["spent_in_all"], ledger["pinned"]) == (told, "2", [])


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[dict[str, Any]]:
    """Run a command in a process of its own, give what it says first, and stop it as a person would."""
    command = [sys.executable, "-c", "from discreet.cli import main; main()", *arguments, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        text = ""
        for line in process.stdout:
            text += line
            if line.startswith("}"):
                break
        yield json.loads(text)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
