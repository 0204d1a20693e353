"""Write tables: CSV with commas, or Parquet, by the ending of the file's name."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.tables.parsing import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits

__all__ = ["BATCH", "BUCKET", "bytes_of", "join_files", "store", "write_shuffled"]

BATCH = 200_000
"""Rows that pass by at once."""

BUCKET = 1_000_000
"""Rows that are sorted at once."""


def bytes_of(table: pl.DataFrame, suffix: str) -> bytes:
    r"""Write a table as the bytes of a file.

    Parameters
    ----------
    table
        The table.
    suffix
        ``.csv``, or anything else for Parquet.

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
        table.write_parquet(buffer)
    return buffer.getvalue()


def store(table: pl.DataFrame, path: Path, *, packed: bool = False) -> None:
    """Write a table as Parquet for this process to read again, without compression or with one that costs little."""
    table.write_parquet(path, compression="lz4" if packed else "uncompressed")


def write_shuffled(
    table: pl.LazyFrame,
    labels: NDArray[np.int32],
    cells: Mapping[str, pl.Series],
    target: Path,
    *,
    bits: RandomBits,
    room: Path,
    private: Callable[[Path], Path],
) -> None:
    """Write the rows of a table that need not fit into memory, with columns replaced, in the order of random keys.

    Rows are dealt to files by the first bits of their keys of 128 bits, and each file is sorted, so that the order of
    the original leaves no trace.

    Parameters
    ----------
    table
        The rows.
    labels
        ``(n,)`` the class of each row.
    cells
        Name of a column -> what each class has there instead.
    target
        A file that ends in ``.csv``, or one of Parquet.
    bits
        Where the keys come from.
    room
        A folder for rows on their way, which are private.
    private
        Makes an empty file in it that only its owner can read, and gives its path.
    """
    import polars as pl

    wide = (math.ceil(len(labels) / BUCKET) - 1).bit_length()
    kinds = table.collect_schema()
    # A dictionary tells of values in other rows.
    texts = [name for name, kind in kinds.items() if isinstance(kind, pl.Categorical)]
    plain = table.with_columns(pl.col(name).cast(pl.String) for name in texts)
    # No column of the table is called so.
    prefix = "key" + "_" * max(map(len, kinds))
    keys = [f"{prefix}{place}" for place in range(3)]
    pieces: dict[int, list[Path]] = {bucket: [] for bucket in range(2**wide)}
    at = 0
    for turn, batch in enumerate(plain.collect_batches(chunk_size=BATCH)):
        label = labels[at : at + batch.height]
        at += batch.height
        high, low = (bits.randranges(2**64, batch.height) for _ in range(2))
        # In two steps, since a shift by all 64 bits is none.
        bucket = (high >> np.uint64(1)) >> np.uint64(63 - wide)
        keyed = batch.with_columns(
            *(series.gather(label) for series in cells.values()),
            *map(pl.Series, keys, (bucket, high, low)),
        )
        for (number,), part in keyed.partition_by(keys[0], as_dict=True).items():
            pieces[number].append(private(room / f"{number}-{turn}.parquet"))
            store(part, pieces[number][-1], packed=True)
    files = []
    for number, parts in pieces.items():
        if parts:
            rows = pl.concat([read(path, "") for path in parts])
            for path in parts:
                path.unlink()
            files.append(private(room / f"{number}.parquet"))
            store(rows.sort(keys[1:]).drop(keys), files[-1], packed=True)
    join_files(files, target)


def join_files(files: Sequence[Path], target: Path) -> None:
    """Write Parquet files one after the other into one file, in a stream."""
    import polars as pl

    whole = pl.scan_parquet(list(files), glob=False)
    if target.suffix.lower() == ".csv":
        whole.sink_csv(target)
    else:
        # Statistics of row groups would tell of the order of the rows.
        whole.sink_parquet(target, statistics=False)
