"""Where commands write: whole or not at all, never over what they read, whoever stops reading or running."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet.cli
from cli.commands import say
from discreet.artefact.placing import put_file
from discreet.cli import output
from discreet.cli.files import check_outputs
from discreet.cli.options import JsonOption
from discreet.core.errors import InvalidProblemError
from discreet.report import Chapter, write_report
from warm import COMMAND, WHERE

BASH = shutil.which("bash") or "bash"
DESIGN = ["design", "places.csv", "--x", "x", "--y", "y", "--unit", "km", "--epsilon", "1", "-q"]
GRID = ["design", "--grid", "2x3", "--unit", "km", "--epsilon", "1", "-q"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of its own, with something to read of each kind."""
    monkeypatch.chdir(tmp_path)
    Path("places.csv").write_text("id,x,y,w\na,0,0,1\nb,1,0,2\nc,0,1,3\n", encoding="utf-8")
    Path("prior.csv").write_text("secret,weight\n0,1\n1,2\n2,3\n", encoding="utf-8")
    Path("allowed.txt").write_text("0\n1\n", encoding="utf-8")
    np.savetxt("loss.csv", 1.0 - np.eye(3), delimiter=",")
    pl.DataFrame({"word": ["a", "b"], "p": [0.0, 1.0], "q": [1.0, 0.0]}).write_csv("words.csv")
    pl.DataFrame({"client": [1, 2], "candidate": ["n", "s"]}).write_csv("edges.csv")
    pl.DataFrame({"candidate": ["n", "s"]}).write_csv("candidates.csv")
    Path("city.mechanism").write_text("x", encoding="utf-8")
    Path("places.csv-journal").write_text("x", encoding="utf-8")


CHOOSE = ["select", "--coverage", "edges.csv", "--candidates", "candidates.csv"]
CHOOSE += ["--matroid", "uniform:1", "--epsilon", "1", "--neighbors", "add-remove-one"]

COUNTS = ["counts", "edges.csv", "--unit", "client", "--regions", "candidate", "--max-size", "3"]
COUNTS += ["--region-list", "candidates.csv", "--epsilon", "1", "--neighbors", "add-remove-person"]

LEDGER = ["--ledger", "places.csv", "--dataset", "d"]

OVER = {
    "the journal of a ledger": ([*COUNTS, *LEDGER, "-o"], "places.csv-journal", "--output"),
    "places": ([*DESIGN, "-o"], "places.csv", "--output"),
    "places by another name": ([*DESIGN, "-o"], "./places.csv", "--output"),
    "a page over places": ([*DESIGN, "--report"], "places.csv", "--report"),
    "a prior": ([*DESIGN, "--prior", "prior.csv", "-o"], "prior.csv", "--output"),
    "one of the priors": (
        [*DESIGN, "--priors", "uniform,prior.csv", "-o"],
        "prior.csv",
        "--output",
    ),
    "a loss": ([*DESIGN, "--loss", "loss.csv", "--report"], "loss.csv", "--report"),
    "reports": ([*DESIGN, "--reports", "allowed.txt", "-o"], "allowed.txt", "--output"),
    "words": (
        ["design", "--embeddings", "words.csv", "--epsilon", "1", "-o"],
        "words.csv",
        "--output",
    ),
    "a comparison": (["compare", *DESIGN[1:], "--report"], "places.csv", "--report"),
    "edges": ([*CHOOSE, "--report"], "edges.csv", "--report"),
    "candidates": ([*CHOOSE, "--report"], "candidates.csv", "--report"),
    "an audited file": (["audit", "city.mechanism", "--report"], "city.mechanism", "--report"),
    "an attacked file": (["attack", "city.mechanism", "--report"], "city.mechanism", "--report"),
    "a second table": (
        ["attack", "out.csv", "--again", "places.csv", "--report"],
        "places.csv",
        "--report",
    ),
    "a table": (
        ["anonymize", "places.csv", "-k", "2", "--quasi", "x", "-o"],
        "places.csv",
        "--output",
    ),
    "a page over a table": (
        ["anonymize", "places.csv", "-k", "2", "--quasi", "x", "--report"],
        "places.csv",
        "--report",
    ),
    "a table larger than memory": (
        ["anonymize", "places.csv", "-k", "2", "--quasi", "x", "--memory", "1GB", "-o"],
        "./places.csv",
        "--output",
    ),
    "a taxonomy": (
        ["anonymize", "places.csv", "-k", "2", "--quasi", "x", "--taxonomy", "x=prior.csv", "-o"],
        "prior.csv",
        "--output",
    ),
    "a taxonomy of risks": (
        ["risk", "places.csv", "--quasi", "x", "--taxonomy", "x=prior.csv", "--report"],
        "prior.csv",
        "--report",
    ),
    "regions": ([*COUNTS, "-o"], "candidates.csv", "--output"),
    "people": ([*COUNTS, "--measurements"], "edges.csv", "--measurements"),
    "a ledger": (
        [*COUNTS, "--ledger", "prior.csv", "--dataset", "d", "--report"],
        "prior.csv",
        "--report",
    ),
    "a mechanism": (
        ["serve", "--mechanism", "city.mechanism", "--port", "0", "-o"],
        "city.mechanism",
        "--output",
    ),
}


