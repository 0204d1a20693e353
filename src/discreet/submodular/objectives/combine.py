r"""Functions made from functions: weighted sums, and any Python callable.

A function that counts the gains that are evaluated is for tests and diagnostics, never for a release.

Trusted: the guarantee rests on this code, by how much one record moves a value.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction, to_positive
from discreet.submodular.objectives.arguments import RecordArgument
from discreet.submodular.objectives.coverage import read_bits
from discreet.submodular.objectives.objective import (
    GrowingChoice,
    Objective,
    ObjectiveSpec,
    kept_records,
    positive,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

_WEIGHT_BITS = 8
"""Fractional bits of a weight."""


@final
class Sum(Objective):
    r"""A weighted sum of functions of the same records: :math:`F = \sum_j w_j F_j`, weights of sum at most 1.

    Parameters
    ----------
    parts
        Functions with equal ground sets and kinds, of the same records in the same order.
    weights
        :math:`w_j`, read exactly, then rounded down to multiples of 1/256; positive, with sum at most 1, so that a
        record still contributes at most 1. Public. Equal ones by default.

    Raises
    ------
    InvalidProblemError
        For parts that do not fit each other, or weights of another sum.

    Examples
    --------
    >>> from discreet.submodular import Coverage, FacilityLocation
    >>> near = FacilityLocation([[1.0, 0.5], [0.0, 1.0]])
    >>> both = Sum([near, Coverage([[True, False], [False, False]])], ["0.5", "0.5"])
    >>> both.value([0]) / 2**both.scale_bits
    1.0
    """

    @classmethod
    def spec(
        cls, parts: Sequence[ObjectiveSpec], weights: Sequence[Exact] | None = None
    ) -> ObjectiveSpec:
        """State the public facts for :func:`~discreet.submodular.plan`; a :class:`Sum` comes with the release.

        Parameters
        ----------
        parts
            The specs of the parts.
        weights
            As for the class.

        Raises
        ------
        InvalidProblemError
            For weights that are not positive, one for each part, with a sum of at most 1.
        """
        stated: Any = parts
        multiples, _, bits = _combined(stated, weights)
        return ObjectiveSpec(
            cls,
            stated[0].n_kinds,
            bits,
            _weighted_sensitivity(multiples, stated),
            all(part.decomposable for part in stated),
            all(part.monotone for part in stated),
        )

    def __init__(self, parts: Sequence[Objective], weights: Sequence[Exact] | None = None) -> None:
        self._parts = tuple(parts)
        if not self._parts:
            raise InvalidProblemError("parts", "at least one function", "none")
        shapes = {(part.n_elements, part.n_kinds, part.n_records) for part in self._parts}
        if len(shapes) != 1:
            # The third number, of records, is private.
            sizes = sorted({f"{n} elements, {k} kinds" for n, k, _ in shapes})
            got = "; ".join(sizes) if len(sizes) > 1 else "different numbers of records"
            raise InvalidProblemError("parts", "functions of the same sets and records", got)
        self._weights, self._shifts, self.scale_bits = _combined(self._parts, weights)
        self.n_elements, self.n_kinds, self.n_records = shapes.pop()
        self.decomposable = all(part.decomposable for part in self._parts)
        self.monotone = all(part.monotone for part in self._parts)
        self.submodular = all(part.submodular for part in self._parts)
        self.clipped = sum(part.clipped for part in self._parts)

    @property
    def sensitivity(self) -> Fraction:
        """The weighted sum of the parts' sensitivities."""
        return _weighted_sensitivity(self._weights, self._parts)

    def start(self, records: ArrayLike | None = None) -> GrowingChoice:
        """Start with nothing chosen in each part; `records` is a mask ``(n_records,)`` of those that count.

        All by default.

        The cost is that of the parts' ``start``, and each gain is that of every part.
        """
        return _Summed(self, [part.start(records) for part in self._parts])

    def weighted(self, values: Sequence[Any]) -> Any:  # noqa: ANN401 - numbers or arrays
        """Return the weighted sum of the parts' values as an integer in the common unit.

        There is one value for each part, in its own unit.
        """
        terms = zip(values, self._weights, self._shifts, strict=True)
        return sum(value * (weight << shift) for value, weight, shift in terms)


