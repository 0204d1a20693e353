r"""The joint cumulative problem, Model 2 of [FVZ21]_, without integrality: solved to a gap that is reported.

.. math:: \min \sum_r w_r \lVert t_r - \tilde t_r \rVert^2, \qquad t_r = \sum_{c \in ch(r)} t_c, \qquad
          G_r \ge t_{r1} \ge t_{r2} \ge \dots \ge 0 \ \text{for each leaf } r .

Two sets whose projections are easy: counts that add up (for each size a least squares problem on the tree, solved by
one pass up and one down), and monotone rows (isotonic regression of each leaf). The alternating direction method of
multipliers joins them. After each step its multipliers are normal to the monotone rows at the current point, so that
they give a lower bound on the optimum, by one more pass up and down; the point itself gives an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.printed import bounds, missed_gap
from discreet.core.progress import gap_between
from discreet.hierarchy.isotonic import isotonic_float
from discreet.hierarchy.laminar import project
from discreet.hierarchy.survival import Need, Tell, Weights, check_kind, counts_of, node_weights
from discreet.hierarchy.treefit import TreeFit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind


@final
@dataclass(frozen=True, eq=False)
class JointFit:
    """What the joint problem came to.

    Parameters
    ----------
    survival
        ``(n_nodes, N)`` floats: monotone rows that add up.
    upper
        Their cost.
    lower
        No such rows cost less; in floating-point arithmetic.
    iterations
        Steps made.
    """

    survival: NDArray[np.float64]
    upper: float
    lower: float
    iterations: int

    @property
    def gap(self) -> float:
        """``(upper - lower) / upper``, 0 when both are 0."""
        return gap_between(self.lower, self.upper) or 0.0


def fit_jointly(
    measured: Measured,
    *,
    gap: float = 1e-3,
    max_iterations: int = 1000,
    weights: Weights = "inverse-variance",
    over_relaxation: float = 1.6,
    steps_per_bound: int = 10,
    on_progress: Tell | None = None,
) -> JointFit:
    """Solve the joint problem to a relative gap.

    Raises InvalidProblemError for a gap that is not positive, another kind of measurement, or a level without noise.
    Costs are weighted sums of squares, with weights whose mean over the leaves is 1.

    Parameters
    ----------
    measured
        Survival counts of all levels.
    gap
        When to stop.
    max_iterations
        When to give up.
    weights
        The weight of each node.
    over_relaxation
        Factor of each step toward the fit, from 1 to 2.
    steps_per_bound
        Steps between two bounds.
    on_progress
        Told the gap.

    Returns
    -------
    JointFit
        Rows, their cost, and a lower bound on the cost of any.

    Raises
    ------
    LimitReachedError
        When the gap was not reached; ``best`` is the fit so far.

    Complexity
    ----------
    ``O(n_nodes N)`` a step.
    """
    if not gap > 0:
        raise InvalidProblemError("gap", "a positive number", gap)
    check_kind(measured, "survival")
    frame = measured.frame
    tree, leaves = frame.tree, frame.tree.leaves
    target = measured.values.astype(np.float64)
    heavy = node_weights(measured, weights).astype(np.float64)
    heavy /= heavy[leaves].mean()
    pull = heavy[leaves][:, None]
    most = np.inf if frame.group_totals is None else frame.group_totals[leaves, None]
    plain, pulled = TreeFit(tree, heavy), TreeFit(tree, heavy, extra=pull[:, 0])
    z = _monotone(target[leaves], most)
    u = np.zeros_like(z)
    # A sum of squares is never below 0; where the fit costs nothing, rounding must not leave a gap.
    best = JointFit(tree.totals(z), np.inf, 0.0, 0)
    for step in range(1, max_iterations + 1):
        x = pulled.solve(target, z - u)[leaves]
        moved = over_relaxation * x + (1 - over_relaxation) * z
        z = _monotone(moved + u, most)
        u += moved - z
        if step % steps_per_bound == 0 or step == max_iterations:
            best = _bounds(plain, target, heavy, pull, z, u, best, step)
            if on_progress is not None:
                on_progress(f"step {step}: loss {bounds(best.lower, best.upper)}")
            if best.gap <= gap:
                return best
    raise LimitReachedError(missed_gap(gap, best.lower, best.upper), best)


def _monotone(rows: NDArray[np.float64], most: float | NDArray[np.int64]) -> NDArray[np.float64]:
    return np.clip(isotonic_float(rows, decreasing=True), 0.0, most)


def _bounds(  # noqa: PLR0917 - the state of the iteration
    plain: TreeFit,
    target: NDArray[np.float64],
    heavy: NDArray[np.float64],
    pull: NDArray[np.float64],
    z: NDArray[np.float64],
    u: NDArray[np.float64],
    best: JointFit,
    step: int,
) -> JointFit:
    """Return the best fit and bound after this step: the cost of `z` added up, and the dual bound of `u`.

    `target` is ``(nodes, sizes)``, `heavy` ``(nodes,)``; `pull`, `z` and `u` are of leaves. Solves the tree once.
    """
    tree = plain.tree
    rows = tree.totals(z)
    upper = float((heavy[:, None] * (rows - target) ** 2).sum())
    # min over x of cost + 2 <pull u, x>, less the most that <pull u, .> is on monotone rows, which is at z.
    shifted = target.copy()
    shifted[tree.leaves] -= u
    x = plain.solve(shifted)
    lower = float((heavy[:, None] * (x - target) ** 2).sum())
    lower += 2 * float((pull * u * (x[tree.leaves] - z)).sum())
    if upper > best.upper:
        rows, upper = best.survival, best.upper
    return JointFit(rows, upper, max(lower, best.lower), step)


@final
@dataclass(frozen=True)
class Joint:
    """The joint problem to a gap, then the nearest consistent whole counts (``m-c-joint``).

    Parameters
    ----------
    gap
        Relative gap of the relaxed problem.
    max_iterations
        When to give up; the best fit is used, since any fit may be.
    weights
        The weight of each node.
    """

    gap: float = 1e-3
    max_iterations: int = 500
    weights: Weights = "inverse-variance"

    kind: ClassVar[Kind] = "survival"
    needs: ClassVar[tuple[Need, ...]] = ("every level",)

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Round the joint fit to monotone whole rows, and make their counts consistent.

        Return int64 ``(nodes, sizes)``. The cost is that of :func:`fit_jointly`, up to `max_iterations` passes over
        the numbers.
        """
        frame = measured.frame
        counts = counts_of(frame, rounded(measured, self, on_progress))
        weights = node_weights(measured, self.weights)
        return project(frame, counts, total=frame.total, weights=weights)


def rounded(measured: Measured, how: Joint, on_progress: Tell | None) -> NDArray[np.int64]:
    """Fit jointly and round each number half up, which keeps rows monotone; return int64 ``(nodes, sizes)``.

    `how` has the gap and the largest number of iterations, each a pass over the numbers; at that limit the best fit
    is taken.
    """
    try:
        fit = fit_jointly(
            measured,
            gap=how.gap,
            max_iterations=how.max_iterations,
            weights=how.weights,
            on_progress=on_progress,
        )
    except LimitReachedError as limit:
        if not isinstance(limit.best, JointFit):
            raise
        fit = limit.best
    return np.floor(fit.survival + 0.5).astype(np.int64)
