"""Isotonic regression in whole numbers: equal to a search of all monotone rows, exact on big numbers."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from discreet import InvalidProblemError
from discreet.hierarchy.isotonic import isotonic_float, isotonic_int, isotonic_l1, isotonic_sums

ROWS = st.lists(st.integers(-4, 6), min_size=1, max_size=5)
BOUNDS = st.tuples(st.integers(-2, 3), st.integers(0, 4)).map(lambda b: (b[0], b[0] + b[1]))


@settings(max_examples=150, deadline=None)
@given(ROWS, BOUNDS, st.data())
def test_no_monotone_row_of_integers_costs_less(
    row: list[int], bounds: tuple[int, int], data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(row), max_size=len(row)))
    low, high = bounds
    y, w = np.array(row), np.array(weights)
    fit = np.clip(isotonic_sums((y * w)[None], w[None])[0], low, high)
    least, plain = isotonic_l1(row, low, high), isotonic_int(row, low, high)
    others = np.array(list(combinations_with_replacement(range(low, high + 1), len(row))))
    for x, cost in (
        (fit, ((others - y) ** 2 * w).sum(axis=1)),
        (plain, ((others - y) ** 2).sum(axis=1)),
        (least, np.abs(others - y).sum(axis=1)),
    ):
        assert (np.diff(x) >= 0).all()
        assert low <= x.min() <= x.max() <= high
        assert cost.min() == cost[(others == x).all(axis=1)][0]
    down = isotonic_int(row[::-1], low, high, decreasing=True)
    assert down.tolist() == plain[::-1].tolist()
    assert isotonic_l1(row[::-1], low, high, decreasing=True).tolist() == least[::-1].tolist()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40))
def test_without_bounds_it_is_the_rounded_continuous_fit(row: list[int]) -> None:
    fit = isotonic_int(row)
    smooth = isotonic_float(np.array([row], dtype=np.float64))[0]
    np.testing.assert_allclose(smooth, isotonic_regression(np.array(row, float)).x, atol=1e-6)
    assert np.abs(fit - smooth).max() <= 0.5 + 1e-6
    down = isotonic_float(np.array([row[::-1]], dtype=np.float64), decreasing=True)[0]
    np.testing.assert_allclose(down[::-1], smooth, atol=1e-6)


def test_halves_are_rounded_up_everywhere() -> None:
    """Rounding to even would make a decreasing row of two pools of which one is 0.5 and the other 1.5."""
    assert isotonic_int([1, 0, 2, 1]).tolist() == [1, 1, 2, 2]
    assert isotonic_int([-1, -2]).tolist() == [-1, -1]


def test_numbers_whose_products_leave_the_word_are_still_exact() -> None:
    """Weighted sums near 10^18: a float would not see the last unit."""
    n = 2**10
    row = np.full(n, 10**12)
    row[: n // 2] += 1
    heavy = np.full((1, n), 2**10)
    assert set(isotonic_sums(row * heavy, heavy)[0].tolist()) == {10**12 + 1}
    row[0] -= 1
    assert set(isotonic_sums(row * heavy, heavy)[0].tolist()) == {10**12}


def test_rows_are_fitted_apart() -> None:
    rows = np.array([[2, 1], [0, 5], [9, 0]])
    assert isotonic_int(rows, 0, [1, 4, 9]).tolist() == [[1, 1], [0, 4], [5, 5]]
    assert isotonic_l1(rows, 1).tolist() == [[1, 1], [1, 5], [1, 1]]
    assert isotonic_int(np.zeros((0, 3), dtype=int)).shape == (0, 3)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([0.5],), "values"),
        ((np.zeros((1, 1, 1), dtype=int),), "values"),
        (([2**61, 2**61],), "values"),
        (([1, 2], 2, 1), "low, high"),
        (([[1, 2]], [0, 0, 0]), "low"),
        (([[1, 2]], 0, [[1]]), "high"),
    ],
)
def test_nonsense_is_refused(arguments: tuple[Any, ...], field: str) -> None:
    with pytest.raises(InvalidProblemError, match=field):
        isotonic_int(*arguments)
