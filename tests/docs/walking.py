"""The commands of a page, followed literally, with servers started, waited for and ended.

A block of ``console`` holds commands behind a dollar, and what they print, where ``...`` stands for anything. Another
``discreet`` than that of this environment, such as that of an installed wheel, is named by ``DISCREET_COMMAND``.
"""

from __future__ import annotations

import doctest
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_OWN = (
    f"env PYTHONPATH='{ROOT / 'src'}' '{sys.executable}' -c 'from discreet.cli import main; main()'"
)
DISCREET = os.environ.get("DISCREET_COMMAND", _OWN)
"""What is run where a page says ``discreet``."""

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PATIENCE = 240.0
"""Seconds for a command, or until a server is there: with kernels that are compiled at the same time."""

PATIENCE_AT_THE_END = 30.0
"""Seconds for a server to end."""


@dataclass(frozen=True)
class Command:
    """A line behind a dollar, and what the page shows below it."""

    line: str
    shown: str

    @property
    def stays(self) -> bool:
        """Whether it runs on while the next ones are typed."""
        return self.line.endswith("&")

    def agrees(self, said: str) -> bool:
        """Whether what it printed is what the page shows."""
        return not self.shown or doctest.OutputChecker().check_output(self.shown, said, FLAGS)


def commands(text: str) -> list[Command]:
    """Take the commands of a page."""
    found: list[Command] = []
    for block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.replace("\\\n", "").partition("\n")
            found.append(Command(line.strip(), shown))
    return found


def _environment(tools: Path, discreet: str) -> dict[str, str]:
    """Give commands a ``discreet`` and a ``python`` of their own, files of a user of their own, and no browser."""
    tools.mkdir(parents=True)
    for name, runs in {"discreet": discreet, "python": f"'{sys.executable}'"}.items():
        program = tools / name
        program.write_text(f'#!/bin/sh\nexec {runs} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    own = {"PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "200", "BROWSER": "true"}
    return {**os.environ, **own, "XDG_STATE_HOME": str(tools / "state")}


def follow(text: str, folder: Path, discreet: str) -> list[str]:
    """Run the commands of a page in a folder, and say where it differs from what the page shows.

    What ends in ``&`` is a server: it is waited for until it has printed what the page shows, runs on while the next
    commands do, and is ended in the end. ``cd`` holds for the commands after it.
    """
    tools = folder / ".tools"
    environment = _environment(tools, discreet)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    wrong: list[str] = []
    running: list[subprocess.Popen[bytes]] = []
    try:
        for at, command in enumerate(commands(text)):
            line, shown = (part.replace("8080", port) for part in (command.line, command.shown))
            expected = Command(line, shown)
            if line.startswith("cd "):
                folder /= line.removeprefix("cd ").strip()
                continue
            said = tools / f"said{at}"
            with said.open("wb") as out:
                process = subprocess.Popen(
                    ["/bin/sh", "-c", line.rstrip("& ")],
                    cwd=folder,
                    env=environment,
                    stdout=out,
                    stderr=subprocess.STDOUT if command.stays else subprocess.PIPE,
                    start_new_session=True,
                )
            if command.stays:
                running.append(process)
                end = time.monotonic() + PATIENCE
                while not expected.agrees(said.read_text(encoding="utf-8")):
                    if process.poll() is not None or time.monotonic() > end:
                        wrong.append(f"{line}\n{said.read_text(encoding='utf-8')}")
                        break
                    time.sleep(0.2)
                continue
            _, complained = process.communicate(timeout=PATIENCE)
            if process.returncode or not expected.agrees(said.read_text(encoding="utf-8")):
                told = said.read_text(encoding="utf-8") + complained.decode()
                wrong.append(f"{line}\nstatus {process.returncode}\n{told}")
    finally:
        for process in running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(timeout=PATIENCE_AT_THE_END)
    return wrong
