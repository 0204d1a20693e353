"""The mechanism for every point of a road network as it is published: roads, and a row of integers for each node.

What is in the file and how a report is drawn is specified in docs/theory/lrgeo-roads.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.certificate import Certificate
from discreet.core.errors import MALFORMED, InvalidProblemError
from discreet.core.guarantee import MetricDP, RoadScope, guarantee_from_dict
from discreet.core.outcome import Provenance
from discreet.core.printed import decimal_up
from discreet.core.randomness.bits import SystemBits
from discreet.lrgeo.along_roads.network import CutRoads
from discreet.lrgeo.along_roads.verify import ClaimedRoads
from discreet.lrgeo.mechanism import check_whole, packed, text_digest, unpacked
from discreet.lrgeo.points.published import check_texts, read_bound, write_bound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.core.randomness.bits import RandomBits

__all__ = ["ROADS_FORM", "RoadMechanism", "RoadRows"]

ROADS_FORM = "discreet.lrgeo.roads"
_VERSION = 1
_MOST_BITS = 62


@dataclass(frozen=True, eq=False, repr=False)
class RoadRows:
    """What a design for every point of roads and the mechanism that is published of it have in common.

    Parameters
    ----------
    network
        The roads, cut into parts.
    origin
        Latitude and longitude of the plane's (0, 0), two decimal texts: then reports are told in degrees, else in the
        unit. No promise depends on it.
    reports
        ``(K,)`` the vertices that are reports.
    shown
        What is told of each report: two decimal texts, no two pairs alike.
    weights
        ``(nodes, K)``: each row sums to :math:`2^{bits}`.
    bits
        At most 62.
    guarantee
        What was verified, between any two points of the roads.
    certificate
        The verifier's checks, all passed.
    lower
        No mechanism with these nodes and reports loses less; ``None`` without a bound.
    upper
        What this one loses, rounded up, in the unit.
    provenance
        How it was made.
    """

    network: CutRoads
    origin: tuple[str, str] | None
    reports: NDArray[np.int64]
    shown: tuple[tuple[str, str], ...]
    weights: NDArray[np.int64]
    bits: int
    guarantee: MetricDP
    certificate: Certificate
    lower: float | None
    upper: float
    provenance: Provenance

    @property
    def K(self) -> int:  # noqa: N802 - as of a region
        """Number of reports."""
        return len(self.reports)

    @property
    def unit(self) -> str:
        """Of distances: ``"km"`` or ``"m"``."""
        return self.network.unit

    @property
    def gap(self) -> float | None:
        """``(upper - lower) / upper``; ``None`` without a bound."""
        if self.lower is None:
            return None
        return 0.0 if self.upper <= self.lower else (self.upper - self.lower) / self.upper

    def claimed(self) -> ClaimedRoads:
        """Give what is verified: the arrays and the claim, and nothing that made them."""
        roads = self.network
        return ClaimedRoads(
            roads.unit,
            len(roads.vertices),
            roads.segments,
            roads.lengths,
            roads.parts,
            self.weights,
            self.bits,
            self.guarantee,
        )


@final
@dataclass(frozen=True, eq=False, repr=False)
class RoadMechanism(RoadRows):
    """A mechanism for every point of a road network, at distances along the roads.

    Its parameters are those of :class:`RoadRows`.

    Raises
    ------
    InvalidProblemError
        For parts that do not fit each other, or a certificate that did not pass.

    Examples
    --------
    >>> from discreet.datasets.city import made_city
    >>> from discreet.lrgeo import Region, design
    >>> nodes, edges = made_city(30, seed=1).tables()
    >>> region = Region.from_roads(nodes, edges, spacing="0.8", unit="km", planar=True)
    >>> made = design(region, MetricDP(2, "km"), scope="roads", gap=0.1)
    >>> mechanism = RoadMechanism.from_design(made)
    >>> RoadMechanism.from_dict(mechanism.to_dict()).digest == mechanism.digest
    True
    >>> 0 <= mechanism.draw(0, "0.0123") < region.K
    True
    """

    def __post_init__(self) -> None:
        reports, weights = self.reports, self.weights
        if reports.ndim != 1 or len(self.shown) != len(reports):
            raise InvalidProblemError("reports", "a vertex and a text for each", "others")
        if not len(reports) or reports.min() < 0 or reports.max() >= len(self.network.vertices):
            raise InvalidProblemError("reports", "vertices of the roads", "others")
        if len(set(self.shown)) != len(self.shown):
            raise InvalidProblemError("shown", "different texts", "one of them twice")
        if weights.shape != (self.network.n_nodes, len(reports)):
            raise InvalidProblemError("weights", "a row for each node", weights.shape)
        if type(self.bits) is not int or not 0 < self.bits <= _MOST_BITS:
            raise InvalidProblemError("bits", f"an integer from 1 to {_MOST_BITS}", self.bits)
        if self.guarantee.unit != self.unit:
            raise InvalidProblemError("guarantee", f"per {self.unit}", self.guarantee.unit)
        if not self.certificate.passed:
            raise InvalidProblemError("certificate", "one that passed", "one that failed")

    @classmethod
    def from_design(cls, design: RoadRows) -> RoadMechanism:
        """Take what is published of a design."""
        return cls(**{part.name: getattr(design, part.name) for part in fields(RoadRows)})

    def __repr__(self) -> str:
        epsilon = f"{decimal_up(self.guarantee.epsilon)} per {self.unit}"
        return f"RoadMechanism({self.K} reports, {self.network.n_nodes} nodes, {epsilon} along the roads)"

    def draw(self, segment: int, along: Exact, bits: RandomBits | None = None) -> int:
        """Draw a report for a point on a road: one of the two nodes beside it first, then a report of its row.

        Parameters
        ----------
        segment
            Number of the piece of road, as in ``network.segments``.
        along
            How far from its first vertex, in the unit, read exactly.
        bits
            Source of randomness; the operating system's by default.
        """
        spot, source = self.network.find(segment, along), bits or SystemBits()
        second = source.randrange(sum(spot.weights)) >= spot.weights[0]
        return self.draw_at(spot.nodes[second], source)

    def draw_at(self, node: int, bits: RandomBits) -> int:
        """Draw a report from the row of a node."""
        drawn = bits.randrange(1 << self.bits)
        return int(np.searchsorted(np.cumsum(self.weights[node]), drawn, side="right"))

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
        roads = self.network
        return {
            "form": ROADS_FORM,
            "version": _VERSION,
            "unit": roads.unit,
            "origin": None if self.origin is None else list(self.origin),
            "vertices": packed(roads.vertices.ravel()),
            "segments": packed(roads.segments.ravel()),
            "lengths": packed(roads.lengths),
            "parts": packed(roads.parts),
            "reports": packed(self.reports),
            "shown": [list(told) for told in self.shown],
            "bits": self.bits,
            "weights": packed(self.weights.ravel()),
            "guarantee": self.guarantee.to_dict(),
            "certificate": self.certificate.to_dict(),
            "lower": write_bound(self.lower),
            "upper": write_bound(self.upper),
            "provenance": self.provenance.to_dict(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the digest among them: texts, integers, and arrays packed into base64."""
        return {**self._plain, "digest": self.digest}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RoadMechanism:
        """Read what :meth:`to_dict` wrote, and refuse what was altered.

        Raises
        ------
        InvalidProblemError
            For a digest that does not fit, another version, or parts that do not fit each other.

        Notes
        -----
        That it is whole says nothing about who made it, nor that what it claims is true:
        :func:`discreet.lrgeo.along_roads.verify.verify` finds out.
        """
        try:
            return cls._read(data)
        except MALFORMED as error:
            detail = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InvalidProblemError("mechanism", "a whole mechanism", detail) from None

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> RoadMechanism:
        check_whole(data, ROADS_FORM, _VERSION)
        network = CutRoads(
            data["unit"],
            unpacked(data["vertices"]).reshape(-1, 2),
            unpacked(data["segments"]).reshape(-1, 2),
            unpacked(data["lengths"]),
            unpacked(data["parts"]),
        )
        check_texts(data)
        origin: tuple[str, str] | None = None
        if data["origin"] is not None:
            latitude, longitude = data["origin"]
            origin = latitude, longitude
        guarantee = guarantee_from_dict(data["guarantee"])
        if not isinstance(guarantee, MetricDP) or not isinstance(guarantee.scope, RoadScope):
            raise InvalidProblemError("guarantee", "a metric one about roads", "another")
        reports = unpacked(data["reports"])
        lower, upper = read_bound(data["lower"]), read_bound(data["upper"])
        if upper is None:
            raise InvalidProblemError("upper", "a finite number", "none")
        made = cls(
            network,
            origin,
            reports,
            tuple((first, second) for first, second in data["shown"]),
            # Where all nodes give one report, its weight is 2^62.
            unpacked(data["weights"], most=1 << _MOST_BITS).reshape(network.n_nodes, len(reports)),
            data["bits"],
            guarantee,
            Certificate.from_dict(data["certificate"]),
            lower,
            upper,
            Provenance.from_dict(data["provenance"]),
        )
        if made.digest != data["digest"]:
            raise InvalidProblemError("content", "written as to_dict writes it", "other forms")
        return made
