r"""Advertising slots for k agencies (Example 5.1): in how many agencies' campaigns each person is reached.

.. math:: F(S_1, \dots, S_k) = \frac{1}{k} \sum_x \sum_i [\text{agency } i \text{ reaches } x \text{ from } S_i].

The paper counts a person once for each agency that reaches them, so that one person changes the value by up to k. Here
the count is divided by k, which makes the sensitivity 1 and changes no choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.submodular._tagged import Tagged, read_kinds, tagged
from discreet.submodular.concave import TABLE_BITS, ConcaveOverModular, read_numbered

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["AdAllocation"]


@final
class AdAllocation(Tagged):
    """The share of agencies that reach each person, added up, where each slot goes to one agency.

    Parameters
    ----------
    records
        ``(n_edges,)`` people, numbered from 0.
    elements
        ``(n_edges,)`` slots, from 0.
    agencies
        ``(n_edges,)`` agencies, from 0: given this slot, the agency reaches the person.
    n_elements
        Number of slots, the public ground set.
    n_agencies
        k.
    n_records
        Number of people, with those whom nobody reaches. ``None``: one more than the last whom somebody does.

    References
    ----------
    [RY20]_, Example 5.1.

    Examples
    --------
    >>> ads = AdAllocation([0, 0, 1], [0, 1, 1], [0, 1, 1], n_elements=2, n_agencies=2)
    >>> ads.value([(0, 0)]) / 2**30, ads.value([(0, 0), (1, 1)]) / 2**30
    (0.5, 1.5)
    """

    def __init__(
        self,
        records: ArrayLike,
        elements: ArrayLike,
        agencies: ArrayLike,
        *,
        n_elements: int,
        n_agencies: int,
        n_records: int | None = None,
    ) -> None:
        kinds, k = read_kinds(agencies, n_agencies, "agencies")
        numbers = tagged(elements, kinds, n_elements, k)
        people, _, count = read_numbered(records, elements, n_elements, n_records)
        pairs = ConcaveOverModular(
            people * k + kinds,
            numbers,
            np.ones(len(people), dtype=np.int64),
            table=[0, (1 << TABLE_BITS) // k],
            n_elements=n_elements * k,
            n_records=count * k,
        )
        super().__init__(pairs, k, repeats=k)
