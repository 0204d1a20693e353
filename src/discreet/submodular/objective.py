r"""What is maximized: a monotone (k-)submodular function that private records add up to.

**Units.** Values are integers in units of :math:`2^{-b}`, b being `scale_bits`. Each record's contribution is rounded
to such a multiple *before* contributions are added, so that the sum is as monotone and as (k-)submodular as the exact
contributions are, and no rounding of a sum depends on who is in it.

**Sensitivity.** One record contributes :math:`F_x \in [0, 1]`. Functions here clip each record's part to 1 instead of
refusing it, since a refusal would tell something about that record; :math:`\min(F_x, 1)` of a monotone submodular
function is monotone and submodular.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import PublicInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["MARGINAL_BITS", "Objective", "State", "kept_records", "positions", "probabilities"]

MARGINAL_BITS = 24
"""Multilinear marginals are multiples of :math:`2^{-24}`: below 2^29 records their sums are exact in floats."""


class State(ABC):
    """A chosen set, or k disjoint ones, that grows; knows its value and the gain of every element.

    The value, the gains, and how long they take to compute are private. Nothing of them may leave, except through a
    mechanism.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._members: list[tuple[int, int]] = []
        self._taken = np.zeros(objective.n_elements, dtype=np.bool_)
        self._value = 0

    @property
    def value(self) -> int:
        """F of what was chosen, in units of ``2^-scale_bits``. Private."""
        return self._value

    @property
    def members(self) -> tuple[tuple[int, int], ...]:
        """What was chosen, in order: pairs of an element and its kind."""
        return tuple(self._members)

    def gains(self, elements: ArrayLike | None = None) -> NDArray[np.int64]:
        """Give the marginal gain of each element with each kind.

        Parameters
        ----------
        elements
            Which elements; all by default.

        Returns
        -------
        ndarray
            ``(n, n_kinds)`` of ``int64``, in units of ``2^-scale_bits``. Elements that are already in gain 0.
        """
        n = self._objective.n_elements
        asked = np.arange(n) if elements is None else positions(elements, n)
        gains = self._gains(asked)
        gains[self._taken[asked]] = 0
        return gains

    def gain(self, element: int, kind: int = 0) -> int:
        """Give the marginal gain of one element with one kind."""
        self._objective.check_pair(element, kind)
        if self._taken[element]:
            return 0
        return int(self._gains(np.array([element]))[0, kind])

    def add(self, element: int, kind: int = 0) -> None:
        """Choose an element.

        Raises
        ------
        InvalidProblemError
            For an unknown element or kind, or one that is already in.
        """
        self._objective.check_pair(element, kind)
        if self._taken[element]:
            raise InvalidProblemError("element", "one that is not yet chosen", element)
        self._value += self._add(int(element), int(kind))
        self._taken[element] = True
        self._members.append((int(element), int(kind)))

    def copy(self) -> State:
        """Make a state that grows on its own from here."""
        other = self._copy()
        other._objective = self._objective  # noqa: SLF001 - a copy fills in its own kind
        other._members = list(self._members)  # noqa: SLF001 - as above
        other._taken = self._taken.copy()  # noqa: SLF001 - as above
        other._value = self._value  # noqa: SLF001 - as above
        return other

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._members)} chosen)"

    @abstractmethod
    def _gains(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        """Compute gains ``(len(elements), n_kinds)``; what it says of elements already in is ignored."""

    @abstractmethod
    def _add(self, element: int, kind: int) -> int:
        """Take an element in and return what it gained."""

    @abstractmethod
    def _copy(self) -> State:
        """Copy what the subclass holds, without what this class holds."""


class Objective(ABC):
    """A monotone, normalized (k-)submodular function of a public ground set and private records.

    Attributes
    ----------
    n_elements
        Size of the ground set, which is public.
    n_kinds
        k of a k-submodular function: each chosen element takes one of so many kinds. 1 for set functions.
    n_records
        Number of records. **Private** where neighbors add or remove a record.
    scale_bits
        b: values are in units of :math:`2^{-b}`.
    decomposable
        Whether F is a sum of functions, one for each record, with values in [0, 1].
    monotone
        Whether, for every record, gains are never negative along any order of choices, and add up to at most 1. The
        accounting of sums over records rests on it; functions that are sums see to it themselves.
    submodular
        Whether F is known to be monotone and (k-)submodular: without that no bound on a gain outlives a choice.
    """

    n_elements: int
    n_kinds: int = 1
    n_records: int
    scale_bits: int
    decomposable: bool = True
    monotone: bool = True
    submodular: bool = True

    @property
    def sensitivity(self) -> Fraction:
        """How much adding or removing one record can change F(S), in units of 1."""
        return Fraction(1)

    @abstractmethod
    def start(self, records: ArrayLike | None = None) -> State:
        """Start with nothing chosen.

        Parameters
        ----------
        records
            ``(n_records,)`` booleans: the records that count. All by default. It must stay secret where a subsample is
            what makes the result private.

        Returns
        -------
        State
        """

    def value(self, chosen: Iterable[int] | Iterable[tuple[int, int]]) -> int:
        """Compute F of a set, or of k disjoint ones, in units of ``2^-scale_bits``. Private.

        Parameters
        ----------
        chosen
            Elements, or pairs of an element and its kind.
        """
        state = self.start()
        for element, kind in self.pairs(chosen):
            state.add(element, kind)
        return state.value

    def multilinear_marginals(
        self, x: ArrayLike, records: ArrayLike | None = None
    ) -> NDArray[np.float64] | None:
        r"""Compute :math:`w_e = E[F(R + e)] - E[F(R)]`, R holding each element with its probability.

        Parameters
        ----------
        x
            ``(n_elements,)`` probabilities. Public.
        records
            ``(n_records,)`` booleans: the records that count. All by default.

        Returns
        -------
        ndarray or None
            ``(n_elements,)`` in units of 1 (of whole records), multiples of :math:`2^{-24}`: each record's part lies in
            [0, 1] and was rounded down before parts were added, and their sum is exact. ``None`` where there is no
            closed form; sample R with public coins instead.
        """
        del x, records
        return None

    def served(self) -> NDArray[Any] | None:
        """Give the table behind a function that serves each record by its best chosen element. Private.

        Returns
        -------
        ndarray or None
            ``(n_elements, n_records)`` integers in units of ``2^-scale_bits``: F(S) is the sum over records of the
            largest entry of S. ``None`` for other functions.
        """
        return None

    def assumed_public(self) -> tuple[PublicInput, ...]:
        """List what a release takes to be public: the ground set, the kinds and the unit."""
        import hashlib

        facts = f"{type(self).__name__} {self.n_elements} {self.n_kinds} {self.scale_bits}"
        digest = hashlib.sha256(f"discreet.submodular.ground/1 {facts}".encode()).hexdigest()
        kinds = "" if self.n_kinds == 1 else f", {self.n_kinds} kinds"
        return (PublicInput("ground set", digest, f"{self.n_elements} elements{kinds}"),)

    def pairs(
        self, chosen: Iterable[int] | Iterable[tuple[int, int]]
    ) -> tuple[tuple[int, int], ...]:
        """Read what is chosen as pairs of an element and its kind, none twice.

        Raises
        ------
        InvalidProblemError
            For an unknown element or kind, or an element that comes twice.
        """
        read = tuple(
            (int(item[0]), int(item[1])) if isinstance(item, tuple) else (int(item), 0)
            for item in chosen
        )
        for element, kind in read:
            self.check_pair(element, kind)
        if len({element for element, _ in read}) != len(read):
            raise InvalidProblemError("chosen", "different elements", "one of them twice")
        return read

    def check_pair(self, element: int, kind: int) -> None:
        """Refuse an unknown element or kind."""
        if not 0 <= element < self.n_elements:
            raise InvalidProblemError("element", f"0 to {self.n_elements - 1}", element)
        if not 0 <= kind < self.n_kinds:
            raise InvalidProblemError("kind", f"0 to {self.n_kinds - 1}", kind)

    def __repr__(self) -> str:
        kinds = "" if self.n_kinds == 1 else f", {self.n_kinds} kinds"
        return f"{type(self).__name__}({self.n_elements} elements{kinds})"


def positions(elements: ArrayLike, n: int) -> NDArray[np.int64]:
    """Read elements as an array of integers, each from 0 to n - 1."""
    read = np.asarray(elements)
    if not read.size:
        return np.zeros(0, dtype=np.int64)
    if read.ndim != 1 or not np.issubdtype(read.dtype, np.integer):
        raise InvalidProblemError(
            "elements", "a sequence of integers", f"{read.dtype} {read.shape}"
        )
    if read.min() < 0 or read.max() >= n:
        outside = read[(read < 0) | (read >= n)][0]
        raise InvalidProblemError("elements", f"0 to {n - 1}", int(outside))
    return read.astype(np.int64)


def kept_records(records: ArrayLike | None, n_records: int) -> NDArray[np.bool_] | None:
    """Read which records count; ``None`` for all."""
    if records is None:
        return None
    kept = np.asarray(records)
    if kept.dtype != np.bool_ or kept.shape != (n_records,):
        # Neither length may be shown: the number of records is private.
        raise InvalidProblemError("records", "one boolean for each record", "something else")
    return kept


def probabilities(x: ArrayLike, n: int) -> NDArray[np.float64]:
    """Read a point of the unit cube."""
    read = np.asarray(x, dtype=np.float64)
    if read.shape != (n,) or not ((read >= 0) & (read <= 1)).all():
        raise InvalidProblemError("x", f"{n} numbers from 0 to 1", f"shape {read.shape}")
    return read
