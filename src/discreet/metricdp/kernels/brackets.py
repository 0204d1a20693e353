"""Compiled loops over prices: sums of brackets, in IEEE arithmetic without contraction, and demands on trees."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


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

    Prices and their ``places`` among the constraints are ``(prices,)``, ``growth`` is ``(constraints,)``; the last
    three are tables ``(reports, classes)`` of the reports from ``first`` on, so that prices of one report are near each
    other. Classes are of secrets; a growth of zero leaves a price out. ``terms`` counts summands. Linear.
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


@kernel
def pair_demands(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    demand: NDArray[np.float64],
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    depth: NDArray[np.float64],
    report: NDArray[np.int32],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    price: NDArray[np.float64],
) -> int:
    """Write prices of pairs that meet positive demands by negative ones, nearest first; return their number.

    `demand` is ``(n_reports, n)``, tree as of :class:`~discreet.metricdp.primal_dual.hubs.HubProgram`. A price p of
    source s and target t meets a demand p at s and takes ``e^d p`` at t. Linear in the nodes for each report.
    """
    n = demand.shape[1]
    nodes = len(order)
    giver, taker = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    supply, need = np.empty(n), np.empty(n)
    givers_at, takers_at = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    count = 0
    for k in range(demand.shape[0]):
        givers = takers = 0
        for t in range(nodes):
            v = order[t]
            givers_at[t], takers_at[t] = givers, takers
            if v < n and demand[k, v] < 0:
                giver[givers], supply[givers] = v, -demand[k, v] * math.exp(-depth[v])
                givers += 1
            elif v < n and demand[k, v] > 0:
                taker[takers], need[takers] = v, demand[k, v] * math.exp(depth[v])
                takers += 1
            rate = math.exp(2 * depth[v])
            while givers > givers_at[first[t]] and takers > takers_at[first[t]]:
                s = taker[takers - 1]
                amount = min(supply[givers - 1] * rate, need[takers - 1])
                report[count], source[count], target[count] = k, s, giver[givers - 1]
                price[count] = amount * math.exp(-depth[s])
                count += 1
                if amount < need[takers - 1]:
                    need[takers - 1] -= amount
                    givers -= 1
                else:
                    supply[givers - 1] -= amount / rate
                    takers -= 1
    return count
