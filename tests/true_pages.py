"""Pages that are read again: those of a server, of a client with a map, of the studio before its jobs, and the demo."""

from __future__ import annotations

import contextlib
import functools
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from discreet.evaluate.attack.request import AttackRequest
from discreet.evaluate.simulate.location import attack_places
from discreet.lrgeo import Epochs
from discreet.report import choosing, demo, trying
from discreet.report.demo import build_demo, count_demo
from discreet.report.trying import try_counts
from discreet.service import Client
from discreet.service.page import Page
from discreet.service.recorded import record
from reading import visible
from service.running import ask, quick, region, sound_app
from studio.asking import Browser

if TYPE_CHECKING:
    from discreet.evaluate.attack.finding import Attacked
    from discreet.report.demo import Demo

HOST = "127.0.0.1:9999"
ROLES = {
    "role-0": "quasi", "kind-0": "numeric", "role-1": "quasi", "kind-1": "categorical", "role-2": "sensitive",
}  # fmt: skip
GRANT = {"limit-notion": "epsilon", "limit-amount": "3/2"}
COUNTS = {
    "kind": "persons", "name": "p.csv", "unit": "unit", "region-0": "state", "public": "list", "max_size": "4",
    "neighbors": "add-remove-person", "notion": "epsilon", "amount": "1", "each": "50", "dataset": "people",
}  # fmt: skip
TABLES = {
    "name": "p.csv", "region-0": "state", "categories": "sex: F, M\n", "marginals": "total, sex", "max_rows": "1",
    "neighbors": "add-remove-person", "notion": "epsilon", "amount": "1", "dataset": "people",
}  # fmt: skip


def landing_page(_: Path) -> str:
    """Render what a server says of its mechanism, and of its interface."""
    app = sound_app()
    return " ".join(visible(ask(app, "GET", path).text) for path in ("/", "/docs"))


def page_of_a_place(folder: Path) -> str:
    """Render the page with a map, and what it shows of the mechanism and of the ledger."""
    client = Client(
        quick(sound_app()),
        state=folder / "state",
        cache=folder / "cache",
        epochs=Epochs(3600),
        scope="places",
    )
    page = Page(client, HOST, region=region())
    head = {"host": HOST, "origin": f"http://{HOST}"}
    html, data = (
        ask(page, "GET", f"/{page.token}/{name}", headers=head).text  # type: ignore[arg-type]
        for name in ("", "data.json")
    )
    shown = json.loads(data)
    return f"{visible(html)} {shown['promise']} {shown['cost']} {shown['mean']} {shown['state']}"


def studio_walk(folder: Path) -> str:
    """Ask the studio for all pages that are no results of jobs."""
    ledgers = Path(tempfile.mkdtemp(dir=folder))
    browser, texts = Browser(ledger=ledgers / "proposed.db"), []

    def see(path: str, body: bytes | dict[str, str] | None = None) -> None:
        answer = browser.at(path, body)
        assert answer.status_code == 200, (path, answer.text)
        texts.append(answer.text)

    private, listed = (folder / "p.csv").read_bytes(), (folder / "r.csv").read_bytes()
    with contextlib.closing(browser.workspaces):
        texts.append(browser.ask("").text)
        browser.open()
        see("table?name=rows.csv", (folder / "rows.csv").read_bytes())
        see("risk", ROLES)
        for kind, form in (("counts", COUNTS), ("tables", TABLES)):
            texts.append(browser.ask(kind).text)
            browser.open(kind)
            given = {**form, "ledger": str(ledgers / f"{kind}.db")}
            see(f"{kind}/table?kind=persons&name=p.csv", private)
            see(f"{kind}/list?which=list&name=r.csv", listed)
            see(f"{kind}/public", given)
            see(f"{kind}/grant", {**given, **GRANT})
        see("tables/plan", given)
        texts.append(browser.ask("released").text)
    return " ".join(map(visible, texts))


def _attack_mode(mode: str) -> Attacked:
    return attack_places(AttackRequest("lrgeo", mode=mode, trials=12), record)


def small_demo(folder: str | Path, **options: Any) -> Demo:
    """Build the demo of the command, with few of everything."""
    sizes: Any = {"junctions": 30, "rows": 3, "columns": 4, "people": 80, "runs": 1}
    sizes |= {"households": 2_000, "patients": 60, "attack_mode": _attack_mode}
    with (
        patch.object(choosing, "EPSILONS", choosing.EPSILONS[::4]),
        # The page of `select` has the replay of the same method.
        patch.object(trying, "_SLOW_REPLAYS", {"subsampled"}),
        patch.object(demo, "try_counts", functools.partial(try_counts, games=40)),
        patch.object(demo, "count_demo", functools.partial(count_demo, states=3, counties=9)),
    ):
        return build_demo(folder, **options | sizes)
