"""The options under which private rows are read: whole, piece by piece, or by the workers of a scheduler."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import InvalidProblemError
from discreet.core.extras import require
from discreet.tables.options import ReadingOptions
from discreet.tables.reading import as_quoted, read_private
from discreet.tables.recoding import CellRules, Recoding

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from discreet.streaming.record_files import RecordFiles

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*([KMGT])i?B?", re.IGNORECASE | re.ASCII)
_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def bytes_in(text: str, argument: str) -> int:
    """Read a size such as ``4GB``, in bytes.

    Units are powers of 1000, K to T; a fraction of a byte is dropped. InvalidProblemError for any other text.

    Examples
    --------
    >>> bytes_in("4GB", "memory"), bytes_in("1.5g", "memory")
    (4000000000, 1500000000)
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise InvalidProblemError(argument, "a size such as 4GB or 800MB", repr(text))
    return int(float(match[1]) * _UNITS[match[2].upper()])


def refuse_in_pieces(reading: ReadingOptions) -> None:
    """Refuse the options under which a table cannot be read in pieces, by name.

    Raises InvalidProblemError for an encoding, a delimiter or a sheet.

    Parameters
    ----------
    reading
        Options of reading. Pieces of a file are read as UTF-8 with the separator that is recognized.

    Examples
    --------
    >>> refuse_in_pieces(ReadingOptions.of(encoding="cp1252"))
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: encoding: expected none for a table in pieces; write it as UTF-8 with...
    """
    stated = reading.to_dict()
    for name in ("encoding", "delimiter", "sheet"):
        if name in stated:
            expected = "none for a table in pieces; write it as UTF-8 with commas, or read one file in memory"
            raise InvalidProblemError(name, expected, "one")


@final
@dataclass(frozen=True)
class RowEngine:
    """The options under which private rows are read.

    Parameters
    ----------
    memory
        Memory for each process, such as ``"4GB"``; rows are then read piece by piece.
    threads
        Pieces that are read at a time.
    scheduler
        Address of a Dask scheduler whose workers read the pieces.
    reading, recoding
        How a file in memory is read and recoded, row by row; in pieces, how cells are read and recoded.
    quotes
        ``"doubled"`` for CSV by RFC 4180, or ``"none"`` for a file without quoting.

    Examples
    --------
    >>> RowEngine().is_large("people.csv"), RowEngine("4GB").is_large("people.csv")
    (False, True)
    """

    memory: str | None = None
    threads: int = 1
    scheduler: str | None = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    recoding: Recoding = field(default_factory=Recoding)
    quotes: str = "doubled"

    def is_large(self, path: str | os.PathLike[str]) -> bool:
        """Whether rows are read piece by piece."""
        return self.is_piecewise or Path(path).is_dir()

    @property
    def is_piecewise(self) -> bool:
        """Whether an option requires that rows are read piece by piece."""
        return self.memory is not None or self.scheduler is not None

    @contextmanager
    def source(
        self, path: str | os.PathLike[str], folder: Path | None
    ) -> Iterator[str | os.PathLike[str] | RecordFiles]:
        """Return a context with the source of rows.

        A path or frame to read in memory, or :class:`RecordFiles` for pieces.

        Raises InvalidProblemError for threads with one file in memory, options that pieces do not have, or a
        scheduler that does not answer. A connection is closed at the end.

        Parameters
        ----------
        path
            The file or the folder.
        folder
            Folder for the counts of pieces, which workers must share; default: the folder for temporary files.
        """
        source = as_quoted(path, self.quotes)
        if not self.is_large(path):
            if self.threads != 1:
                raise InvalidProblemError("threads", "1 for one file in memory", self.threads)
            yield read_private(source, "source", self.reading, self.recoding)
            return
        refuse_in_pieces(self.reading)
        if source is not path:
            raise InvalidProblemError("quotes", "none only for one file in memory", "more")
        require("streaming", "memory" if self.memory else "source")
        from discreet.streaming.engines import connected
        from discreet.streaming.record_files import RecordFiles

        memory = None if self.memory is None else bytes_in(self.memory, "memory")
        client: Any = None if self.scheduler is None else connected(self.scheduler, "scheduler")
        try:
            rules = CellRules(self.reading, self.recoding)
            yield RecordFiles(path, folder, self.threads, memory, client, rules=rules)
        finally:
            if client is not None:
                client.close()
