r"""k-map: each class covers k people of a population, and not k rows of the table alone [Swe02]_.

Who links a published row to a population file finds K people or more to whom it may belong. A partition that a search
for k-anonymity found is mended: a class that covers too few people is merged with the one with which it loses least,
until it covers enough. Merging only makes cells cover more, so that what holds keeps holding, and so do the demands on
sensitive values. Searches start from several class sizes between k and K; the best result counts.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.kanonymity.candidate import SearchInterrupted
from discreet.kanonymity.problem import Categorical, Numeric, Problem
from discreet.kanonymity.problem.published import Cells
from discreet.kanonymity.search.merging import merge_failing
from discreet.kanonymity.search.search import SearchStep, search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Attribute, CodedColumn
    from discreet.kanonymity.search.search import Found


@final
@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """A population, coded by the quasi-identifiers of a table: different people, and how many there are of each.

    Parameters
    ----------
    problem
        One row for each different combination of values.
    times
        ``(n,)`` how many people have it.
    """

    problem: Problem
    times: NDArray[np.int64]

    @classmethod
    def of(cls, coded: Problem) -> Population:
        """Collapse people with equal values into one row each, and count them."""
        different, times = np.unique(coded.codes, axis=0, return_counts=True)
        return cls(replace(coded, codes=different), times.astype(np.int64))

    @property
    def digest(self) -> str:
        """SHA-256 of the values and how many people have them."""
        hashed = hashlib.sha256()
        for column in self.problem.columns:
            hashed.update(repr((column.name, column.domain)).encode())
        hashed.update(np.ascontiguousarray(self.problem.codes, dtype="<i4").tobytes())
        hashed.update(self.times.astype("<i8").tobytes())
        return hashed.hexdigest()

    def __repr__(self) -> str:
        return f"Population({int(self.times.sum())})"

    def covering(self, texts: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """Count the people that each class covers, ``(classes,)``; `texts` has each column's cells, one for a class.

        Complexity
        ----------
        O(classes * different people * columns).
        """
        codes = self.problem.codes
        read, at = [], []
        for column, cells in zip(self.problem.columns, texts, strict=True):
            different = {text: place for place, text in enumerate(dict.fromkeys(cells))}
            read.append(Cells.of(column, list(different)))
            at.append([different[text] for text in cells])
        people = np.zeros(len(texts[0]), dtype=np.int64)
        for label in range(len(people)):
            fits = np.ones(len(codes), dtype=np.bool_)
            for j, cells_read in enumerate(read):
                fits &= cells_read.covers(at[j][label], codes[:, j])
            people[label] = self.times[fits].sum()
        return people


def kinds_for(problem: Problem) -> list[Attribute]:
    """Return how the columns of a population are read: as those of the table, without the bounds of its values."""
    return [_open(column) for column in problem.columns]


def _open(column: CodedColumn) -> Attribute:
    """Return a column's attribute without declared bounds or values, so that it takes any table."""
    attribute = column.attribute
    if column.levels is not None:
        return column.levels
    if isinstance(attribute, Numeric):
        return replace(attribute, low=None, high=None)
    return replace(attribute, values=None) if isinstance(attribute, Categorical) else attribute


def search_mapped(
    problem: Problem,
    k: int,
    people: Population,
    least: int,
    *,
    on_step: Callable[[SearchStep], None] | None = None,
    **options: Any,  # noqa: ANN401 - those of `search`
) -> Found:
    """Find a partition whose classes have k rows and cover `least` people, and that loses little.

    Parameters
    ----------
    problem
        The table.
    k
        Least number of rows of a class.
    people
        The population, of which the rows are a part.
    least
        Least number of people that the cells of a class cover.
    on_step
        Called after each method, and after each mended partition.
    **options
        As for :func:`~discreet.kanonymity.search.search.search`; `time_limit` is for all searches together.

    Returns
    -------
    Found
        Its lower bound is that for k alone: what covers more people can lose no less.

    Raises
    ------
    InfeasibleError
        When the whole table as one class covers fewer people.
    InvalidProblemError
        When fewer people than rows fit: the rows are no part of the population.
    SearchInterrupted
        On Ctrl-C, with what was mended by then.

    Examples
    --------
    >>> ages = Problem.from_columns({"age": [20, 21, 40, 60]}, [Numeric("age")])
    >>> town = Problem.from_columns({"age": [20, 20, 21, 40, 41, 42, 60, 60]}, [Numeric("age")])
    >>> search_mapped(ages, 2, Population.of(town), 4).labels.tolist()
    [0, 0, 0, 0]
    >>> search_mapped(ages, 2, Population.of(town), 3).labels.tolist()
    [0, 0, 1, 1]
    """
    one_class = np.zeros(problem.n, dtype=np.int32)
    everybody = int(cover(problem, one_class, people)[0])
    if everybody < problem.n:
        raise InvalidProblemError("population", "every row of the table", "fewer people in a class")
    if everybody < least:
        raise InfeasibleError(
            f"no table holds it: all rows as one class cover fewer than {least} people"
        )
    sizes = sorted({k, max(k, math.isqrt(k * least)), max(k, least)})
    sizes = [size for size in sizes if size <= problem.n]
    limit = options.pop("time_limit", None)
    best: Found | None = None
    lower, steps = 0.0, []

    def covers_too_few(labels: NDArray[np.int32]) -> NDArray[np.bool_]:
        sizes = np.bincount(labels[labels >= 0])
        return cover(problem, labels, people) < np.maximum(least, sizes)

    def merged_result(result: Found) -> Found:
        labels = merge_failing(problem, result.labels, covers_too_few)
        return replace(result, labels=labels, loss=problem.loss_of(labels), lower=lower)

    for size in sizes:
        try:
            result = search(
                problem,
                size,
                time_limit=None if limit is None else limit / len(sizes),
                on_step=on_step,
                **options,
            )
        except SearchInterrupted as interrupt:
            last = None if interrupt.best is None else merged_result(interrupt.best)
            known = [one for one in (best, last) if one is not None]
            raise SearchInterrupted(min(known, key=lambda one: one.loss, default=None)) from None
        if size == k:
            lower = result.lower
        steps += list(result.steps)
        one = merged_result(result)
        seconds = one.seconds + (0.0 if best is None else best.seconds)
        steps.append(SearchStep(f"{one.method}, mended", one.loss, 0.0, seconds))
        better = one if best is None or one.loss < best.loss else best
        best = replace(better, seconds=seconds, lower=lower, steps=tuple(steps))
    if best is None:
        raise InfeasibleError(f"no table of {problem.n} rows has a class of {k}")
    return best


def cover(problem: Problem, labels: NDArray[np.int32], people: Population) -> NDArray[np.int64]:
    """Count the people whom the published cells of each class cover: ``(classes,)`` int64."""
    from discreet.kanonymity.cells import cells_of

    return people.covering([cells_of(problem, labels, j) for j in range(problem.m)])
