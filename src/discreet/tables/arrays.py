"""Arrays of numbers from files: ``.npy`` with plain values alone, matrices in CSV, and embeddings with their words.

The message for a damaged ``.npy`` file has no words of NumPy, which quote the header.
"""

from __future__ import annotations

from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.printed import count
from discreet.core.spaces.lengths import DENSE_LIMIT
from discreet.tables.dialect import cells_of_text, stored_file, text_in
from discreet.tables.parsing import CellError
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DAMAGED = (
    ArithmeticError,
    EOFError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TokenError,
    TypeError,
    ValueError,
)
"""Errors of NumPy for a damaged header, or for fewer bytes than it announces."""

_MAGIC = b"\x93NUMPY"


def open_array(path: str, argument: str) -> NDArray[Any]:
    """Map a ``.npy`` file into memory, read-only; its entries are read where they are used.

    Only the header is read here, and an array of any shape and type is returned.

    Parameters
    ----------
    path
        The file.
    argument
        The argument that named it.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, is none, is cut off, holds objects, or is an archive of arrays.
    """
    try:
        with stored_file(path).open("rb") as file:
            start = file.read(len(_MAGIC))
        if start == _MAGIC:
            mapped: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
            return mapped
    except OSError as error:
        got = f"{path}: {error.strerror or 'it cannot be opened'}"
        raise refused("array-format", argument, got) from None
    except _DAMAGED:
        # What NumPy says quotes the header.
        raise refused(
            "array-format", argument, f"{path}, which is damaged or holds objects"
        ) from None
    what = ", which is an archive" if start.startswith(b"PK") else ", which is not a .npy file"
    raise refused("array-format", argument, f"{path}{what}")


def read_embeddings(path: str, argument: str) -> tuple[NDArray[np.float64], list[str] | None]:
    r"""Read points ``(n, dimensions)`` as float64, and their words where the file has them.

    At most 5120 rows of ``.npy`` are taken. The whole file is in memory; numbers may be NaN or infinite.

    Parameters
    ----------
    path
        ``.npy``: an array, words by dimensions. ``.csv``: numbers, each row with the word before them or each without;
        a first row without numbers is a header. Commas, semicolons, tabs or bars separate.
    argument
        The argument that named it.

    Returns
    -------
    tuple
        Points, and words or ``None``.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, or a row that is not like the others.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "words.csv"
    ...     _ = file.write_text("cat,0.5,1\ndog,0.5,0.75\n")
    ...     points, words = read_embeddings(str(file), "--embeddings")
    >>> points.tolist(), words
    ([[0.5, 1.0], [0.5, 0.75]], ['cat', 'dog'])
    """
    kind = Path(path).suffix.lower()
    if kind not in {".npy", ".csv"}:
        raise refused("array-suffix", argument, repr(path))
    if kind == ".npy":
        return _plain(open_array(path, argument), argument), None
    return _named(_cells(path, argument), argument)


def _plain(table: NDArray[Any], argument: str) -> NDArray[np.float64]:
    """Return a table of numbers ``(rows, columns)`` as float64; refuse other arrays, and more than 5120 rows."""
    if table.ndim != 2 or table.dtype.kind not in "iuf":
        got = f"{table.dtype} of shape {table.shape}"
        raise refused("array-no-numbers", argument, got)
    if len(table) > DENSE_LIMIT:
        raise refused("array-too-long", argument, count(len(table)), most=count(DENSE_LIMIT))
    return table.astype(np.float64)


def _named(rows: list[list[str]], argument: str) -> tuple[NDArray[np.float64], list[str] | None]:
    """Return points ``(rows, dimensions)`` and the words in front of them, or ``None``.

    A first row without numbers is skipped. Raises InvalidProblemError without rows, or for a row with another number
    of cells or no numbers. Linear in the cells.
    """
    if rows and not any(_is_number(cell) for cell in rows[0]):
        rows = rows[1:]
    if not rows:
        raise refused("array-no-words", argument, "no rows")
    # A word may look like a number; then all the others decide.
    named = not all(_is_number(row[0]) for row in rows)
    width = len(rows[0])
    points = np.empty((len(rows), width - named))
    for place, row in enumerate(rows):
        if len(row) != width or not all(_is_number(cell) for cell in row[named:]):
            where = ", after the word" if named else ""
            raise refused(
                "array-row",
                argument,
                f"other cells in row {place + 1}",
                numbers=width - named,
                where=where,
            )
        points[place] = [float(cell) for cell in row[named:]]
    return points, [row[0] for row in rows] if named else None


def read_matrix(path: str, argument: str) -> NDArray[Any]:
    r"""Read a matrix ``(rows, columns)`` from a ``.npy`` file, mapped into memory, or as float64 from CSV, no names.

    A matrix from ``.npy`` has any shape and type, which the caller checks; CSV is read whole.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, or rows that are not numbers of one count.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "loss.csv"
    ...     _ = file.write_text("0,1\n1,0\n")
    ...     read_matrix(str(file), "--loss")
    array([[0., 1.],
           [1., 0.]])
    """
    if Path(path).suffix.lower() == ".npy":
        return open_array(path, argument)
    rows = _cells(path, argument)
    if not rows:
        raise refused("matrix-empty", argument, f"{path}, which is empty")
    for place, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]) or not all(map(_is_number, row)):
            raise refused(
                "matrix-row", argument, f"other cells in row {place} of {path}", width=len(rows[0])
            )
    return np.array([[float(cell) for cell in row] for row in rows], dtype=np.float64)


def _cells(path: str, argument: str) -> list[list[str]]:
    """Return the cells of a text file by row; refuse one that is no table."""
    try:
        return cells_of_text(text_in(path, argument))
    except CellError:
        raise refused("array-no-numbers", argument, f"{path}, which is not a table") from None


def _is_number(cell: str) -> bool:
    """Test whether Python reads a cell as a float, which it does of "nan", "inf" and "1_000" too."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
