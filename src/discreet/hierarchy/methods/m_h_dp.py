r"""M_H^dp: Model 1 by dynamic programming, tables merged in the order of their increments (Algorithm 1 of [FVZ21]_).

The cost of a subtree as a function of the count of its region is convex (Lemma 5). So the least cost of the children
for each sum of their counts is found by starting where each child is cheapest and going up, or down, one group at a
time, always with the child for which that is cheapest: the sorted list of all increments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.hierarchy.cost_tables import CountCosts, by_tables, widths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind
    from discreet.hierarchy.survival import Need, Tell


@final
@dataclass(frozen=True)
class MHDP:
    r"""Nearest consistent counts inside windows, by merging tables (``m-h-dp``).

    Parameters
    ----------
    delta
        Counts are sought within this distance of the noisy ones. ``None`` for the paper's footnote,
        :math:`3 \lceil 2 \lambda^2 \rceil`, three times the variance of noise of scale :math:`\lambda`.

    Notes
    -----
    The result is an optimum over those windows, and of the whole problem where they hold one: the footnote compares a
    distance with a variance, so that windows are wasteful for a small epsilon and narrow for a large one.
    :class:`~discreet.hierarchy.methods.m_h.MH` finds the optimum without windows.

    Deviations from the paper. Algorithm 1 as printed is wrong on its way down: the increments there must be
    :math:`\tau(v) - \tau(v + 1)` for v below the cheapest count, not :math:`\tau(v) - \tau(v - 1)`; both ways start
    from the cheapest counts; what the children contribute is stored without the region's own term, which is then
    added. Shares are read off the merged list, not solved for again. Weights are equal.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.measure import measure
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="private")
    >>> measured = measure(data, "direct", PureDP(100, neighbors="add-remove-person"))
    >>> MHDP().solve(measured).tolist()
    [[3, 1, 2], [2, 0, 1], [1, 1, 1]]
    """

    delta: int | None = None

    kind: ClassVar[Kind] = "direct"
    needs: ClassVar[tuple[Need, ...]] = ("every level",)

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Compute consistent counts, int64 ``(nodes, sizes)``, from noisy direct counts.

        Raises
        ------
        InvalidProblemError
            For another kind of measurement, a level without noise, or a negative `delta`.
        InfeasibleError
            When no counts inside the windows add up.

        Complexity
        ----------
        ``O(m log m)`` for each size, m the sum of the widths of all windows; memory for one size.
        """
        return by_tables(measured, widths(measured, self.delta), table_merge, on_progress)


@final
@dataclass(frozen=True, eq=False)
class _Sorted:
    """Children at their cheapest, and the increments from there, up and down, with the child that each belongs to."""

    table: CountCosts
    cheapest: NDArray[np.int64]
    up: NDArray[np.int64]
    down: NDArray[np.int64]

    def share(self, count: int) -> NDArray[np.int64]:
        """Return the count of each child, ``(children,)``, for the sum `count`.

        As many of the cheapest increments as that takes.
        """
        steps, n = count - int(self.cheapest.sum()), len(self.cheapest)
        if steps >= 0:
            return self.cheapest + np.bincount(self.up[:steps], minlength=n)
        return self.cheapest - np.bincount(self.down[:-steps], minlength=n)


def table_merge(
    children: Sequence[CountCosts],
    lowest: int | None = None,  # noqa: ARG001 - what is wanted does not make the sorted list shorter
    highest: int | None = None,  # noqa: ARG001 - as lowest
) -> _Sorted:
    """Merge convex tables: Algorithm 1, corrected.

    Parameters
    ----------
    children
        Convex tables.
    lowest, highest
        Not needed here.

    Returns
    -------
    merged
        Its ``table`` holds the least sum of costs for each sum of counts; ``share`` divides a sum. Of children with
        equal increments the first goes first.

    Examples
    --------
    Example 5 of the paper, noisy counts 3 and 0:

    >>> import numpy as np
    >>> v = np.arange(5)
    >>> merged = table_merge([CountCosts(0, (v - 3) ** 2), CountCosts(0, v**2)])
    >>> merged.table.costs[:6].tolist(), merged.share(5).tolist()
    ([9, 4, 1, 0, 1, 2], [4, 1])
    """
    best = [int(np.argmin(child.costs)) for child in children]
    up_parts, down_parts = [], []
    for child, at in zip(children, best, strict=True):
        up_parts.append(np.diff(child.costs[at:]))
        down_parts.append(-np.diff(child.costs[: at + 1])[::-1])
    up, up_of = _in_order(up_parts)
    down, down_of = _in_order(down_parts)
    least = sum(int(child.costs[at]) for child, at in zip(children, best, strict=True))
    costs = least + np.concatenate([np.cumsum(down)[::-1], [0], np.cumsum(up)])
    low = sum(child.low for child in children)
    cheapest = np.array([child.low + at for child, at in zip(children, best, strict=True)])
    return _Sorted(CountCosts(low, costs), cheapest, up_of, down_of)


def _in_order(parts: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort the increments of all children; return them, and the number of the child of each: ``(increments,)`` both."""
    steps = np.concatenate(parts)
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    order = np.argsort(steps, kind="stable")
    return steps[order], owners[order]
