r"""Loss against epsilon from few designs: bounds at one epsilon from the prices and channels of others.

Let :math:`L^*(\epsilon)` be the least loss of a private channel. It falls with epsilon, since a channel that keeps
:math:`\epsilon` keeps every larger budget. Hence a channel designed at :math:`\epsilon'` bounds :math:`L^*(\epsilon)`
from above for all :math:`\epsilon \ge \epsilon'`, and a bound proved at :math:`\epsilon'` bounds it from below for all
:math:`\epsilon \le \epsilon'`. Between designs that is coarse. But the formula of
:mod:`~discreet.metricdp.bounds.bound` holds for *any* prices at *any* epsilon, so that the prices :math:`\lambda` of a
design at :math:`\epsilon'` are tried at :math:`\epsilon` as they are, and as :math:`\lambda\, e^{(\epsilon' -
\epsilon) d}`, which keeps the negative terms of the brackets and changes the positive ones, and in between; so are
mixtures of the prices of two designs.

Channels are carried over, too: the one of the next larger epsilon, and :math:`z^w z'^{1-w}` of the two designs around,
w such that :math:`w \epsilon_1 + (1-w) \epsilon_2 = \epsilon`, whose ratios are right but for the sums of rows. Both
are repaired, rounded and verified at :math:`\epsilon` like any other candidate, without a solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.options import instance_of, items_of, whole_number
from discreet.metricdp.bounds.bound import Multipliers, lower_bound
from discreet.metricdp.design import design
from discreet.metricdp.methods.spanner import rescale_prices
from discreet.metricdp.part import KnownChannel
from discreet.metricdp.problem import Problem
from discreet.metricdp.search import negligible_loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.part import Method
    from discreet.metricdp.search import MetricDesign

_COMPENSATED_SHARES = (0.5, 0.75, 1.0)
"""Shares of the change of a constraint's factor for which its price compensates."""


@final
@dataclass(frozen=True, eq=False)
class Frontier:
    """Proven bounds on the least loss at some epsilons.

    Parameters
    ----------
    epsilon
        ``(n,)``, ascending: nats per unit of distance, rounded to floats. The bounds are for the exact numbers given.
    lower
        ``(n,)``: lower bounds on the loss of every private channel.
    upper
        ``(n,)``: upper bounds on the loss of a verified channel.
    designs
        The designs, by epsilon.
    """

    epsilon: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    designs: tuple[MetricDesign, ...]

    def __post_init__(self) -> None:
        for array in (self.epsilon, self.lower, self.upper):
            array.setflags(write=False)

    @property
    def gap(self) -> NDArray[np.float64]:
        """``(upper - lower) / upper`` at each epsilon; 0 if both are 0."""
        return _gaps(self.lower, self.upper, 0.0)


def frontier(
    problem: Problem,
    epsilons: Sequence[Exact],
    *,
    radius: Exact | None = None,
    most_designs: int = 4,
    method: Method | None = None,
    gap: float = 0.01,
    time_limit: float | None = None,
    threads: int = 1,
    allow_unprotected: bool = False,
) -> Frontier:
    r"""Bound the least loss at many epsilons by designs at a few of them.

    Designs at the two ends come first; then, one by one, at the epsilon where the bounds are farthest apart.

    Parameters
    ----------
    problem
        The problem.
    epsilons
        Different budgets in nats per unit of distance, in any order; read exactly.
    radius
        Pairs at most this far apart are constrained; all pairs by default.
    most_designs
        Limit on the number of designs.
    method, time_limit, threads, allow_unprotected
        As in :func:`discreet.metricdp.design`, for each design.
    gap
        Relative gap to reach at each design; no further design is made once all epsilons have reached it.

    Returns
    -------
    Frontier
        Bounds at each epsilon.

    Raises
    ------
    InvalidProblemError
        Without epsilons, for one that comes twice, without designs, or as ``design``.

    Complexity
    ----------
    The designs, a dozen evaluations of the bound for each epsilon and design, and about four repairs for each epsilon.

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem
    >>> problem = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")
    >>> curve = frontier(problem, ["0.5", "0.7", 1, "1.4", 2], most_designs=3)
    >>> len(curve.designs), bool((curve.lower <= curve.upper).all())
    (3, True)
    """
    instance_of(problem, Problem, "problem", "a Problem")
    sequence = items_of(epsilons, "epsilons", "a list of budgets")
    budgets = sorted(MetricDP(epsilon, "unit").epsilon for epsilon in sequence)
    if not budgets or len(set(budgets)) < len(budgets):
        raise InvalidProblemError(
            "epsilons", "different budgets, one or more", [str(budget) for budget in budgets]
        )
    whole_number(most_designs, "most_designs", "at least one design")
    chart = _Chart(problem, budgets, radius, allow_unprotected=allow_unprotected)
    for at in chart.next_epsilons(gap):
        result = chart.design(at, method=method, gap=gap, time_limit=time_limit, threads=threads)
        chart.learn(at, result)
        if len(chart.designs) == most_designs:
            break
    return Frontier(
        np.array([float(epsilon) for epsilon in budgets]),
        chart.lower,
        chart.upper,
        tuple(chart.designs[at] for at in sorted(chart.designs)),
    )


