"""Tables larger than memory: files in, an anonymized file out, with its audit beside it.

In memory stand four bytes for each row and quasi-identifier, and the classes. The rows themselves pass by twice: once
for their codes, and once to be written. What is written is in the order of keys of 128 bits from the operating system,
over the whole table: rows are dealt to files by the first bits of their keys, and each file is sorted.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import narwhals as nw
import numpy as np

from discreet.artefact.anonymous import place_anonymous
from discreet.artefact.placing import beside
from discreet.artefact.placing import keep as keep_modes
from discreet.artefact.rooms import make_private, private_room
from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import Anonymization, Provenance
from discreet.core.randomness import SystemBits, is_private
from discreet.kanonymity.candidate import SearchInterrupted
from discreet.kanonymity.problem import Problem
from discreet.kanonymity.search.search import search
from discreet.tables.dialect import first_ragged
from discreet.tables.parsing import scan
from discreet.tables.roles import Given, assign_roles, look_of
from discreet.tables.writing import BATCH, write_shuffled

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.core.guarantee import KAnonymity
    from discreet.core.randomness import RandomBits
    from discreet.kanonymity.candidate import Method
    from discreet.kanonymity.problem import Attribute
    from discreet.tables.looks import Look
    from discreet.tables.roles import AssignedRoles

__all__ = ["FileDiagnostics", "anonymize_file", "audit_file", "file_roles"]

_LOOKED_AT = 20_000
"""Rows by which a column is looked at."""


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
    search_seconds
        Wall-clock time of the search in it, which a time limit is for.
    method
        The method that found it.
    """

    information_loss: float
    mean_loss: float
    lower: float
    rows: int
    classes: int
    smallest_class: int
    seconds: float
    search_seconds: float = 0.0
    method: str = ""

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
    method: Method | str | None = None,
    effort: str | None = None,
    time_limit: float | None = None,
    threads: int = 1,
    separator: str = ",",
    spill: str | os.PathLike[str] | None = None,
    sensitive: Sequence[str] = (),
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    unassigned: str | None = None,
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
    method, effort, threads
        As of :func:`discreet.kanonymity.search.search.search`.
    time_limit
        Seconds for the search, bound and all: reading, writing and counting come on top.
    separator
        Between the cells of a CSV source.
    spill
        Folder for rows on their way; default: that of `target`. **A folder in it holds private rows** until the end,
        readable for the owner alone. One that a killed run left is removed by the next run there.
    sensitive, keep, drop, unassigned
        Roles of other columns, as of :func:`discreet.kanonymity.anonymize`; a column of no role is refused.
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
    SearchInterrupted
        On Ctrl-C during the search, once what it had was written: ``best`` is the anonymization.

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
    given = Given(names, sensitive, keep, drop, unassigned=unassigned)
    roles = file_roles(_scan(source, separator), given)
    told("Reading codes")
    problem = _coded(_scan(source, separator), names, attributes, loss)
    told("Searching")
    stopped = False
    try:
        found = search(
            problem,
            guarantee.k,
            method=method,
            effort=effort,
            time_limit=time_limit,
            threads=threads,
        )
    except SearchInterrupted as interrupt:
        # Ctrl-C ends the search; what was found is written. Once more, and nothing is.
        if interrupt.best is None:
            raise
        found, stopped = interrupt.best, True
    labels, lost, lower = found.labels, found.loss, found.lower
    cells = _published(problem, labels)
    cost, n = problem.suppressed_cost * problem.n, problem.n
    del problem
    told("Writing rows in the order of random keys")
    with ExitStack() as rooms:
        new = rooms.enter_context(beside(where))
        # What is published is renamed on its own disk; the rows on their way may need more room.
        room = new.parent if spill is None else rooms.enter_context(private_room(Path(spill)))
        table = _scan(source, separator).drop(roles.drop)
        source_of_keys = bits or SystemBits()
        write_shuffled(
            table, labels, cells, new, bits=source_of_keys, room=room, private=make_private
        )
        keep_modes(new)
        told("Counting the classes of what was written")
        classes, smallest, rows, schema = audit_file(new, names)
        checks = (
            Check("classes smaller than k", int(smallest < guarantee.k), 0, exact=True),
            Check("rows that were lost", n - rows, 0, exact=True),
        )
        certificate = Certificate(checks)
        certificate.raise_for_failure()
        stated = {
            "k": guarantee.k,
            "loss": loss,
            "method": None if method is None else str(method),
            "rows": "shuffled",
        }
        stated["roles"] = roles.public()
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
                found.seconds,
                found.method,
            ),
        )
        place_anonymous(new, made, schema, rows, attributes)
    if stopped:
        raise SearchInterrupted(made)
    return made


def file_roles(
    table: pl.LazyFrame, given: Given, *, options: bool = False, show: bool | None = None
) -> AssignedRoles:
    """Decide on the roles of the columns of a file that need not fit into memory.

    A column is looked at by its first rows, and by how many different values it has in all.

    Parameters
    ----------
    table
        The file.
    given, options, show
        As of :func:`discreet.tables.roles.assign_roles`.

    Raises
    ------
    InvalidProblemError
        As of :func:`discreet.tables.roles.assign_roles`.
    """

    def look(name: str) -> Look:
        import polars as pl

        column = pl.col(name)
        counted = table.select(column.count().alias("rows"), column.n_unique().alias("different"))
        rows, different = counted.collect(engine="streaming").row(0)
        head = table.select(name).head(_LOOKED_AT).collect()
        return look_of(head, name, rows=rows, different=different)

    names = table.collect_schema().names()
    return assign_roles(names, given, look, options=options, show=show)


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
        # Text that is grouped as it is: a missing cell is a value of its own.
        if schema.get(name) != "String":
            expected = "columns of text in the table, as this library writes them"
            raise InvalidProblemError("quasi_identifiers", expected, repr(name))
    counted = (
        table.group_by(names)
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
    where = Path(path)
    if where.suffix.lower() not in (".csv", ".tsv", ".parquet") or not where.is_file():
        raise InvalidProblemError("source", "a file that ends in .csv or .parquet", str(path))
    return scan(where, "" if where.suffix.lower() == ".parquet" else separator)


def _coded(
    table: pl.LazyFrame, names: Sequence[str], attributes: Sequence[Attribute], loss: str
) -> Problem:
    """Number the values of each column, and then its rows."""
    import polars as pl

    from discreet.kanonymity.cells import values_of
    from discreet.kanonymity.problem.column import code_column

    known = table.collect_schema().names()
    stated = {attribute.name: attribute for attribute in attributes}
    columns, number = [], {}
    for name in names:
        if name not in known:
            raise InvalidProblemError("quasi_identifiers", "columns of the table", repr(name))
        values = table.select(pl.col(name).unique()).collect(engine="streaming")[name]
        try:
            plain = values_of(nw.from_native(values, series_only=True), stated[name])
            column, codes = code_column(stated[name], plain, loss)
        except InvalidProblemError as error:
            # These are the different values, so that a position among them is none of the file.
            raise InvalidProblemError(error.field, error.expected, "others") from None
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

    from discreet.kanonymity.cells import cells_of

    return {
        column.name: pl.Series(column.name, cells_of(problem, labels, j), dtype=pl.String)
        for j, column in enumerate(problem.columns)
    }
