"""The studio as a process of its own, and what its pages send."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Self

import httpx

from warm import WHERE, command

RUN = "import sys; from discreet.cli.app import run; sys.exit(run(sys.argv[1:]))"

TABLE = "age,ill\n" + "".join(f"{20 + i % 40},Schmidt\n" for i in range(200))


class Studio:
    """The command in a process of its own, with a page that has a table."""

    def __init__(self, temporary: Path, *, anew: bool = False) -> None:
        """Start it, in a process that is begun anew where it will be killed."""
        places = {**WHERE, "TMPDIR": str(temporary)}
        self.ledger = temporary.with_name(f"{temporary.name}-ledger.db")
        options = ["studio", "--no-browser", "--ledger", str(self.ledger)]
        begins = [sys.executable, "-c", RUN] if anew else command(RUN, places)
        self.process = subprocess.Popen(
            [*begins, *options], stdout=subprocess.PIPE, text=True, env=places
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def post(self, page: str, path: str, sent: bytes | dict[str, str]) -> httpx.Response:
        """Send a file or a form, as a page of the studio does."""
        origin = {"origin": self.url.rpartition("/")[0].rpartition("/")[0]}
        body = json.dumps(sent).encode() if isinstance(sent, dict) else sent
        return httpx.post(
            f"{page}/{path}", content=body, headers=origin, trust_env=False, timeout=120
        )

    def get(self, name: str) -> httpx.Response:
        """Fetch a page."""
        return httpx.get(self.url + name, trust_env=False, timeout=30)

    def open(self, name: str = "") -> str:
        """Open a page; return the address of its workspace."""
        text = self.get(name).text
        return self.url + text.partition('data-workspace="')[2].partition('"')[0]

    def load(self) -> str:
        """Load a table and search for so long that it does not end; give the address of the page."""
        page = self.open()
        form = {
            "role-0": "quasi",
            "kind-0": "numeric",
            "role-1": "sensitive",
            "k": "3",
            "seconds": "600",
        }
        for path, sent in (("table?name=a.csv", TABLE.encode()), ("run", form)):
            answer = self.post(page, path, sent)
            assert answer.is_success, answer.text
        return page
