r"""Border attacks: guesses between two *points* that are close to each other.

A promise about places says nothing of points that are snapped to two of them. An attacker who may choose where borders
lie needs no luck: a server publishes one region after another, and each tells on which side of its border a user is.
Three attacks, all against laws that are known exactly:

*Straddling.* Two points a meter apart, on the two sides of a border; the attacker sees one report and says which.

*Decimals.* The same with points that differ in the ninth decimal: what is rounded on the way to the mechanism shows
here.

*Republished regions.* Regions of two places that are far apart, each with its border between the same two points; the
attacker sees one report from each. And bisecting: each next region has its border in the middle of the remaining
interval.

A mechanism that keeps :math:`z_k(x) \le e^{\epsilon d} z_k(y)` for points x and y at distance d limits every one of
them: with n reports nobody is right more often than :math:`e^{n \epsilon d} / (1 + e^{n \epsilon d})` about two points
that are equally likely.
"""

from __future__ import annotations

import math
from decimal import Context, Inexact
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from discreet.core.printed import estimate
from discreet.evaluate.attack.finding import Finding
from discreet.evaluate.intervals import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    Law = Callable[[tuple[str, str]], Sequence[Fraction]]

_MEASURE = "which of two points"
_HALF = Estimate.computed(0.5)


class Straddle(NamedTuple):
    """Two points on two sides of a border.

    Parameters
    ----------
    first, second
        Coordinates as decimal texts.
    distance
        In the unit of the guarantee.
    """

    first: tuple[str, str]
    second: tuple[str, str]
    distance: Fraction


def exact_decimal(value: Fraction) -> str:
    """Write a number as a decimal of up to 50 digits, exactly; one without an end raises ``decimal.Inexact``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> exact_decimal(Fraction(-3, 8))
    '-0.375'
    """
    digits = Context(prec=50, traps=[Inexact])
    parts = (digits.create_decimal(part) for part in value.as_integer_ratio())
    return str(digits.divide(*parts))


def told_apart(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """Return the probability that the best guess between two points by one report is right, if both are equally likely.

    It is half of 1 plus the total variation.

    `one` and `other` are the probabilities of all reports at the two points, in the same order; exact, linear.

    Examples
    --------
    >>> from fractions import Fraction
    >>> told_apart([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 2), Fraction(1, 2)])
    Fraction(5, 8)
    """
    return sum((max(p, q) for p, q in zip(one, other, strict=True)), start=one[0] * 0) / 2


def attack_straddling(
    law: Law, straddles: Sequence[Straddle], epsilon: Fraction, *, attack: str
) -> Finding:
    """Attack pairs of points across borders by one report; the finding is that of the worst pair.

    Two evaluations of the law for each pair; at least one pair.

    Parameters
    ----------
    law
        What a point reports: the probabilities of all reports.
    straddles
        Pairs of points; the attacker chooses the pair, since the mechanism is public.
    epsilon
        What is promised between points, per unit.
    attack
        What to call it.

    Returns
    -------
    Finding
        Of the pair that comes farthest beyond its limit. The limit is that of the promise between points.
    """
    successes = [(told_apart(law(one.first), law(one.second)), one) for one in straddles]
    right, worst = max(successes, key=lambda one: one[0] - _allowed(epsilon, one[1].distance, 1))
    return Finding(
        attack,
        _MEASURE,
        Estimate.computed(float(right)),
        _HALF,
        limit=_allowed(epsilon, worst.distance, 1),
        note=f"{attack}: {len(straddles)} pairs of points, {estimate(worst.distance, 3)} apart the worst",
    )


def attack_republished(laws: Sequence[Law], straddle: Straddle, epsilon: Fraction) -> Finding:
    """Attack a pair of points by one report from each of several regions, published one after the other.

    Parameters
    ----------
    laws
        Of the mechanisms, each with few reports.
    straddle
        The two points.
    epsilon
        What each mechanism promises between points, per unit.

    Returns
    -------
    Finding
        The limit is that of so many reports.

    Complexity
    ----------
    All combinations of reports: two for each of ten regions are 1,024.
    """
    both = [
        [[float(p) for p in law(point)] for law in laws]
        for point in (straddle.first, straddle.second)
    ]
    right = sum(
        max(math.prod(drawn) for drawn in zip(*pairs, strict=True))
        for pairs in product(
            *(list(zip(one, other, strict=True)) for one, other in zip(*both, strict=True))
        )
    )
    return Finding(
        f"{len(laws)} republished regions",
        _MEASURE,
        Estimate.computed(right / 2),
        _HALF,
        limit=_allowed(epsilon, straddle.distance, len(laws)),
        note=f"the two points are {estimate(straddle.distance, 3)} apart; each region has its border between them",
    )


def attack_bisecting(
    publish: Callable[[Fraction], Law],
    length: Fraction,
    users: Sequence[Fraction],
    rounds: int = 14,
    *,
    min_probability: float = 1e-6,
) -> Finding:
    """Follow users on a line by regions of two places, each with its border in the middle of the remaining interval.

    Up to ``2^rounds`` regions for each user; branches below `min_probability` are cut off.

    Parameters
    ----------
    publish
        Gives the law of a region whose border is at a point of the line; report 0 is the side before it.
    length
        Of the line.
    users
        Where they are, spread evenly over the line.
    rounds
        Number of regions that are published one after the other.
    min_probability
        Probability up to which an answer is not followed: it changes the mean by less than that share.

    Returns
    -------
    Finding
        The expected distance between a user and the middle of the remaining interval, over all reports. It has no
        limit: what a promise says of it depends on the prior.
    """

    def error(user: Fraction, low: Fraction, high: Fraction, left: int) -> float:
        """Return the expected distance from the middle of the remaining interval, over both answers."""
        middle = (low + high) / 2
        if not left:
            return abs(float(user - middle))
        before = publish(middle)((exact_decimal(user), "0"))[0]
        answers = ((before, (low, middle)), (1 - before, (middle, high)))
        return math.fsum(
            float(p) * error(user, *ends, left - 1) for p, ends in answers if p > min_probability
        )

    errors = [error(user, length * 0, length, rounds) for user in users]
    return Finding(
        f"bisecting by {rounds} regions",
        "distance, in the unit",
        Estimate.computed(sum(errors) / len(errors)),
        Estimate.computed(float(length) / 4),
        error=True,
    )


def _allowed(epsilon: Fraction, distance: Fraction, reports: int) -> float:
    """Return the success against two points that epsilon allows: e^(n eps d) / (1 + e^(n eps d)) by n reports."""
    return 1 / (1 + math.exp(-float(reports * epsilon * distance)))
