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
    from collections.abc import Iterator, Mapping, Sequence
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
    apart = allow_unprotected
    constraints = problem.space.adjacency(radius)
    if not apart:
        constraints, _ = constraints.join(problem.space)
    lower, upper = np.zeros(len(budgets)), np.full(len(budgets), np.inf)
    designs: dict[int, MetricDesign] = {}

    def design_at(at: int, **options: Any) -> MetricDesign:  # noqa: ANN401 - options of design
        target = MetricDP(budgets[at], problem.space.unit, radius)
        return design(problem, target, allow_unprotected=apart, throw=False, **options)

    while len(designs) < min(most_designs, len(budgets)):
        new = _next_epsilon(lower, upper, designs, gap, negligible_loss(problem.cost))
        if new is None:
            break
        made = design_at(new, method=method, gap=gap, time_limit=time_limit, threads=threads)
        designs[new] = made
        lower[new] = max(lower[new], made.lower or 0.0)
        upper[new] = made.upper
        for at, epsilon in enumerate(budgets):
            before = max((other for other in designs if other < at), default=None)
            after = min((other for other in designs if other > at), default=None)
            if at in designs or new not in {before, after}:
                continue
            around = [designs[other] for other in (before, after) if other is not None]
            for table in _candidate_matrices(around, epsilon):
                known = KnownChannel("carried over", "A channel was carried over.", table)
                upper[at] = min(upper[at], design_at(at, method=known).upper)
            for prices in _candidate_prices(around, constraints, epsilon):
                proven = lower_bound(problem.cost, constraints, epsilon, prices)
                lower[at] = max(lower[at], proven)
        # The least loss falls with epsilon: lower bounds hold for smaller epsilons, channels for larger ones.
        lower[:] = np.maximum.accumulate(lower[::-1])[::-1]
        np.minimum.accumulate(upper, out=upper)
    made_in_order = tuple(designs[at] for at in sorted(designs))
    return Frontier(np.array([float(epsilon) for epsilon in budgets]), lower, upper, made_in_order)


def _next_epsilon(
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    designs: Mapping[int, MetricDesign],
    gap: float,
    negligible: float,
) -> int | None:
    """Return the index of the next epsilon to design at; ``None`` if all others have a gap of at most `gap`.

    `lower` and `upper` ``(m,)`` are the bounds so far, `negligible` is a difference that counts as none, and `designs`
    are those at epsilons so far. The first and the last come first, then the one of the widest gap.
    """
    ends = [end for end in (0, len(lower) - 1) if end not in designs]
    gaps = _gaps(lower, upper, negligible)
    gaps[list(designs)] = -1.0
    widest = int(gaps.argmax())
    if ends or gaps[widest] > gap:
        return ends[0] if ends else widest
    return None


def _gaps(
    lower: NDArray[np.float64], upper: NDArray[np.float64], negligible: float
) -> NDArray[np.float64]:
    """Return relative gaps ``(upper - lower) / upper``, ``(m,)``, of bounds `lower` and `upper`, ``(m,)`` each.

    0 where ``upper - lower`` is at most `negligible`, 1 where the upper bound is infinite.
    """
    # The upper bound is infinite before the first design.
    with np.errstate(invalid="ignore"):
        gaps = np.where(np.isinf(upper), 1.0, (upper - lower) / upper)
    return np.where(upper - lower > negligible, gaps, 0.0)


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
