"""Tables larger than memory: files in, an anonymized file out, with its audit beside it.

In memory stand four bytes for each row and quasi-identifier, and the classes. The rows themselves pass by twice: once
for their codes, and once to be written. What is written is in the order of keys of 128 bits from the operating system,
over the whole table: rows are dealt to files by the first bits of their keys, and each file is sorted. The order of
parts, which would tell of ranks, leaves no trace.
"""

from __future__ import annotations

import math
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import narwhals as nw
import numpy as np

from discreet.artefact._anonymous import describe_anonymous
from discreet.artefact._cells import first_ragged
from discreet.artefact._spill import spill_room
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import Anonymization, Provenance
from discreet.core.randomness import SystemBits, is_private
from discreet.kanonymity.bound import nearest_bound
from discreet.kanonymity.candidate import Limits
from discreet.kanonymity.problem import Problem
from discreet.kanonymity.streaming import ROWS, Parts

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    import polars as pl
    from numpy.typing import NDArray

    from discreet.core.guarantee import KAnonymity
    from discreet.core.randomness import RandomBits
    from discreet.kanonymity.candidate import Method
    from discreet.kanonymity.problem import Attribute

__all__ = ["FileDiagnostics", "anonymize_file", "audit_file"]

BATCH = 200_000
"""Rows that pass by at once."""

BUCKET = 1_000_000
"""Rows that are sorted at once."""

BOUND_SECONDS = 20.0
"""Most seconds for the lower bound where there is no time limit."""


@final
@dataclass(frozen=True)
class FileDiagnostics:
    """What only the curator should see: computed from the original file.

    Parameters
    ----------
    information_loss, mean_loss, lower
        As of :func:`discreet.kanonymity.anonymize`.
    rows, classes, smallest_class
        Of the published file.
    seconds
        Wall-clock time.
    """

    information_loss: float
    mean_loss: float
    lower: float
    rows: int
    classes: int
    smallest_class: int
    seconds: float

    @property
    def gap(self) -> float:
        """``(information_loss - lower) / information_loss``."""
        over = self.information_loss - self.lower
        return 0.0 if over <= 0 else over / self.information_loss


def anonymize_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    guarantee: KAnonymity,
    *,
    attributes: Sequence[Attribute],
    loss: str = "ncp",
    rows_of_part: int = ROWS,
    inner: Method | None = None,
    executor: Executor | None = None,
    time_limit: float | None = None,
    separator: str = ",",
    spill: str | os.PathLike[str] | None = None,
    bits: RandomBits | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Anonymization[Path, FileDiagnostics]:
    """Anonymize a CSV or Parquet file that need not fit into memory.

    Parameters
    ----------
    source, target
        Files that end in ``.csv`` or ``.parquet``; both may be of either kind.
    guarantee
        k and the quasi-identifiers.
    attributes
        The kind of each quasi-identifier.
    loss
        As of :class:`discreet.kanonymity.Problem`.
    rows_of_part, inner, executor
        As of :class:`discreet.kanonymity.streaming.Parts`.
    time_limit
        Seconds for the search.
    separator
        Between the cells of a CSV source.
    spill
        Folder for rows on their way; that of `target` unless told. **A folder in it holds private rows** until the end,
        readable for the owner alone. One that a killed run left is removed by the next run there.
    bits
        Where the keys of the shuffle come from.
    on_progress
        Called with a sentence before each step.

    Returns
    -------
    Anonymization
        `target`, with ``FILE.discreet.json`` beside it.

    Raises
    ------
    InvalidProblemError
        For files or columns that cannot be read, rows with other than as many cells as there are names, or values that
        do not fit their attributes.
    InfeasibleError
        When there are fewer than k rows.
    CertificateError
        When a class of the published file is smaller than k: a bug, and the file is removed.

    Guarantee
    ---------
    As of :func:`discreet.kanonymity.anonymize`, counted on the published file.
    """
    began = time.monotonic()
    told = on_progress or _nothing
    names = guarantee.quasi_identifiers
    where = Path(target)
    if (
        where.suffix.lower() not in (".csv", ".parquet")
        or where.resolve() == Path(source).resolve()
    ):
        raise InvalidProblemError(
            "target", "another file that ends in .csv or .parquet", str(target)
        )
    if sorted(attribute.name for attribute in attributes) != sorted(names):
        raise InvalidProblemError("attributes", "one for each quasi-identifier", len(attributes))
    _check_rows(source, separator)
    told("Reading codes")
    problem = _coded(_scan(source, separator), names, attributes, loss)
    told(f"Solving parts of {rows_of_part} rows")
    limits = Limits.within(time_limit)
    labels = Parts(rows_of_part, inner, executor).solve(problem, guarantee.k, limits).labels
    lost = problem.loss_of(labels)
    seconds = BOUND_SECONDS if time_limit is None else time_limit / 10
    lower = min(lost, nearest_bound(problem, guarantee.k, Limits.within(seconds)))
    cells = _published(problem, labels)
    cost, n = problem.suppressed_cost * problem.n, problem.n
    del problem
    told("Writing rows in the order of random keys")
    folder = Path(spill) if spill is not None else where.absolute().parent
    with spill_room(folder) as room:
        name = f".{where.name}.{secrets.token_hex(4)}.part{where.suffix}"
        # In the room, so that nothing outside of it is left if the run is killed; elsewhere it could not be renamed.
        beside = room / name if spill is None else where.with_name(name)
        try:
            files = _deal(_scan(source, separator), labels, cells, room, bits or SystemBits())
            _join(files, beside)
            told("Counting the classes of what was written")
            classes, smallest, rows, schema = audit_file(beside, names)
            checks = (
                Check("classes smaller than k", int(smallest < guarantee.k), 0, exact=True),
                Check("rows that were lost", n - rows, 0, exact=True),
            )
            certificate = Certificate(checks)
            certificate.raise_for_failure()
            beside.replace(where)
        finally:
            beside.unlink(missing_ok=True)
    stated = {"k": guarantee.k, "loss": loss, "method": "parts", "rows": "shuffled"}
    made = Anonymization(
        where,
        guarantee,
        certificate,
        Provenance("anonymize", stated, seeded=not is_private(bits)),
        FileDiagnostics(
            lost,
            lost / cost if cost else 0.0,
            lower,
            rows,
            classes,
            smallest,
            time.monotonic() - began,
        ),
    )
    describe_anonymous(made, schema, rows, attributes)
    return made