@pytest.mark.parametrize(("command", "over", "option"), OVER.values(), ids=OVER)
def test_nothing_is_written_over_what_is_read(
    capsys: pytest.CaptureFixture[str], command: list[str], over: str, option: str
) -> None:
    before = Path(over).read_bytes()
    said = say(capsys, *command, over)
    assert (said.status, said.out) == (2, "")
    assert f"{option}: expected a file of its own" in said.err
    assert Path(over).read_bytes() == before


def test_links_to_what_is_read_are_what_is_read() -> None:
    Path("soft.csv").symlink_to("places.csv")
    os.link("places.csv", "hard.csv")
    for name in ("soft.csv", "hard.csv"):
        with pytest.raises(InvalidProblemError, match="--output: expected a file of its own"):
            check_outputs({"--output": name}, "places.csv")


def test_what_stands_beside_a_table_is_not_written_over() -> None:
    Path("out.csv.discreet.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="--report: expected a file of its own"):
        check_outputs({"--report": "out.csv.discreet.json"}, "out.csv")


def test_two_outputs_do_not_go_to_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, *GRID, "-o", "one", "--report", "./one")
    assert said.status == 2
    assert "--report: expected a file of its own" in said.err
    assert not Path("one").exists()


def test_an_output_that_is_no_plain_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    Path("there").mkdir()
    for name in ("pipe", "there", "none/c.channel", "places.csv/c.channel"):
        said = say(capsys, *GRID, "-o", name)
        assert (said.status, said.out) == (2, "")
        assert "--output: expected a file in a folder that can be written" in said.err
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)


