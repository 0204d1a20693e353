"""Maps of where a secret is reported, as SVG shapes and the numbers that a small script needs to redraw them.

Without the script the map shows the first pick. With it, a click shows the nearest place, and buttons show the picks.
Probabilities below one in a thousand are left out of the drawing, never out of the numbers beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.report.words import distance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class _Drawing(NamedTuple):
    """Sizes in a drawing, in units of its SVG."""

    width: int = 1000
    margin: int = 45
    """Space around points; cells need none."""

    legend_height: int = 92
    max_height_per_width: float = 1.3
    """Shape beyond which a map is narrowed, so that it fits a screen."""

    min_probability: float = 1e-3
    """Probability below which a mark would be too small to see."""


_DRAWING = _Drawing()

_BARS = tuple(Fraction(m) * Fraction(10) ** e for e in range(-6, 7) for m in (1, 2, 5))


@final
@dataclass(frozen=True)
class Backdrop:
    """What lies under a map of places.

    Parameters
    ----------
    roads
        ``(m, 2)`` pairs of places.
    traffic
        ``(m,)`` importance of each road, any scale: the busiest are drawn widest. ``None`` draws all alike.
    river
        ``(p, 2)`` course in the coordinates of the places, or ``None``.

    Raises
    ------
    InvalidProblemError
        When the shapes do not fit.
    """

    roads: NDArray[np.int64]
    traffic: NDArray[np.float64] | None = None
    river: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.roads.ndim != 2 or self.roads.shape[1] != 2:
            raise InvalidProblemError("roads", "pairs of places", f"shape {self.roads.shape}")
        if self.traffic is not None and self.traffic.shape != (len(self.roads),):
            raise InvalidProblemError(
                "traffic",
                f"one number for each of {len(self.roads)} roads",
                f"shape {self.traffic.shape}",
            )


@final
@dataclass(frozen=True)
class Places:
    """Secrets as places in the plane, and what is reported for each.

    Parameters
    ----------
    plane
        ``(n, 2)`` coordinates, in `unit`.
    chance
        ``(n, K)`` probability of each report.
    reports
        ``(K,)`` the place that each report names.
    loss
        ``(n, K)`` utility loss.
    unit
        Unit of the coordinates.
    loss_unit
        Unit of the loss, or nothing.
    cell
        Side of the square cells whose centers the places are, or ``None`` for places of any kind.
    """

    plane: NDArray[np.float64]
    chance: NDArray[np.float64]
    reports: NDArray[np.int64]
    loss: NDArray[np.float64]
    unit: str
    loss_unit: str = ""
    cell: float | None = None


@final
@dataclass(frozen=True)
class Strength:
    """One position of the slider that makes the promise stronger or weaker.

    Parameters
    ----------
    words
        What it is called.
    claim
        Parts of the sentence of the guarantee that change, by name.
    places
        The same places and reports, with the chances and losses at this strength.
    """

    words: str
    claim: dict[str, str]
    places: Places


@final
@dataclass(frozen=True)
class MapView:
    """What the template draws.

    Parameters
    ----------
    width, height
        Size of the drawing; the legend's strip is part of the height.
    shapes
        SVG paths of the backdrop by name.
    marks
        Marks of the first pick: x, y, size, opacity.
    true
        Where the first pick is.
    legend
        Marks that explain sizes: x, size, opacity, words.
    bar
        Length of the scale bar in the drawing, and in words.
    facts
        What the numbers beside the map are called.
    picks
        Label and index of the places that have a button.
    data
        Numbers for the script.
    """

    width: int
    height: int
    shapes: dict[str, str]
    marks: list[tuple[float, float, float, float]]
    true: tuple[float, float]
    legend: list[tuple[float, float, float, str]]
    bar: tuple[float, str]
    facts: list[str]
    picks: list[tuple[str, int]]
    data: dict[str, Any]


def draw_map(
    places: Places,
    picks: Sequence[tuple[str, int]],
    *,
    near: Sequence[Fraction],
    backdrop: Backdrop | None = None,
    strengths: Sequence[Strength] = (),
    strength: int = 0,
) -> MapView:
    """Compute the shapes and marks of a map.

    Parameters
    ----------
    places
        Where things are, and what is reported.
    picks
        Label and index of the places with a button, at least one; the first is drawn.
    near
        Distances for the numbers beside the map: how likely the report is that close.
    backdrop
        Roads and water.
    strengths
        What a slider goes through, from the strongest promise to the weakest; none for no slider.
    strength
        Index in `strengths` of the one that `places` show.

    Returns
    -------
    MapView
        For the template: the rows of all places and strengths are in its `data`; ``O(n K)`` for each strength.

    Raises
    ------
    InvalidProblemError
        Without picks, or when a pick is no place.
    """
    n = len(places.plane)
    if not picks or not all(0 <= index < n for _, index in picks):
        raise InvalidProblemError("picks", f"labels with indices below {n}", "none, or one outside")
    half = (places.cell or 0) / 2
    low, high = places.plane.min(axis=0) - half, places.plane.max(axis=0) + half
    margin, extent = _DRAWING.margin if places.cell is None else 0, high - low
    # One place alone gets a map of one unit.
    scale = (_DRAWING.width - 2 * margin) / (
        max(float(extent[0]), float(extent[1]) / _DRAWING.max_height_per_width) or 1.0
    )
    height = math.ceil(float(extent[1]) * scale + 2 * margin)
    left = (_DRAWING.width - float(extent[0]) * scale) / 2

    def project(points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map the plane to the drawing, whose y axis points down."""
        x = (points[:, 0] - low[0]) * scale + left
        y = (high[1] - points[:, 1]) * scale + margin
        return printed.positions(np.stack([x, y], axis=1))

    at = project(places.plane)
    typical = float(np.median(places.chance.max(axis=1)))
    kind, size = (
        ("disc", 50 / np.sqrt(typical)) if places.cell is None else ("cell", places.cell * scale)
    )
    first = picks[0][1]
    data = {
        "kind": kind,
        "at": at.ravel().tolist(),
        "reports": places.reports.tolist(),
        "rows": [_sparse(row) for row in places.chance],
        "size": float(size),
        "typical": typical,
        "facts": _facts(places, near),
        "strength": strength,
        "strengths": [
            {
                "words": one.words,
                "claim": one.claim,
                "rows": [_sparse(row) for row in one.places.chance],
                "facts": _facts(one.places, near),
            }
            for one in strengths
        ],
    }
    shapes = {"places": "".join(f"M{_point_text(x, y)}h0" for x, y in at)}
    if backdrop is not None:
        shapes |= _roads(backdrop, at)
        if backdrop.river is not None:
            shapes["river"] = "M" + "L".join(_point_text(x, y) for x, y in project(backdrop.river))
    if places.cell is not None:
        shapes["grid"] = _grid(at, size)
    return MapView(
        width=_DRAWING.width,
        height=height + _DRAWING.legend_height,
        shapes=shapes,
        marks=_marks(data, data["rows"][first]),
        true=(float(at[first, 0]), float(at[first, 1])),
        legend=_legend(kind, float(size), typical),
        bar=_bar(scale, places.unit),
        facts=_fact_names(places.unit, near),
        picks=list(picks),
        data=data,
    )


