r"""Functions that callers write: any Python callable, of a record and a set or of a set alone.

A function that counts the gains that are evaluated is for tests and diagnostics, never for a release.

Trusted: the guarantee rests on this code, by how much one record moves a value.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_positive
from discreet.submodular.objectives.arguments import RecordArgument
from discreet.submodular.objectives.coverage import read_bits
from discreet.submodular.objectives.objective import (
    Objective,
    ObjectiveSpec,
    positive,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_Pairs = tuple[tuple[int, int], ...]


class _Reached(NamedTuple):
    """What records have reached along a choice.

    Parameters
    ----------
    numbers
        ``(m,)`` the records that count.
    values
        ``(m,)`` the largest value of each, in units of ``2^-scale_bits``.
    chosen
        Pairs of an element and its kind.
    """

    numbers: NDArray[np.int64]
    values: NDArray[np.int64]
    chosen: _Pairs


@final
class FromRecords(Objective):
    """A sum over records of any Python function of one record and a chosen set.

    What it returns is clipped to [0, 1], rounded down, and taken as at least what the record had before and 0 for the
    empty set. For a monotone normalized function that changes nothing but the rounding; for another it keeps the proof
    of privacy, which needs each record's gains to be non-negative with sum at most 1, and no more.

    Parameters
    ----------
    records
        The records, one for each person.
    part
        ``part(record, chosen)``, a number. ``chosen`` is a frozenset of elements, or for several kinds a tuple of one
        frozenset for each.
    n_elements
        Size of the public ground set.
    n_kinds
        k.
    scale_bits
        Fractional bits of a value, 1 to 30.

    Notes
    -----
    Rounding can break submodularity by one unit for each record, so `submodular` is false. Check your
    function on a tiny ground set with :func:`discreet.submodular.check`.

    Examples
    --------
    >>> wishes = [{0, 1}, {2}]
    >>> f = FromRecords(wishes, lambda wish, chosen: len(wish & chosen) / len(wish), n_elements=3)
    >>> f.value([0]) / 2**f.scale_bits, f.value([0, 2]) / 2**f.scale_bits
    (0.5, 1.5)
    """

    submodular = False

    @classmethod
    def spec(
        cls, part: Callable[[Any, Any], float], *, n_kinds: int = 1, scale_bits: int = 15
    ) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; the records come later.

        `part` is the function of a record and a set, to [0, 1]; `n_kinds` is k, `scale_bits` the fractional bits of a
        value. InvalidProblemError for a number of kinds below 1, or bits beyond 1 to 30.
        """
        kinds, bits = positive(n_kinds, "n_kinds"), read_bits(scale_bits)
        public = {"part": part, "n_kinds": kinds, "scale_bits": bits}
        records = [RecordArgument("records")]
        return cls.facts(records, public, scale_bits=bits, n_kinds=kinds, takes_size=True)

    def __init__(
        self,
        records: Sequence[Any],
        part: Callable[[Any, Any], float],
        *,
        n_elements: int,
        n_kinds: int = 1,
        scale_bits: int = 15,
    ) -> None:
        self._records = tuple(records)
        self._part = part
        self.n_elements, self.n_kinds = positive(n_elements, "n_elements"), n_kinds
        positive(n_kinds, "n_kinds")
        self.n_records = len(self._records)
        self.scale_bits = read_bits(scale_bits)

    def begin(self, kept: NDArray[np.bool_] | None) -> _Reached:
        """Return what records have reached without a call of the function."""
        numbers = np.arange(self.n_records) if kept is None else np.flatnonzero(kept)
        return _Reached(numbers, np.zeros(len(numbers), dtype=np.int64), ())

    def gain_at(self, state: _Reached, element: int, kind: int) -> int:
        """Return the sum of the rises of all records; one call a record."""
        return int((self.extended(state, element, kind).values - state.values).sum())

    def extended(self, state: _Reached, element: int, kind: int) -> _Reached:
        """Return the largest value that each record has reached once a pair is added: one call a record."""
        chosen = (*state.chosen, (element, kind))
        values = np.maximum(self.parts(state.numbers, chosen), state.values)
        return _Reached(state.numbers, values, chosen)

    def parts(self, numbers: NDArray[np.int64], chosen: _Pairs) -> NDArray[np.int64]:
        """Evaluate the function for each record, clipped to [0, 1], NaN as 0: int64 in units of ``2^-scale_bits``.

        `numbers` ``(m,)`` are the records, `chosen` pairs of an element and its kind; one call a record. Private.
        """
        argument = sets_of(chosen, self.n_kinds)
        values = [self._part(self._records[i], argument) for i in numbers.tolist()]
        read = np.array(values, dtype=np.float64)
        # A function that is undefined for a record gives it nothing: an error would tell.
        clipped = np.clip(np.nan_to_num(read, nan=0.0), 0.0, 1.0)
        return np.floor(clipped * 2.0**self.scale_bits).astype(np.int64)


