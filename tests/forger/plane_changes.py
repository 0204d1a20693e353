"""Changes of what every form of a mechanism for every point states: its claim, its plane and its region."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from forger.exactly import number

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

FACTORS = (
    *("1/1000", "1/2", "9/10", "999999/1000000", "1000001/1000000", "11/10", "2", "1000"),
    *("999999999999/1000000000000", "999999999999999999/1000000000000000000"),
)


def _times(text: object, chance: random.Random) -> str:
    return str(number(str(text)) * Fraction(chance.choice(FACTORS)))


def _claim(parts: Any, chance: random.Random) -> None:
    parts["guarantee"]["epsilon"] = _times(parts["guarantee"]["epsilon"], chance)


def _reach(parts: Any, chance: random.Random) -> None:
    now = parts["reach"]
    parts["reach"] = chance.choice([0, 1, now + 1, now * 100, now * 1000, 2**29, 2**30, -1])


def _plane(parts: Any, chance: random.Random) -> None:
    name = chance.choice(["east", "north"])
    now = parts[name]
    parts[name] = chance.choice(
        [now + 1, now - 1, now * 2, now // 2, now + now // 10**5, now + now // 10**9, 0, -now]
    )


def _origin(parts: Any, chance: random.Random) -> None:
    parts["origin"] = chance.choice(
        [None, ["0", "0"], ["41.9", "12.46"], ["41.88", "200.5"], ["60", "0"], ["-41.88", "179.99"]]
    )
    if parts["origin"] is None and chance.random() < 0.7:
        parts["east"] = parts["north"] = {"km": 10_000, "m": 10}[parts["unit"]] << 20


def _unit(parts: Any, chance: random.Random) -> None:
    """Exchange the unit in all places; epsilon stays the same number."""
    parts["unit"] = parts["guarantee"]["unit"] = {"km": "m", "m": "km"}[parts["unit"]]
    if parts["origin"] is None and chance.random() < 0.8:
        parts["east"] = parts["north"] = {"km": 10_000, "m": 10}[parts["unit"]] << 20


def _scope(parts: Any, chance: random.Random) -> None:
    digest = parts["guarantee"]["scope"]["region"]
    parts["guarantee"]["scope"]["region"] = chance.choice(
        [digest[::-1], "0" * 64, digest.upper(), digest[:63], digest + " "]
    )


EVERYWHERE: dict[str, Callable[[Any, random.Random], object]] = {
    "a stronger claim": _claim,
    "another reach": _reach,
    "another plane": _plane,
    "another origin": _origin,
    "another unit": _unit,
    "another scope": _scope,
}
"""Of both forms."""