def audit_file(
    path: str | os.PathLike[str], names: Sequence[str]
) -> tuple[int, int, int, dict[str, str]]:
    """Count the classes of a published file by a streaming group-by.

    Parameters
    ----------
    path
        A file that this library wrote: commas in CSV.
    names
        The quasi-identifiers.

    Returns
    -------
    classes, smallest, rows : int
        Number of classes, rows in the smallest, rows in all.
    schema : dict
        Columns and the names of their types.
    """
    import polars as pl

    table = _scan(path, ",")
    schema = {name: str(kind) for name, kind in table.collect_schema().items()}
    for name in names:
        if name not in schema:
            raise InvalidProblemError("quasi_identifiers", "columns of the table", repr(name))
    counted = (
        table.with_columns(pl.col(name).cast(pl.String).fill_null("") for name in names)
        .group_by(names)
        .len("rows")
        .select(
            pl.len().alias("classes"), pl.col("rows").min().alias("least"), pl.col("rows").sum()
        )
        .collect(engine="streaming")
    )
    classes, least, rows = counted.row(0)
    return int(classes), int(least or 0), int(rows), schema


def _check_rows(source: str | os.PathLike[str], separator: str) -> None:
    where = Path(source)
    if where.suffix.lower() == ".parquet" or not where.is_file():
        return
    try:
        found = first_ragged(where, separator)
    except UnicodeDecodeError:
        raise InvalidProblemError("source", "text in UTF-8", str(source)) from None
    if found:
        expected = "as many cells in each row as in the first line"
        raise InvalidProblemError("source", expected, f"{source} with {found}")


def _nothing(sentence: str) -> None:
    """Tell nobody."""
    del sentence


def _scan(path: str | os.PathLike[str], separator: str) -> pl.LazyFrame:
    import polars as pl

    where = Path(path)
    if where.suffix.lower() not in (".csv", ".tsv", ".parquet") or not where.is_file():
        raise InvalidProblemError("source", "a file that ends in .csv or .parquet", str(path))
    if where.suffix.lower() == ".parquet":
        return pl.scan_parquet(where, glob=False)
    return pl.scan_csv(where, separator=separator, infer_schema=False, glob=False)


