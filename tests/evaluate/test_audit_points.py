"""Counts of broken promises between points: exact, blind to how a mesh was made, and awake to every bad one."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import SeededBits
from discreet.evaluate.audit.points import (
    PointLaws,
    PointPairs,
    count_broken,
    edge_pairs,
    exceeds,
    random_pairs,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNIT = 10_000
TOTAL = 1 << 48


def grid(side: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Make a square of cells with alternating diagonals, a kilometer each, in decimeters."""
    at = np.array([(i, j) for i in range(side) for j in range(side)]) * UNIT
    triangles = []
    for i in range(side - 1):
        for j in range(side - 1):
            a, b, c, d = (x * side + y for x, y in ((i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)))
            triangles += [(a, b, d), (a, d, c)] if (i + j) % 2 == 0 else [(a, b, c), (b, d, c)]
    return at, np.array(triangles)


def needed(
    at: NDArray[np.int64], triangles: NDArray[np.int64], weights: NDArray[np.int64]
) -> float:
    """Give the largest gradient over smallest value of a triangle, per decimeter: the epsilon needed."""
    worst = 0.0
    for a, b, c in triangles.tolist():
        sides = np.array([at[b] - at[a], at[c] - at[a]], dtype=float)
        change = np.array([weights[b] - weights[a], weights[c] - weights[a]], dtype=float)
        slopes = np.hypot(*np.linalg.solve(sides, change))
        worst = max(worst, float((slopes / weights[[a, b, c]].min(axis=0)).max()))
    return worst


def smooth(at: NDArray[np.int64], reports: int = 5, seed: int = 0) -> NDArray[np.int64]:
    """Make rows that fall off from random spots, all of one sum."""
    source = np.random.Generator(np.random.PCG64(seed))
    spots = source.uniform(at.min(), at.max(), size=(reports, 2))
    near = np.exp(-0.4 * np.hypot(*(at[:, None] - spots).transpose(2, 0, 1)) / UNIT)
    weights: NDArray[np.int64] = np.floor(near / near.sum(axis=1, keepdims=True) * TOTAL).astype(
        np.int64
    )
    weights[:, 0] += TOTAL - weights.sum(axis=1)
    return weights


def laws(factor: float, seed: int = 0) -> PointLaws:
    """Make laws with so many times the epsilon that they need."""
    at, triangles = grid(4)
    weights = smooth(at, seed=seed)
    epsilon = Fraction(needed(at, triangles, weights) * factor)
    return PointLaws(at, triangles, weights, epsilon)


def test_laws_that_keep_the_condition_keep_the_promise_for_every_pair() -> None:
    kept = laws(1 + 1e-9)
    for pairs in (random_pairs(kept, 20_000), edge_pairs(kept, 6_000)):
        found = count_broken(kept, pairs)
        assert (found.pairs, found.violated) == (len(pairs), 0)
        assert 0.5 < found.worst <= 1
    # What the theorem needs is needed: a hundredth less, and pairs near an edge show it.
    short = laws(0.98)
    found = count_broken(short, edge_pairs(short, 6_000))
    assert found.violated > 0
    assert found.worst > 1
    assert found.where.startswith("report ")


def test_floats_and_fractions_count_alike() -> None:
    for seed in range(4):
        tried = laws(0.9, seed)
        pairs = edge_pairs(tried, 150, seed=seed)
        assert count_broken(tried, pairs).violated == slowly(tried, pairs)
        far = random_pairs(tried, 150, seed=seed)
        assert count_broken(tried, far).violated == slowly(tried, far)


def slowly(tried: PointLaws, pairs: PointPairs) -> int:
    """Count with fractions alone."""
    broken = 0
    for at in range(len(pairs)):
        ends = [
            (int(where[at]), [int(part) for part in parts[at]])
            for where, parts in (
                (pairs.first, pairs.first_parts),
                (pairs.second, pairs.second_parts),
            )
        ]
        one, other = (tried.law(*end) for end in ends)
        (x, y), (u, v) = (tried.point(*end) for end in ends)
        squared = tried.epsilon**2 * ((x - u) ** 2 + (y - v) ** 2)
        broken += any(
            p != q and (not squared or not min(p, q) or exceeds(max(p, q) / min(p, q), squared))
            for p, q in zip(one, other, strict=True)
        )
    return broken


