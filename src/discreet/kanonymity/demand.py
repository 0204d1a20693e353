"""Demands on a sensitive column, with the codes of its values: exact to decide, and as arrays for kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.kanonymity.models import (
    AlphaFrequency,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    PrivacyModel,
    RecursiveDiversity,
    counts_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DISTINCT, ENTROPY, RECURSIVE, ALPHA, CLOSE, CLOSE_ORDERED = 0, 1, 2, 3, 4, 5
"""Kinds of models, as :class:`Wanted` writes them."""


@final
@dataclass(frozen=True)
class CountingLimits:
    """Memory of the counts of values by class.

    Parameters
    ----------
    max_counts_at_once
        Counts of classes that are held at once.
    """

    max_counts_at_once: int = 2_000_000


COUNTING = CountingLimits()


_MAX_NUMERATOR = int(np.iinfo(np.int32).max) + 1


@final
@dataclass(frozen=True, eq=False, repr=False)
class Demand:
    """A model, and the sensitive values that it is about.

    Parameters
    ----------
    name
        The column.
    model
        A record of :mod:`discreet.kanonymity.models` that merging keeps: distinct, entropy or recursive diversity,
        the greatest frequency, or closeness. That two close classes are close together follows from the convexity of
        the earth mover's distance [LLV07]_.
    codes
        ``(n,)`` codes 0, 1, ... of its values, private.
    whole
        Rows of the table with each code, to which classes must be close; default: counted from the codes.
    missing
        Code of missing values, which then count neither as a value nor as rows; -1 for none.

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
    model: PrivacyModel
    codes: NDArray[np.int64]
    whole: tuple[int, ...] | None = None
    missing: int = -1

    def __post_init__(self) -> None:
        known = (DistinctDiversity, EntropyDiversity, RecursiveDiversity, AlphaFrequency, Closeness)
        if not isinstance(self.model, known):
            expected = "distinct, entropy or recursive diversity, a greatest frequency or closeness"
            raise InvalidProblemError(self.name, expected, type(self.model).__name__)
        codes = np.array(self.codes, dtype=np.int64)
        if codes.ndim != 1 or (codes < 0).any():
            raise InvalidProblemError(self.name, "codes 0, 1, ... of a column", "others")
        codes.setflags(write=False)
        object.__setattr__(self, "codes", codes)
        if isinstance(self.model, Closeness) and self.whole is None:
            counts = np.bincount(codes[codes != self.missing]).tolist()
            table_counts = self.model.whole or tuple(counts)
            object.__setattr__(self, "whole", table_counts)

    def __repr__(self) -> str:
        return f"Demand({self.name}: {self.model!r})"

    @property
    def width(self) -> int:
        """How many codes there are, that of missing values included."""
        known = int(self.codes.max(initial=0)) + 1 if self.whole is None else len(self.whole)
        return max(known, self.missing + 1)

    def failing(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the classes that fail the demand: booleans ``(classes,)`` from `counts` ``(classes, values)`` of rows.

        Linear in the counts, in exact integers.

        InvalidProblemError for a class without rows or a negative count.
        """
        model = self.model
        if isinstance(model, Closeness):
            model = replace(model, whole=self.whole)
        if self.missing < 0:
            return model.failing(counts)
        counts = np.delete(counts, self.missing, axis=1)
        present = counts.any(axis=1)
        # A class of missing values has one value; other models judge it where these count as one.
        alone = isinstance(model, DistinctDiversity) and model.l > 1
        failing = np.full(len(counts), alone, dtype=np.bool_)
        if present.any():
            failing[present] = model.failing(counts[present])
        return failing


class Wanted(NamedTuple):
    """Demands as flat arrays: row q of each is one of them.

    ``a[q] / b[q]`` is a share, a factor or a distance, ``least[q]`` the l, or by how much distances are multiplied,
    ``level[q]`` the least entropy; ``whole[q, v]`` says how many rows of the table have value v, where classes must be
    close to the table; ``missing[q]`` is the code of missing values, which are left out, or -1; ``tally`` is room for
    counts, all 0 between uses, ``seen`` for the values that were met.
    """

    codes: NDArray[np.int64]
    kind: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    least: NDArray[np.int64]
    level: NDArray[np.float64]
    tally: NDArray[np.int64]
    seen: NDArray[np.int64]
    whole: NDArray[np.int64]
    missing: NDArray[np.int64]


def wanted_of(demands: Sequence[Demand], *, entropy_margin: float = 1e-9) -> Wanted:
    """Write demands as flat arrays, none as arrays without rows.

    `entropy_margin`, in nats, is added to a least entropy: far more than the rounding of kernels, so that what they
    accept holds exactly.

    Raises
    ------
    InvalidProblemError
        For a share with a numerator or denominator beyond 2^31, or one for which 64 bits do not hold what is compared.
    """
    rows: list[tuple[int, int, int, int, float]] = []
    width = max((demand.width for demand in demands), default=1)
    whole_table = np.zeros((len(demands), width), dtype=np.int64)
    for q, demand in enumerate(demands):
        match demand.model:
            case DistinctDiversity(least):
                rows.append((DISTINCT, 0, 1, least, 0.0))
            case EntropyDiversity(least_entropy):
                nats = math.log(to_fraction(least_entropy, "l")) + entropy_margin
                rows.append((ENTROPY, 0, 1, 0, nats))
            case RecursiveDiversity(factor, least):
                rows.append((RECURSIVE, *to_fraction(factor, "c").as_integer_ratio(), least, 0.0))
            case AlphaFrequency(alpha):
                rows.append((ALPHA, *to_fraction(alpha, "alpha").as_integer_ratio(), 0, 0.0))
            case Closeness(most, ordered):
                table_counts = demand.whole or ()
                whole_table[q, : len(table_counts)] = table_counts
                times = max(1, len(table_counts) - 1) if ordered else 2
                share = to_fraction(most, "t").as_integer_ratio()
                rows.append((CLOSE_ORDERED if ordered else CLOSE, *share, times, 0.0))
                if 2 * times * sum(table_counts) ** 2 * max(share) >= 2**63:
                    raise InvalidProblemError(demand.name, "a distance of small integers", most)
        if max(rows[-1][1:3]) >= _MAX_NUMERATOR:
            raise InvalidProblemError(demand.name, "a share of small integers", repr(demand.model))
    flat = np.array([row[:4] for row in rows], dtype=np.int64).reshape(-1, 4).T.copy()
    codes = [demand.codes for demand in demands]
    return Wanted(
        np.stack(codes) if codes else np.empty((0, 0), dtype=np.int64),
        flat[0],
        flat[1],
        flat[2],
        flat[3],
        np.array([row[4] for row in rows]),
        np.zeros(width, dtype=np.int64),
        np.empty(width, dtype=np.int64),
        whole_table,
        np.array([demand.missing for demand in demands], dtype=np.int64),
    )


def failing_classes(demands: Sequence[Demand], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the classes that fail one of the demands, exactly.

    Booleans ``(classes,)``. One sort of the rows and a count of each value in each class, two million counts at a
    time.

    Parameters
    ----------
    demands
        What is asked.
    labels
        ``(n,)`` classes 0, 1, ... without gaps.
    """
    labels = np.asarray(labels, dtype=np.int64)
    n_classes = int(labels.max(initial=-1)) + 1
    failing = np.zeros(n_classes, dtype=np.bool_)
    order = first = np.empty(0, dtype=np.int64)
    for demand in demands:
        width = demand.width
        if isinstance(demand.model, DistinctDiversity):
            present = demand.codes != demand.missing
            pairs = labels[present] * width + demand.codes[present]
            different = np.bincount(np.unique(pairs) // width, minlength=n_classes)
            failing |= np.maximum(1, different) < demand.model.l
            continue
        if not len(first):
            order = np.argsort(labels, kind="stable")
            first = np.searchsorted(labels[order], np.arange(n_classes + 1))
        step = max(1, COUNTING.max_counts_at_once // width)
        for low in range(0, n_classes, step):
            high = min(low + step, n_classes)
            rows = order[first[low] : first[high]]
            counts = counts_of(labels[rows] - low, demand.codes[rows], width)
            failing[low:high] |= demand.failing(counts)
    return failing


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
