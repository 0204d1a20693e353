"""A user's first hour: the first commands work on files that a command makes, and ``doctor`` names what is missing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warm
from cli.commands import say
from cli.test_cli_process import start
from discreet.cli import doctor as cli_doctor
from discreet.cli.app import FILES, FIRST

ROOT = Path(__file__).parents[2]
MODULE = (sys.executable, "-m", "discreet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first") / "first"
    done = start("demo", "--files", folder)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("discreet")] == [
        f"discreet {line}" for line in FIRST
    ]
    return folder


@pytest.mark.parametrize("line", [line for line in FIRST if not line.startswith("serve")])
def test_each_first_command_works_on_files_that_a_command_made(
    made: Path, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(made)
    done = say(capsys, *line.split(), "-q")
    assert done.status == 0, done.err
    assert done.out


def test_the_first_server_answers(made: Path) -> None:
    line = FIRST[-1].replace("8080", "0")
    process = subprocess.Popen(
        [*warm.command(), *line.split()],
        cwd=made,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=warm.WHERE,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert re.match(r"http://127\.0\.0\.1:\d+ publishes a mechanism for \d+ places", said)
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_help_the_bare_command_and_the_readme_show_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = {"bare": say(capsys).out, "help": say(capsys, "--help").out}
    shown["readme"] = (ROOT / "README.md").read_text(encoding="utf-8")
    for line in (FILES, *FIRST):
        words = f"discreet {line}".split()
        for where, text in shown.items():
            assert " ".join(words) in " ".join(text.split()), where


def test_files_of_the_same_name_are_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "patients.csv").write_text("mine", encoding="utf-8")
    done = say(capsys, "demo", "--files", tmp_path)
    assert (done.status, list(tmp_path.iterdir())) == (2, [tmp_path / "patients.csv"])
    assert "--files: expected a folder without files of these names" in done.err
    assert (tmp_path / "patients.csv").read_text(encoding="utf-8") == "mine"


def test_the_module_is_the_command() -> None:
    assert start("--version", code=MODULE).stdout.startswith("discreet ")


def test_the_doctor_finds_this_installation_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    done = say(capsys, "doctor", "--json")
    told = json.loads(done.out)
    assert (done.status, told["broken"]) == (0, [])
    states = {one["name"]: one["state"] for one in told["findings"]}
    assert states["numba"] == states["processors"] == states["for serve and locate"] == "ok"
    assert all(bool(one["cure"]) == (one["state"] != "ok") for one in told["findings"])


def test_the_doctor_has_a_cure_for_each_thing_that_it_misses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_doctor, "_version", lambda name: "" if name == "highspy" else "1")
    monkeypatch.setattr(cli_doctor, "_can_write", lambda _: False)
    monkeypatch.setattr(
        cli_doctor, "missing_packages", lambda extra: ["httpx"] if extra == "service" else []
    )
    done = say(capsys, "doctor")
    assert done.status == 1
    for said in (
        r"broken +highspy +not installed\n +cure: pip install highspy",
        r"missing +compiled code +no folder keeps it .*\n +cure: export NUMBA_CACHE_DIR=",
        r"missing +for serve and locate +not httpx\n +cure: pip install ",
        r"broken: highspy",
    ):
        assert re.search(said, done.out), done.out


def test_the_doctor_makes_no_folder(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = start("doctor", code=MODULE, NUMBA_CACHE_DIR=str(kept))
    assert re.search(rf"compiled code +none yet in {re.escape(str(kept))}", done.stdout)
    assert not kept.exists()


def test_the_doctor_sees_folders_that_cannot_be_written(tmp_path: Path) -> None:
    where = {
        "NUMBA_CACHE_DIR": "/proc/1/none",
        "PYTHONUTF8": "0",
        "PYTHONIOENCODING": "latin-1",
    }
    done = start("doctor", "--json", code=MODULE, cwd=tmp_path, **where)
    states = {one["name"]: one["state"] for one in json.loads(done.stdout)["findings"]}
    assert (done.returncode, states["compiled code"], states["letters"]) == (
        0,
        "missing",
        "missing",
    )
    assert list(tmp_path.iterdir()) == []
