r"""Each row pays at least for its cheapest cells that k rows share: a bound for tables of any size.

The cells of the class of row i hold i and k rows or more, so that the class costs each of its rows no less than

.. math:: u_i = \min\{\, w(B) : i \in B,\ |B| \ge k \,\},

B running over boxes, a cell for each column, and w(B) being what they cost. Hence every k-anonymous table loses at
least the sum of all :math:`u_i`; a suppressed row costs all weights, and no box costs more.

The boxes of all rows are searched together, column after column. Those whose first cells are the same share one list
of the rows in them; rows that agree in all later columns are one from there on. A list with fewer than k rows ends
the search below it, and so does one in which every row has a cheaper box already.

The cells of most columns are listed, and a list that grows with the square of the values, or faster, is cut down to
larger cells at lower costs. The last column needs no list: where cells of all others are fixed, how many rows have each
of its values gives the narrowest interval, or the least set, that holds row i and k rows, exactly. Columns that are
left out cost nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.bounds.covers import cover_of, whole_of
from discreet.kanonymity.bounds.lattice import bits_of, lattice_of
from discreet.kanonymity.packed import WORD_BITS
from discreet.kanonymity.problem import Numeric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.bounds.covers import Cover
    from discreet.kanonymity.candidate import SearchLimits
    from discreet.kanonymity.kernels.shared import Lattice
    from discreet.kanonymity.problem import CodedColumn, Problem


@final
@dataclass(frozen=True)
class SharedCellsTuning:
    """Measured limits of the search for shared cells.

    Parameters
    ----------
    ceilings
        Shares of all weights up to which costs are looked for, one search after another: the first ones are
        short.
    min_rows_looked_at, looks_per_cell
        Rows looked at in one search without a time limit: so many, a second or two, or so many times the
        table's cells where that is more. 1 million rows of nine taxonomies at k = 50 took 95 looks a cell for
        all there is to prove, 14.3 % from the loss, in 4.4 CPU s (2026-11, a busy machine).
    work_per_cell_in_shares
        Upper limit on the work for one cell of the first column, in multiples of its share of the remaining
        rows.
    max_keys_searched_fully, mean_losses_searched
        Different rows beyond which there is one search without a time limit, up to so many times the mean loss.
        Of 1 million rows of nine taxonomies at k = 50, searches up to 1, 1.1, 1.2, 1.35, 1.5 and 2 times the
        mean left 18.3, 16.1, 15.1, 14.4, 14.3 and 14.28 % unproved in 2.2, 2.5, 2.9, 3.6, 4.5 and 5.1 CPU s; of
        5 million, up to 1.25 and 1.5 times, 15.1 and 13.3 % in runs of 25.9 and 27.5 CPU s (2026-11, a busy
        machine).
    cost_units
        Units of cost that all weights together have: costs are integers of 32 bits in the search.
    pieces_per_numeric_column
        Pieces of a numeric column in which cells shared by k rows are looked for, by default.
    max_packed_rows
        Different packed rows, of 24 bytes each and thrice; beyond, columns are left out, those with most values
        first.
    max_extra_rows
        Rows of 16 bytes for which one search has room beyond three times its own.
    shares_of_mean_loss_for_sets
        Shares of the mean loss up to which costs are looked for where cells are sets: each takes some times the
        one before, and few searches come to the mean.
    """

    ceilings: tuple[float, ...] = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
    min_rows_looked_at: int = 200_000_000
    looks_per_cell: int = 120
    work_per_cell_in_shares: int = 2
    max_keys_searched_fully: int = 100_000
    mean_losses_searched: float = 1.5
    cost_units: int = 2**26
    pieces_per_numeric_column: int = 16
    max_packed_rows: int = 20_000_000
    max_extra_rows: int = 10_000_000
    shares_of_mean_loss_for_sets: tuple[float, ...] = (1 / 8, 1 / 5, 1 / 3, 1 / 2)


SHARED = SharedCellsTuning()


BITS_PER_PACKED_ROW = WORD_BITS - 1
"""Bits of a packed row; columns beyond are left out, which makes the bound weaker and no less valid."""


@final
@dataclass(frozen=True, eq=False)
class Packed:
    """Rows by their atoms, different ones once.

    Parameters
    ----------
    lattice
        The cells of the columns that fit.
    keys
        ``(n_keys,)`` packed rows, rising.
    counts
        ``(n_keys,)`` rows of each.
    scale
        Units of a cost of 1.
    """

    lattice: Lattice
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    scale: float


@final
@dataclass(frozen=True, eq=False)
class AtomPlaces:
    """Where each column's atom stands in a packed row, so that rows are packed wherever they are.

    Parameters
    ----------
    covers
        Place of a column among the quasi-identifiers, its cells, and its lowest bit; those with most values first.
    scale
        Units of a cost of 1.
    """

    covers: tuple[tuple[int, Cover, int], ...]
    scale: float

    @classmethod
    def of(
        cls, columns: Sequence[CodedColumn], counts: Sequence[NDArray[np.int64]], k: int, bins: int
    ) -> AtomPlaces:
        """Find the cells of each column by how many rows have each code; keep the columns that fit into a packed row.

        `counts` has an array by code for each column; `k` rows share a listed cell, and `bins` limits pieces of
        numbers.
        """
        last, free = _last_column(columns, counts), BITS_PER_PACKED_ROW
        column_covers = []
        for j, (column, rows) in enumerate(zip(columns, counts, strict=True)):
            cover = whole_of(column, rows) if j == last else cover_of(column, rows, k, bins)
            if cover.costs.max() > 0:
                column_covers.append((j, cover))
                free -= bits_of(cover) if j == last else 0
        column_covers.sort(key=lambda one: (one[0] == last, -one[1].width))
        placed, shift = [], 0
        for j, cover in column_covers:
            if j == last or shift + bits_of(cover) <= free:
                placed.append((j, cover, shift))
                shift += bits_of(cover)
        # Where all weights are zero no cell costs anything, and no cover is kept.
        weights = sum(column.attribute.weight for column in columns)
        return cls(tuple(placed), SHARED.cost_units / weights if weights > 0 else 1.0)

    def keys(self, codes: Sequence[NDArray[np.signedinteger]]) -> NDArray[np.int64]:
        """Pack rows into int64 keys ``(rows,)``, given by the codes of each quasi-identifier."""
        from discreet.kanonymity.kernels.shared import packed

        keys = np.zeros(len(codes[0]), dtype=np.int64)
        for j, cover, shift in self.covers:
            packed(keys, np.ascontiguousarray(codes[j], dtype=np.int32), cover.atoms, shift)
        return keys

    def packed(
        self, keys: NDArray[np.int64], counts: NDArray[np.int64], most: int, left_out: int = 0
    ) -> Packed:
        """Return at most `most` packed rows from different ones `keys`, rising, with `counts`, ``(rows,)`` both.

        Columns are left out, from the first on, `left_out` of which are gone already. A pass for each.
        """
        covers = [cover for _, cover, _ in self.covers[left_out:]]
        while len(keys) > most and len(covers) > 1:
            # The first column has the lowest bits, so that the order stays.
            keys, counts = summed(keys >> bits_of(covers.pop(0)), counts)
        return Packed(lattice_of(covers, self.scale), keys, counts, self.scale)


def _last_column(columns: Sequence[CodedColumn], counts: Sequence[NDArray[np.int64]]) -> int | None:
    """Choose the numeric column that comes last, all of whose intervals are looked at without a list, or `None`.

    `counts` are the rows with each code, by column. Returns the index of the one that weighs most, of equal ones the
    one with most values.
    """
    values = [int(np.count_nonzero(rows)) for rows in counts]
    weights = [column.attribute.weight for column in columns]
    numbers = [
        j
        for j, weight in enumerate(weights)
        if weight > 0 and isinstance(columns[j].attribute, Numeric)
    ]
    return min(numbers, key=lambda j: (-weights[j], -values[j]), default=None)


def summed(
    keys: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add up the `counts` of equal `keys`, ``(n,)`` both, the keys ascending.

    Return different keys and their counts.
    """
    if not len(keys):
        return keys, counts
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return keys[first], np.add.reduceat(counts, first)


