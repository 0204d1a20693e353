"""Model 1 by five ways: the engine, an integer solver, merged tables, a program for each entry, and relaxed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.core.errors import InfeasibleError, InvalidProblemError, LimitReachedError
from discreet.core.guarantee import PureDP
from discreet.core.randomness import SeededBits
from discreet.core.tree import Tree
from discreet.datasets import made_census
from discreet.hierarchy.cost_tables import CountCosts, widths
from discreet.hierarchy.laminar import continuous, objective, optimal, project
from discreet.hierarchy.measure import measure
from discreet.hierarchy.methods import METHODS, m_h
from discreet.hierarchy.methods.m_dp_op import MDPOP
from discreet.hierarchy.methods.m_h import MH, integer_program
from discreet.hierarchy.methods.m_h_dp import MHDP, table_merge
from discreet.hierarchy.methods.m_h_r import MHRelaxed
from discreet.hierarchy.problem import GroupSizes
from discreet.hierarchy.verify import verify_counts, verify_guarantee
from hierarchy.small_trees import measured_of, random_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

STATES = Tree.from_paths([("GA",), ("NY",)], root="US")
RUNNING = [[3, 1, 2, 0, 0], [2, 0, 1, 0, 0], [1, 1, 1, 0, 0]]
"""The paper's running example, as counts of US, GA and NY."""


def random_measured(generator: np.random.Generator, n: int, n_sizes: int, **changes: Any) -> Any:
    tree = random_tree(generator, n)
    y = generator.integers(-5, 9, (n, n_sizes))
    total = None if generator.random() < 0.3 else int(generator.integers(0, 16))
    return measured_of(tree, y, total=total, **changes)


def cost(measured: Any, counts: NDArray[np.int64]) -> int:
    return objective(measured.frame, counts, measured.values)


# The examples of the paper.


def test_example_4_tables_5_and_6() -> None:
    """Noisy counts 3 and 0 for GA and NY, 2 for US: what the children contribute, and the table of the root."""
    v = np.arange(5)
    merged = table_merge([CountCosts(0, (v - 3) ** 2), CountCosts(0, v**2)])
    phi = merged.table.costs
    assert merged.table.low == 0
    assert phi[:6].tolist() == [9, 4, 1, 0, 1, 2]
    tau = phi[:6] + (np.arange(6) - 2) ** 2
    assert tau.tolist() == [13, 5, 1, 1, 5, 11]
    # Tables 5 and 6 print 0 + 4 and min(0, 4, 1) for v = 2; both must begin with 9.
    assert [int((3 - a) ** 2 + (2 - a) ** 2) for a in range(3)] == [13, 5, 1]
    by_split = [(a - 3) ** 2 + (2 - a) ** 2 for a in (0, 1, 2)]
    assert by_split == [9 + 4, 4 + 1, 1 + 0]
    assert min(by_split) == phi[2]


def test_example_5_shares() -> None:
    v = np.arange(5)
    merged = table_merge([CountCosts(0, (v - 3) ** 2), CountCosts(0, v**2)])
    assert [merged.share(count).tolist() for count in range(6)] == [
        [0, 0],
        [1, 0],
        [2, 0],
        [3, 0],
        [4, 0],
        [4, 1],
    ]


def test_exact_measurements_of_the_running_example_are_given_back() -> None:
    measured = measured_of(STATES, RUNNING)
    for method in (MH(), MH("milp"), MHRelaxed(), MHDP(), MDPOP(delta=2)):
        assert method.solve(measured).tolist() == RUNNING


# Algorithm 1, as printed and as corrected.


def as_printed(children: Sequence[CountCosts], *, ascending: bool) -> dict[int, int]:
    """Follow Algorithm 1 to the letter: on the way down it sorts tau(v) - tau(v - 1)."""
    best = [table.low + int(np.argmin(table.costs)) for table in children]
    up, down = [], []
    for c, table in enumerate(children):
        for at, v in enumerate(range(table.low, table.high + 1)):
            before = int(table.costs[at - 1]) if at else None
            if v > best[c]:
                up.append((int(table.costs[at]) - (before or 0), c))
            elif v < best[c]:
                # The printed increment does not exist at the least count.
                down.append((-(10**9) if before is None else int(table.costs[at]) - before, c))
    phi = {}
    for steps, sign in ((sorted(up), 1), (sorted(down, reverse=not ascending), -1)):
        counts = best[:]
        moves: list[int | None] = [None, *(child for _, child in steps)]
        for moved in moves:
            if moved is not None:
                counts[moved] += sign
            entries = zip(children, counts, strict=True)
            phi[sum(counts)] = sum(int(t.costs[x - t.low]) for t, x in entries)
    return phi


