"""Lower bounds against enumeration: no class is overpaid, no partition loses less, no row has cheaper cells."""

from __future__ import annotations

import itertools
import tracemalloc
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.kanonymity import Categorical, Numeric, Problem
from discreet.kanonymity import bound as near_rows
from discreet.kanonymity.arrays import BranchLimits
from discreet.kanonymity.bound import nearest_bound
from discreet.kanonymity.bounds.branching import room_for, separate
from discreet.kanonymity.bounds.covers import cover_of
from discreet.kanonymity.bounds.dual import DualBound, MultiplierTuning
from discreet.kanonymity.bounds.lower import LowerBound
from discreet.kanonymity.bounds.shared import (
    Packed,
    Shared,
    SharedCellsTuning,
    _first_cells,
    ceilings_of,
)
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.kernels.branching import branches
from discreet.kanonymity.kernels.shared import descend
from discreet.kanonymity.methods.segmentation import Segmentation
from discreet.kanonymity.search.search import search
from kanonymity.tables import fars, mixed, numeric

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOSSES = ["ncp", "one-hot", "arx-loss", "ncp-printed"]


@dataclass
class Enumerated:
    """Every class of k to 2k - 1 rows with what it costs a row, by the table's own boxes and none of the kernels."""

    widths: dict[tuple[int, ...], float]
    cheapest: NDArray[np.float64]
    optimum: float
    with_suppression: float

    def overpaid(self, u: NDArray[np.float64]) -> float:
        return float(max(u[list(rows)].mean() - width for rows, width in self.widths.items()))


@cache
def enumerated(problem: Problem, k: int) -> Enumerated:
    n = problem.n
    widths = {}
    for size in range(k, min(2 * k, n + 1)):
        for rows in itertools.combinations(range(n), size):
            labels = np.full(n, -1)
            labels[list(rows)] = 0
            widths[rows] = float(problem.boxes(labels).costs.sum())
    cheapest = np.array([min(w for rows, w in widths.items() if i in rows) for i in range(n)])
    least = [least_loss(problem, widths, suppressed=suppressed) for suppressed in (False, True)]
    return Enumerated(widths, cheapest, *least)


def lower_bound(problem: Problem, k: int) -> float:
    """Return the bound without a time limit."""
    bound = LowerBound(problem, k)
    bound.refine(SearchLimits())
    return bound.value


def least_loss(
    problem: Problem, widths: dict[tuple[int, ...], float], *, suppressed: bool
) -> float:
    """Dynamic programming over the sets of rows that are left."""
    known = {0: 0.0}
    starting: dict[int, list[tuple[int, float]]] = {i: [] for i in range(problem.n)}
    for rows, width in widths.items():
        starting[rows[0]].append((sum(1 << i for i in rows), len(rows) * width))
    for left in range(1, 1 << problem.n):
        first = (left & -left).bit_length() - 1
        ways = [known[left ^ rows] + loss for rows, loss in starting[first] if rows & left == rows]
        if suppressed:
            ways.append(known[left ^ (1 << first)] + problem.suppressed_cost)
        known[left] = min(ways, default=np.inf)
    return known[(1 << problem.n) - 1]


@cache
def small_table(seed: int) -> tuple[Problem, int]:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    if rng.random() < 0.4:
        values = rng.integers(0, rng.integers(2, 6), (n, int(rng.integers(1, 4))))
        return numeric(values.astype(float)), k
    return mixed(n, seed, LOSSES[seed % 4], missing=bool(seed % 2)), k


def of_rows(bound: DualBound) -> NDArray[np.float64]:
    return bound.best[bound.points.of_row]


@pytest.mark.parametrize("suppressed", [False, True])
def test_multipliers_overpay_no_class_and_bound_the_optimum(*, suppressed: bool) -> None:
    tight = []
    for seed in range(40):
        problem, k = small_table(seed)
        truth = enumerated(problem, k)
        optimum = truth.with_suppression if suppressed else truth.optimum
        bound = DualBound(problem, k, suppressed=suppressed)
        bound.refine(SearchLimits.within(600))
        assert truth.overpaid(of_rows(bound)) <= 1e-12
        assert bound.lower <= optimum
        if suppressed:
            assert of_rows(bound).max() <= problem.suppressed_cost + 1e-12
        if optimum > 0:
            tight.append(bound.lower / optimum)
    assert np.mean(tight) > 0.8


