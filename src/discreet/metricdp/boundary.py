"""A part as a block-angular program along a partition, and valid inequalities for its boundary.

Every added row is implied by a chain of stated constraints from one secret to another, so that its multiplier can be
restated as prices of stated constraints and the bound of a decomposition holds for the stated problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.lp.benders import AddedRows
from discreet.core.lp.program import HIGHS
from discreet.core.spaces.adjacency import Adjacency
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.methods.direct import LARGEST_EXPONENT, constraint_matrix
from discreet.metricdp.part import Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.lp import LinearProgram
    from discreet.core.lp.benders import BendersResult
    from discreet.metricdp.blocks import Partition


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
    slack, floor
        Right-hand side of the ratio constraints, and lower bound of every probability; zero in every valid program.
    """

    part: Part
    split: Partition
    scale: float
    slack: float = 0.0
    floor: float = 0.0

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

        Its ``n k`` variables are the entries of the channel, row by row, each from `floor` to 1; costs are divided by
        `scale`. Ratio rows are at most `slack`, and each of the n last rows is 1. ``O(n k)`` and four entries for
        each constraint and report.
        """
        from discreet.core.lp import LinearProgram

        matrix, upper = constraint_matrix(self.part, self.edges)
        lower = np.where(upper == 0, -np.inf, 1.0)
        return LinearProgram(
            (self.part.cost / self.scale).ravel(),
            matrix,
            row_lower=lower,
            row_upper=np.where(upper == 0, self.slack, upper),
            lower=self.floor,
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

    def prices(self, result: BendersResult, rows: Chains | None) -> Multipliers:
        """Return the multipliers of a decomposition as prices of stated constraints, in the scale of the problem.

        `result` has the duals of rows and cuts, `rows` the chains added on the way. Linear in what is priced.
        """
        m, k = len(self.edges), self.part.n_reports
        dual = np.maximum(-result.row_duals[: 2 * m * k], 0.0)
        priced = np.flatnonzero(dual)
        ends = np.concatenate([self.edges.pairs, self.edges.pairs[:, ::-1]])[priced // k]
        prices = [Multipliers(priced % k, ends[:, 0], ends[:, 1], dual[priced])]
        for tag, value in zip(result.added, result.added_duals.tolist(), strict=False):
            if isinstance(tag, _Envelope):
                prices += tag.prices(self.part.rate, value)
            elif rows is not None and isinstance(tag, int) and value < 0:
                prices.append(rows.price(tag, -value))
        return Multipliers.stack(prices).scaled(self.scale)


class Chains:
    """Ratio constraints between boundary records, each implied by a chain of stated ones: rows of the master.

    Parameters
    ----------
    layout
        The decomposition.
    chains
        For each pair the secrets of its chain and their distances from the first one.
    """

    def __init__(
        self, layout: Layout, chains: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    ) -> None:
        self.chains, self.rate, self.n_reports = chains, layout.part.rate, layout.part.n_reports
        self.layout = layout

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.chains)

    def rows(self) -> AddedRows | None:
        """Return the constraints in both directions for all reports, or ``None`` if there are no pairs.

        Row numbers are tags, which :meth:`price` takes. The chains are sorted and oriented in place by their ends, so
        that rows and chains have one order; call this before :meth:`price`. ``O(pairs k)``.
        """
        if not self.chains:
            return None
        layout = self.layout
        place = np.zeros(layout.part.n, dtype=np.int64)
        place[layout.boundary] = np.arange(len(layout.boundary))
        ends = place[np.array([[nodes[0], nodes[-1]] for nodes, _ in self.chains])]
        lengths = np.array([distances[-1] for _, distances in self.chains])
        order = np.lexsort((ends.max(axis=1), ends.min(axis=1)))
        self.chains = [_orient_chain(*self.chains[at]) for at in order.tolist()]
        graph = Adjacency(
            len(layout.boundary), ends[order], lengths[order], layout.edges.scale_bits
        )
        alone = Part(np.zeros((graph.n, self.n_reports)), graph, layout.part.epsilon, None)
        count = 2 * len(graph) * self.n_reports
        matrix = constraint_matrix(alone, graph)[0][:count]
        return AddedRows(matrix, -np.inf, 0.0, range(count))

    def price(self, row: int, value: float) -> Multipliers:
        """Return prices of the constraints of a chain that cancel at all secrets but its ends.

        `row` is the number of a row of :meth:`rows`, `value` its multiplier, not negative. One price for each
        constraint of the chain.
        """
        m, k = len(self.chains), self.n_reports
        nodes, distances = self.chains[row % (m * k) // k]
        if row >= m * k:
            nodes, distances = nodes[::-1], distances[-1] - distances[::-1]
        return _price_chain(nodes, distances, self.rate, row % k, value)


def _orient_chain(
    nodes: NDArray[np.int64], distances: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a chain in the direction from its lower-numbered end to the other.

    `nodes` and `distances`, in stored units from the first node, are ``(length,)``; both are returned, distances
    counted from the new first node.
    """
    return (
        (nodes, distances)
        if nodes[0] < nodes[-1]
        else (nodes[::-1], distances[-1] - distances[::-1])
    )


