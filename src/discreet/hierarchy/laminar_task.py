"""The problem of least-cost counts as the engine takes it, read and refused at the border."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.inputs import positive_count
from discreet.hierarchy.problem import MOST_GROUPS, Frame

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.tree import Tree

__all__ = ["NOT_POSSIBLE", "Huber", "Loss", "Task", "reach", "read_task"]

_FREE = 2**62
"""Increments are cut off at this bound, which none of squares reaches."""

NOT_POSSIBLE = 2**61
"""The cost of what can't be done."""

_ROOM = 2**60
"""So far the sums of increments along a path may reach."""


@final
@dataclass(frozen=True)
class Huber:
    """Squares up to ``delta``, straight lines beyond: ``2 delta |t| - delta^2``.

    Parameters
    ----------
    delta
        A positive integer.

    Examples
    --------
    >>> Huber(3)
    Huber(delta=3)
    """

    delta: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", positive_count(self.delta, "delta", MOST_GROUPS))


Loss = Literal["l2", "l1"] | Huber


@dataclass(frozen=True, eq=False)
class Task:
    """The problem as the kernels take it: one row a size."""

    tree: Tree
    ys: NDArray[np.int64]
    weights: NDArray[np.int64]
    bound: int
    total: int | None
    threads: int = 1


def read_task(
    frame: Frame | Tree,
    y: ArrayLike,
    total: int | None,
    weights: ArrayLike | None,
    loss: Loss,
) -> Task:
    """Read the arguments that all functions of the engine share."""
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
    if 8 * reach(tree, noisy, total) * int(w.max()) * (tree.depth + 1) >= _ROOM:
        raise InvalidProblemError("y, weights", "products that fit into 64 bits", "larger ones")
    if isinstance(loss, Huber):
        bound = 2 * loss.delta
    elif loss in ("l1", "l2"):
        bound = 1 if loss == "l1" else _FREE
    else:
        raise InvalidProblemError("loss", "'l2', 'l1' or Huber(delta)", repr(loss))
    rows = np.ascontiguousarray(noisy.T, dtype=np.int64)
    return Task(tree, rows, w.astype(np.int64), bound, total)


def reach(tree: Tree, y: NDArray[np.integer[Any]], total: int | None) -> int:
    """Bound what a count of a best solution, or its distance from y, can be."""
    # A leaf is above its own y only where an ancestor, or the total, asks for more.
    largest = max(int(y.max()), -int(y.min()), 1)
    return largest + (largest * len(tree.leaves) if total is None else max(total, largest))
