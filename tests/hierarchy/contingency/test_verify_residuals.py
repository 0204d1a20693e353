"""Residuals in place of plain counts: sensitivities by enumeration, exact least squares, plans that need them."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet import InvalidProblemError, PureDP, Tree, ZeroConcentratedDP
from discreet.artefact.counts import (
    load_table_measurements,
    load_tables,
    save_counts,
    save_measurements,
)
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.estimates import estimate
from discreet.hierarchy.contingency.exact import ExactFit
from discreet.hierarchy.contingency.expected import expected_errors
from discreet.hierarchy.contingency.measure import marginal_scales, measure, moved_by_person
from discreet.hierarchy.contingency.plan import plan
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.query import query
from discreet.hierarchy.contingency.verify import verify_guarantee, verify_measured
from discreet.hierarchy.contingency.verify_loss import moved_residual
from discreet.hierarchy.contingency.widths import noise_of_answer
from discreet.hierarchy.measure import draw_noise
from discreet.testing import enumerate_law
from few import each_once, few_of
from hierarchy.contingency.made_tables import (
    ADDED,
    PAIR,
    RAGGED,
    REPLACED,
    dense,
    fraction_fit,
    frame_of,
    unit_questions,
)

if TYPE_CHECKING:
    from pathlib import Path

MIXED = Domain.read({"p": ["0", "1"], "q": ["0", "1", "2"], "r": ["0", "1"]})
SMALL = Domain.read({"p": ["0", "1"], "q": ["0", "1", "2"]})
RESIDUALS: list[Any] = [(0,), (1,), (2,), (0, 1), (0, 2)]
BINARY = {f"a{at}": ["0", "1"] for at in range(4)}


def residual_of(domain: Domain, q: Any) -> np.ndarray[Any, Any]:
    """Write down the matrix of a residual on the cells."""
    matrix = np.ones((1, 1), dtype=np.int64)
    for at, size in enumerate(domain.shape):
        part = size * np.eye(size, dtype=np.int64) - 1 if at in q else np.ones((1, size), np.int64)
        matrix = np.kron(matrix, part)
    return matrix


@pytest.mark.parametrize("q", RESIDUALS)
@pytest.mark.parametrize("most", [1, 2])
def test_every_sensitivity_is_reached_and_not_passed(q: Any, most: int) -> None:
    """Rows of a person in the cells of two regions: all of them, and all pairs."""
    one = residual_of(MIXED, q)
    columns = np.kron(np.eye(2, dtype=np.int64), one).T
    persons = [
        columns[list(rows)].sum(axis=0)
        for many in ([1] if most == 1 else [0, 1, 2])
        for rows in combinations_with_replacement(range(len(columns)), many)
    ]
    every = np.stack(persons)
    squares = every @ every.T
    shape = MIXED.shape_of(q)
    assert squares.diagonal().max() == moved_by_person(ADDED, most, norm=2, residual=shape)
    apart = squares.diagonal()[:, None] + squares.diagonal()[None] - 2 * squares
    assert apart.max() == moved_by_person(REPLACED, most, norm=2, residual=shape)
    for replaced, relation in enumerate((ADDED, REPLACED)):
        moved = moved_residual(list(shape), replaced=bool(replaced))
        assert moved * most**2 == moved_by_person(relation, most, norm=2, residual=shape)


@pytest.mark.jit
@pytest.mark.parametrize(("relation", "q"), each_once([ADDED, REPLACED], [(0,), (1,)]))
def test_laws_of_neighbors_diverge_by_the_budget_at_most(relation: Any, q: Any) -> None:
    """The noise by enumeration of the random bits, and with it the divergence of order 2 of all neighbors."""
    frame = frame_of(Tree.from_paths([("x",)]), SMALL, [q, (0, 1)], residuals=True)
    # A variance of 1 or so, whose laws have few enough bits.
    rho = (
        2
        * {(ADDED, 2): 2, (ADDED, 3): 6, (REPLACED, 2): 8, (REPLACED, 3): 18}[
            relation, SMALL.size_of(q)
        ]
    )
    scale = marginal_scales(frame, ZeroConcentratedDP(rho, relation))[q][3]
    assert scale is not None
    law = enumerate_law(lambda bits: int(draw_noise(scale, "gaussian", 1, bits)[0]), max_runs=4000)
    assert law.unexplored < Fraction(1, 2)
    weights = {value: math.exp(-(value**2) / (2 * scale)) for value in range(-20, 21)}
    whole = sum(weights.values())
    for value, weight in weights.items():
        low, high = law.bounds(value)
        assert float(low) <= weight / whole * (1 + 1e-9)
        assert weight / whole <= float(high) * (1 + 1e-9)

    def divergence(shift: int) -> float:
        both = [value for value in weights if value - shift in weights]
        return math.log(sum(weights[v] ** 2 / weights[v - shift] for v in both) / whole)

    exact = ZeroConcentratedDP(10**9, relation)
    tables = [
        np.zeros((1, SMALL.size), dtype=np.int64),
        *np.eye(SMALL.size, dtype=np.int64)[:, None],
    ]
    seen = [measure(CellCounts(frame, one), exact).values[q][1] for one in tables]
    pairs = (
        [(seen[0], one) for one in seen[1:]] if relation == ADDED else product(seen[1:], repeat=2)
    )
    worst = max(sum(divergence(int(d)) for d in a - b) for a, b in pairs)
    limit = 2 * rho * float(frame.share(q, 3))
    assert 0.9 * limit < worst <= limit * (1 + 1e-6)


@pytest.mark.parametrize("relation", [ADDED, REPLACED])
def test_no_neighbor_costs_more_than_the_budget(relation: Any) -> None:
    """All residuals of all regions together, for every pair of neighbors."""
    frame = frame_of(PAIR, SMALL, [(0,), (1,), (0, 1)], residuals=True)
    scales = marginal_scales(frame, ZeroConcentratedDP(1, relation))
    people = np.eye(2 * SMALL.size, dtype=np.int64).reshape(-1, 2, SMALL.size)
    vectors, weights = [], []
    for q in frame.marginals:
        matrix = (
            residual_of(SMALL, q) if frame.is_residual(q) else np.eye(SMALL.size, dtype=np.int64)
        )
        for node in range(3):
            scale = scales[q][int(frame.strata[node])]
            assert scale is not None
            vectors.append(np.stack([PAIR.totals(one)[node] @ matrix.T for one in people]))
            weights += [1 / float(2 * scale)] * len(matrix)
    every = np.concatenate(vectors, axis=1)
    moved = (
        every if relation == ADDED else (every[:, None] - every[None]).reshape(-1, every.shape[1])
    )
    worst = float((moved**2 @ np.array(weights)).max())
    assert 0.9 < worst <= 1 + 1e-12


def residual_case(seed: int) -> Any:
    generator = np.random.default_rng(seed)
    domain = [SMALL, MIXED][seed % 2]
    tree = [PAIR, RAGGED, Tree.from_paths([("a", "x"), ("b", "y")])][seed % 3]
    if domain is MIXED:
        tree = PAIR
    kept = [q for q in [(), *RESIDUALS] if set(q) < set(domain.full) and generator.random() < 0.6]
    raw = {q: generator.integers(0, 5, tree.depth + 1).tolist() for q in [*kept, domain.full]}
    raw[domain.full][-1] += 1
    whole = sum(map(sum, raw.values()))
    shares = {q: tuple(Fraction(part, whole) for part in parts) for q, parts in raw.items()}
    frame = TableFrame(tree, domain, shares, residuals=True)
    counts = generator.integers(0, 9, (len(tree.leaves), domain.size))
    guarantee = ZeroConcentratedDP("1/3", ADDED)
    return measure(CellCounts(frame, counts), guarantee, bits=SeededBits(seed))


@pytest.mark.parametrize("seed", few_of(3, range(8)))
def test_answers_are_generalized_least_squares(seed: int) -> None:
    kept = residual_case(seed)
    frame, domain = kept.frame, kept.frame.domain
    cells, inverse = dense(kept)
    fit = fraction_fit(kept, domain.full)
    questions = unit_questions(domain, domain.full)
    found = fit.answers(questions, np.arange(frame.tree.n))
    below = frame.tree.totals(np.eye(len(frame.tree.leaves), dtype=np.int64)).astype(bool)
    for node in range(frame.tree.n):
        for cell in (0, domain.size - 1):
            held = [leaf * domain.size + cell for leaf in np.flatnonzero(below[node]).tolist()]
            assert found[node, cell] == sum(cells[one] for one in held)
            expected = sum(inverse[a][b] for a in held for b in held)
            assert noise_of_answer(fit, questions[cell], {node: 1}).variance == expected
    assert np.abs(estimate(kept) - found.astype(np.float64)).max() < 1e-7
    rounded = ExactFit(kept, domain.full).answers(questions, np.arange(frame.tree.n))
    assert max(abs(float(one)) for one in (rounded - found).reshape(-1)) < 1e-7
    errors = expected_errors(frame, kept.guarantee)
    for one in errors:
        if one.level == 1:
            names = [] if one.marginal == "total" else one.marginal.split(":")
            answer = query(kept, by=names, level=1)
            assert math.isclose(one.together, math.sqrt(answer.variances[0, 0]), rel_tol=1e-6)


def test_residuals_without_noise_give_the_counts_back() -> None:
    frame = replace(residual_case(5).frame)
    data = CellCounts(frame, np.arange(2 * MIXED.size).reshape(2, -1))
    kept = measure(data, ZeroConcentratedDP(10**9, REPLACED))
    assert np.abs(estimate(kept) - data.of_regions(MIXED.full)).max() < 1e-6


def test_plans_measure_residuals_where_plain_counts_are_far_from_the_bound() -> None:
    """One-way tables of binary attributes share their total, which plain counts measure again and again."""
    common: dict[str, Any] = {"columns": ["r"], "domain": BINARY, "loss": "variance"}
    regions = [(str(at),) for at in range(5)]
    made = plan(regions, ZeroConcentratedDP(1, ADDED), workload=list(BINARY), **common)
    assert made.frame.residuals
    assert made.proved is not None
    assert made.proved.most <= 1.005 * made.proved.linear
    assert any("residuals of a0" in line for line in made.noise)
    # Nested tables are near the bound without them, a replaced row moves them more, and Laplace noise has no proof.
    nested = plan(regions, ZeroConcentratedDP(1, ADDED), workload=["a0", "a0:a1"], **common)
    replaced = plan(regions, ZeroConcentratedDP(1, REPLACED), workload=list(BINARY), **common)
    pure = plan(regions, PureDP(1, ADDED), workload=list(BINARY), **common)
    assert [one.frame.residuals for one in (nested, replaced, pure)] == [False] * 3
    with pytest.raises(InvalidProblemError, match="residuals"):
        made.with_guarantee(PureDP(1, ADDED))


def test_laplace_noise_on_residuals_has_no_proof() -> None:
    guarantee = ZeroConcentratedDP(1, ADDED)
    regions = [(str(at),) for at in range(5)]
    common: dict[str, Any] = {"columns": ["r"], "domain": BINARY, "loss": "variance"}
    frame = plan(regions, guarantee, workload=list(BINARY), **common).frame
    assert frame.residuals
    stated = {
        "noise": "laplace",
        "neighbors": ADDED,
        "max_rows": 1,
        "total": None,
        "residuals": True,
        "shares": {frame.domain.name(q): list(map(str, one)) for q, one in frame.shares.items()},
        "scales": {frame.domain.name(q): ["1"] * frame.n_strata for q in frame.shares},
    }
    with pytest.raises(InvalidProblemError, match="residuals: expected plain counts with Laplace"):
        verify_guarantee(frame, PureDP(1, ADDED), stated)


def test_a_release_with_residuals_survives_its_files(tmp_path: Path) -> None:
    made = plan(
        [("x",), ("y",)],
        ZeroConcentratedDP(1, ADDED),
        columns=["r"],
        domain=BINARY,
        workload=list(BINARY),
    )
    assert made.frame.residuals
    assert copy.deepcopy(made).frame.digest == made.frame.digest
    counts = np.random.default_rng(1).integers(0, 30, (2, 16))
    data = CellCounts(made.frame, counts)
    measured = measure(data, made.guarantee)
    assert verify_measured(measured).passed
    save_measurements(measured, tmp_path / "kept.csv")
    read = load_table_measurements(tmp_path / "kept.csv")
    assert read.frame.residuals
    assert (
        query(read, by=["a0"], level=2).values == query(measured, by=["a0"], level=2).values
    ).all()
    released = replace(made, columns=None).release(data)
    assert released.certificate.passed
    save_counts(released, tmp_path / "tables.csv")
    assert load_tables(tmp_path / "tables.csv").certificate.passed
    # The mark is a part of the digest: without it the file is another one's.
    beside = tmp_path / "kept.csv.discreet.json"
    stated = json.loads(beside.read_text())
    assert '"residuals"' in json.dumps(stated)


def test_too_little_noise_for_a_residual_is_rejected() -> None:
    kept = residual_case(5)
    [q] = [one for one in kept.frame.marginals if kept.frame.is_residual(one)][:1]
    less = {**kept.scales, q: tuple(None if b is None else b / 2 for b in kept.scales[q])}
    assert verify_measured(kept).passed
    assert not verify_measured(replace(kept, scales=less)).passed
    # As plain counts these numbers would be protected by less.
    plain = replace(kept.frame, residuals=False)
    assert plain.digest != kept.frame.digest


@pytest.mark.parametrize(
    "domain",
    [
        Domain.read({"p": ["0", "1"], "q": ["0"]}),
        Domain.read({"p": ["0", "1"], "q": ["0", "1"]}, zeros=[{"p": ["0"], "q": ["1"]}]),
        Domain.read({"p": ["0", "1"], "q": list(map(str, range(20_000)))}),
    ],
)
def test_domains_without_residuals_are_refused(domain: Domain) -> None:
    with pytest.raises(InvalidProblemError, match="residuals: expected"):
        frame_of(PAIR, domain, [(1,), (0, 1)], residuals=True)
