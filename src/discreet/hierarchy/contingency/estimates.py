r"""The unbiased estimate of every cell of every region, in floats: the closed form, for tables of any size.

Cells are written in orthonormal bases of the attributes whose first vector is constant (Helmert), so that every
coefficient belongs to one interaction. There a marginal has the coefficients of the cells whose interaction is a part
of it, times :math:`\sqrt{c_q}`; no system is solved. The weights are those of
:mod:`discreet.hierarchy.contingency.weights`, the same as for exact answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.options import instance_of
from discreet.hierarchy.contingency.measure import MeasuredTables
from discreet.hierarchy.contingency.weights import UNIT, interactions, table_weights

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.problem import Domain, Marginal, TableFrame
    from discreet.hierarchy.contingency.weights import TableWeights

_MAX_NUMBERS_AT_ONCE = 1 << 20
"""Numbers that are transformed together: they stay in a processor's cache."""


@final
class InteractionBasis:
    """The orthonormal change of basis of a domain, and which interaction each coefficient belongs to.

    Parameters
    ----------
    domain
        The cells.
    block_size
        Attributes beside one another are transformed together up to so many categories: fewer and larger products.

    Examples
    --------
    >>> from discreet.hierarchy.contingency.problem import Domain
    >>> basis = InteractionBasis(Domain.read({"sex": ["F", "M"], "age": ["0-17", "18+"]}))
    >>> basis.forward(np.array([[1.0, 1, 1, 1]])).round(9).tolist(), basis.subset.tolist()
    ([[2.0, 0.0, 0.0, 0.0]], [0, 2, 1, 3])
    """

    def __init__(self, domain: Domain, *, block_size: int = 64) -> None:
        self.domain = domain
        self.blocks: list[NDArray[np.float64]] = []
        block: NDArray[np.float64] = np.ones((1, 1))
        for size in domain.shape:
            if len(block) * size > block_size and len(block) > 1:
                self.blocks.append(block)
                block = np.ones((1, 1))
            block = np.asarray(np.kron(block, _helmert(size)), dtype=np.float64)
        self.blocks.append(block)
        self.subset = _subset_of_coefficients(domain)

    def forward(self, cells: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the coefficients of rows of cells, ``(rows, cells)`` float64 both; a new array.

        ``O(rows cells)`` times the sum of the sizes of `blocks`.
        """
        return self._apply(cells, transposed=False)

    def backward(self, coefficients: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the cells of rows of coefficients, ``(rows, cells)`` float64 both.

        The inverse of :meth:`forward`, a new array. ``O(rows cells)`` times the sum of the sizes of `blocks`.
        """
        return self._apply(coefficients, transposed=True)

    def _apply(self, rows: NDArray[np.floating], *, transposed: bool) -> NDArray[np.floating]:
        """Multiply each row ``(rows, cells)`` by the basis or its transpose, in batches that bound the memory.

        ``O(rows cells)`` times the sum of the categories.
        """
        result = np.empty(rows.shape)
        many = max(1, _MAX_NUMBERS_AT_ONCE // self.domain.size)
        for first in range(0, len(rows), many):
            part = np.ascontiguousarray(rows[first : first + many], dtype=np.float64)
            result[first : first + many] = self._chunk(part, transposed=transposed)
        return result

    def _chunk(self, part: NDArray[np.floating], *, transposed: bool) -> NDArray[np.floating]:
        """Multiply rows `part` ``(count, cells)`` by one block for each attribute, or by the transposed blocks.

        Same shape. ``O(count cells)`` times the sum of the numbers of categories.
        """
        count, before = len(part), 1
        after = self.domain.size
        made = part
        for block in self.blocks:
            n = len(block)
            after //= n
            matrix = block.T if transposed else block
            # One product where the block runs fastest, else one for each stretch behind it.
            made = (
                made.reshape(-1, n) @ matrix.T
                if after == 1
                else matrix @ made.reshape(count * before, n, after)
            )
            before *= n
        return made.reshape(count, -1)


def _helmert(size: int) -> NDArray[np.float64]:
    """Return an orthonormal basis ``(size, size)`` whose first vector is constant."""
    basis = np.zeros((size, size))
    basis[0] = 1 / math.sqrt(size)
    for row in range(1, size):
        basis[row, :row] = 1.0
        basis[row, row] = -row
        basis[row] /= math.sqrt(row * (row + 1))
    return basis


def _subset_of_coefficients(domain: Domain) -> NDArray[np.int64]:
    """Find for each coefficient, ``(cells,)``, the place of its interaction among :func:`interactions`."""
    places = np.zeros(domain.shape, dtype=np.int64)
    for at, subset in enumerate(interactions(domain)):
        places[tuple(slice(1, None) if one in subset else 0 for one in domain.full)] = at
    return places.reshape(-1)


@final
@dataclass(frozen=True, eq=False)
class Upward:
    """The estimates of each region from all that was measured in it and below it, as coefficients.

    Parameters
    ----------
    basis
        The change of basis.
    weights
        The weights.
    means
        ``(n_nodes, n_cells)`` coefficients of the upward values.
    """

    basis: InteractionBasis
    weights: TableWeights
    means: NDArray[np.float64]


def upward(measured: MeasuredTables, *, look_below: bool = True) -> Upward:
    """Estimate each region from its subtree: the mean of its marginals, then the pass up.

    Without `look_below` the means are those of each region's own measurements, and a public total is not used.

    Parameters
    ----------
    measured
        Noisy marginals.
    look_below
        Whether a region's estimate uses the measurements of the regions below it.

    Raises
    ------
    InvalidProblemError
        Without `look_below`, where a level does not measure its cells.

    Complexity
    ----------
    O(n N) for the passes and O(n N sum of block sizes) for the transforms, with n regions and N cells.
    """
    frame = measured.frame
    weights = table_weights(measured)
    basis = InteractionBasis(frame.domain)
    means = _own_means(measured, weights, basis)
    theta = (weights.theta / UNIT).T.copy()
    from discreet.hierarchy.contingency.kernels import passes

    tree = frame.tree
    if not look_below:
        if not theta.all():
            levels = "the cells on every level, where levels below are not looked at"
            raise InvalidProblemError("marginals", levels, "none on some")
        own = weights.precision * weights.theta / UNIT
        return Upward(basis, replace(weights, precision=own), means)
    if frame.total is not None:
        # As in exact answers: the public total is all that is believed of the root's.
        means[0, 0] = frame.total / math.sqrt(frame.domain.size)
    passes.up(tree.child_start, means, theta, basis.subset)
    return Upward(basis, weights, means)


def combine(
    own: tuple[NDArray[np.float64], NDArray[np.float64]],
    below: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]],
    subset: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate a region from its own measurements and the estimates of the regions below it, as machines send them.

    Linear in the cells for each region below, of which there must be one at least, all with positive precisions.

    Parameters
    ----------
    own
        ``(cells,)`` coefficients of the region's own measurements, and ``(interactions,)`` their precision.
    below
        The same of each region below, from its subtree.
    subset
        The interaction of each coefficient.

    Returns
    -------
    tuple
        The same of the region, from its subtree.

    Examples
    --------
    >>> one = np.array([4.0]), np.array([1.0])
    >>> two = np.array([1.0]), np.array([2.0])
    >>> mean, precision = combine(one, [two, two], np.array([0]))
    >>> float(mean[0]), float(precision[0])
    (3.0, 2.0)
    """
    sums, spread = np.zeros_like(own[0]), np.zeros_like(own[1])
    for mean, precision in below:
        sums += mean
        spread += 1 / precision
    precision_of_sum = own[1] + 1 / spread
    part = (own[1] / precision_of_sum)[subset]
    return part * own[0] + (1 - part) * sums, precision_of_sum


def estimate(
    measured: MeasuredTables, *, zeros: Literal["held", "free"] = "held"
) -> NDArray[np.float64]:
    """Estimate every cell of every region by generalized least squares: unbiased, consistent, and of either sign.

    As :func:`upward`, and as much again for the way down; with zeros held as ``exact.estimate_held``.

    Parameters
    ----------
    measured
        The measurements.
    zeros
        ``"held"`` for least squares among tables that are 0 in structural zeros; ``"free"`` leaves these out of the
        fit, which keeps the closed form for domains of any size. Alike where there are none.

    Returns
    -------
    ndarray
        ``(n_nodes, n_cells)`` floats.

    Raises
    ------
    InvalidProblemError
        For systems that are too large to hold structural zeros at zero.

    Notes
    -----
    The values are those of :func:`query` up to rounding of floats. They are neither whole nor non-negative, and are
    post-processing of the measurements; whole tables are :func:`discreet.hierarchy.contingency.whole.whole`.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.contingency import CellCounts, Domain, TableFrame
    >>> from discreet.hierarchy.contingency.measure import measure
    >>> shares = {(): ("1/4", "1/4"), (0,): ("1/4", "1/4")}
    >>> frame = TableFrame(Tree.from_paths([("GA",), ("NY",)]), Domain.read({"sex": ["F", "M"]}), shares)
    >>> kept = measure(CellCounts(frame, np.array([[3, 1], [2, 2]])), PureDP(900, neighbors="add-remove-person"))
    >>> estimate(kept).round(6).tolist()
    [[5.0, 3.0], [3.0, 1.0], [2.0, 2.0]]
    """
    from discreet.hierarchy.contingency.exact import estimate_held
    from discreet.hierarchy.contingency.kernels import passes
    from discreet.hierarchy.contingency.query import holds_zeros

    instance_of(measured, MeasuredTables, "measured", "MeasuredTables")
    if holds_zeros(measured.frame.domain, zeros):
        return estimate_held(measured)
    made = upward(measured)
    tree = measured.frame.tree
    beta = (made.weights.beta / UNIT).T.copy()
    passes.down(tree.child_start, made.means, beta, made.basis.subset)
    cells = made.basis.backward(made.means)
    return np.asarray(cells, dtype=np.float64)


def _own_means(
    measured: MeasuredTables, weights: TableWeights, basis: InteractionBasis
) -> NDArray[np.float64]:
    """Return the weighted mean of the measured marginals of each region as coefficients, ``(regions, cells)`` floats.

    The weights are the region's own, without those of its subtree. ``O(regions cells)`` for each marginal at most.

    `weights` and `basis` are of the domain of `measured`.
    """
    frame = measured.frame
    domain = frame.domain
    means = np.zeros((frame.tree.n, domain.size))
    order = sorted(frame.marginals, key=domain.size_of, reverse=True)
    for q in order:
        parts = (weights.own[q] / UNIT)[frame.strata]
        rows = np.flatnonzero(parts.any(axis=1))
        if not len(rows):
            continue
        if q == domain.full:
            many = max(1, _MAX_NUMBERS_AT_ONCE // domain.size)
            for first in range(0, len(rows), many):
                some = rows[first : first + many]
                made = basis.forward(measured.values[q][some].astype(np.float64))
                means[some] += made * parts[some][:, basis.subset]
            continue
        made = _marginal_coefficients(measured.values[q][rows].astype(np.float64), domain, q)
        places = _places(domain, q)
        made = made / frame.stretch(q)
        means[np.ix_(rows, places)] += made * parts[rows][:, basis.subset[places]]
    return means


def _marginal_coefficients(
    tables: NDArray[np.float64], domain: Domain, q: Marginal
) -> NDArray[np.float64]:
    """Transform a marginal `q` of each region to coefficients of the cells whose interactions are parts of it.

    `tables` and the result are ``(regions, entries of q)`` floats. Linear in them, times the sum of the categories.
    """
    shaped = tables.reshape(len(tables), *domain.shape_of(q))
    for axis, at in enumerate(q, start=1):
        moved = np.tensordot(shaped, _helmert(domain.shape[at]), axes=(axis, 1))
        shaped = np.moveaxis(moved, -1, axis)
    return np.asarray(shaped.reshape(len(tables), -1) / math.sqrt(domain.spread(q)))


def _places(domain: Domain, q: Marginal) -> NDArray[np.int64]:
    """Find the coefficients whose interaction is a part of marginal `q`.

    Int64 ``(entries,)``, in the order of its entries. Linear in the entries.
    """
    first = tuple(slice(None) if at in q else 0 for at in domain.full)
    return np.arange(domain.size).reshape(domain.shape)[first].reshape(-1)


def check_room(frame: TableFrame, free: int, *, bytes_per_cell: int = 64) -> None:
    """Raise InvalidProblemError if the cells of all regions need more memory than is free; no record is read.

    Parameters
    ----------
    frame
        The public facts.
    free
        Bytes that are free.
    bytes_per_cell
        Bytes for each cell of a region: true, noisy and published counts, coefficients, and what is computed with them.
    """
    numbers = frame.tree.n * frame.domain.size
    most = free // bytes_per_cell
    if numbers > most:
        expected = f"at most {printed.count(most)} cells of regions in the memory that is free"
        regions, cells = printed.count(frame.tree.n), printed.count(frame.domain.size)
        got = f"{regions} regions x {cells} cells = {printed.count(numbers)}"
        raise InvalidProblemError("domain", expected, got)
