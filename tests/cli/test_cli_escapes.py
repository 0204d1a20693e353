"""Whatever escapes is one line and a status: panics, aborts and memory, without the words of who failed."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from cli.commands import say
from cli.hostile import on_mars, swollen
from cli.test_cli_canary import BIRD, COMMANDS, PLAIN
from cli.test_cli_process import start
from discreet.cli import design
from discreet.cli.app import run
from discreet.core.errors import InvalidProblemError
from discreet.tables import parsing
from discreet.tables.parsing import ReadOutcome
from discreet.tables.sizes import refuse_killers
from warm import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable

DESIGN = ("design", "--grid", "3x3", "--unit", "km", "--epsilon", "1")


class Panic(BaseException):
    """What a library in Rust raises is no ``Exception``."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("regions.csv").write_text("sex\nF\nM\n", encoding="utf-8")
    pl.DataFrame(PLAIN).write_csv("published.csv")


def raising(error: BaseException) -> Callable[..., None]:
    def broken(*_: object) -> None:
        raise error

    return broken


@pytest.mark.parametrize("error", [Panic(BIRD), ValueError(BIRD), RecursionError(BIRD)])
def test_what_escapes_is_one_line_without_its_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(design, "state_any", raising(error))
    said = say(capsys, *DESIGN)
    assert (said.status, said.out) == (70, "")
    assert said.err.startswith(
        f"discreet: internal error, please report it: {type(error).__name__}"
    )
    assert said.err.count("\n") == 1
    told = json.loads(say(capsys, *DESIGN, "--json").err)["error"]
    assert (told["status"], told["kind"]) == (70, type(error).__name__)
    assert re.fullmatch(rf"{told['kind']} at discreet\.cli\.design:\d+, from .*:\d+", told["where"])
    assert BIRD not in said.err + str(told)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(BIRD), "there was not enough memory; give the process more, or less to do"),
        (OSError(28, "No space left on device", BIRD), "report it: No space left on device: OS"),
    ],
)
def test_memory_and_the_system_are_named(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    words: str,
) -> None:
    monkeypatch.setattr(design, "state_any", raising(error))
    said = say(capsys, *DESIGN)
    assert (said.status, said.out) == (70, "")
    assert words in said.err
    assert BIRD not in said.err


def test_what_ends_a_run_is_no_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(design, "state_any", raising(KeyboardInterrupt()))
    assert say(capsys, *DESIGN).status == 130
    monkeypatch.setattr(design, "state_any", raising(SystemExit(143)))
    with pytest.raises(SystemExit) as caught:
        run(DESIGN)
    assert caught.value.code == 143


PANICS = """
import sys, threading
import polars as pl
from discreet.cli import design, main

def broken(*_):
    late = pl.Series([2**31 - 1], dtype=pl.Int32).cast(pl.Date)
    aside = threading.Thread(target=late.to_list)
    aside.start()
    aside.join()
    late.to_list()

design.state_any = broken
main()
"""


def test_a_panic_says_nothing_by_itself() -> None:
    """Rust writes to descriptor 2 by itself; and a thread that fails prints a traceback."""
    ended = start(*DESIGN, code=[sys.executable, "-c", PANICS])
    assert (ended.returncode, ended.stdout) == (70, "")
    aside, line = (said for said in ended.stderr.splitlines() if "is running" not in said)
    assert aside.startswith("discreet: a failure aside, please report it: PanicException at ")
    assert line.startswith("discreet: internal error, please report it: PanicException at discreet")


