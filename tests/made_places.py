"""Made places: families of points, roads, words and terms of a taxonomy on which the design of channels is measured.

A method that is tuned on one grid is slow elsewhere. These families differ in what matters to it: how many neighbors a
secret has, how far apart they are, how uneven the prior is, and whether losses follow the distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.spaces.metric import MetricSpace
from discreet.datasets.city import made_city

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

FAMILIES = (
    "grid",
    "jittered grid",
    "uniform",
    "clustered",
    "near duplicates",
    "lines",
    "roads",
    "words, cosine",
    "words, euclidean",
    "taxonomy",
)
"""What :func:`made_places` knows."""

PRIORS = ("uniform", "skewed", "zeros")
"""Six bumps times Gamma noise; and the same with a third of the secrets never occurring."""

LOSSES = ("distance", "unrelated")
"""The distance to the report; and uniform numbers that have nothing to do with it."""

_MIN_CONSTRAINED_NEIGHBORS = 12
"""Constrained neighbors that half of the secrets have at least: as many as cells of a grid within two steps."""

_DUPLICATES, _TINY = 0.1, 1e-6
"""Part of the points that have a near duplicate, and how far away it is in units of the spacing."""

_DIMENSIONS, _TOPICS, _LENGTH = 8, 12, 50
"""Dimensions in which words differ, groups of them, and the length of their vectors."""

_MIN_PLACES = 30


@final
@dataclass(frozen=True, eq=False)
class MadePlaces:
    """A synthetic instance of metric privacy, all of it public.

    Parameters
    ----------
    family
        Which of :data:`FAMILIES`.
    space
        The metric space of the secrets; its unit is ``"km"``, or ``"rad"`` for cosines.
    prior
        ``(n,)``.
    loss
        ``(n, n_reports)``.
    reports
        ``(n_reports,)`` which secrets may be reported, or ``None`` for all.
    radius
        Within which half of the secrets have at least twelve neighbors.
    spacing
        Median distance to the nearest other secret, near duplicates not counted: epsilon times it says how hard the
        instance is.
    """

    family: str
    space: MetricSpace
    prior: NDArray[np.float64]
    loss: NDArray[np.float64]
    reports: NDArray[np.int64] | None
    radius: float
    spacing: float


def made_places(
    family: str,
    n: int,
    *,
    seed: int,
    prior: str = "skewed",
    loss: str = "distance",
    n_reports: int | None = None,
) -> MadePlaces:
    """Draw an instance.

    Parameters
    ----------
    family
        One of :data:`FAMILIES`.
    n
        Secrets, at least 30. A grid has the largest number of full rows that is not more.
    seed
        Of everything that is drawn.
    prior
        One of :data:`PRIORS`.
    loss
        One of :data:`LOSSES`.
    n_reports
        So many secrets, drawn at random, may be reported; ``None`` for all.

    Returns
    -------
    MadePlaces
        Coordinates are of about unit density.

    Raises
    ------
    InvalidProblemError
        For a name that is not there, and numbers out of range.

    Examples
    --------
    >>> places = made_places("clustered", 40, seed=1, n_reports=10)
    >>> places.space.n, places.loss.shape, round(float(places.prior.sum()), 6)
    (40, (40, 10), 1.0)
    """
    for name, counts, known in (
        ("family", family, FAMILIES),
        ("prior", prior, PRIORS),
        ("loss", loss, LOSSES),
    ):
        if counts not in known:
            raise unknown_name(name, counts, known)
    if n < _MIN_PLACES:
        raise InvalidProblemError("n", f"at least {_MIN_PLACES} secrets", n)
    rng = np.random.default_rng(seed)
    space, points = _space(family, n, rng)
    lengths: NDArray[np.float64] = np.asarray(space.distances * 2.0**-space.scale_bits)
    reports = None
    if n_reports is not None:
        if not 1 <= n_reports <= space.n:
            raise InvalidProblemError("n_reports", f"1 to {space.n} reports", n_reports)
        reports = np.sort(rng.choice(space.n, n_reports, replace=False))
    table = lengths if reports is None else lengths[:, reports]
    if loss == "unrelated":
        table = rng.random(table.shape)
    ranked = np.sort(np.where(lengths > 1e-3 * np.median(lengths), lengths, np.inf), axis=1)
    spacing = float(np.median(ranked[:, 0]))
    radius = float(np.median(ranked[:, min(_MIN_CONSTRAINED_NEIGHBORS, space.n - 1) - 1])) * (
        1 + 1e-6
    )
    return MadePlaces(family, space, _prior(prior, points, rng), table, reports, radius, spacing)


def _space(family: str, n: int, rng: Generator) -> tuple[MetricSpace, NDArray[np.float64]]:
    """Draw the metric space, and points that a prior may depend on."""
    if family == "roads":
        city = made_city(n, seed=int(rng.integers(2**31)))
        space = MetricSpace.from_graph(
            city.n, city.edges, city.lengths, unit="km", points=city.points
        )
        return space, np.asarray(city.points)
    if family.startswith("words"):
        vectors = _words(n, rng)
        metric, unit = ("angular", "rad") if family == "words, cosine" else ("euclidean", "km")
        return MetricSpace.from_points(vectors, metric=metric, unit=unit), vectors
    if family == "taxonomy":
        return MetricSpace.from_matrix(_taxonomy(n, rng), unit="km"), np.arange(n, dtype=float)[
            :, None
        ]
    points = _points(family, n, rng)
    return MetricSpace.from_points(points, unit="km"), points


def _points(family: str, n: int, rng: Generator) -> NDArray[np.float64]:
    """Draw points in the plane, about one in a square of side 1."""
    side = float(np.sqrt(n))
    if family in {"grid", "jittered grid"}:
        columns = int(side)
        cells = np.array([(x, y) for y in range(n // columns) for x in range(columns)], dtype=float)
        return cells if family == "grid" else cells + rng.uniform(-0.35, 0.35, cells.shape)
    if family == "clustered":
        # A wide scale and a narrow one: towns, and houses around squares in them.
        towns = rng.uniform(0, side, (max(3, n // 60), 2))
        wide = towns[rng.integers(len(towns), size=n)] + rng.normal(0, side / 8, (n, 2))
        squares = wide[rng.integers(max(2, n // 8), size=n)]
        narrow = squares + rng.normal(0, side / 60, (n, 2))
        return np.where(rng.random((n, 1)) < 0.5, wide, narrow)
    if family == "lines":
        angle, along = rng.integers(4, size=n) * np.pi / 4, rng.uniform(-1, 1, n) * n / 8
        return np.column_stack([along * np.cos(angle), along * np.sin(angle)])
    points = rng.uniform(0, side, (n, 2))
    if family == "near duplicates":
        some = rng.permutation(n)[: 2 * int(_DUPLICATES * n / 2 + 1)]
        first, second = np.split(some, 2)
        points[second] = points[first] + _TINY * rng.choice([-1.0, 1.0], (len(first), 2))
    return points


def _words(n: int, rng: Generator) -> NDArray[np.float64]:
    """Draw vectors that differ in few dimensions, in groups, with a little noise in all."""
    centers = rng.normal(0, 1.5, (_TOPICS, _DIMENSIONS))
    latent = centers[rng.integers(_TOPICS, size=n)] + rng.normal(0, 0.7, (n, _DIMENSIONS))
    spread = rng.normal(0, 1 / np.sqrt(_DIMENSIONS), (_DIMENSIONS, _LENGTH))
    vectors: NDArray[np.float64] = latent @ spread + 0.02 * rng.normal(size=(n, _LENGTH))
    return vectors


def _taxonomy(n: int, rng: Generator) -> NDArray[np.float64]:
    """Draw lengths between terms by the height of the lowest group of both; groups have two to six parts."""
    apart = np.zeros((n, n))

    def divide(first: int, last: int) -> float:
        if last - first < 2:
            return 0.0
        cuts = first + rng.choice(
            last - first, min(last - first, int(rng.integers(2, 7))), replace=False
        )
        ends = np.unique([first, *cuts, last])
        height = rng.uniform(0.8, 1.2) + max(divide(a, b) for a, b in pairwise(ends.tolist()))
        for a, b in pairwise(ends.tolist()):
            apart[a:b, first:a] = apart[first:a, a:b] = height
        return float(height)

    divide(0, n)
    return apart


def _prior(kind: str, points: NDArray[np.float64], rng: Generator) -> NDArray[np.float64]:
    n = len(points)
    if kind == "uniform":
        return np.full(n, 1 / n)
    prior = np.full(n, 0.02)
    extent = float(np.ptp(points, axis=0).max())
    for _ in range(6):
        apart = np.linalg.norm(points - points[rng.integers(n)], axis=1)
        prior += np.exp(-0.5 * (apart / (extent * rng.uniform(0.06, 0.2))) ** 2)
    prior *= rng.gamma(2.0, size=n)
    if kind == "zeros":
        prior[rng.permutation(n)[: n // 3]] = 0.0
    made: NDArray[np.float64] = prior / prior.sum()
    return made