def test_branches_prove_nearly_what_the_program_says() -> None:
    """Of many values, and equal rows among them; slacks that end at a hundredth prove less."""
    values = np.random.default_rng(5).integers(0, 9, (60, 5)).astype(float)
    values[50:] = values[:10]
    bound = DualBound(numeric(values), 4, suppressed=False)
    bound.refine(SearchLimits.within(600))
    assert bound.done
    assert 0.995 * bound.top < bound.lower <= bound.top


def excesses(
    bound: DualBound, u: NDArray[np.float64], order: NDArray[np.int32], slack: float
) -> dict[tuple[int, ...], tuple[int, float]]:
    """Give the root and the excess of every class of k rows, by the table's own boxes."""
    rank = np.argsort(order)
    of_row = bound.points.of_row
    found = {}
    for rows, width in enumerated(bound.problem, bound.k).widths.items():
        if len(rows) == bound.k:
            points = of_row[list(rows)]
            root = int(points[np.argmin(rank[points])])
            found[rows] = root, float(u[points].mean() - (1 + slack) * width)
    return found


@pytest.mark.parametrize("limit", [1, 3, 10**6])
def test_branches_find_the_most_overpaid_class_of_each_root_or_mark_the_rows_of_all(
    limit: int,
) -> None:
    cut = exact = 0
    for seed in range(40):
        problem, k = small_table(seed)
        bound = DualBound(problem, k, suppressed=False)
        n, slack = bound.points.n, (0.0, 0.3)[seed % 2]
        if bound.done:
            continue
        u = np.random.default_rng(seed).uniform(-0.2, 1.2, n) * problem.m * 0.7
        order = np.argsort(-u, kind="stable").astype(np.int32)
        upper, doubtful = np.full(n, np.nan), np.zeros(n, dtype=np.bool_)
        counts, found = bound.counts.astype(np.int64), room_for(n, k)
        given = (bound.points.arrays, counts, u, order, k, slack, BranchLimits(limit))
        for rank in range(n):
            branches(*given, rank, found, upper, doubtful, np.zeros(1, dtype=np.bool_))
        of_row = bound.points.of_row
        most = np.zeros(n)
        for rows, (root, excess) in excesses(bound, u, order, slack).items():
            most[root] = max(most[root], excess)
            if excess > 1e-9 and np.isinf(upper[root]):
                assert doubtful[of_row[list(rows)]].all()
        assert (upper >= most - 1e-9).all()
        cut += int(np.isinf(upper).sum())
        exact += int((np.isfinite(upper) & (most > 1e-9)).sum())
        whole = np.isfinite(upper)
        assert upper[whole] == pytest.approx(most[whole], abs=1e-9)
        kept = found.excess.max(axis=1)
        assert kept[whole] == pytest.approx(most[whole], abs=1e-9)
    assert (cut > 0) == (limit < 100)
    assert exact > 0 or limit == 1


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_multipliers_mended_after_a_search_that_was_cut_short_overpay_no_class(limit: int) -> None:
    """Whatever was tried, and with a twin that counts open roots as proved."""
    wrong = 0
    for seed in range(25):
        problem, k = small_table(seed)
        bound = DualBound(problem, k, suppressed=False)
        if bound.done:
            continue
        bound.refine(SearchLimits())
        rng = np.random.default_rng(seed)
        u = rng.uniform(0.2, 1.0, bound.points.n) * problem.m * 0.5
        none = np.zeros(bound.points.n)
        truth = enumerated(problem, k)
        threads = SearchLimits(threads=2)
        mended = separate(bound.points, k, u, none, 0.2, BranchLimits(limit), threads).feasible
        assert truth.overpaid(mended[bound.points.of_row]) <= 1e-12
        wrong += truth.overpaid(u[bound.points.of_row] / 1.2) > 1e-9
    assert wrong > 5


