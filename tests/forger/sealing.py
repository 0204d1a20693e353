"""Put files together from parts, with hashes sealed anew: what an adversary does who knows the formats.

``parts`` of a zip are ``{"meta", "arrays"}``, of a table ``{"record", "columns"}``; the others are what their JSON is.
For every fifth number the hashes inside stay as they were, and only those of whole members are made right.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import sqlite3
import zipfile
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from forger.exactly import number as exact

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def keeps_hashes(number: int) -> bool:
    """Tell whether the hashes inside stay as they were."""
    return number % 5 == 4


def canonical(plain: object) -> bytes:
    """Write JSON in one way; where keys come twice they are not sorted."""
    try:
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except TypeError:
        text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def array_hash(array: np.ndarray[Any, Any]) -> str:
    """Hash an array: its shape, its type, its bytes with the little end first."""
    plain = np.ascontiguousarray(array)
    plain = plain.astype(plain.dtype.newbyteorder("<"))
    return hashlib.sha256(f"{plain.shape} {plain.dtype.str}".encode() + plain.tobytes()).hexdigest()


def space_hash(n: int, scale: int, unit: str, triangle: np.ndarray[Any, Any]) -> str:
    """Hash what a guarantee is bound to: unit, scale, and the matrix of distances."""
    table = np.zeros((n, n), dtype="<i8")
    table[np.triu_indices(n, 1)] = triangle
    head = json.dumps({"n": n, "scale_bits": scale, "unit": unit}, separators=(",", ":")).encode()
    body = (table + table.T).astype("<i8").tobytes()
    return hashlib.sha256(b"discreet space 1\n" + head + b"\n" + body).hexdigest()


# ------------------------------------------------------------------------------------------- zips


def unzipped(path: Path) -> dict[str, Any]:
    """Take an archive apart."""
    with zipfile.ZipFile(path) as archive:
        data = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(data.pop("meta.json"))
    meta.pop("members")
    arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(body)) for name, body in data.items()}
    return {"meta": meta, "arrays": arrays}


def sealed_zip(parts: Any, path: Path, number: int) -> None:
    """Put an archive together, the hash of the space and of public inputs made right where they can be."""
    meta, arrays = parts["meta"], parts["arrays"]
    if not keeps_hashes(number):
        meta = _restated(meta, arrays)
    data = {}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asarray(array), version=(1, 0), allow_pickle=False)
        data[f"{name}.npy"] = buffer.getvalue()
    members = {name: {"sha256": hashlib.sha256(body).hexdigest()} for name, body in data.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("meta.json", json.dumps({**meta, "members": members}))
        for name, body in data.items():
            archive.writestr(str(name), body)


def _restated(meta: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Copy the metadata with the hashes of what is there; as it is where it is too strange for that."""
    try:
        space = meta["space"]
        n = space["n"] if meta["kind"] == "anchored" else arrays["limbs"].shape[1]
        found = space_hash(n, space["scale_bits"], space["unit"], arrays["distances"])
        told = {"space": found}
        for name, member in (("utility_loss", "loss"), ("prior", "prior"), ("reports", "reports")):
            if member in arrays:
                # A negative zero is a zero, also in what is hashed.
                told[name] = array_hash(arrays[member] + 0)
        claim, origin = meta["guarantee"], meta["provenance"]
        public = [
            {**one, "digest": told.get(one["name"], one["digest"])}
            for one in origin["assumed_public"]
        ]
        made = {
            **meta,
            "space": {**space, "digest": found},
            "guarantee": {**claim, "scope": {**claim["scope"], "space": found}},
            "provenance": {**origin, "assumed_public": public},
        }
        if meta["kind"] == "anchored":
            made["channel"] = _channel_hash(meta, arrays, found)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return meta
    return made


def _channel_hash(meta: dict[str, Any], arrays: dict[str, Any], space: str) -> str:
    ball = [
        arrays.get(f"ball_{part}", np.zeros(0, "<i8")) for part in ("secrets", "reports", "weights")
    ]
    order = np.lexsort((ball[1], ball[0]))
    head = {
        "lift": meta["lift"],
        "rate": str(meta["rate"]),
        "reports": len(arrays["centers"]),
        "space": space,
    }
    text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    names = arrays.get("names", arrays["centers"])
    columns = [arrays["centers"], arrays["anchors"], names, *(part[order] for part in ball)]
    body = b"".join(np.asarray(part).astype("<i8").tobytes() for part in columns)
    return hashlib.sha256(b"discreet.anchored/1 " + text + b"\n" + body).hexdigest()


# ------------------------------------------------------------------------------------ mechanisms


