"""Numbers as people say them. Whatever states a limit of what can be learned is rounded up, never down."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core import printed
from discreet.core.exact import exp_ceil

if TYPE_CHECKING:
    from discreet.core.guarantee import MetricDP

__all__ = ["distance", "example_distance", "factor", "guesses", "strength"]

_BITS = 40
_LARGEST = 64
"""Nats beyond which a factor says no more than "far apart"."""

_ROUND = tuple(Fraction(m) * Fraction(10) ** e for e in range(-6, 7) for m in (1, 2, 5))


def distance(length: Fraction, unit: str) -> str:
    """Print a distance; kilometers below one are meters.

    Examples
    --------
    >>> distance(Fraction(1, 2), "km"), distance(Fraction(5, 2), "km"), distance(Fraction(1, 2), "edit")
    ('500 m', '2.5 km', '0.5 edit')
    """
    if unit == "km" and length < 1:
        return printed.estimate(length * 1000, unit="m")
    return printed.estimate(length, unit=unit)


def factor(nats: Fraction) -> str:
    """Print ``e^nats`` with three digits, rounded up.

    Examples
    --------
    >>> factor(Fraction(1)), factor(Fraction(5)), factor(Fraction(100))
    ('2.72', '149', 'e^100')
    """
    if nats > _LARGEST:
        return f"e^{printed.decimal_up(nats)}"
    return printed.at_most(Fraction(exp_ceil(nats, _BITS), 1 << _BITS), 3)


def guesses(nats: Fraction) -> str:
    """Print how often in 100 a guess between two equally likely secrets is right at best, rounded up.

    With prior odds of 1 and a likelihood ratio of at most ``e^nats`` whatever is reported, the probability that the
    best guess is right is at most ``e^nats / (1 + e^nats)``.

    Examples
    --------
    >>> guesses(Fraction(0)), guesses(Fraction(1)), guesses(Fraction(4)), guesses(Fraction(30))
    ('50', '74', '99', '100')
    """
    if nats > _LARGEST:
        return "100"
    ratio = Fraction(exp_ceil(nats, _BITS), 1 << _BITS)
    return printed.at_most(100 * ratio / (1 + ratio), 2)


def strength(guarantee: MetricDP, length: Fraction) -> Fraction | None:
    """Give the nats that the guarantee allows between two secrets at a distance, or nothing where it allows all.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP, Scope
    >>> strength(MetricDP(2, "km"), Fraction(1, 2))
    Fraction(1, 1)
    >>> near = MetricDP(2, "km", 1, scope=Scope("0" * 64, 9, Fraction(3)))
    >>> strength(near, Fraction(1)), strength(near, Fraction(2))
    (Fraction(2, 1), Fraction(6, 1))
    """
    if guarantee.radius is None or length <= guarantee.radius:
        return guarantee.epsilon * length
    scope = guarantee.space_scope
    whole = None if scope is None else scope.all_pairs_epsilon
    return None if whole is None else whole * length


def example_distance(guarantee: MetricDP, least: Fraction = Fraction(0)) -> Fraction:
    """Choose a round distance to talk about: near one nat, within the radius, at least as far as some pair is.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> example_distance(MetricDP(2, "km")), example_distance(MetricDP(2, "km", radius="0.3"))
    (Fraction(1, 2), Fraction(1, 5))
    >>> example_distance(MetricDP(2, "km"), least=Fraction(1))
    Fraction(1, 1)
    """
    inside = [
        d for d in _ROUND if least <= d and (guarantee.radius is None or d <= guarantee.radius)
    ]
    if not inside:
        # No round number between the nearest pair and the radius: the bounds themselves are.
        return least if guarantee.radius is None else guarantee.radius
    return min(inside, key=lambda d: abs(math.log(float(d * guarantee.epsilon))))
