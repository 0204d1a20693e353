"""What tables of counts and kept measurements state, judged from the cells and by all neighbors of tiny data sets.

**A table of counts is false** when one of these does not hold:

- the promises of its record, all four where it does not speak of promises: whole numbers, none below zero, each region
  the sum of those below it, each level the public number of groups (fractions; decimals up to 1e-9 of the largest);
- a region that was not measured holds what follows from those below it (up to one half for each rounded count), and a
  lowest region was measured;
- the noise pays for the guarantee: over all neighbors of tiny data sets on the stated tree, the change of what was
  measured, each region divided by its own scale, costs no more than epsilon or rho in sum;
- guarantee, record and frame say the same relation, sizes, units and quantities, the guarantee is of the kind that the
  noise has, and the record states no smaller sensitivity and no smaller share than there is;
- rows are those of the frame, in its order, and every hash is that of what is there; nothing was made with a seed.

**Kept measurements are false** for the same reasons without promises, and when a value other than 0 stands where
nothing was measured.
"""
# ruff: noqa: PLR0917 - what a sensitivity is about comes in its order

from __future__ import annotations

import csv
import hashlib
import json
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from forger.exactly import number, seeded
from forger.oracles.channels import once
from forger.sealing import frame_hashes, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PERSONS = {"add-remove-person": 1, "replace-person": 2}
PROMISES = ("integral", "nonnegative", "consistent", "faithful")
MOST_CELLS = 4000
"""Entries of one level up to which neighbors are enumerated."""


