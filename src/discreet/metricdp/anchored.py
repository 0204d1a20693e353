r"""The anchored program: columns with free entries near their report's home and an exponential tail beyond.

Column k has free entries on the ball of secrets within a radius of its home, and beyond :math:`z_{ik} = a_k
e^{-\epsilon d_{ik}}`. All pairs are constrained, and pairs outside the ball satisfy every constraint by the triangle
inequality. For a secret i of the ball and the secrets j outside, the tightest rows are enough:

.. math::

    z_{ik} \le a_k \min_j e^{\epsilon (d_{ij} - d_{jk})},\qquad a_k \max_j e^{-\epsilon (d_{ij} + d_{jk})} \le z_{ik}.

So every feasible point is private for all pairs: the program is a *restriction* with a few variables a report, and an
upper bound. It alternates with the Bayes remap [CEP17]_, which renames every column as its cheapest report: costs
change, privacy does not. One column is constant, so that the program is feasible for any ball.

It gives no lower bound: its rows merge many stated constraints, and the equations of the tails have multipliers of
either sign. See docs/theory/metricdp/anchored.md.

Columns are rounded to integers with a lift: an implicit channel of a few integers for each report. Proposes; checked by
:func:`~discreet.core.channels.check_implicit.verify_anchored`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.jit import clock
from discreet.metricdp.interior import Blocks, solve_blocks

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.metricdp.part import Part
    from discreet.metricdp.problem import Problem

_MAX_ROW_ERROR, _ROUND_TIME_FACTOR = 1e-5, 1.1
"""Largest row error of a later round that is a candidate, and its expected time in units of the round before."""


@final
@dataclass(frozen=True, eq=False)
class Answer:
    """The best round of the program and the remap.

    Parameters
    ----------
    blocks, home
        The program, and the home of each report.
    u
        Variables of the program.
    labels
        ``(n_reports + 1,)``: report of each column, the constant one last.
    loss
        Expected loss with rows divided by their sums.
    iterations
        Iterations in all rounds.
    """

    blocks: Blocks
    home: NDArray[np.int64]
    u: NDArray[np.float64]
    labels: NDArray[np.int64]
    loss: float
    iterations: int


def alternate(
    part: Part, *, radius: float, rounds: int = 2, seconds: float | None = None
) -> Answer:
    """Alternate the program and the remap, and return the best round; the first counts however early it stopped.

    Parameters
    ----------
    part
        A part of which all pairs are constrained.
    radius
        Radius of the balls, in medians of the distance to a nearest neighbor. At 1 only the constant is feasible for
        some problems (5 by 5 cells, half a nat a cell).
    rounds
        Number of solves of the program, each followed by a remap.
    seconds
        Time for all rounds; ``None`` for no limit.

    Returns
    -------
    Answer
        The blocks, the variables, a new name for each column, its loss, and the iterations of all rounds.

    Complexity
    ----------
    An iteration takes ``n^2 K + n^3 / 3`` operations, a program 15 to 35 iterations, and a remap ``n K^2``.
    """
    stop = np.inf if seconds is None else clock() + seconds

    # Time at which the last iteration ended: the next takes as long as it did.
    last_iteration = [0.0]

    def is_late() -> bool:
        now = clock()
        duration, last_iteration[0] = now - last_iteration[0], now
        return now + duration > stop

    begun = clock()
    home = part.places
    blocks, start = anchored_blocks(part, home, radius)
    constant = int(part.cost.sum(axis=0).argmin())
    labels = np.append(np.arange(part.n_reports), constant)
    answers: list[Answer] = []
    iterations = 0
    for number in range(rounds):
        # Rounds before the last only decide a remap and need less accuracy.
        exact = number + 1 == rounds
        cost = _costs(blocks, part.cost[:, labels])
        last_iteration[0] = clock()
        solution = solve_blocks(
            blocks, cost, start, tolerance=1e-4 if exact else 1e-3, stop=is_late
        )
        iterations += solution.iterations
        columns = blocks.channel_matrix(solution.u)
        prices = (columns / columns.sum(axis=1, keepdims=True)).T @ part.cost
        labels = prices.argmin(axis=1)
        loss = float(prices.min(axis=1).sum())
        # An interrupted solution may not be private.
        if not answers or solution.residual <= _MAX_ROW_ERROR:
            answers.append(Answer(blocks, home, solution.u, labels, loss, iterations))
        now = clock()
        if now + _ROUND_TIME_FACTOR * (now - begun) > stop:
            break
        begun = now
    best = min(answers, key=lambda answer: answer.loss)
    return replace(best, iterations=iterations)


def _costs(blocks: Blocks, cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the costs of the variables ``(variables,)`` from `cost` ``(n, columns)``, of each secret in each column.

    ``O(n columns)``; the variable of a tail costs the sum over it.
    """
    inside = blocks.row >= 0
    priced = np.zeros(len(blocks.block))
    priced[inside] = cost[blocks.row[inside], blocks.block[inside]]
    tails = (blocks.tails * cost).sum(axis=0)
    # A tail that enters no row must not be free.
    priced[blocks.last] = np.where(blocks.tails.any(axis=0), tails, cost.sum(axis=0) + 1e-300)
    return priced


