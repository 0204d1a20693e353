"""Numbers for oracles: sixty digits, and what metric privacy means pair by pair. Nothing of the library is imported."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

DIGITS = 60
CLOSE = Decimal("1e-40")
"""Logarithms nearer than this are one: sixty digits are kept."""

EARTH = Decimal("6371.0088")
ROOM = Decimal("1.2e-10")
"""What distances in floats may be above the true ones, of the extent of the points: 1e-10 is what is documented."""


def common() -> Any:
    """Compute with sixty digits, whatever was set before."""
    return localcontext(Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=-(10**8), Emax=10**8))


def number(value: object) -> Fraction:
    """Read a number as files state them: exact text, an integer, or a float by its shortest text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(type(value).__name__)
    text = str(value).strip()
    if len(text) > 5000 or abs(int(text.lower().partition("e")[2] or 0)) > 5000:
        raise ValueError("too long")
    return Fraction(text)


def as_decimal(value: Fraction) -> Decimal:
    """Round to sixty digits."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def seeded(provenance: dict[str, Any]) -> str:
    """Say that something was made with a seed, which is no chance that nobody knows."""
    return "" if provenance["seeded"] is False else "made with a seed"


@cache
def pi() -> Decimal:
    """Compute pi by Machin's formula."""
    return 16 * _small_atan(Decimal(1) / 5) - 4 * _small_atan(Decimal(1) / 239)


def _small_atan(x: Decimal) -> Decimal:
    """Sum the series for a small argument."""
    total, term, n, square = x, x, 1, x * x
    while abs(term) > Decimal(10) ** (-DIGITS - 5):
        term *= -square
        n += 2
        total += term / n
    return total


def atan(x: Decimal) -> Decimal:
    """Halve the argument until the series is quick."""
    halvings = 0
    while abs(x) > Decimal("0.1"):
        x /= 1 + (1 + x * x).sqrt()
        halvings += 1
    return _small_atan(x) * Decimal(2) ** halvings


def sine_cosine(x: Decimal) -> tuple[Decimal, Decimal]:
    """Sum both series; arguments are angles on a globe, and small."""
    sine, cosine, term, n = Decimal(0), Decimal(0), Decimal(1), 0
    while abs(term) > Decimal(10) ** (-DIGITS - 5) or n < 4:
        part = term if n % 4 < 2 else -term
        if n % 2:
            sine += part
        else:
            cosine += part
        n += 1
        term *= x / n
    return sine, cosine


def apart(
    metric: str, unit: str, points: Sequence[Sequence[Fraction]]
) -> tuple[Callable[[int, int], Decimal], Decimal]:
    """Give the distance between two of some points by the definition of a metric, and the room for floats.

    Raises
    ------
    ValueError
        For points that have no such distances.
    """
    exact = [[as_decimal(x) for x in point] for point in points]
    if metric == "euclidean":
        return lambda i, j: _length(exact[i], exact[j]), Decimal(0)
    if metric == "manhattan":
        return lambda i, j: sum(
            (abs(x - y) for x, y in zip(exact[i], exact[j], strict=True)), Decimal(0)
        ), Decimal(0)
    if metric == "haversine":
        if any(len(p) != 2 or abs(p[0]) > 90 or abs(p[1]) > 360 for p in exact):
            raise ValueError("points that are no places on a globe")
        turned = [[sine_cosine(x * pi() / 180) for x in point] for point in exact]
        on = [[cy * cx, sy * cx, sx] for (sx, cx), (sy, cy) in turned]
        radius = EARTH * (1000 if unit == "m" else 1)
        return lambda i, j: radius * _angle(on[i], on[j]), ROOM * radius
    if metric == "angular":
        norms = [_length(p, [Decimal(0)] * len(p)) for p in exact]
        if not all(norms):
            raise ValueError("a direction without length")
        on = [[x / norm for x in p] for p, norm in zip(exact, norms, strict=True)]
        return lambda i, j: _angle(on[i], on[j]), ROOM
    if metric == "hyperbolic":
        depths = [1 - sum((x * x for x in p), Decimal(0)) for p in exact]
        if min(depths) <= 0:
            raise ValueError("a point on the sphere")

        def between(i: int, j: int) -> Decimal:
            t = 2 * _length(exact[i], exact[j]) ** 2 / (depths[i] * depths[j])
            return (1 + t + (t * (t + 2)).sqrt()).ln()

        # Of each distance, not of the extent: the largest one bounds it.
        extent = max(
            (between(i, j) for i, j in combinations(range(len(exact)), 2)), default=Decimal(0)
        )
        return between, ROOM * extent
    raise ValueError("a metric without points")


def _length(p: Sequence[Decimal], q: Sequence[Decimal]) -> Decimal:
    return sum(((x - y) ** 2 for x, y in zip(p, q, strict=True)), Decimal(0)).sqrt()


def _angle(p: Sequence[Decimal], q: Sequence[Decimal]) -> Decimal:
    chord, across = _length(p, q), _length(p, [-x for x in q])
    return pi() if not across else 2 * atan(chord / across)


def broken_pair(
    rows: Sequence[Sequence[int]],
    lengths: dict[tuple[int, int], Decimal],
    epsilon: Fraction,
    pairs: Iterable[tuple[int, int]],
) -> str:
    """Find a pair of secrets of which some report tells more than it may: ``ln(p / q) > epsilon d``.

    Parameters
    ----------
    rows
        Integer weights, any total each.
    lengths
        Distances of pairs, the lesser secret first.
    epsilon
        Per unit of distance.
    pairs
        The pairs that are compared.
    """
    totals, rate = [sum(row) for row in rows], as_decimal(epsilon)
    for i, j in pairs:
        limit, worst, q, p = rate * lengths[i, j], Fraction(1), totals[j], totals[i]
        for x, y in zip(rows[i], rows[j], strict=True):
            if (x == 0) != (y == 0):
                return f"a report is possible from one of {i} and {j} alone"
            if x:
                ratio = Fraction(x * q, y * p)
                worst = max(worst, ratio, 1 / ratio)
        # Floats sort out what is clear.
        if (
            math.log(worst.numerator) - math.log(worst.denominator)
            < float(min(limit, Decimal(10**6))) * (1 - 1e-9) - 1e-9
        ):
            continue
        if as_decimal(worst).ln() > limit + CLOSE:
            return f"a report tells more of {i} and {j} than epsilon times their distance"
    return ""
