"""Lower bound from blocks of secrets: the losses of the blocks without the constraints between them.

Leaving constraints out relaxes the program, which then separates into blocks. The bound is far from tight; it is the
start of the decomposition.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import clock
from discreet.core.spaces.adjacency import Adjacency
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.methods.primal_dual import PrimalDual
from discreet.metricdp.part import Part, PartLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def prices_of_blocks(
    part: Part, labels: NDArray[np.int64], limits: PartLimits, *, far: float = np.inf
) -> Multipliers:
    """Compute prices of the constraints within blocks, by primal-dual steps on each block.

    Parameters
    ----------
    part
        The part.
    labels
        ``(n,)``: block of each secret.
    limits
        Limits; the remaining time is divided equally among the remaining blocks, and the relative gap is the default:
        small beside the loss of the bound between blocks.
    far
        Reports get no prices in a block if they cost each of its secrets more than `far` times its mean cost under
        exponential decay. Any such choice is valid.

    Returns
    -------
    Multipliers
        Prices of stated constraints, secrets numbered as in `part`.

    Complexity
    ----------
    As :class:`~discreet.metricdp.PrimalDual` for each block.

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
    blocks = list(_connected_blocks(part, labels))
    by_block = []
    for number, (inside, graph) in enumerate(blocks):
        seconds = limits.seconds
        if seconds is not None:
            remaining = seconds - (clock() - start)
            seconds = max(0.0, remaining) / (len(blocks) - number)
        reports = _near_reports(part, inside, far)
        block = Part(part.cost[np.ix_(inside, reports)], graph, part.epsilon, None)
        block_limits = replace(limits, seconds=seconds, gap=PartLimits.gap, offer=None)
        candidate = PrimalDual().solve(block, block_limits)
        if candidate is not None and candidate.multipliers is not None:
            prices = candidate.multipliers.relabel(inside)
            prices_of_part = Multipliers(
                reports[prices.report], prices.source, prices.target, prices.value
            )
            by_block.append(prices_of_part)
    return Multipliers.stack(by_block)


def _near_reports(part: Part, inside: NDArray[np.int64], far: float) -> NDArray[np.int64]:
    """Return the reports that may need prices in a block of secrets `inside`, ascending; all if `far` is infinite.

    Those are left out that cost each secret more than `far` times its mean cost under exponential decay. ``O(secrets
    reports)``, and all shortest paths.
    """
    if far == np.inf or part.home is None:
        return np.arange(part.n_reports)
    cost = part.cost[inside]
    decay = np.exp(-0.7 * part.nats(part.paths[inside][:, part.home]))
    typical_cost = (cost * decay).sum(axis=1) / np.maximum(decay.sum(axis=1), 1e-300)
    return np.flatnonzero((cost <= far * typical_cost[:, None]).any(axis=0))


def _connected_blocks(
    part: Part, labels: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], Adjacency]]:
    """Yield the connected components of blocks, `labels` ``(n,)``, by the constraints of `part` within blocks.

    Each as the ascending indices of its secrets, and the constraints between them, numbered within. Components of one
    secret are left out. A pass over the constraints for each component.
    """
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
