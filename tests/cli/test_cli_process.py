"""The real command, in a process of its own; each command once."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import discreet.cli
import warm
from cli.commands import say
from discreet.artefact.judging import JUDGES
from discreet.cli import demo
from discreet.cli.app import run
from discreet.cli.commands import OWN
from discreet.cli.output import Status, fail
from discreet.core.certificate import Certificate
from discreet.core.errors import (
    BudgetError,
    CertificateError,
    InfeasibleError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)
from discreet.core.lazy import registered
from discreet.core.progress import Progress
from discreet.evaluate.registry import ATTACKS, AUDITS, FRONTIERS
from discreet.metricdp.methods import METHODS
from warm import COMMAND, WHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]


def start(
    *arguments: object, code: Sequence[str] = COMMAND, cwd: Path | None = None, **where: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, with `where` in its environment; other code in one that is begun anew.

    The process of the command is a fork where that is the same.
    """
    line = warm.command(env={**WHERE, **where}) if code is COMMAND else code
    return warm.begin(*line, *arguments, cwd=cwd, env={**WHERE, **where})


def test_a_command_s_output_is_the_next_command_s_input(tmp_path: Path) -> None:
    path = tmp_path / "c.channel"
    line = "--grid 7x7 --cell 1 --unit km --epsilon 2 --radius 2 --loss euclidean"
    made = start("design", *line.split(), "-o", path, "--json", "--quiet")
    assert (made.returncode, made.stderr) == (0, "")
    assert json.loads(made.stdout)["gap"] <= 0.01
    told = start("info", path, "--json")
    assert (told.returncode, json.loads(told.stdout)["sizes"]["secrets"]) == (0, 49)
    drawn = start("sample", path, "--secret", 17, "-n", 5)
    assert (drawn.returncode, len(drawn.stdout.splitlines())) == (0, 5)
    assert "5 times epsilon" in drawn.stderr
    checked = start("verify", path, "--json")
    assert checked.returncode == 0
    assert json.loads(checked.stdout)["passed"] is True
    assert start("verify", path, "--optimality").returncode == 0
    alone = subprocess.run(
        [sys.executable, ROOT / "verify_standalone.py", path], capture_output=True, check=False
    )
    assert alone.returncode == 0


def test_without_the_extra_one_line_says_what_to_install() -> None:
    code = "import sys\nsys.modules['typer'] = None\nfrom discreet.cli import main\nmain()"
    done = start("info", "c", code=[sys.executable, "-c", code])
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install "typer>=' in done.stderr
    assert [line for line in done.stderr.splitlines() if "is running" not in line] == [
        next(line for line in done.stderr.splitlines() if "pip install" in line)
    ]


def test_another_missing_module_is_not_blamed_on_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "discreet.cli.app", None)
    with pytest.raises(ModuleNotFoundError, match="discreet.cli.app"):
        discreet.cli.main()


def test_main_exits_with_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["discreet", "info", "missing"])
    with pytest.raises(SystemExit) as caught:
        discreet.cli.main()
    assert caught.value.code == 2


PRESS = """
import contextlib, signal
from discreet.cli import design, main

@contextlib.contextmanager
def press(stream, *, quiet, **_):
    yield lambda step: signal.raise_signal(signal.SIGINT)

design.progress = press
main()
"""


def test_an_interrupt_ends_in_130_and_leaves_the_best_verified_design(tmp_path: Path) -> None:
    """A real signal, as soon as the first method has ended."""
    path = tmp_path / "c.channel"
    line = "design --grid 6x6 --cell 1 --unit km --epsilon 1 --radius 2 --gap 1e-9"
    done = start(*line.split(), "-o", path, "--json", code=[sys.executable, "-c", PRESS])
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["interrupted"] is True
    assert run(["verify", str(path), "--json"]) == Status.DONE


