"""Which unions of classes to look at: several sizes, the one that lately gained most for its work first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

__all__ = ["Schedule", "Union", "unions_for"]


@final
@dataclass(frozen=True)
class Union:
    """A kind of union.

    Parameters
    ----------
    rows
        Rows in it at most.
    classes
        Classes in it at most.
    exact
        Whether it is partitioned exactly, by all subsets, or grown and cut anew.
    samples
        0 for classes of the nearest points; else of the nearest of so many rows, at random from classes that lose
        something.

    Examples
    --------
    >>> Union(12, 4, exact=True).work > Union(9, 3, exact=True).work
    True
    """

    rows: int
    classes: int
    exact: bool
    samples: int = 0

    @property
    def work(self) -> float:
        """Estimated microseconds for one, as measured for eight columns; only their ratios count."""
        return 3 + (0.17 * 2**self.rows if self.exact else 0.04 * self.rows**2) + self.samples / 10


def unions_for(k: int) -> tuple[Union, ...]:
    """Choose kinds of unions for a class size, the cheapest first.

    Examples
    --------
    >>> [(union.rows, union.samples) for union in unions_for(3) if union.exact]
    [(9, 0), (9, 32), (12, 0), (12, 32)]
    """
    exact = [
        Union(rows, rows // k, exact=True, samples=samples)
        for rows in _exact_rows(k)
        for samples in (0, 32)
    ]
    grown = [Union(count * (2 * k - 1), count, exact=False) for count in (2, 3, 4, 6, 10)]
    far = [Union(count * (2 * k - 1), count, exact=False, samples=64) for count in (3, 6)]
    return tuple(sorted([*exact, *grown, *far], key=lambda union: union.work))


def _exact_rows(k: int) -> tuple[int, ...]:
    if k == 1:
        return ()
    if k <= 4:
        return (3 * k, 12) if 3 * k < 12 else (12,)
    return (2 * k,) if k <= 7 else ()


class Schedule:
    """Take the kind of union that gained most for its work when it was last looked at; each once at first.

    Every third turn goes to the kind that has waited longest, so that none is forgotten as gains fall.
    """

    def __init__(self, unions: tuple[Union, ...]) -> None:
        self.unions = unions
        self.rates = [float("inf")] * len(unions)
        self.turns = [0] * len(unions)
        self.turn = 0

    def next(self) -> int:
        """Give the number of the kind to take."""
        self.turn += 1
        kinds = range(len(self.unions))
        longest = min(kinds, key=self.turns.__getitem__)
        best = max(kinds, key=self.rates.__getitem__)
        at = longest if self.turn % 3 == 0 else best
        self.turns[at] = self.turn
        return at

    def learn(self, at: int, gain: float, rounds: int) -> None:
        """Note what so many rounds of a kind gained."""
        self.rates[at] = gain / (rounds * self.unions[at].work)
