r"""Integer lengths between integer places in the plane: a metric in closed form, the same on every machine.

.. math:: D(p, q) = 1 + \lfloor M\, |p - q| \rfloor \text{ for } p \ne q, \qquad D(p, p) = 0,

with M stored units for a step between neighboring integers, less one. One ``isqrt`` computes it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.lengths import LENGTHS_AT_ONCE, tree_pairs

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

_EXTENT = 1 << 30
"""Steps that places may be apart along an axis: squares of distances are then below 2^62."""


@final
@dataclass(frozen=True, eq=False)
class PlaneLengths:
    r"""Lengths between integer places.

    Parameters
    ----------
    places
        Array ``(n, 2)`` of integers.
    step
        How long a step between neighboring integers is, in the unit of the space, exactly.
    scale_bits
        ``s``: lengths are in units of ``2^-s``.

    Raises
    ------
    InvalidProblemError
        For places more than ``2^30`` steps apart along an axis, or a step of fewer than two units.

    Notes
    -----
    *It is a metric.* ``f(x) = 1 + floor(x)`` for ``x > 0`` grows with x, and ``f(x + y) <= 2 + floor(x) + floor(y)``,
    which is ``f(x) + f(y)``. So the triangle inequality of the plane becomes that of ``D``, and no table needs to be
    closed.

    *It is never above the true distance.* ``M = floor(2^s step) - 1``, and different places are at least one step
    apart, so that ``1 + M |p - q| <= (M + 1) |p - q| <= 2^s step |p - q|``. It is below it by a part of ``2 / M`` at
    most.

    *Floats only sort out what is clear.* A root and a product have a relative error of three roundings, ``2^-51``;
    where ``2^-50`` around the float there is an integer, ``isqrt(M^2 |p - q|^2)`` decides.

    Examples
    --------
    >>> from fractions import Fraction
    >>> lengths = PlaneLengths(np.array([[0, 0], [3, 4], [6, 8]]), Fraction(1, 10), scale_bits=20)
    >>> lengths.per_step, lengths.between(np.array([0, 0]), np.array([1, 2])).tolist()
    (104856, [524281, 1048561])
    """

    places: NDArray[np.int64]
    step: Fraction
    scale_bits: int

    def __post_init__(self) -> None:
        if len(self.places) and int(np.ptp(self.places, axis=0).max()) >= _EXTENT:
            raise InvalidProblemError("places", "less than 2^30 steps apart", "farther")
        if self.per_step < 1:
            raise InvalidProblemError("scale_bits", "a step of two units or more", self.scale_bits)

    @property
    def n(self) -> int:
        """Number of places."""
        return len(self.places)

    @property
    def is_closed(self) -> bool:
        """Whether the lengths are a metric as they are: they are."""
        return True

    @property
    def per_step(self) -> int:
        """The integer M."""
        return math.floor(self.step * (1 << self.scale_bits)) - 1

    def dense(self) -> NDArray[np.int64]:
        """Return all lengths ``(n, n)`` in stored units.

        ``O(n^2)``; a new array at each call.
        """
        lengths = np.zeros((self.n, self.n), dtype=np.int64)
        for i in range(self.n - 1):
            after = np.arange(i + 1, self.n)
            row = self.between(np.full(len(after), i), after)
            lengths[i, i + 1 :] = lengths[i + 1 :, i] = row
        return lengths

    def between(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the lengths ``(m,)`` of the pairs ``(i[t], j[t])`` in stored units.

        `i` and `j` are numbers of places, not checked. Constant time for each pair.
        """
        parts = [
            self._lengths(
                self.places[i[at : at + LENGTHS_AT_ONCE]]
                - self.places[j[at : at + LENGTHS_AT_ONCE]]
            )
            for at in range(0, len(i), LENGTHS_AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _lengths(self, apart: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return lengths ``(m,)`` in stored units of steps `apart` ``(m, 2)``.

        The floor plus 1, exact, and 0 for no step.
        """
        factor = self.per_step
        squares = np.square(apart).sum(axis=1)
        about = factor * np.sqrt(squares.astype(np.float64))
        low, high = np.floor(about * (1 - 2.0**-50)), np.floor(about * (1 + 2.0**-50))
        lengths: NDArray[np.int64] = low.astype(np.int64) + 1
        for t in np.flatnonzero(low != high).tolist():
            lengths[t] = 1 + math.isqrt(factor * factor * int(squares[t]))
        lengths[squares == 0] = 0
        return lengths

    def near(self, limit: int) -> NDArray[np.int32]:
        """Return candidates ``(m, 2)`` for the pairs within ``limit`` stored units, from a k-d tree.

        One too many costs nothing, since lengths are then taken of each.
        """
        coordinates, norm = self.embedding()
        return tree_pairs(coordinates, (limit + 4) / self.per_step * (1 + 2.0**-20), norm)

    def embedding(self) -> tuple[NDArray[np.float64], float]:
        """The places as floats, which they are exactly."""
        return self.places.astype(np.float64), 2.0

    def take(self, indices: NDArray[np.int64]) -> PlaneLengths:
        """Return the same plane with the places at the given indices, in that order."""
        return PlaneLengths(self.places[indices], self.step, self.scale_bits)
