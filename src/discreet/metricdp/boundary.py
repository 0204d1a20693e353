"""A part as a block-angular program along a partition, and constraints that are implied on its boundary.

Every added row is implied by a path of stated constraints from one secret to another, so that its multiplier can be
restated as prices of stated constraints and the bound of a decomposition holds for the stated problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.lp.benders import AddedRows
from discreet.core.spaces.adjacency import Adjacency
from discreet.metricdp.bounds.bound import Multipliers, route_demands
from discreet.metricdp.methods.direct import (
    LARGEST_EXPONENT,
    channel_program,
    constraint_matrix,
    edge_prices,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.lp import LinearProgram
    from discreet.core.lp.benders import BendersResult
    from discreet.metricdp.blocks import Partition
    from discreet.metricdp.part import Part


@final
@dataclass(frozen=True, eq=False)
class Layout:
    """A part and a partition of it, as a block-angular program.

    Parameters
    ----------
    part
        The part to design.
    split
        The partition, on the constraints of the program.
    scale
        Divisor of the costs, since tolerances are absolute.
    """

    part: Part
    split: Partition
    scale: float

    @property
    def edges(self) -> Adjacency:
        """Constraints of the program."""
        return self.split.constraints

    @cached_property
    def boundary(self) -> NDArray[np.int64]:
        """The boundary records; their rows of the channel are the master's variables, in this order."""
        return np.flatnonzero(self.split.boundary)

    @property
    def columns(self) -> NDArray[np.int64]:
        """Block of each variable of the program, ``(n k,)``, -1 for the master's."""
        owner = np.where(self.split.boundary, -1, self.split.labels)
        return np.repeat(owner, self.part.n_reports)

    def program(self) -> LinearProgram:
        """Return the linear program of :func:`~discreet.metricdp.methods.direct.channel_program`."""
        return channel_program(self.part, self.edges, self.scale, upper=1.0)

    def prices(self, result: BendersResult) -> Multipliers:
        """Return the multipliers of a decomposition as prices of stated constraints, in the scale of the problem.

        `result` has the duals of the program's rows, and of those of :func:`implied_rows`, whose tags name their pairs.
        Linear in what is priced.
        """
        value = np.maximum(-result.added_duals, 0.0)
        priced = np.flatnonzero(value)
        tags = np.array(result.added, dtype=int).reshape(-1, 3)
        report, source, target = tags[priced].T
        implied = Multipliers(report, source, target, value[priced])
        dual = np.maximum(-result.row_duals, 0.0)
        stated = edge_prices(self.edges, self.part.n_reports, dual)
        return Multipliers.stack([stated, restate(self.part, implied)]).scaled(self.scale)


def restate(part: Part, prices: Multipliers) -> Multipliers:
    """Convert prices of pairs with a path of at most 20 nats to prices of stated constraints along shortest paths.

    Only the ends of a pair are affected by its prices. The cost is that of
    :func:`~discreet.metricdp.bounds.bound.route_demands`, for a column for each report and source.
    """
    columns, at = np.unique(np.stack([prices.report, prices.source]), axis=1, return_inverse=True)
    lengths = part.paths[prices.source, prices.target]
    demands = np.zeros((part.n, columns.shape[1]))
    np.add.at(demands, (prices.target, at.ravel()), prices.value * np.exp(part.nats(lengths)))
    routed = route_demands(demands, columns[1], part.paths, part.constraints, part.epsilon)
    return Multipliers(columns[0][routed.report], routed.source, routed.target, routed.value)


def implied_rows(layout: Layout, pairs: Adjacency) -> AddedRows | None:
    """Return constraints of `pairs` of boundary records, in both directions for all reports, as rows of the master.

    ``None`` without pairs. The tag of a row is its report, source and target. ``O(pairs k)``.
    """
    if not len(pairs):
        return None
    k = layout.part.n_reports
    ends = np.concatenate([pairs.pairs, pairs.pairs[:, ::-1]])
    rows, _ = constraint_matrix(layout.part, pairs)
    own = (k * layout.boundary[:, None] + np.arange(k)).ravel()
    matrix = rows[: k * len(ends), own]
    tags = [(report, *pair) for pair in ends.tolist() for report in range(k)]
    return AddedRows(matrix, -np.inf, 0.0, tags)


def unstated_pairs(layout: Layout) -> Adjacency:
    """Return the pairs of boundary records that no constraint of the program states, with lengths of shortest paths.

    These are the paper's H_0. Left out are pairs without a path of at most 20 nats. ``O(boundary^2)``.
    """
    part, rim = layout.part, layout.boundary
    i, j = rim[np.stack(np.triu_indices(len(rim), 1))]
    lengths = part.paths[i, j]
    near = (lengths >= 0) & (part.nats(lengths) <= LARGEST_EXPONENT) & (layout.edges.find(i, j) < 0)
    return Adjacency(part.n, np.stack([i, j], axis=1)[near], lengths[near], layout.edges.scale_bits)


def inner_pairs(layout: Layout) -> Adjacency:
    """Return the pairs of :func:`unstated_pairs` within a block that no others imply.

    With the stated constraints of the boundary they imply all others, since a path between two records of the boundary
    leaves it inside a block only, so that the master's feasible set is the same as with H_0 (E7 of the errata). A prune
    of all pairs of a block's boundary.
    """
    edges, labels = layout.edges, layout.split.labels
    unstated = unstated_pairs(layout)
    i, j = unstated.pairs.T
    unstated = unstated.subgraph(np.flatnonzero(labels[i] == labels[j]))
    stated = edges.subgraph(np.flatnonzero(layout.split.boundary[edges.pairs].all(axis=1)))
    together = Adjacency(
        edges.n,
        np.concatenate([stated.pairs, unstated.pairs]),
        np.concatenate([stated.lengths, unstated.lengths]),
        edges.scale_bits,
    )
    return unstated.subgraph(np.flatnonzero(together.prune().find(*unstated.pairs.T) >= 0))