def test_cracks_hanging_vertices_and_overlaps_are_seen() -> None:
    good = laws(1 + 1e-9)
    at, triangles, weights = good.vertices, good.triangles, good.weights
    twin = np.vstack([at, at[5:6]])
    torn = triangles.copy()
    first = int(np.argmax((torn == 5).any(axis=1)))
    torn[first][torn[first] == 5] = len(at)
    rolled = np.roll(weights[5:6], 1, axis=1)
    crack = PointLaws(twin, torn, np.vstack([weights, rolled]), good.epsilon)
    # A vertex in the middle of a side that only one of its two triangles knows.
    a, b, c = (int(corner) for corner in triangles[4])
    middle = (at[a] + at[b]) // 2
    split = np.vstack([np.delete(triangles, 4, axis=0), [[a, len(at), c], [len(at), b, c]]])
    hanging = PointLaws(
        np.vstack([at, middle]), split, np.vstack([weights, weights[c]]), good.epsilon
    )
    # One triangle twice, the second time with rows of its own.
    again = np.vstack([at, at[[a, b, c]]])
    both = np.vstack([triangles, np.arange(3) + len(at)])
    overlap = PointLaws(
        again, both, np.vstack([weights, np.roll(weights[[a, b, c]], 1, axis=1)]), good.epsilon
    )
    for bad in (crack, hanging, overlap):
        found = count_broken(bad, edge_pairs(bad, 6_000))
        assert found.violated > 0
        assert math.isinf(found.worst)


def test_a_report_that_is_possible_at_one_place_alone_rules_the_others_out() -> None:
    good = laws(1 + 1e-9)
    weights = good.weights.copy()
    weights[3, 1] += weights[3, 2]
    weights[3, 2] = 0
    bad = PointLaws(good.vertices, good.triangles, weights, good.epsilon)
    found = count_broken(bad, edge_pairs(bad, 6_000))
    assert found.violated > 0
    # A report that nobody makes tells nothing.
    silent = np.hstack([good.weights, np.zeros((16, 1), dtype=np.int64)])
    never = PointLaws(good.vertices, good.triangles, silent, good.epsilon)
    assert count_broken(never, edge_pairs(never, 600)).violated == 0


@given(st.fractions(min_value="1/50", max_value=9), st.integers(40, 300))
def test_an_exponential_is_compared_with_as_many_digits_as_it_takes(x: Fraction, bits: int) -> None:
    scale = 1 << bits
    # The exponential by another way: a Taylor sum of sixty terms in fractions, off by less than 2^-200.
    total, term = Fraction(0), Fraction(1)
    for n in range(1, 160):
        total += term
        term = term * x / n
    below, above = Fraction(int(total * scale) - 1, scale), Fraction(int(total * scale) + 2, scale)
    if bits <= 160:
        assert not exceeds(below, x * x)
        assert exceeds(above, x * x)


def test_points_are_found_in_all_triangles_that_hold_them() -> None:
    made = laws(1.0)
    bits = SeededBits(3)
    for _ in range(40):
        triangle = bits.randrange(len(made.triangles))
        parts = [bits.randrange(50) for _ in range(2)] + [1]
        x, y = made.point(triangle, parts)
        held = dict(made.holding(x, y))
        assert triangle in held
        for other, weights in held.items():
            assert made.point(other, weights) == (x, y)
            assert made.law(other, weights) == made.law(triangle, parts)
    assert made.holding(Fraction(-1), Fraction(5)) == []


def test_other_shapes_are_refused() -> None:
    good = laws(1.0)
    at, triangles, weights, epsilon = good.vertices, good.triangles, good.weights, good.epsilon
    for parts, word in (
        ((at * (1 << 20), triangles, weights, epsilon), "vertices"),
        ((at, triangles + 5, weights, epsilon), "triangles"),
        ((at, triangles[:, [0, 0, 1]], weights, epsilon), "triangles"),
        ((at, triangles, weights - 1 - weights.max(), epsilon), "weights"),
        ((at, triangles, weights + np.arange(16)[:, None], epsilon), "weights"),
        ((at, triangles, weights, Fraction(0)), "epsilon"),
    ):
        with pytest.raises(InvalidProblemError, match=word):
            PointLaws(*parts)
