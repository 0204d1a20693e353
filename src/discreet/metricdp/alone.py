"""Blocks of secrets on their own: what they lose without any constraint between them bounds the whole from below."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.adjacency import Adjacency
from discreet.metricdp.bound import Multipliers
from discreet.metricdp.part import Part
from discreet.metricdp.primaldual import PrimalDual

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.metricdp.part import Limits

__all__ = ["prices_of_blocks"]

_GAP = 0.01
"""Gap at which a block's bound is good enough, beside what is lost between blocks."""


def prices_of_blocks(part: Part, labels: NDArray[np.int64], limits: Limits) -> Multipliers:
    """Price the constraints within blocks, by primal-dual steps on each block.

    Parameters
    ----------
    part
        The whole.
    labels
        ``(n,)`` the block of each secret.
    limits
        Time that is left is divided among the blocks that are left.

    Returns
    -------
    Multipliers
        Prices of stated constraints, secrets numbered as in `part`.

    Complexity
    ----------
    That of :class:`~discreet.metricdp.PrimalDual` for each block.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> from discreet.core.metric import MetricSpace
    >>> from discreet.metricdp.part import Limits
    >>> space = MetricSpace.grid(1, 4, cell=1, unit="km")
    >>> line = Part(space.distances * 2.0**-space.scale_bits, space.adjacency(1), Fraction(1), None)
    >>> prices = prices_of_blocks(line, np.array([0, 0, 1, 1]), Limits())
    >>> bool(len(prices) > 0 and (prices.source // 2 == prices.target // 2).all())
    True
    """
    start = time.perf_counter()
    blocks = list(_connected(part, labels))
    found = []
    for number, (inside, graph) in enumerate(blocks):
        seconds = limits.seconds
        if seconds is not None:
            left = seconds - (time.perf_counter() - start)
            seconds = max(0.0, left) / (len(blocks) - number)
        block = Part(part.cost[inside], graph, part.epsilon, None)
        limited = replace(limits, seconds=seconds, gap=_GAP, offer=None)
        answer = PrimalDual().solve(block, limited)
        if answer is not None and answer.multipliers is not None:
            found.append(answer.multipliers.relabel(inside))
    return Multipliers.stack(found)


def _connected(
    part: Part, labels: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], Adjacency]]:
    """Take the connected pieces of blocks, with the constraints inside."""
    stated = part.constraints
    i, j = stated.pairs.T
    within = stated.subgraph(np.flatnonzero(labels[i] == labels[j]))
    place = np.zeros(part.n, dtype=np.int64)
    for piece in range(int(within.components.max()) + 1):
        inside = np.flatnonzero(within.components == piece)
        if len(inside) < 2:
            continue
        place[inside] = np.arange(len(inside))
        edges = np.flatnonzero(within.components[within.pairs[:, 0]] == piece)
        ends = place[within.pairs[edges]].astype(np.int32)
        yield inside, Adjacency(len(inside), ends, within.lengths[edges], within.scale_bits)
