"""The closed form against generalized least squares by elimination in fractions, and what must hold of any estimate."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import PureDP, Tree, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.estimates import InteractionBasis, estimate
from discreet.hierarchy.contingency.expected import expected_errors
from discreet.hierarchy.contingency.measure import measure
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.query import query
from discreet.hierarchy.contingency.weights import UNIT, interactions, table_weights
from discreet.hierarchy.contingency.widths import noise_of_answer
from hierarchy.contingency.made_tables import (
    ADDED,
    PAIR,
    RAGGED,
    REPLACED,
    SEX_AGE,
    compare_with_dense,
    dense,
    fraction_fit,
    frame_of,
    random_case,
    unit_questions,
)

CASES = 500


def check_case(seed: int) -> None:
    compare_with_dense(
        random_case(np.random.default_rng(seed)),
        lambda *given: noise_of_answer(*given).variance,
        with_noise=seed % 5 == 0,
    )


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 10))]
)
def test_the_closed_form_is_generalized_least_squares(part: int) -> None:
    for seed in range(part * CASES // 10, (part + 1) * CASES // 10):
        check_case(seed)


def test_the_oracle_rejects_other_weights() -> None:
    """Children that share otherwise are still unbiased and add up, and are no longer least squares."""
    counts = np.random.default_rng(5).integers(0, 50, (4, 6))
    kept = measure(
        CellCounts(frame_of(RAGGED, SEX_AGE, [(0, 1)]), counts), ZeroConcentratedDP(1, ADDED)
    )
    cells, inverse = dense(kept)
    fit = fraction_fit(kept, (0, 1))
    for steps in fit.steps.values():
        root = steps[fit.subtrees.of[0]]
        assert root.first is not None
        # A tenth of what every child takes of the root goes to the first of them.
        shares = {child: part * Fraction(9, 10) for child, part in root.shares.items()}
        moved = sum(
            many * root.shares[child] / 10 for child, many in fit.subtrees.below[fit.subtrees.of[0]]
        )
        steps[fit.subtrees.of[0]] = replace(root, shares=shares, first=root.first + moved)
    questions, leaf = unit_questions(SEX_AGE, (0, 1)), 3
    assert int(RAGGED.leaves[0]) == leaf
    assert (fit.answers(questions, np.array([leaf]))[0] != cells[:6]).any()
    for k in range(6):
        assert noise_of_answer(fit, questions[k], {leaf: 1}).variance > inverse[k][k]


def test_weights_are_whole_and_add_up_exactly() -> None:
    measured = measure(
        CellCounts(frame_of(RAGGED, SEX_AGE, [(), (0,), (0, 1)]), np.ones((4, 6), dtype=np.int64)),
        ZeroConcentratedDP(1, ADDED),
    )
    weights = table_weights(measured)
    assert weights.subsets == ((), (0,), (1,), (0, 1))
    for node in range(RAGGED.n):
        children = RAGGED.children(node)
        if children:
            assert (weights.beta[list(children)].sum(axis=0) == UNIT).all()
    strata = np.unique(measured.frame.strata)
    parts = np.stack([table[strata] for table in weights.own.values()])
    assert (parts.sum(axis=0) == UNIT).all()
    assert (weights.theta >= 0).all()
    assert (weights.theta <= UNIT).all()


@pytest.mark.parametrize("guarantee", [PureDP(2000, ADDED), ZeroConcentratedDP(10**8, REPLACED)])
def test_noise_free_counts_come_back_exactly(guarantee: Any) -> None:
    counts = np.random.default_rng(3).integers(0, 90, (4, 6))
    marginals: Any = [(0,), (1,), (0, 1)]
    data = CellCounts(frame_of(RAGGED, SEX_AGE, marginals), counts)
    kept = measure(data, guarantee)
    assert np.abs(estimate(kept) - data.of_regions((0, 1))).max() < 1e-6
    for q in [(), *marginals]:
        fit = fraction_fit(kept, q)
        exact = fit.answers(unit_questions(SEX_AGE, q), np.arange(RAGGED.n))
        assert (exact == data.of_regions(q)).all()


def test_one_region_is_a_plain_fit_of_its_marginals() -> None:
    """Two measurements of a total: the mean by precision, as on paper."""
    tree = Tree(("all",), np.array([-1]))
    domain = Domain.read({"sex": ["F", "M"]})
    frame = TableFrame(tree, domain, {(): (Fraction(1, 2),), (0,): (Fraction(1, 2),)})
    kept = measure(
        CellCounts(frame, np.array([[3, 5]])), ZeroConcentratedDP(1, ADDED), bits=SeededBits(2)
    )
    total, (f, m) = int(kept.values[()][0, 0]), kept.values[0,][0].tolist()
    exact = fraction_fit(kept, ()).answers(unit_questions(domain, ()), np.array([0]))[0, 0]
    # One measurement of variance 1 beside a sum of two of variance 1.
    assert exact == Fraction(2, 3) * total + Fraction(1, 3) * (f + m)


def test_renamed_and_reordered_categories_permute_the_answers() -> None:
    counts = np.random.default_rng(5).integers(0, 50, (4, 6))
    marginals: Any = [(), (0,), (0, 1)]
    kept = measure(
        CellCounts(frame_of(RAGGED, SEX_AGE, marginals), counts),
        ZeroConcentratedDP(1, ADDED),
        bits=SeededBits(1),
    )
    turned = Domain.read({"sex": ["M", "F"], "age": ["65+", "0-17", "18-64"]})
    order = {(): [0], (0,): [1, 0], (0, 1): [5, 3, 4, 2, 0, 1]}
    again = replace(
        kept,
        frame=frame_of(RAGGED, turned, marginals),
        values={q: np.ascontiguousarray(kept.values[q][:, order[q]]) for q in order},
    )
    one, other = (query(given, by=["age"], level=2) for given in (kept, again))
    place = [other.categories.index(label) for label in one.categories]
    assert (one.values == other.values[:, place]).all()
    assert (one.low == other.low[:, place]).all()


def test_a_public_total_is_met_exactly() -> None:
    counts = np.random.default_rng(5).integers(0, 50, (4, 6))
    frame = TableFrame(RAGGED, SEX_AGE, {(0, 1): (Fraction(1, 3),) * 3}, total=int(counts.sum()))
    kept = measure(CellCounts(frame, counts), ZeroConcentratedDP(1, REPLACED))
    answer = query(kept, level=1)
    assert answer.values[0, 0] == counts.sum() == answer.low[0, 0] == answer.high[0, 0]
    assert answer.variances[0, 0] == 0
    assert abs(estimate(kept)[0].sum() - counts.sum()) < 1e-6
    # It helps all regions: a county knows a little more.
    without = measure(
        CellCounts(replace(frame, total=None), counts), ZeroConcentratedDP(1, REPLACED)
    )
    assert query(kept, level=2).variances[0, 0] < query(without, level=2).variances[0, 0]


def test_the_change_of_basis_is_orthonormal() -> None:
    basis = InteractionBasis(
        Domain.read({"a": ["1", "2", "3"], "b": list("abcdefghi"), "c": list("xyzuvwrs")})
    )
    assert len(basis.blocks) == 2
    rows = np.random.default_rng(1).normal(size=(5, 216))
    made = basis.forward(rows)
    assert np.abs(basis.backward(made) - rows).max() < 1e-12
    assert np.linalg.norm(made, axis=1) == pytest.approx(np.linalg.norm(rows, axis=1), abs=1e-12)
    constant = basis.forward(np.ones((1, 216)))[0]
    assert np.abs(constant[1:]).max() < 1e-12
    assert len(interactions(basis.domain)) == 8
    assert np.bincount(basis.subset).tolist() == [1, 2, 8, 7, 16, 14, 56, 112]


def test_expected_errors_are_those_of_answers() -> None:
    marginals: Any = [(), (0, 1)]
    frame = frame_of(PAIR, SEX_AGE, marginals)
    guarantee = ZeroConcentratedDP(1, ADDED)
    kept = measure(CellCounts(frame, np.ones((2, 6), dtype=np.int64)), guarantee)
    told = {(one.level, one.marginal): one for one in expected_errors(frame, guarantee)}
    assert told[2, "total"].alone == pytest.approx(float(marginal_deviation(kept)))
    asked = query(kept, level=2, interval="0.9999")
    assert told[2, "total"].together == pytest.approx(float(asked.variances[0, 0]) ** 0.5)
    assert told[2, "sex:age"].together < float(told[2, "sex:age"].alone or 0)


def marginal_deviation(kept: Any) -> float:
    return math.sqrt(float(kept.variance((), 3)))