def _price_chain(
    nodes: NDArray[np.int64], distances: NDArray[np.int64], rate: float, report: int, value: float
) -> Multipliers:
    r"""Price a chain: its first constraint gets `value`, one at distance d from the start gets ``value e^(rate d)``.

    `nodes` and `distances`, in stored units from the first node, are ``(length,)``; `rate` is nats a stored unit.
    Returns ``length - 1`` prices, all of column `report`, each from a node to the next.
    """
    prices = value * np.exp(rate * distances[:-1])
    return Multipliers(np.full(len(prices), report), nodes[:-1], nodes[1:], prices)


@final
@dataclass(frozen=True, eq=False)
class _Paths:
    """Shortest paths of constraints from source secrets, at most 20 nats long."""

    sources: NDArray[np.int64]
    lengths: NDArray[np.float64]
    before: NDArray[np.int32]

    @classmethod
    def find(cls, edges: Adjacency, sources: NDArray[np.int64], rate: float) -> _Paths:
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

    def chain(self, row: int, target: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the secrets of the path from source number `row` to `target`, and their distances from it.

        ``(length,)`` int64 both, distances in stored units. There must be a path: this is not checked.
        """
        nodes = [target]
        while nodes[-1] != self.sources[row]:
            nodes.append(int(self.before[row, nodes[-1]]))
        way = np.array(nodes[::-1])
        return way, self.lengths[row, way].astype(np.int64)


def every_pair(layout: Layout) -> Chains:
    """Return chains for all unconstrained pairs of boundary records of `layout`: the initial cuts H_0 as published.

    Pairs more than 20 nats apart are left out, since their coefficients exceed the precision of solvers. The rows are
    still far more than those of the program (E7 of the errata). A search by Dijkstra for each boundary record.
    """
    boundary = layout.boundary
    paths = _Paths.find(layout.edges, boundary, layout.part.rate)
    known = {tuple(pair) for pair in layout.edges.pairs.tolist()}
    return Chains(
        layout,
        [
            paths.chain(row, target)
            for row, source in enumerate(boundary.tolist())
            for target in boundary[row + 1 :].tolist()
            if np.isfinite(paths.lengths[row, target]) and (source, target) not in known
        ],
    )


def inner_pairs(layout: Layout) -> Chains:
    """Return chains of the pairs of a block's boundary records that are joined through its inside, pruned.

    Left out are pairs that are stated, that are implied by the others, or more than 20 nats apart. With the stated
    constraints of the boundary they imply all others, so that the master's feasible set is the same as with
    :func:`every_pair`. One search by Dijkstra for each boundary record in its block, all pairs of a block's boundary
    in memory, and a prune of them.
    """
    edges = layout.edges
    best: dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for block in range(layout.split.n_blocks):
        rim, inside = layout.members(block)
        if not len(inside) or len(rim) < 2:
            continue
        paths = _Paths.find(layout.inner_edges(block), rim, layout.part.rate)
        for row, source in enumerate(rim.tolist()):
            for target in rim[row + 1 :].tolist():
                if np.isfinite(paths.lengths[row, target]):
                    best[source, target] = paths.chain(row, target)
    stated = edges.subgraph(np.flatnonzero(layout.split.boundary[edges.pairs].all(axis=1)))
    known = {tuple(pair) for pair in stated.pairs.tolist()}
    new = [pair for pair in best if pair not in known]
    lengths = np.array([best[pair][1][-1] for pair in new], dtype=np.int64)
    together = Adjacency(
        edges.n,
        np.concatenate([stated.pairs, np.array(new, dtype=np.int32).reshape(-1, 2)]),
        np.concatenate([stated.lengths, lengths]),
        edges.scale_bits,
    )
    binding = {tuple(pair) for pair in together.prune().pairs.tolist()}
    return Chains(layout, [best[pair] for pair in new if pair in binding])


@final
@dataclass(frozen=True, eq=False)
class _Envelope:
    """An inequality on the boundary implied by an internal record, with the chains that prove it."""

    kind: str
    paths: _Paths
    secret: int
    reports: NDArray[np.int64]
    chosen: NDArray[np.int64]

    def prices(self, rate: float, dual: float) -> list[Multipliers]:
        """Return prices of the chains between the internal record and the boundary record chosen for each report.

        `rate` is nats a unit, `dual` the multiplier of the cut; none where its sign proves nothing. Linear in the
        chains.
        """
        price = -dual if self.kind == "below" else dual
        if price <= 0:
            return []
        prices = []
        for report, row in zip(self.reports.tolist(), self.chosen.tolist(), strict=True):
            nodes, distances = self.paths.chain(row, self.secret)
            if self.kind == "below":
                # z_y <= e^D z_x priced e^-D: all reports of x have the same price, and its row sums to 1.
                prices.append(
                    _price_chain(
                        nodes, distances, rate, report, price * float(np.exp(-rate * distances[-1]))
                    )
                )
            else:
                prices.append(
                    _price_chain(nodes[::-1], distances[-1] - distances[::-1], rate, report, price)
                )
        return prices


class Envelopes:
    r"""Closed-form feasibility cuts: inequalities that an internal record x implies on the boundary of its block.

    For any choice of a boundary record y(k) for each report,

    .. math::

        \sum_k e^{-\epsilon D_{x,y(k)}} z_{y(k),k} \le 1 \le \sum_k e^{\epsilon D_{x,y(k)}} z_{y(k),k},

    since :math:`z_{xk}` lies between and the row of x sums to 1. The most violated one takes the largest, or the least,
    term of each report.

    Parameters
    ----------
    layout
        The decomposition, whose loop numbers the blocks with internal records.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.n_reports = layout.part.n_reports
        self.place = np.zeros(layout.part.n, dtype=np.int64)
        self.place[layout.boundary] = np.arange(len(layout.boundary))
        self.known: list[tuple[NDArray[np.int64], NDArray[np.int64], _Paths | None]] = []
        for block in range(layout.split.n_blocks):
            rim, inside = layout.members(block)
            if len(inside):
                edges = layout.inner_edges(block)
                paths = _Paths.find(edges, rim, layout.part.rate) if len(rim) else None
                self.known.append((rim, inside, paths))

    def __call__(self, block: int, x: NDArray[np.float64]) -> AddedRows | None:
        """Return the violated cuts of a block as rows of the master, or ``None``."""
        rim, inside, paths = self.known[block]
        if paths is None:
            return None
        z = np.maximum(x.reshape(-1, self.n_reports)[self.place[rim]], 0.0)
        factors = np.exp(self.layout.part.rate * paths.lengths[:, inside])
        rows: list[NDArray[np.float64]] = []
        tags: list[_Envelope] = []
        for secret, factor in zip(inside.tolist(), factors.T, strict=True):
            for kind, choice in (("below", _below(z, factor)), ("above", _above(z, factor))):
                if choice is None:
                    continue
                used, chosen, weight = choice
                row = np.zeros((len(self.layout.boundary), self.n_reports))
                row[self.place[rim[chosen]], used] = weight
                rows.append(row.ravel())
                tags.append(_Envelope(kind, paths, secret, used, chosen))
        if not rows:
            return None
        below = np.array([tag.kind == "below" for tag in tags])
        lower, upper = np.where(below, -np.inf, 1.0), np.where(below, 1.0, np.inf)
        return AddedRows(np.array(rows), lower, upper, tags)


_Choice = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.float64]"]
"""Reports; for each of them the position of a boundary record; and the weight of that entry."""


