"""Laws of trees: parents before children, the meet is a semilattice, totals add up."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.tree import Tree
from trees import tree_of


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Draw a tree from a parent table in random order."""
    n = draw(st.integers(1, 25))
    above = [None, *(draw(st.integers(0, i - 1)) for i in range(1, n))]
    order = draw(st.permutations(range(n)))
    return tree_of(order, [above[i] for i in order])


@given(trees())
def test_parents_come_before_children(tree: Tree) -> None:
    assert (tree.parents < np.arange(tree.n)).all()
    assert (np.diff(tree.levels) >= 0).all()
    assert (tree.levels[1:] == tree.levels[tree.parents[1:]] + 1).all()


@given(trees())
def test_children_and_parents_agree(tree: Tree) -> None:
    assert [c for v in range(tree.n) for c in tree.children(v)] == list(range(1, tree.n))
    assert all(tree.parents[c] == v for v in range(tree.n) for c in tree.children(v))


@given(trees())
def test_the_meet_is_a_semilattice(tree: Tree) -> None:
    nodes = np.arange(tree.n)
    meet = tree.meet(nodes[:, None], nodes)
    assert (np.diag(meet) == nodes).all()
    assert (meet == meet.T).all()
    x, y, z = nodes[:, None, None], nodes[:, None], nodes
    assert (tree.meet(tree.meet(x, y), z) == tree.meet(x, tree.meet(y, z))).all()


@given(trees())
def test_a_meet_is_the_deepest_common_ancestor(tree: Tree) -> None:
    above = [set(tree.ancestors(v).tolist()) for v in range(tree.n)]
    for a in range(tree.n):
        for b in range(tree.n):
            assert int(tree.meet(a, b)) == max(above[a] & above[b])


@given(trees(), st.data())
def test_totals_are_sums_over_leaves(tree: Tree, data: st.DataObject) -> None:
    count = len(tree.leaves)
    values = data.draw(st.lists(st.integers(-99, 99), min_size=count, max_size=count))
    totals = tree.totals(np.array(values))
    for node in range(tree.n):
        below = [
            value
            for leaf, value in zip(tree.leaves.tolist(), values, strict=True)
            if node in tree.ancestors(leaf)
        ]
        assert totals[node] == sum(below)
        assert tree.leaf_counts[node] == len(below)


@given(trees())
def test_paths_make_the_tree_again(tree: Tree) -> None:
    if tree.n > 1:
        again = Tree.from_paths(
            [tree.path(leaf) for leaf in tree.leaves.tolist()], root=tree.labels[0]
        )
        assert again.leaf_counts[0] == len(tree.leaves)
        assert {again.path(v) for v in range(again.n)} == {tree.path(v) for v in range(tree.n)}
