r"""Multipliers of rows that no class overpays: the dual of set partitioning, by cutting planes.

A partition covers each row once, by classes S of k rows or more that cost :math:`|S|\,w(S)`. For every u with

.. math:: \sum_{i \in S} u_i \le |S|\, w(S) \quad\text{for each such class}

no partition loses less than :math:`\sum_i u_i`; with :math:`u_i` at most the sum of all weights, none with suppressed
rows does either. The mean over a class is at most that over its k largest multipliers, and w does not grow when rows
are left out, so that classes of k rows decide. Equal rows share a multiplier, which is no loss (average two solutions).

A linear program has the classes that were found so far. Its solution overpays others; a point between it and the best
multipliers that overpay none (an in-out trial point) is searched for such classes, which join the program, and made
feasible by what the search proved: it is a bound whether or not the program is solved.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.arrays import SET, points_of
from discreet.kanonymity.bounds.covers import cover_of
from discreet.kanonymity.bounds.growing import Growing
from discreet.kanonymity.candidate import SearchLimits, order_of, portions
from discreet.kanonymity.problem import Numeric, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.lp import LinearModel
    from discreet.kanonymity.arrays import Points
    from discreet.kanonymity.kernels.dearest import FoundBoxes, Sweep

__all__ = ["AllBoxes", "Branching", "DualBound", "Searched"]

MOST_BOXES = 2e7
"""Boxes up to which all are looked at: a second at first, a tenth near the optimum (5e6 boxes)."""

MOST_POINTS = 6_000
"""Different rows up to which the program is set up."""

FLOOR = -0.5
"""Least multiplier, as a part of all weights, of a point whose rows others need."""

CLOSE = 1e-4
"""Relative distance of the bound to the program's value at which it ends."""

WIDE = 4.0
"""Largest multiplier of a point, in costs of the class that was grown from it; to restrict them is always valid."""

GUESS = 0.75
"""Multipliers to begin with, in costs of the class that was grown from a point."""

IGNORED = 0.1
"""Part of the slack, times the mean multiplier, by which a class may be overpaid without being looked for."""

MOST_NODES = 200_000
"""Nodes of one root's search, at most."""

MOST_LEARNED = 10_000_000
"""Rows of the classes of a partition, each counted as the largest, up to which they join the program."""

UNTIMED_ROUNDS = 60
"""Rounds without a time limit."""

MORE_NEAR, GROWN_AT_ONCE = 64, 500
"""Near points beyond k from which a class is grown, at most, and classes that grow together: 3,000 rows of nine
taxonomies at k = 50 did not end in a minute, whatever the time limit, with four times k, all at once and each class
measured anew at each step (2026-11)."""

COVERED = 3
"""Classes of one round that may share a scarce point."""


@final
@dataclass(frozen=True, eq=False)
class Searched:
    """Multipliers that overpay no class, and some classes that those searched overpay, one a row, -1 for no point."""

    feasible: NDArray[np.float64]
    points: NDArray[np.int32]
    rows: NDArray[np.int32]


@final
class AllBoxes:
    """Few values: every box is looked at, the product of the cells of all columns but one, which is swept.

    Multipliers of violated classes are divided by the largest mean over width of a class that they are in: each
    class loses at least its own factor, and outliers alone are scaled.
    """

    slack = 0.0

    def __init__(self, problem: Problem, points: Points, k: int) -> None:
        self.k, self.counts = k, np.diff(points.first)
        self.sweep = _sweep_of(problem, points, k)
        self.cells = int(self.sweep.start[1])

    def search(
        self, u: NDArray[np.float64], _known: NDArray[np.float64], /, limits: SearchLimits
    ) -> Searched | None:
        """Search multipliers of points; ``None`` where the time ended it."""
        from discreet.kanonymity.kernels.dearest import sweep

        found = _room(len(u), self.k)
        ratio = np.ones(len(u))
        order = np.argsort(-u, kind="stable").astype(np.int32)
        done = 0
        for begin, stop in portions(self.cells, limits):
            sweep(self.sweep, self.counts, u, order, self.k, begin, stop, found, ratio)
            done = stop
        if done < self.cells:
            return None
        return Searched(np.where(u > 0, u / ratio, u), *_listed(found))

    def refine(self, value: float, top: float, added: int) -> bool:
        """End where the program's value is reached."""
        return value < (1 - CLOSE) * top and added > 0


