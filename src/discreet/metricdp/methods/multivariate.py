r"""Multivariate Laplace noise around a word's vector, then the nearest word: the mechanism of [FBDD20]_.

Noise with density proportional to :math:`e^{-\epsilon |x|}` in m dimensions has a uniform direction and a radius with
the Gamma distribution of shape m and scale :math:`1 / \epsilon`. By the triangle inequality its densities around two
secrets differ by a factor of at most :math:`e^{\epsilon d}`, and reporting the nearest word is post-processing.

The probabilities of the words have no closed form beyond the plane. Here they are integrated exactly along rays: along
a direction the nearest word changes at the corners of the lower envelope of

.. math:: |s + r u - w_k|^2 - r^2 = |w_k - s|^2 - 2 r\, u^\top (w_k - s),

which are straight lines in r, and the mass between two corners is a difference of Gamma distribution functions. The
mean over directions is taken over a Sobol sequence and its mirror images, in a plane over equal angles, the same for
all secrets. In one dimension there are two directions, and the result is exact; in others it is an estimate of the
published mechanism. Proposes; checked by repair and :func:`~discreet.metricdp.verify`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.lengths import LENGTHS_AT_ONCE
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Part, PartLimits


@final
@dataclass(frozen=True)
class MultivariateLaplace:
    """Noise in the space of the vectors, then the nearest report. It needs Euclidean distances of points.

    Parameters
    ----------
    directions
        Number of directions, a power of two; their mirror images are used, too.

    Raises
    ------
    InvalidProblemError
        For a number that is not a power of two.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> words = MetricSpace.from_points([[0, 0, 1], [0, 1, 1], [1, 1, 0], [2, 0, 1]], unit="unit")
    >>> problem = Problem(words, utility_loss="distance")
    >>> result = design(problem, MetricDP(2, "unit"), method=MultivariateLaplace(), throw=False)
    >>> result.certificate.passed
    True
    """

    directions: int = 512

    def __post_init__(self) -> None:
        if self.directions < 1 or self.directions & (self.directions - 1):
            raise InvalidProblemError("directions", "a power of two", self.directions)

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:  # noqa: ARG002 - every method has both
        """Integrate noise in as many dimensions as the points have over the Voronoi cells of the reports, along rays.

        Returns
        -------
        Candidate or None
            A matrix ``(n, n_reports)``. ``None`` if distances are not Euclidean, or there are no points.

        Complexity
        ----------
        ``n_reports`` operations for each secret, each direction and each cell on the ray.
        """
        space = part.space
        if space is None or space.points is None:
            return None
        if space.metric not in {"euclidean", "grid"}:
            return None
        words = space.points[part.places]
        rays = _directions(space.points.shape[1], self.directions)
        matrix = np.stack(
            [_cell_masses(words - secret, rays, float(part.epsilon)) for secret in space.points]
        )
        note = f"Multivariate Laplace noise was integrated along {len(rays)} rays from each secret."
        return Candidate("multivariate-laplace", matrix, None, note, {"rays": len(rays)})


def _directions(dimensions: int, count: int) -> NDArray[np.float64]:
    """Return fixed unit vectors that cover the sphere evenly, ``(2 * count, dimensions)``: each with its mirror image.

    In one dimension there are only two.
    """
    if dimensions == 1:
        return np.array([[1.0], [-1.0]])
    if dimensions == 2:
        angle = (np.arange(2 * count) + 0.5) * (np.pi / count)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    # The first block of the sequence has the point 0 and the center, which gives no direction.
    sequence = Sobol(dimensions, scramble=False).fast_forward(count).random(count)
    # Its points lie in [0, 1); half of the finest step keeps them off the ends.
    normal = ndtri(sequence + 2.0**-31)
    unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return np.concatenate([unit, -unit])


def _cell_masses(
    words: NDArray[np.float64], rays: NDArray[np.float64], epsilon: float
) -> NDArray[np.float64]:
    """Integrate noise around the origin over the Voronoi cells of words, along rays: the mass of each, ``(words,)``.

    `words` is ``(words, d)``, `rays` ``(rays, d)`` unit vectors; `epsilon` is per unit. ``O(rays words)`` for each
    cell that a ray passes.
    """
    from scipy.special import gammainc

    shape = rays.shape[1]
    square = (words**2).sum(axis=1)
    mass = np.zeros(len(words))
    step = max(1, LENGTHS_AT_ONCE // len(words))
    for start in range(0, len(rays), step):
        along = rays[start : start + step] @ words.T
        each = np.arange(len(along))
        current = np.full(len(along), int(square.argmin()))
        mass_so_far = np.zeros(len(along))
        while len(each):
            rise = along[each] - along[each, current][:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                corner = (square - square[current][:, None]) / (2 * rise)
            # Only a word that the ray approaches faster can be the next nearest one.
            corner[rise <= 0] = np.inf
            following = corner.argmin(axis=1)
            at = corner[np.arange(len(each)), following]
            mass_to_corner = gammainc(shape, epsilon * np.maximum(at, 0.0))
            mass_to_corner = np.where(np.isinf(at), 1.0, mass_to_corner)
            np.add.at(mass, current, np.maximum(mass_to_corner - mass_so_far, 0.0))
            continues = np.isfinite(at)
            each, current, mass_so_far = (
                each[continues],
                following[continues],
                np.maximum(mass_to_corner, mass_so_far)[continues],
            )
    return mass / len(rays)