def all_splits(children: Sequence[CountCosts]) -> dict[int, int]:
    phi: dict[int, int] = {}
    for counts in product(*(range(t.low, t.high + 1) for t in children)):
        entries = zip(children, counts, strict=True)
        total = sum(int(t.costs[x - t.low]) for t, x in entries)
        phi[sum(counts)] = min(phi.get(sum(counts), total), total)
    return phi


@pytest.mark.parametrize("ascending", [True, False])
def test_algorithm_1_as_printed_is_wrong(ascending: bool) -> None:  # noqa: FBT001 - both ways of sorting
    """Two children, noisy counts 3 and 2: it misses the least cost of some sums; the correction misses none."""
    v = np.arange(5)
    children = [CountCosts(0, (v - 3) ** 2), CountCosts(0, 2 * (v - 2) ** 2)]
    right = all_splits(children)
    assert as_printed(children, ascending=ascending) != right
    merged = table_merge(children).table
    assert dict(enumerate(merged.costs.tolist(), merged.low)) == right


def test_algorithm_1_corrected_equals_all_splits_on_random_convex_tables() -> None:
    generator = np.random.default_rng(4)
    wrong = 0
    for _ in range(150):
        children = []
        for _ in range(int(generator.integers(1, 4))):
            steps = np.sort(generator.integers(-6, 7, int(generator.integers(0, 6))))
            costs = np.concatenate([[0], np.cumsum(steps)]) + int(generator.integers(0, 5))
            children.append(CountCosts(int(generator.integers(0, 3)), costs))
        right, merged = all_splits(children), table_merge(children)
        assert dict(enumerate(merged.table.costs.tolist(), merged.table.low)) == right
        for count, least in right.items():
            share = merged.share(count)
            assert share.sum() == count
            entries = zip(children, share.tolist(), strict=True)
            assert sum(int(t.costs[x - t.low]) for t, x in entries) == least
        wrong += as_printed(children, ascending=True) != right
    assert wrong > 30


# All ways agree.


@pytest.mark.jit
@pytest.mark.parametrize("trees", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_an_integer_solver_finds_the_same_cost_on_hundreds_of_trees(trees: int) -> None:
    generator = np.random.default_rng(trees)
    for _ in range(trees):
        tree = random_tree(generator, int(generator.integers(1, 9)))
        y = generator.integers(-6, 12, (tree.n, int(generator.integers(1, 4))))
        weights = generator.integers(1, 4, tree.n)
        total = None if generator.random() < 0.3 else int(generator.integers(0, 20))
        found = integer_program(tree, y, total, weights)
        other = project(tree, y, total=total, weights=weights)
        assert objective(tree, found, y, weights=weights) == objective(
            tree, other, y, weights=weights
        )
        assert (tree.totals(found[tree.leaves]) == found).all()
        assert found.min() >= 0
        assert total is None or found[0].sum() == total


def test_merged_tables_find_the_optimum_where_their_windows_hold_one() -> None:
    generator = np.random.default_rng(8)
    for _ in range(40):
        measured = random_measured(generator, int(generator.integers(1, 8)), 3)
        found, best = MHDP(delta=30).solve(measured), MH().solve(measured)
        assert cost(measured, found) == cost(measured, best)
        assert optimal(measured.frame, found, measured.values, total=measured.frame.total).passed
        assert verify_counts(measured.frame, found).passed


def test_a_program_for_each_entry_finds_the_same() -> None:
    generator = np.random.default_rng(9)
    for _ in range(4):
        measured = random_measured(generator, 4, 2)
        try:
            found = MDPOP(delta=5).solve(measured)
        except InfeasibleError:
            with pytest.raises(InfeasibleError):
                MHDP(delta=5).solve(measured)
            continue
        assert cost(measured, found) == cost(measured, MHDP(delta=5).solve(measured))
        assert (measured.frame.tree.totals(found[measured.frame.tree.leaves]) == found).all()


def test_weights_are_the_precision_of_the_noise() -> None:
    """A region that was measured finely pulls, one that was not measured does not."""
    values = [[100], [0], [0]]
    finely = measured_of(STATES, values, scales=(Fraction(1, 100), Fraction(9), Fraction(9)))
    assert MH().solve(finely)[0, 0] == 100
    assert MH(weights="equal").solve(finely).tolist() == [[66], [33], [33]]
    not_at_all = measured_of(STATES, values, scales=(None, Fraction(9), Fraction(9)))
    assert MH().solve(not_at_all).tolist() == [[0], [0], [0]]
    assert MH("milp").solve(not_at_all).tolist() == [[0], [0], [0]]


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["a", "b"])
def test_the_census_at_full_scale(variant: Any) -> None:
    """3,197 regions by 1,001 sizes: whole, not negative, consistent, faithful and optimal, all of it exactly."""
    made = made_census(variant=variant)
    data = GroupSizes.from_counts(made.tree, made.with_size_zero(), units="public")
    for epsilon in ("0.1", "1"):
        guarantee = PureDP(epsilon, neighbors="add-remove-person")
        measured = measure(data, "direct", guarantee, bits=SeededBits(3))
        found = MH().solve(measured)
        assert found.dtype == np.int64
        assert verify_counts(data.frame, found).passed
        assert verify_guarantee(data.frame, guarantee, measured.parameters()).passed
        assert optimal(data.frame, found, measured.values, total=made.groups).passed
        one = found.copy()
        path = made.tree.ancestors(int(made.tree.leaves[7]))
        one[path, 2] += 1
        one[path, 1] -= 1
        assert not optimal(data.frame, one, measured.values, total=made.groups).passed


