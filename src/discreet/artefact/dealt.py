"""Rows dealt into buckets by a hash of what they are called, so that all rows of one name come together in one bucket.

The hash only says where a name is counted: names are told apart by themselves. Files are for the owner alone.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from discreet.artefact.workspace import Workspace

__all__ = ["Dealt", "read_bucket"]

_PLACE = "discreet bucket"
"""Column of our own: the bucket of a row."""


@final
class Dealt:
    """A file of rows in buckets: batches of Arrow, one for each bucket, as often as rows were added.

    Parameters
    ----------
    path
        A file that is there.
    buckets
        How many there are.
    keys
        The columns that say to which bucket a row belongs.
    """

    def __init__(self, path: Path, buckets: int, keys: Sequence[str]) -> None:
        self.path, self.buckets, self.keys = path, buckets, list(keys)
        self.rounds = 0
        self.writer: Any = None

    def add(self, table: pl.DataFrame) -> None:
        """Deal rows."""
        import polars as pl
        import pyarrow as pa

        one = pl.col(self.keys[0]) if len(self.keys) == 1 else pl.struct(self.keys)
        hashed = (one.hash(seed=1) % self.buckets).cast(pl.UInt32)
        dealt = table.with_columns(hashed.alias(_PLACE)).sort(_PLACE)
        ends = np.searchsorted(dealt[_PLACE].to_numpy(), np.arange(self.buckets), side="right")
        whole = dealt.drop(_PLACE).to_arrow().combine_chunks()
        if self.writer is None:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self.writer = pa.ipc.new_file(self.path, whole.schema, options=options)
        empty = pa.RecordBatch.from_pylist([], schema=whole.schema)
        for first, end in itertools.pairwise([0, *ends.tolist()]):
            made = whole.slice(first, end - first).to_batches()
            self.writer.write_batch(made[0] if made else empty)
        self.rounds += 1

    def close(self) -> None:
        """Write the end of the file."""
        if self.writer is not None:
            self.writer.close()


def read_bucket(
    space: Workspace,
    found: Sequence[Mapping[str, Any]],
    file: str,
    buckets: int,
    number: int,
) -> pl.DataFrame | None:
    """Read a bucket of all pieces; nothing where none has a row.

    Parameters
    ----------
    space
        Where the files are.
    found
        For each piece the name of its file under `file`, and under ``"rounds"`` how often rows were added.
    file
        Which of its files.
    buckets, number
        How many buckets there are, and which one is read.
    """
    import polars as pl
    import pyarrow as pa

    taken = []
    for one in found:
        if not one["rounds"]:
            continue
        with (
            pa.OSFile(str(space.folder / one[file])) as raw,
            pa.ipc.open_file(raw) as reader,
        ):
            taken += [reader.get_batch(at * buckets + number) for at in range(one["rounds"])]
    if not taken:
        return None
    made = pl.from_arrow(pa.Table.from_batches(taken))
    if isinstance(made, pl.Series):
        raise TypeError
    return made
