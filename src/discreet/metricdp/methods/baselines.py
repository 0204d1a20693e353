r"""Baselines: published mechanisms, and two mechanisms that need no metric.

Each is a frozen method of :func:`discreet.metricdp.design`, so that its matrix is repaired, rounded and verified like
any other, and comparisons are between channels of integers with the same guarantee. None of them gives a lower bound.

:mod:`~discreet.metricdp.methods.remap` improves any of them for a prior, and :func:`nearest_output_floor` is the loss
without privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.exact import float_floor
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Part, PartLimits
    from discreet.metricdp.problem import Problem

_MIN_EXTENT_IN_NATS = 1e-6
"""Least extent of the reports, in nats, for which integrals over their cells are accurate."""


@final
@dataclass(frozen=True)
class Exponential:
    r"""The exponential mechanism with the distance as its score: Equation (66) of [Qiu24]_, after [MT07]_.

    .. math:: z_{ik} = e^{-\epsilon d_{ik} / 2} \Big/ \sum_l e^{-\epsilon d_{il} / 2}

    One half of epsilon is for the numerator and one for the denominator, whence the 1/2: by the triangle inequality
    :math:`z_{ik} \le e^{\epsilon d_{ij}} z_{jk}` for *all* pairs. Here d are shortest paths of constraints: with all
    pairs constrained the distances themselves, as published; with a radius they are no shorter, which loses less
    under the same constraints as an optimal channel. A report is located at
    :attr:`~discreet.metricdp.part.Part.places`: at the secret that it names, or else the one for which it costs least.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> problem = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")
    >>> blunt = design(problem, MetricDP(2, unit="km"), method=Exponential(), throw=False)
    >>> best = design(problem, MetricDP(2, unit="km"))
    >>> round(blunt.upper / best.upper, 1)
    2.2
    """

    def solve(self, part: Part, limits: PartLimits) -> Candidate:  # noqa: ARG002 - every method has both
        """Return the channel ``z_ik`` proportional to ``e^(-epsilon d(i, k) / 2)``, as ``(n, K)`` floats.

        `part` is a component with n secrets and K reports; `limits` is not used. ``O(n K)`` after all shortest paths.
        """
        matrix = exponential_rows(-0.5 * part.rate * part.paths[:, part.places])
        return Candidate("exponential", matrix, None, "The exponential mechanism, as a table.")


@final
@dataclass(frozen=True)
class PlanarLaplace:
    r"""Planar Laplace noise, moved to the nearest report: [ABCP13]_, Section 4.

    Noise with density :math:`\frac{\epsilon^2}{2\pi} e^{-\epsilon |x - s|}` around the secret s is epsilon-private in
    the plane. Reporting the nearest report instead of the point is post-processing, for points outside the map, too,
    so that the exact probabilities of the Voronoi cells,

    .. math::

        \Pr[k \mid s] = \int_{V_k} \frac{\epsilon^2}{2\pi} e^{-\epsilon |x - s|}\,dx
        = [s \in V_k] - \frac{1}{2\pi} \oint_{\partial V_k} (1 + \epsilon r)\, e^{-\epsilon r}\, d\varphi,

    keep epsilon for all pairs: the truncation costs nothing. The integrals over the sides of the cells are taken by
    Gauss's rule to about 1e-12 of the mass, 0 beyond 100 nats; the repair corrects the error, and the stored integers
    are verified.

    It needs secrets in a Euclidean plane, or on a sphere, and reports that name secrets. Places on a sphere are
    projected, and :math:`\epsilon` is divided by the largest ratio :math:`\rho` of a distance in the plane to that on
    the sphere, so that :math:`e^{\epsilon |f(s) - f(s')| / \rho} \le e^{\epsilon d(s, s')}`
    (:attr:`~discreet.metricdp.part.Part.stretch`).

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> problem = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")
    >>> noisy = design(problem, MetricDP(2, unit="km"), method=PlanarLaplace(), throw=False)
    >>> noisy.certificate.passed
    True
    """

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:  # noqa: ARG002 - every method has both
        """Integrate planar Laplace noise around each secret of `part` over the Voronoi cells of the reports.

        Epsilon is divided by the part's stretch, so that it is that of the stated distances. `limits` is not used.

        Returns
        -------
        Candidate or None
            A matrix ``(n, n_reports)`` whose rows sum to about 1. ``None`` without a plane, without a bound on its
            stretch, or if all reports lie within a millionth of a nat, since floats do not resolve cells so much
            smaller than the noise.

        Complexity
        ----------
        About 25 exponentials for each secret and report.
        """
        if part.plane is None or not math.isfinite(part.stretch):
            return None
        secrets, reports = part.plane
        # With one secret the stretch is 0.
        rate = float(part.epsilon) / (part.stretch or 1.0)
        if 0 < rate * float(np.ptp(reports, axis=0).max()) < _MIN_EXTENT_IN_NATS:
            return None
        matrix = _cell_masses(secrets, reports, rate)
        note = f"Planar Laplace noise was integrated over the cells of {len(reports)} reports."
        return Candidate("planar-laplace", matrix, None, note)


@final
@dataclass(frozen=True)
class Uniform:
    """All reports with equal probability: private for every epsilon.

    Examples
    --------
    >>> Uniform()
    Uniform()
    """

    def solve(self, part: Part, limits: PartLimits) -> Candidate:  # noqa: ARG002 - every method has both
        """Return the channel in which all K reports have probability 1 / K."""
        matrix = np.full_like(part.cost, 1 / part.n_reports)
        return Candidate("uniform", matrix, None, "All reports are equally likely.")


@final
@dataclass(frozen=True)
class BestConstant:
    """The report of least expected cost for every secret: private for every epsilon.

    Examples
    --------
    >>> BestConstant()
    BestConstant()
    """

    def solve(self, part: Part, limits: PartLimits) -> Candidate:  # noqa: ARG002 - every method has both
        """Return the channel that gives every secret of `part` the report of least expected cost, ``(n, K)``.

        ``O(n K)``.
        """
        matrix = np.zeros_like(part.cost)
        matrix[:, part.cost.sum(axis=0).argmin()] = 1.0
        return Candidate("constant", matrix, None, "The same report is given for every secret.")


def exponential_rows(nats: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return ``e^nats`` ``(n, k)`` with rows divided by their sums; the largest entry of a row may be any float."""
    matrix: NDArray[np.float64] = np.exp(nats - nats.max(axis=1, keepdims=True))
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


