"""Compiled: cut an order of rows into runs of k to 2k - 1 at the least cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel
from discreet.kanonymity.kernels.boxes import span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays


class Cuts(NamedTuple):
    """The best cuts of the first rows of an order.

    ``least[e]`` is what the first e rows lose, the last run of which starts at ``origin[e]``. ``point[r]`` is the point
    of row r; `stamp` is room.
    """

    point: NDArray[np.int64]
    least: NDArray[np.float64]
    origin: NDArray[np.int64]
    stamp: NDArray[np.int64]


def start_cuts(A: Arrays, first: NDArray[np.int64]) -> Cuts:
    """Return the state of :func:`cut_rows` with no rows.

    `first` is as in :func:`~discreet.kanonymity.kernels.boxes.start_growth`.
    """
    point = np.repeat(np.arange(len(first) - 1), np.diff(first))
    n = len(point)
    least = np.full(n + 1, np.inf)
    least[0] = 0.0
    return Cuts(point, least, np.zeros(n + 1, np.int64), np.full(A.start[-1], -1, np.int64))


@kernel
def cut_rows(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays, codes: NDArray[np.int64], C: Cuts, k: int, begin: int, stop: int
) -> None:
    r"""Find the best last run of the first e rows, for e from `begin` to ``stop - 1``.

    .. math:: f(e) = \min_{k \le s < 2k} f(e - s) + s\, w(\text{rows } e - s, \ldots, e - 1), \qquad f(0) = 0,

    with :math:`f` in ``C.least`` ``(n + 1,)`` float64 and the first row of the minimizing run in ``C.origin``
    ``(n + 1,)`` int64; w is the cost per row of a class. Run lengths end once ``s w`` alone exceeds the minimum so far.
    ``O(k m)`` for each e.

    `codes` is ``(points, m)``.
    """
    m = len(A.kind)
    point, least, stamp = C.point, C.least, C.stamp
    lo, hi = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    cell, count = np.empty(m, dtype=np.float64), np.empty(m, dtype=np.int64)
    for end in range(begin, stop):
        best, best_start = np.inf, 0
        width = 0.0
        before = -1
        for size in range(1, min(2 * k, end + 1)):
            start = end - size
            p = point[start]
            if p != before:
                before = p
                width = 0.0
                for a in range(m):
                    code = codes[p, a]
                    if A.kind[a] == 2:
                        if size == 1:
                            count[a] = 0
                        if stamp[A.start[a] + code] != end:
                            stamp[A.start[a] + code] = end
                            count[a] += 1
                            cell[a] = A.place[A.start[a] + count[a] - 1]
                    elif size == 1:
                        lo[a], hi[a], cell[a] = code, code, 0.0
                    elif code < lo[a] or code > hi[a]:
                        lo[a], hi[a] = min(lo[a], code), max(hi[a], code)
                        cell[a] = span(A, a, lo[a], hi[a])
                    width += cell[a]
            if size * width >= best:
                break
            if size >= k and least[start] + size * width < best:
                best, best_start = least[start] + size * width, start
        least[end], C.origin[end] = best, best_start


def runs_of(C: Cuts, end: int) -> NDArray[np.int64]:
    """Return the first rows of the best runs of rows 0 to ``end - 1``, rising, and `end`: int64 ``(runs + 1,)``.

    ``O(runs)``, after :func:`cut_rows` filled C up to `end`.
    """
    cuts = [end]
    while cuts[-1] > 0:
        cuts.append(int(C.origin[cuts[-1]]))
    return np.array(cuts[::-1], dtype=np.int64)
