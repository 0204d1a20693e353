"""Parameters of which a usual run takes a few that meet each value, and `make test-slow` all."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def few_of(count: int, cases: Iterable[Any]) -> list[Any]:
    """Mark all cases but the first ones as slow; a case of several values is a tuple."""
    return [
        pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=marks)
        for at, one in enumerate(cases)
        for marks in [() if at < count else pytest.mark.slow]
    ]


def each_once(*axes: Iterable[Any], usual: int = 0) -> list[Any]:
    """Combine values; a usual run has each value of each axis once or more, and slow ones have every combination.

    A usual run with fewer combinations than values of the longest axis has so many of them.
    """
    listed = [list(axis) for axis in axes]
    longest = max(map(len, listed))
    first = [tuple(axis[at % len(axis)] for axis in listed) for at in range(longest)]
    rest = [one for one in product(*listed) if one not in first]
    return few_of(usual or longest, [*first, *rest])