def ceilings_of(mean_loss: float, *, sets: bool = False) -> tuple[float, ...]:
    """Return rising cost ceilings: a third of the mean loss, the mean loss, and its doubles up to all weights.

    The first search is short, and few rows that lose more than the mean are settled by it; the search up to the mean
    proves most of the bound. Columns of sets have more and lower ceilings (`SHARED.shares_of_mean_loss_for_sets`).

    Examples
    --------
    >>> ceilings_of(0.3)
    (0.09999999999999999, 0.3, 0.6, 1.0)
    """
    ceilings = [
        min(1.0, mean_loss * part)
        for part in (SHARED.shares_of_mean_loss_for_sets if sets else (1 / 3,))
    ]
    share = mean_loss
    while 0 < share < 1:
        ceilings.append(share)
        share *= 2
    return (*ceilings, 1.0)


def pack(problem: Problem, k: int, bins: int) -> Packed | None:
    """Pack rows by the cells of their columns, those with most values first; ``None`` if all cells cost nothing.

    `k` rows share a listed cell, and `bins` limits the pieces of a numeric column. ``O(n log n + n m)``.
    """
    codes = [problem.codes[:, j] for j in range(problem.m)]
    counts = [
        np.bincount(code, minlength=len(column.domain))
        for code, column in zip(codes, problem.columns, strict=True)
    ]
    places = AtomPlaces.of(problem.columns, counts, k, bins)
    if not places.covers:
        return None
    keys = np.sort(places.keys(codes))
    return places.packed(*summed(keys, np.ones(len(keys), dtype=np.int64)), SHARED.max_packed_rows)


