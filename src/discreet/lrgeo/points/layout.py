r"""How a region of places becomes a plane with a mesh: its box, its envelope, where it is fine, and which reports.

The mesh covers the box around the places, which is convex, and is as fine everywhere as epsilon needs: columns fall
off between places as well. Where the table of weights would be too large to publish, cells that hold no place are up to
four times as wide; where that is not enough, every so many places are reports, spread evenly, or the mesh is coarser,
whichever loses less: with cells of h a mesh loses :math:`\epsilon h / \ln(1 + \epsilon h)` times the optimum, and with
one report in each area of :math:`s^2` a report is off by :math:`s^2 / 6` in the square more, beside
:math:`6 / \epsilon^2` of the planar Laplace distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.core.spaces.lattice import LatticeLengths
from discreet.lrgeo.places.plane import DEGREE
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.frame import PER_DEGREE, SCALE, PointFrame
from discreet.lrgeo.points.lattice import FINE, lattice, refined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.lrgeo.places.region import Region
    from discreet.lrgeo.points.mesh import Mesh

__all__ = ["MOST_WEIGHTS", "PointLayout", "grid_cell", "lay_out", "plane_of", "told"]

MOST_WEIGHTS = 2_600_000
"""Weights in a table, at most: a file of 21 MB. Tables of more are made with fewer reports."""

_COARSEST = Fraction(1)
"""Epsilon times the side of a cell, at most, before a region is refused as too large."""

_FEWEST = 100
"""Reports, where there are as many places: rather than with fewer the mesh is made coarser."""

_HALVINGS, _NARROW = 2, 16
"""How often cells away from places are doubled, and the cells across a region below which none are."""

_LARGEST_FACTOR = 4
"""How much finer than needed a mesh may be so that the places of a grid are vertices."""


@final
@dataclass(frozen=True, eq=False)
class PointLayout:
    """A plane, a mesh in it, and the places.

    Parameters
    ----------
    frame
        How coordinates become decimeters.
    mesh
        The triangles.
    places
        ``(n, 2)`` the region's places, in decimeters of this frame.
    chosen
        ``(K,)`` which places are reports.
    notes
        What was decided, in words.
    """

    frame: PointFrame
    mesh: Mesh
    places: NDArray[np.int64]
    chosen: NDArray[np.int64]
    notes: tuple[str, ...]


def lay_out(
    region: Region,
    epsilon: Fraction,
    *,
    spacing: Exact | None = None,
    max_weights: int = MOST_WEIGHTS,
) -> PointLayout:
    """Lay a mesh over a region.

    Parameters
    ----------
    region
        The places.
    epsilon
        Per unit: decides how fine the mesh is.
    spacing
        Side of the cells where places are, in the unit; by default a quarter over epsilon, and halves and quarters of a
        cell of a grid.
    max_weights
        Vertices times reports, at most.

    Raises
    ------
    InvalidProblemError
        For places on one line, a spacing below two decimeters, or a region too large for a table.

    Examples
    --------
    >>> from discreet.lrgeo import Region
    >>> made = lay_out(Region.from_grid(4, 4, cell="0.5", unit="km"), Fraction(2))
    >>> made.mesh, len(made.chosen)
    (Mesh(169 vertices, 288 triangles), 16)
    """
    frame, places, reach = plane_of(region)
    per = per_unit(region.unit)
    notes: list[str] = []
    if spacing is not None:
        wanted = to_fraction(spacing, "spacing") * per
        if wanted <= 0:
            raise InvalidProblemError("spacing", "a positive number", repr(spacing))
        mesh = _fitting(region, places, wanted, reach, max_weights)
    else:
        tried = []
        for fine in (FINE, 2 * FINE, _COARSEST):
            mesh = _fitting(region, places, fine / epsilon * per, reach, max_weights)
            loses = _loses(mesh, places, float(epsilon) / per, fine, max_weights)
            tried.append((loses, fine, mesh))
            if max_weights >= len(mesh.vertices) * len(places):
                break
        _, fine, mesh = min(tried, key=lambda one: one[:2])
        if fine > FINE:
            notes.append(f"mesh of {fine} over epsilon, so that its table fits")
    most = max_weights // len(mesh.vertices)
    if most < min(_FEWEST, len(places)):
        expected = f"at most {max_weights:,} weights; use a larger spacing, or places only"
        raise InvalidProblemError("region", expected, f"{len(mesh.vertices):,} vertices")
    chosen = _spread(places, most)
    if len(chosen) < len(places):
        notes.append(f"{len(chosen)} of {len(places)} places are reports, so that the table fits")
    return PointLayout(frame, mesh, places, chosen, tuple(notes))


def _loses(
    mesh: Mesh, places: NDArray[np.int64], epsilon: float, fine: Fraction, max_weights: int
) -> float:
    """Estimate what a mesh and as many reports as it leaves room for lose, as a multiple of the optimum."""
    most = max_weights // len(mesh.vertices)
    if most < min(_FEWEST, len(places)):
        return math.inf
    nats = float(fine)
    apart = 0.0
    if most < len(places):
        wide, tall = np.ptp(places, axis=0).tolist()
        apart = epsilon**2 * wide * tall / most
    return nats / math.log1p(nats) * math.sqrt(1 + apart / 36)


def plane_of(region: Region) -> tuple[PointFrame, NDArray[np.int64], int]:
    """Give the frame of a region and its envelope, its places there, and the reach in decimeters.

    Raises
    ------
    InvalidProblemError
        For places on one line.
    """
    frame, places, reach = _plane(region)
    if (np.ptp(places, axis=0) == 0).any() or np.linalg.matrix_rank(places - places[0]) < 2:
        expected = "places that do not lie on one line; --places-only serves those"
        raise InvalidProblemError("region", expected, "places on a line")
    return frame, places, reach


def told(
    region: Region, frame: PointFrame, places: NDArray[np.int64], chosen: NDArray[np.int64]
) -> tuple[tuple[str, str], ...]:
    """Say what is told of each report that is a place of the region."""
    if region.origin is None:
        return tuple(frame.shown(places[chosen]))
    return tuple((f"{lat:.7f}", f"{lon:.7f}") for lat, lon in region.coordinates[chosen].tolist())


def _plane(region: Region) -> tuple[PointFrame, NDArray[np.int64], int]:
    reach = math.ceil(region.reach * per_unit(region.unit)) + 1
    if region.origin is None:
        return PointFrame.plain(region.unit), region.places, reach
    sphere = region.coordinates
    # Two more cells, for a mesh that ends beyond the last place, and a little for the cosine itself.
    room = 3 * reach / DEGREE
    latitudes = (float(sphere[:, 0].min()) - room, float(sphere[:, 0].max()) + room)
    highest = max(map(abs, latitudes))
    wide = np.ptp(sphere[:, 1]) + 2 * room / math.cos(math.radians(min(highest, 70.0)))
    origin = (repr(region.origin[0]), repr(region.origin[1]))
    frame = PointFrame.on_sphere(region.unit, origin, latitudes, float(wide) * 1.01)
    east = (sphere[:, 1] - region.origin[1] + 180) % 360 - 180
    plane = np.stack(
        [east * (frame.east / SCALE), (sphere[:, 0] - region.origin[0]) * (PER_DEGREE / SCALE)],
        axis=1,
    )
    return frame, np.rint(plane).astype(np.int64), reach


def _fitting(
    region: Region, places: NDArray[np.int64], side: Fraction, reach: int, max_weights: int
) -> Mesh:
    """Cover a region evenly, or more coarsely away from places where all of them could not be reports otherwise."""
    low, high = (tuple(end.tolist()) for end in (places.min(axis=0), places.max(axis=0)))
    cell = _cell(region, side)
    if cell:
        return lattice(low, high, cell, reach=reach)
    whole = _even(side)
    wide, tall = (-(-(most - least) // whole) + 1 for least, most in zip(low, high, strict=True))
    if wide * tall * len(places) <= max_weights or min(wide, tall) <= _NARROW:
        return lattice(low, high, whole, reach=reach)
    coarse = lattice(low, high, whole << _HALVINGS, reach=reach)
    around = [
        places + whole * np.array(step) for step in ((0, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))
    ]
    least, most = coarse.box
    return refined(coarse, np.clip(np.concatenate(around), least, most), whole)


def _cell(region: Region, side: Fraction) -> int:
    """Give the largest side of cells, at most that one, that has the places of a grid at corners; 0 without one."""
    cell = grid_cell(region)
    if cell:
        fewest = math.ceil(cell / side)
        for parts in range(fewest, _LARGEST_FACTOR * fewest + 1):
            if cell % parts == 0 and cell // parts % 2 == 0:
                return cell // parts
    return 0


def grid_cell(region: Region) -> int:
    """Give the side of the cells of a grid that lies nowhere on the globe, in decimeters; 0 for other regions."""
    source = region.space.source
    if isinstance(source, LatticeLengths) and region.origin is None:
        return int(source.cell * per_unit(region.unit))
    return 0


def _even(side: Fraction) -> int:
    whole = math.floor(side / 2) * 2
    if whole < 2:
        raise InvalidProblemError("spacing", "two decimeters or more", f"{float(side):g}")
    return whole


def _spread(places: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Choose at most so many places, one in each square of the least size that does."""
    if len(places) <= most:
        return np.arange(len(places))
    low = places.min(axis=0)
    wide, high = (np.ptp(places, axis=0) + 1).tolist()
    side = max(2, math.isqrt(wide * high // most))
    while True:
        square = (places - low) // side
        middle = (square * 2 + 1) * side
        away = np.abs(2 * (places - low) - middle).max(axis=1)
        order = np.lexsort((away, square[:, 1], square[:, 0]))
        _, first = np.unique(square[order], axis=0, return_index=True)
        if len(first) <= most:
            return np.sort(order[first])
        side += max(1, side // 50)
