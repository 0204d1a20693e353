"""The cost of a report: the error of travel distances to targets that are computed from the reported place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError, first_unfit
from discreet.core.options import array_of, numbers_below

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def travel_loss(
    travel: NDArray[np.float64], targets: ArrayLike, weights: ArrayLike | None = None
) -> NDArray[np.float64]:
    r"""Compute by how much the way to a target is misjudged when place i is reported as place k.

    .. math:: \beta_{ik} = \sum_l q_l \, | T_{il} - T_{kl} |

    ``O(K^2 L)`` for K places and L targets.

    Parameters
    ----------
    travel
        ``(K, K)`` travel distances T, from row to column.
    targets
        Places where targets are, ``(L,)``.
    weights
        q, ``(L,)`` probabilities of the targets; uniform by default. All of it is public.

    Returns
    -------
    ndarray
        ``(K, K)``: symmetric, zero on the diagonal, with the triangle inequality.

    Raises
    ------
    InvalidProblemError
        For distances that are infinite or negative, targets that are no places, or weights that are no probabilities.

    References
    ----------
    [QLPSX24]_, Equations (3) to (5).

    Examples
    --------
    >>> way = np.array([[0.0, 1.0, 3.0], [1.5, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> travel_loss(way, [2]).tolist()
    [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    """
    ways = array_of(travel, "travel", "a square array of distances", np.float64)
    n = len(ways) if ways.ndim == 2 else 0
    if not n or ways.shape != (n, n):
        raise InvalidProblemError("travel", "a square array of distances", ways.shape)
    fits = np.isfinite(ways) & (ways >= 0)
    if not fits.all():
        raise InvalidProblemError("travel", "finite, not negative", first_unfit(ways, fits))
    chosen = numbers_below(targets, n, "targets", "places")
    share = np.full(len(chosen), 1 / len(chosen)) if weights is None else _shares(weights, chosen)
    loss = np.zeros((n, n))
    for target, q in zip(chosen.tolist(), share.tolist(), strict=True):
        way = ways[:, target]
        loss += q * np.abs(way[:, None] - way)
    return loss


def _shares(weights: ArrayLike, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a probability for each of the targets `chosen` ``(L,)``, float64; raise InvalidProblemError for others.

    They must not be negative, and sum to 1 up to ``1e-9``.
    """
    share = array_of(weights, "weights", f"{len(chosen)} probabilities", np.float64)
    if share.shape != chosen.shape or not (share >= 0).all() or abs(share.sum() - 1) > 1e-9:
        raise InvalidProblemError("weights", f"{len(chosen)} probabilities", share.shape)
    return share
