"""The experiments on private choices: false statements fail as they should, and sound ones hold."""

from __future__ import annotations

import math
from typing import Any

import pytest

from discreet_reproduction import Experiment
from discreet_reproduction.record import Run
from discreet_reproduction.submodular import counterexamples as wrong
from discreet_reproduction.submodular import values
from discreet_reproduction.submodular.examples import examples
from discreet_reproduction.submodular.instances import (
    crowd,
    decoys,
    greedy_trap,
    slow_steps,
    topics,
)
from discreet_reproduction.submodular.theorems import theorems


def run(make: Any) -> Experiment:
    made: Experiment = make(Run(quick=True))
    return made


@pytest.fixture(scope="module")
def table() -> Experiment:
    return run(wrong.counterexamples)


def rows(table: Experiment, statement: str) -> list[Any]:
    found = [row for row in table.rows if str(row["statement"]).startswith(statement)]
    assert found
    return found


def test_r_steps_do_not_give_the_ratio(table: Experiment) -> None:
    """f(x_T) of the library's own draws equals the closed form: .6094, .5515, .5275, with the limit .4685."""
    found = [row["found"] for row in rows(table, "Theorem 3.3")]
    assert found == pytest.approx([0.609375, 0.5515, 0.5275, 0.4685], abs=5e-4)
    assert all(value < 1 - 1 / math.e for value in found)


def test_more_steps_help(table: Experiment) -> None:
    assert wrong.fraction_reached(slow_steps(2, 4), 4) > 0.6095


def test_rounding_does_not_hide_the_duplicates_at_larger_ranks() -> None:
    """At rank 8 the duplicates' advantage must outweigh what 2,048 records lose by rounding."""
    assert wrong.fraction_reached(slow_steps(8, 8), 8) == pytest.approx(0.4959, abs=0.004)


def test_the_printed_composition_fails(table: Experiment) -> None:
    first, second = rows(table, "Theorem 2.6")
    assert first["found"] == pytest.approx(0.130, abs=0.001)
    assert second["found"] > 0.25


def test_coverings_are_larger_than_stated(table: Experiment) -> None:
    assert [row["found"] for row in rows(table, "Theorem 2.3")] == pytest.approx(
        [11, 36.4, 364], rel=0.02
    )
    assert [row["found"] for row in rows(table, "Theorem 3.5")] == pytest.approx([80, 2e7])


def test_algorithm_2_fails_both_ways(table: Experiment) -> None:
    (row,) = rows(table, "Theorem 4.4")
    assert row["found"] < 0.5 < row["claimed (paper)"]
    near, far = rows(table, "Theorem 4.5")
    assert (near["found"], far["found"]) == (pytest.approx(0.5), pytest.approx(50))
    assert near["claimed (paper)"] == pytest.approx(0.02)


def test_algorithm_4_fails_beyond_uniform_matroids_and_its_sound_form_does_not(
    table: Experiment,
) -> None:
    (row,) = rows(table, "Theorem 5.7")
    assert row["found"] < 0.5 < row["claimed (paper)"]
    assert row["true instead"] == "sampled per part: 1.000"


def test_permute_and_flip_has_a_range_above_one(table: Experiment) -> None:
    (row,) = rows(table, "eps^2/8")
    assert row["found"] > 1.4


def test_the_table_of_theorems_has_the_specification_s_figures() -> None:
    found = run(theorems)
    assert found.column("users, epsilon 1") == pytest.approx(
        [1382, 4.605e9, 4.605e9, 1382, 9671, 6635, 83.2], rel=1e-3
    )
    assert found.column("users, epsilon 0.1")[-1] == pytest.approx(975, rel=1e-3)


def test_choices_lose_less_than_the_examples_allow_and_a_cascade_has_no_bound() -> None:
    found = run(examples)
    by = {(str(row["example"])[:11], row["method"]): row for row in found.rows}
    for example in ("Example 3.1", "Example 5.1", "Example 5.2"):
        row = by[example, "Algorithm 3"]
        assert row["users lost"] < row["users lost, at most (paper)"]  # type: ignore[operator]
        assert row["share of greedy"] > by[example, "random"]["share of greedy"]  # type: ignore[operator]
    (cascade,) = (row for (name, _), row in by.items() if name == "Example 1.2")
    assert cascade["users lost"] == 20_000 - 1


def test_instances_are_the_stated_ones() -> None:
    assert crowd(50, 2, seed=1).matroid.rank == 20
    assert greedy_trap(20).objective.value([0, 2]) == 11
    assert topics(50, 20, 5, seed=1).objective.n_kinds == 4
    made = decoys(20, 2000)
    one = 1 << made.objective.scale_bits
    assert made.objective.value([0]) == one
    assert made.objective.value([1]) == pytest.approx(1e-5 * one, rel=1e-3)


@pytest.mark.slow
def test_sampling_and_lazy_thinning_save_evaluations_at_the_same_value() -> None:
    found = run(values.sampling)
    large = {row["method"]: row for row in found.rows if row["rank"] == 100}
    eager, sampled, lazy = (
        large[name] for name in ("Algorithm 3", "Algorithm 4", "Algorithm 3, lazy thinning")
    )
    assert sampled["value"] >= 0.99 * float(eager["value"] or 0)  # type: ignore[operator]
    assert 4 * sampled["evaluations"] <= eager["evaluations"]  # type: ignore[operator]
    assert 10 * lazy["evaluations"] <= eager["evaluations"]  # type: ignore[operator]


@pytest.mark.slow
def test_the_subsample_wins_on_crowds_and_rounds_where_greedy_loses() -> None:
    found = run(values.value)
    at = {(row["instance"], row["method"], row.get("epsilon")): row["share"] for row in found.rows}
    for epsilon in (0.1, 0.5, 1.0):
        for other in ("greedy, basic", "permute-and-flip", "bases, T = r"):
            assert at["U2", "subsampled, pure", epsilon] > at["U2", other, epsilon]  # type: ignore[operator]
    trap = {(r["users"], r["method"]): r["share"] for r in run(values.greedy_loses).rows}
    assert trap[20_000, "M = 4"] > trap[20_000, "greedy"]  # type: ignore[operator]