@pytest.mark.parametrize("command", ["counts", "select", "anonymize", "anonymize --memory", "risk"])
def test_a_panic_of_the_reader_is_bad_input(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    Path("mars.parquet").write_bytes(on_mars(**PLAIN))
    said = say(capsys, *COMMANDS[command]("mars.parquet"))
    assert (said.status, said.out) == (2, "")
    assert "a complete Parquet file" in said.err
    assert BIRD not in said.err


def test_verify_tries_a_table_from_anywhere_in_a_child() -> None:
    """Nothing of the panic is printed, and the status is not the one of a check that failed."""
    Path("mars.parquet").write_bytes(on_mars(**PLAIN))
    ended = start(*COMMANDS["verify"]("mars.parquet"), "--json")
    assert (ended.returncode, ended.stdout) == (2, "")
    told = json.loads(ended.stderr)["error"]
    assert told["got"] == "mars.parquet, on which the reader crashed"


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime("us"), pl.Datetime("ms"), pl.Duration("ms")])
@pytest.mark.parametrize("command", ["anonymize", "anonymize --memory", "risk", "verify"])
def test_times_that_are_none_are_bad_input(
    capsys: pytest.CaptureFixture[str], command: str, kind: pl.DataType
) -> None:
    far = pl.Series([1] * 23 + [2**31 - 1 if kind == pl.Date else 2**62]).cast(pl.Int64)
    far = far.cast(pl.Int32).cast(kind) if kind == pl.Date else far.cast(kind)
    pl.DataFrame({**PLAIN, BIRD: far}).write_parquet("late.parquet")
    said = say(capsys, *COMMANDS[command]("late.parquet"))
    assert (said.status, said.out) == (2, "")
    assert "dates in the years 1 to 9999" in said.err
    assert "got other values in column 6" in said.err


def test_times_at_the_ends_are_read() -> None:
    days = pl.Series([-719_161, 2_932_895], dtype=pl.Int32).cast(pl.Date)
    pl.DataFrame({"day": days, "a": ["x", "y"], "none": [None, None]}).with_columns(
        pl.col("none").cast(pl.Datetime), at=pl.col("day").cast(pl.Datetime("ns"), strict=False)
    ).write_parquet("ends.parquet")
    assert run(["risk", "ends.parquet", "--quasi", "day,at,none"]) == 0


