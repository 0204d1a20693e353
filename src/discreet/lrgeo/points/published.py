"""What all mechanisms for every point have in common: a point draws a control point of a net, and the rest follows.

There are two forms: rows of integers at the control points, in :mod:`~discreet.lrgeo.points.table`, and one noise for
all points, in :mod:`~discreet.lrgeo.points.noise`. They differ in what is drawn from a control point alone. Clients,
servers and commands take both.

Trusted: the guarantee rests on this code, which draws.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.core.certificate import Certificate
from discreet.core.errors import MALFORMED, InvalidProblemError
from discreet.core.guarantee import MetricDP, PointScope, guarantee_from_dict
from discreet.core.outcome import Provenance
from discreet.core.progress import gap_between
from discreet.core.randomness.bits import SystemBits
from discreet.lrgeo.mechanism import check_whole, packed, text_digest, unpacked
from discreet.lrgeo.places.plane import on_the_ground
from discreet.lrgeo.points.frame import PointFrame, read_decimal, region_digest
from discreet.lrgeo.points.net import ControlNet
from discreet.lrgeo.points.verify_claims import MOST_BITS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet.lrgeo.points.net import NetSpot
    from discreet.lrgeo.points.verify_noise import ClaimedNoise
    from discreet.lrgeo.points.verify_table import ClaimedTable

    _PlaneAndNet = tuple[
        str,
        tuple[str, str] | None,
        tuple[int, int],
        int,
        tuple[int, int],
        int,
        tuple[int, int],
    ]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EveryPoint(abc.ABC):
    """A design for every point, or what is published of it: what it promises, and where its reports are.

    Parameters
    ----------
    frame
        How coordinates become decimeters.
    net
        The control points.
    reports
        ``(K, 2)`` decimeters: where reports are. No promise depends on it.
    shown
        Coordinates of each report: two decimal texts.
    bits
        Noise, or a row, sums to :math:`2^{bits}`.
    guarantee
        What was verified, between any two points of the region.
    certificate
        The verifier's checks, all passed.
    lower
        No mechanism with these reports that keeps the guarantee at its places loses less; ``None`` without a bound.
    upper
        What this one loses, rounded up, in the unit; ``None`` where no loss was stated.
    provenance
        How it was made.
    """

    frame: PointFrame
    net: ControlNet
    reports: NDArray[np.int64]
    shown: tuple[tuple[str, str], ...]
    bits: int
    guarantee: MetricDP
    certificate: Certificate
    lower: float | None
    upper: float | None
    provenance: Provenance

    @property
    def gap(self) -> float | None:
        """``(upper - lower) / upper``, to all mechanisms with these reports; ``None`` without both bounds."""
        return gap_between(self.lower, self.upper)

    @property
    def unit(self) -> str:
        """Of distances: ``"km"`` or ``"m"``."""
        return self.frame.unit

    @property
    def K(self) -> int:  # noqa: N802 - as of a region
        """Number of reports."""
        return len(self.reports)

    @abc.abstractmethod
    def claimed(self) -> ClaimedNoise | ClaimedTable:
        """Return the claim for the verifier: the arrays and the guarantee, without provenance."""

    @abc.abstractmethod
    def published(self) -> PublishedPoints:
        """Return the mechanism that a server publishes."""


class PublishedPoints(EveryPoint):
    """What a server publishes for every point of a region, in any of the forms.

    Attributes
    ----------
    FORM
        What the file states of itself.
    """

    FORM: ClassVar[str]
    VERSION: ClassVar[int] = 1
    """Version of the file format."""

    def __repr__(self) -> str:
        from discreet.core.printed import decimal_up

        epsilon = f"{decimal_up(self.guarantee.epsilon)} per {self.unit}"
        parts = ", ".join(f"{count} {name}" for name, count in self.sizes.items())
        return f"{type(self).__name__}({parts}, {epsilon} between any two points)"

    @property
    @abc.abstractmethod
    def sizes(self) -> dict[str, int]:
        """Number of reports, and sizes of the other parts."""

    @property
    def reach(self) -> int:
        """Decimeters around the region within which a point is taken."""
        return self.net.reach

    @property
    def promise(self) -> str:
        """The guarantee as a sentence; with latitudes, also the epsilon that it is by geodesics of WGS 84."""
        (_, low), (_, high) = self.net.box
        stretch = self.frame.stretch(low - self.reach, high + self.reach)
        return str(self.guarantee) if stretch is None else on_the_ground(self.guarantee, stretch)

    @property
    def region(self) -> str:
        """SHA-256 of the region: its plane, outline and reach, whatever is drawn there."""
        return region_digest(self.frame, self.net.corners, self.net.reach)

    def published(self) -> Self:
        """Return the mechanism that a server publishes: itself."""
        return self

    @abc.abstractmethod
    def draw_at(self, column: int, row: int, bits: RandomBits) -> int:
        """Draw a report, 0 to ``K - 1``, from the control point in a column and row of the net."""

    @abc.abstractmethod
    def row_at(self, column: int, row: int) -> NDArray[np.int64]:
        """Return ``(K,)`` int64: probabilities of reports from a control point, times :math:`2^{bits}`.

        It is the one in a column and a row of the net.

        `column` and `row` count control points from the lower left corner of the net; they are not checked.
        """

    def find(self, point: object) -> NetSpot:
        """Find the control points of a point, as :meth:`draw` takes it, and its weights: private, as the point is.

        The first of three columns and of three rows, and three integer weights for each. The point is projected to
        the region.

        Raises
        ------
        InvalidProblemError
            For no point, or one beyond the reach; the message does not repeat it.
        """
        return self.net.find(self.frame.plane(point))

    def draw(self, point: object, bits: RandomBits | None = None) -> int:
        """Draw a report for a point: a column and a row of the net, and then from that control point.

        Returns its number, 0 to ``K - 1``; :meth:`where` gives its coordinates. The cost is that of :meth:`draw_at`.

        Parameters
        ----------
        point
            Latitude and longitude where there is an origin, else east and north in the unit: decimal texts, or
            doubles, which are read by their shortest decimals.
        bits
            Source of randomness; the operating system's by default.

        Raises
        ------
        InvalidProblemError
            For no point, or one beyond the reach; the message does not repeat it.
        """
        position, source = self.find(point), bits or SystemBits()
        return self.draw_at(*position.draw(source), source)

    def law(self, point: object) -> list[Fraction]:
        """Return the exact probabilities of the K reports at a point, as private as the point; they sum to 1.

        A list of fractions, by report. `point` is as in :meth:`draw`, with the errors of :meth:`find`. Mixes up to
        nine rows of K integers, each at the cost of :meth:`row_at`.
        """
        position = self.find(point)
        weights = np.zeros(self.K, dtype=object)
        for i, across in enumerate(position.across):
            for j, along in enumerate(position.along):
                if across * along:
                    row = self.row_at(position.column + i, position.row + j)
                    weights += across * along * row.astype(object)
        total = sum(position.across) * sum(position.along) << self.bits
        return [Fraction(weight, total) for weight in weights.tolist()]

    @abc.abstractmethod
    def own_parts(self) -> dict[str, Any]:
        """Plain values for JSON of the fields of this form."""

    @classmethod
    @abc.abstractmethod
    def read_own(cls, data: Mapping[str, Any], net: ControlNet) -> dict[str, Any]:
        """Return the parameters of this form, by name, from what :meth:`own_parts` wrote; other entries are ignored.

        `net` is what was read of the control points.

        KeyError for a missing entry, InvalidProblemError or ValueError for others.
        """

    @cached_property
    def _plain(self) -> dict[str, Any]:
        """Plain values for JSON: texts, integers, and arrays packed into base64."""
        frame = self.frame
        return {
            "form": self.FORM,
            "version": self.VERSION,
            "unit": frame.unit,
            "origin": None if frame.origin is None else list(frame.origin),
            "east": frame.east,
            "north": frame.north,
            "reach": self.reach,
            "low": list(self.net.low),
            "side": self.net.side,
            "cells": list(self.net.cells),
            **self.own_parts(),
            "bits": self.bits,
            "reports": packed(self.reports.ravel()),
            "shown": [list(pair) for pair in self.shown],
            "guarantee": self.guarantee.to_dict(),
            "certificate": self.certificate.to_dict(),
            "lower": write_bound(self.lower),
            "upper": write_bound(self.upper),
            "provenance": self.provenance.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` wrote, and refuse what was altered.

        `data` is a mapping. Linear in its size.

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
            check_whole(data, cls.FORM, cls.VERSION)
            shared = _read_shared(data)
            made = cls(**shared, **cls.read_own(data, shared["net"]))
        except MALFORMED as error:
            detail = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InvalidProblemError("mechanism", "a whole mechanism", detail) from None
        if made.digest != data["digest"]:
            raise InvalidProblemError("content", "written as to_dict writes it", "other forms")
        return made

    def where(self, report: int) -> tuple[float, float]:
        """Return the coordinates of a report: latitude and longitude, or east and north in the unit.

        Raises
        ------
        InvalidProblemError
            If `report` is not from 0 to ``K - 1``.
        """
        if not 0 <= report < self.K:
            raise InvalidProblemError("report", f"0 to {self.K - 1}", "another")
        first, second = self.shown[report]
        return float(first), float(second)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text of :meth:`to_dict` without it: keys sorted, no spaces, UTF-8."""
        return text_digest(self._plain)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the digest among them."""
        return {**self._plain, "digest": self.digest}

    def check_parts(self) -> None:
        """Raise InvalidProblemError for parts that do not fit each other, or a certificate that did not pass. ``O(K)``.

        Checked are the shapes of the reports and their texts, which differ, the bits, and the guarantee's unit;
        nothing that the certificate states is verified.
        """
        reports = self.reports
        if reports.ndim != 2 or reports.shape[1] != 2 or len(self.shown) != len(reports):
            raise InvalidProblemError("reports", "a place and a text for each", "others")
        if len(set(self.shown)) != len(self.shown):
            raise InvalidProblemError("shown", "different texts", "one of them twice")
        if isinstance(self.bits, bool) or not 0 < self.bits <= MOST_BITS:
            raise InvalidProblemError("bits", f"an integer from 1 to {MOST_BITS}", self.bits)
        if self.guarantee.unit != self.frame.unit:
            raise InvalidProblemError("guarantee", f"per {self.frame.unit}", self.guarantee.unit)
        if not self.certificate.passed:
            raise InvalidProblemError("certificate", "one that passed", "one that failed")


def _read_shared(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that mechanisms of all forms have, by name; refuse values of other types.

    The names are those of :class:`EveryPoint`. InvalidProblemError for values of other types; KeyError for a missing
    entry.
    """
    if any(type(data[name]) is not int for name in ("east", "north", "reach", "bits")):
        raise InvalidProblemError("east, north, reach and bits", "integers", "others")
    check_texts(data)
    origin: tuple[str, str] | None = None
    if data["origin"] is not None:
        latitude, longitude = data["origin"]
        origin = latitude, longitude
    guarantee = guarantee_from_dict(data["guarantee"])
    if not isinstance(guarantee, MetricDP) or not isinstance(guarantee.scope, PointScope):
        raise InvalidProblemError("guarantee", "a metric one about points", "another")
    low, cells = (read_pair(data, name) for name in ("low", "cells"))
    return {
        "net": ControlNet(low, data["side"], cells, reach=data["reach"]),
        "frame": PointFrame(data["unit"], origin, data["east"], data["north"]),
        "reports": unpacked(data["reports"]).reshape(-1, 2),
        "shown": tuple((first, second) for first, second in data["shown"]),
        "bits": data["bits"],
        "guarantee": guarantee,
        "certificate": Certificate.from_dict(data["certificate"]),
        "lower": read_bound(data["lower"]),
        "upper": read_bound(data["upper"]),
        "provenance": Provenance.from_dict(data["provenance"]),
    }


