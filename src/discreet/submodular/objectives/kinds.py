r"""Kinds as elements of their own: a monotone submodular function of pairs is k-submodular on disjoint sets.

Advertising slots for k agencies (Example 5.1): in how many agencies' campaigns each person is reached.

.. math:: F(S_1, \dots, S_k) = \frac{1}{k} \sum_x \sum_i [\text{agency } i \text{ reaches } x \text{ from } S_i].

The paper counts a person once for each agency that reaches them, so that one person changes the value by up to k. Here
the count is divided by k, which makes the sensitivity 1 and changes no choice.

Influence with k topics: who is reached by some topic, each element spreading one of them.

.. math:: F(S_1, \dots, S_k) = \sum_x \Big(1 - \prod_i \prod_{e \in S_i} (1 - p^i_{xe})\Big).

Facilities for k resources (Example 5.2): the best place that offers a resource serves each record with it.

.. math:: F(S_1, \dots, S_k) = \frac{1}{k} \sum_x \sum_i \max_{e \in S_i} s^i_{xe}, \qquad \max_{\emptyset} = 0.

With costs, :math:`s^i = 1 - c_i / C` for a public C that no cost exceeds; the cost to a resource that nobody offers is
C, which the paper leaves open and k-submodularity needs.

Trusted: the guarantee rests on this code, by how much one record moves a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_measure
from discreet.submodular.objectives.arguments import RecordArgument
from discreet.submodular.objectives.concave import (
    PRECISION,
    ConcaveOverModular,
    Influence,
    read_numbered,
)
from discreet.submodular.objectives.coverage import clip_to_scale, read_bits
from discreet.submodular.objectives.facility import FacilityLocation
from discreet.submodular.objectives.objective import (
    Objective,
    ObjectiveSpec,
    integers_of,
    positive,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.exact import Exact


class Tagged(Objective):
    """A function of pairs ``(element, kind)``, of which each element may appear in one.

    Restricted to disjoint sets, a monotone submodular function F of pairs is monotone and k-submodular: gains fall as
    sets grow, and two gains of one element add up to at least 0 since neither is negative.

    Parameters
    ----------
    pairs
        F, on ``n_elements * n_kinds`` elements; pair ``(e, i)`` is number ``e * n_kinds + i``.
    n_kinds
        k.
    repeats
        How many consecutive records of F belong to one record.
    """

    scale_bits = PRECISION.table_bits

    def __init__(self, pairs: Objective, n_kinds: int, repeats: int = 1) -> None:
        self._pairs = pairs
        self._repeats = repeats
        self.clipped = pairs.clipped
        self.n_elements, self.n_kinds = pairs.n_elements // n_kinds, n_kinds
        self.n_records = pairs.n_records // repeats

    def begin(self, kept: NDArray[np.bool_] | None) -> Any:  # noqa: ANN401 - as of the function of pairs
        """Return the state of the function of pairs, in which a record is `repeats` records."""
        return self._pairs.begin(None if kept is None else np.repeat(kept, self._repeats))

    def gains_at(self, state: Any, elements: NDArray[np.int64]) -> NDArray[np.int64]:  # noqa: ANN401 - as above
        """Return gains ``(len(elements), kinds)``; each pair is an element of the function of pairs."""
        numbers = elements[:, None] * self.n_kinds + np.arange(self.n_kinds)
        return self._pairs.gains_at(state, numbers.reshape(-1)).reshape(-1, self.n_kinds)

    def extended(self, state: Any, element: int, kind: int) -> Any:  # noqa: ANN401 - as above
        """Add the pair to the function of pairs as one element."""
        return self._pairs.extended(state, element * self.n_kinds + kind, 0)


def read_kinds(kinds: ArrayLike, n_kinds: object, field: str) -> tuple[NDArray[np.int64], int]:
    """Return the kind of each edge as int64 ``(m,)``, -1 for an unknown one, and the number of kinds.

    Raises
    ------
    InvalidProblemError
        If `n_kinds` is not a positive integer; the message names it ``n_`` and `field`.
    """
    k, read = positive(n_kinds, f"n_{field}"), integers_of(kinds)
    return np.where((read >= 0) & (read < k), read, -1), k


def tagged(
    elements: ArrayLike, kinds: NDArray[np.int64], n_elements: int, n_kinds: int
) -> NDArray[np.int64]:
    """Number the pairs of edges ``(m,)`` int64: element times kinds plus kind, -1 for an unknown one.

    Elements are from 0 to `n_elements` - 1, kinds from 0 to `n_kinds` - 1, or -1 where unknown.

    Raises
    ------
    InvalidProblemError
        If there is not one element for each kind.
    """
    read = integers_of(elements)
    if read.shape != kinds.shape:
        raise InvalidProblemError("elements", "an integer for each edge", "another shape")
    fine = (read >= 0) & (read < n_elements) & (kinds >= 0)
    return np.where(fine, read * n_kinds + kinds, -1)


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
        Number of people, with those whom nobody reaches. ``None``: one more than the last who is reached.

    References
    ----------
    [RY20]_, Example 5.1.

    Examples
    --------
    >>> ads = AdAllocation([0, 0, 1], [0, 1, 1], [0, 1, 1], n_elements=2, n_agencies=2)
    >>> ads.value([(0, 0)]) / 2**30, ads.value([(0, 0), (1, 1)]) / 2**30
    (0.5, 1.5)
    """

    @classmethod
    def spec(cls, *, n_agencies: int) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; records, elements and agencies come later.

        `n_agencies` is the number of kinds, 1 or more.
        """
        public = {"n_agencies": read_kinds([], n_agencies, "agencies")[1]}
        names = ("records", "elements", "agencies")
        return cls.edge_facts(names, public, n_kinds=n_agencies)

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
        people, _, count, fine = read_numbered(records, elements, n_elements, n_records)
        pairs = ConcaveOverModular(
            people * k + np.maximum(kinds, 0),
            np.where(fine, numbers, -1),
            np.ones(len(people), dtype=np.int64),
            table=[0, (1 << PRECISION.table_bits) // k],
            n_elements=n_elements * k,
            n_records=count * k,
        )
        super().__init__(pairs, k, repeats=k)


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
        Number of records, including records without an edge. ``None``: one more than the last that has one.

    References
    ----------
    [OY15]_, influence maximization with k topics; [RY20]_, section 1.

    Examples
    --------
    >>> reach = TopicInfluence([0, 0, 1], [0, 0, 1], [0, 1, 1], [0.5, 1.0, 0.5], n_elements=2, n_topics=2)
    >>> round(reach.value([(0, 0)]) / 2**30, 4), round(reach.value([(0, 1), (1, 1)]) / 2**30, 4)
    (0.5, 1.5)
    """

    @classmethod
    def spec(cls, *, n_topics: int) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; the edges come later.

        `n_topics` is the number of kinds, 1 or more.
        """
        public = {"n_topics": read_kinds([], n_topics, "topics")[1]}
        names = ("records", "elements", "topics", "chances")
        return cls.edge_facts(names, public, n_kinds=n_topics)

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


@final
class ResourceLocation(Objective):
    """Mean similarity of each record to its best place of each of k resources; a chosen place offers one resource.

    Parameters
    ----------
    similarities
        For each resource a table ``(n_records, n_elements)``, clipped to [0, scale]; NaN counts as 0.
    scale_bits
        Fractional bits of a value, 1 to 30.
    scale
        Public: the similarity that counts as 1.

    Raises
    ------
    InvalidProblemError
        For tables of different shapes, or none.

    References
    ----------
    [RY20]_, Example 5.2.

    Examples
    --------
    >>> places = ResourceLocation([[[1.0, 0.0]], [[0.5, 0.5]]], scale_bits=2)
    >>> places.value([(0, 0)]), places.value([(0, 0), (1, 1)])
    (2, 3)
    """

    @classmethod
    def spec(cls, *, n_resources: int, scale_bits: int = 15, scale: Exact = 1) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; the tables come later.

        `n_resources` is the number of kinds; `scale_bits` and `scale` are as of the class, and what the class refuses
        is refused.
        """
        tables = RecordArgument("similarities", ("kind", "record", "element"), "fiub")
        kinds = read_kinds([], n_resources, "resources")[1]
        bits = read_bits(scale_bits)
        public = {"scale_bits": bits, "scale": to_measure(scale, "scale")}
        return cls.facts([tables], public, scale_bits=bits, n_kinds=kinds)

    def __init__(
        self, similarities: Sequence[ArrayLike], *, scale_bits: int = 15, scale: Exact = 1
    ) -> None:
        self.scale = to_measure(scale, "scale")
        largest = float(self.scale)
        clipped = [clip_to_scale(table, "similarities", largest) for table in similarities]
        tables = [parts for parts, _ in clipped]
        if not tables or any(table.shape != tables[0].shape for table in tables):
            raise InvalidProblemError(
                "similarities", "a table for each resource, all of one shape", "others"
            )
        k = len(tables)
        self._of = tuple(
            FacilityLocation(table / k, scale_bits=scale_bits, public_elements=True)
            for table in tables
        )
        self.clipped = sum(count for _, count in clipped)
        self.n_kinds = k
        self.n_elements = self._of[0].n_elements
        self.n_records = self._of[0].n_records
        self.scale_bits = scale_bits

    def begin(self, kept: NDArray[np.bool_] | None) -> list[NDArray[Any]]:
        """Return by how much each record is served with each resource."""
        return [places.begin(kept) for places in self._of]

    def gains_at(self, state: list[NDArray[Any]], elements: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return gains ``(len(elements), kinds)``: one pass over the tables."""
        parts = zip(self._of, state, strict=True)
        return np.concatenate([one.gains_at(best, elements) for one, best in parts], axis=1)

    def extended(self, state: list[NDArray[Any]], element: int, kind: int) -> list[NDArray[Any]]:
        """Serve records with the resource `kind` from one more place."""
        self._of[kind].extended(state[kind], element, 0)
        return state
