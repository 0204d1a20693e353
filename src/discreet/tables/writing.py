"""Write tables: CSV with commas, or Parquet, by the ending of the file's name."""

from __future__ import annotations

import io
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

__all__ = ["bytes_of", "join_files", "store"]


def bytes_of(table: pl.DataFrame, suffix: str, *, statistics: bool = True) -> bytes:
    r"""Write a table as the bytes of a file.

    Parameters
    ----------
    table
        The table.
    suffix
        ``.csv``, or anything else for Parquet.
    statistics
        Whether row groups of Parquet have statistics, which tell of the order of the rows.

    Examples
    --------
    >>> import polars as pl
    >>> bytes_of(pl.DataFrame({"age": [30], "sex": ["F"]}), ".csv")
    b'age,sex\n30,F\n'
    """
    buffer = io.BytesIO()
    if suffix.lower() == ".csv":
        table.write_csv(buffer)
    else:
        table.write_parquet(buffer, statistics=statistics)
    return buffer.getvalue()


def store(table: pl.DataFrame, path: Path, *, packed: bool = False) -> None:
    """Write a table as Parquet for this process to read again, without compression or with one that costs little."""
    table.write_parquet(path, compression="lz4" if packed else "uncompressed")


def join_files(files: Sequence[Path], target: Path, columns: Sequence[str]) -> None:
    """Write files of :func:`bytes_of` one after the other into one of their kind; `columns` are the names of all."""
    import polars as pl

    if target.suffix.lower() == ".csv":
        names = bytes_of(pl.DataFrame(schema=list(columns)), ".csv")
        with target.open("wb") as joined:
            joined.write(names)
            for path in files:
                with path.open("rb") as file:
                    file.seek(len(names))
                    shutil.copyfileobj(file, joined)
        return
    # Statistics of row groups would tell of the order of the rows.
    pl.scan_parquet(list(files), glob=False).sink_parquet(target, statistics=False)
