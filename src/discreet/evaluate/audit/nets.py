r"""A judge of mechanisms for every point: the laws of all points of a net, and pairs of them.

A point of a cell of the net mixes the rows of three columns and three rows of control points by the uniform quadratic
B-spline. A row is published for each control point, or is what one noise and its names make of it. From there on
:func:`~discreet.evaluate.audit.points.count_broken` counts pairs of points, not coefficients. Nothing
of the design or of its verifier is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import SeededBits

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RANDOM_POINT_BITS, _EDGE_POINT_BITS = 12, 60
"""Bits of the place of a point in its cell: weights of random points fit int64, those of points at edges do not."""

_MAX_ENTRIES = 1 << 27
"""Control points times reports: a gigabyte."""


class Ends(NamedTuple):
    """Both points of some pairs, as mixtures of rows.

    Parameters
    ----------
    first, second
        ``(P, n)`` numbers of rows.
    left, right
        ``(P, n)`` integers: weight of each row.
    unit
        ``(P, 1)``: sum of these weights.
    far
        ``(P,)`` distances, in the unit of coordinates.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    left: NDArray[Any]
    right: NDArray[Any]
    unit: NDArray[Any]
    far: NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class NetLaws:
    """Laws of all points of a net, by a row of integers for each control point.

    Parameters
    ----------
    weights
        ``(V, K)`` integers, a row for each control point, row after row of a column; all have one sum.
    low, side, cells
        Corner of the net, side of its cells, and numbers of cells east and north.
    epsilon
        Nats per unit of the coordinates.

    Raises
    ------
    InvalidProblemError
        For another number of rows, or rows of different sums.
    """

    weights: NDArray[np.int64]
    low: tuple[int, int]
    side: int
    cells: tuple[int, int]
    epsilon: Fraction

    def __post_init__(self) -> None:
        sums = set(self.weights.sum(axis=1, dtype=object).tolist())
        if len(self.weights) != (self.cells[0] + 2) * (self.cells[1] + 2) or len(sums) != 1:
            raise InvalidProblemError("weights", "a row for each control point", "others")

    def law(self, cell: tuple[int, int], part: tuple[Fraction, Fraction]) -> list[Fraction]:
        """Return the exact law ``(K,)`` of a point by its `cell` and its place `part` in it, from 0 to 1 on both axes.

        Mixes nine rows.
        """
        across, along = (_spline_weights(one) for one in part)
        row_sum = sum(self.weights[0].tolist())
        shares = [Fraction(0)] * self.weights.shape[1]
        for i, first in enumerate(across):
            for j, second in enumerate(along):
                row = self.weights[(cell[0] + i) * (self.cells[1] + 2) + cell[1] + j].tolist()
                mixed = first * second / row_sum
                shares = [share + mixed * w for share, w in zip(shares, row, strict=True)]
        return shares

    def ends(self, pairs: NetPairs, some: slice) -> Ends:
        """Return the rows that both points of the pairs in slice `some` mix, their integer weights, and the distances.

        Nine rows for each point, so linear in the pairs; see :class:`Ends` for the shapes.
        """
        one = 1 << pairs.grain
        numbers, counts = [], []
        for cell, at in ((pairs.first, pairs.first_at), (pairs.second, pairs.second_at)):
            t = at[some]
            # Of a cell, four times: each axis sums to twice the square of its parts.
            axis = np.stack([(one - t) ** 2, one * one + 2 * t * (one - t), t**2], axis=2)
            counts.append((axis[:, 0, :, None] * axis[:, 1, None, :]).reshape(-1, 9))
            column, row = (cell[some][:, k, None] + np.arange(3) for k in (0, 1))
            numbers.append(
                (column[:, :, None] * (self.cells[1] + 2) + row[:, None, :]).reshape(-1, 9)
            )
        apart = (pairs.first[some] - pairs.second[some]) * one + (
            pairs.first_at[some] - pairs.second_at[some]
        )
        far = self.side * np.hypot(*(apart / one).astype(np.float64).T)
        unit = np.full((len(far), 1), 4 * one**4, dtype=counts[0].dtype)
        return Ends(numbers[0], numbers[1], counts[0], counts[1], unit, far)

    def exactly(
        self, pairs: NetPairs, at: int
    ) -> list[tuple[list[Fraction], tuple[Fraction, Fraction]]]:
        """Return, for both points of pair number `at`, the exact law of reports and the coordinates; ``O(K)``."""
        points = []
        for cells, parts in ((pairs.first, pairs.first_at), (pairs.second, pairs.second_at)):
            a, b = cells[at].tolist()
            t, u = (Fraction(int(part), 1 << pairs.grain) for part in parts[at])
            x, y = self.low[0] + (a + t) * self.side, self.low[1] + (b + u) * self.side
            points.append((self.law((a, b), (t, u)), (x, y)))
        return points


