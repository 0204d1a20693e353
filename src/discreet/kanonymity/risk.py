r"""How likely it is that an attacker finds a person in a table: three attackers, by class sizes alone.

The prosecutor knows that a person is in the table; the journalist does not, and looks the classes up in a larger
population; the marketer wants to find as many as possible.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, final, runtime_checkable

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import count
from discreet.core.statements import state
from discreet.core.views import bars
from discreet.kanonymity.problem.published import values_in
from discreet.kanonymity.verify import (
    Classes,
    candidates,
    classes_of,
    distance_of,
    diversity,
    meaning_codes,
)
from discreet.tables.frames import group_sizes, is_lazy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class Risk:
    r"""What follows from the sizes f of classes, and from the sizes F that they have in the population.

    Parameters
    ----------
    rows, classes
        Numbers of rows and of classes.
    k, largest, median
        Least, greatest and middle size of a class; the middle one over rows.
    unique
        Share of rows that are alone in their class.
    prosecutor_highest, prosecutor_average
        :math:`\max 1/f`, and its mean over rows, which is classes divided by rows.
    journalist_highest, journalist_average
        :math:`\max 1/F`, and the larger of :math:`\sum_c 1 / \sum_c F` and the mean of :math:`1/F` over rows.
    marketer
        Share of rows that are found when every row is guessed: the mean of :math:`1/F` over rows.
    diversity
        For each sensitive column the least number of different values in a class; missing values do not count.
    closeness
        For each sensitive column the greatest distance between a class and the table, with missing values as one more
        value or without them, whichever is greater.
    homogeneous
        For each sensitive column how many rows are in classes with one value, missing values aside, and how many such
        classes there are.
    persons
        Number of persons, if persons were counted: sizes are then numbers of persons, and a mean over rows is one over
        persons, each at the greatest risk of its rows. ``None`` if rows were counted.
    sizes
        Sizes of classes, rising, each with the number of classes that have it.
    """

    rows: int
    classes: int
    k: int
    largest: int
    median: int
    unique: Fraction
    prosecutor_highest: Fraction
    prosecutor_average: Fraction
    journalist_highest: Fraction
    journalist_average: Fraction
    marketer: Fraction
    diversity: Mapping[str, int] = field(default_factory=dict)
    closeness: Mapping[str, Fraction] = field(default_factory=dict)
    homogeneous: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    persons: int | None = None
    sizes: tuple[tuple[int, int], ...] = ()

    def bands(self) -> list[tuple[str, int, float]]:
        """Return for each range of class sizes its name, the number of its classes and their share of all rows.

        If persons were counted it is a share of persons, each counted in every class with rows of it.

        Examples
        --------
        >>> risk({"age": [20, 20, 30]}, ["age"]).bands()[:2]
        [('1', 1, 0.3333333333333333), ('2', 1, 0.6666666666666666)]
        """
        total = sum(size * classes for size, classes in self.sizes)
        bands = []
        for low, high in _SIZE_BANDS:
            within = [one for one in self.sizes if low <= one[0] <= (high or one[0])]
            label = f"{low}" if low == high else f"{low} to {high}" if high else f"{low} or more"
            rows = sum(size * classes for size, classes in within)
            bands.append((label, sum(classes for _, classes in within), rows / total))
        return bands

    def homogeneity_in_words(self) -> list[str]:
        """State how many rows a sensitive value follows for from their class alone, for each column where any do.

        Examples
        --------
        >>> found = risk({"age": [20, 20, 30], "ill": ["no", "no", "yes"]}, ["age"], sensitive=["ill"])
        >>> found.homogeneity_in_words()[0].partition(":")[0]
        '3 of 3 rows are in 2 equivalence classes with one value of ill each, missing values aside'
        """
        return homogeneity_in_words(self.rows, self.homogeneous)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; risks as numbers.

        Keys: ``rows``, ``persons`` (if counted), ``classes``, ``k``, ``l`` and ``t`` by sensitive column,
        ``homogeneous``, ``class_sizes``, ``unique``, ``prosecutor`` and ``journalist`` with ``highest`` and
        ``average``, and ``marketer``.
        """
        return {
            "rows": self.rows,
            **({} if self.persons is None else {"persons": self.persons}),
            "classes": self.classes,
            "k": self.k,
            "l": dict(self.diversity),
            "t": {name: float(distance) for name, distance in self.closeness.items()},
            "homogeneous": homogeneous_dict(self.homogeneous),
            "class_sizes": {"smallest": self.k, "median": self.median, "largest": self.largest},
            "unique": float(self.unique),
            "prosecutor": {
                "highest": float(self.prosecutor_highest),
                "average": float(self.prosecutor_average),
            },
            "journalist": {
                "highest": float(self.journalist_highest),
                "average": float(self.journalist_average),
            },
            "marketer": float(self.marketer),
        }


