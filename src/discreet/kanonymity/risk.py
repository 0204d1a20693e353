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
from discreet.kanonymity.problem.published import values_in
from discreet.kanonymity.verify import candidates, cells, classes_of, closeness, diversity
from discreet.tables.frames import group_sizes, is_lazy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem

__all__ = ["CountedClasses", "Risk", "RowGroups", "judge_pairs", "risk"]


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
        For each sensitive column the least number of different values in a class.
    closeness
        For each sensitive column the greatest distance between a class and the table.
    homogeneous
        For each sensitive column how many rows are in classes with one value, and how many such classes there are.
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

    def homogeneity_in_words(self) -> list[str]:
        """State how many rows a sensitive value follows for from their class alone, for each column where any do.

        Examples
        --------
        >>> found = risk({"age": [20, 20, 30], "ill": ["no", "no", "yes"]}, ["age"], sensitive=["ill"])
        >>> found.homogeneity_in_words()[0].partition(":")[0]
        '3 of 3 rows are in 2 equivalence classes with one value of ill each'
        """
        return [
            state(
                "one value in a class",
                rows=count(rows),
                total=count(self.rows),
                classes=f"{count(classes)} equivalence class{'' if classes == 1 else 'es'}",
                column=name,
            )
            for name, (rows, classes) in self.homogeneous.items()
            if rows
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; risks as numbers."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "l": dict(self.diversity),
            "t": {name: float(distance) for name, distance in self.closeness.items()},
            "homogeneous": {
                name: {"rows": rows, "classes": classes}
                for name, (rows, classes) in self.homogeneous.items()
            },
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
) -> Risk:
    r"""Measure the risk of a table, original or published.

    Parameters
    ----------
    table
        Columns by name. Sizes of classes are facts about persons while the table is not published. A lazy or
        distributed frame is grouped where it is, as its library tells values apart, and only sizes are collected; so
        are the rows of :class:`discreet.artefact.RecordFiles`.
    quasi_identifiers
        Columns that an attacker may know.
    sensitive
        Columns that an attacker wants to know.
    population
        The people from whom the rows of the table were drawn, as a problem with the same columns; F of a class is the
        number of them that its cells cover. Without it the table is taken to be the population.

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
        if population is not None:
            raise InvalidProblemError("population", "none beside a lazy table or files", "one")
        names = list(quasi_identifiers)
        if in_parts:
            return _of_counted(table.count_classes(names, sensitive))
        return _of_counted(_counted_lazily(table, names, sensitive))
    classes = classes_of(table, quasi_identifiers)
    sizes, n = classes.sizes, len(classes.labels)
    inside = sizes if population is None else _inside(table, classes.labels, population)
    if (inside < sizes).any():
        raise InvalidProblemError("population", "every row of the table", "fewer of a class")
    mean = _mean_inverse(sizes, inside, n)
    diverse = {name: diversity(classes, cells(table, name)) for name in sensitive}
    stored = {name: values_in(table, name).codes for name in sensitive}
    return Risk(
        **_by_sizes(*np.unique(sizes, return_counts=True)),
        journalist_highest=Fraction(1, int(inside.min())),
        journalist_average=max(Fraction(len(sizes), int(inside.sum())), mean),
        marketer=mean,
        diversity={name: int(mean.min()) for name, mean in diverse.items()},
        closeness={name: max(closeness(classes, codes)) for name, codes in stored.items()},
        homogeneous={name: _alike(mean, sizes) for name, mean in diverse.items()},
    )


def _alike(diverse: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[int, int]:
    """Count the rows of classes with one value, and these classes."""
    return int(sizes[diverse == 1].sum()), int((diverse == 1).sum())


def _by_sizes(sizes: NDArray[np.int64], classes: NDArray[np.int64]) -> dict[str, Any]:
    """Return the risk measures that depend on class sizes alone: sizes rising, with the number of classes of each."""
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
    }


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
    """Count the classes of a table whose library groups it where it is; only sizes of groups are collected."""
    groups, rows = group_sizes(table, names, "table")
    sizes = np.bincount(classes_of(groups, names).labels, rows).astype(np.int64)
    diverse, close, alike = {}, {}, {}
    for name in sensitive:
        pairs, rows = group_sizes(table, list(dict.fromkeys([*names, name])), "table")
        labels = classes_of(pairs, names).labels
        texts = classes_of({name: cells(pairs, name)}, [name]).labels
        codes = values_in(pairs, name).codes
        class_sizes = np.bincount(codes, rows).astype(np.int64)
        diverse[name], close[name], alike[name] = judge_pairs(
            labels, texts, codes, rows, class_sizes
        )
    return CountedClasses(*np.unique(sizes, return_counts=True), diverse, close, alike)


def judge_pairs(
    labels: NDArray[np.int64],
    texts: NDArray[np.int64],
    codes: NDArray[np.int64],
    rows: NDArray[np.int64],
    whole: NDArray[np.int64],
) -> tuple[int, Fraction, tuple[int, int]]:
    """Return the least diversity of classes, the greatest distance of one from the table, and the homogeneous rows.

    Parameters
    ----------
    labels
        ``(pairs,)`` the class of each pair of a class and a value: 0, 1, ...
    texts, codes
        ``(pairs,)`` its value, by its text and as it is stored.
    rows
        ``(pairs,)`` rows with both.
    whole
        Rows of the table with each value as it is stored.

    Examples
    --------
    >>> one = np.array([0, 1, 0])
    >>> judge_pairs(np.array([0, 0, 1]), one, one, np.array([1, 1, 2]), np.array([3, 1]))
    (1, Fraction(1, 4), (2, 1))
    """
    diverse = np.bincount(np.unique(np.stack([labels, texts]), axis=1)[0])
    n, sizes = int(whole.sum()), np.bincount(labels, rows).astype(np.int64)
    # In whole numbers of any length: products of three counts pass 64 bits.
    total = [n * size for size in sizes.tolist()]
    for label, code, many in zip(labels.tolist(), codes.tolist(), rows.tolist(), strict=True):
        product = int(whole[code]) * int(sizes[label])
        total[label] += abs(many * n - product) - product
    far = (Fraction(part, 2 * n * size) for part, size in zip(total, sizes.tolist(), strict=True))
    return int(diverse.min()), max(far), _alike(diverse, sizes)


def _inside(
    table: Any,  # noqa: ANN401 - as above
    labels: np.ndarray[Any, np.dtype[np.int64]],
    population: Problem,
) -> np.ndarray[Any, np.dtype[np.int64]]:
    counted = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    for rows, covered in candidates(table, population):
        counted[labels[rows[0]]] = len(covered)
    return counted


def _mean_inverse(
    sizes: np.ndarray[Any, np.dtype[np.int64]], inside: np.ndarray[Any, np.dtype[np.int64]], n: int
) -> Fraction:
    """Average 1 / F over rows: sum of f / F, divided by n."""
    pairs, count = np.unique(np.stack([sizes, inside]), axis=1, return_counts=True)
    terms = zip(pairs[0].tolist(), pairs[1].tolist(), count.tolist(), strict=True)
    return sum((Fraction(f, total) * times for f, total, times in terms), Fraction(0)) / n
