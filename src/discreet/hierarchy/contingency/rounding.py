r"""Round the tables of the regions below one parent to whole numbers that add up to the parent's.

Cells take their floors and ceilings by their fractions, so that sums over the children stay, and then units move from
child to child while that brings marginals nearer to the fit. No bound is promised for the entry of a
marginal: controlled rounding of marginals that are not nested is NP-hard and not always possible [KGA93]_.
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
    from discreet.hierarchy.contingency.shares import Floats

ONE = 1 << 20
"""Tables are fixed-point numbers of so many units before they are rounded: their sums and floors are exact."""


def as_units(tables: NDArray[np.float64], parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Write non-negative tables in whole units, so that they add up to the parent exactly.

    Raises SolverError if a number would be negative. Linear in the cells.

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


def chain_of(marginals: list[Marginal], domain: Domain) -> list[Marginal]:
    """Return a longest chain of marginals, each part of the next, that ends at the cells.

    Examples
    --------
    >>> from discreet.hierarchy.contingency.problem import Domain
    >>> domain = Domain.read({"sex": ["F", "M"], "age": ["0-17", "18+"]})
    >>> chain_of([(), (0,), (1,), (0, 1)], domain)
    [(), (0,), (0, 1)]
    """
    ordered = sorted({*marginals, domain.full}, key=lambda q: (len(q), q))
    best: dict[Marginal, list[Marginal]] = {}
    for q in ordered:
        below = [best[other] for other in best if set(other) < set(q)]
        best[q] = [*max(below, key=len, default=[]), q]
    return best[domain.full]


def round_root(
    tables: NDArray[np.float64], domain: Domain, chain: list[Marginal], total: int | None
) -> NDArray[np.int64]:
    """Round one table: every entry of a chain of marginals to its floor or ceiling, the largest fractions up.

    Without `total` the sum is rounded, halves up. A sort of the entries of each marginal in the chain.

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
        wanted = domain.project(units[None], q)[0]
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


def round_largest(units: NDArray[np.int64], parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round every cell down or up, up for the children with the largest fractions.

    A stable sort of the children for each cell.

    Parameters
    ----------
    units, parent
        As :func:`as_units` gives and takes them.

    Returns
    -------
    ndarray
        ``(children, cells)`` int64 with the parent's sums.

    Examples
    --------
    >>> round_largest(np.array([[ONE // 2, ONE], [ONE // 4, 0], [ONE // 4, 0]]), np.array([1, 1])).tolist()
    [[1, 1], [0, 0], [0, 0]]
    """
    floors = units // ONE
    order = np.argsort(floors * ONE - units, axis=0, kind="stable")
    rank = np.argsort(order, axis=0)
    return np.asarray(floors + (rank < parent - floors.sum(axis=0)), dtype=np.int64)


def by_exchanges(
    cells: NDArray[np.int64], fit: Floats, task: Siblings, basis: InteractionBasis, passes: int = 4
) -> NDArray[np.int64]:
    r"""Move units of cells between children while that brings the tables nearer to the fitted ones.

    Distances are weighted by the precision of the estimates, in which marginals are; the model of siblings has no say.
    The precision :math:`\sum_S a_S E_S` is :math:`\sum_q v_q M_q^T M_q` with :math:`v_q c_q = \sum_{S \supseteq q}
    (-1)^{|S \setminus q|} a_S`, so that the objective is a weighted sum of squares of the errors of marginals; a unit
    that moves changes one entry of each.

    `cells` are changed in place and returned; no unit goes where a record may not be.

    Parameters
    ----------
    cells
        ``(children, cells)`` whole numbers; changed.
    fit
        ``(children, cells)`` floats.
    task
        The children of one parent.
    basis
        The change of basis in doubles.
    passes
        Over all cells, at most: an end for certain, whatever floats err by. Later ones move next to nothing.

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
    apart = cells - fit
    sizes = np.cumsum([0, *map(domain.size_of, subsets)])
    off = np.concatenate([domain.project(apart, q) for q in subsets], axis=1)
    places = np.stack(
        [first + domain.entries(q) for first, q in zip(sizes.tolist(), subsets, strict=False)]
    )
    kernels.exchange(cells, off, weight, places, task.free, passes, np.empty(len(cells)))
    return cells
