"""The law of the noise of an answer: every coefficient found, and half-widths that are enough and hardly more."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet import PureDP, Tree, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.exact import ExactFit
from discreet.hierarchy.contingency.law import half_width_by_law, log_characteristic
from discreet.hierarchy.contingency.measure import measure
from discreet.hierarchy.contingency.problem import TableFrame
from discreet.hierarchy.contingency.query import query
from discreet.hierarchy.contingency.widths import noise_of_answer
from hierarchy.contingency.made_tables import (
    ADDED,
    PAIR,
    SEX_AGE,
    frame_of,
    random_case,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.measure import Noise

LEVEL = Fraction(19, 20)


def noise_law(
    factor: int, scale: float, noise: Noise, step: int, length: int
) -> NDArray[np.float64]:
    """Return the law of one noise times its factor, rounded to a grid, with the negative half at the end."""
    if noise == "laplace":
        most = math.ceil(40 * scale) + 1
        weights = np.exp(-np.arange(most + 1) / scale)
    else:
        most = math.ceil(10 * math.sqrt(scale)) + 1
        weights = np.exp(-(np.arange(most + 1.0) ** 2) / (2 * scale))
    weights /= weights[0] + 2 * weights[1:].sum()
    # To the nearest point of the grid, symmetrically; what lies beyond its ends is left out.
    places = (2 * factor * np.arange(most + 1) + step) // (2 * step)
    kept = places < length // 2
    law = np.zeros(length)
    np.add.at(law, places[kept], weights[kept])
    np.add.at(law, -places[1:][kept[1:]], weights[1:][kept[1:]])
    return law


def coefficients(kept: MeasuredTables, marginal: Any, question: Any, regions: Any) -> Counter[Any]:
    """Find the size of every coefficient by answering for measurements that are 0 but for one entry."""
    found: Counter[Any] = Counter()
    nodes = np.array(list(regions))
    weights = np.array(list(regions.values()), dtype=object)
    for q, values in kept.values.items():
        for at in np.ndindex(*values.shape):
            scale = kept.scales[q][int(kept.frame.strata[at[0]])]
            if scale is None:
                continue
            made = {one: np.zeros_like(table) for one, table in kept.values.items()}
            made[q][at] = 1
            fit = ExactFit(replace(kept, values=made), marginal)
            [one] = weights @ fit.answers(question[None], nodes)
            if one:
                found[float(f"{abs(float(one)):.6g}"), float(scale)] += 1
    return found


@pytest.mark.parametrize("seed", range(6))
def test_every_coefficient_is_found(seed: int) -> None:
    generator = np.random.default_rng(seed)
    kept = random_case(generator)
    domain, tree = kept.frame.domain, kept.frame.tree
    marginal = domain.full[: int(generator.integers(0, len(domain.full) + 1))]
    question = generator.integers(-2, 3, domain.size_of(marginal)).astype(object)
    question[0] = 3
    regions = {int(generator.integers(tree.n)): 1}
    if seed % 2:
        regions[0] = 2
    fit = ExactFit(kept, marginal)
    noise = noise_of_answer(fit, question, regions)
    variance, groups = float(noise.variance), noise.groups
    assert sum(a * a * n * v for a, n, _, v in groups) == pytest.approx(variance, rel=1e-8)
    found: Counter[Any] = Counter()
    for a, n, scale, _ in groups:
        if a > 1e-9:
            found[float(f"{a:.6g}"), scale] += n
    expected = coefficients(kept, marginal, question, regions)
    # What is 0 but for weights that are rounded is looked at by neither.
    expected = Counter({key: many for key, many in expected.items() if key[0] > 1e-9})
    assert found == expected


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.05, 0.3, 0.49, 0.51, 2.0, 700.0])
def test_characteristic_functions_are_those_of_the_laws(noise: Noise, scale: float) -> None:
    width = 1 << 17
    law = noise_law(1, scale, noise, 1, width)
    values = np.fft.fftfreq(width, 1 / width)
    turns = np.array([0.0, 1e-6, 1e-3, 0.03, 0.2, 0.5, 0.77, 1.0, 3.4])
    direct = np.array([float(law @ np.cos(2 * math.pi * one * values)) for one in turns])
    assert np.exp(log_characteristic(turns, scale, noise)) == pytest.approx(direct, abs=1e-9)


def outside(terms: list[tuple[int, float]], noise: Noise, h: float) -> float:
    """Add up the law of a sum of few noises with whole coefficients, one by one."""
    width = 1 << 13
    law = np.zeros(width)
    law[0] = 1.0
    for coefficient, scale in terms:
        one = noise_law(coefficient, scale, noise, 1, width)
        law = np.fft.irfft(np.fft.rfft(law) * np.fft.rfft(one), width)
    return float(law[np.abs(np.fft.fftfreq(width, 1 / width)) > h].sum())


def grouped(terms: list[tuple[int, float]], noise: Noise) -> tuple[Any, ...]:
    def variance(scale: float) -> float:
        if noise == "gaussian":
            return scale
        return 2 * math.exp(-1 / scale) / math.expm1(-1 / scale) ** 2

    return tuple((float(a), n, b, variance(b)) for (a, b), n in Counter(terms).items())


SUMS: list[tuple[Noise, list[tuple[int, float]]]] = [
    ("laplace", [(1, 3.0)]),
    ("laplace", [(1, 0.4)]),
    ("laplace", [(7, 2.0), (1, 5.0)]),
    ("laplace", [(1, 4.0)] * 3 + [(2, 4.0)] * 5 + [(9, 1.5)]),
    ("gaussian", [(1, 9.0)]),
    ("gaussian", [(3, 0.3)] * 4),
    ("gaussian", [(5, 2.0), (1, 30.0), (2, 4.0)]),
]


@pytest.mark.parametrize(("noise", "terms"), SUMS)
@pytest.mark.parametrize("interval", [Fraction(1, 2), LEVEL, Fraction(9999, 10000)])
def test_half_widths_are_enough_and_hardly_more(
    noise: Noise, terms: list[tuple[int, float]], interval: Fraction
) -> None:
    groups = grouped(terms, noise)
    deviation = math.sqrt(sum(a * a * n * v for a, n, _, v in groups))
    found = half_width_by_law(groups, 0.0, (), noise, interval=interval, most=9 * deviation)
    assert found is not None
    assert outside(terms, noise, found) <= 1 - interval
    # At most 1/64 of a deviation beyond the least whole number that is enough.
    least = next(h for h in range(10_000) if outside(terms, noise, h) <= 1 - interval)
    density = 1 / 64 * deviation
    assert found <= least + density + 0.01 * deviation or outside(terms, noise, least) > float(
        1 - interval
    ) - 0.01 / math.sqrt(2)
    # A group that is forgotten is noticed.
    if len(groups) > 1:
        largest = max(groups, key=lambda one: one[0] ** 2 * one[1] * one[3])
        fewer = tuple(one for one in groups if one != largest)
        twin = half_width_by_law(fewer, 0.0, (), noise, interval=interval, most=9 * deviation)
        assert twin is not None
        assert outside(terms, noise, twin) > 1 - interval


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_what_is_not_looked_at_only_widens(noise: Noise) -> None:
    terms = [(10, 6.0)] * 4 + [(1, 6.0)] * 9
    groups = grouped(terms, noise)
    large = groups[:1]
    left = sum(a * a * n * v for a, n, _, v in groups[1:])
    deviation = math.sqrt(sum(a * a * n * v for a, n, _, v in groups))
    every = half_width_by_law(groups, 0.0, (), noise, interval=LEVEL, most=9 * deviation)
    some = half_width_by_law(large, left, (6.0,), noise, interval=LEVEL, most=9 * deviation)
    assert every is not None
    assert some is not None
    assert every <= some <= 1.15 * every
    assert outside(terms, noise, some) <= 1 / 20
    # Nothing is made of too little, and nothing certain of a probability too near to 1.
    assert half_width_by_law(groups, 0.0, (), noise, interval=LEVEL, most=deviation) is None
    near = 1 - Fraction(1, 10**13)
    assert half_width_by_law(groups, 0.0, (), noise, interval=near, most=9 * deviation) is None


@pytest.mark.parametrize(
    ("guarantee", "widest"),
    [(ZeroConcentratedDP("1/500", ADDED), 1.99), (PureDP("1/30", ADDED), 2.2)],
)
def test_intervals_have_the_width_of_the_law(guarantee: Any, widest: float) -> None:
    """Counties, an only child among them, and combinations: where the bound alone needs up to 4.5 deviations."""
    tree = Tree.from_paths([(str(k % 7), str(k)) for k in range(30)] + [("only", "child")])
    frame = frame_of(tree, SEX_AGE, [(), (0,), (0, 1)])
    data = CellCounts(frame, np.full((31, 6), 50))
    kept = measure(data, guarantee, bits=SeededBits(1))
    answers = [query(kept, by=["sex"], level=level) for level in (1, 2, 3)]
    answers.append(query(kept, by=["age"], combine={("0",): 1, ("only", "child"): -2}))
    for one in answers:
        widths = (one.high - one.low).astype(np.float64) / 2
        assert (widths <= widest * np.sqrt(one.variances.astype(np.float64))).all()


def test_a_tiny_world_is_covered_by_enumeration() -> None:
    """Two regions, one cell each: all values that noise takes with any weight, added up."""
    domain_frame = frame_of(PAIR, SEX_AGE, [(0, 1)])
    one = type(SEX_AGE).read({"sex": ["F"]})
    frame = TableFrame(PAIR, one, {(0,): domain_frame.shares[0, 1]})
    guarantee = PureDP(3, ADDED)
    zero = measure(CellCounts(frame, np.array([[0], [0]])), guarantee, bits=SeededBits(1))
    scale = zero.scales[0,][0]
    assert scale is not None
    answer = query(zero, level=2)
    half = (float(answer.high[0, 0]) - float(answer.low[0, 0])) / 2
    fit = ExactFit(zero, ())
    parts = []
    for node in range(3):
        only = np.zeros((3, 1), dtype=np.int64)
        only[node] = 1
        alone = ExactFit(replace(zero, values={(0,): only}), ())
        parts.append(float(alone.answers(np.array([[1]], dtype=object), np.array([1]))[0, 0]))
    most = 25
    law = noise_law(1, float(scale), "laplace", 1, 1 << 8)
    values: NDArray[np.int64] = np.arange(-most, most + 1)
    masses = law[values]
    total = (
        parts[0] * values[:, None, None]
        + parts[1] * values[None, :, None]
        + parts[2] * values[None, None, :]
    )
    chance = masses[:, None, None] * masses[None, :, None] * masses[None, None, :]
    variance = float(answer.variances[0, 0])
    groups = noise_of_answer(fit, np.array([1], dtype=object), {1: 1}).groups
    found = half_width_by_law(
        groups, 0.0, (), "laplace", interval=LEVEL, most=9 * math.sqrt(variance)
    )
    assert found is not None
    missed = float(chance[np.abs(total) > found].sum()) + 1 - float(chance.sum())
    assert missed <= 1 / 20
    assert half <= found


@pytest.mark.parametrize(
    "guarantee",
    [PureDP(10**6, ADDED), ZeroConcentratedDP(10**9, ADDED), PureDP("1/1000000", ADDED)],
)
def test_noise_of_any_size_has_intervals(guarantee: Any) -> None:
    """Noise that is never seen, whose variance is no float, and noise of millions."""
    frame = frame_of(PAIR, SEX_AGE, [(), (0, 1)])
    data = CellCounts(frame, np.full((2, 6), 9))
    kept = measure(data, guarantee, bits=SeededBits(1))
    for interval in ("1/2", "0.999999", "0.9999999999999"):
        answer = query(kept, by=["sex"], level=2, interval=interval)
        assert (answer.low <= answer.high).all()
        if not float(answer.variances.max()) > 1e-6:
            assert (answer.low == 27).all()
            assert (answer.high == 27).all()
