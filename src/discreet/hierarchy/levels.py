r"""A budget for each level: chosen for a stated workload, from public inputs alone.

Let level :math:`\ell` have the part :math:`f_\ell` of the budget. A number measured there has noise of variance

.. math:: v_\ell = 2 b_\ell^2 , \quad b_\ell = \frac{\Delta_\ell}{f_\ell \varepsilon}
          \qquad\text{or}\qquad v_\ell = \sigma_\ell^2 = \frac{\Delta_\ell^2}{2 f_\ell \rho},

and the least squares estimate that combines all levels has, at node r, a variance :math:`V_r(f)` that follows from the
tree by the recursion of :class:`~discreet.hierarchy.treefit.TreeFit`. The workload is a weight :math:`a_\ell` for each
level, and the parts minimize

.. math:: E(f) = \sum_\ell a_\ell \sum_{r \in \ell} \sqrt{V_r(f)} ,

which is proportional to the expected absolute error, added up over the regions of each level. Counts that are known not
to be negative have smaller errors than least squares ones; what matters here is how errors divide among the levels. For
discrete Laplace noise the formula of the variance is that of the continuous law, near enough for scales above 1.

Proposes; checked by `discreet.hierarchy.verify.verify_guarantee`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.hierarchy.measure import level_shares, node_scales
from discreet.hierarchy.treefit import TreeFit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.sensitivity import Kind


def expected_error(
    frame: Frame,
    kind: Kind,
    guarantee: PureDP | ZeroConcentratedDP,
    levels: Sequence[Fraction],
) -> NDArray[np.float64]:
    r"""Predict the error of each level: the sum over its regions of :math:`\sqrt{V_r(f)}`, for one size.

    Linear in the number of regions.

    Parameters
    ----------
    frame, kind, guarantee
        What is measured, and what for.
    levels
        The part of the budget of each level, all positive.

    Returns
    -------
    ndarray
        ``(depth + 1,)``.

    Raises
    ------
    InvalidProblemError
        For a level whose share is 0.

    Examples
    --------
    >>> from discreet import Tree
    >>> from discreet.hierarchy.problem import Frame
    >>> frame = Frame(Tree.from_paths([("GA",), ("NY",)]), 5, "private")
    >>> guarantee = PureDP(1, neighbors="add-remove-person")
    >>> expected_error(frame, "survival", guarantee, [Fraction(1, 2)] * 2).round(2).tolist()
    [2.31, 4.62]
    """
    scales = node_scales(frame, kind, guarantee, levels, leaves_inherit=kind != "chain")
    numbers = np.array([0.0 if scale is None else float(scale) for scale in scales])
    if not numbers.all():
        raise InvalidProblemError("levels", "positive numbers", "a level with no share")
    variances = 2 * numbers**2 if isinstance(guarantee, PureDP) else numbers
    fitted = TreeFit(frame.tree, 1 / variances).variances()
    return np.asarray(np.bincount(frame.tree.levels, weights=np.sqrt(fitted)), dtype=np.float64)


def choose_levels(
    frame: Frame,
    kind: Kind,
    guarantee: PureDP | ZeroConcentratedDP,
    workload: ArrayLike,
    *,
    max_levels_of_restarts: int = 8,
    n_parts: int = 1000,
) -> tuple[Fraction, ...]:
    """Choose the part of the budget of each level that gives the least expected error of a workload.

    A tree of `n_parts` levels or more is refused. Each evaluation is one of :func:`expected_error`; a start takes them
    for all pairs of levels, again and again.

    Parameters
    ----------
    frame, kind, guarantee
        What is measured, and what for.
    workload
        ``(depth + 1,)``: how much the total error of each level matters, the root's first; none negative, not all 0.
        ``[0, 0, 1]`` cares for the leaves alone; one over the regions of each level, for the error of a region
        whatever its level.
    max_levels_of_restarts
        Levels with which a tree gets more starts than one: each takes a time that grows with their square.
    n_parts
        Parts into which the budget is divided; each level gets one or more.

    Returns
    -------
    tuple of Fraction
        Multiples of ``1 / n_parts`` with the sum 1, for the argument ``levels`` of ``release``.

    Raises
    ------
    InvalidProblemError
        For a workload of another length, or a negative one.

    Complexity
    ----------
    Some hundred evaluations for each start, each linear in the number of regions.

    Notes
    -----
    Parts are moved from one level to another while that helps, in steps that are halved. For Gaussian noise the
    error is convex in the parts. For Laplace noise it is not, and what is found is the best of several searches: from
    equal parts, so that the choice is never predicted to be worse, and in trees of few levels from nine
    tenths at each level.

    Examples
    --------
    >>> from discreet import Tree
    >>> from discreet.hierarchy.problem import Frame
    >>> frame = Frame(Tree.from_paths([(str(i),) for i in range(50)]), 5, "private")
    >>> guarantee = PureDP(1, neighbors="add-remove-person")
    >>> [str(part) for part in choose_levels(frame, "survival", guarantee, [1, 1])]
    ['1/1000', '999/1000']
    """
    weights = np.asarray(workload, dtype=np.float64)
    depth = frame.tree.depth
    if weights.shape != (depth + 1,) or not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        expected = f"{depth + 1} weights, none negative, not all 0"
        raise InvalidProblemError("workload", expected, "others")
    if depth >= n_parts:
        raise InvalidProblemError("tree", f"fewer than {n_parts} levels", depth + 1)

    def error(grains: list[int]) -> float:
        parts = [Fraction(grain, n_parts) for grain in grains]
        return float(weights @ expected_error(frame, kind, guarantee, parts))

    starts = [_parts(depth, 0, n_parts // (depth + 1), n_parts)]
    if isinstance(guarantee, PureDP) and 0 < depth < max_levels_of_restarts:
        each = max(1, n_parts // (10 * depth))
        starts += [_parts(depth, level, each, n_parts) for level in range(depth + 1)]
    _, best = min((_descended(start, error) for start in starts), key=itemgetter(0))
    return level_shares(depth, [Fraction(grain, n_parts) for grain in best])


def _parts(depth: int, level: int, each: int, n_parts: int) -> list[int]:
    """Return `each` parts for every level, and the rest of `n_parts` for one of them."""
    grains = [each] * (depth + 1)
    grains[level] += n_parts - sum(grains)
    return grains


def _descended(grains: list[int], error: Callable[[list[int]], float]) -> tuple[float, list[int]]:
    """Move parts from one level to another while `error` falls; return the error and the parts.

    `grains` has the number of parts of each level. Each step tries all pairs of levels.
    """
    least, step = error(grains), sum(grains) // 4
    levels = range(len(grains))
    while step:
        better = None
        for give, take in permutations(levels, 2):
            if grains[give] <= step:
                continue
            moved = list(grains)
            moved[give] -= step
            moved[take] += step
            cost = error(moved)
            if cost < least:
                least, better = cost, moved
        if better is None:
            step //= 2
        else:
            grains = better
    return least, grains