def nearest_output_floor(problem: Problem) -> float:
    r"""Compute the loss without privacy, ``sum_i p_i min_k c_ik``, rounded down, a lower bound for any channel.

    In the unit of the loss. ``O(n k)``.

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem
    >>> line = MetricSpace.from_points([[0.0], [1.0], [2.0], [3.0]], unit="km")
    >>> nearest_output_floor(Problem(line, utility_loss="distance", reports=[0, 3]))
    0.5
    """
    least = problem.cost.min(axis=1)
    return float_floor(sum((Fraction(cost) for cost in least.tolist()), Fraction(0)))


def _cell_masses(
    secrets: NDArray[np.float64], reports: NDArray[np.float64], epsilon: float
) -> NDArray[np.float64]:
    """Integrate planar Laplace noise around each secret over the Voronoi cell of each report, ``(secrets, reports)``.

    `secrets` and `reports` are ``(m, 2)`` points, `epsilon` is per unit of these. Rows sum to about 1; of reports at
    one point the first gets all. About 25 exponentials an entry.
    """
    from scipy.spatial import Voronoi, cKDTree

    from discreet.metricdp.kernels.columns import add_swept_tails

    sites, at_site = np.unique(reports, axis=0, return_index=True)
    matrix = np.zeros((len(secrets), len(reports)))
    all_points = np.concatenate([secrets, sites])
    center = all_points.mean(axis=0)
    extent = float(np.linalg.norm(all_points - center, axis=1).max())
    # Distant guard points close the outer cells beyond all noise.
    far = 4 * extent + 100 / epsilon
    angles = np.arange(8) * (math.pi / 4) + 0.1
    guards = center + far * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    diagram = Voronoi(np.concatenate([sites, guards]) - center)
    is_finite = (diagram.ridge_points < len(sites)).all(axis=1)
    sides = np.sort(diagram.ridge_points[is_finite], axis=1)
    left, right = sites[sides.T]
    corners = center + diagram.vertices[np.array(diagram.ridge_vertices)[is_finite].reshape(-1, 2)]
    normals = right - left
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    tangents = np.stack([-normals[:, 1], normals[:, 0]], axis=1)
    offsets = (normals * (left + right)).sum(axis=1) / 2
    spans = np.sort(np.einsum("ecx,ex->ec", corners, tangents), axis=1)
    # A secret on a side of two cells is moved by a relative 10^-12 into one of them.
    aside = secrets + 1e-12 * extent * np.array([0.8, 0.6])
    nodes, weights = np.polynomial.legendre.leggauss(6)
    masses = np.zeros((len(secrets), len(sites)))
    nearest = cKDTree(sites).query(aside)[1]
    # Integrals are in units of a whole turn.
    masses[np.arange(len(secrets)), nearest] = 2 * math.pi
    add_swept_tails(
        masses, aside, normals, offsets, spans, sides, epsilon, (1 + nodes) / 2, weights / 2
    )
    matrix[:, at_site] = np.maximum(masses, 0.0) / (2 * math.pi)
    return matrix
