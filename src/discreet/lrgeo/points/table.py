"""The mechanism for every point with a table on a net: a row of integers for each control point.

A point draws a control point of a net, and then a report from its row. What is in the file and how a report is drawn is
specified in docs/theory/lrgeo-lattice.md. Net and weights have one digest, which changes with either.

Trusted: the guarantee rests on this code, which draws.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.progress import gap_between
from discreet.lrgeo.mechanism import packed, unpacked
from discreet.lrgeo.points.published import (
    EveryPoint,
    PublishedPoints,
    plane_and_net,
    read_bound,
    write_bound,
)
from discreet.lrgeo.points.verify_table import ClaimedTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet.lrgeo.points.net import ControlNet


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LatticeRows(EveryPoint):
    """What a design with rows for the control points of a net and the mechanism that is published of it share.

    Its parameters are those of :class:`~discreet.lrgeo.points.published.EveryPoint`, and these.

    Parameters
    ----------
    weights
        ``(V, K)``: a row for each control point, those of one column of the net after another, each summing to
        :math:`2^{bits}`.
    mesh_lower
        No mechanism on this net loses less; ``None`` without a bound.
    """

    weights: NDArray[np.int64]
    mesh_lower: float | None

    @property
    def mesh_gap(self) -> float | None:
        """The gap to mechanisms on this net, ``(upper - mesh_lower) / upper``; ``None`` without both bounds."""
        return gap_between(self.mesh_lower, self.upper)

    def claimed(self) -> ClaimedTable:
        """Return the claim for the verifier: the array and the guarantee, without provenance."""
        plane = plane_and_net(self.frame, self.net)
        return ClaimedTable(*plane, self.bits, self.guarantee, self.weights)

    def published(self) -> LatticeMechanism:
        """Return the mechanism that a server publishes, with the same arrays.

        InvalidProblemError if its certificate failed. Sums of rows are checked: linear in the weights.
        """
        return LatticeMechanism(
            **{one.name: getattr(self, one.name) for one in fields(LatticeRows)}
        )


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LatticeMechanism(LatticeRows, PublishedPoints):
    """What a server publishes for every point of a region: a row of weights for each control point of a net.

    Its parameters are those of :class:`LatticeRows`.

    Raises
    ------
    InvalidProblemError
        For parts that do not fit each other, or a certificate that did not pass.
    """

    FORM: ClassVar[str] = "discreet.lrgeo.lattice"

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

    def draw_at(self, column: int, row: int, bits: RandomBits) -> int:
        """Draw a report, 0 to ``K - 1``, from the control point in a column and row of the net, in ``O(K)``."""
        drawn = bits.randrange(1 << self.bits)
        return int(np.searchsorted(np.cumsum(self.row_at(column, row)), drawn, side="right"))

    def row_at(self, column: int, row: int) -> NDArray[np.int64]:
        """Return ``(K,)`` int64: probabilities of reports from a control point, times :math:`2^{bits}`.

        It is the one in a column and a row of the net.

        `column` and `row` count control points from the lower left corner of the net; a view, ``O(1)``.
        """
        weights: NDArray[np.int64] = self.weights[column * self.net.points[1] + row]
        return weights

    def own_parts(self) -> dict[str, Any]:
        """Plain values for JSON: ``"weights"`` packed, and ``"mesh_lower"`` as text or ``None``.

        Linear in the weights.
        """
        return {
            "weights": packed(self.weights.ravel()),
            "mesh_lower": write_bound(self.mesh_lower),
        }

    @classmethod
    def read_own(cls, data: Mapping[str, Any], net: ControlNet) -> dict[str, Any]:
        """Return weights ``(control points, K)`` and bound, by name, from what :meth:`own_parts` wrote.

        Raises
        ------
        KeyError
            If an entry is missing.
        InvalidProblemError
            For a net of another form; ValueError for another number of weights.
        """
        columns, rows = net.points
        weights = unpacked(data["weights"]).reshape(columns * rows, len(data["shown"]))
        return {"weights": weights, "mesh_lower": read_bound(data["mesh_lower"])}
