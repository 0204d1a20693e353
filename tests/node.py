"""The verifier in JavaScript under Node: one process that judges file after file, where there is a Node."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

NODE = shutil.which("node")
"""Where Node is; None where there is none."""

_LOOP = """
const fs = require("fs"), lines = require("readline").createInterface({input: process.stdin});
lines.on("line", (line) => {
  let found;
  try {
    const {path, call} = JSON.parse(line);
    found = path ? discreetVerifier.verify(new Uint8Array(fs.readFileSync(path)))
      : new Function(...Object.keys(discreetVerifier), `return ${call}`)(...Object.values(discreetVerifier));
  } catch (error) { found = null; }
  process.stdout.write(JSON.stringify(found) + "\\n");
});
"""


def page() -> str:
    """Read the page."""
    found = resources.files("discreet.report").joinpath("templates", "verify_standalone.html")
    return found.read_text(encoding="utf-8")


def program() -> str:
    """Give the script of the page, as reports and browsers run it."""
    found = re.search(r"<script>\n(.*?)</script>", page(), re.DOTALL)
    assert found is not None
    return found[1]


class Verifier:
    """A process of Node that holds the verifier; it ends with what started it, or with the block of a context."""

    def __init__(self, text: str = "") -> None:
        assert NODE is not None
        self._process = subprocess.Popen(
            [NODE, "-e", (text or program()) + _LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def judge(self, path: Path) -> Any:
        """Verify a file: status, claim, checks, and the reason where it is no whole file."""
        return self._ask({"path": str(path)})

    def evaluate(self, call: str) -> Any:
        """Evaluate a call of one of the program's functions; None where it throws."""
        return self._ask({"call": call})

    def _ask(self, request: dict[str, str]) -> Any:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate(timeout=10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
