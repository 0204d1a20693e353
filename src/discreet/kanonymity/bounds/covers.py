"""The cells that a column may publish, as a tree of sets of values, each at a cost that no cell inside it undercuts.

A bound may look at larger cells than are published, at a cost that is no higher: every cell that k rows share lies in a
listed one that costs no more. Few listed cells make a weaker bound in less time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.problem import Numeric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import CodedColumn


@final
@dataclass(frozen=True)
class CoverTuning:
    """Largest columns whose cells are listed, or looked at without a list.

    Parameters
    ----------
    max_children_listed
        Children of a node of a taxonomy that are listed one by one; more are listed in so many groups.
    max_values_of_all_subsets, max_values_of_all_pairs
        Values of a set up to which all of its subsets are listed, and up to which all pairs are.
    max_pieces_of_intervals
        Pieces of a numeric column of which all intervals are looked at.
    """

    max_children_listed: int = 48
    max_values_of_all_subsets: int = 6
    max_values_of_all_pairs: int = 16
    max_pieces_of_intervals: int = 1024


COVERS = CoverTuning()


@final
@dataclass(frozen=True, eq=False)
class Cover:
    """Listed cells of one column. Cell 0 has all values, and a cell comes after the one that it lies in.

    Parameters
    ----------
    atoms
        ``(D,)`` the atom of each code: values that no listed cell divides are one; -1 for codes without rows.
    members
        ``(n_cells, n_atoms)`` the atoms of each cell.
    costs
        ``(n_cells,)`` costs; 0 for the least.
    parent
        ``(n_cells,)`` a listed cell around each, -1 for cell 0.
    ends
        Lowest and highest position of each atom, where all intervals are looked at and cell 0 alone is listed.
    """

    atoms: NDArray[np.int64]
    members: NDArray[np.bool_]
    costs: NDArray[np.float64]
    parent: NDArray[np.int64]
    ends: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @property
    def width(self) -> int:
        """Number of atoms: groups of values that the bound does not tell apart."""
        return int(self.members.shape[1])


def cover_of(column: CodedColumn, counts: NDArray[np.int64], k: int, bins: int) -> Cover:
    """List the cells of a column that k rows or more can share, the full cell first, larger ones before smaller.

    Parameters
    ----------
    column
        The column.
    counts
        ``(D,)`` rows with each code.
    k
        Least class size: smaller cells are left out, since no class lies in them.
    bins
        Most pieces of a numeric column, of which all intervals are cells. Between two pieces the nearest ends count, so
        that a cell costs no more than any interval from one to the other.

    Complexity
    ----------
    All pairs of cells are compared, in each of their atoms; a numeric column has ``bins^2 / 2`` cells.
    """
    codes = np.flatnonzero(counts)
    if isinstance(column.attribute, Numeric):
        of_code, members, costs = _intervals(column, codes, bins)
    elif column.is_set:
        of_code, members, costs = _sets(column, codes)
    else:
        of_code, members, costs = _nodes(column, codes, counts[codes], k)
    atoms = np.full(len(counts), -1, dtype=np.int64)
    atoms[codes] = of_code
    rows = np.bincount(of_code, weights=counts[codes])
    # A cell lies in each larger one that has its atoms: those with too few rows have only such inside.
    large = (members @ rows >= k) | (np.arange(len(costs)) == 0)
    members, costs = members[large], costs[large]
    order = np.argsort(-members.sum(axis=1), kind="stable")
    members, costs = members[order], costs[order]
    return Cover(atoms, members, costs, parents_of(members))


def parents_of(members: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the smallest cell around each of `members` ``(cells, atoms)``, larger ones first: -1 for the first."""
    parent = np.full(len(members), -1, dtype=np.int64)
    for cell in range(1, len(members)):
        parent[cell] = np.flatnonzero((members[:cell] >= members[cell]).all(axis=1))[-1]
    return parent


def whole_of(column: CodedColumn, counts: NDArray[np.int64]) -> Cover:
    """Take all intervals between pieces of a numeric column, not listed.

    `counts` ``(D,)`` are the rows with each code. Returns the full cell alone, with the ends of pieces.
    """
    codes = np.flatnonzero(counts)
    atoms = np.full(len(counts), -1, dtype=np.int64)
    piece = _pieces(column, codes, COVERS.max_pieces_of_intervals)
    atoms[codes] = piece
    first = np.searchsorted(piece, np.arange(piece[-1] + 1))
    last = np.append(first[1:], len(codes)) - 1
    place = column.place[codes]
    members = np.ones((1, len(first)), dtype=np.bool_)
    weight = np.array([column.attribute.weight])
    return Cover(atoms, members, weight, np.array([-1]), (place[first], place[last]))


