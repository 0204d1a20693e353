"""The risk of rows in files, whose classes are counted piece by piece, is that of the same rows in memory."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.core.errors import InvalidProblemError, SolverError
from discreet.kanonymity.cells import read_problem
from discreet.kanonymity.risk import risk
from discreet.streaming import RecordFiles, pieces, record_files
from discreet.streaming import steps as large_steps
from discreet.streaming.risk_steps import RISK_STEPS
from few import each_once

CANARY = "Mrs Canary of Elm Street"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in small pieces, batches and buckets."""
    monkeypatch.setattr(pieces, "PIECE_ROWS", 40)
    monkeypatch.setattr(record_files, "ROWS", (7, 30))


def people(seed: int, n: int = 160) -> pl.DataFrame:
    """Draw rows, some alone and many alike, with missing cells, empty ones and NaN; one column has a name of ours."""
    rng = np.random.default_rng(seed)
    ages: list[float | None] = [20.5, 30.5, math.nan, None]
    texts: list[str | None] = ["x", "y", "", None]
    ill: list[str | None] = ["flu", "gout", "", None]
    return pl.DataFrame(
        {
            "age": [ages[at] for at in rng.integers(0, 4, n)],
            "rows": [texts[at] for at in rng.choice(4, n, p=[0.7, 0.2, 0.05, 0.05])],
            "number": rng.zipf(1.6, n) % 9,
            "ill": [ill[at] for at in rng.integers(0, 4, n)],
            "value": rng.integers(0, 3, n),
        }
    )


def write(table: pl.DataFrame, folder: Path, parts: int) -> Path:
    """Write a table into parts of several row groups."""
    folder.mkdir()
    for at in range(parts):
        table[at::parts].write_parquet(folder / f"part-{at}.parquet", row_group_size=13)
    return folder


# One to four parts, one or two threads.
@pytest.mark.parametrize(
    ("seed", "names", "sensitive"),
    each_once(
        [0, 3, 1, 2],
        [["number", "rows", "age"], ["age"], ["rows", "age"]],
        [["ill", "value"], ["age"], []],
    ),
)
def test_the_risk_is_that_of_the_rows_in_memory(
    tmp_path: Path, seed: int, names: list[str], sensitive: list[str]
) -> None:
    table = people(seed)
    source = write(table, tmp_path / "in", 1 + seed % 4)
    files = RecordFiles(source, tmp_path, threads=1 + seed % 2, memory=1)
    assert risk(files, names, sensitive=sensitive) == risk(table, names, sensitive=sensitive)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_does_not_fit_is_refused_without_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pl.DataFrame({"a": [CANARY, "x"], "listed": [[1], [2]]})
    source = write(table, tmp_path / "in", 1)
    files = RecordFiles(source, tmp_path)
    with pytest.raises(InvalidProblemError, match="b: expected a column"):
        risk(files, ["a", "b"])
    with pytest.raises(InvalidProblemError, match="none beside a lazy table or files"):
        risk(files, ["a"], population=read_problem(table, ["a"], (), "ncp"))
    with pytest.raises(InvalidProblemError, match="told apart"):
        risk(files, ["listed"])
    empty = tmp_path / "empty"
    empty.mkdir()
    table.head(0).write_parquet(empty / "part.parquet")
    with pytest.raises(InvalidProblemError, match="with rows"):
        risk(RecordFiles(empty, tmp_path), ["a"])
    for kind in RISK_STEPS:

        def loud(space: Any, number: int) -> None:
            (space.folder / "half").write_text("secret")
            raise RuntimeError(CANARY)

        with monkeypatch.context() as patched:
            patched.setitem(large_steps.STEPS, kind, loud)
            with pytest.raises(SolverError, match=kind) as caught:
                risk(files, ["a"])
        assert "Canary" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "in"]


def test_the_command_counts_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = people(9).drop("age")
    write(table, tmp_path / "people", 3)
    table.write_parquet("whole.parquet")
    words = ["--quasi", "rows,number", "--sensitive", "ill", "--json"]
    told: list[Any] = []
    for path, more in (
        ("whole.parquet", []),
        ("whole.parquet", ["--memory", "1GB"]),
        ("people", []),
        ("people", ["--memory", "1GB", "--threads", "2"]),
        ("people", ["--threads", "2"]),
    ):
        run = CliRunner().invoke(app, ["risk", path, *words, *more], catch_exceptions=False)
        assert run.exit_code == 0, run.output
        found = json.loads(run.output[run.output.index("{") :])
        # The columns that cause the risk are told of a table in memory.
        assert ("sources" in found) == (not told)
        found.pop("sources", None)
        told.append(found)
    assert told[1:] == told[:-1]
    for more, said in (
        (["--scheduler", "tcp://example.org:1"], "tls://"),
        (["--memory", "much"], "4GB"),
        (["--memory", "1GB", "--population", "whole.parquet"], "scheduler"),
    ):
        run = CliRunner().invoke(app, ["risk", "people", *words, *more])
        assert run.exit_code != 0
        assert said in f"{run.output}{run.exception}"
    run = CliRunner().invoke(app, ["risk", "whole.parquet", *words, "--threads", "2"])
    assert run.exit_code != 0
