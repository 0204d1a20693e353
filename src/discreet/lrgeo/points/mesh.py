"""The mechanism for every point on a mesh: triangles, and a row of integers for each of their corners.

Designs are on nets now, which lose less. Files with meshes are read, verified and drawn from as ever: what is in them
and how a report is drawn is specified in docs/theory/lrgeo-points.md, and ``tests/data/lrgeo-points-vectors.json``
holds what a client must find.

Where a point lies in a mesh, and with which weights, is computed exactly: the weights of a rational point are integers
with one sum. A point on an edge has the same weights from both sides of it, so that any rule may choose; the triangle
with the least number is taken. That a mesh *conforms* is for :mod:`discreet.lrgeo.points.verify` to find out, which
shares no code with this file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness.bits import SystemBits
from discreet.lrgeo.mechanism import packed, unpacked
from discreet.lrgeo.points.net import one_of
from discreet.lrgeo.points.published import PublishedPoints, read_bound, write_bound
from discreet.lrgeo.points.verify import Claimed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.randomness.bits import RandomBits

__all__ = ["Mesh", "PointMechanism", "Spot"]

_FARTHEST = 1 << 30
"""Decimeters, as for places."""

_MOST = 1 << 22
"""Vertices and triangles, at most."""

Point = tuple[Fraction, Fraction]


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


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PointMechanism(PublishedPoints):
    """What a server published for every point of a region, on a mesh: a row of weights for each vertex.

    Its parameters are those of :class:`~discreet.lrgeo.points.published.EveryPoint`, and these.

    Parameters
    ----------
    mesh
        The triangles.
    weights
        ``(V, K)``: each row sums to :math:`2^{bits}`.
    mesh_lower
        No mechanism on this mesh loses less; ``None`` without a bound.

    Raises
    ------
    InvalidProblemError
        For parts that do not fit each other, or a certificate that did not pass.
    """

    FORM: ClassVar[str] = "discreet.lrgeo.points"

    mesh: Mesh
    weights: NDArray[np.int64]
    mesh_lower: float | None

    def __post_init__(self) -> None:
        self.check_parts()
        if self.weights.shape != (len(self.mesh.vertices), len(self.reports)):
            raise InvalidProblemError("weights", "a row for each vertex", self.weights.shape)

    @property
    def sizes(self) -> dict[str, int]:
        """How many reports, vertices and triangles there are."""
        mesh = self.mesh
        return {
            "reports": self.K,
            "vertices": len(mesh.vertices),
            "triangles": len(mesh.triangles),
        }

    @property
    def reach(self) -> int:
        """Decimeters around the region within which a point is taken."""
        return self.mesh.reach

    @property
    def box(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The least and the greatest coordinates of the region, in decimeters."""
        return self.mesh.box

    @property
    def corners(self) -> list[tuple[int, int]]:
        """The corners of the region, counterclockwise, in decimeters."""
        return self.mesh.corners

    def claimed(self) -> Claimed:
        """Give what is verified: the arrays and the claim, and nothing that made them."""
        mesh, frame = self.mesh, self.frame
        return Claimed(
            frame.unit,
            frame.origin,
            (frame.east, frame.north),
            mesh.reach,
            mesh.vertices,
            mesh.triangles,
            mesh.outline,
            self.weights,
            self.bits,
            self.guarantee,
        )

    def find(self, point: object) -> Spot:
        """Find the triangle of a point as it was stated, and its weights there: private, as the point is.

        Raises
        ------
        InvalidProblemError
            For no point, or one beyond the reach; the message does not repeat it.
        """
        return self.mesh.find(self.frame.plane(point))

    def draw(self, point: object, bits: RandomBits | None = None) -> int:
        """Draw a report for a point: a vertex of its triangle first, then a report of its row.

        Parameters
        ----------
        point
            Latitude and longitude where there is an origin, else east and north in the unit: decimal texts, or
            doubles, which are read by their shortest decimals.
        bits
            Source of randomness; the operating system's by default.
        """
        spot, source = self.find(point), bits or SystemBits()
        corner = one_of(spot.weights, source)
        return self.draw_at(int(self.mesh.triangles[spot.triangle, corner]), source)

    def draw_at(self, vertex: int, bits: RandomBits) -> int:
        """Draw a report from the row of a vertex."""
        drawn = bits.randrange(1 << self.bits)
        return int(np.searchsorted(np.cumsum(self.weights[vertex]), drawn, side="right"))

    def law(self, point: object) -> list[Fraction]:
        """Give the probability of each report at a point, exactly: private, as the point is."""
        spot = self.find(point)
        rows = self.weights[self.mesh.triangles[spot.triangle]].tolist()
        whole = sum(spot.weights) << self.bits
        return [
            Fraction(sum(a * w for a, w in zip(spot.weights, column, strict=True)), whole)
            for column in zip(*rows, strict=True)
        ]

    def own_parts(self) -> dict[str, Any]:
        """Plain values for JSON: the mesh, the weights, and the bound of the mesh."""
        mesh = self.mesh
        return {
            "vertices": packed(mesh.vertices.ravel()),
            "triangles": packed(mesh.triangles.ravel()),
            "outline": packed(mesh.outline),
            "weights": packed(self.weights.ravel()),
            "mesh_lower": write_bound(self.mesh_lower),
        }

    @classmethod
    def read_own(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read what :meth:`own_parts` wrote."""
        mesh = Mesh(
            unpacked(data["vertices"]).reshape(-1, 2),
            unpacked(data["triangles"]).reshape(-1, 3),
            unpacked(data["outline"]),
            reach=data["reach"],
        )
        weights = unpacked(data["weights"]).reshape(len(mesh.vertices), len(data["shown"]))
        return {"mesh": mesh, "weights": weights, "mesh_lower": read_bound(data["mesh_lower"])}


def _integers(values: ArrayLike, name: str, width: int) -> NDArray[np.int64]:
    table = np.array(values)
    if table.ndim != 2 or table.shape[1] != width or len(table) > _MOST:
        raise InvalidProblemError(name, f"rows of {width}, at most {_MOST:,}", table.shape)
    if not np.issubdtype(table.dtype, np.integer):
        raise InvalidProblemError(name, "integers", table.dtype)
    return table.astype(np.int64)