def _coded(
    table: pl.LazyFrame, names: Sequence[str], attributes: Sequence[Attribute], loss: str
) -> Problem:
    """Number the values of each column, and then its rows."""
    import polars as pl

    from discreet.kanonymity._tables import values_of
    from discreet.kanonymity.problem.column import code_column

    known = table.collect_schema().names()
    stated = {attribute.name: attribute for attribute in attributes}
    columns, number = [], {}
    for name in names:
        if name not in known:
            raise InvalidProblemError("quasi_identifiers", "columns of the table", repr(name))
        values = table.select(pl.col(name).unique()).collect(engine="streaming")[name]
        plain = values_of(nw.from_native(values, series_only=True), stated[name])
        column, codes = code_column(stated[name], plain, loss)
        columns.append(column)
        number[name] = (values, pl.Series(codes, dtype=pl.Int32))
    numbered = table.select(
        pl.col(name).replace_strict(old, new, return_dtype=pl.Int32)
        for name, (old, new) in number.items()
    )
    parts = [batch.to_numpy() for batch in numbered.collect_batches(chunk_size=BATCH)]
    codes = np.concatenate(parts) if parts else np.zeros((0, len(names)), np.int32)
    return Problem(tuple(columns), codes, loss)


def _published(problem: Problem, labels: NDArray[np.int32]) -> dict[str, pl.Series]:
    """Give what each class publishes, column by column."""
    import polars as pl

    from discreet.kanonymity._tables import cells_of

    return {
        column.name: pl.Series(column.name, cells_of(problem, labels, j), dtype=pl.String)
        for j, column in enumerate(problem.columns)
    }


def _deal(
    table: pl.LazyFrame,
    labels: NDArray[np.int32],
    cells: Mapping[str, pl.Series],
    room: Path,
    bits: RandomBits,
) -> list[Path]:
    """Write generalized rows to files by the first bits of their keys, and sort each file."""
    import polars as pl

    wide = math.ceil(math.log2(max(1.0, len(labels) / BUCKET)))
    at = 0
    dictionaries = [
        name for name, kind in table.collect_schema().items() if isinstance(kind, pl.Categorical)
    ]
    plain = table.with_columns(pl.col(name).cast(pl.String) for name in dictionaries)
    pieces: dict[int, list[Path]] = {bucket: [] for bucket in range(2**wide)}
    for turn, batch in enumerate(plain.collect_batches(chunk_size=BATCH)):
        label = labels[at : at + batch.height]
        at += batch.height
        high = bits.randranges(2**64, batch.height)
        low = bits.randranges(2**64, batch.height)
        bucket = (
            (high >> np.uint64(64 - wide)).astype(np.int64) if wide else np.zeros(len(high), int)
        )
        made = batch.with_columns(series.gather(label) for series in cells.values())
        keyed = made.with_columns(_keys(made.columns, bucket, high, low))
        for part in keyed.partition_by(keyed.columns[-3]):
            number = int(part[part.columns[-3]][0])
            pieces[number].append(room / f"{number}-{turn}.parquet")
            part.write_parquet(pieces[number][-1], compression="lz4")
    return [_sorted(files, room / f"{number}.parquet") for number, files in pieces.items() if files]


def _keys(
    names: Sequence[str], bucket: NDArray[np.int64], high: NDArray[Any], low: NDArray[Any]
) -> list[pl.Series]:
    """Name three columns as no other is named."""
    import polars as pl

    free = "key"
    while any(name.startswith(free) for name in names):
        free += "_"
    return [
        pl.Series(f"{free}0", bucket),
        pl.Series(f"{free}1", high, dtype=pl.UInt64),
        pl.Series(f"{free}2", low, dtype=pl.UInt64),
    ]


def _sorted(files: list[Path], into: Path) -> Path:
    import polars as pl

    rows = pl.concat([pl.read_parquet(file, glob=False) for file in files])
    for file in files:
        file.unlink()
    keys = rows.columns[-3:]
    rows.sort(keys[1:]).drop(keys).write_parquet(into, compression="lz4")
    return into


def _join(files: Sequence[Path], target: Path) -> None:
    """Write one file after the other; a Parquet file gets row groups and dictionaries of its own."""
    import polars as pl

    table = pl.scan_parquet(list(files), glob=False)
    if target.suffix.lower() == ".csv":
        table.sink_csv(target)
    else:
        table.sink_parquet(target, statistics=False)
