"""What the designs for every point have in common: the region, a status, and how they show themselves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.guarantee import MetricDP, PointScope
from discreet.core.printed import at_least, at_most
from discreet.core.verified import verdict_of, was_verified
from discreet.core.views import most_central, row_on_map, view
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.frame import region_digest
from discreet.lrgeo.points.published import EveryPoint

if TYPE_CHECKING:
    from discreet.lrgeo.places.region import Region
    from discreet.lrgeo.points.frame import PointFrame
    from discreet.lrgeo.points.net import ControlNet


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NetDesign(EveryPoint):
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


def claim_about(frame: PointFrame, net: ControlNet, guarantee: MetricDP) -> MetricDP:
    """Return a guarantee about any two points of the region of a net: its plane, corners and reach."""
    scope = PointScope(region_digest(frame, net.corners, net.reach))
    return MetricDP(guarantee.epsilon, guarantee.unit, scope=scope)