_SIZE_BANDS = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, None))
"""Ranges of class sizes by which their distribution is shown."""


def homogeneous_dict(
    homogeneous: Mapping[str, tuple[int, int]],
) -> dict[str, dict[str, int]]:
    """Return ``{column: {"rows": ..., "classes": ...}}`` for JSON, from ``homogeneous`` of :class:`Risk`."""
    return {
        name: {"rows": rows, "classes": classes} for name, (rows, classes) in homogeneous.items()
    }


def homogeneity_in_words(total: int, homogeneous: Mapping[str, tuple[int, int]]) -> list[str]:
    """State how many of some rows are in classes with one value, for each column where any are.

    Parameters
    ----------
    total
        Rows of the table.
    homogeneous
        As of :class:`Risk`.
    """
    return [
        state(
            "one value in a class",
            rows=count(rows),
            total=count(total),
            classes=f"{count(classes)} equivalence class{'' if classes == 1 else 'es'}",
            column=name,
        )
        for name, (rows, classes) in homogeneous.items()
        if rows
    ]


@final
@dataclass(frozen=True, eq=False)
class CountedClasses:
    """What risk follows from, where classes were counted group by group.

    Parameters
    ----------
    sizes, classes
        ``(n_sizes,)`` sizes of classes, rising, and how many classes have each.
    diversity, closeness, homogeneous
        As of :class:`Risk`.
    """

    sizes: NDArray[np.int64]
    classes: NDArray[np.int64]
    diversity: Mapping[str, int] = field(default_factory=dict)
    closeness: Mapping[str, Fraction] = field(default_factory=dict)
    homogeneous: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@runtime_checkable
class RowGroups(Protocol):
    """Rows whose classes are counted where the rows are, such as files that are read piece by piece."""

    def count_classes(self, names: Sequence[str], sensitive: Sequence[str]) -> CountedClasses:
        """Count the classes of rows that agree in some columns, and the values in each."""
        ...


