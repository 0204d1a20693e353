r"""A lower bound for too many places at once: the sum of bounds for parts of the prior.

A loss is a sum over secrets of non-negative terms. For disjoint sets R of secrets, a channel that is private for all
pairs is private for the pairs of R and a margin around it, so that

.. math:: \sum_i p_i \sum_k c_{ik} z_{ik} \ge \sum_R \min_z \sum_{i \in R} p_i \sum_k c_{ik} z_{ik}.

Each minimum is bounded on its own, in the memory of one part. Reports outside of a part are one report more, which
costs each secret as much as its nearest place outside. A part that is left out for lack of time counts as 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.jit import clock
from discreet.core.progress import Reporter
from discreet.core.spaces.adjacency import Adjacency
from discreet.metricdp.bounds.local import local_bound, near_groups

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.progress import Progress
    from discreet.core.spaces.lengths import Lengths
    from discreet.core.spaces.metric import MetricSpace


class _Tuning(NamedTuple):
    """Size and surroundings of a part, and when its steps end."""

    secrets: int = 12288
    """Secrets of a part, without its margin: what parts lose is lost at their borders, and their memory is limited."""

    margin_nats: float = 3.0
    """Nats around a part from which constraints and reports count."""

    farthest_nats: float = 5.0
    """Nats from a report to the secrets whose constraints have prices for it: with 9 a step takes three times as
    long."""

    least_detour: float = 1.02
    """Least ratio of a way by sides of triangles to the distance that adds a constraint. 10,000 junctions within 8 km,
    two per km, after 120 s: a bound of .8117, and of .8098 with 1.05; December 2026."""

    relative_error: float = 1e-9
    """Share by which costs are reduced: more than the rounding of chords, arcs and weights."""


_TUNING = _Tuning()


@final
@dataclass(frozen=True)
class _PartCosts:
    """Costs of a part by the distances of coordinates; the last report stands for all outside.

    Parameters
    ----------
    source
        Lengths between the secrets of the part and its margin.
    coordinates
        ``(n, D)``; with a radius, on a unit sphere.
    radius
        Radius by which a chord becomes an arc, or 0.
    weights
        ``(n,)`` probabilities, 0 in the margin.
    outside
        ``(n,)`` distance of each secret to the nearest place outside; ``None`` if there is none.
    """

    source: Lengths
    coordinates: NDArray[np.float64]
    radius: float
    weights: NDArray[np.float64]
    outside: NDArray[np.float64] | None

    @property
    def homes(self) -> NDArray[np.int64]:
        """Secret of each report; the last one is at the secret nearest to a place outside."""
        own = np.arange(len(self.weights))
        return own if self.outside is None else np.append(own, self.outside.argmin())

    def block(self, secrets: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return lower bounds on ``p_i c_ik`` of `secrets` ``(a,)`` and `reports` ``(b,)``, ``(a, b)`` float64.

        The last report, if there are places outside, costs the distance to the nearest of these. ``O(a b)``.
        """
        from scipy.spatial.distance import cdist

        away = cdist(self.coordinates[secrets], self.coordinates[self.homes[reports]])
        losses = _arcs(away, self.radius)
        if self.outside is not None:
            losses = np.where(reports == len(self.weights), self.outside[secrets, None], losses)
        cost: NDArray[np.float64] = (
            self.weights[secrets, None] * losses * (1 - _TUNING.relative_error)
        )
        return cost


