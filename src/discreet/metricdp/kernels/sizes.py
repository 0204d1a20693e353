"""Sizes that kernels of steps and their callers share; nothing is compiled here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

REPORTS_PER_BLOCK = 16
"""Reports of a block: as many float32 numbers fill the widest vector register in use, of 512 bits, and a cache line."""


class StepSizes(NamedTuple):
    """Steps of variables and of multipliers, and the weights of the anchor and of the reflected point."""

    tau: np.float32
    sigma: np.float32
    rest: np.float32
    weight: np.float32
