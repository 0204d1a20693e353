"""Changes of mechanisms for every point that mean something: meshes that do not fit, rows that tell more, planes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from forger.exactly import number

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["EVERYWHERE", "POINTS"]

FACTORS = (
    *("1/1000", "1/2", "9/10", "999999/1000000", "1000001/1000000", "11/10", "2", "1000"),
    *("999999999999/1000000000000", "999999999999999999/1000000000000000000"),
)


def _times(text: object, chance: random.Random) -> str:
    return str(number(str(text)) * Fraction(chance.choice(FACTORS)))


def _claim(parts: Any, chance: random.Random) -> None:
    parts["guarantee"]["epsilon"] = _times(parts["guarantee"]["epsilon"], chance)


def _vertex(parts: Any, chance: random.Random) -> None:
    flat = parts["vertices"]
    at = chance.randrange(len(flat))
    steps = [1, -1, 10, -10, 1000, -1000, -flat[at], flat[at], 2**20, 2**29]
    flat[at] += chance.choice(steps)


def _exchanged(parts: Any, chance: random.Random) -> None:
    """Exchange two vertices, their rows or both."""
    flat, k = parts["vertices"], len(parts["shown"])
    i, j = chance.sample(range(len(flat) // 2), 2)
    which = chance.choice(["places", "rows", "both"])
    for name, wide in (("vertices", 2), ("weights", k)):
        if which == "both" or (which == "places") == (name == "vertices"):
            values = parts[name]
            one, other = slice(i * wide, i * wide + wide), slice(j * wide, j * wide + wide)
            values[one], values[other] = values[other], values[one]


def _triangle(parts: Any, chance: random.Random) -> None:
    """Turn a triangle over or around, leave it out, take it twice, or give it another corner."""
    flat = parts["triangles"]
    at = 3 * chance.randrange(len(flat) // 3)
    a, b, c = flat[at : at + 3]
    n = len(parts["vertices"]) // 2
    flat[at : at + 3] = chance.choice(
        [[b, a, c], [b, c, a], [], [a, b, c] * 2, [a, b, chance.randrange(n)], [a, b, b]]
    )


def _added(parts: Any, x: int, y: int, row: list[int]) -> int:
    parts["vertices"] += [x, y]
    parts["weights"] += row
    return len(parts["vertices"]) // 2 - 1


def _row(parts: Any, vertex: int) -> list[int]:
    k = len(parts["shown"])
    return list(parts["weights"][vertex * k : vertex * k + k])


def _between(parts: Any, corners: list[int], chance: random.Random) -> list[int]:
    """Give the row between some, rounded to the same sum; sometimes a little is moved, or one of them is taken."""
    rows = [_row(parts, corner) for corner in corners]
    made = [sum(column) // len(rows) for column in zip(*rows, strict=True)]
    # Where rows have other sums, changed before, what is missing may be 2^50.
    each, more = divmod(max(0, sum(rows[0]) - sum(made)), len(made))
    made = [one + each + (at < more) for at, one in enumerate(made)]
    if chance.random() < 0.3:
        return rows[0]
    if chance.random() < 0.5:
        i, j = chance.sample(range(len(made)), 2)
        moved = chance.choice([1, made[i] // 1000, made[i] // 10])
        made[i], made[j] = made[i] - moved, made[j] + moved
    return made


def _place(parts: Any, corners: list[int]) -> tuple[int, int]:
    flat, n = parts["vertices"], len(corners)
    return sum(flat[2 * at] for at in corners) // n, sum(flat[2 * at + 1] for at in corners) // n


def _hanging(parts: Any, chance: random.Random) -> None:
    """Cut an edge in two: of one triangle alone, so that a vertex hangs, or of both."""
    flat = parts["triangles"]
    threes = [flat[at : at + 3] for at in range(0, len(flat), 3)]
    a, b, c = chance.choice(threes)
    new = _added(parts, *_place(parts, [a, b]), _between(parts, [a, b], chance))
    both, made = chance.random() < 0.3, []
    for three in threes:
        for p, q, r in ((three[i], three[i - 2], three[i - 1]) for i in range(3)):
            if (p, q, r) == (a, b, c) or (both and (p, q) == (b, a)):
                made += [[p, new, r], [new, q, r]]
                break
        else:
            made.append(three)
    parts["triangles"] = [corner for three in made for corner in three]


def _inside(parts: Any, chance: random.Random) -> None:
    """Cut a triangle in three, by a vertex in its middle."""
    flat = parts["triangles"]
    at = 3 * chance.randrange(len(flat) // 3)
    a, b, c = flat[at : at + 3]
    new = _added(parts, *_place(parts, [a, b, c]), _between(parts, [a, b, c], chance))
    flat[at : at + 3] = [a, b, new, b, c, new, c, a, new]


def _crack(parts: Any, chance: random.Random) -> None:
    """Take a vertex twice, and give the other one to some triangle: what is between may tell two things."""
    flat, n = parts["triangles"], len(parts["vertices"]) // 2
    # Vertices inside of the region, where there are some, are not seen by what walks around it.
    old = chance.choice([*range(n), *(sorted({*range(n)} - {*parts["outline"]}) * 3)])
    x, y = parts["vertices"][2 * old : 2 * old + 2]
    row = _row(parts, old)
    i, j = chance.sample(range(len(row)), 2)
    moved = chance.choice([0, 1, row[i] // 10**6, row[i] // 100])
    row[i], row[j] = row[i] - moved, row[j] + moved
    x += chance.choice([0, 0, 0, 1])
    new = _added(parts, x, y, row)
    uses = [at for at, corner in enumerate(flat) if corner == old]
    for at in chance.sample(uses, chance.randrange(1, len(uses) + 1)):
        flat[at] = new


def _flipped(parts: Any, chance: random.Random) -> None:
    """Take the other diagonal of two triangles."""
    flat = parts["triangles"]
    threes = [flat[at : at + 3] for at in range(0, len(flat), 3)]
    turned = [(n, three[i:] + three[:i]) for n, three in enumerate(threes) for i in range(3)]
    pairs = [(m, n, p, q) for m, p in turned for n, q in turned if p[:2] == [q[1], q[0]]]
    m, n, (a, b, c), (_, _, d) = chance.choice(pairs)
    threes[m], threes[n] = [c, a, d], [d, b, c]
    parts["triangles"] = [corner for three in threes for corner in three]


def _beyond(parts: Any, chance: random.Random) -> None:
    """Add a triangle outside of the region, or one that is there already in part."""
    a, b, c = chance.sample(range(len(parts["vertices"]) // 2), 3)
    x, y = parts["vertices"][2 * a], parts["vertices"][2 * b + 1]
    new = _added(parts, x + chance.choice([-5000, 5000, 7]), y, _row(parts, c))
    parts["triangles"] += chance.choice([[a, b, new], [b, a, new], [a, b, c]])


def _weight(parts: Any, chance: random.Random) -> None:
    """Move a weight, or a part of it, to another report of the same row."""
    flat, k = parts["weights"], len(parts["shown"])
    first = k * chance.randrange(len(flat) // k)
    i, j = (first + at for at in chance.sample(range(k), 2))
    moved = chance.choice(
        [1, 2, flat[i], flat[i] // 2, flat[i] // 10**3, flat[i] // 10**6, flat[i] // 10**9]
    )
    flat[i], flat[j] = flat[i] - moved, flat[j] + moved


def _zeros(parts: Any, chance: random.Random) -> None:
    """Make a report impossible: everywhere, from one triangle, or all other reports from there."""
    flat, k = parts["weights"], len(parts["shown"])
    i, j = chance.sample(range(k), 2)
    at = 3 * chance.randrange(len(parts["triangles"]) // 3)
    everywhere = [*range(len(flat) // k)]
    for v in chance.choice([everywhere, parts["triangles"][at : at + 3], everywhere[:1]]):
        flat[v * k + i], flat[v * k + j] = 0, flat[v * k + j] + flat[v * k + i]


def _column(parts: Any, chance: random.Random) -> None:
    """Mix all rows with one of them, which is safer, or away from it, which is not."""
    flat, k = parts["weights"], len(parts["shown"])
    to, away = _row(parts, chance.randrange(len(flat) // k)), chance.choice([1, 1, -1])
    share = chance.choice([4, 1000, 10**6])
    for v in range(len(flat) // k):
        row = flat[v * k : v * k + k]
        moved = [one + away * (two - one) // share for one, two in zip(row, to, strict=True)]
        moved[0] += sum(row) - sum(moved)
        flat[v * k : v * k + k] = moved


def _bits(parts: Any, chance: random.Random) -> None:
    up = chance.choice([1, 2, 5, 6, -1])
    parts["bits"] += up
    if chance.random() < 0.8:
        parts["weights"] = [int(one * Fraction(2) ** up) for one in parts["weights"]]


def _size(parts: Any, chance: random.Random) -> None:
    """Make the whole region larger or smaller."""
    times = Fraction(chance.choice(["2", "1/2", "10", "1001/1000", "999/1000", "-1"]))
    parts["vertices"] = [int(one * times) for one in parts["vertices"]]


def _shifted(parts: Any, chance: random.Random) -> None:
    """Move the region in the plane, which changes its distances on a sphere."""
    away, axis = chance.choice([10_000, -10_000, 10**6, -(10**7), 10**8]), chance.randrange(2)
    for at in range(axis, len(parts["vertices"]), 2):
        parts["vertices"][at] += away


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


def _outline(parts: Any, chance: random.Random) -> None:
    around, n = parts["outline"], len(parts["vertices"]) // 2
    at, other = chance.randrange(len(around)), chance.randrange(n)
    i, j = chance.sample(range(len(around)), 2)
    exchanged = [around[{i: j, j: i}.get(x, x)] for x in range(len(around))]
    parts["outline"] = chance.choice(
        [
            around[at:] + around[:at],
            around[::-1],
            around[:at] + around[at + 1 :],
            [*around[:at], other, *around[at:]],
            around * 2,
            exchanged,
        ]
    )


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


def _reports(parts: Any, chance: random.Random) -> None:
    """Leave a report out, take one twice, or tell two alike."""
    k, n = len(parts["shown"]), len(parts["vertices"]) // 2
    i, j = chance.sample(range(k), 2)
    if chance.random() < 0.3:
        parts["shown"][i] = parts["shown"][j]
        return
    rows = [_row(parts, v) for v in range(n)]
    for row in rows:
        row[j] += row.pop(i) if j < i else 0
        if len(row) == k:
            row[j] += row[i]
            del row[i]
    parts["weights"] = [one for row in rows for one in row]
    del parts["shown"][i], parts["reports"][2 * i : 2 * i + 2]


EVERYWHERE: dict[str, Callable[[Any, random.Random], object]] = {
    "a stronger claim": _claim,
    "another reach": _reach,
    "another plane": _plane,
    "another origin": _origin,
    "another unit": _unit,
    "another scope": _scope,
}
"""Of both forms."""

POINTS: dict[str, Callable[[Any, random.Random], object]] = {
    "a stronger claim": _claim,
    "a vertex moved": _vertex,
    "vertices exchanged": _exchanged,
    "a triangle": _triangle,
    "an edge cut": _hanging,
    "a triangle cut": _inside,
    "a crack": _crack,
    "another diagonal": _flipped,
    "a triangle more": _beyond,
    "a weight moved": _weight,
    "a report that cannot be": _zeros,
    "rows mixed": _column,
    "other bits": _bits,
    "another size": _size,
    "moved in the plane": _shifted,
    "another reach": _reach,
    "another plane": _plane,
    "another origin": _origin,
    "another outline": _outline,
    "another unit": _unit,
    "another scope": _scope,
    "other reports": _reports,
}
"""By name; which hashes are sealed anew is for the writer."""
