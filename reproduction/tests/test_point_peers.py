"""The peers that protect every point: what AIPO proves holds, its relaxed form breaks, renaming is free."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import SeededBits
from discreet_reproduction.lrgeo.as_published.aipo import AnchorInterpolation, aipo, corner_weights
from discreet_reproduction.lrgeo.as_published.remapped_laplace import remapped_laplace

BITS = SeededBits(5)
USERS = np.array([(BITS.random() * 3, BITS.random() * 2) for _ in range(30)])
PRIOR = np.full(30, 1 / 30)
LOSS = np.hypot(*(USERS[:, None] - USERS[::4]).transpose(2, 0, 1))
FINE = np.array([(x, y) for x in np.linspace(0.2, 2.8, 14) for y in np.linspace(0.2, 1.8, 12)])
FINE = FINE[(USERS.min(axis=0) <= FINE).all(axis=1) & (USERS.max(axis=0) >= FINE).all(axis=1)]
APART = np.hypot(*(FINE[:, None] - FINE).transpose(2, 0, 1))


def strength(laws: np.ndarray[tuple[int, int], np.dtype[np.float64]], epsilon: float) -> float:
    """Give the largest log-ratio of two points as a part of epsilon times their distance."""
    nats = np.log(laws)
    near = np.abs(nats[:, None] - nats).max(axis=2)
    return float((near / np.where(APART > 0, epsilon * APART, np.inf)).max())


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_aipo_keeps_its_promise_between_anchors_up_to_its_solver(epsilon: float) -> None:
    made = aipo(USERS, PRIOR, LOSS, epsilon, cells=(4, 3))
    assert np.hypot(*made.shares) == pytest.approx(epsilon)
    laws = made.law(FINE)
    assert np.allclose(laws.sum(axis=1), 1)
    # 1e-7 of a solver against entries of 1e-6 and steps of half a cell.
    assert strength(laws, epsilon) <= 1 + 0.1
    # At an anchor the law is the anchor's own.
    corner = np.array([[made.east[1], made.north[2]]])
    assert np.allclose(made.law(corner)[0], made.laws[1 * 4 + 2], atol=1e-9)
    lost = float((PRIOR[:, None] * LOSS * made.law(USERS)).sum())
    assert made.utility_loss == pytest.approx(lost)
    assert "floats" in made.reason


def test_the_relaxed_form_loses_less_and_breaks_the_promise() -> None:
    kept = aipo(USERS, PRIOR, LOSS, 2.0, cells=(4, 3))
    relaxed = aipo(USERS, PRIOR, LOSS, 2.0, cells=(4, 3), relaxed=True)
    assert relaxed.utility_loss < kept.utility_loss
    assert strength(relaxed.law(FINE), 2.0) > 1.2


@given(st.lists(st.floats(0.01, 1), min_size=8, max_size=8), st.floats(0.1, 3))
@settings(max_examples=40)
def test_the_theorem_holds_for_any_anchors(entries: list[float], step: float) -> None:
    """A cell, two reports: slopes of halved shares between anchors bound every two points of the cell."""
    rows = np.array(entries).reshape(4, 2)
    rows /= rows.sum(axis=1, keepdims=True)
    nats = np.log(rows)
    # The least shares that these anchors need: twice their slopes.
    first = 2 * float(np.abs(nats[2:] - nats[:2]).max()) / step
    second = 2 * float(np.abs(nats[1::2] - nats[::2]).max()) / step
    epsilon = float(np.hypot(first, second))
    if epsilon < 1e-6:
        return
    line = np.array([0.0, step])
    made = AnchorInterpolation(line, line, rows, (first, second), 0.0, 0.0)
    spots = np.array([(x, y) for x in np.linspace(0, step, 5) for y in np.linspace(0, step, 5)])
    laws = np.log(made.law(spots))
    apart = np.hypot(*(spots[:, None] - spots).transpose(2, 0, 1))
    assert (np.abs(laws[:, None] - laws).max(axis=2) <= epsilon * apart + 1e-9).all()


def test_remapped_noise_is_private_and_loses_no_more_than_without_renaming() -> None:
    for epsilon in (0.5, 2.0):
        made = remapped_laplace(USERS, PRIOR, LOSS, epsilon, squares=120)
        laws = made.law(FINE)
        assert np.abs(laws.sum(axis=1) - 1).max() < 0.01
        used = laws[:, laws.max(axis=0) > 0]
        assert strength(used, epsilon) <= 1 + 1e-9
        lost = float((PRIOR[:, None] * LOSS * made.law(USERS)).sum())
        assert made.utility_loss == pytest.approx(lost, rel=0.01)
        # Never worse than the best report for all.
        assert made.utility_loss <= (PRIOR @ LOSS).min() + 1e-9


def test_weights_of_corners_are_those_of_the_cell() -> None:
    east, north = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0])
    found = corner_weights(east, north, np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]]))
    assert found.tolist() == [
        [0, 0, 1, 0, 0, 0],
        [0, 0, 0.25, 0.25, 0.25, 0.25],
        [0, 0, 0, 0, 0, 1],
    ]
    with pytest.raises(InvalidProblemError, match="rectangle"):
        corner_weights(east, north, np.array([[3.1, 0.0]]))


def test_arrays_that_do_not_fit_are_refused() -> None:
    for peer in (
        lambda *parts: aipo(*parts, cells=(2, 2)),
        remapped_laplace,
    ):
        with pytest.raises(InvalidProblemError, match="points"):
            peer(USERS[1:], PRIOR, LOSS, 1.0)
        with pytest.raises(InvalidProblemError, match="epsilon"):
            peer(USERS, PRIOR, LOSS, 0.0)
