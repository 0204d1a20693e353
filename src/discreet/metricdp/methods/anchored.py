r"""The anchored program: columns that are free near their report's home and fall off exponentially beyond.

Column k is free on the ball of secrets within a radius of its home, and :math:`z_{ik} = a_k e^{-\epsilon D_{ik}}`
beyond, D shortest paths of constraints. Pairs outside the ball satisfy every constraint by the triangle inequality. For
a secret i of the ball with neighbors j outside, the tightest rows are enough:

.. math::

    z_{ik} \le a_k \min_j e^{\epsilon (d_{ij} - D_{jk})},\qquad a_k \max_j e^{-\epsilon (d_{ij} + D_{jk})} \le z_{ik}.

So every feasible point is private for all pairs: the program is a *restriction* with a few variables a report, and an
upper bound. It alternates with the Bayes remap [CEP17]_, which gives every column the report that is cheapest for it:
costs change, privacy does not. One column is constant, so that the program is feasible whatever the ball.

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

__all__ = ["Anchored", "Answer", "anchored_blocks"]

_FARTHEST = 30.0
"""Nats beyond which a row never binds before rounding does; the repair knows it."""

_START = 0.5
"""The start falls off at this part of the rate, strictly inside every constraint."""

_SETTLED, _AGAIN = 1e-5, 1.1
"""Error of the rows with which a later round counts, and how long it takes beside the one before."""

_BYTES = 6 << 30
"""Memory beyond which the program is not built; fixed, so that the same input gives the same design."""


@final
@dataclass(frozen=True, eq=False)
class Answer:
    """The best round of the program and the remap.

    Parameters
    ----------
    blocks, home
        The program, and the home of each report.
    u
        Its variables.
    labels
        ``(n_reports + 1,)`` what each column reports, the constant one last.
    loss
        Expected loss, once rows are divided by their sums.
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
        Radius of the balls, in typical steps: 1 is the median of the distances to a nearest neighbor. At 1 there are
        problems (5 by 5 cells, half a nat a cell, all pairs) in which nothing but the constant is feasible.
    rounds
        Times that the program is solved, with a remap after each.
    share
        Part of the time left that it may take, verification included.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> problem = Problem(MetricSpace.grid(4, 4, cell=1, unit="km"), utility_loss="euclidean")
    >>> made = design(problem, MetricDP(1, unit="km"), method=Anchored(), throw=False)
    >>> round(made.upper / design(problem, MetricDP(1, unit="km"), gap=1e-3).upper, 2)
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
        """Alternate the program and the remap; keep the best.

        Returns
        -------
        Candidate or None
            Without multipliers. ``None`` for a part of one secret or report.

        Complexity
        ----------
        An iteration takes ``n^2 K + n^3 / 3`` operations, a program 15 to 35 iterations.
        """
        if min(part.n, part.n_reports) < 2:
            return None
        # Nine tables of either kind: 1 GB was measured for 2500 secrets and reports.
        memory = 72 * part.n * (part.n + part.n_reports)
        if memory > _BYTES:
            note = f"The anchored program would take {at_most(memory / 2**30, 2)} GiB and was not built;"
            note += " tail_channel() makes an implicit channel."
            return Candidate("anchored", None, None, note)
        answer = self.alternate(part, limits)
        matrix = np.zeros_like(part.cost)
        columns = answer.blocks.matrix(answer.u)
        np.add.at(matrix.T, answer.labels, columns.T / columns.sum(axis=1))
        number = len(answer.u)
        note = (
            f"The anchored program of {number} variables took {answer.iterations} iterations in all,"
            f" with balls of {estimate(number / part.n_reports - 1, 1)} secrets."
        )
        facts = {"radius": self.radius, "iterations": answer.iterations, "variables": number}
        return Candidate("anchored", matrix, None, note, facts)

    def alternate(self, part: Part, limits: PartLimits) -> Answer:
        """Alternate the program and the remap, and keep the best round."""
        seconds = None if limits.seconds is None else self.share * limits.seconds - limits.handling
        stop = np.inf if seconds is None else clock() + max(0.0, seconds)

        # When the last iteration ended: the next takes as long as it did.
        before = [0.0]

        def late() -> bool:
            now = clock()
            ahead, before[0] = now - before[0], now
            return now + ahead > stop

        begun = clock()
        home = part.places
        blocks, start = anchored_blocks(part, home, self.radius)
        constant = int(part.cost.sum(axis=0).argmin())
        labels = np.append(np.arange(part.n_reports), constant)
        rounds: list[Answer] = []
        iterations = 0
        for number in range(self.rounds):
            # What only decides a remap need not be exact.
            exact = number + 1 == self.rounds
            cost = _costs(blocks, part.cost[:, labels])
            before[0] = clock()
            found = solve_blocks(blocks, cost, start, tolerance=1e-4 if exact else 1e-3, stop=late)
            iterations += found.iterations
            columns = blocks.matrix(found.u)
            prices = (columns / columns.sum(axis=1, keepdims=True)).T @ part.cost
            labels = prices.argmin(axis=1)
            loss = float(prices.min(axis=1).sum())
            # What was cut short would need a long repair.
            if not rounds or found.residual <= _SETTLED:
                rounds.append(Answer(blocks, home, found.u, labels, loss, iterations))
            now = clock()
            if now + _AGAIN * (now - begun) > stop:
                break
            begun = now
        best = min(rounds, key=lambda answer: answer.loss)
        return replace(best, iterations=iterations)