# Windows.


def test_the_footnotes_windows_are_three_variances_wide() -> None:
    assert widths(measured_of(STATES, RUNNING, scale=6), None).tolist() == [216] * 3
    assert widths(measured_of(STATES, RUNNING, scale=Fraction(1, 3)), None).tolist() == [3] * 3
    assert widths(measured_of(STATES, RUNNING, scale=6), 5).tolist() == [5] * 3


def test_narrow_windows_may_miss_the_optimum_or_hold_nothing() -> None:
    """Exact means relative to the windows; the engine needs none."""
    generator = np.random.default_rng(10)
    worse = empty = 0
    for _ in range(80):
        tree = random_tree(generator, 5)
        measured = measured_of(tree, generator.integers(-2, 6, (5, 2)))
        best = cost(measured, MH().solve(measured))
        try:
            found = cost(measured, MHDP(delta=2).solve(measured))
        except InfeasibleError:
            empty += 1
        else:
            assert found >= best
            worse += found > best
    assert empty > 10
    assert worse > 0


@pytest.mark.parametrize("method", [MHDP(delta=1), MDPOP(delta=1)])
@pytest.mark.parametrize(
    ("values", "total"),
    [([[9], [0], [0]], None), ([[-9], [0], [0]], None), ([[0, 0], [0, 0], [0, 0]], 9)],
)
def test_windows_that_hold_nothing_are_reported(method: Any, values: Any, total: Any) -> None:
    with pytest.raises(InfeasibleError, match="raise delta"):
        method.solve(measured_of(STATES, values, total=total))


# Relaxed.


def test_relaxed_counts_are_near_the_whole_ones_and_need_not_add_up() -> None:
    """Rounding moves a cell by at most a half, and the exact solve is within two groups of the relaxed one."""
    made = made_census(states=4, counties=30, groups=9000, max_size=20)
    generator = np.random.default_rng(1)
    true = made.tree.totals(np.pad(made.counts, ((0, 0), (1, 0))))
    y = true + generator.geometric(0.2, true.shape) - generator.geometric(0.2, true.shape)
    measured = measured_of(made.tree, y, total=made.groups)
    rounded, whole = MHRelaxed().solve(measured), MH().solve(measured)
    flows = continuous(measured.frame, y, total=made.groups)
    assert np.abs(rounded - flows).max() <= 0.5 + 1e-9
    assert np.abs(whole - flows).max() < 2
    assert not verify_counts(measured.frame, rounded).passed
    assert verify_counts(measured.frame, rounded, promises=MHRelaxed.promises).passed
    assert verify_counts(measured.frame, whole).passed


