r"""Methods with reports renamed for the prior: the Bayes remap of [CEP17]_.

.. math:: b(k) = \arg\min_{k'} \sum_i p_i\, c_{ik'} z_{ik}

Renaming reports is post-processing: it keeps the guarantee and never increases the loss. Components may have different
names for a report, since no constraint is between components.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.metricdp.methods.baselines import Exponential, PlanarLaplace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Candidate, Method, Part, PartLimits


@final
@dataclass(frozen=True)
class Remapped:
    """A method followed by the Bayes remap.

    Parameters
    ----------
    method
        Any method; its prices do not change.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> line = MetricSpace.grid(1, 4, cell=1, unit="km")
    >>> problem = Problem(line, utility_loss="euclidean", prior=[0.7, 0.1, 0.1, 0.1])
    >>> weak = MetricDP("0.1", unit="km")
    >>> plain = design(problem, weak, method=Exponential(), throw=False)
    >>> renamed = design(problem, weak, method=Remapped(Exponential()), throw=False)
    >>> round(plain.upper, 2), round(renamed.upper, 2)
    (1.35, 0.6)
    """

    method: Method

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:
        """Run the method, then add up the columns with the same new report.

        For each column the one of least expected cost. `part` and `limits` are handed to the method; prices stay as
        they are.

        Returns
        -------
        Candidate or None
            A matrix ``(n, n_reports)``; the method's own answer if it has no matrix, ``None`` if it does not apply.

        Complexity
        ----------
        That of the method, and one product of ``(n_reports, n)`` and ``(n, n_reports)`` matrices.
        """
        candidate = self.method.solve(part, limits)
        if candidate is None or candidate.matrix is None:
            return candidate
        renamed, best = rename_columns(candidate.matrix, part.cost)
        note = f"{candidate.note} Its reports were renamed: {len(np.unique(best))} are in use."
        return replace(candidate, method=f"{candidate.method}-remap", matrix=renamed, note=note)


def rename_columns(
    matrix: NDArray[np.float64], cost: NDArray[np.floating]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rename each column of `matrix` ``(n, m)`` as the report of least expected `cost` ``(n, n_reports)`` given it.

    Returns the sums of columns ``(n, n_reports)``, and the new names ``(m,)``, 0 for a column of zeros. A product in
    the precision of `cost`.
    """
    used = np.flatnonzero(matrix.any(axis=0))
    best = np.zeros(matrix.shape[1], dtype=int)
    best[used] = (cost.T @ matrix[:, used].astype(cost.dtype)).argmin(axis=0)
    table = np.zeros(cost.shape)
    np.add.at(table.T, best[used], matrix.T[used])
    return table, best


def exponential_remap() -> Remapped:
    """Return the exponential mechanism with renamed reports.

    Examples
    --------
    >>> exponential_remap()
    Remapped(method=Exponential())
    """
    return Remapped(Exponential())


def planar_laplace_remap() -> Remapped:
    """Return planar Laplace noise with renamed reports.

    Examples
    --------
    >>> planar_laplace_remap()
    Remapped(method=PlanarLaplace())
    """
    return Remapped(PlanarLaplace())
