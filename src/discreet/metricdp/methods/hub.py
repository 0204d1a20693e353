r"""Exponential tails and a hub: the best channel of a family with one parameter for each report, in any metric.

Every report k but the hub h has the column :math:`a_k e^{-\epsilon D_{i o_k}}` with a height :math:`a_k \ge 0`, and the
hub gets the rest of each row:

.. math::

    z_{ik} = a_k e^{-\epsilon D_{i o_k}} \; (k \ne h), \qquad z_{ih} = a_h e^{-\epsilon D_{i o_h}} + r_i, \qquad
    r = 1 - E a \ge 0, \quad E_{ik} = e^{-\epsilon D_{i o_k}}.

By the triangle inequality the tails keep :math:`\epsilon` for all pairs; the rest r does if
:math:`e^{-\epsilon D_{ij}} r_i \le r_j`, which is linear in a. So the best heights solve a program of n_reports
variables, whose rows for r are added once they are violated. With :math:`a = E^{-1} 1` it is the closed form of
:mod:`~discreet.metricdp.methods.kernel`; with :math:`a \ge 0` it always applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.errors import LimitReachedError, SolverError
from discreet.core.jit import clock
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Part, PartLimits


class _Limits(NamedTuple):
    """Limits on the programs."""

    rounds: int = 20
    """Limit on the programs, each with the rows violated by the last heights: two or three were enough for words, six
    to eight for maps of 225 places, more than eight for 400."""

    violation: float = 1e-4
    """Largest violation of a row, as a probability. With 1e-7 ten families of 225 secrets had the same loss to four
    digits after the repair, which corrects it."""

    seconds_of_million: float = 8.0
    """CPU seconds of the first program with a million coefficients, 1,000 junctions of Rome; they grow with the square,
    or less. A program that would exceed its time is not built. 166 tails for 2,000 words took a sixth of that forecast;
    November 2026."""

    seconds_without_limit: float = 0.27
    """Limit on that forecast where no time limit stops the solver: the programs of 400 secrets take five seconds."""


_LIMITS = _Limits()


@final
@dataclass(frozen=True)
class TailsAndHub:
    """Exponential tails with optimal heights; the rest of each row goes to one report.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> problem = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")
    >>> guarantee = MetricDP(2, unit="km")
    >>> tails = design(problem, guarantee, method=TailsAndHub(), throw=False)
    >>> tails.upper < design(problem, guarantee, method="exponential", throw=False).upper
    True
    """

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:
        """Compute the optimal heights of exponential tails on `part`, and add the rest of each row to the hub.

        The seconds and threads of `limits` are for the programs; the matrix ``(n, K)`` comes without prices.

        Returns
        -------
        Candidate or None
            ``None`` for one secret, and for a program that is too large.

        Raises
        ------
        LimitReachedError
            If time is up before the first program is solved.

        Complexity
        ----------
        A dense linear program of n rows and n_reports variables by the dual simplex method, then some rounds with at
        most n more rows and a warm start: .1 to .9 CPU seconds for 225 secrets.
        """
        if part.n < 2:
            return None
        decay = np.exp(-part.nats(part.paths))
        hub = int(part.cost.sum(axis=0).argmin())
        answer = best_heights(decay, part.homes, part.cost, part.cost[:, hub], limits)
        if answer is None:
            return None
        heights, rounds = answer
        matrix = decay[:, part.homes] * heights
        matrix[:, hub] += np.maximum(1.0 - matrix.sum(axis=1), 0.0)
        count = int((heights > 0).sum())
        note = f"{count} exponential tails and a hub, by {rounds} linear programs."
        return Candidate("tails-and-hub", matrix, None, note, {"tails": count})


def best_heights(
    decay: NDArray[np.float64],
    places: NDArray[np.int64],
    cost: NDArray[np.float64],
    rest_cost: NDArray[np.float64],
    limits: PartLimits,
) -> tuple[NDArray[np.float64], int] | None:
    """Return the heights of exponential tails for which the loss is least, and the number of programs solved.

    Parameters
    ----------
    decay
        ``(n, n)``: ``e^-nats`` between secrets.
    places
        ``(k,)``: secret at the center of each tail.
    cost
        ``(n, k)``: ``p_i c_ik`` of the report that each tail stands for.
    rest_cost
        ``(n,)``: the same of the report that gets the rest of each row.
    limits
        Seconds and threads of the programs.

    Returns
    -------
    heights : ndarray
        ``(k,)``; the best so far if time or rounds end.
    rounds : int
        Linear programs solved: up to twenty, the first of n rows, each later one with up to n rows more. ``None`` in
        place of both if the first has too many coefficients.

    Raises
    ------
    LimitReachedError, SolverError
        If the first program is not solved.
    """
    from discreet.core.lp import LinearModel, LinearProgram
    from discreet.core.lp.program import HIGHS

    stop = None if limits.solving is None else clock() + limits.solving
    gain = (decay[:, places] * (cost - rest_cost[:, None])).sum(axis=0)
    # A report that is no better than the hub has height 0 in an optimal channel.
    used = np.flatnonzero(gain < 0)
    heights = np.zeros(len(places))
    if not len(used):
        return heights, 0
    tails, gain = decay[:, places[used]], gain[used]
    # HiGHS drops small coefficients.
    matrix = np.where(tails > HIGHS.small_matrix_value, tails, 0.0)
    coefficients = np.count_nonzero(matrix)
    forecast = _LIMITS.seconds_of_million * (coefficients / 1e6) ** 2
    if forecast > (_LIMITS.seconds_without_limit if limits.solving is None else limits.solving):
        return None
    each = np.arange(len(tails))
    model = LinearModel(LinearProgram(gain / np.abs(gain).max(), matrix, row_upper=1.0))
    del matrix
    for number in range(1, _LIMITS.rounds + 1):
        remaining = None if stop is None else max(0.0, stop - clock())
        try:
            answer = model.solve(method="simplex", time_limit=remaining, threads=limits.threads)
        except (LimitReachedError, SolverError):
            if number == 1:
                raise
            return heights, number - 1
        solution = np.maximum(answer.x, 0.0)
        rest = 1.0 - tails @ solution
        # For each secret the source whose rest requires most of it.
        required = decay * rest[:, None]
        source = required.argmax(axis=0)
        target = np.flatnonzero(required[source, each] - rest > _LIMITS.violation)
        if not len(target):
            heights[used] = solution
            return heights, number
        # The best of all rounds, so that more time gives no larger loss.
        shrunk = shrink_heights(solution, tails, decay)
        heights[used] = min(heights[used], shrunk, key=lambda one: float(gain @ one))
        factor = decay[source[target], target]
        rows = tails[target] - factor[:, None] * tails[source[target]]
        rows[np.abs(rows) <= HIGHS.small_matrix_value] = 0.0
        model.add_rows(rows, -np.inf, 1.0 - factor)
    return heights, _LIMITS.rounds


def shrink_heights(
    heights: NDArray[np.float64], tails: NDArray[np.float64], decay: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Multiply `heights` ``(k,)`` by the largest factor, at most 1, with which the rest of the rows keeps its ratios.

    `tails` is ``(n, k)``, `decay` ``(n, n)`` is ``e^-nats``; returns new heights. ``O(n k + n^2)``. With heights t a
    the rest is ``(1 - t) + t r``, so that ``e_ij r_i - r_j = v > 0`` becomes at most 0 for ``t <= (1 - e_ij) / (1 -
    e_ij + v)``.
    """
    rest = 1.0 - tails @ heights
    violation = np.maximum(decay * rest[:, None] - rest, 0.0)
    room = 1.0 - decay
    factor = np.divide(room, room + violation, out=np.ones_like(room), where=violation > 0)
    return heights * float(factor.min())
