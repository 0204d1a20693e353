"""The parsers of CSV and Parquet, and a trial of them in a child process, which a bad file kills alone.

Every cell that this library reads from a file passes through :func:`cells_of_lines`, :func:`read` or :func:`scan`.

A library that runs out of memory in Rust or C aborts, and a file can be made to overflow its stack; no ``except`` meets
either. So :func:`try_reading` runs this file as a program: by its path, with Polars alone. It sets itself a limit of
memory, reads, and answers by how it ends. Its output goes nowhere, since a panic may quote a cell.
"""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import io
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    import polars as pl

CellError = csv.Error
"""Raised for lines that cannot be divided into cells; its words may quote one."""

_READY = b"r"

_OF_MEMORY = frozenset({signal.SIGABRT, getattr(signal, "SIGKILL", signal.SIGABRT)})
"""How a process ends that asks for more memory than there is: by itself, or by the system."""

CONTROL_GROUPS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
"""Where Linux says how much of the memory a container may use."""


class _ChildTime(NamedTuple):
    """How long a child may read a file: ten times what is usual."""

    seconds: float = 60.0
    """For any file."""

    bytes_per_second: float = 2e6
    """A second more for so many bytes."""


_CHILD_TIME = _ChildTime()


class _Status(IntEnum):
    """Exit status of a child that did not read its file."""

    PANIC = 3
    NO_MEMORY = 4


class ReadOutcome(Enum):
    """How a child ended."""

    READ = "it read the file, or refused it in words, as a second reader will"
    NO_MEMORY = "it had not enough memory"
    NOT_STARTED = "it had not enough memory even to start"
    LATE = "it did not end: threads that find no memory may wait for each other"
    DIED = "it died of the file, or panicked"


def cells_of_lines(lines: Iterable[str], mark: str, *, strict: bool = False) -> Any:  # noqa: ANN401 - the type of the standard library has no public name
    r"""Divide lines into cells, row by row.

    Parameters
    ----------
    lines
        Text of the file: an open file, or a list of lines.
    mark
        What separates the cells.
    strict
        Whether a quote that is not closed is an error.

    Returns
    -------
    iterator of list of str
        Rows; its ``line_num`` says how many lines were read.

    Examples
    --------
    >>> list(cells_of_lines(['a;"b;c"', "1;2"], ";"))
    [['a', 'b;c'], ['1', '2']]
    """
    return csv.reader(lines, delimiter=mark, strict=strict)


def read(
    source: str | Path | io.BytesIO,
    mark: str,
    *,
    types: Mapping[str, type[pl.DataType]] | None = None,
    infer: bool = False,
) -> pl.DataFrame:
    """Read a table of CSV or Parquet whole into memory.

    Without `types` and `infer` the cells of CSV are text. Raises one of :func:`reader_errors`, or OSError.

    Parameters
    ----------
    source
        A file, or its bytes.
    mark
        What separates the cells of CSV; empty for Parquet.
    types
        Types of all columns of CSV. Without them all cells are text, so that the code 01001 does not become a number.
    infer
        Whether types are inferred from all rows instead.
    """
    import polars as pl

    if not mark:
        return pl.read_parquet(source, glob=False)
    return pl.read_csv(
        source,
        separator=mark,
        schema_overrides=types,
        infer_schema=infer,
        infer_schema_length=None,
        glob=False,
    )


@dataclass(frozen=True)
class UnquotedFile:
    r"""A private CSV file without quoting, whose reading no value can make fail: a quote is a letter.

    A row is a line, divided at each separator. State it of files whose writer does not quote; that is public.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "heights.csv")
    ...     _ = path.write_text('state,height\nGA,5"\nNY,6"1\n')
    ...     scan(UnquotedFile(path), ",", row_by_row=True).collect().rows()
    [('GA', '5"'), ('NY', '6"1')]
    """

    path: str | os.PathLike[str]

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return self.__fspath__()


def scan(
    path: str | os.PathLike[str],
    mark: str,
    *,
    row_index: str | None = None,
    row_by_row: bool = False,
) -> pl.LazyFrame:
    """Scan a CSV or Parquet file lazily, the cells of CSV as text; nothing is read but, when asked for, the schema.

    Errors, those of :func:`reader_errors`, are raised when the frame is computed.

    Parameters
    ----------
    path
        The file; an :class:`UnquotedFile` is divided at each separator.
    mark
        What separates the cells of CSV; empty for Parquet.
    row_index
        Name of a column that counts the rows, if there should be one.
    row_by_row
        Whether odd rows of CSV are read by the rule of :mod:`discreet.tables.keys` instead of refused: bytes that are
        not UTF-8 become U+FFFD, missing cells are empty, and cells beyond the last name are ignored.
    """
    import polars as pl

    file = os.fspath(path)
    if not mark:
        return pl.scan_parquet(file, row_index_name=row_index, glob=False)
    return pl.scan_csv(
        file,
        separator=mark,
        quote_char=None if isinstance(path, UnquotedFile) else '"',
        infer_schema=False,
        row_index_name=row_index,
        glob=False,
        encoding="utf8-lossy" if row_by_row else "utf8",
        truncate_ragged_lines=row_by_row,
    )


def reader_errors(*more: type[BaseException]) -> tuple[type[BaseException], ...]:
    """Return the errors of :func:`read` and :func:`scan` for a file that cannot be read, and further classes.

    Their words may quote a row. A panic is no ``Exception``.
    """
    import polars as pl

    return (pl.exceptions.PolarsError, pl.exceptions.PanicException, *more)


