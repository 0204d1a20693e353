"""Coding of tables, and what classes cost: against the definitions, value by value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.tree import Tree
from discreet.kanonymity.problem import (
    LOSSES,
    Attribute,
    Categorical,
    CodedColumn,
    Numeric,
    Problem,
    Taxonomy,
)
from discreet.kanonymity.problem.attributes import depth_first
from kanonymity.tables import COUNTRIES, fars, mixed, numeric


def cell_cost(column: CodedColumn, values: set[Any], loss: str) -> float:
    """The definition: from the values themselves, not from codes."""
    kind, size = column.attribute, len(column.domain)
    domain: list[Any] = list(column.domain)
    if len(values) == 1:
        return 0.0
    if isinstance(kind, Numeric):
        present = [v for v in domain if v is not None]
        if None in values:
            return kind.weight
        if loss == "arx-loss":
            covered = sum(min(values) <= v <= max(values) for v in present)
            return float(kind.weight * (covered - 1) / (len(present) - 1))
        low = min(present) if kind.low is None else kind.low
        high = max(present) if kind.high is None else kind.high
        return float(kind.weight * (max(values) - min(values)) / (high - low)) if high > low else 0
    if isinstance(kind, Taxonomy):
        tree = kind.tree
        paths = {tree.labels[leaf]: tree.path(leaf) for leaf in tree.leaves.tolist()}
        if None in values:
            covered = size
        else:
            depth = 0
            while len({paths[v][: depth + 1] for v in values}) == 1:
                depth += 1
            top = next(paths[v][:depth] for v in values)
            covered = sum(path[:depth] == top for path in paths.values())
            # The leaf of missing values hangs below the root.
            covered += (depth == 0) * (size - len(paths))
    else:
        covered = len(values)
    if loss == "one-hot":
        return kind.weight * covered / size
    return kind.weight * (covered - 1) / (size if loss == "ncp-printed" else size - 1)


def total(problem: Problem, labels: list[int]) -> float:
    found = 0.0
    for label in set(labels):
        rows = [i for i, other in enumerate(labels) if other == label]
        for j, column in enumerate(problem.columns):
            values = {column.domain[c] for c in problem.codes[rows, j].tolist()}
            found += len(rows) * cell_cost(column, values, problem.loss)
    return found


@settings(max_examples=60)
@given(
    n=st.integers(3, 9),
    seed=st.integers(0, 1000),
    loss=st.sampled_from([loss for loss in LOSSES if loss != "range"]),
    missing=st.booleans(),
    data=st.data(),
)
def test_the_loss_of_a_partition_is_that_of_the_definition(
    *, n: int, seed: int, loss: str, missing: bool, data: st.DataObject
) -> None:
    problem = mixed(n, seed, loss, missing=missing)
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    labels = np.unique(drawn, return_inverse=True)[1]
    assert problem.loss_of(labels) == pytest.approx(total(problem, labels.tolist()), abs=1e-12)


@settings(max_examples=40)
@given(seed=st.integers(0, 1000), loss=st.sampled_from(LOSSES[:2] + LOSSES[3:]))
def test_a_larger_class_never_costs_less_a_cell(seed: int, loss: str) -> None:
    problem = mixed(9, seed, loss, missing=True)
    for j, column in enumerate(problem.columns):
        codes = problem.codes[:, j].tolist()
        costs = [
            cell_cost(column, {column.domain[c] for c in codes[:size]}, loss)
            for size in range(1, 10)
        ]
        assert costs == sorted(costs)
        assert costs[0] >= 0
        assert costs[-1] <= column.attribute.weight


def test_a_suppressed_row_costs_all_weights() -> None:
    problem = mixed(6, 0)
    assert problem.suppressed_cost == 4
    assert problem.loss_of([0, 0, 0, -1, -1, -1]) == pytest.approx(
        problem.loss_of([0, 0, 0, 1, 1, 1])
        - 3 * float(problem.boxes([0, 0, 0, 1, 1, 1]).costs[1].sum())
        + 12
    )
    assert problem.loss_of([-1] * 6) == 24


def test_the_worked_example_of_the_paper_has_its_value() -> None:
    classes = [[0, 2, 15, 17], [1, 11, 12], [3, 4, 18], [5, 6, 8, 9], [7, 10, 16], [13, 14, 19]]
    labels = np.empty(20, dtype=int)
    for label, rows in enumerate(classes):
        labels[rows] = label
    assert fars().loss_of(labels) == pytest.approx(19.266129032, abs=1e-8)
    assert fars((0.8, 0.05, 0.1, 0.05)).loss_of(labels) == pytest.approx(7.737903, abs=1e-6)


def test_declared_bounds_change_the_unit() -> None:
    rows = np.array([[10.0], [20.0]])
    assert numeric(rows).loss_of([0, 0]) == 2
    assert numeric(rows, low=0.0, high=100.0).loss_of([0, 0]) == pytest.approx(0.2)
    assert numeric(rows, high=30.0).loss_of([0, 0]) == 1


def test_constant_columns_and_columns_without_weight_are_free() -> None:
    constant: dict[str, list[Any]] = {"a": [5, 5, 5], "b": ["x", "x", "x"], "c": [1, 2, 3]}
    kinds: list[Attribute] = [Numeric("a"), Categorical("b"), Numeric("c", weight=0)]
    assert Problem.from_columns(constant, kinds).loss_of([0, 0, 0]) == 0


def test_codes_of_a_taxonomy_follow_the_tree() -> None:
    """Leaves below one node follow one another, so that least and greatest code name the node."""
    labels = [COUNTRIES.labels[leaf] for leaf in depth_first(COUNTRIES).tolist()]
    assert labels == ["FR", "DE", "IN", "PK", "JP", "Oz"]
    homes = ["PK", "IN", "JP", "FR"]
    column = Problem.from_columns({"home": homes}, [Taxonomy("home", COUNTRIES)]).columns[0]
    lo, hi = np.array([2, 2, 0, 0, 5]), np.array([3, 4, 1, 2, 5])
    assert column.nodes(lo, hi) == ["South", "Asia", "Europe", "all", "Oz"]
    assert column.span_cost([2, 2, 0, 4], [3, 4, 5, 4]).tolist() == [0.2, 0.4, 1, 0]


def test_a_missing_value_hangs_below_the_root_of_a_taxonomy() -> None:
    column = Problem.from_columns(
        {"home": ["FR", None, float("nan")]}, [Taxonomy("home", COUNTRIES)]
    ).columns[0]
    assert column.domain[-1] is None
    assert column.nodes(np.array([0, 6]), np.array([6, 6])) == ["all", None]
    assert column.span_cost(0, 6) == 1


def test_only_taxonomies_have_nodes() -> None:
    column = fars().columns[0]
    with pytest.raises(InvalidProblemError, match="AGE: expected a taxonomy"):
        column.nodes(np.array([0]), np.array([1]))


def test_a_problem_shows_no_value() -> None:
    assert repr(fars()) == "Problem(20 rows; AGE, SEX, INJ_SEV, DRINKING)"


def test_codes_are_a_copy_that_cannot_be_written() -> None:
    problem = fars()
    with pytest.raises(ValueError, match="read-only"):
        problem.codes[0, 0] = 1


@pytest.mark.parametrize(
    ("columns", "kinds", "message"),
    [
        ({"a": [1]}, [], "attributes"),
        ({"a": [1]}, [Numeric("a"), Numeric("a")], "attributes"),
        ({"a": [1]}, [Numeric("b")], "columns of the table, got 'b'"),
        ({"a": [1], "b": [1, 2]}, [Numeric("a"), Numeric("b")], "one length"),
        ({"a": ["x"]}, [Numeric("a")], "a: expected numbers, got other values"),
        ({"a": [np.inf]}, [Numeric("a")], "one number a row"),
        ({"a": [2**53 + 2]}, [Numeric("a")], "9007199254740992"),
        (
            {"a": [1, 7]},
            [Numeric("a", high=5)],
            "declared bounds; widen the bounds, got another value in row 2",
        ),
        (
            {"a": ["FR", "secret"]},
            [Taxonomy("a", COUNTRIES)],
            "taxonomy; add the missing value there, got another value in row 2",
        ),
        (
            {"a": ["secret"]},
            [Categorical("a", values=("x",))],
            "declared values; add the missing value there, got another value",
        ),
    ],
)
def test_nonsense_is_refused_by_position_and_not_by_value(
    columns: dict[str, list[Any]], kinds: list[Any], message: str
) -> None:
    with pytest.raises(InvalidProblemError, match=message) as raised:
        Problem.from_columns(columns, kinds)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "state",
    [
        lambda: Numeric("a", weight=-1),
        lambda: Numeric("a", weight=float("nan")),
        lambda: Numeric("a", low=3, high=2),
        lambda: Categorical("a", values=("x", "x")),
        lambda: Taxonomy("a", Tree.from_paths([("p", "x"), ("q", "x")])),
        lambda: Problem.from_columns({"a": [1]}, [Numeric("a")], loss="entropy"),
        lambda: Problem.from_columns({"a": ["x"]}, [Categorical("a")], loss="range"),
        lambda: Problem(fars().columns, np.zeros((2, 3), dtype=np.int32)),
        lambda: Problem(fars().columns, np.full((2, 4), 99, dtype=np.int32)),
        lambda: fars().boxes([0] * 19),
        lambda: fars().boxes([0] * 19 + [2]),
    ],
)
def test_what_cannot_be_meant_is_refused(state: Any) -> None:
    with pytest.raises(InvalidProblemError):
        state()


def test_values_that_cannot_be_compared_are_numbered_all_the_same() -> None:
    problem = Problem.from_columns({"a": [3, "x", None, 3]}, [Categorical("a")])
    assert problem.columns[0].domain == (3, "x", None)
    assert problem.codes[:, 0].tolist() == [0, 1, 2, 0]
