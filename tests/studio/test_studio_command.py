"""The command: it prints an address on loopback that works, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from discreet.cli.app import run
from discreet.studio import OpenWorkspaces
from discreet.web import serve
from studio.running import Studio

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and modes of POSIX")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@posix
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_it_serves_and_leaves_nothing(tmp_path: Path, number: str) -> None:
    with Studio(tmp_path) as studio:
        for page in (studio.url, f"{studio.url}counts"):
            assert httpx.get(page, trust_env=False, timeout=30).status_code == 200
        assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o700]
        studio.load()
        assert any(b"Schmidt" in path.read_bytes() for path in files(tmp_path))
        assert {path.stat().st_mode & 0o777 for path in files(tmp_path)} == {0o600}
        assert not studio.ledger.exists()
        studio.process.send_signal(getattr(signal, number))
        assert studio.process.wait(60) == 0
    assert list(tmp_path.iterdir()) == []


@posix
def test_what_a_killed_studio_left_is_removed_by_the_next_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Studio(tmp_path, anew=True) as killed:
        killed.load()
        killed.process.kill()
        killed.process.wait(60)
        (left,) = tmp_path.iterdir()
        assert any(b"Schmidt" in path.read_bytes() for path in files(left))
    with Studio(tmp_path) as studio:
        assert not left.exists()
        # One that is open is left alone.
        (mine,) = tmp_path.iterdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with contextlib.closing(OpenWorkspaces()) as other:
            assert mine.exists()
            assert other.open()
        assert list(tmp_path.iterdir()) == [mine]
        studio.process.send_signal(signal.SIGTERM)
        assert studio.process.wait(60) == 0
    assert list(tmp_path.iterdir()) == []


async def _nothing(_scope: object, receive: Any, send: Any) -> None:
    """Start and stop, and answer nothing."""
    for word in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{word}.complete"})


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_server_listens_ends_it(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """It was swallowed, and the server served on."""
    before = signal.getsignal(number)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        run = uvicorn.Server.run

        def press(server: uvicorn.Server, **options: Any) -> None:
            signal.raise_signal(number)
            run(server, **options)

        monkeypatch.setattr(uvicorn.Server, "run", press)
        serve(_nothing, bound)
    assert signal.getsignal(number) is before


def test_a_port_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["studio", "--no-browser", "--port", "70000"]) == 2
    assert "--port" in capsys.readouterr().err


@posix
@pytest.mark.slow
def test_a_paid_release_outlives_the_page_and_the_studio(tmp_path: Path) -> None:
    """A real server publishes and is killed; the next one gives the same bytes, and the ledger the same budget."""
    from discreet.core.guarantee import PureDP
    from discreet.ledger import Ledger

    table = "who,state,house\n" + "".join(f"{i},{'GN'[i // 3 % 2]},{i // 3}\n" for i in range(60))
    form = {
        "kind": "persons", "public": "list", "neighbors": "add-remove-person", "region-0": "state",
        "unit": "house", "max_size": "6", "notion": "epsilon", "amount": "1", "each": "50", "dataset": "people",
    }  # fmt: skip
    fetched = []
    for turn in range(2):
        with Studio(tmp_path) as studio:
            origin = {"origin": studio.url.rpartition("/")[0].rpartition("/")[0]}
            if not turn:
                Ledger.create(studio.ledger, "people", PureDP(2, neighbors="add-remove-person"))
                text = httpx.get(f"{studio.url}counts", trust_env=False, timeout=30).text
                page = studio.url + text.partition('data-workspace="')[2].partition('"')[0]
                sent = {**form, "ledger": str(studio.ledger)}
                for path, body in (
                    ("counts/table?kind=persons&name=p.csv", table.encode()),
                    ("counts/list?which=list&name=r.csv", b"state\nG\nN\n"),
                    ("counts/run", json.dumps(sent).encode()),
                    # Closed at once: the budget may be charged by now, or be about to be.
                    ("leave", b""),
                ):
                    answer = httpx.post(
                        f"{page}/{path}", content=body, headers=origin, trust_env=False, timeout=60
                    )
                    assert answer.is_success, answer.text
            links: list[str] = []
            for _ in range(600):
                shown = httpx.get(f"{studio.url}released", trust_env=False, timeout=30).text
                links = re.findall(r'href="(released/[^"]+)"', shown)
                if links:
                    break
                time.sleep(0.2)
            assert links
            fetched.append(
                {
                    link: httpx.get(studio.url + link, trust_env=False, timeout=30).content
                    for link in links
                }
            )
    assert fetched[0] == fetched[1]
    assert [str(amount) for amount in Ledger(studio.ledger).account("people").left] == ["1"]