def interior_point(
    quadratic: NDArray[np.float64],
    linear: NDArray[np.float64],
    rows: NDArray[np.float64],
    sides: NDArray[np.float64],
    lowest: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Minimize with equalities and lower bounds; stop as solvers do, at a gap of 1e-8 of the objective."""
    n, m = len(linear), len(rows)
    x, z, dual = np.maximum(lowest + 1, 0.0), np.ones(n), np.zeros(m)
    start = max(1.0, float(np.abs(linear).max()))
    x, z = np.maximum(x, lowest + start), z * start
    for _ in range(200):
        slack = x - lowest
        r_dual = quadratic * x + linear - rows.T @ dual - z
        r_primal = rows @ x - sides
        gap, value = float(slack @ z), float(0.5 * quadratic @ x**2 + linear @ x)
        scale = 1 + float(np.abs(linear).max())
        if (
            gap <= 1e-8 * (1 + abs(value))
            and np.abs(r_dual).max() <= 1e-8 * scale
            and np.abs(r_primal).max() <= 1e-8 * (1 + np.abs(sides).max(initial=0.0) + scale)
        ):
            return x
        target = 0.1 * gap / n
        inverse = 1 / (quadratic + z / slack)
        right = -r_dual - z + target / slack
        normal = (rows * inverse) @ rows.T
        step_dual = np.linalg.solve(normal, -r_primal - rows @ (inverse * right))
        step = inverse * (right + rows.T @ step_dual)
        step_z = -z + (target - z * step) / slack
        falling, falling_z = step < 0, step_z < 0
        length = 0.99 * min(
            float((-slack[falling] / step[falling]).min(initial=1 / 0.99)),
            float((-z[falling_z] / step_z[falling_z]).min(initial=1 / 0.99)),
        )
        x, z, dual = x + length * step, z + length * step_z, dual + length * step_dual
    raise AssertionError("the interior-point method did not end")


def test_a_relaxed_program_that_is_not_centered_is_solved_wrongly_in_silence() -> None:
    """Section 5 as printed, in the variables x, and the same in the distances from the noisy counts."""
    made = made_census(states=2, counties=6, groups=10**9, max_size=12)
    tree, generator = made.tree, np.random.default_rng(2)
    true = tree.totals(made.counts)
    y = true + generator.geometric(0.15, true.shape) - generator.geometric(0.15, true.shape)
    right = continuous(tree, y, total=made.groups)
    rows, sides = m_h._sums(tree, y, made.groups)
    dense, n = rows.toarray()[:, : y.size], y.size
    flat = y.reshape(-1).astype(np.float64)
    centered = interior_point(np.full(n, 2.0), np.zeros(n), dense, sides, -flat) + flat
    printed = interior_point(np.full(n, 2.0), -2 * flat, dense, sides + dense @ flat, np.zeros(n))
    assert np.abs(centered - right.reshape(-1)).max() < 0.1
    assert np.abs(printed - right.reshape(-1)).max() > 10
    distance = [((x - flat) ** 2).sum() for x in (centered, printed)]
    assert distance[1] > 1.2 * distance[0]


# At the border.


@pytest.mark.parametrize("method", [MH(), MHRelaxed(), MHDP(), MDPOP()])
def test_other_measurements_are_refused(method: Any) -> None:
    with pytest.raises(InvalidProblemError, match="^measured: expected direct counts"):
        method.solve(measured_of(STATES, RUNNING, kind="survival"))
    with pytest.raises(InvalidProblemError, match="^levels: "):
        method.solve(measured_of(STATES, RUNNING, scales=(Fraction(1), None, None)))


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="^solver: "):
        MH("simplex")  # type: ignore[arg-type]
    with pytest.raises(InvalidProblemError, match="^delta: "):
        MHDP(delta=-1).solve(measured_of(STATES, RUNNING))


def test_an_integer_solver_that_does_not_come_to_an_end_says_so() -> None:
    counts, weights = np.array([[4], [1], [0]]), np.ones(3, dtype=np.int64)
    with pytest.raises(LimitReachedError, match="0 rounds of cuts"):
        integer_program(STATES, counts, None, weights, max_rounds=0)


def test_all_four_are_found_by_name_and_tell_how_they_get_on() -> None:
    measured = measured_of(STATES, RUNNING)
    for name in ("m-h", "m-h-r", "m-h-dp", "m-dp-op"):
        assert name in METHODS
        told: list[str] = []
        method = MDPOP(delta=1) if name == "m-dp-op" else METHODS[name].make()
        assert method.solve(measured, on_progress=told.append).tolist() == RUNNING
        assert told
