"""Optimal full-domain recoding: each column generalized to one level everywhere, the lattice of levels searched."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.kanonymity.candidate import CandidateClasses, SearchLimits, require_feasible
from discreet.kanonymity.problem import CodedColumn, Numeric, Problem, Taxonomy
from discreet.kanonymity.problem.attributes import depth_first
from discreet.kanonymity.problem.published import joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


@final
@dataclass(frozen=True)
class FullDomain:
    """Give each column one level of generalization, so that classes have k rows and the loss is least.

    Nodes of the lattice are tried by the cost of their levels on the whole table, the cheapest first, until what a node
    costs is no less than what was found. That is exact, since suppressing rows makes no node cheaper. A node below one
    that failed is not tried. Rows in groups smaller than k are suppressed, as many as the search allows; they cost all
    weights.

    Parameters
    ----------
    max_nodes
        Nodes of a lattice up to which it is searched: all are listed, and sorted by cost.

    Notes
    -----
    Levels of a taxonomy are the depths of its tree. Levels of numbers are themselves, runs of 2, 4, 8, ... values of
    the column, and the whole; of sets, values and the whole. The optimum is over recodings to levels; what is published
    for a class is its box, which is never wider and may lose less.

    Examples
    --------
    >>> problem = Problem.from_columns({"age": [20, 21, 40, 50]}, [Numeric("age")])
    >>> FullDomain().solve(problem, 2, SearchLimits()).labels.tolist()
    [0, 0, 1, 1]
    """

    max_nodes: int = 200_000

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Search the lattice.

        `k` and the rows to suppress decide which nodes pass. A sort of the rows for each node looked at, the cheapest
        first.

        Raises
        ------
        InvalidProblemError
            For a lattice of more than `max_nodes` nodes.
        InfeasibleError
            When even the top suppresses too much, which takes fewer than k rows.
        """
        require_feasible(problem.n, k)
        levels = [levels_of(column) for column in problem.columns]
        n_nodes = int(np.prod([len(one) for one in levels]))
        if n_nodes > self.max_nodes:
            expected = f"at most {self.max_nodes} nodes"
            raise InvalidProblemError("problem", expected, f"{n_nodes} nodes")
        points, point, counts = np.unique(
            problem.codes, axis=0, return_inverse=True, return_counts=True
        )
        best, loss = None, np.inf
        failed: list[tuple[int, ...]] = []
        prices = [
            _prices(column, groups) for column, groups in zip(problem.columns, levels, strict=True)
        ]
        for floor, node in _cheapest_first(prices, points, counts):
            if floor >= loss:
                break
            if any(all(x <= y for x, y in zip(node, bad, strict=True)) for bad in failed):
                continue
            groups = joined([levels[j][level][points[:, j]] for j, level in enumerate(node)])
            small = (np.bincount(groups, weights=counts) < k)[groups]
            suppressed = int(counts[small].sum())
            if suppressed > limits.suppress:
                failed.append(node)
                continue
            cells = sum(prices[j][level][points[:, j]] for j, level in enumerate(node))
            node_loss = float((cells * counts)[~small].sum()) + suppressed * problem.suppressed_cost
            if node_loss < loss:
                loss = node_loss
                group = np.full(len(points), -1, dtype=np.int32)
                group[~small] = np.unique(groups[~small], return_inverse=True)[1]
                best = group[point.ravel()]
        if best is None:
            raise InfeasibleError("no level of the lattice leaves groups of k rows; lower k")
        return CandidateClasses("full-domain", best)


def levels_of(column: CodedColumn) -> list[NDArray[np.int64]]:
    """Return the group of each code ``(D,)`` at each level, the finest first.

    Groups are unions of those of the level below. A taxonomy has its depths; other sets two levels; numbers intervals
    that double in length.
    """
    size = len(column.domain)
    codes = np.arange(size)
    if isinstance(column.attribute, Taxonomy):
        tree = column.attribute.tree
        leaves = depth_first(tree)
        levels = []
        for depth in range(tree.depth, -1, -1):
            nodes = leaves.copy()
            while (tree.levels[nodes] > depth).any():
                nodes = np.where(tree.levels[nodes] > depth, tree.parents[nodes], nodes)
            # A missing value is a leaf below the root.
            extra = [0 if depth == 0 else -1] * (size - len(leaves))
            named = np.array([*nodes.tolist(), *extra])
            # Leaves below one node follow one another.
            levels.append(np.cumsum(np.append(False, named[1:] != named[:-1])))
        return levels
    if not isinstance(column.attribute, Numeric):
        return [codes, np.zeros(size, dtype=np.int64)] if size > 1 else [codes]
    levels = [codes]
    while levels[-1][-1] > 0:
        levels.append(codes >> len(levels))
    return levels


def _prices(column: CodedColumn, levels: list[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
    """Return the cost of the cell of each code, ``(D,)``, at each of `levels`, the groups of the codes ``(D,)``."""
    prices = []
    for level in levels:
        sizes = np.bincount(level)
        if column.is_set:
            price = column.set_cost(sizes)
        else:
            by_group = np.argsort(level, kind="stable")
            last = np.cumsum(sizes) - 1
            price = column.span_cost(by_group[last - sizes + 1], by_group[last])
        prices.append(price[level])
    return prices


def _cheapest_first(
    prices: list[list[NDArray[np.float64]]], points: NDArray[np.int32], counts: NDArray[np.int64]
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield nodes of the lattice with the cost of their levels on all rows, the cheapest first; a sort of all nodes.

    `prices` are costs by column, level and code; `points` ``(points, columns)`` are codes, `counts` ``(points,)``
    rows.
    """
    sums = [
        [float(price[points[:, j]] @ counts) for price in by_level]
        for j, by_level in enumerate(prices)
    ]
    nodes = list(itertools.product(*(range(len(one)) for one in sums)))
    totals = [sum(sums[j][level] for j, level in enumerate(node)) for node in nodes]
    for at in np.argsort(totals, kind="stable"):
        yield totals[at], nodes[at]
