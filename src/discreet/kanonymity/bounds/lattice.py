"""The cells of packed columns as the search for shared cells reads them: integer costs and floors.

Costs are rounded down, and a floor is what the cheapest box costs that has so many different rows or more: see the
proofs in ``docs/theory/kanonymity/lower-bounds.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.bounds.covers import Cover
    from discreet.kanonymity.kernels.shared import Lattice

__all__ = ["COST_UNITS", "bits_of", "lattice_of"]

COST_UNITS = 2**26
"""Units of cost that all weights together have."""

MAX_ROWS_WITH_FLOORS = 64
"""Different rows of a box up to which it is known what they cost at least."""


def bits_of(cover: Cover) -> int:
    """Return the number of bits that hold an atom of a column."""
    return max(1, int(cover.members.shape[1] - 1).bit_length())


def lattice_of(covers: list[Cover], scale: float) -> Lattice:
    """Return the cells of all columns, in the order of their bits, as the arrays of the search.

    Parameters
    ----------
    covers
        The columns.
    scale
        Units of a cost of 1.
    """
    from discreet.kanonymity.kernels.shared import DIVIDED, FIXED, WHOLE, Lattice

    sizes = [len(cover.costs) for cover in covers]
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    child: list[int] = []
    following: list[int] = []
    opens: list[int] = []
    member: list[int] = []
    inside: list[NDArray[np.bool_]] = []
    branch: list[NDArray[np.int32]] = []
    alone: list[NDArray[np.bool_]] = []
    cost: list[NDArray[np.int64]] = []
    depth: list[int] = []
    kind, low, high, set_costs = _last(covers[-1], scale)
    for at, cover in zip(start.tolist(), covers, strict=False):
        below = [-1] * len(cover.costs)
        after = [-1] * len(cover.costs)
        # Rounded down, by a unit more than the product's rounding can be.
        paid = np.maximum(np.floor(cover.costs * scale) - 1, 0).astype(np.int64)
        if cover.sizes is not None:
            # What its cells cost is known where they are looked at.
            paid[:] = 0
        branches = np.full(cover.members.shape, int(start[-1]), dtype=np.int32)
        atoms = np.zeros(len(below), dtype=np.int64)
        deep = [0] * len(below)
        for cell in range(len(below) - 1, 0, -1):
            up = int(cover.parent[cell])
            after[cell], below[up] = below[up], at + cell
            branches[up, cover.members[cell]] = at + cell
            atoms[up] += int(cover.members[cell].sum())
            deep[up] = max(deep[up], deep[cell] + 1)
        apart = atoms == (branches < start[-1]).sum(axis=1)
        opened = np.where(apart, DIVIDED, below)
        opened[np.array(below) < 0] = FIXED
        if cover.sizes is not None:
            opened[0] = WHOLE
        child += below
        following += after
        opens += opened.tolist()
        width = cover.members.shape[1]
        offset = sum(len(part) for part in inside)
        member += [offset + cell * width for cell in range(len(below))]
        inside.append(cover.members.ravel())
        branch.append(branches.ravel())
        single = (cover.members.sum(axis=1) == 1) & (np.array(below) < 0)
        alone.append(single & (len(depth) < len(covers) - 1))
        cost.append(paid)
        depth.append(deep[0])
    return Lattice(
        start,
        np.array([bits_of(cover) for cover in covers]),
        np.concatenate(inside),
        np.array(member),
        np.array(child),
        np.array(following),
        np.concatenate(branch),
        np.concatenate(alone),
        np.array(opens),
        np.concatenate(cost),
        _floors(covers, cost, kind, low, high, set_costs),
        np.array([cover.width for cover in covers]),
        np.array(depth),
        kind,
        low,
        high,
        set_costs,
    )


def _floors(  # noqa: PLR0917 - the fields of a lattice
    covers: list[Cover],
    costs: list[NDArray[np.int64]],
    kind: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    set_costs: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the least cost of a box by its number of different rows, within each cell and the columns after it.

    A box has no more different rows than the product of the atoms in its cells.
    """
    from discreet.kanonymity.kernels.shared import INTERVALS, LISTED

    rows = np.arange(MAX_ROWS_WITH_FLOORS + 1)
    # Behind all columns there is one row.
    later = np.where(rows > 1, COST_UNITS, 0)
    listed = len(covers)
    if kind != LISTED:
        listed -= 1
        for r in range(2, len(rows)):
            if kind == INTERVALS:
                spans = low[r - 1 :] - high[: max(0, len(high) - r + 1)]
                paid = np.clip(spans, 0, set_costs[-1])
            else:
                paid = set_costs[r - 1 : r]
            later[r] = int(paid.min(initial=COST_UNITS))
        later = np.maximum.accumulate(later)
    floors: list[NDArray[np.int64]] = [
        np.tile(later, (len(cover.costs), 1)) for cover in reversed(covers[listed:])
    ]
    for cover, cost in zip(reversed(covers[:listed]), reversed(costs[:listed]), strict=True):
        atoms = cover.members.sum(axis=1)
        floor = cost[:, None] + later[-(-rows // atoms[:, None])]
        for cell in range(len(cost) - 1, 0, -1):
            up = int(cover.parent[cell])
            floor[up] = np.minimum(floor[up], floor[cell])
        floors.append(floor)
        later = floor[0]
    return np.concatenate(floors[::-1])


def _last(
    cover: Cover, scale: float
) -> tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Round the ends of intervals inwards, and costs down, by a unit more than a product's rounding can be."""
    from discreet.kanonymity.kernels.shared import INTERVALS, LISTED, SETS

    empty = np.zeros(0, dtype=np.int64)
    if cover.sizes is None:
        return LISTED, empty, empty, empty
    sizes = np.maximum(np.floor(cover.sizes * scale) - 1, 0).astype(np.int64)
    if cover.ends is not None:
        low = np.floor(cover.ends[0] * scale).astype(np.int64) - 1
        high = np.floor(cover.ends[1] * scale).astype(np.int64) + 2
        return INTERVALS, low, high, sizes
    return SETS, empty, empty, sizes
