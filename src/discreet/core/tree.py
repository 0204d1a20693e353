"""Rooted trees as arrays: regions above units, taxonomies of values.

Nodes are numbered level by level: the root is 0, parents come before children, and the children of a node, like the
nodes of a level, have consecutive numbers. Branches may end at different depths.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import items_of, name_of, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray


@final
@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A rooted tree in level order; :meth:`from_paths` makes it from leaves in any order.

    Parameters
    ----------
    labels
        One label a node; siblings have different ones.
    parents
        Array ``(n,)``: the parent of each node, -1 for the root, never decreasing.

    Raises
    ------
    InvalidProblemError
        For no nodes, arrays that do not match, nodes out of level order, or siblings with one label.

    Examples
    --------
    >>> tree = Tree.from_paths([("GA", "Fulton"), ("GA", "Cobb"), ("DC",)], root="US")
    >>> tree
    Tree(nodes=5, leaves=3, depth=2)
    >>> tree.labels, tree.parents.tolist()
    (('US', 'GA', 'DC', 'Fulton', 'Cobb'), [-1, 0, 0, 1, 1])
    >>> tree.leaf_counts.tolist(), int(tree.meet(3, 4))
    ([3, 2, 1, 1, 1], 1)
    """

    labels: tuple[Hashable, ...]
    parents: NDArray[np.int64]

    def __post_init__(self) -> None:
        labels, parents = tuple(self.labels), np.array(self.parents, dtype=np.int64)
        if not labels:
            raise InvalidProblemError("labels", "at least a root", "none")
        if parents.shape != (len(labels),):
            raise InvalidProblemError(
                "parents", f"one for each of {len(labels)} labels", parents.shape
            )
        ordered = (np.diff(parents) >= 0).all() and (parents < np.arange(len(labels))).all()
        if parents[0] != -1 or (parents[1:] < 0).any() or not ordered:
            raise InvalidProblemError(
                "parents", "level order: -1 first, then earlier nodes, never decreasing", "another"
            )
        named = set(zip(parents.tolist(), labels, strict=True))
        if len(named) < len(labels):
            raise InvalidProblemError("labels", "siblings with different labels", "a duplicate")
        parents.setflags(write=False)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "parents", parents)

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[Hashable]], *, root: Hashable = "all") -> Tree:
        """Tree with a leaf at the end of each path.

        Linear in the labels of all paths.

        InvalidProblemError also for a label that is not hashable.

        Parameters
        ----------
        paths
            For each leaf the labels from below the root down to it, such as ``("GA", "Fulton")``. Siblings are
            numbered as they are first seen.
        root
            Label of the root.

        Returns
        -------
        Tree
            The tree; its leaves come in level order, not in the order of the paths: use :meth:`find`.

        Raises
        ------
        InvalidProblemError
            For no paths, an empty path, a path given twice, or one that ends inside another.

        Examples
        --------
        >>> Tree.from_paths([("a",), ("b", "c")]).leaves.tolist()
        [1, 3]
        """
        children: dict[tuple[Hashable, ...], dict[Hashable, None]] = {}
        ends: set[tuple[Hashable, ...]] = set()
        name_of(root, "root")
        for row, labels_down in enumerate(items_of(paths, "paths", "tuples of labels")):
            path = _path(labels_down, row)
            if path in ends:
                raise InvalidProblemError("paths", "each leaf once", f"row {row} again")
            ends.add(path)
            for depth, label in enumerate(path):
                children.setdefault(path[:depth], {})[label] = None
        if not ends:
            raise InvalidProblemError("paths", "at least one", "none")
        if not ends.isdisjoint(children):
            raise InvalidProblemError("paths", "leaves", "a path that ends inside another")
        labels: list[Hashable] = [root]
        parents = [-1]
        nodes: list[tuple[Hashable, ...]] = [()]
        for at, node in enumerate(nodes):
            for label in children.get(node, ()):
                labels.append(label)
                parents.append(at)
                nodes.append((*node, label))
        return cls(tuple(labels), np.array(parents))

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    def __len__(self) -> int:
        """Count the nodes."""
        return self.n

    def __repr__(self) -> str:
        return f"Tree(nodes={self.n}, leaves={len(self.leaves)}, depth={self.depth})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tree)
            and self.labels == other.labels
            and np.array_equal(self.parents, other.parents)
        )

    def __hash__(self) -> int:
        return hash((self.labels, self.parents.tobytes()))

    def __reduce__(self) -> tuple[type[Tree], tuple[object, ...]]:
        # Pickled arrays may be written to in the other process, which would compile kernels anew for them.
        return Tree, (self.labels, self.parents)

    @cached_property
    def child_start(self) -> NDArray[np.int64]:
        """Array ``(n + 1,)``: the children of node ``v`` are ``child_start[v] .. child_start[v + 1] - 1``.

        ``O(n)``, once.
        """
        counts = np.bincount(self.parents[1:], minlength=self.n)
        return _frozen(np.concatenate([[1], 1 + np.cumsum(counts)]))

    def children(self, node: int) -> range:
        """Return the range of the children of a node; empty for a leaf. `node` is not checked."""
        return range(int(self.child_start[node]), int(self.child_start[node + 1]))

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """Array ``(n,)``: the depth of each node, 0 for the root."""
        levels = np.zeros(self.n, dtype=np.int64)
        # One level at a time: the parents of a level are known when it is reached.
        first, stop = 0, 1
        while stop < self.n:
            first, stop = stop, int(self.child_start[stop])
            levels[first:stop] = levels[self.parents[first]] + 1
        return _frozen(levels)

    @property
    def depth(self) -> int:
        """The deepest level, 0 if the root is the only node."""
        return int(self.levels[-1])

    @cached_property
    def level_start(self) -> NDArray[np.int64]:
        """Array ``(depth + 2,)``: the nodes of level ``l`` are ``level_start[l] .. level_start[l + 1] - 1``.

        ``O(depth log n)``, once.
        """
        return _frozen(np.searchsorted(self.levels, np.arange(self.depth + 2)))

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """Array ``(n_leaves,)`` int64: the nodes without children, in ascending order of nodes."""
        return _frozen(np.flatnonzero(self.is_leaf))

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Array ``(n,)``: whether a node has no children."""
        flags = np.asarray(np.diff(self.child_start) == 0)
        flags.setflags(write=False)
        return flags

    @cached_property
    def leaf_counts(self) -> NDArray[np.int64]:
        """Array ``(n,)`` int64: number of leaves below each node; 1 for a leaf. ``O(n)``, at the first access."""
        return _frozen(self.totals(np.ones(len(self.leaves), dtype=np.int64)))

    def totals(self, values: ArrayLike) -> NDArray[Any]:
        """Add the values of leaves up to every node.

        Sums are of the type of the values, and integers wrap around silently.

        Parameters
        ----------
        values
            Array ``(n_leaves, ...)`` in the order of :attr:`leaves`; integers stay integers.

        Returns
        -------
        ndarray
            Array ``(n, ...)``: for each node the sum over the leaves below it.

        Raises
        ------
        InvalidProblemError
            When there is not one row for each leaf.

        Complexity
        ----------
        ``O(n)`` additions for each column.

        Examples
        --------
        >>> Tree.from_paths([("a", "b"), ("a", "c"), ("d",)]).totals([1, 10, 100]).tolist()
        [111, 110, 1, 10, 100]
        """
        leaf_values = np.asarray(values)
        if leaf_values.shape[:1] != (len(self.leaves),):
            raise InvalidProblemError(
                "values", f"{len(self.leaves)} rows, one a leaf", leaf_values.shape
            )
        totals = np.zeros((self.n, *leaf_values.shape[1:]), dtype=leaf_values.dtype)
        totals[self.leaves] = leaf_values
        for level in range(self.depth, 0, -1):
            nodes = slice(int(self.level_start[level]), int(self.level_start[level + 1]))
            np.add.at(totals, self.parents[nodes], totals[nodes])
        return totals

    def meet(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
        """Find the lowest common ancestors of nodes.

        The result is int64 of the common shape.

        Parameters
        ----------
        a, b
            Arrays of nodes, broadcast against each other.

        Returns
        -------
        ndarray
            The meets. A node is its own ancestor.

        Raises
        ------
        InvalidProblemError
            For nodes that do not exist.

        Complexity
        ----------
        At most ``2 depth`` steps over the arrays.

        Notes
        -----
        Of two different nodes the one with the larger number is no ancestor of the other, since parents come first; so
        the meet stays the same when it is replaced by its parent.

        Examples
        --------
        >>> Tree.from_paths([("a", "b"), ("a", "c"), ("d",)]).meet([3, 3, 1], [4, 2, 3]).tolist()
        [1, 0, 1]
        """
        x, y = np.broadcast_arrays(np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64))
        if x.size and (min(x.min(), y.min()) < 0 or max(x.max(), y.max()) >= self.n):
            raise InvalidProblemError("a, b", f"nodes 0 to {self.n - 1}", "others")
        while (x != y).any():
            x, y = np.where(x > y, self.parents[x], x), np.where(y > x, self.parents[y], y)
        return np.array(x)

    def ancestors(self, node: int) -> NDArray[np.int64]:
        """Return the nodes from the root to `node`, both included, int64 ``(depth + 1,)``; ``O(depth)``.

        `node` is not checked.
        """
        upward = [node]
        while upward[-1]:
            upward.append(int(self.parents[upward[-1]]))
        return np.array(upward[::-1])

    def path(self, node: int) -> tuple[Hashable, ...]:
        """Return the labels from the root, excluded, to a node: an argument of :meth:`from_paths` and :meth:`find`.

        ``O(depth)``.
        """
        return tuple(self.labels[at] for at in self.ancestors(node)[1:].tolist())

    def find(self, path: Sequence[Hashable]) -> int:
        """Find the node at the end of a path of labels that begins below the root; 0, the root, for an empty path.

        ``O(depth)``.

        Raises
        ------
        InvalidProblemError
            When there is none.

        Examples
        --------
        >>> Tree.from_paths([("a", "b"), ("a", "c")]).find(("a", "c"))
        3
        """
        node = 0
        for label in path:
            below = self._child.get((node, label))
            if below is None:
                raise InvalidProblemError("path", "the labels of a node", repr(tuple(path)))
            node = below
        return node

    def select(
        self, *, level: int | None = None, paths: Sequence[Sequence[Hashable]] | None = None
    ) -> NDArray[np.int64]:
        """Return the nodes of a level, or the nodes at the ends of paths.

        ``O(n)`` for a level, ``O(depth)`` for each path.

        Parameters
        ----------
        level
            Counted from 1, the root. Leaves of branches that end above it are among the nodes, so that every leaf lies
            below one of them, or is one.
        paths
            In place of a level: what :meth:`find` takes, a list each.

        Returns
        -------
        ndarray
            ``(nodes,)``: of a level in ascending order, of paths in the order given.

        Raises
        ------
        InvalidProblemError
            When neither or both are given, there is no such level, or a path leads nowhere.

        Examples
        --------
        >>> tree = Tree.from_paths([("a", "b"), ("a", "c"), ("d",)])
        >>> tree.select(level=3).tolist(), tree.select(paths=[("a", "c"), ()]).tolist()
        ([2, 3, 4], [4, 0])
        """
        if (level is None) == (paths is None):
            raise InvalidProblemError("level, regions", "one of the two", "both or neither")
        if paths is not None:
            expected = "paths of labels, a list each"
            label_paths = [
                items_of(path, "regions", expected) for path in items_of(paths, "regions", expected)
            ]
            return np.array([self.find(path) for path in label_paths], dtype=np.int64)
        expected = f"a level from 1 to {self.depth + 1}"
        whole_number(level, "level", expected)
        if level is None or level > self.depth + 1:
            raise InvalidProblemError("level", expected, repr(level))
        deep = self.levels + 1
        return np.flatnonzero((deep == level) | (self.is_leaf & (deep < level)))

    @cached_property
    def _child(self) -> dict[tuple[int, Hashable], int]:
        """Number of each node by its parent's number and its label."""
        above = zip(self.parents.tolist(), self.labels, strict=True)
        return {key: node for node, key in enumerate(above)}


def _path(given: Sequence[Hashable], row: int) -> tuple[Hashable, ...]:
    """Return a path as a tuple of labels; refuse text, no label, or one that is not hashable, with its row."""
    path: Any = given
    is_path = isinstance(path, Sequence | np.ndarray) and not isinstance(path, str | bytes)
    if not is_path or not len(path) or not all(isinstance(one, Hashable) for one in path):
        raise InvalidProblemError("paths", "tuples of labels", f"{given!r} in row {row}"[:400])
    return tuple(given)


def _frozen(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same array, read-only from now on."""
    array.setflags(write=False)
    return array
