r"""A judge of mechanisms for every point with one noise: the laws of all points of a net, and pairs of them.

A point of a cell of the net mixes the rows of three columns and three rows of control points by the uniform quadratic
B-spline; a row is what noise and names make of one control point. From there on
:func:`~discreet.evaluate.audit.points.count_broken` counts pairs of points, not coefficients. Nothing
of the design or of its verifier is used.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import SeededBits
from discreet.evaluate.audit.points import Ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NetLaws", "NetPairs", "RowLaws", "TableLaws", "edge_net_pairs", "random_net_pairs"]

_COARSE, _FINE = 12, 60
"""Bits of the part of a cell at which random points lie, and those across edges: their weights fit int64, or do not."""

_MOST_ROWS = 1 << 27
"""Control points times reports, at most: a gigabyte."""


class RowLaws(abc.ABC):
    """Laws of all points of a net, by a row of integers for each control point; all rows have one sum.

    Attributes
    ----------
    low, side, cells
        The corner, the side of cells, and how many there are east and north.
    epsilon
        Nats per unit of the coordinates.
    """

    low: tuple[int, int]
    side: int
    cells: tuple[int, int]
    epsilon: Fraction

    @abc.abstractmethod
    def row(self, number: int) -> list[int]:
        """Give the integers of a control point."""

    def law(self, cell: tuple[int, int], part: tuple[Fraction, Fraction]) -> list[Fraction]:
        """Give the law of a point by its cell and how far along that it is, from 0 to 1 on both axes."""
        across, along = (_blurred(one) for one in part)
        found = [Fraction(0)] * len(self.row(0))
        for i, first in enumerate(across):
            for j, second in enumerate(along):
                row = self.row((cell[0] + i) * (self.cells[1] + 2) + cell[1] + j)
                found = [known + first * second * w for known, w in zip(found, row, strict=True)]
        whole = sum(self.row(0))
        return [value / whole for value in found]

    def ends(self, pairs: NetPairs, some: slice) -> Ends:
        """Give which rows two points mix, by which integers, and how far apart they are."""
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
        """Give the laws of both points of a pair, and where they are."""
        found = []
        for cells, parts in ((pairs.first, pairs.first_at), (pairs.second, pairs.second_at)):
            a, b = cells[at].tolist()
            t, u = (Fraction(int(part), 1 << pairs.grain) for part in parts[at])
            x, y = self.low[0] + (a + t) * self.side, self.low[1] + (b + u) * self.side
            found.append((self.law((a, b), (t, u)), (x, y)))
        return found


@final
@dataclass(frozen=True, eq=False)
class NetLaws(RowLaws):
    """Laws of all points of a net.

    Parameters
    ----------
    noise, names
        ``(m, n)``: integers, and numbers of reports.
    reports
        How many there are.
    low, side, cells
        The corner, the side of cells, and how many there are east and north.
    epsilon
        Nats per unit of the coordinates.

    Raises
    ------
    InvalidProblemError
        For tables of other shapes, or too many rows to be held.

    Examples
    --------
    >>> noise, names = np.array([[2, 1, 1], [1, 1, 0], [1, 0, 1]]), np.array([[0, 0, 1]] * 3)
    >>> laws = NetLaws(noise, names, 2, (0, 0), 4, (1, 1), Fraction(1))
    >>> laws.law((0, 0), (Fraction(1, 2), Fraction(0)))
    [Fraction(3, 4), Fraction(1, 4)]
    """

    noise: NDArray[np.int64]
    names: NDArray[np.int64]
    reports: int
    low: tuple[int, int]
    side: int
    cells: tuple[int, int]
    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.noise.ndim != 2 or self.noise.shape != self.names.shape or self.noise.min() < 0:
            raise InvalidProblemError("noise", "a table with a name for each entry", "another")
        if (self.cells[0] + 2) * (self.cells[1] + 2) * self.reports > _MOST_ROWS:
            raise InvalidProblemError("net", "fewer control points and reports", "too many")

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """A row for each control point, row after row of a column."""
        wide, tall = (count + 2 for count in self.cells)
        m, n = self.noise.shape
        rows = np.zeros((wide * tall, self.reports), dtype=np.int64)
        steps = np.stack(np.divmod(np.arange(m * n), n))
        for number in range(wide * tall):
            column, row = divmod(number, tall)
            ends = self.names[(steps[0] + column) % m, (steps[1] + row) % n]
            # Partial sums are integers below 2^53, which doubles hold.
            made = np.bincount(ends, self.noise.ravel().astype(np.float64), self.reports)
            rows[number] = made.astype(np.int64)
        return rows

    def row(self, number: int) -> list[int]:
        """Give the integers of a control point."""
        found: list[int] = self.weights[number].tolist()
        return found


@final
@dataclass(frozen=True, eq=False)
class TableLaws(RowLaws):
    """Laws of all points of a net whose control points have rows of their own.

    Parameters
    ----------
    weights
        ``(V, K)`` integers, a row for each control point, row after row of a column; all have one sum.
    low, side, cells
        The corner, the side of cells, and how many there are east and north.
    epsilon
        Nats per unit of the coordinates.

    Raises
    ------
    InvalidProblemError
        For another number of rows, or rows of other sums.
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

    def row(self, number: int) -> list[int]:
        """Give the integers of a control point."""
        found: list[int] = self.weights[number].tolist()
        return found


