r"""The unbiased estimate in fractions: answers, the coefficient of every noise in them, and all cells with zeros held.

The weights are those of :mod:`discreet.hierarchy.contingency.systems`. Up and down the tree each level multiplies the
denominator by one unit, so that everything is done in integers. The same passes, transposed, give the coefficient of
every noise in an answer exactly; the variance is the sum of their squares, each times its noise's. Regions below equal
subtrees have equal coefficients and are looked at once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import count
from discreet.hierarchy.contingency.cell_counts import centered_along
from discreet.hierarchy.contingency.systems import Subtrees, ZeroLayout, system_weights
from discreet.hierarchy.contingency.weights import divided, interactions, sum_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.problem import Marginal

    Tables = dict[Marginal, NDArray[Any]]
    Noises = Iterator[tuple[Marginal, int, int, Tables]]

MAX_EXACT_NUMBERS = 1 << 22
"""Numbers of one exact fit, at most: a big integer for each takes some hundred bytes."""

MAX_PRODUCTS = 1 << 28
"""Products of big integers in one exact fit, at most: about 20 s (one core, 2026-11-23)."""


@final
@dataclass(frozen=True, eq=False)
class NoisePart:
    """Equal noises of an answer: those of one marginal in regions that are alike.

    Parameters
    ----------
    marginal, stratum
        Where they were drawn.
    count
        How many noises have each of the coefficients.
    coefficients
        Python's integers, to be divided by the denominator of the answer.
    """

    marginal: Marginal
    stratum: int
    count: int
    coefficients: NDArray[Any]


@final
class ExactFit:
    """The estimate of one marginal for all regions.

    Parameters
    ----------
    measured
        The measurements.
    marginal
        The attributes that questions are about.
    zeros
        Whether the tables are 0 in structural zeros; else these are left out of the fit.
    floats
        Whether all is done in floats; see :func:`~discreet.hierarchy.contingency.systems.system_weights`.

    Complexity
    ----------
    For each interaction of regular attributes of the marginal, one inverse of a matrix of the possible combinations of
    irregular ones for each kind of region, and O(n m^2) operations on big integers for each of its entries.
    """

    def __init__(
        self,
        measured: MeasuredTables,
        marginal: Marginal,
        *,
        zeros: bool = True,
        floats: bool = False,
    ) -> None:
        self.measured, self.marginal = measured, marginal
        frame = measured.frame
        self.layout, self.subtrees = ZeroLayout(frame.domain, held=zeros), Subtrees(frame)
        self.regular = self.layout.parts(marginal)[1]
        if not self.layout.irregular:
            self._refuse_large()
        self.unit, self.steps = system_weights(
            measured, self.layout, self.subtrees, marginal, floats=floats
        )
        self.entries = frame.domain.size_of(self.regular)
        self.scale = self.unit ** (2 * frame.tree.depth + 2) * self.entries
        self._values: Tables | None = None

    def cells_of(self, questions: NDArray[Any]) -> NDArray[Any]:
        """Reorder questions about the marginal to ``(questions, possible combinations, regular entries)``.

        `questions` are ``(questions, entries)`` of Python integers; combinations are those of the marginal's
        irregular attributes. Linear in the result.
        """
        place = self.layout.entries(self.marginal)[1]
        return self.layout.split(questions, self.marginal)[:, place]

    def answers(self, questions: NDArray[Any], nodes: NDArray[np.int64]) -> NDArray[Any]:
        """Answer linear questions about the entries of the marginal, as fractions.

        Parameters
        ----------
        questions
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
            For more products than an exact fit is good for.
        """
        frame, domain = self.measured.frame, self.measured.frame.domain
        if self._values is None:
            numbers = sum(map(domain.size_of, self.steps)) * frame.tree.n * self.layout.size**2
            if numbers > MAX_PRODUCTS:
                expected = (
                    f"at most {count(MAX_PRODUCTS)} products for an exact answer with structural zeros held at zero; "
                    "'free' leaves them out of the fit"
                )
                raise InvalidProblemError("zeros", expected, count(numbers))
            self._values = {subset: self.solve(subset) for subset in self.steps}
        spread = self.cells_of(questions)
        sums = np.zeros((len(nodes), len(questions)), dtype=object)
        for subset, values in self._values.items():
            part = domain.project(spread, subset, self.regular).reshape(len(questions), -1)
            sums += values[nodes].reshape(len(nodes), -1) @ part.T
        return divided(sums, self.scale)

    def _refuse_large(self) -> None:
        """Refuse more numbers than an exact fit without structural zeros is good for."""
        domain = self.measured.frame.domain
        subsets = interactions(domain, self.marginal)
        numbers = self.measured.frame.tree.n * sum(map(domain.size_of, subsets))
        if numbers > MAX_EXACT_NUMBERS:
            expected = f"at most {count(MAX_EXACT_NUMBERS)} numbers for an exact answer; estimates have no limit"
            raise InvalidProblemError("by", expected, count(numbers))

    def solve(self, subset: Marginal, dtype: Any = object) -> NDArray[Any]:  # noqa: ANN401 - a type of numbers
        """Solve one interaction, the set `subset` of regular attributes, for all regions.

        Returns ``(regions, combinations, entries)`` of `dtype`, times the unit to the power of 2 depth + 2. One pass
        up the tree and one down, with a product of a matrix of combinations a region.
        """
        up, sums = self._up(subset, dtype)
        self._down(subset, up, sums)
        depth, starts = self.measured.frame.tree.depth, self.measured.frame.tree.level_start
        for level in range(depth + 1):
            up[starts[level] : starts[level + 1]] *= self.unit ** (depth + 1 - level)
        return up

    def _up(self, subset: Marginal, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:  # noqa: ANN401 - as for solve
        """Return the estimate of each region from its subtree, and for each parent the sum over its children.

        Both are of `dtype`, ``(nodes, irregular combinations, entries of subset)``, in powers of the unit by level.
        One product for each region and marginal.
        """
        frame = self.measured.frame
        tree, steps, of = frame.tree, self.steps[subset], np.array(self.subtrees.of)
        seen = {
            q: self._seen(q, subset, dtype)
            for q in frame.marginals
            if set(subset) <= set(self.layout.parts(q)[1]) and frame.informs(q, subset)
        }
        shape = (self.layout.size, frame.domain.size_of(subset))
        up = np.zeros((tree.n, *shape), dtype=dtype)
        sums = np.zeros_like(up)
        starts = tree.level_start.tolist()
        for level in range(tree.depth, -1, -1):
            nodes = np.arange(starts[level], starts[level + 1])
            lift = self.unit ** (tree.depth - level)
            if level < tree.depth:
                below = slice(starts[level + 1], starts[level + 2])
                parents = tree.parents[below]
                sums[np.unique(parents)] = sum_below(up[below], parents)
            for place in np.unique(of[nodes]).tolist():
                some, step = nodes[of[nodes] == place], steps[place]
                # One unit for each level below, and one for the product.
                parts = [] if step.kept is None else [_times(step.kept, sums[some])]
                parts += [_times(gain, seen[q][some]) * lift for q, gain in step.gains.items()]
                parts += [] if step.total is None else [step.total * frame.total * lift]
                up[some] = sum(parts)
        return up, sums

    def _down(self, subset: Marginal, up: NDArray[Any], sums: NDArray[Any]) -> None:
        """Add to each region its share of the difference between its parent and the sum of its siblings and itself.

        `up` ``(nodes, irregular combinations, entries)`` are the estimates from below, changed in place; `sums`, of
        the same shape, those over the children. One matrix product a region.
        """
        tree, steps, unit = self.measured.frame.tree, self.steps[subset], self.unit
        of, starts = np.array(self.subtrees.of), tree.level_start.tolist()
        for level in range(1, tree.depth + 1):
            nodes = np.arange(starts[level], starts[level + 1])
            parents = tree.parents[nodes]
            # Above, numbers have one unit for each level, and two more than the sums for each level passed.
            gap = up[parents] - sums[parents] * unit ** (2 * level - 1)
            up[nodes] *= unit ** (2 * level)
            heads = np.concatenate([[True], np.diff(parents) > 0])
            kinds = np.stack([of[nodes], of[parents]])
            for child, parent in np.unique(kinds, axis=1).T.tolist():
                some = np.flatnonzero((kinds[0] == child) & (kinds[1] == parent))
                up[nodes[some]] += _times(steps[parent].shares[child], gap[some])
                extra, firsts = steps[parent].first, some[heads[some]]
                if extra is not None and len(firsts):
                    up[nodes[firsts]] += _times(extra, gap[firsts])

    def _seen(self, q: Marginal, subset: Marginal, dtype: Any) -> NDArray[Any]:  # noqa: ANN401 - a type of numbers
        """Add a measured marginal `q` up to an interaction.

        ``(regions, possible entries, entries of the subset)`` of `dtype`. The means along each attribute are
        subtracted. Linear in the entries of `q`.
        """
        domain = self.measured.frame.domain
        split = self.layout.split(self.measured.values[q], q)
        summed = domain.project(split, subset, self.layout.parts(q)[1])
        return centered_along(summed.astype(dtype), domain, subset)

    def noises(self, question: NDArray[Any], regions: Mapping[int, int]) -> list[NoisePart]:
        """List every noise of an answer for a combination of regions, with its exact coefficient.

        Returns one part for each marginal and kind of region on the way; a coefficient over `scale` is that of a
        noise. A pass over the paths of kinds of subtrees, with a matrix product for each marginal and interaction.

        Parameters
        ----------
        question
            ``(entries,)`` of Python integers.
        regions
            The regions, each with its weight.
        """
        domain, layout = self.measured.frame.domain, self.layout
        spread = self.cells_of(question[None])[0]
        centered = {
            subset: centered_along(domain.project(spread, subset, self.regular), domain, subset)
            for subset in self.steps
        }
        parts = []
        for q, stratum, many, tables in self._coefficients(centered, regions):
            outside = layout.parts(q)[1]
            shared = tuple(at for at in outside if at in self.regular)
            made: NDArray[Any] = np.zeros((1, 1), dtype=object)
            for subset, table in tables.items():
                along = [domain.shape[at] if at in subset else 1 for at in shared]
                wide = (len(table), *domain.shape_of(shared))
                spread_out = np.broadcast_to(table.reshape(len(table), *along), wide)
                made = made + spread_out.reshape(len(table), -1)
            each = domain.size_of(outside) // domain.size_of(shared)
            parts.append(NoisePart(q, stratum, many * each, made.reshape(-1)))
        return parts

    def _coefficients(self, question: Tables, regions: Mapping[int, int]) -> Noises:
        """Yield the coefficients of each kind of region and marginal in a question about `regions`, node -> weight.

        The question goes up the tree along the paths of these regions, then down to all kinds of subtrees.
        """
        tree, unit = self.measured.frame.tree, self.unit
        levels = tree.levels.tolist()
        path = sorted({int(above) for node in regions for above in tree.ancestors(node)})
        wanted: dict[int, Tables] = {}
        handed: dict[int, Tables] = {}
        for node in reversed(path):
            handed[node] = self._handed(node, question, wanted)
            weight = regions.get(node, 0) * unit ** (tree.depth - levels[node])
            wanted[node] = {s: one * weight + handed[node][s] for s, one in question.items()}

        def walk(node: int, given: Tables) -> Noises:
            """Spread over the noises what an answer takes of a region's upward value."""
            lift, place = unit ** (2 * levels[node] + 1), self.subtrees.of[node]
            own = {s: given[s] + wanted[node][s] * lift for s in question}
            yield from self._of_region(place, own)
            passed = self._passed(place, own)
            # What was handed to the parent is taken from all children.
            each = {s: passed[s] - handed[node][s] * lift * unit for s in question}
            children = tree.children(node)
            for child in wanted.keys() & set(children):
                yield from walk(child, each)
            rest = Counter(self.subtrees.of[child] for child in children if child not in wanted)
            for kind, many in rest.items():
                yield from self._spread(kind, each, many)

        yield from walk(0, {s: 0 * one for s, one in question.items()})

    def _handed(self, node: int, question: Tables, wanted: Mapping[int, Tables]) -> Tables:
        """Add up, for each interaction, what `question` needs of the regions below `node` by way of their parent.

        `wanted` holds the coefficients of the children that are in the question; the result is as `question`. One
        product for each such child.
        """
        sums = {s: 0 * one for s, one in question.items()}
        children, of = self.measured.frame.tree.children(node), self.subtrees.of
        for child in wanted.keys() & set(children):
            for s in question:
                step = self.steps[s][of[node]]
                share = step.shares[of[child]]
                if step.first is not None and child == children[0]:
                    share = share + step.first
                sums[s] = sums[s] + share.T @ wanted[child][s]
        return sums

    def _spread(self, place: int, given: Tables, many: int) -> Noises:
        """Yield the coefficients of all noises below a region in the answer of `many` regions with equal subtrees.

        `given` are the coefficients of the region's estimate by interaction, `place` its kind. Visits each path of
        kinds below it.
        """
        for q, stratum, regions, tables in self._of_region(place, given):
            yield q, stratum, regions * many, tables
        below = self.subtrees.below[place]
        if below:
            passed = self._passed(place, given)
            for child, count in below:
                yield from self._spread(child, passed, many * count)

    def _of_region(self, place: int, own: Tables) -> Noises:
        """Yield the coefficients of each marginal of a region of kind `place` in an answer.

        Scaled as at the deepest level. `own` are the coefficients of the region's estimate, by interaction. One
        matrix product for each marginal and interaction.
        """
        stratum = self.subtrees.strata[place]
        lift = self.unit ** (self.measured.frame.tree.depth - self.subtrees.levels[place])
        measured = dict.fromkeys(q for s in own for q in self.steps[s][place].gains)
        for q in measured:
            tables = {
                s: self.steps[s][place].gains[q].T @ one * lift
                for s, one in own.items()
                if q in self.steps[s][place].gains
            }
            yield q, stratum, 1, tables

    def _passed(self, place: int, own: Tables) -> Tables:
        """Return the coefficients in an answer of the sum of the regions below one of kind `place`, by interaction.

        `own` are those of the region's estimate. One matrix product for each interaction.
        """
        tables = {}
        for s, one in own.items():
            factor = self.steps[s][place].kept
            tables[s] = 0 * one if factor is None else factor.T @ one
        return tables