def anchored_blocks(
    part: Part, home: NDArray[np.int64], radius: float, decay: float = 0.5, max_nats: float = 30.0
) -> tuple[Blocks, NDArray[np.float64]]:
    """Return the anchored program, and a point strictly inside its inequalities.

    Parameters
    ----------
    part
        The part, of which all pairs are constrained.
    home
        ``(n_reports,)``: home of each report.
    radius
        Radius of the balls, in median distances to a nearest neighbor. Balls grow until every secret is in one.
    decay
        Decay of the starting point as a share of the rate: half of it is strictly inside every constraint.
    max_nats
        Nats beyond which a ratio constraint gets no row: its coefficient exceeds the precision; the verifier decides.

    Returns
    -------
    blocks : Blocks
        One block for each report, and a last one for a constant column.
    start : ndarray
        Variables with positive slacks.

    Complexity
    ----------
    A few tables of ``n`` by ``n_reports``, and ``O(n)`` for each secret in a ball.
    """
    n, k = part.n, part.n_reports
    away = part.rate * part.paths[:, home].astype(np.float64)
    apart = part.rate * part.paths.astype(np.float64)
    nearest = np.where(np.eye(n, dtype=bool), np.inf, apart).min(axis=1)
    reach = np.full(k, radius * float(np.median(nearest)))
    uncovered = np.flatnonzero((away > reach).all(axis=1))
    # Balls with all secrets up to their radius, since only then is the start inside the inequalities.
    np.maximum.at(reach, away[uncovered].argmin(axis=1), away[uncovered].min(axis=1))
    inside = away <= reach * (1 + 1e-9)
    outside = np.where(inside, np.inf, away)
    first = np.where(np.isfinite(outside.min(axis=0)), outside.min(axis=0), 0.0)
    tails = np.where(inside, 0.0, np.exp(np.minimum(first - away, 0.0)))
    report, secret = np.nonzero(inside.T)
    number = np.full((n + 1, k), -1)
    # Ball entries in the order of their blocks, each block followed by its tail.
    number[secret, report] = np.arange(len(report)) + report
    sizes = np.bincount(report, minlength=k)
    number[n] = np.cumsum(sizes) + np.arange(k)
    rows = np.full(len(report) + k + 1, -1)
    block = np.full(len(report) + k + 1, k)
    rows[number[secret, report]], block[number[secret, report]] = secret, report
    block[number[n]] = np.arange(k)
    small, large, powers = _ratios(apart, away - first, inside, number)
    every, keep = np.arange(len(block)), powers <= max_nats
    blocks = Blocks(
        block,
        rows,
        np.concatenate([small[keep], np.full(len(every), -1)]),
        np.concatenate([large[keep], every]),
        np.concatenate([np.exp(powers[keep]), np.ones(len(every))]),
        np.column_stack([tails, np.ones(n)]),
    )
    start = np.ones(len(block))
    start[number[secret, report]] = np.exp(-decay * away[secret, report])
    start[number[n]] = np.exp(-decay * first)
    start[-1] = 1e-2 / n
    return blocks, start


