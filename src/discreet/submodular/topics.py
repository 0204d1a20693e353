r"""Influence with k topics: who is reached by some topic, each element spreading one of them.

.. math:: F(S_1, \dots, S_k) = \sum_x \Big(1 - \prod_i \prod_{e \in S_i} (1 - p^i_{xe})\Big).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from discreet.submodular._tagged import Tagged, read_kinds, tagged
from discreet.submodular.influence import Influence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["TopicInfluence"]


@final
class TopicInfluence(Tagged):
    """The expected number of records that are reached, where each chosen element spreads one of k topics.

    Parameters
    ----------
    records
        ``(n_edges,)`` records, numbered from 0.
    elements
        ``(n_edges,)`` elements, from 0.
    topics
        ``(n_edges,)`` topics, from 0.
    chances
        ``(n_edges,)`` probabilities that the element reaches the record with the topic, clipped to [0, 1].
    n_elements
        Size of the public ground set.
    n_topics
        k.
    n_records
        Number of records, with those that have no edge. ``None``: one more than the last that has one.

    References
    ----------
    [OY15]_, influence maximization with k topics; [RY20]_, section 1.

    Examples
    --------
    >>> reach = TopicInfluence([0, 0, 1], [0, 0, 1], [0, 1, 1], [0.5, 1.0, 0.5], n_elements=2, n_topics=2)
    >>> round(reach.value([(0, 0)]) / 2**30, 4), round(reach.value([(0, 1), (1, 1)]) / 2**30, 4)
    (0.5, 1.5)
    """

    def __init__(
        self,
        records: ArrayLike,
        elements: ArrayLike,
        topics: ArrayLike,
        chances: ArrayLike,
        *,
        n_elements: int,
        n_topics: int,
        n_records: int | None = None,
    ) -> None:
        kinds, k = read_kinds(topics, n_topics, "topics")
        numbers = tagged(elements, kinds, n_elements, k)
        pairs = Influence(records, numbers, chances, n_elements=n_elements * k, n_records=n_records)
        super().__init__(pairs, k)
