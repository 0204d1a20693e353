"""Groups of sibling regions as further levels of a tree: counts of these bring a largest error near its least.

Siblings are grouped by their number of lowest regions. With the cuts 1 and 4 the lower level of groups divides them
into those with 1, with 2 to 4, and with more, and the level above it joins the first two.
"""

from __future__ import annotations

import bisect
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ZeroConcentratedDP
from discreet.core.options import whole_number
from discreet.core.tree import Tree
from discreet.hierarchy.contingency.optimum import LIMITS
from discreet.hierarchy.contingency.workload import OF_LARGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.core.guarantee import PureDP
    from discreet.hierarchy.contingency.workload import Workload

MORE_GROUPS = (
    "Counts of groups of sibling regions bring the largest error nearer to that: groups=12, or --groups 12, adds up to"
    " so many levels of them above a level."
)
"""What is said where regions differ and their own counts do not reach the least largest error."""


class GroupedRegions(NamedTuple):
    """What :func:`grouped_regions` gives.

    Parameters
    ----------
    tree
        The regions, with levels of groups between them.
    leaves
        For each leaf of it, in their order, the number of the same leaf in the tree without groups.
    levels
        Which levels are groups; the root's is 0.
    """

    tree: Tree
    leaves: NDArray[np.int64]
    levels: tuple[int, ...]

    def spread(self, workload: Workload) -> Workload:
        """Return a workload of the tree without groups for this one: groups have no weight."""
        tables = {}
        for q, weights in workload.tables.items():
            left = iter(weights)
            levels = range(self.tree.depth + 1)
            tables[q] = tuple(Fraction(0) if at in self.levels else next(left) for at in levels)
        return replace(workload, tables=tables)


def grouped_regions(tree: Tree, most: int) -> GroupedRegions:
    """Insert levels of groups above each level whose regions have siblings that differ in their number of leaves.

    There are up to `most` cuts for the regions below each region, near equal distances of the logarithm, and as many
    levels as the largest number of cuts. Where there is nothing to divide, a group holds the same as the region above.

    Linear in the regions times the levels.

    Examples
    --------
    >>> made = grouped_regions(Tree.from_paths([("a",), ("b",), ("c", "x"), ("c", "y")]), 5)
    >>> made.tree.labels, made.levels
    (('all', 'up to 1', 'over 1', 'a', 'b', 'c', 'x', 'y'), (1,))
    """
    if tree.depth < 2:
        return GroupedRegions(tree, np.arange(len(tree.leaves)), ())
    sizes, levels = tree.leaf_counts.tolist(), tree.levels.tolist()
    cuts: list[list[int]] = []
    columns = [0] * (tree.depth + 2)
    for node in range(tree.n):
        children = tree.children(node)
        different = sorted({sizes[child] for child in children})
        # Each of two siblings is a group already.
        cuts.append(_cuts(different, most) if len(children) > 2 else [])
        columns[levels[node] + 1] = max(columns[levels[node] + 1], len(cuts[-1]))
    paths: list[tuple[object, ...]] = [()] * tree.n
    for node, above in enumerate(tree.parents.tolist()):
        if node:
            groups = _groups(cuts[above], sizes[node], columns[levels[node]])
            paths[node] = (*paths[above], *groups, tree.labels[node])
    listed = tree.leaves.tolist()
    made = Tree.from_paths([paths[leaf] for leaf in listed], root=tree.labels[0])
    place = {made.find(paths[leaf]): at for at, leaf in enumerate(listed)}
    own = np.cumsum([columns[at] + (at > 0) for at in range(tree.depth + 1)]).tolist()
    return GroupedRegions(
        made,
        np.array([place[leaf] for leaf in made.leaves.tolist()]),
        tuple(at for at in range(made.depth + 1) if at not in own),
    )


def check_groups(
    groups: int | None,
    guarantee: PureDP | ZeroConcentratedDP,
    loss: str | None,
    levels: Sequence[Exact] | None,
) -> None:
    """Refuse another number of groups, or groups where they are of no use: they lower the largest error alone.

    Raises InvalidProblemError. The arguments are those of ``discreet.hierarchy.contingency.plan``.
    """
    if groups is None:
        return
    most = LIMITS.max_groups
    whole_number(groups, "groups", f"a whole number from 1 to {most}")
    gaussian = isinstance(guarantee, ZeroConcentratedDP)
    if groups > most or not gaussian or loss not in OF_LARGEST or levels is not None:
        expected = f"none, or up to {most} with rho and a loss among {', '.join(OF_LARGEST)}"
        raise InvalidProblemError("groups", f"{expected}, without parts of levels", groups)


def _cuts(sizes: list[int], most: int) -> list[int]:
    """Choose up to `most` of ascending sizes, none of them the largest."""
    below = sizes[:-1]
    if len(below) <= most:
        return below
    wanted = np.geomspace(below[0], below[-1], most)
    distance = np.abs(np.log(np.array(below)[:, None] / wanted))
    return sorted({below[at] for at in distance.argmin(axis=0).tolist()})


def _groups(cuts: list[int], size: int, columns: int) -> list[str]:
    """Return the names of the groups of a region with `size` leaves, the largest group first."""
    names = []
    own = bisect.bisect_left(cuts, size)
    for first in reversed(range(columns)):
        at = max(own, first)
        if first >= len(cuts):
            names.append("all")
        elif at == len(cuts):
            names.append(f"over {cuts[-1]}")
        elif at == first:
            names.append(f"up to {cuts[at]}")
        else:
            names.append("-".join(map(str, sorted({cuts[at - 1] + 1, cuts[at]}))))
    return names