def _sparse(row: NDArray[np.float64]) -> list[int]:
    """Return the reports of `row` ``(K,)`` that can be seen: report, ten-thousandths, report, ten-thousandths, ..."""
    (seen,) = np.nonzero(row >= _DRAWING.min_probability)
    pairs = np.stack([seen, 1e4 * row[seen] + 0.5], axis=1).astype(np.int64)
    flat: list[int] = pairs.ravel().tolist()
    return flat


def _marks(data: dict[str, Any], row: list[int]) -> list[tuple[float, float, float, float]]:
    """Return x, y, size and opacity of one mark for each report of `row`, as `_sparse` returned it.

    `data` is that of the map. The script of the page does the same.
    """
    marks = []
    for report, share in zip(row[::2], row[1::2], strict=True):
        place = data["reports"][report]
        x, y = data["at"][2 * place], data["at"][2 * place + 1]
        size, opacity = _mark(data["kind"], data["size"], data["typical"], share / 1e4)
        marks.append((x, y, size, opacity))
    return marks


def _mark(kind: str, size: float, typical: float, share: float) -> tuple[float, float]:
    """Return size and opacity of a mark: the area of a disc, or the tint of a cell, grows with the probability `share`.

    `typical` is the probability at which a cell has its full tint.
    """
    root = float(np.sqrt(share))
    if kind == "disc":
        return size * root, 0.62
    return size, min(1.0, root / float(np.sqrt(typical)))