def risk(
    table: Any,  # noqa: ANN401 - a dataframe or a mapping of columns
    quasi_identifiers: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    population: Problem | None = None,
    person: str | None = None,
    weights: str | None = None,
) -> Risk:
    r"""Measure the risk of a table, original or published.

    Parameters
    ----------
    table
        Columns by name. Sizes of classes are facts about persons while the table is not published. A lazy or
        distributed frame is grouped where it is, as its library tells values apart, and only sizes are collected; so
        are the rows of :class:`discreet.streaming.RecordFiles`.
    quasi_identifiers
        Columns that an attacker may know.
    sensitive
        Columns that an attacker wants to know.
    population
        The people from whom the rows of the table were drawn, as a problem with the same columns; F of a class is the
        number of them that its cells cover. Without it the table is taken to be the population.
    person
        A column that tells persons apart: persons are then counted instead of rows. Rows without a person count as
        one person each.
    weights
        A column of sampling weights, the numbers of people that rows stand for: F of a class is then estimated by the
        sum of its weights.

    Returns
    -------
    Risk
        Exact fractions.

    Raises
    ------
    InvalidProblemError
        For columns that are not there, or a class that nobody in the population can belong to.

    References
    ----------
    Prosecutor and journalist risk are those of [ED08]_, marketer risk is that of [DE10]_.

    Examples
    --------
    >>> found = risk({"age": ["[20, 30]", "[20, 30]", "40"], "ill": ["no", "yes", "no"]}, ["age"], sensitive=["ill"])
    >>> found.k, found.prosecutor_highest, found.marketer, found.diversity
    (1, Fraction(1, 1), Fraction(2, 3), {'ill': 1})
    """
    in_parts = isinstance(table, RowGroups)
    if in_parts or is_lazy(table):
        beside = {"population": population, "person": person, "weights": weights}
        for argument, value in beside.items():
            if value is not None:
                raise InvalidProblemError(argument, "none beside a lazy table or files", "a value")
        names = list(quasi_identifiers)
        if in_parts:
            return _of_counted(table.count_classes(names, sensitive))
        return _of_counted(_counted_lazily(table, names, sensitive))
    classes = classes_of(table, quasi_identifiers)
    if person is not None:
        if weights is not None:
            raise InvalidProblemError("weights", "none where persons are counted", "a column")
        return _of_persons(table, classes, person, sensitive, population)
    sizes, n = classes.sizes, len(classes.labels)
    inside = sizes if population is None else _inside(table, classes.labels, population)
    if (inside < sizes).any():
        raise InvalidProblemError("population", "every row of the table", "fewer people in a class")
    mean = _mean_inverse(sizes, inside, n)
    highest = Fraction(1, int(inside.min()))
    average = max(Fraction(len(sizes), int(inside.sum())), mean)
    if weights is not None:
        if population is not None:
            raise InvalidProblemError("weights", "none beside a population", "a column")
        people = _weights_of_classes(table, weights, classes)
        pairs = zip(sizes.tolist(), people, strict=True)
        mean = sum((many / each for many, each in pairs), Fraction(0)) / n
        highest, average = 1 / min(people), max(len(people) / sum(people, Fraction(0)), mean)
    diverse = {name: diversity(classes, meaning_codes(table, name)) for name in sensitive}
    return Risk(
        **_by_sizes(*np.unique(sizes, return_counts=True)),
        journalist_highest=highest,
        journalist_average=average,
        marketer=mean,
        diversity={name: int(mean.min()) for name, mean in diverse.items()},
        closeness={name: distance_of(classes, table, name) for name in sensitive},
        homogeneous={name: _alike(mean, sizes) for name, mean in diverse.items()},
    )


def draw_class_sizes(table: Any, quasi_identifiers: Sequence[str]) -> str:  # noqa: ANN401 - as above
    """Draw how many equivalence classes of each size a table has, as SVG.

    Examples
    --------
    >>> draw_class_sizes({"age": [30, 30, 40]}, ["age"]).count("<rect")
    2
    """
    sizes, n = np.unique(classes_of(table, quasi_identifiers).sizes, return_counts=True)
    heights = [(f"{size} rows", float(many)) for size, many in zip(sizes, n, strict=True)]
    return bars(heights, "Equivalence classes of each size in the published table")


def _weights_of_classes(
    table: object, name: str, classes: Classes, *, max_weight: int = 10**12
) -> list[Fraction]:
    """Add up the sampling weights, column `name`, of each class, exactly.

    Raises InvalidProblemError for a row whose weight is below 1, `max_weight` people or more (there are fewer on
    Earth), or no number. A sort of the rows.
    """
    values = values_in(table, name)
    numbers = []
    for rank in values.ranks:
        if rank[0] != 0 or not 1 <= rank[1] < max_weight:
            expected = "a number of people, 1 or more, in each row"
            raise InvalidProblemError(name, expected, "another value", code="sampling-weights")
        numbers.append(Fraction(rank[1]))
    people = [Fraction(0)] * len(classes.sizes)
    counts = np.unique(np.stack([classes.labels, values.codes]), axis=1, return_counts=True)
    for (label, code), many in zip(counts[0].T.tolist(), counts[1].tolist(), strict=True):
        people[label] += many * numbers[code]
    return people


