r"""Hubs between the secrets of a space that has no sparse spanner: inner nodes of a tree, or one in the middle.

A hub is a secret without a cost and without a row sum. Prices of edges with hubs become prices of pairs, and nothing is
claimed of hubs.

Where lengths are nearly those of paths on a tree, as in taxonomies, a column that keeps its ratios on the secrets has
values at the inner nodes with which it keeps them on every edge, so that the edges stand for all pairs.

Words are nearly as far from one another as from their middle twice. With radii :math:`r_i + r_j \ge d_{ij}` a private
column z has the value :math:`h = \max_i e^{-r_i} z_i` there, since :math:`h \le e^{d_{ij} - r_i} z_j \le e^{r_j} z_j`
for all j. So two arcs for each secret stand for all pairs whose radii add up to little more than their distance, and
few arcs are left to be found. Of 1,000 words by their angles, half a nat to the nearest, after 60 CPU seconds: a bound
of .992 without a hub in the middle, and of 1.046 with it; November 2026.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.spaces.adjacency import Adjacency
from discreet.metricdp.bounds.bound import Multipliers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.primal_dual.order import OrderedProgram

_MAX_DILATION, _MAX_NATS = 1.01, 300.0
"""Largest ratio of a path on the tree to the length of a pair, and nats from one secret to another."""

_MAX_NATS_TO_MIDDLE, _ROUNDS_OF_RADII = 2.3, 20
"""Nats of the median radius up to which a hub in the middle has arcs: 500 words took 6.7 CPU seconds to 1 % with it,
and 7.5 without, at 2.0 nats, and 6.3 and 5.3 at 2.7 nats; November 2026. Rounds in which radii are halved."""


@final
@dataclass(frozen=True, eq=False)
class HubProgram:
    """A program with hubs after its secrets, on a tree of both.

    Parameters
    ----------
    near
        The program without hubs.
    graph
        Edges of the tree, and maybe other pairs of secrets, in the units of the lengths.
    depth
        ``(n + hubs,)``: length from the root to each node.
    rate
        Nats per unit of length.
    order, first
        ``(n + hubs,)``: nodes in an order in which those below one come right before it, and where they begin.
    proxies
        ``(n + hubs,)``: each secret itself, and a secret below each hub.
    """

    near: OrderedProgram
    graph: Adjacency
    depth: NDArray[np.int64]
    rate: float
    order: NDArray[np.int64]
    first: NDArray[np.int64]
    proxies: NDArray[np.int64]

    @property
    def homes(self) -> NDArray[np.int64]:
        """Home of each report."""
        return self.near.homes

    @property
    def source(self) -> HubProgram:
        """Lengths between the nodes."""
        return self

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.depth)

    def between(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the lengths of paths between the nodes ``i[t]`` and ``j[t]``, from those of their proxies."""
        leg = self.depth[self.proxies] - self.depth
        apart = self.near.source.between(self.proxies[i], self.proxies[j]) - leg[i] - leg[j]
        # Of a node below the other the proxies may be nearer than that.
        return np.asarray(np.maximum(apart, np.abs(self.depth[i] - self.depth[j])))

    def block(self, secrets: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the costs of some nodes and reports, 0 for hubs."""
        is_secret = secrets < len(self.near.secrets)
        return self.near.block(self.proxies[secrets], reports) * is_secret[:, None]

    def to_pairs(self, prices: Multipliers) -> Multipliers:
        """Convert prices of edges with hubs to prices of pairs, with secrets numbered in the original order.

        What prices add to the bracket of a secret is a demand, what they take a supply; demands are met by the nearest
        supplies. Linear in the prices and in the nodes of each report. `prices` has reports in the original order.
        """
        from discreet.metricdp.kernels.brackets import pair_demands

        near = self.near
        nodes = len(self.depth)
        n, k = near.stated_cost.shape
        is_direct = (prices.source < n) & (prices.target < n)
        direct = prices.take(is_direct)
        prices = prices.take(~is_direct)
        nats = np.asarray(self.rate * self.depth, dtype=float)
        growth = np.exp(np.abs(nats[prices.source] - nats[prices.target]))
        place = nodes * prices.report.astype(int)
        gain = np.bincount(place + prices.source, prices.value, nodes * k)
        drain = np.bincount(place + prices.target, growth * prices.value, nodes * k)
        demand = np.asarray(gain - drain, dtype=float).reshape(k, nodes)[:, :n]
        pairs = [np.empty(n * k, dtype) for dtype in (np.int32, np.int32, np.int32, float)]
        count = pair_demands(demand, self.order, self.first, nats, *pairs)
        paired = Multipliers(*(column[:count] for column in pairs))
        return Multipliers.stack([direct, paired]).relabel(near.secrets)


def with_hubs(
    near: OrderedProgram, rate: float, scale_bits: int, *, least_edge: float = 1e-9
) -> HubProgram | None:
    """Return a program with hubs, its pairs all constrained, or ``None`` if lengths are not nearly those of a tree.

    Lengths are those of a tree if and only if Gromov products with one secret are an ultrametric. Complete linkage
    finds the ultrametric, or else one whose paths are no shorter than lengths. `rate` is nats per unit of length,
    a unit ``2^-scale_bits``. Ends of an edge of at most `least_edge`, in units of the largest length, are one
    node. ``O(n^2)``.
    """
    from scipy.cluster.hierarchy import cophenet, linkage
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import depth_first_order

    lengths = near.lengths
    n = len(lengths)
    depth = lengths[0].astype(float)
    largest = float(depth.max())
    if 2 * rate * largest > _MAX_NATS:
        return None
    i, j = np.triu_indices(n, 1)
    apart, around = lengths[i, j], 2 * largest - depth[i] - depth[j]
    merges = linkage(apart + around, "complete")
    if (cophenet(merges) - around > _MAX_DILATION * apart).any():
        return None
    depth = np.concatenate([depth, largest - merges[:, 2] / 2])
    parent = np.arange(2 * n - 1)
    parent[merges[:, :2].astype(int)] = np.arange(n, 2 * n - 1)[:, None]
    # Hubs at their parents are one with them.
    one = np.where(depth - depth[parent] <= least_edge * largest, parent, np.arange(2 * n - 1))
    one[:n] = np.arange(n)
    while (one != one[one]).any():
        one = one[one]
    nodes = np.unique(one)
    depth = np.rint(depth[nodes]).astype(int)
    parent = np.searchsorted(nodes, one[parent[nodes]])
    root = int(parent.max())
    child = np.flatnonzero(np.arange(len(nodes)) != root)
    ends = np.stack([child, parent[child]], axis=1)
    length = np.maximum(depth[child] - depth[parent[child]], 1)
    graph = Adjacency(len(nodes), np.sort(ends).astype(np.int32), length, scale_bits)
    tree = coo_array((length, (parent[child], child)), shape=(len(nodes), len(nodes)))
    order = depth_first_order(tree, root, return_predecessors=False)[::-1].astype(int)
    size = np.ones(len(nodes), dtype=int)
    for v in order[:-1]:
        size[parent[v]] += size[v]
    first = np.arange(len(nodes)) + 1 - size[order]
    proxies = np.arange(len(nodes))
    proxies[order] = order[first]
    return HubProgram(near, graph, depth, rate, order, first, proxies)


def with_middle(near: OrderedProgram, graph: Adjacency, rate: float) -> HubProgram | None:
    """Return a program with a hub in the middle beside all constraints of a `graph`, or ``None`` if it is too far away.

    Radii are halved towards the least with which no two add up to less than a length [Dress84]_. `rate` is nats per
    unit of length. ``O(n^2)`` for each of some rounds.
    """
    lengths = near.lengths
    n = len(lengths)
    radius = np.full(n, float(lengths.max()) / 2)
    for _ in range(_ROUNDS_OF_RADII):
        radius = (radius + (lengths - radius).max(axis=1)) / 2
    if rate * float(np.median(radius)) > _MAX_NATS_TO_MIDDLE:
        return None
    depth = np.append(np.maximum(np.ceil(radius), 1).astype(int), 0)
    every = np.arange(n + 1)
    spokes = np.stack([every[:n], np.full(n, n)], axis=1).astype(np.int32)
    edges = Adjacency(
        n + 1,
        np.concatenate([graph.pairs, spokes]),
        np.concatenate([graph.lengths, depth[:n]]),
        graph.scale_bits,
    )
    below = np.where(every < n, every, 0)
    return HubProgram(near, edges, depth, rate, every, below, below)
