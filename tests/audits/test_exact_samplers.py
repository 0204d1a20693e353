"""The samplers' laws, in fractions, from the production code itself; broken samplers, which the same checks refuse."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from discreet.core.exact import exp_ceil, exp_floor
from discreet.core.randomness import (
    SystemBits,
    bernoulli_exp,
    bernoulli_exps,
    discrete_laplace,
    discrete_laplaces,
    exponential_mechanism,
)
from discreet.core.randomness.noise import _draw
from discreet.testing import Law, assert_law, assert_pure_dp, enumerate_law
from few import few_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits

    Range = tuple[Fraction, Fraction]
    Sampler = Callable[[RandomBits], Any]

SURELY = 1e-9
FINE = 200


def exp_range(x: Fraction) -> Range:
    """Bracket ``e^x``."""
    return Fraction(exp_floor(x, FINE), 1 << FINE), Fraction(exp_ceil(x, FINE), 1 << FINE)


def laplace(scale: Fraction, *noise: int) -> Range:
    """Bracket the probability of independent discrete Laplace noise."""
    low, high = Fraction(1), Fraction(1)
    q_low, q_high = exp_range(-1 / scale)
    for x in noise:
        power_low, power_high = exp_range(-abs(x) / scale)
        low *= (1 - q_high) / (1 + q_high) * power_low
        high *= (1 - q_low) / (1 + q_low) * power_high
    return low, high


def check_laplace(sample: Sampler, scale: Fraction, worst: float, runs: int = 1500) -> Law:
    """Hold a sampler of vectors of noise to the exact law, with little left unexplored."""
    law = enumerate_law(sample, max_runs=runs, min_mass=Fraction(1, 1 << 36))
    assert law.unexplored < worst
    assert_law(law, lambda noise: laplace(scale, *noise))
    return law


def selection(scores: Sequence[int], rate: Fraction) -> dict[Any, Range]:
    """Bracket the law of the exponential mechanism."""
    powers = [exp_range(rate * (score - max(scores))) for score in scores]
    low, high = (sum(ends) for ends in zip(*powers, strict=True))
    return {i: (a / high, b / low) for i, (a, b) in enumerate(powers)}


@pytest.mark.parametrize(
    ("scale", "worst"),
    [("1/2", 0.1), ("1", 0.05), ("2", 0.2), ("3", 0.35)],
)
def test_one_draw_of_noise_has_its_law(scale: str, worst: float) -> None:
    exact = Fraction(scale)
    check_laplace(lambda bits: (discrete_laplace(exact, bits),), exact, worst, 8000)


@pytest.mark.parametrize(
    ("scale", "size", "worst"),
    few_of(
        5,
        [
            ("1/5", 1, 1e-8),
            ("1/3", 3, 1e-1),
            ("1", 2, 0.2),
            ("10/3", 1, 1e-3),
            ("31", 1, 0.3),
            ("1/5", 3, 1e-2),
        ],
    ),
)
def test_a_batch_of_noise_has_its_law(scale: str, size: int, worst: float) -> None:
    exact = Fraction(scale)
    check_laplace(lambda bits: discrete_laplaces(exact, size, bits), exact, worst)


@pytest.mark.parametrize(
    ("scale", "block", "size", "worst"),
    few_of(2, [("4", 2, 1, 0.1), ("2", 4, 1, 0.4), ("1/2", 2, 1, 0.15), ("1", 2, 1, 0.05)]),
)
def test_noise_in_blocks_has_the_same_law(scale: str, block: int, size: int, worst: float) -> None:
    """Blocks are for large scales; forced upon small ones, where they can be enumerated, they give the same law."""
    exact = Fraction(scale)
    check_laplace(lambda bits: _draw(exact, block, size, bits), exact, worst)


@pytest.mark.parametrize(
    "scores", [[0], [3, 3], [0, 1], [0, 1, 2, 3], [5, 5, 5], [0, 0, 60], [-7, 2, 2, 2, 2]]
)
@pytest.mark.parametrize("monotone", [False, True])
def test_the_exponential_mechanism_has_its_law(scores: list[int], monotone: bool) -> None:  # noqa: FBT001 - a parameter of a test
    law = enumerate_law(
        lambda bits: exponential_mechanism(scores, "1/2", 3, monotone=monotone, bits=bits),
        max_runs=400,
    )
    assert law.unexplored < Fraction(1, 10**9)
    assert_law(law, selection(scores, Fraction(1, 6 if monotone else 12)))


# Guarantees, on all neighbors of a tiny domain.


def test_a_noisy_count_is_private() -> None:
    """Counts that differ by one, with noise of scale 1 / epsilon; a noise of half the scale is refused."""
    epsilon = Fraction(1, 2)

    def noisy(count: int, scale: Fraction, bits: RandomBits) -> tuple[int, ...]:
        return tuple((count + discrete_laplaces(scale, 1, bits)).tolist())

    three, four = (enumerate_law(partial(noisy, n, 1 / epsilon), max_runs=800) for n in (3, 4))
    verdict = assert_pure_dp(three, four, epsilon)
    assert verdict.delta < Fraction(1, 10**4)
    half = 1 / (2 * epsilon)
    three, four = (enumerate_law(partial(noisy, n, half), max_runs=300) for n in (3, 4))
    with pytest.raises(AssertionError, match="exceed"):
        assert_pure_dp(three, four, epsilon)


def laws_of_choices(sensitivity: str, *, monotone: bool) -> dict[tuple[int, int], Law]:
    """The laws for all pairs of scores from 0, 1, 2, when each is declared to have this sensitivity."""
    return {
        (a, b): enumerate_law(
            lambda bits, a=a, b=b: exponential_mechanism(  # type: ignore[misc] # bound early
                [a, b], 1, sensitivity, monotone=monotone, bits=bits
            ),
            max_runs=120,
        )
        for a, b in product(range(3), repeat=2)
    }


def worst_delta(laws: dict[tuple[int, int], Law], *, monotone: bool) -> Fraction:
    """Check all neighbors, each score differing by at most one, and in one direction where monotone."""
    deltas = []
    for (a, law_a), (b, law_b) in product(laws.items(), repeat=2):
        steps = np.subtract(a, b)
        one_way = steps.min() >= 0 or steps.max() <= 0
        if np.abs(steps).max() == 1 and (one_way or not monotone):
            deltas.append(assert_pure_dp(law_a, law_b, 1).delta)
    assert len(deltas) > 10
    return max(deltas)


@pytest.mark.parametrize("monotone", [False, True])
def test_choices_are_private_on_all_neighbors(monotone: bool) -> None:  # noqa: FBT001 - a parameter of a test
    assert worst_delta(laws_of_choices("1", monotone=monotone), monotone=monotone) < 1e-9


def test_a_halved_sensitivity_is_refused() -> None:
    with pytest.raises(AssertionError, match="exceed"):
        worst_delta(laws_of_choices("1/2", monotone=False), monotone=False)


def test_monotone_scores_that_are_not_are_refused() -> None:
    with pytest.raises(AssertionError, match="exceed"):
        worst_delta(laws_of_choices("1", monotone=True), monotone=False)


# Samplers that must be refused by the checks above.


def magnitude(bits: RandomBits) -> int:
    """A geometric number with ratio e^-2, for noise of scale 1/2."""
    n = 0
    while bernoulli_exp(2, bits):
        n += 1
    return n


def zero_counted_twice(bits: RandomBits) -> tuple[int]:
    """A sign for zero too."""
    sign = 1 if bits.randrange(2) else -1
    return (sign * magnitude(bits),)


def zero_forgotten(bits: RandomBits) -> tuple[int]:
    """The negative side starts at -1, the positive side is as likely as the negative."""
    return (magnitude(bits),) if bits.randrange(2) else (-1 - magnitude(bits),)


def ratio_off_by_one(bits: RandomBits) -> tuple[int]:
    """An off-by-one comparison in the coin."""
    n = 0
    while bits.randrange(16) <= 2:
        n += 1
    while True:
        sign = 1 if bits.randrange(2) else -1
        if sign > 0 or n:
            return (sign * n,)


def float_thresholds(bits: RandomBits) -> tuple[int]:
    """Inversion of a distribution function rounded to eight bits."""
    q = float(np.exp(-2.0))
    tails = np.cumsum([(1 - q) / (1 + q) * q ** abs(x) for x in range(-5, 6)])
    return (int(np.searchsorted(np.round(tails * 256), bits.randrange(256), side="right")) - 5,)


def same_bits_twice(bits: RandomBits) -> NDArray[np.int64]:
    """Two draws of a batch that share their chance."""
    return np.repeat(discrete_laplaces("1/2", 1, bits), 2)


@pytest.mark.parametrize(
    "broken",
    [zero_counted_twice, zero_forgotten, ratio_off_by_one, float_thresholds, same_bits_twice],
)
def test_broken_noise_is_refused(broken: Sampler) -> None:
    with pytest.raises(AssertionError, match="outcome"):
        check_laplace(broken, Fraction(1, 2), worst=1.0)


def keep_all(exponents: NDArray[np.uint64], t: int, bits: RandomBits) -> NDArray[np.bool_]:
    """No thinning."""
    return np.full(len(exponents), t > 0)


def keep_too_few(exponents: NDArray[np.uint64], t: int, bits: RandomBits) -> NDArray[np.bool_]:
    """Twice the rate."""
    return bernoulli_exps(2 * exponents, t, bits)


def test_a_wrong_remainder_in_a_block_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remainders that are not thinned, or not at the right rate, make another law."""
    for kept in (keep_all, keep_too_few):
        monkeypatch.setattr("discreet.core.randomness.noise.bernoulli_exps", kept)
        with pytest.raises(AssertionError, match="outcome"):
            check_laplace(lambda bits: _draw(Fraction(1), 2, 1, bits), Fraction(1), worst=1.0)


