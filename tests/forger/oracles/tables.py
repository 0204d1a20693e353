"""What an anonymized table states, counted cell by cell.

**An anonymized table is false** when one of these does not hold:

- each combination of the cells of the stated quasi-identifiers, as they are stored, stands in k rows or more: a file
  that shows a difference between two cells lets an adversary use it (bits of floats, nanoseconds, a missing value
  beside an empty text, an integer beside a float in another column of the same name);
- each class has the stated models of privacy, by their definitions in fractions, whether values with one text are taken
  as one or apart;
- the bytes are those whose hash the record holds, and nothing was made with a seed.

Cells of types that Arrow gives in no Python value of their own are beyond the oracle.
"""

from __future__ import annotations

import csv
import hashlib
import json
import struct
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from forger.exactly import as_decimal, common, number, seeded
from forger.oracles.channels import once
from forger.sealing import table_of

if TYPE_CHECKING:
    from pathlib import Path


def table_is_false(path: Path, _: Any) -> str:
    """Say what is false in an anonymized table, of Parquet or of text."""
    where = table_of(path)
    if where.suffix == ".csv":
        with where.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        return _false(where, {name: [row[at] for row in rows] for at, name in enumerate(head)})
    table = pq.read_table(where)
    columns = {}
    for name in table.column_names:
        try:
            columns[name] = _stored(table.column(name))
        except (pa.ArrowException, NotImplementedError, ValueError):
            return f"beyond: a column of {table.schema.field(name).type}"
    return _false(where, columns)


def _stored(column: Any) -> list[Any]:
    """Give each cell as something that is equal for the same bits alone."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_floating(kind):
        return [None if x is None else struct.pack("<d", x) for x in column.to_pylist()]
    if pa.types.is_temporal(kind):
        wide = pa.int64() if kind.bit_width == 64 else pa.int32()
        return list(column.cast(wide).to_pylist())
    return [(type(x).__name__, x) if isinstance(x, bool) else x for x in column.to_pylist()]


def _false(where: Path, columns: dict[str, list[Any]]) -> str:
    text = where.with_name(f"{where.name}.discreet.json").read_text(encoding="utf-8")
    record = json.loads(text, object_pairs_hook=once)
    claim = record["guarantee"]
    if hashlib.sha256(where.read_bytes()).hexdigest() != record["table"]["sha256"]:
        return "other bytes than those that were written"
    names = claim["quasi_identifiers"]
    if (
        claim["kind"] != "k-anonymity"
        or not isinstance(claim["k"], int)
        or isinstance(claim["k"], bool)
    ):
        return "no claim of k-anonymity"
    classes: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row, cells in enumerate(zip(*(columns[name] for name in names), strict=True)):
        classes[cells].append(row)
    if min(map(len, classes.values())) < claim["k"] or claim["k"] < 2:
        return f"a class of fewer than {claim['k']} rows"
    stated = record["provenance"]["parameters"].get("models", [])
    with common():
        for model in stated:
            found = _breaks(model, columns, [*classes.values()])
            if found:
                return found
    return seeded(record["provenance"])


def _breaks(model: str, columns: dict[str, list[Any]], classes: list[list[int]]) -> str:
    """Judge one model on the values as they are stored."""
    name, _, demand = model.rpartition("=")
    kind, _, numbers = demand.partition(":")
    kind, asked = kind.strip(), [number(text) for text in numbers.split(",")]
    values = columns[name.strip()]
    whole = Counter(values)
    counted = [Counter(values[row] for row in rows) for rows in classes]
    if any(isinstance(value, bytes) or value is None or value == "" for value in whole):
        return "" if kind != "distinct" else _few(counted, asked[0], model)
    broken: Any = {
        "distinct": lambda c: len(c) < asked[0],
        "entropy": lambda c: _entropy(c) < as_decimal(asked[0]).ln() - Decimal("1e-45"),
        "recursive": lambda c: _recursive(c, asked[0], int(asked[1])),
        "alpha": lambda c: max(c.values()) > asked[0] * sum(c.values()),
        "closeness": lambda c: _apart(c, whole) > asked[0],
        "ordered-closeness": lambda c: _moved(c, whole) > asked[0],
    }[kind]
    return f"a class that fails {model}" if any(broken(counts) for counts in counted) else ""


def _few(counted: list[Counter[Any]], least: Fraction, model: str) -> str:
    return f"a class that fails {model}" if any(len(counts) < least for counts in counted) else ""


def _entropy(counts: Counter[Any]) -> Decimal:
    n = Decimal(sum(counts.values()))
    return sum((-(Decimal(c) / n) * (Decimal(c) / n).ln() for c in counts.values()), Decimal(0))


def _recursive(counts: Counter[Any], times: Fraction, least: int) -> bool:
    falling = sorted(counts.values(), reverse=True)
    return falling[0] >= times * sum(falling[least - 1 :])


def _apart(counts: Counter[Any], whole: Counter[Any]) -> Fraction:
    n, N = sum(counts.values()), sum(whole.values())
    return (
        sum((abs(Fraction(counts[v], n) - Fraction(whole[v], N)) for v in whole), Fraction(0)) / 2
    )


def _moved(counts: Counter[Any], whole: Counter[Any]) -> Fraction:
    """Move earth along the order of the values: numbers by size, then text."""

    def place(value: Any) -> tuple[int, Any, str]:
        try:
            return 0, number(str(value)), str(value)
        except (ValueError, ZeroDivisionError):
            return 1, 0, str(value)

    n, N, carried, total = sum(counts.values()), sum(whole.values()), Fraction(0), Fraction(0)
    order = sorted(whole, key=place)
    for value in order[:-1]:
        carried += Fraction(counts[value], n) - Fraction(whole[value], N)
        total += abs(carried)
    return total / max(1, len(order) - 1)
