r"""Shrink unbiased estimates block by block: positive-part James-Stein, which no total error of a table is worse for.

In a regular tree all regions of a level have equally many children, and the same noise. With the estimate :math:`m_c`
of each region from its own subtree, the *block* (level, interaction S) is the part :math:`E_S` of :math:`m_c` less its
mean over the siblings; at the root, of :math:`m_c` itself. Under Gaussian noise blocks are independent, and the noise
of a block is alike in all directions, with the variance :math:`1/a` of the precision that all regions of a level share.
So [JS61]_ and, where the factor is cut at 0, [Bar64]_ apply to each block of three dimensions or more, with a target
that is made of other blocks; and the squared error of a marginal of all regions of a level is a sum of those of blocks
with fixed weights. Discrete noise has neither property exactly.

The target of a block is what the region above and smaller interactions imply: a positive table with (about) the cells
of the region above and the marginals of one attribute less, by iterative proportional fitting.

Proposes; checked by `discreet.hierarchy.contingency.verify.verify`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.contingency.systems import Subtrees
from discreet.hierarchy.contingency.weights import interactions
from discreet.hierarchy.contingency.workload import JAMES_STEIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.core.tree import Tree
    from discreet.hierarchy.contingency.estimates import Upward
    from discreet.hierarchy.contingency.problem import Domain, Marginal, TableFrame
    from discreet.hierarchy.contingency.shares import Floats
    from discreet.hierarchy.measure import Noise


_MAX_NUMBERS_AT_ONCE = 1 << 20
"""Cells of regions for which targets are fitted together, at least those of one parent's children: 8 MB a table."""


def check_blocks(frame: TableFrame, noise: Noise, shrink: str | None) -> None:
    """Raise InvalidProblemError if `shrink` is James-Stein's, and blocks lack what its theorem needs.

    That is Gaussian noise, no structural zeros, and regions of a level that are alike. To be called before a charge:
    all of it is public. Linear in the regions.
    """
    if shrink != JAMES_STEIN:
        return
    if noise != "gaussian":
        where = "with epsilon, or rho, whose noise is Gaussian"
    elif not frame.domain.possible.all():
        where = "with structural zeros or coarsened attributes"
    elif max(Subtrees(frame).of) > frame.tree.depth:
        where = "where regions of one level differ in the regions below them or in their noise, as with groups"
    else:
        return
    raise InvalidProblemError("shrink", f"parent or none {where}", shrink)


def shrink_blocks(made: Upward, tree: Tree, *, sweeps: int = 3, least: float = 1e-3) -> None:
    """Shrink the estimates of all regions, block by block, from the root down; the means of `made` change in place.

    They are then consistent estimates of all regions. Blocks with one or two dimensions are left as they are.

    Parameters
    ----------
    made
        Unbiased estimates of a regular tree; see :func:`check_blocks`.
    tree
        The regions.
    sweeps
        Passes of the iterative proportional fitting; any target is sound.
    least
        Least count of an entry in the fitting, which keeps all tables positive.

    Complexity
    ----------
    For each number of attributes two transforms of all regions, and `sweeps` passes over their cells for each marginal
    of one attribute less.
    """
    basis, domain, means = made.basis, made.basis.domain, made.means
    orders = np.array([len(one) for one in interactions(domain)])[basis.subset]
    starts = tree.level_start.tolist()
    for level, (first, end) in enumerate(itertools.pairwise(starts)):
        above = means[starts[level - 1] : first] if level else means[:0]
        own = means[first:end]
        n, each = len(own), len(own) // max(len(above), 1)
        table = np.maximum(basis.backward(above), least)
        model = np.repeat(table / each, each, axis=0) if level else np.ones((1, domain.size))
        step = each * max(1, _MAX_NUMBERS_AT_ONCE // (each * domain.size))
        for order in range(len(domain.shape) + 1):
            at = np.flatnonzero(orders == order)
            target = np.empty((n, len(at)))
            for rows in (slice(start, start + step) for start in range(0, n, step)):
                if order:
                    parents = slice(rows.start // each, rows.stop // each)
                    # Larger interactions, which are not shrunk yet, have no part in these marginals.
                    cells = basis.backward(own[rows])
                    smaller = itertools.combinations(domain.full, order - 1)
                    margins = {q: np.maximum(domain.project(cells, q), least) for q in smaller}
                    for _ in range(sweeps):
                        model[rows] = _rake(model[rows], domain, margins, table[parents], least)
                target[rows] = basis.forward(model[rows])[:, at]
            target, block = (_contrasts(one, len(above)) for one in (target, own[:, at]))
            for place in np.unique(basis.subset[at]).tolist():
                inside = basis.subset[at] == place
                dimension = (n - len(above)) * int(inside.sum())
                precision = float(made.weights.precision[first, place])
                block[:, inside] = james_stein(
                    block[:, inside], target[:, inside], precision, dimension
                )
            if level:
                block += np.repeat(above[:, at] / each, each, axis=0)
            own[:, at] = block


def james_stein(noisy: Floats, target: Floats, precision: float, dimension: int) -> Floats:
    """Shrink a block towards its target by the positive-part factor; leave a block of less than three dimensions.

    Parameters
    ----------
    noisy, target
        The block, of any shape, and its target, which is independent of the noise of the block.
    precision
        One over the variance of the noise in each direction.
    dimension
        Number of these directions.

    Examples
    --------
    >>> james_stein(np.array([4.0, 0.0, 4.0]), np.zeros(3), 0.125, 3).tolist()
    [3.0, 0.0, 3.0]
    >>> james_stein(np.array([3.0, 0.0, 4.0]), np.zeros(3), 0.01, 3).tolist()
    [0.0, 0.0, 0.0]
    """
    if dimension < 3:
        return noisy
    apart = noisy - target
    factor = 1 - (dimension - 2) / max(precision * float((apart**2).sum()), dimension - 2.0)
    return np.asarray(target + factor * apart, dtype=np.float64)


def _contrasts(rows: NDArray[np.floating], parents: int) -> Floats:
    """Subtract from each of `rows` ``(regions, numbers)`` the mean of its siblings; leave the root.

    `parents` are the regions above, 0 for the root. Linear.
    """
    siblings = rows.reshape(parents or 1, len(rows) // (parents or 1), rows.shape[1])
    middle = siblings.mean(axis=1, keepdims=True) if parents else 0.0
    return np.asarray(siblings - middle, dtype=np.float64).reshape(rows.shape)


def _rake(
    tables: Floats, domain: Domain, margins: Mapping[Marginal, Floats], above: Floats, least: float
) -> Floats:
    """Multiply positive tables ``(regions, cells)`` so that they add up to those `above`, then to each of `margins`.

    Linear in the cells for each of them. `above` has no row at the root; no divisor is below `least`.
    """
    if len(above):
        sums = tables.reshape(len(above), -1, domain.size).sum(axis=1)
        each = len(tables) // len(above)
        tables = tables * np.repeat(above / np.maximum(sums, least), each, axis=0)
    for q, margin in margins.items():
        ratio = margin / np.maximum(domain.project(tables, q), least)
        tables = tables * ratio[:, domain.entries(q)]
    return tables