def _ratios(
    apart: NDArray[np.float64],
    beyond: NDArray[np.float64],
    inside: NDArray[np.bool_],
    number: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return rows ``u[small] <= e^power u[large]`` inside each ball, and the tightest two of a secret and its tail.

    `apart` ``(n, n)`` are the nats between secrets; `beyond` ``(n, k)`` the nats past the nearest outside secret,
    `inside` ``(n, k)`` the balls, `number` ``(n + 1, k)`` the variables, the last row those of tails. Three arrays
    ``(rows,)``. ``O(n)`` for each secret in a ball.
    """
    n = len(inside)
    small, large, powers = [], [], []
    for report in range(inside.shape[1]):
        ball = np.flatnonzero(inside[:, report])
        mine, tails = number[ball, report], np.full(len(ball), number[n, report])
        near = apart[np.ix_(ball, ball)]
        i, j = np.nonzero(~np.eye(len(ball), dtype=bool))
        small.append(mine[i])
        large.append(mine[j])
        powers.append(near[i, j])
        rows, fall = apart[ball], np.where(inside[:, report], np.inf, beyond[:, report])
        for sign in (-1.0, 1.0):
            # Infinite for secrets of the ball, whose rows are above.
            ways = rows + sign * np.where(np.isinf(fall), sign * np.inf, fall)
            tight = ways.min(axis=1)
            small.append(mine if sign < 0 else tails)
            large.append(tails if sign < 0 else mine)
            powers.append(tight)
    return np.concatenate(small), np.concatenate(large), np.concatenate(powers)


def round_answer(
    problem: Problem,
    rate: Fraction,
    answer: Answer,
    lift: int,
    per_unit: float,
    *,
    largest_weight: int,
    max_omitted: float = 0.5,
) -> AnchoredChannel:
    """Scale an answer, round it down and add the lift; the constant column becomes explicit weights of all secrets.

    The constant column is kept only if its probability is above `max_omitted`; then it is report number K, K the
    number of columns. ``O(n K)``.

    Parameters
    ----------
    problem
        The problem.
    rate
        Decay of the tails in nats per unit.
    answer
        Solution of the program.
    lift
        Integer added to each weight, within the slack of the rate.
    per_unit
        Nats per stored unit of the program.
    largest_weight
        Limit on anchors and explicit weights before the lift.
    max_omitted
        Probability up to which the constant column is left out: the others, scaled up in all rows alike, cost less.

    Returns
    -------
    AnchoredChannel
        Unverified.
    """
    blocks, u, space = answer.blocks, answer.u, problem.space
    k, home = len(answer.home), answer.home
    explicit = np.flatnonzero(blocks.row >= 0)
    away = per_unit * space.distances[:, home]
    # A tail's variable is its value at its nearest secret; the anchor is the value extrapolated to the center.
    tail_starts = np.where(blocks.tails[:, :k] > 0, away, np.inf).min(axis=0)
    tail_starts = np.where(np.isfinite(tail_starts), tail_starts, 0.0)
    anchors = u[blocks.last[:k]] * np.exp(tail_starts)
    constant = float(u[-1])
    # The sum of all weights of a row stays below 2^61.
    largest = max(float(anchors.max()), float(u[explicit].max()), constant)
    scale = min((1 << 60) / (float(anchors.sum()) + 2.0), largest_weight / largest)
    secrets, reports = blocks.row[explicit], blocks.block[explicit]
    weights = np.floor(u[explicit] * scale).astype(np.int64) + lift
    names, centers = answer.labels[:k], home
    if constant > max_omitted:
        every = np.arange(space.n)
        secrets, reports = np.append(secrets, every), np.append(reports, np.full(space.n, k))
        weights = np.append(weights, np.full(space.n, int(constant * scale) + lift))
        names, centers = answer.labels, np.append(home, 0)
        anchors = np.append(anchors, 0.0)
    return AnchoredChannel(
        space,
        rate,
        centers,
        np.floor(anchors * scale).astype(np.int64),
        lift=lift,
        ball=Ball(secrets, reports, weights),
        names=names,
    )
