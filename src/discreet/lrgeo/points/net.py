r"""Nets of control points over a box, and the exact weights by which a point draws one of them.

A point draws its column by the weights of the quadratic B-spline, and its row likewise: with t the part of a cell that
lies before it, :math:`(1 - t)^2 / 2`, :math:`1/2 + t - t^2` and :math:`t^2 / 2`. Probabilities are then
*differentiable* in the point, across cells as well.
A point with rational coordinates has integers for weights.

Trusted: the guarantee rests on this code, which computes the weights of control points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits

    Point = tuple[Fraction, Fraction]

_FARTHEST = 1 << 30
"""Decimeters, as for places."""


class NetSpot(NamedTuple):
    """Where a point lies in a net: private, as the point is.

    Parameters
    ----------
    column, row
        The first of three columns and of three rows of control points.
    across, along
        Three integers each, without a common factor: how likely each of the columns is, and each of the rows.
    """

    column: int
    row: int
    across: tuple[int, int, int]
    along: tuple[int, int, int]

    def draw(self, bits: RandomBits) -> tuple[int, int]:
        """Draw a control point by its weight, its column first and then its row.

        Returns both, from 0 in the southwest.
        """
        column = self.column + one_of(self.across, bits)
        return column, self.row + one_of(self.along, bits)


@final
@dataclass(frozen=True, repr=False)
class ControlNet:
    """A box of square cells in the plane, and around it control points: two more a side than there are cells.

    Parameters
    ----------
    low
        The corner in the southwest, in decimeters.
    side
        Of a cell, in decimeters.
    cells
        East and north.
    reach
        Decimeters outside of the box within which a point is taken, and projected to it first.

    Raises
    ------
    InvalidProblemError
        For numbers that are no integers, or out of range.

    Examples
    --------
    >>> net = ControlNet((0, 0), 4, (2, 1), reach=3)
    >>> net
    ControlNet(2 x 1 cells)
    >>> net.find((Fraction(5), Fraction(4)))
    NetSpot(column=1, row=0, across=(9, 22, 1), along=(0, 1, 1))
    """

    low: tuple[int, int]
    side: int
    cells: tuple[int, int]
    reach: int

    def __post_init__(self) -> None:
        stated: tuple[object, ...] = (*self.low, self.side, *self.cells, self.reach)
        if len(stated) != 6 or any(type(number) is not int for number in stated):
            raise InvalidProblemError("low, side, cells and reach", "integers", "others")
        if self.side < 1 or min(self.cells) < 1:
            raise InvalidProblemError("side and cells", "1 or more", "others")
        if not 0 <= self.reach < _FARTHEST:
            raise InvalidProblemError("reach", "whole decimeters, 0 or more", "another")
        if max(map(abs, (*self.low, *self.high))) >= _FARTHEST:
            raise InvalidProblemError("low and cells", "whole decimeters within 2^30", "others")

    def __repr__(self) -> str:
        return f"ControlNet({self.cells[0]} x {self.cells[1]} cells)"

    @property
    def high(self) -> tuple[int, int]:
        """The corner in the northeast, in decimeters."""
        (x, y), (wide, tall) = self.low, self.cells
        return x + wide * self.side, y + tall * self.side

    @property
    def box(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The least and the greatest coordinates of the region."""
        return self.low, self.high

    @cached_property
    def corners(self) -> list[tuple[int, int]]:
        """The corners of the region, counterclockwise."""
        (left, low), (right, high) = self.box
        return [(left, low), (right, low), (right, high), (left, high)]

    @property
    def points(self) -> tuple[int, int]:
        """Numbers of columns and of rows of control points."""
        return self.cells[0] + 2, self.cells[1] + 2

    def find(self, point: Point) -> NetSpot:
        """Find the cell of a point and its weights there, a point outside the region projected to it first.

        Parameters
        ----------
        point
            Rational decimeters.

        Returns
        -------
        NetSpot
            Private, as the point is.

        Raises
        ------
        InvalidProblemError
            For a point beyond the reach; the message does not repeat it.

        Guarantee
        ---------
        Projection to a box expands no distance, so that the promise between points of the region holds between all
        points within the reach. That one farther away is refused is not covered.
        """
        (x, column), (y, row) = (
            _cell(value - least, self.side, count)
            for value, least, count in zip(self.projected(point), self.low, self.cells, strict=True)
        )
        return NetSpot(column, row, _weights(x), _weights(y))

    def projected(self, point: Point) -> Point:
        """Return the nearest point of the region to a point within the reach, exactly; inside it is the point itself.

        Raises
        ------
        InvalidProblemError
            For a point beyond the reach; the message does not repeat it.

        Examples
        --------
        >>> ControlNet((0, 0), 4, (2, 1), reach=3).projected((Fraction(9), Fraction(1)))
        (Fraction(8, 1), Fraction(1, 1))
        """
        x, y = (
            min(max(value, Fraction(least)), Fraction(most))
            for value, least, most in zip(point, self.low, self.high, strict=True)
        )
        if (x - point[0]) ** 2 + (y - point[1]) ** 2 > self.reach**2:
            # Nothing of the point may come to light, not even on which side it lies.
            raise InvalidProblemError("point", "a point in the region", "a point outside")
        return x, y

    def coefficients(
        self, places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return, for public points, the first columns and rows of their control points, and the weights of each.

        Exact arithmetic for each point. InvalidProblemError for one beyond the reach.

        Parameters
        ----------
        places
            ``(n, 2)`` decimeters.

        Returns
        -------
        first : ndarray
            ``(n, 2)``: column and row.
        weights : ndarray
            ``(n, 2, 3)``, those of columns and of rows, each summing to 1.
        """
        positions = [self.find((Fraction(x), Fraction(y))) for x, y in places.tolist()]
        first = np.array(
            [(position.column, position.row) for position in positions], dtype=np.int64
        )
        pair = np.array(
            [(position.across, position.along) for position in positions], dtype=np.float64
        )
        weights: NDArray[np.float64] = pair / pair.sum(axis=2, keepdims=True)
        return first.reshape(-1, 2), weights.reshape(-1, 2, 3)


def _cell(away: Fraction, side: int, count: int) -> tuple[Fraction, int]:
    """Return the position of a coordinate within its cell, in [0, 1], and the number of the cell.

    `away` is from the net's corner, `side` that of a cell, both in decimeters; `count` is the number of cells. The
    far end of the last cell belongs to it.
    """
    along = away / side
    cell = min(math.floor(along), count - 1)
    return along - cell, cell


def _weights(part: Fraction) -> tuple[int, int, int]:
    """Return the three weights of the quadratic B-spline at `part` of a cell, in [0, 1]: integers in lowest terms."""
    p, q = part.numerator, part.denominator
    weights = ((q - p) ** 2, q * q + 2 * p * q - 2 * p * p, p * p)
    shared = math.gcd(*weights)
    first, second, third = (weight // shared for weight in weights)
    return first, second, third


def one_of(weights: Sequence[int], bits: RandomBits) -> int:
    """Return an index drawn with probability proportional to its integer weight, exactly; linear in the weights.

    `bits` is the source of randomness. The weights must not be negative, and not all 0.
    """
    drawn, index = bits.randrange(sum(weights)), 0
    while drawn >= weights[index]:
        drawn -= weights[index]
        index += 1
    return index
