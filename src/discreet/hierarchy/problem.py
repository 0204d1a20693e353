"""What is released: how many groups of each size there are in each region. Public facts and private counts, apart.

A :class:`Frame` holds public facts only; a :class:`GroupSizes` holds the private counts of the lowest regions.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import array_of, instance_of
from discreet.core.outcome import PublicInput, digest_array
from discreet.core.spaces.inputs import positive_count
from discreet.core.tree import Tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


Units = Literal["public", "private"]

MOST_PERSONS = 1 << 30
"""Persons of one group, at most: a table has a column for each size."""

_MAX_COLUMN_NUMBER = 1 << 62
"""What a column of integers may be compared with."""

MAX_QUESTION_WEIGHT = 10**6
"""Largest weight of a size, category or region in a question."""

MOST_GROUPS = 2**45
"""So many groups keep every sum of differences, on trees as deep as one likes to draw, inside 64-bit integers."""


OTHER = "(other)"
"""Category or region of all keys that the public list does not have, where the list has this one."""


class RegionFrame:
    """Public facts about regions: two are equal if their hashes are."""

    tree: Tree

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def _stated(self) -> list[object]:
        """List everything that the hash is of."""
        return [self._tree_digest]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in the frame."""
        return sha256_of("\n".join(map(str, self._stated())))

    @cached_property
    def _tree_digest(self) -> str:
        # repr tells 1 from "1", and quotes what could be taken for a separator.
        """SHA-256 of the labels and the parents."""
        named = sha256_of("\n".join(map(repr, self.tree.labels)))
        return sha256_of(f"{named} {digest_array(self.tree.parents)}")

    def _regions(self) -> PublicInput:
        """The list of regions as a public input, with its hash."""
        described = f"{self.tree.n} regions on {self.tree.depth + 1} levels"
        return PublicInput("regions", self._tree_digest, described)


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


