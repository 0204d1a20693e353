"""Expected tables of siblings: the laws of tables drawn to them, and what the model is worth."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Tree, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.descent import Siblings
from discreet.hierarchy.contingency.estimates import InteractionBasis, estimate
from discreet.hierarchy.contingency.measure import MeasuredTables, marginal_scales, measure
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.shape import entry_noise, intraclass, toward_shape
from discreet.hierarchy.contingency.verify import verify_tables
from discreet.hierarchy.contingency.whole import Descent, whole
from hierarchy.contingency.made_tables import ADDED, RAGGED, REPLACED, SEX_AGE, frame_of

MARGINALS: list[Any] = [(), (0,), (0, 1)]
ZEROS = Domain.read(
    {"sex": ["F", "M"], "age": ["0-17", "18-64", "65+"]}, zeros=[{"sex": ["F"], "age": ["65+"]}]
)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_was_measured_tables_keep_every_law(data: st.DataObject) -> None:
    """Whole, not negative, additive over regions and marginals, the stated total, structural zeros, twice the same."""
    domain = data.draw(st.sampled_from([SEX_AGE, ZEROS]))
    total = data.draw(st.none() | st.integers(0, 60))
    half = (Fraction(1, 2) / 3,) * 3
    frame = TableFrame(RAGGED, domain, {(0,): half, (0, 1): half}, total=total)
    guarantee = ZeroConcentratedDP("1/8", ADDED if total is None else REPLACED)
    most = data.draw(st.sampled_from([0, 1, 9, 400]))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    values = {
        q: rng.integers(-most, 3 * most + 1, (RAGGED.n, domain.size_of(q))) for q in frame.shares
    }
    scales = marginal_scales(frame, guarantee)
    measured = MeasuredTables(frame, values, scales, "gaussian", guarantee)
    made = whole(measured)
    assert verify_tables(frame, made.cells).passed
    assert not made.cells[:, ~domain.possible].any()
    assert total is None or made.cells[0].sum() == total
    assert all(
        0 <= one.lower <= one.upper and 0 <= (one.moved or 0) <= one.upper for one in made.gaps
    )
    assert np.array_equal(whole(measured, threads=2).cells, made.cells)


def with_values(values: Any, rho: str = "1/8") -> MeasuredTables:
    """Return measurements with these values on the ragged tree."""
    frame, guarantee = frame_of(RAGGED, SEX_AGE, MARGINALS), ZeroConcentratedDP(rho, ADDED)
    return MeasuredTables(frame, values, marginal_scales(frame, guarantee), "gaussian", guarantee)


def test_without_the_model_tables_are_those_of_the_version_before_it() -> None:
    rng = np.random.default_rng(3)
    sizes = {q: SEX_AGE.size_of(q) for q in MARGINALS}
    measured = with_values({q: rng.integers(-9, 30, (RAGGED.n, n)) for q, n in sizes.items()})
    made = Descent(shrink="none").solve(measured)
    assert made.cells.tolist() == [
        [0, 12, 3, 0, 7, 8],
        [0, 0, 0, 0, 6, 1],
        [0, 0, 3, 0, 1, 6],
        [0, 12, 0, 0, 0, 1],
        [0, 0, 0, 0, 4, 1],
        [0, 0, 0, 0, 2, 0],
        [0, 0, 3, 0, 1, 6],
    ]
    assert all(one.moved is None for one in made.gaps)
    assert not np.array_equal(Descent().solve(measured).cells, made.cells)


@pytest.mark.parametrize("seed", range(4))
def test_without_the_model_whole_estimates_stay_however_unlike_siblings_are(seed: int) -> None:
    frame = frame_of(RAGGED, SEX_AGE, MARGINALS)
    counted = CellCounts(frame, np.random.default_rng(seed).integers(0, 9, (4, 6)))
    measured = with_values({q: counted.of_regions(q) for q in frame.shares}, "1/1000")
    assert np.array_equal(whole(measured, shaped=False).cells, counted.of_regions((0, 1)))
    assert not np.array_equal(whole(measured).cells, counted.of_regions((0, 1)))


@pytest.mark.parametrize(("rho", "law"), [("1/1000", [1, 1, 1]), ("1", [2, 1, 4])])
def test_whole_estimates_that_the_model_expects_stay(rho: str, law: list[int]) -> None:
    """Where least squares gives whole tables with the shape of the region above, nothing moves, whatever the noise."""
    frame = frame_of(RAGGED, SEX_AGE, MARGINALS)
    tables = np.array([1, 2, 3, 4])[:, None] * np.outer([1, 1], law).reshape(1, -1)
    counted = CellCounts(frame, tables)
    measured = with_values({q: counted.of_regions(q) for q in frame.shares}, rho)
    assert np.allclose(estimate(measured), counted.of_regions((0, 1)))
    assert np.array_equal(whole(measured).cells, counted.of_regions((0, 1)))


def drawn(correlation: float, seed: int) -> tuple[Any, ...]:
    """Draw counts of 40 regions around common shares, with noise of variance 16: apart, noise, mean, records."""
    rng = np.random.default_rng(seed)
    shares, size = np.array([0.5, 0.3, 0.15, 0.05]), rng.integers(40, 400, 40)
    alpha = shares * (1 / correlation - 1) if correlation else None
    laws = [shares if alpha is None else rng.dirichlet(alpha) for _ in size]
    counts = np.stack([rng.multinomial(n, law) for n, law in zip(size, laws, strict=True)])
    mean = size[:, None] * shares
    return counts + rng.normal(0, 4, mean.shape) - mean, np.full((40, 1), 16.0), mean, size[:, None]


@pytest.mark.parametrize(
    ("correlation", "low", "high"), [(0.0, 0, 0.003), (0.05, 0.02, 0.08), (0.4, 0.25, 0.6)]
)
def test_the_intraclass_correlation_is_that_of_greatest_likelihood(
    correlation: float, low: float, high: float
) -> None:
    for seed in range(4):
        apart, noise, mean, records = drawn(correlation, seed)
        found = intraclass(apart, noise, mean, records.astype(float))
        assert low <= found <= high
        variance = noise + mean * (1 + np.linspace(0, 1, 20_001)[:, None, None] * records)
        losses = (np.log(variance) + apart**2 / variance).sum(axis=(1, 2))
        assert abs(found - np.linspace(0, 1, 20_001)[losses.argmin()]) < 1e-3


def test_the_noise_of_an_entry_is_that_of_dense_algebra() -> None:
    basis = InteractionBasis(SEX_AGE)
    precision = np.random.default_rng(1).uniform(0.2, 3, (3, 4))
    for q in [(), (0,), (1,), (0, 1)]:
        rows = SEX_AGE.project(basis.backward(np.eye(6)), q)
        dense = ((rows**2)[:, 0] / precision[:, basis.subset]).sum(axis=1)
        assert np.allclose(entry_noise(precision, SEX_AGE, q)[:, 0], dense)


def test_expected_tables_have_the_associations_above_and_the_margins_of_the_region() -> None:
    """With precise measurements of attributes: odds ratios of the parent, counts of the child."""
    basis = InteractionBasis(SEX_AGE)
    parent = np.array([30, 10, 20, 10, 40, 90])
    shares = np.array([[0.2, 0.1, 0.1, 0.1, 0.2, 0.3], [0.1, 0.1, 0.3, 0.2, 0.1, 0.2]])
    truth = shares * 100
    precision = np.full((2, 4), 1e6)
    precision[:, 3] = 1e-9
    targets: Any = basis.forward(truth)
    task = Siblings(targets, precision, parent, None, SEX_AGE.possible)
    expected: Any = toward_shape(task, basis, sweeps=30).expected
    for q in [(0,), (1,)]:
        assert np.allclose(SEX_AGE.project(expected, q), SEX_AGE.project(truth, q), atol=0.01)

    def odds(table: Any) -> Any:
        shaped = np.asarray(table, dtype=float).reshape(2, 3)
        return shaped[0] * shaped[1, :1] / (shaped[1] * shaped[0, :1])

    assert np.allclose([odds(one) for one in expected], odds(parent), rtol=1e-4)


@pytest.mark.parametrize(("alike", "most"), [(True, 0.8), (False, 1.25)])
def test_siblings_help_one_another_where_they_are_alike(most: float, *, alike: bool) -> None:
    """Summed absolute errors beside the fit without a model, the same noise: 20 regions of 30 cells and 200 records.

    Where each region has a law of its own, on few cells, the model costs something.
    """
    domain = Domain.read({"a": list("abcde"), "b": list("uvwxyz")})
    tree = Tree.from_paths([(f"r{k:02}",) for k in range(20)])
    frame = frame_of(tree, domain, [(0,), (0, 1)])
    rng = np.random.default_rng(4)
    laws = [rng.dirichlet(np.full(30, 0.3)) for _ in range(20)]
    counts = np.stack([rng.multinomial(200, laws[0] if alike else law) for law in laws])
    counted, errors = CellCounts(frame, counts), np.zeros(2)
    for seed in range(5):
        measured = measure(counted, ZeroConcentratedDP("1/10", ADDED), bits=SeededBits(seed))
        for at, shaped in enumerate([False, True]):
            cells = whole(measured, shaped=shaped).cells
            errors[at] += np.abs(cells - counted.of_regions((0, 1)))[1:].sum()
    assert errors[1] <= most * errors[0], errors
