"""What the methods are compared with: noisy counts as they come, clipped ones, and all budget at the leaves.

The paper omits these; each is easy to beat on one count and hard on another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, final

import numpy as np

from discreet.hierarchy.methods.top_down import apportion
from discreet.hierarchy.survival import Need, Tell, check_kind, counts_of, fitted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind


@final
@dataclass(frozen=True)
class RawNoisy:
    """Noisy counts as they come (``raw``): unbiased, some negative, and they do not add up."""

    kind: ClassVar[Kind] = "direct"
    needs: ClassVar[tuple[Need, ...]] = ("every level",)
    promises: ClassVar[tuple[str, ...]] = ("integral",)

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:  # noqa: ARG002 - the signature of all methods
        """Return a copy of the noisy counts, int64 ``(nodes, sizes)``; they may be negative, and need not add up.

        Raises InvalidProblemError for another kind than direct counts, or a level without noise.
        """
        check_kind(measured, "direct")
        return np.array(measured.values)


@final
@dataclass(frozen=True)
class Clipped:
    """Noisy counts with zeros in place of negative ones (``clipped``): biased, and they do not add up."""

    kind: ClassVar[Kind] = "direct"
    needs: ClassVar[tuple[Need, ...]] = ("every level",)
    promises: ClassVar[tuple[str, ...]] = ("integral", "nonnegative")

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:  # noqa: ARG002 - the signature of all methods
        """Return the noisy counts, int64 ``(nodes, sizes)``, with negative ones set to 0; they need not add up.

        Raises InvalidProblemError for another kind than direct counts, or a level without noise.
        """
        check_kind(measured, "direct")
        return np.maximum(measured.values, 0)


@final
@dataclass(frozen=True)
class BottomUp:
    """All budget at the leaves, whose counts are added up (``bottom-up``).

    Where units are public the counts of each leaf are projected on those that sum to its number of groups; else
    negative ones become 0.
    """

    kind: ClassVar[Kind] = "direct"
    only_leaves: ClassVar[bool] = True

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:  # noqa: ARG002 - the signature of all methods
        """Project the counts of the leaves and add them up; return int64 ``(nodes, sizes)``.

        Public totals of a leaf are met by a sort of its sizes. Raises InvalidProblemError for another kind of
        measurement.
        """
        check_kind(measured, "direct", everywhere=False)
        tree, totals = measured.frame.tree, measured.frame.group_totals
        noisy = measured.values[tree.leaves]
        fit = np.maximum(noisy, 0) if totals is None else apportion(noisy, totals[tree.leaves])
        return tree.totals(fit)


@final
@dataclass(frozen=True)
class BottomUpCumulative:
    """All budget at the leaves, whose monotone survival counts are added up (``bottom-up-cumulative``).

    The best there is at the leaves, and the worst above them. Where units are public, each region has exactly its
    number of groups.

    Parameters
    ----------
    loss
        What the regression minimizes: squares or absolute deviations.
    """

    loss: Literal["l2", "l1"] = "l2"

    kind: ClassVar[Kind] = "survival"
    only_leaves: ClassVar[bool] = True

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:  # noqa: ARG002 - the signature of all methods
        """Fit the noisy survival counts of the leaves and add up their counts; return int64 ``(nodes, sizes)``.

        All nodes are fitted, and the leaves used: linear in nodes times sizes for "l2". Raises InvalidProblemError
        for another kind of measurement, leaves without noise, or another loss.
        """
        check_kind(measured, "survival", everywhere=False)
        frame = measured.frame
        return frame.tree.totals(counts_of(frame, fitted(measured, self.loss))[frame.tree.leaves])
