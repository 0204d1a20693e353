r"""Influence over a bipartite graph: each chosen element reaches each record with some probability.

.. math:: F(S) = \sum_x \Big(1 - \prod_{e \in S} (1 - p_{xe})\Big),

the expected number of records that are reached. One record is one person with all edges to it, so that the sensitivity
is 1. In a graph of people, where influence spreads from one to the next, one person may be the bridge to half of the
others; there is no such function here.

Probabilities are rounded to :math:`1 - 2^{-t/1024}` with integer t, which makes F a concave function of the sum of the
t, with a table of integers that is concave itself: exactly submodular.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.concave import TABLE_BITS, ConcaveOverModular, concave_table
from discreet.submodular.objective import MARGINAL_BITS, kept_records, probabilities

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Influence"]

_HALVING = 1024
"""Steps of t in which the chance of not being reached halves."""

_MARGIN = 2.0**-8
"""Taken off before rounding down, far above the error of a product of probabilities."""


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
        Number of records, with those that have no edge. ``None``: one more than the last that has one.

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

    def __init__(
        self,
        records: ArrayLike,
        elements: ArrayLike,
        chances: ArrayLike,
        *,
        n_elements: int,
        n_records: int | None = None,
    ) -> None:
        p = np.asarray(chances, dtype=np.float64)
        if np.isnan(p).any():
            raise InvalidProblemError("chances", "numbers", "NaN")
        last = _HALVING * TABLE_BITS
        with np.errstate(divide="ignore"):
            halvings = -np.log2(1.0 - np.clip(p, 0.0, 1.0))
        weights = np.rint(np.minimum(_HALVING * halvings, last)).astype(np.int64)
        reached = 1.0 - np.exp2(-np.arange(last + 1) / _HALVING)
        table = concave_table(reached / reached[-1])
        super().__init__(
            records, elements, weights, table=table, n_elements=n_elements, n_records=n_records
        )

    def multilinear_marginals(
        self, x: ArrayLike, records: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """See :meth:`Objective.multilinear_marginals`; chances of independent elements multiply."""
        at = probabilities(x, self.n_elements)
        kept = kept_records(records, self.n_records)
        p = np.minimum(-np.expm1(-self._weights * (np.log(2.0) / _HALVING)), 1.0)
        p[self._weights >= self.limit] = 1.0
        inside = np.repeat(at, np.diff(self._start))
        # A factor of zero is kept apart, since it can't be divided out again.
        stays = 1.0 - inside * p
        sure = stays <= 0.0
        missed = np.ones(self.n_records)
        np.multiply.at(missed, self._slots[~sure], stays[~sure])
        missed[self._slots[sure]] = 0.0
        parts = missed[self._slots] * p * (1.0 - inside) / np.where(sure, 1.0, stays)
        rounded = np.floor(np.ldexp(np.minimum(parts, 1.0), MARGINAL_BITS) - _MARGIN)
        whole = np.maximum(rounded, 0.0).astype(np.int64)
        if kept is not None:
            whole[~kept[self._slots]] = 0
        total = np.concatenate([[0], np.cumsum(whole)])
        return np.ldexp(np.diff(total[self._start]).astype(np.float64), -MARGINAL_BITS)
