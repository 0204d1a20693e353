r"""Multivariate Laplace noise around a word's vector, then the nearest word: the mechanism of [FBDD20]_.

Noise with density proportional to :math:`e^{-\epsilon |x|}` in m dimensions has a uniform direction and a radius with
the Gamma distribution of shape m and scale :math:`1 / \epsilon`. By the triangle inequality its densities around two
secrets differ by a factor of at most :math:`e^{\epsilon d}`, and giving the nearest word is post-processing.

The probabilities of the words have no closed form beyond the plane. Here they are integrated exactly along rays: along
a direction the nearest word changes at the corners of the lower envelope of

.. math:: |s + r u - w_k|^2 - r^2 = |w_k - s|^2 - 2 r\, u^\top (w_k - s),

which are straight lines in r, and the mass between two corners is a difference of Gamma distribution functions. The
mean over directions is taken over a Sobol sequence and its mirror images, in a plane over equal angles, the same for
all secrets. In one dimension there are two directions, and the result is exact; elsewhere it is an estimate of the
published mechanism, and what that breaks is mended by the repair and judged by the verification, as for every method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Part, PartLimits

__all__ = ["MultivariateLaplace"]

_BATCH = 1 << 22
"""Pairs of a direction and a word that are looked at in one go."""


@final
@dataclass(frozen=True)
class MultivariateLaplace:
    """Noise in the space of the vectors, then the nearest report. It needs Euclidean distances of points.

    Parameters
    ----------
    directions
        How many, a power of two; their mirror images are taken too.

    Raises
    ------
    InvalidProblemError
        For a number that is no power of two.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> words = MetricSpace.from_points([[0, 0, 1], [0, 1, 1], [1, 1, 0], [2, 0, 1]], unit="unit")
    >>> problem = Problem(words, utility_loss="distance")
    >>> made = design(problem, MetricDP(2, "unit"), method=MultivariateLaplace(), throw=False)
    >>> made.certificate.passed
    True
    """

    directions: int = 512

    def __post_init__(self) -> None:
        if self.directions < 1 or self.directions & (self.directions - 1):
            raise InvalidProblemError("directions", "a power of two", self.directions)

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:  # noqa: ARG002 - every method has both
        """Integrate along rays.

        Returns
        -------
        Candidate or None
            ``None`` where distances are not Euclidean, or there are no points.

        Complexity
        ----------
        For each secret and direction one look at all reports for each word that the ray passes.
        """
        space = part.space
        if space is None or space.points is None or part.home is None:
            return None
        if space.metric not in {"euclidean", "grid"}:
            return None
        words = space.points[part.home]
        rays = _directions(space.points.shape[1], self.directions)
        matrix = np.stack(
            [_masses(words - secret, rays, float(part.epsilon)) for secret in space.points]
        )
        note = f"Multivariate Laplace noise was integrated along {len(rays)} rays from each secret."
        return Candidate("multivariate-laplace", matrix, None, note, {"rays": len(rays)})


def _directions(dimensions: int, count: int) -> NDArray[np.float64]:
    """Spread directions over the sphere, always the same ones, each with its mirror image."""
    if dimensions == 1:
        return np.array([[1.0], [-1.0]])
    if dimensions == 2:
        angle = (np.arange(2 * count) + 0.5) * (np.pi / count)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    # The first block of the sequence holds the point 0, and the middle, which is no direction.
    sequence = Sobol(dimensions, scramble=False).fast_forward(count).random(count)
    # Its points lie in [0, 1); half of the finest step keeps them off the ends.
    normal = ndtri(sequence + 2.0**-31)
    unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return np.concatenate([unit, -unit])


def _masses(
    words: NDArray[np.float64], rays: NDArray[np.float64], epsilon: float
) -> NDArray[np.float64]:
    """Integrate noise around the origin over the words' cells, along some rays."""
    from scipy.special import gammainc

    shape = rays.shape[1]
    square = (words**2).sum(axis=1)
    mass = np.zeros(len(words))
    step = max(1, _BATCH // len(words))
    for start in range(0, len(rays), step):
        along = rays[start : start + step] @ words.T
        each = np.arange(len(along))
        here = np.full(len(along), int(square.argmin()))
        done = np.zeros(len(along))
        while len(each):
            rise = along[each] - along[each, here][:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                corner = (square - square[here][:, None]) / (2 * rise)
            # Only a word that the ray approaches faster can take over.
            corner[rise <= 0] = np.inf
            after = corner.argmin(axis=1)
            at = corner[np.arange(len(each)), after]
            until = gammainc(shape, epsilon * np.maximum(at, 0.0))
            until = np.where(np.isinf(at), 1.0, until)
            np.add.at(mass, here, np.maximum(until - done, 0.0))
            more = np.isfinite(at)
            each, here, done = each[more], after[more], np.maximum(until, done)[more]
    return mass / len(rays)
