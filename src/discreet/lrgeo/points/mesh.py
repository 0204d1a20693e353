"""Meshes: triangles with integer corners that fit edge to edge and cover a convex region.

Where a point lies in one, and with which weights, is computed exactly: the weights of a rational point are integers
with one sum. A point on an edge has the same weights from both sides of it, so that any rule may choose; the triangle
with the least number is taken. That a mesh *conforms* is for :mod:`discreet.lrgeo.points.verify` to find out, which
shares no code with this file.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.lrgeo.points.frame import PointFrame
    from discreet.lrgeo.points.net import ControlNet

__all__ = ["Mesh", "Spot", "region_digest"]

_FARTHEST = 1 << 30
"""Decimeters, as for places."""

_MOST = 1 << 22
"""Vertices and triangles, at most."""

Point = tuple[Fraction, Fraction]

_ONE = Fraction(1)


class Spot(NamedTuple):
    """Where a point lies in a mesh: private, as the point is.

    Parameters
    ----------
    triangle
        Its number.
    weights
        Three integers, for the corners of the triangle in their order, without a common factor.
    """

    triangle: int
    weights: tuple[int, int, int]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Mesh:
    """Triangles over a convex region in the plane.

    Parameters
    ----------
    vertices
        ``(V, 2)`` integers: decimeters east and north.
    triangles
        ``(T, 3)`` vertex numbers, counterclockwise.
    outline
        Vertex numbers of the region's corners, counterclockwise from the one least by (east, north).
    reach
        Decimeters outside of the region within which a point is taken, and projected to it first.

    Raises
    ------
    InvalidProblemError
        For arrays of other shapes or types, and numbers that are no vertices. Nothing else is looked at.

    Examples
    --------
    >>> mesh = Mesh([[0, 0], [4, 0], [0, 4]], [[0, 1, 2]], [0, 1, 2], reach=3)
    >>> mesh
    Mesh(3 vertices, 1 triangles)
    >>> mesh.find((Fraction(1), Fraction(2)))
    Spot(triangle=0, weights=(1, 1, 2))
    >>> mesh.find((Fraction(-1), Fraction(2))).weights
    (1, 0, 1)
    """

    vertices: NDArray[np.int64]
    triangles: NDArray[np.int64]
    outline: NDArray[np.int64]
    reach: int

    def __init__(
        self, vertices: ArrayLike, triangles: ArrayLike, outline: ArrayLike, *, reach: int
    ) -> None:
        places = _integers(vertices, "vertices", 2)
        corners = _integers(triangles, "triangles", 3)
        around = _integers(np.asarray(outline).reshape(-1, 1), "outline", 1)[:, 0]
        if np.abs(places).max(initial=0) >= _FARTHEST:
            raise InvalidProblemError("vertices", "whole decimeters within 2^30", "others")
        if len(places) < 3 or not len(corners) or len(around) < 3:
            raise InvalidProblemError("mesh", "three vertices and a triangle, or more", "fewer")
        for name, numbers in (("triangles", corners), ("outline", around)):
            if numbers.min() < 0 or numbers.max() >= len(places):
                raise InvalidProblemError(name, f"vertices 0 to {len(places) - 1}", "others")
        stated: object = reach
        whole = isinstance(stated, int) and not isinstance(stated, bool)
        if not whole or not 0 <= reach < _FARTHEST:
            raise InvalidProblemError("reach", "whole decimeters, 0 or more", "another")
        for name, value in (("vertices", places), ("triangles", corners), ("outline", around)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "reach", reach)

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices)} vertices, {len(self.triangles)} triangles)"

    @cached_property
    def corners(self) -> list[tuple[int, int]]:
        """The corners of the region, counterclockwise."""
        return [(x, y) for x, y in self.vertices[self.outline].tolist()]

    @cached_property
    def box(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The least and the greatest coordinates of the region."""
        (left, low), (right, high) = (
            self.vertices.min(axis=0).tolist(),
            self.vertices.max(axis=0).tolist(),
        )
        return (left, low), (right, high)

    @cached_property
    def _boxes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The box around each triangle."""
        at = self.vertices[self.triangles]
        return at.min(axis=1), at.max(axis=1)

    def find(self, point: Point) -> Spot:
        """Find the triangle of a point and its weights there, a point outside the region projected to it first.

        Parameters
        ----------
        point
            Rational decimeters.

        Returns
        -------
        Spot
            Private, as the point is.

        Raises
        ------
        InvalidProblemError
            For a point beyond the reach; the message does not repeat it.

        Guarantee
        ---------
        Projection to a convex region expands no distance, so that the promise between points of the region holds
        between all points within the reach. That one farther away is refused is not covered.
        """
        x, y = self.projected(point)
        q = math.lcm(x.denominator, y.denominator)
        px, py = int(x * q), int(y * q)
        least, most = self._boxes
        near = (least <= (px // q, py // q)).all(axis=1)
        # Corners are integers: below the upper corner is below or at it once rounded up.
        near &= (most >= (-(-px // q), -(-py // q))).all(axis=1)
        for number in np.flatnonzero(near).tolist():
            weights = self._weights(number, px, py, q)
            if min(weights) >= 0:
                shared = math.gcd(*weights)
                a, b, c = (weight // shared for weight in weights)
                return Spot(number, (a, b, c))
        # Only a mesh that does not cover its region comes here.
        raise InvalidProblemError("mesh", "one that covers its region", "one with a hole")

    def _weights(self, number: int, px: int, py: int, q: int) -> tuple[int, int, int]:
        (ax, ay), (bx, by), (cx, cy) = self.vertices[self.triangles[number]].tolist()
        return (
            q * (bx * cy - cx * by) + px * (by - cy) + py * (cx - bx),
            q * (cx * ay - ax * cy) + px * (cy - ay) + py * (ax - cx),
            q * (ax * by - bx * ay) + px * (ay - by) + py * (bx - ax),
        )

    def projected(self, point: Point) -> Point:
        """Give the point of the region that is nearest to a point within the reach.

        Raises
        ------
        InvalidProblemError
            For a point beyond the reach; the message does not repeat it.

        Examples
        --------
        >>> mesh = Mesh([[0, 0], [4, 0], [0, 4]], [[0, 1, 2]], [0, 1, 2], reach=3)
        >>> mesh.projected((Fraction(3), Fraction(3)))
        (Fraction(2, 1), Fraction(2, 1))
        """
        x, y = point
        best: tuple[Fraction, Point] | None = None
        for (ax, ay), (bx, by) in zip(
            self.corners, self.corners[1:] + self.corners[:1], strict=True
        ):
            along, across = bx - ax, by - ay
            if along * (y - ay) - across * (x - ax) >= 0:
                continue
            t = ((x - ax) * along + (y - ay) * across) / (along * along + across * across)
            t = min(max(t, Fraction(0)), Fraction(1))
            nearest = (ax + t * along, ay + t * across)
            away = (x - nearest[0]) ** 2 + (y - nearest[1]) ** 2
            if best is None or away < best[0]:
                best = away, nearest
        if best is None:
            return point
        if best[0] > self.reach**2:
            # Nothing of the point may come to light, not even on which side it lies.
            raise InvalidProblemError("point", "a point in the region", "one outside")
        return best[1]

    def coefficients(
        self, points: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Give, for public points, the corners of their triangles and their weights there.

        Parameters
        ----------
        points
            ``(n, 2)`` decimeters.

        Returns
        -------
        corners : ndarray
            ``(n, 3)`` vertex numbers.
        weights : ndarray
            ``(n, 3)``, each row summing to 1.
        """
        spots = [self.find((x * _ONE, y * _ONE)) for x, y in points.tolist()]
        weights = np.array(
            [[w / sum(spot.weights) for w in spot.weights] for spot in spots]
        ).reshape(-1, 3)
        return self.triangles[[spot.triangle for spot in spots]].reshape(-1, 3), weights

    @cached_property
    def twice_areas(self) -> NDArray[np.int64]:
        """``(T,)`` twice the area of each triangle, in square decimeters."""
        a, b, c = self.vertices[self.triangles].transpose(1, 0, 2)
        (ux, uy), (vx, vy) = (b - a).T, (c - a).T
        twice: NDArray[np.int64] = ux * vy - uy * vx
        return twice

    @cached_property
    def gradients(self) -> NDArray[np.float64]:
        """``(T, 2, 3)``: what the gradient on a triangle is, of the values at its corners, per decimeter."""
        at = self.vertices[self.triangles].astype(np.float64)
        a, b, c = at.transpose(1, 0, 2)
        across = np.stack([c - b, a - c, b - a], axis=2)
        turned = np.stack([-across[:, 1], across[:, 0]], axis=1)
        slopes: NDArray[np.float64] = turned / self.twice_areas[:, None, None]
        return slopes

    @cached_property
    def perimeters(self) -> NDArray[np.float64]:
        """``(T,)`` the lengths around the triangles, in decimeters."""
        at = self.vertices[self.triangles].astype(np.float64)
        around = np.hypot(*(at - np.roll(at, 1, axis=1)).transpose(2, 0, 1)).sum(axis=1)
        return np.asarray(around, dtype=np.float64)


