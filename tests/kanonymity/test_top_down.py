"""Top-down splitting: classes by any judge, splits against brute force, demands, words, engines' first splits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.core.tree import Tree
from discreet.kanonymity import anonymize, candidate, verify
from discreet.kanonymity.arrays import columns_as_arrays
from discreet.kanonymity.candidate import CandidateClasses, SearchInterrupted, SearchLimits
from discreet.kanonymity.demand import Demand, wanted_of
from discreet.kanonymity.methods.mondrian import Mondrian
from discreet.kanonymity.methods.top_down import TopDown
from discreet.kanonymity.models import (
    AlphaFrequency,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    PrivacyModel,
    RecursiveDiversity,
)
from discreet.kanonymity.packed import layout_of, pack, rows_of
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Problem, Taxonomy
from discreet.kanonymity.search import parts as search_parts
from discreet.kanonymity.search import top as first
from discreet.kanonymity.search.parts import Rows, rules_for, split_part
from discreet.kanonymity.search.search import SearchTuning, search
from discreet.kanonymity.search.suppress import leave_out
from kanonymity.tables import numeric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PLACES = Tree.from_paths(
    [("n", "a", "1"), ("n", "a", "2"), ("n", "b", "3"), ("s", "4"), ("s", "5"), ("6",)]
)
KINDS: tuple[Attribute, ...] = (Numeric("age"), Categorical("job"), Taxonomy("place", PLACES))
NAMES = ("age", "job", "place")


def rows_drawn(n: int, seed: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    ages: list[Any] = rng.integers(20, 40, n).tolist()
    ages[0] = None
    return {
        "age": ages,
        "job": rng.choice(list("uvwxy"), n, p=[0.5, 0.2, 0.1, 0.1, 0.1]).tolist(),
        "place": rng.choice(list("123456"), n).tolist(),
    }


def stated(n: int, seed: int = 0, loss: str = "ncp", kinds: Sequence[Attribute] = KINDS) -> Problem:
    return Problem.from_columns(rows_drawn(n, seed), kinds, loss=loss)


def sizes_of(labels: NDArray[np.int32]) -> Counter[int]:
    return Counter(labels.tolist())


def plain_loss(problem: Problem, labels: NDArray[np.int32]) -> float:
    """Sum the cells by sets of rows and the definitions alone, for the loss "ncp"."""
    total = 0.0
    for label in set(labels.tolist()):
        rows = np.flatnonzero(labels == label)
        for a, column in enumerate(problem.columns):
            codes = set(problem.codes[rows, a].tolist())
            weight = column.attribute.weight
            if isinstance(column.attribute, Categorical):
                share = (len(codes) - 1) / max(1, len(column.domain) - 1)
            elif isinstance(column.attribute, Numeric):
                values = [column.domain[code] for code in codes]
                known = [float(str(v)) for v in column.domain if v is not None]
                if None in values:
                    share = float(len(values) > 1)
                else:
                    here = [float(str(v)) for v in values]
                    share = (max(here) - min(here)) / max(1e-9, max(known) - min(known))
            else:
                tree = column.attribute.tree
                node = column.nodes(np.array([min(codes)]), np.array([max(codes)]))[0]
                at = [i for i, label in enumerate(tree.labels) if label == node]
                share = (int(tree.leaf_counts[at[0]]) - 1) / max(1, len(column.domain) - 1)
            total += len(rows) * weight * share
    return total


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 150),
    st.integers(1, 9),
    st.sampled_from(["fast", "strong"]),
    st.sampled_from(["ncp", "ncp-printed", "arx-loss", "one-hot"]),
    st.integers(0, 9),
)
def test_each_class_has_k_rows_and_each_row_is_in_one(
    n: int, k: int, effort: str, loss: str, seed: int
) -> None:
    problem = stated(max(n, k), seed, loss)
    found = TopDown(effort).solve(problem, k, SearchLimits())
    assert len(found.labels) == problem.n
    assert min(sizes_of(found.labels).values()) >= k
    assert sorted(sizes_of(found.labels)) == list(range(int(found.labels.max()) + 1))
    if loss == "ncp":
        assert problem.loss_of(found.labels) == pytest.approx(plain_loss(problem, found.labels))


def test_it_loses_less_than_cuts_at_medians_and_strong_effort_less_than_fast() -> None:
    problem, limits = stated(400), SearchLimits()
    losses = [
        problem.loss_of(method.solve(problem, 4, limits).labels)
        for method in (TopDown("strong"), TopDown(), Mondrian())
    ]
    assert losses == sorted(losses)
    assert losses[0] < 0.9 * losses[2]


def test_strong_effort_ends_where_every_column_can_be_cut_at_many_values() -> None:
    """Splits of 60 rows such as these are many at each depth, and a search of all trees of them ended after minutes."""
    rng = np.random.default_rng(3)
    columns: dict[str, Any] = {f"rare{j}": rng.zipf(1.4, 60) % 56 for j in range(3)}
    columns |= {f"even{j}": rng.normal(30, 9, 60).astype(int) for j in range(3)}
    columns |= {"few": rng.integers(1, 3, 60), "seven": rng.integers(0, 7, 60)}
    problem = Problem.from_columns(columns, [Numeric(name) for name in columns])
    fast, strong = (
        TopDown(effort).solve(problem, 3, SearchLimits()) for effort in ("fast", "strong")
    )
    assert problem.loss_of(strong.labels) < 0.97 * problem.loss_of(fast.labels)
    assert candidate.audit(strong.labels, 3).passed


def test_weights_decide_which_column_stays_fine() -> None:
    def of_age(weight: float) -> float:
        kinds = (Numeric("age", weight=weight), *KINDS[1:])
        problem = stated(300, 3, kinds=kinds)
        labels = TopDown().solve(problem, 5, SearchLimits()).labels
        return float(problem.boxes(labels).costs[labels, 0].mean()) / weight

    assert of_age(20.0) < of_age(0.05)


@settings(max_examples=25, deadline=None)
@given(st.integers(4, 9), st.integers(2, 3), st.integers(0, 30))
def test_few_rows_are_split_as_well_as_any_two_groups(n: int, k: int, seed: int) -> None:
    """With one column of numbers and fewer than 3k rows, a best cut is a best partition: all are tried."""
    rng = np.random.default_rng(seed)
    n = min(n, 3 * k - 1)
    problem = Problem.from_columns({"age": rng.integers(0, 9, n).tolist()}, [Numeric("age")])
    best = problem.loss_of(np.zeros(n, np.int32))
    for mask in range(1, 2**n - 1):
        labels = np.array([mask >> row & 1 for row in range(n)], dtype=np.int32)
        if k <= labels.sum() <= n - k:
            best = min(best, problem.loss_of(labels))
    found = problem.loss_of(TopDown("strong").solve(problem, k, SearchLimits()).labels)
    values = np.sort(problem.codes[:, 0])
    ties = any(values[at - 1] == values[at] for at in range(k, n - k + 1))
    # Equal values are not divided by a cut; apart from that it is as good as any.
    assert found >= best - 1e-12
    if not ties:
        assert found == pytest.approx(best)


MODELS: tuple[PrivacyModel, ...] = (
    DistinctDiversity(3),
    EntropyDiversity(2),
    RecursiveDiversity(2, 2),
    AlphaFrequency("2/3"),
    Closeness("1/3"),
    Closeness("1/4", ordered=True),
)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(8, 120),
    st.integers(2, 5),
    st.sampled_from(MODELS),
    st.sampled_from(["fast", "strong"]),
    st.integers(0, 9),
)
def test_all_classes_hold_what_is_asked(
    n: int, k: int, model: PrivacyModel, effort: str, seed: int
) -> None:
    problem = stated(n, seed)
    ill = np.random.default_rng(seed).integers(0, 4, n)
    demand = Demand("ill", model, ill)
    try:
        labels = TopDown(effort, (demand,)).solve(problem, k, SearchLimits()).labels
    except InfeasibleError:
        assert demand.failing(np.bincount(ill)[None, :]).any()
        return
    counts = np.zeros((int(labels.max()) + 1, demand.width), dtype=np.int64)
    np.add.at(counts, (labels, ill), 1)
    assert counts.sum(axis=1).min() >= k
    assert not demand.failing(counts).any()


def test_demands_still_leave_more_than_one_class() -> None:
    problem = stated(400)
    ill = np.random.default_rng(1).integers(0, 4, 400)
    persons = np.arange(400) // 2
    demands = (
        Demand("ill", DistinctDiversity(3), ill),
        Demand("person", DistinctDiversity(4), persons),
    )
    labels = TopDown("fast", demands).solve(problem, 4, SearchLimits()).labels
    assert int(labels.max()) > 20
    for label in range(int(labels.max()) + 1):
        assert len(set(persons[labels == label].tolist())) >= 4
    with pytest.raises(InvalidProblemError, match="suppress"):
        TopDown("fast", demands).solve(problem, 4, SearchLimits(suppress=1))


def test_more_columns_than_a_word_holds_and_more_values_than_rows() -> None:
    rng = np.random.default_rng(2)
    wide: dict[str, list[Any]] = {f"c{a}": rng.integers(0, 40, 200).tolist() for a in range(30)}
    wide["id"] = rng.permutation(100_000)[:200].tolist()
    kinds = [Numeric(name) for name in wide]
    problem = Problem.from_columns(wide, kinds)
    layout = layout_of(problem.columns)
    assert layout.words > 2
    words = pack([problem.codes[:, a] for a in range(problem.m)], layout)
    assert rows_of(words).tolist() == list(range(200))
    for a in range(problem.m):
        codes = (words[:, layout.word[a]] >> layout.shift[a]) & layout.mask[a]
        assert codes.tolist() == problem.codes[:, a].tolist()
    found = TopDown().solve(problem, 5, SearchLimits())
    assert min(sizes_of(found.labels).values()) >= 5
    assert problem.loss_of(found.labels) < problem.loss_of(np.zeros(200, np.int32))


@pytest.mark.parametrize("rows", [[1] * 30, list(range(30))])
def test_all_rows_equal_or_all_different(rows: list[int]) -> None:
    problem = Problem.from_columns({"a": rows}, [Numeric("a")])
    labels = TopDown("strong").solve(problem, 3, SearchLimits()).labels
    assert min(sizes_of(labels).values()) >= 3
    assert problem.loss_of(labels) <= 30 * 3 / 29


def test_parts_by_a_sample_are_joined_where_they_are_too_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(first, "TOP", replace(first.TOP, max_rows_of_one_part=100))
    monkeypatch.setattr(first, "TOP", replace(first.TOP, min_sample_rows=150))
    problem, layout = stated(900), layout_of(stated(900).columns)
    words = pack([problem.codes[:, a] for a in range(3)], layout)
    taken = first.sampled(900, 0, 900)
    assert 100 < len(taken) < 200
    assert np.array_equal(
        taken, np.concatenate([first.sampled(900, 0, 500), first.sampled(900, 500, 900)])
    )
    tree = first.first_splits(problem.columns, layout, words[taken], 900, 5)
    assert tree.parts > 4
    part = tree.route(words, layout)
    alone = TopDown(top=tree).solve(problem, 5, SearchLimits())
    threads = TopDown(top=tree).solve(problem, 5, SearchLimits(threads=3))
    assert np.array_equal(alone.labels, threads.labels)
    assert min(sizes_of(alone.labels).values()) >= 5
    # A class is of one part, unless that was joined to its neighbor.
    together = {(int(a), int(b)) for a, b in zip(part, alone.labels, strict=True)}
    assert len(together) < 1.2 * len(sizes_of(alone.labels))
    # At k = 100 most parts have too few rows.
    joined = TopDown(top=tree).solve(problem, 100, SearchLimits())
    assert min(sizes_of(joined.labels).values()) >= 100
    rare = Demand("ill", DistinctDiversity(2), (np.arange(900) < 4).astype(np.int64))
    held = TopDown(demands=(rare,), top=tree).solve(problem, 5, SearchLimits()).labels
    assert all(len(set((np.flatnonzero(held == c) < 4).tolist())) == 2 for c in set(held.tolist()))


def test_time_and_interrupts_leave_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = stated(300)
    hasty = TopDown().solve(problem, 3, SearchLimits.within(0)).labels
    assert hasty.tolist() == [0] * 300

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search_parts, "wait", press)
    with pytest.raises(SearchInterrupted) as said:
        TopDown("strong").solve(problem, 3, SearchLimits())
    found: CandidateClasses = said.value.best
    assert min(sizes_of(found.labels).values()) >= 3


@pytest.mark.parametrize("effort", ["fast", "strong"])
def test_what_a_limit_cuts_short_is_what_loses_least(
    monkeypatch: pytest.MonkeyPatch, effort: str
) -> None:
    """A clock that counts the looks at it: the more of them, the less is lost, and strong is never far above fast."""
    looks = [0]

    def look() -> float:
        looks[0] += 1
        return float(looks[0])

    monkeypatch.setattr(
        search_parts, "SPLITTING", replace(search_parts.SPLITTING, rows_between_clock_reads=100)
    )
    monkeypatch.setattr(search_parts, "clock", look)
    monkeypatch.setattr(candidate, "clock", look)
    monkeypatch.setattr(first, "TOP", replace(first.TOP, max_rows_of_one_part=100))
    problem = stated(600, 2)
    whole = problem.loss_of(TopDown().solve(problem, 4, SearchLimits()).labels)
    losses = []
    for limit in (1, 30, 100, 300, 1000, 10_000):
        labels = TopDown(effort).solve(problem, 4, SearchLimits.within(limit)).labels
        assert min(sizes_of(labels).values()) >= 4
        losses.append(problem.loss_of(labels))
    assert all(after < 1.02 * before for before, after in pairwise(losses))
    assert losses[0] > 2 * whole
    # Once the fast splits are done, nothing spoils them.
    assert max(losses[2:]) < 1.05 * whole
    assert losses[-1] < whole if effort == "strong" else losses[-1] == pytest.approx(whole)


@dataclass(frozen=True)
class Careless:
    """Splits for one row fewer than k: what a broken method would give."""

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        return TopDown().solve(problem, k - 1, limits)


def test_a_broken_twin_is_rejected() -> None:
    from discreet.core.errors import CertificateError

    problem = stated(200)
    with pytest.raises(CertificateError):
        search(problem, 3, method=Careless())
    table = pl.DataFrame(rows_drawn(200, 0))
    promise = KAnonymity(3, NAMES)
    made = anonymize(table, promise, attributes=KINDS, method="top-down")
    assert verify(made.table, promise, against=table, attributes=KINDS).passed
    broken = made.table.with_columns(pl.Series("age", ["[998, 999]", *made.table["age"][1:]]))
    assert not verify(broken, promise, against=table, attributes=KINDS).passed


def test_the_search_begins_with_it_and_ends_by_effort() -> None:
    problem = stated(300)
    quick = search(problem, 3, effort="fast")
    assert [step.method for step in quick.steps] == ["top-down"]
    longer = search(problem, 3)
    assert longer.steps[0].method == "top-down"
    assert longer.loss < quick.loss
    demand = Demand("ill", DistinctDiversity(2), np.arange(300) % 3)
    held = search(problem, 3, effort="fast", demands=(demand,))
    assert [step.method for step in held.steps] == ["top-down"]
    with pytest.raises(InvalidProblemError, match="fast, strong"):
        search(problem, 3, effort="some")
    with pytest.raises(InvalidProblemError, match="fast, strong"):
        TopDown("some")
    assert candidate.EFFORTS == ("fast", "strong")


def test_a_part_is_split_in_place_whatever_its_rows_are_called() -> None:
    problem = stated(120)
    layout = layout_of(problem.columns)
    words = pack([problem.codes[:, a] for a in range(3)], layout, first=7)
    bound = np.zeros(120, dtype=np.uint8)
    rows = Rows(words, bound, problem.columns, layout, wanted_of(()))
    split_part(rows, rules_for("fast", 4, 120), SearchLimits())
    assert sorted(rows_of(words).tolist()) == list(range(7, 127))
    assert np.diff([*np.flatnonzero(bound), 120]).min() >= 4
    assert columns_as_arrays(problem.columns).codes.shape == (0, 3)


@settings(max_examples=30, deadline=None)
@given(st.integers(6, 80), st.integers(2, 4), st.integers(0, 20), st.integers(0, 9))
def test_rows_are_left_out_only_where_that_gains(n: int, k: int, most: int, seed: int) -> None:
    problem = stated(n, seed)
    whole = TopDown().solve(problem, k, SearchLimits()).labels
    some = TopDown().solve(problem, k, SearchLimits(suppress=most)).labels
    assert int((some < 0).sum()) <= most
    assert min(sizes_of(some[some >= 0]).values()) >= k
    assert problem.loss_of(some) <= problem.loss_of(whole) + 1e-9
    assert np.array_equal(some[some >= 0], whole[some >= 0])


def test_an_outlier_is_left_out_of_each_kind_of_column() -> None:
    rare: dict[str, tuple[Attribute, list[Any]]] = {
        "age": (Numeric("age"), [20, 21] * 10 + [90]),
        "job": (Categorical("job"), ["u"] * 20 + ["v"]),
        "place": (Taxonomy("place", PLACES), ["1", "2"] * 10 + ["6"]),
    }
    for name, (kind, values) in rare.items():
        problem = Problem.from_columns({name: values}, [kind])
        labels = leave_out(problem, np.zeros(21, np.int32), 5, 3)
        assert np.flatnonzero(labels < 0).tolist() == [20]
        assert leave_out(problem, np.zeros(21, np.int32), 21, 3).min() == 0


def test_strong_splitting_that_has_no_time_left_keeps_what_was_found_fast() -> None:
    problem, split = stated(2_400, 5), search_parts.split_part
    fast = TopDown().solve(problem, 3, SearchLimits()).labels

    def short(rows: Rows, rules: Any, limits: SearchLimits, *rest: Any) -> float | None:
        # All goes well until nodes are split with a pace, which begins the strong part.
        taken = split(rows, rules, limits, *rest)
        return taken if len(rest) < 2 else None

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search_parts, "split_part", short)
        for threads in (1, 2):
            limits = replace(SearchLimits.within(100), threads=threads)
            found = TopDown("strong").solve(problem, 3, limits).labels
            assert problem.loss_of(found) == pytest.approx(problem.loss_of(fast))


def test_small_tables_without_taxonomies_are_not_split() -> None:
    """Classes grow among all rows; a fast search, suppression or a taxonomy brings splitting back."""
    rows = np.random.default_rng(5).integers(0, 30, (60, 3)).astype(float)
    steps = {step.method for step in search(numeric(rows), 5).steps}
    assert {"greedy-search", "local-search"} <= steps
    assert not steps & {"segmentation", "top-down"}
    for options in ({"effort": "fast"}, {"suppress": 0.1}):
        found = search(numeric(rows), 5, **options)
        assert found.steps[0].method == "top-down"


def test_strong_splitting_is_left_out_where_classes_that_grow_lose_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "discreet.kanonymity.search.search.SEARCH", SearchTuning(max_rows_without_splitting=0)
    )
    rng = np.random.default_rng(3)
    columns = {f"c{j}": rng.integers(0, 4, 1_200) for j in range(24)}
    problem = Problem.from_columns(columns, [Categorical(name) for name in columns])
    # Without a limit, which a busy machine reaches before classes have grown.
    found = search(problem, 5)
    steps = [step.method for step in found.steps]
    assert steps.count("top-down") == 1
    assert "greedy-search" in steps
    assert found.loss < 0.95 * found.steps[0].loss
