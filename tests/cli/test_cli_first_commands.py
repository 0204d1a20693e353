"""What people type first does what was meant, or ends with one message that holds the cure."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from cli.commands import say
from cli.first_commands import COMMANDS, DESIGN, GRID, PLAIN, RISK, SELECT, First
from discreet.cli.commands import OWN, command_named
from discreet.cli.spellings import COMMANDS as ALIASES
from discreet.cli.spellings import FILE, OPTIONS, respell
from discreet.datasets.first import first_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("first")
    for name, text in first_files().items():
        (made / name).write_text(text, encoding="utf-8")
    return made


def parsed(line: str) -> dict[str, Any]:
    """Read a command as the command line does, after it was respelled; give its name and all values."""
    name, *rest = respell(shlex.split(line))[0]
    if name == "--version" or rest[-1:] == ["--help"]:
        return {"command": name, "rest": rest}
    context = command_named(name).make_context(name, rest)
    return {"command": name, **context.params}


def ends_with_the_cure(one: First, capsys: pytest.CaptureFixture[str]) -> bool:
    """Run a command that cannot be read as meant; look whether its one message holds the cure."""
    done = say(capsys, *shlex.split(one.typed))
    lines = [line for line in done.err.splitlines() if not line.startswith("discreet: reading ")]
    return done.status == 2 and len(lines) == 1 and one.said in lines[0] and not done.out


def outcome(one: First, capsys: pytest.CaptureFixture[str]) -> str:
    """Say how a command ends: as meant, with a message, or wrongly."""
    if one.said:
        return "message" if ends_with_the_cure(one, capsys) else "wrong"
    try:
        return "meant" if parsed(one.typed) == parsed(one.meant) else "wrong"
    except Exception:  # noqa: BLE001 - whatever it is, it was not meant
        return "wrong"


def test_sixty_of_a_hundred_first_commands_do_what_was_meant_and_the_others_say_the_cure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert len({one.typed for one in COMMANDS}) == len(COMMANDS) >= 100
    ends = {one.typed: outcome(one, capsys) for one in COMMANDS}
    wrong = [typed for typed, end in ends.items() if end == "wrong"]
    assert wrong == [], "\n".join(wrong)
    meant = sum(end == "meant" for end in ends.values())
    assert meant >= 60
    assert sum(end != "wrong" for end in ends.values()) >= 95


@pytest.mark.parametrize("line", [RISK, SELECT, GRID, PLAIN, DESIGN])
def test_what_is_meant_works(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    limit = ["--time-limit", "2"] if line == PLAIN else []
    assert say(capsys, *line.split(), *limit).status == 0


def test_what_is_meant_is_read_as_it_stands() -> None:
    for line in {one.meant for one in COMMANDS}:
        words = shlex.split(line)
        if words[1:] != ["--help"]:
            again, notes = respell(words)
            assert notes == []
            assert again == words


def test_what_was_read_as_something_else_is_said_and_not_to_programs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    done = say(capsys, "risks", "patients.csv", "--qi", "age,", "sex")
    assert done.status == 0
    assert done.err.splitlines()[0] == "discreet: reading risks as risk, --qi as --quasi"
    assert say(capsys, "risk", "patients.csv", "--qi", "age,sex", "--json").err == ""


def test_every_alias_leads_to_something_that_there_is() -> None:
    own = [name for names in OWN.values() for name in names]
    assert set(ALIASES) <= set(own)
    others = [name for names in ALIASES.values() for name in names.split()]
    assert len(set(others)) == len(others)
    assert not set(others) & set(own)
    options = {
        option
        for name in own
        for one in command_named(name).params
        for option in (*one.opts, *one.secondary_opts)
    }
    assert {*OPTIONS} - {FILE} <= options


@pytest.mark.parametrize(
    "line",
    [
        # No guarantee is chosen for the user, and a value is never taken for an option.
        "counts people.csv --neighbors unbounded",
        "anonymize patients.csv --quasi -age",
        "design --label --epsilon",
        "budget create l.ledger --dataset --eps",
        "serve --origin -33.9,151.2",
        "anonymize patients.csv --time",
        "locate -",
    ],
)
def test_what_could_be_two_things_stays_as_it_was_typed(line: str) -> None:
    words = line.split()
    if line.endswith("--time"):
        assert respell(words)[0][-1] == "--time-limit"
    else:
        assert respell(words)[0] == words