class _Chart:
    """Proven bounds so far, at each epsilon."""

    def __init__(
        self,
        problem: Problem,
        budgets: Sequence[Fraction],
        radius: Exact | None,
        *,
        allow_unprotected: bool,
    ) -> None:
        self.problem, self.budgets, self.radius = problem, budgets, radius
        self.allow_unprotected = allow_unprotected
        self.constraints = problem.space.adjacency(radius)
        if not allow_unprotected:
            self.constraints, _ = self.constraints.join(problem.space)
        self.lower, self.upper = np.zeros(len(budgets)), np.full(len(budgets), np.inf)
        self.designs: dict[int, MetricDesign] = {}

    def next_epsilons(self, gap: float) -> Iterator[int]:
        """Yield the index of the next epsilon to design at, by the bounds so far, until each gap is at most `gap`.

        The first and the last come first. The caller has to :meth:`learn` the design before it takes the next index.
        """
        negligible = negligible_loss(self.problem.cost)
        last = len(self.budgets) - 1
        yield from sorted({0, last})
        while len(self.designs) <= last:
            gaps = _gaps(self.lower, self.upper, negligible)
            gaps[list(self.designs)] = -1.0
            worst = int(gaps.argmax())
            if gaps[worst] <= gap:
                return
            yield worst

    def design(self, at: int, **options: Any) -> MetricDesign:  # noqa: ANN401 - options of design
        """Design at an epsilon.

        `at` is the index of the epsilon, `options` those of :func:`discreet.metricdp.design`. Never raises for a
        missed gap.
        """
        target = MetricDP(self.budgets[at], self.problem.space.unit, self.radius)
        apart = self.allow_unprotected
        return design(self.problem, target, allow_unprotected=apart, throw=False, **options)

    def learn(self, at: int, new: MetricDesign) -> None:
        """Update the bounds at all epsilons from `new`, a design at epsilon number `at`.

        At each epsilon without a design whose nearest designed neighbor is `at`, channels of the designs around it
        are repaired and verified, and prices evaluated. Bounds that carry over are spread at the end: lower ones to
        smaller epsilons, upper ones to larger.
        """
        self.designs[at] = new
        self.upper[at] = new.upper
        self.lower[at] = max(self.lower[at], new.lower or 0.0)
        for i, epsilon in enumerate(self.budgets):
            before = max((j for j in self.designs if j < i), default=None)
            after = min((j for j in self.designs if j > i), default=None)
            if i in self.designs or at not in {before, after}:
                continue
            around = [self.designs[j] for j in (before, after) if j is not None]
            for table in _candidate_matrices(around, epsilon):
                method = KnownChannel("carried over", "A channel was carried over.", table)
                self.upper[i] = min(self.upper[i], self.design(i, method=method).upper)
            for prices in _candidate_prices(around, self.constraints, epsilon):
                lower = lower_bound(self.problem.cost, self.constraints, epsilon, prices)
                self.lower[i] = max(self.lower[i], lower)
        # The least loss falls with epsilon: lower bounds hold for smaller epsilons, channels for larger ones.
        self.lower[:] = np.maximum.accumulate(self.lower[::-1])[::-1]
        np.minimum.accumulate(self.upper, out=self.upper)


def _gaps(
    lower: NDArray[np.float64], upper: NDArray[np.float64], negligible: float
) -> NDArray[np.float64]:
    """Return relative gaps ``(upper - lower) / upper``, ``(m,)``, of bounds `lower` and `upper`, ``(m,)`` each.

    0 where ``upper - lower`` is at most `negligible`, 1 where the upper bound is infinite.
    """
    gaps = np.zeros(len(lower))
    wide = upper - lower > negligible
    # The upper bound is infinite before the first design.
    known = wide & np.isfinite(upper)
    gaps[wide] = 1.0
    gaps[known] = (upper[known] - lower[known]) / upper[known]
    return gaps


def _candidate_matrices(
    around: Sequence[MetricDesign], epsilon: Fraction
) -> Iterator[NDArray[np.float64]]:
    """Yield matrices ``(n, k)`` to repair at an epsilon.

    Of the next larger design, and its geometric mean with the smaller. `around` are the nearest designs below and
    above `epsilon`, ascending, one or two. Yields nothing if no design has at least this epsilon.
    """
    weaker = around[-1]
    if weaker.guarantee.epsilon < epsilon:
        return
    yield weaker.channel.probabilities
    if len(around) == 2:
        share = _weight_of_first(around, epsilon)
        first, second = (made.channel.probabilities for made in around)
        yield first**share * second ** (1 - share)


def _weight_of_first(around: Sequence[MetricDesign], epsilon: Fraction) -> float:
    """Return the weight of the first of two designs by linear interpolation: 1 at its epsilon, 0 at the other's."""
    first, second = (made.guarantee.epsilon for made in around)
    return float((second - epsilon) / (second - first))


def _candidate_prices(
    around: Sequence[MetricDesign], constraints: Adjacency, epsilon: Fraction, factor: float = 0.9
) -> Iterator[Multipliers]:
    """Yield prices to evaluate at an epsilon: adapted from each design, and interpolated between two.

    `around` are one or two designs, ascending in epsilon; `constraints` are those of the problem. Each of the prices
    is yielded as it is and times `factor`: the best factor was often below 1.
    """
    for share in _COMPENSATED_SHARES:
        usable = []
        for made in around:
            rate = share * float(made.guarantee.epsilon - epsilon) * 2.0**-constraints.scale_bits
            usable.append(rescale_prices(made.witness or Multipliers.empty(), constraints, rate))
        if len(usable) == 2:
            weight = _weight_of_first(around, epsilon)
            usable.append(
                Multipliers.stack([usable[0].scaled(weight), usable[1].scaled(1 - weight)])
            )
        for prices in usable:
            yield prices
            yield prices.scaled(factor)
