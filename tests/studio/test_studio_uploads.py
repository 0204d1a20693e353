"""Files on their way in: bounded in bytes and time while they come, in a private file, and gone when they were read."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from discreet.studio import OpenWorkspaces
from discreet.studio.uploads import Uploads
from discreet.studio.workspaces import UPLOADING
from discreet.web import Limits
from studio.asking import Browser

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

PIECE = b"x" * 1000


@pytest.fixture
def workspaces() -> Iterator[OpenWorkspaces]:
    with contextlib.closing(OpenWorkspaces()) as made:
        yield made


class Sender:
    """Sends pieces to a page's workspace, and keeps what comes back and what is behind sees."""

    def __init__(self, workspaces: OpenWorkspaces, **limits: Any) -> None:
        self.workspace = workspaces.open()
        self.folder = workspaces.get(self.workspace).folder
        self.limits = Limits(**limits)
        self.workspaces = workspaces
        self.sent: list[dict[str, Any]] = []
        self.seen: list[tuple[bytes, int, dict[bytes, bytes], bytes]] = []

    def send(
        self, receive: Callable[[], Awaitable[dict[str, Any]]], path: str = "table", **headers: str
    ) -> tuple[int, str]:
        """Ask; give the status and the text."""

        async def behind(scope: Any, receive: Any, send: Any) -> None:
            file: Path = scope["discreet.file"]
            body = (await receive())["body"]
            self.seen.append((*held(file), dict(scope["headers"]), body))
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"read"})

        async def take(message: Any) -> None:
            self.sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": f"/{self.workspace}/{path}",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        asyncio.run(Uploads(behind, self.workspaces, self.limits)(scope, receive, take))
        return self.sent[0]["status"], self.sent[-1]["body"].decode()

    @property
    def left(self) -> list[Path]:
        """Files that are still there."""
        return list(self.folder.glob(f"{UPLOADING}*")) if self.folder.exists() else []


def held(file: Path) -> tuple[bytes, int]:
    """Give what is in a file, and its mode."""
    return file.read_bytes(), file.stat().st_mode & 0o777


def pieces(count: int) -> Callable[[], Awaitable[dict[str, Any]]]:
    """Give so many pieces."""
    left = iter(range(count - 1, -1, -1))

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": PIECE, "more_body": next(left) > 0}

    return receive


@pytest.mark.parametrize("path", ["table", "counts/table", "counts/list"])
def test_a_file_is_written_as_it_comes_and_gone_when_it_was_read(
    workspaces: OpenWorkspaces, path: str
) -> None:
    sender = Sender(workspaces)
    headers = {"content-length": "3000", "content-type": "text/csv", "x-kept": "yes"}
    assert sender.send(pieces(3), path, **headers) == (200, "read")
    # What is behind sees no body.
    assert sender.seen == [(PIECE * 3, 0o600, {b"x-kept": b"yes"}, b"")]
    assert sender.left == []


def test_a_file_is_refused_while_it_comes_and_not_after(workspaces: OpenWorkspaces) -> None:
    """No length was said, and more would come for ever."""
    asked = 0

    async def endless() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": PIECE, "more_body": True}

    sender = Sender(workspaces, body=10_000)
    status, text = sender.send(endless)
    assert status == 413
    assert "more than" in text
    assert asked == 11
    assert (b"connection", b"close") in sender.sent[0]["headers"]
    assert (sender.seen, sender.left) == ([], [])


@pytest.mark.parametrize("length", ["10001", "-1", "many"])
def test_a_length_that_is_too_large_is_refused_before_anything_came(
    workspaces: OpenWorkspaces, length: str
) -> None:
    async def never() -> dict[str, Any]:
        raise AssertionError

    sender = Sender(workspaces, body=10_000)
    assert sender.send(never, **{"content-length": length})[0] == 413


def test_a_slow_file_is_refused(workspaces: OpenWorkspaces) -> None:
    async def slow() -> dict[str, Any]:
        await asyncio.sleep(30)
        raise AssertionError

    sender = Sender(workspaces, body_seconds=0.05)
    status, text = sender.send(slow)
    assert status == 400
    assert "within 0.05 s;" in text
    assert sender.left == []


def test_a_file_that_is_cut_off_is_refused(workspaces: OpenWorkspaces) -> None:
    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    sender = Sender(workspaces)
    assert "load it again" in sender.send(gone)[1]
    assert (sender.seen, sender.left) == ([], [])


def test_a_full_disk_is_a_sentence(
    workspaces: OpenWorkspaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    sender = Sender(workspaces)
    monkeypatch.setattr("discreet.studio.uploads.os.open", full)
    status, text = sender.send(pieces(1))
    assert status == 400
    assert "there is no room" in text


def test_a_page_that_was_closed_takes_no_file(workspaces: OpenWorkspaces) -> None:
    sender = Sender(workspaces)
    workspaces.leave(sender.workspace)
    assert "reload it" in sender.send(pieces(1))[1]
    assert not sender.folder.exists()


def test_a_page_that_is_left_while_its_file_comes_leaves_nothing(
    workspaces: OpenWorkspaces,
) -> None:
    sender = Sender(workspaces)

    async def receive() -> dict[str, Any]:
        workspaces.leave(sender.workspace)
        return {"type": "http.request", "body": PIECE, "more_body": False}

    with pytest.raises(FileNotFoundError):
        sender.send(receive)
    assert not sender.folder.exists()


def test_forms_are_small_and_are_no_files() -> None:
    browser = Browser(limits=Limits(body=100))
    with contextlib.closing(browser.workspaces):
        browser.open()
        assert browser.at("risk", b"x" * 101).status_code == 413
        assert browser.at("table?name=a.csv", b"x" * 101).status_code == 413
        assert browser.at("table?name=a.csv", b"age\n1\n2\n").status_code == 200
        assert not list(browser.workspaces.get(browser.workspace).folder.iterdir())
