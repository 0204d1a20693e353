"""Compiled loops over distances: min-plus closure, implied edges, spanning forests, greedy spanners.

Every number here is an integer. Floats hold integers below 2^53, so that their sums and comparisons are exact; they
are used where they let the processor work on eight at a time.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel, part

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def close(D: NDArray[np.float64], block: int = 64, width: int = 512) -> None:
    """Replace a symmetric ``(n, n)`` matrix of lengths by its shortest path lengths, in place, in ``O(n^3)``.

    Floyd and Warshall's recursion, ``block`` pivots at a time: first the rows of the pivots, then their columns by
    symmetry, then everything else in strips of ``width`` columns, with four pivots at once. Absent edges are infinite.

    `D` is float64 with zeros on its diagonal. `block` and `width` change the speed alone.
    """
    n = D.shape[0]
    for first in range(0, n, block):
        stop = min(first + block, n)
        for k in range(first, stop):
            pivot = D[k]
            for i in range(first, stop):
                row = D[i]
                a = row[k]
                for j in range(n):
                    through = a + pivot[j]
                    row[j] = min(row[j], through)
        for i in range(n):
            if i < first or i >= stop:
                for k in range(first, stop):
                    D[i, k] = D[k, i]
        for left in range(0, n, width):
            right = min(left + width, n)
            for i in range(n):
                if first <= i < stop:
                    continue
                # Indices of the strip begin at 0, or else the loop is not vectorized.
                row, strip = D[i], D[i, left:right]
                k = first
                # One load and one store of the row serve four pivots.
                while k + 4 <= stop:
                    a0, a1, a2, a3 = row[k], row[k + 1], row[k + 2], row[k + 3]
                    r0, r1 = D[k, left:right], D[k + 1, left:right]
                    r2, r3 = D[k + 2, left:right], D[k + 3, left:right]
                    for j in range(len(strip)):
                        best = min(a0 + r0[j], a1 + r1[j])
                        other = min(a2 + r2[j], a3 + r3[j])
                        best = min(best, other)
                        strip[j] = min(strip[j], best)
                    k += 4
                while k < stop:
                    a0, r0 = row[k], D[k, left:right]
                    for j in range(len(strip)):
                        through = a0 + r0[j]
                        strip[j] = min(strip[j], through)
                    k += 1


@kernel
def implied_dense(
    D: NDArray[np.float64],
    pairs: NDArray[np.int32],
    lengths: NDArray[np.float64],
    third_nodes_at_once: int = 128,
) -> NDArray[np.bool_]:
    """Mark each pair (i, j) that a third node k shortens: ``D_ik + D_kj <= length_ij``; booleans ``(m,)``.

    `D` is ``(n, n)``, `pairs` ``(m, 2)``, `lengths` ``(m,)``. The diagonal of ``D`` must be infinite, so that neither
    end counts as a third node. ``O(n)`` a pair. `third_nodes_at_once` changes the speed alone.
    """
    n = D.shape[0]
    implied = np.zeros(len(pairs), dtype=np.bool_)
    for first in range(0, n, third_nodes_at_once):
        # Rows of a strip of D stay in the second-level cache for all pairs.
        strip = D[:, first : first + third_nodes_at_once].copy()
        for e in range(len(pairs)):
            if not implied[e]:
                a, b, limit = strip[pairs[e, 0]], strip[pairs[e, 1]], lengths[e]
                # No exit inside the strip: a count is what the compiler can vectorize.
                n_between = 0
                for k in range(len(a)):
                    n_between += 1 if a[k] + b[k] <= limit else 0
                implied[e] = n_between > 0
    return implied


@kernel
def implied_sparse(
    start: NDArray[np.int64],
    ends: NDArray[np.int32],
    lengths: NDArray[np.int64],
    ids: NDArray[np.int64],
    n_edges: int,
) -> NDArray[np.bool_]:
    """Mark each edge of a sparse graph that some path of two or more edges replaces at no greater length.

    Node i has the neighbors, lengths and edge numbers at ``start[i]`` to ``start[i + 1]`` of the next three arrays; the
    result is ``(n_edges,)``. From each node, Dijkstra's search within the length of its longest edge; a node settled at
    ``d`` that has an edge of length ``l`` to an end of the source's own edge implies that edge when ``d + l`` is no
    more than its length.

    `start` is ``(n + 1,)``, the next three ``(2 n_edges,)``.

    Lengths are positive. At most ``n`` searches of ``O(m log n)`` in graphs of m edges, each over near nodes alone.
    """
    n = len(start) - 1
    implied = np.zeros(n_edges, dtype=np.bool_)
    far = np.int64(2**62)
    distance = np.full(n, far, dtype=np.int64)
    direct = np.full(n, np.int64(-1), dtype=np.int64)
    for source in range(n):
        limit = np.int64(-1)
        for at in range(start[source], start[source + 1]):
            direct[ends[at]] = at
            limit = max(limit, lengths[at])
        touched = [np.int64(source)]
        distance[source] = 0
        heap = [(np.int64(0), np.int64(source))]
        while len(heap) > 0:
            d, node = heapq.heappop(heap)
            if d > distance[node]:
                continue
            for at in range(start[node], start[node + 1]):
                end = np.int64(ends[at])
                through = d + lengths[at]
                if through > limit:
                    continue
                edge = direct[end]
                if node != source and edge >= 0 and through <= lengths[edge]:
                    implied[ids[edge]] = True
                if through < distance[end]:
                    if distance[end] == far:
                        touched.append(end)
                    distance[end] = through
                    heapq.heappush(heap, (through, end))
        for reached in touched:
            distance[reached] = far
        for at in range(start[source], start[source + 1]):
            direct[ends[at]] = np.int64(-1)
    return implied


@kernel
def spanning_forest(n: int, pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Mark the pairs ``(m, 2)`` of n nodes that join two components when they are added in the order given.

    A forest of halved paths: about ``O(m log n)``.
    """
    root = np.arange(n)
    joins = np.zeros(len(pairs), dtype=np.bool_)
    for e in range(len(pairs)):
        i, j = pairs[e, 0], pairs[e, 1]
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        if i != j:
            root[max(i, j)] = min(i, j)
            joins[e] = True
    return joins


