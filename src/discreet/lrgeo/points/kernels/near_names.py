"""Compiled loops over nodes of a torus and the places near them: medians, and what names lose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_losses", "find_medians"]


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
    table: NDArray[np.float64],
    first: NDArray[np.int64],
    weights: NDArray[np.float64],
    places: NDArray[np.float64],
    named: NDArray[np.float64],
    reach: int,
    radius: float,
    begin: int,
    end: int,
    out: NDArray[np.float64],
) -> None:
    """Add up, for places from ``begin`` to ``end``, the noise that leads to nodes within reach, and noise times loss.

    ``table`` ``(m, n)`` is the noise on the torus. Place p has the taps ``weights[p]`` ``(2, taps)`` from node
    ``first[p]`` on; ``places`` ``(P, D)`` and ``named`` ``(m, n, D)`` are coordinates of places and of the names of
    nodes, ``reach`` is in nodes. A loss is the distance between them, or with a radius the arc above that chord;
    ``out`` ``(P, 2)`` gets both sums of each place. ``O((reach + taps)^2 taps)`` a place.
    """
    m, n = table.shape
    taps, dimensions = weights.shape[2], places.shape[1]
    tall = min(2 * reach + taps, n)
    band = np.empty(tall + taps - 1)
    for p in range(begin, end):
        inside, loss = 0.0, 0.0
        for s in range(min(2 * reach + taps, m)):
            column = s - reach
            for t in range(tall + taps - 1):
                y = (t - reach - taps + 1) % n
                value = 0.0
                for i in range(taps):
                    value += weights[p, 0, i] * table[(column - i) % m, y]
                band[t] = value
            x = (first[p, 0] + column) % m
            for t in range(tall):
                y = (first[p, 1] + t - reach) % n
                value = 0.0
                for j in range(taps):
                    value += weights[p, 1, j] * band[t + taps - 1 - j]
                square = 0.0
                for k in range(dimensions):
                    square += (places[p, k] - named[x, y, k]) ** 2
                apart = math.sqrt(square)
                if radius > 0.0:
                    apart = 2.0 * radius * math.asin(min(apart / 2.0, 1.0))
                inside += value
                loss += value * apart
        out[p, 0], out[p, 1] = inside, loss
