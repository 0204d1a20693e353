"""What tables by region state, judged from their numbers and by all neighbors of tiny data sets.

**Tables by region are false** when one of these does not hold:

- counts are whole and not below zero; each region is the sum of those below it, each marginal the sum of its cells; no
  record stands in a structural zero; the root has as many records as are said to be public;
- the cells of each lowest region were measured: what stands there would follow from nothing;
- the noise pays for the guarantee: over all pairs of persons on the stated tree and domain, the change of all that was
  measured, each marginal of each region divided by its own scale, costs no more than epsilon or rho in sum; and each
  marginal of a level no more than the part of the budget that it is said to have;
- a public total is one that neighbors share: each person has one row and is replaced;
- guarantee, record and frame say the same relation, rows, total and parts of the budget, these add up to 1, the
  guarantee is of the kind that the noise has, and a marginal has one name and stands once;
- rows are those of the frame, in its order, and every hash is that of what is there; nothing was made with a seed.

**Kept marginals are false** for the same reasons where they have such numbers, and when a value other than 0 stands
where nothing was measured.

The gaps, the method and the descriptions of what is public are beyond the oracle: a verifier does not check them.
"""
# ruff: noqa: PLR0917 - what neighbors are comes in its order

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, Any

from forger.exactly import number, seeded
from forger.oracles.counting import depths, read
from forger.sealing import table_frame_hashes, table_of

if TYPE_CHECKING:
    from pathlib import Path

    Marginal = tuple[int, ...]
    Stratum = tuple[int, bool]
    Scales = dict[str, dict[Stratum, Fraction | None]]

RELATIONS = ("add-remove-person", "replace-person")
WANTED = {"laplace": ("pure-dp", "epsilon"), "gaussian": ("zero-concentrated-dp", "rho")}
MOST_PLACES = 200
"""Cells of lowest regions up to which persons are enumerated."""


