r"""The checker of published tables: how many rows share what an adversary may know, counted on the cells themselves.

Nothing here is shared with what makes tables. A published table is judged alone, by its text; and beside the original,
whether each published row can be one of its rows, generalized. Rows that are suppressed but kept as ``*`` are a class
like any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.transport import transport
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Problem
from discreet.kanonymity.problem.published import Cells, column_of, names_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.core.guarantee import KAnonymity

__all__ = [
    "Classes",
    "Requirement",
    "candidates",
    "cells",
    "classes_of",
    "closeness",
    "diversity",
    "verify",
]


@final
@dataclass(frozen=True, eq=False)
class Classes:
    """Which rows of a table share their cells.

    Parameters
    ----------
    labels
        ``(n,)`` classes 0, 1, ...
    sizes
        ``(n_classes,)`` numbers of rows.
    """

    labels: NDArray[np.int64]
    sizes: NDArray[np.int64]


class Requirement(Protocol):
    """What is asked of a table of counts: a row for each class, a column for each value."""

    def check(self, counts: NDArray[np.int64]) -> Check:
        """Count the classes that fail."""
        ...


def verify(
    table: Any,  # noqa: ANN401 - a dataframe or a mapping of columns
    guarantee: KAnonymity,
    *,
    diverse: Mapping[str, int] | None = None,
    close: Mapping[str, Exact] | None = None,
    models: Mapping[str, Sequence[Requirement]] | None = None,
    person: str | None = None,
    population: Any = None,  # noqa: ANN401 - as `table`
    presence: Requirement | None = None,
    against: Any = None,  # noqa: ANN401 - as `table`
    attributes: Sequence[Attribute] = (),
    suppressed: int | None = None,
) -> Certificate:
    r"""Check a published table.

    Parameters
    ----------
    table
        Columns by name: a dataframe or a mapping.
    guarantee
        k, and the columns that an adversary may know.
    diverse
        For sensitive columns the least number of different values that each class must have (distinct l-diversity).
    close
        For sensitive columns the greatest distance t between the values of a class and those of the table: half the sum
        of absolute differences of shares, which is the earth mover's distance where all values are equally far apart.
    models
        For sensitive columns what else is asked of the counts of their values in each class: the records of
        :mod:`discreet.kanonymity.models`, or any other with their ``check``. Values are counted in their order.
    person
        A column that tells persons apart: each class must then have k of them.
    population
        A public table with the same quasi-identifiers, of which the published rows are a part.
    presence
        What is asked, for each class, of the numbers of rows of `population` that its cells cover: those that are not
        published, and those that are; see :class:`discreet.kanonymity.models.DeltaPresence`.
    against
        The original table. Each published row must then be a row of it, generalized, and each row at most once; columns
        that are not quasi-identifiers must be as they were. Rows may stand in any order. Columns of it that were not
        published are not compared, which the check names; published columns that it lacks are rejected.
    attributes
        Kinds of quasi-identifiers, which say how their cells are read. Columns of numbers in `against` are numeric by
        default, others sets of values.
    suppressed
        Most rows of `against` that may be missing; any number by default.

    Returns
    -------
    Certificate
        The checks, all exact: counts of integers and fractions.

    Raises
    ------
    InvalidProblemError
        For columns that are not there, or of different lengths.

    Guarantee
    ---------
    Privacy is judged by the published cells alone. That each row of `against` is used at most once is decided by a
    maximum flow, whose result is an assignment that is checked; a flow that was not maximal could only reject.

    Examples
    --------
    >>> from discreet.core.guarantee import KAnonymity
    >>> verify({"age": ["[20, 30]", "[20, 30]", "40"]}, KAnonymity(2, ("age",))).passed
    False
    >>> made = {"age": ["[20, 30]", "[20, 30]", "40", "40"]}
    >>> verify(made, KAnonymity(2, ("age",)), against={"age": [40, 30, 40, 20]}).passed
    True
    """
    names, k = guarantee.quasi_identifiers, guarantee.k
    classes = classes_of(table, names)
    small = int((classes.sizes < k).sum())
    checks = [
        Check(
            "classes smaller than k",
            small,
            0,
            exact=True,
            detail=f"{len(classes.sizes)} classes, the smallest of {int(classes.sizes.min())} rows",
        )
    ]
    if person is not None:
        persons = diversity(classes, cells(table, person))
        few = int((persons < k).sum())
        checks.append(Check("classes of fewer than k persons", few, 0, exact=True))
    for name, least in (diverse or {}).items():
        count = diversity(classes, cells(table, name))
        few = int((count < least).sum())
        checks.append(
            Check(f"classes with fewer than {least} values of {name}", few, 0, exact=True)
        )
    for name, most in (close or {}).items():
        distance, limit = (
            closeness(classes, cells(table, name)),
            to_fraction(most, f"close[{name}]"),
        )
        checks.append(Check(f"distance of a class in {name}", max(distance), limit, exact=True))
    for name, asked in (models or {}).items():
        counts = _counts(classes, cells(table, name))
        for model in asked:
            found = model.check(counts)
            checks.append(replace(found, name=f"{found.name} in {name}"))
    if presence is not None and population is not None:
        checks.append(presence.check(_covering(table, classes, population, names, attributes)))
    if against is not None:
        checks += _original(table, names, against, attributes, suppressed)
    return Certificate(tuple(checks))


def cells(table: Any, name: str) -> list[str]:  # noqa: ANN401 - a dataframe or a mapping of columns
    """Give a column as text, missing values as nothing."""
    return ["" if _is_missing(value) else str(value) for value in column_of(table, name)]


def classes_of(table: Any, names: Sequence[str]) -> Classes:  # noqa: ANN401 - as above
    """Group rows by the text of some columns.

    Raises
    ------
    InvalidProblemError
        For columns that are not there or of different lengths, or a table without rows.

    Examples
    --------
    >>> classes_of({"a": [1, 2, 1], "b": ["x", "y", "x"]}, ["a", "b"]).labels.tolist()
    [0, 1, 0]
    """
    # A missing value is not an empty text: a file shows which of them a cell is.
    told = ([None if _is_missing(v) else str(v) for v in column_of(table, name)] for name in names)
    codes = [_numbered(column) for column in told]
    if not codes or len({len(column) for column in codes}) > 1 or not len(codes[0]):
        raise InvalidProblemError("table", "columns of one length, with rows", "others")
    labels = _joined(codes)
    return Classes(labels, np.bincount(labels))


def diversity(classes: Classes, values: Sequence[str]) -> NDArray[np.int64]:
    """Count the different values in each class.

    Examples
    --------
    >>> diversity(classes_of({"a": [1, 1, 2]}, ["a"]), ["x", "y", "y"]).tolist()
    [2, 1]
    """
    codes = _numbered(values)
    width = int(codes.max()) + 1
    return np.bincount(np.unique(classes.labels * width + codes) // width)


def closeness(classes: Classes, values: Sequence[str]) -> list[Fraction]:
    r"""Give for each class half the sum of absolute differences of shares between it and the table.

    .. math:: \frac{1}{2} \sum_v \left| \frac{c_v}{n_c} - \frac{s_v}{n} \right|

    Examples
    --------
    >>> closeness(classes_of({"a": [1, 1, 2, 2]}, ["a"]), ["x", "x", "x", "y"])
    [Fraction(1, 4), Fraction(1, 4)]
    """
    codes = _numbered(values)
    n, width = len(codes), int(codes.max()) + 1
    whole = np.bincount(codes)
    pairs, counts = np.unique(classes.labels * width + codes, return_counts=True)
    label, value = pairs // width, pairs % width
    size = classes.sizes[label]
    # In units of 1 / (n_c n): what is absent from a class adds its share in the table.
    total = n * classes.sizes
    np.add.at(total, label, np.abs(counts * n - whole[value] * size) - whole[value] * size)
    return [
        Fraction(int(part), 2 * n * int(rows))
        for part, rows in zip(total, classes.sizes, strict=True)
    ]


def candidates(
    table: Any,  # noqa: ANN401 - as above
    problem: Problem,
    keys: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield for each published row the rows of a problem that its cells cover.

    Parameters
    ----------
    table
        A published table with the columns of the problem.
    problem
        Original rows.
    keys
        Numbers of published and of original rows that must agree, not negative; all the same by default.

    Yields
    ------
    rows, found : ndarray
        Published rows that are the same, and the original rows that they cover.
    """
    n = len(cells(table, problem.columns[0].name))
    published, original = keys or (np.zeros(n, np.int64), np.zeros(problem.n, np.int64))
    at, read = [], []
    for column in problem.columns:
        texts = cells(table, column.name)
        at.append(_numbered(texts))
        read.append(Cells.of(column, list(dict.fromkeys(texts))))
    # Original rows in the order of key and of the column with most values: those in question are a slice.
    pivot = int(np.argmax([len(column.domain) for column in problem.columns]))
    size = len(problem.columns[pivot].domain)
    place = original * size + problem.codes[:, pivot]
    order = np.argsort(place, kind="stable")
    place, codes = place[order], problem.codes[order]
    labels = _joined([published, *at])
    ends = np.cumsum(np.bincount(labels))[:-1]
    for rows in np.split(np.argsort(labels, kind="stable"), ends):
        row, key = int(rows[0]), int(published[rows[0]])
        lo, hi = read[pivot].span(int(at[pivot][row]))
        low, high = np.searchsorted(place, [key * size + lo, key * size + hi + 1])
        fits = np.ones(max(0, high - low), dtype=bool)
        for j, reader in enumerate(read):
            fits &= reader.covers(int(at[j][row]), codes[low:high, j])
        yield rows, order[low:high][fits]


