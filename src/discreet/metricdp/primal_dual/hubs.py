"""Hubs between the secrets, for lengths that are nearly those of paths on a tree, as in taxonomies.

Such a space has no sparse spanner of its secrets. But a column that keeps its ratios on the secrets has values at the
inner nodes of the tree with which it keeps them on every edge, so that the edges stand for all pairs. A hub is a secret
without a cost and without a row sum. Prices of edges become prices of pairs, and nothing is claimed of hubs.
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


@final
@dataclass(frozen=True, eq=False)
class HubProgram:
    """A program with hubs after its secrets.

    Parameters
    ----------
    near
        The program without hubs.
    graph
        Edges of the tree, in the units of the lengths.
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
        """Convert prices of edges to prices of pairs, with secrets numbered in the original order.

        What prices add to the bracket of a secret is a demand, what they take a supply; demands are met by the nearest
        supplies. Linear in the prices and in the nodes of each report. `prices` has reports in the original order.
        """
        from discreet.metricdp.kernels.brackets import pair_demands

        near, nodes = self.near, len(self.depth)
        n, k = near.stated_cost.shape
        nats = np.asarray(self.rate * self.depth, dtype=float)
        growth = np.exp(np.abs(nats[prices.source] - nats[prices.target]))
        place = nodes * prices.report.astype(int)
        gain = np.bincount(place + prices.source, prices.value, nodes * k)
        drain = np.bincount(place + prices.target, growth * prices.value, nodes * k)
        demand = np.asarray(gain - drain, dtype=float).reshape(k, nodes)[:, :n]
        pairs = [np.empty(n * k, dtype) for dtype in (np.int32, np.int32, np.int32, float)]
        count = pair_demands(demand, self.order, self.first, nats, *pairs)
        return Multipliers(*(column[:count] for column in pairs)).relabel(near.secrets)


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
    n, depth = len(lengths), lengths[0].astype(float)
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
