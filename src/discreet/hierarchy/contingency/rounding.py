r"""Round the tables of the regions below one parent to whole numbers that add up to the parent's.

The sums over the children of a cell are given. Where the marginals that matter form a chain, such as total, sex, sex
by age, cells, their entries are sums of a laminar family, and the two families together are the rows of a network
matrix: it is totally unimodular, so that *every entry of every marginal* of the chain can be its floor or its ceiling
at once. Such tables are a flow, and are found as one. Marginals that are not nested make a third family; controlled
rounding in three ways is NP-hard and not always possible [KGA93]_, so that cells then take their floors and ceilings
greedily, by the deficits of the children in their marginals: always possible, without a bound for the marginals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import SolverError
from discreet.hierarchy.contingency.weights import interactions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.descent import Siblings
    from discreet.hierarchy.contingency.estimates import InteractionBasis
    from discreet.hierarchy.contingency.problem import Domain, Marginal

__all__ = [
    "ONE",
    "as_units",
    "by_exchanges",
    "chain_of",
    "round_chain",
    "round_greedily",
    "round_root",
]

_MAX_PASSES = 4
"""Later passes move next to nothing."""

ONE = 1 << 20
"""Tables are fixed-point numbers of so many units before they are rounded: their sums and floors are exact."""


def as_units(tables: NDArray[np.float64], parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Write non-negative tables in whole units, so that they add up to the parent exactly.

    Parameters
    ----------
    tables
        ``(children, cells)`` floats, none negative.
    parent
        ``(cells,)`` whole numbers.

    Returns
    -------
    ndarray
        ``(children, cells)`` int64 with sums ``ONE * parent``. Where all children are 0 and the parent is not, they
        have equal parts.

    Examples
    --------
    >>> (as_units(np.array([[1.0, 0.0], [0.5, 0.0]]), np.array([3, 1])) / ONE).tolist()
    [[2.0, 0.5], [1.0, 0.5]]
    """
    sums = tables.sum(axis=0)
    empty = (sums <= 0) & (parent > 0)
    scale = np.where(sums > 0, parent / np.where(sums > 0, sums, 1), 0)
    wanted = tables * scale
    wanted[:, empty] = parent[empty] / len(tables)
    units = np.floor(wanted * ONE).astype(np.int64)
    largest = wanted.argmax(axis=0)
    units[largest, np.arange(units.shape[1])] += ONE * parent - units.sum(axis=0)
    # A float may have been rounded up by more than the largest entry had: it never is, but is made sure of.
    if units.min(initial=0) < 0:
        raise SolverError("rounding", "tables in units that are not negative")
    return units


def chain_of(marginals: list[Marginal], domain: Domain) -> tuple[list[Marginal], bool]:
    """Find a longest chain of marginals, each part of the next, that ends at the cells; tell whether it is all of them.

    Examples
    --------
    >>> from discreet.hierarchy.contingency.problem import Domain
    >>> domain = Domain.read({"sex": ["F", "M"], "age": ["0-17", "18+"]})
    >>> chain_of([(), (0,), (1,), (0, 1)], domain)
    ([(), (0,), (0, 1)], False)
    """
    ordered = sorted({*marginals, domain.full}, key=lambda q: (len(q), q))
    best: dict[Marginal, list[Marginal]] = {}
    for q in ordered:
        below = [best[other] for other in best if set(other) < set(q)]
        best[q] = [*max(below, key=len, default=[]), q]
    chain = best[domain.full]
    return chain, len(chain) == len(ordered)


