r"""What k does not give: bounds on what a class says of a sensitive value, decided in integers.

A table of counts has a row for each class and a column for each sensitive value. Each model says which classes fail;
nothing is decided by a float, except where its error is bounded and cannot matter.

Trusted: the guarantee rests on this code, which decides demands on sensitive values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.certificate import Check
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

_EXPECTED = (
    "NAME=MODEL with distinct:L, entropy:L, recursive:C,L, closeness:T, ordered-closeness:T, "
    "ordered-closeness:T,LOW<MIDDLE<HIGH or alpha:A"
)

Number = int | str | float | Fraction
"""A float or text is read by its shortest decimal: 0.1 is 1/10."""


class PrivacyModel(Protocol):
    """A requirement on the classes of a table: a frozen record."""

    def failing(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the classes that fail: ``(classes,)``, for counts ``(classes, values)`` of rows."""
        ...

    def check(self, counts: NDArray[np.int64]) -> Check:
        """Return the check that no class fails; its residual is the number of those that do."""
        ...


def demand_text(name: str, model: object) -> str:
    """Format a demand on a column as it is typed on the command line, such as ``NAME=distinct:3``.

    Examples
    --------
    >>> demand_text("disease", RecursiveDiversity("1/2", 3))
    'disease=recursive:1/2,3'
    """
    match model:
        case DistinctDiversity(l=least):
            text = f"distinct:{least}"
        case EntropyDiversity(l=least):
            text = f"entropy:{least}"
        case RecursiveDiversity(c=times, l=least):
            text = f"recursive:{times},{least}"
        case Closeness(t=most, ordered=ordered, whole=None, order=order):
            stated = f",{'<'.join(order)}" if order else ""
            text = f"{'ordered-' if ordered else ''}closeness:{most}{stated}"
        case AlphaFrequency(alpha=most):
            text = f"alpha:{most}"
        case _:
            # Codes and counts of the original mean nothing to who has the published table alone.
            text = repr(model)
    return f"{name}={text}"


def counts_of(
    labels: ArrayLike, sensitive: ArrayLike, n_values: int | None = None
) -> NDArray[np.int64]:
    """Count sensitive values by class.

    ``O(n + n_classes * n_values)`` time, and a table of that size; a code of `n_values` or more is refused too.

    Parameters
    ----------
    labels
        ``(n,)`` classes 0, 1, ...; rows with -1 are left out.
    sensitive
        ``(n,)`` codes 0, 1, ... of the sensitive value.
    n_values
        Columns of the table; the largest code and 1 by default.

    Returns
    -------
    ndarray
        ``(n_classes, n_values)`` counts.

    Raises
    ------
    InvalidProblemError
        For arrays of different lengths, or codes below 0.

    Examples
    --------
    >>> counts_of([0, 0, 1, -1], [1, 0, 1, 1]).tolist()
    [[1, 1], [0, 1]]
    """
    classes, codes = np.asarray(labels, np.int64), np.asarray(sensitive, np.int64)
    if classes.ndim != 1 or classes.shape != codes.shape:
        raise InvalidProblemError("sensitive", f"shape {classes.shape}", codes.shape)
    if (codes < 0).any():
        raise InvalidProblemError("sensitive", "codes 0, 1, ...", "one below 0")
    width = int(codes.max(initial=-1)) + 1 if n_values is None else n_values
    if codes.max(initial=-1) >= width:
        raise InvalidProblemError("sensitive", f"codes below {width}", "one above")
    unsuppressed = classes >= 0
    height = int(classes.max(initial=-1)) + 1
    flat = np.bincount(
        classes[unsuppressed] * width + codes[unsuppressed], minlength=height * width
    )
    return flat.reshape(height, width)


def _read(field: str, value: Number, low: Fraction | int, high: Fraction | int | None) -> Fraction:
    """Read a parameter exactly.

    Raise InvalidProblemError, naming `field`, outside of `low` to `high` (``None``: no limit).
    """
    fraction = to_fraction(value, field)
    if fraction < low or (high is not None and fraction > high):
        limits = f"from {low}" if high is None else f"from {low} to {high}"
        raise InvalidProblemError(field, f"a number {limits}", repr(value))
    return fraction


def _rows(counts: NDArray[np.int64]) -> Iterator[list[int]]:
    """Yield the counts of each class of ``(classes, values)`` as Python integers.

    Refuse empty classes, negative counts.
    """
    for row in np.asarray(counts).tolist():
        if not sum(row) or min(row) < 0:
            raise InvalidProblemError("counts", "classes with rows, counts of 0 or more", "others")
        yield row


