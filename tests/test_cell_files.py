"""Rows in files counted by region and cell, piece by piece: the same counts as by hand, and refusals without values."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.artefact import RecordFiles, large_steps, pieces, record_files
from discreet.artefact.cell_steps import CELL_STEPS
from discreet.cli.app import app
from discreet.core.budget import MemoryBudget
from discreet.core.errors import InvalidProblemError, SolverError
from discreet.core.guarantee import ZeroConcentratedDP
from discreet.core.tree import Tree
from discreet.hierarchy import contingency
from discreet.hierarchy.contingency import Domain, TableFrame
from discreet.hierarchy.contingency.records import RecordColumns, count_cells
from test_record_files import CANARY, write

REGIONS = ("state", "county")
LISTED = [("GA", "1"), ("GA", "2"), ("NY", "1"), ("DC",)]
DOMAIN = {
    "attributes": {"sex": ["F", "M"], "age": ["0", "1", "2"]},
    "zeros": [{"sex": ["F"], "age": ["2"]}],
}
PERSON = ZeroConcentratedDP(1, neighbors="add-remove-person")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in small pieces, batches and buckets."""
    monkeypatch.setattr(pieces, "PIECE", 40)
    monkeypatch.setattr(record_files, "ROWS", (7, 30))


def people(seed: int, n: int = 150) -> pl.DataFrame:
    """Draw records, none in the structural zero, and two of each person at most."""
    rng = np.random.default_rng(seed)
    paths = [LISTED[at] for at in rng.integers(0, len(LISTED), n)]
    sex, age = rng.integers(0, 2, n), rng.integers(0, 3, n)
    who = rng.permutation(np.repeat(np.arange(n), 2))[:n]
    return pl.DataFrame(
        {
            "state": [path[0] for path in paths],
            "county": [path[1] if len(path) > 1 else None for path in paths],
            "sex": np.where((sex == 0) & (age < 2), "F", "M"),
            "age": age,
            "who": [f"person {one}" for one in who],
        }
    )


def frame(max_rows: int = 2) -> TableFrame:
    """State the public facts."""
    tree = Tree.from_paths(LISTED)
    levels = (Fraction(1, tree.depth + 1),) * (tree.depth + 1)
    shares: dict[tuple[int, ...], tuple[Fraction, ...]] = {(0, 1): levels}
    return TableFrame(tree, Domain.from_dict(DOMAIN), shares, max_rows=max_rows)


@pytest.mark.parametrize("seed", range(6))
def test_pieces_are_counted_as_the_whole(tmp_path: Path, seed: int) -> None:
    table = people(seed)
    suffix = ".csv" if seed % 3 == 2 else ".parquet"
    source = write(table, tmp_path / "in", 1 + seed % 5, suffix=suffix)
    by_hand = np.zeros((len(LISTED), 6), np.int64)
    for row in table.iter_rows(named=True):
        path = tuple(row[name] for name in REGIONS if row[name] is not None)
        leaf = frame().tree.leaves.tolist().index(frame().tree.find(path))
        by_hand[leaf, 3 * (row["sex"] == "M") + row["age"]] += 1
    for columns in (RecordColumns(REGIONS), RecordColumns(REGIONS, "who")):
        files = RecordFiles(source, tmp_path, threads=1 + seed % 2, memory=1)
        assert (count_cells(files, frame(), columns).counts == by_hand).all()
        assert (count_cells(table.lazy(), frame(), columns).counts == by_hand).all()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("column", ["state", "sex", "age", "zeros", "who"])
def test_bad_rows_are_charged_once_named_and_not_quoted(tmp_path: Path, column: str) -> None:
    table = people(7)
    row = {**table.row(0, named=True), "who": "nobody else"}
    every: dict[str, dict[str, Any]] = {
        "state": {"state": CANARY},
        "sex": {"sex": CANARY},
        "age": {"age": 9},
        "zeros": {"sex": "F", "age": 2},
        "who": {"who": None},
    }
    broken = pl.concat([table, pl.DataFrame([row | every[column]], schema=table.schema)])
    planned = contingency.plan(
        LISTED, PERSON, columns=REGIONS, domain=DOMAIN, person="who", max_rows=2
    )
    budget = MemoryBudget({"d": ZeroConcentratedDP(5, neighbors="add-remove-person")})
    source = RecordFiles(write(broken, tmp_path / "in", 3), tmp_path)
    with pytest.raises(InvalidProblemError) as caught:
        planned.release(source, budget=budget, dataset="d")
    text = str(caught.value)
    assert text.startswith(f"{column}: ")
    assert "stays charged" in text
    assert "Canary" not in text
    assert budget.account("d").left[0] == 4
    if column != "who":
        inside = broken.height - np.linspace(0, broken.height, 4).astype(int)[2]
        assert f"rows {inside}" in text
        assert "of file 3" in text
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_person_with_rows_in_several_pieces_is_refused(tmp_path: Path) -> None:
    table = people(8)
    source = write(table, tmp_path / "in", 4)
    assert table["who"].is_duplicated().any()
    with pytest.raises(InvalidProblemError, match=r"who: .* at most 1 row of a person"):
        count_cells(RecordFiles(source, tmp_path), frame(1), RecordColumns(REGIONS, "who"))


