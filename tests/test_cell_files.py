"""Rows in files counted by region and cell, piece by piece: the same counts as by hand, and refusals without values."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from cli.commands import say
from discreet.cli.app import app
from discreet.core.budget import MemoryBudget
from discreet.core.errors import InvalidProblemError, SolverError
from discreet.core.guarantee import ZeroConcentratedDP
from discreet.core.tree import Tree
from discreet.hierarchy import contingency
from discreet.hierarchy.contingency import Domain, TableFrame
from discreet.hierarchy.contingency.records import RecordColumns, count_cells
from discreet.streaming import RecordFiles, pieces, record_files
from discreet.streaming import steps as large_steps
from discreet.streaming.cell_steps import CELL_STEPS
from discreet.tables.options import ReadingOptions
from discreet.tables.recoding import CellRules, Recoding
from few import each_once, few_of
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
    monkeypatch.setattr(pieces, "PIECE_ROWS", 40)
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


@pytest.mark.parametrize("seed", few_of(3, range(6)))
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


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"state": CANARY}, "1 without a lowest region"),
        ({"sex": CANARY}, "1 without a category of sex"),
        ({"age": 9}, "1 without a category of age"),
        ({"sex": "F", "age": 2}, "1 in a structural zero"),
        ({"who": None}, "1 without the name of a person"),
    ],
)
def test_rows_outside_of_the_rule_are_left_out_with_a_private_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], note: str
) -> None:
    table = people(7)
    row = {**table.row(0, named=True), "who": "nobody else", **change}
    odd = pl.concat([table, pl.DataFrame([row], schema=table.schema)])
    source = RecordFiles(write(odd, tmp_path / "in", 3), tmp_path)
    columns = RecordColumns(REGIONS, "who")
    expected = count_cells(table, frame(), columns).counts
    assert not capsys.readouterr().err
    for kind in (source, odd):
        assert (count_cells(kind, frame(), columns).counts == expected).all()
        told = capsys.readouterr().err
        assert note in told
        assert "Canary" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(("most", "seed"), each_once([1, 2], range(4), usual=2))
def test_rows_of_each_person_are_drawn_by_these_rows_and_a_key_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, most: int
) -> None:
    """With one key, neighbors by all rows of one person differ in at most so many rows, whatever their order."""
    monkeypatch.setattr("discreet.tables.keys.urandom", lambda size: bytes([seed] * size))
    table = people(seed)
    columns = RecordColumns(REGIONS, "who")
    shuffled = table.sample(fraction=1, shuffle=True, seed=seed)
    counts = count_cells(table, frame(most), columns).counts
    assert counts.sum() == table.group_by("who").len()["len"].clip(upper_bound=most).sum()
    for other in (shuffled, RecordFiles(write(shuffled, tmp_path / "in", 4), tmp_path)):
        assert (count_cells(other, frame(most), columns).counts == counts).all()
    for who in table["who"].unique()[:20]:
        without = count_cells(shuffled.filter(pl.col("who") != who), frame(most), columns).counts
        assert 0 < (counts - without).sum() <= most
        assert (counts >= without).all()


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


def test_lazy_frames_of_other_libraries_are_grouped_where_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("discreet.tables.keys.urandom", bytes)
    duckdb: Any = pytest.importorskip("duckdb")
    table = people(11)
    with duckdb.connect() as here:
        lazy = here.from_arrow(table.to_arrow())
        columns = RecordColumns(REGIONS, "who")
        assert (
            count_cells(lazy, frame(), columns).counts
            == count_cells(table, frame(), columns).counts
        ).all()
        for columns in (RecordColumns(REGIONS), RecordColumns(REGIONS, "who")):
            odd = table.with_columns(
                sex=pl.when(pl.col("age") == 1).then(pl.lit(CANARY)).otherwise("sex")
            )
            found = count_cells(here.from_arrow(odd.to_arrow()), frame(1), columns).counts
            assert (found == count_cells(odd, frame(1), columns).counts).all()


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


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_cells_are_read_and_recoded_in_pieces_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    odd = pl.when(pl.col("age") == 1).then(pl.lit("?")).otherwise("sex").alias("sex")
    table = people(13).with_columns(odd, (pl.col("age").cast(pl.Int64) * 20).alias("years"))
    write(table, tmp_path / "people", 3, suffix=suffix)
    (table.write_csv if suffix == ".csv" else table.write_parquet)(f"one{suffix}")
    given: dict[str, Any] = {"columns": REGIONS, "regions": LISTED, "by": ["sex", "years"]}
    given["domain"] = {"sex": ["F", "M", ""], "years": ["<20", ">=20", ""]}
    strong = ZeroConcentratedDP(10**7, neighbors="add-remove-person")
    rules = CellRules(ReadingOptions.of(missing="sex=?"), Recoding.of(bins=["years=20"]))
    typed: dict[str, Any] = {"missing": ["sex=?"], "bins": ["years=20"]}
    whole: Any = dc.counts(f"one{suffix}", strong, **given, **typed)
    pieces: Any = dc.counts(RecordFiles("people", rules=rules), strong, **given)
    assert (whole.result.cells == pieces.result.cells).all()
    assert whole.result.cells[0].sum() == table.height
    wrong = RecordFiles("people", rules=CellRules(recoding=Recoding.of(top=["height=2"])))
    budget = MemoryBudget({"d": strong})
    with pytest.raises(InvalidProblemError, match="height"):
        dc.counts(wrong, strong, **given, budget=budget, dataset="d")
    assert budget.account("d").left[0] == 10**7


RULES = (
    *("--missing", "sex=?", "--missing", "-9", "--decimal", ","),
    *("--top", "age=5", "--bottom", "age=2", "--bins", "years=20,100"),
)


def odd_people(rows: int, suffix: str) -> pl.DataFrame:
    """Return people with marks of missing values and numbers with commas; Parquet has numbers and categories."""
    at = pl.int_range(rows)
    table = pl.DataFrame({"n": range(rows)}).select(
        age=at % 8,
        years=(at * 7) % 150,
        sex=pl.when(at % 5 == 0)
        .then(pl.lit("?"))
        .when(at % 2 == 0)
        .then(pl.lit("F"))
        .otherwise(pl.lit("M")),
        cm=pl.when(at % 11 == 0).then(pl.lit("-9")).otherwise(pl.format("1{},5", 60 + at % 9)),
        ill=pl.when(at % 3 == 0).then(pl.lit("-9")).otherwise(pl.format("d{}", at % 4)),
    )
    if suffix == ".csv":
        return table
    return table.with_columns(pl.col("sex", "ill").cast(pl.Categorical))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_risk_reads_and_recodes_pieces_as_a_file_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    table = odd_people(240, suffix)
    write(table, tmp_path / "people", 3, suffix=suffix)
    (table.write_csv if suffix == ".csv" else table.write_parquet)(f"one{suffix}")
    roles = ("--quasi", "age,years,sex,cm", "--sensitive", "ill")
    words = [*roles, *RULES, "--round", "cm=2", "--json"]
    plain = say(capsys, "risk", f"one{suffix}", *words[:4], "--json").data
    whole = say(capsys, "risk", f"one{suffix}", *words).data
    # What causes the risk is found in memory alone.
    assert whole.pop("sources") != plain["sources"]
    assert whole["classes"] != plain["classes"]
    for more in ([], ["--memory", "1GB"], ["--threads", "2"]):
        said = say(capsys, "risk", "people", *words, *more)
        assert said.status == 0, said.err
        assert said.data == whole
    missed = say(capsys, "risk", "people", *words[:4], "--top", "height=2")
    assert (missed.status, "'height'" in missed.err) == (2, True)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_anonymize_reads_and_recodes_pieces_and_records_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    table = odd_people(240, suffix)
    write(table, tmp_path / "people", 3, suffix=suffix)
    (table.write_csv if suffix == ".csv" else table.write_parquet)(f"one{suffix}")
    words = ["-k", "5", "--quasi", "age,years,cm", "--sensitive", "ill", "--keep", "sex", *RULES]
    for source in ("people", f"one{suffix}"):
        said = say(capsys, "anonymize", source, *words, "--memory", "1GB", "-o", "out.csv", "-q")
        assert said.status == 0, said.err
        out = pl.read_csv("out.csv", infer_schema=False)
        assert set(out["sex"].unique()) == {None, "F", "M"}
        assert "-9" not in set(out["ill"])
        assert set(out["age"].str.extract_all(r"\d").explode()) <= set("2345")
        assert not out["cm"].str.contains(r"\d,\d").any()
        assert not out["years"].str.contains(r"\d\d\d\d|149").any()
        made = json.loads(Path("out.csv.discreet.json").read_text(encoding="utf-8"))
        stated = made["provenance"]["parameters"]
        assert stated["reading"]["decimal"] == ","
        assert stated["recoding"]["bins"] == {"years": ["20", "100"]}
        assert say(capsys, "verify", "out.csv", "--against", f"one{suffix}").status == 0
    missed = say(
        capsys,
        "anonymize",
        f"one{suffix}",
        *words,
        "--memory",
        "1GB",
        "--top",
        "height=2",
        "-o",
        "p.csv",
    )
    assert (missed.status, "TABLE: expected" in missed.err, "'height'" in missed.err) == (
        2,
        True,
        True,
    )
    assert not Path("p.csv").exists()


def test_options_that_pieces_have_not_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(people(13), tmp_path / "people", 2)
    counted = "counts people --by sex --domain d.json --epsilon 1 --neighbors add-remove-person"
    Path("d.json").write_text('{"sex": ["F", "M"]}', encoding="utf-8")
    for command, option, value in (
        (counted, "--encoding", "cp1252"),
        (counted, "--delimiter", "|"),
        ("risk people --quasi age", "--encoding", "cp1252"),
        ("risk people --quasi age", "--sheet", "a"),
        ("anonymize people -k 2 --quasi age --memory 1GB -o o.csv", "--delimiter", "|"),
    ):
        said = say(capsys, *command.split(), option, value)
        assert said.status == 2
        assert f"{option}: expected none for a table in pieces" in said.err
