"""Integer lengths on a square lattice, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.spaces.lengths import dense, tree_pairs

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray


@final
@dataclass(frozen=True, eq=False)
class LatticeLengths:
    r"""Lengths between points of a square lattice, in closed form.

    .. math:: D(a, b) = g \lfloor 2^s c \sqrt{(a/g)^2 + (b/g)^2} \rfloor,\quad g = \gcd(a, b),

    for two points ``a`` rows and ``b`` columns apart on a lattice of spacing ``c``.

    Parameters
    ----------
    places
        Array ``(n, 2)`` of rows and columns.
    cell
        Spacing ``c``, exactly.
    scale_bits
        ``s``.

    Notes
    -----
    Collinear ties stay exact: ``D`` is linear along each primitive direction, so that the distance of two cells in a
    row is twice that of one. And ``D`` is a metric when ``2^s c >= 8 L^4``, ``L`` the diameter in cells. Let ``u``,
    ``v`` be integer vectors with ``|u|, |v|, |u + v| <= L``. If they are collinear, the inequality is that of integer
    multiples of one floor. Otherwise ``|u|^2 |v|^2 - (u.v)^2`` is a squared determinant, at least 1, so that
    ``|u||v| - u.v >= 1/(2 |u||v|)``, and

        ``|u| + |v| - |u + v| = 2 (|u||v| - u.v) / (|u| + |v| + |u + v|) >= 1/(3 L^3) > 1/(4 L^3)``.

    Since ``D(u) > 2^s c |u| - gcd(u)`` and ``gcd(u) <= L``, ``D(u) + D(v) > 2^s c |u + v| + 2^s c / (4 L^3) - 2 L``,
    which is at least ``2^s c |u + v| >= D(u + v)``. Where the condition fails, the general closure is taken.
    """

    places: NDArray[np.int64]
    cell: Fraction
    scale_bits: int

    @property
    def n(self) -> int:
        """Number of lattice points."""
        return len(self.places)

    @property
    def is_closed(self) -> bool:
        """Whether the closed form is a metric on this lattice, by the condition above."""
        squared = int((np.ptp(self.places, axis=0) ** 2).sum())
        return bool(self.cell * 2**self.scale_bits >= 8 * squared**2)

    def dense(self) -> NDArray[np.int64]:
        """All lengths, closed: ``(n, n)`` int64 in units of ``2^-scale_bits``; a new array at each call."""
        if not self.is_closed:
            return dense(self)
        row, column = self.places.T
        return self._lengths(np.abs(row[:, None] - row), np.abs(column[:, None] - column))

    def between(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the lengths ``(m,)`` of the pairs ``(i[t], j[t])`` in stored units.

        `i` and `j` are numbers of points, not checked. An exact root for each kind of step.
        """
        apart = np.abs(self.places[i] - self.places[j])
        return self._lengths(apart[:, 0], apart[:, 1])

    def table(self) -> NDArray[np.int64]:
        """Lengths ``(rows, columns)`` int64 by the rows and columns between two points, from 0 up to the extent.

        An exact root for each entry; a new array at each call.
        """
        rows, columns = np.indices(np.ptp(self.places, axis=0) + 1)
        return self._lengths(rows, columns)

    def _lengths(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lengths, int64, of steps of `a` rows and `b` columns, of one shape.

        Each kind of step is computed once.
        """
        wide = int(b.max(initial=0)) + 1
        kinds, which = np.unique(a * wide + b, return_inverse=True)
        factor = (self.cell * 2**self.scale_bits) ** 2
        values = np.array([_length(kind // wide, kind % wide, factor) for kind in kinds.tolist()])
        return values.astype(np.int64)[which].reshape(a.shape)

    def near(self, limit: int) -> NDArray[np.int32]:
        """Return candidates ``(m, 2)`` for the pairs within ``limit`` stored units, from a k-d tree."""
        coordinates, norm = self.embedding()
        # The closed form may fall short of the distance by the gcd, hence by less than one cell's unit a cell.
        radius = (limit + 4) / (float(self.cell) * 2.0**self.scale_bits - 1)
        return tree_pairs(coordinates, radius * (1 + 2.0**-20), norm)

    def embedding(self) -> tuple[NDArray[np.float64], float]:
        """Rows and columns as floats ``(n, 2)``, and 2, the norm by which they are compared."""
        return self.places.astype(np.float64), 2.0

    def take(self, indices: NDArray[np.int64]) -> LatticeLengths:
        """Return the same lattice with the points at the given indices, in that order."""
        return LatticeLengths(self.places[indices], self.cell, self.scale_bits)


def _length(a: int, b: int, factor: Fraction) -> int:
    """Compute ``g floor(sqrt(factor ((a/g)^2 + (b/g)^2)))`` in integers.

    That is the distance of ``a`` rows and ``b`` columns in stored units, rounded down along its direction; g is the
    greatest common divisor of both, `factor` the square of a cell's side in stored units.
    """
    g = math.gcd(a, b)
    if g == 0:
        return 0
    squares = (a // g) ** 2 + (b // g) ** 2
    return g * math.isqrt(squares * factor.numerator // factor.denominator)
