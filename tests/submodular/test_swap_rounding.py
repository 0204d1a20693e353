"""Rounding: bases come out, with the right marginals, losing nothing in expectation; exactly, over all coins."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.submodular import Coverage, GraphicMatroid, PartitionMatroid, UniformMatroid
from discreet.submodular.draws.covering import covering, exact_marginals, pipage, ranks, set_values
from discreet.submodular.draws.fractional import swap_round
from discreet.submodular.matroids.base import Matroid
from discreet.testing import Law, enumerate_law

CASES: list[tuple[Matroid, list[list[int]], list[int]]] = [
    (UniformMatroid(4, 2), [[0, 1], [2, 3], [0, 3]], [1, 1, 1]),
    (UniformMatroid(4, 2), [[0, 1], [2, 3]], [3, 1]),
    (PartitionMatroid([0, 0, 1, 1], 1), [[0, 2], [1, 3], [0, 3]], [2, 1, 1]),
    (
        GraphicMatroid(4, [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]]),
        [[0, 1, 2], [3, 4, 0], [1, 2, 3]],
        [1, 1, 1],
    ),
]


def shares(bases: list[list[int]], weights: list[int], n: int) -> list[Fraction]:
    total = sum(weights)
    return [
        Fraction(sum(w for base, w in zip(bases, weights, strict=True) if e in base), total)
        for e in range(n)
    ]


def chance(law: Law, e: int) -> Fraction:
    """How likely an element is in the base."""
    bases: dict[Any, Fraction] = dict(law.masses)
    return sum((p for base, p in bases.items() if e in base), Fraction(0))


def mean(law: Law, values: list[int]) -> Fraction:
    return sum(
        (p * values[sum(1 << e for e in base)] for base, p in law.masses.items()),  # type: ignore[attr-defined]
        Fraction(0),
    )


def extension(values: list[int], x: list[Fraction]) -> Fraction:
    chance = [Fraction(1)]
    for share in x:
        chance = [p * (1 - share) for p in chance] + [p * share for p in chance]
    return sum((p * v for p, v in zip(chance, values, strict=True)), Fraction(0))


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case[0]))
def test_marginals_are_exact_and_nothing_is_lost_in_expectation(
    case: tuple[Matroid, list[list[int]], list[int]],
) -> None:
    matroid, bases, weights = case
    law = enumerate_law(lambda bits: swap_round(matroid, bases, weights, bits=bits))
    assert law.unexplored == 0
    assert all(
        len(base) == matroid.rank and matroid.is_independent(base)  # type: ignore[arg-type]
        for base in law.masses
    )
    x = shares(bases, weights, matroid.n_elements)
    for e, share in enumerate(x):
        assert chance(law, e) == share
    rng = np.random.default_rng(4)
    below = 0
    for _ in range(5):
        values = set_values(Coverage(rng.random((12, matroid.n_elements)) < 0.4))
        f = extension(values, x)
        assert mean(law, values) >= f
        below += any(values[sum(1 << e for e in base)] < f for base in law.masses)  # type: ignore[attr-defined]
    # Remark 3.2 says that the value is never below f(x); it is, with some probability.
    assert below


@pytest.mark.parametrize("matroid", [case[0] for case in CASES], ids=repr)
def test_pipage_keeps_points_in_expectation(matroid: Matroid) -> None:
    table = ranks(matroid)
    points, parts = covering(matroid, Fraction(1))
    values = set_values(Coverage(np.random.default_rng(1).random((12, matroid.n_elements)) < 0.4))
    for at in range(0, len(points), max(1, len(points) // 6)):
        x = points[at].tolist()
        law = enumerate_law(lambda bits, x=x: pipage(table, x, parts, bits))  # type: ignore[misc]
        assert law.unexplored == 0
        assert all(
            len(base) == matroid.rank and matroid.is_independent(base)  # type: ignore[arg-type]
            for base in law.masses
        )
        assert mean(law, values) >= extension(values, [Fraction(k, parts) for k in x])
        for e, k in enumerate(x):
            assert chance(law, e) >= Fraction(k, parts)


def test_exact_marginals_agree_with_the_definition_and_the_closed_form() -> None:
    reach = Coverage(np.random.default_rng(2).random((20, 5)) < 0.4)
    values = set_values(reach)
    x = [Fraction(1, 4), Fraction(0), Fraction(1), Fraction(1, 2), Fraction(3, 4)]
    found = exact_marginals(values, x)
    f = extension(values, x)
    for e in range(5):
        assert found[e] == extension(values, [*x[:e], Fraction(1), *x[e + 1 :]]) - f
    closed = reach.multilinear_marginals([float(share) for share in x])
    assert closed is not None
    assert [float(w) for w in found] == pytest.approx(closed.tolist(), abs=20 * 2**-20)


def test_a_covering_covers() -> None:
    """Each point of the polytope, here mixtures of independent sets, has a grid point within rho."""
    matroid = PartitionMatroid([0, 0, 1], 1)
    for rho in (Fraction(1), Fraction(1, 2), Fraction(2, 5)):
        points, parts = covering(matroid, rho)
        rng = np.random.default_rng(3)
        mixtures = [np.array([a * p, a * (1 - p), b]) for a, b, p in rng.random((50, 3))]
        for x in mixtures:
            assert np.linalg.norm(points / parts - x, axis=1).min() <= float(rho) + 1e-12
    with pytest.raises(InvalidProblemError, match="rho: expected a radius with at most"):
        covering(UniformMatroid(8, 4), Fraction(1, 10))
    with pytest.raises(InvalidProblemError, match="matroid: expected at most 8 elements"):
        ranks(UniformMatroid(9, 4))


@pytest.mark.parametrize(
    ("bases", "weights", "said"),
    [
        ([[0]], None, "bases: expected bases of UniformMatroid"),
        ([[0, 1, 2]], None, "bases: expected bases of UniformMatroid"),
        ([[0, 1]], [0], "weights: expected a positive integer for each base"),
        ([[0, 1]], [1, 1], "weights: expected a positive integer for each base"),
        (
            [[0, 1], [0, 2]],
            [1.9, 1],
            "weights: expected a positive integer for each base, got float",
        ),
        ([], None, "weights: expected a positive integer for each base"),
    ],
)
def test_nonsense_is_refused(bases: list[list[int]], weights: list[Any] | None, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        swap_round(UniformMatroid(3, 2), bases, weights)


def test_a_matroid_that_is_none_is_found_out() -> None:
    """Two sets that no exchange joins."""

    class Broken:
        n_elements, rank = 4, 2

        def is_independent(self, chosen: set[int]) -> bool:
            return sorted(chosen) in ([0, 1], [2, 3])

    with pytest.raises(InvalidProblemError, match="the exchange property"):
        swap_round(Broken(), [[0, 1], [2, 3]])  # type: ignore[arg-type] # on purpose
