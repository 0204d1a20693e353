"""A word that stands in the private file alone is planted where a file may hold it, and is printed by no command."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from cli.commands import say
from forger.doors import PLAIN as COLUMNS
from forger.doors import ROWS

if TYPE_CHECKING:
    from collections.abc import Callable

BIRD = "Kanari"
"""In headers, in cells, in fields of records, in names of categories and in headers of arrays."""

DAYS = 47_114_711
"""In cells that hold durations: long, since four digits stand in some loss of sixteen by chance."""

OPAQUE = ("age", "sex", "zip", "client", "candidate")
PLAIN = {name: COLUMNS[name] for name in OPAQUE}
"""The columns that the commands name."""


def parquet(columns: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def text(header: str = ",".join(PLAIN), more: str = "") -> bytes:
    rows = zip(*PLAIN.values(), strict=True)
    return (f"{header}\n" + "".join(",".join(map(str, row)) + "\n" for row in rows) + more).encode()


def array(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(f"{BIRD}.npy", array(np.ones((2, 2))))
    return file.getvalue()


def all_columns(series: Callable[[], pl.Series]) -> bytes:
    """Give each column that a command names another type."""
    return parquet({name: series() for name in OPAQUE})


ENUM = pl.Enum([BIRD, "F"])

TABLES: dict[str, bytes] = {
    "no-names.csv": text(f"{BIRD}-Alice,{BIRD},s1,s2,s3"),
    "no-names-but-one.csv": text(f"age,sex,{BIRD},client,{BIRD}2"),
    "names-twice.csv": text(f"{BIRD},{BIRD},zip,client,candidate"),
    "wide.csv": (",".join(f"{BIRD}{i}" for i in range(3_000)) + "\n").encode() * 2,
    "returns.csv": text().replace(b"\n", f"{BIRD}\r".encode()),
    "ragged.csv": text(more=f"{BIRD},1\n"),
    "quote.csv": text(more=f'1,"{BIRD},F,1,2\n'),
    "latin.csv": text(more=f"1,F,{BIRD},x,M\xe9\n").decode().encode("latin-1"),
    "cells.csv": text(more=f"{BIRD},{BIRD},{BIRD},{BIRD},{BIRD}\n"),
    "extra.csv": "\n".join(
        f"{line},{at or BIRD}" for at, line in enumerate(text().decode().splitlines())
    ).encode(),
    "extra-list.parquet": parquet({**PLAIN, BIRD: [[BIRD]] * ROWS}),
    "extra-enum.parquet": parquet({**PLAIN, BIRD: pl.Series([BIRD] * ROWS, dtype=ENUM)}),
    "no-names.parquet": parquet({BIRD: [BIRD] * ROWS}),
    "list.parquet": all_columns(lambda: pl.Series([[BIRD]] * ROWS)),
    "record.parquet": all_columns(lambda: pl.Series([{BIRD: BIRD}] * ROWS)),
    "map.parquet": all_columns(lambda: pl.Series([[{"key": BIRD, "value": 1}]] * ROWS)),
    "bytes.parquet": all_columns(lambda: pl.Series([BIRD.encode() + b"\xff"] * ROWS)),
    "enum.parquet": all_columns(lambda: pl.Series([BIRD, "F"] * (ROWS // 2), dtype=ENUM)),
    "duration.parquet": all_columns(lambda: pl.Series([timedelta(days=DAYS)] * ROWS)),
    "late.parquet": all_columns(lambda: pl.Series([2**55] * ROWS).cast(pl.Datetime("us"))),
    "cut.parquet": parquet({BIRD: [BIRD] * ROWS})[:-9],
}

ARRAYS: dict[str, bytes] = {
    "record.npy": array(np.zeros((3, 2), dtype=[(BIRD, "f8")])),
    "text.npy": array(np.array([[BIRD, "a"]])),
    "header.npy": array(np.ones((2, 2))).replace(b"descr", BIRD.encode()[:5]),
    "cut.npy": array(np.ones((20, 2)))[:-9],
    "archive.npy": archive(),
    "text-file.npy": f"{BIRD},1\n".encode(),
    "four.npy": array(np.zeros((1, 2, 3, 4))),
}

DP = ("--epsilon", "1", "--neighbors")
ANONYMIZE = (
    *("anonymize", "-k", "2", "--quasi", "age,sex", "--unassigned", "keep"),
    *("--method", "mondrian", "-o", "out.csv"),
)

SOME = ("no-names-but-one.csv", "ragged.csv", "cells.csv", "extra-list.parquet", "record.parquet")
"""For commands that read as others do."""

COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "counts": lambda file: [
        *("counts", file, "--unit", "zip", "--regions", "sex", "--region-list", "regions.csv"),
        *("--quantity", "age", "--max-size", "9", *DP, "add-remove-person"),
    ],
    "counts --units": lambda file: [
        *("counts", "--units", file, "--size", "age", "--regions", "sex"),
        *("--region-list", "regions.csv", "--max-size", "9", *DP, "add-remove-person"),
    ],
    "select": lambda file: [
        *("select", "--coverage", file, "--candidates", "regions.csv"),
        *("--matroid", "uniform:1", *DP, "add-remove-one"),
    ],
    "anonymize": lambda file: [*ANONYMIZE, file, "--sensitive", "zip"],
    "anonymize --memory": lambda file: [
        *("anonymize", "-k", "2", "--quasi", "age,sex", "--unassigned", "keep", "-o", "out.csv"),
        *(file, "--memory", "1GB"),
    ],
    "risk": lambda file: ["risk", file, "--quasi", "age,sex", "--sensitive", "zip"],
    "verify": lambda file: ["verify", file, "-k", "2", "--quasi", "age,sex"],
    "verify --against": lambda file: ["verify", "published.csv", "--against", file],
    "attack": lambda file: ["attack", "published.csv", "--against", file],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("regions.csv").write_text("sex\nF\nM\n", encoding="utf-8")
    pl.DataFrame(PLAIN).write_csv("fine.csv")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_what_only_the_private_file_says(
    capfd: pytest.CaptureFixture[str], command: str
) -> None:
    made = say(capfd, *ANONYMIZE[:-1], "published.csv", "fine.csv")
    assert made.status == 0, made.err
    told = []
    alike = command in ("counts --units", "anonymize --memory", "risk", "verify", "attack")
    names = SOME if alike else tuple(TABLES)
    for at, name in enumerate(names):
        Path(name).write_bytes(TABLES[name])
        said = say(capfd, *COMMANDS[command](name), *(["--json"] if at % 2 else []))
        assert BIRD not in said.out + said.err, (name, said.out, said.err)
        assert str(DAYS) not in said.out + said.err, name
        # Where the word is no cell of a column that is read, the command may as well be done.
        assert said.status in {0, 1, 2, 3}, (name, said.err)
        told.append(said.status)
    assert told.count(2) > len(names) / 2, told


@pytest.mark.parametrize("name", ARRAYS)
def test_no_array_is_quoted(capfd: pytest.CaptureFixture[str], name: str) -> None:
    Path(name).write_bytes(ARRAYS[name])
    for more in ([], ["--json"]):
        command = ["select", "--similarity", name, "--matroid", "uniform:1", *DP, "add-remove-one"]
        said = say(capfd, *command, *more)
        assert (said.status, said.out) == (2, ""), said.err
        assert "--similarity" in said.err
        assert BIRD[:5] not in said.err


def test_a_table_without_names_is_not_read_out(capfd: pytest.CaptureFixture[str]) -> None:
    """All that was printed of it was 789 kB: the first row, as if it were the names."""
    row = b",".join(b"Kanari%d" % i for i in range(60_000)) + b"\n"
    Path("wide.csv").write_bytes(row * 2)
    said = say(capfd, *COMMANDS["select"]("wide.csv"))
    assert (said.status, said.out) == (2, "")
    assert "wide.csv with 60000 names there" in said.err
    assert len(said.err) < 400


def test_the_curator_is_told_the_nearest_name_and_all_on_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for command in (["anonymize", "-k", "2", "-o", "out.csv"], ["risk"]):
        near = say(capsys, *command, "fine.csv", "--quasi", "aeg")
        assert (near.status, near.out) == (2, "")
        assert "did you mean 'age'?" in near.err
        assert "client" not in near.err
        assert "--show-columns lists them" in near.err
        far = say(capsys, *command, "fine.csv", "--quasi", "height")
        assert "meant" not in far.err
        assert not any(name in far.err for name in PLAIN)
        shown = say(capsys, *command, "fine.csv", "--quasi", "height", "--show-columns")
        assert shown.status == 2
        assert all(repr(name) in shown.err for name in PLAIN)


def test_columns_of_the_original_alone_are_told_by_their_places(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its line of names may be missing, and a person stand there."""
    assert say(capsys, *ANONYMIZE[:-1], "published.csv", "fine.csv").status == 0
    pl.DataFrame({**PLAIN, BIRD: range(ROWS)}).write_csv("longer.csv")
    said = say(capsys, "verify", "published.csv", "--against", "longer.csv", "--json")
    assert said.status == 0, said.err
    assert "which is not compared: its column 6" in said.out + said.err
    assert BIRD not in said.out + said.err


def test_a_column_that_finds_rows_is_named_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    pl.DataFrame({**PLAIN, "number": range(ROWS)}).write_csv("extra.csv")
    command = [*ANONYMIZE, "extra.csv"]
    hidden = say(capsys, *command)
    assert hidden.status == 2
    assert "column 6: numbers of records, probably an identifier" in hidden.err
    assert "column 6 (number)" in say(capsys, *command, "--show-columns").err
    kept = say(capsys, *command, "--keep", "number")
    assert kept.status == 0
    assert f"number is published as it is, and {ROWS} of {ROWS} rows" in kept.err
    # What was typed is no news.
    assert "number is published as it is" in say(capsys, *command, "--sensitive", "number").err
