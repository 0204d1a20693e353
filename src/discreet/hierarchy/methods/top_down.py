r"""TopDown: consistency level by level, from the root to the leaves, as in the Census Bureau's algorithm of 2018.

[FVZ21]_ (Section 10) describes the rival as an alternation of a quadratic program over two consecutive levels and an
ad-hoc rounding, after [Abo18]_; neither says more. Two readings are given, both with exact rounding.

* Variant *a*: the root's counts are projected on those that sum to G; then, for each region and size, the children's
  counts on those that sum to their parent's.
* Variant *b*: each step looks one level further: the children and their own children are fitted together, the
  children's counts are kept.

On monotone cumulative counts in place of direct ones (:class:`TopDownCumulative`) it is as accurate as M_c^dp in much
less time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.tree import Tree
from discreet.hierarchy.laminar import project
from discreet.hierarchy.survival import Need, Tell, check_kind, counts_of, fitted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.sensitivity import Kind

_WEIGHT_OF_PARENT = 1 << 20
"""The weight that holds a parent at its counts in one program for all sizes; whether it did is checked."""


def apportion(values: NDArray[np.int64], totals: NDArray[np.int64]) -> NDArray[np.int64]:
    r"""Find for each row the nearest row of whole numbers, none negative, with the given sum.

    With :math:`S(\theta) = \sum_i \max(0, y_i - \theta)`, and :math:`\theta` the largest integer for which it is at
    least the sum, :math:`\max(0, y_i - \theta)` is too much by fewer than there are positive entries; one unit less in
    any of these costs the same. Which entries they are turns with the row, so that no column is favored.

    A sort of each row, of one entry or more: ``O(n log n)``.

    Parameters
    ----------
    values
        ``(rows, n)`` integers.
    totals
        ``(rows,)`` sums, not negative.

    Returns
    -------
    ndarray
        ``(rows, n)``, with the least sum of squared differences.

    Examples
    --------
    >>> apportion(np.array([[5, 2, -3], [1, 1, 1]]), np.array([4, 4])).tolist()
    [[3, 1, 0], [1, 2, 1]]
    """
    ordered = -np.sort(-values, axis=1)
    # S is the largest of the sums of the first k differences, so that theta is the largest of these quotients.
    quotients = (np.cumsum(ordered, axis=1) - totals[:, None]) // np.arange(1, values.shape[1] + 1)
    above = values - quotients.max(axis=1)[:, None]
    fit = np.where(totals[:, None] > 0, np.maximum(above, 0), 0)
    excess = fit.sum(axis=1) - totals
    positive = fit > 0
    count = np.maximum(positive.sum(axis=1), 1)
    turn = (np.cumsum(positive, axis=1) - 1 + np.arange(len(values))[:, None]) % count[:, None]
    return np.asarray(fit - (positive & (turn < excess[:, None])), dtype=np.int64)


@final
@dataclass(frozen=True)
class TopDown:
    """Direct counts, made consistent from the top down (``top-down-a``, ``top-down-b``).

    Parameters
    ----------
    variant
        ``"a"`` looks one level down, ``"b"`` two.

    Examples
    --------
    >>> TopDown(variant="b")
    TopDown(variant='b')
    """

    variant: Literal["a", "b"] = "a"

    kind: ClassVar[Kind] = "direct"
    needs: ClassVar[tuple[Need, ...]] = ("every level",)

    def __post_init__(self) -> None:
        if self.variant not in ("a", "b"):
            raise InvalidProblemError("variant", "'a' or 'b'", repr(self.variant))

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Compute consistent counts, int64 ``(nodes, sizes)``, from noisy counts of all levels.

        `on_progress` hears the number of each level. Variant b solves two levels below each region by
        ``laminar.project``.

        Raises
        ------
        InvalidProblemError
            Unless every level was measured, by direct counts.

        Complexity
        ----------
        Variant a sorts the children of each region, for each size.
        """
        check_kind(measured, "direct")
        if self.variant == "a":
            return descend(measured.frame, measured.values, on_progress)
        return _descend_two(measured.frame, measured.values, on_progress)


