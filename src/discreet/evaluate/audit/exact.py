"""The exact audit: laws by replaying the production code over every draw, then events that only arithmetic judges."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.exact import exp_floor
from discreet.core.guarantee import ApproxDP, MetricDP, PureDP, ZeroConcentratedDP
from discreet.core.randomness.replay import Law, enumerate_law
from discreet.evaluate.audit.claims import ORDERS, nats_floor, strength

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from discreet.core.randomness.bits import RandomBits
    from discreet.evaluate.audit.claims import Auditable

_TERM_UNITS = 1 << 256
"""Units per 1 to which terms of a divergence are rounded down, so that their sum stays short."""
MAX_NAMED_OUTCOMES = 5
"""Outcomes of an event that are named in words, at most: more make the sentence longer than a line."""


@final
@dataclass(frozen=True)
class Shown:
    """An event, with the bound that follows from it.

    Parameters
    ----------
    strength
        Lower bound on the claim's parameter; -1 where it is infinite.
    event
        The event in words.
    least, most
        Its chance is at least the one on the first of two inputs and at most the other on the second.
    forward
        Whether the first input is the first of the pair.
    """

    strength: Fraction
    event: str
    least: float
    most: float
    forward: bool

    @property
    def rank(self) -> tuple[bool, Fraction]:
        """Order by strength, infinite ones last."""
        return self.strength < 0, self.strength


def law_of(
    run: Callable[[Any, RandomBits], object], data: object, max_runs: int, min_mass: Fraction
) -> Law:
    """Return the law of ``run(data, bits)``; function and result pickle, so that a worker process can run it.

    At most `max_runs` replays, likeliest first; a path of draws with mass below `min_mass` counts as unexplored.
    """
    law = enumerate_law(lambda bits: run(data, bits), max_runs=max_runs, min_mass=min_mass)
    return Law(dict(law.masses), law.unexplored, law.runs)


def compare_laws(first: Law, second: Law, claim: Auditable, distance: Fraction | None) -> Shown:
    """Return the event with the largest proved strength, in both directions; see :func:`_best_event`.

    `distance` between the inputs is for metric claims, else ``None``. ``Shown.forward`` tells which direction it was.
    """
    events = [
        _best_event(one, other, claim, distance, forward=forward)
        for one, other, forward in ((first, second, True), (second, first, False))
    ]
    return max(events, key=lambda shown: shown.rank)


def proved_delta(
    first: Law, second: Law, claim: Auditable, distance: Fraction | None, *, bits: int = 192
) -> Fraction:
    r"""Return an upper bound on the delta for which the claim's epsilon is proved for these two laws, both ways.

    Where it is 0, pure privacy is proved; the unexplored mass counts in full. For zero-concentrated claims, 1.
    `bits` are the fractional bits of the exponential, which is rounded down.
    """
    if isinstance(claim, ZeroConcentratedDP):
        return Fraction(1)
    nats = claim.epsilon * distance if isinstance(claim, MetricDP) and distance else claim.epsilon
    factor = Fraction(exp_floor(nats, bits), 1 << bits)
    worst = Fraction(0)
    for one, other in ((first, second), (second, first)):
        over = (mass - factor * other.bounds(o)[0] for o, mass in one.masses.items())
        worst = max(worst, sum((x for x in over if x > 0), one.unexplored))
    return worst


def _best_event(
    one: Law, other: Law, claim: Auditable, distance: Fraction | None, *, forward: bool
) -> Shown:
    """Return the event with the largest proved strength of two laws, among beginnings of the order by ratio.

    There is the best event of a linear-fractional bound. `distance` is for metric claims; `forward` is kept for the
    text. For zero-concentrated claims the divergence of the whole laws counts, too. A sort of the outcomes, then
    exact sums.
    """
    outcomes = list(one.masses)
    p = np.array([float(one.masses[o]) for o in outcomes])
    q = np.array([float(other.masses.get(o, Fraction(0))) for o in outcomes])
    with np.errstate(divide="ignore"):
        order = np.argsort(-np.where(q > 0, p / q, np.inf), kind="stable")
    free = float(other.unexplored)
    best = Shown(Fraction(0), "none", 0.0, 1.0, forward)
    for stop in _promising(p[order], q[order], free, claim):
        chosen = [outcomes[i] for i in order[:stop]]
        least = sum((one.masses[o] for o in chosen), Fraction(0))
        most = sum((other.masses.get(o, Fraction(0)) for o in chosen), other.unexplored)
        shown = strength(claim, least, min(most, Fraction(1)), distance)
        made = Shown(shown, _words(chosen), float(least), float(most), forward)
        best = max(best, made, key=lambda entry: entry.rank)
    if isinstance(claim, ZeroConcentratedDP):
        rho = _divergence(one, other)
        if best.strength >= 0 and rho > best.strength:
            best = Shown(rho, "the divergence of the whole laws", 1.0, 1.0, forward)
    return best


def _promising(p: Any, q: Any, free: float, claim: Auditable) -> list[int]:  # noqa: ANN401 - arrays of floats
    """Return numbers of outcomes, rising, whose event is to be evaluated exactly; they are chosen in floats.

    `p` and `q` are masses in descending order of ratio, `free` the unexplored mass of the second law.

    A single cut, but for zero-concentrated claims up to 17.
    """
    if not len(p):
        return []
    slack = float(claim.delta) if isinstance(claim, ApproxDP) else 0.0
    gain = np.cumsum(p) - slack
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(gain > 0, gain / (np.cumsum(q) + free), 0.0)
    cuts = {int(np.argmax(ratio)) + 1}
    if isinstance(claim, ZeroConcentratedDP):
        # Coins of any bias may serve: look at a few cuts besides.
        cuts |= {int(c) + 1 for c in np.linspace(0, len(p) - 1, 16)}
    return sorted(cuts)


def _divergence(one: Law, other: Law) -> Fraction:
    """Return a lower bound on rho by the Rényi divergences of the whole laws.

    Outcomes may each have the unexplored mass. Linear in the outcomes, for each order.
    """
    pairs = [(mass, other.bounds(o)[1]) for o, mass in one.masses.items() if other.bounds(o)[1] > 0]
    best = Fraction(0)
    for order in ORDERS[1:]:
        power = sum(int(p**order / q ** (order - 1) * _TERM_UNITS) for p, q in pairs)
        if power > _TERM_UNITS:
            best = max(best, nats_floor(Fraction(power, _TERM_UNITS)) / (order - 1) / order)
    return best


def _words(chosen: list[Hashable]) -> str:
    """Return a set of outcomes in words, the first few by name."""
    named = ", ".join(repr(outcome) for outcome in chosen[:MAX_NAMED_OUTCOMES])
    if len(chosen) == 1:
        return f"the outcome {named}"
    more = "" if len(chosen) <= MAX_NAMED_OUTCOMES else ", ..."
    return f"one of {len(chosen)} outcomes: {named}{more}"


def claimed_parameter(claim: Auditable) -> tuple[str, Fraction]:
    """Return the name of the parameter that an audit bounds, and its claimed value."""
    if isinstance(claim, PureDP | ApproxDP | MetricDP):
        return "epsilon", claim.epsilon
    return "rho", claim.rho
