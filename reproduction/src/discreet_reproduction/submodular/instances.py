"""The instances: crowds U1 to U3, the one on which greedy loses (U4), topics (U5), and those that refute theorems."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.datasets.choices import clustered_similarity, topic_edges
from discreet.submodular import (
    Coverage,
    FacilityLocation,
    PartitionMatroid,
    UniformMatroid,
    WeightedCoverage,
)
from discreet.submodular.objectives.kinds import AdAllocation
from discreet.submodular.objectives.objective import MARGINAL_BITS

if TYPE_CHECKING:
    from discreet.submodular import Matroid, Objective


@final
@dataclass(frozen=True, eq=False)
class Instance:
    """A function and a matroid.

    Parameters
    ----------
    name
        As in tables.
    objective, matroid
        What is maximized, and over what.
    """

    name: str
    objective: Objective
    matroid: Matroid


def crowd(n_clients: int, capacity: int, *, seed: int) -> Instance:
    """U1 (1,000 clients, one place of each part) and U2 (5,000 clients, two of each): 100 places in 10 parts."""
    places = FacilityLocation(clustered_similarity(n_clients, 100, seed=seed))
    matroid = PartitionMatroid(np.arange(100) % 10, [capacity] * 10)
    return Instance(f"{n_clients} clients, {matroid.rank} of 100 places", places, matroid)


def greedy_trap(n_users: int) -> Instance:
    """U4: a and c cover the same 55 % of users, b the others; a or b, and c. Greedy may take a and c.

    Examples
    --------
    >>> greedy_trap(20).objective.value([1, 2])
    20
    """
    most = np.arange(n_users) < round(0.55 * n_users)
    table = np.stack([most, ~most, most], axis=1)
    return Instance(f"{n_users} users, 3 elements", Coverage(table), PartitionMatroid([0, 0, 1], 1))


def topics(n_users: int, n_sources: int, rank: int, *, seed: int) -> Instance:
    """U5: each chosen source spreads one of four topics."""
    users, sources, kinds = topic_edges(n_users, n_sources, 4, seed=seed)
    objective = AdAllocation(users, sources, kinds, n_elements=n_sources, n_agencies=4)
    return Instance(
        f"{n_users} users, 4 topics, {rank} of {n_sources}",
        objective,
        UniformMatroid(n_sources, rank),
    )


def slow_steps(rank: int, steps: int) -> Instance:
    r"""Continuous greedy in T steps of whole bases takes r duplicates in each step, and never the optimum.

    The optimum :math:`o_p` covers slice p of a unit universe; the element :math:`d_{t,p}` of the same part covers the
    points whose t-th coordinate is 1, in all slices, a set of measure a hair more than 1/r; coordinates are
    independent.

    Examples
    --------
    >>> made = slow_steps(2, 2)
    >>> round(made.objective.value([0, 3]) / 2**made.objective.scale_bits, 4)
    1.0
    """
    # Earlier coordinates are a hair likelier, so that all parts take the same duplicate in each step. The hair must be
    # more than what rounding the marginals of all records down takes away.
    hair = max(1e-4, 2.0 ** (steps - MARGINAL_BITS) * 2 * rank**2)
    likely = [(1 + hair * (steps - t)) / rank for t in range(steps)]
    points = list(product((0, 1), repeat=steps))
    measure = [
        float(np.prod([p if one else 1 - p for p, one in zip(likely, point, strict=True)]))
        for point in points
    ]
    records, elements = [], []
    for p, (at, point) in product(range(rank), enumerate(points)):
        record = p * len(points) + at
        # Element 0 of each part is its part of the optimum, element t the t-th duplicate.
        covering = [p * (steps + 1)]
        covering += [q * (steps + 1) + 1 + t for q in range(rank) for t in range(steps) if point[t]]
        records += [record] * len(covering)
        elements += covering
    n = rank * (steps + 1)
    objective = WeightedCoverage(
        records, elements, weights=np.tile(measure, rank) / rank, n_elements=n, scale_bits=30
    )
    matroid = PartitionMatroid(np.repeat(np.arange(rank), steps + 1), 1)
    return Instance(f"r = {rank}, T = {steps}", objective, matroid)


def decoys(rank: int, n_decoys: int) -> Instance:
    """One part with a jewel of value 1 and decoys of 2e-4/r; r - 1 parts of a single element of value 1e-4/r.

    Examples
    --------
    >>> decoys(20, 2000).matroid.rank
    20
    """
    worth = np.full(n_decoys + rank - 1, 1e-4 / rank)
    worth[0], worth[1:n_decoys] = 1.0, 2e-4 / rank
    n = len(worth)
    objective = WeightedCoverage(
        np.arange(n), np.arange(n), weights=worth, n_elements=n, scale_bits=30
    )
    labels = np.concatenate([np.zeros(n_decoys, dtype=np.int64), np.arange(1, rank)])
    return Instance(
        f"r = {rank}, {n_decoys} in part 0", objective, PartitionMatroid(labels, [1] * rank)
    )