def test_what_is_enumerated_finds_multipliers_that_overpay() -> None:
    """The same comparison, with a twin that takes the program's solution for feasible, or raises a multiplier."""
    problem, k = fars(), 2
    problem = Problem(problem.columns, problem.codes[:9], problem.loss)
    truth = enumerated(problem, k)
    bound = DualBound(problem, k, suppressed=False)
    bound.refine(SearchLimits())
    honest = of_rows(bound)
    assert truth.overpaid(honest) <= 1e-12
    assert truth.overpaid(honest + 1e-6) > 1e-9
    fresh = DualBound(problem, k, suppressed=False)
    fresh._look_at_nearest()
    assert truth.overpaid(fresh.model.solve().x[fresh.points.of_row]) > 0.01


@pytest.mark.parametrize("bins", [2, 99])
def test_shared_cells_are_the_cheapest_of_each_row(bins: int) -> None:
    equal = 0
    for seed in range(60):
        problem, k = small_table(seed)
        truth = enumerated(problem, k)
        bound = Shared.of(problem, k, bins)
        bound.refine(SearchLimits())
        cheapest = truth.cheapest.sum()
        assert bound.done
        assert bound.lower <= cheapest
        assert bound.lower <= truth.with_suppression
        equal += bound.lower >= cheapest * (1 - 1e-5)
    # Few pieces of a numeric column are a weaker bound, and seldom the same.
    assert equal == 60 if bins == 99 else equal < 60


def test_every_cell_lies_in_a_listed_one_that_costs_no_more() -> None:
    rng = np.random.default_rng(0)
    wide = Problem.from_columns({"a": rng.normal(size=300)}, [Numeric("a")]).columns[0]
    problem = mixed(300, 1, missing=True)
    for column, bins in [(wide, 8), *((column, 8) for column in problem.columns)]:
        d = len(column.domain)
        cover = cover_of(column, np.ones(d, dtype=np.int64), 1, bins)
        for _ in range(60):
            codes = rng.choice(d, int(rng.integers(1, 5)))
            low, high = codes.min(), codes.max()
            different = len(np.unique(codes))
            cost = column.set_cost(different) if column.is_set else column.span_cost(low, high)
            around = cover.members[:, cover.atoms[codes]].all(axis=1)
            assert cover.costs[around].min() <= cost
        for cell in range(1, len(cover.costs)):
            assert (cover.members[cover.parent[cell]] >= cover.members[cell]).all()