def read(path: Path) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Read a table and the record beside it, with the csv module or Arrow."""
    record = json.loads(
        path.with_name(f"{path.name}.discreet.json").read_text(encoding="utf-8"),
        object_pairs_hook=once,
    )
    if hashlib.sha256(path.read_bytes()).hexdigest() != record["table"]["sha256"]:
        raise ValueError("the table has another hash")
    if path.suffix == ".parquet":
        return record, pq.read_table(path).to_pydict()
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    columns: dict[str, list[Any]] = {
        name: [row[at] for row in rows] for at, name in enumerate(head)
    }
    for name in {"level", "size", "count", "noisy"} & {*columns}:
        columns[name] = [Fraction(cell) for cell in columns[name]]
    return record, columns


@cache
def moves(
    kind: str, parents: tuple[int, ...], most: int, units: str, quantity: int, relation: str
) -> frozenset[tuple[tuple[int, int], ...]]:
    """Enumerate how a neighbor changes what is measured: for each region the sum of changes, and that of their squares.

    Data sets are tiny: a group or two in each lowest region. What is measured is computed from the definition.

    Parameters
    ----------
    kind
        ``survival``, ``direct``, ``sorted`` or ``chain``.
    parents
        The tree.
    most
        The largest size; larger groups are counted as of this size.
    units
        ``public``, where groups of size 0 are counted, or ``private``.
    quantity
        What one person may add to a size.
    relation
        A person comes or goes, or is replaced by another one.
    """
    n = len(parents)
    leaves = [i for i in range(n) if i not in parents]
    sizes = sorted({*range(min(most, 3) + 1), most, max(0, most - min(quantity, most))})
    added = sorted({1, min(quantity, most), quantity})
    # One more person in a group of size s; others of the same region are smaller, between, or larger.
    joins = [
        (leaf, s, min(most, s + a), other)
        for leaf in leaves
        for s in sizes
        for a in added
        for other in sorted({0, s, min(most, s + a), most})
    ]
    found = set()
    changes = {join: _change(kind, parents, leaves, most, units, *join) for join in joins}
    if relation == "add-remove-person":
        found = {_summed(change) for change in changes.values()}
    else:
        # One leaves and another joins: of the same other groups, or in another region.
        for one, other in product(changes, repeat=2):
            back = tuple(tuple(-x for x in vector) for vector in changes[one])
            found.add(
                _summed(
                    tuple(
                        tuple(x + y for x, y in zip(a, b, strict=True))
                        for a, b in zip(back, changes[other], strict=True)
                    )
                )
            )
    return frozenset(found)


def _summed(change: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, int], ...]:
    return tuple((sum(map(abs, vector)), sum(x * x for x in vector)) for vector in change)


def _change(
    kind: str,
    parents: tuple[int, ...],
    leaves: list[int],
    most: int,
    units: str,
    leaf: int,
    before: int,
    after: int,
    other: int,
) -> tuple[tuple[int, ...], ...]:
    """Subtract what is measured before and after: one group of a region grows, another one beside it stays."""
    groups = {at: [other] for at in leaves}
    vectors = []
    for size in (before, after):
        held = {**groups, leaf: [*groups[leaf], size]}
        vectors.append(measured(kind, parents, held, most, units))
    return tuple(
        tuple(y - x for x, y in zip(a, b, strict=True)) for a, b in zip(*vectors, strict=True)
    )


def measured(
    kind: str, parents: tuple[int, ...], groups: dict[int, list[int]], most: int, units: str
) -> list[list[int]]:
    """Compute what is measured of every region, by definition."""
    n = len(parents)
    held: list[list[int]] = [list(groups.get(i, [])) for i in range(n)]
    for i in reversed(range(1, n)):
        held[parents[i]] += held[i]
    first = 0 if units == "public" else 1
    counted = [[min(most, s) for s in sizes if s >= first] for sizes in held]
    if kind == "survival":
        return [[sum(s >= t for s in sizes) for t in range(1, most + 1)] for sizes in counted]
    if kind == "direct":
        return [[sizes.count(t) for t in range(first, most + 1)] for sizes in counted]
    if kind == "sorted":
        return [sorted(sizes, reverse=True) for sizes in counted]
    if kind != "chain":
        raise KeyError(kind)
    depth = [0] * n
    for i in range(1, n):
        depth[i] = depth[parents[i]] + 1
    made: list[list[int]] = [[] for _ in range(n)]
    for level in set(depth):
        regions, total = [i for i in range(n) if depth[i] == level], 0
        for t in range(first, most + 1):
            for i in regions:
                total += counted[i].count(t)
                made[i].append(total)
    return made


def costs(
    kind: str,
    noise: str,
    parents: tuple[int, ...],
    most: int,
    units: str,
    quantity: int,
    relation: str,
    scales: list[Fraction | None],
) -> Fraction:
    """Find what the worst neighbor costs, each region with the scale of its own noise."""
    worst = Fraction(0)
    for change in moves(kind, parents, most, units, quantity, relation):
        cost = Fraction(0)
        for (absolute, squared), scale in zip(change, scales, strict=True):
            if scale is not None:
                cost += (
                    Fraction(absolute) / scale
                    if noise == "laplace"
                    else Fraction(squared) / (2 * scale)
                )
        worst = max(worst, cost)
    return worst


def depths(parents: Sequence[int]) -> list[int]:
    """Count the levels above each region."""
    depth = [0] * len(parents)
    for i in range(1, len(parents)):
        depth[i] = depth[parents[i]] + 1
    return depth


def _frame(record: dict[str, Any]) -> str:
    frame = record["frame"]
    whole, each = frame_hashes(frame)
    if whole != frame["digest"]:
        return "a frame with another hash"
    for public in record.get("provenance", {}).get("assumed_public", []):
        if each.get(public["name"], public["digest"]) != public["digest"]:
            return "public facts with another hash"
    return ""


def _rows(record: dict[str, Any], columns: dict[str, list[Any]], sizes: list[int]) -> str:
    """Compare the rows with the frame: each region, each size."""
    parents, labels = record["frame"]["parents"], record["frame"]["labels"]
    depth = depths(parents)
    place = [(at, size) for at in range(len(parents)) for size in sizes]
    told = list(zip(columns["level"], columns["size"], strict=True))
    if told != [(depth[at] + 1, size) for at, size in place]:
        return "rows of other regions and sizes"
    # A region is named by its path; the last part is its label.
    ends = [
        str(name).endswith(str(labels[at]))
        for (at, _), name in zip(place, columns["region"], strict=True)
    ]
    names = {at: name for (at, _), name in zip(place, columns["region"], strict=True)}
    same = all(names[at] == name for (at, _), name in zip(place, columns["region"], strict=True))
    return (
        ""
        if all(ends) and same and len({*names.values()}) == len(names)
        else "rows of other regions"
    )


def _pays(record: dict[str, Any], stated: dict[str, Any], scales: list[Fraction | None]) -> str:
    """Judge a guarantee by all neighbors."""
    frame, claim = record["frame"], record["guarantee"]
    kind, noise, relation = stated["kind"], stated["noise"], claim.get("neighbors")
    wanted = {"laplace": ("pure-dp", "epsilon"), "gaussian": ("zero-concentrated-dp", "rho")}
    if noise not in wanted or claim["kind"] != wanted[noise][0] or relation not in PERSONS:
        return "a guarantee of another kind than the noise has"
    if kind in {"sorted", "chain"} and frame["units"] != "public":
        return "counts that need public units"
    if any(scale is not None and scale <= 0 for scale in scales):
        return "noise without a scale"
    if not any(scale is not None for scale in scales):
        return "a claim without a measurement"
    parents, most = tuple(frame["parents"]), frame["max_size"]
    if most * len(parents) > MOST_CELLS or len(parents) > 8:
        return "beyond: more cells than neighbors are enumerated for"
    spent = costs(
        kind, noise, parents, most, frame["units"], frame["max_quantity"], relation, scales
    )
    claimed = number(claim[wanted[noise][1]])
    return f"a neighbor costs {spent}, and {claimed} is claimed" if spent > claimed else ""


def counts_are_false(path: Path, _: Any) -> str:
    """Say what is false in a table of counts."""
    record, columns = read(table_of(path))
    frame, origin = record["frame"], record["provenance"]
    stated = origin["parameters"]
    first = 0 if frame["units"] == "public" else 1
    sizes = list(range(first, frame["max_size"] + 1))
    found = _frame(record) or _rows(record, columns, sizes) or seeded(origin)
    if found:
        return found
    parents = frame["parents"]
    depth, inner = depths(parents), {*parents}
    scales = [
        _scale(stated["scale_by_level" if at in inner else "scale_of_leaves_by_level"][depth[at]])
        for at in range(len(parents))
    ]
    cells = [Fraction(x) for x in columns["count"]]
    table = [cells[at * len(sizes) : (at + 1) * len(sizes)] for at in range(len(parents))]
    for name, value in (("max_size", frame["max_size"]), ("units", frame["units"])):
        if stated[name] != value:
            return f"a record of another {name}"
    if (stated["neighbors"], stated["max_quantity"]) != (
        record["guarantee"]["neighbors"],
        frame["max_quantity"],
    ):
        return "a record of another relation or quantity"
    promises = stated.get("promises", list(PROMISES))
    if not any(one in PROMISES for one in promises):
        return "a record that promises nothing"
    return (
        _kept(table, parents, depth, promises, frame["group_totals"])
        or _followed(table, parents, scales, promises)
        or _pays(record, stated, scales)
    )


def _scale(text: object) -> Fraction | None:
    return None if text == "none" else number(text)


def _below(table: list[list[Fraction]], parents: list[int], at: int) -> list[Fraction]:
    children = [i for i in range(1, len(parents)) if parents[i] == at]
    return [sum((table[i][size] for i in children), Fraction(0)) for size in range(len(table[at]))]


def _room(table: list[list[Fraction]]) -> Fraction:
    whole = all(x.denominator == 1 for row in table for x in row)
    largest = max((abs(x) for row in table for x in row), default=Fraction(0))
    return (
        Fraction(0)
        if whole and largest < 1 << 53
        else Fraction(11, 10**10) * max(Fraction(1), largest)
    )


def _kept(
    table: list[list[Fraction]],
    parents: list[int],
    depth: list[int],
    promises: list[str],
    totals: list[int] | None,
) -> str:
    room = _room(table)
    if "integral" in promises and any(x.denominator != 1 for row in table for x in row):
        return "a count that is not whole"
    if "nonnegative" in promises and any(x < 0 for row in table for x in row):
        return "a count below zero"
    if "consistent" in promises:
        for at in {*parents[1:]}:
            off = [abs(x - y) for x, y in zip(table[at], _below(table, parents, at), strict=True)]
            if any(x > room for x in off):
                return "a sum that does not hold"
    if "faithful" in promises and totals is not None:
        leaves = [at for at in range(len(parents)) if at not in parents]
        for level in {*depth}:
            part = [
                at
                for at in range(len(parents))
                if depth[at] == level or (at in leaves and depth[at] < level)
            ]
            lacking = abs(sum((x for at in part for x in table[at]), Fraction(0)) - totals[0])
            if lacking > max(room, Fraction(11, 10**10) * totals[0] if room else Fraction(0)):
                return "a level that does not sum to the number of groups"
    return ""


def _followed(
    table: list[list[Fraction]],
    parents: list[int],
    scales: list[Fraction | None],
    promises: list[str],
) -> str:
    """Judge regions where nothing was measured."""
    for at, scale in enumerate(scales):
        if scale is not None:
            continue
        children = [i for i in range(1, len(parents)) if parents[i] == at]
        if not children:
            return "a lowest region that was not measured"
        room = _room(table)
        if "consistent" not in promises:
            room += Fraction(1 + len(children), 2)
        off = [abs(x - y) for x, y in zip(table[at], _below(table, parents, at), strict=True)]
        if any(x > room for x in off):
            return "counts that nothing measured"
    return ""


def measurements_are_false(path: Path, _: Any) -> str:
    """Say what is false in kept measurements."""
    record, columns = read(table_of(path))
    frame, made = record["frame"], record["measurement"]
    first = 1 if made["kind"] == "survival" or frame["units"] == "private" else 0
    sizes = list(range(first, frame["max_size"] + 1))
    found = _frame(record) or _rows(record, columns, sizes) or seeded(made)
    if found:
        return found
    scales = [None if scale is None else number(scale) for scale in made["scales"]]
    for at, scale in enumerate(scales):
        if scale is None and any(columns["noisy"][at * len(sizes) : (at + 1) * len(sizes)]):
            return "a value where nothing was measured"
    return _pays(record, made, scales)
