"""The mechanism for every point with one noise for all of them: a table of integers, and a name for each node.

A point draws a control point of a net, the noise moves it to a node of a torus, and a public table names the node by a
report. What is in the file and how a report is drawn is specified in docs/theory/lrgeo-noise.md. Net, noise and names
have one digest, which changes with any of them.

Trusted: the guarantee rests on this code, which draws.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import count
from discreet.lrgeo.mechanism import packed, unpacked
from discreet.lrgeo.points.published import (
    EveryPoint,
    PublishedPoints,
    plane_and_net,
    read_pair,
)
from discreet.lrgeo.points.verify_noise import MOST_NODES, ClaimedNoise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet.lrgeo.points.net import ControlNet


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NoiseRows(EveryPoint):
    """What a design with one noise for all points and the mechanism that is published of it have in common.

    Its parameters are those of :class:`~discreet.lrgeo.points.published.EveryPoint`, and these.

    Parameters
    ----------
    noise
        ``(m, n)``: how likely each step on the torus is, times :math:`2^{bits}`, which they sum to.
    names
        ``(m, n)``: the report of each node. No promise depends on it.
    """

    noise: NDArray[np.int64]
    names: NDArray[np.int64]

    def claimed(self) -> ClaimedNoise:
        """Return the claim for the verifier: the arrays and the guarantee, without provenance."""
        return ClaimedNoise(
            *plane_and_net(self.frame, self.net),
            self.bits,
            self.guarantee,
            self.noise,
            self.names,
            len(self.reports),
        )

    def published(self) -> NoiseMechanism:
        """Return the mechanism that a server publishes, with the same arrays.

        InvalidProblemError if its certificate failed.
        """
        return NoiseMechanism(**{one.name: getattr(self, one.name) for one in fields(NoiseRows)})


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NoiseMechanism(NoiseRows, PublishedPoints):
    """What a server publishes for every point of a region: one noise, and a report for each node that it leads to.

    Its parameters are those of :class:`NoiseRows`.

    Raises
    ------
    InvalidProblemError
        For parts that do not fit each other, or a certificate that did not pass.
    """

    FORM: ClassVar[str] = "discreet.lrgeo.noise"

    def __post_init__(self) -> None:
        self.check_parts()
        if self.noise.ndim != 2 or self.noise.shape != self.names.shape:
            raise InvalidProblemError("noise and names", "tables of one shape", "others")

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes by name: ``"reports"``, ``"control points"`` of the net, and ``"nodes"`` of the torus of the noise."""
        columns, rows = self.net.points
        return {"reports": self.K, "control points": columns * rows, "nodes": self.noise.size}

    def draw_at(self, column: int, row: int, bits: RandomBits) -> int:
        """Draw a report, 0 to ``K - 1``, from the control point in a column and row of the net.

        A step of the noise leads to a node, whose name is the report; a step beyond an edge of the torus wraps
        around. A bisection over the nodes, and their sums at the first draw. `column` and `row` are not checked.
        """
        m, n = self.noise.shape
        drawn = bits.randrange(1 << self.bits)
        step = int(np.searchsorted(self._partial_sums, drawn, side="right"))
        return int(self.names[(column + step // n) % m, (row + step % n) % n])

    @cached_property
    def _partial_sums(self) -> NDArray[np.int64]:
        return np.cumsum(self.noise.ravel())

    def row_at(self, column: int, row: int) -> NDArray[np.int64]:
        """Return ``(K,)`` int64: probabilities of reports from a control point, times :math:`2^{bits}`.

        It is the one in a column and a row of the net. Linear in the nodes of the torus.
        """
        weights = np.zeros(self.K, dtype=np.int64)
        moved = np.roll(self.noise, (column, row), axis=(0, 1))
        np.add.at(weights, self.names.ravel(), moved.ravel())
        return weights

    def own_parts(self) -> dict[str, Any]:
        """Plain values for JSON: ``"torus"``, its two sizes, ``"noise"`` and ``"names"``, packed.

        Linear in the nodes.
        """
        return {
            "torus": list(self.noise.shape),
            "noise": packed(self.noise.ravel()),
            "names": packed(self.names.ravel()),
        }

    @classmethod
    def read_own(cls, data: Mapping[str, Any], net: ControlNet) -> dict[str, Any]:
        """Return ``"noise"`` and ``"names"``, ``(m, n)`` each, by name, from what :meth:`own_parts` wrote.

        Linear in the nodes. What the numbers mean is not checked.

        Raises
        ------
        KeyError
            If an entry is missing.
        InvalidProblemError
            For parts of another form, or too many nodes; ValueError for another number of entries.
        """
        del net
        m, n = read_pair(data, "torus")
        if m < 1 or n < 1 or m * n > MOST_NODES:
            raise InvalidProblemError("torus", f"at most {count(MOST_NODES)} nodes", "others")
        return {name: unpacked(data[name]).reshape(m, n) for name in ("noise", "names")}
