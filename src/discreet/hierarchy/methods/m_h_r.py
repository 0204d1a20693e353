r"""M_H^r: Model 1 of [FVZ21]_ without integrality, rounded cell by cell: what the paper compares with.

The relaxed program is solved in closed form. Given to an interior-point solver in the variables x, as it is printed, it
goes wrong in silence: the objective is then :math:`\sum x^2 - 2 \tilde n x`, whose value is that of squares of a
hundred million, and a relative gap of 1e-8 of that is a large distance. The printed figures of this method have the
marks of it. Centered, in the variables :math:`x - \tilde n`, it does not happen (theory page *M_H^r*).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.hierarchy.laminar import continuous
from discreet.hierarchy.survival import Tell, Weights, check_kind, node_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind


@final
@dataclass(frozen=True)
class MHRelaxed:
    """Nearest counts that add up, then each rounded to a whole number, after which they do not (``m-h-r``).

    Parameters
    ----------
    weights
        The weight of each region, as for :class:`~discreet.hierarchy.methods.m_h.MH`.

    Notes
    -----
    Deviation from the paper: the relaxed program is solved to the precision of floats. Halves are rounded up.

    Examples
    --------
    >>> from discreet import PureDP, Tree
    >>> from discreet.hierarchy.measure import measure
    >>> from discreet.hierarchy.problem import GroupSizes
    >>> tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    >>> data = GroupSizes.from_counts(tree, [[2, 0, 1], [1, 1, 1]], units="private")
    >>> measured = measure(data, "direct", PureDP(100, neighbors="add-remove-person"))
    >>> MHRelaxed().solve(measured).tolist()
    [[3, 1, 2], [2, 0, 1], [1, 1, 1]]
    """

    weights: Weights = "inverse-variance"

    kind: ClassVar[Kind] = "direct"
    promises: ClassVar[tuple[str, ...]] = ("integral", "nonnegative")

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:
        """Compute rounded counts from noisy direct counts.

        That of ``laminar.continuous``: ``O(n depth log n)`` for each size.

        Returns
        -------
        ndarray
            ``(n_nodes, n_sizes)`` counts: whole and not negative; they need not add up.

        Raises
        ------
        InvalidProblemError
            For another kind of measurement, or leaves that were not measured.
        """
        check_kind(measured, "direct", everywhere=False)
        if on_progress is not None:
            on_progress("nearest consistent counts, in fractions")
        frame = measured.frame
        flows = continuous(
            frame, measured.values, total=frame.total, weights=node_weights(measured, self.weights)
        )
        return np.floor(flows + 0.5).astype(np.int64)
