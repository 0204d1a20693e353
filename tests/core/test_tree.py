from __future__ import annotations

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.tree import Tree

RAGGED = [("a", "x", "1"), ("a", "y"), ("b",), ("c", "x", "1"), ("c", "x", "2")]


def test_paths_become_level_order() -> None:
    tree = Tree.from_paths(RAGGED, root="all")
    assert tree.labels == ("all", "a", "b", "c", "x", "y", "x", "1", "1", "2")
    assert tree.parents.tolist() == [-1, 0, 0, 0, 1, 1, 3, 4, 6, 6]
    assert tree.levels.tolist() == [0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert tree.level_start.tolist() == [0, 1, 4, 7, 10]
    assert tree.depth == 3
    assert tree.leaves.tolist() == [2, 5, 7, 8, 9]
    assert tree.leaf_counts.tolist() == [5, 2, 1, 2, 1, 1, 2, 1, 1, 1]
    assert [list(tree.children(v)) for v in (0, 1, 2, 6)] == [[1, 2, 3], [4, 5], [], [8, 9]]
    assert tree.child_start.tolist() == [1, 4, 6, 6, 7, 8, 8, 10, 10, 10, 10]
    assert (len(tree), repr(tree)) == (10, "Tree(nodes=10, leaves=5, depth=3)")


def test_paths_lead_back() -> None:
    tree = Tree.from_paths(RAGGED)
    assert {tree.path(leaf) for leaf in tree.leaves.tolist()} == set(RAGGED)
    assert [tree.path(tree.find(path)) for path in RAGGED] == RAGGED
    assert tree.find(()) == 0
    assert tree.path(0) == ()
    assert tree.ancestors(9).tolist() == [0, 3, 6, 9]
    with pytest.raises(InvalidProblemError, match="path"):
        tree.find(("a", "z"))


def test_a_single_node_is_a_tree() -> None:
    tree = Tree(("only",), np.array([-1]))
    assert tree.depth == 0
    assert tree.leaves.tolist() == [0]
    assert tree.leaf_counts.tolist() == [1]
    assert tree.meet(0, 0) == 0
    assert tree.totals([[2, 3]]).tolist() == [[2, 3]]


def test_trees_are_equal_by_labels_and_parents() -> None:
    tree = Tree.from_paths([("a",), ("b", "b2"), ("b", "b1")], root="any")
    same = Tree(tree.labels, tree.parents)
    assert (tree, hash(tree)) == (same, hash(same))
    assert tree != Tree.from_paths([("a",), ("b", "b2"), ("b", "b1")])
    assert tree != "any"


def test_meets_of_all_pairs_agree_with_the_longest_common_path() -> None:
    tree = Tree.from_paths(RAGGED)
    nodes = np.arange(tree.n)
    table = tree.meet(nodes[:, None], nodes)
    for a in nodes.tolist():
        for b in nodes.tolist():
            p, q = tree.path(a), tree.path(b)
            common = 0
            while common < min(len(p), len(q)) and p[common] == q[common]:
                common += 1
            assert table[a, b] == tree.find(p[:common])


def test_meets_of_nothing() -> None:
    assert Tree.from_paths(RAGGED).meet([], []).shape == (0,)


def test_totals_keep_integers_and_columns() -> None:
    tree = Tree.from_paths(RAGGED)
    values = np.arange(10).reshape(5, 2)
    totals = tree.totals(values)
    assert totals.dtype == values.dtype
    assert totals[0].tolist() == values.sum(axis=0).tolist()
    for node in range(tree.n):
        below = list(tree.children(node))
        if below:
            assert (totals[node] == totals[below].sum(axis=0)).all()
    assert tree.totals(np.array([10**30, 1, 1, 1, 1], dtype=object))[0] == 10**30 + 4


def test_arrays_cannot_be_written() -> None:
    tree = Tree.from_paths(RAGGED)
    for array in (tree.parents, tree.levels, tree.leaves, tree.leaf_counts, tree.child_start):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "at least one"),
        ([("a",), ("a",)], "each leaf once, got row 1"),
        ([("a", "b"), ("a",)], "inside another"),
        ([("a",), ("a", "b")], "inside another"),
        ([()], "row 0"),
        (["ab"], "row 0"),
    ],
)
def test_paths_that_make_no_tree(paths: list[tuple[str, ...]], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        Tree.from_paths(paths)


@pytest.mark.parametrize(
    ("labels", "parents", "field"),
    [
        ((), [], "labels"),
        (("r", "a"), [-1], "parents"),
        (("r", "a"), [0, 0], "parents"),
        (("r", "a"), [-1, -1], "parents"),
        (("r", "a"), [-1, 1], "parents"),
        (("r", "a", "b", "c"), [-1, 0, 1, 0], "parents"),
        (("r", "a", "a"), [-1, 0, 0], "labels"),
    ],
)
def test_arrays_out_of_level_order(labels: tuple[str, ...], parents: list[int], field: str) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        Tree(labels, np.array(parents))
    assert caught.value.field == field


def test_what_is_no_node_is_refused() -> None:
    tree = Tree.from_paths(RAGGED)
    with pytest.raises(InvalidProblemError, match="nodes 0 to 9"):
        tree.meet(0, 10)
    with pytest.raises(InvalidProblemError, match="nodes 0 to 9"):
        tree.meet(-1, 3)
    with pytest.raises(InvalidProblemError, match="5 rows"):
        tree.totals([1, 2])


def test_nodes_are_selected_by_level_or_path() -> None:
    tree = Tree.from_paths([("a", "b"), ("a", "c", "e"), ("d",)])
    for level in range(1, tree.depth + 2):
        found = tree.select(level=level).tolist()
        assert found == sorted(found)
        # Each leaf is below one of them, or is one.
        above = [sorted({*tree.ancestors(leaf).tolist()} & {*found}) for leaf in tree.leaves]
        assert all(len(one) == 1 for one in above)
    paths = [("a", "c"), (), ("d",)]
    assert [tree.path(node) for node in tree.select(paths=paths).tolist()] == paths
    assert tree.select(level=4).tolist() == tree.leaves[np.argsort(tree.leaves)].tolist()


def test_what_selects_no_node_is_refused() -> None:
    tree = Tree.from_paths([("a", "b"), ("d",)])
    with pytest.raises(InvalidProblemError, match="one of the two"):
        tree.select()
    with pytest.raises(InvalidProblemError, match="one of the two"):
        tree.select(level=1, paths=[("a",)])
    for level in (0, 4, True, 2.0):
        with pytest.raises(InvalidProblemError, match="a level from 1 to 3"):
            tree.select(level=level)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblemError, match="path"):
        tree.select(paths=[("e",)])
    with pytest.raises(InvalidProblemError, match="regions"):
        tree.select(paths=3)  # type: ignore[arg-type]
