"""Every matroid keeps the axioms, agrees with its definition, and its mask agrees with its oracle."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.matroids.capacities import LaminarMatroid, PartitionMatroid, UniformMatroid
from discreet.submodular.matroids.derived import Contraction, DirectSum, Dual, Truncation
from discreet.submodular.matroids.representable import (
    GraphicMatroid,
    LinearMatroid,
    TransversalMatroid,
)
from discreet.submodular.matroids.stored import matroid_from_dict
from discreet.testing import assert_matroid

Family = frozenset[frozenset[int]]


def uniform(rng: np.random.Generator) -> Matroid:
    return UniformMatroid(5, int(rng.integers(0, 6)))


def partition(rng: np.random.Generator) -> Matroid:
    labels = np.concatenate([[2], rng.integers(0, 3, 5)])
    return PartitionMatroid(labels, rng.integers(0, 3, 3))


def laminar(rng: np.random.Generator) -> Matroid:
    groups = [[0, 1, 2, 3, 4, 5], [0, 1, 2], [4, 5], [1, 2], [1, 2], [3]]
    return LaminarMatroid(6, groups, rng.integers(0, 4, 6).tolist())


def graphic(rng: np.random.Generator) -> Matroid:
    return GraphicMatroid(4, rng.integers(0, 4, (6, 2)))


def transversal(rng: np.random.Generator) -> Matroid:
    return TransversalMatroid(rng.random((6, int(rng.integers(1, 5)))) < 0.4)


def linear(rng: np.random.Generator) -> Matroid:
    return LinearMatroid(rng.random((6, int(rng.integers(1, 5)))) < 0.5)


PLAIN: list[Callable[[np.random.Generator], Matroid]] = [
    uniform,
    partition,
    laminar,
    graphic,
    transversal,
    linear,
]


def truncation(rng: np.random.Generator) -> Matroid:
    return Truncation(PLAIN[rng.integers(6)](rng), int(rng.integers(0, 4)))


def direct_sum(rng: np.random.Generator) -> Matroid:
    return DirectSum([graphic(rng), UniformMatroid(2, 1)])


def dual(rng: np.random.Generator) -> Matroid:
    return Dual(PLAIN[rng.integers(6)](rng))


def contraction(rng: np.random.Generator) -> Matroid:
    return Contraction(PLAIN[rng.integers(6)](rng), rng.integers(0, 5, rng.integers(0, 3)).tolist())


ALL = [*PLAIN, truncation, direct_sum, dual, contraction]


def family_of(matroid: Matroid) -> Family:
    return assert_matroid(matroid.n_elements, matroid.is_independent)


def subsets(n: int) -> list[frozenset[int]]:
    return [frozenset(s) for k in range(n + 1) for s in itertools.combinations(range(n), k)]


@pytest.mark.parametrize("make", ALL)
@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_axioms_hold_and_the_mask_is_the_oracle(
    make: Callable[[np.random.Generator], Matroid], seed: int
) -> None:
    """A random walk through independent sets sees the same elements fit as the family of all independent sets says."""
    rng = np.random.default_rng(seed)
    matroid = make(rng)
    family = family_of(matroid)
    assert matroid.rank == max(map(len, family))
    grown = matroid.start()
    while True:
        members = frozenset(grown.members)
        expected = [e not in members and members | {e} in family for e in range(matroid.n_elements)]
        assert grown.feasible().tolist() == expected
        if not any(expected):
            break
        misfit = expected.index(False) if False in expected else None
        if misfit is not None:
            with pytest.raises(InvalidProblemError, match="one that keeps the set independent"):
                grown.add(misfit)
        grown.add(int(rng.choice(np.flatnonzero(expected))))
    assert len(grown.members) == matroid.rank


def of_laminar(m: LaminarMatroid, s: frozenset[int]) -> bool:
    return all(len(s & set(g.tolist())) <= c for g, c in zip(m.groups, m.capacities, strict=True))


def of_graphic(m: GraphicMatroid, s: frozenset[int]) -> bool:
    """As many components are lost as edges are taken."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = m.edges[sorted(s)]
    if (ends[:, 0] == ends[:, 1]).any():
        return False
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(m.n_nodes,) * 2)
    return bool(connected_components(graph, directed=False)[0] == m.n_nodes - len(s))


def of_transversal(m: TransversalMatroid, s: frozenset[int]) -> bool:
    slots = range(m.suits.shape[1])
    return any(
        all(m.suits[e, slot] for e, slot in zip(sorted(s), given, strict=True))
        for given in itertools.permutations(slots, len(s))
    )


def of_linear(m: LinearMatroid, s: frozenset[int]) -> bool:
    """No part of the set adds up to nothing."""
    return all(
        np.bitwise_xor.reduce(m.vectors[list(part)], axis=0).any()
        for k in range(1, len(s) + 1)
        for part in itertools.combinations(sorted(s), k)
    )


@pytest.mark.parametrize(
    ("make", "definition"),
    [
        (laminar, of_laminar),
        (graphic, of_graphic),
        (transversal, of_transversal),
        (linear, of_linear),
    ],
)
@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 2**32 - 1))
def test_independent_sets_are_those_of_the_definition(
    make: Callable[[np.random.Generator], Any],
    definition: Callable[[Any, frozenset[int]], bool],
    seed: int,
) -> None:
    matroid = make(np.random.default_rng(seed))
    expected = {s for s in subsets(matroid.n_elements) if definition(matroid, s)}
    assert family_of(matroid) == expected


