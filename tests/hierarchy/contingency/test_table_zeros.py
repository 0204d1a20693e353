"""Structural zeros held at zero: least squares without their columns, and what must hold of any estimate."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet import InvalidProblemError, PureDP, Tree, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency import exact, systems, widths
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.estimates import estimate
from discreet.hierarchy.contingency.exact import ExactFit
from discreet.hierarchy.contingency.measure import measure
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.query import query
from discreet.hierarchy.contingency.systems import ZeroLayout
from discreet.hierarchy.contingency.whole import whole
from discreet.hierarchy.contingency.widths import Widths
from hierarchy.contingency.made_tables import (
    ADDED,
    PAIR,
    RAGGED,
    REPLACED,
    compare_with_dense,
    dense,
    fraction_fit,
    frame_of,
    random_case,
    random_zeros,
    unit_questions,
)

if TYPE_CHECKING:
    from discreet.hierarchy.contingency.measure import MeasuredTables

CASES = 400
LISTED = {"sex": ["F", "M"], "age": ["0-17", "18-64", "65+"], "married": ["no", "yes"]}
MARRIED = Domain.read(LISTED, zeros=[{"age": ["0-17"], "married": ["yes"]}])
MARGINALS: list[Any] = [(), (0,), (1,), (0, 2), (0, 1, 2)]
COUNTS = np.random.default_rng(5).integers(0, 50, (4, 12)) * MARRIED.possible
COARSE = Domain.read(
    {"kind": ["home", "care", "other"], "residence": list("abcdefgh"), "sex": ["F", "M"]},
    zeros=[
        {"kind": ["home"], "residence": list("bcdefgh")},
        {"kind": ["care"], "residence": list("afgh")},
        {"kind": ["other"], "residence": list("abcde")},
    ],
)
"""Eight kinds of residence in groups of 1, 4 and 3, as the Bureau's."""


def kept_of(guarantee: Any, seed: int = 1) -> MeasuredTables:
    data = CellCounts(frame_of(RAGGED, MARRIED, MARGINALS), COUNTS)
    return measure(data, guarantee, bits=SeededBits(seed))