def test_what_is_write_protected_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is root may write everywhere: the system's answer is replaced by another user's."""

    def may(path: object, mode: int) -> bool:
        return "locked" not in str(path) or mode != os.W_OK

    monkeypatch.setattr("discreet.cli.files.os.access", may)
    Path("locked.html").write_text("mine", encoding="utf-8")
    Path("locked").mkdir()
    for name in ("locked.html", "locked/page.html"):
        with pytest.raises(InvalidProblemError, match="--report: expected a file in a folder"):
            check_outputs({"--report": name})


def test_a_file_is_replaced_whole_and_keeps_its_permissions() -> None:
    target = Path("page.html")
    target.write_text("before", encoding="utf-8")
    target.chmod(0o600)
    write_report([Chapter("Now", "now", "<p>After.</p>")], target)
    assert "After." in target.read_text(encoding="utf-8")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_file_that_could_not_be_finished_is_what_it_was(
    monkeypatch: pytest.MonkeyPatch, stop: BaseException
) -> None:
    target = Path("page.html")
    target.write_text("before", encoding="utf-8")
    names = set(Path.cwd().iterdir())

    def full(number: int) -> None:
        assert number >= 0
        raise stop

    monkeypatch.setattr("discreet.artefact.placing.os.fsync", full)
    with pytest.raises(type(stop)):
        put_file(target, b"after")
    assert target.read_text(encoding="utf-8") == "before"
    assert set(Path.cwd().iterdir()) == names


def test_a_page_that_cannot_be_finished_names_its_option(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.report.write_report", full)
    said = say(capsys, *GRID, "--report", "page.html")
    assert (said.status, said.out) == (2, "")
    assert "--report: expected a file that can be written, got page.html: No space" in said.err


def test_the_demo_does_not_replace_files_that_are_not_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def build(out: str, **_: object) -> object:
        built.append(out)
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.report.demo.build_demo", build)
    # A folder without the names of the demo, one with nothing else, one with its page beside other files.
    for name in ("other/notes.txt", "old/patients.csv", "more/notes.txt"):
        Path(name).parent.mkdir()
        Path(name).write_text("x", encoding="utf-8")
    write_report([Chapter("Demo", "demo", "<p>Old.</p>")], "more/index.html")
    for name in ("new", "other", "old", "more"):
        assert say(capsys, "demo", "-o", name).status == 130
    assert built == ["new", "other", "old", "more"]
    Path("patients.csv").write_text("mine", encoding="utf-8")
    refused = say(capsys, "demo", "-o", ".")
    assert refused.status == 2
    assert "--output: expected a folder that is new, empty or of an earlier demo" in refused.err
    Path("index.html").write_text("my page", encoding="utf-8")
    assert say(capsys, "demo", "-o", ".").status == 2
    assert len(built) == 4


@pytest.mark.parametrize("as_json", [True, False])
def test_ctrl_c_says_what_stands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, as_json: bool
) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.cli.verify.judge", pressed)
    said = say(capsys, "verify", "c.channel", *(["--json"] if as_json else []))
    assert (said.status, said.out, said.err.count("\n")) == (130, "", 1)
    if as_json:
        assert json.loads(said.err)["error"]["status"] == 130
    assert "interrupted; what was written before is whole" in said.err


def test_ctrl_c_while_modules_are_loaded_ends_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Pressed:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "discreet.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "discreet.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Pressed(), *sys.meta_path])
    with pytest.raises(SystemExit) as caught:
        discreet.cli.main()
    assert caught.value.code == 130


LOST = """
import time
import discreet.cli
import discreet.cli.app

class Lost:
    def __init__(self, error):
        self.error = error

    def __del__(self):
        raise self.error

def work(arguments):
    Lost(ValueError("odd"))
    Lost(KeyboardInterrupt())
    for _ in range(3000):
        time.sleep(0.01)

discreet.cli.app.run = work
discreet.cli.main()
"""


def test_ctrl_c_that_falls_into_a_callback_is_not_lost() -> None:
    """Other errors of callbacks are told, but for their words."""
    done = subprocess.run(
        [sys.executable, "-c", LOST], env=WHERE, capture_output=True, check=False, timeout=60
    )
    assert done.returncode != 0
    assert b"a failure aside, please report it: ValueError at __main__:" in done.stderr
    assert b"odd" not in done.stderr.partition(b"Traceback")[0]
    assert b"Exception ignored" not in done.stderr
    assert done.stderr.rstrip().endswith(b"KeyboardInterrupt")


PRINT = """
import sys
from discreet.cli import _open_streams
from discreet.cli.options import JsonOption
from discreet.cli.output import emit, fail, warn
_open_streams()
try:
    for _ in range(3):
        emit("none", JsonOption(), {}, "x" * 100_000)
        warn("still at work")
    with open("done", "w", encoding="utf-8") as file:
        file.write("é")
    emit("none", JsonOption(), {}, "caf\\u00e9")
except Exception as error:
    sys.exit(fail(error, as_json=True))
