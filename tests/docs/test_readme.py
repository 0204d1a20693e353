"""The README holds no command that was not run: each block is an example, is followed here, or has a reason."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from docs.walking import DISCREET, ROOT, commands, follow

if TYPE_CHECKING:
    from pathlib import Path

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

NOT_RUN = {
    "pip": "changes the environment in which the tests run, from the network",
}
"""Programs whose commands stand in blocks that are not followed, with the reason."""

SILENT = {"cd", "cp", "mkdir"}
"""Programs that print nothing."""


def unrun(text: str) -> list[str]:
    """List commands of a page that no test runs and that have no reason for it."""
    return [
        line
        for kind, block in BLOCK.findall(text)
        if kind not in {"console", "python"}
        for line in block.splitlines()
        if line.strip() and line.split()[0] not in NOT_RUN
    ]


def unshown(text: str) -> list[str]:
    """List commands of a page of which it shows nothing, so that only their status would be looked at."""
    return [
        command.line
        for command in commands(text)
        if not command.shown.replace("...", "").strip() and command.line.split()[0] not in SILENT
    ]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Lay out what a clone has, as far as commands use it."""
    shutil.copytree(ROOT / "docs" / "files", tmp_path / "docs" / "files")
    shutil.copy(ROOT / "verify_standalone.py", tmp_path)
    return tmp_path


def test_each_command_of_the_readme_does_what_it_shows(clone: Path) -> None:
    assert len(commands(README)) >= 5
    assert follow(README, clone, DISCREET) == []


def words_until_the_first_result(text: str) -> int:
    """Count the words up to the first thing that an example shows."""
    return len(text[: text.index("(True, True)")].split())


def test_the_readme_is_short_and_shows_a_result_soon() -> None:
    assert len(README.split()) <= 500
    assert words_until_the_first_result(README) <= 150
    assert words_until_the_first_result("word " * 200 + "(True, True)") == 200


def test_what_the_readme_links_is_there() -> None:
    linked = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert len(linked) > 8
    assert [name for name in linked if not (ROOT / name).exists()] == []


def test_every_block_is_run_or_has_a_reason_and_shows_what_comes() -> None:
    assert unrun(README) == []
    assert unshown(README) == []
    assert all(f"\n{program} " in README for program in NOT_RUN)


@pytest.mark.parametrize("block", ["text", "", "sh"])
def test_a_command_in_a_block_that_is_not_followed_is_found(block: str) -> None:
    page = f"```{block}\npip install discreet\ndiscreet design --gird 3x3\n```\n"
    assert unrun(page) == ["discreet design --gird 3x3"]
    assert unrun("```console\n$ discreet design\n```\n") == []


def test_a_command_that_shows_nothing_is_found() -> None:
    page = "```console\n$ cd try\n$ discreet info\n$ discreet risk\n...\n$ discreet demo\nwrote ...\n```\n"
    assert unshown(page) == ["discreet info", "discreet risk"]


def test_a_file_that_nothing_ships_is_noticed(clone: Path) -> None:
    """The README once chose from a matrix of similarities that no clone has."""
    line = "discreet select --similarity sim.npy --matroid uniform:20 --epsilon 1 --neighbors add-remove-one"
    (wrong,) = follow(f"```console\n$ {line}\nchosen ...\n...\n```\n", clone, DISCREET)
    assert wrong.startswith(f"{line}\nstatus 2\n")


def test_two_commands_set_everything_up_on_a_bare_machine() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", README))
    assert {"demo", "test"} <= named <= targets
