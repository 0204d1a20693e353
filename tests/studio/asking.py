"""Asks the studio's application as its page does."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx

from discreet.studio import Desks, create_studio

__all__ = ["HOST", "TOKEN", "Browser"]

TOKEN = "t" * 43
HOST = "127.0.0.1:8090"


class Browser:
    """Asks as the page does."""

    def __init__(self, **options: Any) -> None:
        self.desks = Desks()
        self.app = create_studio(self.desks, host=HOST, token=TOKEN, **options)
        self.desk = ""

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
        self.desk = self.ask(page).text.partition('data-desk="')[2].partition('"')[0]

    def at(self, path: str, body: bytes | dict[str, str] | None = None) -> httpx.Response:
        """Ask for a path of the page's desk."""
        sent = json.dumps(body).encode() if isinstance(body, dict) else body
        return self.ask(f"{self.desk}/{path}", sent)

    def events(self) -> list[dict[str, Any]]:
        """Follow the job to its end."""
        lines = self.at("events").text.splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