sys.exit(1)
"""


def printed(shell: str) -> subprocess.CompletedProcess[str]:
    """Run a small program that prints much, in a shell, so that its streams are real ones."""
    program = f'"{sys.executable}" -c "$PRINT"'
    return subprocess.run(
        [BASH, "-c", shell.format(program=program)],
        env={**WHERE, "PRINT": PRINT},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_reader_that_stops_changes_neither_the_work_nor_the_status() -> None:
    """A failed check is 1 through ``| head`` too."""
    done = printed("({program}; echo $? > status) | head -c 1")
    assert Path("status").read_text(encoding="utf-8") == "1\n"
    assert (done.stdout, done.stderr) == ("x", "discreet: still at work\n" * 3)
    assert Path("done").exists()
    done = printed("({program} 2>&1 >/dev/null; echo $? > status) | head -c 8")
    assert (done.stdout, Path("status").read_text(encoding="utf-8")) == ("discreet", "1\n")


def test_streams_that_are_closed_are_not_taken_for_files() -> None:
    assert printed("{program} >&- 2>&- <&-").returncode == 1
    assert Path("done").read_text(encoding="utf-8") == "é"


def test_what_a_terminal_cannot_show_is_spelled_out() -> None:
    done = printed("PYTHONIOENCODING=ascii {program}")
    assert done.stdout.endswith("caf\\xe9\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_output_without_room_is_one_line_of_error() -> None:
    done = printed("{program} >/dev/full")
    assert done.returncode == 2
    said = json.loads(done.stderr)["error"]
    assert said["argument"] == "standard output"
    assert "No space left on device" in said["message"]
    assert not Path("done").exists()


def test_the_real_command_ends_quietly_when_its_reader_stops() -> None:
    command = [*COMMAND[:2], f"'{COMMAND[2]}'"]
    shell = f"({' '.join(command)} verify nothing 2>&1; echo $? > status) | true"
    done = subprocess.run(
        [BASH, "-c", shell], env=WHERE, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert Path("status").read_text(encoding="utf-8") == "2\n"


def test_only_broken_streams_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit("none", JsonOption(as_json=False), {}, "text")
    output.warn("said")
    output.warn("not said", quiet=True)
    assert capsys.readouterr() == ("text\n", "discreet: said\n")


LONG = "x" * 5000
"""Longer than any path."""

WIDE = f"{'y' * 240}.csv"
"""A name that a file can have, and the file beside which it is written cannot."""


@pytest.mark.parametrize(
    ("line", "argument"),
    [
        ([*DESIGN, "-o", LONG], "--output"),
        ([*DESIGN, "--report", WIDE], "--report"),
        ([*DESIGN, "--prior", LONG], "--prior"),
        ([*COUNTS, "-o", WIDE], "--output"),
        ([*COUNTS, "--ledger", LONG, "--dataset", "d"], "LEDGER"),
        ([*CHOOSE, "--report", LONG], "--report"),
        (["verify", LONG], "a path"),
        (["verify", f"{'y' * 300}.csv"], "a path"),
        (["audit", LONG], "a path"),
        (["attack", LONG], "a path"),
        (["demo", "-o", LONG], "-o"),
        (["demo", f"--output={LONG}"], "--output"),
        (["risk", f"{'y' * 300}.csv", "--quasi", "x"], "a path"),
        (["serve", "--grid", "2x2", "--epsilon", "1/km", "--port", "0", "-o", LONG], "--output"),
        (["studio", "--ledger", LONG, "--no-browser"], "--ledger"),
        (["budget", "show", LONG], "LEDGER"),
        (["budget", "create", LONG, "--dataset", "d", "--epsilon", "1", "--unit", "km"], "LEDGER"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else value,
)
def test_a_path_that_is_too_long_is_refused_in_one_sentence(
    line: list[str], argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is read, charged or written."""
    before = sorted(os.listdir())  # noqa: PTH208 - names
    said = say(capsys, *line, "--json")
    assert (said.status, said.out) == (2, "")
    assert said.err.count("\n") == 1
    told = json.loads(said.err)["error"]
    assert told["argument"] == argument
    assert "Traceback" not in said.err
    assert sorted(os.listdir()) == before  # noqa: PTH208