def check_texts(data: Mapping[str, Any]) -> None:
    """Raise InvalidProblemError if the origin or a coordinate of a report is not a decimal text; linear."""
    stated = data["origin"]
    texts = [*([] if stated is None else stated), *(one for pair in data["shown"] for one in pair)]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidProblemError("origin and shown", "texts", "others")
    for text in texts:
        read_decimal(text)
        if text != text.strip():
            raise InvalidProblemError("origin and shown", "decimals alone", "spaces beside them")


def read_pair(data: Mapping[str, Any], name: str) -> tuple[int, int]:
    """Read two integers, the entry `name` of `data`, a list.

    InvalidProblemError for anything else, KeyError without it.
    """
    stated = data[name]
    if not isinstance(stated, list) or len(stated) != 2 or {*map(type, stated)} != {int}:
        raise InvalidProblemError(name, "two integers", "others")
    first, second = stated
    return first, second


def write_bound(bound: float | None) -> str | None:
    """Return a bound as the shortest text of its double; ``None`` stays ``None``."""
    return None if bound is None else repr(bound)


def read_bound(text: str | None) -> float | None:
    """Read a bound, a finite number; ``None`` stays ``None``.

    Raises
    ------
    ValueError
        If the text is no number.
    InvalidProblemError
        If the number is infinite or NaN.
    """
    value = None if text is None else float(text)
    if value is not None and not math.isfinite(value):
        raise InvalidProblemError("bounds", "finite numbers", "others")
    return value


def plane_and_net(frame: PointFrame, net: ControlNet) -> _PlaneAndNet:
    """Return the arguments of the verifiers that state a plane and a net, in their order.

    Unit, origin, factors east and north, reach, corner, side and numbers of cells; lengths in decimeters.
    """
    plane = (frame.unit, frame.origin, (frame.east, frame.north), net.reach)
    return (*plane, net.low, net.side, net.cells)
