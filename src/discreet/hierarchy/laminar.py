r"""Exact least-cost counts on a tree: whole numbers, none negative, that add up, and sum to G.

For each size s the counts of the regions add up along the tree; the sizes are coupled by the root's total alone. So the
constraints are laminar and the cost is separable and convex,

.. math:: \min \sum_{r,s} w_r (x_{rs} - y_{rs})^2, \qquad x_{rs} = \sum_{c \in ch(r)} x_{cs}, \qquad
          \sum_s x_{root,s} = G, \qquad x \in \mathbb{Z}_{\ge 0}.

Tables of optimal cost are convex, so that they are lists of increments in ascending order, and the table of a region is
the merged list of its children plus its own increments (Section 7 of [FVZ21]_). Only a few increments around a good
guess are looked at; what comes out is kept only if no exchange of one group between two lowest regions improves it,
which proves it optimal.

Proposes; checked by `discreet.hierarchy.laminar_problem.optimal`. Post-processing: no guarantee rests on it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import SolverError
from discreet.core.spaces.inputs import positive_count
from discreet.hierarchy.laminar_problem import (
    INFEASIBLE_COST,
    LaminarTask,
    least_exchange,
    objective,
    optimal,
    reach,
    read_task,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.tree import Tree
    from discreet.hierarchy.problem import Frame

__all__ = ["continuous", "objective", "optimal", "project"]


def continuous(
    frame: Frame | Tree,
    y: ArrayLike,
    *,
    total: int | None,
    weights: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Solve the problem for squares without integrality, in closed form.

    The flow of a region as a function of the marginal price of a group is convex and piecewise linear, with at most one
    bend for each lowest region below it: :math:`\max(0, y + p / 2w)` for a leaf; for others the sum over the children
    at the price q that solves :math:`q + 2 w (\sum_c X_c(q) - y) = p`. Bends keep their order on the way up. The price
    of the roots is found by bisection to the last bit.

    Parameters
    ----------
    frame
        The regions: a frame or a tree.
    y
        ``(n_nodes, n_sizes)`` integers, such as noisy counts; of either sign.
    total
        G, the sum of the root's counts; ``None`` leaves it free.
    weights
        ``(n_nodes,)`` integers: positive for leaves, 0 or more above; 1 by default.

    Returns
    -------
    ndarray
        ``(n_nodes, n_sizes)`` float64, up to rounding of floats.

    Raises
    ------
    InvalidProblemError
        For an argument that makes no sense.

    Complexity
    ----------
    O(n depth log n) for each size, with no dependence on the noise.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> tree = Tree.from_paths([("GA",), ("NY",)])
    >>> continuous(tree, [[4], [1], [0]], total=None).tolist()
    [[3.0], [2.0], [1.0]]
    """
    task = read_task(frame, y, total, weights)
    return np.ascontiguousarray(_flows(task).T)


