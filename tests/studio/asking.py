"""Asks the studio's application as its page does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import httpx

from discreet.ledger import Ledger
from discreet.studio import OpenWorkspaces, create_studio, jobs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

LOADED = [
    "discreet.cli.app",
    "discreet.core.kernels.distances",
    "discreet.kanonymity.anonymize",
    "discreet.studio.publishing",
    "discreet.studio.tables",
    "discreet.studio.tasks",
    "narwhals._polars.dataframe",
    "polars",
]
"""Modules that jobs load; importing them starts no thread."""

TOKEN = "t" * 43
HOST = "127.0.0.1:8090"


class Browser:
    """Asks as the page does."""

    def __init__(self, **options: Any) -> None:
        self.workspaces = OpenWorkspaces()
        self.app = create_studio(self.workspaces, host=HOST, token=TOKEN, **options)
        self.workspace = ""

    def ask(self, path: str, body: bytes | None = None, **headers: str) -> httpx.Response:
        """Ask for a path below the token."""

        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, timeout=120) as client:
                given = {"host": HOST, "origin": f"http://{HOST}", **headers}
                kind = "GET" if body is None else "POST"
                url = f"http://{HOST}/{TOKEN}/{path}"
                return await client.request(kind, url, content=body, headers=given)

        return asyncio.run(asked())

    def open(self, page: str = "") -> None:
        """Open a page."""
        self.workspace = self.ask(page).text.partition('data-workspace="')[2].partition('"')[0]

    def at(self, path: str, body: bytes | dict[str, str] | None = None) -> httpx.Response:
        """Ask for a path of the page's workspace."""
        sent = json.dumps(body).encode() if isinstance(body, dict) else body
        return self.ask(f"{self.workspace}/{path}", sent)

    def events(self) -> list[dict[str, Any]]:
        """Follow the job to its end."""
        lines = self.at("events").text.splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


@contextlib.contextmanager
def quick_jobs() -> Iterator[None]:
    """Fork the processes of jobs from one that has loaded what they need, where the system can."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        yield
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    quick = SimpleNamespace(get_context=lambda _: context)
    with patch.object(jobs, "multiprocessing", quick):
        yield


@contextlib.contextmanager
def opened(page: str | None = "", *, anew: bool = False, **options: Any) -> Iterator[Browser]:
    """Start a studio with a page that is open, or with none, and end it; its jobs begin anew, or are forks."""
    made = Browser(**options)
    with contextlib.closing(made.workspaces), contextlib.nullcontext() if anew else quick_jobs():
        if page is not None:
            made.open(page)
        yield made


def left(ledger: Path) -> list[str]:
    """Return what the ledger has left for the people."""
    return [str(amount) for amount in Ledger(ledger).account("people").left]


def fetched_again(
    browser: Browser, ledger: Path, out: Path, names: Collection[str], words: str
) -> None:
    """Close the page and start another studio: the same bytes as in a folder, from one without a private file."""
    assert browser.at("leave", b"").status_code == 204
    root = ledger.with_name("discreet-released")
    assert [path.stat().st_mode & 0o777 for path in (root, *root.iterdir())] == [0o700] * 2
    assert {path.name for path in root.rglob("*") if path.is_file()} == set(names)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in root.rglob("*") if path.is_file())
    other = Browser(ledger=ledger)
    with contextlib.closing(other.workspaces):
        for studio in (browser, other):
            page = studio.ask("released").text
            links = re.findall(r'href="(released/[^"]+)" download="([^"]+)"', page)
            assert {name for _, name in links} == set(names)
            assert words in page
            for link, name in links:
                assert studio.ask(link).content == (out / name).read_bytes()
