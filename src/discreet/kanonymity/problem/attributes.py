"""The kinds of quasi-identifiers: numbers published as intervals, values as sets, leaves of a taxonomy as its nodes.

Dates, codes with prefixes and rounded numbers stand in :mod:`~discreet.kanonymity.problem.levels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.problem.levels import Dates, Levels, Prefixes, Rounded, check_weight

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from discreet.core.tree import Tree

__all__ = [
    "Attribute",
    "Categorical",
    "Dates",
    "Levels",
    "Numeric",
    "Prefixes",
    "Resolved",
    "Rounded",
    "Taxonomy",
    "depth_first",
]


@final
@dataclass(frozen=True)
class Numeric:
    """A column of numbers, published as intervals.

    Parameters
    ----------
    name
        The column.
    weight
        What a fully generalized cell costs, not negative.
    low, high
        Declared bounds; ``None`` for the least and greatest observed value. Losses of different samples can be compared
        only with declared bounds.

    Examples
    --------
    >>> Numeric("age", low=0, high=120).weight
    1.0
    """

    name: str
    weight: float = 1.0
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        check_weight(self.name, self.weight)
        bounds = [bound for bound in (self.low, self.high) if bound is not None]
        if not all(np.isfinite(bound) for bound in bounds) or bounds != sorted(bounds):
            raise InvalidProblemError(f"{self.name}: bounds", "finite, low first", tuple(bounds))


@final
@dataclass(frozen=True)
class Categorical:
    """A column of values without order, published as sets of values.

    Parameters
    ----------
    name
        The column.
    weight
        What a fully generalized cell costs, not negative.
    values
        The declared domain; ``None`` for the observed values.

    Examples
    --------
    >>> Categorical("sex", values=("F", "M")).values
    ('F', 'M')
    """

    name: str
    weight: float = 1.0
    values: tuple[Hashable, ...] | None = None

    def __post_init__(self) -> None:
        check_weight(self.name, self.weight)
        if self.values is not None and len(set(self.values)) < len(self.values):
            raise InvalidProblemError(f"{self.name}: values", "each value once", "a duplicate")


@final
@dataclass(frozen=True)
class Taxonomy:
    """A column whose values are the leaves of a tree, published as nodes of the tree.

    Parameters
    ----------
    name
        The column.
    tree
        The taxonomy; labels of leaves are the values, and differ.
    weight
        What a fully generalized cell costs, not negative.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> Taxonomy("disease", Tree.from_paths([("viral", "flu"), ("viral", "cold"), ("gout",)])).name
    'disease'
    """

    name: str
    tree: Tree
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.name, self.weight)
        labels = [self.tree.labels[leaf] for leaf in self.tree.leaves.tolist()]
        if len(set(labels)) < len(labels):
            raise InvalidProblemError(f"{self.name}: tree", "leaves that differ", "a duplicate")


Resolved = Numeric | Categorical | Taxonomy
"""The kinds that the search knows."""

Attribute = Resolved | Levels


def depth_first(tree: Tree) -> NDArray[np.int64]:
    """Return the leaves of a tree in depth-first order, int64 ``(leaves,)``: those below any node are adjacent."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        children = tree.children(node)
        if not len(children):
            order.append(node)
        stack.extend(reversed(children))
    return np.array(order, dtype=np.int64)
