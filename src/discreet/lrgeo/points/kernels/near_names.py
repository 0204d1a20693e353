"""Compiled loops over nodes of a torus and the places near them: medians, and what names lose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def find_medians(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    nodes: NDArray[np.float64],
    places: NDArray[np.float64],
    mass: NDArray[np.float64],
    starts: NDArray[np.int64],
    tall: int,
    side: float,
    fall: float,
    steps: int,
) -> None:
    """Move nodes, ``(Q, 2)``, in place, to the geometric medians of the places near them, by Weiszfeld's iteration.

    Places are sorted by square bucket, ``tall`` of these in a column; place p weighs ``mass[p] e^(-fall d)``. Those
    in the bucket of a node and in the eight around it count. A node without any stays.

    `places` is ``(P, 2)``, `mass` ``(P,)``, `starts` ``(buckets + 1,)``; `side` and `fall` are in units of the nodes.
    ``O(near places)`` for each node and step.
    """
    weight, near = np.empty(len(places)), np.empty(len(places), dtype=np.int64)
    wide = (len(starts) - 1) // tall
    for q in range(len(nodes)):
        x, y = nodes[q, 0], nodes[q, 1]
        a, b = math.floor(x / side), math.floor(y / side)
        count, total, east, north = 0, 0.0, 0.0, 0.0
        for i in range(max(a - 1, 0), min(a + 2, wide)):
            for j in range(max(b - 1, 0), min(b + 2, tall)):
                for p in range(starts[i * tall + j], starts[i * tall + j + 1]):
                    w = mass[p] * math.exp(-fall * math.hypot(places[p, 0] - x, places[p, 1] - y))
                    weight[count], near[count] = w, p
                    count += 1
                    total += w
                    east += w * places[p, 0]
                    north += w * places[p, 1]
        if total == 0.0:
            continue
        x, y = east / total, north / total
        for _ in range(steps):
            total, east, north = 0.0, 0.0, 0.0
            for c in range(count):
                p = near[c]
                # A hundredth of a cell keeps the weight of a place under the median finite.
                w = weight[c] / (0.01 + math.hypot(places[p, 0] - x, places[p, 1] - y))
                total += w
                east += w * places[p, 0]
                north += w * places[p, 1]
            x, y = east / total, north / total
        nodes[q, 0], nodes[q, 1] = x, y


@kernel
def add_losses(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    below: NDArray[np.float64],
    first: NDArray[np.int64],
    weights: NDArray[np.float64],
    places: NDArray[np.float64],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    named: NDArray[np.float64],
    begin: int,
    end: int,
    out: NDArray[np.float64],
) -> None:
    """Add up, for places from ``begin`` to ``end``, the noise that leads to nodes around, and noise times loss.

    Place p has the taps ``weights[p]`` ``(2, 3)`` from the control point ``first[p]`` on, which is in the middle of a
    window of ``(W, H)`` nodes. ``below`` ``(W + 2, H + 3)`` are sums along rows of the noise by which the taps lead to
    its nodes. Nodes of one name beside each other are a run: run r of row x, one of ``rows[x]`` to ``rows[x + 1]``,
    ends before node ``ends[r]``, and ``named`` ``(D, runs)`` has the coordinates of its name. A loss is the distance
    from ``places[p]``, of ``(P, D)``; ``out`` ``(P, 2)`` gets both sums. ``O(W H)`` a place, and a distance for each
    run in its window.
    """
    wide, tall = below.shape[0] - 2, below.shape[1] - 3
    band, upto, away = np.empty(tall + 3), np.empty(tall + 1), np.empty(tall)
    for p in range(begin, end):
        x, y = first[p]
        a, b, c = weights[p, 0]
        u, v, w = weights[p, 1]
        inside = loss = 0.0
        for s in range(wide):
            for t in range(tall + 3):
                band[t] = a * below[s + 2, t] + b * below[s + 1, t] + c * below[s, t]
            for t in range(tall + 1):
                upto[t] = u * band[t + 2] + v * band[t + 1] + w * band[t]
            inside += upto[tall] - upto[0]
            begun, ended = rows[x + s], rows[x + s + 1]
            begun += np.searchsorted(ends[begun:ended], y, side="right")
            count = 1 + np.searchsorted(ends[begun:ended], y + tall)
            away[:count] = 0.0
            # Slices, so that indices are known to count from the front.
            for k in range(len(named)):
                at = places[p, k]
                names = named[k, begun : begun + count]
                for r in range(count):
                    away[r] += (at - names[r]) ** 2
            for r in range(count):
                away[r] = math.sqrt(away[r])
            stops = ends[begun : begun + count]
            # A sum for each row: the rounding error of one sum grows with the number of its terms.
            of_row, before = 0.0, upto[0]
            for r in range(count):
                after = upto[min(stops[r] - y, tall)]
                of_row += (after - before) * away[r]
                before = after
            loss += of_row
        out[p, 0], out[p, 1] = inside, loss
