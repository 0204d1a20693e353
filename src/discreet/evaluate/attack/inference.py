r"""Sensitive values that a published table discloses: by the commonest value that fits, or for certain.

The rows of a class may share a sensitive value ([MKGV07]_'s homogeneity). Whether a table *betrays* a person is
seen beside a control group: people who are not in the table, on whom the same attacker may do as well, because age and
postal code say something about everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.attack.people import look_up, secrets_of
from discreet.evaluate.intervals import Estimate, clopper_pearson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.evaluate.attack.people import People, SeenRows

_NOTE = "Shares are over the known people; the intervals are for people drawn like them."


def attack_inference(
    table: Any,  # noqa: ANN401 - a dataframe or a mapping of columns
    sensitive: str,
    people: People,
    *,
    others: People | None = None,
    failure: float = DEFAULT_FAILURE,
) -> list[Finding]:
    """Guess the sensitive values of known people from the rows that fit them.

    The naive attacker guesses the commonest value of the table for everybody.

    Parameters
    ----------
    table
        The published table.
    sensitive
        A column of it.
    people
        People who are in the table, with their true values.
    others
        The control group: people who are not in the table, with their true values.
    failure
        Most probability with which an interval misses.

    Returns
    -------
    list of Finding
        Share of people whose value is guessed right, and share of those whose value is certain and right: all rows that
        fit have it (homogeneity).

    Raises
    ------
    InvalidProblemError
        For people without true values, or a column that is not there.

    Complexity
    ----------
    O(classes people) comparisons and a sparse product.

    Examples
    --------
    >>> from discreet.evaluate.attack.people import people_of
    >>> from discreet.kanonymity import Numeric
    >>> before = {"age": [20, 30, 40, 40], "ill": ["flu", "flu", "gout", "flu"]}
    >>> after = {"age": ["[20, 30]", "[20, 30]", "40", "40"], "ill": ["flu", "flu", "flu", "gout"]}
    >>> found = attack_inference(after, "ill", people_of(before, [Numeric("age")], "ill"))
    >>> [(one.attack, one.attacker.value) for one in found]
    [('commonest value that fits', 0.75), ('homogeneity', 0.5)]
    """
    seen = look_up(table, people, sensitive)
    truth = secrets_of(people, seen.values)
    blind = np.full(people.n, int(seen.counts.sum(axis=0).argmax()))
    control = None
    if others is not None:
        strange = look_up(table, others, sensitive)
        control = Inferred.of(strange.possible, strange, secrets_of(others, strange.values))
    return compare(
        ("commonest value that fits", "homogeneity"),
        Inferred.of(seen.possible, seen, truth),
        (share_right(blind, truth, failure), Estimate.computed(0.0)),
        control,
        failure=failure,
    )


@final
@dataclass(frozen=True, eq=False)
class Inferred:
    """Answers of an attacker about people, and the true values; values are numbered from 0.

    A true value that no published row has is -1.

    Parameters
    ----------
    guess
        The likeliest value of each.
    sure
        The value where only one fits, elsewhere the number of values, which is never right.
    truth
        The true one.
    """

    guess: NDArray[np.int64]
    sure: NDArray[np.int64]
    truth: NDArray[np.int64]

    @classmethod
    def of(cls, possible: NDArray[np.int64], seen: SeenRows, truth: NDArray[np.int64]) -> Inferred:
        """Answer for each person by the value that fits most often, the commonest of the table where none does.

        `possible` ``(people, values)`` counts rows that fit, `truth` ``(people,)`` are the true values. Linear.
        """
        common = int(seen.counts.sum(axis=0).argmax())
        best = possible.argmax(axis=1)
        only = (possible > 0).sum(axis=1) == 1
        guess = np.where(possible.any(axis=1), best, common)
        return cls(guess, np.where(only, best, possible.shape[1]), truth)


def share_right(answers: NDArray[np.int64], truth: NDArray[np.int64], failure: float) -> Estimate:
    """Estimate the share of right answers with an interval that fails with probability at most `failure` [CP34]_.

    `answers` and `truth` are ``(people,)`` numbers of values, at least one person.
    """
    return clopper_pearson(int((answers == truth).sum()), len(truth), failure=failure)


def compare(
    names: tuple[str, str],
    own: Inferred,
    baselines: tuple[Estimate, Estimate],
    control: Inferred | None,
    *,
    failure: float,
) -> list[Finding]:
    """Return two findings, of a guess and of certain answers, with a naive attacker and a control group.

    `failure` is the probability with which an interval may miss.

    The findings are in the order of `names`, each with the baseline at the same place; `control` ``None`` gives no
    control group.
    """
    measures = ("values guessed", "values certain and right")
    findings = []
    for at, (name, measure) in enumerate(zip(names, measures, strict=True)):
        attacker = share_right((own.guess, own.sure)[at], own.truth, failure)
        group = None
        if control is not None:
            group = share_right((control.guess, control.sure)[at], control.truth, failure)
        findings.append(Finding(name, measure, attacker, baselines[at], group, note=_NOTE))
    return findings
