"""What the two mechanisms on a net share: a point draws a control point, and the rest follows from there.

One noise for all points, in :mod:`~discreet.lrgeo.points.noise`, and a row for each control point, in
:mod:`~discreet.lrgeo.points.table`, differ in what is drawn from a control point alone.

Trusted: the guarantee rests on this code, which draws.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import at_least, at_most
from discreet.core.randomness.bits import SystemBits
from discreet.core.verified import verdict_of, was_verified
from discreet.core.views import most_central, row_on_map, view
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.net import ControlNet
from discreet.lrgeo.points.published import EveryPoint, PublishedPoints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet.lrgeo.places.region import Region
    from discreet.lrgeo.points.frame import PointFrame
    from discreet.lrgeo.points.net import NetSpot

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
class OnNet(EveryPoint):
    """A design on a net, or what is published of it.

    Its parameters are those of :class:`~discreet.lrgeo.points.published.EveryPoint`, and these.

    Parameters
    ----------
    net
        The control points.
    """

    net: ControlNet

    @abc.abstractmethod
    def published(self) -> PublishedNet:
        """Return the mechanism that a server publishes."""


def plane_and_net(frame: PointFrame, net: ControlNet) -> _PlaneAndNet:
    """Return the arguments of the verifiers that state a plane and a net, in their order.

    Unit, origin, factors east and north, reach, corner, side and numbers of cells; lengths in decimeters.
    """
    plane = (frame.unit, frame.origin, (frame.east, frame.north), net.reach)
    return (*plane, net.low, net.side, net.cells)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NetDesign(OnNet):
    """A design on a net: its certificate, and bounds on what it loses.

    Parameters
    ----------
    region
        The places.
    status
        ``"gap reached"``, ``"limit reached"``, or ``"no gap asked for"``.
    """

    region: Region
    status: str

    def __repr__(self) -> str:
        loss = "" if self.upper is None else f", loss {at_most(self.upper, 4)} {self.unit}"
        bound = "" if self.lower is None else f", at least {at_least(self.lower, 4)}"
        *_, (what, count) = self.published().sizes.items()
        return f"{type(self).__name__}({self.K} reports, {count} {what}{loss}{bound}, {verdict_of(self)})"

    def _repr_html_(self) -> str:
        """Return the design as HTML, with the reports of the most central control point on a map."""
        places = self.reports / per_unit(self.unit)
        middle = most_central(places)
        x, y = self.reports[middle].tolist()
        position = self.net.find((Fraction(x), Fraction(y)))
        row = self.published().row_at(position.column + 1, position.row + 1) / 2.0**self.bits
        loss = "not computed" if self.upper is None else at_most(self.upper, 4)
        return view(
            self.published().promise,
            (f"{self.K} reports; expected loss {loss} {self.unit}",),
            picture=row_on_map(places, "euclidean", middle, row),
            certificate=self.certificate,
            verified=was_verified(self),
        )


class PublishedNet(OnNet, PublishedPoints):
    """What a server publishes of a design on a net."""

    @property
    def reach(self) -> int:
        """Decimeters around the region within which a point is taken."""
        return self.net.reach

    @property
    def box(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The least and the greatest coordinates of the region, in decimeters."""
        return self.net.box

    @property
    def corners(self) -> list[tuple[int, int]]:
        """The corners of the region, counterclockwise, in decimeters."""
        return self.net.corners

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

    def own_parts(self) -> dict[str, Any]:
        """Plain values for JSON: the net's corner and side in decimeters, and its numbers of cells."""
        net = self.net
        return {"low": list(net.low), "side": net.side, "cells": list(net.cells)}

    @classmethod
    def read_own(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the net, as ``{"net": ControlNet}``, from what :meth:`own_parts` wrote and the reach in decimeters.

        Raises
        ------
        KeyError
            If an entry is missing.
        InvalidProblemError
            For parts of another form.
        """
        low, cells = (read_pair(data, name) for name in ("low", "cells"))
        return {"net": ControlNet(low, data["side"], cells, reach=data["reach"])}


def read_pair(data: Mapping[str, Any], name: str) -> tuple[int, int]:
    """Read two integers, the entry `name` of `data`, a list.

    InvalidProblemError for anything else, KeyError without it.
    """
    stated = data[name]
    if not isinstance(stated, list) or len(stated) != 2 or {*map(type, stated)} != {int}:
        raise InvalidProblemError(name, "two integers", "others")
    first, second = stated
    return first, second
