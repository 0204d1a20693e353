"""Lazy and distributed frames are grouped where they are: the counts of the same rows in memory, and nothing else."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.core.budget import MemoryBudget
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP
from discreet.hierarchy import from_records, from_units, plan
from discreet.hierarchy.contingency import Domain, TableFrame
from discreet.hierarchy.contingency.records import RecordColumns, count_cells
from remote_frames import LIBRARIES

pytestmark = pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")

REGIONS = ["state", "county"]
LISTED = [("GA", "1"), ("GA", "2"), ("NY", "1"), ("DC",)]
PERSON = PureDP(1, neighbors="add-remove-person")
CANARY = "Mrs Canary of Elm Street"


def people(seed: int, n: int = 400) -> pl.DataFrame:
    """Draw persons of units whose rows lie anywhere."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, len(LISTED), n)
    home = rng.integers(0, n, 3 * n)
    paths = [LISTED[place[one]] for one in home]
    return pl.DataFrame(
        {
            "home": home,
            "state": [path[0] for path in paths],
            "county": [path[1] if len(path) > 1 else None for path in paths],
            "weight": rng.integers(0, 4, 3 * n),
            "who": np.arange(3 * n),
        }
    )


@pytest.fixture(params=LIBRARIES)
def library(request: Any) -> Any:
    return request.param()


def test_the_counts_are_those_of_the_rows_in_memory(library: Any) -> None:
    table = people(1)
    given: dict[str, Any] = {"unit": "home", "columns": REGIONS, "max_size": 4}
    public = table.select("home", *REGIONS).unique().head(10_000)
    for more in (
        {"regions": LISTED},
        {"regions": LISTED, "person": "who"},
        {"regions": LISTED, "quantity": "weight", "max_quantity": 2},
        {"public_units": public},
    ):
        options = {**given, **more}
        expected = from_records(table, **options)
        found = from_records(library(table), **options)
        assert found.frame == expected.frame
        assert (found.counts == expected.counts).all()
        assert found.counts.sum() > 100


def test_tables_of_units_too(library: Any) -> None:
    table = people(2).unique("home")
    options: dict[str, Any] = {
        "size": "weight",
        "columns": REGIONS,
        "regions": LISTED,
        "max_size": 2,
        "unit": "home",
    }
    assert (
        from_units(library(table), **options).counts == from_units(table, **options).counts
    ).all()


@pytest.mark.parametrize("person", [None, "who"])
@pytest.mark.parametrize(
    "change",
    [
        {"state": CANARY},
        {"state": None},
        {"home": None},
        {"weight": -1},
        {"home": 0, "state": "DC", "county": None},
        {"who": 0},
    ],
)
def test_odd_rows_are_counted_by_the_rule_of_rows_in_memory(
    library: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    person: str | None,
) -> None:
    monkeypatch.setattr("discreet.tables.keys.urandom", bytes)
    table = people(3)
    row = table.head(1).with_columns(
        pl.lit(value, table.schema[name]).alias(name) for name, value in change.items()
    )
    odd = pl.concat([table, row])
    given: dict[str, Any] = {"unit": "home", "quantity": "weight", "person": person}
    given |= {"columns": REGIONS, "regions": LISTED, "max_size": 4}
    expected = from_records(odd, **given).counts
    capsys.readouterr()
    assert (from_records(library(odd), **given).counts == expected).all()
    assert "Canary" not in capsys.readouterr().err


def test_a_missing_column_is_refused_before_the_charge(library: Any) -> None:
    planned = plan(LISTED, PERSON, columns=REGIONS, unit="house", max_size=4)
    budget = MemoryBudget({"d": PureDP(9, neighbors="add-remove-person")})
    with pytest.raises(InvalidProblemError, match="house"):
        planned.release(library(people(4)), budget=budget, dataset="d")
    assert budget.account("d").left[0] == 9


def test_a_source_that_fails_in_the_middle_is_charged_once_and_said() -> None:
    def fail(one: pl.DataFrame) -> pl.DataFrame:
        raise RuntimeError(CANARY)

    table = people(5)
    asked: list[bool] = []

    def late(one: pl.DataFrame) -> pl.DataFrame:
        asked.append(True)
        return fail(one)

    source = table.lazy().map_batches(late, schema=table.schema)
    planned = plan(LISTED, PERSON, columns=REGIONS, unit="home", max_size=4)
    budget = MemoryBudget({"d": PureDP(2, neighbors="add-remove-person")})
    with pytest.raises(InvalidProblemError, match="stays charged") as caught:
        planned.release(source, budget=budget, dataset="d")
    assert asked
    assert "Canary" not in str(caught.value)
    assert budget.account("d").left[0] == 1
    asked.clear()
    tight = MemoryBudget({"d": PureDP("1/2", neighbors="add-remove-person")})
    with pytest.raises(Exception, match="left|budget"):
        planned.release(source, budget=tight, dataset="d")
    # Nothing of a lazy frame is computed before the charge.
    assert not asked


