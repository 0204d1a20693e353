"""What applications of ASGI are called with, and an answer of one piece."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]

PLAIN = "text/plain; charset=utf-8"
"""Media type of a sentence."""


async def send_answer(send: Send, status: int, media: str, body: bytes, headers: Headers) -> None:
    """Send an answer whole: its status, its body of a media type, and `headers` besides the type and the length."""
    about = ((b"content-type", media.encode()), (b"content-length", str(len(body)).encode()))
    start = {"type": "http.response.start", "status": status, "headers": [*about, *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
