"""Taxonomies as nested lists: a line for each label, what it stands for indented below it, values at the ends."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.core.exact import to_fraction
from discreet.core.tree import Tree
from discreet.tables.refusals import refused
from discreet.tables.taxonomies import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction


def read_outline(text: str, name: str) -> Tree:
    r"""Read a nested list.

    Parameters
    ----------
    text
        Lines; spaces or tabs at their beginning say what stands below what.
    name
        The column, for messages.

    Raises
    ------
    InvalidProblemError
        For an empty list, a first line that is indented, or a line that comes twice and has nothing below it.

    Examples
    --------
    >>> tree = read_outline("Europe\n  FR\n  DE\nAsia\n  JP", "country")
    >>> tree.labels[0], [tree.labels[leaf] for leaf in tree.leaves.tolist()]
    ('*', ['FR', 'DE', 'JP'])
    """
    lines = [line.expandtabs(4).rstrip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise refused("outline-empty", name, "an empty list")
    depths = [len(line) - len(line.lstrip(" ")) for line in lines]
    if depths[0]:
        raise refused("outline-indented", name, "an indented line")
    paths: list[tuple[str, ...]] = []
    stack: list[tuple[int, str]] = []
    for at, (line, depth) in enumerate(zip(lines, depths, strict=True)):
        while stack and stack[-1][0] >= depth:
            stack.pop()
        stack.append((depth, line.strip()))
        if at + 1 == len(lines) or depths[at + 1] <= depth:
            paths.append(tuple(label for _, label in stack))
    return Tree.from_paths(paths, root=ROOT)


def write_outline(tree: Tree) -> str:
    r"""Return a taxonomy as a nested list, without its top: a label a line, indented by depth. Linear."""
    below: dict[int, list[int]] = {}
    for node, parent in enumerate(tree.parents.tolist()):
        if node != parent and parent >= 0:
            below.setdefault(parent, []).append(node)
    lines: list[str] = []
    todo = [(node, 0) for node in reversed(below.get(0, []))]
    while todo:
        node, depth = todo.pop()
        lines.append("  " * depth + str(tree.labels[node]))
        todo += [(child, depth + 1) for child in reversed(below.get(node, []))]
    return "\n".join(lines)


def list_values(values: Sequence[str], name: str) -> str:
    """Return different values as a text with one on each line.

    Raises
    ------
    InvalidProblemError
        For more of them than a list shows.

    Examples
    --------
    >>> list_values(["F", "M"], "sex").splitlines()
    ['F', 'M']
    """
    _check_length(values, name, "load a file")
    return "\n".join(values)


def _check_length(values: Sequence[str], name: str, instead: str, *, most: int = 5_000) -> None:
    """Refuse more than `most` values, as many as fit the field of a page; `instead` is what to do with them."""
    if len(values) > most:
        raise refused("list-too-long", name, "more values", instead=instead)


def group_numbers(values: Sequence[str], widths: Sequence[Fraction], name: str) -> str:
    r"""Group numbers into intervals, and these into wider ones, as a nested list.

    Intervals without values are left out; numbers are sorted exactly.

    Parameters
    ----------
    values
        Different values, as text.
    widths
        Lengths of intervals, each a multiple of the one before; the first interval begins at a multiple of its length.
    name
        The column, for messages.

    Raises
    ------
    InvalidProblemError
        For values that are no numbers, too many of them, or widths that are not positive or would cut each other.

    Examples
    --------
    >>> from fractions import Fraction
    >>> group_numbers(["21", "35", "27"], [Fraction(10)], "age")
    '[20, 30)\n  21\n  27\n[30, 40)\n  35'
    >>> from fractions import Fraction
    >>> group_numbers(["21", "35"], [Fraction(10), Fraction(20)], "age")
    '[20, 40)\n  [20, 30)\n    21\n  [30, 40)\n    35'
    """
    if not widths or min(widths) <= 0:
        raise refused("widths-positive", name, "another width")
    for narrow, wide in pairwise(widths):
        if wide <= narrow or (wide / narrow).denominator != 1:
            raise refused("widths-multiples", name, f"{_plain(narrow)}, {_plain(wide)}")
    _check_length(values, name, "publish it as a number, which needs no list")
    try:
        # Exactly: three tenths divided by a tenth are three.
        ordered = sorted((to_fraction(value.strip(), name), value) for value in values)
    except ValueError:
        raise refused("intervals-of-text", name, "other text") from None
    lines: list[str] = []
    within: list[int | None] = [None] * len(widths)
    for number, value in ordered:
        for depth, width in enumerate(reversed(widths)):
            at = math.floor(number / width)
            if within[depth] != at:
                within[depth:] = [at] + [None] * (len(widths) - depth - 1)
                low, high = _plain(at * width), _plain((at + 1) * width)
                lines.append(f"{'  ' * depth}[{low}, {high})")
        lines.append("  " * len(widths) + value)
    return "\n".join(lines)


def _plain(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))
