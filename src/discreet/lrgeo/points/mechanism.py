"""The mechanism for every point as the server publishes it: a mesh, and a row of integers for each of its vertices.

What is in it and how a report is drawn is specified in docs/theory/lrgeo-points.md, from which a client in another
language can be written; ``tests/data/lrgeo-points-vectors.json`` holds what it must find. Mesh and weights have one
digest, which changes with either.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP, PointScope, guarantee_from_dict
from discreet.core.outcome import Provenance
from discreet.core.randomness.bits import SystemBits
from discreet.lrgeo.mechanism import MALFORMED, check_whole, packed, unpacked
from discreet.lrgeo.points.frame import PointFrame
from discreet.lrgeo.points.mesh import Mesh, Spot, region_digest
from discreet.lrgeo.points.published import (
    EveryPoint,
    PublishedPoints,
    read_bound,
    read_texts,
    relative,
)
from discreet.lrgeo.points.verify import Claimed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits

__all__ = ["POINTS_FORM", "PointMechanism", "PointRows"]

POINTS_FORM = "discreet.lrgeo.points"
_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class PointRows(EveryPoint):
    """What a design for every point and the mechanism that is published of it have in common.

    Parameters
    ----------
    frame
        How coordinates become decimeters.
    mesh
        The triangles.
    reports
        ``(K, 2)`` decimeters: where reports are. No promise depends on it.
    shown
        What is told of each report: two decimal texts.
    weights
        ``(V, K)``: each row sums to :math:`2^{bits}`.
    bits
        At most 53.
    guarantee
        What was verified, between any two points of the region.
    certificate
        The verifier's checks, all passed.
    lower
        No mechanism with these reports that keeps the guarantee at its points loses less; ``None`` without a bound.
    mesh_lower
        No mechanism on this mesh loses less; ``None`` without a bound.
    upper
        What this one loses, rounded up, in the unit; ``None`` where no loss was stated.
    provenance
        How it was made.
    """

    frame: PointFrame
    mesh: Mesh
    reports: NDArray[np.int64]
    shown: tuple[tuple[str, str], ...]
    weights: NDArray[np.int64]
    bits: int
    guarantee: MetricDP
    certificate: Certificate
    lower: float | None
    mesh_lower: float | None
    upper: float | None
    provenance: Provenance

    @property
    def mesh_gap(self) -> float | None:
        """The gap to mechanisms on this mesh."""
        return relative(self.upper, self.mesh_lower)

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

    def published(self) -> PointMechanism:
        """Give what a server publishes of it."""
        return PointMechanism.from_design(self)


@final
@dataclass(frozen=True, eq=False, repr=False)
class PointMechanism(PointRows, PublishedPoints):
    """What a server publishes for every point of a region.

    Its parameters are those of :class:`PointRows`.

    Raises
    ------
    InvalidProblemError
        For parts that do not fit each other, or a certificate that did not pass.

    Examples
    --------
    >>> from discreet.lrgeo import Region, design
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> made = design(region, MetricDP(2, "km"), spacing="0.25", method="mesh")
    >>> mechanism = PointMechanism.from_design(made)
    >>> mechanism
    PointMechanism(9 reports, 25 vertices, 32 triangles, 2 per km between any two points)
    >>> PointMechanism.from_dict(mechanism.to_dict()).digest == mechanism.digest
    True
    """

    def __post_init__(self) -> None:
        self.check_parts()
        if self.weights.shape != (len(self.mesh.vertices), len(self.reports)):
            raise InvalidProblemError("weights", "a row for each vertex", self.weights.shape)

    @classmethod
    def from_design(cls, design: PointRows) -> PointMechanism:
        """Take what is published of a design."""
        return cls(**{part.name: getattr(design, part.name) for part in fields(PointRows)})

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
    def region(self) -> str:
        """SHA-256 of the region, whatever mesh covers it."""
        return region_digest(self.frame, self.mesh)

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
        drawn, corner = source.randrange(sum(spot.weights)), 0
        while drawn >= spot.weights[corner]:
            drawn -= spot.weights[corner]
            corner += 1
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

    def to_plain(self) -> dict[str, Any]:
        """Plain values for JSON without their digest: texts, integers, and arrays packed into base64."""
        return self._plain

    @cached_property
    def _plain(self) -> dict[str, Any]:
        mesh, frame = self.mesh, self.frame
        bounds = {"lower": self.lower, "mesh_lower": self.mesh_lower, "upper": self.upper}
        return {
            "form": POINTS_FORM,
            "version": _VERSION,
            "unit": frame.unit,
            "origin": None if frame.origin is None else list(frame.origin),
            "east": frame.east,
            "north": frame.north,
            "reach": mesh.reach,
            "vertices": packed(mesh.vertices.ravel()),
            "triangles": packed(mesh.triangles.ravel()),
            "outline": packed(mesh.outline),
            "reports": packed(self.reports.ravel()),
            "shown": [list(told) for told in self.shown],
            "bits": self.bits,
            "weights": packed(self.weights.ravel()),
            "guarantee": self.guarantee.to_dict(),
            "certificate": self.certificate.to_dict(),
            **{name: None if bound is None else repr(bound) for name, bound in bounds.items()},
            "provenance": self.provenance.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PointMechanism:
        """Read what :meth:`to_dict` wrote, and refuse what was altered.

        Raises
        ------
        InvalidProblemError
            For a digest that does not fit, another version, or parts that do not fit each other.

        Notes
        -----
        That it is whole says nothing about who made it, nor that what it claims is true:
        :func:`discreet.lrgeo.points.verify.verify` finds out.
        """
        try:
            return cls._read(data)
        except MALFORMED as error:
            detail = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InvalidProblemError("mechanism", "a whole mechanism", detail) from None

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> PointMechanism:
        check_whole(data, POINTS_FORM, _VERSION)
        stated = data["origin"]
        if any(type(data[name]) is not int for name in ("east", "north", "reach", "bits")):
            raise InvalidProblemError("east, north, reach and bits", "integers", "others")
        read_texts(data)
        origin: tuple[str, str] | None = None
        if stated is not None:
            latitude, longitude = stated
            origin = latitude, longitude
        frame = PointFrame(data["unit"], origin, data["east"], data["north"])
        mesh = Mesh(
            unpacked(data["vertices"]).reshape(-1, 2),
            unpacked(data["triangles"]).reshape(-1, 3),
            unpacked(data["outline"]),
            reach=data["reach"],
        )
        reports = unpacked(data["reports"]).reshape(-1, 2)
        guarantee = guarantee_from_dict(data["guarantee"])
        if not isinstance(guarantee, MetricDP) or not isinstance(guarantee.scope, PointScope):
            raise InvalidProblemError("guarantee", "a metric one about points", "another")
        lower, mesh_lower, upper = map(
            read_bound, (data["lower"], data["mesh_lower"], data["upper"])
        )
        made = cls(
            frame,
            mesh,
            reports,
            tuple((first, second) for first, second in data["shown"]),
            unpacked(data["weights"]).reshape(len(mesh.vertices), len(reports)),
            data["bits"],
            guarantee,
            Certificate.from_dict(data["certificate"]),
            lower,
            mesh_lower,
            upper,
            Provenance.from_dict(data["provenance"]),
        )
        if made.digest != data["digest"]:
            raise InvalidProblemError("content", "written as to_dict writes it", "other forms")
        return made
