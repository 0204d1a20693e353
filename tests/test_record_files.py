"""Rows in files are counted piece by piece: the same counts as by hand, however the rows of a unit are scattered."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.core.budget import MemoryBudget
from discreet.core.errors import InvalidProblemError, SolverError
from discreet.core.guarantee import PureDP
from discreet.hierarchy import GroupSizes, from_records, from_units, plan
from discreet.streaming import RecordFiles, pieces, record_files, record_steps
from discreet.streaming import steps as large_steps
from few import few_of

REGIONS = ["state", "county"]
LISTED = [("GA", "1"), ("GA", "2"), ("NY", "1"), ("DC",)]
PERSON = PureDP(1, neighbors="add-remove-person")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in small pieces, batches and buckets."""
    monkeypatch.setattr(pieces, "PIECE_ROWS", 40)
    monkeypatch.setattr(record_files, "ROWS", (7, 30))


def people(seed: int, units: int = 60, *, text: bool = False) -> pl.DataFrame:
    """Draw persons in no order."""
    rng = np.random.default_rng(seed)
    place, size = rng.integers(0, len(LISTED), units), rng.integers(1, 8, units)
    home = np.repeat(np.arange(units), size)
    rng.shuffle(home)
    paths = [LISTED[place[one]] for one in home]
    table = pl.DataFrame(
        {
            "home": home,
            "state": [path[0] for path in paths],
            "county": [path[1] if len(path) > 1 else None for path in paths],
            "weight": rng.integers(0, 4, len(home)),
            "who": np.arange(len(home), dtype=np.int64),
        }
    )
    return table.with_columns(pl.format("home {}", "home").alias("home")) if text else table


def write(table: pl.DataFrame, folder: Path, parts: int, *, suffix: str = ".parquet") -> Path:
    """Write a table into parts, some of them of several row groups, one of them empty."""
    folder.mkdir()
    edges = np.linspace(0, table.height, parts + 1).astype(int).tolist()
    for at, (first, end) in enumerate(
        zip(edges, [*edges[1:-1], edges[-1]][: parts + 1], strict=False)
    ):
        mine = table[first : edges[at + 1] if at + 1 < len(edges) else end]
        where = folder / f"part-{at}{suffix}"
        if suffix == ".parquet":
            mine.write_parquet(where, row_group_size=13)
        else:
            mine.write_csv(where)
    return folder


def by_hand(table: pl.DataFrame, most: int, quantity: str | None = None, clip: int = 1) -> Any:
    """Count with dictionaries."""
    size: dict[Any, int] = defaultdict(int)
    place: dict[Any, tuple[str, ...]] = {}
    for row in table.iter_rows(named=True):
        size[row["home"]] += 1 if quantity is None else min(clip, row[quantity])
        place[row["home"]] = tuple(row[name] for name in REGIONS if row[name])
    return Counter((place[home], min(most, size[home])) for home in size)


def told(data: GroupSizes) -> Any:
    """Write counts as a Counter."""
    tree, sizes = data.frame.tree, data.frame.sizes
    return Counter(
        {
            (tree.path(leaf), int(sizes[at])): int(count)
            for leaf, row in zip(tree.leaves.tolist(), data.counts, strict=True)
            for at, count in enumerate(row)
            if count
        }
    )


@pytest.mark.parametrize("seed", few_of(2, [2, 3, 4, 0, 1, 5, 6, 7]))
def test_units_that_lie_in_several_parts_are_counted_once(tmp_path: Path, seed: int) -> None:
    table = people(seed, text=seed % 2 == 0)
    suffix = ".csv" if seed % 4 == 3 else ".parquet"
    source = write(table, tmp_path / "in", 1 + seed % 5, suffix=suffix)
    given: dict[str, Any] = {"unit": "home", "columns": REGIONS, "regions": LISTED, "max_size": 4}
    made = from_records(RecordFiles(source, tmp_path, threads=1 + seed % 2), **given)
    assert told(made) == by_hand(table, 4)
    weighed = from_records(
        RecordFiles(source, tmp_path, memory=1),
        quantity="weight",
        max_quantity=2,
        person="who",
        **given,
    )
    expected = by_hand(table, 4, "weight", 2)
    # Private units of nobody are left out.
    assert told(weighed) == Counter({key: n for key, n in expected.items() if key[1]})
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("matched", [False, True])
def test_tables_of_units(tmp_path: Path, matched: bool) -> None:  # noqa: FBT001 - a case
    table = people(9).unique("home", maintain_order=True)
    source = write(table, tmp_path / "in", 3)
    given: dict[str, Any] = {"size": "weight", "columns": REGIONS, "max_size": 2, "unit": "home"}
    public = table.select("home", *REGIONS)
    given |= {"public_units": public} if matched else {"regions": LISTED}
    made = from_units(RecordFiles(source), **given)
    assert (made.counts == from_units(table, **given).counts).all()
    assert made.counts.sum() > 20


def test_public_units_are_matched_over_parts(tmp_path: Path) -> None:
    table = people(10)
    public = pl.concat(
        [
            table.select("home", *REGIONS).unique(),
            pl.DataFrame({"home": [999], "state": ["DC"], "county": [None]}),
        ],
        how="vertical_relaxed",
    )
    source = write(table, tmp_path / "in", 4)
    given: dict[str, Any] = {"unit": "home", "columns": REGIONS, "max_size": 3}
    made = from_records(RecordFiles(source), public_units=public, **given)
    assert told(made) == by_hand(table, 3) + Counter({(("DC",), 0): 1})
    fewer = from_records(RecordFiles(source), public_units=public[5:], **given)
    assert (fewer.counts == from_records(table, public_units=public[5:], **given).counts).all()


