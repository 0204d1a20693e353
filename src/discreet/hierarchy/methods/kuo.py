r"""Counts of counts after Kuo, Chiu, Kifer, Hay and Machanavajjhala [KCKHM18]_: three estimators and one consistency.

Each region alone is estimated from noisy direct counts projected on the simplex (*naive*), from noisy cumulative
counts made monotone (:math:`H_c`), or from the noisy sorted list of group sizes made monotone (:math:`H_g`). Their
consistency works on groups, not on counts: the groups of a parent and those of its children, both sorted by size, are
matched one to one, which is the cheapest matching; the sizes of a pair are averaged by the precision of the two
estimates; and what the children get is passed on below. In the end the leaves are added up, so that everything is whole
and consistent.

The number of groups of each region is public, as there. Deviations: the variance of a size is that of the noise of its
node, divided by the number of groups that were estimated as equal, for all three estimators; sorted sizes and survival
counts are of top-coded sizes; groups of one size of several children are matched in turn, by largest shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.methods.hay import sorted_histograms
from discreet.hierarchy.methods.top_down import apportion
from discreet.hierarchy.survival import Need, Tell, check_kind, counts_of, fitted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.tree import Tree
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind


@final
@dataclass(frozen=True)
class KuoNaive:
    """Direct counts on the simplex, and consistency by matching (``kuo-naive``). Public units only."""

    kind: ClassVar[Kind] = "direct"
    needs: ClassVar[tuple[Need, ...]] = ("every level", "public units")

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:  # noqa: ARG002 - the signature of all methods
        """Project the counts of each region on those that sum to its groups, then match.

        Return int64 ``(nodes, sizes)``. A sort of the sizes of each region, then :func:`match_down`. Raises
        InvalidProblemError for private units, another kind of measurement, or a level without noise.
        """
        check_kind(measured, "direct")
        counts = apportion(measured.values, _totals(measured))
        return match_down(measured.frame.tree, counts, measured.variances())


@final
@dataclass(frozen=True)
class KuoHc:
    """Monotone survival counts, and consistency by matching (``kuo-h-c``). Public units only.

    Parameters
    ----------
    loss
        What the regression minimizes: absolute deviations, as its authors advise, or squares.
    """

    loss: Literal["l2", "l1"] = "l1"

    kind: ClassVar[Kind] = "survival"
    needs: ClassVar[tuple[Need, ...]] = ("every level", "public units")

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:  # noqa: ARG002 - the signature of all methods
        """Fit the survival counts of each region, then match; return int64 ``(nodes, sizes)``.

        Linear in nodes times sizes but for the matching. Raises InvalidProblemError for private units or another
        kind.
        """
        check_kind(measured, "survival")
        _totals(measured)
        counts = counts_of(measured.frame, fitted(measured, self.loss))
        return match_down(measured.frame.tree, counts, measured.variances())


@final
@dataclass(frozen=True)
class KuoHg:
    """Monotone sorted sizes, and consistency by matching (``kuo-h-g``). Public units only.

    Parameters
    ----------
    loss
        What the regression minimizes: squares, or absolute deviations.
    """

    loss: Literal["l2", "l1"] = "l2"

    kind: ClassVar[Kind] = "sorted"
    needs: ClassVar[tuple[Need, ...]] = ("every level", "public units")

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:  # noqa: ARG002 - the signature of all methods
        """Fit the sorted sizes of each region, then match; return int64 ``(nodes, sizes)``.

        Linear in the groups for "l2", then :func:`match_down`. Raises InvalidProblemError for private units, another
        kind of measurement, a level without noise, or another loss.
        """
        check_kind(measured, "sorted")
        counts = sorted_histograms(measured, self.loss)
        return match_down(measured.frame.tree, counts, measured.variances())


def _totals(measured: Measured) -> NDArray[np.int64]:
    """Return the public number of groups of each node, ``(nodes,)`` int64.

    Raise InvalidProblemError for private units.
    """
    totals = measured.frame.group_totals
    if totals is None:
        raise InvalidProblemError("units", "public", "private")
    return totals


def match_down(
    tree: Tree, counts: NDArray[np.int64], variances: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Match the groups of each parent with those of its children, average their sizes, and add up the leaves.

    Parameters
    ----------
    tree
        The regions.
    counts
        ``(n_nodes, n_sizes)`` estimates, none negative; a region and its children together have as many groups.
    variances
        ``(n_nodes,)`` of the noise of each node.

    Returns
    -------
    ndarray
        ``(n_nodes, n_sizes)`` counts that add up.

    Complexity
    ----------
    ``O(children n_sizes)`` for each region: runs of groups of one size are matched at once.
    """
    made = counts.copy()
    for node in range(tree.n):
        below = tree.children(node)
        if below:
            part = slice(below.start, below.stop)
            made[part] = _matched(made[node], counts[part], variances[node], variances[part])
    return tree.totals(made[tree.leaves])


def _matched(
    parent: NDArray[np.int64],
    children: NDArray[np.int64],
    above: float,
    variances: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the groups of each child with the averaged sizes, int64 ``(children, sizes)``.

    `parent` ``(sizes,)`` and `children` ``(children, sizes)`` are counts with equal totals, `above` the variance of
    the parent, `variances` ``(children,)``. At most one step for each size of the parent and of the children.
    """
    made = np.zeros_like(children)
    left = parent.copy()
    at = 0
    for size in range(len(parent)):
        # The groups of this size of all children are the next ones in the sorted order.
        waiting = children[:, size].copy()
        group = waiting.copy()
        while waiting.any():
            while left[at] == 0:
                at += 1
            # All that this size of the parent has for them is shared out in proportion.
            quota = min(int(left[at]), int(waiting.sum()))
            shared = _shares(waiting, quota)
            precision = (group + 0.0) / variances
            own = parent[at] / above
            sizes = (precision * size + own * at) / (precision + own)
            for child in np.flatnonzero(shared).tolist():
                made[child, int(sizes[child] + 0.5)] += shared[child]
            waiting -= shared
            left[at] -= quota
    return made


def _shares(waiting: NDArray[np.int64], dealt: int) -> NDArray[np.int64]:
    """Return shares of `dealt` groups in proportion to `waiting` ``(children,)``, by largest remainders.

    ``(children,)``.
    """
    total = int(waiting.sum())
    floors = np.array([int(w) * dealt // total for w in waiting.tolist()])
    rest = np.array([int(w) * dealt % total for w in waiting.tolist()])
    more = np.argsort(-rest, kind="stable")[: dealt - int(floors.sum())]
    floors[more] += 1
    return floors
