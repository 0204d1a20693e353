"""Compiled loops of the laminar engine; :mod:`discreet.hierarchy.laminar` states what they compute.

One size is one row: arrays ``(n_sizes, n_nodes)``. The scratch of a size is small and stays in the cache; nothing of it
is kept when the next size comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel, part

if TYPE_CHECKING:
    from numpy.typing import NDArray


@part
def _bend(
    children: NDArray[np.int64],
    offsets: NDArray[np.int64],
    y: NDArray[np.int64],
    weights: NDArray[np.int64],
    top: int,
) -> tuple[NDArray[np.float64], ...]:
    """Find for each region from ``top`` on where its flow bends: a convex, piecewise linear function of the price.

    `children` ``(nodes + 1,)`` has the first child of each region, `offsets` ``(nodes + 1,)`` the first entry of each
    in the results; `y` and `weights` are ``(nodes,)``. ``O(m log m)`` for the m leaves below, a level at a time.

    Returns
    -------
    tuple
        Four arrays ``(offsets[-1],)``, those of a region from its offset on: prices of the children at which the flow
        bends, prices of the region itself there, flows there, and slopes after it. Of a leaf its price alone counts,
        and its slope.
    """
    room = offsets[-1]
    bend, price, jump = np.empty(room), np.empty(room), np.empty(room)
    value, slope = np.empty(room), np.empty(room)
    for r in range(len(y) - 1, top - 1, -1):
        first, stop = children[r], children[r + 1]
        at, weight = offsets[r], 2.0 * weights[r]
        if first == stop:
            price[at], jump[at] = -weight * y[r], 1.0 / weight
            slope[at] = jump[at]
            continue
        start, count = offsets[first], offsets[stop] - offsets[first]
        keys, jumps = price[start : start + count], jump[start : start + count]
        order = np.argsort(keys, kind="mergesort")
        flow, steep, steep_above = 0.0, 0.0, 0.0
        for j in range(count):
            key = keys[order[j]]
            if j:
                flow += steep * (key - keys[order[j - 1]])
            steep += jumps[order[j]]
            bend[at + j], value[at + j], slope[at + j] = key, flow, steep
            price[at + j] = key + weight * (flow - y[r])
            above = steep / (1.0 + weight * steep)
            jump[at + j] = above - steep_above
            steep_above = above
    return bend, price, value, slope


@kernel
def bends(  # noqa: PLR0917 - a compiled loop takes its arrays one by one
    children: NDArray[np.int64],
    offsets: NDArray[np.int64],
    ys: NDArray[np.int64],
    weights: NDArray[np.int64],
    prices: NDArray[np.float64],
    values: NDArray[np.float64],
    slopes: NDArray[np.float64],
) -> None:
    """Compute for each size where the flow of the root bends, its value there, and its slope after it.

    ``ys`` is ``(sizes, nodes)``, ``weights`` ``(nodes,)``, the last three ``(sizes, offsets[1] - offsets[0])``. Each
    size costs a merge of all leaves, a level at a time: ``O(depth n log n)``.

    ``children`` and ``offsets`` are ``(nodes + 1,)``, as of :func:`_bend`; the prices, values and slopes are written.
    """
    for s in range(len(ys)):
        _, price, value, slope = _bend(children, offsets, ys[s], weights, int(np.int64(0)))
        if children[0] == children[1]:
            prices[s, 0], values[s, 0], slopes[s, 0] = price[0], 0.0, slope[0]
            continue
        for j in range(offsets[1] - offsets[0]):
            prices[s, j], values[s, j] = price[j], value[j]
            slopes[s, j] = slope[j] / (1.0 + 2.0 * weights[0] * slope[j])


@kernel
def flows_at(
    prices: NDArray[np.float64],
    values: NDArray[np.float64],
    slopes: NDArray[np.float64],
    p: float,
    out: NDArray[np.float64],
) -> None:
    """Write the flows of all roots at price ``p`` into ``out`` ``(sizes,)``.

    `prices`, `values` and `slopes` ``(sizes, bends)`` are as :func:`bends` wrote them. A bisection a size.
    """
    for s in range(len(prices)):
        j = np.searchsorted(prices[s], p, side="right") - 1
        out[s] = 0.0
        if j >= 0:
            out[s] = values[s, j] + slopes[s, j] * (p - prices[s, j])


@kernel
def price_of(
    prices: NDArray[np.float64],
    values: NDArray[np.float64],
    slopes: NDArray[np.float64],
    total: int,
) -> float:
    """Return the least price, as nearly as floats can tell, at which all roots together have the flow ``total``.

    `prices`, `values` and `slopes` are as :func:`bends` wrote them. A bisection over floats, with :func:`flows_at` in
    each step.
    """
    flows = np.empty(len(prices))
    low, step = float(prices[:, 0].min()), 1.0
    while True:
        flows_at(prices, values, slopes, low + step, flows)
        if flows.sum() >= total:
            break
        step *= 2.0
    high = low + step
    while True:
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            return high
        flows_at(prices, values, slopes, middle, flows)
        if flows.sum() < total:
            low = middle
        else:
            high = middle


@kernel
def descend(  # noqa: PLR0917 - a compiled loop takes its arrays one by one
    children: NDArray[np.int64],
    offsets: NDArray[np.int64],
    ys: NDArray[np.int64],
    weights: NDArray[np.int64],
    root_price: float,
    root_flows: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the flows of all regions at a price of the roots; where theirs are given, they need not be found again.

    ``ys`` and ``out`` are ``(sizes, nodes)``, ``root_flows`` ``(sizes,)`` or empty. The cost is that of :func:`bends`.

    The other arrays are as of :func:`_bend`; `root_price` is the dual multiplier of the total.
    """
    top = 1 if len(root_flows) else 0
    paid = np.empty(ys.shape[1])
    for s in range(len(ys)):
        y = ys[s]
        bend, price, value, slope = _bend(children, offsets, y, weights, top)
        paid[0] = root_price
        for r in range(len(y)):
            first, stop = children[r], children[r + 1]
            weight, p = 2.0 * weights[r], paid[r]
            if first == stop:
                out[s, r] = max(0.0, y[r] + p / weight)
                continue
            if r < top:
                out[s, r] = root_flows[s]
                paid[first:stop] = p - weight * (root_flows[s] - y[r])
                continue
            own = price[offsets[r] : offsets[r + 1]]
            j = offsets[r] + np.searchsorted(own, p, side="right") - 1
            if j < offsets[r]:
                q, out[s, r] = p + weight * y[r], 0.0
            else:
                q = bend[j] + (p - price[j]) / (1.0 + weight * slope[j])
                out[s, r] = value[j] + slope[j] * (q - bend[j])
            paid[first:stop] = q


