"""Columns that are free within some steps of their place and fall off beyond: one program makes all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.candidates import (
    LARGEST,
    SHARE,
    Made,
    column_rate,
    least_weight,
    need_problem,
)
from discreet.metricdp.anchored import alternate, round_answer
from discreet.metricdp.part import WholeProblem

if TYPE_CHECKING:
    from discreet.core.guarantee import MetricDP
    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp import Problem
    from discreet.metricdp.part import PartLimits


@final
@dataclass(frozen=True)
class Balls:
    """The anchored program with a ball around each place.

    Parameters
    ----------
    steps
        Radius of the balls, in typical distances between neighbors.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region, design
    >>> region = Region.from_grid(4, 4, cell="0.5", unit="km")
    >>> made = design(region, MetricDP(2, "km"), method=Balls(1.5), scope="places")
    >>> made.provenance.parameters["radius"]
    1.5
    """

    steps: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.steps < math.inf:
            raise InvalidProblemError("steps", "a positive radius", self.steps)

    def propose(
        self,
        space: MetricSpace,
        problem: Problem | None,
        guarantee: MetricDP,
        limits: PartLimits,
    ) -> Made | None:
        """Solve the program of balls and tails, and round its answer to integers; not verified yet, never ``None``.

        The cost is that of :func:`~discreet.metricdp.anchored.alternate`, within `limits`.

        `space` has the places, `guarantee` the epsilon; `problem` the cost of each report at each place.

        Raises
        ------
        InvalidProblemError
            Without a problem.
        """
        stated, rate = need_problem(problem, "balls"), column_rate(guarantee)
        part = WholeProblem(stated, space.adjacency(), rate).parts[0]
        answer = alternate(part, radius=self.steps, seconds=limits.seconds)
        lift = least_weight(space, guarantee, rate)
        channel = round_answer(stated, rate, answer, lift, part.rate, largest_weight=LARGEST - lift)
        facts = {"radius": self.steps, "iterations": answer.iterations}
        return Made("anchored", channel, SHARE, facts)


def two_steps() -> Balls:
    """Return the method with balls of two steps.

    Examples
    --------
    >>> two_steps()
    Balls(steps=2.0)
    """
    return Balls(2.0)


def three_steps() -> Balls:
    """Return the method with balls of three steps.

    Examples
    --------
    >>> three_steps()
    Balls(steps=3.0)
    """
    return Balls(3.0)
