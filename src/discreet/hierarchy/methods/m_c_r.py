"""M_c^r: the joint cumulative problem without integrality, rounded. The paper's relaxation of M_c, solved properly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from discreet.hierarchy.methods.joint import Joint, rounded
from discreet.hierarchy.survival import Need, Tell, Weights, counts_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind


@final
@dataclass(frozen=True)
class MCRelaxed:
    """Monotone survival counts of all regions at once, each rounded by itself (``m-c-r``).

    What is rounded need not add up. The errors that the paper reports for it cannot come from rounding, which moves a
    count by less than one: they are those of a solver that stopped early.

    Parameters
    ----------
    gap
        Relative gap of the relaxed problem.
    max_iterations
        When to give up; the best fit is then rounded.
    weights
        The weight of each node; equal ones as published.
    """

    gap: float = 1e-3
    max_iterations: int = 500
    weights: Weights = "equal"

    kind: ClassVar[Kind] = "survival"
    needs: ClassVar[tuple[Need, ...]] = ("every level",)
    promises: ClassVar[tuple[str, ...]] = ("integral", "nonnegative", "faithful")

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Solve the relaxed program, round and take differences.

        Return int64 ``(nodes, sizes)``, which need not add up. Up to `max_iterations` passes over the numbers. Raises
        InvalidProblemError for another kind than survival counts, a level without noise, or a gap that is not
        positive.
        """
        how = Joint(self.gap, self.max_iterations, self.weights)
        return counts_of(measured.frame, rounded(measured, how, on_progress))
