"""What may come from a file or from the network, made fit for a terminal.

A terminal obeys some characters: they move the cursor, change colors, turn the direction of text around. A name with
such characters, or with a line end, could print a verdict of its own.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["LONGEST", "facts", "in_columns", "one_line"]

LONGEST = 1_000
"""Characters of a value that are printed, unless said otherwise."""


def one_line(value: object, most: int = LONGEST) -> str:
    r"""Write a value on one line: what a terminal would obey is escaped, and what is longer is cut.

    Parameters
    ----------
    value
        Anything; its text is what counts.
    most
        Characters, escapes included, after which the text is cut; then its length is said.

    Returns
    -------
    str
        The same text where all of it can be printed, escapes such as ``\x1b`` for line ends, controls, marks of
        direction and characters that are none.

    Examples
    --------
    >>> one_line("km\nok\x1b[2J")
    'km\\nok\\x1b[2J'
    >>> one_line("x" * 2000, 10)
    'xxxxxxxxxx... (2000 characters)'
    """
    text = str(value)
    shown = text[: most + 1]
    if not shown.isprintable():
        shown = "".join(one if _is_plain(one) else ascii(one)[1:-1] for one in shown)
    return shown if len(shown) <= most else f"{shown[:most]}... ({len(text)} characters)"


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Lay out names and values in two columns; each takes one line, wherever it comes from.

    Examples
    --------
    >>> print(facts([("k", 5), ("rows", 12)]))
    k     5
    rows  12
    """
    return in_columns([(one_line(name), one_line(value)) for name, value in pairs])


def in_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Lay out rows of cells in columns, two spaces apart.

    Parameters
    ----------
    rows
        Rows of equally many cells, each on one line.
    right
        Columns that are aligned to the right, counted from 0.

    Examples
    --------
    >>> print(in_columns([("name", "n"), ("a", "10")], right=[1]))
    name   n
    a     10
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _is_plain(one: str) -> bool:
    """Tell whether a character only shows itself; spaces of other widths do, and count as not printable."""
    return one.isprintable() or unicodedata.category(one) == "Zs"
