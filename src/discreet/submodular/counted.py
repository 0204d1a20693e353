"""A function that counts how often it is asked: for tests and diagnostics, never for a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from discreet.submodular.objective import Objective, State

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Counted"]


@final
class Counted(Objective):
    """The same function, with a count of the marginal gains that were evaluated.

    A gain of an element with each of k kinds counts k times. The count depends on the records wherever an algorithm
    looks at old gains, so it is private.

    Parameters
    ----------
    objective
        The function.

    Attributes
    ----------
    evaluations
        Gains evaluated so far, over all states.

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> from discreet.submodular.baselines import Greedy
    >>> counted = Counted(Coverage([[True, False, True], [True, True, False]]))
    >>> Greedy().choose(counted, UniformMatroid(3, 2))
    ((0, 0), (1, 0))
    >>> counted.evaluations
    5
    """

    def __init__(self, objective: Objective) -> None:
        self._inner = objective
        self.n_elements = objective.n_elements
        self.n_kinds = objective.n_kinds
        self.n_records = objective.n_records
        self.scale_bits = objective.scale_bits
        self.decomposable = objective.decomposable
        self.monotone = objective.monotone
        self.submodular = objective.submodular
        self.evaluations = 0

    @property
    def sensitivity(self) -> Fraction:
        """That of the function."""
        return self._inner.sensitivity

    def start(self, records: ArrayLike | None = None) -> State:
        """Start with nothing chosen."""
        return _Counting(self, self._inner.start(records))

    def multilinear_marginals(
        self, x: ArrayLike, records: ArrayLike | None = None
    ) -> NDArray[np.float64] | None:
        """Those of the function; a closed form is no evaluation."""
        return self._inner.multilinear_marginals(x, records)

    def served(self) -> NDArray[Any] | None:
        """That of the function."""
        return self._inner.served()


class _Counting(State):
    def __init__(self, objective: Counted, inner: State) -> None:
        super().__init__(objective)
        self._counter = objective
        self._inner = inner

    def _gains(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        gains = self._inner.gains(elements)
        self._counter.evaluations += gains.size
        return gains

    def _add(self, element: int, kind: int) -> int:
        before = self._inner.value
        self._inner.add(element, kind)
        return self._inner.value - before

    def _copy(self) -> State:
        return _Counting(self._counter, self._inner.copy())
