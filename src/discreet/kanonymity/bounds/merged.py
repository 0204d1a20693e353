"""Coarser values for tables with too many different rows, so that the bound by shared cells keeps all columns.

A listed cell is a set of atoms, the values that no listed cell divides. If atoms are merged into groups, a cell becomes
the union of the groups that it intersects, at the least cost of the cells that become equal. Each former cell lies in
the new one, which costs no more; the bound of :mod:`~discreet.kanonymity.bounds.shared` stays valid and falls by at
most the cost of the groups. A column's atoms are merged along its cheapest cells of several atoms; neighboring pieces
of a numeric column, of which all intervals are looked at, are merged in pairs. A column without free cells is not
merged. Each step takes the column in which it costs least for the bits that it saves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.bounds.covers import Cover, parents_of
from discreet.kanonymity.bounds.shared import AtomPlaces, summed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.bounds.shared import Packed


def _can_merge(cover: Cover) -> bool:
    return cover.width > 1 and (cover.ends is not None or float(cover.costs.min()) == 0)


def _in_order(
    keys: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort packed rows, and add up equal ones; return different `keys` and their `counts`, ``(different,)`` each."""
    order = np.argsort(keys, kind="stable")
    return summed(keys[order], counts[order])


def groups_of(cover: Cover) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the next groups of atoms of a column, and the cost of the cell that becomes free for each atom.

    Parameters
    ----------
    cover
        Two atoms or more.

    Returns
    -------
    group
        ``(n_atoms,)`` the group of each.
    free
        ``(n_atoms,)`` the cost of the cell that becomes free for it; 0 where it stays alone.

    Examples
    --------
    >>> inside = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
    >>> cover = Cover(np.arange(4), inside, np.array([1.0, 0.2, 0.3, 0.0]), np.array([-1, 0, 0, 0]))
    >>> [each.tolist() for each in groups_of(cover)]
    [[0, 0, 1, 2], [0.2, 0.2, 0.0, 0.0]]
    """
    atoms = cover.width
    if cover.ends is not None:
        group = np.arange(atoms) // 2
        low, high = _ends_together(cover.ends, group)
        return group, (high - low)[group]
    sizes = cover.members.sum(axis=1)
    group, free = np.full(atoms, -1), np.zeros(atoms)
    order = np.lexsort((np.argmax(cover.members, axis=1), sizes, cover.costs))
    n_groups = 0
    for cell in order[(sizes[order] > 1) & (sizes[order] < atoms)].tolist():
        mine = cover.members[cell]
        if (group[mine] < 0).all():
            group[mine], free[mine] = n_groups, cover.costs[cell]
            n_groups += 1
    if not n_groups:
        # No listed cell has several values but the one of all.
        group, free = np.arange(atoms) // 2, np.full(atoms, cover.costs[0])
    alone = group < 0
    group[alone] = n_groups + np.arange(int(alone.sum()))
    return np.unique(group, return_inverse=True)[1], free


def _ends_together(
    ends: tuple[NDArray[np.float64], NDArray[np.float64]], group: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest first and the highest second end of each group.

    `group` ``(n,)`` has the group of each entry of both `ends`: ascending from 0 without gaps.
    """
    first = np.searchsorted(group, np.arange(int(group[-1]) + 1))
    return np.minimum.reduceat(ends[0], first), np.maximum.reduceat(ends[1], first)


def taken_together(cover: Cover, group: NDArray[np.int64]) -> Cover:
    """Replace atoms by their groups, and each cell by the groups that it intersects; return the new cover.

    `group` ``(atoms,)`` numbers them from 0. The cost of a cell is the least of those that become it. ``O(cells^2
    groups)``.
    """
    atoms = np.where(cover.atoms < 0, -1, group[cover.atoms])
    if cover.ends is not None:
        ends = _ends_together(cover.ends, group)
        members = np.ones((1, len(ends[0])), dtype=bool)
        return Cover(atoms, members, cover.costs, cover.parent, ends)
    touched = np.zeros((len(cover.costs), int(group.max()) + 1), dtype=bool)
    np.logical_or.at(touched.T, group, cover.members.T)
    members, cell = np.unique(touched, axis=0, return_inverse=True)
    costs = np.full(len(members), np.inf)
    np.minimum.at(costs, cell.ravel(), cover.costs)
    order = np.lexsort((np.argmax(members, axis=1), -members.sum(axis=1)))
    members, costs = members[order], costs[order]
    return Cover(atoms, members, costs, parents_of(members))