@kernel
def spanner(
    n: int,
    pairs: NDArray[np.int32],
    lengths: NDArray[np.float64],
    limits: NDArray[np.float64],
    max_edges: int,
) -> NDArray[np.bool_]:
    """Mark the pairs of a greedy spanner: those whose graph distance exceeds their limit when their turn comes.

    It ends with the first edge beyond ``max_edges``. All graph distances are kept. An added edge ``(i, j)`` changes
    them by paths ``u-i-j-v`` and ``u-j-i-v`` alone.

    `pairs` is ``(m, 2)``, `lengths` and `limits` ``(m,)``, in ascending order of lengths; the result is ``(m,)``.
    ``O(n^2)`` for each added edge at most, and ``(n, n)`` distances.
    """
    D = np.full((n, n), np.inf)
    for i in range(n):
        D[i, i] = 0.0
    is_edge = np.zeros(len(pairs), dtype=np.bool_)
    near_j = np.empty(n, dtype=np.int64)
    n_edges = 0
    for e in range(len(pairs)):
        i, j = pairs[e, 0], pairs[e, 1]
        if D[i, j] <= limits[e]:
            continue
        is_edge[e] = True
        n_edges += 1
        if n_edges > max_edges:
            break
        from_i = D[i].copy()
        from_j = D[j].copy()
        # A path through the new edge is shorter only between a vertex nearer to i and one nearer to j by more than it.
        n_near_j = 0
        for v in range(n):
            if from_j[v] + lengths[e] < from_i[v]:
                near_j[n_near_j] = v
                n_near_j += 1
        for u in range(n):
            by_i = from_i[u] + lengths[e]
            if by_i >= from_j[u]:
                continue
            row = D[u]
            for at in range(n_near_j):
                v = near_j[at]
                through = by_i + from_j[v]
                if through < row[v]:
                    row[v] = through
                    D[v, u] = through
    return is_edge


@part
def _product(x: float, y: float) -> tuple[float, float]:
    """Product of two floats as a float and its exact error (Dekker, by Veltkamp's halves).

    Exact unless a product overflows or underflows.
    """
    p = x * y
    c = 134217729.0 * x
    x_head = c - (c - x)
    x_tail = x - x_head
    c = 134217729.0 * y
    y_head = c - (c - y)
    y_tail = y - y_head
    error = ((x_head * y_head - p) + x_head * y_tail + x_tail * y_head) + x_tail * y_tail
    return p, error


