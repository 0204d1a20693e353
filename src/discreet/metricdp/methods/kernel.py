r"""The closed form: each report's column decays from its own secret as fast as privacy allows.

With :math:`T_{ik} = e^{-\epsilon D_{ik}}`, D the shortest path lengths of the constraint graph, and one report for each
secret, the channel :math:`Z = T\,\mathrm{diag}(y)` with :math:`T y = 1` keeps every constraint if :math:`y \ge 0`.
Put :math:`T^\top \lambda = \mathrm{diag}(T^\top C)`, C the costs. If moreover :math:`C_{ik} \ge \lambda_i` for all
:math:`i \ne k`, no private channel costs less. A report k without an owner needs :math:`C_{ik} \ge
\lambda_i` for all i.

*Proof.* A column v with :math:`v_k = 1` that keeps the constraints has :math:`v_i \ge T_{ik}`, hence
:math:`(C_k - \lambda)^\top v \ge (C_k - \lambda)^\top T_k = 0`; so :math:`\lambda` is feasible for the dual, with value
:math:`1^\top \lambda = \langle C, Z \rangle`. ∎

The last equality is an identity for any y, so that equal primal and dual values prove nothing. The channel needs
:math:`y \ge 0`, and the bound of the prices :math:`\max(0, C_{ik} - \lambda_i)` by
:func:`~discreet.metricdp.bounds.bound.lower_bound` is valid whether the test succeeds or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.metricdp.bounds.bound import route_demands
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Part, PartLimits


@final
@dataclass(frozen=True)
class Kernel:
    """The closed form of this module, if it is a channel. Each secret needs to be the home of a report.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> problem = Problem(MetricSpace.grid(3, 3, cell=1.0, unit="km"), utility_loss="euclidean")
    >>> result = design(problem, MetricDP(10, unit="km"), method=Kernel())
    >>> result.gap < 1e-4
    True
    """

    def solve(self, part: Part, _limits: PartLimits) -> Candidate | None:
        """Solve two linear systems with one matrix, ``T_ij = e^(-epsilon d(i, j))``.

        `part` is a component, limits are not used.

        Returns
        -------
        Candidate or None
            ``None`` if a secret is no report's home, if T is singular, or if ``T^-1 1`` has a negative
            entry.

        Complexity
        ----------
        ``O(n^3)``: 0.04 s for n = 1000.
        """
        # In descending order of cost at home, then in all, so that the cheapest of a home is written last.
        at_home = part.cost[part.homes, np.arange(part.n_reports)]
        order = np.lexsort((-part.cost.sum(axis=0), -at_home))
        own = np.full(part.n, -1)
        own[part.homes[order]] = order
        if own.min() < 0:
            return None
        decay, cost = np.exp(-part.rate * part.paths), part.cost[:, own]
        solutions = _solve_checked(
            decay, np.stack([np.ones(part.n), (decay * cost).sum(axis=0)], axis=1)
        )
        if solutions is None or solutions[:, 0].min() < 0:
            return None
        scale, level = solutions[:, 0], solutions[:, 1]
        spare = cost - level[:, None]
        np.fill_diagonal(spare, 0.0)
        matrix = np.zeros_like(part.cost)
        matrix[:, own] = decay * scale
        demands = np.zeros_like(part.cost)
        demands[:, own] = np.maximum(spare, 0.0)
        roots = np.full(part.n_reports, -1)
        roots[own] = np.arange(part.n)
        prices = route_demands(demands, roots, part.paths, part.constraints, part.epsilon)
        # A report without an owner, as of another component, must cost each secret at least its price.
        excess = np.delete(part.cost, own, axis=1) - level[:, None]
        best = min(spare.min(), excess.min(initial=0.0)) >= 0
        shown = f"its test of optimality {'succeeds' if best else 'fails'}"
        return Candidate("kernel", matrix, prices, f"The closed form is a channel; {shown}.")


def _solve_checked(
    table: NDArray[np.float64], sides: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Solve the symmetric system `table` ``(n, n)`` for sides ``(n, s)``, in ``O(n^3)``.

    Returns ``None`` for a singular matrix or an inaccurate solution.
    """
    try:
        solutions = np.asarray(np.linalg.solve(table, sides), dtype=float)
    except np.linalg.LinAlgError:
        return None
    error = np.abs(table @ solutions - sides).max(axis=0)
    return solutions if (error <= 1e-9 * np.abs(sides).max(axis=0)).all() else None
