"""Sixteen reports at once, as one vector: what a secret and what a constraint do in a step.

Compiled loops over 16 entries of rows of the same table ask before each constraint whether the rows overlap, which
takes as long as the work. These functions are compiled to vector instructions instead: everything is read before
anything is written, and the ends of a constraint are two rows. Operations are those of the Python below, one by one and
in its order, so that results are the same on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.core.jit import need_compiler

need_compiler()  # what is made of vector instructions has no plain form

from numba import types  # noqa: E402 - not before it is there
from numba.core import cgutils  # noqa: E402
from numba.extending import intrinsic, overload  # noqa: E402
from numba.np.arrayobj import make_array  # noqa: E402

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["move", "pull", "push"]

Value: TypeAlias = "Any"
"""What stands for arguments while code is generated: numba has no types."""

_LANES = 16
_LEAST = 1e-30
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
    G: NDArray[np.float32],
    moved: NDArray[np.float32],
    e: int,
    i: int,
    j: int,
    a: np.float32,
    sigma: np.float32,
    rest: np.float32,
    weight: np.float32,
) -> None:
    """Take a reflected step of the prices of constraint e, averaged with the anchor, and push them.

    Squares of the step are added to ``moved``.
    """
    for row, source, target in ((2 * e, i, j), (2 * e + 1, j, i)):
        old = L[row].copy()
        slope = R[target] * (a * Z[source] - Z[target])
        new = np.maximum(old + sigma * slope, np.float32(0.0))
        moved[0] += (new - old) * (new - old)
        L[row] = rest * L0[row] + weight * ((new + new) - old)
    push(G, R, L, e, i, j, a)


def move(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    X: NDArray[np.float32],
    X0: NDArray[np.float32],
    S: NDArray[np.float32],
    W: NDArray[np.float32],
    G: NDArray[np.float32],
    Z: NDArray[np.float32],
    rows: NDArray[np.float32],
    moved: NDArray[np.float32],
    i: int,
    level: np.float32,
    tau: np.float32,
    rest: np.float32,
    weight: np.float32,
) -> None:
    """Take a reflected step of the variables of secret i, averaged with the anchor, and clear its ``G``.

    ``Z`` gets the reflected point, unscaled, without what is so small that products would leave the normal floats.
    """
    old = X[i].copy()
    new = np.maximum(old - tau * (W[i] + S[i] * (G[i] - level)), np.float32(0.0))
    moved[0] += (new - old) * (new - old)
    mirrored = (new + new) - old
    ahead = S[i] * mirrored
    Z[i] = np.where(np.abs(ahead) > np.float32(_LEAST), ahead, np.float32(0.0))
    rows[i] += ahead
    X[i] = rest * X0[i] + weight * mirrored
    G[i] = 0.0


class _Build:
    """Instructions for one call, vectors of 16 floats."""

    def __init__(self, context: Value, builder: Value, kinds: Value, values: Value) -> None:
        self.b, self.kinds = builder, kinds
        self.values = values
        self.arrays = [
            _array(kind)(context, builder, value) if isinstance(kind, types.Array) else None
            for kind, value in zip(kinds, values, strict=True)
        ]
        self.zero = _ir.Constant(_VECTOR, [0.0] * _LANES)

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

    def positive(self, value: Value) -> Value:
        """Clip at zero."""
        return self.b.select(self.b.fcmp_ordered(">", value, self.zero), value, self.zero)

    def square(self, value: Value) -> Value:
        """Multiply with itself."""
        return self.b.fmul(value, value)

    def mixed(self, rest: Value, anchor: Value, weight: Value, point: Value) -> Value:
        """Average with the anchor."""
        return self.b.fadd(self.b.fmul(rest, anchor), self.b.fmul(weight, point))

    def pushed(self, G: tuple[Value, Value], a: Value, forth: Value, back: Value) -> None:
        """Add what both prices, unscaled, add to the reduced costs at two places."""
        b, (at_i, at_j) = self.b, G
        new_i = b.fadd(self.load(at_i), b.fsub(b.fmul(a, forth), back))
        new_j = b.fadd(self.load(at_j), b.fsub(b.fmul(a, back), forth))
        self.store(new_i, at_i)
        self.store(new_j, at_j)


@intrinsic
def _push(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    _typing: Value, G: Value, R: Value, L: Value, e: Value, i: Value, j: Value, a: Value
) -> Value:
    """Generate the vector code that adds the multipliers of edge e, between i and j, to their reduced costs."""
    del G, R, L, e, i, j, a
    whole = types.int64
    signature = types.void(_TABLE, _TABLE, _TABLE, whole, whole, whole, types.float32)

    def generate(context: Value, b: Value, kind: Value, values: Value) -> Value:
        do = _Build(context, b, kind.args, values)
        (_, _, _, e, i, j, _), a = values, do.spread(6)
        first, second = do.rows(e)
        forth = b.fmul(do.load(do.at(2, first)), do.load(do.at(1, j)))
        back = b.fmul(do.load(do.at(2, second)), do.load(do.at(1, i)))
        do.pushed((do.at(0, i), do.at(0, j)), a, forth, back)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def _pull(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    _typing: Value,
    Z: Value,
    R: Value,
    L: Value,
    L0: Value,
    G: Value,
    moved: Value,
    e: Value,
    i: Value,
    j: Value,
    a: Value,
    sigma: Value,
    rest: Value,
    weight: Value,
) -> Value:
    """Generate the vector code of the dual half step of edge e, between i and j, of which `push` is a part."""
    del Z, R, L, L0, G, moved, e, i, j, a, sigma, rest, weight
    whole, single = types.int64, types.float32
    signature = types.void(*[_TABLE] * 6, *[whole] * 3, *[single] * 4)

    def generate(context: Value, b: Value, kind: Value, values: Value) -> Value:
        do = _Build(context, b, kind.args, values)
        e, i, j = values[6:9]
        a, sigma, rest, weight = (do.spread(which) for which in range(9, 13))
        sums = do.at(5, _ir.Constant(_ir.IntType(64), 0))
        z_i, z_j, r_i, r_j = (do.load(do.at(t, at)) for t in (0, 1) for at in (i, j))
        total, written, unscaled = do.load(sums), [], []
        for row, source, target, r in zip(
            do.rows(e), (z_i, z_j), (z_j, z_i), (r_j, r_i), strict=True
        ):
            place = do.at(2, row)
            old, anchor = do.load(place), do.load(do.at(3, row))
            slope = b.fmul(r, b.fsub(b.fmul(a, source), target))
            new = do.positive(b.fadd(old, b.fmul(sigma, slope)))
            total = b.fadd(total, do.square(b.fsub(new, old)))
            mixed = do.mixed(rest, anchor, weight, b.fsub(b.fadd(new, new), old))
            written.append((mixed, place))
            unscaled.append(b.fmul(mixed, r))
        for value, place in (*written, (total, sums)):
            do.store(value, place)
        do.pushed((do.at(4, i), do.at(4, j)), a, *unscaled)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def _move(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    _typing: Value,
    X: Value,
    X0: Value,
    S: Value,
    W: Value,
    G: Value,
    Z: Value,
    rows: Value,
    moved: Value,
    i: Value,
    level: Value,
    tau: Value,
    rest: Value,
    weight: Value,
) -> Value:
    """Generate the vector code of the primal half step of secret i."""
    del X, X0, S, W, G, Z, rows, moved, i, level, tau, rest, weight
    signature = types.void(*[_TABLE] * 8, types.int64, *[types.float32] * 4)

    def generate(context: Value, b: Value, kind: Value, values: Value) -> Value:
        do = _Build(context, b, kind.args, values)
        level, tau, rest, weight = (do.spread(which) for which in range(9, 13))
        places = [do.at(which, values[8]) for which in range(7)]
        sums = do.at(7, _ir.Constant(_ir.IntType(64), 0))
        old, anchor, s, w, g = (do.load(place) for place in places[:5])
        row, total = do.load(places[6]), do.load(sums)
        slope = b.fadd(w, b.fmul(s, b.fsub(g, level)))
        new = do.positive(b.fsub(old, b.fmul(tau, slope)))
        total = b.fadd(total, do.square(b.fsub(new, old)))
        mirrored = b.fsub(b.fadd(new, new), old)
        ahead = b.fmul(s, mirrored)
        above = b.fcmp_ordered(">", ahead, _ir.Constant(_VECTOR, [_LEAST] * _LANES))
        below = b.fcmp_ordered("<", ahead, _ir.Constant(_VECTOR, [-_LEAST] * _LANES))
        kept = b.select(b.or_(above, below), ahead, do.zero)
        for value, place in (
            (do.mixed(rest, anchor, weight, mirrored), places[0]),
            (do.zero, places[4]),
            (kept, places[5]),
            (b.fadd(row, ahead), places[6]),
            (total, sums),
        ):
            do.store(value, place)
        return context.get_dummy_value()

    return signature, generate


def _compile(plain: Value, generated: Value) -> None:
    """Register the vector code that is generated for the calls of a plain function in kernels."""

    @overload(plain, inline="never")
    def choose(*given: Value) -> Value:
        del given

        def call(*given: Value) -> None:
            generated(*given)

        return call


_compile(push, _push)
_compile(pull, _pull)
_compile(move, _move)
