r"""Feature selection: how much the chosen features tell about a label.

.. math:: F(S) = \frac{n\, I(Y; X_S)}{\log_2 m + (m - 1) \log_2 \frac{m}{m - 1}},

with I the mutual information of the empirical distribution in bits, n records, and m a public number of records beyond
which a further one counts as the m-th did. With :math:`f(c) = c \log_2 c`,

.. math:: n\,I = f(n) - \sum_y f(c_y) - \sum_x f(c_x) + \sum_{xy} f(c_{xy}).

A record that joins changes the first two terms together by an amount in [0, 1], the same for all S, and the last two by
one in [-1, 0], since :math:`c_{xy} \le c_x` and increments of f rise. So the sensitivity is 1, and scores of different
sets move apart by at most 1.
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

__all__ = ["MutualInformation"]


@final
class MutualInformation(Objective):
    """The information that chosen features have about a label, in counts of records.

    Parameters
    ----------
    features
        ``(n_records, n_elements)`` integers, clipped to 0, ..., n_values - 1.
    labels
        ``(n_records,)`` integers, clipped to the same range.
    n_values
        How many values a feature or label can take. Public.
    most_records
        m: public; about as many records as are expected.

    Raises
    ------
    InvalidProblemError
        For features or labels that are no integers, or do not fit each other.

    Notes
    -----
    Mutual information is monotone. It is submodular where features are independent given the label, as
    naive Bayes assumes [KG05]_; an empirical distribution need not be so, and `submodular` is therefore false: the
    ratio of a greedy choice rests on the assumption, its privacy does not.

    Examples
    --------
    >>> f = MutualInformation([[0, 0], [1, 0], [0, 1], [1, 1]], [0, 1, 0, 1], n_values=2, most_records=4)
    >>> f.value([0]) > f.value([1]) == 0
    True
    """

    scale_bits = TABLE_BITS
    decomposable = False
    monotone = False
    submodular = False

    def __init__(
        self, features: ArrayLike, labels: ArrayLike, *, n_values: int, most_records: int
    ) -> None:
        read = read_values(features, n_values, "features", 2)
        told = read_values(labels, n_values, "labels", 1)
        self.n_records, self.n_elements = read.shape
        if len(told) != len(read) or not self.n_elements:
            raise InvalidProblemError("labels", "one for each record of features", "others")
        self._codes = np.ascontiguousarray(read.T)
        self._codes.setflags(write=False)
        self._labels = told
        self._labels.setflags(write=False)
        self._n_values = n_values
        self._f = increments(self.n_records, most_records)

    def start(self, records: ArrayLike | None = None) -> State:
        """Start with nothing chosen; a subsample has no use where F is no sum over records."""
        if records is not None:
            raise InvalidProblemError("records", "None where F is no sum over records", "a mask")
        return _Told(self, np.zeros(self.n_records, dtype=np.int64))

    def told(self, cells: NDArray[np.int64]) -> int:
        """Compute the part of F that depends on the cells: without and with the label. Private."""
        return spread(cells * self._n_values + self._labels, self._f) - spread(cells, self._f)

    def refine(self, cells: NDArray[np.int64], element: int) -> NDArray[np.int64]:
        """Split the cells by one more feature. Private."""
        return refined(cells, self._codes[element], self._n_values)

    def gain(self, cells: NDArray[np.int64], element: int) -> int:
        """Compute the gain of a feature where others put the records into cells. Private."""
        return self.told(cells * self._n_values + self._codes[element]) - self.told(cells)


class _Told(State):
    def __init__(self, objective: MutualInformation, cells: NDArray[np.int64]) -> None:
        super().__init__(objective)
        self._of = objective
        self._cells = cells

    def _gains(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        rows = [self._of.gain(self._cells, e) for e in elements.tolist()]
        return np.array(rows, dtype=np.int64).reshape(-1, 1)

    def _add(self, element: int, kind: int) -> int:
        del kind
        gained = self._of.gain(self._cells, element)
        self._cells = self._of.refine(self._cells, element)
        return gained

    def _copy(self) -> State:
        return _Told(self._of, self._cells)
