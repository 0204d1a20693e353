r"""Column generation: the linear relaxation of set partitioning, by its dual, with multipliers smoothed.

.. math:: \max_{\pi,\, \mu \ge 0} \sum_i \pi_i - \lfloor n/k \rfloor\, \mu
    \quad\text{subject to}\quad \sum_{i \in S} \pi_i - \mu \le c(S)\ \text{for all classes } S.

The multiplier :math:`\mu` stands for there being at most :math:`\lfloor n/k \rfloor` classes. Only some classes are
written as rows of the program. Pricing finds others that are violated, at a point between the best multipliers so far
and those of the program [PSU18]_, and bounds what every partition loses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.errors import LimitReachedError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from discreet.kanonymity.candidate import SearchLimits
    from discreet.kanonymity.exact.pricing import Pricer, Pricing


class ExactTolerances(NamedTuple):
    """Rounding errors that the search for an optimum allows for."""

    relaxation: float = 1e-10
    """Relative distance of a bound and the relaxation's value at which they count as equal."""
    integrality: float = 1e-6
    """Distance of a solver's value from an integer at which it counts as that integer."""


TOLERANCES = ExactTolerances()


@final
class Pool:
    """Different classes with their costs."""

    def __init__(self, largest: int) -> None:
        self.classes = np.empty((0, largest), dtype=np.int32)
        self.costs = np.empty(0)
        self._known: set[bytes] = set()

    def __len__(self) -> int:
        return len(self.costs)

    def add(
        self, classes: NDArray[np.int32], costs: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Add `classes` ``(new, 2k - 1)`` in place, rows ascending and padded with -1, with `costs` ``(new,)``.

        Returns those that were not known, with their costs.
        """
        new = []
        for at, one in enumerate(classes):
            key = one.tobytes()
            if key not in self._known:
                self._known.add(key)
                new.append(at)
        added, prices = classes[new], costs[new]
        self.classes = np.concatenate([self.classes, added])
        self.costs = np.concatenate([self.costs, prices])
        return added, prices


@final
@dataclass(frozen=True, eq=False)
class Relaxed:
    """The best solution of the relaxation when the time was over.

    Parameters
    ----------
    pi
        ``(n,)`` the multipliers of the best bound.
    mu
        That of the number of classes. The bound counts no class for more than -`mu`.
    lower
        The bound, rounded down.
    """

    pi: NDArray[np.float64]
    mu: float
    lower: float


def incidence(classes: NDArray[np.int32], n: int) -> csr_array[np.float64]:
    """Return the sparse ``(classes, n)`` matrix that is 1 where a class has a row.

    `classes` are ``(classes, places)`` rows, padded with -1.
    """
    from scipy import sparse

    member = classes >= 0
    first = np.concatenate([[0], np.cumsum(member.sum(axis=1))])
    return sparse.csr_array(
        (np.ones(int(first[-1])), classes[member], first), shape=(len(classes), n)
    )


def relax(
    pricer: Pricer,
    pool: Pool,
    shares: NDArray[np.float64],
    upper: float,
    limits: SearchLimits,
    *,
    smoothing: float = 0.5,
    each: int = 4,
    budget: int = 200_000,
    searches: int = 10,
) -> Relaxed:
    """Solve the relaxation.

    Parameters
    ----------
    pricer
        Searches the table.
    pool
        Classes to start from, a partition among them; what is found is added.
    shares
        ``(n,)`` multipliers to start from, such as what each row loses in a good partition.
    upper
        The loss of a partition: there is no need to go on once the bound is there.
    limits
        When to stop.
    smoothing
        Weight of the best multipliers so far against those of the program, in [0, 1).
    each
        Classes for each root and round, at most.
    budget
        Boxes looked at for each root and round, at most.
    searches
        Number of searches for classes that the remaining time is divided among.
    """
    from discreet.core.lp import LinearModel, LinearProgram

    n, most = pricer.n, pricer.n // pricer.k
    reach = 2.0 * (2 * pricer.k - 1) * pricer.scale
    centre = np.append(shares, 0.0)

    def priced(at: NDArray[np.float64]) -> Pricing:
        share = limits.left / searches
        return pricer.price(
            at[:n], below=-float(at[n]), each=each, budget=budget, seconds=share, limits=limits
        )

    pricing = priced(centre)
    lower = pricing.lower
    pool.add(pricing.classes, pricing.costs)
    start = LinearProgram(
        np.append(-np.ones(n), float(most)),
        _rows(pool.classes, n),
        row_upper=pool.costs,
        lower=np.append(np.full(n, -reach), 0.0),
        upper=reach,
    )
    model = LinearModel(start)
    alpha = smoothing
    while limits.left > 0 and not _close(lower, upper, limits.gap):
        try:
            solved = model.solve(time_limit=limits.seconds, threads=1, tolerance=1e-9)
        except LimitReachedError:
            break
        pi, objective = solved.x, -solved.objective
        at = alpha * centre + (1 - alpha) * pi
        pricing = priced(at)
        if pricing.lower > lower:
            lower, centre = pricing.lower, at
        if _close(lower, objective, TOLERANCES.relaxation):
            break
        fresh, prices = pool.add(pricing.classes, pricing.costs)
        if not len(fresh):
            if alpha == 0:
                break
            alpha = alpha / 2 if alpha > 0.05 else 0.0
            continue
        model.add_rows(_rows(fresh, n), -np.inf, prices)
    return Relaxed(centre[:n], float(centre[n]), lower)


def _rows(classes: NDArray[np.int32], n: int) -> csr_array[np.float64]:
    """Write classes ``(classes, places)`` as rows of the dual program: 1 for each member of n rows, then -1."""
    from scipy import sparse

    number = sparse.csr_array(np.full((len(classes), 1), -1.0))
    return sparse.csr_array(sparse.hstack((incidence(classes, n), number)))


def _close(lower: float, upper: float, gap: float) -> bool:
    return upper - lower <= max(gap, TOLERANCES.relaxation) * abs(upper)
