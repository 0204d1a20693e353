r"""The cost reference table: Section 4.5 of [QLPSX24]_, with the estimates (25) and (31).

The server knows the targets, the users do not. It publishes :math:`\beta` for the pairs of a fine set of places
:math:`\hat V`; a user takes the nearest :math:`\hat v` of each place and corrects for the difference,

.. math::

    \hat c_{ik} = p_i\,(\beta_{\hat\imath \hat k} + o_i + o_k), \qquad
    \tilde c_{ik} = p_i\,(\beta_{\hat\imath \hat k} - o_i - o_k).

Lemma B.1 says that :math:`\hat c \ge c` and Lemma B.2 that :math:`\tilde c \le c`. Both follow from the triangle
inequality of *travel cost*, so that the offsets must be travel costs, both ways where streets are one-way:
:math:`o_i = \max(T_{i \hat\imath}, T_{\hat\imath i})`. The paper has distances as the crow flies there, and then
neither lemma is true on roads (C11). Where the table takes the targets to their nearest :math:`\hat v` too, as the
paper defines beta, each target's own offset has to be added twice.

The table hides nothing of the targets: beta is linear in q, and a few thousand entries give q back (B6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet_reproduction.lrgeo.as_published.instance import distribution, trip_cost

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def nearest_fine(distances: ArrayLike) -> NDArray[np.int64]:
    """Give for each place the number of the nearest fine place, the first of several.

    Parameters
    ----------
    distances
        ``(K, F)`` from places to fine places.

    Examples
    --------
    >>> nearest_fine([[0.2, 0.1], [0.3, 0.5]]).tolist()
    [1, 0]
    """
    nearest: NDArray[np.int64] = np.asarray(distances, dtype=np.float64).argmin(axis=1)
    return nearest


@final
@dataclass(frozen=True, eq=False, init=False)
class CostTable:
    """What the server publishes, and how a place finds itself in it.

    Parameters
    ----------
    to_targets
        ``(F, L)`` travel cost from the fine places to the targets.
    shares
        q, ``(L,)``; ``None`` for equal ones.
    nearest
        ``(K,)``: the fine place of each place.
    offsets
        ``(K,)``: how far each place is from its fine place. Travel costs, the larger of both ways, make the estimates
        bounds; distances are what is published.
    moved
        How far any target was moved to a fine place, in travel cost; 0 where `to_targets` is from the true targets.

    Raises
    ------
    InvalidProblemError
        For shapes that do not fit, or offsets that are negative.

    Complexity
    ----------
    ``O(F^2 L)``.

    Examples
    --------
    >>> table = CostTable([[0.0], [4.0]], None, [0, 1, 1], [0.5, 0.0, 1.0])
    >>> table.estimate("upper").tolist()
    [[0.0, 4.5, 5.5], [4.5, 0.0, 1.0], [5.5, 1.0, 0.0]]
    >>> table.estimate("lower").tolist()
    [[0.0, 3.5, 2.5], [3.5, 0.0, 0.0], [2.5, 0.0, 0.0]]
    """

    beta: NDArray[np.float64]
    nearest: NDArray[np.int64]
    offsets: NDArray[np.float64]
    moved: float

    def __init__(
        self,
        to_targets: ArrayLike,
        shares: ArrayLike | None,
        nearest: ArrayLike,
        offsets: ArrayLike,
        *,
        moved: float = 0.0,
    ) -> None:
        beta = trip_cost(to_targets, shares)
        near = np.array(nearest, dtype=np.int64)
        off = np.array(offsets, dtype=np.float64)
        if near.ndim != 1 or not len(near) or near.min() < 0 or near.max() >= len(beta):
            raise InvalidProblemError("nearest", f"numbers from 0 to {len(beta) - 1}", near.shape)
        if off.shape != near.shape or not (off >= 0).all() or not moved >= 0:
            raise InvalidProblemError("offsets", f"{len(near)} costs of at least 0", off.shape)
        for name, array in (("beta", beta), ("nearest", near), ("offsets", off)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "moved", float(moved))

    @classmethod
    def from_roads(
        cls,
        travel: ArrayLike,
        fine: ArrayLike,
        targets: ArrayLike,
        distances: ArrayLike,
        *,
        shares: ArrayLike | None = None,
        offsets: Literal["travel", "distance"] = "travel",
        snap_targets: bool = False,
    ) -> CostTable:
        """Make the table of a network, and its estimates for all of its places.

        Parameters
        ----------
        travel
            ``(K, K)`` directed travel costs.
        fine
            Numbers of the places that are in the table.
        targets
            Numbers of the places that are targets.
        distances
            ``(K, K)`` distances, by which the nearest fine place is found.
        shares
            q, one for each target.
        offsets
            ``"travel"``, which the lemmas need, or ``"distance"``, as published.
        snap_targets
            Whether the table has each target at its nearest fine place, as the paper's beta.
        """
        way, apart = np.asarray(travel, np.float64), np.asarray(distances, np.float64)
        kept, ends = np.asarray(fine, np.int64), np.asarray(targets, np.int64)
        if offsets not in {"travel", "distance"}:
            raise InvalidProblemError("offsets", "'travel' or 'distance'", repr(offsets))
        near = nearest_fine(apart[:, kept])
        home = kept[near]
        here = np.arange(len(way))
        both = np.maximum(way[here, home], way[home, here])
        off = both if offsets == "travel" else apart[here, home]
        moved = 0.0
        if snap_targets:
            moved, ends = float(off[ends].max()), home[ends]
        return cls(way[np.ix_(kept, ends)], shares, near, off, moved=moved)

    def estimate(
        self,
        side: Literal["upper", "lower", "table"],
        prior: ArrayLike | None = None,
        *,
        clamp: bool = True,
    ) -> NDArray[np.float64]:
        """Estimate beta, or c where a prior is given, for all pairs of places.

        Parameters
        ----------
        side
            ``"upper"``: Equation (25). ``"lower"``: (31). ``"table"``: the entries as they stand.
        prior
            p; ``None`` to leave it out.
        clamp
            Whether a cost of a place to itself is 0, and a lower estimate at least 0. As published neither is.

        Returns
        -------
        ndarray
            ``(K, K)``.
        """
        signs = {"upper": 1.0, "lower": -1.0, "table": 0.0}
        if side not in signs:
            raise InvalidProblemError("side", "'upper', 'lower' or 'table'", repr(side))
        sign = signs[side]
        table = self.beta[np.ix_(self.nearest, self.nearest)] + sign * (
            self.offsets[:, None] + self.offsets[None, :] + 2 * self.moved
        )
        if clamp:
            np.fill_diagonal(table, 0.0)
            np.maximum(table, 0.0, out=table)
        if prior is not None:
            table *= distribution(prior, len(table), "prior")[:, None]
        return table

    def within(self, fine_distances: ArrayLike, radius: float) -> NDArray[np.int64]:
        """Cut the table down to what a disc asks for: Section 4.5, "size reduction".

        Parameters
        ----------
        fine_distances
            ``(F,)`` distance of each fine place from the disc's center.
        radius
            See :func:`~discreet_reproduction.lrgeo.as_published.request_disc.request_radius`.

        Returns
        -------
        ndarray
            Numbers of the fine places in the disc.
        """
        return np.flatnonzero(np.asarray(fine_distances, dtype=np.float64) <= radius)
