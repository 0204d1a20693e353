"""Runs of methods on made or public data: true values, averaged. Nothing here may be done to people's records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.randomness import SeededBits
from discreet.submodular import release, reproduce

if TYPE_CHECKING:
    from discreet.core.guarantee import DPGuarantee
    from discreet.submodular import Matroid, Objective


@final
@dataclass(frozen=True)
class Mean:
    """A mean with its standard error, printed like the papers' figures.

    Examples
    --------
    >>> str(Mean(88.85149, 0.51301))
    '88.9 ± 0.5'
    """

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.1f} ± {self.error:.1f}"


def mean_value(
    objective: Objective,
    matroid: Matroid,
    method: Any,  # noqa: ANN401 - methods of release and of reproduce have no common type
    guarantee: DPGuarantee | None,
    *,
    runs: int,
    seed: int,
) -> Mean:
    """Average the value of a method's choices, in units of 1.

    Parameters
    ----------
    objective, matroid
        The problem.
    method
        A method of :func:`discreet.submodular.release`, or without a guarantee of ``reproduce``.
    guarantee
        What must hold, or ``None``.
    runs
        How many choices.
    seed
        What they are drawn from.
    """
    bits = SeededBits(seed)
    values = np.empty(runs)
    for run in range(runs):
        if guarantee is None:
            chosen = reproduce(objective, matroid, method, bits=bits).result.chosen
        else:
            chosen = release(objective, matroid, guarantee, method=method, bits=bits).result.chosen
        values[run] = objective.value(chosen) / 2**objective.scale_bits
    return Mean(float(values.mean()), float(values.std()) / runs**0.5)
