r"""The weights of the unbiased estimate: one scalar for each interaction of attributes, region and marginal.

With :math:`P_i = J / n_i`, :math:`R_i = I - P_i` and :math:`E_S = \bigotimes_i (R_i \text{ if } i \in S \text{ else }
P_i)`, a marginal :math:`q` that has :math:`c_q` cells an entry satisfies :math:`M_q^T M_q = c_q \sum_{S \subseteq q}
E_S`. So generalized least squares over the marginals of a region splits into a weighted mean for each :math:`S`, with
weights :math:`\omega_{qS} = w_q c_q / \lambda_S`, :math:`\lambda_S = \sum_{q \supseteq S} w_q c_q`; and over the
tree into one fit for each :math:`S` with the scalar weights :math:`\lambda_{rS}`, since regions add up cell by cell:

.. math:: \theta_r = \frac{\lambda_r}{\lambda_r + A_r}, \quad \frac{1}{A_r} = \sum_c \frac{1}{a_c}, \quad
          a_r = \lambda_r + A_r, \quad \beta_c = \frac{A_r}{a_c}.

**Up** :math:`m_r = \theta_r z_r + (1 - \theta_r) \sum_c m_c`; **down** :math:`x_c = m_c + \beta_c (x_r - \sum_d
m_d)`. Any weights with :math:`\sum_q \omega_{qS} = 1` and :math:`\sum_c \beta_c = 1` leave the estimate unbiased and
the regions consistent. So the best ones are rounded to multiples of :math:`2^{-40}` that add up exactly, and variances
are computed for these. The interaction subspaces are those of ResidualPlanner [XHZK23]_, the two passes those of
[HRMS10]_ and of the Census Bureau's generalized least squares [CZ24]_.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.problem import Domain, Marginal

UNIT = 1 << 40
"""Weights are multiples of one in this many."""

MOST_INTERACTIONS = 1 << 10
"""Interactions of a fit, at most: ten attributes have so many."""


@final
@dataclass(frozen=True, eq=False)
class TableWeights:
    """The weights of one fit, in units of ``1 / UNIT``.

    Parameters
    ----------
    subsets
        The interactions, each by the attributes that it is about.
    own
        For each marginal ``(n_strata, n_subsets)``: its part in the mean of a region.
    theta
        ``(n_nodes, n_subsets)``: the part of a region's own mean beside the sum of the regions below it.
    beta
        ``(n_nodes, n_subsets)``: the part of a region in what its parent has more than its children together.
    precision
        ``(n_nodes, n_subsets)``: one over the variance of the estimate of a region from its subtree, for the best
        weights and a question of norm 1.
    """

    subsets: tuple[Marginal, ...]
    own: Mapping[Marginal, NDArray[Any]]
    theta: NDArray[Any]
    beta: NDArray[Any]
    precision: NDArray[Any]


def parts_of(marginal: Marginal) -> list[Marginal]:
    """List all subsets of the attributes of a marginal, smallest first; ``2^attributes`` of them."""
    sizes = range(len(marginal) + 1)
    return [one for size in sizes for one in itertools.combinations(marginal, size)]


def interactions(domain: Domain, within: Marginal | None = None) -> tuple[Marginal, ...]:
    """List all subsets of the attributes of the marginal `within`, smallest first; of all attributes for ``None``.

    ``2^attributes`` of them.

    Raises
    ------
    InvalidProblemError
        For more than :data:`MOST_INTERACTIONS`.
    """
    attributes = domain.full if within is None else within
    if 1 << len(attributes) > MOST_INTERACTIONS:
        expected = f"at most {MOST_INTERACTIONS.bit_length() - 1} attributes"
        raise InvalidProblemError("domain", expected, len(attributes))
    return tuple(parts_of(attributes))


def table_weights(measured: MeasuredTables) -> TableWeights:
    """Return the weights for the noise of a measurement, best up to ``2^-40``; they depend on public facts alone.

    They are int64 in units of ``2^-40``, but `precision`, which is in floats. Raises InvalidProblemError for more
    than ten attributes. Linear in the regions and marginals, for each of ``2^attributes`` interactions.

    Parameters
    ----------
    measured
        What was measured; only its frame and scales are looked at.
    """
    frame = measured.frame
    subsets = interactions(frame.domain)
    raw = {q: np.zeros((frame.n_strata, len(subsets))) for q in frame.marginals}
    for q, table in raw.items():
        covers = np.array([frame.informs(q, subset) for subset in subsets])
        spread = frame.domain.spread(q) * frame.stretch(q) ** 2
        for stratum in range(frame.n_strata):
            variance = measured.variance(q, stratum)
            if variance is not None:
                table[stratum, covers] = float(spread / variance)
    precision = sum(raw.values(), np.zeros((frame.n_strata, len(subsets))))
    own = {q: table / np.where(precision == 0, 1.0, precision) for q, table in raw.items()}
    theta, beta, total = _tree_weights(measured, precision[frame.strata])
    if frame.total is not None:
        # Known exactly: the total of the root is all that is believed of it.
        theta[0, subsets.index(())] = 1.0
    return TableWeights(
        subsets,
        _whole_parts(own, precision),
        np.rint(theta * UNIT).astype(np.int64),
        _shares_of_children(measured, beta),
        total,
    )


def _tree_weights(
    measured: MeasuredTables, precision: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return theta, beta and total precision, ``(nodes, interactions)`` each, from the precisions of the measurements.

    `precision` has the same shape. Theta is a region's own share in its mix with those below it, beta its share in
    what its parent has more. Linear.
    """
    tree = measured.frame.tree
    total, theta, beta = precision.copy(), np.ones(precision.shape), np.ones(precision.shape)
    starts = tree.level_start.tolist()
    for level in range(tree.depth, 0, -1):
        first, stop = starts[level], starts[level + 1]
        parents = tree.parents[first:stop]
        inner = np.unique(parents)
        below = 1 / sum_below(1 / total[first:stop], parents)
        theta[inner] = precision[inner] / (precision[inner] + below)
        total[inner] = precision[inner] + below
        beta[first:stop] = below[np.searchsorted(inner, parents)] / total[first:stop]
    return theta, beta, total


