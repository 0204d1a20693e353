"""Compiled sums of the lower bound: what each bracket earns and spends, in IEEE arithmetic without contraction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.jit import kernel, part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@part
def _place(low: int, high: int, starts: NDArray[np.int64], ends: NDArray[np.int32]) -> int:
    """Return the index of pair (low, high) among pairs in lexicographic order, or -1; a bisection.

    Pairs of lower end i are ``starts[i]`` to ``starts[i + 1] - 1``, ``(n + 1,)``; `ends` ``(m,)`` are their higher
    ends.
    """
    if high + 1 >= len(starts):
        return -1
    first, last = starts[low], starts[low + 1]
    # No later, since ends ascend, and there if all pairs are constrained.
    last = min(last, first + high - low)
    if last > first and ends[last - 1] == high:
        return int(last - 1)
    while first < last:
        middle = (first + last) // 2
        if ends[middle] < high:
            first = middle + 1
        else:
            last = middle
    return first if first < starts[low + 1] and ends[first] == high else -1


@kernel
def find_priced(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    report: NDArray[np.int32],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int32],
    n_reports: int,
    places: NDArray[np.int32],
) -> int:
    """Find the constraint of each price; return the first price of none, or of no report, or -1.

    Prices and ``places``, which are written, are ``(prices,)`` arrays. Pairs whose lower secret is i are those from
    ``starts[i]`` to ``starts[i + 1]``, their others in ``ends``. A bisection where the pair of a price is not that of
    the one before.

    `n_reports` bounds the report of a price.
    """
    low, high, place = -1, -1, -1
    for p in range(len(report)):
        if low != min(source[p], target[p]) or high != max(source[p], target[p]):
            low, high = min(source[p], target[p]), max(source[p], target[p])
            place = _place(low, high, starts, ends)
        if place < 0 or report[p] >= n_reports:
            return p
        places[p] = place
    return -1


@kernel
def add_prices(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    report: NDArray[np.int32],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    value: NDArray[np.float64],
    places: NDArray[np.int32],
    first: int,
    growth: NDArray[np.float64],
    classes: NDArray[np.int64],
    earned: NDArray[np.float64],
    spent: NDArray[np.float64],
    terms: NDArray[np.int32],
) -> None:
    """Add each price to what the bracket of its source earns, and growth times it to what that of its target spends.

    Prices and their places among the constraints are as of :func:`find_priced`, ``growth`` is ``(constraints,)``; the
    last three are tables ``(reports, classes)`` of the reports from ``first`` on, so that prices of one report are near
    each other. Classes are of secrets; a growth of zero leaves a price out. ``terms`` counts summands. Linear.
    """
    for p in range(len(report)):
        k = report[p] - first
        if not 0 <= k < len(terms):
            continue
        by = growth[places[p]]
        if value[p] > 0 and by > 0:
            s, t = classes[source[p]], classes[target[p]]
            earned[k, s] += value[p]
            spent[k, t] += by * value[p]
            terms[k, s] += 1
            terms[k, t] += 1