CANARY = "Mrs Canary of Elm Street"


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"state": CANARY}, "1 without a lowest region"),
        ({"home": None}, "1 without the name of a unit"),
        ({"weight": -1}, "1 without a whole number"),
        ({"who": 0}, "1 beyond the one of a person that counts"),
        ({"who": None}, "1 without the name of a person"),
    ],
)
def test_rows_outside_of_the_rule_are_left_out_with_a_private_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], note: str
) -> None:
    table = people(11)
    row = {**table.row(0, named=True), "who": 10**6, "weight": 2, **change}
    odd = pl.concat([table, pl.DataFrame([row], schema=table.schema)])
    given: dict[str, Any] = {"unit": "home", "quantity": "weight", "person": "who"}
    given |= {"columns": REGIONS, "regions": LISTED, "max_size": 4, "max_quantity": 2}
    source = RecordFiles(write(odd, tmp_path / "in", 3), tmp_path)
    expected = from_records(table, **given).counts
    assert not capsys.readouterr().err
    for kind in (source, odd):
        made = from_records(kind, **given).counts
        # Which of the two rows of person 0 counts is random.
        assert (made == expected).all() or change == {"who": 0}
        told = capsys.readouterr().err
        assert note in told
        assert "Canary" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("kind", record_steps.RECORD_STEPS)
def test_errors_of_steps_are_charged_once_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A full disk, and an error that quotes a row, in each phase."""
    source = RecordFiles(write(people(14), tmp_path / "in", 2), tmp_path)
    planned = plan(LISTED, PERSON, columns=REGIONS, unit="home", person="who", max_size=4)
    budget = MemoryBudget({"d": PureDP(5, neighbors="add-remove-person")})

    def full(space: Any, number: int) -> None:
        (space.folder / "half").write_text("secret")
        raise OSError(28, "No space left on device")

    def loud(space: Any, number: int) -> None:
        raise RuntimeError("the row of Mrs Smith")

    for step, said, left in ((full, "No space", 4), (loud, kind, 3)):
        monkeypatch.setitem(large_steps.STEPS, kind, step)
        with pytest.raises((InvalidProblemError, SolverError), match=said) as caught:
            planned.release(source, budget=budget, dataset="d")
        assert "Smith" not in str(caught.value)
        assert budget.account("d").left[0] == left
        assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_can_be_seen_without_a_value_is_refused_before_the_charge(tmp_path: Path) -> None:
    source = write(people(12), tmp_path / "in", 2)
    planned = plan(LISTED, PERSON, columns=REGIONS, unit="house", max_size=4)
    budget = MemoryBudget({"d": PureDP(5, neighbors="add-remove-person")})
    with pytest.raises(InvalidProblemError, match="house"):
        planned.release(RecordFiles(source), budget=budget, dataset="d")
    people(13).drop("who").write_parquet(source / "part-9.parquet")
    with pytest.raises(InvalidProblemError, match="same columns"):
        planned.release(RecordFiles(source), budget=budget, dataset="d")
    with pytest.raises(InvalidProblemError, match="threads"):
        RecordFiles(source, threads=0)
    with pytest.raises(InvalidProblemError, match="Client"):
        RecordFiles(source, executor="tcp://127.0.0.1:8786")
    assert budget.account("d").left[0] == 5


def test_the_command_reads_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = people(14)
    write(table, tmp_path / "people", 3)
    pl.DataFrame({"state": [p[0] for p in LISTED], "county": ["1", "2", "1", None]}).write_csv(
        "r.csv"
    )
    options = "--unit home --regions state,county --region-list r.csv --max-size 4 --epsilon 500"
    given = f"counts people --neighbors add-remove-person {options} --memory 1GB --threads 2"
    run = CliRunner().invoke(app, [*given.split(), "-o", "out.csv"], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    made = pl.read_csv("out.csv")
    lowest = made.filter(pl.col("level") == made["level"].max())
    assert lowest["count"].sum() == sum(
        n for (path, _), n in by_hand(table, 4).items() if len(path) > 1
    )
    for more, said in (
        (["-o", "people/out.csv"], "outside the folder"),
        (["-o", "o.csv", "--scheduler", "tcp://example.org:1"], "tls://"),
        (["-o", "o.csv", "--memory", "much"], "4GB"),
    ):
        run = CliRunner().invoke(app, [*given.split(), *more])
        assert run.exit_code != 0
        assert said in f"{run.output}{run.exception}"
    assert not (tmp_path / "o.csv").exists()
    run = CliRunner().invoke(app, ["risk", "people", "--quasi", "state,county", "--json"])
    assert run.exit_code == 0, run.output
    alone = table.group_by(REGIONS).len()["len"]
    assert f'"k": {alone.to_numpy().min()}' in run.output


@pytest.mark.parametrize("row", [b"1,Secr\xe9t", b"Secr\xe9t,GA", b"1", b"1,GA,Secret", b""])
def test_an_odd_row_of_a_file_counts_as_in_memory(tmp_path: Path, row: bytes) -> None:
    """Bytes that are not UTF-8, and rows of another length, are read by one rule."""
    path = tmp_path / "people.csv"
    path.write_bytes(b"home,state\n1,GA\n2,NY\n" + row + b"\n3,NY\n")
    layout: dict[str, Any] = {"unit": "home", "columns": ["state"], "max_size": 3}
    regions = [("GA",), ("NY",)]
    whole = from_records(path, regions=regions, **layout)
    pieces = from_records(RecordFiles(path, tmp_path), regions=regions, **layout)
    assert pieces.counts.tolist() == whole.counts.tolist()
    assert whole.counts.sum() >= 3
