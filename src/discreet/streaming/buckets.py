"""Hash partitioning: all rows with equal keys are written to the same bucket.

The hash only decides where a key is counted; keys are compared by their values. Only the owner may read the files.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from discreet.streaming.workspace import Workspace

_PLACE = "discreet bucket"
"""Temporary column: the bucket of a row."""


@final
class BucketWriter:
    """Writer of rows into the buckets of one file: each call adds one Arrow record batch for each bucket.

    Parameters
    ----------
    path
        An existing empty file.
    buckets
        Number of buckets.
    keys
        Columns whose hash decides the bucket of a row.
    """

    def __init__(self, path: Path, buckets: int, keys: Sequence[str]) -> None:
        self.path, self.buckets, self.keys = path, buckets, list(keys)
        self.rounds = 0
        self.writer: Any = None

    def add(self, table: pl.DataFrame) -> None:
        """Write each row of `table` to the bucket of its keys' hash, and count the call in `rounds`.

        A sort of the rows. All tables of a writer have one schema. A table without rows is written, too.
        """
        import polars as pl
        import pyarrow as pa

        key = pl.col(self.keys[0]) if len(self.keys) == 1 else pl.struct(self.keys)
        hashed = (key.hash(seed=1) % self.buckets).cast(pl.UInt32)
        by_bucket = table.with_columns(hashed.alias(_PLACE)).sort(_PLACE)
        ends = np.searchsorted(by_bucket[_PLACE].to_numpy(), np.arange(self.buckets), side="right")
        rows = by_bucket.drop(_PLACE).to_arrow().combine_chunks()
        if self.writer is None:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self.writer = pa.ipc.new_file(self.path, rows.schema, options=options)
        empty = pa.RecordBatch.from_pylist([], schema=rows.schema)
        for first, end in itertools.pairwise([0, *ends.tolist()]):
            batch = rows.slice(first, end - first).to_batches()
            self.writer.write_batch(batch[0] if batch else empty)
        self.rounds += 1

    def close(self) -> None:
        """Write the end of the file."""
        if self.writer is not None:
            self.writer.close()


def read_bucket(
    space: Workspace,
    records: Sequence[Mapping[str, Any]],
    file: str,
    buckets: int,
    number: int,
) -> pl.DataFrame | None:
    """Return the rows of a bucket from all pieces, or ``None`` if no piece wrote a table; the rows are in memory.

    Parameters
    ----------
    space
        Workspace that holds the files.
    records
        Record of each piece: the name of its file under `file`, and the number of :meth:`BucketWriter.add` calls
        under ``"rounds"``.
    file
        Key of the file in a record.
    buckets, number
        Number of buckets, and the index of the bucket to read.
    """
    import polars as pl
    import pyarrow as pa

    batches = []
    for one in records:
        if not one["rounds"]:
            continue
        with (
            pa.OSFile(str(space.folder / one[file])) as raw,
            pa.ipc.open_file(raw) as reader,
        ):
            batches += [reader.get_batch(at * buckets + number) for at in range(one["rounds"])]
    if not batches:
        return None
    rows = pl.from_arrow(pa.Table.from_batches(batches))
    if isinstance(rows, pl.Series):
        raise TypeError
    return rows
