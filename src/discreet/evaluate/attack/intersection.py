"""Two published tables of the same people: a value must be possible in both, and k-anonymity does not compose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.attack.inference import Inferred, compare, share_right
from discreet.evaluate.attack.people import look_up, secrets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.evaluate.attack.people import People, SeenRows


def attack_intersection(
    tables: tuple[Any, Any],
    sensitive: str,
    people: tuple[People, People],
    *,
    others: tuple[People, People] | None = None,
    failure: float = DEFAULT_FAILURE,
) -> list[Finding]:
    """Combine two published tables of the same people.

    The naive attacker has only one of the tables, whichever tells more.

    Two look-ups of all people, each ``O(classes people)`` comparisons at most.

    Parameters
    ----------
    tables
        Two published tables, dataframes or mappings of columns, each with the sensitive column. They may have different
        quasi-identifiers.
    sensitive
        The column.
    people
        The same people twice, in the same order: as known to who looks into the first and into the second table.
    others
        The control group, likewise.
    failure
        Most probability with which an interval misses.

    Returns
    -------
    list of Finding
        Share of people whose value is guessed right, by the product of how often it fits in both, and share of those
        whose value is certain and right: only one fits in both.

    Raises
    ------
    InvalidProblemError
        For groups of different sizes or secrets, or people without true values.

    References
    ----------
    The intersection attack of [GKS08]_.

    Examples
    --------
    >>> from discreet.evaluate.attack.people import people_of
    >>> from discreet.kanonymity import Numeric
    >>> before = {"age": [20, 30, 40], "ill": ["flu", "gout", "cold"]}
    >>> a = {"age": ["[20, 30]", "[20, 30]", "40"], "ill": ["flu", "gout", "cold"]}
    >>> b = {"age": ["20", "[30, 40]", "[30, 40]"], "ill": ["flu", "gout", "cold"]}
    >>> known = people_of(before, [Numeric("age")], "ill")
    >>> found = attack_intersection((a, b), "ill", (known, known))
    >>> [(round(one.baseline.value, 3), one.attacker.value) for one in found]
    [(0.667, 1.0), (0.333, 1.0)]
    """
    own, parts = _both(tables, sensitive, people)
    control = None if others is None else _both(tables, sensitive, others)[0]
    guesses = [share_right(part.guess, part.truth, failure) for part in parts]
    sure = [share_right(part.sure, part.truth, failure) for part in parts]
    better = (
        max(guesses, key=lambda one: one.value),
        max(sure, key=lambda one: one.value),
    )
    return compare(
        ("values that fit in both", "certain from both"), own, better, control, failure=failure
    )


def _both(
    tables: tuple[Any, Any], sensitive: str, people: tuple[People, People]
) -> tuple[Inferred, list[Inferred]]:
    """Return the answers by both tables, and those by each table alone, in the order of the tables.

    InvalidProblemError if the people of the second one are others. A table without a row that fits a person says
    nothing of that person.
    """
    if people[0].n != people[1].n or people[0].secret != people[1].secret:
        raise InvalidProblemError("people", "the same people for both tables", "others")
    first, second = (
        look_up(table, known, sensitive) for table, known in zip(tables, people, strict=True)
    )
    truth = secrets_of(people[0], first.values)
    fits = first.possible, _in_order(second, first.values)
    # Where no row of a table fits, it says nothing, and the other stands alone.
    silent = [part.sum(axis=1, keepdims=True) == 0 for part in fits]
    one, other = (np.where(unknown, 1, part) for unknown, part in zip(silent, fits, strict=True))
    together = np.where(silent[0] & silent[1], 0, one * other)
    return (
        Inferred.of(together, first, truth),
        [Inferred.of(part, first, truth) for part in fits],
    )


def _in_order(seen: SeenRows, values: tuple[str, ...]) -> NDArray[np.int64]:
    """Return counts ``(people, values)`` of fitting rows in the order of another table's values; 0 for unknown ones."""
    place = {value: at for at, value in enumerate(seen.values)}
    possible = seen.possible
    zeros = np.zeros(len(possible), dtype=np.int64)
    columns = [possible[:, place[value]] if value in place else zeros for value in values]
    return np.stack(columns, axis=1)