def region_digest(frame: PointFrame, mesh: Mesh | ControlNet) -> str:
    """Name the region of a mesh, by SHA-256: its plane, its outline and its reach, whatever triangles cover it.

    Examples
    --------
    >>> from discreet.lrgeo.points.frame import PointFrame
    >>> mesh = Mesh([[0, 0], [4, 0], [0, 4]], [[0, 1, 2]], [0, 1, 2], reach=3)
    >>> region_digest(PointFrame.plain("km"), mesh)[:16]
    '9db70ac457fe941f'
    """
    named = {
        "unit": frame.unit,
        "origin": None if frame.origin is None else list(frame.origin),
        "east": frame.east,
        "north": frame.north,
        "reach": mesh.reach,
        "outline": [list(corner) for corner in mesh.corners],
    }
    text = json.dumps(named, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(b"discreet.points/1 " + text.encode()).hexdigest()


def _integers(values: ArrayLike, name: str, width: int) -> NDArray[np.int64]:
    table = np.array(values)
    if table.ndim != 2 or table.shape[1] != width or len(table) > _MOST:
        raise InvalidProblemError(name, f"rows of {width}, at most {_MOST:,}", table.shape)
    if not np.issubdtype(table.dtype, np.integer):
        raise InvalidProblemError(name, "integers", table.dtype)
    return table.astype(np.int64)
