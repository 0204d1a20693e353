"""Positive-part James-Stein by blocks: what it leaves, how far it goes, what it is worth, and where it is refused."""

from __future__ import annotations

import functools
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet import InvalidProblemError, PureDP, Tree, ZeroConcentratedDP
from discreet.artefact import load_tables, save_counts
from discreet.core.budget import MemoryBudget
from discreet.core.randomness import SeededBits
from discreet.hierarchy import contingency
from discreet.hierarchy.contingency import shrink
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.estimates import estimate, upward
from discreet.hierarchy.contingency.measure import MeasuredTables, marginal_scales, measure
from discreet.hierarchy.contingency.problem import Domain
from discreet.hierarchy.contingency.result import RegionTables
from discreet.hierarchy.contingency.shrink import james_stein, shrink_blocks
from discreet.hierarchy.contingency.verify import verify_tables
from discreet.hierarchy.contingency.whole import Descent, whole
from discreet.report.hierarchy import tables_chapter
from hierarchy.contingency.made_tables import ADDED, PAIR, RAGGED, REPLACED, SEX_AGE, frame_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

RHO = ZeroConcentratedDP("1/8", ADDED)
STAR = Tree.from_paths([(f"r{at}",) for at in range(6)])
METHOD = Descent(shrink="james-stein")


def regular(fanouts: list[int]) -> Tree:
    """Make a tree whose regions of a level have equally many children."""
    paths: list[tuple[str, ...]] = [()]
    for many in fanouts:
        paths = [(*path, str(at)) for path in paths for at in range(many)]
    return Tree.from_paths(paths)


def part_of(cells: NDArray[Any], domain: Domain, interaction: Any) -> NDArray[Any]:
    """Project rows of cells to an interaction, by matrices."""
    means = [np.full((n, n), 1 / n) for n in domain.shape]
    kinds = [
        np.eye(n) - mean if at in interaction else mean
        for at, (n, mean) in enumerate(zip(domain.shape, means, strict=True))
    ]
    return np.asarray(cells @ functools.reduce(np.kron, kinds))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_small_blocks_stay_and_others_lie_between_target_and_estimate(data: st.DataObject) -> None:
    tree = regular(data.draw(st.lists(st.integers(1, 4), min_size=0, max_size=2)) or [1])
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    domain = Domain.read({f"a{at}": list(map(str, range(n))) for at, n in enumerate(sizes)})
    frame = frame_of(tree, domain, [(0,), domain.full] if len(sizes) > 1 else [domain.full])
    most = data.draw(st.sampled_from([0, 2, 40, 10**6]))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    values = {
        q: rng.integers(-most, 3 * most + 1, (tree.n, domain.size_of(q))) for q in frame.marginals
    }
    measured = MeasuredTables(frame, values, marginal_scales(frame, RHO), "gaussian", RHO)
    with pytest.MonkeyPatch.context() as patch:

        def checked(noisy: Any, target: Any, precision: float, dimension: int) -> NDArray[Any]:
            found = james_stein(noisy, target, precision, dimension)
            if dimension < 3:
                assert np.array_equal(found, noisy)
            low, high = np.minimum(noisy, target), np.maximum(noisy, target)
            slack = 1e-9 * (1 + np.abs(noisy).max(initial=0) + np.abs(target).max(initial=0))
            assert np.all(low - slack <= found)
            assert np.all(found <= high + slack)
            return found

        patch.setattr(shrink, "james_stein", checked)
        made = upward(measured)
        shrink_blocks(made, tree)
    found, unbiased = made.basis.backward(made.means), estimate(measured)
    slack = 1e-7 * (1 + np.abs(unbiased).max())
    edges = tree.level_start.tolist()
    for level in range(tree.depth + 1):
        rows = slice(edges[level], edges[level + 1])
        above = tree.parents[rows]
        siblings = (edges[level + 1] - edges[level]) // (edges[level] - edges[level - 1] or 1)
        if level:
            sums = np.zeros((edges[level], domain.size))
            np.add.at(sums, above, found[rows])
            assert np.abs((sums - found[: edges[level]])[edges[level - 1] :]).max() < slack
        apart = (found - unbiased)[rows]
        if level:
            apart = apart - ((found - unbiased)[above] / siblings)
        free = edges[level + 1] - edges[level] - len(set(above.tolist()) - {-1})
        for size in range(len(sizes) + 1):
            for one in combinations(domain.full, size):
                dimension = free * int(np.prod([domain.shape[at] - 1 for at in one]))
                if dimension < 3:
                    assert np.abs(part_of(apart, domain, one)).max() < slack
    assert verify_tables(frame, METHOD.solve(measured).cells).passed