@pytest.mark.parametrize("suppress", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_every_run_reports_a_bound_that_holds(seed: int, suppress: float) -> None:
    problem, k = small_table(seed)
    truth = enumerated(problem, k)
    found = search(problem, k, suppress=suppress)
    assert found.lower <= (truth.with_suppression if suppress else truth.optimum) * (1 + 1e-12)
    assert found.lower > 0 or found.loss == 0


def test_without_a_limit_the_bound_is_the_same_each_time() -> None:
    problem = numeric(np.random.default_rng(3).integers(0, 6, (60, 3)).astype(float))
    first, second = (lower_bound(problem, 4) for _ in range(2))
    assert first == second > 0


@pytest.mark.parametrize("few", [True, False])
def test_a_bound_that_is_cut_short_is_a_bound(
    monkeypatch: pytest.MonkeyPatch, *, few: bool
) -> None:
    """A clock that runs by looks alone ends the search at any of them; more time never lowers the bound."""
    monkeypatch.setattr(
        "discreet.kanonymity.bounds.lower.MULTIPLIERS",
        MultiplierTuning(max_points_of_program=6_000 if few else 0),
    )
    problem, k = small_table(4)
    truth = enumerated(problem, k)
    looks = itertools.count()
    monkeypatch.setattr("discreet.kanonymity.candidate.clock", lambda: float(next(looks)))
    bound = LowerBound(problem, k)
    before = 0.0
    for more in (0, 2, 5, 9, 20, 60):
        bound.refine(SearchLimits(deadline=next(looks) + more))
        assert before <= bound.value <= truth.optimum
        before = bound.value
    assert before > 0


def from_the_root(packed: Packed, k: int, most: int) -> tuple[NDArray[np.int32], int]:
    """Search all columns in one descent, with room for all; give each row's cost, and what was looked at."""
    n = len(packed.keys)
    K, N = np.zeros(10**6, dtype=np.int64), np.zeros(10**6, dtype=np.int32)
    B = np.full(10**6, SharedCellsTuning().cost_units, dtype=np.int32)
    K[:n], N[:n] = packed.keys, np.minimum(packed.counts, k)
    looked = descend(packed.lattice, K, N, B, n, 0, 0, k, most, np.zeros(1, dtype=np.bool_))
    return B[:n].copy(), looked


@pytest.mark.parametrize("seed", range(4))
def test_a_search_that_ends_early_is_below_the_cheapest_cells_of_each_row(seed: int) -> None:
    """Wherever it is cut off; and what it came to by then counts, up to any ceiling."""
    problem = mixed(300, seed)
    whole = Shared.of(problem, 3, 16)
    whole.refine(SearchLimits())
    assert whole.done
    found = []
    for most in (0, 1_000, 3_000, 10_000, 30_000, 10**9):
        cut = Shared(3, whole.pack, most, ceilings_of(0.4))
        cut.refine(SearchLimits())
        assert cut.lower <= whole.lower
        packed = cut.packed
        assert packed is not None
        best, complete = from_the_root(packed, 3, most)
        assert (best <= whole.costs).all()
        assert (complete >= 0) == (best == whole.costs).all()
        found.append(float(best.sum()))
    assert found[0] < found[-1]
    assert cut.lower == pytest.approx(whole.lower)


@pytest.mark.parametrize("seed", range(6))
def test_a_bound_is_the_same_in_any_number_of_threads(seed: int) -> None:
    """Whole or cut short, and the same as one search from the root, which looks at all columns together."""
    problem = mixed(400, seed) if seed % 2 else small_numbers(seed)
    for most in (2_000, 50_000, 10**9):
        bounds = [Shared(3, Shared.of(problem, 3, 16).pack, most) for _ in range(3)]
        for threads, bound in zip((1, 2, 4), bounds, strict=True):
            bound.refine(SearchLimits(threads=threads))
        assert len({bound.lower for bound in bounds}) == 1
    packed = bounds[0].packed
    assert packed is not None
    best, complete = from_the_root(packed, 3, 10**9)
    assert complete >= 0
    assert bounds[0].done
    assert bounds[0].costs.tolist() == best.tolist()


def small_numbers(seed: int) -> Problem:
    return numeric(np.random.default_rng(seed).integers(0, 30, (400, 3)).astype(float))


def test_turns_of_cells_are_after_those_inside_and_share_no_atom() -> None:
    for seed in range(6):
        packed = Shared.of(small_numbers(seed), 3, 16).pack()
        assert packed is not None
        turns, sizes = _first_cells(packed)
        cells = len(turns)
        width = int(packed.lattice.member[1])
        members = packed.lattice.inside[: cells * width].reshape(cells, width)
        for one, other in itertools.combinations(range(cells), 2):
            common = members[one] & members[other]
            if common.any():
                assert turns[one] != turns[other]
            if (common == members[other]).all():
                assert turns[other] < turns[one]
                assert sizes[other] <= sizes[one]


@pytest.mark.parametrize("sets", [True, False])
def test_how_far_is_searched_follows_the_table_and_its_loss(
    monkeypatch: pytest.MonkeyPatch, *, sets: bool
) -> None:
    """In memory as for files: two million rows had as many looks as a hundred thousand, and half of the bound."""
    few_points = MultiplierTuning(max_points_of_program=0)
    monkeypatch.setattr("discreet.kanonymity.bounds.lower.MULTIPLIERS", few_points)
    problem = mixed(300, 1) if sets else small_numbers(1)
    labels = Segmentation(1).solve(problem, 5, SearchLimits()).labels
    mean = problem.loss_of(labels) / problem.n / problem.suppressed_cost
    for few, timed in [(10**6, False), (0, False), (0, True)]:
        tuning = SharedCellsTuning(min_rows_looked_at=0, max_keys_searched_fully=few)
        monkeypatch.setattr("discreet.kanonymity.bounds.shared.SHARED", tuning)
        bound = LowerBound(problem, 5)
        shared = next(stage for stage in bound.stages if isinstance(stage, Shared))
        monkeypatch.setattr(shared, "_searched", lambda *_: False)
        bound.refine(SearchLimits.within(600) if timed else SearchLimits(), labels)
        assert shared.most_rows == 120 * problem.n * problem.m
        one = not (few or timed or sets)
        assert shared.ceilings == ([1.5 * mean] if one else list(ceilings_of(mean, sets=sets)))


@pytest.mark.parametrize("sets", [True, False])
def test_nearest_rows_come_first_where_cells_are_intervals(
    monkeypatch: pytest.MonkeyPatch, *, sets: bool
) -> None:
    """A search for shared intervals took all of three seconds, and proved 117 of 4,392 (60,000 clustered rows)."""
    few_points = MultiplierTuning(max_points_of_program=0)
    monkeypatch.setattr("discreet.kanonymity.bounds.lower.MULTIPLIERS", few_points)
    rows = {"a": ["x", "y", "z"] * 9, "b": range(27)}
    kinds = [Categorical("a"), Categorical("b") if sets else Numeric("b")]
    bound = LowerBound(Problem.from_columns(rows, kinds), 3)
    assert [isinstance(stage, Shared) for stage in bound.stages] == [sets, not sets]


def test_a_wide_column_of_values_has_a_bound() -> None:
    """Beside nothing that tells rows apart: a row with another value costs what two values do."""
    rng = np.random.default_rng(2)
    rows = {"v": rng.integers(0, 10**5, 20_000).astype(str).tolist()}
    problem = Problem.from_columns(rows, [Categorical("v")])
    bound = LowerBound(problem, 10)
    bound.refine(SearchLimits())
    loss = problem.loss_of(Segmentation(1).solve(problem, 10, SearchLimits()).labels)
    assert 0.1 * loss < bound.value <= loss


def test_columns_beyond_64_bits_are_left_out() -> None:
    rng = np.random.default_rng(0)
    problem = numeric(rng.integers(0, 16, (30, 18)).astype(float))
    bound = Shared.of(problem, 3, 16)
    bound.refine(SearchLimits())
    loss = problem.loss_of(Segmentation(1).solve(problem, 3, SearchLimits()).labels)
    assert 0 < bound.lower < loss


def test_equal_rows_and_columns_without_a_cost() -> None:
    same: Any = {"a": [1.0] * 9, "b": [2.0] * 9}
    for columns in (same, {**same, "b": list(range(9))}):
        kinds = [Numeric("a"), Numeric("b", weight=0)]
        assert lower_bound(Problem.from_columns(columns, kinds), 3) == 0.0
    assert lower_bound(numeric(np.arange(6.0)[:, None]), 1) == 0.0


def counted(problem: Problem, k: int) -> float:
    """Add up the cheapest box of each row, over all boxes of sets and intervals and none of the kernels."""
    cells = []
    for j, column in enumerate(problem.columns):
        d = len(column.domain)
        chosen: list[tuple[int, ...]]
        if column.is_set:
            chosen = [c for s in range(1, d + 1) for c in itertools.combinations(range(d), s)]
            costs = [float(column.set_cost(len(c))) for c in chosen]
        else:
            chosen = [tuple(range(a, b + 1)) for a in range(d) for b in range(a, d)]
            costs = [float(column.span_cost(c[0], c[-1])) for c in chosen]
        inside = [np.isin(problem.codes[:, j], one) for one in chosen]
        cells.append(list(zip(inside, costs, strict=True)))
    best = np.full(problem.n, np.inf)
    # All cells of one column at once, for each choice of the others.
    last, prices = (np.array(part) for part in zip(*cells.pop(), strict=True))
    for box in itertools.product(*cells):
        rows = last & np.logical_and.reduce([one for one, _ in box])
        paid = prices + sum(cost for _, cost in box)
        paid[np.count_nonzero(rows, axis=1) < k] = np.inf
        best = np.minimum(best, np.where(rows, paid[:, None], np.inf).min(axis=0))
    return float(best.sum())


@pytest.mark.parametrize("values", [(0, 7), (8, 0), (8, 7)])
def test_intervals_and_sets_that_are_not_listed_against_all_boxes(values: tuple[int, int]) -> None:
    """One such column is exact; of two sets one is listed, and three of its values or more cost what three do."""
    tight = []
    for seed in range(12):
        rng = np.random.default_rng([seed, *values])
        n, k = int(rng.integers(8, 40)), int(rng.integers(2, 8))
        rows = {"sex": rng.integers(0, 2, n).astype(float), "a": rng.random(n).round(1)}
        rows["a"] = rows["a"] ** 2 if seed % 2 else rows["a"]
        kinds: list[Any] = [Numeric("sex"), Numeric("a", weight=3)]
        for name, d in zip("bc", values, strict=True):
            if d:
                drawn: Any = (rng.random(n) ** 1.5 * d).astype(int).astype(str)
                rows[name] = drawn
                kinds.append(Categorical(name, weight=1 + seed % 3))
        if all(values):
            del rows["a"], kinds[1]
        elif seed % 2:
            # The interval comes last where there is one, else the set.
            del rows["a"], kinds[1], rows["sex"], kinds[0]
        problem = Problem.from_columns(rows, kinds)
        bound = Shared.of(problem, k, 99)
        bound.refine(SearchLimits())
        truth = counted(problem, k)
        assert bound.lower <= truth * (1 + 1e-12)
        if truth > 0:
            tight.append(bound.lower / truth)
    assert np.mean(tight) > 0.6
    if not all(values):
        assert np.mean(tight) > 0.85
        assert min(tight) > 0.7


def test_a_set_of_many_values_beside_others_raises_the_bound() -> None:
    rng = np.random.default_rng(5)
    names = {"a": 8, "b": 9, "c": 3, "wide": 40}
    rows = {name: rng.integers(0, d, 400).astype(str).tolist() for name, d in names.items()}
    lower = []
    for chosen in ("abc", ("a", "b", "c", "wide")):
        kinds = [Categorical(name) for name in chosen]
        problem = Problem.from_columns({name: rows[name] for name in chosen}, kinds)
        bound = Shared.of(problem, 10, 16)
        bound.refine(SearchLimits())
        loss = problem.loss_of(Segmentation(1).solve(problem, 10, SearchLimits()).labels)
        assert bound.lower < loss
        lower.append(bound.lower)
    assert lower[0] < lower[1]


def test_a_set_of_very_many_values_is_listed_in_groups_alone() -> None:
    d = 50_000
    words = {"word": [f"w{v}" for v in range(d)]}
    (column,) = Problem.from_columns(words, [Categorical("word")]).columns
    tracemalloc.start()
    try:
        cover = cover_of(column, np.ones(d, dtype=np.int64), 3, 16)
        # A list of all single values would take d^2 bytes.
        assert tracemalloc.get_traced_memory()[1] < 100 * d
    finally:
        tracemalloc.stop()
    assert cover.members.shape == (49, 48)
    assert cover.costs[0] == column.set_cost(2)


def test_near_rows_are_not_looked_at_where_the_time_suffices_for_a_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, told = mixed(3_000, 1), [0.0]

    def later() -> float:
        told[0] += 0.15
        return told[0]

    whole = nearest_bound(problem, 3)
    monkeypatch.setattr(near_rows, "clock", later)
    monkeypatch.setattr(near_rows, "NEAR", replace(near_rows.NEAR, min_share_of_points=1e9))
    few = nearest_bound(problem, 3, SearchLimits.within(100))
    assert 0 < few < whole / 2
    monkeypatch.setattr(near_rows, "NEAR", replace(near_rows.NEAR, min_share_of_points=0.0))
    assert nearest_bound(problem, 3, SearchLimits.within(100)) == pytest.approx(whole)