def _below(z: NDArray[np.float64], factor: NDArray[np.float64]) -> _Choice | None:
    """Return the largest of the boundary's lower bounds for each report, or ``None`` if they sum to at most 1.

    `z` ``(boundary, k)`` are entries of the channel, `factor` ``(boundary,)`` bounds a ratio to each, infinite
    without a path. Returns the reports with a positive bound, and the boundary record and coefficient of each,
    ``(reports,)``. Linear in `z`.
    """
    terms = z / factor[:, None]
    chosen = terms.argmax(axis=0)
    largest = terms.max(axis=0)
    if largest.sum() <= 1 + HIGHS.tolerance:
        return None
    used = np.flatnonzero(largest > 0)
    return used, chosen[used], 1 / factor[chosen[used]]


def _above(z: NDArray[np.float64], factor: NDArray[np.float64]) -> _Choice | None:
    """Return the least of the boundary's upper bounds for each report, or ``None`` if they sum to at least 1.

    Arguments are as of :func:`_below`; ``None`` also if no factor is finite. Returns all k reports, and the boundary
    record and coefficient of each, ``(k,)``. Linear in `z`.
    """
    near = np.flatnonzero(np.isfinite(factor))
    terms = z[near] * factor[near, None]
    if not len(near) or terms.min(axis=0).sum() >= 1 - HIGHS.tolerance:
        return None
    chosen = near[terms.argmin(axis=0)]
    return np.arange(z.shape[1]), chosen, factor[chosen]
