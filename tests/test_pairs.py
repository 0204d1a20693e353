"""A table and its record are two files: when a run is killed, what is there is one pair or the other, and is told."""

from __future__ import annotations

import json
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from cli.commands import say
from discreet.artefact import load_anonymous, save_anonymous
from discreet.artefact import placing as placing_module
from discreet.artefact.sidecar import interruption_of, kind_of, read_meta, sidecar_of, table_content
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity.problem import Numeric
from discreet.tables.rooms import PREFIX, remove_left_behind
from kanonymity.tables import anonymize_kept as anonymize
from warm import COMMAND, WHERE

if TYPE_CHECKING:
    from discreet.core.outcome import Anonymization

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed as on POSIX")

ROWS = pl.DataFrame({"age": [30 + i for i in range(12)], "ill": ["a", "b"] * 6})
AGE = (Numeric("age"),)


@cache
def made(k: int) -> Anonymization[Any, Any]:
    return anonymize(ROWS, KAnonymity(k, ("age",)), attributes=AGE)


WRITE = """
import io, os, shutil, signal, sys
from dataclasses import replace
from pathlib import Path
import polars as pl
from discreet.artefact import save_anonymous
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity import anonymize
from discreet.kanonymity.problem import Numeric

STEPS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod"}
root = Path(sys.argv[1])
rows = pl.read_csv(root / "rows.csv")
made = anonymize(rows, KAnonymity(3, ("age",)), attributes=(Numeric("age"),), sensitive=["ill"])
written = io.BytesIO()
made.table.write_csv(written)

class Table:
    # Threads of the reader of tables do not come along when a process is forked.
    height, schema = made.table.height, made.table.schema
    def write_csv(self):
        return written.getvalue().decode()

made = replace(made, table=Table())

def write(path, last):
    taken = []
    def step(event, arguments):
        if event in STEPS and str(path.parent) in str(arguments[0]):
            taken.append(event)
            if len(taken) == last:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(step)
    save_anonymous(made, path, (Numeric("age"),))

for case in sorted(root.iterdir()):
    last, killed = 0, case.is_dir()
    while killed:
        last += 1
        folder = case / f"step-{last:03d}"
        shutil.copytree(case / "before", folder)
        child = os.fork()
        if child == 0:
            write(folder / "out.csv", last)
            os._exit(0)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
"""
"""Writes a table over what stands in a folder again and again, and is killed before one more step each time."""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of cases, each with a folder for each step at which a process was killed; the last one ended."""
    root = tmp_path_factory.mktemp("killed")
    ROWS.write_csv(root / "rows.csv")
    for case in ("csv", "nothing"):
        (root / case / "before").mkdir(parents=True)
    save_anonymous(made(2), root / "csv" / "before" / "out.csv", AGE)
    subprocess.run([sys.executable, "-c", WRITE, root], env=WHERE, check=True, timeout=300)
    return root


BEFORE = "interrupted before it did; it is the table from before, with its own record"
AFTER = "interrupted after its table was in place; both are whole"


def test_at_every_step_a_killed_run_leaves_the_pair_before_or_the_new_one(
    capsys: pytest.CaptureFixture[str], killed: Path
) -> None:
    told = []
    before, folders = killed / "csv" / "before", sorted((killed / "csv").glob("step-*"))
    for folder in folders:
        path = folder / "out.csv"
        found, why = load_anonymous(path), interruption_of(path)
        assert not found.altered
        same = path.read_bytes() == (before / "out.csv").read_bytes()
        assert found.guarantee.k == (2 if same else 3)
        for each in folder.rglob("*"):
            if PREFIX in str(each.relative_to(folder)):
                assert not stat.S_IMODE(each.stat().st_mode) & 0o077, each
        state = next((state for state in (BEFORE, AFTER) if state in why), why)
        if (found.guarantee.k, state) not in told:
            told.append((found.guarantee.k, state))
            _is_said_and_mended(capsys, path, killed / "rows.csv")
    assert told == [(2, ""), (2, BEFORE), (3, AFTER), (3, "")]
    assert len(folders) > 20


def _is_said_and_mended(capsys: pytest.CaptureFixture[str], path: Path, rows: Path) -> None:
    """See that ``verify`` passes and says what it is; that the next run says so too, and leaves a pair of its own."""
    why = interruption_of(path)
    said = say(capsys, "verify", path, "--json")
    assert said.status == 0
    assert said.data.get("interrupted", "") == why
    assert (f"interrupted  {why}" in say(capsys, "verify", path).out) is bool(why)
    again = say(
        capsys, "anonymize", rows, "-k", 4, "--quasi", "age", "--sensitive", "ill", "-o", path, "-q"
    )
    assert again.status == 0
    assert again.err == (f"discreet: {path}: {why}; this run writes it anew\n" if why else "")
    assert load_anonymous(path).guarantee.k == 4
    assert interruption_of(path) == ""
    left = {each.name for each in path.parent.iterdir()} - {path.name, sidecar_of(path).name}
    # A room that did not have its lock yet may be another run's; it holds nothing, and goes a day later.
    assert all(name.startswith(PREFIX) for name in left)
    assert {each.name for room in left for each in (path.parent / room).iterdir()} <= {"lock.new"}


def test_at_every_step_of_a_first_run_what_is_missing_is_told(
    capsys: pytest.CaptureFixture[str], killed: Path
) -> None:
    seen, judged = set(), set()
    for folder in sorted((killed / "nothing").glob("step-*")):
        path = folder / "out.csv"
        state = [one.exists() and one.read_bytes() for one in (path, sidecar_of(path))]
        if tuple(state) in judged:
            continue
        judged.add(tuple(state))
        said = say(capsys, "verify", path)
        if sidecar_of(path).exists() and said.status != 0:
            assert said.status == 2
            assert "run the command that writes it again" in said.err
            assert "before it was there" in said.err
            seen.add("begun")
        elif said.status == 0:
            assert load_anonymous(path).guarantee.k == 3
            seen.add("interrupted" if AFTER in said.out else "whole")
        else:
            assert said.status == 2
            assert "with its .discreet.json beside it" in said.err
            seen.add("nothing yet")
    assert seen == {"nothing yet", "begun", "interrupted", "whole"}


def unfinished(path: Path) -> dict[str, object]:
    """Leave a pair as a run does that is killed before it renames the table; give its record."""
    if not path.exists():
        save_anonymous(made(2), path, AGE)
    with pytest.MonkeyPatch.context() as patch:

        def stop(*_: object) -> None:
            raise RuntimeError

        patch.setattr("discreet.artefact.sidecar.put_in_place", stop)
        with pytest.raises(RuntimeError):
            save_anonymous(made(3), path, AGE)
    record: dict[str, object] = json.loads(sidecar_of(path).read_text(encoding="utf-8"))
    return record


def test_a_file_from_before_that_had_no_record_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "out.csv"
    path.write_text("mine\n", encoding="utf-8")
    unfinished(path)
    said = say(capsys, "verify", path)
    assert said.status == 2
    assert "it is the table from before, which had no record" in said.err
    assert path.read_text(encoding="utf-8") == "mine\n"


def test_a_pair_that_was_interrupted_again_and_again_stays_a_pair(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    sizes = []
    for _ in range(3):
        unfinished(path)
        sizes.append(sidecar_of(path).stat().st_size)
        assert load_anonymous(path).guarantee.k == 2
    # The record of the record before does not pile up.
    assert max(sizes) == min(sizes)


def test_a_table_that_is_neither_is_refused_and_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "out.csv"
    unfinished(path)
    with path.open("a") as file:
        file.write("30,a\n")
    said = say(capsys, "verify", path, "--json")
    assert said.status == 1
    assert "neither the table before nor the new one" in said.data["interrupted"]
    failed = [check["name"] for check in said.data["checks"] if not check["passed"]]
    assert "bytes that differ from those written" in failed


@pytest.mark.parametrize(
    "former",
    [
        None,
        1,
        [],
        {},
        {"sha256": "a"},
        {"sha256": 1, "record": None},
        {"sha256": None, "record": 1},
    ],
    ids=str,
)
def test_a_record_that_misstates_what_was_there_is_not_whole(
    tmp_path: Path, former: object
) -> None:
    path = tmp_path / "out.csv"
    record = unfinished(path)
    sidecar_of(path).write_text(json.dumps({**record, "unfinished": former}), encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="a whole .discreet.json"):
        read_meta(path)
    assert interruption_of(path) == ""
    save_anonymous(made(3), path, AGE)
    assert load_anonymous(path).guarantee.k == 3


def test_the_record_before_is_judged_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    record = unfinished(path)
    former = record["unfinished"]
    assert isinstance(former, dict)
    former["record"] = "{}"
    sidecar_of(path).write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InvalidProblemError, match="a discreet artefact"):
        kind_of(path)


@pytest.mark.parametrize("had", [True, False])
def test_a_disk_that_refuses_the_table_leaves_the_pair_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, had: bool
) -> None:
    path = tmp_path / "out.csv"
    if had:
        save_anonymous(made(2), path, AGE)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}

    def refuse(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("discreet.artefact.sidecar.put_in_place", refuse)
    with pytest.raises(InvalidProblemError, match="Input/output error"):
        save_anonymous(made(3), path, AGE)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_a_signal_between_the_two_renames_is_heard_after_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "out.csv"
    save_anonymous(made(2), path, AGE)
    put, heard = placing_module.put_in_place, signal.getsignal(signal.SIGINT)

    def press(new: Path, where: Path) -> None:
        put(new, where)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("discreet.artefact.sidecar.put_in_place", press)
    with pytest.raises(KeyboardInterrupt):
        save_anonymous(made(3), path, AGE)
    assert signal.getsignal(signal.SIGINT) is heard
    assert load_anonymous(path).guarantee.k == 3
    assert interruption_of(path) == ""
    assert {each.name for each in tmp_path.iterdir()} == {"out.csv", "out.csv.discreet.json"}


def test_an_ending_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="ends in .csv, .parquet"):
        table_content(ROWS, ".txt", "anonymous-table", {})


@pytest.mark.slow
def test_of_runs_that_are_killed_at_random_none_leaves_an_undecided_pair(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Real commands: a wide table, so that many are killed while they write."""
    rows = pl.DataFrame({"age": [20 + i % 50 for i in range(5_000)]})
    rows = rows.with_columns(pl.lit(f"text {i}").alias(f"c{i}") for i in range(60))
    rows.write_csv(tmp_path / "rows.csv")
    path = tmp_path / "out" / "out.csv"
    draw = random.Random(20)  # noqa: S311 - when a process is killed
    path.parent.mkdir()
    line = [
        "anonymize",
        tmp_path / "rows.csv",
        "--quasi",
        "age",
        "--keep",
        ",".join(rows.columns[1:]),
        "--method",
        "mondrian",
        "-o",
        path,
    ]

    def command(k: int) -> list[str]:
        return [*COMMAND, *map(str, line), "-k", str(k)]

    began = time.monotonic()
    subprocess.run(command(2), env=WHERE, check=True, capture_output=True)
    whole, interrupted, kept = time.monotonic() - began, 0, 2
    for turn in range(25):
        process = subprocess.Popen(
            command(3 + turn), env=WHERE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(draw.uniform(0.5, 1.1) * whole)
        process.kill()
        process.wait()
        said = say(capsys, "verify", path, "--json")
        assert said.status == 0
        k = load_anonymous(path).guarantee.k
        assert k in (kept, 3 + turn)
        interrupted, kept = interrupted + ("interrupted" in said.data), k
    assert kept > 2
    remove_left_behind(path.parent)
    assert {each.name for each in path.parent.iterdir()} == {"out.csv", "out.csv.discreet.json"}
    shutil.rmtree(path.parent)
    assert list(tmp_path.iterdir()) == [tmp_path / "rows.csv"]


def test_a_signal_that_came_before_an_error_is_handled() -> None:
    heard: list[int] = []
    former = signal.signal(signal.SIGTERM, lambda *caught: heard.append(caught[0]))

    def fail_after_a_signal() -> None:
        with placing_module.uninterrupted():
            signal.raise_signal(signal.SIGTERM)
            assert not heard
            raise OSError("no room")

    try:
        with pytest.raises(OSError, match="no room"):
            fail_after_a_signal()
    finally:
        signal.signal(signal.SIGTERM, former)
    assert heard == [signal.SIGTERM]
