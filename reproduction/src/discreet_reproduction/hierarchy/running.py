"""One run of one method on made counts: errors by level, what does not add up, seconds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.guarantee import PureDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.diagnose import diagnose
from discreet.hierarchy.methods import METHODS
from discreet.hierarchy.problem import GroupSizes
from discreet.hierarchy.release import reproduce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.datasets.census import MadeCounts


@dataclass(frozen=True)
class Errors:
    """What a method came to, over some draws of noise.

    Parameters
    ----------
    l1, earth_mover
        Mean errors by level, the root's first.
    spread
        Standard deviation over the draws of the L1 error, by level.
    inconsistent
        Mean number of pairs of a region and a size whose count is not the sum of those below.
    bias
        Mean signed error over the lowest cells whose true count is 0.
    seconds
        Mean processor seconds, noise included.
    reason
        Why there is no guarantee; empty where the noise is that of one.
    """

    l1: tuple[float, ...]
    earth_mover: tuple[float, ...]
    spread: tuple[float, ...]
    inconsistent: float
    bias: float
    seconds: float
    reason: str


def counted(made: MadeCounts) -> GroupSizes:
    """State made counts as the paper does: which units exist, and where, is public."""
    return GroupSizes.from_counts(made.tree, made.with_size_zero(), units="public")


def errors_of(data: GroupSizes, name: str, epsilon: str, seeds: Sequence[int]) -> Errors:
    """Run a method by its name, once for each seed, and compare with the truth.

    Seeds are shared by all methods, so that those which measure the same see the same noise.
    """
    method = METHODS[name].make()
    guarantee = PureDP(epsilon, neighbors="add-remove-person")
    found, seconds = [], 0.0
    for seed in seeds:
        start = time.process_time()
        made = reproduce(data, guarantee, method=method, bits=SeededBits(seed))
        seconds += time.process_time() - start
        found.append(diagnose(data, made))
    errors = np.array([one.l1 for one in found])
    return Errors(
        tuple(errors.mean(axis=0).tolist()),
        tuple(np.mean([one.earth_mover for one in found], axis=0).tolist()),
        tuple((errors.std(axis=0, ddof=1) if len(found) > 1 else 0 * errors[0]).tolist()),
        float(np.mean([one.inconsistent for one in found])),
        float(np.mean([one.bias_on_zeros[-1] or 0.0 for one in found])),
        seconds / len(found),
        getattr(method, "unproven", ""),
    )


def kilo(error: float) -> float:
    """Give an error in thousands, to four digits after the point."""
    return round(error / 1000, 4)
