r"""The chain of cumulative counts through all regions and sizes, with noise for the sensitivity that it has.

Section 9.2 of [FVZ21]_: on each level the counts are added up along all sizes and, within a size, along all regions;
the nearest monotone chain gives consistent counts without a second step. One person changes as many entries of a
level's chain as the level has regions, and with noise for that the chain is of no use; the paper's calibration, which
is for one entry, is :mod:`discreet_reproduction.hierarchy.as_published.m_c_ch`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.isotonic import isotonic_sums
from discreet.hierarchy.survival import Need, Tell, check_kind, check_needs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.tree import Tree
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind


@final
@dataclass(frozen=True)
class Chain:
    """The chain of cumulative counts with noise for its sensitivity (``m-c-ch-calibrated``).

    Parameters
    ----------
    solver
        ``"pooling"``: each leaf with the regions that it closes is one weighted point, and the chain is fitted by
        pooling, in time linear in its length. ``"recurrence"``: the paper's dynamic program (8), with the table of all
        values from 0 to G, for small problems. Both find a fit of the same cost.

    Notes
    -----
    Deviations from the paper. Its constraint (C8) lacks the case in which a region is followed by one of a deeper
    level, without which counts may be negative; its recurrence (8b) has it, and so does this. The number of groups,
    public, ends the chain. Trees whose branches end at different depths are refused: their levels are no partitions.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.measure import measure
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="public")
    >>> measured = measure(data, "chain", PureDP(200, neighbors="add-remove-person"))
    >>> Chain().solve(measured).tolist()
    [[3, 1, 2], [2, 0, 1], [1, 1, 1]]
    """

    solver: Literal["pooling", "recurrence"] = "pooling"

    kind: ClassVar[Kind] = "chain"
    needs: ClassVar[tuple[Need, ...]] = ("every level", "public units", "equal depth")

    def __post_init__(self) -> None:
        if self.solver not in ("pooling", "recurrence"):
            raise InvalidProblemError("solver", "'pooling' or 'recurrence'", repr(self.solver))

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Fit the chain and take differences; return int64 ``(nodes, sizes)``.

        Also raises InvalidProblemError for private units, another kind of measurement, or a level without noise.
        Linear in the numbers by pooling; by the recurrence numbers times the number of groups, at most 50,000,000.

        Raises
        ------
        InvalidProblemError
            For a tree whose branches end at different depths, or a table of the recurrence that is too large.
        """
        check_kind(measured, "chain")
        frame = measured.frame
        tree = frame.tree
        check_needs(frame, measured.scales, self.needs)
        if on_progress is not None:
            on_progress("one chain")
        solve = _pooled if self.solver == "pooling" else _recurrence
        chain = solve(tree, measured.values, frame.total or 0)
        counts = np.diff(chain, prepend=0).reshape(frame.n_sizes, len(tree.leaves)).T
        return tree.totals(counts)


def _pooled(tree: Tree, values: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    # Where the chain goes up the values are equal: the regions closed by a leaf are one point with it.
    """Return the chain ``(sizes leaves,)`` fitted to leaves with the regions that they close as one point each.

    `values` are ``(nodes, sizes)``. It is clipped to 0 and the total, its last entry. Linear in the values.
    """
    leaves = tree.leaves
    sums = values[leaves].T.copy()
    weights = np.ones_like(sums)
    last = _last_leaf(tree)
    for node in range(int(leaves[0])):
        place = int(last[node] - leaves[0])
        sums[:, place] += values[node]
        weights[:, place] += 1
    fit = isotonic_sums(sums.reshape(1, -1)[:, :-1], weights.reshape(1, -1)[:, :-1])[0]
    return np.append(np.clip(fit, 0, total), total)


def _last_leaf(tree: Tree) -> NDArray[np.int64]:
    """Return the last leaf below each node, int64 ``(n,)``; linear."""
    last = np.arange(tree.n)
    for node in range(tree.n - 1, -1, -1):
        below = tree.children(node)
        if below:
            last[node] = last[below[-1]]
    return last


def _recurrence(
    tree: Tree, values: NDArray[np.int64], total: int, *, max_entries: int = 50_000_000
) -> NDArray[np.int64]:
    r"""Run recurrence (8): :math:`\tau_{i+1}(v) = (v - \tilde c_{i+1})^2 + \phi_{i+1}(v)`.

    `values` are ``(nodes, sizes)``, `total` the number of groups. Returns the chain's entries at the leaves, ``(sizes
    leaves,)``. Raises InvalidProblemError for a table, numbers times ``total + 1``, of more than `max_entries`.
    """
    order = _post_order(tree)
    levels = tree.levels
    steps = [(s, node) for s in range(values.shape[1]) for node in order]
    entries = len(steps) * (total + 1)
    if entries > max_entries:
        raise InvalidProblemError("solver", f"a table of at most {max_entries} entries", entries)
    domain = np.arange(total + 1)
    tables: list[NDArray[np.int64]] = []
    before = None
    for s, node in steps:
        cost = (domain - values[node, s]) ** 2
        if before is not None:
            up = levels[before] > levels[node]
            cost = cost + (tables[-1] if up else np.minimum.accumulate(tables[-1]))
        tables.append(cost)
        before = node
    chain = np.empty(len(steps), dtype=np.int64)
    chain[-1] = total
    for i in range(len(steps) - 2, -1, -1):
        up = levels[steps[i][1]] > levels[steps[i + 1][1]]
        bound = int(chain[i + 1])
        chain[i] = bound if up else int(np.argmin(tables[i][: bound + 1]))
    deepest = levels[[node for _, node in steps]] == tree.depth
    return np.asarray(chain[deepest])


def _post_order(tree: Tree) -> list[int]:
    """Return the nodes, each after all nodes below it."""
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(tree.children(node))
    return order[::-1]