def _first_cells(packed: Packed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the turn and the number of rows of each cell of the first column, ``(cells,)`` each.

    A cell's turn is after that of all cells inside it, and no two of one turn share an atom. ``O(cells^2 atoms)``.
    """
    lattice, atoms = packed.lattice, 1 << int(packed.lattice.bits[0])
    rows_of_atoms = np.bincount(packed.keys & (atoms - 1), weights=packed.counts, minlength=atoms)
    cells = int(lattice.start[1])
    # The first cell has all atoms.
    width = int(lattice.member[1]) if cells > 1 else atoms
    members = np.ones((1, width), dtype=np.bool_)
    if cells > 1:
        members = lattice.inside[: cells * width].reshape(cells, width)
    common = members.astype(np.int64) @ members.T.astype(np.int64)
    sizes, turns = common.diagonal(), np.full(cells, -1)
    for cell in range(cells - 1, -1, -1):
        before = turns[(common[cell] > 0) & (turns >= 0)]
        inside = turns[(common[cell] == sizes) & (turns >= 0)]
        turn = int(inside.max(initial=-1)) + 1
        while turn in before:
            turn += 1
        turns[cell] = turn
    return turns, (members @ rows_of_atoms[:width]).astype(np.int64)


def _rows_of_cells(packed: Packed, cells: NDArray[np.int64]) -> dict[int, NDArray[np.int32]]:
    """Return for each of some disjoint cells of the first column the indices of its packed rows, rising int32.

    Linear in the packed rows.
    """
    from discreet.kanonymity.kernels.shared import deal_atoms

    lattice = packed.lattice
    mask = (1 << int(lattice.bits[0])) - 1
    group = np.full(mask + 1, -1, dtype=np.int64)
    for at, cell in enumerate(cells.tolist()):
        place = int(lattice.member[cell])
        width = int(lattice.width[0])
        group[:width][lattice.inside[place : place + width]] = at
    atoms = np.bincount(packed.keys & mask, minlength=mask + 1)
    searched = group >= 0
    sizes = np.bincount(group[searched], weights=atoms[searched], minlength=len(cells)).astype(
        np.int64
    )
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    order = np.empty(int(ends[-1]), dtype=np.int32)
    deal_atoms(packed.keys, mask, group, ends[:-1].copy(), order)
    return {cell: order[ends[at] : ends[at + 1]] for at, cell in enumerate(cells.tolist())}


@final
class Shared:
    """The bound of one table, by searches up to rising costs.

    Parameters
    ----------
    k
        The least class size, 2 or more.
    pack
        Returns the packed rows, or `None` if all cells are free; called once.
    most_rows
        Rows that all searches together look at without a time limit, about.
    ceilings
        Shares of all weights up to which costs are looked for, one search after another.
    """

    def __init__(
        self,
        k: int,
        pack: Callable[[], Packed | None],
        most_rows: int = SHARED.min_rows_looked_at,
        ceilings: Sequence[float] = SHARED.ceilings,
    ) -> None:
        self.k, self.pack, self.most_rows = k, pack, most_rows
        self.lower, self.done = 0.0, False
        self.packed: Packed | None = None
        self.ceilings = list(ceilings)
        self.costs, self.reached = np.empty(0, dtype=np.int64), 0

    @classmethod
    def of(cls, problem: Problem, k: int, bins: int = SHARED.pieces_per_numeric_column) -> Shared:
        """Take a table in memory, with so many pieces of a numeric column at most."""
        return cls(k, partial(pack, problem, k, bins))

    def aim(self, mean_loss: float, cells: int, *, sets: bool, timed: bool) -> None:
        """Choose how far to search, after :meth:`prepare` and before the first search.

        Parameters
        ----------
        mean_loss
            What rows lose on average, as a share of all weights.
        cells
            Of the table, or of as many rows as different ones are held.
        sets
            Whether cells are sets.
        timed
            Whether there is a time limit, so that a search may be cut off anywhere.
        """
        self.ceilings = list(ceilings_of(mean_loss, sets=sets))
        self.most_rows = max(SHARED.min_rows_looked_at, SHARED.looks_per_cell * cells)
        if (
            not (timed or sets)
            and self.packed
            and len(self.packed.keys) > SHARED.max_keys_searched_fully
        ):
            # What is above proves little more; the rest is for a time limit, as most is for sets.
            self.ceilings = [min(1.0, SHARED.mean_losses_searched * mean_loss)]

    def prepare(self) -> Packed | None:
        """Pack the rows, once; return `None` if all cells are free."""
        if self.packed is None and not self.done:
            self.packed = self.pack()
            self.done = self.packed is None
            if self.packed is not None:
                self.costs = np.zeros(len(self.packed.keys), dtype=np.int64)
        return self.packed

    def refine(self, limits: SearchLimits, _labels: NDArray[np.int32] | None = None) -> None:
        """Search with each ceiling of the cost in turn while there is time, and raise ``self.lower``.

        A search that is cut short counts for the rows that it came to. `_labels` is not used.
        """
        if limits.left <= 0:
            return
        packed = self.prepare()
        if packed is None:
            return
        while self.ceilings and limits.left > 0:
            ceiling = int(SHARED.cost_units * self.ceilings[0])
            # What is below the last ceiling is known.
            best = np.where(self.costs < self.reached, self.costs, ceiling)
            finished = self._searched(packed, best, limits)
            # Of a search that was cut short, rows keep what is known of them.
            total = int(np.maximum(best, self.costs) @ packed.counts)
            # The scale was rounded once, and so are quotient and product.
            self.lower = max(self.lower, total / packed.scale * (1 - 2.0**-50))
            if not finished:
                return
            self.costs, self.reached = best, ceiling
            self.ceilings.pop(0)
            if int(best.max()) < ceiling:
                break
        self.done = not self.ceilings or int(self.costs.max()) < self.reached

    def _searched(self, packed: Packed, best: NDArray[np.int64], limits: SearchLimits) -> bool:
        """Search in threads, and stop them at the end of the time or on Ctrl-C.

        Cells of the first column are searched after those inside them, and such as share no row at the same time: so
        that what is found, and where an untimed search ends, is the same in any number of threads.

        `best` ``(rows,)`` int64 are costs, lowered in place. Returns whether the search came to its end.
        """
        from discreet.kanonymity.kernels.shared import descend_below

        lattice, stop = packed.lattice, np.zeros(1, dtype=np.bool_)
        timed = limits.left < float("inf")
        counts = np.minimum(packed.counts, self.k).astype(np.int32)
        turns, sizes = _first_cells(packed)
        finished = True
        with ThreadPoolExecutor(limits.threads) as pool:
            for turn in range(int(turns.max()) + 1):
                waiting = (sizes >= self.k) & (lattice.cost[: len(turns)] < best.max())
                cells = np.flatnonzero(waiting & (turns == turn))
                # The widest cells need little, and what earlier turns leave is for the later ones.
                later = int(sizes[waiting & (turns >= turn)].sum())
                share = SHARED.work_per_cell_in_shares * max(0, self.most_rows) / max(1, later)
                rows = _rows_of_cells(packed, cells)
                searching = [
                    pool.submit(
                        descend_below,
                        lattice,
                        packed.keys,
                        counts,
                        best,
                        rows[cell],
                        cell,
                        self.k,
                        2**62 if timed else int(share * sizes[cell]),
                        SHARED.max_extra_rows,
                        stop,
                    )
                    # The longest first, so that all threads end together.
                    for cell in sorted(cells.tolist(), key=lambda cell: -int(sizes[cell]))
                ]
                try:
                    while wait(searching, timeout=min(1.0, max(limits.left, 0.0) + 0.01)).not_done:
                        stop[0] = limits.left <= 0
                except BaseException:
                    stop[0] = True
                    raise
                looked = [search.result() for search in searching]
                finished = finished and all(rows >= 0 for rows in looked)
                self.most_rows -= sum(rows if rows >= 0 else -rows - 1 for rows in looked)
        return finished
