"""A part as a block-angular program along a partition, and constraints that are implied on its boundary.

Every added row is implied by a chain of stated constraints from one secret to another, so that its multiplier can be
restated as prices of stated constraints and the bound of a decomposition holds for the stated problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.lp.benders import AddedRows
from discreet.core.spaces.adjacency import Adjacency
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.methods.direct import LARGEST_EXPONENT, constraint_matrix

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
        """Return the linear program: rows as in :func:`~discreet.metricdp.methods.direct.constraint_matrix`.

        Its ``n k`` variables are the entries of the channel, row by row, each at most 1; costs are divided by
        `scale`. ``O(n k)`` and four entries for each constraint and report.
        """
        from discreet.core.lp import LinearProgram

        matrix, upper = constraint_matrix(self.part, self.edges)
        return LinearProgram(
            (self.part.cost / self.scale).ravel(),
            matrix,
            row_lower=np.where(upper == 0, -np.inf, 1.0),
            row_upper=upper,
            upper=1.0,
        )

    def members(self, block: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the boundary and the internal records of a block: two ascending int64 arrays of secrets of the part.

        `block` counts from 0. ``O(n + constraints)`` at the first call.
        """
        inside, boundary = self.split.labels == block, self.split.boundary
        return np.flatnonzero(inside & boundary), np.flatnonzero(inside & ~boundary)

    def inner_edges(self, block: int) -> Adjacency:
        """Return the constraints that have an internal record of block number `block` at one end or both.

        A graph on all n secrets of the part; ``O(n + constraints)``.
        """
        touched = np.zeros(self.part.n, dtype=np.bool_)
        touched[self.members(block)[1]] = True
        return self.edges.subgraph(np.flatnonzero(touched[self.edges.pairs].any(axis=1)))

    def prices(self, result: BendersResult) -> Multipliers:
        """Return the multipliers of a decomposition as prices of stated constraints, in the scale of the problem.

        `result` has the duals of the program's rows, and of those of :func:`chain_rows`, whose tags price them.
        Linear in what is priced.
        """
        m, k = len(self.edges), self.part.n_reports
        dual = np.maximum(-result.row_duals[: 2 * m * k], 0.0)
        priced = np.flatnonzero(dual)
        ends = np.concatenate([self.edges.pairs, self.edges.pairs[:, ::-1]])[priced // k]
        prices = [Multipliers(priced % k, ends[:, 0], ends[:, 1], dual[priced])]
        for price, value in zip(result.added, result.added_duals.tolist(), strict=False):
            if isinstance(price, partial) and value < 0:
                prices.append(price(-value))
        return Multipliers.stack(prices).scaled(self.scale)


@final
@dataclass(frozen=True, eq=False)
class Paths:
    """Shortest paths of constraints from source secrets, at most 20 nats long.

    Parameters
    ----------
    sources
        ``(s,)``: secrets.
    lengths
        ``(s, n)`` in stored units; infinite without a path.
    before
        ``(s, n)``: last secret but one of each path.
    """

    sources: NDArray[np.int64]
    lengths: NDArray[np.float64]
    before: NDArray[np.int32]

    @classmethod
    def find(cls, edges: Adjacency, sources: NDArray[np.int64], rate: float) -> Paths:
        """Search the shortest paths over `edges` from each of `sources` ``(s,)``, up to the largest finite exponent.

        `rate` is nats a stored unit. A path longer than 20 nats counts as none: its length is infinite. One search by
        Dijkstra for each source.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        i, j = edges.pairs.T
        ends = (np.concatenate([i, j]), np.concatenate([j, i]))
        graph = csr_array((np.tile(edges.lengths.astype(np.float64), 2), ends), (edges.n, edges.n))
        lengths, before = dijkstra(
            graph,
            directed=False,
            indices=sources,
            limit=LARGEST_EXPONENT / rate,
            return_predecessors=True,
        )
        return cls(sources, lengths, before)

    def chains(self) -> dict[tuple[int, int], ConstraintChain]:
        """Return the path between each pair of sources that has one, by its ends in ascending order."""
        return {
            (source, target): ConstraintChain(self, row, target)
            for row, source in enumerate(self.sources.tolist())
            for target in self.sources[row + 1 :].tolist()
            if np.isfinite(self.lengths[row, target])
        }


class ConstraintChain(NamedTuple):
    """One of the paths, from its source to a target, or backward."""

    paths: Paths
    row: int
    target: int
    backward: bool = False

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last secret."""
        ends = int(self.paths.sources[self.row]), self.target
        return ends[::-1] if self.backward else ends

    @property
    def length(self) -> int:
        """Length in stored units."""
        return int(self.paths.lengths[self.row, self.target])

    def price(self, rate: float, report: int, value: float) -> Multipliers:
        r"""Return prices of the constraints of the chain that cancel at all secrets but its ends.

        The first constraint gets `value`, one at distance d from the first secret ``value e^(rate d)``; `rate` is nats
        a stored unit, and all prices are of column `report`.
        """
        nodes = [self.target]
        while nodes[-1] != self.paths.sources[self.row]:
            nodes.append(int(self.paths.before[self.row, nodes[-1]]))
        way = np.array(nodes if self.backward else nodes[::-1])
        apart = self.paths.lengths[self.row, way]
        prices = value * np.exp(rate * np.abs(apart - apart[0])[:-1])
        return Multipliers(np.full(len(prices), report), way[:-1], way[1:], prices)


def chain_rows(layout: Layout, chains: list[ConstraintChain]) -> AddedRows | None:
    """Return the constraints that chains imply, in both directions for all reports, as rows of the master.

    ``None`` without chains, whose ends are boundary records. The tag of a row is the function that converts its
    multiplier to prices of stated constraints. ``O(chains k)``.
    """
    from scipy.sparse import csr_array

    if not chains:
        return None
    rate, k = layout.part.rate, layout.part.n_reports
    both = [*chains, *(chain._replace(backward=True) for chain in chains)]
    place = np.searchsorted(layout.boundary, np.array([chain.ends for chain in both]))
    ratio = np.exp(rate * np.array([chain.length for chain in both]))
    columns = place[:, None, :] * k + np.arange(k)[None, :, None]
    data = np.repeat(np.stack([np.ones_like(ratio), -ratio], axis=1), k, axis=0)
    count = k * len(both)
    matrix = csr_array(
        (data.ravel(), columns.ravel(), 2 * np.arange(count + 1)),
        shape=(count, k * len(layout.boundary)),
    )
    tags = [partial(chain.price, rate, report) for chain in both for report in range(k)]
    return AddedRows(matrix, -np.inf, 0.0, tags)


def inner_pairs(layout: Layout) -> list[ConstraintChain]:
    """Return chains of the pairs of a block's boundary records that are joined through its inside, pruned.

    Left out are pairs that are stated, that are implied by the others, or more than 20 nats apart. With the stated
    constraints of the boundary they imply all others, so that the master's feasible set is the same as with the pairs
    of the paper's H_0, which are all (E7 of the errata). One search by Dijkstra for each boundary record in its block,
    all pairs of a block's boundary in memory, and a prune of them.
    """
    edges = layout.edges
    best: dict[tuple[int, int], ConstraintChain] = {}
    for block in range(layout.split.n_blocks):
        rim, inside = layout.members(block)
        if len(inside) and len(rim) > 1:
            best |= Paths.find(layout.inner_edges(block), rim, layout.part.rate).chains()
    stated = edges.subgraph(np.flatnonzero(layout.split.boundary[edges.pairs].all(axis=1)))
    known = {tuple(pair) for pair in stated.pairs.tolist()}
    new = sorted(pair for pair in best if pair not in known)
    together = Adjacency(
        edges.n,
        np.concatenate([stated.pairs, np.array(new, dtype=np.int32).reshape(-1, 2)]),
        np.concatenate([stated.lengths, np.array([best[p].length for p in new], dtype=np.int64)]),
        edges.scale_bits,
    )
    binding = {tuple(pair) for pair in together.prune().pairs.tolist()}
    return [best[pair] for pair in new if pair in binding]