@final
@dataclass(frozen=True, eq=False, repr=False)
class Frame(RegionFrame):
    """The public facts about counts of groups by region and size.

    Parameters
    ----------
    tree
        The regions; every unit lies in one leaf.
    max_size
        N, the largest size; larger groups are counted as of this size, so that none is dropped.
    units
        ``"public"``: which units exist, and in which region, is known; sizes are 0 to N, and a unit never appears or
        vanishes. ``"private"``: only units with a size of 1 or more are counted, and a unit appears with its first
        person.
    max_quantity
        The most that one person adds to the size of a group.
    group_totals
        ``(n_nodes,)`` number of groups of each region, which public units make public; ``None`` for private units.

    Raises
    ------
    InvalidProblemError
        For an argument that makes no sense; the message names it.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> states = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> frame = Frame(states, 5, "public", group_totals=[6, 3, 3])
    >>> frame
    Frame(regions=3, levels=2, sizes=0..5, units=public)
    >>> frame.total, Frame(states, 5, "private").total
    (6, None)
    """

    tree: Tree
    max_size: int
    units: Units
    max_quantity: int = 1
    group_totals: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        size = positive_count(self.max_size, "max_size", _MAX_COLUMN_NUMBER)
        quantity = positive_count(self.max_quantity, "max_quantity", _MAX_COLUMN_NUMBER)
        object.__setattr__(self, "max_size", size)
        object.__setattr__(self, "max_quantity", quantity)
        if self.units not in ("public", "private"):
            raise InvalidProblemError("units", "'public' or 'private'", repr(self.units))
        if (self.units == "public") != (self.group_totals is not None):
            raise InvalidProblemError(
                "group_totals",
                "one for each region where units are public, none where they are private",
                "none" if self.group_totals is None else "some",
            )
        if self.group_totals is not None:
            object.__setattr__(self, "group_totals", _read_totals(self.tree, self.group_totals))

    def __repr__(self) -> str:
        return (
            f"Frame(regions={self.tree.n}, levels={self.tree.depth + 1}, "
            f"sizes={self.first_size}..{self.max_size}, units={self.units})"
        )

    @property
    def first_size(self) -> int:
        """The least size that is counted: 0 where units are public, 1 where they are private."""
        return 0 if self.units == "public" else 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Array ``(n_sizes,)``: the sizes that are counted, one a column."""
        return np.arange(self.first_size, self.max_size + 1)

    @property
    def n_sizes(self) -> int:
        """Number of sizes that are counted."""
        return self.max_size + 1 - self.first_size

    @property
    def total(self) -> int | None:
        """G, the number of groups; ``None`` where it is not public."""
        return None if self.group_totals is None else int(self.group_totals[0])

    def _stated(self) -> list[object]:
        """Return what the digest covers: sizes, units, the most of a person, tree and public totals."""
        parts: list[object] = [self.max_size, self.units, self.max_quantity, self._tree_digest]
        return parts if self.group_totals is None else [*parts, digest_array(self.group_totals)]

    def assumed_public(self) -> tuple[PublicInput, ...]:
        """List what a release on this frame takes to be public, each with its hash."""
        bounds = PublicInput(
            "max_size, max_quantity",
            sha256_of(f"{self.max_size} {self.max_quantity}"),
            f"sizes up to {self.max_size}, a person adds at most {self.max_quantity}",
        )
        if self.group_totals is None:
            return self._regions(), bounds
        detail = f"which units exist, and where: {self.total} groups, and how many in each region"
        units = PublicInput("units", digest_array(self.group_totals), detail)
        return self._regions(), bounds, units


@final
@dataclass(frozen=True, eq=False, repr=False)
class GroupSizes:
    """Private data: how many groups of each size there are in each lowest region.

    Parameters
    ----------
    frame
        The public facts.
    counts
        ``(n_leaves, n_sizes)`` in the order of ``frame.tree.leaves`` and of ``frame.sizes``.

    Raises
    ------
    InvalidProblemError
        For counts of another shape, that are no integers or negative, or that contradict public totals.

    Examples
    --------
    >>> from discreet.core.tree import Tree
    >>> states = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> data = GroupSizes.from_counts(states, [[2, 0, 1, 0, 0], [1, 1, 1, 0, 0]], units="private")
    >>> data
    GroupSizes(regions=3, levels=2, sizes=1..5, units=private; counts are private)
    >>> data.node_counts()[0].tolist(), data.survival()[0].tolist()
    ([3, 1, 2, 0, 0], [6, 3, 2, 0, 0])
    """

    frame: Frame
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        tree = self.frame.tree
        counts = read_counts(self.counts, MOST_GROUPS, "groups")
        if counts.shape != (len(tree.leaves), self.frame.n_sizes):
            raise InvalidProblemError(
                "counts", f"shape {(len(tree.leaves), self.frame.n_sizes)}", counts.shape
            )
        totals = self.frame.group_totals
        if totals is not None and not np.array_equal(counts.sum(axis=1), totals[tree.leaves]):
            raise InvalidProblemError(
                "counts", "rows that sum to the public number of groups", "others"
            )
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        return f"GroupSizes({repr(self.frame)[6:-1]}; counts are private)"

    @classmethod
    def from_counts(
        cls,
        tree: Tree,
        counts: ArrayLike,
        *,
        units: Units,
        max_size: int | None = None,
        max_quantity: int = 1,
    ) -> GroupSizes:
        """Wrap counts that were aggregated before.

        Returns private counts ``(n_leaves, n_sizes)`` on a new frame. Linear in the counts.

        Parameters
        ----------
        tree
            The regions.
        counts
            ``(n_leaves, columns)`` in the order of ``tree.leaves``; columns are sizes from 0 where units are public,
            from 1 where they are private.
        units
            ``"public"`` or ``"private"``; public units make the sum of each row public.
        max_size
            N. Groups of larger sizes are counted as of size N. By default the size of the last column, which must
            then be public.
        max_quantity
            The most that one person adds to the size of a group.

        Raises
        ------
        InvalidProblemError
            For counts that are no table of non-negative integers, with a row for each leaf and a column for size 1.

        Examples
        --------
        >>> from discreet.core.tree import Tree
        >>> tree = Tree.from_paths([("a",), ("b",)])
        >>> GroupSizes.from_counts(tree, [[4, 0, 1], [2, 2, 9]], units="public", max_size=1).counts.tolist()
        [[4, 1], [2, 11]]
        """
        instance_of(tree, Tree, "tree", "a Tree")
        table = read_counts(counts, MOST_GROUPS, "groups")
        first = 0 if units == "public" else 1
        if table.ndim != 2 or table.shape[1] + first < 2:
            raise InvalidProblemError("counts", "rows with a column for size 1", table.shape)
        top = table.shape[1] - 1 + first
        most = top if max_size is None else positive_count(max_size, "max_size", MOST_PERSONS)
        width = most + 1 - first
        coded = np.zeros((len(table), width), dtype=np.int64)
        columns = min(width, table.shape[1])
        coded[:, :columns] = table[:, :columns]
        coded[:, -1] += table[:, columns:].sum(axis=1)
        totals = tree.totals(coded.sum(axis=1)) if units == "public" else None
        return cls(Frame(tree, most, units, max_quantity, totals), coded)

    def node_counts(self) -> NDArray[np.int64]:
        """Return the counts of every region, sums over its leaves.

        A new array ``(n_nodes, n_sizes)`` int64, in as many steps.
        """
        return self.frame.tree.totals(self.counts)

    def survival(self) -> NDArray[np.int64]:
        """Return ``(n_nodes, N)`` int64: column ``s - 1`` is the number of groups of each region with size s or more.

        A new array, in as many steps as it has entries.
        """
        tails = np.cumsum(self.counts[:, ::-1], axis=1)[:, ::-1]
        return self.frame.tree.totals(tails[:, 1 - self.frame.first_size :])


def read_counts(counts: ArrayLike, most: int, named: str) -> NDArray[np.int64]:
    """Return an int64 copy of private counts of any shape, non-negative, of at most `most` groups or records in all.

    `named` is the word for them in the message. Linear.

    Raises
    ------
    InvalidProblemError
        For other counts; the message has none of their values.
    """
    array = array_of(counts, "counts", "integers")
    if not np.issubdtype(array.dtype, np.integer):
        raise InvalidProblemError("counts", "integers", array.dtype)
    integers = array.astype(np.int64)
    if integers.size and int(integers.min()) < 0:
        raise InvalidProblemError("counts", "non-negative integers", "a negative one")
    if float(integers.sum(dtype=np.float64)) > most:
        raise InvalidProblemError("counts", f"at most {most} {named}", "more")
    return integers


def _read_totals(tree: Tree, totals: ArrayLike) -> NDArray[np.int64]:
    """Read ``(n,)`` totals, read-only; refuse negative or huge ones, or any that do not add up over the tree."""
    array = array_of(totals, "group_totals", f"{tree.n} integers")
    if array.shape != (tree.n,) or not np.issubdtype(array.dtype, np.integer):
        raise InvalidProblemError(
            "group_totals", f"{tree.n} integers", f"{array.dtype} of shape {array.shape}"
        )
    integers = array.astype(np.int64)
    # In floats, which do not wrap around: sums of whole numbers might, and then fit the root.
    groups = float(integers[tree.leaves].sum(dtype=np.float64))
    if integers.min() < 0 or max(groups, float(integers.max())) > MOST_GROUPS:
        raise InvalidProblemError(
            "group_totals", f"numbers from 0 to {MOST_GROUPS}", "one outside of that"
        )
    if not np.array_equal(tree.totals(integers[tree.leaves]), integers):
        raise InvalidProblemError(
            "group_totals", "for each region the sum of those below it", "another number"
        )
    integers.setflags(write=False)
    return integers
