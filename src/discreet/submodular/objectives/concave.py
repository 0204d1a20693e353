r"""Concave over modular: a concave function of the weight of the chosen elements, for each record.

.. math:: F(S) = \sum_x h\Big(\sum_{e \in S} m_{xe}\Big), \qquad h(0) = 0,\quad 0 \le h \le 1,

with integer weights m and a public table h of integers in units of :math:`2^{-30}` that is non-decreasing and concave,
so that F is exactly monotone and submodular. :meth:`ConcaveOverModular.saturated` has :math:`h(t) = \min(t / c, 1)`.

Influence over a bipartite graph: each chosen element reaches each record with some probability.

.. math:: F(S) = \sum_x \Big(1 - \prod_{e \in S} (1 - p_{xe})\Big),

the expected number of records that are reached. One record is one person with all edges to it, so that the sensitivity
is 1. In a graph of people, where influence spreads from one to the next, one person may be the bridge to half of the
others; there is no such function here.

Probabilities are rounded to :math:`1 - 2^{-t/1024}` with integer t, which makes F a concave function of the sum of the
t, with a table of integers that is concave itself: exactly submodular.

Trusted: the guarantee rests on this code, by how much one record moves a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.objectives.coverage import (
    clip_to_scale,
    read_edges,
    rounded_parts,
    sums_of_runs,
)
from discreet.submodular.objectives.objective import (
    Objective,
    ObjectiveSpec,
    integers_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Precision(NamedTuple):
    """Units of the integers in a table of a concave function."""

    table_bits: int = 30
    """Fractional bits of a value."""
    level_bits: int = 15
    """Bits of the number of parts into which the range of weights is divided."""
    steps_per_halving: int = 1024
    """Weights that halve the probability of not being reached, in :class:`~discreet.submodular.Influence`."""


PRECISION = Precision()


def concave_table(values: ArrayLike) -> NDArray[np.int64]:
    """Round a concave function to integers without losing that it is concave.

    Rounding keeps the order of numbers, so that rounded increments still fall. Their errors partly cancel.

    ``O(n)`` for each attempt; where rounding leads beyond 1, the unit is made a little smaller and all is rounded
    again. A table of fewer than two values, values that are not finite, and a first value other than 0 are refused
    too.

    Parameters
    ----------
    values
        ``(n,)`` values at 0, 1, ..., from 0 to 1, non-decreasing and concave up to rounding.

    Returns
    -------
    ndarray
        ``(n,)`` integers in units of ``2^-30``.

    Raises
    ------
    InvalidProblemError
        For values that are not concave.

    Examples
    --------
    >>> (concave_table([0.0, 0.5, 0.75]) / 2**30).round(6).tolist()
    [0.0, 0.5, 0.75]
    """
    rise = np.asarray(values, dtype=np.float64)
    if rise.ndim != 1 or len(rise) < 2 or not np.isfinite(rise).all():
        raise InvalidProblemError(
            "values", "at least two finite numbers", f"{rise.size} of shape {rise.shape}"
        )
    unit = 2.0**PRECISION.table_bits
    while True:
        rounded = np.rint(unit * np.diff(rise)).astype(np.int64)
        # Equal increments that floats tell apart may round to two integers.
        steps = np.minimum.accumulate(rounded)
        excess = int(steps.sum()) - (1 << PRECISION.table_bits)
        if excess <= 0 or rise[-1] > 1:
            break
        unit -= excess
    concave = rise[0] == 0 and not (np.diff(rounded) > 1).any()
    table = np.concatenate([[0], np.cumsum(steps)]).astype(np.int64)
    if not concave or not _is_concave(table):
        expected = "0 first, then a concave rise to at most 1"
        raise InvalidProblemError("values", expected, "a rise that is not")
    return table


class ConcaveOverModular(Objective):
    """A concave function of the weight that the chosen elements have for each record.

    Parameters
    ----------
    records
        ``(n_edges,)`` records, numbered from 0.
    elements
        ``(n_edges,)`` elements, from 0.
    weights
        ``(n_edges,)`` integers from 0: what the element counts for the record. Weights of an edge that comes twice are
        added.
    table
        h at 0, 1, 2, ...; integers in units of ``2^-30``, constant beyond its end. Public.
    n_elements
        Size of the public ground set.
    n_records
        Number of records, including records without an edge. ``None``: one more than the last that has one.

    Raises
    ------
    InvalidProblemError
        For edges or weights that make no sense, or a table that is not concave.

    Examples
    --------
    >>> f = ConcaveOverModular([0, 0, 1], [0, 1, 1], [1, 1, 2], table=concave_table([0, 0.5, 0.75]), n_elements=2)
    >>> f.value([0]) / 2**30, f.value([0, 1]) / 2**30
    (0.5, 1.5)
    """

    scale_bits = PRECISION.table_bits

    def __init__(
        self,
        records: ArrayLike,
        elements: ArrayLike,
        weights: ArrayLike,
        *,
        table: ArrayLike,
        n_elements: int,
        n_records: int | None = None,
    ) -> None:
        numbers, covering, count, fine = read_numbered(records, elements, n_elements, n_records)
        heavy = integers_of(weights)
        if heavy.shape != numbers.shape:
            raise InvalidProblemError("weights", "an integer for each edge", "another shape")
        # Clipped, and nothing for an edge that does not count: a refusal would tell that there is such a weight.
        heavy = np.where(fine, np.maximum(heavy, 0), 0)
        self._table = np.array(table, dtype=np.int64)
        if self._table.ndim != 1 or not self._table.size or not _is_concave(self._table):
            raise InvalidProblemError(
                "table", "0 first, then a concave rise to at most 2^30", "a table that is not"
            )
        self.n_elements = n_elements
        self.n_records = count
        last = len(self._table) - 1
        edges, at = np.unique(np.stack([covering, numbers]), axis=1, return_inverse=True)
        summed = np.zeros(edges.shape[1], dtype=np.int64)
        np.add.at(summed, at.reshape(-1), np.minimum(heavy.astype(np.int64), last))
        self._weights = np.minimum(summed, last)
        self._start = np.searchsorted(edges[0], np.arange(n_elements + 1))
        self._slots = np.ascontiguousarray(edges[1])
        for array in (self._table, self._weights, self._start, self._slots):
            array.setflags(write=False)

    @classmethod
    def spec(cls, table: ArrayLike) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; records, elements and weights come later.

        Parameters
        ----------
        table
            h, as for the class; public.
        """
        names = ("records", "elements", "weights")
        return cls.edge_facts(names, {"table": tuple(np.asarray(table).tolist())})

    @classmethod
    def saturated(
        cls,
        records: ArrayLike,
        elements: ArrayLike,
        weights: ArrayLike,
        *,
        cap: float,
        n_elements: int,
        n_records: int | None = None,
    ) -> Self:
        r"""Count weight up to a cap: :math:`F_x(S) = \min(\sum_{e \in S} w_{xe} / c, 1)`.

        Parameters
        ----------
        records, elements
            As for the class.
        weights
            ``(n_edges,)`` numbers; each is clipped to [0, cap] and rounded down to a multiple of ``cap / 2^15``.
            NaN counts as 0.
        cap
            c, in the unit of the weights. Public.
        n_elements, n_records
            As for the class.

        Raises
        ------
        InvalidProblemError
            For a cap that is not positive.

        Examples
        --------
        >>> f = ConcaveOverModular.saturated([0, 0], [0, 1], [1.0, 3.0], cap=2.0, n_elements=2)
        >>> f.value([0]) / 2**30, f.value([0, 1]) / 2**30
        (0.5, 1.0)
        """
        if not 0 < cap < np.inf:
            raise InvalidProblemError("cap", "a positive number", cap)
        shares, clipped = clip_to_scale(weights, "weights", float(cap))
        levels = 1 << PRECISION.level_bits
        parts = np.floor(shares * levels).astype(np.int64)
        table = np.arange(levels + 1, dtype=np.int64) << (
            PRECISION.table_bits - PRECISION.level_bits
        )
        made = cls(
            records, elements, parts, table=table, n_elements=n_elements, n_records=n_records
        )
        made.clipped = clipped
        return made

    def begin(self, kept: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Return the weight that each record has already, ``(n_records,)``."""
        totals = np.zeros(self.n_records, dtype=np.int64)
        if kept is not None:
            # Nothing rises beyond the end of the table.
            totals[~kept] = len(self._table) - 1
        return totals

    def gains_at(self, state: NDArray[np.int64], elements: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return sums over records of the rise of the function, linear in the edges of the elements."""
        from discreet.submodular.kernels.gains import concave_gains

        out = np.zeros(len(elements), dtype=np.int64)
        concave_gains(self._start, self._slots, self._weights, state, self._table, elements, out)
        return out[:, None]

    def extended(self, state: NDArray[np.int64], element: int, kind: int) -> NDArray[np.int64]:
        """Add the element's weights to the totals of its records, up to the end of the table."""
        del kind
        edges = slice(self._start[element], self._start[element + 1])
        slots = self._slots[edges]
        state[slots] = np.minimum(state[slots] + self._weights[edges], len(self._table) - 1)
        return state


def _is_concave(table: NDArray[np.int64]) -> bool:
    """Return whether a table starts at 0, rises ever less, and stays within a unit of 1."""
    steps = np.diff(table)
    falling = bool((np.diff(steps) <= 0).all()) and bool((steps >= 0).all())
    return table[0] == 0 and falling and int(table[-1]) <= 1 << PRECISION.table_bits


def read_numbered(
    records: ArrayLike, elements: ArrayLike, n_elements: int, n_records: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, NDArray[np.bool_]]:
    """Read pairs of a record, numbered from 0, and an element: records, elements, number of records, valid pairs.

    Arrays are ``(m,)``; see :func:`read_edges`.

    `n_elements` is the size of the ground set; without `n_records` it is one more than the largest record.
    """
    labels = integers_of(records)
    most = int(labels.max()) + 1 if labels.size else 0
    return read_edges(records, elements, n_elements, most if n_records is None else n_records)


@final
class Influence(ConcaveOverModular):
    """The expected number of records that some chosen element reaches.

    Parameters
    ----------
    records
        ``(n_edges,)`` records, numbered from 0.
    elements
        ``(n_edges,)`` elements, from 0.
    chances
        ``(n_edges,)`` probabilities that the element reaches the record, clipped to [0, 1]. Edges that come twice are
        independent.
    n_elements
        Size of the public ground set.
    n_records
        Number of records, including records without an edge. ``None``: one more than the last that has one.

    Raises
    ------
    InvalidProblemError
        For edges or chances that make no sense.

    Notes
    -----
    A chance is moved by at most 0.00034. Marginals have a closed form for the moved chances; the table differs from it
    by less than 1e-6 for each record.

    Examples
    --------
    >>> reach = Influence([0, 0, 1], [0, 1, 1], [0.5, 0.5, 1.0], n_elements=2)
    >>> round(reach.value([0, 1]) / 2**30, 4)
    1.75
    """

    @classmethod
    def spec(cls) -> ObjectiveSpec:  # type: ignore[override] # its table is no choice
        """State the public facts for :func:`~discreet.submodular.plan`; records, elements and chances come later."""
        return cls.edge_facts(("records", "elements", "chances"))

    def __init__(
        self,
        records: ArrayLike,
        elements: ArrayLike,
        chances: ArrayLike,
        *,
        n_elements: int,
        n_records: int | None = None,
    ) -> None:
        p, self.clipped = clip_to_scale(chances, "chances")
        last = PRECISION.steps_per_halving * PRECISION.table_bits
        with np.errstate(divide="ignore"):
            halvings = -np.log2(1.0 - p)
        weights = np.rint(np.minimum(PRECISION.steps_per_halving * halvings, last)).astype(np.int64)
        reached = 1.0 - np.exp2(-np.arange(last + 1) / PRECISION.steps_per_halving)
        table = concave_table(reached / reached[-1])
        super().__init__(
            records, elements, weights, table=table, n_elements=n_elements, n_records=n_records
        )

    def marginal_units(
        self, p: NDArray[np.float64], kept: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """Compute the marginals: the chances of independent elements multiply. Linear in edges."""
        reach = -np.expm1(-self._weights * (np.log(2.0) / PRECISION.steps_per_halving))
        reach = np.minimum(reach, 1.0)
        reach[self._weights >= len(self._table) - 1] = 1.0
        inside = np.repeat(p, np.diff(self._start))
        # A factor of zero is kept apart, since it can't be divided out again.
        stays = 1.0 - inside * reach
        sure = stays <= 0.0
        missed = np.ones(self.n_records)
        np.multiply.at(missed, self._slots[~sure], stays[~sure])
        missed[self._slots[sure]] = 0.0
        parts = missed[self._slots] * reach * (1.0 - inside) / np.where(sure, 1.0, stays)
        units = rounded_parts(np.minimum(parts, 1.0))
        if kept is not None:
            units[~kept[self._slots]] = 0
        return sums_of_runs(units, self._start)