def _original(
    table: Any,  # noqa: ANN401 - as above
    names: Sequence[str],
    against: Any,  # noqa: ANN401 - as above
    attributes: Sequence[Attribute],
    suppressed: int | None,
) -> list[Check]:
    """Assign published rows to original ones that they cover."""
    problem = _coded(against, names, attributes)
    n = len(cells(table, names[0]))
    keys = np.zeros(n + problem.n, np.int64)
    published, known = names_in(table), names_in(against)
    strange = [name for name in published if name not in known]
    for name in known:
        if name not in names and name in published:
            both = _numbered([*cells(table, name), *cells(against, name)])
            keys = _joined([keys, both])
    sources, amounts, targets = [], [], []
    # Original rows that are the same are one target with many places.
    same = _joined([keys[n:], *problem.codes.T.astype(np.int64)])
    for at, (rows, found) in enumerate(candidates(table, problem, (keys[:n], keys[n:]))):
        targets.append(np.unique(same[found]))
        sources.append(np.full(len(targets[-1]), at))
        amounts.append(len(rows))
    sent = transport(amounts, np.bincount(same), np.concatenate(sources), np.concatenate(targets))
    lost = ", ".join(name for name in known if name not in published)
    told = f"not published, not compared: {lost}" if lost else ""
    orphans = "published rows that no row of the original explains"
    strangers = "published columns that are not in the original"
    checks = [
        Check(orphans, n - int(sent.sum()), 0, exact=True, detail=told),
        Check(strangers, len(strange), 0, exact=True, detail=", ".join(strange)),
    ]
    if suppressed is not None:
        checks.append(Check("rows suppressed", problem.n - n, suppressed, exact=True))
    return checks


