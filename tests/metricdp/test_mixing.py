"""Mixing where closing columns and dividing rows does not end: laws, and streets that meet."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import MetricDP, MetricSpace
from discreet.core.spaces.adjacency import Adjacency
from discreet.metricdp import Problem, design
from discreet.metricdp.bounds.repair import mix_with_private, repair

# The module: it has a function of this name.
_repair = import_module("discreet.metricdp.bounds.repair")


def streets(across: int, parts: int) -> tuple[int, list[tuple[int, int]]]:
    """Make a square grid of streets, each piece between two crossings cut into parts."""
    n, edges = across * across, []
    for i in range(across):
        for j in range(across):
            for x, y in ((i, j + 1), (i + 1, j)):
                if x < across and y < across:
                    at = i * across + j
                    for _ in range(parts - 1):
                        edges.append((at, n))
                        at, n = n, n + 1
                    edges.append((at, x * across + y))
    return n, edges


def neighbors(n: int, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lay edges out by secret."""
    i, j = pairs.T
    order = np.argsort(np.concatenate([i, j]), kind="stable")
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs.ravel(), minlength=n), out=start[1:])
    ids = np.tile(np.arange(len(pairs)), 2)[order]
    return start, np.concatenate([j, i])[order].astype(np.int32), ids


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 6), st.floats(0.01, 3))
@settings(max_examples=60, deadline=None)
def test_rows_sum_to_one_and_every_length_is_kept(
    seed: int, n: int, reports: int, most: float
) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, rng.integers(i)) for i in range(1, n)] + [(0, n - 1)])
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    kept = rng.uniform(0.1, 1, len(pairs)) * most
    table = rng.dirichlet(np.full(reports, 0.3), n) + 1e-12
    table /= table.sum(axis=1, keepdims=True)
    start, ends, ids = neighbors(n, pairs)
    made = mix_with_private(table, kept, start, ends, ids, labels=np.zeros(n, dtype=np.int32))
    assert made is not None
    with pytest.MonkeyPatch.context() as patch:
        # A column at a time.
        patch.setattr(_repair, "LENGTHS_AT_ONCE", 1)
        again = mix_with_private(table, kept, start, ends, ids, labels=np.zeros(n, dtype=np.int32))
    assert again is not None
    assert (made == again).all()
    assert np.allclose(made.sum(axis=1), 1)
    i, j = pairs.T
    for a, b in ((i, j), (j, i)):
        assert (made[a] >= np.exp(-kept)[:, None] * made[b] * (1 - 1e-9)).all()


def test_what_breaks_nothing_is_left_as_it_is_whatever_another_component_breaks() -> None:
    pairs = np.array([[0, 1], [2, 3]])
    table = np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    made = mix_with_private(table, np.array([0.5, 0.5]), *neighbors(4, pairs), labels=labels)
    assert made is not None
    assert (made[:2] == table[:2]).all()
    assert made[2, 0] < 0.9


def test_two_secrets_at_one_spot_are_not_for_mixing() -> None:
    pairs = np.array([[0, 1]])
    table = np.array([[0.9, 0.1], [0.1, 0.9]])
    labels = np.zeros(2, dtype=np.int32)
    assert mix_with_private(table, np.zeros(1), *neighbors(2, pairs), labels=labels) is None


def test_a_nearly_private_matrix_on_streets_costs_little_to_repair() -> None:
    """Closing and dividing raises each crossing again and again; it ended with twice the loss."""
    n, edges = streets(6, 4)
    lengths = np.full(len(edges), 1)
    graph = Adjacency(n, np.array(edges), lengths, scale_bits=0)
    space = MetricSpace.from_graph(n, edges, lengths.astype(float), unit="km")
    nats = 0.22
    reports = np.linspace(0, n - 1, 40).astype(int)
    away = space.distances / 2.0**space.scale_bits
    cost = away[:, reports] / n
    made = design(
        Problem(space, utility_loss=away[:, reports]), MetricDP("0.22", "km"), gap=0.01
    ).channel.probabilities
    rng = np.random.default_rng(3)
    rough = made * np.exp(rng.normal(0, 5e-4, made.shape))
    repaired = repair(rough, graph, "0.22", cost=cost)
    assert repaired.upper < 1.1 * float((cost * made).sum())
    logs = np.log(repaired.channel.probabilities)
    i, j = np.array(edges).T
    assert np.abs(logs[i] - logs[j]).max() <= nats * (1 + 1e-12)


