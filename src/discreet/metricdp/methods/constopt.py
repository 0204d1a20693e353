r"""ConstOPT, as [QLPSX24]_ describe it: an exponential form for distant entries, a linear program for near ones.

Entries beyond a free radius r from their report's secret have the exponential form with one scale for each column;
those within r are variables. With :math:`e_{ik} = e^{-\lambda \epsilon d_{ik}}`,

.. math::

    z_{ik} = y_k\, e_{ik} \quad (d_{ik} > r), \qquad y \ge 0,

and the program minimizes the loss over y and the free entries, subject to privacy for all pairs and to rows that sum to
1. Pairs of far entries keep :math:`\lambda \epsilon` by the triangle inequality and need no rows.

The mechanism is due to [IKWAT22]_, whose paper was not available. This follows the account in [QLPSX24]_:
the exponential form for some entries, with the exponent :math:`\epsilon d / 2` of its Equation (18), linear programming
for the others, all secrets together. The choice of r is ours; it is doubled if no channel of the form exists.

*Fewer rows.* A free entry is bound to the far entries of its column only through the tightest of them:
:math:`L_{ik}\, y_k \le z_{ik} \le U_{ik}\, y_k` with :math:`U_{ik} = \min_j e^{\epsilon d_{ij}} e_{jk}` and
:math:`L_{ik} = \max_j e^{-\epsilon d_{ij}} e_{jk}` over the far j: two rows in place of two for each far
secret.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.printed import share as printed_share
from discreet.metricdp.methods.direct import LARGEST_EXPONENT, MAX_ROWS
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.lp import LinearProgram
    from discreet.metricdp.part import Part, PartLimits


@final
@dataclass(frozen=True)
class ConstOPT:
    """ConstOPT: the exponential form for distant entries, a linear program for near ones.

    Parameters
    ----------
    rate
        Lambda, in (0, 1]: decay of the far entries as a share of epsilon. 1/2 as published.
    free
        Free radius, in the unit of the space: largest distance of a free entry from its report. ``None`` for the
        largest distance between a secret and its nearest neighbor, so that every secret has a free neighbor.

    Raises
    ------
    InvalidProblemError
        For a rate outside (0, 1], or a negative radius.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Exponential, Problem, design
    >>> problem = Problem(MetricSpace.grid(4, 4, cell=1, unit="km"), utility_loss="euclidean")
    >>> losses = [
    ...     design(problem, MetricDP(1, unit="km"), method=method, throw=False).upper
    ...     for method in (None, ConstOPT(), Exponential())
    ... ]
    >>> losses == sorted(losses)
    True
    """

    rate: Fraction = Fraction(1, 2)
    free: Fraction | None = None

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise InvalidProblemError("rate", "a part of epsilon in (0, 1]", self.rate)
        if self.free is not None and self.free < 0:
            raise InvalidProblemError("free", "a distance of at least 0, or None", self.free)

    def solve(self, part: Part, limits: PartLimits) -> Candidate:
        """Solve with a free radius that is doubled until there is a channel.

        Returns a candidate with the channel and no prices; without a matrix if the program would have too many rows.

        `part` is a component; the seconds of `limits` are for each attempt.

        Raises
        ------
        InfeasibleError
            If no channel of the form exists for any radius.
        LimitReachedError, SolverError
            From the solver.

        Complexity
        ----------
        ``2 f + f^2`` rows for each report with f free entries, after ``O(n^2)`` work for each report.
        """
        from discreet.core.lp import solve

        home = part.places
        nats = part.nats(part.paths)
        radius = self._radius(nats, part)
        attempts = 0
        while True:
            free = nats[:, home] <= radius
            rows = int((free.sum(axis=0) ** 2).sum()) + 2 * int(free.sum())
            if rows > MAX_ROWS:
                note = f"ConstOPT would need {rows} rows and was not built."
                return Candidate("constopt", None, None, note)
            attempts += 1
            form = _Form(part, nats, float(self.rate) * nats[:, home], free)
            try:
                solution = solve(
                    form.program(),
                    method="simplex",
                    time_limit=limits.solving,
                    threads=limits.threads,
                )
                break
            except InfeasibleError:
                if free.all():
                    raise
                radius = max(2 * radius, float(nats[nats > 0].min(initial=math.inf)))
        share = printed_share(float(free.mean()))
        note = (
            f"ConstOPT with {share} of the entries free had {rows} rows (radius number {attempts})."
        )
        facts = {"rate": str(self.rate), "free entries": int(free.sum()), "rows": rows}
        return Candidate("constopt", form.matrix(solution.x), None, note, facts)

    def _radius(self, nats: NDArray[np.float64], part: Part) -> float:
        """Return the free radius of the first program, in nats: `free`, or the largest distance to a nearest neighbor.

        Raised by one part in 10^9, so that ties are included. `nats` is ``(n, n)``.
        """
        if self.free is not None:
            return float(part.epsilon * self.free) * (1 + 1e-9)
        to_others = np.where(np.eye(part.n, dtype=bool), np.inf, nats)
        return float(to_others.min(axis=1).max()) * (1 + 1e-9)


@final
class _Form:
    """The program in variables that are near 1: the scales y, then ``x = z / e`` for the free entries."""

    def __init__(
        self,
        part: Part,
        nats: NDArray[np.float64],
        decay: NDArray[np.float64],
        free: NDArray[np.bool_],
    ) -> None:
        self.cost, self.nats, self.decay, self.free = part.cost, nats, decay, free
        self.n, self.k = free.shape
        # Index of the variable of each entry: its own if it is free, else that of its column.
        self.at = np.tile(np.arange(self.k), (self.n, 1))
        self.at[free] = self.k + np.arange(int(free.sum()))

    def matrix(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ``(n, k)`` channel of a solution ``(k + free entries,)``; its rows sum to about 1."""
        return np.exp(-self.decay) * np.maximum(x, 0.0)[self.at]

    def program(self) -> LinearProgram:
        """Return the linear program in the k scales, then the free entries over e; its cost is divided by the largest.

        Privacy rows ``x_a - e^s x_b <= 0`` with s >= 0, then the n row sums, equal to 1.
        """
        from scipy.sparse import coo_array

        from discreet.core.lp import LinearProgram
        from discreet.core.lp.program import HIGHS

        blocks = [self._ratios(k) for k in range(self.k)]
        first, second, spare = (np.concatenate([block[t] for block in blocks]) for t in range(3))
        m, size = len(first), self.k + int(self.free.sum())
        weight = np.exp(-self.decay)
        # HiGHS drops smaller coefficients; the repair corrects the sums.
        i, k = np.nonzero(weight > HIGHS.small_matrix_value)
        row = np.concatenate([np.arange(m), np.arange(m), m + i])
        column = np.concatenate([first, second, self.at[i, k]])
        data = np.concatenate([np.ones(m), -np.exp(spare), weight[i, k]])
        matrix = coo_array((data, (row, column)), shape=(m + self.n, size)).tocsr()
        priced = self.cost * weight
        cost = np.zeros(size)
        cost[: self.k] = np.where(self.free, 0.0, priced).sum(axis=0)
        cost[self.k :] = priced[self.free]
        upper = np.concatenate([np.zeros(m), np.ones(self.n)])
        lower = np.where(upper == 0, -np.inf, 1.0)
        scaled = cost / (cost.max() or 1.0)
        return LinearProgram(scaled, matrix, row_lower=lower, row_upper=upper)

    def _ratios(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the privacy rows of column k.

        Variable, bounding variable, and the nats between them, ``(rows,)`` each. The square of its free entries, and
        two rows for each of these if others are not free; rows beyond the exponents of floats are left out.
        """
        near, far = np.flatnonzero(self.free[:, k]), np.flatnonzero(~self.free[:, k])
        decay = self.decay[:, k]
        between = self.nats[np.ix_(near, near)] + decay[near][:, None] - decay[near][None, :]
        a, b = np.nonzero(~np.eye(len(near), dtype=bool))
        first, second, spare = [self.at[near[a], k]], [self.at[near[b], k]], [between[a, b]]
        if len(far):
            apart = self.nats[np.ix_(near, far)]
            above = (apart + decay[near][:, None] - decay[far][None, :]).min(axis=1)
            below = (apart + decay[far][None, :] - decay[near][:, None]).min(axis=1)
            scale = np.full(len(near), k)
            first += [self.at[near, k], scale]
            second += [scale, self.at[near, k]]
            spare += [above, below]
        nats = np.concatenate(spare)
        in_range = nats <= LARGEST_EXPONENT
        return np.concatenate(first)[in_range], np.concatenate(second)[in_range], nats[in_range]