def project(
    frame: Frame | Tree,
    y: ArrayLike,
    *,
    total: int | None,
    weights: ArrayLike | None = None,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Find whole numbers that add up and cost least, and prove it.

    SolverError if no window holds a solution.

    Parameters
    ----------
    frame
        The regions: a frame or a tree.
    y
        ``(n_nodes, n_sizes)`` integers, such as noisy counts; of either sign.
    total
        G, the sum of the root's counts; ``None`` leaves it free.
    weights
        ``(n_nodes,)`` integers: positive for leaves, 0 or more above; 1 by default.
    threads
        Among how many threads the sizes are dealt out; the result does not depend on it.

    Returns
    -------
    ndarray
        ``(n_nodes, n_sizes)`` int64, an optimum. Among equal increments the smaller size and the earlier region go
        first; the objective does not depend on that.

    Raises
    ------
    InvalidProblemError
        For an argument that makes no sense.

    Complexity
    ----------
    O(n depth log n) for each size. Memory O(n n_sizes).

    Notes
    -----
    Everything starts from :func:`continuous`. The optimum inside windows of a few counts is found by merging
    increments. Where the test of :func:`optimal` finds an exchange that improves it, it becomes the center of windows
    twice as wide. Where no window holds a solution, steps of a power of two are halved again and again: the proximity
    of scaled optima [Hoc94]_, here not trusted but checked.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> project(tree, [[3, 1, 2], [2, -1, 1], [0, 1, 3]], total=6).tolist()
    [[3, 1, 2], [3, 0, 0], [0, 1, 2]]
    """
    task = replace(read_task(frame, y, total, weights), threads=positive_count(threads, "threads"))
    counts = np.rint(_flows(task)).astype(np.int64)
    if not _refine(task, counts, 1, half=1):
        counts = _scaled(task)
    return np.ascontiguousarray(counts.T)


def _flows(task: LaminarTask) -> NDArray[np.float64]:
    """Solve without integrality; return floats ``(sizes, nodes)``. ``O(depth n log n)`` a size for n leaves."""
    from discreet.hierarchy.kernels import laminar as kernels

    tree, shape = task.tree, (len(task.ys), len(task.tree.leaves))
    offsets = np.concatenate([[0], np.cumsum(tree.leaf_counts)])
    price, roots = 0.0, np.empty(0)
    if task.total is not None:
        bends = np.empty(shape), np.empty(shape), np.empty(shape)
        _deal(
            task,
            lambda rows: kernels.bends(
                tree.child_start, offsets, task.ys[rows], task.weights, *(b[rows] for b in bends)
            ),
        )
        price, roots = kernels.price_of(*bends, task.total), np.empty(len(task.ys))
        kernels.flows_at(*bends, price, roots)
    flows = np.empty(task.ys.shape)
    _deal(
        task,
        lambda rows: kernels.descend(
            tree.child_start, offsets, task.ys[rows], task.weights, price, roots[rows], flows[rows]
        ),
    )
    return flows


def _deal(task: LaminarTask, work: Callable[[slice], None]) -> None:
    """Call `work` with slices of the sizes, one for each thread; kernels hold no lock, and each writes its own rows."""
    edges = np.linspace(0, len(task.ys), task.threads + 1).astype(int).tolist()
    parts = [slice(first, stop) for first, stop in pairwise(edges)]
    if len(parts) == 1:
        work(parts[0])
        return
    with ThreadPoolExecutor(len(parts)) as executor:
        # The list waits for all, and raises what any of them raised.
        list(executor.map(work, parts))


def _scaled(task: LaminarTask) -> NDArray[np.int64]:
    """Solve in steps of powers of two, from one beyond every count down to 1; return counts ``(sizes, nodes)``.

    Raises SolverError where a window has no solution.
    """
    step = 1 << reach(task.tree, task.ys, task.total).bit_length()
    centers = np.zeros(task.ys.shape, dtype=np.int64)
    while _refine(task, centers, step, half=4):
        if step == 1:
            return centers
        step //= 2
        centers *= 2
    raise SolverError("laminar engine", "no solution in any window")


def _refine(
    task: LaminarTask, centers: NDArray[np.int64], step: int, *, half: int, max_half: int = 64
) -> bool:
    """Move the centers ``(sizes, nodes)``, in place, until no exchange of `step` improves them.

    Windows have `half` steps on either side, which doubles where it is too small, up to `max_half`: memory grows with
    it. Returns whether any window held a solution. Each round solves the windows and looks for an exchange.
    """
    while True:
        if _solve(task, centers, step, half):
            if least_exchange(task, centers, step) >= 0:
                return True
        elif half >= max_half:
            return False
        # Windows around a solution hold something better, if there is; so this ends also at the widest.
        half = min(2 * half, max_half)


def _solve(task: LaminarTask, centers: NDArray[np.int64], step: int, half: int) -> bool:
    """Replace `centers` ``(sizes, nodes)`` by the best counts within ``half`` steps of `step`.

    Return whether there are any. Linear in the windows on average, ``sizes * nodes * (2 half + 1)`` entries.
    """
    from discreet.hierarchy.kernels import laminar as kernels

    n_sizes, children = len(task.ys), task.tree.child_start
    shape = (task.weights, step, half)

    def settle(roots: NDArray[np.int64]) -> None:
        _deal(
            task,
            lambda rows: kernels.settle(
                children, task.ys[rows], centers[rows], *shape, roots[rows]
            ),
        )

    if task.total is None:
        settle(np.zeros(0, dtype=np.int64))
        return True
    lows, lengths = np.empty(n_sizes, dtype=np.int64), np.empty(n_sizes, dtype=np.int64)
    tables = np.full((n_sizes, 2 * half + 1), INFEASIBLE_COST)
    _deal(
        task,
        lambda rows: kernels.tops(
            children, task.ys[rows], centers[rows], *shape, lows[rows], lengths[rows], tables[rows]
        ),
    )
    need = task.total // step - int(lows.sum())
    if not 0 <= need <= lengths.sum():
        return False
    roots = lows
    if need:
        last = np.partition(tables, need - 1, axis=None)[need - 1]
        below, ties = (tables < last).sum(axis=1), (tables == last).sum(axis=1)
        before = np.cumsum(ties) - ties
        roots = lows + below + np.clip(need - below.sum() - before, 0, ties)
    settle(roots)
    return True
