r"""The checker of published tables: how many rows share what an adversary may know, counted on the cells themselves.

Nothing here is shared with what makes tables. A published table is judged alone, by its cells as they are stored; and
beside the original, whether each published row can be one of its rows, generalized. Rows that are suppressed but kept
as ``*`` are a class like any other.

Trusted: the guarantee rests on this code, which verifies it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.dates import formats_of
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.guarantee import KAnonymity
from discreet.core.options import instance_of, mapping
from discreet.core.spaces.transport import transport
from discreet.kanonymity.problem import Attribute, Categorical, Dates, Numeric, Problem
from discreet.kanonymity.problem.published import (
    Cells,
    column_of,
    joined,
    names_in,
    numbered,
    values_in,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.kanonymity.problem.native import Values


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
    """A demand on classes: ``check`` takes counts ``(classes, values)`` and returns a Check of how many fail."""

    def check(self, counts: NDArray[np.int64]) -> Check:
        """Count the classes ``(classes, values)`` that fail."""
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
    mapped: Requirement | None = None,
    against: Any = None,  # noqa: ANN401 - as `table`
    attributes: Sequence[Attribute] = (),
    suppressed: int | None = None,
) -> Certificate:
    r"""Check a published table.

    A sort of the n rows by their published cells. With `population` each of its rows is looked up in the classes that
    cover it; with `against`, a maximum flow from published rows to original ones.

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
        What is asked, for each class, of the numbers of rows of `population` that its cells cover: the unpublished
        rows, and the published ones; see :class:`discreet.kanonymity.models.DeltaPresence`.
    mapped
        What is asked of these numbers as well; see :class:`discreet.kanonymity.models.KMap`.
    against
        The original table. Each published row must then be a row of it, generalized, and each row at most once; columns
        that are not quasi-identifiers must be as they were. Rows may stand in any order. Columns of it that were not
        published are not compared, which the check counts; published columns that it lacks are rejected.
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
    instance_of(guarantee, KAnonymity, "guarantee", "a KAnonymity")
    mapping(diverse, "diverse", "numbers by column")
    mapping(close, "close", "distances by column")
    mapping(models, "models", "demands by column")
    names, k = guarantee.quasi_identifiers, guarantee.k
    classes = classes_of(table, names)
    small = int((classes.sizes < k).sum())
    detail = f"{len(classes.sizes)} classes, the smallest of {int(classes.sizes.min())} rows"
    checks = [Check("classes smaller than k", small, 0, exact=True, detail=detail)]
    if person is not None:
        persons = diversity(classes, meaning_codes(table, person))
        few = int((persons < k).sum())
        checks.append(Check("classes of fewer than k persons", few, 0, exact=True))
    checks += _value_checks(table, classes, diverse, close, models)
    asked_of_people = [one for one in (presence, mapped) if one is not None]
    if asked_of_people and population is None:
        raise InvalidProblemError("population", "a table of all people", "none")
    if asked_of_people:
        covering = _covering(table, classes, population, names, attributes)
        checks += [one.check(covering) for one in asked_of_people]
    if against is not None:
        checks += _original(table, names, against, attributes, suppressed)
    return Certificate(tuple(checks))


def _value_checks(
    table: Any,  # noqa: ANN401 - a dataframe or a mapping of columns
    classes: Classes,
    diverse: Mapping[str, int] | None,
    close: Mapping[str, Exact] | None,
    models: Mapping[str, Sequence[Requirement]] | None,
) -> list[Check]:
    """Return a check for each demand on the values of a sensitive column: the classes that fail it, or the distance.

    Linear in the counts ``(classes, values)`` of a column.
    """
    checks: list[Check] = []
    for name, least in (diverse or {}).items():
        count = diversity(classes, meaning_codes(table, name))
        few = int((count < least).sum())
        checks.append(
            Check(f"classes with fewer than {least} values of {name}", few, 0, exact=True)
        )
    for name, most in (close or {}).items():
        limit, distance = to_fraction(most, f"close[{name}]"), distance_of(classes, table, name)
        checks.append(Check(f"distance of a class in {name}", distance, limit, exact=True))
    for name, column_models in (models or {}).items():
        values = values_in(table, name)
        for model in column_models:
            if getattr(model, "ordered", False):
                counted = _counts(classes, values.in_order(getattr(model, "order", ()), name))
            else:
                counted = _counts(classes, values)
            worst = max((model.check(counts) for counts in counted), key=lambda one: one.residual)
            checks.append(replace(worst, name=f"{worst.name} in {name}"))
    return checks