def _marks(found: Iterator[bool]) -> NDArray[np.bool_]:
    return np.fromiter(found, dtype=np.bool_)


def _checked(name: str, failing: NDArray[np.bool_]) -> Check:
    """Return the check that no class fails; `failing` is ``(classes,)``."""
    return Check(f"classes that fail {name}", int(failing.sum()), 0, exact=True)


@final
@dataclass(frozen=True)
class DistinctDiversity:
    """Each class has l different sensitive values or more.

    Examples
    --------
    >>> DistinctDiversity(2).failing(np.array([[3, 1], [4, 0]])).tolist()
    [False, True]
    """

    l: int  # noqa: E741 - the name in the literature

    def __post_init__(self) -> None:
        if self.l < 1:
            raise InvalidProblemError("l", "an integer of 1 or more", self.l)

    def failing(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark classes with fewer than l values: ``(classes,)`` from `counts` ``(classes, values)``.

        Linear in the counts. InvalidProblemError for a class without rows or a negative count.
        """
        return _marks(sum(c > 0 for c in row) < self.l for row in _rows(counts))

    def check(self, counts: NDArray[np.int64]) -> Check:
        """Return the check that :meth:`failing` marks no class."""
        return _checked(f"distinct {self.l}-diversity", self.failing(counts))


@final
@dataclass(frozen=True)
class EntropyDiversity:
    r"""The entropy of each class is :math:`\ln l` or more [MKGV07]_.

    With counts :math:`c_v` of n rows this is :math:`n^n \ge l^n \prod_v c_v^{c_v}`, which is compared in integers where
    logarithms are too near to tell.

    Examples
    --------
    >>> EntropyDiversity(2).failing(np.array([[3, 3], [4, 3]])).tolist()
    [False, True]
    """

    l: Number  # noqa: E741 - the name in the literature

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", _read("l", self.l, 1, None))

    def failing(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark classes of less entropy; `counts` are ``(classes, values)``."""
        least = to_fraction(self.l, "l")
        return _marks(_is_below(row, least) for row in _rows(counts))

    def check(self, counts: NDArray[np.int64]) -> Check:
        """Return the check that :meth:`failing` marks no class."""
        return _checked(f"entropy {self.l}-diversity", self.failing(counts))


def _is_below(row: list[int], least: Fraction) -> bool:
    """Test whether the entropy of counts is below ``log least``; decided in integers where floats cannot. Linear."""
    n = sum(row)
    terms = [n * math.log(n), -n * math.log(least)] + [-c * math.log(c) for c in row if c]
    total = math.fsum(terms)
    # Each term has a few roundings, each of 2^-53 of its size; 2^-40 is thousands of times that.
    if abs(total) > 2.0**-40 * math.fsum(map(abs, terms)):
        return total < 0
    left, right = (n * least.denominator) ** n, least.numerator**n
    for c in row:
        right *= c**c if c else 1
    return bool(left < right)


@final
@dataclass(frozen=True)
class RecursiveDiversity:
    """The most frequent value of each class has fewer rows than c times all from the l-th most frequent on [MKGV07]_.

    Examples
    --------
    >>> RecursiveDiversity(2, 2).failing(np.array([[3, 1, 1], [4, 1, 1]])).tolist()
    [False, True]
    """

    c: Number
    l: int  # noqa: E741 - the name in the literature

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", _read("c", self.c, 0, None))
        if self.l < 1:
            raise InvalidProblemError("l", "an integer of 1 or more", self.l)

    def failing(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark classes whose most frequent value is too frequent: ``(classes,)`` from `counts` ``(classes, values)``.

        A class with fewer than l values fails. Exact; a sort of each class. InvalidProblemError for a class without
        rows or a negative count.
        """
        c = to_fraction(self.c, "c")
        falling = (sorted(row, reverse=True) for row in _rows(counts))
        return _marks(row[0] >= c * sum(row[self.l - 1 :]) for row in falling)

    def check(self, counts: NDArray[np.int64]) -> Check:
        """Return the check that :meth:`failing` marks no class."""
        return _checked(f"recursive ({self.c}, {self.l})-diversity", self.failing(counts))


@final
@dataclass(frozen=True)
class Closeness:
    r"""The values of each class are distributed as in the whole table, up to a distance t [LLV07]_.

    Distances are earth mover's: :math:`\frac12 \sum_v |p_v - q_v|` where all values are equally far, or, for `ordered`
    values, :math:`\frac1{m-1} \sum_{v<m} \bigl|\sum_{u \le v} (p_u - q_u)\bigr|` for m values.

    Parameters
    ----------
    t
        Largest distance, from 0 to 1.
    ordered
        Whether values, in the order of their codes, are as far apart as their ranks.
    whole
        Counts of the whole table; those of all classes by default. Suppressed rows belong to it.
    order
        With `ordered`, values of text in their order; empty for numbers and dates, which have one.

    Examples
    --------
    >>> counts = np.array([[2, 2], [4, 0]])
    >>> Closeness(0.25).distances(counts), Closeness("0.2").failing(counts).tolist()
    ([Fraction(1, 4), Fraction(1, 4)], [True, True])
    """

    t: Number
    ordered: bool = False
    whole: tuple[int, ...] | None = None
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", _read("t", self.t, 0, 1))
        if self.order and (not self.ordered or len(set(self.order)) < len(self.order)):
            raise InvalidProblemError("order", "different values, with ordered=True", self.order)

    def distances(self, counts: NDArray[np.int64]) -> list[Fraction]:
        """Return the exact distance of each class, a row of `counts` ``(classes, values)``, from the table.

        From 0 to 1. Without `whole` the table is the sum of the classes.

        Raises
        ------
        InvalidProblemError
            If `whole` has another number of counts, or all counts are 0.
        """
        table = np.asarray(counts)
        table_counts = table.sum(axis=0).tolist() if self.whole is None else list(self.whole)
        if len(table_counts) != table.shape[1] or sum(table_counts) < 1:
            raise InvalidProblemError(
                "whole", f"{table.shape[1]} counts, not all 0", len(table_counts)
            )
        N, exact_distances = sum(table_counts), []
        for row in _rows(counts):
            n = sum(row)
            differences = [c * N - q * n for c, q in zip(row, table_counts, strict=True)]
            if not self.ordered:
                exact_distances.append(Fraction(sum(map(abs, differences)), 2 * n * N))
                continue
            carried, moved = 0, 0
            for difference in differences[:-1]:
                carried += difference
                moved += abs(carried)
            exact_distances.append(Fraction(moved, max(1, len(row) - 1) * n * N))
        return exact_distances

    def failing(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark classes whose distance is above t: ``(classes,)`` from `counts` ``(classes, values)``.

        Linear in the counts, exact. InvalidProblemError as for :meth:`distances`, and for a class without rows or a
        negative count.
        """
        t = to_fraction(self.t, "t")
        return _marks(distance > t for distance in self.distances(counts))

    def check(self, counts: NDArray[np.int64]) -> Check:
        """Return the check that :meth:`failing` marks no class."""
        kind = "ordered" if self.ordered else "equal"
        return _checked(f"{self.t}-closeness, {kind} distance", self.failing(counts))


@final
@dataclass(frozen=True)
class AlphaFrequency:
    """No sensitive value is more frequent than alpha in a class: with k rows, (alpha, k)-anonymity [WLFW06]_.

    Parameters
    ----------
    alpha
        Largest share of a class, from 0 to 1.

    Examples
    --------
    >>> AlphaFrequency("2/3").failing(np.array([[2, 1], [3, 1]])).tolist()
    [False, True]
    """

    alpha: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", _read("alpha", self.alpha, 0, 1))

    def failing(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark classes in which some value is more frequent than alpha.

        ``(classes,)`` from `counts` ``(classes, values)``. Linear in the counts, exact.
        """
        alpha = to_fraction(self.alpha, "alpha")
        return _marks(max(row) > alpha * sum(row) for row in _rows(counts))

    def check(self, counts: NDArray[np.int64]) -> Check:
        """Return the check that :meth:`failing` marks no class."""
        return _checked(f"frequency {self.alpha}", self.failing(counts))


@final
@dataclass(frozen=True)
class DeltaPresence:
    """Of a public table's rows in each class, a share between two bounds is in the private one [NAC07]_.

    Counts have two columns: public rows outside the private table, and public rows in it.

    Examples
    --------
    >>> DeltaPresence(0, "1/2").failing(np.array([[2, 2], [1, 3]])).tolist()
    [False, True]
    """

    least: Number
    most: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", _read("least", self.least, 0, 1))
        object.__setattr__(
            self, "most", _read("most", self.most, to_fraction(self.least, "least"), 1)
        )

    def failing(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark classes whose share of published rows is outside; `counts` are ``(classes, 2)``.

        Raises
        ------
        InvalidProblemError
            Unless `counts` has two columns: absent and present.
        """
        if np.asarray(counts).shape[1] != 2:
            raise InvalidProblemError("counts", "two columns", np.asarray(counts).shape)
        least, most = to_fraction(self.least, "least"), to_fraction(self.most, "most")
        return _marks(not least * sum(r) <= r[1] <= most * sum(r) for r in _rows(counts))

    def check(self, counts: NDArray[np.int64]) -> Check:
        """Return the check that :meth:`failing` marks no class."""
        return _checked(f"({self.least}, {self.most})-presence", self.failing(counts))


@final
@dataclass(frozen=True)
class KMap:
    """Of a population's people the cells of each class cover k or more: k-map [Swe02]_.

    Counts have two columns: people who are not in the table, and those who are.

    Examples
    --------
    >>> KMap(5).failing(np.array([[4, 1], [2, 2]])).tolist()
    [False, True]
    """

    k: int

    def __post_init__(self) -> None:
        value: object = self.k
        if not isinstance(value, int) or isinstance(value, bool) or value < 2:
            raise InvalidProblemError("k_map", "an integer of 2 or more", repr(value))

    def failing(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark classes that cover fewer than k people, the sum of a row of `counts` ``(classes, 2)``.

        Raises
        ------
        InvalidProblemError
            Unless `counts` has two columns.
        """
        if np.asarray(counts).shape[1] != 2:
            raise InvalidProblemError("counts", "two columns", np.asarray(counts).shape)
        return _marks(sum(row) < self.k for row in _rows(counts))

    def check(self, counts: NDArray[np.int64]) -> Check:
        """Return the check that :meth:`failing` marks no class."""
        return _checked(f"{self.k}-map", self.failing(counts))


def read_models(given: Sequence[str], *, field: str = "models") -> dict[str, list[PrivacyModel]]:
    """Read models by sensitive column, as :func:`demand_text` writes them and people type them.

    Parameters
    ----------
    given
        Texts such as ``disease=recursive:2,3``; a column may come again.
    field
        The argument, for messages.

    Raises
    ------
    InvalidProblemError
        For a text that states no model.

    Examples
    --------
    >>> read_models(["disease=distinct:3"])
    {'disease': [DistinctDiversity(l=3)]}
    """
    models: dict[str, list[PrivacyModel]] = {}
    for text in given:
        name, equals, model = text.rpartition("=")
        kind, colon, numbers = model.partition(":")
        if not equals or not colon:
            raise InvalidProblemError(field, _EXPECTED, repr(text))
        models.setdefault(name.strip(), []).append(
            _model(kind.strip(), numbers.split(","), text, field)
        )
    return models


def read_presence(text: str, *, field: str = "presence") -> DeltaPresence:
    """Read ``LOW:HIGH``.

    Raises
    ------
    InvalidProblemError
        For any other text; `field` names the argument.

    Examples
    --------
    >>> read_presence("0:1/2")
    DeltaPresence(least=Fraction(0, 1), most=Fraction(1, 2))
    """
    low, colon, high = text.partition(":")
    if not colon:
        raise InvalidProblemError(field, "LOW:HIGH, two shares", repr(text))
    return DeltaPresence(low, high)


def _model(kind: str, numbers: list[str], text: str, field: str) -> PrivacyModel:
    """Return the demand of a kind and its numbers; refuse any other, with the text that was typed."""
    try:
        match kind, numbers:
            case "distinct", [least]:
                return DistinctDiversity(int(least))
            case "entropy", [least]:
                return EntropyDiversity(least)
            case "recursive", [times, least]:
                return RecursiveDiversity(times, int(least))
            case "closeness", [most]:
                return Closeness(most)
            case "ordered-closeness", [most]:
                return Closeness(most, ordered=True)
            case "ordered-closeness", [most, order]:
                values = tuple(value.strip() for value in order.split("<"))
                return Closeness(most, ordered=True, order=values)
            case "alpha", [most]:
                return AlphaFrequency(most)
    except ValueError:
        raise InvalidProblemError(field, _EXPECTED, repr(text)) from None
    raise InvalidProblemError(field, _EXPECTED, repr(text))
