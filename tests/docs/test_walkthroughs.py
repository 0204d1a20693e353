"""The commands of the pages, followed literally: an empty folder, the files that the page links, and nothing else."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from docs.walking import DISCREET, ROOT, commands, follow

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
PAGES = (
    "start/first-mechanism.md",
    "how-to/location-service.md",
    "how-to/sanitize-a-sentence.md",
    "how-to/census-counts.md",
    "how-to/tables-by-region.md",
    "how-to/patient-table.md",
    "how-to/choose-privately.md",
)
LINK = re.compile(r"\]\(\.\./files/([\w.-]+)\)")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_newcomer_gets_what_the_page_shows(page: str, tmp_path: Path) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for name in LINK.findall(text):
        shutil.copy(DOCS / "files" / name, tmp_path)
    assert len(commands(text)) >= 4
    assert follow(text, tmp_path, DISCREET) == []


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
        ("echo", "```console\n$ mkdir a\n$ cd a\n$ pwd\n.../a\n```\n", False),
        ("echo", "```console\n$ mkdir a\n$ cd a\n$ pwd\n.../b\n```\n", True),
        ("echo", "```console\n$ python -c 'print(3)'\n3\n```\n", False),
        ("echo", "```console\n$ python -c 'print(3)'\n4\n```\n", True),
    ],
)
def test_a_page_that_shows_something_else_is_refused(
    tmp_path: Path, program: str, page: str, *, fails: bool
) -> None:
    assert bool(follow(page, tmp_path, program)) is fails