def cells(table: Any, name: str) -> list[str]:  # noqa: ANN401 - a dataframe or a mapping of columns
    """Return a column as text, one text for each row; missing values and NaN are empty. A sort at most."""
    values = values_in(table, name)
    return values.of_rows(values.texts)


def classes_of(table: Any, names: Sequence[str]) -> Classes:  # noqa: ANN401 - as above
    """Group rows by the values of some columns, as they are stored; a sort of each.

    See :mod:`discreet.kanonymity.problem.native`.

    Raises
    ------
    InvalidProblemError
        For columns that are not there, of different lengths or of values that cannot be told apart, or a table without
        rows.

    Examples
    --------
    >>> classes_of({"a": [1, 2, 1], "b": ["x", "y", "x"]}, ["a", "b"]).labels.tolist()
    [0, 1, 0]
    """
    # A missing value is not an empty text, nor NaN: a file shows which of them a cell is.
    codes = [values_in(table, name).codes for name in names]
    if not codes or len({len(column) for column in codes}) > 1 or not len(codes[0]):
        raise InvalidProblemError("table", "columns of one length, with rows", "others")
    labels = joined(codes)
    return Classes(labels, np.bincount(labels))


def meaning_codes(table: Any, name: str) -> NDArray[np.int64]:  # noqa: ANN401 - as above
    """Return the number of each row's value by its meaning; -1 for a missing one: nothing, NaN or blank text."""
    values = values_in(table, name)
    return values.meaning_codes()[values.codes]


