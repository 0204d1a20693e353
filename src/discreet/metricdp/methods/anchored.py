r"""The anchored program: columns with free entries near their report's home and an exponential tail beyond.

Column k has free entries on the ball of secrets within a radius of its home, and beyond :math:`z_{ik} = a_k
e^{-\epsilon D_{ik}}`, D shortest paths of constraints. Pairs outside the ball satisfy every constraint by the triangle
inequality. For a secret i of the ball with neighbors j outside, the tightest rows are enough:

.. math::

    z_{ik} \le a_k \min_j e^{\epsilon (d_{ij} - D_{jk})},\qquad a_k \max_j e^{-\epsilon (d_{ij} + D_{jk})} \le z_{ik}.

So every feasible point is private for all pairs: the program is a *restriction* with a few variables a report, and an
upper bound. It alternates with the Bayes remap [CEP17]_, which renames every column as its cheapest report: costs
change, privacy does not. One column is constant, so that the program is feasible for any ball.

It gives no lower bound: its rows merge many stated constraints, and the equations of the tails have multipliers of
either sign. See docs/theory/metricdp/anchored.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.core.printed import at_most, estimate
from discreet.metricdp.interior import Blocks, solve_blocks
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Part, PartLimits

_MAX_ROW_ERROR, _ROUND_TIME_FACTOR = 1e-5, 1.1
"""Largest row error of a later round that is a candidate, and its expected time in units of the round before."""

_MAX_PROGRAM_BYTES = 6 << 30
"""Memory beyond which the program is not built; a fixed number, so that the same input gives the same design."""


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


@final
@dataclass(frozen=True)
class Anchored:
    """The anchored program of this module, solved by interior points on its blocks.

    Parameters
    ----------
    radius
        Radius of the balls, in medians of the distance to a nearest neighbor. At 1 only the constant is feasible for
        some problems (5 by 5 cells, half a nat a cell, all pairs).
    rounds
        Number of solves of the program, each followed by a remap.
    share
        Share of the remaining time for the method, verification included.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> problem = Problem(MetricSpace.grid(4, 4, cell=1, unit="km"), utility_loss="euclidean")
    >>> result = design(problem, MetricDP(1, unit="km"), method=Anchored(), throw=False)
    >>> round(result.upper / design(problem, MetricDP(1, unit="km"), gap=1e-3).upper, 2)
    1.0
    """

    radius: float = 2.0
    rounds: int = 2
    share: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.radius < np.inf:
            raise InvalidProblemError("radius", "a number of steps, 0 or more", self.radius)
        if isinstance(self.rounds, bool) or self.rounds < 1:
            raise InvalidProblemError("rounds", "1 or more", self.rounds)
        if not 0 < self.share <= 1:
            raise InvalidProblemError("share", "a part of the time, in (0, 1]", self.share)

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:
        """Alternate the program of `part` and the remap, within the seconds of `limits`; return the best round.

        Returns
        -------
        Candidate or None
            A matrix without multipliers. ``None`` for a part of one secret or report.

        Complexity
        ----------
        An iteration takes ``n^2 K + n^3 / 3`` operations, a program 15 to 35 iterations.
        """
        if min(part.n, part.n_reports) < 2:
            return None
        # Nine tables of either kind: 1 GB was measured for 2500 secrets and reports.
        memory = 72 * part.n * (part.n + part.n_reports)
        if memory > _MAX_PROGRAM_BYTES:
            note = f"The anchored program would take {at_most(memory / 2**30, 2)} GiB and was not built;"
            note += " tail_channel() makes an implicit channel."
            return Candidate("anchored", None, None, note)
        answer = self.alternate(part, limits)
        matrix = np.zeros_like(part.cost)
        columns = answer.blocks.channel_matrix(answer.u)
        np.add.at(matrix.T, answer.labels, columns.T / columns.sum(axis=1))
        number = len(answer.u)
        note = (
            f"The anchored program of {number} variables took {answer.iterations} iterations in all,"
            f" with balls of {estimate(number / part.n_reports - 1, 1)} secrets."
        )
        facts = {"radius": self.radius, "iterations": answer.iterations, "variables": number}
        return Candidate("anchored", matrix, None, note, facts)

    def alternate(self, part: Part, limits: PartLimits) -> Answer:
        """Alternate the program and the remap, and return the best round; the cost is that of :meth:`solve`.

        `part` is a component of the problem; `limits` holds the seconds, of which the share ``self.share`` is used.
        Each round solves one program and prices ``n K^2`` products. The answer has the blocks, the variables, a new
        name for each column, its loss, and the iterations of all rounds; the first round counts however early it
        stopped.
        """
        seconds = None if limits.seconds is None else self.share * limits.seconds - limits.handling
        stop = np.inf if seconds is None else clock() + max(0.0, seconds)

        # Time at which the last iteration ended: the next takes as long as it did.
        last_iteration = [0.0]

        def is_late() -> bool:
            now = clock()
            duration, last_iteration[0] = now - last_iteration[0], now
            return now + duration > stop

        begun = clock()
        home = part.places
        blocks, start = anchored_blocks(part, home, self.radius)
        constant = int(part.cost.sum(axis=0).argmin())
        labels = np.append(np.arange(part.n_reports), constant)
        rounds: list[Answer] = []
        iterations = 0
        for number in range(self.rounds):
            # Rounds before the last only decide a remap and need less accuracy.
            exact = number + 1 == self.rounds
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
            # An interrupted solution would need a long repair.
            if not rounds or solution.residual <= _MAX_ROW_ERROR:
                rounds.append(Answer(blocks, home, solution.u, labels, loss, iterations))
            now = clock()
            if now + _ROUND_TIME_FACTOR * (now - begun) > stop:
                break
            begun = now
        best = min(rounds, key=lambda answer: answer.loss)
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
        The part.
    home
        ``(n_reports,)``: home of each report.
    radius
        Radius of the balls, in median distances to a nearest neighbor. Balls grow until every secret is in one.
    decay
        Decay of the starting point as a share of the rate: half of it is strictly inside every constraint.
    max_nats
        Nats beyond which a ratio constraint gets no row: its coefficient exceeds the precision; the repair keeps it.

    Returns
    -------
    blocks : Blocks
        One block for each report, and a last one for a constant column.
    start : ndarray
        Variables with positive slacks.

    Complexity
    ----------
    A few tables of ``n`` by ``n_reports``, and the edges at the secrets of each ball.
    """
    n, k = part.n, part.n_reports
    away = part.rate * part.paths[:, home].astype(np.float64)
    has_all_pairs = 2 * len(part.constraints) == n * (n - 1)
    # Of all pairs in the plane few are implied, and finding them takes longer than keeping them.
    graph = part.constraints if has_all_pairs else part.binding
    nats = np.asarray(part.rate * graph.lengths, dtype=np.float64)
    reach = np.full(k, radius * _typical_step(n, graph.pairs, nats))
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
    if has_all_pairs:
        apart = part.rate * part.paths.astype(np.float64)
        small, large, powers = _ratios_of_all(apart, away - first, inside, number)
    else:
        small, large, powers = _ratios(graph.pairs, nats, away - first, inside, number)
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


