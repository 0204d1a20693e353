"""Integer lengths between points: Euclidean, Manhattan, on the sphere, between directions, in the Poincare ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.spaces.geography import EARTH_RADIUS_KM, great_circle, lat_lon
from discreet.core.spaces.lengths import LENGTHS_AT_ONCE, dense, tree_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray


@final
@dataclass(frozen=True, eq=False)
class PointLengths:
    """Lengths between points under one of five metrics.

    Parameters
    ----------
    points
        Array ``(n, dimensions)``; latitude and longitude for ``haversine``, nonzero vectors for ``angular``,
        points strictly inside the unit ball for ``hyperbolic``.
    metric
        ``"euclidean"``, ``"manhattan"``, ``"haversine"``, ``"angular"`` or ``"hyperbolic"``.
    scale_bits
        ``s``.
    per_unit
        For ``haversine``, units in a kilometer of a great circle: 1 or 1000, or less by the factor of
        :func:`~discreet.core.spaces.geography.ground_factor`.

    Notes
    -----
    *Euclidean and Manhattan are exact floors.* With ``u = 2^-53``, each difference of floats has relative error ``u``,
    so that the float distance in ``m`` dimensions is within ``(m/2 + 3) u``, or ``(m + 2) u``, of the true one, and a
    product that underflows adds less than ``2^-60`` units. Scaling by ``2^s`` is exact. Where the interval around the
    float holds no integer, its floor is the answer; elsewhere (a few percent, and true ties) the floor is
    ``isqrt(floor(4^s d^2))`` in integers, since a float is an integer over a power of two. Floors keep collinear
    ties: if ``|ac| = |ab| + |bc|``, then ``floor|ab| + floor|bc| <= floor|ac|``, and the closure makes ``ac`` implied.

    *Haversine* is the floor of the float less ``2^-45`` of it, twice the bound of :func:`great_circle`.

    *Angular* is ``2 atan2(|p - q|, |p + q|)`` for unit vectors. Normalizing errs by ``(m/2 + 3) u`` in length,
    a distance by ``(m + 4) u`` more, and since ``|p - q|^2 + |p + q|^2 = 4`` the angle by at most ``(3 m + 15) u``; 8
    units in the last place of the arc tangent add 51 ``u``. The floor is taken of the float less ``(3 m + 128) u``.

    *Hyperbolic* is ``2 asinh(|p - q| / sqrt(a b))`` with ``a = 1 - |p|^2`` and ``b = 1 - |q|^2``: the distance of the
    Poincare ball of curvature -1. a and b are computed exactly and rounded once, however near to the sphere a point
    is. Relative errors are ``(m/2 + 3) u`` of the difference, ``3/2 u`` of the root of the product, ``2 u`` of root and
    quotient; asinh at most keeps a relative error, since ``x asinh'(x) <= asinh(x)``, and 8 units in the last place
    add ``16 u``. The floor is taken of the float less ``(m + 64) u`` of it; underflow of a square is worth less than
    ``2^-400`` units, and can only lift a float by that much, which the floor of a number below 1 hides.
    """

    points: NDArray[np.float64]
    metric: str
    scale_bits: int
    per_unit: float = 1

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.points)

    @cached_property
    def _integers(self) -> tuple[list[list[int]], int]:
        """The coordinates as integers over one power of two.

        Returns rows of Python integers, ``n`` of as many as dimensions, and the exponent s: a coordinate is its
        integer times ``2^-s``.
        """
        mantissas, exponents = np.frexp(self.points)
        integers = (mantissas * 2.0**53).astype(np.int64)
        shift = 53 - int(exponents.min(initial=53, where=integers != 0))
        rows = [
            [mantissa << (exponent - 53 + shift) for mantissa, exponent in zip(m, e, strict=True)]
            for m, e in zip(
                integers.tolist(), np.where(integers == 0, 53, exponents).tolist(), strict=True
            )
        ]
        return rows, shift

    @cached_property
    def _sums_exactly(self) -> bool:
        """Whether float sums of coordinate differences are exact: few enough bits from the finest to the largest."""
        every = [abs(x) for row in self._integers[0] for x in row]
        used = 0
        for x in every:
            used |= x
        # What all have in common, zeros at the low end, costs no bits.
        return bool(2 * max(every) * self.points.shape[1] < 2**53 * max(1, used & -used))

    def dense(self) -> NDArray[np.int64]:
        """Return all lengths ``(n, n)`` in stored units, closed in ``O(n^3)``."""
        return dense(self)

    def between(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the lengths ``(m,)`` of the pairs ``(i[t], j[t])`` in stored units, not closed."""
        step = max(1, LENGTHS_AT_ONCE // self.points.shape[1])
        parts = [
            self._lengths(i[at : at + step], j[at : at + step]) for at in range(0, len(i), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _lengths(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return lengths ``(m,)`` in units of ``2^-scale_bits`` between points i and j, ``(m,)`` each.

        Exact floors for the Euclidean and Manhattan metrics, else rounded down by more than the float error.
        """
        lengths: NDArray[np.int64]
        dimensions = self.points.shape[1]
        scaled = np.ldexp(self.measure(i, j), self.scale_bits)
        if self.metric == "haversine":
            lengths = np.floor(scaled * (1 - 2.0**-45)).astype(np.int64)
            return lengths
        if self.metric == "angular":
            error = math.ldexp(3 * dimensions + 128, self.scale_bits - 53)
            return np.floor(np.maximum(scaled - error, 0)).astype(np.int64)
        if self.metric == "hyperbolic":
            lengths = np.floor(scaled * (1 - (dimensions + 64) * 2.0**-53)).astype(np.int64)
            return lengths
        if self.metric == "manhattan" and self._sums_exactly:
            return np.floor(scaled).astype(np.int64)
        # One more u for each of the two roundings below than the bound asks for.
        error = (dimensions + 6) * 2.0**-53 * scaled + 2.0**-60
        low = np.floor(np.maximum(scaled - error, 0))
        lengths = low.astype(np.int64)
        unsure = np.flatnonzero(low != np.floor(scaled + error))
        floor = self._euclidean if self.metric == "euclidean" else self._manhattan
        rows, shift = self._integers if len(unsure) else ([], 0)
        for t in unsure.tolist():
            lengths[t] = floor(rows[i[t]], rows[j[t]], shift)
        return lengths

    def _euclidean(self, p: list[int], q: list[int], shift: int) -> int:
        """Return the floor of the length between two integer points, in stored units; `shift` is their binary point."""
        square = sum((x - y) ** 2 for x, y in zip(p, q, strict=True))
        bits = 2 * (self.scale_bits - shift)
        return math.isqrt(square << bits if bits >= 0 else square >> -bits)

    def _manhattan(self, p: list[int], q: list[int], shift: int) -> int:
        """Return the length between two integer points in stored units, rounded down; `shift` is their binary point."""
        length = sum(abs(x - y) for x, y in zip(p, q, strict=True))
        bits = self.scale_bits - shift
        return length << bits if bits >= 0 else length >> -bits

    def measure(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return distances of pairs `i`, `j` ``(m,)`` as floats in the space's unit, radians for angles.

        See the class.

        Floats, not rounded down; :meth:`between` states the errors that it allows for.
        """
        measured: NDArray[np.float64]
        if self.metric == "haversine":
            return self.per_unit * great_circle(self.points[i], self.points[j])
        if self.metric == "angular":
            directions = self.embedding()[0]
            apart = np.linalg.norm(directions[i] - directions[j], axis=1)
            along = np.linalg.norm(directions[i] + directions[j], axis=1)
            measured = 2 * np.arctan2(apart, along)
            return measured
        difference = self.points[i] - self.points[j]
        if self.metric == "hyperbolic":
            apart = np.sqrt(np.square(difference).sum(axis=1))
            depth = np.sqrt(self._depths[i] * self._depths[j])
            measured = 2 * np.arcsinh(apart / depth)
            return measured
        if self.metric == "euclidean":
            measured = np.sqrt(np.square(difference).sum(axis=1))
        else:
            measured = np.abs(difference).sum(axis=1)
        return measured

    def embedding(self) -> tuple[NDArray[np.float64], float]:
        """Coordinates ``(n, d)``, and the norm (1 or 2) in which their distances grow with ours.

        A unit sphere's for angles.
        """
        if self.metric == "angular":
            return self._directions, 2.0
        if self.metric == "haversine":
            return self._sphere, 2.0
        return self.points, 1.0 if self.metric == "manhattan" else 2.0

    @cached_property
    def _depths(self) -> NDArray[np.float64]:
        """``1 - |p|^2``, computed exactly and rounded once."""
        rows, shift = self._integers
        # Coordinates are below 1, so that the power of two is not negative.
        one = 1 << 2 * shift
        return np.array([(one - sum(x * x for x in row)) / one for row in rows])

    @cached_property
    def _directions(self) -> NDArray[np.float64]:
        """The points divided by their Euclidean norms: unit vectors, ``(n, dimensions)``."""
        norm = np.linalg.norm(self.points, axis=1, keepdims=True)
        directions: NDArray[np.float64] = self.points / norm
        return directions

    @cached_property
    def _sphere(self) -> NDArray[np.float64]:
        """The points of the globe as unit vectors, ``(n, 3)``."""
        latitude, longitude = np.radians(lat_lon(self.points)).T
        flat = np.cos(latitude)
        return np.stack(
            [flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=-1
        )

    def near(self, limit: int) -> NDArray[np.int32]:
        """Return candidate pairs ``(m, 2)`` from a k-d tree: all within `limit` stored units, and a few beyond.

        The tree's own sums err by a few ``u`` of the squared extent, and coordinates on a unit sphere by a few ``u``;
        the slack added below is far more. A candidate too many costs nothing, since lengths are then taken of each.
        """
        coordinates, norm = self.embedding()
        radius = math.ldexp(limit + 4, -self.scale_bits)
        if self.metric == "haversine":
            radius /= EARTH_RADIUS_KM * self.per_unit
        if self.metric == "hyperbolic":
            # |p - q| = sinh(d / 2) sqrt(a b), and neither a nor b is above 1.
            radius = math.sinh(min(radius, 40.0) / 2)
        if norm == 2 and coordinates is not self.points:
            radius = 2 * math.sin(min(radius, math.pi) / 2)
            radius += 2.0**-40
        radius += 2.0**-20 * (radius + float(np.ptp(coordinates, axis=0).sum()))
        return tree_pairs(coordinates, radius, norm)

    def take(self, indices: NDArray[np.int64]) -> PointLengths:
        """Return the same metric on the points at the given indices, in that order."""
        return PointLengths(self.points[indices], self.metric, self.scale_bits, self.per_unit)