def diversity(
    classes: Classes, values: Sequence[Hashable] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the different values in each class, missing ones left out; 1 for a class without others.

    Returns int64 ``(n_classes,)``. A sort of the rows.

    Parameters
    ----------
    classes
        Classes of rows.
    values
        One for each row, or their numbers, -1 for a missing one.

    Examples
    --------
    >>> classes = classes_of({"a": [1, 1, 2]}, ["a"])
    >>> diversity(classes, ["x", "y", "y"]).tolist(), diversity(classes, np.array([0, -1, -1])).tolist()
    ([2, 1], [1, 1])
    """
    codes = values if isinstance(values, np.ndarray) else numbered(values)
    present = codes >= 0
    width = int(codes.max(initial=0)) + 1
    pairs = np.unique(classes.labels[present] * width + codes[present])
    return np.maximum(1, np.bincount(pairs // width, minlength=len(classes.sizes)))


def distance_of(classes: Classes, table: Any, name: str) -> Fraction:  # noqa: ANN401 - as above
    """Return the greatest distance between a class and the table, with missing values as one more value and without.

    Half the sum of absolute differences of shares, exact, from 0 to 1; see :func:`closeness`. A sort of the rows.
    """
    values = values_in(table, name)
    codes = values.meaning_codes()[values.codes]
    present = codes >= 0
    distance = max(closeness(classes, values.codes))
    if present.all() or not present.any():
        return distance
    labels = np.unique(classes.labels[present], return_inverse=True)[1]
    return max(distance, *closeness(Classes(labels, np.bincount(labels)), codes[present]))


def closeness(classes: Classes, values: Sequence[Hashable] | NDArray[np.int64]) -> list[Fraction]:
    r"""Return for each class half the sum of absolute differences of shares between it and the table.

    .. math:: \frac{1}{2} \sum_v \left| \frac{c_v}{n_c} - \frac{s_v}{n} \right|

    Exact fractions from 0 to 1, in the order of the classes; missing values count as one more value, and no number
    may be negative. A sort of the rows.

    Parameters
    ----------
    classes
        Classes of rows.
    values
        One for each row, or their numbers. Finer values have larger distances.

    Examples
    --------
    >>> closeness(classes_of({"a": [1, 1, 2, 2]}, ["a"]), ["x", "x", "x", "y"])
    [Fraction(1, 4), Fraction(1, 4)]
    """
    codes = values if isinstance(values, np.ndarray) else numbered(values)
    n, width = len(codes), int(codes.max()) + 1
    table_counts = np.bincount(codes)
    pairs, counts = np.unique(classes.labels * width + codes, return_counts=True)
    label, value = pairs // width, pairs % width
    size = classes.sizes[label]
    # In units of 1 / (n_c n): what is absent from a class adds its share in the table.
    total = n * classes.sizes
    np.add.at(
        total, label, np.abs(counts * n - table_counts[value] * size) - table_counts[value] * size
    )
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

    A sort, and for each different published row a pass over the original rows in its span of the column with most
    values.

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
        at.append(numbered(texts))
        read.append(Cells.of(column, list(dict.fromkeys(texts))))
    # Original rows in the order of key and of the column with most values: those in question are a slice.
    pivot = int(np.argmax([len(column.domain) for column in problem.columns]))
    size = len(problem.columns[pivot].domain)
    place = original * size + problem.codes[:, pivot]
    order = np.argsort(place, kind="stable")
    place, codes = place[order], problem.codes[order]
    labels = joined([published, *at])
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
    """Return the checks that published rows can be assigned to different original ones that they cover.

    Quasi-identifiers `names` are generalized, other columns equal; `suppressed` limits the rows of `against` without
    a partner. A maximum flow.
    """
    problem = _coded(against, names, attributes)
    n = len(cells(table, names[0]))
    keys = np.zeros(n + problem.n, np.int64)
    published, known = names_in(table), names_in(against)
    strange = [name for name in published if name not in known]
    for name in known:
        if name not in names and name in published:
            both = numbered([*cells(table, name), *cells(against, name)])
            keys = joined([keys, both])
    sources, amounts, targets = [], [], []
    # Original rows that are the same are one target with many places.
    same = joined([keys[n:], *problem.codes.T.astype(np.int64)])
    for at, (rows, row_candidates) in enumerate(candidates(table, problem, (keys[:n], keys[n:]))):
        targets.append(np.unique(same[row_candidates]))
        sources.append(np.full(len(targets[-1]), at))
        amounts.append(len(rows))
    sent = transport(amounts, np.bincount(same), np.concatenate(sources), np.concatenate(targets))
    lost = sum(name not in published for name in known)  # by number: their names are private
    note = f"columns not published, not compared: {lost}" if lost else ""
    orphans = "published rows that no row of the original explains"
    strangers = "published columns that are not in the original"
    checks = [
        Check(orphans, n - int(sent.sum()), 0, exact=True, detail=note),
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
    """Return the coded problem of an original table or a population.

    Columns without an attribute get the kind of their values. Its columns are the quasi-identifiers `names`, in that
    order. A sort of each column. InvalidProblemError for columns that are not there.
    """
    stated = {attribute.name: attribute for attribute in attributes}
    columns = {name: column_of(table, name) for name in names}
    kinds = [stated.get(name) or _kind(name, columns[name]) for name in names]
    return Problem.from_columns(columns, kinds)


def _counts(classes: Classes, values: Values) -> list[NDArray[np.int64]]:
    """Count values by class, ``(classes, values)``, values in their order, for each reading of the values.

    The same number may be stored as 0.0 and -0.0, and nothing as a missing value, as NaN or as empty text. Whether that
    makes a class better or worse depends on the model, so that it is asked of all. Without missing values, a class
    that has no others has no row.

    One to four tables; a reading without any value is left out. Linear in rows and in classes times values.
    """
    tables = []
    for reading in values.readings():
        codes = reading[values.codes]
        present = codes >= 0
        if not present.any():
            continue
        width = int(codes.max()) + 1
        size = len(classes.sizes) * width
        flat = np.bincount(classes.labels[present] * width + codes[present], minlength=size)
        table = flat.reshape(len(classes.sizes), width)
        tables.append(table[table.any(axis=1)])
    return tables


def _covering(
    table: Any,  # noqa: ANN401 - as above
    classes: Classes,
    population: Any,  # noqa: ANN401 - as above
    names: Sequence[str],
    attributes: Sequence[Attribute],
) -> NDArray[np.int64]:
    """Count for each class the people that its cells cover: int64 ``(classes, 2)``, not published and published.

    A population with fewer rows of a class than the table is refused.
    """
    problem = _coded(population, names, attributes)
    people = np.zeros(len(classes.sizes), np.int64)
    for rows, covered in candidates(table, problem):
        people[classes.labels[rows[0]]] = len(covered)
    if (people < classes.sizes).any():
        raise InvalidProblemError("population", "every row of the table", "fewer people in a class")
    return np.stack([people - classes.sizes, classes.sizes], axis=1)


def _kind(name: str, values: Sequence[Any]) -> Attribute:
    """Return the kind of a column by its values: numeric, dates of one format, or categorical. One pass.

    Numeric also where all values are missing; ``None`` is missing, and so is empty text when dates are recognized.
    """
    kinds = {type(value) for value in values if value is not None}
    numbers = all(issubclass(kind, int | float | np.number) and kind is not bool for kind in kinds)
    if numbers:
        return Numeric(name)
    present = [value for value in values if value is not None and value != ""]
    # As they are published by default; an open format is none that can be read.
    return Dates(name) if present and len(formats_of(present)) == 1 else Categorical(name)
