"""The mechanism for every point with a table on a net: a row of integers for each control point.

A point draws a control point of a net, and then a report from its row. What is in the file and how a report is drawn is
specified in docs/theory/lrgeo-lattice.md. Net and weights have one digest, which changes with either.
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
from discreet.lrgeo.points.mesh import region_digest
from discreet.lrgeo.points.net import ControlNet, NetSpot
from discreet.lrgeo.points.published import (
    EveryPoint,
    PublishedPoints,
    read_bound,
    read_texts,
    relative,
)
from discreet.lrgeo.points.verify_table import ClaimedTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits

__all__ = ["LATTICE_FORM", "LatticeMechanism", "LatticeRows"]

LATTICE_FORM = "discreet.lrgeo.lattice"
_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class LatticeRows(EveryPoint):
    """What a design with rows for the control points of a net and the mechanism that is published of it share.

    Parameters
    ----------
    frame
        How coordinates become decimeters.
    net
        The control points.
    reports
        ``(K, 2)`` decimeters: where reports are. No promise depends on it.
    shown
        What is told of each report: two decimal texts.
    weights
        ``(V, K)``: a row for each control point, those of one column of the net after another, each summing to
        :math:`2^{bits}`.
    bits
        At most 53.
    guarantee
        What was verified, between any two points of the region.
    certificate
        The verifier's checks, all passed.
    lower
        No mechanism with these reports that keeps the guarantee at its places loses less; ``None`` without a bound.
    mesh_lower
        No mechanism on this net loses less; ``None`` without a bound.
    upper
        What this one loses, rounded up, in the unit; ``None`` where no loss was stated.
    provenance
        How it was made.
    """

    frame: PointFrame
    net: ControlNet
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
        """The gap to mechanisms on this net."""
        return relative(self.upper, self.mesh_lower)

    def claimed(self) -> ClaimedTable:
        """Give what is verified: the array and the claim, and nothing that made it."""
        net, frame = self.net, self.frame
        return ClaimedTable(
            frame.unit,
            frame.origin,
            (frame.east, frame.north),
            net.reach,
            net.low,
            net.side,
            net.cells,
            self.weights,
            self.bits,
            self.guarantee,
        )

    def published(self) -> LatticeMechanism:
        """Give what a server publishes of it."""
        return LatticeMechanism(
            **{one.name: getattr(self, one.name) for one in fields(LatticeRows)}
        )


@final
@dataclass(frozen=True, eq=False, repr=False)
class LatticeMechanism(LatticeRows, PublishedPoints):
    """What a server publishes for every point of a region: a row of weights for each control point of a net.

    Its parameters are those of :class:`LatticeRows`.

    Raises
    ------
    InvalidProblemError
        For parts that do not fit each other, or a certificate that did not pass.
    """

    def __post_init__(self) -> None:
        self.check_parts()
        columns, rows = self.net.points
        if self.weights.shape != (columns * rows, self.K):
            raise InvalidProblemError("weights", "a row for each control point", self.weights.shape)
        sums = self.weights.sum(axis=1, dtype=object)
        if self.weights.min() < 0 or (sums != 1 << self.bits).any():
            # A draw below this sum has to end at a report.
            raise InvalidProblemError("weights", f"rows that sum to 2^{self.bits}", "others")

    @property
    def sizes(self) -> dict[str, int]:
        """How many reports and control points there are."""
        return {"reports": self.K, "control points": len(self.weights)}

    @property
    def reach(self) -> int:
        """Decimeters around the region within which a point is taken."""
        return self.net.reach

    @property
    def box(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The least and the greatest coordinates of the region, in decimeters."""
        return self.net.box

    @property
    def region(self) -> str:
        """SHA-256 of the region, whatever net covers it."""
        return region_digest(self.frame, self.net)

    def find(self, point: object) -> NetSpot:
        """Find the control points of a point as it was stated, and its weights: private, as the point is.

        Raises
        ------
        InvalidProblemError
            For no point, or one beyond the reach; the message does not repeat it.
        """
        return self.net.find(self.frame.plane(point))

    def draw(self, point: object, bits: RandomBits | None = None) -> int:
        """Draw a report for a point: a column and a row of the net, and a report of their weights.

        Parameters
        ----------
        point
            Latitude and longitude where there is an origin, else east and north in the unit: decimal texts, or
            doubles, which are read by their shortest decimals.
        bits
            Source of randomness; the operating system's by default.
        """
        spot, source = self.find(point), bits or SystemBits()
        return self.draw_at(*spot.draw(source), source)

    def draw_at(self, column: int, row: int, bits: RandomBits) -> int:
        """Draw a report from a control point."""
        drawn = bits.randrange(1 << self.bits)
        return int(np.searchsorted(np.cumsum(self.row_at(column, row)), drawn, side="right"))

    def row_at(self, column: int, row: int) -> NDArray[np.int64]:
        """Give ``(K,)`` integers: how likely each report is from a control point, times :math:`2^{bits}`."""
        weights: NDArray[np.int64] = self.weights[column * self.net.points[1] + row]
        return weights

    def law(self, point: object) -> list[Fraction]:
        """Give the probability of each report at a point, exactly: private, as the point is."""
        spot = self.find(point)
        found = np.zeros(self.K, dtype=object)
        for i, across in enumerate(spot.across):
            for j, along in enumerate(spot.along):
                if across * along:
                    row = self.row_at(spot.column + i, spot.row + j)
                    found += across * along * row.astype(object)
        whole = sum(spot.across) * sum(spot.along) << self.bits
        return [Fraction(weight, whole) for weight in found.tolist()]

    def to_plain(self) -> dict[str, Any]:
        """Plain values for JSON without their digest: texts, integers, and arrays packed into base64."""
        return self._plain

    @cached_property
    def _plain(self) -> dict[str, Any]:
        net, frame = self.net, self.frame
        bounds = {"lower": self.lower, "mesh_lower": self.mesh_lower, "upper": self.upper}
        return {
            "form": LATTICE_FORM,
            "version": _VERSION,
            "unit": frame.unit,
            "origin": None if frame.origin is None else list(frame.origin),
            "east": frame.east,
            "north": frame.north,
            "reach": net.reach,
            "low": list(net.low),
            "side": net.side,
            "cells": list(net.cells),
            "weights": packed(self.weights.ravel()),
            "bits": self.bits,
            "reports": packed(self.reports.ravel()),
            "shown": [list(told) for told in self.shown],
            "guarantee": self.guarantee.to_dict(),
            "certificate": self.certificate.to_dict(),
            **{name: None if bound is None else repr(bound) for name, bound in bounds.items()},
            "provenance": self.provenance.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LatticeMechanism:
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
    def _read(cls, data: Mapping[str, Any]) -> LatticeMechanism:
        check_whole(data, LATTICE_FORM, _VERSION)
        pairs = [data[name] for name in ("low", "cells")]
        if any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):
            raise InvalidProblemError("low and cells", "two numbers each", "others")
        single = [data[name] for name in ("east", "north", "reach", "side", "bits")]
        if any(
            type(number) is not int for number in (*single, *(x for pair in pairs for x in pair))
        ):
            raise InvalidProblemError("the numbers of the net", "integers", "others")
        read_texts(data)
        origin: tuple[str, str] | None = None
        if data["origin"] is not None:
            latitude, longitude = data["origin"]
            origin = latitude, longitude
        guarantee = guarantee_from_dict(data["guarantee"])
        if not isinstance(guarantee, MetricDP) or not isinstance(guarantee.scope, PointScope):
            raise InvalidProblemError("guarantee", "a metric one about points", "another")
        (x, y), (wide, tall) = data["low"], data["cells"]
        net = ControlNet((x, y), data["side"], (wide, tall), reach=data["reach"])
        reports = unpacked(data["reports"]).reshape(-1, 2)
        made = cls(
            PointFrame(data["unit"], origin, data["east"], data["north"]),
            net,
            reports,
            tuple((first, second) for first, second in data["shown"]),
            unpacked(data["weights"]).reshape(net.points[0] * net.points[1], len(reports)),
            data["bits"],
            guarantee,
            Certificate.from_dict(data["certificate"]),
            read_bound(data["lower"]),
            read_bound(data["mesh_lower"]),
            read_bound(data["upper"]),
            Provenance.from_dict(data["provenance"]),
        )
        if made.digest != data["digest"]:
            raise InvalidProblemError("content", "written as to_dict writes it", "other forms")
        return made