def _legend(kind: str, size: float, typical: float) -> list[tuple[float, float, float, str]]:
    """Return two marks with a probability each, the larger near what is typical: x, width, opacity, text.

    `size` is that of a disc of probability 1, or the side of a cell.
    """
    shares = [m * 10.0**e for e in range(-6, 1) for m in (1, 2, 5)]
    largest = max(place for place, share in enumerate(shares) if share <= typical or place < 3)
    marks, x = [], 585.0
    for shown in (shares[largest - 2], shares[largest]):
        width, opacity = _mark(kind, size, typical, shown)
        drawn = width if kind == "disc" else 34.0
        marks.append((x, drawn, opacity, printed.share(shown, 4)))
        x += 120 + (2 if kind == "disc" else 1) * drawn
    return marks


def _bar(scale: float, unit: str) -> tuple[float, str]:
    """Return the longest round length that is at most a quarter of the map: its length in the drawing, and as text.

    `scale` is units of the drawing for each `unit`.
    """
    fitting = [bar for bar in _BARS if float(bar) * scale <= _DRAWING.width / 4]
    bar = fitting[-1] if fitting else _BARS[0]
    return float(bar) * scale, distance(bar, unit)


def _fact_names(unit: str, near: Sequence[Fraction]) -> list[str]:
    """Return the names of the facts of a place on a map."""
    within = [f"reported within {distance(length, unit)}" for length in near]
    return ["reported as it is", *within, "expected loss"]


def _facts(places: Places, near: Sequence[Fraction]) -> list[list[str]]:
    """Return for each secret its facts as texts: chance of a right report, of one within each distance, expected loss.

    `near` are distances in the unit of the places. ``O(n K)`` time and memory.
    """
    target = places.plane[places.reports]
    away = np.sqrt(((places.plane[:, None, :] - target[None]) ** 2).sum(axis=2))
    columns = [
        np.where(places.reports == np.arange(len(away))[:, None], places.chance, 0).sum(axis=1)
    ]
    columns += [np.where(away <= float(d) + 1e-9, places.chance, 0).sum(axis=1) for d in near]
    loss = (places.chance * places.loss).sum(axis=1)
    return [
        [
            *(printed.share(float(column[i]), 1) for column in columns),
            printed.at_most(float(loss[i]), 3, places.loss_unit),
        ]
        for i in range(len(away))
    ]


def _roads(backdrop: Backdrop, at: NDArray[np.float64]) -> dict[str, str]:
    """Return the SVG paths of "streets", "roads" and "avenues": roads in groups of 60, 26 and 14 %, by their traffic.

    Without traffic all are streets. `at` ``(n, 2)``: places in units of the drawing.
    """
    count = len(backdrop.roads)
    rank = np.zeros(count)
    if backdrop.traffic is not None:
        rank[np.argsort(backdrop.traffic, kind="stable")] = np.arange(1, count + 1) / count
    names = ("streets", "roads", "avenues")
    group = np.digitize(rank, (0.6, 0.86))
    return {
        name: "".join(
            f"M{_point_text(*one)}L{_point_text(*other)}"
            for one, other in at[backdrop.roads[group == g]]
        )
        for g, name in enumerate(names)
    }


def _grid(at: NDArray[np.float64], size: float) -> str:
    """Return the SVG path of the lines between square cells of side `size` with centers `at` ``(n, 2)``."""
    xs, ys = np.unique(at[:, 0]), np.unique(at[:, 1])
    left, right = xs[0] - size / 2, xs[-1] + size / 2
    top, bottom = ys[0] - size / 2, ys[-1] + size / 2
    lines = [f"M{_point_text(x, top)}L{_point_text(x, bottom)}" for x in [left, *(xs + size / 2)]]
    lines += [f"M{_point_text(left, y)}L{_point_text(right, y)}" for y in [top, *(ys + size / 2)]]
    return "".join(lines)


def _point_text(x: float, y: float) -> str:
    """Return a point as text."""
    return f"{printed.position(x)} {printed.position(y)}"
