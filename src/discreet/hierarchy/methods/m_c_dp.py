r"""M_c^dp: cumulative counts, made monotone region by region, then made to add up along the tree.

Algorithm 2 of [FVZ21]_: the noisy cumulative counts of each region are fitted by monotone ones, their differences are
counts, and the nearest counts that are consistent are found by the exact engine (:mod:`discreet.hierarchy.laminar`).

The default method of the library, :func:`weighted`, is this with other weights. Counts that are not negative have
errors that are positive on average where the true count is 0; summed over the many leaves below a region, these small
errors move the region's own count, which is known better than their sum. A weight that grows with the number of leaves
below keeps it in place, and errors fall on every level. The power of that number was chosen on synthetic data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, final

from discreet.hierarchy.laminar import project
from discreet.hierarchy.survival import Tell, Weights, check_kind, counts_of, fitted, node_weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind


@final
@dataclass(frozen=True)
class MCDP:
    """Survival counts, isotonic regression in each region, exact consistency (``m-c-dp``).

    Parameters
    ----------
    loss
        What the regression minimizes: squares (``"l2"``), as published, or absolute deviations (``"l1"``).
    weights
        The weight of each node in the second step: equal ones, as published; the precision of its noise, which is the
        same where all levels have the same share of the budget; or ``"spread"``, the precision times the fourth root
        of the number of leaves below.

    Notes
    -----
    Deviations from the paper. Survival counts are measured in place of cumulative ones, which is the same where units
    are public and sound where they are not. The regression is solved exactly in whole numbers by pooling, not by a
    convex program that is rounded. It is bounded by the number of groups of the region, which is public with the units,
    not by that of the whole country. The second step is an exact optimum, not one inside windows.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.measure import measure
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="private")
    >>> measured = measure(data, "survival", PureDP(100, neighbors="add-remove-person"))
    >>> MCDP().solve(measured).tolist()
    [[3, 1, 2], [2, 0, 1], [1, 1, 1]]
    """

    loss: Literal["l2", "l1"] = "l2"
    weights: Weights = "equal"

    kind: ClassVar[Kind] = "survival"

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Compute consistent counts, int64 ``(nodes, sizes)``, from noisy survival counts.

        Raises InvalidProblemError for another kind of measurement, leaves without noise, or unknown `loss` or
        `weights`.

        Complexity
        ----------
        ``O(n_nodes n_sizes)`` for the regressions; the engine's time for the rest.
        """
        check_kind(measured, "survival", everywhere=False)
        frame = measured.frame
        if on_progress is not None:
            on_progress("isotonic regression of each region")
        counts = counts_of(frame, fitted(measured, self.loss))
        if on_progress is not None:
            on_progress("consistency")
        weights = node_weights(measured, self.weights)
        return project(frame, counts, total=frame.total, weights=weights)


def weighted() -> MCDP:
    """Return the default method, ``m-c-dp-weighted``: weights that grow with the number of leaves below a node."""
    return MCDP(weights="spread")