def _costs(blocks: Blocks, cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Price the variables, given the cost of each secret in each column."""
    inside = blocks.row >= 0
    priced = np.zeros(len(blocks.block))
    priced[inside] = cost[blocks.row[inside], blocks.block[inside]]
    tails = (blocks.tails * cost).sum(axis=0)
    # A tail that enters no row must not be free.
    priced[blocks.last] = np.where(blocks.tails.any(axis=0), tails, cost.sum(axis=0) + 1e-300)
    return priced


def anchored_blocks(
    part: Part, home: NDArray[np.int64], radius: float
) -> tuple[Blocks, NDArray[np.float64]]:
    """Write the anchored program down, and a point strictly inside its inequalities.

    Parameters
    ----------
    part
        The part.
    home
        ``(n_reports,)`` the home of each report.
    radius
        Of the balls, in median distances to a nearest neighbor. Balls grow until every secret is in one.

    Returns
    -------
    blocks : Blocks
        One block for each report and one, the last, for a constant column.
    start : ndarray
        Variables with positive slacks.

    Complexity
    ----------
    A few tables of ``n`` by ``n_reports``, and the edges at the secrets of each ball.
    """
    n, k = part.n, part.n_reports
    away = part.rate * part.paths[:, home].astype(np.float64)
    everything = 2 * len(part.constraints) == n * (n - 1)
    # Of all pairs in the plane few follow from others: looking for them takes longer than keeping them.
    graph = part.constraints if everything else part.binding
    nats = np.asarray(part.rate * graph.lengths, dtype=np.float64)
    reach = np.full(k, radius * _typical_step(n, graph.pairs, nats))
    alone = np.flatnonzero((away > reach).all(axis=1))
    # Whole balls: the start is inside the inequalities only if nothing beyond a ball is nearer than what is in it.
    np.maximum.at(reach, away[alone].argmin(axis=1), away[alone].min(axis=1))
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
    if everything:
        apart = part.rate * part.paths.astype(np.float64)
        small, large, powers = _ratios_of_all(apart, away - first, inside, number)
    else:
        small, large, powers = _ratios(graph.pairs, nats, away - first, inside, number)
    every = np.arange(len(block))
    blocks = Blocks(
        block,
        rows,
        np.concatenate([small, np.full(len(every), -1)]),
        np.concatenate([large, every]),
        np.concatenate([np.exp(powers), np.ones(len(every))]),
        np.column_stack([tails, np.ones(n)]),
    )
    start = np.ones(len(block))
    start[number[secret, report]] = np.exp(-_START * away[secret, report])
    start[number[n]] = np.exp(-_START * first)
    start[-1] = 1e-2 / n
    return blocks, start


def _typical_step(n: int, pairs: NDArray[np.int32], nats: NDArray[np.float64]) -> float:
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
    """List ``u[small] <= e^power u[large]`` inside each ball, and the tightest two between a secret and its tail."""
    n = len(inside)
    ends = np.concatenate([pairs, pairs[:, ::-1]]).astype(np.int64)
    order = np.argsort(ends[:, 0], kind="stable")
    others, apart = ends[order, 1], np.concatenate([nats, nats])[order]
    degree = np.bincount(ends[:, 0], minlength=n)
    first = np.cumsum(degree) - degree
    secret, report = np.nonzero(inside)
    counts = degree[secret]
    entry = np.repeat(np.arange(len(secret)), counts)
    at = first[secret][entry] + np.arange(len(entry)) - (np.cumsum(counts) - counts)[entry]
    i, j, k, d = secret[entry], others[at], report[entry], apart[at]
    both = inside[j, k] & (d <= _FARTHEST)
    small, large, powers = [number[i, k][both]], [number[j, k][both]], [d[both]]
    cross = ~inside[j, k]
    for sign in (-1.0, 1.0):
        tight = np.full(len(secret), np.inf)
        np.minimum.at(tight, entry[cross], d[cross] + sign * beyond[j[cross], k[cross]])
        used = np.flatnonzero(tight <= _FARTHEST)
        mine, tail = number[secret[used], report[used]], number[n, report[used]]
        small.append(mine if sign < 0 else tail)
        large.append(tail if sign < 0 else mine)
        powers.append(tight[used])
    return np.concatenate(small), np.concatenate(large), np.concatenate(powers)


def _ratios_of_all(
    apart: NDArray[np.float64],
    beyond: NDArray[np.float64],
    inside: NDArray[np.bool_],
    number: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Do what :func:`_ratios` does where all pairs are constrained, report by report and without a list of pairs."""
    n = len(inside)
    small, large, powers = [], [], []
    for report in range(inside.shape[1]):
        ball = np.flatnonzero(inside[:, report])
        mine, tail = number[ball, report], int(number[n, report])
        near = apart[np.ix_(ball, ball)]
        i, j = np.nonzero((near <= _FARTHEST) & ~np.eye(len(ball), dtype=bool))
        small.append(mine[i])
        large.append(mine[j])
        powers.append(near[i, j])
        rows, fall = apart[ball], np.where(inside[:, report], np.inf, beyond[:, report])
        for sign in (-1.0, 1.0):
            # Infinite for secrets of the ball, which have rows of their own.
            ways = rows + sign * np.where(np.isinf(fall), sign * np.inf, fall)
            tight = ways.min(axis=1)
            used = tight <= _FARTHEST
            mine_used, tails = mine[used], np.full(int(used.sum()), tail)
            small.append(mine_used if sign < 0 else tails)
            large.append(tails if sign < 0 else mine_used)
            powers.append(tight[used])
    return np.concatenate(small), np.concatenate(large), np.concatenate(powers)
