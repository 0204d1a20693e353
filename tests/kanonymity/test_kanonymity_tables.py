"""Tables in and out: taxonomies from files, what is published, what is dropped, risks by their definitions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity import verify
from discreet.kanonymity.cells import publish, read_problem
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Problem, Taxonomy
from discreet.kanonymity.problem.published import Cells
from discreet.kanonymity.risk import risk
from discreet.tables.taxonomies import read_taxonomy, taxonomy_of, taxonomy_of_columns
from kanonymity.tables import anonymize_kept as anonymize

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("mark", [",", ";"])
@pytest.mark.parametrize("head", ["", "\ufeff"])
def test_taxonomies_are_read_in_the_column_format(tmp_path: Path, mark: str, head: str) -> None:
    """Intervals hold commas; where semicolons separate, nobody quotes them."""
    quote = '"' if mark == "," else ""
    rows = [
        [str(age), f"{quote}[{age // 5 * 5}, {age // 5 * 5 + 5}[{quote}", "*"] for age in range(20)
    ]
    file = tmp_path / "age.csv"
    file.write_text(head + "\n".join(mark.join(row) for row in rows), encoding="utf-8")
    tree = read_taxonomy(file)
    assert (len(tree.leaves), tree.depth, tree.labels[0]) == (20, 2, "*")
    assert tree.path(tree.find(("[5, 10[", "7"))) == ("[5, 10[", "7")


def test_a_taxonomy_without_one_top_gets_one() -> None:
    tree = taxonomy_of_columns([("FR", "Europe"), ("JP", "Asia")])
    assert tree.labels[0] == "*"
    assert tree.depth == 2
    assert taxonomy_of_columns([("a",), ("b",)]).depth == 1


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "a row for each value"),
        ([("a", "x", "*"), ("b", "*")], "2 in line 2"),
        ([("a", "x", "*"), ("a", "x", "*")], "a value again in line 2"),
        ([("a", "x", "u", "*"), ("b", "x", "v", "*")], "another label in line 2"),
    ],
)
def test_rows_that_make_no_taxonomy_are_named(rows: list[tuple[str, ...]], told: str) -> None:
    with pytest.raises(InvalidProblemError, match=told):
        taxonomy_of_columns(rows)


def test_files_that_are_no_taxonomy(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="taxonomy"):
        read_taxonomy(tmp_path / "none.csv")
    (tmp_path / "odd.csv").write_text("a,b\nc,d,e\n", encoding="utf-8")
    with pytest.raises(InvalidProblemError, match=r"odd.csv: 3 in line 2"):
        read_taxonomy(tmp_path / "odd.csv")
    (tmp_path / "latin.csv").write_bytes("é,*".encode("latin-1"))
    with pytest.raises(InvalidProblemError, match="taxonomy"):
        read_taxonomy(tmp_path / "latin.csv")


def test_nested_mappings() -> None:
    tree = taxonomy_of({"Europe": ["FR", "DE"], "Asia": {"South": ["IN"]}}, root="World")
    assert tree.labels[0] == "World"
    assert tree.find(("Asia", "South", "IN")) > 0
    bad: list[Any] = [{"Europe": []}, {"Europe": "FR"}, {}]
    for nested in bad:
        with pytest.raises(InvalidProblemError, match="nested"):
            taxonomy_of(nested)


def test_text_stands_for_numbers_and_numbers_for_text() -> None:
    frame = pl.DataFrame({"age": ["30", "", "40.5"], "code": [1, 2, None]})
    tree = taxonomy_of({"low": ["1"], "high": ["2"]})
    kinds: list[Attribute] = [Numeric("age"), Taxonomy("code", tree)]
    problem = read_problem(frame, ["age", "code"], kinds, "ncp")
    assert problem.columns[0].domain == (30, 40.5, None)
    assert problem.columns[1].domain == ("1", "2", None)
    with pytest.raises(
        InvalidProblemError, match="age: expected numbers, got another value in row 2"
    ):
        read_problem(pl.DataFrame({"age": ["1", "old"]}), ["age"], [Numeric("age")], "ncp")


def test_fewer_suppressed_rows_than_k_are_never_kept() -> None:
    frame = pl.DataFrame({"age": [1, 1, 1, 2, 3]})
    problem = read_problem(frame, ["age"], [Numeric("age")], "ncp")
    labels = np.array([0, 0, 0, -1, -1], np.int32)
    assert publish(frame, problem, labels, keep=3)["age"].to_list() == ["1"] * 3
    assert sorted(publish(frame, problem, labels, keep=2)["age"]) == ["*", "*", "1", "1", "1"]


@pytest.mark.parametrize("name", sorted(METHODS.proven))
def test_what_every_method_publishes_is_verified_beside_the_original(name: str) -> None:
    method = METHODS[name].make()
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 40, 16),
            "home": rng.choice(["FR", "DE", "IN"], 16),
            "ill": rng.choice(["yes", "no"], 16),
        }
    )
    tree = taxonomy_of({"Europe": ["FR", "DE"], "Asia": ["IN"]})
    kinds: list[Attribute] = [Numeric("age"), Taxonomy("home", tree)]
    # The paper's program is for numbers alone.
    kinds = kinds[:1] if name == "milp" else kinds
    promise = KAnonymity(3, tuple(kind.name for kind in kinds))
    made = anonymize(frame, promise, attributes=kinds, method=method, time_limit=2)
    assert verify(made.table, promise, against=frame, attributes=kinds, suppressed=0).passed


def test_sets_show_no_multiplicities_and_bars_are_escaped() -> None:
    frame = pl.DataFrame({"job": ["b|c", "a", "a", "a", "d\\"]})
    problem = read_problem(frame, ["job"], [Categorical("job")], "ncp")
    out = publish(frame, problem, np.zeros(5, np.int32))
    assert set(out["job"]) == {r"a|b\|c|d\\"}
    cells = Cells.of(problem.columns[0], [r"a|b\|c|d\\", r"b\|c", "b|c", "*", "\\"])
    found = [cells.covers(cell, np.arange(3, dtype=np.int32)).tolist() for cell in range(5)]
    assert found == [[True] * 3, [False, True, False], [False] * 3, [True] * 3, [False] * 3]


def test_cells_of_a_taxonomy_cover_leaves_below_any_node_of_the_label() -> None:
    tree = taxonomy_of({"Europe": ["FR", "DE"], "Asia": {"Asia": ["IN"]}}, root="any")
    problem = Problem.from_columns({"home": ["FR", "IN", None]}, [Taxonomy("home", tree)])
    column = problem.columns[0]
    assert column.domain == ("FR", "DE", "IN", None)
    cells = Cells.of(column, ["Europe", "Asia", "any", "DE", "", "*", "Mars"])
    found = [
        cells.covers(at, np.arange(4, dtype=np.int32)).nonzero()[0].tolist() for at in range(7)
    ]
    assert found == [[0, 1], [2], [0, 1, 2, 3], [1], [3], [0, 1, 2, 3], []]


def test_rows_come_in_another_order_each_time() -> None:
    frame = pl.DataFrame({"age": [1] * 50, "row": range(50)})
    orders = [tuple(anonymize(frame, KAnonymity(2, ("age",))).table["row"]) for _ in range(2)]
    assert len({*orders, tuple(range(50))}) == 3
    assert sorted(orders[0]) == list(range(50))


def test_what_a_frame_knows_of_the_original_is_dropped() -> None:
    """A dictionary that holds values of suppressed rows, or holds values in the order of the original."""
    frame = pl.DataFrame({"age": [1, 1, 2, 2, 99], "home": ["b", "a", "b", "a", "zz"]})
    table = frame.with_columns(pl.col("home").cast(pl.Categorical)).to_arrow()
    table = table.replace_schema_metadata({"file": "ward 7"})
    problem = read_problem(table, ["age"], [Numeric("age")], "ncp")
    out = publish(table, problem, np.array([0, 0, 1, 1, -1], np.int32))
    assert out.schema.metadata is None
    assert out.num_rows == 4
    assert "zz" not in out["home"].chunk(0).dictionary.to_pylist()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.integers(0, 3))
def test_risks_are_those_of_the_definitions(ages: list[int], more: int) -> None:
    rng = np.random.default_rng(more)
    people = [*ages, *rng.integers(0, 5, 5 * more).tolist()]
    population = Problem.from_columns({"age": people}, [Numeric("age")])
    found = risk({"age": ages}, ["age"], population=population)
    inverse = [Fraction(1, people.count(age)) for age in ages]
    assert found.prosecutor_highest == max(Fraction(1, ages.count(age)) for age in ages)
    assert found.prosecutor_average == Fraction(len(set(ages)), len(ages))
    assert found.journalist_highest == max(inverse)
    assert found.marketer == sum(inverse, Fraction(0)) / len(ages)
    covered = sum(people.count(age) for age in set(ages))
    assert found.journalist_average == max(found.marketer, Fraction(len(set(ages)), covered))
    assert (found.k, found.largest) == (min(map(ages.count, ages)), max(map(ages.count, ages)))


def test_a_population_without_the_rows_is_refused() -> None:
    population = Problem.from_columns({"age": [1, 2]}, [Numeric("age")])
    with pytest.raises(InvalidProblemError, match="population"):
        risk({"age": [1, 1]}, ["age"], population=population)
