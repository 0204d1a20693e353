"""Kinds as elements of their own: a monotone submodular function of pairs is k-submodular on disjoint sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.objective import Objective, State, kept_records

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Tagged", "read_kinds", "tagged"]


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

    def __init__(self, pairs: Objective, n_kinds: int, repeats: int = 1) -> None:
        self._pairs = pairs
        self._repeats = repeats
        self.n_elements = pairs.n_elements // n_kinds
        self.n_kinds = n_kinds
        self.n_records = pairs.n_records // repeats
        self.scale_bits = pairs.scale_bits
        self.decomposable = pairs.decomposable
        self.monotone = pairs.monotone
        self.submodular = pairs.submodular

    def start(self, records: ArrayLike | None = None) -> State:
        """Start with nothing chosen."""
        kept = kept_records(records, self.n_records)
        inner = self._pairs.start(None if kept is None else np.repeat(kept, self._repeats))
        return _Paired(self, inner)


class _Paired(State):
    def __init__(self, objective: Tagged, inner: State) -> None:
        super().__init__(objective)
        self._tags = objective
        self._inner = inner

    def _gains(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        kinds = self._tags.n_kinds
        numbers = elements[:, None] * kinds + np.arange(kinds)
        return self._inner.gains(numbers.reshape(-1)).reshape(-1, kinds)

    def _add(self, element: int, kind: int) -> int:
        before = self._inner.value
        self._inner.add(element * self._tags.n_kinds + kind)
        return self._inner.value - before

    def _copy(self) -> State:
        return _Paired(self._tags, self._inner.copy())


def read_kinds(kinds: ArrayLike, n_kinds: object, field: str) -> tuple[NDArray[np.int64], int]:
    """Read the kind of each edge."""
    if not isinstance(n_kinds, int) or isinstance(n_kinds, bool) or n_kinds < 1:
        raise InvalidProblemError(f"n_{field}", "a positive integer", repr(n_kinds))
    read = np.asarray(kinds)
    if not read.size:
        return np.zeros(0, dtype=np.int64), n_kinds
    if not np.issubdtype(read.dtype, np.integer) or read.min() < 0 or read.max() >= n_kinds:
        raise InvalidProblemError(field, f"integers from 0 to {n_kinds - 1}", "others")
    return read.astype(np.int64), n_kinds


def tagged(
    elements: ArrayLike, kinds: NDArray[np.int64], n_elements: int, n_kinds: int
) -> NDArray[np.int64]:
    """Number the pairs of edges, refusing unknown elements under their own name."""
    read = np.asarray(elements)
    if read.shape != kinds.shape or not (np.issubdtype(read.dtype, np.integer) or not read.size):
        raise InvalidProblemError("elements", "an integer for each edge", read.dtype)
    if read.size and (read.min() < 0 or read.max() >= n_elements):
        raise InvalidProblemError("elements", f"0 to {n_elements - 1}", "an unknown element")
    return read.astype(np.int64) * n_kinds + kinds
