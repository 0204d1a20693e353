r"""Exact pricing of classes, and the bound that follows from it.

For multipliers :math:`\pi` of the rows a class S has the reduced cost :math:`c(S) - \sum_{i \in S} \pi_i`. Order the
rows in any way and call the first of a class its root. Classes of a partition have different roots, and there are at
most :math:`\lfloor n/k \rfloor` of them, so that every partition into classes of k rows or more loses at least

.. math:: \sum_i \pi_i + \sum_{r \in W} \min\bigl(0,\; \min_{S: \operatorname{root}(S) = r} \bar c(S)\bigr),

where W are the :math:`\lfloor n/k \rfloor` roots of least reduced cost: the Lagrangian bound of the set partitioning
program, valid for *any* multipliers. Classes of k to 2k - 1 rows suffice, since the cost is monotone.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.arrays import arrays_of
from discreet.kanonymity.candidate import SearchLimits, portions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem

TWICE_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps)
"""Twice the unit of rounding."""


@final
@dataclass(frozen=True, eq=False)
class Pricing:
    """What one search for classes gave.

    Parameters
    ----------
    classes
        ``(n_found, 2k - 1)`` rows, rising, padded with -1.
    costs
        ``(n_found,)`` what the classes lose.
    lower
        What no partition loses less than, rounded down.
    complete
        Whether every class below the threshold is there; never where only some were requested at each root.
    boxes
        Boxes looked at.
    """

    classes: NDArray[np.int32]
    costs: NDArray[np.float64]
    lower: float
    complete: bool
    boxes: int


@final
class Pricer:
    """Searches one table again and again.

    Parameters
    ----------
    problem
        The table. The costs of all pairs are kept: eight bytes for each two rows.
    k
        Least class size.
    """

    def __init__(self, problem: Problem, k: int) -> None:
        from discreet.kanonymity.kernels.pricing import all_pairs, room_for

        self.k, self.n = k, problem.n
        self.arrays = arrays_of(problem)
        self.apart = all_pairs(self.arrays)
        self.scale = max(problem.suppressed_cost, 1e-300)
        self._room = room_for(problem.n, problem.m, k)
        # Before the first search, what a box takes in a large table.
        self._pace = 1e-4
        self._digits = problem.m + 4 * k

    def price(
        self,
        pi: NDArray[np.float64],
        *,
        below: float = 0.0,
        each: int = 0,
        most: int = 1_000_000,
        budget: int = 1_000_000,
        least_budget: int = 20,
        seconds: float = math.inf,
        limits: SearchLimits | None = None,
    ) -> Pricing:
        """Find classes of small reduced cost.

        Parameters
        ----------
        pi
            ``(n,)`` multipliers.
        below
            What the reduced cost has to be below.
        each
            Classes for each root, at most; 0 for all.
        most
            Classes, at most.
        budget
            Boxes looked at for each root, at most; the bound stays valid.
        least_budget
            Boxes that are looked at for each root, whatever the time.
        seconds
            What the budget may take at the pace of the searches before.
        limits
            When to end: roots that were not searched by then have no bound.
        """
        from discreet.kanonymity.kernels.pricing import PricedClasses, price

        if seconds < math.inf:
            budget = min(budget, max(least_budget, int(seconds / (self.n * self._pace))))
        began = time.perf_counter()
        order = np.argsort(-pi, kind="stable")
        least, limits = np.full(self.n, below), limits or SearchLimits()
        room = min(most, self.n * each) if each else most
        classes = np.empty((room, 2 * self.k - 1), dtype=np.int32)
        costs, work = np.empty(room), np.zeros(3, dtype=np.int64)
        written = searched = 0
        for begin, stop in portions(self.n, limits):
            if work[2]:
                break
            written += price(
                self.arrays,
                self.apart,
                pi,
                order,
                begin,
                stop,
                self._room,
                below,
                budget,
                each,
                PricedClasses(classes[written:], costs[written:], least, work),
            )
            searched = stop
        least[order[searched:]] = -math.inf
        work[1] += self.n - searched
        self._pace = max((time.perf_counter() - began) / max(1, int(work[0])), 1e-8)
        return Pricing(
            _rising(classes[:written]),
            costs[:written],
            self.bound(pi, least),
            complete=not each and work[1] == work[2] == 0,
            boxes=int(work[0]),
        )

    def bound(self, pi: NDArray[np.float64], least: NDArray[np.float64]) -> float:
        """Return a Lagrangian lower bound on the total loss, rounded down, from multipliers `pi` ``(n,)``.

        `least` ``(n,)`` has for each root a lower bound on the reduced cost of its classes. A sort.
        """
        roots = np.sort(np.minimum(least, 0.0))[: self.n // self.k]
        value = math.fsum(pi.tolist()) + math.fsum(roots.tolist())
        # Each reduced cost is a sum of so many terms, none beyond all weights or the largest multiplier.
        terms = (2 * self.k - 1) * (self.scale + float(np.abs(pi).max(initial=0.0)))
        slack = (self.n // self.k + 1) * self._digits * TWICE_UNIT_ROUNDOFF * terms
        return value - slack - abs(value) * TWICE_UNIT_ROUNDOFF


def _rising(classes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Sort the rows of each class, padding last, so that a class is written in one way."""
    last = np.iinfo(np.int32).max
    rising = np.sort(np.where(classes < 0, last, classes), axis=1)
    return np.where(rising == last, -1, rising).astype(np.int32)