def unpacked(stated: dict[str, Any]) -> list[int]:
    """Read an array of a mechanism, by the page that specifies it."""
    body, wide = base64.b64decode(stated["data"], validate=True), stated["bytes"]
    return [
        int.from_bytes(body[at : at + wide], "little") + stated["least"]
        for at in range(0, len(body), wide)
    ]


def packed(values: list[int]) -> dict[str, Any]:
    """Write an array of a mechanism."""
    least = min([0, *values])
    wide = max(1, -(-(max([0, *values]) - least).bit_length() // 8))
    body = b"".join((value - least).to_bytes(wide, "little") for value in values)
    data = base64.b64encode(body).decode()
    return {"count": len(values), "bytes": wide, "least": least, "data": data}


def sealed_mechanism(parts: Any, path: Path, number: int) -> None:
    """Write a mechanism as one line of canonical JSON with its own hash; lists of integers are packed."""
    plain = {
        name: packed(value)
        if isinstance(value, list) and all(type(x) is int for x in value)
        else value
        for name, value in parts.items()
        if name != "digest"
    }
    digest = hashlib.sha256(canonical(plain)).hexdigest()
    if keeps_hashes(number):
        digest = parts.get("digest", digest)
    path.write_bytes(canonical({**plain, "digest": digest}) + b"\n")


def sealed_noise(parts: Any, path: Path, number: int) -> None:
    """Write a mechanism for every point; its scope names its box as the region, but for every third number."""
    if number % 3 and not keeps_hashes(number):
        named = {name: parts[name] for name in ("unit", "origin", "east", "north", "reach")}
        (x, y), (wide, tall) = parts["low"], parts["cells"]
        right, top = x + wide * parts["side"], y + tall * parts["side"]
        named["outline"] = [[x, y], [right, y], [right, top], [x, top]]
        region = hashlib.sha256(b"discreet.points/1 " + canonical(named)).hexdigest()
        claim = parts["guarantee"]
        if "region" in claim["scope"]:
            claim = {**claim, "scope": {**claim["scope"], "region": region}}
        parts = {**parts, "guarantee": claim}
    # Packed are tables; pairs of numbers are not.
    pairs = {name: parts[name] for name in ("low", "cells", "torus") if name in parts}
    told = {name: tuple(pair) if isinstance(pair, list) else pair for name, pair in pairs.items()}
    sealed_mechanism({**parts, **told}, path, number)


# ---------------------------------------------------------------------------------------- tables


def frame_hashes(frame: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Hash the public facts of counts: all of them, and each that is assumed to be public."""
    named = hashlib.sha256("\n".join(map(repr, frame["labels"])).encode()).hexdigest()
    parents = array_hash(np.array(frame["parents"], dtype=np.int64))
    tree = hashlib.sha256(f"{named} {parents}".encode()).hexdigest()
    whole = [frame["max_size"], frame["units"], frame["max_quantity"], tree]
    bounds = f"{frame['max_size']} {frame['max_quantity']}"
    each = {"regions": tree, "max_size, max_quantity": hashlib.sha256(bounds.encode()).hexdigest()}
    if frame["group_totals"] is not None:
        each["units"] = array_hash(np.array(frame["group_totals"], dtype=np.int64))
        whole.append(each["units"])
    return hashlib.sha256("\n".join(map(str, whole)).encode()).hexdigest(), each


def table_frame_hashes(frame: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Hash the public facts of tables by region, as :func:`frame_hashes` does those of counts."""
    named = hashlib.sha256("\n".join(map(repr, frame["labels"])).encode()).hexdigest()
    parents = array_hash(np.array(frame["parents"], dtype=np.int64))
    # Whole numbers are categories as text.
    attributes = [
        (name, tuple(str(one) if type(one) is int else one for one in listed))
        for name, listed in frame["domain"]["attributes"]
    ]
    zeros = [
        sorted((name, tuple(listed)) for name, listed in zero.items())
        for zero in frame["domain"]["zeros"]
    ]
    each = {
        "regions": hashlib.sha256(f"{named} {parents}".encode()).hexdigest(),
        "domain": hashlib.sha256(repr((attributes, zeros)).encode()).hexdigest(),
        "max_rows": hashlib.sha256(f"{frame['max_rows']}".encode()).hexdigest(),
    }
    whole = [each["regions"], each["domain"], frame["max_rows"], frame["total"]]
    order = [name for name, _ in attributes]
    for name, parts in frame["shares"]:
        # The same marginal under any of its names.
        places = [*range(len(order))] if name == "cells" else []
        places = places or [order.index(one) for one in name.split(":") if name != "total"]
        own = ":".join(order[at] for at in sorted(places)) or "total"
        whole.append(f"{own} {' '.join(str(exact(part)) for part in parts)}")
    if frame["total"] is not None:
        each["total"] = hashlib.sha256(f"{frame['total']}".encode()).hexdigest()
    return hashlib.sha256("\n".join(map(str, whole)).encode()).hexdigest(), each


def table_of(path: Path) -> Path:
    """Give the table that :func:`sealed_table` wrote, whatever its suffix is."""
    return next(
        found for suffix in (".csv", ".parquet") if (found := path.with_suffix(suffix)).exists()
    )


def sealed_table(parts: Any, path: Path, number: int) -> None:
    """Write a table with its record beside it, under a name that ends in the suffix of the parts."""
    for suffix in (".csv", ".parquet"):
        path.with_suffix(suffix).unlink(missing_ok=True)
    record, columns, suffix = parts["record"], parts["columns"], parts["suffix"]
    if suffix not in {".csv", ".parquet"}:
        raise ValueError("no suffix of a table")
    try:
        table = pl.DataFrame({str(name): values for name, values in columns.items()}, strict=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError("no table") from error
    where = path.with_suffix(suffix)
    if suffix == ".csv":
        with where.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(table.columns)
            out.writerows(table.rows())
    else:
        try:
            table.write_parquet(where)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise ValueError("no table") from error
    if not keeps_hashes(number):
        record = _told_of(record, table)
    if isinstance(record, dict) and isinstance(record.get("table"), dict):
        digest = hashlib.sha256(where.read_bytes()).hexdigest()
        record = {**record, "table": {**record["table"], "sha256": digest}}
    text = json.dumps(record)
    where.with_name(f"{where.name}.discreet.json").write_text(text, encoding="utf-8")


def _told_of(record: Any, table: pl.DataFrame) -> Any:
    """State the columns and rows of a table, and the hashes of a frame, as they are."""
    try:
        types = {name: str(kind) for name, kind in table.schema.items()}
        made = {**record, "table": {**record["table"], "columns": types, "rows": table.height}}
        if "frame" in record:
            hashes = table_frame_hashes if "domain" in record["frame"] else frame_hashes
            whole, each = hashes(record["frame"])
            made["frame"] = {**record["frame"], "digest": whole}
            if "provenance" in record:
                origin = record["provenance"]
                public = [
                    {**one, "digest": each.get(one["name"], one["digest"])}
                    for one in origin["assumed_public"]
                ]
                made["provenance"] = {**origin, "assumed_public": public}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return record
    return made


# ---------------------------------------------------------------------------- texts and ledgers


def sealed_text(parts: Any, path: Path, _: int) -> None:
    """Write JSON."""
    path.write_text(json.dumps(parts), encoding="utf-8")


def sealed_state(parts: Any, path: Path, number: int) -> None:
    """Write what a client remembers, with its hash, for its owner alone."""
    made = {name: value for name, value in parts.items() if name != "digest"}
    try:
        text = json.dumps(made, sort_keys=True, separators=(",", ":"))
    except TypeError:
        # A key comes twice, and such keys have no order.
        text = json.dumps(made, separators=(",", ":"))
    digest = hashlib.sha256(b"discreet.state/1 " + text.encode()).hexdigest()
    if keeps_hashes(number):
        digest = parts.get("digest", digest)
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(json.dumps({**made, "digest": digest}, indent=1) + "\n", encoding="utf-8")


def sealed_ledger(empty: bytes) -> Callable[[Any, Path, int], None]:
    """Give what writes lines into a ledger, whose tables and triggers are those of `empty`."""

    def write(parts: Any, path: Path, number: int) -> None:
        path.write_bytes(empty)
        try:
            with closing(sqlite3.connect(path)) as db, db:
                # Nothing of this has to outlive the machine.
                db.execute("PRAGMA synchronous = OFF")
                _filled(db, parts, keep=keeps_hashes(number))
        except (sqlite3.Error, OverflowError) as error:
            raise ValueError("no line of a ledger") from error

    return write


def _filled(db: sqlite3.Connection, parts: Any, *, keep: bool) -> None:
    """Put lines in place of those that are there: triggers go first, and come back."""
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    for table in ("salts", "lines", "sqlite_sequence"):
        db.execute(f"DELETE FROM {table}")  # noqa: S608 - one of the three above
    before = parts["salt"]
    db.execute("INSERT INTO salts VALUES (?)", (before,))
    for at, (kind, dataset, claim, made, stated) in enumerate(parts["lines"], start=1):
        text = json.dumps(claim, sort_keys=True) if isinstance(claim, dict) else claim
        line = json.dumps([before, kind, dataset, text, made]).encode()
        before = stated if keep else hashlib.sha256(line).hexdigest()
        db.execute(
            "INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?)", (at, kind, dataset, text, made, before)
        )
    for _, text in triggers:
        db.execute(text)
