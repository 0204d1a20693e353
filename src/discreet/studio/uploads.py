"""Uploads: written to the workspace's folder as they come, bounded in bytes and in time, never held in memory.

What stands behind sees a request without a body, and the path of the file in its scope. The file is deleted when the
request is answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
from typing import TYPE_CHECKING, final

from fastapi.concurrency import run_in_threadpool

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.studio.jobs import refusal
from discreet.studio.workspaces import UPLOADING
from discreet.web.asgi import send_answer
from discreet.web.gate import HEADERS

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import Request

    from discreet.studio.workspaces import OpenWorkspaces
    from discreet.web.asgi import Application, Message, Receive, Send
    from discreet.web.guard import Limits

_FILES = re.compile(
    r"/(?P<workspace>[^/]+)/(table|counts/table|counts/list|tables/table|tables/list|tables/categories)"
)
"""Paths that take a file."""

_PLACE = "discreet.file"
_PIECE = 1 << 20


def uploaded(request: Request) -> Path:
    """Return the path of the file that came with a request; KeyError for a path of the studio that takes no file."""
    path: Path = request.scope[_PLACE]
    return path


@final
class Uploads:
    """ASGI middleware that takes files.

    Parameters
    ----------
    app
        The ASGI application behind it.
    workspaces
        Where files go.
    limits
        Bytes and seconds of a file.
    """

    def __init__(self, app: Application, workspaces: OpenWorkspaces, limits: Limits) -> None:
        self._app = app
        self._workspaces = workspaces
        self._limits = limits

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Write the file of an upload to its workspace's folder, pass the request on without a body, delete the file.

        Other requests are passed on unchanged. 400 for a closed page, or a file that is cut off, late or finds no
        room; 413 for too large a file.
        """
        match = _FILES.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if match is None or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            folder = self._workspaces.get(match["workspace"]).folder
        except InvalidProblemError as error:
            await _answer(send, 400, refusal(error))
            return
        path = folder / f"{UPLOADING}{secrets.token_hex(8)}"
        try:
            refused = await self._take(scope, receive, path)
            if refused is not None:
                await _answer(send, refused[0], {"message": refused[1]})
                return
            headers = [(name, value) for name, value in scope["headers"] if name not in _BODY]
            await self._app({**scope, "headers": headers, _PLACE: path}, _nothing(receive), send)
        finally:
            path.unlink(missing_ok=True)

    async def _take(self, scope: Message, receive: Receive, path: Path) -> tuple[int, str] | None:
        """Write the body to a new file at `path`, readable for its owner alone.

        Return None, or status and reason of a refusal. 413 beyond the bytes of the limits, 400 if it is cut off,
        late, or finds no room; a part of the file may then be there.
        """
        most, seconds = self._limits.body, self._limits.body_seconds
        too_large = 413, f"The file has more than {printed.estimate(most / 2**20)} MiB."
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > most:
            return too_large
        try:
            # Others must not read it, whatever the folder's mode is.
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "wb", buffering=_PIECE) as file:  # noqa: ASYNC230, PTH123 - it is made at once
                size, more = 0, True
                async with asyncio.timeout(seconds):
                    while more:
                        message = await receive()
                        if message["type"] == "http.disconnect":
                            return 400, "The file was cut off on its way; load it again."
                        piece = message.get("body", b"")
                        size += len(piece)
                        if size > most:
                            return too_large
                        await run_in_threadpool(file.write, piece)
                        more = message.get("more_body", False)
        except TimeoutError:
            return 400, f"The file did not arrive within {printed.seconds(seconds)}; load it again."
        except OSError:
            expected = "there is no room for a copy of the file in the folder for temporary files"
            return 400, f"The file could not be kept: {expected}; make some, or set TMPDIR."
        return None


_BODY = (b"content-length", b"transfer-encoding", b"content-type")


def _nothing(receive: Receive) -> Receive:
    """Return a receive function that gives one empty body, and then the messages of `receive`."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": b"", "more_body": False}

    return replay


async def _answer(send: Send, status: int, stated: dict[str, str]) -> None:
    """Send `stated` as JSON with this status, under the policy of the page; the connection is closed after it."""
    body = json.dumps(stated, ensure_ascii=False).encode()
    # What is left of the body is not read.
    headers = ((b"connection", b"close"), *HEADERS)
    await send_answer(send, status, "application/json", body, headers)
