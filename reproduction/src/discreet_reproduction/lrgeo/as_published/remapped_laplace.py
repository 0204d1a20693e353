r"""Planar Laplace noise at points, then the Bayes remap to a set of reports: [ABCP13]_ with [CEP17]_.

A point x is moved to y with density :math:`\frac{\epsilon^2}{2 \pi} e^{-\epsilon |x - y|}`, and y is renamed to the
report that loses least on average over the points that y may have come from,

.. math:: b(y) = \arg\min_k \sum_x p_x\, \ell_k(x)\, e^{-\epsilon |x - y|} .

Any two points of the plane are protected, by the triangle inequality, and renaming is post-processing. So it is sound
in real numbers, needs no program, and is what a mechanism with the same reports has to beat. The plane is cut into
squares here, whose centers stand for them: each square's factor keeps the ratio exactly, so that the laws do too, up to
the last digits of floats; their sums differ from 1 by what the squares miss, which :attr:`RemappedLaplace.missed` says.
No sampler draws from it, which is why it stands here: as a peer, for comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FAR = 14.0
"""Nats around the points: beyond, a part in 10^5 of the noise is left."""

_CHUNK = 1 << 22
"""Entries of a table of points and squares at a time."""


@final
@dataclass(frozen=True, eq=False)
class RemappedLaplace:
    """A partition of the plane into squares, each with its report.

    Parameters
    ----------
    epsilon
        Nats per unit of distance.
    squares
        Centers, ``(S, 2)``.
    side
        Of a square.
    reports
        ``(S,)``: the report of each square.
    n_reports
        How many reports there are.
    utility_loss
        Expected loss over the points that it was made for.
    missed
        Most of the mass that the squares miss or count too much, over those points.
    """

    epsilon: float
    squares: NDArray[np.float64]
    side: float
    reports: NDArray[np.int64]
    n_reports: int
    utility_loss: float
    missed: float

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        return "its laws are sums of floats over squares, and no sampler draws from them exactly"

    def law(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute what points report, ``(P, K)``; rows sum to 1 but for what the squares miss."""
        laws = np.zeros((len(points), self.n_reports))
        order = np.argsort(self.reports, kind="stable")
        used, starts = np.unique(self.reports[order], return_index=True)
        step = max(1, _CHUNK // len(self.squares))
        for begin in range(0, len(points), step):
            some = slice(begin, begin + step)
            density = _density(points[some], self.squares[order], self.side, self.epsilon)
            laws[some, used] = np.add.reduceat(density, starts, axis=1)
        return laws


def remapped_laplace(
    points: NDArray[np.float64],
    prior: NDArray[np.float64],
    loss: NDArray[np.float64],
    epsilon: float,
    *,
    squares: int = 160,
) -> RemappedLaplace:
    """Choose the report of each square of the plane.

    Parameters
    ----------
    points
        ``(P, 2)``: where users may be.
    prior
        ``(P,)`` probabilities.
    loss
        ``(P, K)``: what each report loses at each point.
    epsilon
        Nats per unit of distance.
    squares
        On a side of the area that is cut: the points' bounding box and 14 / epsilon around it.

    Returns
    -------
    RemappedLaplace
        The partition.

    Raises
    ------
    InvalidProblemError
        For arrays that do not fit each other, or an epsilon that is not positive.

    Complexity
    ----------
    ``O(P S K)`` for S squares.

    Examples
    --------
    >>> users = np.array([(x, y) for x in (0.0, 1.0, 2.0) for y in (0.0, 1.0, 2.0)])
    >>> away = np.hypot(*(users[:, None] - users).transpose(2, 0, 1))
    >>> made = remapped_laplace(users, np.full(9, 1 / 9), away, 2.0)
    >>> made.utility_loss < 2 / 2.0, made.missed < 0.01
    (True, True)
    """
    if loss.shape[:1] != prior.shape or points.shape != (len(prior), 2) or not len(prior):
        raise InvalidProblemError("points", "as many as prior and loss have rows", points.shape)
    if not 0 < epsilon < math.inf or squares < 1:
        raise InvalidProblemError("epsilon", "a positive number, and a square", epsilon)
    around = _FAR / epsilon
    low, high = points.min(axis=0) - around, points.max(axis=0) + around
    side = float((high - low).max()) / squares
    counts = np.maximum(1, np.ceil((high - low) / side)).astype(np.int64)
    lines = [low[axis] + side * (np.arange(counts[axis]) + 0.5) for axis in (0, 1)]
    centers = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 2)
    chosen = np.zeros(len(centers), dtype=np.int64)
    lost, mass = 0.0, np.zeros(len(points))
    weighted = prior[:, None] * loss
    step = max(1, _CHUNK // len(points))
    for begin in range(0, len(centers), step):
        some = slice(begin, begin + step)
        density = _density(points, centers[some], side, epsilon)
        worth = density.T @ weighted
        chosen[some] = worth.argmin(axis=1)
        lost += float(worth.min(axis=1).sum())
        mass += density.sum(axis=1)
    missed = float(np.abs(mass - 1).max())
    return RemappedLaplace(
        epsilon, centers, side, chosen, loss.shape[1], lost / float(prior @ mass), missed
    )


def _density(
    points: NDArray[np.float64], squares: NDArray[np.float64], side: float, epsilon: float
) -> NDArray[np.float64]:
    away = np.hypot(
        points[:, None, 0] - squares[None, :, 0], points[:, None, 1] - squares[None, :, 1]
    )
    return (epsilon * side) ** 2 / (2 * math.pi) * np.exp(-epsilon * away)
