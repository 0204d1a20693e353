r"""Which columns make rows of a table unique: minimal sample uniques, and the uniques that each column adds.

A minimal sample unique of a row is a set of columns on which no other row agrees with it, while on each smaller set
some row does [EMF02]_. All of it is computed from the rows, and is for the curator alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import items_of, whole_number
from discreet.core.printed import count, share
from discreet.kanonymity.problem.published import joined, values_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


@final
@dataclass(frozen=True)
class RiskSources:
    r"""What makes rows unique.

    Parameters
    ----------
    rows, unique
        Numbers of rows, and of rows that are unique on all columns together.
    unique_without
        For each column the number of unique rows if the column is left out.
    contribution
        For each column the share of the scores of all rows that comes from minimal sample uniques with the column. A
        minimal sample unique of k of m columns scores :math:`\prod_{i=k}^{M-1} (m - i)`, M being `largest`.
    minimal
        Number of minimal sample uniques by their number of columns.
    largest
        Number of columns up to which sets of columns were looked at.
    """

    rows: int
    unique: int
    unique_without: Mapping[str, int]
    contribution: Mapping[str, Fraction]
    minimal: Mapping[int, int]
    largest: int

    def in_words(self) -> list[str]:
        """Return a sentence for each column that adds uniques, the greatest contribution first."""
        ordered = sorted(self.contribution, key=lambda name: (-self.contribution[name], name))
        return [
            f"{name}: {share(self.contribution[name])} of the risk by minimal sample uniques; without it "
            f"{count(self.unique_without[name])} of {count(self.rows)} rows are alone, not {count(self.unique)}"
            for name in ordered
            if self.contribution[name] or self.unique_without[name] < self.unique
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; contributions are shares from 0 to 1."""
        return {
            "unique": self.unique,
            "unique_without": dict(self.unique_without),
            "contribution": {name: float(part) for name, part in self.contribution.items()},
            "minimal_uniques": {str(size): many for size, many in self.minimal.items()},
            "largest_set": self.largest,
        }


def risk_sources(
    table: object, quasi_identifiers: Sequence[str], *, max_sets: int = 1_000
) -> RiskSources:
    r"""Find which columns make rows unique.

    Parameters
    ----------
    table
        Columns by name.
    quasi_identifiers
        Columns that an attacker may know, at least one.
    max_sets
        Sets of columns that are looked at, each by a sort of all rows; larger sets are left out if there would be
        more.

    Raises
    ------
    InvalidProblemError
        For columns that are not there, or a table without rows.

    Complexity
    ----------
    One sort of the rows for each set of columns, of which there are at most `max_sets`.

    References
    ----------
    The score is that of special uniques detection (SUDA) [EMF02]_.

    Examples
    --------
    >>> found = risk_sources({"age": [30, 30, 30, 40], "sex": ["F", "F", "M", "M"]}, ["age", "sex"])
    >>> found.unique, dict(found.unique_without), dict(found.minimal)
    (2, {'age': 0, 'sex': 1}, {1: 1, 2: 1})
    """
    whole_number(max_sets, "max_sets", "one or more")
    names = items_of(quasi_identifiers, "quasi_identifiers", "names of columns")
    codes = [values_in(table, name).codes for name in names]
    if not codes or not len(codes[0]):
        raise InvalidProblemError("table", "columns of one length, with rows", "others")
    n, m = len(codes[0]), len(names)
    largest = 1
    while largest < m and sum(math.comb(m, size) for size in range(1, largest + 2)) <= max_sets:
        largest += 1
    score, shared = [0] * m, 0
    minimal: dict[int, int] = {}
    before: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.zeros(n, dtype=np.bool_)}
    for size in range(1, largest + 1):
        fresh_masks = {}
        worth = math.prod(m - i for i in range(size, largest))
        for chosen in combinations(range(m), size):
            alone = _alone([codes[j] for j in chosen])
            fresh_masks[chosen] = alone
            known = np.any([before[part] for part in combinations(chosen, size - 1)], axis=0)
            n_unique = int((alone & ~known).sum())
            minimal[size] = minimal.get(size, 0) + n_unique
            shared += worth * n_unique
            for j in chosen:
                score[j] += worth * n_unique
        before = fresh_masks
    without = {
        name: int(_alone([*codes[:j], *codes[j + 1 :]]).sum()) if m > 1 else 0
        for j, name in enumerate(names)
    }
    return RiskSources(
        n,
        int(_alone(codes).sum()),
        without,
        {name: Fraction(score[j], shared or 1) for j, name in enumerate(names)},
        {size: many for size, many in minimal.items() if many},
        largest,
    )


def _alone(codes: list[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """Mark rows that no other row agrees with.

    The result is ``(n,)`` boolean; `codes` holds one ``(n,)`` array for each column. A sort of the rows.
    """
    labels = joined(codes)
    return np.asarray(np.bincount(labels)[labels] == 1)
