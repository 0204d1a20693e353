"""Tables one after another in one private file, each read by itself: what one step leaves for another one.

A file of row groups has one schema, costs milliseconds to open, and a group of it as much to read. Here a table is a
run of bytes, a stream of Arrow's, read from where it stands without a look at the others.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    import polars as pl
    from numpy.typing import NDArray


class Place(NamedTuple):
    """Where a table stands in its file: its first byte and its length, and how many rows it has."""

    begin: int
    size: int
    rows: int


@final
class TableStack:
    """A file to which tables are written one after another.

    Parameters
    ----------
    path
        A file that is there; what it holds is replaced.
    """

    def __init__(self, path: Path) -> None:
        self._file, self._end = path.open("wb"), 0

    def __enter__(self) -> TableStack:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, table: pl.DataFrame) -> Place:
        """Write a table at the end of the file, and return its place there.

        Linear in the table, which is copied in memory.
        """
        import polars as pl

        buffer = io.BytesIO()
        # A text that is viewed would bring along all those that stand beside it in memory.
        oldest = pl.CompatLevel.oldest()
        table.write_ipc_stream(buffer, compression="lz4", compat_level=oldest)
        place = Place(self._end, self._file.write(buffer.getbuffer()), table.height)
        self._end += place.size
        return place


def read_table(file: BinaryIO, place: Place, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Read the table at `place` of an open file of :class:`TableStack`, or its columns `names`; linear in the table."""
    import polars as pl

    file.seek(place.begin)
    stream = io.BytesIO(file.read(place.size))
    return pl.read_ipc_stream(stream, columns=None if names is None else list(names))


def listed(groups: Sequence[tuple[int, *tuple[Place, ...]]]) -> NDArray[np.int64]:
    """List groups, each a number and the places of its tables, in one array: steps read hundreds of thousands of them.

    Without groups the array is ``(0, 4)``.

    Parameters
    ----------
    groups
        With equally many places each.

    Returns
    -------
    NDArray
        ``(groups, 1 + 3 * places)``; what :func:`places_of` reads.

    Examples
    --------
    >>> groups = listed([(7, Place(0, 50, 2)), (3, Place(50, 40, 1)), (7, Place(90, 60, 3))])
    >>> list(places_of(groups, 7))
    [(Place(begin=0, size=50, rows=2),), (Place(begin=90, size=60, rows=3),)]
    """
    width = len(groups[0]) - 1 if groups else 1
    rows = [[number, *(at for place in places for at in place)] for number, *places in groups]
    return np.array(rows, dtype=np.int64).reshape(len(rows), 1 + 3 * width)


def places_of(groups: NDArray[np.int64], number: int) -> Iterator[tuple[Place, ...]]:
    """Yield, for each group of that number in `groups` of :func:`listed`, the tuple of its places, in order."""
    for row in groups[groups[:, 0] == number, 1:].reshape(-1, (groups.shape[1] - 1) // 3, 3):
        yield tuple(Place(*place) for place in row.tolist())
