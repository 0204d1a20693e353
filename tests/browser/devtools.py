"""A headless Chromium that is told what to do through a pipe: the DevTools protocol, with the standard library.

Messages are JSON, each ended by a zero byte; the browser reads from descriptor 3 and writes to descriptor 4.
"""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

_PATIENCE = 60.0

# Puts the two pipes where the browser looks for them, then becomes the browser.
_LAUNCH = """
import os, sys
r, w = int(sys.argv[1]), int(sys.argv[2])
os.dup2(r, 3); os.dup2(w, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page in one headless browser; a context manager.

    Parameters
    ----------
    executable
        The browser.
    profile
        A new, empty folder.
    """

    def __init__(self, executable: str, profile: Path) -> None:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # Above 4, so that putting one in its place does not overwrite the other.
        theirs = [os.dup(fd) for fd in (theirs_in, theirs_out) for _ in range(4)]
        r, w = theirs[3], theirs[7]
        command = [sys.executable, "-c", _LAUNCH, str(r), str(w)]
        command += [executable, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            command, pass_fds=(r, w), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for fd in (theirs_in, theirs_out, *theirs):
            os.close(fd)
        self._in, self._out = ours_in, ours_out
        self._buffer = b""
        self._sent = 0
        self.events: list[dict[str, Any]] = []
        (page,) = [
            target
            for target in self._call("Target.getTargets")["targetInfos"]
            if target["type"] == "page"
        ]
        attached = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._out)
        os.close(self._in)
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command to the page and return its result."""
        return self._call(method, session=self._session, **parameters)

    def open(self, url: str, width: int, height: int) -> None:
        """Open a page at a width in CSS pixels, and wait until it is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.events.clear()
        self.call("Page.navigate", url=url)
        self._wait("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript on the page; a promise is awaited."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Take a picture of the whole page."""
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(picture["data"]))

    def of(self, *methods: str) -> list[dict[str, Any]]:
        """List the parameters of the events of some kinds since the page was opened."""
        return [event["params"] for event in self.events if event.get("method") in methods]

    def _call(
        self, method: str, *, session: str | None = None, **parameters: object
    ) -> dict[str, Any]:
        self._sent += 1
        message: dict[str, Any] = {"id": self._sent, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._sent:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _wait(self, method: str) -> None:
        while not self.of(method):
            self.events.append(self._read())

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                message = "the browser said nothing" if not ready else "the browser ended"
                raise RuntimeError(message)
            self._buffer += chunk
        head, self._buffer = self._buffer.split(b"\0", 1)
        message_read: dict[str, Any] = json.loads(head)
        return message_read