@kernel
def select(a: NDArray[np.int64], start: int, stop: int, rank: int) -> None:
    """Rearrange ``a[start:stop]`` so that place ``rank`` holds what sorting would put there, no greater one before.

    `a` is int64 ``(m,)``, changed in place. Linear time on average.
    """
    left, right = start, stop - 1
    while left < right:
        x, y, z = a[left], a[(left + right) // 2], a[right]
        pivot = max(min(x, y), min(max(x, y), z))
        below, i, above = left, left, right
        while i <= above:
            key = a[i]
            if key < pivot:
                a[i], a[below] = a[below], key
                below += 1
                i += 1
            elif key > pivot:
                a[i], a[above] = a[above], key
                above -= 1
            else:
                i += 1
        if rank < below:
            right = below - 1
        elif rank > above:
            left = above + 1
        else:
            return


@part
def _pool(  # noqa: PLR0917 - a compiled loop takes its arrays one by one
    first: int,
    stop: int,
    low: NDArray[np.int64],
    length: NDArray[np.int64],
    table: NDArray[np.int64],
    buffer: NDArray[np.int64],
) -> tuple[int, int]:
    """Copy the increments of children `first` up to `stop` into `buffer`.

    Return the sum of their least counts, and the number. `low` and `length` are ``(n,)``, `table` ``(n, width)``: the
    tables of :func:`_grow`. Linear in what is copied.
    """
    least, m = 0, 0
    for c in range(first, stop):
        least += low[c]
        for i in range(length[c]):
            buffer[m] = table[c, i]
            m += 1
    return least, m


@part
def _grow(  # noqa: PLR0917 - a compiled loop takes its arrays one by one
    children: NDArray[np.int64],
    y: NDArray[np.int64],
    center: NDArray[np.int64],
    weights: NDArray[np.int64],
    step: int,
    half: int,
) -> tuple[NDArray[np.int64], ...]:
    """Find for each region the increments of its cost table in a window around its center.

    `children` ``(n + 1,)`` has the first child of each region; `y`, `center` and `weights` are ``(n,)``, counts in
    units of `step` but for `y`. Linear in the windows on average, but for a sort of each.

    Returns
    -------
    tuple
        Least count and number of increments of each region, ``(n,)``; the increments, ``(n, 2 half + 1)``; and a
        buffer of as many numbers.
    """
    n, width = len(y), 2 * half + 1
    low, length = np.empty(n, np.int64), np.empty(n, np.int64)
    table, buffer = np.empty((n, width), np.int64), np.empty(n * width, np.int64)
    for r in range(len(y) - 1, -1, -1):
        first, stop = children[r], children[r + 1]
        if first == stop:
            least, count = max(0, center[r] - half), width
        else:
            least, m = _pool(first, stop, low, length, table, buffer)
            skip = min(max(0, center[r] - half - least), m)
            count = min(width, m - skip)
            if count:
                select(buffer, int(np.int64(0)), m, skip)
                select(buffer, skip, m, skip + count - 1)
                buffer[skip : skip + count].sort()
            for i in range(count):
                table[r, i] = buffer[skip + i]
            least += skip
        low[r], length[r] = least, count
        for i in range(count):
            own = 2 * (step * (least + i) - y[r]) + step
            own *= weights[r]
            table[r, i] = own if first == stop else table[r, i] + own
    return low, length, table, buffer


@kernel
def tops(  # noqa: PLR0917 - a compiled loop takes its arrays one by one
    children: NDArray[np.int64],
    ys: NDArray[np.int64],
    centers: NDArray[np.int64],
    weights: NDArray[np.int64],
    step: int,
    half: int,
    lows: NDArray[np.int64],
    lengths: NDArray[np.int64],
    tables: NDArray[np.int64],
) -> None:
    """Write the windows of the roots, one row a size: least count, number of increments, and the increments.

    ``ys`` and ``centers`` are ``(sizes, nodes)``; a window has ``half`` steps of ``step`` on either side of its center.
    ``lows`` and ``lengths`` are ``(sizes,)``, ``tables`` has a row of increments for each size.

    `children` is ``(nodes + 1,)``, `weights` ``(nodes,)``. The cost is that of :func:`_grow`, a size.
    """
    for s in range(len(ys)):
        low, length, table, _ = _grow(children, ys[s], centers[s], weights, step, half)
        lows[s], lengths[s] = low[0], length[0]
        np.positive(table[0, : length[0]], tables[s, : length[0]])


@kernel
def settle(  # noqa: PLR0917 - a compiled loop takes its arrays one by one
    children: NDArray[np.int64],
    ys: NDArray[np.int64],
    centers: NDArray[np.int64],
    weights: NDArray[np.int64],
    step: int,
    half: int,
    roots: NDArray[np.int64],
) -> None:
    """Replace the centers, in place, by the best counts in their windows, for the `roots` given, or free ones.

    `children` is ``(nodes + 1,)``: region r has the children ``children[r], ..., children[r + 1] - 1``. `ys` is
    ``(sizes, nodes)``, the noisy counts; `centers`, of the same shape, are counts in units of `step`; `weights` is
    ``(nodes,)``. Windows have `half` units on either side. `roots` is ``(sizes,)``, the counts of the root in units
    of `step`, or empty. All are int64. The cost is linear in all windows on average.
    """
    for s in range(len(ys)):
        x = centers[s]
        low, length, table, buffer = _grow(children, ys[s], x, weights, step, half)
        if not len(roots):
            x[0] = low[0]
            for i in range(length[0]):
                x[0] += table[0, i] < 0
        else:
            x[0] = roots[s]
        for r in range(len(x)):
            first, stop = children[r], children[r + 1]
            if first == stop:
                continue
            least, m = _pool(first, stop, low, length, table, buffer)
            # Where no increment is taken, a number below all of them.
            last, ties = -(1 << 62), x[r] - least
            if ties:
                select(buffer, int(np.int64(0)), m, ties - 1)
                last = buffer[ties - 1]
            for i in range(ties):
                ties -= buffer[i] < last
            for c in range(first, stop):
                x[c] = low[c]
                for i in range(length[c]):
                    if table[c, i] < last:
                        x[c] += 1
                    elif table[c, i] == last and ties > 0:
                        x[c] += 1
                        ties -= 1
