"""What is asked of a sensitive column, with the codes of its values: exact to decide, and as arrays for kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.kanonymity.models import (
    AlphaFrequency,
    DistinctDiversity,
    EntropyDiversity,
    Model,
    RecursiveDiversity,
    counts_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["DISTINCT", "Demand", "Wanted", "failing_classes", "require_whole", "wanted_of"]

DISTINCT, ENTROPY, RECURSIVE, ALPHA = 0, 1, 2, 3
"""Kinds of models, as :class:`Wanted` writes them."""

AT_ONCE = 2_000_000
"""Counts of classes that are held at once."""

MARGIN = 1e-9
"""What kernels add to a least entropy: far more than their rounding, so that what they accept holds exactly."""

_LARGEST = 2**31


@final
@dataclass(frozen=True, eq=False, repr=False)
class Demand:
    """A model, and the sensitive values that it is about.

    Parameters
    ----------
    name
        The column.
    model
        A record of :mod:`discreet.kanonymity.models` that merging keeps: distinct, entropy or recursive diversity, or
        the greatest frequency.
    codes
        ``(n,)`` codes 0, 1, ... of its values, private.

    Raises
    ------
    InvalidProblemError
        For another model, or codes below 0.

    Examples
    --------
    >>> demand = Demand("ill", DistinctDiversity(2), np.array([0, 1, 1]))
    >>> demand
    Demand(ill: DistinctDiversity(l=2))
    >>> failing_classes([demand], np.array([0, 0, 1])).tolist()
    [False, True]
    """

    name: str
    model: Model
    codes: NDArray[np.int64]

    def __post_init__(self) -> None:
        known = (DistinctDiversity, EntropyDiversity, RecursiveDiversity, AlphaFrequency)
        if not isinstance(self.model, known):
            expected = "distinct, entropy or recursive diversity, or a greatest frequency"
            raise InvalidProblemError(self.name, expected, type(self.model).__name__)
        codes = np.array(self.codes, dtype=np.int64)
        if codes.ndim != 1 or (codes < 0).any():
            raise InvalidProblemError(self.name, "codes 0, 1, ... of a column", "others")
        codes.setflags(write=False)
        object.__setattr__(self, "codes", codes)

    def __repr__(self) -> str:
        return f"Demand({self.name}: {self.model!r})"


class Wanted(NamedTuple):
    """Demands as flat arrays: row q of each is one of them.

    ``a[q] / b[q]`` is a share or a factor, ``least[q]`` the l, ``level[q]`` the least entropy; ``counts[q, v]`` says
    whether value v counts; ``tally`` is room for counts, all 0 between uses, ``seen`` for the values that were met.
    """

    codes: NDArray[np.int64]
    kind: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    least: NDArray[np.int64]
    level: NDArray[np.float64]
    counts: NDArray[np.bool_]
    tally: NDArray[np.int64]
    seen: NDArray[np.int64]


def wanted_of(demands: Sequence[Demand]) -> Wanted:
    """Write demands as flat arrays.

    Raises
    ------
    InvalidProblemError
        For a share with a numerator or denominator beyond 2^31.
    """
    rows: list[tuple[int, int, int, int, float]] = []
    width = max(int(demand.codes.max(initial=0)) + 1 for demand in demands)
    counts = np.ones((len(demands), width), dtype=np.bool_)
    for q, demand in enumerate(demands):
        match demand.model:
            case DistinctDiversity(least):
                rows.append((DISTINCT, 0, 1, least, 0.0))
            case EntropyDiversity(least_entropy):
                rows.append((ENTROPY, 0, 1, 0, math.log(Fraction(least_entropy)) + MARGIN))
            case RecursiveDiversity(factor, least):
                rows.append((RECURSIVE, *Fraction(factor).as_integer_ratio(), least, 0.0))
            case AlphaFrequency(alpha, values):
                rows.append((ALPHA, *Fraction(alpha).as_integer_ratio(), 0, 0.0))
                if values is not None:
                    counts[q] = np.isin(np.arange(width), values)
        if max(rows[-1][1:3]) >= _LARGEST:
            raise InvalidProblemError(demand.name, "a share of small integers", repr(demand.model))
    whole = np.array([row[:4] for row in rows], dtype=np.int64).T.copy()
    return Wanted(
        np.stack([demand.codes for demand in demands]),
        whole[0],
        whole[1],
        whole[2],
        whole[3],
        np.array([row[4] for row in rows]),
        counts,
        np.zeros(width, dtype=np.int64),
        np.empty(width, dtype=np.int64),
    )


def failing_classes(demands: Sequence[Demand], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the classes that fail one of the demands, exactly.

    Parameters
    ----------
    demands
        What is asked.
    labels
        ``(n,)`` classes 0, 1, ... without gaps.
    """
    labels = np.asarray(labels, dtype=np.int64)
    n_classes = int(labels.max(initial=-1)) + 1
    found = np.zeros(n_classes, dtype=np.bool_)
    order = np.argsort(labels, kind="stable")
    first = np.searchsorted(labels[order], np.arange(n_classes + 1))
    for demand in demands:
        width = int(demand.codes.max(initial=0)) + 1
        if isinstance(demand.model, DistinctDiversity):
            pairs = np.unique(labels * width + demand.codes) // width
            found |= np.bincount(pairs, minlength=n_classes) < demand.model.l
            continue
        step = max(1, AT_ONCE // width)
        for low in range(0, n_classes, step):
            high = min(low + step, n_classes)
            rows = order[first[low] : first[high]]
            counts = counts_of(labels[rows] - low, demand.codes[rows], width)
            found[low:high] |= demand.model.failing(counts)
    return found


def require_whole(demands: Sequence[Demand], n: int) -> None:
    """Refuse demands that the whole table as one class fails: then no partition holds them, since merging keeps them.

    Raises
    ------
    InfeasibleError
        When it does.
    InvalidProblemError
        For a column of another length.
    """
    for demand in demands:
        if len(demand.codes) != n:
            raise InvalidProblemError(demand.name, f"{n} values", len(demand.codes))
        if failing_classes([demand], np.zeros(n, dtype=np.int64)).any():
            message = (
                f"no table holds {demand.model!r} of {demand.name}: all rows as one class fail it"
            )
            raise InfeasibleError(message)
