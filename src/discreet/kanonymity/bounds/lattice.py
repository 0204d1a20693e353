"""The cells of packed columns as the search for shared cells reads them, at whole costs that are rounded down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.bounds.covers import Cover
    from discreet.kanonymity.kernels.shared import Lattice


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
    from discreet.kanonymity.kernels.shared import FIXED, WHOLE, Lattice

    sizes = [len(cover.costs) for cover in covers]
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    child: list[int] = []
    following: list[int] = []
    opens: list[int] = []
    member: list[int] = []
    inside: list[NDArray[np.bool_]] = []
    cost: list[NDArray[np.int64]] = []
    depth: list[int] = []
    low = high = np.zeros(0, dtype=np.int64)
    ends, widest = covers[-1].ends, 0
    if ends is not None:
        # Rounded inwards, and costs down, by a unit more than a product's rounding can be.
        low = np.floor(ends[0] * scale).astype(np.int64) - 1
        high = np.floor(ends[1] * scale).astype(np.int64) + 2
        widest = max(0, int(np.floor(covers[-1].costs[0] * scale)) - 1)
    for at, cover in zip(start.tolist(), covers, strict=False):
        below = [FIXED] * len(cover.costs)
        after = [-1] * len(cover.costs)
        # Rounded down, by a unit more than the product's rounding can be.
        paid = np.maximum(np.floor(cover.costs * scale) - 1, 0).astype(np.int64)
        if cover.ends is not None:
            # What its cells cost is known where they are looked at.
            paid[:] = 0
        deep = [0] * len(below)
        for cell in range(len(below) - 1, 0, -1):
            up = int(cover.parent[cell])
            after[cell], below[up] = below[up], at + cell
            deep[up] = max(deep[up], deep[cell] + 1)
        child += below
        following += after
        # Where no cell is inside, `below` is `FIXED`.
        opens += below if cover.ends is None else [WHOLE, *below[1:]]
        width = cover.members.shape[1]
        offset = sum(len(part) for part in inside)
        member += [offset + cell * width for cell in range(len(below))]
        inside.append(cover.members.ravel())
        cost.append(paid)
        depth.append(deep[0])
    return Lattice(
        start,
        np.array([bits_of(cover) for cover in covers]),
        np.concatenate(inside),
        np.array(member),
        np.array(child),
        np.array(following),
        np.array(opens),
        np.concatenate(cost),
        np.array([cover.width for cover in covers]),
        np.array(depth),
        low,
        high,
        widest,
    )
