"""Dynamic programming over the regions of each size: what the methods with tables of costs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.hierarchy.survival import check_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured


@dataclass(frozen=True, eq=False)
class CountCosts:
    """The least cost of a subtree for each count of its region, from ``low`` on."""

    low: int
    costs: NDArray[np.int64]

    @property
    def high(self) -> int:
        """The largest count."""
        return self.low + len(self.costs) - 1


class Merged(Protocol):
    """What the children of a region contribute (the paper's phi), and how they share a count."""

    @property
    def table(self) -> CountCosts:
        """Least sum of the children's costs for each sum of their counts."""
        ...

    def share(self, count: int) -> NDArray[np.int64]:
        """Return the counts of the children ``(children,)`` whose sum is `count` and whose total cost is least."""
        ...


Merge = Callable[[Sequence[CountCosts], int, int], Merged]
"""Combines the tables of children, for sums of counts from the least to the largest that are wanted."""


def widths(measured: Measured, delta: int | None) -> NDArray[np.int64]:
    """Return the half-width of each region's window around its noisy count: ``(n_nodes,)`` int64, in groups.

    It is `delta`, or for ``None`` three times the variance of the region's noise, which is rounded up before.

    Raises
    ------
    InvalidProblemError
        For a negative `delta`, or a measurement of another kind than direct counts.
    """
    check_kind(measured, "direct")
    if delta is not None:
        if delta < 0:
            raise InvalidProblemError("delta", "0 or more, or None", delta)
        return np.full(measured.frame.tree.n, delta, dtype=np.int64)
    squared = measured.noise == "laplace"
    known = [scale for scale in measured.scales if scale is not None]
    variances = [2 * scale**2 if squared else scale for scale in known]
    return np.array([3 * -(-v.numerator // v.denominator) for v in variances], dtype=np.int64)


def by_tables(
    measured: Measured,
    radius: NDArray[np.int64],
    merge: Merge,
    on_progress: Callable[[str], None] | None,
    *,
    keep: bool = False,
) -> NDArray[np.int64]:
    """Compute counts ``(n_nodes, n_sizes)``: tables from the leaves up, the root's counts, then shares down.

    With `keep` all tables are kept for the way down; otherwise they are computed twice, in the memory of one size.

    `radius` ``(n_nodes,)`` bounds how far a count may be from its noisy value; `merge` combines the tables of
    children. One table of ``2 radius + 1`` entries for each node and size.

    Merges are made once for each inner region and size, or twice without `keep`; the cost is that of `merge`.

    Raises
    ------
    InfeasibleError
        When no counts inside the domains add up.
    """
    tree, n_sizes = measured.frame.tree, measured.frame.n_sizes
    total = measured.frame.total
    values: NDArray[np.int64] = measured.values
    roots: list[CountCosts] = []
    merged_by_size: list[dict[int, Merged]] = []
    for s in range(n_sizes):
        if on_progress is not None:
            on_progress(f"tables of size {s + 1} of {n_sizes}")
        tables, shared = _up(measured, values[:, s], radius, merge)
        roots.append(tables[0])
        if keep:
            merged_by_size.append(shared)
    if total is None:
        chosen = np.array([root.low + int(np.argmin(root.costs)) for root in roots])
    else:
        merged_root = merge(roots, total, total)
        if not merged_root.table.low <= total <= merged_root.table.high:
            raise InfeasibleError("no counts within delta of the noisy ones sum to G: raise delta")
        chosen = merged_root.share(total)
    counts = np.zeros((tree.n, n_sizes), dtype=np.int64)
    counts[0] = chosen
    for s in range(n_sizes):
        if on_progress is not None:
            on_progress(f"shares of size {s + 1} of {n_sizes}")
        shared = merged_by_size[s] if keep else _up(measured, values[:, s], radius, merge)[1]
        for node in sorted(shared):
            children = tree.children(node)
            counts[children.start : children.stop, s] = shared[node].share(int(counts[node, s]))
    return counts


def _up(
    measured: Measured, y: NDArray[np.int64], radius: NDArray[np.int64], merge: Merge
) -> tuple[list[CountCosts], dict[int, Merged]]:
    """Compute the cost tables of all regions for one size, and the merged children of each inner region.

    `y` and `radius` are ``(nodes,)``. Raises InfeasibleError where no counts within the radius add up.

    `merge` combines the tables of children. One merge for each inner region, and ``2 radius + 1`` costs for each.
    """
    tree = measured.frame.tree
    tables: list[CountCosts] = [CountCosts(0, y[:0])] * tree.n
    shared: dict[int, Merged] = {}
    for node in range(tree.n - 1, -1, -1):
        noisy, children = int(y[node]), tree.children(node)
        low, high = max(0, noisy - int(radius[node])), noisy + int(radius[node])
        below = None
        if children:
            shared[node] = merge([tables[child] for child in children], low, high)
            below = shared[node].table
            low, high = max(low, below.low), min(high, below.high)
        if low > high:
            raise InfeasibleError("no counts within delta of the noisy ones add up: raise delta")
        costs = (np.arange(low, high + 1) - noisy) ** 2
        if below is not None:
            costs += below.costs[low - below.low : high + 1 - below.low]
        tables[node] = CountCosts(low, costs)
    return tables, shared
