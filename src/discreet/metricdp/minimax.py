r"""One channel for several priors: the least worst-case loss, with a proof.

.. math:: \min_{Z\ \text{private}} \; \max_q \; \sum_{ik} p^q_i\, c_{ik}\, z_{ik}

The prior may be unknown, but several be plausible: of weekdays and weekends, for example. With one more variable t
above all losses this is a linear program. The multipliers :math:`\mu_q` of the rows for t sum to 1 and are the worst
mixture of the priors: since a maximum is at least any mean,

.. math:: \max_q L_q(Z) \;\ge\; \sum_q \mu_q L_q(Z) = L_\mu(Z),

every lower bound for the prior :math:`\sum_q \mu_q p^q` bounds the worst case, for any :math:`\mu`. The result is an
ordinary design for the mixture, whose loss is no larger under any of the priors.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError, SolverError
from discreet.core.exact import float_floor
from discreet.core.guarantee import MetricDP
from discreet.core.jit import clock
from discreet.core.options import instance_of, items_of, positive_seconds, whole_number
from discreet.metricdp.design import MAX_ROWS_FOR_DIRECT, Interrupted, design
from discreet.metricdp.methods.direct import (
    MAX_ROWS,
    constraint_matrix,
    edge_prices,
    optimum_scale,
    priced_edges,
    program_rows,
    ratio_prices,
    solve_by_either,
)
from discreet.metricdp.methods.remap import exponential_remap
from discreet.metricdp.part import KnownChannel, Part, PartLimits, WholeProblem
from discreet.metricdp.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.lp import LinearProgram
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.search import MetricDesign


@final
@dataclass(frozen=True, eq=False)
class Minimax:
    """A design for several priors.

    Parameters
    ----------
    design
        The channel, verified, with the mixture of the priors as the prior of its problem. Its own bounds are for the
        mixture.
    weights
        ``(n_priors,)``: the mixture.
    losses
        ``(n_priors,)``: expected loss of the channel under each prior, rounded up.
    lower
        Lower bound on the worst loss of every private channel.
    """

    design: MetricDesign
    weights: NDArray[np.float64]
    losses: NDArray[np.float64]
    lower: float

    def __post_init__(self) -> None:
        for array in (self.weights, self.losses):
            array.setflags(write=False)

    @property
    def upper(self) -> float:
        """Expected loss of the channel under the worst of the priors."""
        return float(self.losses.max())

    @property
    def gap(self) -> float:
        """``(upper - lower) / upper``; 0 if both are 0."""
        return (self.upper - self.lower) / self.upper if self.upper > self.lower else 0.0


def minimax(
    problem: Problem,
    priors: Sequence[ArrayLike],
    guarantee: MetricDP,
    *,
    time_limit: float | None = None,
    threads: int = 1,
    allow_unprotected: bool = False,
) -> Minimax:
    """Design the channel whose worst loss over several priors is least.

    Parameters
    ----------
    problem
        The problem; its own prior is not used.
    priors
        One prior or more, each ``(n_secrets,)`` probabilities. All are assumed public.
    guarantee, allow_unprotected
        As in :func:`discreet.metricdp.design`.
    time_limit
        Seconds of wall-clock time. Most of it is for the program of the worst case; if that has no answer by then, the
        rest is for an ordinary design for the mean of the priors.
    threads
        Threads of the solver.

    Returns
    -------
    Minimax
        A verified channel with its losses, and a lower bound on the worst. ``weights`` are equal if the program was
        too large or time ran out.

    Raises
    ------
    InvalidProblemError
        Without priors, or for an invalid one.
    Interrupted
        On Ctrl-C; a ``KeyboardInterrupt`` whose ``best`` is a verified design for the mean of the priors, or ``None``.

    Guarantee
    ---------
    As stated, proved for the sampled integers. It does not depend on the priors.

    Complexity
    ----------
    One linear program with the rows of :class:`discreet.metricdp.Direct` and one for each prior.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> line = Problem(MetricSpace.grid(1, 3, cell=1, unit="km"), utility_loss="euclidean")
    >>> both = minimax(line, [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], MetricDP(1, unit="km"))
    >>> both.gap < 1e-5, both.weights.round(3).tolist()
    (True, [0.5, 0.5])
    """
    instance_of(problem, Problem, "problem", "a Problem")
    instance_of(guarantee, MetricDP, "guarantee", "a MetricDP")
    positive_seconds(time_limit)
    whole_number(threads, "threads", "at least one thread")
    problems = [
        Problem(problem.space, utility_loss=problem.loss, prior=prior, reports=problem.reports)
        for prior in items_of(priors, "priors", "a list of priors")
    ]
    if not problems:
        raise InvalidProblemError("priors", "one prior or more", "none")
    constraints = problem.space.adjacency(guarantee.radius)
    if not allow_unprotected:
        constraints, _ = constraints.join(problem.space)
    wholes = [WholeProblem(one, constraints, guarantee.epsilon) for one in problems]
    start = clock()
    result: MetricDesign | None = None
    weights = np.full(len(problems), 1 / len(problems))

    design_for = partial(
        design,
        guarantee=guarantee,
        threads=threads,
        allow_unprotected=allow_unprotected,
        throw=False,
    )
    try:
        mean = _mixture_problem(weights, problems)
        if program_rows(wholes[0].parts[0], priced_edges(wholes[0].parts[0])) > MAX_ROWS_FOR_DIRECT:
            # The result if the program, which takes more than a second, has no answer.
            result = design_for(mean, method=exponential_remap(), gap=0)
        try:
            solved = _solve_program(wholes, PartLimits(time_limit, threads))
        except (LimitReachedError, SolverError):
            left = None if time_limit is None else time_limit - (clock() - start)
            if result is None or left is None or left > 0:
                # Repair and verification always finish.
                seconds = None if left is None else max(left, 1e-3)
                result = design_for(mean, time_limit=seconds)
        else:
            weights, known = solved
            result = design_for(_mixture_problem(weights, problems), method=known, gap=0)
    except KeyboardInterrupt as stopped:
        raise Interrupted(getattr(stopped, "best", None) or result) from None
    losses = np.array([result.channel.expected_loss(one.cost) for one in problems])
    return Minimax(result, weights, losses, _bound_for_worst_prior(result.lower or 0.0, weights))


def _mixture_problem(weights: NDArray[np.float64], problems: Sequence[Problem]) -> Problem:
    """Return the problem whose prior is the mean of those of several, weighted by `weights` ``(problems,)``.

    Space, losses and reports are those of the first; the weights must sum to 1.
    """
    first = problems[0]
    prior = np.zeros(first.n_secrets)
    for weight, one in zip(weights.tolist(), problems, strict=True):
        prior += weight * one.prior
    return Problem(first.space, utility_loss=first.loss, prior=prior, reports=first.reports)


def _bound_for_worst_prior(lower: float, weights: NDArray[np.float64]) -> float:
    """Convert a lower bound for the mixture in floats to one for the worst prior.

    Each cost of the mixture is at most ``(1 + u)^(Q + 2)`` times the mean of the costs for its Q priors, and weights
    may sum to a little more than 1.

    `weights` ``(Q,)`` are those of the mixture, not negative. The result is rounded down, at most `lower`, in its
    unit.
    """
    total = sum((Fraction(weight) for weight in weights.tolist()), Fraction(0))
    slack = 1 + Fraction(len(weights) + 8, 2**52)
    return float_floor(Fraction(lower) / (max(total, Fraction(1)) * slack))


def _solve_program(
    wholes: Sequence[WholeProblem], limits: PartLimits, *, time_share: float = 0.6
) -> tuple[NDArray[np.float64], KnownChannel]:
    """Solve the program of all components, which the worst case couples.

    `wholes` is the problem with each of the priors; `limits` give threads and seconds, of which the
    program has a `time_share`. Return the worst mixture
    ``(problems,)``, and the solution as a method of the mixture's design. LimitReachedError or SolverError without an
    answer.
    """
    first, costs = wholes[0], [one.cost for one in wholes]
    part = Part(np.asarray(np.mean(costs, axis=0)), first.merged, first.epsilon)
    edges = priced_edges(part)
    rows = program_rows(part, edges)
    if rows > MAX_ROWS:
        advice = "fewer secrets, fewer reports, or a radius"
        raise SolverError("HiGHS", f"the program of {rows} rows was not built", advice)
    # Absolute tolerances: the optimum should be about 1.
    scale = sum(optimum_scale(one) for one in first.parts) or 1.0
    losses = np.stack([cost.ravel() for cost in costs]) / scale
    stop = None if limits.seconds is None else clock() + time_share * limits.seconds
    program = _program_of_largest(part, edges, losses)
    solution, _ = solve_by_either(program, "ipm", stop, limits.threads)
    table = np.maximum(solution.x[:-1], 0.0).reshape(part.cost.shape)
    prices = ratio_prices(solution)
    # The multipliers of the last rows.
    raw = prices[-len(costs) :]
    weights = raw / raw.sum() if raw.sum() > 0.5 else np.full(len(raw), 1 / len(raw))
    stated = edge_prices(edges, part.n_reports, prices * scale).relabel(first.representatives)
    note = f"The program for {len(costs)} priors was solved; their weights are its multipliers."
    return weights, KnownChannel("minimax", note, table[first.labels], stated)


def _program_of_largest(part: Part, edges: Adjacency, losses: NDArray[np.float64]) -> LinearProgram:
    """Return the program whose cost is its last variable, an upper bound on all `losses` ``(problems, n k)``.

    Rows are those of :func:`~discreet.metricdp.methods.direct.constraint_matrix`, then one for each of `losses`.
    """
    from scipy.sparse import csr_array, hstack, vstack

    from discreet.core.lp import LinearProgram
    from discreet.core.lp.program import HIGHS

    matrix, upper = constraint_matrix(part, edges)
    # HiGHS drops small entries; bounds are proved without them.
    large = np.where(losses > HIGHS.small_matrix_value, losses, 0.0)
    wide = hstack([matrix, csr_array((matrix.shape[0], 1))])
    above = csr_array(np.hstack([large, -np.ones((len(large), 1))]))
    sides = np.concatenate([upper, np.zeros(len(large))])
    lower = np.where(sides == 0, -np.inf, 1.0)
    cost = np.append(np.zeros(matrix.shape[1]), 1.0)
    rows = vstack([wide, above]).tocsr()
    return LinearProgram(cost, rows, row_lower=lower, row_upper=sides)
