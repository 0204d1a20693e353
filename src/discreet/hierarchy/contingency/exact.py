r"""Exact answers: estimates as fractions, and the variance of their noise, for the weights as they are stored.

For a marginal :math:`T` only interactions :math:`S \subseteq T` matter. The mean of a region is
:math:`\sum_q \omega_{qS} R_S M_S y_q` divided by the cells of an entry of :math:`S`, where :math:`R_S` subtracts means
along the attributes of :math:`S`; times :math:`N_S = \prod_{i \in S} n_i` it is a whole number of weight units. Up and
down the tree each level multiplies the denominator by one unit, so that everything is done in integers.

The variance follows the same recursion. With :math:`m_r` the upward value, :math:`x_r = \alpha_r m_r + B_r` where
:math:`B_r` is independent of :math:`m_r`, and

.. math:: \alpha_c = 1 - \beta_c (1 - \alpha_r (1 - \theta_r)), \quad
   \operatorname{Var} B_c = \beta_c^2 \bigl[ (1 - \alpha_r (1 - \theta_r))^2 \sum_{d \ne c} \operatorname{Var} m_d
   + \alpha_r^2 \theta_r^2 \operatorname{Var} z_r + \operatorname{Var} B_r \bigr] .

The root has :math:`\alpha = 1, B = 0`. Every coefficient of a region's own mean in any :math:`x_c` is between -1 and 1:
:math:`\theta, 1 - \theta, \alpha, \beta` and :math:`1 - \alpha (1 - \theta)` all are between 0 and 1.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import count
from discreet.hierarchy.contingency.weights import (
    divided,
    interactions,
    sum_below,
    table_weights,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.problem import Domain, Marginal
    from discreet.hierarchy.contingency.weights import TableWeights

__all__ = ["ExactFit", "centered"]

_MOST_NUMBERS = 1 << 22
"""Numbers of one exact fit, at most: a big integer for each takes some hundred bytes."""


def centered(tables: NDArray[Any], domain: Domain, marginal: Marginal) -> NDArray[Any]:
    """Subtract the mean along every attribute, times the number of categories: whole numbers stay whole.

    Parameters
    ----------
    tables
        ``(rows, entries)`` of Python integers.
    domain, marginal
        What the entries are.

    Examples
    --------
    >>> from discreet.hierarchy.contingency.problem import Domain
    >>> domain = Domain.read({"a": ["x", "y"], "b": ["p", "q"]})
    >>> centered(np.array([[1, 2, 3, 5]], dtype=object), domain, (0, 1)).tolist()
    [[1, -1, -1, 1]]
    """
    shape = domain.shape_of(marginal)
    shaped = tables.reshape(len(tables), *shape)
    for axis, size in enumerate(shape, start=1):
        shaped = size * shaped - shaped.sum(axis=axis, keepdims=True)
    found: NDArray[Any] = shaped.reshape(len(tables), -1)
    return found


@final
class ExactFit:
    """The estimate of one marginal for all regions, in integers.

    Parameters
    ----------
    measured
        The measurements.
    marginal
        The attributes that questions are about.
    exact
        Whether to take the best weights themselves, not rounded to ``2^-40``.

    Complexity
    ----------
    O(n) operations on big integers for each entry of each interaction.
    """

    def __init__(
        self, measured: MeasuredTables, marginal: Marginal, *, exact: bool = False
    ) -> None:
        frame = measured.frame
        subsets = interactions(frame.domain, marginal)
        self.measured, self.marginal = measured, marginal
        self.weights: TableWeights = table_weights(measured, subsets, exact=exact)
        self.scale = self.weights.unit ** (1 + 2 * frame.tree.depth) * frame.domain.size_of(
            marginal
        )
        self._values: list[NDArray[Any]] | None = None
        self._passed: dict[int, list[Fraction]] = {}

    @property
    def subsets(self) -> tuple[Marginal, ...]:
        """The interactions that matter."""
        return self.weights.subsets

    def answers(self, cells: NDArray[Any], nodes: NDArray[np.int64]) -> NDArray[Any]:
        """Answer linear questions about the entries of the marginal, as fractions.

        Parameters
        ----------
        cells
            ``(questions, entries)`` of Python integers.
        nodes
            The regions.

        Returns
        -------
        ndarray
            ``(len(nodes), questions)`` of :class:`~fractions.Fraction`.

        Raises
        ------
        InvalidProblemError
            For more numbers than an exact fit is good for; see
            :func:`discreet.hierarchy.contingency.estimates.estimate`.
        """
        frame = self.measured.frame
        numbers = frame.tree.n * sum(frame.domain.size_of(subset) for subset in self.subsets)
        if numbers > _MOST_NUMBERS:
            expected = f"at most {count(_MOST_NUMBERS)} numbers for an exact answer; estimates have no limit"
            raise InvalidProblemError("by", expected, count(numbers))
        if self._values is None:
            self._values = [self._solve(at) for at in range(len(self.subsets))]
        domain = self.measured.frame.domain
        found = np.zeros((len(nodes), len(cells)), dtype=object)
        for values, subset in zip(self._values, self.subsets, strict=True):
            found += values[nodes] @ domain.project(cells, subset, self.marginal).T
        return divided(found, self.scale)

    def _solve(self, at: int) -> NDArray[Any]:
        """Solve one interaction: ``(n_nodes, entries)`` numbers in units of ``1 / scale``."""
        measured, weights = self.measured, self.weights
        frame, subset = measured.frame, self.subsets[at]
        tree, unit = frame.tree, weights.unit
        means = np.zeros((tree.n, frame.domain.size_of(subset)), dtype=object)
        for q in frame.marginals:
            parts = weights.own[q][:, at][frame.strata]
            rows = np.flatnonzero(parts != 0)
            if len(rows):
                tables = frame.domain.project(measured.values[q][rows], subset, q).astype(object)
                means[rows] += parts[rows].astype(object)[:, None] * centered(
                    tables, frame.domain, subset
                )
        if not subset and frame.total is not None:
            means[0] = frame.total * unit
        theta = weights.theta[:, at].astype(object)[:, None]
        beta = weights.beta[:, at].astype(object)[:, None]
        starts, depth = tree.level_start.tolist(), tree.depth
        up = means
        sums: dict[int, NDArray[Any]] = {}
        for level in range(depth, -1, -1):
            nodes = slice(starts[level], starts[level + 1])
            lift = unit ** (depth - level)
            if level < depth:
                below = slice(starts[level + 1], starts[level + 2])
                parents = tree.parents[below]
                inner = np.unique(parents)
                sums[level] = sum_below(up[below], parents)
                # One unit more than the children for the product, one less for the mean.
                made = theta[inner] * means[inner] * (lift // unit)
                made = made + (unit - theta[inner]) * sums[level]
                ends = np.setdiff1d(np.arange(nodes.start, nodes.stop), inner)
                up[ends] = up[ends] * lift
                up[inner] = made
        for level in range(1, depth + 1):
            nodes = slice(starts[level], starts[level + 1])
            parents = tree.parents[nodes]
            inner = np.unique(parents)
            place = np.searchsorted(inner, parents)
            # Above, numbers have one unit for each level below and two for each level passed on the way down.
            gap = up[inner] - sums[level - 1] * unit ** (2 * level - 1)
            up[nodes] = up[nodes] * unit ** (2 * level) + beta[nodes] * gap[place]
        for level in range(depth + 1):
            nodes = slice(starts[level], starts[level + 1])
            up[nodes] = up[nodes] * unit ** (depth - level)
        return up

    def variances(self, cells: NDArray[Any], nodes: NDArray[np.int64]) -> NDArray[Any]:
        """Give the variance of each answer, or for Gaussian noise its parameter, as fractions; arguments as above."""
        norms = self.norms(cells)
        found = np.empty((len(nodes), len(cells)), dtype=object)
        found[:] = Fraction(0)
        for at in range(len(self.subsets)):
            spread = self.region_variances(at)
            column = np.array([spread[node] for node in nodes.tolist()], dtype=object)
            found = found + column[:, None] * np.array(norms[at], dtype=object)[None, :]
        return found

    def norms(self, cells: NDArray[Any]) -> list[list[Fraction]]:
        r"""Give :math:`\lVert E_S g \rVert^2` over the cells, for each interaction and question."""
        domain = self.measured.frame.domain
        whole = domain.size_of(self.marginal) ** 2
        found = []
        for subset in self.subsets:
            parts = centered(domain.project(cells, subset, self.marginal), domain, subset)
            squares = (parts * parts).sum(axis=1).tolist()
            found.append([Fraction(domain.spread(subset) * int(one), whole) for one in squares])
        return found

    def largest(self, question: NDArray[Any]) -> list[Fraction]:
        r"""Give :math:`\max |E_S g|` over the cells, for each interaction; ``question`` is one row."""
        domain = self.measured.frame.domain
        whole = domain.size_of(self.marginal)
        return [
            Fraction(
                max(
                    abs(int(one))
                    for one in centered(
                        domain.project(question[None], subset, self.marginal), domain, subset
                    ).reshape(-1)
                ),
                whole,
            )
            for subset in self.subsets
        ]

    def own_variance(self, at: int, stratum: int) -> Fraction:
        """Give the variance of a region's own mean for an interaction, for a question of norm 1."""
        measured, weights = self.measured, self.weights
        found = Fraction(0)
        for q in measured.frame.marginals:
            variance = measured.variance(q, stratum)
            if variance is not None:
                # tolist gives Python's integers: a fraction of NumPy's would wrap around.
                part = Fraction(weights.own[q][stratum].tolist()[at]) / weights.unit
                found += part**2 * variance / measured.frame.domain.spread(q)
        return found

    def region_variances(self, at: int) -> list[Fraction]:
        """Give for each region the variance of the estimate of an interaction, for a question of norm 1."""
        if at in self._passed:
            return self._passed[at]
        ups = self._upward_variances(at)
        tree, weights = self.measured.frame.tree, self.weights
        strata = self.measured.frame.strata.tolist()
        unit = weights.unit
        theta = [Fraction(one) / unit for one in weights.theta[:, at].tolist()]
        beta = [Fraction(one) / unit for one in weights.beta[:, at].tolist()]
        alpha, rest = [Fraction(1)] * tree.n, [Fraction(0)] * tree.n
        found = [ups[0]] * tree.n
        for node in range(tree.n):
            children = tree.children(node)
            if not children:
                continue
            kept = 1 - alpha[node] * (1 - theta[node])
            below = sum((ups[child] for child in children), Fraction(0))
            own = Fraction(0)
            if not (node == 0 and self._exact_total(at)):
                own = self.own_variance(at, strata[node])
            outside = (alpha[node] * theta[node]) ** 2 * own + rest[node]
            # Siblings mostly are alike.
            known: dict[tuple[Fraction, Fraction], tuple[Fraction, Fraction, Fraction]] = {}
            for child in children:
                key = (beta[child], ups[child])
                if key not in known:
                    b = beta[child]
                    a = 1 - b * kept
                    other = b**2 * (kept**2 * (below - ups[child]) + outside)
                    known[key] = (a, other, a**2 * ups[child] + other)
                alpha[child], rest[child], found[child] = known[key]
        self._passed[at] = found
        return self._passed[at]

    def _exact_total(self, at: int) -> bool:
        return self.measured.frame.total is not None and not self.subsets[at]

    def _upward_variances(self, at: int) -> list[Fraction]:
        """Give the variance of each region's upward value."""
        frame, weights = self.measured.frame, self.weights
        tree, strata, unit = frame.tree, frame.strata.tolist(), weights.unit
        base = {one: self.own_variance(at, one) for one in set(strata)}
        theta = weights.theta[:, at].tolist()
        ups = [base[one] for one in strata]
        known: dict[tuple[Any, int, frozenset[tuple[Fraction, int]]], Fraction] = {}
        for node in range(tree.n - 1, -1, -1):
            children = tree.children(node)
            if not children:
                continue
            below = Counter(ups[child] for child in children)
            key = (theta[node], strata[node], frozenset(below.items()))
            if key not in known:
                part = Fraction(theta[node]) / unit
                own = Fraction(0) if node == 0 and self._exact_total(at) else base[strata[node]]
                spread = sum((many * one for one, many in below.items()), Fraction(0))
                known[key] = part**2 * own + (1 - part) ** 2 * spread
            ups[node] = known[key]
        return ups

    def coefficients(self, at: int, regions: Mapping[int, int]) -> list[Fraction]:
        """Give the coefficient of each region's own mean in a combination of the estimates of several regions.

        The two passes, transposed: what is wanted of a region is handed up to its parent and taken from its siblings,
        and then spread over the means of which the upward values are made.
        """
        tree, weights, unit = self.measured.frame.tree, self.weights, self.weights.unit
        theta = [Fraction(one) / unit for one in weights.theta[:, at].tolist()]
        beta = [Fraction(one) / unit for one in weights.beta[:, at].tolist()]
        wanted = [Fraction(regions.get(node, 0)) for node in range(tree.n)]
        upward = [Fraction(0)] * tree.n
        for node in range(tree.n - 1, -1, -1):
            children = tree.children(node)
            handed = sum((beta[child] * wanted[child] for child in children), Fraction(0))
            for child in children:
                upward[child] += wanted[child] - handed
            wanted[node] += handed
        upward[0] += wanted[0]
        own = [Fraction(0)] * tree.n
        for node in range(tree.n):
            children = tree.children(node)
            own[node] = upward[node] * theta[node]
            for child in children:
                upward[child] += upward[node] * (1 - theta[node])
        return own

    def combined_variance(self, question: NDArray[Any], regions: Mapping[int, int]) -> Fraction:
        """Give the variance of a combination of one question's answers for several regions."""
        frame = self.measured.frame
        strata = frame.strata.tolist()
        norms = self.norms(question[None])
        found = Fraction(0)
        for at in range(len(self.subsets)):
            base = {one: self.own_variance(at, one) for one in set(strata)}
            for node, part in enumerate(self.coefficients(at, regions)):
                if part and not (node == 0 and self._exact_total(at)):
                    found += part**2 * base[strata[node]] * norms[at][0]
        return found