def test_names_are_looked_at_before_the_charge(tmp_path: Path) -> None:
    source = write(people(9).drop("age"), tmp_path / "in", 2)
    planned = contingency.plan(LISTED, PERSON, columns=REGIONS, domain=DOMAIN)
    budget = MemoryBudget({"d": ZeroConcentratedDP(5, neighbors="add-remove-person")})
    with pytest.raises(InvalidProblemError, match="age: expected a column"):
        planned.release(RecordFiles(source, tmp_path), budget=budget, dataset="d")
    assert budget.account("d").left[0] == 5


@pytest.mark.parametrize("kind", CELL_STEPS)
def test_errors_of_steps_are_charged_once_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    planned = contingency.plan(
        LISTED, PERSON, columns=REGIONS, domain=DOMAIN, person="who", max_rows=2
    )
    budget = MemoryBudget({"d": ZeroConcentratedDP(5, neighbors="add-remove-person")})
    source = RecordFiles(write(people(10), tmp_path / "in", 2), tmp_path)

    def loud(space: Any, number: int) -> None:
        (space.folder / "half").write_text("secret")
        raise RuntimeError(CANARY)

    monkeypatch.setitem(large_steps.STEPS, kind, loud)
    with pytest.raises(SolverError, match=kind) as caught:
        planned.release(source, budget=budget, dataset="d")
    assert "Canary" not in str(caught.value)
    assert budget.account("d").left[0] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_lazy_frames_of_other_libraries_are_grouped_where_they_are() -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    table = people(11)
    with duckdb.connect() as here:
        lazy = here.from_arrow(table.to_arrow())
        columns = RecordColumns(REGIONS, "who")
        assert (
            count_cells(lazy, frame(), columns).counts
            == count_cells(table, frame(), columns).counts
        ).all()
        with pytest.raises(InvalidProblemError, match="at most 1 row"):
            count_cells(lazy, frame(1), columns)
        bad = here.from_arrow(table.with_columns(sex=pl.lit(CANARY)).to_arrow())
        with pytest.raises(InvalidProblemError, match="a listed region and category") as caught:
            count_cells(bad, frame(), RecordColumns(REGIONS))
        assert "Canary" not in str(caught.value)


def test_the_command_reads_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = people(12)
    write(table, tmp_path / "people", 3)
    pl.DataFrame({"state": [p[0] for p in LISTED], "county": ["1", "2", "1", None]}).write_csv(
        "r.csv"
    )
    Path("domain.json").write_text('{"sex": ["F", "M"], "age": ["0", "1", "2"]}')
    options = "--regions state,county --region-list r.csv --by sex,age --domain domain.json"
    given = f"counts people {options} --rho 100000 --neighbors add-remove-person".split()
    for more in ([], ["--memory", "1GB", "--threads", "2"]):
        run = CliRunner().invoke(app, [*given, *more, "-o", "out.csv"], catch_exceptions=False)
        assert run.exit_code == 0, run.output
        made = pl.read_csv("out.csv", infer_schema=False)
        total = made.filter((pl.col("level") == "1") & (pl.col("marginal") == "sex:age"))
        assert total["count"].cast(pl.Int64).sum() == table.height
    for more, said in (
        (["-o", "people/out.csv"], "outside the folder"),
        (["-o", "o.csv", "--scheduler", "tcp://example.org:1"], "tls://"),
    ):
        run = CliRunner().invoke(app, [*given, *more])
        assert run.exit_code != 0
        assert said in f"{run.output}{run.exception}"
    assert not Path("o.csv").exists()
