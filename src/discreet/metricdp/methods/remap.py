r"""A method whose reports are renamed for the prior: the Bayes remap of [CEP17]_, as a method of its own.

.. math:: b(k) = \arg\min_{k'} \sum_i p_i\, c_{ik'} z_{ik}

Renaming reports is post-processing: privacy stays, and the loss never grows. Where a method is solved for each
component on its own, each has its own names, which no constraint compares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.metricdp.methods.baselines import Exponential, PlanarLaplace

if TYPE_CHECKING:
    from discreet.metricdp.part import Candidate, Method, Part, PartLimits

__all__ = ["Remapped", "exponential_remap", "planar_laplace_remap"]


@final
@dataclass(frozen=True)
class Remapped:
    """Another method, and then the Bayes remap.

    Parameters
    ----------
    method
        Any method; its prices, if it has some, stay what they are.

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
        """Solve by the method, then add up the columns that become one report.

        Returns
        -------
        Candidate or None
            ``None`` where the method does not apply.

        Complexity
        ----------
        One product of ``(n_reports, n)`` and ``(n, n_reports)`` matrices.
        """
        found = self.method.solve(part, limits)
        if found is None or found.matrix is None:
            return found
        best = (found.matrix.T @ part.cost).argmin(axis=1)
        renamed = np.zeros_like(found.matrix)
        np.add.at(renamed.T, best, found.matrix.T)
        note = f"{found.note} Its reports were renamed: {len(np.unique(best))} are in use."
        return replace(found, method=f"{found.method}-remap", matrix=renamed, note=note)


def exponential_remap() -> Remapped:
    """Remap the exponential mechanism.

    Examples
    --------
    >>> exponential_remap()
    Remapped(method=Exponential())
    """
    return Remapped(Exponential())


def planar_laplace_remap() -> Remapped:
    """Remap planar Laplace noise.

    Examples
    --------
    >>> planar_laplace_remap()
    Remapped(method=PlanarLaplace())
    """
    return Remapped(PlanarLaplace())