def _of_persons(
    table: Any,  # noqa: ANN401 - as above
    classes: Classes,
    person: str,
    sensitive: Sequence[str],
    population: Problem | None,
) -> Risk:
    """Measure the risk by persons: a person is at the greatest risk of its rows; a sort of the persons.

    Raises InvalidProblemError for a population. `sensitive` columns are counted for diversity.
    """
    if population is not None:
        raise InvalidProblemError("population", "none where persons are counted", "a population")
    named = meaning_codes(table, person)
    # A row without a person adds none to its class, as for the verifier: it may be another row of one that is there.
    sizes = diversity(classes, named)
    is_missing = named < 0
    named = np.where(is_missing, int(named.max(initial=-1)) + np.cumsum(is_missing), named)
    total = int(named.max()) + 1
    # A person is in the smallest of its classes, for the worse.
    least = np.full(total, np.iinfo(np.int64).max)
    np.minimum.at(least, named, sizes[classes.labels])
    by_size = dict(
        zip(*(each.tolist() for each in np.unique(least, return_counts=True)), strict=True)
    )
    mean = sum((Fraction(count, size) for size, count in by_size.items()), Fraction(0)) / total
    diverse = {name: diversity(classes, meaning_codes(table, name)) for name in sensitive}
    highest = Fraction(1, int(sizes.min()))
    return Risk(
        rows=len(named),
        classes=len(sizes),
        k=int(sizes.min()),
        largest=int(sizes.max()),
        median=int(np.sort(least)[total // 2]),
        unique=Fraction(by_size.get(1, 0), total),
        prosecutor_highest=highest,
        prosecutor_average=mean,
        journalist_highest=highest,
        journalist_average=mean,
        marketer=mean,
        diversity={name: int(counts.min()) for name, counts in diverse.items()},
        closeness={name: distance_of(classes, table, name) for name in sensitive},
        homogeneous={name: _alike(counts, classes.sizes) for name, counts in diverse.items()},
        persons=total,
        sizes=_pairs(*np.unique(sizes, return_counts=True)),
    )


def _alike(diverse: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[int, int]:
    """Count the rows of classes with one value, and these classes."""
    return int(sizes[diverse == 1].sum()), int((diverse == 1).sum())


def _by_sizes(sizes: NDArray[np.int64], classes: NDArray[np.int64]) -> dict[str, Any]:
    """Return the risk measures that depend on class sizes alone: `sizes` rising, with the number `classes` of each."""
    n, many = int(sizes @ classes), int(classes.sum())
    middle = sizes[np.searchsorted(np.cumsum(sizes * classes), n // 2, side="right")]
    return {
        "rows": n,
        "classes": many,
        "k": int(sizes[0]),
        "largest": int(sizes[-1]),
        "median": int(middle),
        "unique": Fraction(int(classes[0]) if sizes[0] == 1 else 0, n),
        "prosecutor_highest": Fraction(1, int(sizes[0])),
        "prosecutor_average": Fraction(many, n),
        "sizes": _pairs(sizes, classes),
    }


def _pairs(sizes: NDArray[np.int64], classes: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(sizes.tolist(), classes.tolist(), strict=True))


def _of_counted(found: CountedClasses) -> Risk:
    """Return the risk of classes that were counted group by group, if the table is the population."""
    measures = _by_sizes(found.sizes, found.classes)
    return Risk(
        **measures,
        journalist_highest=measures["prosecutor_highest"],
        journalist_average=measures["prosecutor_average"],
        marketer=measures["prosecutor_average"],
        diversity=found.diversity,
        closeness=found.closeness,
        homogeneous=found.homogeneous,
    )


def _counted_lazily(table: Any, names: list[str], sensitive: Sequence[str]) -> CountedClasses:  # noqa: ANN401 - a lazy frame
    """Count the classes of a table whose library groups it where it is; only sizes of groups are collected.

    One grouping for the quasi-identifiers `names`, and one with each of `sensitive`.
    """
    groups, rows = group_sizes(table, names, "table")
    sizes = np.bincount(classes_of(groups, names).labels, rows).astype(np.int64)
    diverse, close, alike = {}, {}, {}
    for name in sensitive:
        pairs, rows = group_sizes(table, list(dict.fromkeys([*names, name])), "table")
        labels = classes_of(pairs, names).labels
        codes = values_in(pairs, name).codes
        class_sizes = np.bincount(codes, rows).astype(np.int64)
        diverse[name], close[name], alike[name] = judge_pairs(
            labels,
            meanings := meaning_codes(pairs, name),
            codes,
            rows,
            class_sizes,
            np.bincount(meanings[meanings >= 0], rows[meanings >= 0]).astype(np.int64),
        )
    return CountedClasses(*np.unique(sizes, return_counts=True), diverse, close, alike)


def judge_pairs(  # noqa: PLR0917 - arrays of one length in a fixed order, and two of counts
    labels: NDArray[np.int64],
    meanings: NDArray[np.int64],
    codes: NDArray[np.int64],
    rows: NDArray[np.int64],
    whole: NDArray[np.int64],
    whole_meant: NDArray[np.int64],
) -> tuple[int, Fraction, tuple[int, int]]:
    """Return the least diversity of classes, the greatest distance of one from the table, and the homogeneous rows.

    Missing values count for the distance, once as stored and once left out, but not as values. A class of missing
    values alone has diversity 1. The third result is (rows, classes) with one value. A sort of the pairs.

    Parameters
    ----------
    labels
        ``(pairs,)`` the class of each pair of a class and a value: 0, 1, ...
    meanings, codes
        ``(pairs,)`` its value, by its meaning, -1 for a missing one, and as it is stored.
    rows
        ``(pairs,)`` rows with both.
    whole, whole_meant
        Rows of the table with each value as it is stored, and by its meaning.

    Examples
    --------
    >>> one = np.array([0, 1, 0])
    >>> judge_pairs(np.array([0, 0, 1]), one, one, np.array([1, 1, 2]), np.array([3, 1]), np.array([3, 1]))
    (1, Fraction(1, 4), (2, 1))
    """
    present = meanings >= 0
    sizes = np.bincount(labels, rows).astype(np.int64)
    different = np.unique(np.stack([labels, meanings])[:, present], axis=1)[0]
    diverse = np.maximum(1, np.bincount(different, minlength=len(sizes)))
    distance = _greatest_distance(labels, codes, rows, whole)
    if present.any() and not present.all():
        without = _greatest_distance(labels[present], meanings[present], rows[present], whole_meant)
        distance = max(distance, without)
    return int(diverse.min()), distance, _alike(diverse, sizes)


def _greatest_distance(
    labels: NDArray[np.int64],
    codes: NDArray[np.int64],
    rows: NDArray[np.int64],
    whole: NDArray[np.int64],
) -> Fraction:
    """Return the greatest distance of a class from the table, exact: half the sum of differences of shares.

    `labels`, `codes` and `rows` ``(pairs,)`` are class, value and number of rows; `whole` the table's rows by value.
    Linear.
    """
    # In whole numbers of any length: products of three counts pass 64 bits.
    n, sizes = int(whole.sum()), np.bincount(labels, rows).astype(np.int64).tolist()
    total = [n * size for size in sizes]
    for label, code, many in zip(labels.tolist(), codes.tolist(), rows.tolist(), strict=True):
        product = int(whole[code]) * sizes[label]
        total[label] += abs(many * n - product) - product
    return max(
        Fraction(part, 2 * n * size) for part, size in zip(total, sizes, strict=True) if size
    )


def _inside(
    table: Any,  # noqa: ANN401 - as above
    labels: np.ndarray[Any, np.dtype[np.int64]],
    population: Problem,
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return for each class how many rows of the population it covers, int64 ``(classes,)``; `labels` is ``(n,)``.

    The cost is that of :func:`candidates`.
    """
    counted = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    for rows, covered in candidates(table, population):
        counted[labels[rows[0]]] = len(covered)
    return counted


def _mean_inverse(
    sizes: np.ndarray[Any, np.dtype[np.int64]], inside: np.ndarray[Any, np.dtype[np.int64]], n: int
) -> Fraction:
    """Average 1 / F over the `n` rows, exact: the sum of f / F, divided by n, with f of `sizes` and F of `inside`.

    Both are ``(classes,)``. A sort.
    """
    pairs, count = np.unique(np.stack([sizes, inside]), axis=1, return_counts=True)
    terms = zip(pairs[0].tolist(), pairs[1].tolist(), count.tolist(), strict=True)
    return sum((Fraction(f, total) * times for f, total, times in terms), Fraction(0)) / n
