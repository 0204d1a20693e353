"""Thirty-two reports at once, as one vector: what a constraint does in a step.

Compiled loops over 32 entries of rows of the same table ask before each constraint whether the rows overlap, which
takes as long as the work: 900 secrets and 9,800 edges took 24 ms a step so, 15 ms now. These two functions are compiled
to vector instructions instead: everything is read before anything is written, and the ends of a constraint are two
rows. Operations are those of the Python below, one by one and in its order, so that results are the same on every
machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["pull", "push"]

Value: TypeAlias = "Any"
"""What stands for arguments while code is generated: numba has no types."""

_LANES = 32
_ir: Value = vars(cgutils)["ir"]
_array: Value = make_array
_VECTOR = _ir.VectorType(_ir.FloatType(), _LANES)
_TABLE = types.Array(types.float32, 2, "C")


def push(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    G: NDArray[np.float32],
    R: NDArray[np.float32],
    L: NDArray[np.float32],
    e: int,
    i: int,
    j: int,
    a: np.float32,
) -> None:
    """Add to ``G`` what the prices of constraint e, between i and j, add to the reduced costs of its ends."""
    forth, back = L[2 * e] * R[j], L[2 * e + 1] * R[i]
    at_i, at_j = G[i] + (a * forth - back), G[j] + (a * back - forth)
    G[i], G[j] = at_i, at_j


def pull(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    Z: NDArray[np.float32],
    R: NDArray[np.float32],
    L: NDArray[np.float32],
    L0: NDArray[np.float32],
    moved: NDArray[np.float32],
    e: int,
    i: int,
    j: int,
    a: np.float32,
    sigma: np.float32,
    rest: np.float32,
    weight: np.float32,
) -> None:
    """Take a reflected step of the prices of constraint e, averaged with the anchor; add its squares to ``moved``."""
    for row, source, target in ((2 * e, i, j), (2 * e + 1, j, i)):
        old = L[row].copy()
        slope = R[target] * (a * Z[source] - Z[target])
        new = np.maximum(old + sigma * slope, np.float32(0.0))
        moved[0] += (new - old) * (new - old)
        L[row] = rest * L0[row] + weight * ((new + new) - old)


class _Build:
    """Instructions for one call, vectors of 32 floats."""

    def __init__(self, context: Value, builder: Value, kinds: Value, values: Value) -> None:
        self.b, self.kinds = builder, kinds
        self.values = values
        self.arrays = [
            _array(kind)(context, builder, value) if isinstance(kind, types.Array) else None
            for kind, value in zip(kinds, values, strict=True)
        ]

    def at(self, which: int, row: Value) -> Value:
        """Point at a row of a table."""
        start = self.b.mul(row, _ir.Constant(_ir.IntType(64), _LANES))
        array: Value = self.arrays[which]
        return self.b.bitcast(self.b.gep(array.data, [start]), _VECTOR.as_pointer())

    def load(self, pointer: Value) -> Value:
        """Read a row; nothing is known of its alignment but that of a float."""
        read = self.b.load(pointer)
        read.align = 4
        return read

    def store(self, value: Value, pointer: Value) -> None:
        """Write a row."""
        self.b.store(value, pointer).align = 4

    def spread(self, which: int) -> Value:
        """Fill a vector with a number."""
        none, first = _ir.Constant(_VECTOR, _ir.Undefined), _ir.Constant(_ir.IntType(32), 0)
        one = self.b.insert_element(none, self.values[which], first)
        zeros = _ir.Constant(_ir.VectorType(_ir.IntType(32), _LANES), [0] * _LANES)
        return self.b.shuffle_vector(one, none, zeros)

    def rows(self, e: Value) -> tuple[Value, Value]:
        """Number the prices of both directions of a constraint."""
        forth = self.b.mul(e, _ir.Constant(_ir.IntType(64), 2))
        return forth, self.b.add(forth, _ir.Constant(_ir.IntType(64), 1))


@intrinsic
def _push(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    _typing: Value, G: Value, R: Value, L: Value, e: Value, i: Value, j: Value, a: Value
) -> Value:
    del G, R, L, e, i, j, a
    whole = types.int64
    signature = types.void(_TABLE, _TABLE, _TABLE, whole, whole, whole, types.float32)

    def generate(context: Value, b: Value, kind: Value, values: Value) -> Value:
        do = _Build(context, b, kind.args, values)
        (_, _, _, e, i, j, _), a = values, do.spread(6)
        first, second = do.rows(e)
        at_i, at_j = do.at(0, i), do.at(0, j)
        forth = b.fmul(do.load(do.at(2, first)), do.load(do.at(1, j)))
        back = b.fmul(do.load(do.at(2, second)), do.load(do.at(1, i)))
        new_i = b.fadd(do.load(at_i), b.fsub(b.fmul(a, forth), back))
        new_j = b.fadd(do.load(at_j), b.fsub(b.fmul(a, back), forth))
        do.store(new_i, at_i)
        do.store(new_j, at_j)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def _pull(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    _typing: Value,
    Z: Value,
    R: Value,
    L: Value,
    L0: Value,
    moved: Value,
    e: Value,
    i: Value,
    j: Value,
    a: Value,
    sigma: Value,
    rest: Value,
    weight: Value,
) -> Value:
    del Z, R, L, L0, moved, e, i, j, a, sigma, rest, weight
    whole, single = types.int64, types.float32
    tables, numbers = [_TABLE] * 5, [whole] * 3 + [single] * 4
    signature = types.void(*tables, *numbers)

    def generate(context: Value, b: Value, kind: Value, values: Value) -> Value:
        do = _Build(context, b, kind.args, values)
        e, i, j = values[5:8]
        a, sigma, rest, weight = (do.spread(which) for which in range(8, 12))
        zero = _ir.Constant(_VECTOR, [0.0] * _LANES)
        sums = do.at(4, _ir.Constant(_ir.IntType(64), 0))
        z_i, z_j, r_i, r_j = (do.load(do.at(t, at)) for t in (0, 1) for at in (i, j))
        total, written = do.load(sums), []
        for row, source, target, r in zip(
            do.rows(e), (z_i, z_j), (z_j, z_i), (r_j, r_i), strict=True
        ):
            place = do.at(2, row)
            old, anchor = do.load(place), do.load(do.at(3, row))
            slope = b.fmul(r, b.fsub(b.fmul(a, source), target))
            new = b.fadd(old, b.fmul(sigma, slope))
            new = b.select(b.fcmp_ordered(">", new, zero), new, zero)
            change = b.fsub(new, old)
            total = b.fadd(total, b.fmul(change, change))
            reflected = b.fsub(b.fadd(new, new), old)
            mixed = b.fadd(b.fmul(rest, anchor), b.fmul(weight, reflected))
            written.append((mixed, place))
        for value, place in (*written, (total, sums)):
            do.store(value, place)
        return context.get_dummy_value()

    return signature, generate


_pushed: Value = _push
_pulled: Value = _pull


@overload(push, inline="never")
def _compiled_push(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    G: Value, R: Value, L: Value, e: Value, i: Value, j: Value, a: Value
) -> Value:
    del G, R, L, e, i, j, a

    def call(  # noqa: PLR0917 - a compiled function takes its arrays one by one
        G: Value, R: Value, L: Value, e: Value, i: Value, j: Value, a: Value
    ) -> None:
        _pushed(G, R, L, e, i, j, a)

    return call


@overload(pull, inline="never")
def _compiled_pull(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    Z: Value,
    R: Value,
    L: Value,
    L0: Value,
    moved: Value,
    e: Value,
    i: Value,
    j: Value,
    a: Value,
    sigma: Value,
    rest: Value,
    weight: Value,
) -> Value:
    del Z, R, L, L0, moved, e, i, j, a, sigma, rest, weight

    def call(  # noqa: PLR0917 - a compiled function takes its arrays one by one
        Z: Value,
        R: Value,
        L: Value,
        L0: Value,
        moved: Value,
        e: Value,
        i: Value,
        j: Value,
        a: Value,
        sigma: Value,
        rest: Value,
        weight: Value,
    ) -> None:
        _pulled(Z, R, L, L0, moved, e, i, j, a, sigma, rest, weight)

    return call
