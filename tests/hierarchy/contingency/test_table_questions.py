"""Questions to kept marginals: what may be asked, and intervals that cover."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet import InvalidProblemError, PureDP, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.intervals import half_width
from discreet.hierarchy.contingency.measure import measure
from discreet.hierarchy.contingency.query import query
from hierarchy.contingency.made_tables import ADDED, RAGGED, SEX_AGE, dense, frame_of

if TYPE_CHECKING:
    from discreet.hierarchy.contingency.measure import MeasuredTables

COUNTS = np.random.default_rng(3).integers(0, 60, (4, 6))
MARGINALS: list[Any] = [(), (0,), (0, 1)]


def kept_of(guarantee: Any, seed: int = 1, marginals: Any = None) -> MeasuredTables:
    frame = frame_of(RAGGED, SEX_AGE, MARGINALS if marginals is None else marginals)
    return measure(CellCounts(frame, COUNTS), guarantee, bits=SeededBits(seed))


def test_questions_add_up_over_categories_and_regions() -> None:
    kept = kept_of(ZeroConcentratedDP(1, ADDED))
    everyone = query(kept, level=1).values[0, 0]
    by_sex = query(kept, by=["sex"], level=2).values
    assert by_sex.sum() == everyone
    adults = query(kept, by=["sex"], where={"age": ["18-64", "65+"]}, level=2).values
    children = query(kept, by=["sex"], where={"age": "0-17"}, level=2).values
    assert (adults + children == by_sex).all()
    [[women]] = query(kept, where={"sex": ["F"]}, regions=[()]).values
    assert women == by_sex[:, 0].sum()
    # The order of attributes is that of the question; a category that is left out has no answer.
    turned = query(kept, by=["age", "sex"], where={"age": ["65+"]}, level=1)
    assert turned.categories == (("65+", "F"), ("65+", "M"))
    assert turned.to_frame("dict")["age"] == ["65+", "65+"]


def test_any_linear_question_has_its_variance() -> None:
    """Weights on entries and on regions of several levels, against the covariance of the dense solution."""
    kept = kept_of(ZeroConcentratedDP(1, ADDED))
    _, inverse = dense(kept)
    weights = np.array([3, -1, 0, 2, 0, 5])
    regions = {("GA",): 2, ("NY", "c"): -1, ("DC",): 1}
    answer = query(kept, by=["sex", "age"], weights=weights, combine=regions)
    below = RAGGED.totals(np.eye(4, dtype=np.int64))
    combined = sum(weight * below[RAGGED.find(path)] for path, weight in regions.items())
    row = np.kron(combined, weights).tolist()
    expected = sum(
        a * inverse[i][j] * b for i, a in enumerate(row) if a for j, b in enumerate(row) if b
    )
    assert float(answer.variances[0, 0] / expected) == pytest.approx(1, abs=1e-9)
    assert answer.variances[0, 0] >= expected
    assert answer.regions == ("2 x GA + -1 x NY/c + 1 x DC",)
    parts = [query(kept, by=["sex", "age"], weights=weights, regions=[path]) for path in regions]
    assert answer.values[0, 0] == sum(
        weight * part.values[0, 0] for weight, part in zip(regions.values(), parts, strict=True)
    )


@pytest.mark.parametrize(
    "guarantee",
    [ZeroConcentratedDP("1/2", ADDED), PureDP(1, ADDED)],
)
def test_intervals_are_no_wider_than_they_have_to_be(guarantee: Any) -> None:
    kept = kept_of(guarantee)
    answer = query(kept, by=["sex"], level=3)
    widest = 1.99 if isinstance(guarantee, ZeroConcentratedDP) else 2.2
    for value, low, high, variance in zip(
        answer.values.reshape(-1),
        answer.low.reshape(-1),
        answer.high.reshape(-1),
        answer.variances.reshape(-1),
        strict=True,
    ):
        assert low <= value <= high
        deviation = math.sqrt(float(variance))
        # Ends are whole numbers inside the interval.
        assert (high - low) / 2 <= widest * deviation + 1e-9


def test_a_half_width_is_as_its_formula() -> None:
    assert half_width(Fraction(0), Fraction(1, 2)) == 0
    exact = math.sqrt(2 * 7 * math.log(2 / 0.01))
    assert exact <= float(half_width(Fraction(7), Fraction(99, 100))) < exact * (1 + 1e-9)
    # Many Laplace noises together are nearly Gaussian; a single one is not.
    many = half_width(Fraction(2), Fraction(19, 20), [(Fraction(1), Fraction(1, 100))])
    alone = half_width(Fraction(2), Fraction(19, 20), [(Fraction(1), Fraction(1))])
    plain = half_width(Fraction(2), Fraction(19, 20))
    assert plain <= many < plain * Fraction(101, 100)
    assert alone > Fraction(3, 2) * plain / Fraction(11, 10)


COVERED = [
    (ZeroConcentratedDP("1/2", ADDED), 400),
    (PureDP("3/2", ADDED), 400),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("guarantee", "draws"), COVERED)
def test_intervals_cover(guarantee: Any, draws: int) -> None:
    """Each of the 95 % intervals of 21 answers, drawn anew; five standard errors below is a failure."""
    missed = np.zeros(21)
    data = CellCounts(frame_of(RAGGED, SEX_AGE, MARGINALS), COUNTS)
    truth = np.concatenate([data.of_regions((1,)).reshape(-1)])
    for seed in range(draws):
        kept = measure(data, guarantee, bits=SeededBits(seed))
        answers = [query(kept, by=["age"], regions=[RAGGED.path(node)]) for node in range(RAGGED.n)]
        low = np.concatenate([one.low.reshape(-1) for one in answers]).astype(np.int64)
        high = np.concatenate([one.high.reshape(-1) for one in answers]).astype(np.int64)
        missed += (truth < low) | (truth > high)
    allowed = 0.05 * draws + 5 * math.sqrt(0.05 * 0.95 * draws)
    assert missed.max() <= allowed
    # Not so careful that they say nothing: whole ends make intervals of small noise cover more.
    assert missed.sum() > 0.02 * draws * len(missed)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"by": ["height"], "level": 1}, "by"),
        ({"by": ["sex", "sex"], "level": 1}, "by"),
        ({"where": {"height": ["1"]}, "level": 1}, "where"),
        ({"where": {"sex": ["X"]}, "level": 1}, "where sex"),
        ({"where": {"sex": []}, "level": 1}, "where"),
        ({"by": ["sex"]}, "level, regions"),
        ({"level": 4}, "level"),
        ({"level": 1, "regions": [("GA",)]}, "level, regions"),
        ({"regions": [("TX",)]}, "path"),
        ({"level": 1, "interval": "1"}, "interval"),
        ({"by": ["sex"], "weights": [1], "level": 1}, "weights"),
        ({"by": ["sex"], "weights": [0, 0], "level": 1}, "weights"),
        ({"by": ["sex"], "weights": [0.5, 1], "level": 1}, "weights"),
        ({"by": ["sex"], "weights": [1, 1], "where": {"age": ["65+"]}, "level": 1}, "where"),
        ({"combine": {("GA",): 0}}, "combine"),
        ({"combine": {("GA",): 1.5}}, "combine"),
        ({"combine": {("GA",): 1}, "level": 1}, "level, regions"),
    ],
)
def test_questions_that_make_no_sense_are_refused(arguments: dict[str, Any], field: str) -> None:
    kept = kept_of(ZeroConcentratedDP(1, ADDED))
    with pytest.raises(InvalidProblemError, match=f"^{field}: "):
        query(kept, **arguments)
