"""Files that are read piece by piece: runs of row groups of Parquet files, and CSV files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from discreet.artefact.folders import READABLE, SAME, parts_of
from discreet.core.errors import InvalidProblemError
from discreet.core.extras import require
from discreet.tables.dialect import first_ragged, look, why_unreadable
from discreet.tables.parsing import reader_errors, scan
from discreet.tables.recoding import CellRules
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

PIECE_ROWS = 1_000_000
"""Rows of a piece, approximately."""


class _BytesNeeded(NamedTuple):
    """Bytes by which the rows of a batch, a bucket or a part are chosen, so that each fits the memory of a worker."""

    process: int = 400 * 2**20
    """Bytes of a process before it reads rows."""
    cell: int = 48
    """Bytes of a cell of a batch, which is held twice as text."""
    key: int = 150
    """Bytes of a distinct row during the search for a lower bound."""
    row: int = 250
    """Bytes of a row while a batch or a bucket is joined and grouped; 200 were measured (2026-11)."""
    csv_row: int = 20
    """Bytes of a row of a CSV file, by which buckets are counted before it is read."""


BYTES = _BytesNeeded()


@final
@dataclass(frozen=True)
class Piece:
    """Rows of a source that are read together: a run of row groups of a Parquet file, or a CSV file.

    Parameters
    ----------
    path, mark
        The file, and what separates its cells; empty for Parquet.
    groups
        First row group, and the one after the last.
    rules
        Rules by which the cells are read and recoded.
    """

    path: str
    mark: str
    groups: tuple[int, int] = (0, 0)
    rules: CellRules = field(default_factory=CellRules)


def pieces_of(
    source: str | os.PathLike[str],
    argument: str,
    *,
    row_by_row: bool = False,
    rules: CellRules | None = None,
) -> tuple[Piece, ...]:
    """Divide a file, or the files of a folder, into pieces that are read together, each cell by the rules.

    With `row_by_row`, odd rows of CSV are read instead of refused, as :func:`~discreet.tables.parsing.scan` does. A
    CSV file is one piece and is read once to check its rows; of Parquet only the metadata is read.

    Raises
    ------
    InvalidProblemError
        For files that cannot be read, or of different columns or types, or for rules of columns that are not there or
        have no cells to recode; and without PyArrow.
    """
    rules = rules or CellRules()
    require("streaming", argument)
    where = Path(source)
    files = parts_of(where, argument) if where.is_dir() else (where,)
    pieces: list[Piece] = []
    schema: Any = None
    for number, path in enumerate(files):
        mark = look(str(path), argument, whole=not row_by_row)
        try:
            file_schema = scan(path, mark).collect_schema()
            groups = () if mark else tuple(_row_groups(path, file_schema, rules))
        except reader_errors():
            if not where.is_dir():
                raise why_unreadable(str(path), mark, argument, row_by_row=row_by_row) from None
            got = f"one that cannot, file {number + 1}"
            raise InvalidProblemError(argument, READABLE, got) from None
        if schema is not None and file_schema != schema:
            got = f"others in file {number + 1} of the folder"
            raise InvalidProblemError(argument, SAME, got)
        schema = file_schema
        if number == 0:
            rules.check(schema, argument)
        resolved = str(path.absolute())
        if mark:
            _refuse_ragged(path, mark, argument, row_by_row=row_by_row)
            pieces.append(Piece(resolved, mark, rules=rules))
            continue
        pieces += groups
    return tuple(pieces)


def _row_groups(path: Path, schema: pl.Schema, rules: CellRules) -> Iterator[Piece]:
    """Yield pieces of the Parquet file at `path`.

    Runs of row groups of `PIECE_ROWS` rows or more, the last one maybe fewer. A file without row groups is one piece.
    Raises InvalidProblemError for integers of 128 bits. Reads the file's metadata only.
    """
    import polars as pl
    import pyarrow.parquet as pq

    odd = [place for place, kind in enumerate(schema.dtypes(), 1) if kind == pl.Int128]
    if odd:
        expected = "columns of types that Arrow has, for a table larger than memory"
        got = f"whole numbers of 128 bits in column {', '.join(map(str, odd))}"
        raise InvalidProblemError("columns", expected, got)
    with pq.ParquetFile(path) as file:
        first, rows = 0, 0
        for group in range(file.num_row_groups):
            rows += file.metadata.row_group(group).num_rows
            if rows >= PIECE_ROWS or group == file.num_row_groups - 1:
                yield Piece(str(path.absolute()), "", (first, group + 1), rules)
                first, rows = group + 1, 0
        if not file.num_row_groups:
            # A table without rows is the neighbor of one with a row.
            yield Piece(str(path.absolute()), "", (0, 0), rules)


def _refuse_ragged(path: Path, mark: str, argument: str, *, row_by_row: bool) -> None:
    """Raise InvalidProblemError for a row with another number of cells than the first line, or text that is not UTF-8.

    With `row_by_row` only a quote out of place is refused, and other bytes pass. Reads the file once.
    """
    try:
        ragged = first_ragged(path, mark, row_by_row=row_by_row)
    except UnicodeDecodeError:
        raise InvalidProblemError(argument, "text in UTF-8", str(path)) from None
    if ragged and row_by_row:
        raise refused("quotes", argument, f"{path} with {ragged}")
    if ragged:
        expected = "as many cells in each row as in the first line"
        raise InvalidProblemError(argument, expected, f"{path} with {ragged}")


def scan_pieces(pieces: Sequence[Piece], argument: str) -> pl.LazyFrame:
    """Scan the files of all pieces lazily, each cell by the rules; raise InvalidProblemError without any piece.

    Nothing is read but schemas.
    """
    import polars as pl

    files = {piece.path: piece.mark for piece in pieces}
    if not files:
        raise InvalidProblemError(argument, "a table with rows", "none")
    # Rows that are refused were refused when the pieces were made.
    table = pl.concat([scan(path, mark, row_by_row=True) for path, mark in files.items()])
    return pieces[0].rules.recode_lazily(table)


class DistinctColumn(NamedTuple):
    """A column as values and the index of each row's value; without indices, one value a row."""

    values: pl.Series
    of_row: NDArray[np.integer] | None

    def codes(self, old: pl.Series, new: pl.Series) -> NDArray[np.integer]:
        """Return the code of each row, ``(rows,)``, where `new` holds the codes of the values in `old`.

        A value that is not in `old` raises Polars' error. One lookup for each distinct value.
        """
        known = self.values.replace_strict(old, new, return_dtype=new.dtype).to_numpy()
        return known if self.of_row is None else known[self.of_row]


