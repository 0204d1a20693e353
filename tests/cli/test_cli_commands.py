"""Commands: listed without being imported; of other distributions, and a sentence where one is missing or broken."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest
import typer

from cli.commands import say
from discreet.cli import commands
from discreet.cli.commands import OWN, command_named

SENTENCE = (
    "discreet: reproduce: expected an installed distribution that adds it "
    "(pip install ./reproduction), got none\n"
)


def install(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Leave no entry points but these."""
    found = [EntryPoint(name, value, commands.GROUP) for name, value in values.items()]

    def entry_points(*, group: str) -> list[EntryPoint]:
        assert group == commands.GROUP
        return found

    monkeypatch.setattr(commands, "entry_points", entry_points)


@pytest.fixture
def divining(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a module with a command, one with something else, and one that cannot be imported."""
    app = typer.Typer(add_completion=False)

    @app.command(epilog="It is never wrong.")
    def divine(times: int = 1) -> int:
        """Look into a crystal ball."""
        typer.echo("fog " * times)
        return 3

    module = ModuleType("divining")
    module.app = app  # type: ignore[attr-defined]
    module.other = divine  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "divining", module)


@pytest.mark.usefixtures("divining")
def test_a_command_that_is_added_runs_like_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, divine="divining:app")
    said = say(capsys, "divine", "--times", "2")
    assert (said.status, said.out) == (3, "fog fog \n")
    assert "It is never wrong." in say(capsys, "divine", "--help").out
    assert "divining:app" in say(capsys, "--help").out
    refused = say(capsys, "divine", "--times", "many")
    assert refused.status == 2
    assert "--times" in refused.err


def test_without_its_distribution_a_command_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch)
    for arguments in ((), ("metricdp", "table3"), ("--help",)):
        said = say(capsys, "reproduce", *arguments)
        assert (said.status, said.out, said.err) == (2, "", SENTENCE)
    error = json.loads(say(capsys, "reproduce", "--json").err)["error"]
    assert (error["status"], error["argument"]) == (2, "reproduce")
    assert "Not installed: pip install ./reproduction." in " ".join(
        say(capsys, "--help").out.split()
    )


@pytest.mark.usefixtures("divining")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "nowhere_to_be_found:app",
            "imported, got nowhere_to_be_found:app, whose import ends in Mod",
        ),
        ("divining:missing", "imported, got divining:missing, whose import ends in AttributeError"),
        ("divining:other", "expected an entry point that names a typer.Typer, got function from"),
    ],
)
def test_a_broken_distribution_gives_a_sentence_and_breaks_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: str, message: str
) -> None:
    install(monkeypatch, divine=value)
    said = say(capsys, "divine")
    assert said.status == 2
    assert said.err.startswith("discreet: divine: expected ")
    assert message in said.err
    assert said.err.count("\n") == 1
    assert "divine" in say(capsys, "--help").out


def test_a_command_of_this_package_stays_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, verify="nowhere_to_be_found:app")
    assert "divine" not in say(capsys, "--help").out
    assert say(capsys, "verify", "--help").status == 0


def test_what_nobody_adds_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "divine")
    assert said.status == 2
    assert "No such command" in said.err


@pytest.mark.parametrize(
    ("name", "told"), [item for panel in OWN.values() for item in panel.items()]
)
def test_a_summary_is_the_first_sentence_of_the_command_s_own_help(name: str, told: str) -> None:
    assert " ".join((command_named(name).help or "").partition("\n\n")[0].split()) == told


def test_only_the_command_that_is_run_is_imported() -> None:
    """Of help, none: else each command waits until all others are read."""
    script = (
        "import json, sys; from discreet.cli.app import run; run(sys.argv[1:])\n"
        "rooms = {name.split('.')[1] for name in sys.modules if name.startswith('discreet.')}\n"
        "named = [name for name in sys.modules if name.startswith('discreet.cli.')]\n"
        "sys.stderr.write(json.dumps([sorted(rooms), named]))"
    )

    def ran(*arguments: str) -> tuple[list[str], list[str]]:
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
        )
        rooms, named = json.loads(done.stderr.splitlines()[-1])
        return rooms, named

    rooms, named = ran("--help")
    assert rooms == ["cli", "core"]
    all_of_them = {f"discreet.cli.{name}" for panel in OWN.values() for name in panel}
    assert not all_of_them & set(named)
    _, named = ran("sample", "--help")
    assert all_of_them & set(named) == {"discreet.cli.sample"}