def _typical_step(n: int, pairs: NDArray[np.int32], nats: NDArray[np.float64]) -> float:
    """Return the median over n secrets of the length to the nearest one, in nats, from pairs ``(m, 2)``."""
    nearest = np.full(n, np.inf)
    np.minimum.at(nearest, pairs.ravel(), np.repeat(nats, 2))
    return float(np.median(nearest))


def _ratios(
    pairs: NDArray[np.int32],
    nats: NDArray[np.float64],
    beyond: NDArray[np.float64],
    inside: NDArray[np.bool_],
    number: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return rows ``u[small] <= e^power u[large]`` inside each ball, and the tightest two of a secret and its tail.

    `pairs` ``(m, 2)`` and `nats` ``(m,)`` are the constraints; `beyond` ``(n, k)`` the nats past the nearest outside
    secret, `inside` ``(n, k)`` the balls, `number` ``(n + 1, k)`` the variables, the last row those of tails. Three
    arrays ``(rows,)``. A pass over the neighbors of each secret in each ball.
    """
    n = len(inside)
    ends = np.concatenate([pairs, pairs[:, ::-1]]).astype(np.int64)
    order = np.argsort(ends[:, 0], kind="stable")
    neighbors, apart = ends[order, 1], np.concatenate([nats, nats])[order]
    degree = np.bincount(ends[:, 0], minlength=n)
    first = np.cumsum(degree) - degree
    secret, report = np.nonzero(inside)
    counts = degree[secret]
    entry = np.repeat(np.arange(len(secret)), counts)
    at = first[secret][entry] + np.arange(len(entry)) - (np.cumsum(counts) - counts)[entry]
    i, j, k, d = secret[entry], neighbors[at], report[entry], apart[at]
    both = inside[j, k]
    small, large, powers = [number[i, k][both]], [number[j, k][both]], [d[both]]
    cross = ~both
    for sign in (-1.0, 1.0):
        tight = np.full(len(secret), np.inf)
        np.minimum.at(tight, entry[cross], d[cross] + sign * beyond[j[cross], k[cross]])
        own, tail = number[secret, report], number[n, report]
        small.append(own if sign < 0 else tail)
        large.append(tail if sign < 0 else own)
        powers.append(tight)
    return np.concatenate(small), np.concatenate(large), np.concatenate(powers)


def _ratios_of_all(
    apart: NDArray[np.float64],
    beyond: NDArray[np.float64],
    inside: NDArray[np.bool_],
    number: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows of :func:`_ratios` for all pairs, report by report; ``O(n)`` for each secret in a ball.

    `apart` is ``(n, n)`` nats; the others, ``(n, k)`` and `number` with one row more, are as of :func:`_ratios`.
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