# Beyond what can be enumerated: samples, with a chance of 10^-9 of a false alarm each.


def fit(noise: NDArray[np.int64], scale: float) -> float:
    """P-value of a chi-squared test against discrete Laplace noise, in cells of about equal chance."""
    n_cells = 40
    upper = np.log(np.arange(1, n_cells // 2) / (n_cells // 2)) * -scale
    edges = np.unique(np.ceil(upper).astype(np.int64))
    edges = np.unique(np.concatenate([-edges, edges]))
    q = np.exp(-1 / scale)
    # Pr[X < e] on either side of zero.
    below = np.where(edges <= 0, q ** (1.0 - edges) / (1 + q), 1 - q ** (1.0 * edges) / (1 + q))
    chances = np.diff(np.concatenate([[0.0], below, [1.0]]))
    seen = np.bincount(np.searchsorted(edges, noise, side="right"), minlength=len(edges) + 1)
    enough = chances * len(noise) > 10
    assert enough.sum() >= 3
    rest = [seen[~enough].sum()], [chances[~enough].sum()]
    seen, chances = (
        np.concatenate([a[enough], b]) for a, b in zip((seen, chances), rest, strict=True)
    )
    held = chances > 0
    assert not seen[~held].any()
    return float(stats.chisquare(seen[held], len(noise) * chances[held]).pvalue)


SCALES = ["1/2", "1", "10/3", "31", "100", "1000", "1e6", "1e12"]


@pytest.mark.parametrize("scale", SCALES)
def test_a_large_batch_fits(scale: str) -> None:
    noise = discrete_laplaces(scale, 100_000, SystemBits())
    assert fit(noise, float(Fraction(scale))) > SURELY


@pytest.mark.parametrize("scale", ["1/2", "10/3", "1000"])
def test_many_single_draws_fit(scale: str) -> None:
    bits = SystemBits()
    noise = np.array([discrete_laplace(scale, bits) for _ in range(4000)])
    assert fit(noise, float(Fraction(scale))) > SURELY


@pytest.mark.statistical
@pytest.mark.parametrize("scale", SCALES)
def test_a_very_large_batch_fits(scale: str) -> None:
    noise = discrete_laplaces(scale, 20_000_000, SystemBits())
    assert fit(noise, float(Fraction(scale))) > SURELY


@pytest.mark.parametrize("wrong", ["0.95", "1.05"])
def test_the_fit_would_see_a_wrong_scale(wrong: str) -> None:
    noise = discrete_laplaces(100 * Fraction(wrong), 100_000, SystemBits())
    assert fit(noise, 100.0) < SURELY


def test_many_choices_fit() -> None:
    bits = SystemBits()
    scores = np.arange(12)
    drawn = [exponential_mechanism(scores, 1, 2, bits=bits) for _ in range(5000)]
    chances = np.exp(scores / 4)
    seen = np.bincount(drawn, minlength=12)
    assert stats.chisquare(seen, 5000 * chances / chances.sum()).pvalue > SURELY
