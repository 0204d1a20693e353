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
        0 for classes of the nearest points; else the nearest of so many rows at random.

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
    >>> [union.rows for union in unions_for(3) if union.exact]
    [9, 12]
    """
    exact = [Union(rows, rows // k, exact=True) for rows in _exact_rows(k)]
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

    Gains fall as the search goes on, so that a kind that was not looked at for long is soon the best again.
    """

    def __init__(self, unions: tuple[Union, ...]) -> None:
        self.unions = unions
        self.rates = [float("inf")] * len(unions)

    def next(self) -> int:
        """Give the number of the kind to take."""
        return max(range(len(self.unions)), key=self.rates.__getitem__)

    def learn(self, at: int, gain: float, rounds: int) -> None:
        """Note what so many rounds of a kind gained; kinds that gained nothing take turns."""
        rate = gain / (rounds * self.unions[at].work)
        if rate <= 0.0:
            rate = min(0.0, *self.rates) - 1.0
        self.rates[at] = rate
