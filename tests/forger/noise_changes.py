"""Changes of noise on a lattice that mean something: noise that tells more, other tori, boxes, planes and names."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from forger.exactly import number
from forger.plane_changes import EVERYWHERE
from noises import DECIMETERS, coefficients, limit

if TYPE_CHECKING:
    import random
    from collections.abc import Callable


def _shape(parts: Any, *tables: str) -> tuple[int, int]:
    """Give the torus; one row of what is there where a change before has stated another: nothing walks over that."""
    m, n = parts["torus"]
    there = min(len(parts[name]) for name in tables)
    return (m, n) if min(m, n) > 0 and m * n == there else (1, there)


def _moved(parts: Any, chance: random.Random) -> None:
    """Move a part of an entry to another one, near or far: the sum is kept."""
    flat = parts["noise"]
    i, j = chance.sample(range(len(flat)), 2)
    if chance.random() < 0.4:
        j = (i + 1) % len(flat)
    if chance.random() < 0.3:
        # The entry at zero is the largest, and the tightest.
        i, j = (0, j or 1) if chance.random() < 0.5 else (i or 1, 0)
    parts_of = [1, 2, flat[i], flat[i] // 2, *(flat[i] // 10**power for power in (2, 3, 4, 6, 9))]
    moved = chance.choice(parts_of)
    flat[i], flat[j] = flat[i] - moved, flat[j] + moved


def _entry(parts: Any, chance: random.Random) -> None:
    """Change one entry alone: the sum is off, by one or by much."""
    flat = parts["noise"]
    at = chance.randrange(len(flat))
    flat[at] += chance.choice([1, -1, 2**20, -flat[at], -2 * flat[at], flat[at], 2**55])


def _negative(parts: Any, chance: random.Random) -> None:
    flat = parts["noise"]
    i, j = chance.sample(range(len(flat)), 2)
    less = chance.choice([1, 2**30])
    flat[i], flat[j] = -less, flat[j] + flat[i] + less


def _zeros(parts: Any, chance: random.Random) -> None:
    """Leave noise out: one entry, a row, all but one, or every second one."""
    flat, (m, n) = parts["noise"], _shape(parts, "noise")
    left = chance.randrange(len(flat))
    row = chance.randrange(m)
    out = chance.choice(
        [
            {left},
            {row * n + b for b in range(n)},
            {*range(len(flat))} - {left},
            {a * n + b for a in range(m) for b in range(n) if (a + b) % 2},
        ]
    )
    kept = [at for at in range(len(flat)) if at not in out]
    flat[chance.choice(kept)] += sum(flat[at] for at in out)
    for at in out:
        flat[at] = 0


def _mixed(parts: Any, chance: random.Random) -> None:
    """Make all noise flatter, which is safer, or steeper, which is not."""
    flat, whole = parts["noise"], sum(parts["noise"])
    even, away = whole // len(flat), chance.choice([1, -1, -1])
    share = chance.choice([4, 100, 1000, 10**6, 10**9, 10**12])
    made = [one + away * (even - one) // share for one in flat]
    made[chance.choice([0, chance.randrange(len(flat))])] += whole - sum(made)
    parts["noise"] = made


def _power(parts: Any, chance: random.Random) -> None:
    """Take a power of all noise: another epsilon."""
    flat, whole = parts["noise"], sum(parts["noise"])
    power = chance.choice([0.5, 0.9, 0.999, 1.001, 1.1, 2, 5])
    made = [(max(one, 0) / whole) ** power for one in flat]
    made = [int(one / sum(made) * whole) for one in made]
    made[0] += whole - sum(made)
    parts["noise"] = made


def _turned(parts: Any, chance: random.Random) -> None:
    """Turn the noise or the names around the torus, or reverse it: the same promise."""
    name = chance.choice(["noise", "noise", "names"])
    m, n = _shape(parts, name)
    a, b, flat = chance.randrange(m), chance.randrange(n), parts[name]
    made = [flat[(i + a) % m * n + (j + b) % n] for i in range(m) for j in range(n)]
    parts[name] = chance.choice([made, made[::-1]])


def _transposed(parts: Any, chance: random.Random) -> None:
    """Exchange the lengths of the torus, and sometimes the tables with them; or others of one product."""
    (m, n), shape = _shape(parts, "noise", "names"), chance.randrange(3)
    if shape == 2:
        sides = [d for d in range(1, m * n + 1) if m * n % d == 0]
        side = chance.choice(sides)
        parts["torus"] = [side, m * n // side]
        return
    parts["torus"] = [n, m]
    if shape:
        for name in ("noise", "names"):
            flat = parts[name]
            parts[name] = [flat[a * n + b] for b in range(n) for a in range(m)]


def _narrow(parts: Any, chance: random.Random) -> None:
    """Leave a row or a column of the torus out, or take one twice; what is left sums to the same."""
    (m, n), axis = _shape(parts, "noise", "names"), chance.randrange(2)
    at = chance.randrange([m, n][axis])
    times = chance.choice([0, 0, 2])
    whole = sum(parts["noise"])
    for name in ("noise", "names"):
        flat = parts[name]
        parts[name] = [
            flat[a * n + b]
            for a in range(m)
            for _ in range(times if axis == 0 and a == at else 1)
            for b in range(n)
            for _ in range(times if axis == 1 and b == at else 1)
        ]
    parts["torus"][axis] += times - 1
    noise = parts["noise"]
    if not noise:
        return
    more = whole - sum(noise)
    if chance.random() < 0.5 and sum(noise) > 0:
        noise[:] = [one * whole // sum(noise) for one in noise]
        more = whole - sum(noise)
    noise[chance.randrange(len(noise))] += more


def _torus(parts: Any, chance: random.Random) -> None:
    at = chance.randrange(2)
    parts["torus"][at] += chance.choice([1, -1, -2, 2**11, 2**22, -parts["torus"][at]])


def _cells(parts: Any, chance: random.Random) -> None:
    at = chance.randrange(2)
    parts["cells"][at] += chance.choice([1, -1, 2, 10, 2**20, 2**40, -parts["cells"][at]])


def _box(parts: Any, chance: random.Random) -> None:
    """Move the box: which changes distances on a sphere."""
    away = chance.choice([1, -1, 10_000, 10**6, -(10**7), 10**8, 2**29, 2**30, -(2**30), 2**62])
    parts["low"][chance.randrange(2)] += away


def _side(parts: Any, chance: random.Random) -> None:
    now = parts["side"]
    larger = [now + 1, now * 2, now * 1001 // 1000, now * 100, 2**29, 2**30, 2**100]
    parts["side"] = chance.choice([*larger, now - 1, now // 2, 1, 0, -now])


def _limit(parts: Any, chance: random.Random) -> None:
    """Claim what the steepest node allows, or a little more or less: to some digits."""
    flat, torus = parts["noise"], _shape(parts, "noise")
    digits = chance.choice([3, 6, 12, 20, 40])
    rate = limit(flat, torus, digits) + Fraction(chance.choice([-1, 0, 1, 1, 2]), 10**digits)
    epsilon = rate * DECIMETERS[parts["unit"]] / parts["side"]
    parts["guarantee"]["epsilon"] = str(epsilon)


def _beyond(parts: Any, chance: random.Random) -> None:
    """Claim so little, over such long sides, that no float holds how much a cell allows."""
    parts["cells"], parts["low"] = [1, 1], [1 - 2**30, 1 - 2**30]
    parts["side"] = chance.choice([2**31 - 2, 2**31 - 1, 2**30, 1])
    epsilon = chance.choice([Fraction(10**300), Fraction(10**297), Fraction(1, 10**300)])
    parts["guarantee"]["epsilon"] = str(epsilon)


def _tight(parts: Any, chance: random.Random) -> None:
    """Raise an entry to where a node of it is at its limit, by halving, and sometimes one more."""
    flat, torus = parts["noise"], _shape(parts, "noise")
    rate = number(parts["guarantee"]["epsilon"]) * parts["side"] / DECIMETERS[parts["unit"]]
    i, j = chance.sample(range(len(flat)), 2)

    def holds(moved: int) -> bool:
        made = list(flat)
        made[i], made[j] = made[i] + moved, made[j] - moved
        return made[j] >= 0 and all(
            x * x + y * y <= (rate * value) ** 2 for value, x, y in coefficients(made, torus)
        )

    low, high = 0, flat[j] + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    moved = low + chance.choice([0, 0, 1, 2, 1000])
    flat[i], flat[j] = flat[i] + moved, flat[j] - moved


def _names(parts: Any, chance: random.Random) -> None:
    """Rename nodes: any names keep the promise, but none that there is not."""
    names, k = parts["names"], len(parts["shown"])
    i, j = chance.sample(range(len(names)), 2)
    which = chance.randrange(6)
    if which == 0:
        names[i] = chance.choice([k, -1, k + 1, 2**40, -(2**40)])
    elif which == 1:
        names[i], names[j] = names[j], names[i]
    elif which == 2:
        names[:] = [names[i]] * len(names)
    elif which == 3:
        names[:] = [chance.randrange(k) for _ in names]
    else:
        del names[i : i + which - 3]


def _reports(parts: Any, chance: random.Random) -> None:
    """Leave a report out, add one that no node has, or tell two alike."""
    k, which = len(parts["shown"]), chance.randrange(4)
    i, j = chance.sample(range(k), 2)
    if which == 0:
        parts["shown"][i] = parts["shown"][j]
    elif which == 1:
        parts["shown"].append(["0.25", "7"])
        parts["reports"] += [3, 4]
    else:
        del parts["shown"][i], parts["reports"][2 * i : 2 * i + 2]
        if which == 2:
            parts["names"] = [one - (one > i) if one != i else 0 for one in parts["names"]]


def _bits(parts: Any, chance: random.Random) -> None:
    up = chance.choice([1, 2, 5, 6, 23, -1, -8])
    parts["bits"] += up
    if chance.random() < 0.8:
        made = [int(one * Fraction(2) ** up) for one in parts["noise"]]
        made[0] += 2 ** parts["bits"] - sum(made) if chance.random() < 0.7 else 0
        parts["noise"] = made


NOISE: dict[str, Callable[[Any, random.Random], object]] = {
    "noise moved": _moved,
    "an entry alone": _entry,
    "negative noise": _negative,
    "noise that cannot be": _zeros,
    "noise mixed": _mixed,
    "a power of the noise": _power,
    "turned around the torus": _turned,
    "a transposed torus": _transposed,
    "a row of the torus": _narrow,
    "another torus": _torus,
    "other cells": _cells,
    "another box": _box,
    "another side": _side,
    "a claim at its limit": _limit,
    "a claim beyond floats": _beyond,
    "noise at its limit": _tight,
    "other names": _names,
    "other reports": _reports,
    "other bits": _bits,
    **EVERYWHERE,
}
"""By name; which hashes are sealed anew is for the writer."""