def sum_below(rows: NDArray[Any], parents: NDArray[np.int64]) -> NDArray[Any]:
    """Return the sum of each parent's rows, parents in order; siblings have to be adjacent. Exact for exact entries."""
    firsts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(parents))])
    sums: NDArray[Any] = np.add.reduceat(rows, firsts, axis=0)
    return sums


def divided(numbers: NDArray[Any], by: int) -> NDArray[Any]:
    """Return exact quotients as an array of fractions of the same shape."""
    quotients = np.empty(numbers.shape, dtype=object)
    quotients.reshape(-1)[:] = [Fraction(one) / by for one in numbers.reshape(-1)]
    return quotients


def _whole_parts(
    own: Mapping[Marginal, NDArray[np.float64]], precision: NDArray[np.float64]
) -> dict[Marginal, NDArray[np.int64]]:
    """Round the parts of marginals to integers that add up to `UNIT`; the largest one takes the remainder.

    `own` has an array of floats for each marginal, `precision` one of the same shape: 0 where nothing is measured,
    and all parts are 0. Linear in the arrays.
    """
    parts = {q: np.floor(table * UNIT).astype(np.int64) for q, table in own.items()}
    stacked = np.stack(list(own.values()))
    largest = stacked.argmax(axis=0)
    left = np.where(precision > 0, UNIT - sum(parts.values()), 0)
    for at, q in enumerate(own):
        parts[q] += np.where(largest == at, left, 0)
    return parts


def _shares_of_children(measured: MeasuredTables, beta: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round the parts of siblings, ``(nodes, interactions)``, to integers that add up to `UNIT`; same shape.

    The first sibling takes the remainder. `beta` has the parts as floats, 1 in all for the children of a parent.
    Linear.
    """
    tree = measured.frame.tree
    parts = np.floor(beta * UNIT).astype(np.int64)
    parts[0] = UNIT
    starts = tree.level_start.tolist()
    for level in range(1, tree.depth + 1):
        first, stop = starts[level], starts[level + 1]
        parents = tree.parents[first:stop]
        firsts = first + np.concatenate([[0], 1 + np.flatnonzero(np.diff(parents))])
        parts[firsts] += UNIT - sum_below(parts[first:stop], parents)
    return parts
