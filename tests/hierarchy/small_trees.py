"""Small trees with noisy counts, and the least cost of consistent counts by plain min-plus tables."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from discreet.core.guarantee import PureDP
from discreet.core.tree import Tree
from discreet.hierarchy.measure import Measured
from discreet.hierarchy.problem import Frame
from trees import tree_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

INFINITE = 1 << 60


def tables(
    tree: Tree, y: NDArray[np.int64], weights: NDArray[np.int64], most: int
) -> list[list[list[int]]]:
    """Tabulate for each node and size the least cost of each count up to ``most``, by trying all splits."""
    found: list[list[list[int]]] = [[] for _ in range(tree.n)]
    for node in range(tree.n - 1, -1, -1):
        for s in range(y.shape[1]):
            children = tree.children(node)
            phi = [0] * (most + 1)
            if children:
                phi = summed([found[child][s] for child in children])
            weight, noisy = int(weights[node]), int(y[node, s])
            found[node].append([phi[v] + weight * (v - noisy) ** 2 for v in range(most + 1)])
    return found


def summed(parts: list[list[int]]) -> list[int]:
    """Give the least sum of costs for each sum of counts."""
    most = len(parts[0])
    total = [0] + [INFINITE] * (most - 1)
    for part in parts:
        total = [min(total[a] + part[v - a] for a in range(v + 1)) for v in range(most)]
    return total


def least_cost(
    tree: Tree,
    y: NDArray[np.int64],
    total: int | None,
    weights: NDArray[np.int64],
) -> int:
    """Find the least cost by tables wide enough for every solution."""
    most = int(np.maximum(y, 0).max()) * len(tree.leaves) + 1 if total is None else total
    roots = tables(tree, y, weights, most)[0]
    return sum(min(root) for root in roots) if total is None else summed(roots)[total]


def random_tree(generator: np.random.Generator, n: int) -> Tree:
    """Make a tree of n nodes whose branches end where they like."""
    parents = np.sort([int(generator.integers(0, i)) for i in range(1, n)])
    return tree_of([str(i) for i in range(n)], [None, *map(str, parents)])


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tree, NDArray[np.int64], int | None, NDArray[np.int64]]:
    """Draw a tree, noisy counts, a total or none, and weights, of which some above the leaves are 0."""
    n = draw(st.integers(1, 8))
    above = [draw(st.integers(0, i)) for i in range(n - 1)]
    tree = tree_of([str(i) for i in range(n)], [None, *map(str, above)])
    n_sizes = draw(st.integers(1, 3))
    cells = st.lists(st.integers(-4, 6), min_size=n * n_sizes, max_size=n * n_sizes)
    y = np.array(draw(cells), dtype=np.int64).reshape(n, n_sizes)
    total = draw(st.none() | st.integers(0, 14))
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    weights[tree.leaves] = np.maximum(weights[tree.leaves], 1)
    return tree, y, total, weights


def measured_of(
    tree: Tree,
    values: Any,
    *,
    total: int | None = None,
    scale: Fraction | int = 4,
    **changes: Any,
) -> Measured:
    """Make noisy direct counts of given values; with a total the units are public, and all are in the first leaf."""
    noisy = np.asarray(values, dtype=np.int64)
    share = Fraction(1, tree.depth + 1)
    totals = None
    if total is not None:
        whole = np.zeros(len(tree.leaves), dtype=np.int64)
        whole[0] = total
        totals = tree.totals(whole)
    units: Any = "private" if total is None else "public"
    most = noisy.shape[1] - (total is not None)
    arguments: dict[str, Any] = {
        "frame": Frame(tree, most, units, group_totals=totals),
        "kind": "direct",
        "values": noisy,
        "scales": (Fraction(scale),) * tree.n,
        "noise": "laplace",
        "guarantee": PureDP(2 * (tree.depth + 1) / Fraction(scale), neighbors="add-remove-person"),
        "shares": (share,) * (tree.depth + 1),
        "seeded": True,
    }
    return Measured(**(arguments | changes))