@settings(max_examples=100, deadline=None)
@given(st.integers(3, 9), st.floats(1e-6, 1e6), st.integers(0, 999))
def test_the_factor_is_that_of_james_and_stein_or_zero(
    dimension: int, precision: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    noisy, target = rng.normal(size=dimension) * 9, rng.normal(size=dimension)
    square = float(((noisy - target) ** 2).sum()) * precision
    factor = max(0.0, 1 - (dimension - 2) / square)
    found = james_stein(noisy, target, precision, dimension)
    assert np.allclose(found, factor * noisy + (1 - factor) * target)
    assert np.array_equal(james_stein(target, target, precision, dimension), target)


def squared_errors(draws: int) -> NDArray[np.float64]:
    """Return the total squared error of each table less that of unbiased estimates, over its mean, for each draw."""
    marginals: list[Any] = [(), (0,), (1,), (0, 1)]
    frame = frame_of(STAR, Domain.read({"a": list("pqr"), "b": list("wxyz")}), marginals)
    domain, found = frame.domain, []
    law = np.outer([5, 3, 1], [4, 3, 2, 1]).reshape(-1)
    data = CellCounts(frame, np.arange(1, 7)[:, None] * law + np.arange(72).reshape(6, 12) % 5)
    truth = data.of_regions(domain.full)
    for seed in range(draws):
        measured = measure(data, RHO, bits=SeededBits(seed))
        made = upward(measured)
        shrink_blocks(made, frame.tree)
        both = [
            [
                (domain.project(cells - truth, q)[rows] ** 2).sum()
                for rows in (slice(0, 1), slice(1, 7))
                for q in marginals
            ]
            for cells in (made.basis.backward(made.means), estimate(measured))
        ]
        found.append(both)
    shrunk, unbiased = np.moveaxis(np.array(found), 1, 0)
    return np.asarray((shrunk - unbiased) / unbiased.mean(axis=0))


def excess(draws: int) -> NDArray[np.float64]:
    """Return by how many standard errors the mean of each table's difference is above 0."""
    off = squared_errors(draws)
    scale = np.maximum(off.std(axis=0, ddof=1) / draws**0.5, 1e-9)
    return np.asarray(off.mean(axis=0) / scale)


@pytest.mark.statistical
def test_no_table_has_a_larger_expected_squared_error() -> None:
    """Discrete noise of variance 32; four standard errors above is a failure, and half of the tables are better."""
    found = excess(600)
    assert found.max() < 4
    assert (found < -4).sum() >= 4


@pytest.mark.statistical
def test_a_factor_that_is_three_times_as_large_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def worse(noisy: Any, target: Any, precision: float, dimension: int) -> NDArray[Any]:
        apart = noisy - target
        square = precision * float((apart**2).sum())
        kept = 1 - 3 * (dimension - 2) / square if dimension > 2 else 1.0
        return np.asarray(target + kept * apart)

    monkeypatch.setattr(shrink, "james_stein", worse)
    assert excess(600).max() > 4


def planned_of(**more: Any) -> contingency.TablesPlan:
    """Plan tables of two attributes in six regions."""
    listed = {"sex": ["F", "M"], "age": ["0-17", "18-64", "65+"]}
    arguments = {"columns": ["state"], "domain": listed, "shrink": "james-stein"}
    given_tree = more.pop("regions", STAR)
    guarantee = more.pop("guarantee", RHO)
    return contingency.plan(given_tree, guarantee, **{**arguments, **more})


COUNTS = np.random.default_rng(5).integers(0, 30, (6, 6))


def test_account_measurements_and_checks_are_those_without_it(tmp_path: Path) -> None:
    planned, plain = planned_of(), planned_of(shrink="none")
    assert (planned.cost, planned.frame, planned.noise) == (plain.cost, plain.frame, plain.noise)
    made = planned.release(CellCounts(planned.frame, COUNTS), keep_measurements=True)
    assert made.guarantee == plain.guarantee
    assert made.certificate.passed
    kept = made.result.measurements
    assert kept is not None
    assert np.array_equal(METHOD.solve(kept).cells, made.result.cells)
    assert not np.array_equal(Descent(shrink="none").solve(kept).cells, made.result.cells)
    assert np.array_equal(METHOD.solve(kept, threads=2).cells, made.result.cells)
    save_counts(made, tmp_path / "t.csv")
    again = load_tables(tmp_path / "t.csv")
    assert np.array_equal(again.result.cells, made.result.cells)
    assert (again.result.shrink, again.result.gaps) == ("james-stein", ())
    assert dc.verify(again).passed
    text = (tmp_path / "t.csv").read_text(encoding="utf-8")
    first = next(line for line in text.splitlines() if line.startswith("2,"))
    head, count = first.rsplit(",", 1)
    changed = text.replace(first, f"{head},{int(count) + 1}", 1)
    (tmp_path / "t.csv").write_text(changed, encoding="utf-8")
    with pytest.raises(InvalidProblemError):
        load_tables(tmp_path / "t.csv")
    cells = made.result.cells.copy()
    cells[1, 0] += 1
    assert not verify_tables(planned.frame, cells).passed


def test_nothing_states_an_interval_or_a_distance_of_shrunk_tables() -> None:
    planned = planned_of()
    made = planned.release(CellCounts(planned.frame, COUNTS), keep_measurements=True)
    words = "published counts have no intervals, standard errors or classes of reliability"
    assert words in str(planned)
    assert words in str(made.result.described(made))
    assert made.result.gaps == ()
    assert "distances" not in str(made.result)
    for refused in (made.result.to_reliability, made.result.count_by_reliability):
        with pytest.raises(InvalidProblemError, match="reliability: expected none with shrunk"):
            refused(RHO)
    assert planned.shrink == "james-stein"
    page = str(tables_chapter(made))
    assert words.capitalize() in page
    assert "use with caution" not in page
    assert "95 % interval" not in page
    assert "with intervals" not in page
    plain = planned_of(shrink="parent")
    other = plain.release(CellCounts(plain.frame, COUNTS), keep_measurements=True)
    for one in ("use with caution", "95 % interval", "with intervals"):
        assert one in str(tables_chapter(other))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"guarantee": PureDP(1, ADDED)}, "with epsilon, or rho"),
        ({"regions": RAGGED, "columns": ["state", "county"]}, "where regions of one level differ"),
        (
            {
                "domain": {
                    "attributes": {"s": ["F", "M"], "t": ["x", "y"]},
                    "zeros": [{"s": ["F"], "t": ["x"]}],
                }
            },
            "with structural zeros or coarsened attributes",
        ),
        (
            {
                "domain": {
                    "age": ["0-9", "10-17", "18+"],
                    "grown": {"of": "age", "groups": {"minor": ["0-9", "10-17"], "adult": ["18+"]}},
                }
            },
            "with structural zeros or coarsened attributes",
        ),
        (
            {
                "regions": Tree.from_paths([("a",), ("b",), ("c", "x"), ("c", "y")]),
                "columns": ["state", "county"],
                "loss": "worst",
                "groups": 3,
            },
            "as with groups",
        ),
    ],
)
def test_what_has_no_theorem_is_refused_before_a_charge(more: Any, words: str) -> None:
    with pytest.raises(InvalidProblemError, match=words):
        planned_of(**more)


