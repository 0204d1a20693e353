r"""What the algorithms of the paper compute with: plain arrays, all of them public.

Places are numbered 0 to K - 1. Distances are kilometers, or whatever unit the instance names, and epsilon is per that
unit. The cost of a report is the difference that it makes to a trip: with :math:`T_{il}` the travel cost from place i
to target l and :math:`q_l` the share of trips that go there,

.. math:: \beta_{ik} = \sum_l q_l\, |T_{il} - T_{kl}|, \qquad c_{ik} = p_i\, \beta_{ik},

Equations (3) to (5) of [QLPSX24]_. Beta is a pseudometric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import read_unit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.spaces.metric import MetricSpace


class _Region(Protocol):
    """What is asked of a region."""

    @property
    def space(self) -> MetricSpace: ...

    @property
    def travel(self) -> NDArray[np.float64]: ...


def trip_cost(to_targets: ArrayLike, shares: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""Give :math:`\beta_{ik} = \sum_l q_l |T_{il} - T_{kl}|`.

    Parameters
    ----------
    to_targets
        ``(K, L)`` travel cost from each place to each target.
    shares
        ``(L,)``: q, summing to 1. ``None`` for equal ones.

    Returns
    -------
    ndarray
        ``(K, K)``, symmetric, zero on the diagonal.

    Raises
    ------
    InvalidProblemError
        For costs that are not finite, and shares that are no distribution.

    Complexity
    ----------
    ``O(K^2 L)``.

    Examples
    --------
    >>> trip_cost([[0.0, 3.0], [1.0, 1.0]]).tolist()
    [[0.0, 1.5], [1.5, 0.0]]
    """
    table = np.asarray(to_targets, dtype=np.float64)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise InvalidProblemError("to_targets", "finite costs, shape (K, L)", f"{table.shape}")
    q = distribution(shares, table.shape[1], "shares")
    beta = np.zeros((len(table), len(table)))
    for column, share in zip(table.T, q.tolist(), strict=True):
        beta += share * np.abs(column[:, None] - column[None, :])
    return beta


def distribution(values: ArrayLike | None, size: int, field: str) -> NDArray[np.float64]:
    """Read a distribution; equal shares for ``None``."""
    if values is None:
        return np.full(size, 1.0 / size)
    given = np.array(values, dtype=np.float64)
    if given.shape != (size,) or not (given >= 0).all() or not abs(given.sum() - 1) <= 1e-9:
        raise InvalidProblemError(field, f"{size} shares that sum to 1", f"shape {given.shape}")
    return given


@final
@dataclass(frozen=True, eq=False, init=False)
class Instance:
    """Places, distances, what reports cost, and a prior.

    Parameters
    ----------
    distances
        ``(K, K)``: a metric on the places; symmetric, positive off the diagonal.
    cost
        ``(K, K)``: beta, without the prior. See :func:`trip_cost`.
    prior
        ``(K,)``: p. ``None`` for equal shares.
    unit
        Unit of the distances.

    Raises
    ------
    InvalidProblemError
        For arrays of the wrong shape, distances that are no metric, or negative costs.

    Examples
    --------
    >>> line = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    >>> Instance(line, line, unit="km").size
    3
    >>> Instance([[0.0, 1.0], [2.0, 0.0]], [[0, 1], [1, 0]], unit="km")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: distances: expected symmetric, positive off the diagonal, zero ...
    """

    distances: NDArray[np.float64]
    beta: NDArray[np.float64]
    prior: NDArray[np.float64]
    unit: str

    def __init__(
        self, distances: ArrayLike, cost: ArrayLike, prior: ArrayLike | None = None, *, unit: str
    ) -> None:
        d = _square(distances, "distances")
        off = ~np.eye(len(d), dtype=bool)
        if not ((d[off] > 0).all() and (np.diag(d) == 0).all() and np.abs(d - d.T).max() == 0):
            raise InvalidProblemError(
                "distances", "symmetric, positive off the diagonal, zero on it", "others"
            )
        beta = _square(cost, "cost")
        if beta.shape != d.shape or not (beta >= 0).all():
            raise InvalidProblemError(
                "cost", f"nonnegative costs, shape {d.shape}", f"shape {beta.shape}"
            )
        p = distribution(prior, len(d), "prior")
        for name, array in (("distances", d), ("beta", beta), ("prior", p)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "unit", read_unit(unit))

    @classmethod
    def from_region(
        cls,
        region: _Region,
        *,
        targets: ArrayLike | None = None,
        shares: ArrayLike | None = None,
        prior: ArrayLike | None = None,
    ) -> Instance:
        """Read a region: its stored distances, and its travel costs.

        Parameters
        ----------
        region
            The region.
        targets
            Numbers of the places that are trips' targets. ``None`` for all.
        shares
            q, one for each target. ``None`` for equal ones.
        prior
            p, one for each place. ``None`` for equal ones.
        """
        space, travel = region.space, region.travel
        distances = np.ldexp(space.distances.astype(np.float64), -space.scale_bits)
        where = np.arange(len(travel)) if targets is None else _numbers(targets, len(travel))
        return cls(distances, trip_cost(travel[:, where], shares), prior, unit=space.unit)

    @property
    def size(self) -> int:
        """Number of places, K."""
        return len(self.distances)

    @property
    def cost(self) -> NDArray[np.float64]:
        """``(K, K)``: c, with the prior in it."""
        priced: NDArray[np.float64] = self.prior[:, None] * self.beta
        return priced

    def place(self, number: int, field: str = "place") -> int:
        """Check the number of a place, without repeating it."""
        if not 0 <= number < self.size:
            raise InvalidProblemError(field, f"a place from 0 to {self.size - 1}", "another")
        return int(number)


def _numbers(values: ArrayLike, size: int) -> NDArray[np.int64]:
    given = np.asarray(values)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not given.size:
        raise InvalidProblemError("targets", "numbers of places", f"{given.dtype}, {given.shape}")
    if given.min() < 0 or given.max() >= size:
        raise InvalidProblemError("targets", f"places from 0 to {size - 1}", "another")
    return given.astype(np.int64)


def _square(values: ArrayLike, field: str) -> NDArray[np.float64]:
    given = np.array(values, dtype=np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not given.size:
        raise InvalidProblemError(field, "a square matrix", f"shape {given.shape}")
    if not np.isfinite(given).all():
        raise InvalidProblemError(field, "finite numbers", "others")
    return given