@final
class FromFunction(Objective):
    """Any Python function of a chosen set whose change for one record is known.

    Parameters
    ----------
    function
        ``function(chosen)``, a number, in any unit. ``chosen`` as for :class:`FromRecords`. 0 for the empty set.
    sensitivity
        How much adding or removing one record can change it, in the same unit; read exactly. It is not checked:
        a value that is too small makes every guarantee false.
    n_elements
        Size of the public ground set.
    n_kinds
        k.
    scale_bits
        Fractional bits of a value, 1 to 30.

    Raises
    ------
    InvalidProblemError
        For a sensitivity that is not positive, or a function that is not 0 for the empty set.

    Notes
    -----
    Values are rounded down, which may move two neighbors apart by one unit of ``2^-scale_bits`` more; the declared
    sensitivity grows by that.

    Examples
    --------
    >>> f = FromFunction(lambda chosen: len(chosen) ** 0.5, sensitivity="0.5", n_elements=4, scale_bits=1)
    >>> f.value([0, 1, 2, 3]), f.sensitivity
    (4, Fraction(1, 1))
    """

    decomposable = False
    monotone = False
    submodular = False
    n_records = 0

    @classmethod
    def spec(cls, *, sensitivity: Exact, n_kinds: int = 1, scale_bits: int = 15) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; the function comes later.

        `sensitivity` is in the unit of the function, and a unit for rounding is added; `n_kinds` is k, `scale_bits`
        the fractional bits of a value. InvalidProblemError for a sensitivity or a number that is not positive, or
        bits beyond 1 to 30.
        """
        kinds, bits = positive(n_kinds, "n_kinds"), read_bits(scale_bits)
        public = {"sensitivity": sensitivity, "n_kinds": kinds, "scale_bits": bits}
        change = to_positive(sensitivity, "sensitivity") + Fraction(1, 1 << bits)
        function = [RecordArgument("function")]
        return cls.facts(
            function, public, scale_bits=bits, n_kinds=kinds, sensitivity=change, takes_size=True
        )

    def __init__(
        self,
        function: Callable[[Any], float],
        *,
        sensitivity: Exact,
        n_elements: int,
        n_kinds: int = 1,
        scale_bits: int = 15,
    ) -> None:
        self._function = function
        self.n_elements, self.n_kinds = positive(n_elements, "n_elements"), n_kinds
        positive(n_kinds, "n_kinds")
        self.scale_bits = read_bits(scale_bits)
        self._sensitivity = to_positive(sensitivity, "sensitivity") + Fraction(1, 1 << scale_bits)
        if self.evaluate(()):
            raise InvalidProblemError(
                "function", "a normalized one, 0 for the empty set", "another value"
            )

    @property
    def sensitivity(self) -> Fraction:
        """What was declared, and one unit for rounding."""
        return self._sensitivity

    def begin(self, kept: NDArray[np.bool_] | None) -> tuple[int, _Pairs]:
        """Return the value and the pairs of a choice of nothing."""
        del kept
        return 0, ()

    def gain_at(self, state: tuple[int, _Pairs], element: int, kind: int) -> int:
        """Return by how much a pair changes the function: one call."""
        return self.extended(state, element, kind)[0] - state[0]

    def extended(self, state: tuple[int, _Pairs], element: int, kind: int) -> tuple[int, _Pairs]:
        """Return the value and the pairs with one more: one call."""
        chosen = (*state[1], (element, kind))
        return self.evaluate(chosen), chosen

    def evaluate(self, chosen: _Pairs) -> int:
        """Evaluate the function once, rounded down to units of ``2^-scale_bits``. Private.

        `chosen` are pairs of an element and its kind.

        Raises
        ------
        InvalidProblemError
            For a value that is not finite.
        """
        value = float(self._function(sets_of(chosen, self.n_kinds)))
        if not math.isfinite(value):
            raise InvalidProblemError("function", "a finite value", "another")
        return math.floor(Fraction(value) * (1 << self.scale_bits))


def sets_of(chosen: _Pairs, n_kinds: int) -> Any:  # noqa: ANN401 - a set, or a tuple of sets
    """Return the chosen elements as one frozenset, or for several kinds as a tuple of them."""
    sets = tuple(frozenset(e for e, i in chosen if i == kind) for kind in range(n_kinds))
    return sets[0] if n_kinds == 1 else sets
