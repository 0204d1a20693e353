"""Numbers in words. A limit of an attacker's success is rounded up, never down."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.core import printed
from discreet.core.exact import exp_above, root_above
from discreet.core.guarantee import ApproxDP, ZeroConcentratedDP, cautions
from discreet.core.statements import state

if TYPE_CHECKING:
    from discreet.core.guarantee import DPGuarantee, MetricDP

_LARGEST = Fraction(64)
"""Nats beyond which a factor says no more than "far apart"."""

_ROUND = tuple(Fraction(m) * Fraction(10) ** e for e in range(-6, 7) for m in (1, 2, 5))


def distance(length: Fraction, unit: str) -> str:
    """Print a distance; kilometers below one are meters.

    `unit` is printed as it is. Rounded to the nearest, for reading only.

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

    `nats` is 0 or more; beyond 64 the power itself is printed.

    Examples
    --------
    >>> factor(Fraction(1)), factor(Fraction(5)), factor(Fraction(100))
    ('2.72', '149', 'e^100')
    """
    if nats > _LARGEST:
        return f"e^{printed.decimal_up(nats)}"
    return printed.at_most(exp_above(nats), 3)


def guesses(nats: Fraction) -> str:
    """Print how often in 100 a guess between two equally likely secrets is right at best, rounded up.

    With prior odds of 1 and a likelihood ratio of at most ``e^nats`` whatever is reported, the probability that the
    best guess is right is at most ``e^nats / (1 + e^nats)``.

    `nats` is 0 or more; beyond 64 it is 100. Whole numbers up to 99, then a tenth.

    Examples
    --------
    >>> guesses(Fraction(0)), guesses(Fraction(1)), guesses(Fraction(4)), guesses(Fraction(5)), guesses(Fraction(30))
    ('50', '74', '99', '99.4', '100')
    """
    return _times(_right(nats))


def _right(nats: Fraction, delta: Fraction = Fraction(0)) -> Fraction:
    """Return an upper bound of ``(e^nats + delta) / (1 + e^nats)`` for `nats` and `delta` of 0 or more.

    The bound is 1 beyond 64 nats.
    """
    ratio = exp_above(min(nats, _LARGEST))
    return Fraction(1) if nats > _LARGEST else (ratio + delta) / (1 + ratio)


def _times(right: Fraction) -> str:
    """Print a probability as times in 100, rounded up, with a tenth above 99."""
    hundredths = math.ceil(100 * right)
    return printed.count(hundredths) if hundredths <= 99 else printed.at_most(100 * right, 3)


def guess_about_a_person(guarantee: DPGuarantee) -> str:
    """State how often in 100, rounded up, a guess about one person is right at best, of two equally likely answers.

    The question follows from the neighbors of the guarantee; for rho the bound on total variation is used.

    Examples
    --------
    >>> from discreet.core.guarantee import PureDP
    >>> "at most 74 times in 100 about which of two people" in guess_about_a_person(PureDP(1, "replace-person"))
    True
    >>> "at most 73 times in 100" in guess_about_a_person(ZeroConcentratedDP("0.4", "add-remove-one"))
    True
    """
    if isinstance(guarantee, ZeroConcentratedDP):
        # The total variation is at most the square root of rho / 2 and that of 1 - e^-rho.
        rho = min(guarantee.rho, _LARGEST)
        least = min(rho / 2, 1 - 1 / exp_above(rho))
        right = (1 + min(root_above(least), Fraction(1))) / 2
    else:
        right = _right(guarantee.epsilon, getattr(guarantee, "delta", Fraction(0)))
    question = _QUESTIONS[guarantee.neighbors]
    return state("guess about a person", times=_times(right), question=question)


_QUESTIONS = {
    "add-remove-one": "whether one person is in the data",
    "add-remove-person": "whether one person is in the data",
    "replace-one": "whether one person's record is this or that",
    "replace-person": "which of two people is in the data",
}


def promise_about_a_person(guarantee: Any) -> dict[str, Any]:  # noqa: ANN401 - a DPGuarantee, of a release of any result
    """Return the sentences on a guarantee.

    Keys: ``guess`` (about one person), ``guarantee`` and ``group`` (about five), texts, and ``cautions``, a list of
    texts.
    """
    return {
        "guess": guess_about_a_person(guarantee),
        "cautions": cautions(guarantee),
        "guarantee": sentence(guarantee),
        "group": _promise_about_five(guarantee),
    }


def _promise_about_five(guarantee: DPGuarantee) -> str:
    """State the guarantee for five people together: 5 epsilon, 25 rho, or with delta that of the group, rounded up."""
    if isinstance(guarantee, ZeroConcentratedDP):
        return state("five people", name="rho", times=25)
    if not isinstance(guarantee, ApproxDP):
        return state("five people", name="epsilon", times=5)
    steps = (min(step * guarantee.epsilon, _LARGEST) for step in range(5))
    delta = guarantee.delta * sum(map(exp_above, steps))
    text = printed.at_most(min(delta, Fraction(1)), 3)
    nothing = ", which promises nothing" if delta >= 1 else ""
    return state("five people with delta", delta=text, nothing=nothing)


def sentence(claim: object) -> str:
    """Print a claim with a capital letter and a full stop.

    Examples
    --------
    >>> sentence("no one")
    'No one.'
    """
    text = str(claim)
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def strength(guarantee: MetricDP, length: Fraction) -> Fraction | None:
    """Return the nats that the guarantee allows between two secrets at a distance, or ``None`` if it has no limit.

    `length` is in the unit of the guarantee; beyond its radius the epsilon for all pairs counts, if there is one.

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
    all_pairs = None if scope is None else scope.all_pairs_epsilon
    return None if all_pairs is None else all_pairs * length


def example_distance(guarantee: MetricDP, least: Fraction = Fraction(0)) -> Fraction:
    """Choose a round distance near one nat, within the radius and not below the least distance of a pair.

    Exact, in the unit of the guarantee: 1, 2 or 5 times a power of ten, if one fits.

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
