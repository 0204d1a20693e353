"""What a file may say of a space: only what a constructor of spaces could have made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.inputs import unit_name
from discreet.core.lattice import LatticeLengths
from discreet.core.metric import METRICS
from discreet.core.points import PointLengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.metric import MetricSpace

__all__ = ["credible"]

_KNOWN = (*METRICS, "grid", "graph", "matrix")

_MOST_BITS = 400
"""More than the scale of any space."""

_ROOM = 1e-9
"""What coordinates of centers may be off, as a part of the extent: they are rounded floats."""


def credible(space: MetricSpace) -> MetricSpace:
    """Refuse a space whose unit, scale or points do not fit its lengths, and give back one where they do.

    Raises
    ------
    InvalidProblemError
        For a metric that is not known, a unit that it does not have, a scale beyond any, kilometers that are counted
        in another way, or points that are not the centers of the lattice.
    """
    bits: object = space.scale_bits
    if space.metric not in _KNOWN:
        raise InvalidProblemError("metric", f"one of {', '.join(_KNOWN)}", repr(space.metric))
    unit_name(space.unit, space.metric)
    if isinstance(bits, bool) or not isinstance(bits, int) or not 0 <= bits <= _MOST_BITS:
        raise InvalidProblemError("scale_bits", f"an integer from 0 to {_MOST_BITS}", "another")
    source, points = space.source, space.points
    per_unit = 1000 if space.unit == "m" else 1
    if isinstance(source, PointLengths) and source.per_unit != per_unit:
        raise InvalidProblemError("per_unit", f"{per_unit} for {space.unit}", source.per_unit)
    if isinstance(source, LatticeLengths):
        if space.metric != "grid" or source.cell <= 0:
            raise InvalidProblemError("cell", "a positive side, and of a grid alone", "another")
        if points is not None and not _are_centers(points, source):
            raise InvalidProblemError("points", "the centers of the cells", "others")
    return space


def _are_centers(points: NDArray[np.float64], lattice: LatticeLengths) -> bool:
    """Tell whether points are the places, eastwards and northwards, from wherever they are counted."""
    centers = lattice.places[:, ::-1] * float(lattice.cell)
    if points.shape != centers.shape or not np.isfinite(points).all():
        return False
    off = points - centers
    off = np.abs(off - off[0])
    extent = max(float(np.abs(points).max()), float(np.abs(centers).max()))
    return bool(off.max() <= _ROOM * extent)