def test_a_refusal_of_any_entrance_leaves_the_budget_whole() -> None:
    import polars as pl

    budget = MemoryBudget({"d": ZeroConcentratedDP(9, ADDED), "e": PureDP(9, ADDED)})
    people = pl.DataFrame({"state": ["GA", "NY"], "county": ["a", "c"], "sex": ["F", "M"]})
    shared: Any = {
        "by": ["sex"],
        "domain": {"sex": ["F", "M"]},
        "shrink": "james-stein",
        "budget": budget,
    }
    places: Any = {"columns": ["state", "county"], "regions": RAGGED}
    with pytest.raises(InvalidProblemError, match="where regions of one level differ"):
        dc.counts(people, RHO, **shared, **places, dataset="d")
    with pytest.raises(InvalidProblemError, match="noise is Gaussian"):
        dc.counts(people, PureDP(1, ADDED), **shared, columns=["state"], regions=PAIR, dataset="e")
    assert [budget.account(one).spent for one in "de"] == [(Fraction(0),), (Fraction(0),)]
    with pytest.raises(InvalidProblemError, match="noise is Gaussian"):
        planned_of().with_guarantee(PureDP(1, ADDED))
    measured = measure(CellCounts(frame_of(RAGGED, SEX_AGE, [(0, 1)]), COUNTS[:4]), RHO)
    with pytest.raises(InvalidProblemError, match="where regions of one level differ"):
        METHOD.solve(measured)


@pytest.mark.parametrize("total", [None, 540])
def test_replaced_persons_with_several_rows_or_a_public_total_keep_every_law(
    total: int | None,
) -> None:
    guarantee = ZeroConcentratedDP("1/100", REPLACED)
    frame = frame_of(regular([3, 3]), SEX_AGE, [(0,), (0, 1)], max_rows=3 if total is None else 1)
    if total is not None:
        frame = type(frame)(frame.tree, frame.domain, frame.shares, total=total)
    measured = measure(CellCounts(frame, np.full((9, 6), 10)), guarantee, bits=SeededBits(1))
    made = METHOD.solve(measured)
    assert verify_tables(frame, made.cells).passed
    assert whole(measured, by_blocks=True, shaped=False).cells.tolist() == made.cells.tolist()


def test_a_single_region_has_one_level_of_blocks() -> None:
    frame = frame_of(Tree.from_paths([("a",)]), SEX_AGE, [(0, 1)])
    made = METHOD.solve(measure(CellCounts(frame, COUNTS[:1]), RHO))
    assert isinstance(made, RegionTables)
    assert verify_tables(frame, made.cells).passed
