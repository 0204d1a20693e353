"""The metric of places in decimeters, in integers that client and server both find."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.lengths import TOTAL_BITS, scale_for
from discreet.core.spaces.metric import MetricSpace
from discreet.core.spaces.plane import PlaneLengths
from discreet.lrgeo.places.plane import PER_UNIT

if TYPE_CHECKING:
    from numpy.typing import NDArray


def per_unit(unit: str) -> int:
    """Return the number of decimeters in a unit.

    Raises
    ------
    InvalidProblemError
        For any unit but "km" and "m".
    """
    if unit not in PER_UNIT:
        raise InvalidProblemError("unit", "'km' or 'm'", repr(unit))
    return PER_UNIT[unit]


def space_of(places: NDArray[np.int64], unit: str, *, cells_per_place: int = 4) -> MetricSpace:
    """Return the metric space of `places` ``(K, 2)``, integers in decimeters; its distances are in `unit`, "km" or "m".

    Where the places fill a square lattice of at most `cells_per_place` cells for each of them, lengths are those of
    :class:`~discreet.core.spaces.lattice.LatticeLengths` over the lattice; else, or where these are no metric and
    there are few enough places for a table, those of :class:`~discreet.core.spaces.plane.PlaneLengths` over
    decimeters. InvalidProblemError for another unit.

    Notes
    -----
    The number of bits follows from the extent by a comparison of integers: client and server find the same.
    """
    per = per_unit(unit)
    wide, high = np.ptp(places, axis=0).tolist()
    bits = _bits(wide * wide + high * high, per)
    points = places / per
    points.setflags(write=False)
    corner = places.min(axis=0)
    cell = int(np.gcd.reduce((places - corner).ravel()))
    cells = (wide // cell + 1) * (high // cell + 1)
    if cells <= cells_per_place * len(places):
        lattice = LatticeLengths((places - corner)[:, ::-1] // cell, Fraction(cell, per), bits)
        space = MetricSpace(unit, "grid", bits, lattice, points)
        if lattice.is_closed or not space.has_matrix:
            return space
    plane = PlaneLengths(places, Fraction(1, per), bits)
    return MetricSpace(unit, "euclidean", bits, plane, points)


def _bits(squared: int, per: int) -> int:
    """Return the largest s with ``2^s extent < 2^46``, from the squared extent in decimeters, exactly.

    The extent is in units of `per` decimeters.
    """
    extent = math.isqrt(squared) + 1
    bits = scale_for(float(Fraction(extent, per)), TOTAL_BITS)
    while extent << bits >= per << TOTAL_BITS:
        bits -= 1
    return bits
