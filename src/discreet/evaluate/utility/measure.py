"""One measure of what was lost, between what nothing private could beat and what nothing true is needed for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from discreet.evaluate.intervals import Estimate

__all__ = ["Measure"]


@final
@dataclass(frozen=True)
class Measure:
    """What was lost, or kept.

    Parameters
    ----------
    name
        What the numbers are.
    estimate
        The number, with its interval.
    best
        What could be had without privacy; ``None`` where nobody computed it.
    worst
        What could be had without the data; likewise.
    note
        What a reader should know.

    Examples
    --------
    >>> from discreet.evaluate.intervals import Estimate
    >>> Measure("classification accuracy", Estimate.computed(0.75), best=1.0, worst=0.5).kept
    0.5
    """

    name: str
    estimate: Estimate
    best: float | None = None
    worst: float | None = None
    note: str = ""

    @property
    def kept(self) -> float | None:
        """The way from the worst to the best that was kept, as a share; below 0 where noise did harm."""
        if self.best is None or self.worst is None or self.best == self.worst:
            return None
        return (self.estimate.value - self.worst) / (self.best - self.worst)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "measure": self.name,
            "estimate": self.estimate.to_dict(),
            "best": self.best,
            "worst": self.worst,
            "kept": self.kept,
            "note": self.note,
        }