def round_root(
    tables: NDArray[np.float64], domain: Domain, chain: list[Marginal], total: int | None
) -> NDArray[np.int64]:
    """Round one table: every entry of a chain of marginals to its floor or ceiling, the largest fractions up.

    Parameters
    ----------
    tables
        ``(1, cells)`` floats, none negative.
    domain
        The cells.
    chain
        Marginals, each part of the next, that end at the cells.
    total
        The sum that is given, or ``None``.

    Returns
    -------
    ndarray
        ``(cells,)`` int64.
    """
    units = np.floor(tables[0] * ONE).astype(np.int64)
    if total is not None:
        # Moved where it matters least; the differences are those of floats.
        units[int(units.argmax())] += ONE * total - units.sum()
    above = domain.entries(())
    values = np.array([(int(units.sum()) + ONE // 2) // ONE], dtype=np.int64)
    for q in chain:
        entries = domain.entries(q)
        wanted = np.bincount(entries, weights=None, minlength=domain.size_of(q)) * 0
        np.add.at(wanted, entries, units)
        holder = np.zeros(domain.size_of(q), dtype=np.int64)
        holder[entries] = above
        made = wanted // ONE
        left = values.copy()
        np.subtract.at(left, holder, made)
        rest = wanted - made * ONE
        order = np.lexsort((np.arange(len(rest)), -rest, holder))
        first = np.searchsorted(holder[order], np.arange(len(values)))
        rank = np.empty(len(rest), dtype=np.int64)
        rank[order] = np.arange(len(rest)) - first[holder[order]]
        values = made + (rank < left[holder])
        above = entries
    return values


def round_greedily(
    units: NDArray[np.int64],
    parent: NDArray[np.int64],
    wanted: NDArray[np.float64],
    domain: Domain,
    marginals: list[Marginal],
) -> NDArray[np.int64]:
    """Round every cell down or up, upwards for the children whose marginals are farthest below their targets.

    Parameters
    ----------
    units, parent
        As :func:`as_units` gives and takes them.
    wanted
        ``(children, cells)``: whose marginals are to be met.
    domain
        The cells.
    marginals
        The marginals that matter, beside the cells.

    Returns
    -------
    ndarray
        ``(children, cells)`` int64.
    """
    from discreet.hierarchy.contingency.kernels import descent as kernels

    chosen = marginals or [()]
    entries = np.stack([domain.entries(q) for q in chosen])
    need = np.zeros((len(chosen), len(units), max(map(domain.size_of, chosen))))
    for at, q in enumerate(chosen):
        need[at, :, : domain.size_of(q)] = domain.project(wanted, q)
    out = np.empty(units.shape, dtype=np.int64)
    # Public and the same for all: an order in which neighbors of the domain are far apart.
    order = np.argsort((np.arange(units.shape[1]) * 0x9E3779B1) % (1 << 32), kind="stable")
    kernels.share_out(units, parent, entries, need, order, ONE, out)
    return out


def by_exchanges(
    cells: NDArray[np.int64],
    task: Siblings,
    basis: InteractionBasis,
    *,
    passes: int = _MAX_PASSES,
) -> NDArray[np.int64]:
    r"""Move units of cells between children while that brings the tables nearer to their targets.

    The precision :math:`\sum_S a_S E_S` is :math:`\sum_q v_q M_q^T M_q` with :math:`v_q c_q = \sum_{S \supseteq q}
    (-1)^{|S \setminus q|} a_S`, so that the objective is a weighted sum of squares of the errors of marginals; a unit
    that moves changes one entry of each.

    Parameters
    ----------
    cells
        ``(children, cells)`` whole numbers; changed.
    task
        The children of one parent.
    basis
        The change of basis in doubles.
    passes
        Over all cells, at most.

    Returns
    -------
    ndarray
        ``(children, cells)`` with the same sums over children, and an objective that is not above.

    Complexity
    ----------
    One lookup for each child, cell and interaction a pass.
    """
    from discreet.hierarchy.contingency.kernels import descent as kernels

    domain = basis.domain
    subsets = interactions(domain)
    weight = np.zeros(task.precision.shape)
    for at, q in enumerate(subsets):
        for other, subset in enumerate(subsets):
            if set(q) <= set(subset):
                sign = (-1) ** (len(subset) - len(q))
                weight[:, at] += sign * task.precision[:, other] / domain.spread(q)
    apart = cells - basis.backward(task.targets)
    sizes = np.cumsum([0, *map(domain.size_of, subsets)])
    off = np.concatenate([domain.project(apart, q) for q in subsets], axis=1)
    places = np.stack(
        [first + domain.entries(q) for first, q in zip(sizes.tolist(), subsets, strict=False)]
    )
    kernels.exchange(cells, off, weight, places, task.free, passes, np.empty(len(cells)))
    return cells


def round_chain(
    units: NDArray[np.int64], parent: NDArray[np.int64], domain: Domain, chain: list[Marginal]
) -> NDArray[np.int64]:
    """Round so that every entry of every marginal of a chain is its floor or its ceiling: a flow in a network.

    Parameters
    ----------
    units, parent
        As :func:`as_units` gives and takes them.
    domain
        The cells.
    chain
        Two marginals or more, each part of the next, that end at the cells.

    Returns
    -------
    ndarray
        ``(children, cells)`` int64.

    Notes
    -----
    Nodes are the entries of each child and the cells; an arc carries an entry to those that it is divided into, and a
    child's cell to the cell. Floors are sent first; what is left has capacity 1 on the arcs that are not whole, and a
    supply or demand at each node. The fractional tables are a flow that meets them all, so that a whole one does.
    """
    for near in _DISTANCES:
        rounded = _flow(units, parent, domain, chain, int(near * ONE))
        if rounded is not None:
            return rounded
    raise SolverError("rounding", "a flow that meets every sum")


_DISTANCES = (0.3, 0.1, 0.03, 0.01, 0.001, 0.0)
"""Fractions that are this near to a whole number become that number, if all sums can then be met: the last always."""


def _flow(
    units: NDArray[np.int64],
    parent: NDArray[np.int64],
    domain: Domain,
    chain: list[Marginal],
    near: int,
) -> NDArray[np.int64] | None:
    """Find the flow where entries near to a whole number have to be that number; ``None`` where there is none."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    k, size = units.shape
    # Nodes: the source, the entries of each marginal but the cells, and the cells; then two for supply and demand.
    first, at = [], 1
    for q in chain[:-1]:
        first.append(at)
        at += k * domain.size_of(q)
    cell, n = at, at + size + 2
    supply = np.zeros(n, dtype=np.int64)
    tails, heads, places = [], [], []
    least = units
    for depth, q in enumerate(chain):
        width = domain.size_of(q)
        entries = domain.entries(q)
        child = np.repeat(np.arange(k), width)
        entry = np.tile(np.arange(width), k)
        amounts = domain.project(units, q).reshape(-1)
        rest = amounts % ONE
        least = amounts // ONE + ((rest > ONE - near) & (rest > 0))
        if depth == 0:
            tail = np.zeros(k * width, dtype=np.int64)
        else:
            above = chain[depth - 1]
            holder = np.zeros(width, dtype=np.int64)
            holder[entries] = domain.entries(above)
            tail = first[depth - 1] + child * domain.size_of(above) + holder[entry]
        head = cell + entry if q == domain.full else first[depth] + child * width + entry
        np.subtract.at(supply, tail, least)
        np.add.at(supply, head, least)
        split = np.flatnonzero((rest >= max(near, 1)) & (rest <= ONE - near))
        tails.append(tail[split])
        heads.append(head[split])
        places.append(split)
    supply[0] += int(parent.sum())
    supply[cell : cell + size] -= parent
    gives, takes = np.flatnonzero(supply > 0), np.flatnonzero(supply < 0)
    row = np.concatenate([*tails, np.full(len(gives), n - 2), takes])
    column = np.concatenate([*heads, gives, np.full(len(takes), n - 1)])
    room = np.concatenate(
        [np.ones(sum(map(len, tails)), dtype=np.int64), supply[gives], -supply[takes]]
    )
    graph = coo_array((room.astype(np.int32), (row, column)), shape=(n, n)).tocsr()
    answer = maximum_flow(graph, n - 2, n - 1)
    if int(answer.flow_value) != int(supply[gives].sum()):
        return None
    flow = answer.flow.tocoo()
    used = flow.data > 0
    sent = flow.row[used].astype(np.int64) * n + flow.col[used]
    # No two of these arcs have the same ends.
    least[places[-1]] += np.isin(tails[-1] * n + heads[-1], sent)
    return np.asarray(least.reshape(k, size), dtype=np.int64)
