"""The bound of tables with more different rows than are held: valid, and better than without the columns left out."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.core.guarantee import KAnonymity
from discreet.core.progress import Progress
from discreet.kanonymity.bounds.covers import Cover
from discreet.kanonymity.bounds.merged import ValueMerging, groups_of, taken_together
from discreet.kanonymity.bounds.shared import AtomPlaces, Packed, Shared, SharedCellsTuning
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Problem, Taxonomy
from discreet.streaming import anonymize_files
from discreet.streaming import steps as large_steps
from kanonymity.tables import COUNTRIES, mixed


def _same(packed: Packed | None) -> Packed | None:
    return packed


def bound_of(packed: Packed | None, k: int) -> float:
    shared = Shared(k, partial(_same, packed))
    shared.refine(SearchLimits())
    return shared.lower


def places_of(problem: Problem, k: int) -> tuple[AtomPlaces, np.ndarray]:
    codes = [problem.codes[:, j] for j in range(problem.m)]
    counts = [
        np.bincount(code, minlength=len(column.domain))
        for code, column in zip(codes, problem.columns, strict=True)
    ]
    places = AtomPlaces.of(problem.columns, counts, k, 16)
    return places, places.keys(codes)


def table(n: int, seed: int) -> Problem:
    """A taxonomy, numbers, few and many values of sets, some values rare."""
    rng = np.random.default_rng(seed)
    homes = ["FR", "DE", "IN", "PK", "JP", "Oz"]
    columns = {
        "age": np.minimum(rng.gamma(3, 9, n), 90).round(),
        "home": rng.choice(homes, n, p=[0.4, 0.2, 0.2, 0.1, 0.06, 0.04]).tolist(),
        "job": rng.choice([f"job {at}" for at in range(20)], n).tolist(),
        "zip": rng.integers(0, 40, n),
        "sex": rng.choice(["F", "M"], n).tolist(),
    }
    kinds: list[Attribute] = [
        Numeric("age"),
        Taxonomy("home", COUNTRIES),
        Categorical("job"),
        Numeric("zip", weight=2),
        Categorical("sex"),
    ]
    return Problem.from_columns(columns, kinds)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_taken_together_only_weakens_the_bound(seed: int) -> None:
    k = 3 + seed % 3
    problem = table(400, seed) if seed % 2 else mixed(300, seed)
    places, keys = places_of(problem, k)
    whole = ValueMerging(places, len(keys))
    whole.add(*np.unique(keys, return_counts=True))
    # Nothing is merged where all fits: keys of equal rows are added up, and that is all.
    assert whole.columns == whole.left_out == 0
    in_parts = ValueMerging(places, len(keys))
    for part in np.array_split(keys, 7):
        in_parts.add(*np.unique(part, return_counts=True))
    assert (in_parts.keys == whole.keys).all()
    assert (in_parts.counts == whole.counts).all()
    best = bound_of(whole.packed(), k)
    assert best > 0
    last = best
    for most in (200, 100, 50, 20, 4):
        merging = ValueMerging(places, most)
        for part in np.array_split(keys, 5):
            rows, counts = np.unique(part, return_counts=True)
            merging.add(rows, counts)
        packed = merging.packed()
        assert packed is None or len(packed.keys) <= most
        assert packed is None or packed.counts.sum() == problem.n
        found = bound_of(packed, k)
        assert found <= best * (1 + 1e-12)
        last = min(last, found)
    assert last < best


def test_it_proves_more_than_without_the_columns_that_do_not_fit() -> None:
    merged, dropped = [], []
    for seed in range(6):
        problem = table(3_000, seed)
        places, keys = places_of(problem, 4)
        rows = np.sort(keys)
        first = np.flatnonzero(np.append(True, rows[1:] != rows[:-1]))
        counts = np.diff(np.append(first, len(rows)))
        merging = ValueMerging(places, 1_000)
        merging.add(rows[first], counts)
        merged.append(bound_of(merging.packed(), 4))
        dropped.append(bound_of(places.packed(rows[first], counts, 1_000), 4))
    assert (np.array(merged) > dropped).all()
    assert sum(merged) > 1.5 * sum(dropped)


def test_each_listed_cell_lies_in_one_that_costs_no_more() -> None:
    """Checked cell by cell, on the covers of all kinds of columns and again on what was made of them."""
    for seed in range(4):
        places, _ = places_of(table(500, seed), 3)
        for _, cover, _ in places.covers:
            now = cover
            while now.members.shape[1] > 1 and now.costs.min() == 0:
                group, free = groups_of(now)
                after = taken_together(now, group)
                assert after.members.shape[1] == group.max() + 1 < now.members.shape[1]
                assert (free >= 0).all()
                for members, cost in zip(now.members, now.costs, strict=True):
                    around = after.members[:, group[members]].all(axis=1)
                    assert after.costs[around].min() <= cost
                assert after.members[0].all()
                for at in range(1, len(after.costs)):
                    assert (after.members[after.parent[at]] >= after.members[at]).all()
                now = after


def test_a_column_without_a_free_cell_is_left_as_it_is() -> None:
    """Whoever tells its values apart by other things than listed cells would lose them."""
    cover = Cover(np.arange(3), np.ones((1, 3), dtype=bool), np.ones(1), np.array([-1]))
    other = Cover(
        np.arange(2),
        np.array([[1, 1], [1, 0], [0, 1]], bool),
        np.array([1, 0, 0]),
        np.array([-1, 0, 0]),
    )
    places = AtomPlaces(((0, other, 0), (1, cover, 1)), 1.0)
    merging = ValueMerging(places, 3)
    merging.add(np.arange(6), np.ones(6, dtype=np.int64))
    assert (merging.left_out, merging.columns) == (1, 0)
    packed = merging.packed()
    assert packed is not None
    assert packed.keys.tolist() == [0, 1, 2]


def test_files_with_more_different_rows_than_are_held_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    rows = pl.DataFrame({name: rng.integers(0, 30, 2_000) for name in ("a", "b", "c")})
    rows.write_parquet(tmp_path / "in.parquet")
    kinds = [Numeric(name) for name in rows.columns]
    found = {}
    for most in (10**6, 300):
        monkeypatch.setattr(large_steps, "SHARED", SharedCellsTuning(max_packed_rows=most))
        told: list[Progress] = []
        made = anonymize_files(
            tmp_path / "in.parquet",
            tmp_path / f"out-{most}",
            KAnonymity(5, tuple(rows.columns)),
            attributes=kinds,
            on_progress=told.append,
        )
        found[most] = made.diagnostics
        ends = {step.stage: (step.done, step.total) for step in told}
        assert {"Splitting the parts", "Looking for a lower bound"} <= {*ends}
        assert all(done == total for done, total in ends.values())
        notes = made.diagnostics.notes
        assert len(notes) == (most == 300)
        if notes:
            assert "more different rows than it holds" in notes[0]
            assert "takes values of" in notes[0]
            assert "of 3 columns together" in notes[0]
    assert 0 < found[300].lower < found[10**6].lower <= found[10**6].information_loss
    assert found[300].information_loss == found[10**6].information_loss