def test_rows_outside_of_the_list_are_in_the_nearest_region_other(library: Any) -> None:
    listed: list[tuple[Any, ...]] = [
        ("GA", "Fulton"),
        ("GA", "(other)"),
        ("NY", "Queens"),
        ("DC",),
        ("(other)",),
    ]
    rows = {
        "GA Fulton": 0,
        "GA Queens": 1,
        "GA (other)": 1,
        "GA -": 1,
        "NY Queens": 2,
        "NY Fulton": 4,
        "DC -": 3,
        "DC Fulton": 4,
        "- -": 4,
        "XX Fulton": 4,
        "- Queens": 4,
        "(other) -": 4,
    }
    paths = [[None if cell == "-" else cell for cell in path.split()] for path in rows]
    people = pl.DataFrame(
        [[f"h{n}", *path] for n, path in enumerate(paths)], schema=["home", *REGIONS], orient="row"
    )
    source = library(people)
    made = from_records(source, unit="home", columns=REGIONS, regions=listed, max_size=2)
    tree = made.frame.tree
    leaves = [listed.index(tree.path(leaf)) for leaf in tree.leaves.tolist()]
    assert made.counts[:, 0].tolist() == [list(rows.values()).count(leaf) for leaf in leaves]
    domain = {"home": ["h0", "(other)"]}
    frame = TableFrame(tree, Domain.read(domain), {(0,): (Fraction(1, 3),) * 3})
    cells = count_cells(source, frame, RecordColumns(tuple(REGIONS))).counts
    expected = [[1, 0], [0, 3], [0, 1], [0, 1], [0, 6]]
    assert cells.tolist() == [expected[leaf] for leaf in leaves]
    homes = people.head(1).with_columns(county=pl.lit("Nowhere"))
    with pytest.raises(InvalidProblemError, match="county: expected a region of the list"):
        from_records(
            source, unit="home", columns=REGIONS, regions=listed, max_size=2, public_units=homes
        )


def test_upper_levels_are_taken_from_the_list(library: Any) -> None:
    listed = [("GA", "Fulton"), ("GA", "Cobb"), ("NY", "Kings")]
    columns = ["(state)", "county"]
    rows = {"home": ["1", "2", "3"], "county": ["Kings", "Fulton", "Nowhere"]}
    source = library(pl.DataFrame(rows))
    given: dict[str, Any] = {"unit": "home", "columns": columns, "max_size": 2}
    made = from_records(source, regions=listed, **given)
    tree = made.frame.tree
    counted = {tree.path(leaf): n for leaf, n in zip(tree.leaves, made.counts[:, 0], strict=True)}
    assert counted == {("GA", "Fulton"): 1, ("GA", "Cobb"): 0, ("NY", "Kings"): 1}
    other = from_records(source, regions=[*listed, ("(other)",)], **given)
    assert other.counts.sum() == 3
    table = pl.DataFrame(listed, schema=REGIONS, orient="row")
    assert from_records(source, regions=table, **given).frame == made.frame
    frame = TableFrame(tree, Domain.read({"home": ["1", "2"]}), {(0,): (Fraction(1, 3),) * 3})
    cells = count_cells(source, frame, RecordColumns(tuple(columns))).counts
    assert cells.sum(axis=1).tolist() == made.counts[:, 0].tolist()
    quoted = pl.DataFrame({"home": ["1"], "(county)": ["Kings"]})
    named = {**given, "columns": ["(state)", '"(county)"']}
    assert from_records(quoted, regions=listed, **named).counts.sum() == 1
    for change, message in (
        ({"regions": [*listed, ("NY", "Cobb")]}, "county alone tells apart"),
        ({"regions": [*listed, ("DC",)]}, "county alone tells apart"),
        ({"regions": listed, "columns": ["state", "(county)"]}, "those in parentheses above"),
        ({"regions": listed, "columns": ["(county)", "county"]}, "those in parentheses above"),
        ({"public_units": table.with_columns(home=pl.lit(1))}, "beside public units"),
    ):
        with pytest.raises(InvalidProblemError, match=message):
            from_records(source, **{**given, **change})
