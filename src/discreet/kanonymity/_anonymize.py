"""Anonymize: read a table, search, write it generalized."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.guarantee import KAnonymity
from discreet.core.outcome import Anonymization, Provenance
from discreet.kanonymity.candidate import Interrupted, audit
from discreet.kanonymity.losses import mean_loss
from discreet.kanonymity.search import search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from discreet.core.randomness import RandomBits
    from discreet.kanonymity.candidate import Method
    from discreet.kanonymity.problem import Attribute, Problem
    from discreet.kanonymity.search import Found, Step

__all__ = ["Diagnostics", "anonymize"]


@final
@dataclass(frozen=True)
class Diagnostics:
    """What only the curator should see: all of it is computed from the original table.

    Parameters
    ----------
    information_loss
        Sum over cells.
    mean_loss
        The same divided by rows and weights.
    lower
        What no k-anonymous table loses less than.
    gap
        ``(information_loss - lower) / information_loss``.
    optimal
        Whether the gap is no more than what rounding leaves open.
    classes, smallest_class, suppressed
        Counts of classes, of rows in the smallest, and of rows left out.
    method
        The method that found it.
    seconds
        Wall-clock time of the search.
    steps
        What was tried.
    """

    information_loss: float
    mean_loss: float
    lower: float
    gap: float
    optimal: bool
    classes: int
    smallest_class: int
    suppressed: int
    method: str
    seconds: float
    steps: tuple[Step, ...]


def anonymize(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    guarantee: KAnonymity,
    *,
    attributes: Mapping[str, Attribute] | Sequence[Attribute] | None = None,
    loss: str = "ncp",
    method: Method | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    suppress: float = 0.0,
    keep_suppressed: bool = False,
    threads: int = 1,
    on_step: Callable[[Step], None] | None = None,
    throw: bool = True,
    bits: RandomBits | None = None,
) -> Anonymization[Any, Diagnostics]:
    """Generalize the cells of a table as little as possible, so that k rows or more look alike.

    Parameters
    ----------
    table
        A dataframe that Narwhals knows, such as one of Polars, pandas or PyArrow.
    guarantee
        k, and the columns that an adversary may know.
    attributes
        What kind of column some of these are; see :class:`Numeric`, :class:`Categorical` and :class:`Taxonomy`. Others
        are numeric where they hold numbers, and else sets of values.
    loss
        Name of the information loss; see :class:`Problem`.
    method, time_limit, gap, suppress, threads, on_step
        As for :func:`~discreet.kanonymity.search.search`.
    keep_suppressed
        Whether suppressed rows stay, with ``*`` in all quasi-identifiers, where there are k of them or more; fewer are
        left out.
    throw
        Whether to raise when a `gap` was asked for and not reached.
    bits
        Where the keys come from by which rows are shuffled: the operating system by default.

    Returns
    -------
    Anonymization
        The table, of the kind that was given, with the same columns and its rows shuffled. Cells of quasi-identifiers
        are text. `diagnostics` are for the curator.

    Raises
    ------
    InvalidProblemError
        For a column that is not there, a value that is not in its taxonomy or bounds, or options that make no sense.
    InfeasibleError
        When there are fewer than k rows.
    CertificateError
        When the published cells are not shared by k rows: a bug, and never returned.
    LimitReachedError
        With `throw`, when `gap` was not reached; ``best`` is the anonymization.
    Interrupted
        On Ctrl-C; a ``KeyboardInterrupt`` whose ``best`` is the anonymization by then, or ``None``.

    Guarantee
    ---------
    k-anonymity of the returned table in the quasi-identifiers, counted on its cells by
    :func:`~discreet.kanonymity.verify.verify`. It is no differential privacy: a class may share a
    sensitive value, and who knows the algorithm may learn from its being minimal.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [50, 20, 40, 21, 60], "ill": ["yes", "no", "no", "no", "yes"]})
    >>> made = anonymize(people, KAnonymity(2, ("age",)))
    >>> made, sorted(made.table["age"].to_list())
    (Anonymization(2-anonymous in age, certified), ['[20, 21]', '[20, 21]', '[40, 60]', '[40, 60]', '[40, 60]'])
    >>> made.diagnostics.optimal
    True
    """
    from discreet.kanonymity._tables import publish, read_problem
    from discreet.kanonymity.verify import verify

    claim: object = guarantee
    if not isinstance(claim, KAnonymity):
        raise InvalidProblemError("guarantee", "a KAnonymity", type(guarantee).__name__)
    began = time.monotonic()
    problem = read_problem(table, guarantee.quasi_identifiers, attributes, loss)
    parameters = {
        "k": guarantee.k,
        "loss": loss,
        "method": None if method is None else repr(method),
        "suppress": suppress,
    }

    def write(found: Found) -> Anonymization[Any, Diagnostics]:
        keep = guarantee.k if keep_suppressed else None
        published = publish(table, problem, found.labels, bits, keep=keep)
        counted = audit(found.labels, guarantee.k, suppress=int(suppress * problem.n))
        # The first check of the labels is made anew on what is published.
        certificate = Certificate((*verify(published, guarantee).checks, *counted.checks[1:]))
        certificate.raise_for_failure()
        return Anonymization(
            published,
            guarantee,
            certificate,
            # What was tried depends on the rows, and so stands with the diagnostics.
            Provenance("anonymize", parameters),
            _diagnose(problem, found, time.monotonic() - began),
        )

    try:
        found = search(
            problem,
            guarantee.k,
            method=method,
            time_limit=time_limit,
            gap=gap,
            suppress=suppress,
            threads=threads,
            on_step=on_step,
        )
    except Interrupted as interrupt:
        raise Interrupted(interrupt.best and write(interrupt.best)) from None
    made = write(found)
    if throw and gap is not None and found.gap > gap:
        raise LimitReachedError("the gap that was asked for was not reached", made)
    return made


def _diagnose(problem: Problem, found: Found, seconds: float) -> Diagnostics:
    sizes = np.bincount(found.labels[found.labels >= 0])
    return Diagnostics(
        information_loss=found.loss,
        mean_loss=mean_loss(problem, found.labels),
        lower=found.lower,
        gap=found.gap,
        optimal=found.optimal,
        classes=len(sizes),
        smallest_class=int(sizes.min(initial=problem.n)),
        suppressed=int((found.labels < 0).sum()),
        method=found.method,
        seconds=seconds,
        steps=found.steps,
    )
