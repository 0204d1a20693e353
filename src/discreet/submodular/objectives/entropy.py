r"""Entropies of counts, in integers, with a proven change for one record.

Write :math:`f(c) = c \log_2 c` for the count of a cell. Records in cells have :math:`n H = f(n) - \sum_j f(c_j)`. Here
f is replaced by sums of integer increments, :math:`f(c) = \sum_{j \le c} d_j` with :math:`d_j` proportional to
:math:`f(j) - f(j - 1)`, rounded, non-decreasing, and constant from a public number of records on, where it is
:math:`2^{30}`. A record that joins a cell of c records changes :math:`f(n) - \sum_j f(c_j)` by :math:`d_{n+1} -
d_{c+1}`, which lies in :math:`[0, 2^{30}]` whatever n is.

Feature selection: how much the chosen features tell about a label.

.. math:: F(S) = \frac{n\, I(Y; X_S)}{\log_2 m + (m - 1) \log_2 \frac{m}{m - 1}},

with I the mutual information of the empirical distribution in bits, n records, and m a public number of records beyond
which a further one counts as the m-th did. With :math:`f(c) = c \log_2 c`,

.. math:: n\,I = f(n) - \sum_y f(c_y) - \sum_x f(c_x) + \sum_{xy} f(c_{xy}).

A record that joins changes the first two terms together by an amount in [0, 1], the same for all S, and the last two by
one in [-1, 0], since :math:`c_{xy} \le c_x` and increments of f rise. So the sensitivity is 1, and scores of different
sets move apart by at most 1.

Sensors of k kinds: how much uncertainty about the readings the chosen sensors see.

.. math:: F(S_1, \dots, S_k) = \frac{n\,H(X_{(e, i)} : e \in S_i)}{\log_2 m + (m - 1) \log_2 \frac{m}{m - 1}},

with n records of discrete readings, H the entropy of their empirical distribution in bits, and m a public number of
records beyond which a further one counts as the m-th did. One record changes F by at most 1 (as above). The
average H itself would change by an amount that depends on n.

Trusted: the guarantee rests on this code, by how much one record moves a value.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.objectives.arguments import RecordArgument
from discreet.submodular.objectives.concave import PRECISION
from discreet.submodular.objectives.objective import (
    Objective,
    ObjectiveSpec,
    integers_of,
    positive,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def _increments(n: int, most_records: object) -> NDArray[np.int64]:
    """Return f at 0, ..., n, ``(n + 1,)``; one unit of 1 is its largest increment. Refuses `most_records` below 2."""
    if not isinstance(most_records, int) or isinstance(most_records, bool) or most_records < 2:
        raise InvalidProblemError("most_records", "an integer of at least 2", repr(most_records))
    counts = np.arange(1, n + 1, dtype=np.float64)
    rise = np.minimum(_rise(counts) / _rise(np.array([float(most_records)])), 1.0)
    steps = np.floor(2.0**PRECISION.table_bits * rise).astype(np.int64)
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.maximum.accumulate(steps))])


def _rise(c: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute ``c log2 c - (c - 1) log2(c - 1)``, with ``0 log 0 = 0``."""
    before = np.maximum(c - 1, 1.0)
    return np.asarray(np.log2(c) + (c - 1) * np.log2(c / before))


def _read_values(values: ArrayLike, n_values: object, field: str, dims: int) -> NDArray[np.int64]:
    """Return integers `values`, clipped to the public range 0, ..., n_values - 1, as int64 of the same shape.

    Raises InvalidProblemError for other than `dims` dimensions, or `n_values` below 2.
    """
    if not isinstance(n_values, int) or isinstance(n_values, bool) or n_values < 2:
        raise InvalidProblemError("n_values", "an integer of at least 2", repr(n_values))
    read = integers_of(values)
    if read.ndim != dims:
        expected = f"a table of integers in {dims} dimensions"
        raise InvalidProblemError(field, expected, f"{read.ndim} dimensions")
    return np.clip(read, 0, n_values - 1)