@final
class Branching:
    r"""Many values: boxes between an inner and an outer one, branched upon from each root.

    A root is the row of a class with the largest multiplier. With a slack e the search proves for each root r that no
    class of it has a mean above :math:`(1 + e) w + V_r`. Then

    .. math:: \bigl(u_i - V - k \max(0, V_i - V)\bigr) / (1 + e)

    overpays no class, whatever V of 0 or more is: of a class with root r the k multipliers have a sum of at most
    :math:`k (1 + e) w + k V_r`, from which V is taken k times and the rest of :math:`k V_r` at the root. A slack makes
    branches end early, and costs a part e / (1 + e) of the bound, so that it falls as the program is solved.
    """

    def __init__(self, points: Points, k: int, slacks: tuple[float, ...]) -> None:
        self.points, self.k, self.counts = points, k, np.diff(points.first)
        self.slacks, self.at = slacks, 0
        self.nodes, self.extra = 200, 20
        self.cheap = 40

    @property
    def slack(self) -> float:
        """The present e."""
        return self.slacks[self.at]

    def search(
        self, u: NDArray[np.float64], known: NDArray[np.float64], /, limits: SearchLimits
    ) -> Searched | None:
        """Search multipliers of points, given some that overpay no class; ``None`` where the time ended it."""
        from discreet.kanonymity.kernels.dearest import branches

        n, k, slack = len(u), self.k, self.slack
        found, upper = _room(n, k), np.zeros(n)
        order = np.argsort(-u, kind="stable").astype(np.int32)
        roots = int((u > 0).sum())
        least = IGNORED * slack * float(np.maximum(u, 0.0) @ self.counts / self.counts.sum())

        # The width of a class is at least the mean of multipliers that overpay none, up to the rounding of both.
        gain = u - (1 + slack) * known + 2 * rounding(u, k, self.points.arrays.cap)
        given = (
            self.points.arrays,
            self.counts,
            u,
            order,
            k,
            slack,
            self.nodes,
            self.extra,
            least,
            gain,
        )

        def some(begin: int, stop: int, step: int) -> None:
            branches(*given, begin, stop, step, found, upper)

        done = 0
        with ThreadPoolExecutor(limits.threads) as pool:
            for begin, stop in portions(roots, limits, first=limits.threads):
                step = min(limits.threads, stop - begin)
                for each in [pool.submit(some, begin + t, stop, step) for t in range(step)]:
                    each.result()
                done = stop
        if done < roots:
            return None
        return Searched(self._repaired(u, upper), *_listed(found))

    def _repaired(self, u: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take off what a class may be overpaid by: from all rows alike, the rest from its root."""
        # The best V is one of those of the roots: the sum is linear between them.
        value = np.append(np.sort(np.unique(np.maximum(upper, 0.0)))[::-1], 0.0)
        order = np.argsort(-upper, kind="stable")
        weight, worst = self.counts[order], np.maximum(upper[order], 0.0)
        ahead = np.searchsorted(-worst, -value)
        paid, heavy = (np.append(0.0, np.cumsum(part)) for part in (weight * worst, weight))
        rest = paid[ahead] - value * heavy[ahead]
        least = float(value[np.argmin(value * weight.sum() + self.k * rest)])
        repaired: NDArray[np.float64] = u - least - self.k * np.maximum(0.0, upper - least)
        return repaired / (1.0 + self.slack)

    def refine(self, value: float, top: float, added: int) -> bool:
        """Look closer as fewer classes are found, and lower the slack as the bound comes near the program's value."""
        n = len(self.counts)
        if self.cheap:
            self.cheap -= 1
            if added >= n // 20 and self.cheap:
                return True
            self.cheap, self.nodes, self.extra = 0, 3000, 100
            return True
        last = self.at + 1 == len(self.slacks)
        if value * (1 + self.slack) > (0.997 if last else 0.975) * top:
            if last:
                return False
            self.at += 1
        elif not added:
            self.nodes *= 3
            return self.nodes <= MOST_NODES
        return True


@final
class DualBound:
    """The bound of one problem, which more time makes better.

    Parameters
    ----------
    problem
        The problem.
    k
        Least class size, 2 or more.
    suppressed
        Whether rows may be suppressed: no multiplier may then be above the sum of all weights.
    """

    def __init__(self, problem: Problem, k: int, *, suppressed: bool) -> None:
        self.k, self.lower, self.done = k, 0.0, False
        self.problem = costly(problem)
        order = order_of(self.problem, range(self.problem.m))
        self.points = points_of(self.problem, order)
        self.counts = np.diff(self.points.first).astype(np.float64)
        self.weight = self.problem.suppressed_cost
        self.most = self.weight * (1 if suppressed else k)
        self.separation: AllBoxes | Branching = (
            AllBoxes(self.problem, self.points, k)
            if boxes_of(self.problem, self.points) <= MOST_BOXES
            else Branching(self.points, k, (0.2, 0.1, 0.05, 0.02, 0.01))
        )
        self.known: set[bytes] = set()
        self._model: LinearModel | None = None
        self.best = self.center = np.zeros(self.points.n)
        self.top, self.share = math.inf, 0.5
        self.done = self.points.n == 1 or self.weight == 0

    def refine(self, limits: SearchLimits, labels: NDArray[np.int32] | None = None) -> None:
        """Go on until the time is over or the program's value is reached.

        Without a time limit a table of many values has the multipliers to begin with, and others a number of rounds.

        Parameters
        ----------
        limits
            When to end.
        labels
            A partition whose classes join the program, so that its value is no more than what it loses.
        """
        if self.done:
            return
        timed = limits.left < math.inf
        if self._model is None:
            self._start(limits)
        if not timed and isinstance(self.separation, Branching):
            return
        if labels is not None:
            self.learn(labels)
        rounds = 0
        while not self.done and limits.left > 0 and (timed or rounds < UNTIMED_ROUNDS):
            rounds += 1
            added = self._round(limits)
            if added is None:
                return
            if not added and self.share > 0:
                # The trial point itself was feasible: look nearer to the program's solution.
                self.share = max(0.0, self.share - 0.2)
                continue
            if added > self.points.n // 20:
                self.share = min(0.7, self.share + 0.1)
            self.done = not self.separation.refine(float(self.counts @ self.best), self.top, added)

    def _round(self, limits: SearchLimits) -> int | None:
        """Solve, search a trial point, and give how many classes joined; ``None`` where the time ended it."""
        solved = self._solved(limits)
        if solved is None:
            return None
        trial = self.share * self.center + (1 - self.share) * solved
        searched = self.separation.search(trial, self.best, limits)
        if searched is None:
            return None
        # A trial point that was scaled by a former slack may be above what suppressed rows allow.
        feasible = np.minimum(searched.feasible, self.most)
        if self.counts @ feasible > self.counts @ self.best:
            self.best = feasible
            self.center = feasible * (1 + self.separation.slack)
            self.lower = max(self.lower, self._proved())
        return self._add(searched.points, searched.rows, trial)

    def _proved(self) -> float:
        """Give the sum of the multipliers, less than it by more than all rounding.

        Means of k multipliers and sums of the costs of m columns were compared in floating point, each off by less
        than a part ``(k + m + 4) 2^-52`` of the largest multiplier and of all weights; what a repair divides and takes
        off is rounded a few times more. So much is taken off each row.
        """
        slack = rounding(self.best, self.k, self.points.arrays.cap)
        total = math.fsum((self.counts * (self.best - slack)).tolist())
        return total - 2.0**-50 * abs(total)

    def _solved(self, limits: SearchLimits) -> NDArray[np.float64] | None:
        from discreet.core.errors import LimitReachedError, SolverError

        seconds = None if limits.left == math.inf else limits.left
        try:
            solution = self.model.solve(method="simplex", time_limit=seconds, threads=1)
        except (LimitReachedError, SolverError):
            return None
        self.top = min(self.top, -solution.objective)
        return solution.x

    @property
    def model(self) -> LinearModel:
        """The program with the classes that were found so far."""
        if self._model is None:
            self._model = self._start(SearchLimits())
        return self._model

    def _start(self, limits: SearchLimits) -> LinearModel:
        """Set up the program with a class grown from each point, or from those that there was time for."""
        from scipy import sparse

        from discreet.core.lp import LinearModel, LinearProgram
        from discreet.kanonymity.kernels.boxes import crowded

        # Each row is at least as far as the k-th nearest, itself counted: these multipliers overpay none.
        n, k = self.points.n, self.k
        near = np.empty(n)
        for begin, stop in portions(n, SearchLimits(), first=64):
            near[begin:stop] = crowded(
                self.points.arrays, np.diff(self.points.first), begin, stop, k
            )
        self.best = near
        self.lower = self._proved()
        points, rows = self._grown(min(n - 1, 4 * k, k + MORE_NEAR), limits)
        costs = self._widths(points)
        cheap = np.full(n, self.weight)
        np.minimum.at(cheap, points[points >= 0], np.repeat(costs, (points >= 0).sum(axis=1)))
        self.ceiling = np.where(
            self.counts >= k,
            0.0,
            np.minimum(WIDE * cheap + 0.1 * self.weight / self.problem.m, self.most),
        )
        self.center = self.best
        if isinstance(self.separation, Branching):
            # Nearer to the solution, though some classes are overpaid.
            self.center = np.minimum(cheap * GUESS, self.ceiling)
        program = LinearProgram(
            -self.counts,
            sparse.csr_array((0, n)),
            lower=np.full(n, FLOOR * self.weight),
            upper=self.ceiling,
        )
        self._model = LinearModel(program)
        self._append(points, rows)
        return self._model

    def _grown(
        self, near: int, limits: SearchLimits
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Grow a class of k rows from each point, each time by the near point that widens it least.

        Those that have no k rows when the time is over are left out.
        """
        from discreet.kanonymity.kernels.boxes import nearest_points

        n, k = self.points.n, self.k
        nearest = np.empty((n, near), dtype=np.int32)
        for begin, stop in portions(n, SearchLimits(), first=64):
            nearest[begin:stop], _ = nearest_points(self.points.arrays, begin, stop, near)
        points = np.full((n, k), -1, dtype=np.int32)
        rows = np.zeros((n, k), dtype=np.int32)
        points[:, 0] = np.arange(n)
        rows[:, 0] = np.minimum(self.counts, k)
        growing = Growing(self.problem.columns, self.points.arrays.codes, self.counts, k)
        # Some at a time, so that what is held stays small and the clock is looked at.
        for begin in range(0, n, GROWN_AT_ONCE):
            if begin and limits.left <= 0:
                break
            here = slice(begin, begin + GROWN_AT_ONCE)
            growing.grow(points[here], rows[here], nearest[here], limits)
        whole = rows.sum(axis=1) == k
        return points[whole], rows[whole]

    def learn(self, labels: NDArray[np.int32]) -> None:
        """Let the program have the classes of a partition, so that its value is no more than what that loses."""
        of_row = self.points.of_row
        kept = np.flatnonzero(labels >= 0)
        pairs, rows = np.unique(np.stack([labels[kept], of_row[kept]]), axis=1, return_counts=True)
        first = np.flatnonzero(np.append(True, pairs[0, 1:] != pairs[0, :-1]))
        sizes = np.diff(np.append(first, pairs.shape[1]))
        slot = np.arange(pairs.shape[1]) - np.repeat(first, sizes)
        at = np.repeat(np.arange(len(first)), sizes)
        if not 0 < len(first) * sizes.max(initial=0) <= MOST_LEARNED:
            return
        points = np.full((len(first), sizes.max()), -1, dtype=np.int32)
        many = np.zeros(points.shape, dtype=np.int32)
        points[at, slot], many[at, slot] = pairs[1], rows
        self._append(points, many)

    def _add(
        self, points: NDArray[np.int32], rows: NDArray[np.int32], u: NDArray[np.float64]
    ) -> int:
        """Add classes, the most overpaid first; where a round is short, few that share a scarce point."""
        few = isinstance(self.separation, AllBoxes)
        cover = np.zeros(self.points.n + 1, dtype=np.int64)
        scarce = np.append(u > 0, False)
        chosen = []
        for at, members in enumerate(points):
            mine = members[scarce[members]]
            if few and len(mine) and cover[mine].min() >= COVERED:
                continue
            cover[mine] += 1
            chosen.append(at)
        return self._append(points[chosen], rows[chosen])

    def _append(self, points: NDArray[np.int32], rows: NDArray[np.int32]) -> int:
        from scipy import sparse

        if not len(points):
            return 0
        order = np.argsort(points, axis=1, kind="stable")
        points = np.take_along_axis(points, order, axis=1)
        rows = np.take_along_axis(rows, order, axis=1)
        rows = np.where(points >= 0, rows, 0)
        new = []
        for at in range(len(points)):
            there = points[at] >= 0
            key = points[at][there].tobytes() + rows[at][there].tobytes()
            if key not in self.known:
                self.known.add(key)
                new.append(at)
        if not new:
            return 0
        points, rows = points[new], rows[new]
        where, slot = np.nonzero(points >= 0)
        matrix = sparse.csr_array(
            (rows[where, slot].astype(np.float64), (where, points[where, slot])),
            shape=(len(points), self.points.n),
        )
        self.model.add_rows(matrix, -np.inf, rows.sum(axis=1) * self._widths(points))
        return len(points)

    def _widths(self, points: NDArray[np.int32]) -> NDArray[np.float64]:
        """Give what a row of each class pays; -1 stands for no point."""
        arrays = self.points.arrays
        member = points >= 0
        total = np.zeros(len(points))
        for a, column in enumerate(self.problem.columns):
            codes = arrays.codes[:, a][points].astype(np.int64)
            if arrays.kind[a] == SET:
                sorted_codes = np.sort(np.where(member, codes, -1), axis=1)
                new = (sorted_codes[:, 1:] != sorted_codes[:, :-1]) & (sorted_codes[:, 1:] >= 0)
                different = new.sum(axis=1) + (sorted_codes[:, 0] >= 0)
                total += column.set_cost(different)
            else:
                low = np.where(member, codes, len(column.domain)).min(axis=1)
                high = np.where(member, codes, -1).max(axis=1)
                total += column.span_cost(low, high)
        return total


def rounding(u: NDArray[np.float64], k: int, weights: NDArray[np.float64]) -> float:
    """Bound what rounding adds to the mean multiplier of k rows and takes off the width of their class."""
    size = float(np.abs(u).max(initial=0.0) + weights.sum())
    return (k + len(weights) + 16) * 2.0**-50 * size


def costly(problem: Problem) -> Problem:
    """Leave out columns that cost nothing; the first one stays where all are such."""
    kept = [j for j, column in enumerate(problem.columns) if column.place.max() > 0] or [0]
    columns = tuple(problem.columns[j] for j in kept)
    return Problem(columns, problem.codes[:, kept], problem.loss)


def boxes_of(problem: Problem, points: Points) -> float:
    """Estimate the boxes of a sweep of all."""
    total = 1.0
    numbers = []
    for j, column in enumerate(problem.columns):
        d = len(np.unique(points.arrays.codes[:, j]))
        if isinstance(column.attribute, Numeric):
            numbers.append(d)
            total *= d * (d + 1) / 2
        elif column.is_set:
            total *= 2.0 ** min(d, 60)
        else:
            total *= 2 * d
    return total


def _sweep_of(problem: Problem, points: Points, k: int) -> Sweep:
    from discreet.kanonymity.kernels.dearest import Sweep

    codes = points.arrays.codes
    rows = np.diff(points.first)
    numeric = [
        j for j, column in enumerate(problem.columns) if isinstance(column.attribute, Numeric)
    ]
    values = [len(np.unique(codes[:, j])) for j in range(problem.m)]
    swept = max(numeric, key=lambda j: values[j], default=None)
    covers = []
    for j, column in enumerate(problem.columns):
        if j != swept:
            counts = np.bincount(codes[:, j], weights=rows, minlength=len(column.domain))
            cover = cover_of(column, counts.astype(np.int64), k, len(column.domain))
            covers.append((cover, cover.atoms[codes[:, j]]))
    covers.sort(key=lambda one: -len(one[0].costs))
    if not covers:
        none = np.zeros(points.n, dtype=np.int64)
        atoms, start, cost = none[:, None], np.array([0, 1]), np.zeros(1)
        inside, member = np.ones(1, dtype=bool), np.zeros(1, dtype=np.int64)
    else:
        atoms = np.stack([one[1] for one in covers], axis=1)
        start = np.concatenate([[0], np.cumsum([len(c.costs) for c, _ in covers])])
        cost = np.concatenate([c.costs for c, _ in covers])
        inside = np.concatenate([c.members.ravel() for c, _ in covers])
        wide = np.concatenate([np.full(len(c.costs), c.members.shape[1]) for c, _ in covers])
        member = np.concatenate([[0], np.cumsum(wide)[:-1]])
    place = np.zeros(points.n)
    cap = 0.0
    if swept is not None:
        place = problem.columns[swept].place[codes[:, swept]]
        cap = problem.columns[swept].attribute.weight
    return Sweep(atoms, start.astype(np.int64), cost, inside, member.astype(np.int64), place, cap)


def _room(n: int, k: int) -> FoundBoxes:
    from discreet.kanonymity.kernels.dearest import SLOTS, FoundBoxes

    shape = (n, SLOTS, k)
    points = np.full(shape, -1, dtype=np.int32)
    return FoundBoxes(points, np.zeros(shape, dtype=np.int32), np.zeros(shape[:2]))


def _listed(found: FoundBoxes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """List what was found, the most overpaid first."""
    root, slot = np.nonzero(found.excess > 1e-9)
    order = np.argsort(-found.excess[root, slot], kind="stable")
    root, slot = root[order], slot[order]
    return found.points[root, slot], found.rows[root, slot]
