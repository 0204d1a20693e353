"""Discrete Gaussian noise: the exact law from the production code itself, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet import InvalidProblemError
from discreet.core.exact import exp_ceil, exp_floor
from discreet.core.randomness import (
    SeededBits,
    SystemBits,
    bernoulli_exps,
    discrete_gaussian,
    discrete_gaussians,
    is_private,
)
from discreet.core.randomness import gaussian as module
from discreet.testing import Law, assert_law, enumerate_law
from few import few_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits

    Range = tuple[Fraction, Fraction]

FINE = 200


class _AgainError(Exception):
    """A second proposal was about to be made."""


def exp_range(x: Fraction) -> Range:
    """Bracket ``e^x``."""
    return Fraction(exp_floor(x, FINE), 1 << FINE), Fraction(exp_ceil(x, FINE), 1 << FINE)


def accepted(name: str, sample: Callable[[RandomBits], object], proposal: int) -> Law:
    """Find the law of whether a sampler keeps a proposal; later proposals repeat the first, on fresh chance."""

    def run(bits: RandomBits) -> bool:
        first = iter([proposal])

        def propose(*arguments: object) -> object:
            for value in first:
                return np.array([value]) if name == "discrete_laplaces" else value
            raise _AgainError(arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, propose)
            try:
                sample(bits)
            except _AgainError:
                return False
            return True

    return enumerate_law(run, max_runs=500)


def check_acceptance(name: str, sample: Callable[[RandomBits], object], variance: Fraction) -> None:
    """Hold the chance to keep ``y`` to what turns Laplace noise into Gaussian noise.

    ``e^(-|y|/t)`` times it has to be ``e^(-y^2 / (2 sigma^2))`` times a factor that is the same for all ``y``.
    """
    t = math.isqrt(int(variance)) + 1
    for y in range(-5, 6):
        exponent = Fraction(y * y) / (2 * variance) - Fraction(abs(y), t) + variance / (2 * t**2)
        law = accepted(name, sample, y)
        low, high = exp_range(-exponent)
        assert law.unexplored < 0.1
        assert_law(law, {True: (low, high), False: (1 - high, 1 - low)})


VARIANCES = ["1/10", "2", "1/2", "1"]


@pytest.mark.parametrize("variance", few_of(2, VARIANCES))
def test_one_draw_has_its_law(variance: str) -> None:
    exact = Fraction(variance)
    check_acceptance("discrete_laplace", lambda bits: discrete_gaussian(exact, bits), exact)


@pytest.mark.parametrize("variance", few_of(2, VARIANCES))
def test_a_batch_has_its_law(variance: str) -> None:
    exact = Fraction(variance)
    check_acceptance("discrete_laplaces", lambda bits: discrete_gaussians(exact, 1, bits), exact)


def test_numbers_beyond_a_word_have_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exponents that leave 64 bits are made of Python's integers."""
    monkeypatch.setattr(module, "_WORD", 0)
    exact = Fraction(2)
    check_acceptance("discrete_laplaces", lambda bits: discrete_gaussians(exact, 1, bits), exact)


def test_proposals_have_the_scale_that_the_acceptance_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both samplers ask for Laplace noise of scale ``floor(sigma) + 1``."""
    asked: list[object] = []

    def one(scale: object, bits: RandomBits) -> int:
        asked.append((scale, is_private(bits)))
        return 0

    def many(scale: object, size: int, bits: RandomBits) -> NDArray[np.int64]:
        asked.append((scale, is_private(bits)))
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(module, "discrete_laplace", one)
    monkeypatch.setattr(module, "discrete_laplaces", many)
    for variance, scale in (("1/10", 1), (1, 2), ("35/4", 3), (9, 4)):
        asked.clear()
        discrete_gaussian(variance)
        discrete_gaussians(variance, 1)
        assert set(asked) == {(scale, True)}


def keep_all(exponents: NDArray[np.int64], denominator: int, bits: RandomBits) -> NDArray[np.bool_]:
    """The proposals as they come."""
    return np.full(len(exponents), denominator > 0)


def keep_too_few(
    exponents: NDArray[np.int64], denominator: int, bits: RandomBits
) -> NDArray[np.bool_]:
    """Twice the rate."""
    return bernoulli_exps(2 * exponents, denominator, bits)


@pytest.mark.parametrize("kept", [keep_all, keep_too_few])
def test_a_wrong_acceptance_is_refused(
    kept: Callable[..., NDArray[np.bool_]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "bernoulli_exps", kept)
    exact = Fraction(1, 2)
    with pytest.raises(AssertionError, match="outcome"):
        check_acceptance(
            "discrete_laplaces", lambda bits: discrete_gaussians(exact, 1, bits), exact
        )


@pytest.mark.parametrize("variance", ["3/2", "100", "1000000.000001", "1e24"])
def test_a_large_batch_has_mean_and_variance(variance: str) -> None:
    """With a chance of a false alarm below 10^-9: six standard errors on either side."""
    size = 40_000
    noise = discrete_gaussians(variance, size, SystemBits()).astype(np.float64)
    sigma2 = float(Fraction(variance))
    assert abs(noise.mean()) < 6.5 * np.sqrt(sigma2 / size)
    assert abs((noise**2).mean() / sigma2 - 1) < 6.5 * np.sqrt(2 / size)


def test_chunks_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", 7)
    noise = discrete_gaussians(10**10, 30, SeededBits(1))
    assert noise.shape == (30,)
    assert len(set(noise.tolist())) > 25


def test_nothing_is_drawn_for_no_draws() -> None:
    assert discrete_gaussians(1, 0).shape == (0,)


@pytest.mark.parametrize("variance", [0, -1, "-1/2", float("nan")])
def test_bad_variances_are_refused(variance: float | str) -> None:
    with pytest.raises(InvalidProblemError, match="variance"):
        discrete_gaussian(variance)
    with pytest.raises(InvalidProblemError, match="variance"):
        discrete_gaussians(variance, 1)


def test_noise_that_would_leave_the_word_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="2\\^98"):
        discrete_gaussians(1 << 98, 1)
    assert isinstance(discrete_gaussian(1 << 120, SeededBits(1)), int)


@pytest.mark.parametrize("size", [-1, 1.5, "3"])
def test_bad_sizes_are_refused(size: object) -> None:
    with pytest.raises(InvalidProblemError, match="size"):
        discrete_gaussians(1, size)  # type: ignore[arg-type] # what a caller may get wrong