def rows_of_noise(
    noise: NDArray[np.int64], names: NDArray[np.int64], reports: int, cells: tuple[int, int]
) -> NDArray[np.int64]:
    """Return the row of each control point of a net with one noise, ``(control points, reports)``.

    ``O(m n)`` for each control point, and ``control points * reports`` int64 in memory, at most 2^27.

    Parameters
    ----------
    noise, names
        ``(m, n)``: integers of the noise on a torus, and the number of the report of each entry.
    reports
        Number of reports.
    cells
        Numbers of cells east and north.

    Raises
    ------
    InvalidProblemError
        For tables of different shapes, or more rows than memory holds.

    Examples
    --------
    >>> noise, names = np.array([[2, 1, 1], [1, 1, 0], [1, 0, 1]]), np.array([[0, 0, 1]] * 3)
    >>> laws = NetLaws(rows_of_noise(noise, names, 2, (1, 1)), (0, 0), 4, (1, 1), Fraction(1))
    >>> laws.law((0, 0), (Fraction(1, 2), Fraction(0)))
    [Fraction(3, 4), Fraction(1, 4)]
    """
    if noise.ndim != 2 or noise.shape != names.shape or noise.min() < 0:
        raise InvalidProblemError("noise", "a table with a name for each entry", "another")
    wide, tall = (count + 2 for count in cells)
    if wide * tall * reports > _MAX_ENTRIES:
        raise InvalidProblemError("net", "fewer control points and reports", "too many")
    m, n = noise.shape
    rows = np.zeros((wide * tall, reports), dtype=np.int64)
    steps = np.stack(np.divmod(np.arange(m * n), n))
    for number in range(wide * tall):
        column, row = divmod(number, tall)
        ends = names[(steps[0] + column) % m, (steps[1] + row) % n]
        # Partial sums are integers below 2^53, which doubles hold.
        rows[number] = np.bincount(ends, noise.ravel().astype(np.float64), reports).astype(np.int64)
    return rows


def _spline_weights(t: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return the weights of the quadratic B-spline, each linear blend a blend of two linear ones (de Boor)."""
    left, right = 1 - t, t
    first, last = left * left / 2, right * right / 2
    middle = left * (1 + right) / 2 + right * (1 + left) / 2
    return first, middle, last


@final
@dataclass(frozen=True, eq=False)
class NetPairs:
    """Pairs of points, each by a cell and its place in it.

    Parameters
    ----------
    first, second
        ``(P, 2)`` cells, east and north.
    first_at, second_at
        ``(P, 2)`` integers from 0 to :math:`2^{grain}`, as Python's where they are large.
    grain
        Bits of a part of a cell.
    label
        Kind of the pairs, for messages.
    """

    first: NDArray[np.int64]
    first_at: NDArray[Any]
    second: NDArray[np.int64]
    second_at: NDArray[Any]
    grain: int
    label: str

    def __len__(self) -> int:
        return len(self.first)


def random_net_pairs(laws: NetLaws, count: int, *, seed: int = 0) -> NetPairs:
    """Draw pairs of points evenly from the region.

    Cells and places in them are drawn independently and uniformly; the same pairs for the same seed. Linear in
    `count`.

    Parameters
    ----------
    laws
        The net.
    count
        Number of pairs.
    seed
        Seed of the draws; pairs are public.

    Returns
    -------
    NetPairs
        Of points at multiples of 2^-12 of a cell.
    """
    bits, sides = SeededBits(seed), []
    for _ in (0, 1):
        cells = [bits.randranges(size, count).astype(np.int64) for size in laws.cells]
        at = (
            bits.randranges((1 << _RANDOM_POINT_BITS) + 1, 2 * count)
            .astype(np.int64)
            .reshape(count, 2)
        )
        sides.append((np.stack(cells, axis=1), at))
    (first, one), (second, two) = sides
    return NetPairs(first, one, second, two, _RANDOM_POINT_BITS, "random points")


def edge_net_pairs(laws: NetLaws, count: int, *, seed: int = 0) -> NetPairs:
    """Draw pairs that straddle sides and corners of cells, or lie along the region's border.

    A fifth of the pairs that straddle are at an edge exactly, seen from both cells, which must give one law; the
    others are from 2^-60 of a cell to a cell away, on the two sides.

    The same pairs for the same seed. Along an axis with a single cell nothing is straddled. Linear in `count`.

    Parameters
    ----------
    laws
        The net.
    count
        Number of pairs.
    seed
        Seed of the draws; pairs are public.

    Returns
    -------
    NetPairs
        With positions as Python integers.
    """
    bits, one = SeededBits(seed), 1 << _EDGE_POINT_BITS
    cells: list[tuple[list[int], list[int]]] = []
    parts: list[tuple[list[int], list[int]]] = []
    for _ in range(count):
        both = bits.randrange(4) == 0
        only = bits.randrange(2)
        cell, at = ([0, 0], [0, 0]), ([0, 0], [0, 0])
        size = bits.randrange(5)
        for axis in (0, 1):
            most = laws.cells[axis]
            if (both or axis == only) and most > 1:
                # Two cells beside each other, and a point a little inside of each.
                before = bits.randrange(most - 1)
                for side in (0, 1):
                    little = (
                        bits.randrange(1 << bits.randrange(_EDGE_POINT_BITS + 1)) if size else 0
                    )
                    cell[side][axis] = before + side
                    at[side][axis] = little if side else one - little
            else:
                common = bits.randrange(most)
                along = bits.randrange(one + 1) if bits.randrange(4) else one * bits.randrange(2)
                for side in (0, 1):
                    cell[side][axis] = common
                    at[side][axis] = along
        cells.append(cell)
        parts.append(at)
    placed = np.array(cells, dtype=np.int64).reshape(count, 2, 2)
    held_at = np.array(parts, dtype=object).reshape(count, 2, 2)
    return NetPairs(
        placed[:, 0],
        held_at[:, 0],
        placed[:, 1],
        held_at[:, 1],
        _EDGE_POINT_BITS,
        "across edges of cells",
    )
