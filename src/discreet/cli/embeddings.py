"""Read embeddings: one row for each word, a ``.npy`` array or a ``.csv`` file with or without the words."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_embeddings"]

_ARGUMENT = "--embeddings"


def read_embeddings(path: str) -> tuple[NDArray[np.float64], list[str] | None]:
    r"""Read points of any dimension, and their words where the file has them.

    Parameters
    ----------
    path
        ``.npy``: an array, words by dimensions. ``.csv``: numbers, each row with the word before them or each without;
        a first row without numbers is a header.

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
    ...     points, words = read_embeddings(str(file))
    >>> points.tolist(), words
    ([[0.5, 1.0], [0.5, 0.75]], ['cat', 'dog'])
    """
    kind = Path(path).suffix.lower()
    if kind not in {".npy", ".csv"}:
        raise InvalidProblemError(_ARGUMENT, "a file that ends in .npy or .csv", repr(path))
    try:
        if kind == ".npy":
            return _numbers(np.load(path, allow_pickle=False)), None
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, ValueError, EOFError, csv.Error) as error:
        got = f"{path}: {str(error).partition(chr(10))[0]}"
        raise InvalidProblemError(_ARGUMENT, "a table of numbers", got) from None
    return _rows(rows)


def _numbers(array: object) -> NDArray[np.float64]:
    table = np.asarray(array)
    if table.ndim != 2 or table.dtype.kind not in "iuf":
        raise ValueError(f"{table.dtype} of shape {table.shape}")
    return table.astype(np.float64)


def _rows(rows: list[list[str]]) -> tuple[NDArray[np.float64], list[str] | None]:
    if rows and not any(_is_number(cell) for cell in rows[0]):
        rows = rows[1:]
    if not rows:
        raise InvalidProblemError(_ARGUMENT, "one row for each word", "none")
    # A word may look like a number; then all the others decide.
    named = not all(_is_number(row[0]) for row in rows)
    width = len(rows[0])
    points = np.empty((len(rows), width - named))
    for place, row in enumerate(rows):
        if len(row) != width or not all(_is_number(cell) for cell in row[named:]):
            where = ", after the word" if named else ""
            expected = f"{width - named} numbers in each row{where}"
            raise InvalidProblemError(_ARGUMENT, expected, f"others in row {place + 1}")
        points[place] = [float(cell) for cell in row[named:]]
    return points, [row[0] for row in rows] if named else None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
