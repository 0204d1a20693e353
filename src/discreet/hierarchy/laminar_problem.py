"""The problem of least-cost counts on a tree, read and refused at the border, and whether counts are its optimum.

The check is one pass over whole numbers, whatever found the counts; it shares nothing with the engine but the problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.problem import MOST_GROUPS, Frame

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.tree import Tree

INFEASIBLE_COST = 2**61
"""Cost of infeasible counts: above all others, and the sum of two of them is a 64-bit integer."""

MAX_PATH_SUM = INFEASIBLE_COST // 2
"""Largest sum of increments along a path: any such sum is below the cost of infeasible counts."""


@dataclass(frozen=True, eq=False)
class LaminarTask:
    """The problem as the kernels take it: one row a size."""

    tree: Tree
    ys: NDArray[np.int64]
    weights: NDArray[np.int64]
    total: int | None
    threads: int = 1


def read_task(
    frame: Frame | Tree,
    y: ArrayLike,
    total: int | None,
    weights: ArrayLike | None,
) -> LaminarTask:
    """Read the arguments that all functions of the engine share: `y` ``(nodes, sizes)`` integers, weights ``(nodes,)``.

    Raises
    ------
    InvalidProblemError
        For `y` or weights of another shape or type, negative weights, a weight of 0 at a leaf, a total that is negative
        or above ``MOST_GROUPS``, or numbers whose products do not fit into 64 bits.
    """
    tree = frame.tree if isinstance(frame, Frame) else frame
    noisy = np.asarray(y)
    if noisy.ndim != 2 or len(noisy) != tree.n or not noisy.shape[1]:
        raise InvalidProblemError("y", f"{tree.n} rows, one a region", f"shape {noisy.shape}")
    if not np.issubdtype(noisy.dtype, np.integer):
        raise InvalidProblemError("y", "integers", noisy.dtype)
    w = np.ones(tree.n, dtype=np.int64) if weights is None else np.asarray(weights)
    if w.shape != (tree.n,) or not np.issubdtype(w.dtype, np.integer):
        raise InvalidProblemError("weights", f"{tree.n} integers", f"{w.dtype} of {w.shape}")
    if w.min() < 0 or w[tree.leaves].min() < 1:
        raise InvalidProblemError("weights", "positive integers, or 0 above the leaves", "others")
    if total is not None and not 0 <= total <= MOST_GROUPS:
        raise InvalidProblemError("total", f"0 to {MOST_GROUPS}, or None", total)
    if 8 * reach(tree, noisy, total) * int(w.max()) * (tree.depth + 1) >= MAX_PATH_SUM:
        raise InvalidProblemError("y, weights", "products that fit into 64 bits", "larger ones")
    # Read-only, as arrays of some callers are, so that kernels are compiled for one type.
    rows = np.broadcast_to(np.ascontiguousarray(noisy.T, dtype=np.int64), noisy.shape[::-1])
    return LaminarTask(tree, rows, w.astype(np.int64), total)


def reach(tree: Tree, y: NDArray[np.integer[Any]], total: int | None) -> int:
    """Return an upper bound on each count of a best solution, and on its distance from `y`, in groups.

    `y` is ``(nodes, sizes)``, `total` the root's sum, or ``None`` where it is free. Linear in `y`.
    """
    # A leaf is above its own y only where an ancestor, or the total, asks for more.
    largest = max(int(y.max()), -int(y.min()), 1)
    return largest + (largest * len(tree.leaves) if total is None else max(total, largest))


def optimal(
    frame: Frame | Tree,
    x: ArrayLike,
    y: ArrayLike,
    *,
    total: int | None,
    weights: ArrayLike | None = None,
) -> Certificate:
    """Check that counts are an optimum, whatever found them, in integers and in one pass.

    Parameters
    ----------
    frame, y, total, weights
        The problem, as for :func:`project`.
    x
        ``(n_nodes, n_sizes)`` integers: the counts.

    Returns
    -------
    Certificate
        Counts below zero, sums along the tree and a total that do not hold, and the gain of the best exchange.

    Raises
    ------
    InvalidProblemError
        For an argument that makes no sense.

    Notes
    -----
    The difference of two feasible solutions is a sum of exchanges of one group between two leaves, none of which undoes
    another; where the better solution gains, one of the exchanges gains by itself, since costs are separable and
    convex. The cheapest exchange that meets in a region is the cheapest group more below it plus the cheapest group
    less.

    Complexity
    ----------
    O(n n_sizes).

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> y = [[3, 1, 2], [2, -1, 1], [0, 1, 3]]
    >>> print(optimal(tree, [[3, 0, 3], [2, 0, 1], [1, 0, 2]], y, total=6))
    check                     residual  limit  exact  verdict
    counts below zero                0      0    yes  passed
    sums that do not hold            0      0    yes  passed   along the tree
    total that does not hold         0      0    yes  passed
    gain of an exchange              2      0    yes  FAILED   the best of all exchanges of one group
    """
    task = read_task(frame, y, total, weights)
    counts = np.asarray(x)
    if counts.shape != task.ys.shape[::-1] or not np.issubdtype(counts.dtype, np.integer):
        raise InvalidProblemError(
            "x", f"integers of shape {task.ys.shape[::-1]}", f"{counts.dtype} of {counts.shape}"
        )
    rows = np.ascontiguousarray(counts.T, dtype=np.int64)
    sums = task.tree.totals(rows.T[task.tree.leaves])
    off = 0 if total is None else abs(int(rows[:, 0].sum()) - total)
    gain = max(0, -least_exchange(task, rows, 1))
    violations = (
        ("counts below zero", int((rows < 0).sum()), ""),
        ("sums that do not hold", int((sums != rows.T).sum()), "along the tree"),
        ("total that does not hold", off, ""),
        ("gain of an exchange", gain, "the best of all exchanges of one group"),
    )
    return Certificate(
        tuple(
            Check(name, number, 0, exact=True, detail=detail) for name, number, detail in violations
        )
    )


def objective(
    frame: Frame | Tree,
    x: ArrayLike,
    y: ArrayLike,
    *,
    weights: ArrayLike | None = None,
) -> int:
    """Add the cost of counts in integers of any length.

    The cost is the sum of ``weight * (x - y)^2`` over regions and sizes. InvalidProblemError as :func:`project` for
    `y` and `weights`; `x` is not checked and may be any integers. One big-integer operation for each count.

    Parameters
    ----------
    frame, y, weights
        The problem, as for :func:`project`.
    x
        ``(n_nodes, n_sizes)`` integers: the counts.

    Returns
    -------
    int
        The cost.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> tree = Tree.from_paths([("GA",), ("NY",)])
    >>> y = [[4], [1], [0]]
    >>> objective(tree, [[3], [2], [1]], y)
    3
    """
    task = read_task(frame, y, None, weights)
    apart = (np.asarray(x) - np.asarray(y)).astype(object) ** 2
    return int((apart * task.weights.astype(object)[:, None]).sum())


def least_exchange(task: LaminarTask, xs: NDArray[np.int64], step: int) -> int:
    """Return the least change of the cost, over `step`, by moving one unit, or by adding one or dropping one.

    The latter count only if the total is free. `xs` ``(sizes, nodes)`` are counts in units of `step` groups. Negative
    if an exchange improves them. Linear in them.
    """
    tree, children = task.tree, task.tree.child_start
    parents = [
        level[children[level] < children[level + 1]]
        for level in np.split(np.arange(tree.n), tree.level_start[1:-1])
    ]
    roots: list[NDArray[np.int64]] = []
    least = INFEASIBLE_COST
    for block in range(0, len(xs), 64):
        x, y = xs[block : block + 64], task.ys[block : block + 64]
        # One more costs what one less gains, a count higher.
        own = 2 * (step * x - y) + step
        up = own * task.weights
        down = -(own - 2 * step) * task.weights
        leaves = tree.leaves
        down[:, leaves] = np.where(x[:, leaves] > 0, down[:, leaves], INFEASIBLE_COST)
        for nodes in reversed(parents):
            if not len(nodes):
                continue
            first, stop = int(children[nodes[0]]), int(children[nodes[-1] + 1])
            edges = children[nodes] - first
            more = np.minimum.reduceat(up[:, first:stop], edges, axis=1)
            less = np.minimum.reduceat(down[:, first:stop], edges, axis=1)
            least = min(least, int((more + less).min()))
            up[:, nodes] += more
            blocked = less >= INFEASIBLE_COST
            down[:, nodes] = np.where(blocked, INFEASIBLE_COST, down[:, nodes] + less)
        roots.append(np.stack([up[:, 0], down[:, 0]]))
    up_least, down_least = (int(part.min()) for part in np.concatenate(roots, axis=1))
    together = up_least + down_least if task.total is not None else min(up_least, down_least)
    return min(least, together)
