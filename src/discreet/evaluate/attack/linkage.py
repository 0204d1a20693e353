r"""Re-identification in a published table: prosecutor, journalist and marketer, carried out on known people.

The attacker knows the quasi-identifiers of people and looks for the rows whose cells cover them. Unlike the risks that
follow from class sizes alone (:mod:`discreet.kanonymity.risk`), cells that overlap count for every class that covers a
person: of m rows that fit, each is the right one with the same probability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.attack.people import look_up
from discreet.evaluate.intervals import Estimate, clopper_pearson

if TYPE_CHECKING:
    from discreet.core.guarantee import KAnonymity
    from discreet.evaluate.attack.people import People

_NOTE = "Shares of people are computed over those who are known; the intervals are for people drawn like them."


def attack_linkage(
    table: Any,  # noqa: ANN401 - a dataframe or a mapping of columns
    guarantee: KAnonymity,
    people: People,
    *,
    others: People | None = None,
    population: People | None = None,
    failure: float = DEFAULT_FAILURE,
) -> list[Finding]:
    r"""Find known people in a published table.

    A comparison of each class of the table with each known person, and with each person of the control group and the
    population. A population that lacks people of the table is refused.

    Parameters
    ----------
    table
        The published table.
    guarantee
        What it claims.
    people
        People who are in the table, and of whom the quasi-identifiers are known.
    others
        The control group: people who are not in the table, drawn like those who are.
    population
        All people among whom the journalist and the marketer look, those of the table with them; by default there are
        no others.
    failure
        Most probability with which an interval misses.

    Returns
    -------
    list of Finding
        * prosecutor: :math:`1/m` for the person with the fewest fitting rows m, and on average; m is at least k;
        * journalist: :math:`1/F` for the class that covers the fewest people F of the population;
        * marketer: expected share of published rows whose person is guessed;
        * with a control group, the success of guessing whether a person is in the table, by whether any row fits.

    Raises
    ------
    InvalidProblemError
        For people of whom no row fits although they should be in the table, or other quasi-identifiers.

    Examples
    --------
    >>> from discreet.core.guarantee import KAnonymity
    >>> from discreet.evaluate.attack.people import people_of
    >>> from discreet.kanonymity import Numeric
    >>> known = people_of({"age": [20, 30, 40, 40]}, [Numeric("age")])
    >>> made = {"age": ["[20, 30]", "[20, 30]", "40", "40"]}
    >>> found = attack_linkage(made, KAnonymity(2, ("age",)), known)
    >>> [(one.attack, one.attacker.value, one.kept) for one in found][:2]
    [('prosecutor, worst case', 0.5, True), ('prosecutor', 0.5, True)]
    """
    names = {column.name for column in people.known.columns}
    if names != set(guarantee.quasi_identifiers):
        raise InvalidProblemError("people", "people with all quasi-identifiers", "other columns")
    seen = look_up(table, people)
    rows = seen.rows
    n = len(seen.classes.labels)
    # Suppressed people fit no row; the others fit one at least.
    linked = rows > 0
    if not linked.any():
        raise InvalidProblemError("people", "people who are in the table", "no such person")
    limit = 1 / guarantee.k
    computed = Estimate.computed
    blind = computed(1 / n)
    chances = np.where(linked, 1 / np.maximum(rows, 1), 0.0)
    everybody = seen if population is None else look_up(table, population)
    inside = np.asarray(everybody.fits.sum(axis=0)).ravel()
    sizes = seen.classes.sizes
    if (inside < sizes).any():
        raise InvalidProblemError("population", "every row of the table", "fewer people in a class")
    size = everybody.fits.shape[0]
    among = computed(1 / size)
    parts = (
        ("prosecutor, worst case", "person found", float(chances.max()), blind),
        ("prosecutor", "person found", float(chances.mean()), blind),
        ("journalist, worst case", "row named", 1 / int(inside.min()), among),
        ("marketer", "rows named", float((sizes / inside).sum() / n), among),
    )
    findings = [
        Finding(name, measure, computed(share), naive, limit=limit)
        for name, measure, share, naive in parts
    ]
    if others is not None:
        strange = look_up(table, others).rows > 0
        findings.append(_presence(linked, strange, failure))
    return findings


def _presence(
    found: np.ndarray[Any, np.dtype[np.bool_]],
    strange: np.ndarray[Any, np.dtype[np.bool_]],
    failure: float,
) -> Finding:
    """Return the finding of guessing who is in the table by whether a row fits; members and others are equally likely.

    `found` ``(members,)`` and `strange` ``(others,)`` tell whether a row fits, `failure` how likely an interval
    misses.

    Each share fails with half of `failure`, so that the mean fails with at most `failure`.
    """
    # Half of the failure for each group, and the mean of two intervals holds the mean of two shares.
    own = clopper_pearson(int(found.sum()), len(found), failure=failure / 2)
    other = clopper_pearson(int((~strange).sum()), len(strange), failure=failure / 2)
    both = Estimate(
        (own.value + other.value) / 2,
        (own.low + other.low) / 2,
        (own.high + other.high) / 2,
        len(found) + len(strange),
        failure,
    )
    return Finding(
        "presence by a row that fits",
        "told in or out",
        both,
        Estimate.computed(0.5),
        note=_NOTE,
    )
