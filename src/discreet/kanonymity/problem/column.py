"""One quasi-identifier as codes: how values are numbered, and what sets of them cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.problem.attributes import (
    Attribute,
    Categorical,
    Numeric,
    Resolved,
    Taxonomy,
    depth_first,
)
from discreet.kanonymity.problem.levels import Dates, Levels, Prefixes, Rounded, leveled
from discreet.kanonymity.problem.native import different

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.tree import Tree

LOSSES = ("ncp", "ncp-printed", "range", "taxonomy", "arx-loss", "one-hot")
"""Names of the information losses that are optimized; each is a sum over cells."""

MISSING = None
"""How a missing value stands in a domain."""

_MAX_INTEGER = 2 ** (int(np.finfo(np.float64).nmant) + 1)
"""Integers beyond it are no floats, so that two could become one."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn:
    r"""One quasi-identifier: its domain by code, and what sets of codes cost.

    Codes are numbered so that the cost of a set follows from little: for numbers and for the leaves of a taxonomy, in
    depth-first order, from the least and the greatest code; for sets of values from how many there are.

    Parameters
    ----------
    attribute
        What kind of column it is.
    domain
        The value of each code. A missing value is ``None`` and comes last: a value of its own in a set; a leaf below
        the root in a taxonomy; apart from every number in a numeric column, so that a cell that covers both is
        published as anything and costs its whole weight.
    place
        ``(len(domain),)`` weighted costs. Numeric: the position of each code, in units of cost. Taxonomy: the cost of
        the node that joins a code and the next. Categorical: the cost of a set of 1, 2, ... values.
    levels
        What the taxonomy was made of, where its levels are a calendar's, prefixes or steps.
    """

    attribute: Resolved
    domain: tuple[Hashable, ...]
    place: NDArray[np.float64]
    levels: Levels | None = None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.attribute.name

    @property
    def is_set(self) -> bool:
        """Whether cells are published as sets of values, not by least and greatest code."""
        return isinstance(self.attribute, Categorical)

    @cached_property
    def peaks(self) -> NDArray[np.float64]:
        """Array ``(levels, size)`` for taxonomies: the largest `place` of ``2^level`` codes from each on."""
        rows = [self.place]
        while 2 ** len(rows) < len(self.place):
            half = 2 ** (len(rows) - 1)
            later = np.concatenate([rows[-1][half:], np.zeros(half)])
            rows.append(np.maximum(rows[-1], later))
        return np.stack(rows)

    def span_cost(self, lo: ArrayLike, hi: ArrayLike) -> NDArray[np.float64]:
        """Return the cost, weight included, of cells from codes `lo` to `hi` of a numeric column or a taxonomy.

        ``O(1)`` each. Both ends are included, and arrays broadcast.
        """
        first, last = np.broadcast_arrays(np.asarray(lo, np.int64), np.asarray(hi, np.int64))
        if isinstance(self.attribute, Numeric):
            width = self.place[last] - self.place[first]
            return np.asarray(np.minimum(width, self.attribute.weight))
        steps = last - first
        level = np.frexp(np.maximum(steps, 1).astype(np.float64))[1] - 1
        end = np.maximum(last - (1 << level), 0)
        costs = np.maximum(self.peaks[level, first], self.peaks[level, end])
        return np.where(steps > 0, costs, 0.0)

    def set_cost(self, count: ArrayLike) -> NDArray[np.float64]:
        """Return the cost, weight included, of a cell with `count` values (1 or more) of a categorical column."""
        return np.asarray(self.place[np.asarray(count, np.int64) - 1])

    def nodes(self, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> list[Hashable]:
        """Return the labels that a taxonomy publishes for the leaves from each `lo` to its `hi`, codes ``(cells,)``.

        Raises
        ------
        InvalidProblemError
            For a column of another kind.
        """
        tree, at = self._tree, self._leaves
        # A missing value is below the root alone.
        last = len(at) - 1
        met = np.where(hi > last, 0, tree.meet(at[np.minimum(lo, last)], at[np.minimum(hi, last)]))
        return [
            self.domain[first] if first == end else tree.labels[node]
            for first, end, node in zip(lo.tolist(), hi.tolist(), met.tolist(), strict=True)
        ]

    @property
    def _tree(self) -> Tree:
        """Tree of the column's taxonomy; raises InvalidProblemError for another kind of column."""
        if not isinstance(self.attribute, Taxonomy):
            raise InvalidProblemError(self.name, "a taxonomy", type(self.attribute).__name__)
        return self.attribute.tree

    @cached_property
    def _leaves(self) -> NDArray[np.int64]:
        return depth_first(self._tree)


def code_column(
    attribute: Attribute, values: Sequence[Any] | NDArray[Any], loss: str
) -> tuple[CodedColumn, NDArray[np.int32]]:
    """Number the values of a column as its kind demands.

    Codes are int32 ``(n,)``. A sort of the different values, and for numbers that are not dense one of all rows.

    Parameters
    ----------
    attribute
        What kind of column it is.
    values
        One value a row; ``None`` and NaN are missing.
    loss
        One of :data:`LOSSES`.

    Returns
    -------
    CodedColumn, ndarray
        The column, and the code of each row.

    Raises
    ------
    InvalidProblemError
        For a value that the column cannot have, named by its position, or a loss that it does not have.

    Examples
    --------
    >>> column, codes = code_column(Numeric("age"), [30, 20, None, 40], "ncp")
    >>> column.domain, codes.tolist(), column.place.tolist()
    ((20, 30, 40, None), [1, 0, 3, 2], [0.0, 0.5, 1.0, 2.0])
    """
    if isinstance(attribute, Dates | Prefixes | Rounded):
        return _code_levels(attribute, values, loss)
    domain, codes = _code(attribute, values)
    place = attribute.weight * _places(attribute, domain, loss)
    place.setflags(write=False)
    return CodedColumn(attribute, domain, place), codes


def _code_levels(
    levels: Levels, values: Sequence[Any] | NDArray[Any], loss: str
) -> tuple[CodedColumn, NDArray[np.int32]]:
    """Number `values` ``(n,)`` in the order of their taxonomy; a node's cost is by the units in its span.

    Returns the column and the code of each row. The loss "range" is refused.
    """
    if loss == "range":
        raise InvalidProblemError(
            "loss", "one for sets, such as 'ncp'", f"'range' for {levels.name}"
        )
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    # NaN alone differs from itself.
    level_names = leveled(levels, [None if one is None or one != one else one for one in listed])  # noqa: PLR0124
    taxonomy = Taxonomy(levels.name, level_names.tree, levels.weight)
    leaves = depth_first(level_names.tree)
    label = [level_names.tree.labels[leaf] for leaf in leaves.tolist()]
    order = {value: code for code, value in enumerate(label)}
    codes = np.array([order[value] for value in level_names.values] or [0], dtype=np.int32)[
        level_names.codes
    ]
    domain: tuple[Hashable, ...] = tuple(label) if level_names.values else ()
    total = int(level_names.sizes[0])
    joined: list[int] = []
    if level_names.values:
        joined = level_names.sizes[level_names.tree.meet(leaves[:-1], leaves[1:])].tolist()
    if (level_names.codes < 0).any():
        codes = np.where(level_names.codes < 0, len(domain), codes).astype(np.int32)
        joined += [total] * bool(domain)
        domain = (*domain, MISSING)
    # A span that is all of one is as wide as the whole where nothing else is.
    shares = [_share(max(count, 2), max(total, 2), loss) for count in joined]
    place = levels.weight * np.array([*shares, 0.0])
    place.setflags(write=False)
    return CodedColumn(taxonomy, domain, place, levels), codes


def _code(
    attribute: Resolved, values: Sequence[Any] | NDArray[Any]
) -> tuple[tuple[Hashable, ...], NDArray[np.int32]]:
    """Return the domain of a column and the code of each row, ``(n,)``; missing values come last.

    Raises InvalidProblemError, with the row, for a value that is not in the taxonomy or the declared values.
    """
    if isinstance(attribute, Numeric):
        return _code_numbers(attribute, values)
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    listed = [MISSING if value is None or value != value else value for value in listed]  # noqa: PLR0124 - NaN alone differs from itself
    if isinstance(attribute, Taxonomy):
        known = [attribute.tree.labels[leaf] for leaf in depth_first(attribute.tree).tolist()]
    elif attribute.values is not None:
        known = list(attribute.values)
    else:
        known = _sorted(set(listed) - {MISSING})
    number = {value: code for code, value in enumerate(known)}
    if MISSING in listed and MISSING not in number:
        number[MISSING] = len(number)
    codes = np.fromiter((number.get(value, -1) for value in listed), np.int32, len(listed))
    if (codes < 0).any():
        where = "taxonomy" if isinstance(attribute, Taxonomy) else "declared values"
        row = int(np.argmin(codes))
        raise InvalidProblemError(
            attribute.name,
            f"values of its {where}; add the missing value there",
            f"another value in row {row + 1}",
            code="value-unlisted",
        )
    return tuple(number), codes


def _code_numbers(
    attribute: Numeric, values: Sequence[Any] | NDArray[Any]
) -> tuple[tuple[Hashable, ...], NDArray[np.int32]]:
    """Return the rising numbers of a column and the code of each row, ``(n,)``; missing values come last.

    Raises InvalidProblemError for other values, numbers beyond 2^53, or ones outside of declared bounds.
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidProblemError(
            attribute.name, "numbers", "other values", code="numbers-none"
        ) from None
    if numbers.ndim != 1 or np.isinf(numbers).any() or (np.abs(numbers) > _MAX_INTEGER).any():
        raise InvalidProblemError(
            attribute.name,
            f"one number a row, at most {_MAX_INTEGER} in absolute value; convert codes to text",
            "other values",
            code="numbers-too-large",
        )
    missing = np.isnan(numbers)
    low = -np.inf if attribute.low is None else attribute.low
    high = np.inf if attribute.high is None else attribute.high
    outside = ~missing & ((numbers < low) | (numbers > high))
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidProblemError(
            attribute.name,
            "values within its declared bounds; widen the bounds",
            f"another value in row {row + 1}",
            code="numbers-beyond-bounds",
        )
    present = numbers[~missing]
    integers = present.astype(np.int64)
    distinct, inverse = (
        different(integers)
        if (integers == present).all()
        else np.unique(present, return_inverse=True)
    )
    codes = np.full(len(numbers), len(distinct), dtype=np.int32)
    codes[~missing] = inverse
    domain: list[Hashable] = [int(v) if v == int(v) else v for v in distinct.tolist()]
    return (*domain, *([MISSING] if missing.any() else [])), codes


def _sorted(values: set[Any]) -> list[Any]:
    """Return values in order; by type and text where they cannot be compared."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def _places(attribute: Resolved, domain: tuple[Hashable, ...], loss: str) -> NDArray[np.float64]:
    """Return costs by code ``(D,)`` at a weight of 1, as :class:`CodedColumn` describes them.

    Refuse "range" for sets.
    """
    if isinstance(attribute, Numeric):
        return _positions(attribute, domain, loss)
    if loss == "range":
        raise InvalidProblemError(
            "loss", "one for sets, such as 'ncp'", f"'range' for {attribute.name}"
        )
    if isinstance(attribute, Taxonomy):
        leaves = depth_first(attribute.tree)
        meets = attribute.tree.meet(leaves[:-1], leaves[1:])
        counts = attribute.tree.leaf_counts[meets].tolist()
        # The leaf for missing values hangs below the root, and so meets every other there.
        extra = len(domain) - len(leaves)
        joined = [
            count + extra * (node == 0) for count, node in zip(counts, meets.tolist(), strict=True)
        ]
        joined += [len(domain)] * extra
        return np.array([*(_share(c, len(domain), loss) for c in joined), 0.0])
    return np.array([_share(c + 1, len(domain), loss) for c in range(len(domain))])


def _positions(attribute: Numeric, domain: tuple[Hashable, ...], loss: str) -> NDArray[np.float64]:
    """Return the position of each number ``(D,)`` in units of the range; for ARX's loss, its rank.

    Missing values are at 2.
    """
    present: NDArray[np.float64] = np.array(
        [v for v in domain if v is not MISSING], dtype=np.float64
    )
    if loss == "arx-loss":
        present = np.arange(len(present), dtype=np.float64)
    bounds = (None, None) if loss == "arx-loss" else (attribute.low, attribute.high)
    low = float(present.min(initial=np.inf)) if bounds[0] is None else bounds[0]
    high = float(present.max(initial=-np.inf)) if bounds[1] is None else bounds[1]
    width = high - low
    position = (present - low) / width if width > 0 else np.zeros(len(present))
    # Two ranges away: no difference between numbers is as large, and costs are capped at one range.
    return np.concatenate([position, np.full(len(domain) - len(present), 2.0)])


def _share(count: int, total: int, loss: str) -> float:
    """Return the cost, at weight 1, of a cell that covers `count` of the `total` values of a column.

    0 for one value.
    """
    if count == 1:
        return 0.0
    if loss == "one-hot":
        return count / total
    return (count - 1) / (total if loss == "ncp-printed" else total - 1)
