"""The decomposition as it was printed, and as its code was released: to be looked at, not to be used.

Both have errors that decide what comes out (E1 and E15 of the errata). They are here under their names so that their
figures can be reproduced and their errors be seen. What they return is :class:`~discreet.core.outcome.Unproven`;
:class:`~discreet.metricdp.methods.benders.Benders` is the sound version.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.lp import LinearProgram
from discreet.core.outcome import Provenance, Unproven
from discreet.metricdp.blocks import Partition, partition, partitioner_name
from discreet.metricdp.boundary import Layout, implied_rows, unstated_pairs
from discreet.metricdp.methods.direct import LARGEST_EXPONENT
from discreet.metricdp.part import WholeProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.guarantee import MetricDP
    from discreet.core.lp.angular import Cut
    from discreet.metricdp.part import Part
    from discreet.metricdp.problem import Problem

_SLACK, _FLOOR, _RELEASED_GAP = 0.01, 0.001, 0.001
"""What the released code adds to each ratio constraint, the least probability it allows, and where it stops."""

_PRINTED = (
    "Equation (18) and the optimality cut count the boundary's cost a second time, so that the lower bound may pass "
    "the optimum and the search stop early (E1); the answer is a solver's, private up to tolerances only."
)
_RELEASED = (
    "the released code relaxes every ratio constraint by 0.01, which is as much as a typical probability, and keeps "
    "probabilities above 0.001 (E15); it counts the boundary's cost twice as well (E1)."
)


@final
@dataclass(frozen=True, eq=False)
class PublishedDecomposition:
    """What a published variant computed, with what it claims and what is so.

    Parameters
    ----------
    matrix
        ``(n_secrets, n_reports)`` floats.
    claimed_lower
        Its lower bound, which may be above the optimum.
    upper
        The cost of `matrix`, as the method computes it.
    excess
        Nats by which the largest ratio of a constrained pair exceeds its budget; infinite where a report has
        probability zero for one secret of a pair and not for the other.
    infinite
        How many ratios are infinite, of ordered pairs and reports.
    exceeding
        How many exceed the budget by more than a millionth of a nat, infinite ones included.
    iterations
        Solves of the master, of the component with the most.
    status
        Why the search stopped, of that component.
    """

    matrix: NDArray[np.float64]
    claimed_lower: float
    upper: float
    excess: float
    infinite: int
    exceeding: int
    iterations: int
    status: str


@dataclass(frozen=True)
class _Variant:
    """What distinguishes the two."""

    name: str
    reason: str
    gap: float
    initial_cuts: bool
    slack: float = 0.0
    floor: float = 0.0


def as_published(
    problem: Problem,
    guarantee: MetricDP,
    *,
    blocks: int = 25,
    partitioner: str = "k-m-DV",
    gap: float = 0.01,
    initial_cuts: bool = True,
    iterations: int = 500,
    seed: int = 0,
    time_limit: float | None = None,
) -> Unproven[PublishedDecomposition]:
    r"""Run the decomposition as it is printed, Equations (9) to (20) with the cut of Section 3.2.

    .. math:: w_l \ge c_{Y_l}^\top z_{Y_l} + (b_l - B_{Y_l} z_{Y_l})^\top \bar a

    The master's objective has the boundary's cost already, so that the cut counts it twice.

    Parameters
    ----------
    problem, guarantee
        As for :func:`~discreet.metricdp.design`. Components are not joined and isolated secrets not protected.
    blocks
        M for the whole; each component gets its share, rounded, at least one.
    partitioner, seed
        See :func:`~discreet.metricdp.blocks.partition`.
    gap
        The paper's xi: an absolute difference, in the unit of the loss.
    initial_cuts
        Whether the master starts with H_0, for all pairs of boundary records at most 20 nats apart.
    iterations
        Most solves of the master; the paper's cap is 500.
    time_limit
        Seconds for each component.

    Returns
    -------
    Unproven
        Without a guarantee, and with the reason.

    Raises
    ------
    InvalidProblemError
        For an unknown partitioner, or another unit than the space's.
    LimitReachedError
        When no point was found at which all subproblems are feasible.

    Notes
    -----
    Two differences remain. The variables :math:`w_l`, which (15) leaves to the cuts, start at the cost
    of their block without its boundary; and bounds are values of multipliers, evaluated by us.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> problem = Problem(MetricSpace.grid(2, 8, cell=1, unit="km"), utility_loss="euclidean")
    >>> within = MetricDP(1, unit="km", radius=1)
    >>> printed = as_published(problem, within, blocks=2, gap=1e-6)
    >>> printed.guarantee is None, printed.result.claimed_lower > design(problem, within).upper
    (True, True)
    """
    variant = _Variant("as published", _PRINTED, gap, initial_cuts)
    return _run(
        problem,
        guarantee,
        variant,
        (blocks, partitioner, seed),
        iterations=iterations,
        time_limit=time_limit,
    )


def as_released(
    problem: Problem,
    guarantee: MetricDP,
    *,
    blocks: int = 25,
    partitioner: str = "k-m-DV",
    gap: float = _RELEASED_GAP,
    iterations: int = 500,
    seed: int = 0,
    time_limit: float | None = None,
) -> Unproven[PublishedDecomposition]:
    r"""Run the decomposition with the constants of the paper's released code.

    Every ratio constraint is :math:`z_{ik} - e^{\epsilon d_{ij}} z_{jk} \le 0.01` and every probability at least 0.001;
    cuts as in :func:`as_published`, none initially.

    Parameters
    ----------
    problem, guarantee, blocks, partitioner, gap, iterations, seed, time_limit
        As for :func:`as_published`.

    Returns
    -------
    Unproven
        Without a guarantee, and with the reason.

    Raises
    ------
    InvalidProblemError
        For more than 1000 reports, whose floors would add up to more than 1; and as :func:`as_published`.
    LimitReachedError
        As :func:`as_published`.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem
    >>> problem = Problem(MetricSpace.grid(2, 4, cell=1, unit="km"), utility_loss="euclidean")
    >>> as_released(problem, MetricDP(1, unit="km", radius=1), blocks=2).result.excess > 0.1
    True
    """
    if problem.n_reports * _FLOOR > 1:
        raise InvalidProblemError("problem", "at most 1000 reports", problem.n_reports)
    variant = _Variant(
        "as released", _RELEASED, gap, initial_cuts=False, slack=_SLACK, floor=_FLOOR
    )
    return _run(
        problem,
        guarantee,
        variant,
        (blocks, partitioner, seed),
        iterations=iterations,
        time_limit=time_limit,
    )


def _run(
    problem: Problem,
    guarantee: MetricDP,
    variant: _Variant,
    how: tuple[int, str, int],
    *,
    iterations: int,
    time_limit: float | None,
) -> Unproven[PublishedDecomposition]:
    if guarantee.unit != problem.space.unit:
        raise InvalidProblemError(
            "guarantee", f"epsilon per {problem.space.unit}", f"per {guarantee.unit}"
        )
    blocks, partitioner, seed = how
    if blocks < 1:
        raise InvalidProblemError("blocks", "at least one block", blocks)
    whole = WholeProblem(problem, problem.space.adjacency(guarantee.radius), guarantee.epsilon)
    lower = upper = 0.0
    matrices: list[NDArray[np.float64]] = []
    last, status = 0, "no block"
    for part in whole.parts:
        if part.n == 1:
            matrices.append(np.eye(part.n_reports)[part.cost.argmin(axis=1)])
            lower, upper = lower + float(part.cost.min()), upper + float(part.cost.min())
            continue
        count = min(part.n, max(1, round(blocks * part.n / whole.n_classes)))
        layout = _layout(part, count, partitioner, seed, variant)
        share = replace(variant, gap=variant.gap / len(whole.parts))
        matrix, claimed, cost, step, ended = _decompose(layout, share, iterations, time_limit)
        matrices.append(matrix)
        lower, upper = lower + claimed, upper + cost
        if step >= last:
            last, status = step, ended
    matrix = whole.assemble(matrices)[whole.labels]
    result = PublishedDecomposition(matrix, lower, upper, *_audit(matrix, whole), last, status)
    provenance = Provenance(
        variant.name,
        {
            "blocks": blocks,
            "partitioner": partitioner_name(partitioner),
            "gap": variant.gap,
            "epsilon": str(guarantee.epsilon),
        },
        problem.assumed_public(),
    )
    return Unproven(result, variant.reason, provenance)


def _layout(part: Part, count: int, partitioner: str, seed: int, variant: _Variant) -> Layout:
    """Partition a component; all stated constraints stand, as in the paper, none pruned."""
    graph = part.constraints
    edges = graph.subgraph(np.flatnonzero(part.rate * graph.lengths <= LARGEST_EXPONENT))
    if part.space is None:
        raise InvalidProblemError("part", "one that knows its space", "another")  # pragma: no cover
    labels = partition(part.space, graph, count, partitioner, seed=seed)
    return Layout(part, Partition(labels, edges), 1.0)


def _relaxed(program: LinearProgram, variant: _Variant) -> LinearProgram:
    """Relax the ratio constraints of a program, and bound its entries from below, as the released code does."""
    if not variant.slack:
        return program
    return LinearProgram(
        program.cost,
        program.matrix,
        row_lower=program.row_lower,
        row_upper=np.where(program.row_upper == 0, variant.slack, program.row_upper),
        lower=variant.floor,
        upper=program.upper,
    )


def _decompose(
    layout: Layout, variant: _Variant, iterations: int, time_limit: float | None
) -> tuple[NDArray[np.float64], float, float, int, str]:
    """Run the loop on one component: matrix, claimed bound, cost, iterations, status."""
    from discreet.core.lp.benders import BendersOptions, benders

    found = benders(
        _relaxed(layout.program(), variant),
        layout.columns,
        options=BendersOptions(
            gap=0.0, absolute_gap=variant.gap, iterations=iterations, time_limit=time_limit
        ),
        implied=implied_rows(layout, unstated_pairs(layout)) if variant.initial_cuts else None,
        amend=count_boundary_twice(layout),
    )
    if found.x is None:
        raise LimitReachedError(f"{found.status} before all subproblems were feasible at once")
    matrix = found.x.reshape(layout.part.cost.shape)
    return matrix, found.lower, found.upper, found.history[-1].iteration, found.status


def count_boundary_twice(layout: Layout) -> Callable[[Cut], Cut]:
    """Return what adds the cost of the boundary of its block to an optimality cut, as printed in Section 3.2 (E1)."""
    split, boundary, cost = layout.split, layout.boundary, layout.part.cost
    # The loop numbers the blocks that have internal records.
    known = np.unique(split.labels[~split.boundary])

    def amend(cut: Cut) -> Cut:
        if cut.kind == "feasibility":
            return cut
        mine = split.labels[boundary] == known[cut.block]
        extra = np.where(mine[:, None], cost[boundary] / layout.scale, 0.0).ravel()
        return replace(cut, gradient=cut.gradient + extra)

    return amend


def _audit(matrix: NDArray[np.float64], whole: WholeProblem) -> tuple[float, int, int]:
    """Compare the ratios of constrained pairs with their budgets: largest excess, infinite ones, those in excess."""
    graph = whole.constraints
    rate = float(whole.epsilon) * 2.0**-graph.scale_bits
    positive = matrix > 0
    nats = np.log(np.where(positive, matrix, 1.0))
    i, j = np.concatenate([graph.pairs, graph.pairs[:, ::-1]]).T
    budget = np.tile(rate * graph.lengths, 2)[:, None]
    infinite = positive[i] & ~positive[j]
    both = positive[i] & positive[j]
    excess = np.where(infinite, np.inf, np.where(both, nats[i] - nats[j] - budget, -np.inf))
    largest = float(excess.max(initial=-math.inf))
    return max(0.0, largest), int(infinite.sum()), int((excess > 1e-6).sum())