class Batch(NamedTuple):
    """Rows read together: their number, coded columns, and plain columns."""

    rows: int
    coded: dict[str, DistinctColumn]
    plain: pl.DataFrame


def batches(piece: Piece, coded: Sequence[str], plain: Sequence[str], rows: int) -> Iterator[Batch]:
    """Read columns of a piece, so many rows at once or fewer.

    Yields a :class:`Batch` after the other, by the rules of the piece; one pass.

    Parameters
    ----------
    piece
        What is read.
    coded
        Columns returned as distinct values and indices. A Parquet dictionary is used as it is; entries without rows
        are left out.
    plain
        Columns returned as stored; dictionaries, which hold values of other rows, are converted to text.
    rows
        Most rows at once.

    Raises
    ------
    InvalidProblemError
        For a file that this worker does not see.
    """
    import polars as pl

    if not Path(piece.path).exists():
        raise InvalidProblemError("source", "files that all workers see", "one that is not there")
    names = list(dict.fromkeys((*coded, *plain)))
    if piece.mark:
        lazy = scan(piece.path, piece.mark, row_by_row=True).select(names)
        for frame in lazy.collect_batches(chunk_size=rows, maintain_order=True):
            recoded = piece.rules.apply(frame)
            distinct = {name: DistinctColumn(recoded[name], None) for name in coded}
            yield Batch(frame.height, distinct, recoded.select(plain))
        return
    import pyarrow.parquet as pq

    packed = [name for name in coded if name not in plain]
    with pq.ParquetFile(piece.path, read_dictionary=packed) as file:
        for arrow_batch in file.iter_batches(rows, row_groups=range(*piece.groups), columns=names):
            rest = pl.from_arrow(arrow_batch.select([*plain]))
            if isinstance(rest, pl.Series):
                raise TypeError
            columns = {}
            for name in coded:
                values, of_row = _distinct_column(arrow_batch.column(name))
                recoded = piece.rules.apply(values.alias(name).to_frame())
                columns[name] = DistinctColumn(recoded[name], of_row)
            rest = piece.rules.apply(rest.with_columns(map(_as_text, rest)))
            yield Batch(arrow_batch.num_rows, columns, rest)


def _as_text(column: pl.Series) -> pl.Series:
    """Return categories and enumerations as text, other columns as they are."""
    import polars as pl

    return column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else column


def _distinct_column(column: Any) -> DistinctColumn:  # noqa: ANN401 - an array of Arrow
    """Return an array of Arrow as a :class:`DistinctColumn`.

    A dictionary of texts as the used values and each row's index. Any other column has one value a row, and no
    indices. Linear in the rows.
    """
    import polars as pl
    import pyarrow as pa

    text = pa.types.is_string, pa.types.is_large_string
    if not pa.types.is_dictionary(column.type) or not any(
        one(column.type.value_type) for one in text
    ):
        plain = pl.from_arrow(column)
        if isinstance(plain, pl.DataFrame):
            raise TypeError
        return DistinctColumn(_as_text(plain), None)
    values = pl.Series(column.dictionary).cast(pl.String)
    index = column.indices
    if index.null_count:
        index = index.fill_null(len(values))
        values = values.append(pl.Series([None], dtype=pl.String))
    at = index.to_numpy(zero_copy_only=False)
    is_used = np.bincount(at, minlength=len(values)) > 0
    if not is_used.all():
        values, at = values.filter(is_used), (np.cumsum(is_used) - 1)[at]
    return DistinctColumn(values, at)
