"""Changes of rows on a lattice that mean something: rows that tell more, other boxes, planes, reports and claims."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from forger import noise_changes
from forger.exactly import number
from forger.plane_changes import EVERYWHERE
from lattices import limit, violations
from noises import DECIMETERS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

MOST_POINTS = 10_000
"""Control points that are written down here."""


def _shape(parts: Any) -> tuple[int, int, int]:
    """Give how many columns and rows of control points there are, and reports."""
    wide, tall = parts["cells"]
    if (wide + 2) * (tall + 2) > MOST_POINTS:
        # Another change made cells without end: what follows lists them.
        raise ValueError("more control points than are written down")
    return wide + 2, tall + 2, len(parts["shown"])


def _rows(parts: Any) -> list[list[int]]:
    flat, k = parts["weights"], len(parts["shown"])
    return [flat[at : at + k] for at in range(0, len(flat), k)]


def _set(parts: Any, rows: list[list[int]]) -> None:
    parts["weights"] = [weight for row in rows for weight in row]


def _moved(parts: Any, chance: random.Random) -> None:
    """Move a part of what a report has to another one, at one control point, often a corner of the net."""
    m, n, k = _shape(parts)
    point = chance.choice([0, n - 1, m * n - n, m * n - 1, *(chance.randrange(m * n),) * 4])
    i, j = (point * k + report for report in chance.sample(range(k), 2))
    flat = parts["weights"]
    parts_of = [1, 2, flat[i], flat[i] // 2, *(flat[i] // 10**power for power in (2, 3, 4, 6, 9))]
    moved = chance.choice(parts_of)
    flat[i], flat[j] = flat[i] - moved, flat[j] + moved


def _moved_everywhere(parts: Any, chance: random.Random) -> None:
    """Give a part of what a report has to another one at every control point, or at those of one half."""
    rows = _rows(parts)
    i, j = chance.sample(range(len(rows[0])), 2)
    part, half = chance.choice([1, 2, 100, 10**6]), chance.choice([0, 0, len(rows) // 2])
    for row in rows[half:]:
        moved = row[i] // part
        row[i], row[j] = row[i] - moved, row[j] + moved
    _set(parts, rows)


def _entry(parts: Any, chance: random.Random) -> None:
    """Change one entry alone: its row is off, by one or by much."""
    flat = parts["weights"]
    at = chance.choice([chance.randrange(len(flat)), len(flat) - 1])
    flat[at] += chance.choice([1, -1, 2**20, -flat[at], -2 * flat[at], flat[at], 2**55])


def _between(parts: Any, chance: random.Random) -> None:
    """Move a weight from one row to another: the whole sum is kept, and neither row's is."""
    flat, k = parts["weights"], len(parts["shown"])
    at = chance.randrange(len(flat) - k)
    moved = chance.choice([1, flat[at] // 1000])
    flat[at], flat[at + k] = flat[at] - moved, flat[at + k] + moved


def _negative(parts: Any, chance: random.Random) -> None:
    rows = _rows(parts)
    row = chance.choice(rows)
    i, j = chance.sample(range(len(row)), 2)
    less = chance.choice([1, 2**30])
    row[i], row[j] = -less, row[j] + row[i] + less
    _set(parts, rows)


def _zeros(parts: Any, chance: random.Random) -> None:
    """Let a report be impossible: at one control point, in a line of the net, at all but one, or at all."""
    m, n, _ = _shape(parts)
    rows = _rows(parts)
    i, j = chance.sample(range(len(rows[0])), 2)
    at = chance.randrange(m * n)
    out = chance.choice([{at}, {*range(at // n * n, at // n * n + n)}, {*range(at % n, m * n, n)}])
    out = chance.choice([out, out, {*range(m * n)} - {at}, {*range(m * n)}])
    for point in out:
        rows[point][i], rows[point][j] = 0, rows[point][i] + rows[point][j]
    _set(parts, rows)


def _mixed(parts: Any, chance: random.Random) -> None:
    """Make all rows more alike, which is safer, or less, which is not."""
    rows, away = _rows(parts), chance.choice([1, -1, -1])
    share = chance.choice([4, 100, 1000, 10**6, 10**9, 10**12])
    even = [sum(column) // len(rows) for column in zip(*rows, strict=True)]
    for at, row in enumerate(rows):
        made = [one + away * (mean - one) // share for one, mean in zip(row, even, strict=True)]
        made[chance.choice([0, len(made) - 1])] += sum(row) - sum(made)
        rows[at] = made
    _set(parts, rows)


def _power(parts: Any, chance: random.Random) -> None:
    """Take a power of all weights: another epsilon."""
    rows, power = _rows(parts), chance.choice([0.5, 0.9, 0.999, 1.001, 1.1, 2, 5])
    for at, row in enumerate(rows):
        whole = sum(row)
        made = [(max(one, 0) / whole) ** power for one in row]
        made = [int(one / sum(made) * whole) for one in made]
        made[0] += whole - sum(made)
        rows[at] = made
    _set(parts, rows)


def _turned(parts: Any, chance: random.Random) -> None:
    """Mirror the net, or exchange its axes, or take its rows in another order."""
    (m, n, _), rows, which = _shape(parts), _rows(parts), chance.randrange(5)
    grid = [rows[i * n : i * n + n] for i in range(m)]
    if which == 0:
        grid.reverse()
    elif which == 1:
        grid = [column[::-1] for column in grid]
    elif which in (2, 3):
        parts["cells"] = parts["cells"][::-1]
        if which == 2:
            grid = [list(line) for line in zip(*grid, strict=True)]
    else:
        i, j = chance.sample(range(m * n), 2)
        a, b = grid[i // n][i % n], grid[j // n][j % n]
        grid[i // n][i % n], grid[j // n][j % n] = b, chance.choice([a, b])
    _set(parts, [row for column in grid for row in column])


def _line(parts: Any, chance: random.Random) -> None:
    """Leave a line of the net out, or take one twice; a box of as many cells, or as before."""
    (m, n, _), rows, axis = _shape(parts), _rows(parts), chance.randrange(2)
    at, times = chance.randrange([m, n][axis]), chance.choice([0, 2, 2])
    kept = [
        rows[i * n + j]
        for i in range(m)
        for _ in range(times if axis == 0 and i == at else 1)
        for j in range(n)
        for _ in range(times if axis == 1 and j == at else 1)
    ]
    _set(parts, kept)
    if chance.random() < 0.9:
        parts["cells"][axis] += times - 1


def _beyond(parts: Any, chance: random.Random) -> None:
    """Claim so little, over such long sides, that no float holds how much a cell allows."""
    (_, n, _), rows = _shape(parts), _rows(parts)
    _set(parts, [rows[i * n + j] for i in range(3) for j in range(3)])
    parts["cells"], parts["low"] = [1, 1], [1 - 2**30, 1 - 2**30]
    parts["side"] = chance.choice([2**31 - 2, 2**31 - 1, 2**30, 1])
    epsilon = chance.choice([Fraction(10**300), Fraction(10**297), Fraction(1, 10**300)])
    parts["guarantee"]["epsilon"] = str(epsilon)


def _limit(parts: Any, chance: random.Random) -> None:
    """Claim what the steepest node allows, or a little more or less: to some digits."""
    digits = chance.choice([3, 6, 12, 20, 40])
    rate = limit(parts["weights"], tuple(parts["cells"]), len(parts["shown"]), digits)
    rate += Fraction(chance.choice([-1, 0, 1, 1, 2]), 10**digits)
    parts["guarantee"]["epsilon"] = str(rate * DECIMETERS[parts["unit"]] / parts["side"])


def _tight(parts: Any, chance: random.Random) -> None:
    """Raise a weight to where a node of it is at its limit, by halving, and sometimes one more."""
    flat, (m, n, k) = parts["weights"], _shape(parts)
    rate = number(parts["guarantee"]["epsilon"]) * parts["side"] / DECIMETERS[parts["unit"]]
    i, j = chance.sample(range(k), 2)
    first = chance.randrange(m * n) * k

    def holds(moved: int) -> bool:
        pairs = [(flat[at + i], flat[at + j]) for at in range(0, len(flat), k)]
        one, other = pairs[first // k]
        pairs[first // k] = (one + moved, other - moved)
        two = [weight for pair in pairs for weight in pair]
        return other >= moved and not violations(two, tuple(parts["cells"]), 2, rate)

    low, high = 0, flat[first + j] + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    moved = low + chance.choice([0, 0, 1, 2, 1000])
    flat[first + i], flat[first + j] = flat[first + i] + moved, flat[first + j] - moved


def _reports(parts: Any, chance: random.Random) -> None:
    """Leave a report out, add one that is never told, exchange two, or tell two alike."""
    rows, which = _rows(parts), chance.randrange(5)
    i, j = chance.sample(range(len(parts["shown"])), 2)
    if which == 0:
        parts["shown"][i] = parts["shown"][j]
    elif which == 1:
        parts["shown"].append(["0.25", "7"])
        parts["reports"] += [3, 4]
        rows = [[*row, 0] for row in rows]
    elif which == 2:
        for row in rows:
            row[i], row[j] = row[j], row[i]
    else:
        del parts["shown"][i], parts["reports"][2 * i : 2 * i + 2]
        for row in rows:
            if which == 3:
                row[j] += row[i]
            del row[i]
    _set(parts, rows)


def _bits(parts: Any, chance: random.Random) -> None:
    up = chance.choice([1, 2, 5, 6, 23, -1, -8])
    parts["bits"] += up
    if chance.random() < 0.8:
        rows = [[int(one * Fraction(2) ** up) for one in row] for row in _rows(parts)]
        for row in rows:
            row[0] += 2 ** parts["bits"] - sum(row) if chance.random() < 0.95 else 0
        _set(parts, rows)


LATTICE: dict[str, Callable[[Any, random.Random], object]] = {
    "a weight moved": _moved,
    "a report that takes of another": _moved_everywhere,
    "an entry alone": _entry,
    "a weight in another row": _between,
    "negative weights": _negative,
    "reports that cannot be": _zeros,
    "rows mixed": _mixed,
    "a power of the weights": _power,
    "a net turned": _turned,
    "a line of the net": _line,
    **{name: noise_changes.NOISE[name] for name in ("other cells", "another box", "another side")},
    "a claim at its limit": _limit,
    "a claim beyond floats": _beyond,
    "weights at their limit": _tight,
    "other reports": _reports,
    "other bits": _bits,
    **EVERYWHERE,
}
"""By name; which hashes are sealed anew is for the writer."""
