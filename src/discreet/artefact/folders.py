"""An anonymized table in a folder of parts, with one record of them all: ``discreet.json``.

The record holds the guarantee, the certificate, how the table was made, and the SHA-256 of each part. It is written
last, before the whole folder is renamed, so that a folder without it is none of ours.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artefact.anonymous import ANONYMOUS, AnonymousTable, meta_of, table_of
from discreet.artefact.layout import FORMAT, head, read_json
from discreet.artefact.sidecar import digest_of
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.models import Closeness, DistinctDiversity
from discreet.kanonymity.problem.native import values_of_column
from discreet.tables.dialect import stored_file
from discreet.tables.parsing import reader_errors, scan

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.core.guarantee import KAnonymity
    from discreet.core.outcome import Anonymization
    from discreet.kanonymity.models import PrivacyModel
    from discreet.kanonymity.problem import Attribute
    from discreet.kanonymity.problem.native import Values

RECORD = "discreet.json"
"""Name of the record."""

ROWS = "discreet rows"
"""Column of our own: how many rows a group has."""


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a folder has a record of ours."""
    with suppress(OSError, ValueError):
        return Path(path, RECORD).is_file()
    # Of a name that no file can have.
    return False


def record_of(
    made: Anonymization[Path, Any],
    attributes: Sequence[Attribute],
    digests: Mapping[str, str],
    rows: int,
    columns: Mapping[str, str],
) -> bytes:
    """Render the record of a folder as the bytes of ``discreet.json``; nothing is written.

    Raises InvalidProblemError for a certificate that failed.

    Parameters
    ----------
    made
        The anonymization.
    attributes
        How cells of the quasi-identifiers are read.
    digests
        Name of each part and its SHA-256.
    rows
        Of all parts.
    columns
        Their columns and the names of their types.
    """
    table = {"parts": dict(digests), "rows": rows, "columns": dict(columns)}
    stated = {**head(ANONYMOUS), "table": table, **meta_of(made, attributes)}
    return (json.dumps(stated, indent=1) + "\n").encode()


def load_folder(path: str | os.PathLike[str]) -> AnonymousTable:
    """Read the record of a folder, and compare its parts with it: `altered` of the result tells whether they differ.

    A part too few or too many counts as a difference. Reads every part for its hash; an OSError of a part is raised
    as it is.

    Raises
    ------
    InvalidProblemError
        For a record that cannot be read, or without parts.
    """
    where = Path(path)
    expected = f"a folder with a whole {RECORD} of an anonymized table"
    try:
        meta = read_json(stored_file(where / RECORD).read_bytes())
    except (OSError, ValueError):
        raise InvalidProblemError("path", expected, str(path)) from None
    if meta.get("kind") != ANONYMOUS or meta.get("format") != FORMAT:
        raise InvalidProblemError("path", expected, repr(meta.get("kind")))
    stated = meta.get("table", {})
    parts = stated.get("parts") if isinstance(stated, dict) else None
    if not isinstance(parts, dict) or not parts:
        raise InvalidProblemError("path", expected, "one without parts")
    names = {one.name for one in where.iterdir() if one.name != RECORD}
    altered = names != set(parts)
    for name in sorted(names & set(parts)):
        if not (where / name).is_file():
            altered = True
            continue
        altered |= digest_of(where / name) != parts[name]
    return table_of(meta, altered=altered, path=path)


SAME = "parts with the same columns and types; write those that differ again"
READABLE = "parts that can be read; copy or write that file again"
"""What is expected of the files of a folder."""


def parts_of(path: str | os.PathLike[str], argument: str) -> tuple[Path, ...]:
    """List the tables of a folder: all of one kind, in the order of their names.

    The record is left out; `argument` names the folder in messages. Raises OSError for a path that is no folder.

    Raises
    ------
    InvalidProblemError
        For a folder without tables, or with other files or tables of two kinds.
    """
    files = sorted(one for one in Path(path).iterdir() if one.name != RECORD)
    kinds = {one.suffix.lower() for one in files}
    if len(kinds) != 1 or not kinds <= {".csv", ".parquet"} or not all(map(Path.is_file, files)):
        expected = "a folder of parts that all end in .csv, or all in .parquet, and nothing else"
        raise InvalidProblemError(argument, expected, str(path))
    return tuple(files)


def count_folder(
    path: str | os.PathLike[str],
    guarantee: KAnonymity,
    models: Mapping[str, Sequence[PrivacyModel]],
    argument: str = "path",
) -> tuple[Certificate, dict[str, int]]:
    """Count the classes of a folder of published parts, by groups that are formed where the rows are.

    The keys of the second result are ``"rows"``, ``"classes"`` and ``"smallest_class"``. One grouping of the table,
    and one more for each model. Raises InvalidProblemError for parts that cannot be read, columns that are not there,
    or no rows; a check that fails is in the certificate.

    Parameters
    ----------
    path
        The folder, or a file.
    guarantee
        k and the quasi-identifiers.
    models
        What each class must hold in sensitive columns.
    argument
        What the caller calls the folder.

    Returns
    -------
    certificate
        Its checks.
    found
        Rows, classes, and rows in the smallest class.
    """
    import polars as pl

    names = list(guarantee.quasi_identifiers)
    parts = parts_of(path, argument) if Path(path).is_dir() else (Path(path),)
    try:
        table = pl.concat(map(_scanned, parts))
        known = table.collect_schema().names()
        for name in [*names, *models]:
            if name not in known:
                raise InvalidProblemError(argument, "a table with the columns named", repr(name))
        sizes = table.group_by(names).len(ROWS).select(ROWS).collect(engine="streaming")[ROWS]
        least = int(sizes.to_numpy().min()) if len(sizes) else 0
        class_summary = f"{len(sizes)} classes, the smallest of {least} rows"
        small = int((sizes < guarantee.k).sum())
        smaller = Check("classes smaller than k", small, 0, exact=True, detail=class_summary)
        checks = [smaller]
        for name, column_models in models.items():
            checks += [_judged(table, names, name, model) for model in column_models]
    except reader_errors(OSError):
        raise _why_not_counted(parts, argument) from None
    if not len(sizes):
        raise InvalidProblemError(argument, "a table with rows", "none")
    counted = {"rows": int(sizes.sum()), "classes": len(sizes), "smallest_class": least}
    return Certificate(tuple(checks)), counted