def _times(matrix: NDArray[Any], tables: NDArray[Any]) -> NDArray[Any]:
    """Multiply the tables of several regions ``(regions, k, entries)`` by one matrix ``(m, k)``."""
    count, size, wide = tables.shape
    flat = tables.transpose(1, 0, 2).reshape(size, count * wide)
    made: NDArray[Any] = (matrix @ flat).reshape(len(matrix), count, wide).transpose(1, 0, 2)
    return made


def estimate_held(measured: MeasuredTables) -> NDArray[np.float64]:
    """Estimate every cell of every region with structural zeros held at zero, in floats.

    Raises InvalidProblemError for more than 512 possible combinations of the attributes in structural zeros, or
    weights beyond 2^22 numbers.

    Returns
    -------
    ndarray
        ``(n_nodes, n_cells)``; exactly 0 in structural zeros.

    Complexity
    ----------
    Two products with matrices of the possible combinations for every region and cell, and a pass over all cells for
    each interaction of regular attributes.
    """
    frame, domain = measured.frame, measured.frame.domain
    fit = ExactFit(measured, domain.full, floats=True)
    layout = fit.layout
    regular = domain.shape_of(layout.regular)
    made = np.zeros((frame.tree.n, layout.size, fit.entries))
    for subset in fit.steps:
        along = [domain.shape[at] if at in subset else 1 for at in layout.regular]
        part = fit.solve(subset, np.float64).reshape(frame.tree.n, layout.size, *along)
        shaped = made.reshape(frame.tree.n, layout.size, *regular)
        shaped += part / fit.entries
    every = np.zeros((frame.tree.n, domain.size_of(layout.irregular), fit.entries))
    every[:, layout.combinations] = made
    shaped = every.reshape(frame.tree.n, *domain.shape_of(layout.irregular), *regular)
    order = [(*layout.irregular, *layout.regular).index(at) for at in domain.full]
    ordered = shaped.transpose([0, *(1 + at for at in order)])
    return np.ascontiguousarray(ordered).reshape(frame.tree.n, domain.size)