@pytest.mark.parametrize(
    ("added", "enough", "tried", "taken"),
    [
        (0.0, 0.0, [1e-8], False),
        (0.0, 9e-6, [1e-8, 1e-7, 1e-6, 1e-5], True),
        (0.5, 9e-6, [1e-8, 1e-7, 1e-6, 1e-5], False),
        (0.0, 3 / 4, [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 3 / 4], True),
    ],
)
def test_what_loses_less_is_taken_if_the_first_delta_is_too_small(
    *,
    added: float,
    enough: float,
    tried: list[float],
    taken: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deltas: list[float] = []
    pairs = np.array([(i, (i + 1) % 9) for i in range(9)])
    ring = Adjacency(9, pairs, np.full(9, 1), scale_bits=0)
    table = np.exp(-ring.shortest_paths() / 1.0)
    plain = _repair._attempt
    frame = _repair._frame(ring, Fraction(1), 9, 1, 1, lambda: False)
    made = plain(table, frame, Fraction(1, 10**6))
    other = replace(made, matrix=made.matrix * (1 - 1e-9 + added))

    def attempt(given: Any, given_frame: Any, delta: Fraction) -> Any:
        deltas.append(float(delta))
        return plain(given, given_frame, delta) if delta >= enough else None

    monkeypatch.setattr(_repair, "_attempt", attempt)
    monkeypatch.setattr(_repair, "_mix", lambda *_: other)
    found = _repair._with_slack(table, frame, np.ones((9, 9)))
    assert deltas == tried
    assert (found is other) == taken


@pytest.mark.parametrize(("across", "parts"), [(7, 5), (5, 8)])
def test_streets_at_shortest_ways_reach_their_gap(across: int, parts: int) -> None:
    n, edges = streets(across, parts)
    space = MetricSpace.from_graph(n, edges, np.full(len(edges), 0.22), unit="km")
    away = space.distances / 2.0**space.scale_bits
    reports = np.linspace(0, n - 1, 60).astype(int)
    made = design(Problem(space, utility_loss=away[:, reports]), MetricDP(1, "km"), gap=0.02)
    assert made.certificate.passed
    assert made.gap is not None
    assert made.gap <= 0.02


@pytest.mark.parametrize(
    ("radius", "late", "mixes"), [(None, False, True), (None, True, False), (2.5, True, True)]
)
def test_over_all_pairs_nothing_is_mixed_once_it_is_late(
    *, radius: float | None, late: bool, mixes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits of 5 s for all pairs of 1,000 words were overrun by more than two CPU seconds so."""
    points = np.random.default_rng(6).uniform(0, 10, (110, 2))
    edges = MetricSpace.from_points(points, unit="km").adjacency(radius)
    called: list[object] = []
    monkeypatch.setattr(_repair, "_close_at_delta", _at_three_quarters(_repair._close_at_delta))
    monkeypatch.setattr(_repair, "_mix", lambda *given: called.append(given))
    rng = np.random.default_rng(7)
    table = rng.random((110, 5))
    repair(table, edges, 1, cost=rng.random((110, 5)), is_late=lambda: late)
    assert bool(called) == mixes


def _at_three_quarters(plain: Any) -> Any:
    """Close as where no smaller delta is enough."""
    return lambda table, frame, _: plain(table, frame, Fraction(3, 4))
