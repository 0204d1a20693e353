r"""From survival counts to counts and back, and monotone fits of noisy ones: what the cumulative methods share.

Survival counts :math:`t_s` (groups of size s or more) and the paper's cumulative counts :math:`c_s` (groups of size s
or less) are the same measurement where units are public: :math:`c_s = G_r - t_{s+1}`, with :math:`t_0 = G_r` known.
Where they are not, survival counts still have sensitivity 1, and nothing is said of :math:`t_0`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.isotonic import isotonic_int, isotonic_l1

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.sensitivity import Kind

Tell = Callable[[str], None]
"""Hears a few words about a step."""

Need = Literal["every level", "public units", "equal depth"]
"""What a method may ask of the public facts and of the parts of the budget, beyond a part for the leaves."""

Weights = Literal["inverse-variance", "equal", "spread"]
"""How much the cost of a node counts: by the precision of its noise, as all others, or by its precision times the
fourth root of the number of leaves below it."""

_MAX_WEIGHT = 1 << 24


def check_kind(measured: Measured, kind: Kind, *, everywhere: bool = True) -> None:
    """Raise InvalidProblemError for measurements of another kind, or without noise at a leaf.

    With `everywhere`, the default, every node must have been measured.
    """
    if measured.kind != kind:
        raise InvalidProblemError("measured", f"{kind} counts", f"{measured.kind} counts")
    check_needs(measured.frame, measured.scales, ("every level",) if everywhere else ())


def check_needs(
    frame: Frame, scales: Sequence[Fraction | None], needs: Sequence[Need] = ()
) -> None:
    """Refuse public facts and scales of noise that a method cannot work with; no data are looked at.

    Parameters
    ----------
    frame
        The public facts.
    scales
        For each node the scale of its noise, ``None`` where nothing is measured.
    needs
        What the method needs beside the leaves.

    Raises
    ------
    InvalidProblemError
        Naming what is missing.
    """
    tree = frame.tree
    known = np.array([scale is not None for scale in scales])
    if not known[tree.leaves].all() or ("every level" in needs and not known.all()):
        where = "each level" if "every level" in needs else "the leaves"
        raise InvalidProblemError("levels", f"a share of the budget for {where}", "none for some")
    if "public units" in needs and frame.group_totals is None:
        raise InvalidProblemError("units", "public, as the method needs", "private")
    if "equal depth" in needs and (tree.levels[tree.leaves] != tree.depth).any():
        raise InvalidProblemError("tree", "branches of equal depth", "different ones")


def counts_of(frame: Frame, survival: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert survival counts ``(n_nodes, N)`` of all nodes to counts ``(n_nodes, n_sizes)``.

    A new array, linear in it.
    """
    last = np.zeros((len(survival), 1), dtype=survival.dtype)
    counts = -np.diff(survival, append=last, axis=1)
    if frame.group_totals is None:
        return counts
    return np.hstack([frame.group_totals[:, None] - survival[:, :1], counts])


def survival_of(frame: Frame, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert counts ``(rows, n_sizes)`` to survival counts ``(rows, N)``; a new array, linear in the counts."""
    tails = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    return np.ascontiguousarray(tails[:, 1 - frame.first_size :])


def fitted(measured: Measured, loss: Literal["l2", "l1"]) -> NDArray[np.int64]:
    """Fit the noisy survival counts of each node by counts that never rise; int64 ``(nodes, N)``.

    They are 0 or more, and at most the region's groups where these are public. ``l2`` is the least sum of squares,
    linear in the counts; ``l1`` that of absolute deviations, with a logarithm more.

    Raises
    ------
    InvalidProblemError
        For another loss than "l2" and "l1".
    """
    if loss not in ("l2", "l1"):
        raise InvalidProblemError("loss", "'l2' or 'l1'", repr(loss))
    fit = isotonic_int if loss == "l2" else isotonic_l1
    return fit(measured.values, 0, measured.frame.group_totals, decreasing=True)


def node_weights(
    measured: Measured, weights: Weights, *, resolution: int = 16
) -> NDArray[np.int64]:
    """Return an integer weight for each node, ``(n_nodes,)`` int64, 0 if it was not measured.

    Where all measured nodes weigh the same, each has 1; else the least weight is `resolution`, and none is above
    2^24.

    Raises
    ------
    InvalidProblemError
        For an unknown name of weights.
    """
    known = measured.measured
    if weights == "equal":
        return known.astype(np.int64)
    if weights not in ("inverse-variance", "spread"):
        expected = "'inverse-variance', 'equal' or 'spread'"
        raise InvalidProblemError("weights", expected, repr(weights))
    wanted = 1 / measured.variances()
    if weights == "spread":
        wanted *= measured.frame.tree.leaf_counts**0.25
    relative = wanted / wanted[known].min()
    if relative.max() == 1:
        return known.astype(np.int64)
    return np.asarray(np.minimum(np.rint(resolution * relative), _MAX_WEIGHT), dtype=np.int64)
