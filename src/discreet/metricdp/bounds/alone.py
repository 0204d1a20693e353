"""Blocks of secrets on their own: what they lose without any constraint between them bounds the whole from below.

Leaving constraints out relaxes the program, and what is left falls apart. The bound is far from tight; decomposition
begins with its prices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import clock
from discreet.core.spaces.adjacency import Adjacency
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.methods.primal_dual import PrimalDual
from discreet.metricdp.part import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.metricdp.part import PartLimits

__all__ = ["prices_of_blocks"]

_GAP = 0.01
"""Gap at which a block's bound is good enough, beside what is lost between blocks."""


def prices_of_blocks(
    part: Part, labels: NDArray[np.int64], limits: PartLimits, *, far: float = np.inf
) -> Multipliers:
    """Price the constraints within blocks, by primal-dual steps on each block.

    Parameters
    ----------
    part
        The whole.
    labels
        ``(n,)`` the block of each secret.
    limits
        Time that is left is divided among the blocks that are left.
    far
        Reports that cost each secret of a block more than so many times what it would pay if reports became less likely
        exponentially with the distance get no prices there, which is right where they need none.

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
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp.part import PartLimits
    >>> space = MetricSpace.grid(1, 4, cell=1, unit="km")
    >>> line = Part(space.distances * 2.0**-space.scale_bits, space.adjacency(1), Fraction(1), None)
    >>> prices = prices_of_blocks(line, np.array([0, 0, 1, 1]), PartLimits())
    >>> bool(len(prices) > 0 and (prices.source // 2 == prices.target // 2).all())
    True
    """
    start = clock()
    blocks = list(_connected(part, labels))
    found = []
    for number, (inside, graph) in enumerate(blocks):
        seconds = limits.seconds
        if seconds is not None:
            left = seconds - (clock() - start)
            seconds = max(0.0, left) / (len(blocks) - number)
        reports = _near(part, inside, far)
        block = Part(part.cost[np.ix_(inside, reports)], graph, part.epsilon, None)
        limited = replace(limits, seconds=seconds, gap=_GAP, offer=None)
        answer = PrimalDual().solve(block, limited)
        if answer is not None and answer.multipliers is not None:
            prices = answer.multipliers.relabel(inside)
            named = Multipliers(reports[prices.report], prices.source, prices.target, prices.value)
            found.append(named)
    return Multipliers.stack(found)


def _near(part: Part, inside: NDArray[np.int64], far: float) -> NDArray[np.int64]:
    """Choose the reports that may need prices in a block."""
    if far == np.inf or part.home is None:
        return np.arange(part.n_reports)
    cost = part.cost[inside]
    decay = np.exp(-0.7 * part.nats(part.paths[inside][:, part.home]))
    paid = (cost * decay).sum(axis=1) / np.maximum(decay.sum(axis=1), 1e-300)
    return np.flatnonzero((cost <= far * paid[:, None]).any(axis=0))


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
