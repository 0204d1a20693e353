"""The mechanism for every point as the server publishes it: a mesh, and a row of integers for each of its vertices.

What is in it and how a report is drawn is specified in docs/theory/lrgeo-points.md, from which a client in another
language can be written; ``tests/data/lrgeo-points-vectors.json`` holds what it must find. Mesh and weights have one
digest, which changes with either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.certificate import Certificate
from discreet.core.errors import MALFORMED, InvalidProblemError
from discreet.core.exact import decimal_up
from discreet.core.guarantee import MetricDP, PointScope, guarantee_from_dict
from discreet.core.outcome import Provenance
from discreet.core.randomness.bits import SystemBits
from discreet.lrgeo.mechanism import check_whole, packed, text_digest, unpacked
from discreet.lrgeo.points.frame import PointFrame, read_decimal
from discreet.lrgeo.points.mesh import Mesh, Spot, region_digest
from discreet.lrgeo.points.verify import Claimed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits

__all__ = ["POINTS_FORM", "PointMechanism", "PointRows"]

POINTS_FORM = "discreet.lrgeo.points"
_VERSION = 1

_MOST_BITS = 53
"""A row's partial sums are exact doubles up to here."""


@dataclass(frozen=True, eq=False, repr=False)
class PointRows:
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
    def gap(self) -> float | None:
        """``(upper - lower) / upper``, to all mechanisms with these reports; ``None`` without both bounds."""
        return _gap(self.upper, self.lower)

    @property
    def mesh_gap(self) -> float | None:
        """The gap to mechanisms on this mesh."""
        return _gap(self.upper, self.mesh_lower)

    @property
    def unit(self) -> str:
        """Of distances: ``"km"`` or ``"m"``."""
        return self.frame.unit

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

    @property
    def K(self) -> int:  # noqa: N802 - as of a region
        """Number of reports."""
        return len(self.reports)


@final
@dataclass(frozen=True, eq=False, repr=False)
class PointMechanism(PointRows):
    """What a server publishes for every point of a region.

    Its parameters are those of :class:`PointRows`.

    Raises
    ------
    InvalidProblemError
        For parts that do not fit each other, or a certificate that did not pass.

    Examples
    --------
    >>> from discreet.lrgeo import Region, design
    >>> made = design(Region.from_grid(3, 3, cell="0.5", unit="km"), MetricDP(2, "km"), scope="points")
    >>> mechanism = PointMechanism.from_design(made)
    >>> mechanism
    PointMechanism(9 reports, 81 vertices, 2 per km between any two points)
    >>> PointMechanism.from_dict(mechanism.to_dict()).digest == mechanism.digest
    True
    """

    def __post_init__(self) -> None:
        reports, weights = self.reports, self.weights
        if reports.ndim != 2 or reports.shape[1] != 2 or len(self.shown) != len(reports):
            raise InvalidProblemError("reports", "a place and a text for each", "others")
        if len(set(self.shown)) != len(self.shown):
            raise InvalidProblemError("shown", "different texts", "one of them twice")
        if weights.shape != (len(self.mesh.vertices), len(reports)):
            raise InvalidProblemError("weights", "a row for each vertex", weights.shape)
        if isinstance(self.bits, bool) or not 0 < self.bits <= _MOST_BITS:
            raise InvalidProblemError("bits", f"an integer from 1 to {_MOST_BITS}", self.bits)
        if self.guarantee.unit != self.frame.unit:
            raise InvalidProblemError("guarantee", f"per {self.frame.unit}", self.guarantee.unit)
        if not self.certificate.passed:
            raise InvalidProblemError("certificate", "one that passed", "one that failed")

    @classmethod
    def from_design(cls, design: PointRows) -> PointMechanism:
        """Take what is published of a design."""
        return cls(**{part.name: getattr(design, part.name) for part in fields(PointRows)})

    def __repr__(self) -> str:
        epsilon = f"{decimal_up(self.guarantee.epsilon)} per {self.unit}"
        vertices = len(self.mesh.vertices)
        return f"PointMechanism({self.K} reports, {vertices} vertices, {epsilon} between any two points)"

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

    def where(self, report: int) -> tuple[float, float]:
        """Give what is told of a report: latitude and longitude, or east and north in the unit."""
        if not 0 <= report < self.K:
            raise InvalidProblemError("report", f"0 to {self.K - 1}", "another")
        first, second = self.shown[report]
        return float(first), float(second)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text of :meth:`to_dict` without its ``digest``: keys sorted, no spaces, UTF-8."""
        return text_digest(self._plain)

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the digest among them: texts, integers, and arrays packed into base64."""
        return {**self._plain, "digest": self.digest}

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
        texts = [
            *([] if stated is None else stated),
            *(one for pair in data["shown"] for one in pair),
        ]
        if not all(isinstance(text, str) for text in texts):
            raise InvalidProblemError("origin and shown", "texts", "others")
        for text in texts:
            read_decimal(text)
            if text != text.strip():
                raise InvalidProblemError(
                    "origin and shown", "decimals alone", "spaces beside them"
                )
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
        lower, mesh_lower, upper = map(_bound, (data["lower"], data["mesh_lower"], data["upper"]))
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


def _bound(text: str | None) -> float | None:
    """Read a bound, a finite number."""
    found = None if text is None else float(text)
    if found is not None and not math.isfinite(found):
        raise InvalidProblemError("bounds", "finite numbers", "others")
    return found


def _gap(upper: float | None, lower: float | None) -> float | None:
    if upper is None or lower is None:
        return None
    return 0.0 if upper <= lower else (upper - lower) / upper