def _scanned(part: Path) -> pl.LazyFrame:
    """Scan a part lazily, CSV or Parquet."""
    return scan(part, "," if part.suffix.lower() == ".csv" else "")


def _why_not_counted(parts: Sequence[Path], argument: str) -> InvalidProblemError:
    """Return a refusal that names, by its number from 1, the part that cannot be read, or whose columns are others.

    Reads the schemas of the parts only.
    """
    schema = None
    for number, part in enumerate(parts, 1):
        try:
            part_schema = _scanned(part).collect_schema()
        except reader_errors(OSError):
            got = f"one that cannot, file {number}"
            return InvalidProblemError(argument, READABLE, got)
        if schema is not None and part_schema != schema:
            return InvalidProblemError(argument, SAME, f"others in file {number} of the folder")
        schema = part_schema
    return InvalidProblemError(argument, READABLE, "one that cannot")


def _judged(table: pl.LazyFrame, quasi: list[str], name: str, model: PrivacyModel) -> Check:
    """Return the check of one model on column `name`: the number of classes, of rows equal in `quasi`, that fail it.

    Of codings as stored and by text the worse one counts. One grouping of the table.
    """
    import polars as pl

    pairs = table.group_by([*quasi, name]).len(ROWS).collect(engine="streaming")
    labels = pairs.select(pl.struct(quasi).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    rows, failing = pairs[ROWS].to_numpy().astype(np.int64), 0
    values = values_of_column(pairs[name], name)
    if isinstance(model, DistinctDiversity):
        codes = values.meaning_codes()[values.codes]
        failing = failing_of(model, labels, codes, rows, ())
        return Check(f"classes that fail {model!r} in {name}", failing, 0, exact=True)
    if isinstance(model, Closeness) and model.ordered:
        values = values.in_order(model.order, name)
    for each in codings(values):
        codes = each[values.codes]
        totals = np.zeros(int(each.max()) + 1, dtype=np.int64)
        np.add.at(totals, codes, rows)
        failing = max(failing, failing_of(model, labels, codes, rows, tuple(totals.tolist())))
    return Check(f"classes that fail {model!r} in {name}", failing, 0, exact=True)


def codings(values: Values) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the different values of a column in their order.

    ``(codes as stored, codes by text)``, ``(n_values,)`` each. In the second, equal texts have one code. Whether that
    makes a class better or worse depends on the model, so both are judged. A sort of the values.
    """
    order = sorted(range(len(values.values)), key=values.ranks.__getitem__)
    stored = np.empty(len(order), dtype=np.int64)
    stored[order] = np.arange(len(order))
    first: dict[str, int] = {}
    for value in order:
        first.setdefault(values.texts[value], len(first))
    return stored, np.array([first[text] for text in values.texts], dtype=np.int64)


def failing_of(
    model: PrivacyModel,
    labels: NDArray[np.int64],
    codes: NDArray[np.int64],
    rows: NDArray[np.int64],
    whole: tuple[int, ...],
    *,
    max_counts: int = 2_000_000,
) -> int:
    """Count the classes that fail a model.

    Returns the number of classes. A sort of the pairs, and tables of `max_counts` entries.

    Parameters
    ----------
    model
        The model.
    labels, codes, rows
        ``(pairs,)`` pairs of a class 0, 1, ... and a value, and how many rows have both. For distinct diversity a
        missing value is -1.
    whole
        Rows of the table with each value.
    max_counts
        Counts of a class and a value that are in memory at a time: 16 MB.

    Examples
    --------
    >>> from discreet.kanonymity.models import DistinctDiversity
    >>> failing_of(DistinctDiversity(2), np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1, 1, 5]), (1, 6))
    1
    """
    if isinstance(model, DistinctDiversity):
        # A column of persons has too many values for a table of them.
        pairs = np.unique(np.stack([labels, codes])[:, codes >= 0], axis=1)[0]
        values = np.bincount(pairs, minlength=int(labels.max(initial=-1)) + 1)
        return int((np.maximum(1, values) < model.l).sum())
    judge = replace(model, whole=whole) if isinstance(model, Closeness) else model
    order = np.argsort(labels, kind="stable")
    labels, codes, rows = labels[order], codes[order], rows[order]
    classes, width = int(labels.max(initial=-1)) + 1, len(whole)
    step, failing = max(1, max_counts // width), 0
    for low in range(0, classes, step):
        begin, end = np.searchsorted(labels, [low, low + step])
        table = np.zeros((min(step, classes - low), width), dtype=np.int64)
        np.add.at(table, (labels[begin:end] - low, codes[begin:end]), rows[begin:end])
        failing += int(judge.failing(table).sum())
    return failing
