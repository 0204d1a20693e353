"""What a file may say of a space: only what a constructor of spaces could have made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artefact.layout import expect
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.spaces.inputs import unit_name
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.lengths import MAX_SCALE_BITS
from discreet.core.spaces.metric import METRICS
from discreet.core.spaces.points import PointLengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.spaces.metric import MetricSpace

_KNOWN = (*METRICS, "grid", "graph", "matrix")

_FARTHEST = 1 << 31
"""Rows and columns of a lattice are fewer: squares of their differences then fit 64 bits."""


def credible(space: MetricSpace) -> MetricSpace:
    """Refuse a space whose unit, scale or points do not fit its lengths, and give back one where they do.

    Returns `space` itself. ``O(n)`` if points are compared with a lattice.

    Raises
    ------
    InvalidProblemError
        For a metric that is not known, a unit that it does not have, a scale beyond any, kilometers that are counted
        in another way, or points that are not the centers of the lattice.
    """
    expect(space.metric in _KNOWN, "metric", f"one of {', '.join(_KNOWN)}", repr(space.metric))
    unit_name(space.unit, space.metric)
    check_bits(space.scale_bits)
    source, points = space.source, space.points
    per_unit = 1000 if space.unit == "m" else 1
    # Great circles may have been shortened to the geodesics of an ellipsoid: never by more than 1 %.
    if isinstance(source, PointLengths) and not 0.99 * per_unit <= source.per_unit <= per_unit:
        raise InvalidProblemError("per_unit", f"{per_unit} for {space.unit}", source.per_unit)
    if isinstance(source, LatticeLengths):
        if space.metric != "grid" or source.cell <= 0:
            raise InvalidProblemError("cell", "a positive side, and of a grid alone", "another")
        if points is not None and not _are_centers(points, source):
            raise InvalidProblemError("points", "the centers of the cells", "others")
    return space


def space_facts(space: MetricSpace) -> dict[str, Any]:
    """Return what a file states of a space beside its arrays: unit, metric, scale_bits, digest, and cell.

    All are plain values; ``"cell"`` is the exact side as text for a lattice, else ``None``.
    """
    source = space.source
    return {
        "unit": space.unit,
        "metric": space.metric,
        "scale_bits": space.scale_bits,
        "digest": space.digest,
        "cell": str(source.cell) if isinstance(source, LatticeLengths) else None,
    }


def lattice_lengths(
    places: NDArray[np.int64], cell: object, bits: object, n: int
) -> LatticeLengths:
    """Return the lengths of a stored lattice of `places` ``(n, 2)``, of side `cell`, in units of ``2^-bits``.

    Raises
    ------
    InvalidProblemError
        For a side that is not positive, a scale beyond any, or places that are not ``n`` cells.
    """
    side = to_fraction(cell, "cell")  # type: ignore[arg-type]  # refuses what is no number
    scale = check_bits(bits)
    expect(side > 0, "cell", "a positive side", "another")
    near = bool(((places > -_FARTHEST) & (places < _FARTHEST)).all())
    expect(places.shape == (n, 2) and near, "places", f"{n} cells of a grid")
    return LatticeLengths(places, side, scale)


def check_bits(bits: object) -> int:
    """Return `bits`; raise InvalidProblemError unless they are an integer from 0 to the largest scale.

    To be called before a power of two is formed with it.
    """
    if isinstance(bits, bool) or not isinstance(bits, int) or not 0 <= bits <= MAX_SCALE_BITS:
        raise InvalidProblemError("scale_bits", f"an integer from 0 to {MAX_SCALE_BITS}", "another")
    return bits


def _are_centers(
    points: NDArray[np.float64], lattice: LatticeLengths, *, tolerance: float = 1e-9
) -> bool:
    """Test whether points ``(n, 2)``, x and y, are the centers of the lattice's cells up to a translation.

    Coordinates are rounded floats: their error may be `tolerance` of the extent. ``O(n)``.
    """
    centers = lattice.places[:, ::-1] * float(lattice.cell)
    if points.shape != centers.shape or not np.isfinite(points).all():
        return False
    off = points - centers
    off = np.abs(off - off[0])
    extent = max(float(np.abs(points).max()), float(np.abs(centers).max()))
    return bool(off.max() <= tolerance * extent)