def _blurred(t: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Give the weights of the quadratic B-spline, each linear blend a blend of two linear ones (de Boor)."""
    left, right = 1 - t, t
    first, last = left * left / 2, right * right / 2
    middle = left * (1 + right) / 2 + right * (1 + left) / 2
    return first, middle, last


@final
@dataclass(frozen=True, eq=False)
class NetPairs:
    """Pairs of points, each by a cell and how far along it is.

    Parameters
    ----------
    first, second
        ``(P, 2)`` cells, east and north.
    first_at, second_at
        ``(P, 2)`` integers from 0 to :math:`2^{grain}`, as Python's where they are large.
    grain
        Bits of a part of a cell.
    label
        How they were made.
    """

    first: NDArray[np.int64]
    first_at: NDArray[Any]
    second: NDArray[np.int64]
    second_at: NDArray[Any]
    grain: int
    label: str

    def __len__(self) -> int:
        return len(self.first)


def random_net_pairs(laws: RowLaws, count: int, *, seed: int = 0) -> NetPairs:
    """Draw pairs of points evenly from the region.

    Parameters
    ----------
    laws
        Which net.
    count
        Number of pairs.
    seed
        The pairs are public, and can be had again.

    Returns
    -------
    NetPairs
        Of points at multiples of 2^-12 of a cell.
    """
    bits, sides = SeededBits(seed), []
    for _ in (0, 1):
        cells = [bits.randranges(size, count).astype(np.int64) for size in laws.cells]
        at = bits.randranges((1 << _COARSE) + 1, 2 * count).astype(np.int64).reshape(count, 2)
        sides.append((np.stack(cells, axis=1), at))
    (first, one), (second, two) = sides
    return NetPairs(first, one, second, two, _COARSE, "random points")


def edge_net_pairs(laws: RowLaws, count: int, *, seed: int = 0) -> NetPairs:
    """Draw pairs that straddle sides and corners of cells, or lie along the region's border.

    A fifth of the points are at an edge exactly, seen from both cells, which must give one law; the others are from
    2^-60 of a cell to a cell away, on the two sides.

    Parameters
    ----------
    laws
        Which net.
    count
        Number of pairs.
    seed
        The pairs are public, and can be had again.

    Returns
    -------
    NetPairs
        With positions as Python integers.
    """
    bits, one = SeededBits(seed), 1 << _FINE
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
                    little = bits.randrange(1 << bits.randrange(_FINE + 1)) if size else 0
                    cell[side][axis] = before + side
                    at[side][axis] = little if side else one - little
            else:
                held = bits.randrange(most)
                along = bits.randrange(one + 1) if bits.randrange(4) else one * bits.randrange(2)
                for side in (0, 1):
                    cell[side][axis] = held
                    at[side][axis] = along
        cells.append(cell)
        parts.append(at)
    placed = np.array(cells, dtype=np.int64).reshape(count, 2, 2)
    held_at = np.array(parts, dtype=object).reshape(count, 2, 2)
    return NetPairs(
        placed[:, 0], held_at[:, 0], placed[:, 1], held_at[:, 1], _FINE, "across edges of cells"
    )
