"""Synthetic pick-ups: where people got into a car, and a public grid of places where cars could wait.

No real trips ship with this library. These have what makes real ones hard: most of them lie on a narrow strip of dense
streets, a few spots are far busier than the rest, some are strewn anywhere, and the grid knows nothing of all this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.spaces.inputs import positive_count
from discreet.datasets.city import freeze_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LENGTH, _WIDTH = 16.0, 4.0
"""Kilometers of the strip, along and across."""

_TURN = np.deg2rad(29.0)
"""The strip lies askew to the compass, as a long island may."""

_STREWN_SHARE = 0.08
"""Share of the pick-ups that lie anywhere on the strip."""


@final
@dataclass(frozen=True, eq=False)
class Pickups:
    """Pick-ups in the plane, and public candidate places.

    Parameters
    ----------
    people
        Pick-ups ``(n, 2)``, one for each person: kilometers east and north of the strip's center. Stands for what is
        private.
    places
        Candidates ``(m, 2)`` in kilometers, on a regular grid along the strip. Public.
    districts
        ``(m,)`` for each candidate one of ten districts along the strip, numbered from the south. Public.
    farthest
        Kilometers at which a waiting car is of no use any more: the Manhattan diameter of the strip. Public.

    Examples
    --------
    >>> rides = made_pickups(500, seed=1)
    >>> rides.people.shape, rides.places.shape, int(rides.districts.max()) + 1
    ((500, 2), (120, 2), 10)
    """

    people: NDArray[np.float64]
    places: NDArray[np.float64]
    districts: NDArray[np.int64]
    farthest: float

    def __post_init__(self) -> None:
        freeze_arrays(self)


def made_pickups(n: int = 5_000, *, seed: int = 0) -> Pickups:
    """Generate pick-ups.

    Parameters
    ----------
    n
        Number of pick-ups, at least 1.
    seed
        Non-negative integer; equal seeds make equal pick-ups. Places, districts and the farthest distance are the
        same for all seeds and numbers.

    Returns
    -------
    Pickups

    Raises
    ------
    InvalidProblemError
        For a number below 1.
    """
    n = positive_count(n, "n")
    rng = np.random.default_rng([seed, 0x70696B])
    n_spots = 24
    along = rng.uniform(-0.45, 0.45, n_spots) * _LENGTH
    across = rng.normal(0, 0.18, n_spots) * _WIDTH
    busy = 1.0 / np.arange(1, n_spots + 1)
    point = rng.choice(n_spots, n, p=busy / busy.sum())
    spread = rng.normal(size=(n, 2)) * (0.55, 0.3)
    strip = np.stack([along[point], across[point]], axis=1) + spread
    strewn = rng.random(n) < _STREWN_SHARE
    strip[strewn] = rng.uniform(-0.5, 0.5, (int(strewn.sum()), 2)) * (_LENGTH, _WIDTH)
    strip = np.clip(strip, (-_LENGTH / 2, -_WIDTH / 2), (_LENGTH / 2, _WIDTH / 2))
    columns, rows = 20, 6
    s = (np.arange(columns) + 0.5) / columns - 0.5
    t = (np.arange(rows) + 0.5) / rows - 0.5
    grid = np.stack(np.meshgrid(s * _LENGTH, t * _WIDTH, indexing="ij"), axis=-1).reshape(-1, 2)
    districts = np.repeat(np.arange(columns) // 2, rows)
    corners = _rotate(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) * (_LENGTH / 2, _WIDTH / 2))
    farthest = float(np.abs(corners[:, None] - corners).sum(axis=2).max())
    return Pickups(_rotate(strip), _rotate(grid), districts, farthest)


def _rotate(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotate points ``(n, 2)`` of the strip clockwise; its length points north at first."""
    along, across = points[:, 0], points[:, 1]
    east = along * np.sin(_TURN) + across * np.cos(_TURN)
    north = along * np.cos(_TURN) - across * np.sin(_TURN)
    return np.stack([east, north], axis=1)