def commands() -> list[str]:
    return [name for panel in OWN.values() for name in panel if name != "budget"]


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands() == [
        "design",
        "sample",
        "info",
        "serve",
        "locate",
        "counts",
        "query",
        "anonymize",
        "risk",
        "select",
        "verify",
        "audit",
        "attack",
        "compare",
        "demo",
        "doctor",
        "studio",
    ]
    for name in commands():
        said = say(capsys, name, "--help")
        assert said.status == 0
        assert f"discreet {name}" in " ".join(said.out.split())
    everything = say(capsys)
    assert everything.status == 0
    assert everything.out == say(capsys, "--help").out
    assert all(name in everything.out for name in commands())


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "--version")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("discreet ")


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["design", "a", "b", "--epsilon", "1"], ["--nonsense"]]
)
def test_arguments_that_make_no_sense(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    said = say(capsys, *arguments)
    assert (said.status, said.out) == (2, "")
    assert said.err.count("\n") == 1


ERRORS = {
    CertificateError(Certificate(())): 1,
    InvalidProblemError("x", "y", "z"): 2,
    InfeasibleError("no channel"): 3,
    LimitReachedError("time"): 4,
    BudgetError("spent"): 5,
    SolverError("HiGHS", "unbounded"): 70,
    ZeroDivisionError("bug"): 70,
}


@pytest.mark.parametrize(("error", "status"), ERRORS.items(), ids=lambda e: type(e).__name__)
def test_each_error_has_its_status(
    capsys: pytest.CaptureFixture[str], error: Exception, status: int
) -> None:
    assert fail(error, as_json=True) == status
    line = capsys.readouterr().err.splitlines()[-1]
    assert json.loads(line)["error"]["status"] == status
    assert fail(error, as_json=False) == status
    assert capsys.readouterr().err.splitlines()[-1].startswith("discreet: ")


def test_every_registered_function_is_there() -> None:
    for table in (METHODS.proven, JUDGES, AUDITS, ATTACKS, FRONTIERS):
        for name in table:
            assert callable(registered(table, name, "--name"))


def test_a_name_that_is_not_registered_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="--table: expected one of a, b, got 'c'"):
        registered({"b": "math:sqrt", "a": "math:exp"}, "c", "--table")


def test_the_demo_is_built_where_it_was_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The builder has tests of its own; here only what it is asked for and what is said."""
    demo = importlib.import_module("discreet.report.demo")

    def build(out: str, **options: Any) -> object:
        if (report := options.pop("on_progress")) is not None:
            report(Progress(0.0, "Making a city", done=0, total=9))
        assert callable(options.pop("attack_mode"))
        assert (out, options) == (str(tmp_path / "demo"), {"seed": 5})
        files = [(Path(out, name),) for name in ("city.channel", "census.csv")]
        return demo.Demo(Path(out, "index.html"), *files, {"city": 1.5})

    monkeypatch.setattr(demo, "build_demo", build)
    said = say(capsys, "demo", "-o", tmp_path / "demo", "--seed", 5, "--json")
    assert (said.status, said.err) == (0, "discreet: 0 s, Making a city, 0 of 9\n")
    assert said.data == {
        "command": "demo",
        "page": str(tmp_path / "demo" / "index.html"),
        "channels": [str(tmp_path / "demo" / "city.channel")],
        "tables": [str(tmp_path / "demo" / "census.csv")],
        "seconds": {"city": 1.5},
    }
    assert say(capsys, "demo", "-o", tmp_path / "demo", "--seed", 5, "-q").err == ""


@pytest.mark.slow
def test_the_demo_is_one_command(tmp_path: Path) -> None:
    done = start("demo", "-o", tmp_path / "demo", "--json")
    assert done.returncode == 0
    assert (tmp_path / "demo" / "index.html").is_file()
    for path in json.loads(done.stdout)["channels"]:
        assert run(["verify", path]) == Status.DONE


def test_a_demo_that_cannot_be_written_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    said = say(capsys, "demo", "-o", tmp_path / "file" / "demo")
    assert (said.status, said.out) == (2, "")
    assert "--output: expected a folder that can be written" in said.err
    assert demo.demo.__doc__


def test_rows_are_those_of_a_grid_only_where_a_grid_was_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = InvalidProblemError("rows", "at least k of them", 3)
    fail(error, as_json=False)
    assert capsys.readouterr().err == "discreet: rows: expected at least k of them, got 3\n"
    fail(error, as_json=False, grid=True)
    assert capsys.readouterr().err.startswith("discreet: --grid: ")
