"""Rows of CSV files that are no whole rows.

A reader of tables takes an empty line, or a row with too few cells, for a row with missing values. Of people that would
be one who is nobody, and a class of k rows would have fewer than k people.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

__all__ = ["first_ragged"]


def first_ragged(path: str | os.PathLike[str], mark: str) -> str:
    """Say which row is the first that has other than as many cells as there are names; nothing where none has.

    Parameters
    ----------
    path
        A CSV file.
    mark
        What separates its cells.

    Raises
    ------
    UnicodeDecodeError
        For a file that is not in UTF-8.

    Complexity
    ----------
    The whole file is divided into cells, about a second for a million rows.
    """
    line = 0
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=mark, strict=True)
        try:
            width = len(next(rows, []))
            line = rows.line_num
            for row in rows:
                # A line without anything is a missing value in the only column, and no row of several.
                if len(row) != width and (row or width > 1):
                    return f"{len(row)} of {width} cells in line {line + 1}"
                line = rows.line_num
        except csv.Error:
            return f"a cell without an end in line {line + 1}"
    return ""