@kernel
def round_rows(table: NDArray[np.float64], lift: int) -> NDArray[np.int64]:
    """Round rows to integers that sum to 2^62, int64: ``lift`` for each positive entry, the rest in proportion.

    Entries of ``table`` lie in [0, 1), the largest of each row in [1/2, 1). An entry z of a row with sum s and K
    positive entries has the share ``x = (2^62 - K lift) z / s``. The sum is held in three floats, the quotient and the
    product in two, so that x is known up to ``2^62 2^-101``, and its floor up to one unit, within ``2^-38`` of whole
    numbers. At most K units of 2^62 are left and go to the first entries, one for each. So every weight is within
    ``1 + 2^-38`` of ``x + lift``.

    `table` is ``(n, width)``, and so is the result; linear in its entries. Zeros stay zero. Each row needs a positive
    entry, and `lift` times its positive entries below ``2^62``, which is not checked.
    """
    n, width = table.shape
    weights = np.zeros((n, width), dtype=np.int64)
    total = np.int64(4611686018427387904)
    for i in range(n):
        high = middle = low = 0.0
        count = 0
        for k in range(width):
            z = table[i, k]
            if z > 0.0:
                count += 1
                new = high + z
                part = new - high
                error = (high - (new - part)) + (z - part)
                high = new
                new = middle + error
                part = new - middle
                low += (middle - (new - part)) + (error - part)
                middle = new
        middle += low
        s = high + middle
        s_rest = middle - (s - high)
        free = total - lift * count
        f = float(free)
        f_rest = float(free - np.int64(f))
        # Long division: two digits of 53 bits, each remainder exact up to terms of third order.
        q = f / s
        p, e = _product(q, s)
        remainder = ((f - p) - e) + (f_rest - q * s_rest)
        q_rest = remainder / s
        left = total
        for k in range(width):
            z = table[i, k]
            if z > 0.0:
                p, e = _product(z, q)
                integer_part = np.floor(p)
                rest = (p - integer_part) + (e + z * q_rest)
                weights[i, k] = np.int64(integer_part) + np.int64(np.floor(rest)) + lift
                left -= weights[i, k]
        for k in range(width):
            if table[i, k] > 0.0 and left > 0:
                weights[i, k] += 1
                left -= 1
    return weights


@kernel
def lattice_totals(  # noqa: PLR0917 - compiled loops take arrays one by one
    secrets: NDArray[np.int64],
    lines: NDArray[np.int64],
    starts: NDArray[np.int64],
    columns: NDArray[np.int64],
    anchors: NDArray[np.int64],
    decay: NDArray[np.int64],
    reach: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Add up ``floor(anchor decay / 2^62)`` over all reports of a lattice, for each secret, a row and a column.

    ``secrets`` is ``(n, 2)``; ``columns`` and ``anchors`` are ``(K,)``, sorted by row and column: line ``t`` is row
    ``lines[t]``, its reports are ``starts[t]`` to ``starts[t + 1]``. ``decay`` holds 62-bit integers by row and column
    distance, and from ``reach[a]`` columns on nothing is left ``a`` rows away. The cost is the reports within reach.
    """
    totals = np.zeros(len(secrets), dtype=np.int64)
    for s in range(len(secrets)):
        row, column = secrets[s, 0], secrets[s, 1]
        total = np.int64(0)
        for t in range(len(lines)):
            apart = abs(lines[t] - row)
            near = decay[apart]
            first = column - reach[apart]
            # Bisection for the first report in reach.
            low, high = starts[t], starts[t + 1]
            while low < high:
                middle = (low + high) // 2
                if columns[middle] <= first:
                    low = middle + 1
                else:
                    high = middle
            last = column + reach[apart]
            for k in range(low, starts[t + 1]):
                if columns[k] >= last:
                    break
                e = near[abs(columns[k] - column)]
                e1, e0 = e >> 31, e & 2147483647
                a1, a0 = anchors[k] >> 31, anchors[k] & 2147483647
                total += e1 * a1 + ((e1 * a0 + e0 * a1 + ((e0 * a0) >> 31)) >> 31)
        totals[s] = total
    return totals


@kernel
def widest(table: NDArray[np.int32], row: int) -> NDArray[np.int32]:
    """Return ``max_k |table[other, k] - table[row, k]|`` by ``other > row``, ``(n,)``, 0 before, in ``O(n K)``."""
    n, k = table.shape
    most = np.zeros(n, dtype=np.int32)
    mine = table[row]
    for other in range(row + 1, n):
        his = table[other]
        top = np.int32(0)
        for column in range(k):
            top = max(top, abs(mine[column] - his[column]))
        most[other] = top
    return most