def _coded(
    table: Any,  # noqa: ANN401 - as above
    names: Sequence[str],
    attributes: Sequence[Attribute],
) -> Problem:
    stated = {attribute.name: attribute for attribute in attributes}
    columns = {name: column_of(table, name) for name in names}
    kinds = [stated.get(name) or _kind(name, columns[name]) for name in names]
    return Problem.from_columns(columns, kinds)


def _counts(classes: Classes, values: Sequence[str]) -> NDArray[np.int64]:
    """Count values by class; columns are in the order of numbers, or else of text."""
    distinct = sorted(set(values), key=_rank)
    place = {value: at for at, value in enumerate(distinct)}
    codes = np.fromiter((place[value] for value in values), np.int64, len(values))
    shape = (len(classes.sizes), len(distinct))
    flat = np.bincount(classes.labels * shape[1] + codes, minlength=shape[0] * shape[1])
    return flat.reshape(shape)


def _rank(value: str) -> tuple[bool, float, str]:
    try:
        return False, float(value), value
    except ValueError:
        return True, 0.0, value


def _covering(
    table: Any,  # noqa: ANN401 - as above
    classes: Classes,
    population: Any,  # noqa: ANN401 - as above
    names: Sequence[str],
    attributes: Sequence[Attribute],
) -> NDArray[np.int64]:
    """Count for each class the people that its cells cover: those who are not published, and those who are."""
    problem = _coded(population, names, attributes)
    people = np.zeros(len(classes.sizes), np.int64)
    for rows, covered in candidates(table, problem):
        people[classes.labels[rows[0]]] = len(covered)
    if (people < classes.sizes).any():
        raise InvalidProblemError("population", "every row of the table", "fewer of a class")
    return np.stack([people - classes.sizes, classes.sizes], axis=1)


def _kind(name: str, values: Sequence[Any]) -> Attribute:
    kinds = {type(value) for value in values if not _is_missing(value)}
    numbers = all(issubclass(kind, int | float | np.number) and kind is not bool for kind in kinds)
    return Numeric(name) if numbers else Categorical(name)


def _is_missing(value: object) -> bool:
    # The second are the markers of pandas, which compare with nothing.
    nothing = value is None or type(value).__name__ in {"NAType", "NaTType"}
    return nothing or (isinstance(value, float) and math.isnan(value))


def _joined(codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Number the different tuples of codes."""
    labels = codes[0]
    for column in codes[1:]:
        # Numbered anew after each column, so that the product stays small.
        width = int(column.max(initial=0)) + 1
        labels = np.unique(labels * width + column, return_inverse=True)[1]
    return np.unique(labels, return_inverse=True)[1]


def _numbered(values: Sequence[str | None]) -> NDArray[np.int64]:
    """Number texts as they are first seen."""
    number: dict[str | None, int] = {}
    codes = (number.setdefault(value, len(number)) for value in values)
    return np.fromiter(codes, np.int64, len(values))