@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 2**32 - 1))
def test_derived_matroids_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inner = PLAIN[rng.integers(6)](rng)
    family = family_of(inner)
    everything = subsets(inner.n_elements)

    def rank(s: frozenset[int]) -> int:
        return max(len(t & s) for t in family if t <= s)

    whole = frozenset(range(inner.n_elements))
    assert family_of(Dual(inner)) == {s for s in everything if rank(whole - s) == inner.rank}
    assert family_of(Dual(Dual(inner))) == family
    gone = frozenset(rng.integers(0, inner.n_elements, 2).tolist())
    assert family_of(Contraction(inner, gone)) == {
        s for s in everything if not s & gone and rank(s | gone) == len(s) + rank(gone)
    }
    assert family_of(Truncation(inner, 2)) == {s for s in family if len(s) <= 2}
    both = DirectSum([inner, UniformMatroid(2, 1)])
    n = inner.n_elements
    assert family_of(both) == {s | t for s in family for t in [frozenset(), {n}, {n + 1}]}


def test_a_family_that_is_no_matroid_is_rejected() -> None:
    cases: list[tuple[set[tuple[int, ...]], str]] = [
        ({(0,)}, "the empty set is not independent"),
        ({(), (0,), (0, 1)}, r"\[0, 1\] is independent and \[1\] is not"),
        ({(), (0,), (1,), (2,), (1, 2)}, r"\[0\] takes nothing in from \[1, 2\]"),
    ]
    for family, message in cases:
        with pytest.raises(AssertionError, match=message):
            assert_matroid(3, family.__contains__)
    with pytest.raises(InvalidProblemError, match="n_elements: expected 0 to 12, got 13"):
        assert_matroid(13, lambda chosen: not chosen)


def test_the_digest_tells_matroids_apart() -> None:
    made = [
        UniformMatroid(4, 2),
        UniformMatroid(4, 3),
        Truncation(UniformMatroid(4, 3), 2),
        PartitionMatroid([0, 0, 1, 1], 1),
        PartitionMatroid([0, 0, 1, 1], [1, 2]),
        LaminarMatroid(4, [[0, 1]], [1]),
        LaminarMatroid(4, [[0, 1]], [0]),
        GraphicMatroid(3, [[0, 1], [1, 2]]),
        TransversalMatroid([[True], [False]]),
        LinearMatroid([[True], [False]]),
        Dual(UniformMatroid(4, 2)),
        Contraction(UniformMatroid(4, 2), [0]),
        Contraction(UniformMatroid(4, 2), [1]),
        DirectSum([UniformMatroid(4, 2)]),
    ]
    assert len({matroid.digest for matroid in made}) == len(made)
    assert UniformMatroid(4, 2).digest == made[0].digest
    assert repr(made[3]) == "PartitionMatroid(4 elements, rank 2)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformMatroid(0, 0), "n_elements: expected an integer of at least 1"),
        (lambda: UniformMatroid(3, 4), "rank: expected at most 3, got 4"),
        (lambda: UniformMatroid(3, -1), "rank: expected an integer of at least 0, got -1"),
        (lambda: PartitionMatroid([[0]], 1), "labels: expected one group for each element"),
        (lambda: PartitionMatroid([-1, 0], 1), "labels: expected groups numbered from 0, got -1"),
        (lambda: PartitionMatroid([0, 1], [1]), "capacities: expected an integer for each of 2"),
        (lambda: PartitionMatroid([0, 1], [1, -1]), "capacities: expected an integer of at least"),
        (
            lambda: LaminarMatroid(4, [[0, 1], [1, 2]], [1, 1]),
            "groups: expected nested or disjoint groups, got 0 and 1",
        ),
        (lambda: LaminarMatroid(4, [[0, 1]], []), "capacities: expected 1 integers, got 0"),
        (lambda: LaminarMatroid(4, [[4]], [1]), "elements: expected 0 to 3, got 4"),
        (lambda: GraphicMatroid(2, [[0, 2]]), "edges: expected nodes 0 to 1"),
        (lambda: GraphicMatroid(2, [0, 1]), "edges: expected a table of two nodes each"),
        (lambda: TransversalMatroid([[1, 0]]), "suits: expected a table of booleans"),
        (lambda: LinearMatroid([True]), "vectors: expected a table of booleans"),
        (lambda: DirectSum([]), "matroids: expected at least one matroid"),
        (lambda: Truncation(UniformMatroid(3, 2), -1), "rank: expected an integer"),
        (lambda: UniformMatroid(3, 2).is_independent([3]), "elements: expected 0 to 2, got 3"),
        (lambda: UniformMatroid(3, 2).start().add(7), "element: expected 0 to 2, got 7"),
    ],
)
def test_nonsense_is_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        make()


def test_crossing_groups_are_seen_behind_a_third() -> None:
    """Of the last groups of each element only one crosses, and it is hidden under a larger one."""
    with pytest.raises(InvalidProblemError, match="nested or disjoint"):
        LaminarMatroid(5, [[0], [0, 1], [1, 2, 3]], [1, 1, 1])
    with pytest.raises(InvalidProblemError, match="nested or disjoint"):
        LaminarMatroid(6, [[0, 1], [0, 1, 2], [1, 2, 3, 4]], [1, 1, 1])


@pytest.mark.parametrize(
    "stated",
    [
        *({}, {"kind": "uniform"}, {"kind": "dual", "matroid": 3}, 7),
        *({"kind": "direct-sum", "matroids": 5}, {"kind": "linear", "vectors": [[1, 0], [1]]}),
        {"kind": "uniform", "n_elements": [1], "rank": 2},
    ],
)
def test_plain_values_that_are_no_matroid_are_refused(stated: Any) -> None:
    with pytest.raises(InvalidProblemError, match="^matroid: expected a mapping"):
        matroid_from_dict(stated)
