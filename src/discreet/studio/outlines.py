"""Taxonomies as nested lists: a line for each label, what it stands for indented below it, values at the ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.core.tree import Tree
from discreet.kanonymity.taxonomies import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["group_numbers", "read_outline", "write_outline"]

MOST_VALUES = 5_000


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
        For an empty list, or one whose lines fit no line above.

    Examples
    --------
    >>> tree = read_outline("Europe\n  FR\n  DE\nAsia\n  JP", "country")
    >>> tree.labels[0], [tree.labels[leaf] for leaf in tree.leaves.tolist()]
    ('*', ['FR', 'DE', 'JP'])
    """
    lines = [line.expandtabs(4).rstrip() for line in text.splitlines() if line.strip()]
    if not lines:
        expected = "a nested list: each group on a line, its values indented below it"
        raise InvalidProblemError(name, expected, "an empty one")
    depths = [len(line) - len(line.lstrip(" ")) for line in lines]
    if depths[0]:
        raise InvalidProblemError(name, "a first line that is not indented", "one that is")
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
    r"""Write a taxonomy as a nested list, without its top.

    Examples
    --------
    >>> write_outline(read_outline("Europe\n  FR\nAsia\n  JP", "country"))
    'Europe\n  FR\nAsia\n  JP'
    """
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


def group_numbers(values: Sequence[str], width: float, name: str) -> str:
    r"""Put numbers into intervals of one width, as a nested list.

    Parameters
    ----------
    values
        Different values, as text.
    width
        Length of an interval; the first begins at a multiple of it.
    name
        The column, for messages.

    Raises
    ------
    InvalidProblemError
        For values that are no numbers, too many of them, or a width that is not positive.

    Examples
    --------
    >>> group_numbers(["21", "35", "27"], 10, "age")
    '[20, 30)\n  21\n  27\n[30, 40)\n  35'
    """
    if not (math.isfinite(width) and width > 0):
        raise InvalidProblemError(name, "a positive width of intervals", width)
    if len(values) > MOST_VALUES:
        expected = (
            f"at most {MOST_VALUES:,} values in a list; publish it as a number, which needs no list"
        )
        raise InvalidProblemError(name, expected, "more")
    try:
        ordered = sorted(values, key=float)
    except ValueError:
        raise InvalidProblemError(name, "numbers, to be put into intervals", "other text") from None
    groups: dict[int, list[str]] = {}
    for value in ordered:
        groups.setdefault(math.floor(float(value) / width), []).append(value)
    lines = []
    for at, members in groups.items():
        lines.append(f"[{at * width:g}, {(at + 1) * width:g})")
        lines += [f"  {member}" for member in members]
    return "\n".join(lines)
