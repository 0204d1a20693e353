r"""Sensors of k kinds: how much uncertainty about the readings the chosen sensors see.

.. math:: F(S_1, \dots, S_k) = \frac{n\,H(X_{(e, i)} : e \in S_i)}{\log_2 m + (m - 1) \log_2 \frac{m}{m - 1}},

with n records of discrete readings, H the entropy of their empirical distribution in bits, and m a public number of
records beyond which a further one counts as the m-th did. One record changes F by at most 1 (see ``_cells``). The
average H itself would change by an amount that depends on n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular._cells import increments, read_values, refined, spread
from discreet.submodular.concave import TABLE_BITS
from discreet.submodular.objective import Objective, State

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["SensorPlacement"]


@final
class SensorPlacement(Objective):
    """The entropy of what the chosen sensors read, at each place a sensor of one of k kinds.

    Parameters
    ----------
    readings
        ``(n_records, n_elements, n_kinds)`` integers: what a sensor of each kind reads at each place at each time.
        Clipped to 0, ..., n_values - 1.
    n_values
        How many values a reading can take. Public.
    most_records
        m: public; about as many records as are expected.

    Raises
    ------
    InvalidProblemError
        For readings that are no integers.

    Notes
    -----
    F is monotone, and k-submodular up to the rounding of a few units of :math:`2^{-30}`, so `submodular` is
    false and old gains are never taken for bounds.

    References
    ----------
    [OY15]_, sensor placement with k kinds.

    Examples
    --------
    >>> sensors = SensorPlacement([[[0], [0]], [[1], [0]], [[0], [1]], [[1], [1]]], n_values=2, most_records=4)
    >>> sensors.value([0, 1]) == 2 * sensors.value([0])
    True
    """

    scale_bits = TABLE_BITS
    decomposable = False
    submodular = False

    def __init__(self, readings: ArrayLike, *, n_values: int, most_records: int) -> None:
        read = read_values(readings, n_values, "readings", 3)
        self.n_records, self.n_elements, self.n_kinds = read.shape
        if not self.n_elements or not self.n_kinds:
            raise InvalidProblemError("readings", "at least one place and kind", "none")
        self._codes = np.ascontiguousarray(read.transpose(1, 2, 0))
        self._codes.setflags(write=False)
        self._n_values = n_values
        self._f = increments(self.n_records, most_records)

    def start(self, records: ArrayLike | None = None) -> State:
        """Start with nothing chosen; a subsample has no use where F is no sum over records."""
        if records is not None:
            raise InvalidProblemError("records", "None where F is no sum over records", "a mask")
        return _Split(self, np.zeros(self.n_records, dtype=np.int64))

    def column(self, element: int, kind: int) -> NDArray[np.int64]:
        """Give the readings at one place. Private."""
        return np.asarray(self._codes[element, kind])

    def split(self, cells: NDArray[np.int64], element: int, kind: int) -> int:
        """Compute the gain of a sensor where others put the records into cells. Private."""
        finer = cells * self._n_values + self.column(element, kind)
        return spread(cells, self._f) - spread(finer, self._f)

    def refine(self, cells: NDArray[np.int64], element: int, kind: int) -> NDArray[np.int64]:
        """Split the cells by the readings of one more sensor. Private."""
        return refined(cells, self.column(element, kind), self._n_values)


class _Split(State):
    def __init__(self, objective: SensorPlacement, cells: NDArray[np.int64]) -> None:
        super().__init__(objective)
        self._of = objective
        self._cells = cells

    def _gains(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        kinds = range(self._of.n_kinds)
        rows = [[self._of.split(self._cells, e, k) for k in kinds] for e in elements.tolist()]
        return np.array(rows, dtype=np.int64).reshape(len(elements), self._of.n_kinds)

    def _add(self, element: int, kind: int) -> int:
        gained = self._of.split(self._cells, element, kind)
        self._cells = self._of.refine(self._cells, element, kind)
        return gained

    def _copy(self) -> State:
        return _Split(self._of, self._cells)
