r"""The linear program on a spanner, at a smaller epsilon: [BCP14]_.

Let a graph S on the secrets stretch no distance by more than t. A channel with
:math:`z_{ik} \le e^{(\epsilon / t) d_{ij}} z_{jk}` on the edges of S keeps :math:`\epsilon` for all pairs, since
along a shortest path of S from i to j the exponents add up to at most :math:`(\epsilon / t) \cdot t\, d_{ij}`. In a
plane a greedy spanner has O(n) edges, instead of O(n^2) pairs. The program is a restriction:
its optimum is an upper bound on the least loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.lengths import DENSE_LIMIT, TableLengths
from discreet.core.spaces.metric import MetricSpace, greedy_spanner
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.methods.direct import Direct

if TYPE_CHECKING:
    from discreet.metricdp.part import Candidate, Part, PartLimits


@final
@dataclass(frozen=True)
class Spanner:
    """The linear program on a greedy spanner.

    Parameters
    ----------
    dilation
        t, above 1: a larger dilation gives fewer constraints with a smaller epsilon.

    Raises
    ------
    InvalidProblemError
        For a dilation of 1 or less.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> problem = Problem(MetricSpace.grid(4, 4, cell=1, unit="km"), utility_loss="euclidean")
    >>> fast = design(problem, MetricDP(1, unit="km"), method=Spanner(), throw=False)
    >>> best = design(problem, MetricDP(1, unit="km"))
    >>> 1 < fast.upper / best.upper < 1.1
    True
    """

    dilation: Fraction = Fraction(11, 10)

    def __post_init__(self) -> None:
        if not self.dilation > 1:
            raise InvalidProblemError("dilation", "a factor above 1", self.dilation)

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:
        """Build a spanner of the shortest paths of constraints of `part`, and solve the program on it within `limits`.

        Returns
        -------
        Candidate or None
            A matrix, and prices restated for the full epsilon; ``None`` for more than 5120 secrets.

        Raises
        ------
        LimitReachedError, SolverError
            As :meth:`discreet.metricdp.Direct.solve`.

        Complexity
        ----------
        ``O(n^2)`` for each edge of the spanner, and the program: two rows for each edge and report.
        """
        if part.n > DENSE_LIMIT:
            return None
        scale = part.constraints.scale_bits
        space = MetricSpace("any", "matrix", scale, TableLengths(part.paths))
        graph = greedy_spanner(space, self.dilation)
        restricted = replace(part, constraints=graph, epsilon=part.epsilon / self.dilation)
        answer = Direct().solve(restricted, limits)
        prices, rate = answer.multipliers, restricted.rate - part.rate
        if prices is not None:
            # Each price keeps its negative term; those too high for floats are cut.
            lengths = graph.lengths[graph.find(prices.source, prices.target)]
            with np.errstate(over="ignore"):
                value = np.minimum(prices.value * np.exp(rate * lengths), np.finfo(float).max)
            stated = Multipliers(prices.report, prices.source, prices.target, value)
            prices = stated.take(part.constraints.find(prices.source, prices.target) >= 0)
        return replace(
            answer,
            method="spanner",
            multipliers=prices,
            note=f"A spanner of dilation {self.dilation} has {len(graph)} edges. {answer.note}",
            parameters={
                **answer.parameters,
                "dilation": str(self.dilation),
                "edges": len(graph),
            },
        )
