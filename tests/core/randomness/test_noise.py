"""Discrete Laplace noise: edges, limits and symmetry; its exact law is audited in tests/audits."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.randomness import SeededBits, discrete_laplace, discrete_laplaces
from discreet.core.randomness.noise import _CHUNK, _draw, _pair_brackets
from discreet.testing import enumerate_law, rationals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.exact import Exact


class Zeros:
    """The least likely source: it always draws zero, as far from the middle of the law as can be."""

    def randrange(self, stop: int, /) -> int:
        return 0

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        return np.zeros(size, dtype=np.uint64)


@given(rationals("1/20", 40), st.integers(0, 40), st.integers(0, 5))
@settings(deadline=None, max_examples=50)
def test_batches_have_their_size_and_follow_their_seed(
    scale: Fraction, size: int, seed: int
) -> None:
    noise = discrete_laplaces(scale, size, SeededBits(seed))
    assert noise.shape == (size,)
    assert noise.dtype == np.int64
    assert np.array_equal(noise, discrete_laplaces(scale, size, SeededBits(seed)))


def test_a_batch_goes_beyond_one_chunk() -> None:
    noise = discrete_laplaces(5, 2 * _CHUNK + 1, SeededBits(1))
    assert len(np.unique(noise[-10:])) > 1
    assert not np.array_equal(noise[:_CHUNK], noise[_CHUNK : 2 * _CHUNK])


@pytest.mark.parametrize("scale", ["1/3", pytest.param("1", marks=pytest.mark.slow), "5/2"])
def test_the_law_is_symmetric(scale: Exact) -> None:
    law = enumerate_law(lambda bits: discrete_laplaces(scale, 1, bits), max_runs=1000)
    for (x,), mass in cast("dict[tuple[int], Fraction]", law.masses).items():
        low, high = law.bounds((-x,))
        assert low - law.unexplored <= mass <= high


def test_zero_has_one_sign() -> None:
    """The law of one draw is symmetric, and zero is as likely as it should be: tanh(1/2) for scale 1."""
    law = enumerate_law(lambda bits: discrete_laplace(1, bits), max_runs=2000)
    assert law.unexplored < Fraction(1, 10)
    low, high = law.bounds(0)
    assert float(low) < np.tanh(0.5) < float(high)
    assert law.bounds(1)[0] <= law.bounds(-1)[1]
    assert law.bounds(-1)[0] <= law.bounds(1)[1]


def test_a_scale_near_zero_gives_zeros() -> None:
    """The chance of anything else is e^-(10^9), far below a draw that could be waited for."""
    assert not discrete_laplaces("1e-9", 1000, SeededBits(2)).any()
    assert discrete_laplace("1e-9", SeededBits(2)) == 0


@pytest.mark.parametrize("scale", [10**6, 10**12, 1 << 50, Fraction(10**25 + 1, 10**23)])
def test_large_scales_do_not_wrap(scale: Exact) -> None:
    """The mean of |X| over 4,000 draws is the scale within a tenth: more than six standard errors."""
    noise = discrete_laplaces(scale, 4000, SeededBits(7))
    assert float(np.abs(noise).mean()) == pytest.approx(float(scale), rel=0.1)
    assert len(np.unique(noise)) > 300
    assert abs(int((noise > 0).sum()) - int((noise < 0).sum())) < 400


def test_one_draw_may_have_any_scale() -> None:
    draws = [discrete_laplace(10**40, SeededBits(seed)) for seed in range(20)]
    assert 10**38 < max(map(abs, draws)) < 10**42


@pytest.mark.parametrize("scale", [0, -1, "-1/2"])
def test_a_scale_is_positive(scale: Exact) -> None:
    with pytest.raises(InvalidProblemError, match="scale"):
        discrete_laplace(scale)
    with pytest.raises(InvalidProblemError, match="scale"):
        discrete_laplaces(scale, 1)


def test_what_64_bits_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="2\\^50"):
        discrete_laplaces((1 << 50) + 1, 1)
    with pytest.raises(LimitReachedError, match="64 bits"):
        discrete_laplaces(1 << 50, 1, Zeros())


@pytest.mark.parametrize("size", [-1, 1.5, "3"])
def test_a_size_is_a_number_of_draws(size: object) -> None:
    with pytest.raises(InvalidProblemError, match="size"):
        discrete_laplaces(1, cast("int", size))


@given(rationals("1/20", 20), st.integers(0, 4), st.integers(1, 6))
@settings(deadline=None, max_examples=40)
def test_the_tails_are_bracketed_and_fall(scale: Fraction, power: int, blocks: int) -> None:
    """The thresholds ascend, their brackets are narrow, and T_2j is T_2 to the power j."""
    bits = 256
    tails = _pair_brackets(-1 / scale, 1 << power, blocks, bits)
    assert len(tails) == 2 * blocks
    lows = [low for low, _ in tails]
    assert lows == sorted(lows)
    assert all(0 <= high - low <= 16 for low, high in tails)
    low, high = tails[-2]
    assert low**blocks <= tails[0][1] << (bits * (blocks - 1))
    assert high**blocks >= tails[0][0] << (bits * (blocks - 1))


def test_the_remainders_of_a_block_are_drawn() -> None:
    noise = _draw(Fraction(50), 4, 2000, SeededBits(3))
    assert set((noise[noise >= 0] % 4).tolist()) == {0, 1, 2, 3}
