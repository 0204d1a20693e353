"""Trees of tables of parents, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


def tree_of(labels: Sequence[Hashable], parents: Sequence[Hashable | None]) -> Tree:
    """Make a tree of different labels, in any order, each with the label of its parent; the root has none."""
    order, above = [labels[list(parents).index(None)]], [-1]
    for at, node in enumerate(order):
        for label, parent in zip(labels, parents, strict=True):
            if parent is not None and parent == node:
                order.append(label)
                above.append(at)
    return Tree(tuple(order), np.array(above))