def bound_by_parts(
    space: MetricSpace,
    coordinates: NDArray[np.float64],
    radius: float,
    prior: NDArray[np.float64],
    epsilon: Fraction,
    *,
    time_limit: float | None = None,
    threads: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> float:
    """Bound the expected distance of every channel that is private for all pairs of places, from below.

    Parameters
    ----------
    space
        Places of a plane or a sphere, each of which is a report.
    coordinates
        ``(n, D)`` in the unit of the loss; with a radius, on a unit sphere.
    radius
        Radius of the sphere, or 0.
    prior
        ``(n,)`` probabilities of the places.
    epsilon
        Nats per unit of distance.
    time_limit
        Seconds for all parts together; the first part is always bounded.
    threads
        Threads of the steps.
    on_progress
        Called after each part.

    Returns
    -------
    float
        At least 0, rounded down.

    Complexity
    ----------
    That of :func:`~discreet.metricdp.bounds.local.local_bound` for each part.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> grid = MetricSpace.grid(6, 6, cell=1, unit="km")
    >>> 1.2 < bound_by_parts(grid, grid.points, 0.0, np.full(36, 1 / 36), Fraction(1)) < 1.33
    True
    """
    from scipy.spatial import KDTree

    from discreet.core.spaces.geography import azimuthal

    tell = Reporter(on_progress)
    end = math.inf if time_limit is None else clock() + time_limit
    flat = azimuthal(np.asarray(space.points)) if radius else coordinates
    # Nats of a chord are at most those of its arc.
    margin = _TUNING.margin_nats / float(epsilon) / (radius or 1.0)
    total = 0.0
    groups = near_groups(space.source, np.arange(space.n), _TUNING.secrets)
    groups.sort(key=lambda group: -float(prior[group].sum()))
    for count, group in enumerate(groups):
        if count and clock() >= end:
            break
        near = KDTree(coordinates[group]).query(coordinates, distance_upper_bound=margin)[0]
        inside = np.flatnonzero(np.isfinite(near))
        weights = np.zeros(space.n)
        weights[group] = prior[group]
        others, outside = np.flatnonzero(~np.isfinite(near)), None
        if len(others):
            apart = KDTree(coordinates[others]).query(coordinates[inside])[0]
            outside = _arcs(np.asarray(apart), radius)
        costs = _PartCosts(
            space.source.take(inside), coordinates[inside], radius, weights[inside], outside
        )
        remaining = None if math.isinf(end) else (end - clock()) / (len(groups) - count)
        bound = local_bound(
            costs,
            _near_pairs(space, flat, inside),
            epsilon,
            time_limit=remaining,
            farthest=_TUNING.farthest_nats,
            threads=threads,
        )
        total += max(bound.lower, 0.0)
        tell("bound of parts", done=count + 1, lower=total)
    # For the rounding of the sum; and a stored length may be a unit below the distance.
    return max(0.0, total * (1 - (len(groups) + 4) * 2.0**-52) - 2.0 ** (1 - space.scale_bits))


def _arcs(chords: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Return the arcs above chords of a unit sphere, times the radius, or `chords` as they are for radius 0.

    Same shape.
    """
    if not radius:
        return chords
    return 2 * radius * np.arcsin(np.minimum(chords / 2, 1.0))


def _near_pairs(
    space: MetricSpace, flat: NDArray[np.float64], inside: NDArray[np.int64]
) -> Adjacency:
    """Return pairs of places `inside` as constraints: any set of pairs gives a bound, and few long paths a better one.

    They are the sides of the Delaunay triangles, and of two triangles with a common side the corners opposite to it, if
    the ways by its ends are longer by a factor. 10,000 nodes of Rome: 3.0 pairs a place, whose paths are longer than
    distances of 1 to 3 nats by 6.5 % on average; 4.7 and 3.1 % with corners (2026-12).

    `space` gives the lengths; `flat` ``(n, 2)`` are points in the plane. Numbered within `inside`. Of places on one
    line, or of two, the neighbors along it. ``O(s log s)`` for s places.
    """
    from scipy.spatial import Delaunay, QhullError

    points = flat[inside] - flat[inside].mean(axis=0)

    def between(i: NDArray[np.int32], j: NDArray[np.int32]) -> NDArray[np.int64]:
        return space.source.between(inside[i], inside[j])

    try:
        mesh = Delaunay(points)
    except QhullError:
        along = (points @ np.linalg.svd(points, full_matrices=False)[2][0]).argsort()
        sides = np.stack([along[:-1], along[1:]], axis=1)
    else:
        triangle, corner = np.nonzero(mesh.neighbors >= 0)
        near, *ends = (mesh.simplices[triangle, (corner + turn) % 3] for turn in range(3))
        far = mesh.simplices[mesh.neighbors[triangle, corner]].sum(axis=1) - ends[0] - ends[1]
        around = np.minimum(*(between(near, end) + between(end, far) for end in ends))
        is_detour = around > _TUNING.least_detour * between(near, far)
        corners = np.stack([near, far], axis=1)[is_detour]
        sides = np.concatenate([*(mesh.simplices[:, [k, k - 1]] for k in range(3)), corners])
    pairs = np.unique(np.sort(sides, axis=1), axis=0).astype(np.int32)
    return Adjacency(len(inside), pairs, between(*pairs.T), space.scale_bits)
