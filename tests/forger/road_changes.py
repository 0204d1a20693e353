"""Changes of mechanisms along roads that mean something: other roads, cuts and lengths, and rows that tell more."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from forger.exactly import number
from forger.lattice_changes import LATTICE
from forger.mesh_changes import EVERYWHERE
from noises import DECIMETERS
from roadways import limit, pieces, violations

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["ROADS"]

MOST_PARTS = 500
"""Of a road, or of all of them, that are written down here."""


def _ends(parts: Any) -> list[tuple[int, int]]:
    flat = parts["segments"]
    return [*zip(flat[::2], flat[1::2], strict=True)]


def _cut(parts: Any) -> list[tuple[int, int, int]]:
    """Give each part of a road: its nodes and its length; none where another change made parts without end."""
    if sum(parts["parts"]) > MOST_PARTS:
        raise ValueError("more parts than are written down")
    n = len(parts["vertices"]) // 2
    return pieces(n, _ends(parts), parts["lengths"], parts["parts"])


def _rows(parts: Any) -> list[list[int]]:
    flat, k = parts["weights"], len(parts["shown"])
    return [flat[at : at + k] for at in range(0, len(flat), k)]


def _set(parts: Any, rows: list[list[int]]) -> None:
    parts["weights"] = [weight for row in rows for weight in row]


def _first_cut(parts: Any, piece: int) -> int:
    cuts = [int(count) - 1 for count in parts["parts"][:piece]]
    return len(parts["vertices"]) // 2 + sum(cuts)


def _two(parts: Any, chance: random.Random) -> list[int]:
    """Choose two reports, where there are two."""
    k = len(parts["shown"])
    return chance.sample(range(k), 2) if k > 1 else [0, 0]


def _moved(parts: Any, chance: random.Random) -> None:
    """Move a part of what a report has at one node to another one."""
    flat, k = parts["weights"], len(parts["shown"])
    node = chance.choice([0, len(flat) // k - 1, *(chance.randrange(len(flat) // k),) * 4])
    i, j = (node * k + report for report in _two(parts, chance))
    portions = [1, 2, flat[i], flat[i] // 2, *(flat[i] // 10**power for power in (2, 3, 4, 6, 9))]
    moved = chance.choice(portions)
    flat[i], flat[j] = flat[i] - moved, flat[j] + moved


def _zeros(parts: Any, chance: random.Random) -> None:
    """Let a report be impossible: at one node, at the nodes of a piece, at all but one, or at all."""
    rows, (i, j) = _rows(parts), _two(parts, chance)
    at, cut = chance.randrange(len(rows)), _cut(parts)
    beside = {node for first, last, _ in cut for node in (first, last) if at in (first, last)}
    # All that some way joins to it: there it may be impossible.
    joined = {at}
    for _ in range(len(rows)):
        joined |= {
            node for first, last, _ in cut if {first, last} & joined for node in (first, last)
        }
    for node in chance.choice([{at}, beside, joined, joined, {*range(len(rows))} - {at}]):
        rows[node][i], rows[node][j] = 0, rows[node][i] + rows[node][j]
    _set(parts, rows)


def _length(parts: Any, chance: random.Random) -> None:
    """Make a piece of road, or all of them, longer or shorter."""
    times = Fraction(
        chance.choice(["1/2", "2", "9/10", "11/10", "999/1000", "1001/1000", "1/100", "100"])
    )
    which = {chance.randrange(len(parts["lengths"]))}
    if chance.random() < 0.4:
        which = {*range(len(parts["lengths"]))}
    steps = chance.choice([None, None, 1, -1])
    for at in which:
        now = parts["lengths"][at]
        parts["lengths"][at] = int(now * times) if steps is None else now + steps


def _cuts_more(parts: Any, chance: random.Random) -> None:
    """Cut a piece again, its nodes with rows between their neighbors', or with those of one of them."""
    piece = chance.randrange(len(parts["parts"]))
    count, long = parts["parts"][piece], parts["lengths"][piece]
    if count > MOST_PARTS:
        return
    rows, first, (a, b) = _rows(parts), _first_cut(parts, piece), _ends(parts)[piece]
    nodes = [rows[a], *rows[first : first + count - 1], rows[b]]
    marks = [at * long // count for at in range(count + 1)]
    new = count + chance.choice([1, 1, 2, count])
    if not 0 < new <= min(long, MOST_PARTS):
        return
    made = []
    for at in range(1, new):
        where = at * long // new
        i = max(i for i in range(count) if marks[i] <= where)
        share = Fraction(where - marks[i], marks[i + 1] - marks[i])
        row = [int(x + share * (y - x)) for x, y in zip(nodes[i], nodes[i + 1], strict=True)]
        row = chance.choice([row, row, row, list(nodes[i])])
        row[chance.choice([0, -1])] += sum(nodes[i]) - sum(row)
        made.append(row)
    _set(parts, rows[:first] + made + rows[first + count - 1 :])
    parts["parts"][piece] = new


def _cuts_less(parts: Any, chance: random.Random) -> None:
    """Leave cuts of a piece out, with or without their rows, or move them to another piece."""
    piece = chance.randrange(len(parts["parts"]))
    count, rows, first = parts["parts"][piece], _rows(parts), _first_cut(parts, piece)
    which = chance.randrange(3)
    if which == 0:
        _set(parts, rows[:first] + rows[first + count - 1 :])
        parts["parts"][piece] = 1
    elif which == 1 and count > 1:
        _set(parts, rows[:first] + rows[first + 1 :])
        parts["parts"][piece] -= 1
    else:
        other = chance.randrange(len(parts["parts"]))
        parts["parts"][piece] -= 1
        parts["parts"][other] += 1


def _joined(parts: Any, chance: random.Random) -> None:
    """Lead a piece elsewhere, to a vertex or a cut."""
    nodes = len(parts["weights"]) // len(parts["shown"])
    at = chance.randrange(len(parts["segments"]))
    parts["segments"][at] = chance.choice(
        [chance.randrange(len(parts["vertices"]) // 2)] * 4 + [chance.randrange(nodes), -1, nodes]
    )


def _piece_more(parts: Any, chance: random.Random) -> None:
    """Join two vertices by another piece, short or long; often one from a vertex to itself."""
    n = len(parts["vertices"]) // 2
    a, b = chance.randrange(n), chance.randrange(n)
    longest = max(parts["lengths"])
    parts["segments"] += [a, chance.choice([a, b, b, b])]
    parts["lengths"].append(chance.choice([1, 100, longest, longest * 10, 2**30 - 1, 2**30]))
    parts["parts"].append(1)


def _piece_less(parts: Any, chance: random.Random) -> None:
    """Leave a piece of road out, with its cuts: ways become longer, or there are none."""
    piece = chance.randrange(len(parts["parts"]))
    first, count, rows = _first_cut(parts, piece), parts["parts"][piece], _rows(parts)
    _set(parts, rows[:first] + rows[first + count - 1 :])
    del parts["segments"][2 * piece : 2 * piece + 2], parts["lengths"][piece], parts["parts"][piece]


def _turned(parts: Any, chance: random.Random) -> None:
    """Turn a piece around, its cuts with it or not: the same roads only if cuts are where they were."""
    piece = chance.randrange(len(parts["parts"]))
    flat, at = parts["segments"], 2 * piece
    flat[at], flat[at + 1] = flat[at + 1], flat[at]
    if chance.random() < 0.6:
        rows, first, count = _rows(parts), _first_cut(parts, piece), parts["parts"][piece]
        rows[first : first + count - 1] = rows[first : first + count - 1][::-1]
        _set(parts, rows)


def _exchanged(parts: Any, chance: random.Random) -> None:
    """Exchange the rows of two nodes, or two pieces of road, their lengths or both."""
    rows, which = _rows(parts), chance.randrange(4)
    i, j = (chance.randrange(len(rows)) for _ in range(2))
    a, b = (chance.randrange(len(parts["parts"])) for _ in range(2))
    if which == 0:
        rows[i], rows[j] = rows[j], rows[i]
        _set(parts, rows)
    elif which == 1:
        lengths = parts["lengths"]
        lengths[a], lengths[b] = lengths[b], lengths[a]
    elif which == 2:
        counts = parts["parts"]
        counts[a], counts[b] = counts[b], counts[a]
    else:
        rows[i] = list(rows[j])
        _set(parts, rows)


def _vertex_more(parts: Any, chance: random.Random) -> None:
    """Add a vertex of no road, with a row of any kind, or move one in the plane."""
    n, rows = len(parts["vertices"]) // 2, _rows(parts)
    if chance.random() < 0.5:
        flat = parts["vertices"]
        flat[chance.randrange(len(flat))] = chance.choice(
            [0, -1, 2**29, 2**30 - 1, 2**30, -(2**30)]
        )
        return
    parts["vertices"] += [7, 7]
    rows.insert(n, list(chance.choice(rows)))
    if chance.random() < 0.5:
        whole = sum(rows[n])
        rows[n] = [0] * (len(rows[n]) - 1) + [whole]
    _set(parts, rows)


def _limit(parts: Any, chance: random.Random) -> None:
    """Claim what the steepest part allows, or a little more or less: to some digits."""
    digits = chance.choice([6, 9, 12, 20, 40])
    rate = limit(parts["weights"], len(parts["shown"]), _cut(parts), digits)
    rate += Fraction(chance.choice([-1, 0, 1, 1, 2]), 10**digits)
    parts["guarantee"]["epsilon"] = str(rate * DECIMETERS[parts["unit"]])


def _tight(parts: Any, chance: random.Random) -> None:
    """Raise a weight to where a part of it is at its limit, by halving, and sometimes a little more."""
    flat, k, cut = parts["weights"], len(parts["shown"]), _cut(parts)
    rate = number(parts["guarantee"]["epsilon"]) / DECIMETERS[parts["unit"]]
    i, j = _two(parts, chance)
    node = chance.randrange(len(flat) // k)

    def holds(moved: int) -> bool:
        pairs = [(flat[at + i], flat[at + j]) for at in range(0, len(flat), k)]
        one, other = pairs[node]
        pairs[node] = (one + moved, other - moved)
        two = [weight for pair in pairs for weight in pair]
        return other >= moved and not violations(two, 2, cut, rate)

    low, high = 0, flat[node * k + j] + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    moved = low + chance.choice([0, 0, 1, 2, 1000])
    flat[node * k + i] += moved
    flat[node * k + j] -= moved


def _beyond(parts: Any, chance: random.Random) -> None:
    """Claim so much, or so little, that no float holds how much a part allows."""
    epsilon = chance.choice([Fraction(10**300), Fraction(10**297), Fraction(1, 10**300)])
    parts["guarantee"]["epsilon"] = str(epsilon)
    parts["lengths"] = [chance.choice([2**30 - 1, long]) for long in parts["lengths"]]


def _reports(parts: Any, chance: random.Random) -> None:
    """Leave a report out, add one that is never told, exchange two, tell two alike, or put one elsewhere."""
    rows, which, (i, j) = _rows(parts), chance.randrange(6), _two(parts, chance)
    if which == 0:
        parts["shown"][i] = list(parts["shown"][j])
    elif which == 1:
        parts["shown"].append(["0.25", "7"])
        parts["reports"].append(chance.choice([0, 1, 99]))
        rows = [[*row, 0] for row in rows]
    elif which == 2:
        for row in rows:
            row[i], row[j] = row[j], row[i]
    elif which == 3:
        parts["reports"][i] = chance.choice([parts["reports"][j], -1, len(parts["vertices"]) // 2])
    else:
        del parts["shown"][i], parts["reports"][i]
        for row in rows:
            if which == 4:
                row[j] += row[i]
            del row[i]
    _set(parts, rows)


def _unit(parts: Any, chance: random.Random) -> None:
    """Exchange the unit in all places; epsilon stays the same number, or the same promise."""
    before = parts["unit"]
    parts["unit"] = parts["guarantee"]["unit"] = {"km": "m", "m": "km"}[before]
    if chance.random() < 0.5:
        told = number(parts["guarantee"]["epsilon"]) * DECIMETERS[parts["unit"]]
        parts["guarantee"]["epsilon"] = str(told / DECIMETERS[before])


def _scope(parts: Any, chance: random.Random) -> None:
    digest = parts["guarantee"]["scope"]["roads"]
    others = [{"roads": one} for one in (digest[::-1], "0" * 64, digest.upper(), digest[:63])]
    parts["guarantee"]["scope"] = chance.choice([*others, {"region": digest}, None])


def _origin(parts: Any, chance: random.Random) -> None:
    parts["origin"] = chance.choice([None, ["0", "0"], ["41.9", "12.46"], ["41.9"], [41.9, 12.46]])


_OF_ROWS = (
    *("a report that takes of another", "an entry alone", "a weight in another row"),
    *("negative weights", "rows mixed", "a power of the weights", "other bits"),
)

ROADS: dict[str, Callable[[Any, random.Random], object]] = {
    "a weight moved": _moved,
    **{name: LATTICE[name] for name in _OF_ROWS},
    "reports that cannot be": _zeros,
    "another length": _length,
    "more cuts": _cuts_more,
    "fewer cuts": _cuts_less,
    "a piece that leads elsewhere": _joined,
    "a piece more": _piece_more,
    "a piece less": _piece_less,
    "a piece turned": _turned,
    "exchanged": _exchanged,
    "another vertex": _vertex_more,
    "a claim at its limit": _limit,
    "a claim beyond floats": _beyond,
    "weights at their limit": _tight,
    "other reports": _reports,
    "a stronger claim": EVERYWHERE["a stronger claim"],
    "another unit": _unit,
    "another scope": _scope,
    "another origin": _origin,
}
"""By name; which hashes are sealed anew is for the writer."""
