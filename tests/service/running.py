"""A small mechanism, and servers for it: in this process by ASGI, in a thread, or in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import resource
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn

from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Mechanism, Region, design
from discreet.service import create_app
from discreet.service.asking import Server
from discreet.web import bind
from warm import COMMAND, WHERE, command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

ROOT = Path(__file__).parents[2]
ORIGIN = (41.89, 12.48)


@functools.cache
def region() -> Region:
    """Make a region of 25 cells of half a kilometer."""
    return Region.from_grid(5, 5, cell="0.5", unit="km", origin=ORIGIN)


@functools.cache
def mechanism(epsilon: int = 2) -> Mechanism:
    """Make a mechanism for it."""
    return Mechanism.from_design(
        design(region(), MetricDP(epsilon, "km"), gap=0.5, scope="places"), region()
    )


def sound_app(**options: Any) -> FastAPI:
    """Make an application that only publishes."""
    return create_app(mechanism(), region(), **options)


def ask(app: FastAPI, method: str, path: str, **options: Any) -> httpx.Response:
    """Ask an application in this process, without a socket."""

    async def once() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **options)

    return asyncio.run(once())


@contextlib.contextmanager
def in_thread(app: FastAPI) -> Iterator[str]:
    """Serve an application in a thread, over a real socket; give its address."""
    bound = bind("127.0.0.1", 0)
    # Connections wait in its queue until the application answers them.
    bound.listen(128)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[bound])))
    thread.start()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        bound.close()


def started(
    stored: Path, *options: str, port: int = 0, files: int = 0, **environment: str
) -> tuple[subprocess.Popen[str], int]:
    """Publish a stored mechanism in a process of its own, which may open so many files; give it and its port."""
    line = ["serve", "--mechanism", str(stored), "--port", str(port), "--json", *options]

    where = {**WHERE, **environment}

    def limit() -> None:
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    process = subprocess.Popen(
        [*(COMMAND if files else command(env=where)), *line],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=where,
        preexec_fn=limit,  # noqa: PLW1509 - no other thread of the test holds a lock
    )
    assert process.stdout is not None
    text = ""
    while not text.endswith("}\n"):
        text += process.stdout.readline() or pytest.fail(str(process.communicate()[1]))
    return process, int(json.loads(text)["url"].rpartition(":")[2])


def quick(app: FastAPI, *, seen: list[bytes] | None = None, **options: Any) -> Server:
    """Reach an application in this process as a client reaches a server; keep what is sent."""
    options = {"patience": 0} | options
    return Server(
        "http://127.0.0.1:1", transport=_Direct(app, [] if seen is None else seen), **options
    )


class _Direct(httpx.BaseTransport):
    """Hands requests to an application, and keeps their bytes."""

    def __init__(self, app: FastAPI, seen: list[bytes]) -> None:
        self._app = app
        self._seen = seen

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = request.read()
        head = b"".join(name + b": " + value + b"\n" for name, value in request.headers.raw)
        self._seen.append(
            request.method.encode() + b" " + request.url.raw_path + b"\n" + head + body
        )
        headers = [(k, v) for k, v in request.headers.raw if k.lower() != b"host"]
        path = request.url.raw_path.decode()
        answer = ask(self._app, request.method, path, headers=headers, content=body)
        # What came is unpacked already.
        dropped = {b"content-length", b"content-encoding"}
        kept = [(k, v) for k, v in answer.headers.raw if k.lower() not in dropped]
        return httpx.Response(
            answer.status_code, headers=kept, stream=httpx.ByteStream(answer.content)
        )
