"""Compiled sorts beside those of numpy: of few and of many, with equal ones, in order already, and in turns."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from discreet.kanonymity.kernels.sorting import sort_by, sort_up


def _by(key: NDArray[np.float64], order: NDArray[np.int64], spare: NDArray[np.int64]) -> None:
    sort_by(key, order, spare)


def _up(values: NDArray[np.int64], n: int) -> None:
    sort_up(values, n)


compiled: Any = numba.njit
by, up = compiled(_by), compiled(_up)
"""Sorts are called by kernels alone."""


def check_by(key: NDArray[np.float64], order: NDArray[np.int64]) -> None:
    given_order = order.copy()
    by(key, order, np.empty_like(order))
    expected = given_order[np.argsort(key[given_order], kind="stable")]
    assert order.tolist() == expected.tolist()


def check_up(values: NDArray[np.int64], n: int) -> None:
    before = values.copy()
    up(values, n)
    assert values[:n].tolist() == sorted(before[:n].tolist())
    assert values[n:].tolist() == before[n:].tolist()


@given(arrays(np.int64, st.integers(0, 90), elements=st.integers(-(2**63), 2**63 - 1)), st.data())
def test_the_first_numbers_are_sorted_and_no_other(
    values: NDArray[np.int64], data: st.DataObject
) -> None:
    check_up(values, data.draw(st.integers(0, len(values))))


@given(arrays(np.float64, st.integers(1, 90), elements=st.integers(0, 9)), st.randoms())
def test_equal_keys_stay_in_their_order(key: NDArray[np.float64], shuffler: Any) -> None:
    order = list(range(len(key)))
    shuffler.shuffle(order)
    check_by(key, np.array(order))


SHAPES = {
    "in order": np.arange(3_000),
    "falling": np.arange(3_000)[::-1],
    "equal": np.zeros(3_000),
    "up and down": np.concatenate([np.arange(1_500), np.arange(1_500)[::-1]]),
    "in turns": np.tile([5, 1], 1_500),
    "few values": np.random.default_rng(1).integers(0, 3, 3_000),
    "of any order": np.random.default_rng(2).permutation(3_000),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_on_which_sorts_go_wrong(name: str) -> None:
    values = np.array(SHAPES[name], dtype=np.int64)
    check_up(values.copy(), len(values))
    check_up(values.copy(), len(values) - 1)
    check_by(values.astype(np.float64), np.arange(len(values)))
    check_by(values.astype(np.float64), np.arange(len(values))[::-1].copy())
