"""The commands of the pages, followed literally: an empty folder, the files that the page links, and nothing else.

A block of ``console`` holds commands behind a dollar, and what they print, where ``...`` stands for anything. Another
``discreet`` than that of this environment, such as that of an installed wheel, is named by ``DISCREET_COMMAND``.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "tutorial/first-mechanism.md",
    "how-to/location-service.md",
    "how-to/sanitize-a-sentence.md",
    "how-to/census-counts.md",
    "how-to/patient-table.md",
    "how-to/choose-privately.md",
)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(\.\./files/([\w.-]+)\)")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PATIENCE = 240.0


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


def follow(text: str, folder: Path, discreet: str) -> list[str]:
    """Run the commands of a page in a folder, and say where it differs from what the page shows."""
    tools = folder / ".tools"
    tools.mkdir(parents=True)
    program = tools / "discreet"
    program.write_text(f'#!/bin/sh\nexec {discreet} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "200"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    wrong: list[str] = []
    running: list[subprocess.Popen[bytes]] = []
    try:
        for at, command in enumerate(commands(text)):
            line, shown = (part.replace("8080", port) for part in (command.line, command.shown))
            expected = Command(line, shown)
            said = folder / f".said{at}"
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
                process.wait(timeout=30)
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_newcomer_gets_what_the_page_shows(page: str, tmp_path: Path) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for name in LINK.findall(text):
        shutil.copy(DOCS / "files" / name, tmp_path)
    own = f"env PYTHONPATH='{DOCS.parent / 'src'}' '{sys.executable}' -c 'from discreet.cli import main; main()'"
    assert len(commands(text)) >= 4
    assert follow(text, tmp_path, os.environ.get("DISCREET_COMMAND", own)) == []


def test_every_file_that_a_page_can_hand_out_is_handed_out() -> None:
    linked = {
        name
        for page in DOCS.rglob("*.md")
        if "_build" not in page.parts
        for name in LINK.findall(page.read_text(encoding="utf-8"))
    }
    assert linked == {path.name for path in (DOCS / "files").iterdir()}


PAGE = """
```console
$ echo one; \\
    echo two
one
...
$ discreet 3
the number is ...
```

```text
$ false
```

```console
$ true
```
"""


def test_commands_and_what_they_show_are_read() -> None:
    assert [(command.line, command.shown) for command in commands(PAGE)] == [
        ("echo one;     echo two", "one\n...\n"),
        ("discreet 3", "the number is ...\n"),
        ("true", ""),
    ]


@pytest.mark.parametrize(
    ("program", "page", "fails"),
    [
        ("echo the number is", PAGE, False),
        ("echo no number", PAGE, True),
        ("sh -c 'exit 3'", PAGE, True),
        ("echo", "```console\n$ false\n```\n", True),
        ("echo", "```console\n$ false &\nnever\n```\n", True),
        ("echo", "```console\n$ echo ready; sleep 99 &\nready\n```\n", False),
    ],
)
def test_a_page_that_shows_something_else_is_refused(
    tmp_path: Path, program: str, page: str, *, fails: bool
) -> None:
    assert bool(follow(page, tmp_path, program)) is fails