class _OfCells(Objective):
    """A function of the cells into which the codes of the chosen columns divide the records."""

    scale_bits = PRECISION.table_bits
    decomposable = False
    submodular = False

    def _hold(self, codes: NDArray[np.int64], n_values: int, most_records: int) -> None:
        """Store the codes ``(n_records, n_elements, n_kinds)``, below `n_values`, and the table of f; a copy."""
        self.n_records, self.n_elements, self.n_kinds = codes.shape
        self._codes = np.ascontiguousarray(codes.transpose(1, 2, 0))
        self._codes.setflags(write=False)
        self._n_values = n_values
        self._f = _increments(self.n_records, most_records)

    def begin(self, kept: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Return the cell of each record, ``(n_records,)``: one for all."""
        del kept
        return np.zeros(self.n_records, dtype=np.int64)

    def gain_at(self, state: NDArray[np.int64], element: int, kind: int) -> int:
        """By how much a pair raises F, in units of ``2^-scale_bits``; a few passes over the records."""
        return self.level(self.split(state, element, kind)) - self.level(state)

    def extended(self, state: NDArray[np.int64], element: int, kind: int) -> NDArray[np.int64]:
        """Split the cells by the pair, numbered without gaps."""
        finer = self.split(state, element, kind)
        return np.unique(finer, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def sum_over(self, cells: NDArray[np.int64]) -> int:
        """Return the sum of f over the counts of the cells, in units of ``2^-scale_bits``. Private.

        `cells` ``(n_records,)`` are as of :meth:`level`; linear in their length and their largest number.
        """
        return int(self._f[np.bincount(cells)].sum()) if len(cells) else 0

    def split(self, cells: NDArray[np.int64], element: int, kind: int) -> NDArray[np.int64]:
        """Return ``(n_records,)`` numbers of the cells after a split by the column of `element` and `kind`, with gaps.

        Private. `cells` ``(n_records,)`` are the numbers before: cell ``c`` and value ``v`` become ``c * values +
        v``.
        """
        split: NDArray[np.int64] = cells * self._n_values + self._codes[element, kind]
        return split

    @abstractmethod
    def level(self, cells: NDArray[np.int64]) -> int:
        """Return the part of F that depends on the cells, in units of ``2^-scale_bits``.

        Linear in records and numbers. Private. `cells`: ``(n_records,)`` number of the cell of each record, from 0,
        possibly with gaps.
        """


@final
class MutualInformation(_OfCells):
    """The mutual information of chosen features and a label, in counts of records.

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
        For features and labels of shapes that do not fit each other. What is no integer counts as 0.

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

    monotone = False

    @classmethod
    def spec(cls, *, n_values: int, most_records: int) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; features and labels come later.

        `n_values` and `most_records` are as of the class; below 2 they are refused.
        """
        _read_values(np.zeros(0, dtype=np.int64), n_values, "features", 1)
        _increments(0, most_records)
        private = [
            RecordArgument("features", ("record", "element"), "iub"),
            RecordArgument("labels", ("record",), "iub"),
        ]
        return cls.facts(private, {"n_values": n_values, "most_records": most_records})

    def __init__(
        self, features: ArrayLike, labels: ArrayLike, *, n_values: int, most_records: int
    ) -> None:
        read = _read_values(features, n_values, "features", 2)
        self._labels = _read_values(labels, n_values, "labels", 1)
        if len(self._labels) != len(read) or not read.shape[1]:
            raise InvalidProblemError("labels", "one for each record of features", "others")
        self._labels.setflags(write=False)
        self._hold(read[:, :, None], n_values, most_records)

    def level(self, cells: NDArray[np.int64]) -> int:
        """Return the sum of f over the cells with the label less that without it. Private.

        Parameters
        ----------
        cells
            ``(n_records,)`` number of the cell of each record, from 0; gaps are allowed.

        Returns
        -------
        int
            In units of ``2^-scale_bits``; f is applied to the number of records in each cell.

        Complexity
        ----------
        ``O(n_records + n_values * max(cells))`` time and memory: cells are counted up to the largest number.
        """
        return self.sum_over(cells * self._n_values + self._labels) - self.sum_over(cells)


@final
class SensorPlacement(_OfCells):
    """The entropy of the readings of the chosen sensors, at each place a sensor of one of k kinds.

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

    @classmethod
    def spec(cls, *, n_kinds: int, n_values: int, most_records: int) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; the readings come later.

        Parameters
        ----------
        n_kinds
            Number of kinds of sensors, 1 or more.
        n_values, most_records
            As of the class.
        """
        _read_values(np.zeros(0, dtype=np.int64), n_values, "readings", 1)
        _increments(0, most_records)
        readings = RecordArgument("readings", ("record", "element", "kind"), "iub")
        public = {"n_values": n_values, "most_records": most_records}
        return cls.facts([readings], public, n_kinds=positive(n_kinds, "n_kinds"))

    def __init__(self, readings: ArrayLike, *, n_values: int, most_records: int) -> None:
        read = _read_values(readings, n_values, "readings", 3)
        if not read.shape[1] or not read.shape[2]:
            raise InvalidProblemError("readings", "at least one place and kind", "none")
        self._hold(read, n_values, most_records)

    def level(self, cells: NDArray[np.int64]) -> int:
        """Return minus the sum of f over the cells. Private.

        In units of ``2^-scale_bits``; `cells` ``(n_records,)`` are the numbers of the records' cells.

        Gaps in the numbers are allowed; ``O(n_records + max(cells))`` time and memory.
        """
        return -self.sum_over(cells)