def _combined(
    parts: Sequence[Objective] | Sequence[ObjectiveSpec], weights: Sequence[Exact] | None
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return weights as multiples of 1/256, the shift of each part to the common unit, and the bits of that unit.

    Weights must be positive, one for each part, with a sum of at most 1; equal by default. Others are refused.
    """
    equal = [Fraction(1, len(parts))] * len(parts)
    exact = equal if weights is None else [to_fraction(w, "weights") for w in weights]
    if len(exact) != len(parts) or min(exact) <= 0 or sum(exact) > 1:
        raise InvalidProblemError(
            "weights", f"{len(parts)} positive numbers of sum at most 1", weights
        )
    finest = max(part.scale_bits for part in parts)
    multiples = tuple(math.floor(w * (1 << _WEIGHT_BITS)) for w in exact)
    return multiples, tuple(finest - part.scale_bits for part in parts), finest + _WEIGHT_BITS


def _weighted_sensitivity(
    weights: Sequence[int], parts: Sequence[Objective] | Sequence[ObjectiveSpec]
) -> Fraction:
    """Return the sensitivity of a weighted sum; `weights` are multiples of 1/256."""
    changes = [part.sensitivity for part in parts]
    total = sum((w * one for w, one in zip(weights, changes, strict=True)), Fraction(0))
    return total / (1 << _WEIGHT_BITS)


class _Summed(GrowingChoice):
    def __init__(self, objective: Sum, inner: list[GrowingChoice]) -> None:
        super().__init__(objective)
        self._of = objective
        self._inner = inner

    def _gains(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(self._of.weighted([state.gains(elements) for state in self._inner]))

    def _add(self, element: int, kind: int) -> int:
        """Add element and kind to each part; return the weighted gain, an integer in the common unit."""
        gained = [state.gain(element, kind) for state in self._inner]
        for state in self._inner:
            state.add(element, kind)
        return int(self._of.weighted(gained))


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

    def start(self, records: ArrayLike | None = None) -> GrowingChoice:
        """Start with nothing chosen; `records` is a mask ``(n_records,)`` of booleans: those that count.

        All by default.

        ``O(n_records)`` without a call of the function; each gain then takes one call a record. InvalidProblemError
        for a mask of another shape or type.
        """
        mask = kept_records(records, self.n_records)
        numbers = range(self.n_records) if mask is None else np.flatnonzero(mask).tolist()
        return _Parts(self, np.array(numbers, dtype=np.int64), np.zeros(len(numbers), np.int64))

    def parts(
        self, numbers: NDArray[np.int64], chosen: tuple[tuple[int, int], ...]
    ) -> NDArray[np.int64]:
        """Evaluate the function for each record, clipped to [0, 1], NaN as 0: int64 in units of ``2^-scale_bits``.

        `numbers` ``(m,)`` are the records, `chosen` pairs of an element and its kind; one call a record. Private.
        """
        argument = sets_of(chosen, self.n_kinds)
        values = [self._part(self._records[i], argument) for i in numbers.tolist()]
        read = np.array(values, dtype=np.float64)
        # A function that is undefined for a record gives it nothing: an error would tell.
        clipped = np.clip(np.nan_to_num(read, nan=0.0), 0.0, 1.0)
        return np.floor(clipped * 2.0**self.scale_bits).astype(np.int64)


class _Parts(GrowingChoice):
    def __init__(
        self, objective: FromRecords, numbers: NDArray[np.int64], reached: NDArray[np.int64]
    ) -> None:
        super().__init__(objective)
        self._of = objective
        self._numbers = numbers
        self._reached = reached

    def _after(self, element: int, kind: int) -> NDArray[np.int64]:
        """Return the largest value reached by each part once a pair is added, ``(parts,)``."""
        values = self._of.parts(self._numbers, (*self._members, (element, kind)))
        return np.maximum(values, self._reached)

    def _gain(self, element: int, kind: int) -> int:
        return int((self._after(element, kind) - self._reached).sum())

    def _add(self, element: int, kind: int) -> int:
        """Note the values reached with the pair; return the sum of their rises."""
        after = self._after(element, kind)
        gained = int((after - self._reached).sum())
        self._reached = after
        return gained


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

    def start(self, records: ArrayLike | None = None) -> GrowingChoice:
        """Start with nothing chosen; a subsample has no use where F is no sum over records.

        ``O(1)``; each gain then takes one call of the function.

        Raises
        ------
        InvalidProblemError
            If `records` is not ``None``.
        """
        if records is not None:
            raise InvalidProblemError("records", "None where F is no sum over records", "a mask")
        return _Called(self)

    def evaluate(self, chosen: tuple[tuple[int, int], ...]) -> int:
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


class _Called(GrowingChoice):
    def __init__(self, objective: FromFunction) -> None:
        super().__init__(objective)
        self._of = objective

    def _gain(self, element: int, kind: int) -> int:
        return self._of.evaluate((*self._members, (element, kind))) - self._value

    def _add(self, element: int, kind: int) -> int:
        return self._gain(element, kind)


def sets_of(chosen: tuple[tuple[int, int], ...], n_kinds: int) -> Any:  # noqa: ANN401 - a set, or a tuple of sets
    """Return the chosen elements as one frozenset, or for several kinds as a tuple of them."""
    sets = tuple(frozenset(e for e, i in chosen if i == kind) for kind in range(n_kinds))
    return sets[0] if n_kinds == 1 else sets