@final
@dataclass(eq=False)
class ValueMerging:
    """Packed rows of which more and more values are taken together, while rows are still added.

    Parameters
    ----------
    places
        Where each column's atom stands in a packed row.
    most
        Different rows that are held.
    keys, counts
        ``(n_keys,)`` the packed rows in memory, rising, and the number of rows of each.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> people = Problem.from_columns({"age": range(8), "size": [0, 1] * 4}, [Numeric("age"), Numeric("size")])
    >>> codes = [people.codes[:, j] for j in range(2)]
    >>> places = AtomPlaces.of(people.columns, [np.bincount(code) for code in codes], 2, 16)
    >>> merging = ValueMerging(places, 4)
    >>> keys = np.sort(places.keys(codes))
    >>> merging.add(keys, np.ones(len(keys), dtype=np.int64))
    >>> len(merging.packed().keys), merging.columns, merging.left_out
    (4, 1, 0)
    """

    places: AtomPlaces
    most: int
    keys: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        self.covers = [cover for _, cover, _ in self.places.covers]
        self.groups = [np.arange(cover.members.shape[1]) for cover in self.covers]

    @property
    def columns(self) -> int:
        """Number of columns some of whose values are taken together, but not all."""
        return sum(
            1 < cover.members.shape[1] < len(group)
            for cover, group in zip(self.covers, self.groups, strict=True)
        )

    @property
    def left_out(self) -> int:
        """Number of columns whose values are all taken as one."""
        return sum(cover.members.shape[1] < 2 for cover in self.covers)

    def add(self, keys: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Add different packed rows `keys`, rising, with their `counts`, both ``(rows,)``.

        Merge values until at most `most` are held. A sort of the new rows, and one of all rows for each merge.
        """
        for at, group in enumerate(self.groups):
            if self.covers[at].members.shape[1] < len(group):
                keys, counts = _in_order(self._mapped(keys, at, group), counts)
        # A few rows are put between many: to sort all of them anew takes several times as long.
        place = np.searchsorted(self.keys, keys)
        known = place < len(self.keys)
        known[known] = self.keys[place[known]] == keys[known]
        self.counts[place[known]] += counts[known]
        self.keys = np.insert(self.keys, place[~known], keys[~known])
        self.counts = np.insert(self.counts, place[~known], counts[~known])
        while len(self.keys) > self.most and any(map(_can_merge, self.covers)):
            self._take_together()

    def packed(self) -> Packed | None:
        """Return the packed rows, the columns with most values first; these are dropped until the rows fit.

        ``None`` if no column has two members or more. A sort of the different rows.
        """
        open_columns = [at for at, cover in enumerate(self.covers) if cover.members.shape[1] > 1]
        if not open_columns:
            return None
        # What is looked at whole stays last: no cells of it are listed.
        open_columns.sort(key=lambda at: (self.covers[at].ends is not None, -self.covers[at].width))
        shift, placed, keys = 0, [], np.zeros(len(self.keys), dtype=np.int64)
        for at in open_columns:
            keys |= self._field(at) << shift
            placed.append((self.places.covers[at][0], self.covers[at], shift))
            shift += max(1, int(self.covers[at].members.shape[1] - 1).bit_length())
        summed_rows = _in_order(keys, self.counts)
        return AtomPlaces(tuple(placed), self.places.scale).packed(*summed_rows, self.most)

    def _take_together(self) -> None:
        """Take values of the column together in which that costs least for what it saves."""
        n, best = int(self.counts.sum()), (np.inf, -1)
        groups = {}
        for at, cover in enumerate(self.covers):
            if not _can_merge(cover):
                continue
            atoms = cover.members.shape[1]
            group, free = groups_of(cover)
            rows = np.bincount(self._field(at), weights=self.counts, minlength=atoms)
            price = float(rows @ free) / n / np.log2(atoms / (int(group.max()) + 1))
            groups[at] = group
            best = min(best, (price, at))
        at = best[1]
        self.covers[at] = taken_together(self.covers[at], groups[at])
        self.groups[at] = groups[at][self.groups[at]]
        self.keys, self.counts = _in_order(self._mapped(self.keys, at, groups[at]), self.counts)

    def _bits(self, at: int) -> tuple[int, int]:
        """Return the lowest bit of a column in a packed row, and the mask of its bits."""
        _, cover, shift = self.places.covers[at]
        return shift, (1 << max(1, int(cover.members.shape[1] - 1).bit_length())) - 1

    def _field(self, at: int) -> NDArray[np.int64]:
        """Return the atoms of one column from the packed keys."""
        shift, mask = self._bits(at)
        atoms: NDArray[np.int64] = (self.keys >> shift) & mask
        return atoms

    def _mapped(
        self, keys: NDArray[np.int64], at: int, group: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return packed keys ``(rows,)`` in which the code of column number `at` is replaced by its group.

        `group` is by code.
        """
        shift, mask = self._bits(at)
        mapped = np.zeros(mask + 1, dtype=np.int64)
        mapped[: len(group)] = group
        mapped_keys: NDArray[np.int64] = mapped[(keys >> shift) & mask] << shift
        mapped_keys |= keys & ~(mask << shift)
        return mapped_keys