def top_down_b() -> TopDown:
    """Return variant b, for the table of methods."""
    return TopDown("b")


@final
@dataclass(frozen=True)
class TopDownCumulative:
    """Survival counts, isotonic regression in each region, consistency from the top down (``top-down-cumulative``).

    Parameters
    ----------
    loss
        What the regression minimizes: squares or absolute deviations.
    """

    loss: Literal["l2", "l1"] = "l2"

    kind: ClassVar[Kind] = "survival"
    needs: ClassVar[tuple[Need, ...]] = ("every level",)

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Compute consistent counts, int64 ``(nodes, sizes)``, from noisy survival counts of all levels.

        A regression for each region, linear for "l2", then a sort of the children of each region for each size.
        Raises InvalidProblemError for another kind of measurement, a level without noise, or another loss.
        """
        check_kind(measured, "survival")
        counts = counts_of(measured.frame, fitted(measured, self.loss))
        return descend(measured.frame, counts, on_progress)


def descend(frame: Frame, counts: NDArray[np.int64], on_progress: Tell | None) -> NDArray[np.int64]:
    """Return consistent counts ``(nodes, sizes)`` by variant a, from any counts of that shape.

    The children of each region are apportioned to it, a sort for each size.
    """
    tree = frame.tree
    fit = np.empty_like(counts)
    fit[:1] = _top(frame, counts)
    for node in range(tree.n):
        if on_progress is not None and node == tree.level_start[tree.levels[node]]:
            on_progress(f"level {int(tree.levels[node]) + 1}")
        below = tree.children(node)
        if below:
            part = slice(below.start, below.stop)
            fit[part] = apportion(np.ascontiguousarray(counts[part].T), fit[node]).T
    return fit


def _top(frame: Frame, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the root's counts ``(1, sizes)``, not negative, with the public total if there is one."""
    if frame.total is None:
        return np.maximum(counts[:1], 0)
    return apportion(counts[:1], np.array([frame.total]))


def _descend_two(
    frame: Frame, counts: NDArray[np.int64], on_progress: Tell | None
) -> NDArray[np.int64]:
    """Return counts ``(nodes, sizes)`` that add up: each parent settles its children by a projection of two levels.

    `counts` are the noisy ones; `on_progress` gets the name of each level.
    """
    tree = frame.tree
    fit = np.empty_like(counts)
    # The root and its children first, to settle the root.
    small, nodes = _crown(tree, 0, 1)
    fit[0] = project(small, counts[nodes], total=frame.total)[0]
    for node in range(tree.n):
        if on_progress is not None and node == tree.level_start[tree.levels[node]]:
            on_progress(f"level {int(tree.levels[node]) + 1}")
        below = tree.children(node)
        if not below:
            continue
        small, nodes = _crown(tree, node, 2)
        weights = np.ones(len(nodes), dtype=np.int64)
        weights[0] = _WEIGHT_OF_PARENT
        wanted = counts[nodes]
        wanted[0] = fit[node]
        made = project(small, wanted, total=int(fit[node].sum()), weights=weights)
        if not np.array_equal(made[0], fit[node]):
            # Noise beyond that weight. The parent's counts as totals, size by size, hold it whatever the noise is.
            alone = [
                project(small, wanted[:, [s]], total=count)
                for s, count in enumerate(fit[node].tolist())
            ]
            made = np.hstack(alone)
        fit[below.start : below.stop] = made[1 : len(below) + 1]
    return fit


def _crown(tree: Tree, top: int, depth: int) -> tuple[Tree, NDArray[np.int64]]:
    """Return the subtree of node `top` with `depth` levels below it, and the ``(n,)`` numbers of its nodes in `tree`.

    Linear in its nodes.
    """
    nodes, parents, level = [top], [-1], [(top, 0)]
    for _ in range(depth):
        level = [(child, place) for node, place in level for child in tree.children(node)]
        first = len(nodes)
        nodes += [child for child, _ in level]
        parents += [place for _, place in level]
        level = [(child, first + i) for i, (child, _) in enumerate(level)]
    return Tree(tuple(nodes), np.array(parents)), np.array(nodes)
