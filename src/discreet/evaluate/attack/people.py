"""People whom an attacker knows, and the published classes that each of them may be in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.problem import Numeric, Problem
from discreet.kanonymity.problem.published import column_of
from discreet.kanonymity.verify import Classes, candidates, cells, classes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from discreet.kanonymity.problem import Attribute


@final
@dataclass(frozen=True, eq=False)
class People:
    """Quasi-identifiers of known people, and their sensitive values, by which an attacker is judged.

    Parameters
    ----------
    known
        Their quasi-identifiers.
    secret
        The true sensitive value of each, as text; ``None`` if it is not sought.
    """

    known: Problem
    secret: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """Number of people."""
        return self.known.n


def people_of(
    table: Any,  # noqa: ANN401 - a dataframe or a mapping of columns
    attributes: Sequence[Attribute],
    sensitive: str | None = None,
) -> People:
    """Read people from an original table.

    Empty texts count as missing, and texts of numbers as numbers; other texts in a numeric column are refused. One
    pass over the rows.

    Parameters
    ----------
    table
        Columns by name.
    attributes
        The quasi-identifiers.
    sensitive
        The column that an attacker wants to know.

    Returns
    -------
    People
        One for each row.

    Raises
    ------
    InvalidProblemError
        For columns that are not there.

    Examples
    --------
    >>> from discreet.kanonymity import Numeric
    >>> people_of({"age": [20, 30], "ill": ["no", "yes"]}, [Numeric("age")], "ill").secret
    ('no', 'yes')
    """
    columns = {one.name: _values(column_of(table, one.name), one) for one in attributes}
    known = Problem.from_columns(columns, list(attributes))
    return People(known, None if sensitive is None else tuple(cells(table, sensitive)))


def _values(column: list[Any], attribute: Attribute) -> list[Any]:
    """Read the text of numbers as numbers, and empty text as ``None``.

    Raise InvalidProblemError for other text of a number.
    """
    values = [None if isinstance(value, str) and not value.strip() else value for value in column]
    if not isinstance(attribute, Numeric):
        return values
    try:
        return [float(value) if isinstance(value, str) else value for value in values]
    except ValueError:
        raise InvalidProblemError(attribute.name, "numbers", "something else") from None


@final
@dataclass(frozen=True, eq=False)
class SeenRows:
    """A published table as read by an attacker who knows people.

    Parameters
    ----------
    classes
        Rows that share their quasi-identifiers.
    fits
        ``(n_people, n_classes)`` sparse: 1 where the cells of a class cover what is known of a person.
    values
        The different sensitive values, where some are sought.
    counts
        ``(n_classes, n_values)`` how often each occurs in a class.
    """

    classes: Classes
    fits: csr_array
    values: tuple[str, ...]
    counts: NDArray[np.int64]

    @property
    def rows(self) -> NDArray[np.int64]:
        """Number of published rows that fit each person: ``(n_people,)`` int64."""
        return np.asarray(self.fits @ self.classes.sizes, dtype=np.int64)

    @property
    def possible(self) -> NDArray[np.int64]:
        """Count of each sensitive value in the rows that fit a person: ``(n_people, n_values)``."""
        return np.asarray(self.fits @ self.counts, dtype=np.int64)


def look_up(
    table: Any,  # noqa: ANN401 - as above
    people: People,
    sensitive: str | None = None,
) -> SeenRows:
    """Find for each person the published rows that may be theirs.

    Parameters
    ----------
    table
        A published table with the quasi-identifiers of the people.
    people
        Whom the attacker knows.
    sensitive
        The column that it wants to know.

    Returns
    -------
    SeenRows
        Classes, and who fits them.

    Raises
    ------
    InvalidProblemError
        For columns that are not there.

    Complexity
    ----------
    O(classes people) comparisons at most.

    Examples
    --------
    >>> from discreet.kanonymity import Numeric
    >>> ann = people_of({"age": [25]}, [Numeric("age")])
    >>> look_up({"age": ["[20, 30]", "[20, 30]", "40"]}, ann).rows.tolist()
    [2]
    """
    from scipy.sparse import csr_array

    names = [column.name for column in people.known.columns]
    classes = classes_of(table, names)
    who, where = [], []
    for rows, covered in candidates(table, people.known):
        who.append(covered)
        where.append(np.full(len(covered), classes.labels[rows[0]]))
    pairs = (np.concatenate(who), np.concatenate(where))
    shape = (people.n, len(classes.sizes))
    fits = csr_array((np.ones(len(pairs[0]), dtype=np.int64), pairs), shape=shape)
    if sensitive is None:
        return SeenRows(classes, fits, (), np.zeros((shape[1], 0), dtype=np.int64))
    texts = cells(table, sensitive)
    values = tuple(sorted(set(texts)))
    place = {value: at for at, value in enumerate(values)}
    counts = np.zeros((shape[1], len(values)), dtype=np.int64)
    numbers = np.array([place[text] for text in texts], dtype=np.int64)
    np.add.at(counts, (classes.labels, numbers), 1)
    return SeenRows(classes, fits, values, counts)


def secrets_of(people: People, values: Sequence[str]) -> NDArray[np.int64]:
    """Return the index in `values` of each person's true value: int64, -1 if no published row has it.

    Raises
    ------
    InvalidProblemError
        If sensitive values of people are not known.
    """
    if people.secret is None:
        raise InvalidProblemError("people", "people whose sensitive value is known", "others")
    place = {value: at for at, value in enumerate(values)}
    return np.array([place.get(value, -1) for value in people.secret], dtype=np.int64)