def _pieces(column: CodedColumn, codes: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """Number the pieces of a numeric column, ``(d,)`` for `codes` ``(d,)``.

    One for each value, or `bins` of equal width.
    """
    if len(codes) <= bins:
        return np.arange(len(codes))
    place = column.place[codes]
    # Missing values stand two ranges away, and get a piece of their own.
    inside = place <= column.attribute.weight
    width = float(np.ptp(place[inside])) or 1.0
    pieces = np.floor((place - place.min()) / width * (bins - 1)).astype(np.int64)
    return np.unique(pieces, return_inverse=True)[1]


_Listed = tuple["NDArray[np.int64]", "NDArray[np.bool_]", "NDArray[np.float64]"]


def _intervals(column: CodedColumn, codes: NDArray[np.int64], bins: int) -> _Listed:
    """List intervals between any two of at most `bins` pieces of a numeric column; a piece alone costs nothing.

    `codes` ``(d,)`` are the used codes, rising. Returns the piece of each code, the pieces of each cell and its cost.
    ``O(bins^3)``.
    """
    piece = _pieces(column, codes, bins)
    first = np.searchsorted(piece, np.arange(piece[-1] + 1))
    last = np.append(first[1:], len(codes)) - 1
    low, high = np.triu_indices(len(first))
    costs = np.where(low < high, column.span_cost(codes[last[low]], codes[first[high]]), 0.0)
    piece_numbers = np.arange(len(first))
    return piece, (piece_numbers >= low[:, None]) & (piece_numbers <= high[:, None]), costs


def _sets(column: CodedColumn, codes: NDArray[np.int64]) -> _Listed:
    """List subsets of a set column's used codes: all of few values, else single ones, pairs, and the full set.

    Returns the atom of each code, the atoms of each cell as booleans, and its cost; the full set then costs what
    three values do, or two. `codes` are ``(d,)``. At most ``2^d`` cells, else ``d^2``.
    """
    d = len(codes)
    values = np.arange(d)
    if d <= COVERS.max_values_of_all_subsets:
        members = (np.arange(1, 2**d)[:, None] >> values) & 1 == 1
        return values, members, column.set_cost(members.sum(axis=1))
    if d > COVERS.max_children_listed:
        # Groups of values for nothing, which no single value undercuts.
        one = np.arange(COVERS.max_children_listed)
        members = np.concatenate(
            [np.ones((1, COVERS.max_children_listed), dtype=bool), one[:, None] == one]
        )
        return (
            values * COVERS.max_children_listed // d,
            members,
            np.append(column.set_cost(2), np.zeros(COVERS.max_children_listed)),
        )
    pairs = (
        np.stack(np.triu_indices(d, 1), axis=1)
        if d <= COVERS.max_values_of_all_pairs
        else np.empty((0, 2), np.int64)
    )
    chosen = np.zeros((1 + len(pairs) + d, d), dtype=bool)
    chosen[0] = True
    chosen[1 + np.arange(len(pairs))[:, None], pairs] = True
    chosen[1 + len(pairs) + values, values] = True
    sizes = np.concatenate([[3 if len(pairs) else 2], np.full(len(pairs), 2), np.ones(d, np.int64)])
    return values, chosen, column.set_cost(sizes)


def _nodes(
    column: CodedColumn, codes: NDArray[np.int64], rows: NDArray[np.int64], k: int
) -> _Listed:
    """List nodes of a taxonomy that k rows share; the codes below one that are in no smaller one are an atom of it.

    `codes` are the used ones, rising, and `rows` how many have each. Returns the atom of each code, the atoms of each
    cell and its cost. Linear in cells times atoms.
    """
    joins = column.span_cost(codes[:-1], codes[1:])
    before = np.concatenate([[0], np.cumsum(rows)])
    cells: list[tuple[int, int, float]] = []
    stack = [(0, len(codes))]
    while stack:
        first, stop = stack.pop()
        inner = joins[first : stop - 1]
        cost = float(inner.max(initial=0.0))
        cells.append((first, stop, cost))
        if stop - first == 1:
            continue
        cuts = np.concatenate([[first], first + 1 + np.flatnonzero(inner >= cost), [stop]])
        cuts = cuts.tolist()
        below = [cell for cell in pairwise(cuts) if before[cell[1]] - before[cell[0]] >= k]
        if len(below) > COVERS.max_children_listed:
            # Groups of neighbors, which cost nothing, as the least of them.
            cells += [
                (below[part[0]][0], below[part[-1]][1], 0.0)
                for part in np.array_split(np.arange(len(below)), COVERS.max_children_listed)
            ]
        else:
            stack += below
    # The last cell that has a code is the smallest, sorted from large to small.
    cells.sort(key=lambda cell: (cell[0] - cell[1], cell[0]))
    smallest = np.zeros(len(codes), dtype=np.int64)
    for at, (first, stop, _) in enumerate(cells):
        smallest[first:stop] = at
    used, atom = np.unique(smallest, return_inverse=True)
    low = np.array([cell[0] for cell in cells])[:, None]
    high = np.array([cell[1] for cell in cells])[:, None]
    # An atom belongs to a cell where the cell around it does.
    members = (low <= low[used].T) & (high >= high[used].T)
    return atom, members, np.array([cell[2] for cell in cells])
