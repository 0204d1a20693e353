"""Sizes and arrays that kernels of steps and their callers share; nothing is compiled here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REPORTS_PER_BLOCK = 16
"""Reports of a block: as many float32 numbers fill the widest vector register in use, of 512 bits, and a cache line."""


class StepSizes(NamedTuple):
    """Steps of variables and of multipliers, and the weights of the anchor and of the reflected point."""

    tau: np.float32
    sigma: np.float32
    rest: np.float32
    weight: np.float32


class TileArrays(NamedTuple):
    """Variables, multipliers and scales of a tile.

    ``X``, ``X0``, ``S``, ``W`` and ``G`` are variables, anchor, scale, scaled cost, and what the multipliers add to
    reduced costs, which is kept up: ``(blocks, n, 16)``, or ``(n_reports, n)`` with arcs. ``L`` and ``L0`` are
    multipliers and anchor, ``R`` the scales of ratios: ``(blocks, m, 16)``, positive in one direction of a constraint
    and negative in the other, and ``(blocks, n, 16)``, or ``(arcs,)`` each.
    """

    X: NDArray[np.float32]
    X0: NDArray[np.float32]
    L: NDArray[np.float32]
    L0: NDArray[np.float32]
    S: NDArray[np.float32]
    R: NDArray[np.float32]
    W: NDArray[np.float32]
    G: NDArray[np.float32]