def check_case(seed: int) -> None:
    generator = np.random.default_rng(seed)
    measured = random_case(generator)
    frame = replace(measured.frame, domain=random_zeros(generator, measured.frame.domain))
    compare_with_dense(
        replace(measured, frame=frame),
        lambda fit, *given: Widths(fit, Fraction(19, 20)).of(*given)[0],
        with_noise=seed % 5 == 0,
    )


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 10))]
)
def test_it_is_generalized_least_squares_without_the_columns_of_zeros(part: int) -> None:
    for seed in range(part * CASES // 10, (part + 1) * CASES // 10):
        check_case(seed)


@pytest.mark.parametrize("seed", range(4))
def test_every_coefficient_is_found(seed: int) -> None:
    """Those of combinations of regions and of any question, by answering for measurements that are 0 but for one."""
    generator = np.random.default_rng(seed)
    measured = random_case(generator)
    frame = replace(measured.frame, domain=random_zeros(generator, measured.frame.domain))
    measured = replace(measured, frame=frame)
    domain, tree = frame.domain, frame.tree
    marginal = domain.full[: int(generator.integers(0, len(domain.full) + 1))]
    question = generator.integers(-2, 3, domain.size_of(marginal)).astype(object)
    question[0] = 3
    regions = {int(generator.integers(tree.n)): 1}
    if seed % 2:
        regions[0] = 2
    fit = ExactFit(measured, marginal)
    found: Counter[Any] = Counter()
    for part in fit.noises(question, regions):
        for one in part.coefficients:
            if one:
                found[part.marginal, part.stratum, abs(Fraction(int(one), fit.scale))] += part.count
    expected: Counter[Any] = Counter()
    weights = np.array(list(regions.values()), dtype=object)
    for q, values in measured.values.items():
        for at in np.ndindex(*values.shape):
            stratum = int(frame.strata[at[0]])
            if measured.scales[q][stratum] is None:
                continue
            made = {name: np.zeros_like(table) for name, table in measured.values.items()}
            made[q][at] = 1
            one = ExactFit(replace(measured, values=made), marginal)
            [value] = weights @ one.answers(question[None], np.array(list(regions)))
            if value:
                expected[q, stratum, abs(value)] += 1
    assert found == expected


def test_weights_that_are_rounded_are_without_bias() -> None:
    """Without noise the truth comes back as it is, not nearly: for the weights as they are stored."""
    data = CellCounts(frame_of(RAGGED, MARRIED, MARGINALS), COUNTS)
    kept = measure(data, ZeroConcentratedDP(10**8, ADDED))
    for q in [*MARGINALS, (1, 2), (2,)]:
        answers = ExactFit(kept, q).answers(unit_questions(MARRIED, q), np.arange(RAGGED.n))
        assert (answers == data.of_regions(q)).all()
    assert np.abs(estimate(kept) - data.of_regions(MARRIED.full)).max() < 1e-6
    assert (estimate(kept)[:, ~MARRIED.possible] == 0).all()


def test_the_oracle_rejects_other_weights() -> None:
    kept = kept_of(ZeroConcentratedDP(1, ADDED))
    cells, inverse = dense(kept)
    fit = fraction_fit(kept, (0, 1, 2))
    for steps in fit.steps.values():
        for at, step in enumerate(steps):
            # More of the first child for the second: still adds up.
            moved = {child: part * Fraction(9, 10) for child, part in step.shares.items()}
            if step.first is None:
                continue
            more = {
                child: part / 10 * many
                for (child, many), part in zip(
                    fit.subtrees.below[at], step.shares.values(), strict=True
                )
            }
            steps[at] = replace(step, shares=moved, first=step.first + sum(more.values()))
    questions, leaf = unit_questions(MARRIED, (0, 1, 2)), int(RAGGED.leaves[0])
    found = fit.answers(questions, np.array([leaf]))[0]
    assert any(a != b for a, b in zip(found, cells[:12], strict=True))
    widths = Widths(fit, Fraction(19, 20))
    for k in np.flatnonzero(MARRIED.possible).tolist():
        assert widths.of(questions[k], {leaf: 1})[0] > inverse[k][k]


def test_zeros_are_answered_with_certainty_and_others_better() -> None:
    kept = kept_of(PureDP(1, ADDED))
    both = ["age", "married"]
    held, free = query(kept, by=both, level=3), query(kept, by=both, level=3, zeros="free")
    zero = held.categories.index(("0-17", "yes"))
    for part in (held.values, held.low, held.high, held.variances):
        assert (part[:, zero] == 0).all()
    others = [k for k in range(6) if k != zero]
    assert (held.variances[:, others] < free.variances[:, others]).all()
    assert (free.variances[:, zero] > 0).all()
    # What is impossible is in no sum: children are the unmarried ones.
    children = query(kept, where={"age": "0-17"}, level=3).values
    assert (children[:, 0] == held.values[:, held.categories.index(("0-17", "no"))]).all()
    assert query(kept, level=1).values[0, 0] == query(kept, by=both, level=3).values.sum()


def test_laws_of_noise_are_limited_without_zeros_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit intervals are wider and still cover; with zeros nearly every answer has its own noise."""
    kept = kept_of(ZeroConcentratedDP("1/50", ADDED))
    held, free = (query(kept, by=["age"], level=2, zeros=zeros) for zeros in ("held", "free"))
    monkeypatch.setattr(widths, "_LIMITS", widths._LIMITS._replace(laws=0))
    again, wider = (query(kept, by=["age"], level=2, zeros=zeros) for zeros in ("held", "free"))
    assert (again.high == held.high).all()
    assert (wider.high > free.high).all()
    assert (wider.low < free.low).all()


def test_renamed_and_reordered_categories_permute_the_answers() -> None:
    kept = kept_of(ZeroConcentratedDP(1, ADDED))
    turned = Domain.read(
        {"sex": ["M", "F"], "age": ["65+", "0-17", "18-64"], "married": ["yes", "no"]},
        zeros=[{"married": ["yes"], "age": ["0-17"]}],
    )
    place = {"sex": [1, 0], "age": [2, 0, 1], "married": [1, 0]}
    values = {}
    for q in MARGINALS:
        shaped = kept.values[q].reshape(RAGGED.n, *MARRIED.shape_of(q))
        for axis, at in enumerate(q, start=1):
            shaped = shaped.take(place[MARRIED.attributes[at].name], axis=axis)
        values[q] = np.ascontiguousarray(shaped.reshape(RAGGED.n, -1))
    again = replace(kept, frame=frame_of(RAGGED, turned, MARGINALS), values=values)
    one, other = (query(given, by=["age", "sex"], level=2) for given in (kept, again))
    order = [other.categories.index(label) for label in one.categories]
    # Rounding of weights is all that may differ.
    off = np.abs((one.values - other.values[:, order]).astype(np.float64))
    assert off.max() < 1e-8
    assert (one.low == other.low[:, order]).all()
    same = query(kept, by=["age", "sex"], level=2)
    assert (same.values == one.values).all()
    assert (same.high == one.high).all()


def test_a_public_total_is_met_exactly() -> None:
    part = (Fraction(1, 6),) * 3
    frame = TableFrame(RAGGED, MARRIED, {(1,): part, (0, 1, 2): part}, total=int(COUNTS.sum()))
    kept = measure(CellCounts(frame, COUNTS), ZeroConcentratedDP("1/9", REPLACED))
    answer = query(kept, level=1)
    assert answer.values[0, 0] == COUNTS.sum() == answer.low[0, 0] == answer.high[0, 0]
    assert answer.variances[0, 0] == 0
    assert query(kept, level=3).values.sum() == COUNTS.sum()
    assert abs(estimate(kept)[0].sum() - COUNTS.sum()) < 1e-6
    without = replace(kept, frame=replace(frame, total=None))
    assert query(kept, level=2).variances[0, 0] < query(without, level=2).variances[0, 0]


def test_a_coarsened_attribute_has_systems_of_its_size() -> None:
    """Groups of 1, 4 and 3 of eight, which no average of one attribute commutes with: against elimination."""
    layout = ZeroLayout(COARSE)
    assert (layout.irregular, layout.regular, layout.size) == ((0, 1), (2,), 8)
    assert layout.sums((0,)).sum(axis=1).tolist() == [1, 4, 3]
    frame = frame_of(PAIR, COARSE, [(), (0,), (0, 2), (0, 1, 2)])
    counts = np.random.default_rng(2).integers(0, 30, (2, 48)) * COARSE.possible
    kept = measure(CellCounts(frame, counts), ZeroConcentratedDP("1/4", ADDED), bits=SeededBits(3))
    cells, inverse = dense(kept)
    fit = fraction_fit(kept, (0, 1))
    answers = fit.answers(unit_questions(COARSE, (0, 1)), np.array([1]))[0]
    widths = Widths(fit, Fraction(19, 20))
    for k in range(24):
        assert answers[k] == cells[2 * k] + cells[2 * k + 1]
        found = widths.of(unit_questions(COARSE, (0, 1))[k], {1: 1})[0]
        pair = (2 * k, 2 * k + 1)
        assert found == sum(inverse[a][b] for a in pair for b in pair)


def test_whole_tables_are_zero_where_nobody_may_be() -> None:
    for seed in range(5):
        made = whole(kept_of(PureDP("1/10", ADDED), seed))
        assert (made.cells[:, ~MARRIED.possible] == 0).all()
        assert made.cells.min() >= 0


def test_what_is_too_large_is_refused_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_of(PureDP(1, ADDED))
    ages = [str(k) for k in range(200)]
    large = Domain.read(
        {"age": ages, "married": list("abcde")}, zeros=[{"age": ["0"], "married": ["a"]}]
    )
    with pytest.raises(InvalidProblemError, match=r"^zeros: .* 512 .*got 999 of age, married"):
        ZeroLayout(large)
    for most, numbers in (("MAX_WEIGHTS", "weights"), ("MAX_PRODUCTS", "products")):
        place = systems if most == "MAX_WEIGHTS" else exact
        with monkeypatch.context() as patch:
            patch.setattr(place, most, 9)
            with pytest.raises(InvalidProblemError, match=f"^zeros: expected at most 9 {numbers}"):
                query(kept, level=1)
            assert query(kept, level=1, zeros="free").values.shape == (1, 1)
    for bad in ("hold", 3, None):
        with pytest.raises(InvalidProblemError, match=r"^zeros: expected 'held' or 'free'"):
            query(kept, level=1, zeros=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "guarantee", [PureDP(10**6, ADDED), ZeroConcentratedDP(10**9, ADDED), PureDP("1/10000", ADDED)]
)
def test_noise_of_any_size_has_intervals(guarantee: Any) -> None:
    kept = kept_of(guarantee)
    truth = CellCounts(kept.frame, COUNTS).of_regions((0,))[1:3]
    for interval in ("1/2", "0.999999", "0.9999999999999"):
        answer = query(kept, by=["sex"], level=2, interval=interval)
        assert (answer.low <= answer.high).all()
        if not float(answer.variances.max()) > 1e-6:
            assert (answer.low[:2] == truth).all()
            assert (answer.high[:2] == truth).all()


@pytest.mark.parametrize(
    ("guarantee", "widest"),
    [(ZeroConcentratedDP("1/500", ADDED), 1.99), (PureDP("1/30", ADDED), 2.2)],
)
def test_intervals_have_the_width_of_the_law(guarantee: Any, widest: float) -> None:
    tree = Tree.from_paths([(str(k % 3), str(k)) for k in range(9)] + [("only", "child")])
    frame = frame_of(tree, MARRIED, MARGINALS)
    data = CellCounts(frame, np.full((10, 12), 50) * MARRIED.possible)
    kept = measure(data, guarantee, bits=SeededBits(1))
    answers = [query(kept, by=["married"], level=level) for level in (1, 2, 3)]
    answers.append(query(kept, by=["age"], combine={("0",): 1, ("only", "child"): -2}))
    for one in answers:
        widths = (one.high - one.low).astype(np.float64) / 2
        assert (widths <= widest * np.sqrt(one.variances.astype(np.float64))).all()


@pytest.mark.statistical
@pytest.mark.parametrize("guarantee", [ZeroConcentratedDP("1/2", ADDED), PureDP("3/2", ADDED)])
def test_intervals_cover(guarantee: Any) -> None:
    """Each of the 95 % intervals of 14 answers, drawn anew; five standard errors below is a failure."""
    draws, missed = 400, np.zeros((7, 2))
    truth = CellCounts(frame_of(RAGGED, MARRIED, MARGINALS), COUNTS).of_regions((2,))
    for seed in range(draws):
        kept = kept_of(guarantee, seed)
        answer = query(
            kept, by=["married"], regions=[RAGGED.path(node) for node in range(RAGGED.n)]
        )
        missed += (truth < answer.low) | (truth > answer.high)
    assert missed.max() <= 0.05 * draws + 5 * math.sqrt(0.05 * 0.95 * draws)
    assert missed.sum() > 0.02 * draws * missed.size
