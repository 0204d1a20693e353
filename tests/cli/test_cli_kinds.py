"""Each kind of file for each command that takes one: a wrong one is named as what it is, and no pipe is waited for."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import discreet as dc
from cli.commands import say
from discreet.artefact.foreign import USES
from discreet.artefact.judging import JUDGES
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.mechanism import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[1] / "data"

OURS = {
    "channel": "channel-1.channel",
    "anchored": "anchored-1.channel",
    "mechanism": "frozen.mechanism",
    "choice": "choice-1.choice",
    "anonymous-table": "anonymous-1.csv",
    "region-counts": "counts-1.parquet",
    "measurements": "measurements-1.parquet",
    "region-tables": "tables-1.parquet",
    "table-measurements": "marginals-1.csv",
}

TAKEN = {
    "info": {"channel", "anchored", "mechanism"},
    "sample": {"channel", "anchored"},
    "query": {"measurements", "table-measurements"},
    "serve": set(),
}
"""Command -> kinds that it takes; what `serve` takes it would publish without end."""

LINES = {
    "info": ["info", "FILE"],
    "sample": ["sample", "FILE", "--secret", "0"],
    "query": ["query", "FILE", "--level", "1"],
    "serve": ["serve", "--mechanism", "FILE"],
}

OTHERS = {
    "nothing.channel": (b"", "an empty file"),
    "words.channel": (b"hello", "text that is no channel and no mechanism"),
    "cut.channel": ((DATA / "channel-1.channel").read_bytes()[:2000], "cut short or damaged"),
    "ledger.channel": ((DATA / "ledger-1.db").read_bytes(), "`discreet budget show` reads it"),
    "list.channel": (b"[1]", "JSON that no command of discreet wrote"),
    "form.channel": (b'{"form": "discreet.lrgeo.next"}', "a newer discreet may know it"),
    "sheet.channel": (b"%PDF-1.7", "a PDF document"),
    "bytes.channel": (bytes(range(256)), "no file of discreet"),
    "parquet.channel": ((DATA / "counts-1.parquet").read_bytes(), "a Parquet table"),
    "record.channel": (
        (DATA / "counts-1.csv.discreet.json").read_bytes(),
        "the record of a table; name the table that it stands beside",
    ),
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand in a folder of files, and fail where a command waits for one."""
    for name in OURS.values():
        for path in (DATA / name, DATA / f"{name}.discreet.json"):
            if path.exists():
                shutil.copy(path, tmp_path)
    for name, (data, _) in OTHERS.items():
        (tmp_path / name).write_bytes(data)
    for name in ("pipe", "pipe.csv", "plain.parquet.discreet.json"):
        os.mkfifo(tmp_path / name)
    shutil.copy(DATA / "counts-1.parquet", tmp_path / "plain.parquet")
    monkeypatch.chdir(tmp_path)

    def waits(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, waits)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", LINES)
def test_a_file_of_another_kind_is_named_with_what_takes_it(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sampling a mechanism along roads said that it is no zip file."""
    for kind, name in OURS.items():
        if command == "serve" and kind == "mechanism":
            continue
        said = say(capsys, *[name if word == "FILE" else word for word in LINES[command]])
        if kind in TAKEN[command]:
            assert said.status == 0, (kind, said.err)
            continue
        assert (said.status, said.err.count("\n")) == (2, 1), (kind, said.err)
        what = USES[kind].partition(":")[0].partition(",")[0]
        assert f"{name}, {what}" in said.err
        assert "FILE" not in said.err.partition(":")[2].replace("--mechanism FILE", "")


@pytest.mark.usefixtures("files")
def test_what_is_no_file_of_ours_is_told_as_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for name, (_, what) in OTHERS.items():
        for line in (["verify"], ["info"], ["audit"], ["attack"], ["serve", "--mechanism"]):
            said = say(capsys, *line, name)
            assert (said.status, said.err.count("\n")) == (2, 1)
            assert what in said.err, (line, said.err)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "line",
    [
        "verify pipe",
        "verify plain.parquet",
        "verify pipe.csv -k 2 --quasi age",
        "verify anonymous-1.csv --against pipe.csv",
        "info pipe",
        "sample pipe --secret 0",
        "attack pipe",
        "audit pipe",
        "serve --mechanism pipe",
        "serve --roads pipe.csv --spacing 1 --epsilon 1/km",
        "risk pipe.csv --quasi age",
        "anonymize pipe.csv -k 2 --quasi age -o out.csv",
        "design --points pipe.csv --unit km --epsilon 1 --loss euclidean",
        "design --grid 2x2 --cell 1 --unit km --epsilon 1 --loss pipe.csv",
    ],
)
def test_no_command_waits_for_a_pipe(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, *line.split())
    assert said.status == 2
    assert "a pipe or a device; save what comes out of it to a file" in said.err


@pytest.mark.usefixtures("files")
def test_the_library_waits_for_no_pipe() -> None:
    with pytest.raises(InvalidProblemError, match="a pipe or a device"):
        dc.verify("pipe")
    with pytest.raises(InvalidProblemError, match="a pipe or a device"):
        dc.verify("/dev/zero")


@pytest.mark.usefixtures("files")
def test_an_attack_on_points_or_a_choice_says_what_can_be_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    vectors = json.loads((DATA / "lrgeo-lattice-vectors.json").read_text(encoding="utf-8"))
    Path("rows.mechanism").write_bytes(canonical(vectors[0]["file"]) + b"\n")
    said = say(capsys, "attack", "rows.mechanism").err
    assert "`discreet audit rows.mechanism` judges this file" in said
    assert "`discreet attack submodular`" in say(capsys, "attack", "choice-1.choice").err


@pytest.mark.usefixtures("files")
def test_a_table_alone_and_roads_without_courses_say_what_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("plain.csv").write_text("age,sex\n30,F\n30,F\n", encoding="utf-8")
    assert "-k and --quasi check a table without one" in say(capsys, "verify", "plain.csv").err
    line = "serve --roads plain.csv --spacing 1 --epsilon 1/km"
    said = say(capsys, *line.split()).err
    assert said.startswith("discreet: --roads: expected a course of two points: a LINESTRING")


def test_every_kind_has_a_line_of_what_takes_it() -> None:
    assert USES.keys() == JUDGES.keys()
