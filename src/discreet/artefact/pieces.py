"""Files that are read piece by piece: runs of row groups of Parquet files, and CSV files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.artefact.folders import parts_of
from discreet.core.errors import InvalidProblemError
from discreet.tables.dialect import first_ragged, look
from discreet.tables.parsing import scan

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    import polars as pl

__all__ = ["Piece", "batches", "pieces_of", "scan_pieces"]

PIECE = 1_000_000
"""Rows of a piece of a source, about."""


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
    """

    path: str
    mark: str
    groups: tuple[int, int] = (0, 0)


def pieces_of(source: str | os.PathLike[str], argument: str) -> tuple[Piece, ...]:
    """Divide a file, or the files of a folder, into pieces that are read together.

    Raises
    ------
    InvalidProblemError
        For files that cannot be read, or of different columns or types.
    """
    where = Path(source)
    files = parts_of(where, argument) if where.is_dir() else (where,)
    found: list[Piece] = []
    schema: Any = None
    for number, path in enumerate(files):
        mark = look(str(path), argument)
        here = scan(path, mark).collect_schema()
        if schema is not None and here != schema:
            got = f"others in file {number + 1} of the folder"
            raise InvalidProblemError(argument, "parts with the same columns and types", got)
        schema = here
        resolved = str(path.absolute())
        if mark:
            _refuse_ragged(path, mark, argument)
            found.append(Piece(resolved, mark))
            continue
        found += _row_groups(path, here)
    return tuple(found)


def _row_groups(path: Path, schema: pl.Schema) -> Iterator[Piece]:
    """Yield runs of row groups of a Parquet file."""
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
            if rows >= PIECE or group == file.num_row_groups - 1:
                yield Piece(str(path.absolute()), "", (first, group + 1))
                first, rows = group + 1, 0


def _refuse_ragged(path: Path, mark: str, argument: str) -> None:
    try:
        found = first_ragged(path, mark)
    except UnicodeDecodeError:
        raise InvalidProblemError(argument, "text in UTF-8", str(path)) from None
    if found:
        expected = "as many cells in each row as in the first line"
        raise InvalidProblemError(argument, expected, f"{path} with {found}")


def scan_pieces(pieces: Sequence[Piece], argument: str) -> pl.LazyFrame:
    """Scan the files of all pieces lazily."""
    import polars as pl

    files = {piece.path: piece.mark for piece in pieces}
    if not files:
        raise InvalidProblemError(argument, "a table with rows", "none")
    return pl.concat([scan(path, mark) for path, mark in files.items()])


def batches(piece: Piece, names: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
    """Read some columns of a piece, so many rows at once; dictionaries, which tell of other rows, as text."""
    import polars as pl

    if piece.mark:
        lazy = scan(piece.path, piece.mark).select(names)
        yield from lazy.collect_batches(chunk_size=rows, maintain_order=True)
        return
    import pyarrow.parquet as pq

    with pq.ParquetFile(piece.path) as file:
        for found in file.iter_batches(rows, row_groups=range(*piece.groups), columns=list(names)):
            frame = pl.from_arrow(found)
            if isinstance(frame, pl.Series):
                raise TypeError
            packed = [one for one, kind in frame.schema.items() if isinstance(kind, pl.Categorical)]
            yield frame.select(names).with_columns(pl.col(one).cast(pl.String) for one in packed)
