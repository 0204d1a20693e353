"""Help, options that all commands share, exit statuses in one place, completion, colors."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.commands import say
from cli.test_cli_process import start
from discreet.cli.commands import OWN, command_named
from discreet.cli.output import Status
from discreet.core.moved import INSTALL
from discreet.evaluate.audit.lrgeo import DEFAULT
from discreet.hierarchy.methods import METHODS as COUNT_METHODS
from discreet.kanonymity.methods import METHODS as TABLE_METHODS
from discreet.metricdp.methods import METHODS as CHANNELS
from discreet.submodular.methods import METHODS as CHOICE_METHODS
from warm import COMMAND, WHERE

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"

WITHOUT_REPORT = {
    "demo": "writes a page by itself",
    "doctor": "says what is installed",
    "studio": "is a page",
    "serve": "has nothing to look at",
    "locate": "draws a report of a place",
    "sample": "draws reports of a secret",
    "info": "checks nothing, and a page that states a guarantee has to",
    "budget check": "says one word",
    "budget create": "says what budget show says",
    "budget history": "is part of the page of budget show",
    "budget list": "says what to do about releases that broke off",
    "budget recover": "writes the page of the release itself",
    "budget forget": "says one word",
    "budget reconcile": "names files of the curator",
}
"""Commands without ``--report``, and why."""

WITHOUT_QUIET = {
    "doctor",
    "info",
    "query",
    "verify",
    "audit",
    "studio",
    "budget check",
    "budget create",
    "budget show",
    "budget history",
    "budget list",
    "budget recover",
    "budget forget",
    "budget reconcile",
}
"""Commands that say nothing on standard error but errors."""


def commands() -> dict[str, Any]:
    """Find all commands by what one types."""
    found: dict[str, Any] = {}

    def walk(command: Any, words: tuple[str, ...]) -> None:
        below = getattr(command, "commands", None)
        if below is None:
            found[" ".join(words)] = command
        for name, one in (below or {}).items():
            walk(one, (*words, name))

    for name in (name for panel in OWN.values() for name in panel):
        walk(command_named(name), (name,))
    return found


ALL = commands()


def options(name: str) -> set[str]:
    return {word for parameter in ALL[name].params for word in parameter.opts}


def test_every_command_prints_json() -> None:
    assert [name for name in ALL if "--json" not in options(name)] == []


def test_every_command_has_a_report_or_a_reason() -> None:
    without = {name for name in ALL if "--report" not in options(name)}
    assert without == set(WITHOUT_REPORT)
    told = DOCS.read_text(encoding="utf-8").partition("## Pages")[2]
    for name in ALL:
        assert name.startswith("budget ") or f"`{name}" in told
    for name in set(ALL) - without:
        assert f"`{name}`" in told.partition("`reproduce`")[0]


def test_commands_that_warn_can_be_quiet() -> None:
    assert {name for name in ALL if "--quiet" not in options(name)} == WITHOUT_QUIET


@pytest.mark.parametrize("name", ALL)
def test_every_option_and_argument_has_a_sentence(name: str) -> None:
    for parameter in ALL[name].params:
        told = parameter.help or ""
        assert re.match(r"[A-Z0-9`]|[a-z]", told), parameter.opts
        assert told.endswith("."), (parameter.opts, told)
    assert (ALL[name].help or "").partition("\n")[0].rstrip().endswith(".")
    assert f"discreet {name}" in (ALL[name].epilog or "")


def test_statuses_stand_in_one_place_and_are_those_of_the_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = re.findall(r"^\| (\d+) \| (.+) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number, _ in table] == [int(status) for status in Status]
    said = " ".join(say(capsys, "--help").out.split())
    for number, meaning in table:
        assert f" {number} {meaning.split()[0].rstrip(':;,')}" in f" {said}", number


LONG = [name for name in ALL if "--help-all" in options(name)]


def test_the_commands_with_many_options_have_a_brief_help() -> None:
    assert {name for name in ALL if len(ALL[name].params) > 15} - {"attack", "compare"} == set(LONG)


@pytest.mark.parametrize("name", LONG)
def test_a_brief_help_has_what_is_required_and_two_examples_and_the_whole_help_every_option(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    brief, whole = (say(capsys, name, option).out for option in ("--help", "--help-all"))
    required = [one for one in ALL[name].params if one.required]
    assert all(
        (one.opts[0] if one.opts[0].startswith("-") else one.metavar) in brief for one in required
    )
    # The usage, two examples, and where the rest is.
    assert brief.count(f"discreet {name}") == 4
    assert f"discreet {name} --help-all shows" in " ".join(brief.split())
    listed = {word for one in ALL[name].params for word in one.opts if word.startswith("--")}
    shown = {word for word in listed if re.search(rf"(?<![\w-]){word}(?![\w-])", brief)}
    assert all(word in whole for word in listed)
    assert len(shown) <= 14 < len(listed)


def test_a_whole_help_does_not_run_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "anonymize", "nowhere.csv", "--help-all")
    assert (said.status, said.err) == (0, "")
    assert "--keep-suppressed" in said.out


def test_a_shell_completes_commands_and_options() -> None:
    asked: dict[str, Any] = {"_DISCREET_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    assert start(COMP_WORDS="discreet ver", **asked).stdout.split() == ["verify"]
    asked["COMP_CWORD"] = "2"
    assert start(COMP_WORDS="discreet verify --rep", **asked).stdout.split() == ["--report"]


def test_no_color_means_no_color() -> None:
    colored: dict[str, Any] = dict.fromkeys(("FORCE_COLOR", "TERM"), "xterm-256color")
    plain = start("verify", "--help", **colored)
    assert plain.returncode == 0
    assert not re.search(r"\x1b\[[0-9;]*3\d", plain.stdout)
    loud = subprocess.run(
        [*COMMAND, "verify", "--help"],
        env={name: value for name, value in {**WHERE, **colored}.items() if name != "NO_COLOR"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert re.search(r"\x1b\[[0-9;]*3\d", loud.stdout)


@pytest.mark.parametrize(
    "command", [(), ("attack",), ("verify",), ("budget", "show"), ("reproduce",)]
)
def test_flags_have_no_type(capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    shown = say(capsys, *command, "--help").out
    assert "--help" in shown
    assert "<bool>" not in shown


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        (("attack", "c.channel", "--epsilom", "1"), "the nearest is --epsilon"),
        (("atack", "c.channel"), "the nearest is attack"),
        (("reproduc",), "the nearest is reproduce"),
    ],
)
def test_what_is_misspelt_is_answered_with_the_nearest(
    capsys: pytest.CaptureFixture[str], typed: tuple[str, ...], nearest: str
) -> None:
    said = say(capsys, *typed)
    assert (said.status, said.out) == (2, "")
    assert nearest in said.err
    assert "nearest" not in say(capsys, "attack", "--zzzzzz").err


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (("counts", "p.csv", "--neighbors"), "add-remove-person or replace-person"),
        (("design", "--loss"), "--loss: expected a value (what a wrong report costs"),
        (("counts", "p.csv", "--json=3"), "--json: expected no value, since it is a flag"),
        (("counts", "--metod", "x"), "--metod: expected"),
    ],
)
def test_an_option_without_its_value_is_told_what_it_takes(
    capsys: pytest.CaptureFixture[str], typed: tuple[str, ...], wanted: str
) -> None:
    said = say(capsys, *typed)
    assert (said.status, said.out) == (2, "")
    assert wanted in said.err


def test_the_help_of_judges_names_every_method() -> None:
    for name, unproven in (("attack", False), ("audit", True)):
        (option,) = [one for one in commands()[name].params if one.name == "method"]
        for methods in (COUNT_METHODS, CHANNELS, TABLE_METHODS, CHOICE_METHODS):
            for method, record in (methods if unproven else methods.proven).items():
                assert record.where.startswith("discreet_") or method in option.help, method
        assert "service" in option.help or name == "attack"
    (option,) = [one for one in commands()["audit"].params if one.name == "method"]
    assert DEFAULT in option.help
    assert INSTALL in option.help
