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


__all__ = ["MOST_GROUPS", "MOST_PERSONS", "Frame", "GroupSizes", "Units"]

Units = Literal["public", "private"]

MOST_PERSONS = 1 << 30
"""Persons of one group, at most: a table has a column for each size."""

_MOST = 1 << 62
"""What a column of integers may be compared with."""

MOST_GROUPS = 2**45
"""So many groups keep every sum of differences, on trees as deep as one likes to draw, inside 64-bit integers."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Frame:
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
        size = positive_count(self.max_size, "max_size", _MOST)
        quantity = positive_count(self.max_quantity, "max_quantity", _MOST)
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

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

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in the frame."""
        parts = [self.max_size, self.units, self.max_quantity, self._tree_digest]
        if self.group_totals is not None:
            parts.append(digest_array(self.group_totals))
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()

    @cached_property
    def _tree_digest(self) -> str:
        # repr tells 1 from "1", and quotes what could be taken for a separator.
        named = hashlib.sha256("\n".join(map(repr, self.tree.labels)).encode()).hexdigest()
        return hashlib.sha256(f"{named} {digest_array(self.tree.parents)}".encode()).hexdigest()

    def assumed_public(self) -> tuple[PublicInput, ...]:
        """List what a release on this frame takes to be public, each with its hash."""
        bounds = f"{self.max_size} {self.max_quantity}"
        listed = [
            (
                "regions",
                self._tree_digest,
                f"{self.tree.n} regions on {self.tree.depth + 1} levels",
            ),
            (
                "max_size, max_quantity",
                hashlib.sha256(bounds.encode()).hexdigest(),
                f"sizes up to {self.max_size}, a person adds at most {self.max_quantity}",
            ),
        ]
        if self.group_totals is not None:
            detail = (
                f"which units exist, and where: {self.total} groups, and how many in each region"
            )
            listed.append(("units", digest_array(self.group_totals), detail))
        return tuple(PublicInput(*entry) for entry in listed)


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
        counts = _read_counts(self.counts)
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

        Examples
        --------
        >>> from discreet.core.tree import Tree
        >>> tree = Tree.from_paths([("a",), ("b",)])
        >>> GroupSizes.from_counts(tree, [[4, 0, 1], [2, 2, 9]], units="public", max_size=1).counts.tolist()
        [[4, 1], [2, 11]]
        """
        instance_of(tree, Tree, "tree", "a Tree")
        given = _read_counts(counts)
        first = 0 if units == "public" else 1
        if given.ndim != 2 or given.shape[1] + first < 2:
            raise InvalidProblemError("counts", "rows with a column for size 1", given.shape)
        top = given.shape[1] - 1 + first
        most = top if max_size is None else positive_count(max_size, "max_size", MOST_PERSONS)
        width = most + 1 - first
        coded = np.zeros((len(given), width), dtype=np.int64)
        kept = min(width, given.shape[1])
        coded[:, :kept] = given[:, :kept]
        coded[:, -1] += given[:, kept:].sum(axis=1)
        totals = tree.totals(coded.sum(axis=1)) if units == "public" else None
        return cls(Frame(tree, most, units, max_quantity, totals), coded)

    def node_counts(self) -> NDArray[np.int64]:
        """Add up to ``(n_nodes, n_sizes)``: the counts of every region."""
        return self.frame.tree.totals(self.counts)

    def survival(self) -> NDArray[np.int64]:
        """Give ``(n_nodes, N)``: in column ``s - 1`` how many groups of each region have size s or more."""
        tails = np.cumsum(self.counts[:, ::-1], axis=1)[:, ::-1]
        return self.frame.tree.totals(tails[:, 1 - self.frame.first_size :])


def _read_counts(counts: ArrayLike) -> NDArray[np.int64]:
    """Read a copy of private counts; say nothing of their values."""
    given = array_of(counts, "counts", "integers")
    if not np.issubdtype(given.dtype, np.integer):
        raise InvalidProblemError("counts", "integers", given.dtype)
    whole = given.astype(np.int64)
    if whole.size and int(whole.min()) < 0:
        raise InvalidProblemError("counts", "non-negative integers", "a negative one")
    if float(whole.sum(dtype=np.float64)) > MOST_GROUPS:
        raise InvalidProblemError("counts", f"at most {MOST_GROUPS} groups", "more")
    return whole


def _read_totals(tree: Tree, totals: ArrayLike) -> NDArray[np.int64]:
    given = array_of(totals, "group_totals", f"{tree.n} integers")
    if given.shape != (tree.n,) or not np.issubdtype(given.dtype, np.integer):
        raise InvalidProblemError(
            "group_totals", f"{tree.n} integers", f"{given.dtype} of shape {given.shape}"
        )
    whole = given.astype(np.int64)
    # In floats, which do not wrap around: sums of whole numbers might, and then fit the root.
    groups = float(whole[tree.leaves].sum(dtype=np.float64))
    if whole.min() < 0 or max(groups, float(whole.max())) > MOST_GROUPS:
        raise InvalidProblemError(
            "group_totals", f"numbers from 0 to {MOST_GROUPS}", "one outside of that"
        )
    if not np.array_equal(tree.totals(whole[tree.leaves]), whole):
        raise InvalidProblemError(
            "group_totals", "for each region the sum of those below it", "another number"
        )
    whole.setflags(write=False)
    return whole
