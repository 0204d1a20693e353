"""Answers to a question about kept measurements: one a region and entry, with its interval and its reliability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.core.printed import decimal
from discreet.hierarchy.reliability import mark_reliability, round_within
from discreet.hierarchy.result import Column, region_names, tidy

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.tree import Tree
    from discreet.hierarchy.result import Backend


@final
@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    r"""Answers to one question for several regions; covered by the guarantee of the measurements.

    Parameters
    ----------
    regions
        What each row of answers is about: the name of a region, or of a combination.
    levels
        The level of each of them, the root's is 1; 0 for a combination.
    values
        Unbiased answers, which may be negative: integers ``(regions,)`` to a question about sizes, fractions
        ``(regions, entries)`` to one about attributes.
    low, high
        Integers of the same shape: the true number is between them with at least the probability `interval`, for each
        answer by itself.
    variances
        Fractions of the same shape: at least the variance of each answer's noise.
    interval
        That probability, over the noise.
    question
        What was counted, as a phrase.
    by
        The attributes of the entries.
    categories
        The categories of each entry.
    argument
        Why the intervals cover, where it is not the exact law of the noise.

    Examples
    --------
    >>> from fractions import Fraction
    >>> values, noise = np.array([7, -1]), np.array([1, 1])
    >>> made = Answers(("GA", "NY"), (2, 2), values, values - 3, values + 3, noise, Fraction("0.95"), "Units")
    >>> made
    Answers(regions=2, entries=1, interval=0.95)
    >>> made.to_frame("dict")
    {'level': [2, 2], 'region': ['GA', 'NY'], 'value': [7, -1], 'low': [4, -4], 'high': [10, 2], 'reliability': [...]}
    """

    regions: tuple[str, ...]
    levels: tuple[int, ...]
    values: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    variances: NDArray[Any]
    interval: Fraction
    question: str
    by: tuple[str, ...] = ()
    categories: tuple[tuple[str, ...], ...] = ((),)
    argument: str = ""

    def __repr__(self) -> str:
        sizes = f"regions={len(self.regions)}, entries={len(self.categories)}"
        return f"Answers({sizes}, interval={decimal(self.interval)})"

    def to_frame(self, backend: Backend = "polars", *, rounded: bool = False) -> Any:  # noqa: ANN401 - a table of that library
        """Return the answers as a table: one row for each region and entry, with the attributes as columns.

        Columns: ``level`` (1 for the root, 0 for a combination), ``region``, the attributes, ``value`` (whole for sizes
        or if `rounded`, else a float), ``low``, ``high`` and ``reliability``, the class of the answer as it was before
        it was rounded. ModuleNotFoundError where the library is not installed. Linear in the rows.

        Parameters
        ----------
        backend
            As for :meth:`RegionCounts.to_frame`.
        rounded
            Whether values are rounded to what their intervals support; see
            :func:`discreet.hierarchy.reliability.round_within`.

        Raises
        ------
        InvalidProblemError
            For a backend that :meth:`RegionCounts.to_frame` does not know.
        """
        rows, width = len(self.regions), len(self.categories)
        places, entries = np.repeat(np.arange(rows), width), np.tile(np.arange(width), rows)
        columns = [
            Column("level", np.array(self.levels, dtype=np.int64)[places]),
            Column("region", places, self.regions),
        ]
        for at, name in enumerate(self.by):
            columns.append(Column(name, entries, [one[at] for one in self.categories]))
        arrays = (self.values, self.low, self.high, self.variances)
        exact, low, high, variances = (one.reshape(-1).tolist() for one in arrays)
        shown = exact if self.values.dtype.kind == "i" else [float(one) for one in exact]
        if rounded:
            shown = [round_within(*each) for each in zip(exact, low, high, strict=True)]
        marks = [mark_reliability(*each) for each in zip(exact, variances, strict=True)]
        values = {"value": shown, "low": low, "high": high, "reliability": marks}
        return tidy(columns, values, backend)


def coverage_of(interval: Exact) -> Fraction:
    """Return the probability with which intervals are to cover, exact; refuse one not strictly between 0 and 1."""
    chance = to_fraction(interval, "interval")
    if not 0 < chance < 1:
        raise InvalidProblemError("interval", "a probability between 0 and 1", str(chance))
    return chance


def places_of(tree: Tree, nodes: NDArray[np.int64]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the names and the levels, the root's is 1, of some nodes of a tree; linear in the tree."""
    names = region_names(tree)
    return tuple(names[node] for node in nodes.tolist()), tuple((tree.levels[nodes] + 1).tolist())
