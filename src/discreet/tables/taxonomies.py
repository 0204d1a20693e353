"""Taxonomies from files and mappings: which values a more general one stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.core.tree import Tree
from discreet.tables.dialect import cells_of_text, text_in
from discreet.tables.parsing import CellError
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    Nested = Mapping[str, "Nested"] | Iterable[str]

ROOT = "*"
"""What the top is called where it has no name."""


def read_taxonomy(path: str | os.PathLike[str]) -> Tree:
    """Read a taxonomy from a file in ARX's column format.

    The file is read whole.

    Parameters
    ----------
    path
        A CSV file without a header: a row for each value, with the value first and then what stands for it on each
        level up to the top. Commas, semicolons, tabs or bars separate.

    Returns
    -------
    Tree
        The taxonomy, with values as text.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, or rows that make no taxonomy, named by their line.
    """
    text = text_in(path, "taxonomy")
    try:
        rows = cells_of_text(text)
    except CellError:
        raise refused("taxonomy-format", "taxonomy", f"{path}, which has another form") from None
    try:
        return taxonomy_of_columns(rows)
    except InvalidProblemError as error:
        raise error.renamed("taxonomy", got=f"{path}: {error.got}") from None


def taxonomy_of_columns(rows: Sequence[Sequence[str]]) -> Tree:
    """Build a taxonomy from rows that hold a value and then its generalizations, level by level.

    Columns are values at 0 and then levels up to the top; a last column of several labels stands below the top ``*``.

    Parameters
    ----------
    rows
        All of one length. The last entry is the top where it is the same in all rows.

    Returns
    -------
    Tree
        The taxonomy.

    Raises
    ------
    InvalidProblemError
        For rows of different lengths, a value given twice, or a label of a level that has two labels above it, which
        would not say what it stands for.

    Examples
    --------
    >>> tree = taxonomy_of_columns([("FR", "Europe", "*"), ("DE", "Europe", "*"), ("JP", "Asia", "*")])
    >>> tree, tree.labels[0]
    (Tree(nodes=6, leaves=3, depth=2), '*')
    """
    if not rows:
        raise refused("taxonomy-empty", "rows", "no rows")
    width = len(rows[0])
    seen: set[str] = set()
    above: list[dict[str, str]] = [{} for _ in range(width)]
    for line, row in enumerate(rows, start=1):
        if len(row) != width:
            raise refused("taxonomy-row", "rows", f"{len(row)} in line {line}", width=width)
        if row[0] in seen:
            raise refused("taxonomy-repeated", "rows", f"a value again in line {line}")
        seen.add(row[0])
        for level in range(1, width - 1):
            if above[level].setdefault(row[level], row[level + 1]) != row[level + 1]:
                raise refused("taxonomy-two-above", "rows", f"another label in line {line}")
    top = {row[-1] for row in rows}
    named = width > 1 and len(top) == 1
    paths = [tuple(reversed(row[:-1] if named else row)) for row in rows]
    return Tree.from_paths(paths, root=top.pop() if named else ROOT)


def taxonomy_of(nested: Nested, *, root: str = ROOT) -> Tree:
    """Build a taxonomy from a nested mapping: label -> its subtree, at the end the values.

    Parameters
    ----------
    nested
        The taxonomy below its top.
    root
        The top.

    Returns
    -------
    Tree
        The taxonomy.

    Raises
    ------
    InvalidProblemError
        For a label with nothing below it, or a value given twice below one label.

    Examples
    --------
    >>> taxonomy_of({"Europe": ["FR", "DE"], "Asia": {"South": ["IN"], "East": ["JP"]}}).depth
    3
    """
    return Tree.from_paths(list(_paths(nested, ())), root=root)


def _paths(nested: Nested, before: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    """Yield the labels of each leaf's path: `before`, then the labels of `nested`, a mapping down to lists of values.

    Raises InvalidProblemError for text in place of a list, or a label with nothing below it.
    """
    if isinstance(nested, str):
        raise refused("taxonomy-list", "nested", repr(nested))
    below = list(nested)
    if not below:
        raise refused("taxonomy-nothing-below", "nested", f"no value below {before!r}")
    for label in below:
        if isinstance(nested, Mapping):
            yield from _paths(nested[label], (*before, label))
        else:
            yield (*before, label)
