r"""The continuous greedy algorithm without noise: a base of largest marginals at each step, then swap rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular._fractional import marginals
from discreet.submodular.baselines import Pairs, fits
from discreet.submodular.swap_rounding import swap_round

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objective import Objective

__all__ = ["ContinuousGreedy", "heaviest_base"]


@final
@dataclass(frozen=True)
class ContinuousGreedy:
    r"""Move toward the base of largest marginals T times, and round.

    Parameters
    ----------
    steps
        T. As many as the rank give 0.4685 and not 1 - 1/e, see the theory page; :math:`r/\eta` give
        :math:`1 - e^{-(1 - \eta)}`.
    samples
        Random sets behind each estimate of marginals, where there is no closed form.

    Guarantee
    ---------
    No privacy. In expectation :math:`1 - (1 - (1 - (1 - 1/T)^r)/r)^T` of the optimum with exact marginals, for one kind
    under any matroid.

    References
    ----------
    [CCPV11]_; rounding of [CVZ10]_.

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False, True], [True, True, False], [False, True, False]])
    >>> sorted(ContinuousGreedy(steps=1).choose(reach, UniformMatroid(3, 2)))
    [(0, 0), (1, 0)]
    """

    steps: int
    samples: int = 64

    def __post_init__(self) -> None:
        for name in ("steps", "samples"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InvalidProblemError(name, "a positive integer", repr(value))

    @property
    def name(self) -> str:
        """The name that people type."""
        return "continuous-greedy"

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        on_draw: Callable[[int], None] | None = None,
        *,
        bits: RandomBits | None = None,
    ) -> Pairs:
        """Choose a base.

        Parameters
        ----------
        objective
            A function of one kind.
        matroid
            What may be chosen.
        on_draw
            Called after each step with its number.
        bits
            Source of chance, for the rounding and for samples.

        Returns
        -------
        tuple of tuple
            Pairs of an element and kind 0, ascending.

        Raises
        ------
        InvalidProblemError
            For several kinds.
        """
        from discreet.core.randomness import SystemBits

        fits(objective, matroid)
        if objective.n_kinds != 1:
            raise InvalidProblemError("objective", "a function of one kind", objective)
        source = SystemBits() if bits is None else bits
        x = np.zeros(objective.n_elements, dtype=np.int64)
        bases = []
        for number in range(self.steps):
            scores, _ = marginals(objective, x, self.steps, self.samples, source)
            bases.append(heaviest_base(matroid, scores))
            x[list(bases[-1])] += 1
            if on_draw is not None:
                on_draw(number + 1)
        return tuple((element, 0) for element in swap_round(matroid, bases, bits=source))


def heaviest_base(matroid: Matroid, weights: NDArray[np.int64]) -> tuple[int, ...]:
    """Find a base of largest total weight, the first among equals.

    Examples
    --------
    >>> from discreet.submodular import PartitionMatroid
    >>> heaviest_base(PartitionMatroid([0, 0, 1], 1), np.array([2, 3, 1]))
    (1, 2)
    """
    grown = matroid.start()
    for element in np.argsort(-weights, kind="stable").tolist():
        if grown.feasible()[element]:
            grown.add(element)
    return grown.members
