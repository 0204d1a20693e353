r"""Facilities for k resources (Example 5.2): the best place that offers a resource serves each record with it.

.. math:: F(S_1, \dots, S_k) = \frac{1}{k} \sum_x \sum_i \max_{e \in S_i} s^i_{xe}, \qquad \max_{\emptyset} = 0.

With costs, :math:`s^i = 1 - c_i / C` for a public C that no cost exceeds; the cost to a resource that nobody offers is
C, which the paper leaves open and k-submodularity needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.facility import FacilityLocation
from discreet.submodular.objective import Objective, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["ResourceLocation"]


@final
class ResourceLocation(Objective):
    """How well each record is served with k resources, on average, where each chosen place offers one of them.

    Parameters
    ----------
    similarities
        For each resource a table ``(n_records, n_elements)``, in [0, 1], clipped beyond.
    scale_bits
        Fractional bits of a value, 1 to 30.

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

    def __init__(self, similarities: Sequence[ArrayLike], *, scale_bits: int = 15) -> None:
        tables = [np.asarray(table, dtype=np.float64) for table in similarities]
        if not tables or any(table.shape != tables[0].shape for table in tables):
            raise InvalidProblemError(
                "similarities", "a table for each resource, all of one shape", "others"
            )
        k = len(tables)
        self._of = tuple(
            FacilityLocation(np.clip(table, 0.0, 1.0) / k, scale_bits=scale_bits)
            for table in tables
        )
        self.n_kinds = k
        self.n_elements = self._of[0].n_elements
        self.n_records = self._of[0].n_records
        self.scale_bits = scale_bits

    @classmethod
    def from_costs(
        cls, costs: Sequence[ArrayLike], *, largest: float, scale_bits: int = 15
    ) -> Self:
        """Take ``1 - cost / largest`` for the similarity, 0 beyond.

        Parameters
        ----------
        costs
            For each resource a table ``(n_records, n_elements)``, in any unit.
        largest
            C, in the same unit. Public.
        scale_bits
            Fractional bits of a value.

        Examples
        --------
        >>> ResourceLocation.from_costs([[[0.0, 3.0]], [[2.0, 2.0]]], largest=4.0, scale_bits=3).value([(0, 0)])
        4
        """
        if not 0 < largest < np.inf:
            raise InvalidProblemError("largest", "a positive number", largest)
        return cls(
            [1.0 - np.asarray(table, dtype=np.float64) / largest for table in costs],
            scale_bits=scale_bits,
        )

    def start(self, records: ArrayLike | None = None) -> State:
        """Start with nothing chosen."""
        return _Offered(self, [places.start(records) for places in self._of])


class _Offered(State):
    def __init__(self, objective: ResourceLocation, inner: list[State]) -> None:
        super().__init__(objective)
        self._of = objective
        self._inner = inner

    def _gains(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([state.gains(elements) for state in self._inner], axis=1)

    def _add(self, element: int, kind: int) -> int:
        before = self._inner[kind].value
        self._inner[kind].add(element)
        return self._inner[kind].value - before

    def _copy(self) -> State:
        return _Offered(self._of, [state.copy() for state in self._inner])