def try_reading(path: str | os.PathLike[str], mark: str, *, whole: bool = True) -> ReadOutcome:
    """Read a CSV or Parquet file in a child process with a limit of memory.

    No table is returned: the caller reads the file again. ``READ`` also stands for a file that the reader refused in
    words. The child may take half of the free memory; a time limit that grows with the file gives ``LATE``.

    Parameters
    ----------
    path
        The file.
    mark
        What separates the cells of a CSV file; empty for Parquet.
    whole
        Whether the table is held at once; otherwise it is read in a stream.

    Returns
    -------
    ReadOutcome
        How that ended.

    Raises
    ------
    OSError
        When no process can be started.

    Complexity
    ----------
    About 0.25 s to start, and the time to read the file.
    """
    how = "whole" if whole else "stream"
    # -P: nothing is imported from the folder in which this file lies.
    command = [sys.executable, "-P", __file__, os.fspath(path), mark, how, str(share_of_memory())]
    seconds = _CHILD_TIME.seconds + Path(path).stat().st_size / _CHILD_TIME.bytes_per_second
    try:
        ended = subprocess.run(  # noqa: S603 - this interpreter and this file, with words that no shell reads
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return ReadOutcome.LATE
    if not ended.returncode:
        return ReadOutcome.READ
    if ended.stdout != _READY:
        return ReadOutcome.NOT_STARTED
    if ended.returncode == _Status.NO_MEMORY or -ended.returncode in _OF_MEMORY:
        return ReadOutcome.NO_MEMORY
    return ReadOutcome.DIED


def free_memory() -> int:
    """Return the bytes that this process may still allocate, 0 or more.

    The machine, its container and the process's own limit count, whichever leaves least.

    Examples
    --------
    >>> free_memory() > 2**20
    True
    """
    return max(0, min(most - used for most, used in _limits()))


def all_memory() -> int:
    """Return the bytes that this process may allocate in all, used ones included."""
    return min(most for most, _ in _limits())


def share_of_memory(*, divisor: int = 2) -> int:
    """Return the most bytes for a table, 1 or more: the free memory divided by `divisor`, by default half of it.

    Work on the table takes memory as well.
    """
    return max(1, free_memory() // divisor)


def is_limited() -> bool:
    """Return whether this process has a limit of memory of its own, as ``ulimit -v`` sets it."""
    return _own_limit() is not None


def _limits() -> Iterator[tuple[int, int]]:
    """Yield each limit of memory with what of it is taken: of the machine, its control groups, and this process."""
    total = 8 << 30
    with suppress(AttributeError, OSError, ValueError):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    available = _fields("/proc/meminfo").get("MemAvailable")
    yield total, total // 2 if available is None else total - available * 1024
    for place in CONTROL_GROUPS:
        # "max" stands for no limit.
        with suppress(OSError, ValueError):
            most = int(Path(place).read_text(encoding="ascii"))
            used = _fields(str(Path(place).with_name("memory.stat")))
            yield most, used.get("anon", used.get("total_rss", 0))
    limit = _own_limit()
    if limit is not None:
        yield limit, _address_space()


def _fields(path: str) -> dict[str, int]:
    """Return the first number after each name of a file of the system, such as ``/proc/meminfo``; {} if unreadable."""
    fields: dict[str, int] = {}
    with suppress(OSError, ValueError):
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            words = line.split()
            if len(words) > 1 and words[1].isdecimal():
                fields[words[0].rstrip(":")] = int(words[1])
    return fields


def _own_limit() -> int | None:
    """Return the soft limit of this process's address space in bytes; ``None`` without one."""
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _address_space() -> int:
    """Return the size of this process's address space, in bytes; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _limit(most: int) -> None:
    """Limit the memory of this process to `most` bytes more than it takes now.

    Without effect where the system has no limits. The address space is limited only if it is limited already.
    """
    try:
        import resource
    except ImportError:
        return
    # Not addresses, of which each thread reserves many more than it writes to, unless it is they that are limited.
    now = _fields("/proc/self/status").get("VmData", 0) * 1024
    _lower(resource.RLIMIT_DATA, now + most)
    if is_limited():
        _lower(resource.RLIMIT_AS, _address_space() + most)


def _lower(kind: int, limit: int) -> None:
    """Lower the soft limit of resource `kind` of this process to `limit`, unless it is lower already."""
    import resource

    soft, hard = resource.getrlimit(kind)
    bounds = [bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(kind, (min(limit, *bounds, 2**62), hard))


def _try(path: str, mark: str, how: str, most: int) -> int:
    """Read a file under a limit of `most` bytes more than now; return the exit status: 0, no memory, or a panic.

    `how` is "whole", else in batches. Runs in a child process, which writes `_READY` before it reads. A file that the
    parser refuses gives 0, too.
    """
    try:
        import polars as pl
    except ImportError:
        # The parent finds that out, and says it.
        return 0
    # Its threads are started before memory is counted.
    pl.LazyFrame({"a": [1]}).collect(engine="streaming")
    _limit(most)
    os.write(1, _READY)
    table = scan(path, mark)
    try:
        if how == "whole":
            table.collect()
        else:
            table.select(pl.all().null_count()).collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError):
        return 0
    except MemoryError:
        return _Status.NO_MEMORY
    except BaseException:  # noqa: BLE001 - a panic is no Exception, and its words may quote a cell
        return _Status.PANIC
    return 0


if __name__ == "__main__":
    sys.exit(_try(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
