r"""Least squares on a tree: the nearest values that add up, by one pass up and one pass down.

.. math:: \min \sum_r w_r (x_r - y_r)^2, \qquad x_r = \sum_{c \in ch(r)} x_c .

The least cost of a node's subtree, as a function of its value :math:`X`, is :math:`a_r (X - m_r)^2` plus a constant:
:math:`a = w, m = y` for a leaf; above, the children together give :math:`A (X - M)^2` with :math:`M = \sum m_c` and
:math:`1 / A = \sum 1 / a_c`, so that :math:`a = w + A` and :math:`m = (w y + A M) / a`. Downwards
:math:`x_c = m_c + (x_r - M) A / a_c`. It is the consistency step of [HRMS10]_, for any weights and any tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.tree import Tree


@final
class TreeFit:
    """The problem for given weights, to be solved for many columns and targets.

    Parameters
    ----------
    tree
        The tree.
    weights
        ``(n,)``, positive for leaves, 0 or more above.
    extra
        ``(n_leaves,)``: weights of a second target of each leaf.

    Examples
    --------
    >>> from discreet import Tree
    >>> fit = TreeFit(Tree.from_paths([("a",), ("b",)]), np.ones(3))
    >>> fit.solve(np.array([[6.0], [1.0], [2.0]])).ravel().tolist()
    [5.0, 2.0, 3.0]
    """

    def __init__(
        self,
        tree: Tree,
        weights: NDArray[np.float64],
        *,
        extra: NDArray[np.float64] | None = None,
    ) -> None:
        self.tree = tree
        self._own = np.asarray(weights, dtype=np.float64)
        self._extra = np.zeros(len(tree.leaves)) if extra is None else extra
        total = self._own.copy()
        total[tree.leaves] += self._extra
        below = np.zeros(tree.n)
        for first, stop in self._levels():
            # Children come after their parents: the deepest level first.
            parents = tree.parents[first:stop]
            inverse = np.zeros(tree.n)
            np.add.at(inverse, parents, 1 / total[first:stop])
            inner = np.unique(parents)
            below[inner] = 1 / inverse[inner]
            total[inner] += below[inner]
        self._total, self._below = total, below

    def _levels(self) -> list[tuple[int, int]]:
        """First node of each level and the one beyond its last, from the lowest up, without the root."""
        starts = self.tree.level_start.tolist()
        return [(starts[level], starts[level + 1]) for level in range(self.tree.depth, 0, -1)]

    def solve(
        self, values: NDArray[np.float64], second: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Find the nearest values that add up.

        Sums of children equal their parent's value up to rounding. Without `second` the weights `extra` still count,
        for targets of 0. ``O(n columns)``.

        Parameters
        ----------
        values
            ``(n, columns)`` targets.
        second
            ``(n_leaves, columns)``: the second target of each leaf.

        Returns
        -------
        ndarray
            ``(n, columns)``.
        """
        tree, leaves = self.tree, self.tree.leaves
        made = values * (self._own / self._total)[:, None]
        if second is not None:
            made[leaves] += second * (self._extra / self._total[leaves])[:, None]
        sums = np.zeros_like(made)
        for first, stop in self._levels():
            parents = tree.parents[first:stop]
            inner, starts = np.unique(parents, return_index=True)
            sums[inner] = np.add.reduceat(made[first:stop], starts, axis=0)
            made[inner] += sums[inner] * (self._below / self._total)[inner, None]
        for first, stop in reversed(self._levels()):
            parents = tree.parents[first:stop]
            ratio = self._below[parents] / self._total[first:stop]
            made[first:stop] += (made[parents] - sums[parents]) * ratio[:, None]
        return made

    def variances(self) -> NDArray[np.float64]:
        r"""Variance of each fitted value, ``(n_nodes,)``; targets have independent errors of variance :math:`1 / w`.

        :math:`V = 1 / a` at the root; below,
        :math:`V_c = \frac{1}{a_c} - \frac{A}{a_c^2} + \frac{A^2}{a_c^2} V_r`.
        """
        tree = self.tree
        variances = 1 / self._total
        for first, stop in reversed(self._levels()):
            parents = tree.parents[first:stop]
            a, above = self._total[first:stop], self._below[parents]
            variances[first:stop] = 1 / a - above / a**2 + (above / a) ** 2 * variances[parents]
        return variances