@pytest.mark.parametrize("command", ["counts", "select", "anonymize", "risk", "verify"])
def test_a_table_that_takes_more_than_the_memory_is_bad_input(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A file of a few kilobytes. Its reader would be aborted, with all that it is a part of."""
    monkeypatch.setattr(parsing, "free_memory", lambda: 100 << 20)
    Path("swollen.parquet").write_bytes(swollen())
    said = say(capfd, *COMMANDS[command]("swollen.parquet"))
    assert (said.status, said.out) == (2, "")
    assert re.search(r"a table that takes 50 MiB of memory or less", said.err)
    assert said.err.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="others do not keep the limit")
@pytest.mark.parametrize("command", [pytest.param("counts", marks=pytest.mark.slow), "risk"])
def test_a_process_with_a_limit_is_not_aborted(command: str) -> None:
    """``counts`` ended in SIGABRT, ``risk`` in 1, which says that a check failed."""
    Path("swollen.parquet").write_bytes(swollen())
    # Not in this process, which has threads, and would be forked for it.
    limited = ["sh", "-c", f'ulimit -v {_taken() + (400 << 10)} && exec "$@"', "sh", *COMMAND]
    ended = start(*COMMANDS[command]("swollen.parquet"), "--json", code=limited)
    told = json.loads(ended.stderr)["error"]
    if ended.returncode == 70:
        # What is counted in a stream fits, and a kernel that is compiled then may not.
        assert (command, told["kind"]) == ("counts", "MemoryError")
        assert told["message"].startswith("there was not enough memory; give the process more")
        return
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert "memory" in told["expected"] or command == "counts"


def _taken() -> int:
    """Measure the addresses, in KiB, of a process that has loaded what reads tables."""
    code = (
        "import polars as pl\npl.select(pl.lit(1))\nimport discreet.cli.app, scipy.optimize\n"
        "from discreet.tables import parsing\nprint(parsing._address_space() >> 10)"
    )
    return int(start(code=[sys.executable, "-c", code]).stdout)


def test_how_a_child_ends_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mars.parquet").write_bytes(on_mars())
    Path("cut.parquet").write_bytes(swollen()[:-40])
    Path("swollen.parquet").write_bytes(swollen())
    assert parsing.try_reading("published.csv", ",") is ReadOutcome.READ
    assert parsing.try_reading("mars.parquet", "", whole=False) is ReadOutcome.DIED
    # What is refused in words is read again by whoever asked, who says them.
    assert parsing.try_reading("cut.parquet", "") is ReadOutcome.READ
    monkeypatch.setattr(parsing, "free_memory", lambda: 100 << 20)
    assert parsing.try_reading("swollen.parquet", "") is ReadOutcome.NO_MEMORY
    monkeypatch.setattr(parsing, "_CHILD_TIME", parsing._CHILD_TIME._replace(seconds=0.0))
    assert parsing.try_reading("mars.parquet", "") is ReadOutcome.LATE
    monkeypatch.setattr(parsing, "_CHILD_TIME", parsing._CHILD_TIME._replace(seconds=60.0))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert parsing.try_reading("published.csv", ",") is ReadOutcome.NOT_STARTED


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (ReadOutcome.NOT_STARTED, "enough memory to start the process that reads tables"),
        (ReadOutcome.LATE, "published.csv, which takes longer"),
        (ReadOutcome.DIED, "published.csv, on which the reader crashed"),
        (OSError(11, "Resource temporarily unavailable"), "permission to start one more process"),
    ],
)
def test_each_end_of_a_child_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, verdict: ReadOutcome | OSError, words: str
) -> None:
    def tried(*_: object, **__: object) -> ReadOutcome:
        if isinstance(verdict, OSError):
            raise verdict
        return verdict

    monkeypatch.setattr(parsing, "try_reading", tried)
    monkeypatch.setattr(parsing, "is_limited", lambda: True)
    with pytest.raises(InvalidProblemError, match=re.escape(words)):
        refuse_killers("published.csv", ",", "TABLE")


def test_small_files_of_ones_own_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def tried(*_: object, **__: object) -> ReadOutcome:
        raise AssertionError

    monkeypatch.setattr(parsing, "try_reading", tried)
    monkeypatch.setattr(parsing, "is_limited", lambda: False)
    Path("small.parquet").write_bytes(on_mars())
    refuse_killers("published.csv", ",", "TABLE", unknown=True)
    refuse_killers("small.parquet", "", "TABLE")
    with pytest.raises(AssertionError):
        refuse_killers("small.parquet", "", "TABLE", unknown=True)


TOO_LARGE: dict[str, tuple[list[str], str]] = {
    "design --grid": (
        [*DESIGN[:2], "99999x99999", *DESIGN[3:]],
        "at most 131,072 secrets, got 9,999,800,001",
    ),
    "compare --grid": (
        ["compare", "--grid", "73x72", "--unit", "km", "--epsilon", "1"],
        "at most 5,120 secrets, got 5,256",
    ),
    "serve --grid": (["serve", "--grid", "999x999", "--epsilon", "1"], "at most 100,000 secrets"),
    "a long --grid": ([*DESIGN[:2], "9" * 5_000 + "x1", *DESIGN[3:]], "rows x columns"),
    "design PLACES": (
        ["design", "places.csv", "--x", "x", "--y", "y", "--unit", "km", "--epsilon", "1"],
        "places that do not lie on one line: `serve --places-only` serves those, `design --radius` designs",
    ),
    "compare PLACES": (
        ["compare", "places.csv", "--x", "x", "--y", "y", "--unit", "km", "--epsilon", "1"],
        "PLACES: expected at most 5,120 secrets, got 5,121",
    ),
    "design --embeddings": (
        ["design", "--embeddings", "words.npy", "--epsilon", "1"],
        "at most 5,120 rows, one for each secret; leave out rows, got 5,121",
    ),
    "design --cell": ([*DESIGN, "--cell", "1e400"], "a positive side below 1e30"),
    "serve --cell": (
        ["serve", "--grid", "3x3", "--epsilon", "1", "--cell", "1e400"],
        "at most 1,073,741,824",
    ),
    "sample -n": (["sample", "c.channel", "--secret", "0", "-n", "99999999999"], "-n"),
    "attack --steps": (["attack", "c.channel", "--steps", "99999999999"], "--steps"),
    "attack --trials": (["attack", "c.channel", "--trials", "99999999999"], "--trials"),
    "attack --reports": (["attack", "metricdp", "--reports", "9,99999"], "from 1 to 10,000"),
    "audit --samples": (["audit", "hierarchy", "--samples", "9" * 30], "--samples"),
    "audit -k": (["audit", "kanonymity", "-k", "9" * 30], "-k"),
    "anonymize --threads": (
        ["anonymize", "published.csv", "-k", "2", "--quasi", "age", "--threads", "9" * 30],
        "--threads",
    ),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_sizes_are_said_before_anything_is_made(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    Path("places.csv").write_text(
        "x,y\n" + "".join(f"{i},1\n" for i in range(5_121)), encoding="utf-8"
    )
    np.save("words.npy", np.ones((5_121, 2)))
    arguments, words = TOO_LARGE[name]
    said = say(capsys, *arguments)
    assert (said.status, said.out) == (2, "")
    assert words in said.err


def test_sizes_are_refused_before_they_are_paid_for(capsys: pytest.CaptureFixture[str]) -> None:
    grant = ("--dataset", "d", "--epsilon", "1", "--neighbors", "add-remove-person")
    assert say(capsys, "budget", "create", "l.db", *grant).status == 0
    Path("people.csv").write_text("unit,sex\na,F\nb,M\n", encoding="utf-8")
    command = [
        *("counts", "people.csv", "--unit", "unit", "--regions", "sex", "--region-list"),
        *("regions.csv", "--epsilon", "1", "--neighbors", "add-remove-person"),
        *("--ledger", "l.db", "--dataset", "d", "-o", "counts.csv"),
    ]
    said = say(capsys, *command, "--max-size", 10**15)
    assert (said.status, said.out) == (2, "")
    assert (
        "for 3 regions, in half of the memory; larger groups count as of this size, got 1,000"
        in said.err
    )
    assert say(capsys, *command, "--max-size", 9).status == 0, "nothing was spent before"


def test_a_choice_from_a_bad_file_costs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    grant = ("--dataset", "d", "--epsilon", "1", "--neighbors", "add-remove-one")
    assert say(capsys, "budget", "create", "l.db", *grant).status == 0
    paid = ("--ledger", "l.db", "--dataset", "d")
    Path("bad.csv").write_text("client,candidat\na,F\n", encoding="utf-8")
    pl.DataFrame({"client": [[1]], "candidate": ["F"]}).write_parquet("list.parquet")
    for name in ("bad.csv", "list.parquet", "gone.csv"):
        assert say(capsys, *COMMANDS["select"](name), *paid).status == 2
    assert say(capsys, *COMMANDS["select"]("published.csv"), *paid).status == 0


@pytest.mark.parametrize("kind", ["bytes", "durations", "long"])
@pytest.mark.parametrize("more", [["--method", "mondrian"], ["--memory", "1GB"]])
def test_cells_that_cannot_be_written_are_refused_before_the_search(
    capsys: pytest.CaptureFixture[str], kind: str, more: list[str]
) -> None:
    cells = {
        "bytes": pl.Series([b"a\xff", b"b"] * 12),
        "durations": pl.Series([1, 2] * 12).cast(pl.Duration("us")),
        "long": pl.Series([2**100] * 24, dtype=pl.Int128),
    }[kind]
    pl.DataFrame({**PLAIN, "x": cells}).write_parquet("t.parquet")
    command = ["anonymize", "t.parquet", "-k", "2", "--quasi", "age,sex", "--unassigned", "keep"]
    command += more
    said = say(capsys, *command, "--keep", "x", "-o", "out.csv")
    assert (said.status, said.out) == (2, "")
    assert "in column 6" in said.err
    assert not Path("out.csv").exists()
    assert say(capsys, *command, "--keep", "x", "-o", "out.parquet").status == (
        2 if kind == "long" else 0
    )
    # As a quasi-identifier or a person it is no such cell.
    if kind != "long" and "--memory" not in more:
        assert say(capsys, *command[:8], "--person", "x", "-o", "out.csv").status == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [("list", [[1]]), ("bytes", [b"a"]), ("record", [{"a": 1}])],
)
def test_public_files_of_a_choice_have_names_in_their_cells(
    capsys: pytest.CaptureFixture[str], name: str, kind: list[object]
) -> None:
    pl.DataFrame({"candidate": kind * 2}).write_parquet(f"{name}.parquet")
    command = ["select", "--coverage", "published.csv", "--candidates", f"{name}.parquet"]
    said = say(
        capsys,
        *command,
        "--matroid",
        "uniform:1",
        *("--epsilon", "1", "--neighbors", "replace-one"),
    )
    assert (said.status, said.out) == (2, "")
    assert "text or numbers in column candidate" in said.err
    pl.DataFrame({"candidate": ["F", "M"], "group": kind * 2}).write_parquet("groups.parquet")
    command = ["select", "--coverage", "published.csv", "--candidates", "regions.csv"]
    said = say(
        capsys,
        *command,
        *("--matroid", "partition:groups.parquet", "--epsilon", "1", "--neighbors", "replace-one"),
    )
    assert (said.status, said.out) == (2, "")
    assert "text or numbers in column group" in said.err
