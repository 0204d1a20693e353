"""Designs made by hand, for reports: no solver, and names that would be markup if nobody escaped them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.channels.channel import Channel
from discreet.core.guarantee import MetricDP, Scope
from discreet.core.outcome import Design, Provenance, PublicInput
from discreet.core.spaces.metric import MetricSpace
from discreet.core.verified import mark_verified
from discreet.metricdp.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.bounds.bound import Multipliers

MARKUP = "<script>alert('&')</script>"


def exponential(space: MetricSpace, epsilon: float) -> Channel:
    """Round the exponential mechanism to integers, anyhow: these designs are looked at, not relied on."""
    distances = np.ldexp(space.distances.astype(np.float64), -space.scale_bits)
    rows = []
    for chance in np.exp(-epsilon / 2 * distances):
        weights = [int(share * 2**62) for share in (chance / chance.sum()).tolist()]
        weights[int(np.argmax(chance))] += 2**62 - sum(weights)
        rows.append(weights)
    return Channel.from_weights(rows)


def design_on(
    space: MetricSpace,
    *,
    radius: int | None = None,
    whole: Fraction | None = Fraction(5, 2),
    components: int = 1,
    isolated: tuple[int, ...] = (),
    joined: int = 0,
    lower: float | None = 0.5,
    passed: bool = True,
    seeded: bool = False,
    prior: NDArray[np.float64] | None = None,
    utility_loss: NDArray[np.float64] | str = "distance",
) -> Design[Problem, Multipliers]:
    """Make a design on a space, at epsilon 2."""
    problem = Problem(space, utility_loss=utility_loss, prior=prior)
    channel = exponential(space, 2.0)
    scope = Scope(space.digest, space.n, whole, components, isolated, joined)
    upper = channel.expected_loss(problem.cost)
    made: Design[Problem, Multipliers] = Design(
        channel=channel,
        guarantee=MetricDP(2, space.unit, radius, scope=scope),
        certificate=Certificate(
            (
                Check("inequalities violated", 0, 0, exact=True, detail="81 inequalities"),
                Check("weights lost", 0 if passed else 271828, 0, exact=True, detail=MARKUP),
                Check("excess in nats", Fraction(-1, 3), 0, exact=False),
            )
        ),
        lower=None if lower is None else lower * upper,
        upper=upper,
        provenance=Provenance(
            "by hand",
            {"delta": "1/1000000", "theta": "3/1024", "limbs": 1},
            (*problem.assumed_public(), PublicInput(MARKUP, "ab" * 32, MARKUP)),
            ("Nothing was solved.", MARKUP),
            seeded=seeded,
        ),
        problem=problem,
    )
    # Made by hand: what its certificate says is what pages are tested with.
    return mark_verified(made)


def line(n: int = 4) -> MetricSpace:
    """Give a row of cells, one kilometer each."""
    return MetricSpace.grid(1, n, cell=1, unit="km")