@cache
def table_moves(
    parents: tuple[int, ...],
    shape: tuple[int, ...],
    ruled_out: frozenset[int],
    marginals: tuple[Marginal, ...],
    most: int,
    relation: str,
) -> frozenset[frozenset[tuple[Marginal, Stratum, int, int]]]:
    """Enumerate how a neighbor changes each marginal of each stratum: sums of changes, and of their squares.

    Parameters
    ----------
    parents
        The tree.
    shape
        Categories of each attribute.
    ruled_out
        Cells that are structural zeros; the last attribute runs fastest.
    marginals
        The attributes of each marginal that is measured.
    most
        The most rows of a person; with 1 she has exactly one.
    relation
        A person comes or goes, or is replaced by another one.
    """
    depth, inner = depths(parents), {*parents}
    cells = [cell for at, cell in enumerate(product(*map(range, shape))) if at not in ruled_out]
    places = [(leaf, cell) for leaf in range(len(parents)) if leaf not in inner for cell in cells]
    persons = [Counter({place: 1}) for place in places]
    if most > 1:
        # All of her rows in one place, one of them elsewhere, or none at all.
        persons = [Counter(), *persons, *(Counter({place: most}) for place in places)]
        pairs = [*combinations(places, 2)][:: max(1, len(places) ** 2 // 40)]
        persons += [Counter({one: most - 1, other: 1}) for one, other in pairs]

    def counted(person: Counter[Any]) -> Counter[Any]:
        """Count a person: each row in its leaf and all regions above it, in its entry of each marginal."""
        found: Counter[Any] = Counter()
        for (leaf, cell), rows in person.items():
            at = leaf
            while at >= 0:
                for marginal in marginals:
                    found[marginal, at, tuple(cell[k] for k in marginal)] += rows
                at = parents[at]
        return found

    # A person who comes is one who takes the place of nobody.
    known = [*map(counted, persons)]
    before = known if relation == "replace-person" else [Counter()]
    changes = set()
    for one, other in product(before, known):
        summed: dict[Any, list[int]] = {}
        for key in {*one, *other}:
            off = other[key] - one[key]
            if off:
                marginal, at, _ = key
                sums = summed.setdefault((marginal, (depth[at], at not in inner)), [0, 0])
                sums[0] += abs(off)
                sums[1] += off * off
        changes.add(frozenset((*key, *sums) for key, sums in summed.items()))
    return frozenset(changes)


def table_costs(changes: frozenset[Any], noise: str, scales: dict[Any, Any]) -> Fraction:
    """Find what the worst neighbor costs; scales by marginal and stratum."""
    worst = Fraction(0)
    for change in changes:
        cost = Fraction(0)
        for marginal, stratum, absolute, squared in change:
            scale = scales[marginal][stratum]
            if scale is not None:
                moved = Fraction(absolute) if noise == "laplace" else Fraction(squared, 2)
                cost += moved / scale
        worst = max(worst, cost)
    return worst


def _every(frame: dict[str, Any]) -> dict[str, Marginal]:
    """Name all marginals as they may be named: attributes in the order of the domain."""
    names = [name for name, _ in frame["domain"]["attributes"]]
    return {
        ":".join(names[at] for at in marginal) or "total": marginal
        for size in range(len(names) + 1)
        for marginal in combinations(range(len(names)), size)
    }


def _names(frame: dict[str, Any]) -> dict[str, Marginal]:
    """Give the marginals that are measured."""
    every = _every(frame)
    return {name: every[name] for name, _ in frame["shares"]}


def _ruled_out(frame: dict[str, Any]) -> frozenset[int]:
    """Number the cells that are structural zeros."""
    attributes = frame["domain"]["attributes"]
    cells = product(*(listed for _, listed in attributes))
    return frozenset(
        at
        for at, cell in enumerate(cells)
        for zero in frame["domain"]["zeros"]
        if all(
            one in zero[name]
            for (name, _), one in zip(attributes, cell, strict=True)
            if name in zero
        )
    )


def _frame(record: dict[str, Any]) -> str:
    """Judge the public facts by themselves, and their hashes."""
    frame = record["frame"]
    whole, each = table_frame_hashes(frame)
    if whole != frame["digest"]:
        return "a frame with another hash"
    for public in record.get("provenance", {}).get("assumed_public", []):
        if each.get(public["name"], public["digest"]) != public["digest"]:
            return "public facts with another hash"
    return _public(frame)


def _public(frame: dict[str, Any]) -> str:
    known = dict(frame["domain"]["attributes"])
    if any(len({*listed}) != len(listed) for listed in known.values()):
        return "a category that stands twice"
    ruled = [
        (name, one) for zero in frame["domain"]["zeros"] for name in zero for one in zero[name]
    ]
    if any(one not in known[name] for name, one in ruled):
        return "a structural zero of another category"
    names = [name for name, _ in frame["shares"]]
    if len({*names}) != len(names) or not {*names} <= {*_every(frame)}:
        return "a marginal that stands twice, or under another name"
    parts = [[*map(number, given)] for _, given in frame["shares"]]
    levels = max(depths(frame["parents"])) + 1
    if any(len(given) != levels for given in parts) or min(map(min, parts)) < 0:
        return "other parts of a budget than a level has"
    if sum(map(sum, parts)) != 1:
        return "parts of a budget that do not add up"
    if type(frame["max_rows"]) is not int or frame["max_rows"] < 1:
        return "persons without rows"
    return ""


def _rows(record: dict[str, Any], columns: dict[str, list[Any]]) -> str:
    """Compare the rows with the frame: each marginal, each region, each entry."""
    frame = record["frame"]
    parents, depth = frame["parents"], depths(frame["parents"])
    words = [str(label).replace("\\", "\\\\").replace("/", "\\/") for label in frame["labels"]]
    paths = [*words]
    for at in range(1, len(paths)):
        if parents[at]:
            paths[at] = f"{paths[parents[at]]}/{words[at]}"
    attributes = frame["domain"]["attributes"]
    expected = []
    for name, marginal in _names(frame).items():
        entries = [
            [cell[marginal.index(k)] if k in marginal else "" for k in range(len(attributes))]
            for cell in product(*(attributes[k][1] for k in marginal))
        ]
        expected += [
            (depth[at] + 1, paths[at], name, *entry)
            for at in range(len(parents))
            for entry in entries
        ]
    told = ["level", "region", "marginal", *(name for name, _ in attributes)]
    found = [
        tuple("" if cell is None else cell for cell in row)
        for row in zip(*(columns[name] for name in told), strict=True)
    ]
    return "" if found == expected else "rows of other regions, marginals or entries"


def _tables(frame: dict[str, Any], values: list[Any]) -> dict[Marginal, list[list[Any]]]:
    """Cut a column into marginals, regions and entries."""
    sizes = [len(listed) for _, listed in frame["domain"]["attributes"]]
    found, at = {}, 0
    for marginal in _names(frame).values():
        width = prod(sizes[k] for k in marginal)
        found[marginal] = [
            values[at + width * region : at + width * (region + 1)]
            for region in range(len(frame["parents"]))
        ]
        at += width * len(frame["parents"])
    return found


def _hold(frame: dict[str, Any], tables: dict[Marginal, list[list[Any]]]) -> str:
    """Judge released counts by themselves."""
    sizes = [len(listed) for _, listed in frame["domain"]["attributes"]]
    parents, full = frame["parents"], tuple(range(len(sizes)))
    if any(x < 0 or x != int(x) for table in tables.values() for row in table for x in row):
        return "a count below zero, or that is not whole"
    cells = tables[full]
    for at in {*parents[1:]}:
        below = [cells[i] for i in range(1, len(parents)) if parents[i] == at]
        if cells[at] != [sum(column) for column in zip(*below, strict=True)]:
            return "a sum that does not hold"
    for marginal, table in tables.items():
        for region, row in enumerate(table):
            entry: Counter[Any] = Counter()
            for cell, x in zip(product(*map(range, sizes)), cells[region], strict=True):
                entry[tuple(cell[k] for k in marginal)] += x
            if row != [entry[key] for key in product(*(range(sizes[k]) for k in marginal))]:
                return "a marginal that is not the sum of its cells"
    if any(row[at] for at in _ruled_out(frame) for row in cells):
        return "a record in a structural zero"
    if frame["total"] is not None and sum(cells[0]) != frame["total"]:
        return "another number of records than is public"
    return ""


def _by_stratum(
    frame: dict[str, Any], stated: dict[str, list[Any]], nothing: str | None
) -> dict[Marginal, dict[Stratum, Fraction | None]]:
    """Read the scales of each marginal: two a level, of regions that are divided and of lowest ones."""
    levels = max(depths(frame["parents"])) + 1
    names = _names(frame)
    found = {}
    for name, given in stated.items():
        if len(given) != 2 * levels:
            raise ValueError("two scales a level")
        scales = [None if text == nothing else number(text) for text in given]
        found[names[name]] = {(at // 2, bool(at % 2)): scale for at, scale in enumerate(scales)}
    return found


def _pays(
    record: dict[str, Any], noise: str, scales: dict[Marginal, dict[Stratum, Fraction | None]]
) -> str:
    """Judge a guarantee by all neighbors."""
    frame, claim = record["frame"], record["guarantee"]
    relation, most, names = claim.get("neighbors"), frame["max_rows"], _names(frame)
    if noise not in WANTED or claim["kind"] != WANTED[noise][0] or relation not in RELATIONS:
        return "a guarantee of another kind than the noise has"
    if frame["total"] is not None and (relation, most) != ("replace-person", 1):
        return "a public total that neighbors do not share"
    if any(scale is not None and scale <= 0 for each in scales.values() for scale in each.values()):
        return "noise without a scale"
    parents, depth = tuple(frame["parents"]), depths(frame["parents"])
    leaves = [at for at in range(len(parents)) if at not in parents]
    sizes = tuple(len(listed) for _, listed in frame["domain"]["attributes"])
    full = tuple(range(len(sizes)))
    if any(scales[full][depth[at], True] is None for at in leaves):
        return "a lowest region whose cells were not measured"
    if len(leaves) * prod(sizes) > MOST_PLACES:
        return "beyond: more cells than persons are enumerated for"
    changes = table_moves(parents, sizes, _ruled_out(frame), (*names.values(),), most, relation)
    claimed = number(claim[WANTED[noise][1]])
    spent = table_costs(changes, noise, scales)
    if spent > claimed:
        return f"a neighbor costs {spent}, and {claimed} is claimed"
    return _parts(frame, noise, scales, changes, claimed)


def _parts(
    frame: dict[str, Any],
    noise: str,
    scales: dict[Marginal, dict[Stratum, Fraction | None]],
    changes: frozenset[Any],
    claimed: Fraction,
) -> str:
    """Judge the part of the budget that each marginal of each level is said to have."""
    shares = {_names(frame)[name]: [*map(number, given)] for name, given in frame["shares"]}
    for marginal, given in shares.items():
        for level, lowest in product(range(len(given)), (False, True)):
            # A leaf has the parts of the levels below it, too.
            part = sum(given[level:], Fraction(0)) if lowest else given[level]
            alone = {
                one: dict.fromkeys(each, None)
                | ({(level, lowest): each[level, lowest]} if one == marginal else {})
                for one, each in scales.items()
            }
            if table_costs(changes, noise, alone) > part * claimed:
                return f"a marginal that costs more than its part of the budget, {part}"
    return ""


def _read(path: Path) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Read a table and its record; whole numbers are categories as text."""
    record, columns = read(table_of(path))
    domain = record["frame"]["domain"]
    domain["attributes"] = [
        [name, [str(one) if type(one) is int else one for one in listed]]
        for name, listed in domain["attributes"]
    ]
    return record, columns


def region_tables_are_false(path: Path, _: Any) -> str:
    """Say what is false in released tables by region."""
    record, columns = _read(path)
    frame, origin = record["frame"], record["provenance"]
    stated = origin["parameters"]
    found = _frame(record) or _rows(record, columns) or seeded(origin)
    if found:
        return found
    if (stated["neighbors"], stated["max_rows"], stated["total"]) != (
        record["guarantee"]["neighbors"],
        frame["max_rows"],
        frame["total"],
    ):
        return "a record of another relation, other rows or another total"
    if {name: [*map(number, given)] for name, given in stated["shares"].items()} != {
        name: [*map(number, given)] for name, given in frame["shares"]
    }:
        return "a record of other parts of the budget"
    if {*stated["scales"]} != {*_names(frame)}:
        return "noise of other marginals"
    return _hold(frame, _tables(frame, columns["count"])) or _pays(
        record, stated["noise"], _by_stratum(frame, stated["scales"], "none")
    )


def table_measurements_are_false(path: Path, _: Any) -> str:
    """Say what is false in kept marginals."""
    record, columns = _read(path)
    frame, made = record["frame"], record["measurement"]
    found = _frame(record) or _rows(record, columns) or seeded(made)
    if found:
        return found
    if {*made["scales"]} != {*_names(frame)}:
        return "noise of other marginals"
    parents, depth = frame["parents"], depths(frame["parents"])
    scales = _by_stratum(frame, made["scales"], None)
    for marginal, table in _tables(frame, columns["noisy"]).items():
        for at, row in enumerate(table):
            if scales[marginal][depth[at], at not in parents] is None and any(row):
                return "a value where nothing was measured"
    return _pays(record, made["noise"], scales)
