r"""Lower bounds from multipliers, valid for any multipliers.

Let :math:`\lambda \ge 0` be multipliers of the constraints :math:`z_{sk} \le e^{\epsilon d_{st}} z_{tk}`. Relaxing
these leaves a linear form that is minimized over one simplex for each secret:

.. math::

    L(\lambda) = \sum_i \min_k \Bigl[ p_i c_{ik} + \sum_{(i,t)} \lambda^k_{it}
                 - \sum_{(s,i)} e^{\epsilon d_{si}} \lambda^k_{si} \Bigr]
    \;\le\; \text{the loss of every private channel}.

Proposed multipliers are not trusted, nor is rounding: :func:`lower_bound` returns a number of at most
:math:`L(\lambda)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_ceil, float_ceil
from discreet.core.spaces.lengths import LENGTHS_AT_ONCE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.spaces.adjacency import Adjacency

_TWICE_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps)
"""Twice the unit roundoff; the factor of two covers the roundings of the error bound itself."""

_MAX_UNDERFLOW = float(np.finfo(np.float64).tiny)
"""Bound on the underflow error of one product."""

PRICE_SHARE = 1 - 4096 * _TWICE_UNIT_ROUNDOFF
"""Share of a price that is taken, so that rounded factors do not push a bracket below the level that it aims at."""

_MAX_FINITE_EXPONENT = math.floor(math.log(np.finfo(np.float64).max))
"""Largest integer with a finite exponential."""


@final
@dataclass(frozen=True, eq=False, init=False)
class Multipliers:
    r"""Prices of constraints :math:`z_{sk} \le e^{\epsilon d_{st}} z_{tk}`, at full epsilon.

    Parameters
    ----------
    report
        k, ``(m,)``.
    source
        s, ``(m,)``: secret with the bounded probability.
    target
        t, ``(m,)``: secret with the bounding probability, a stated neighbor of the source.
    value
        ``(m,)`` finite non-negative prices, in the unit of the loss.

    Raises
    ------
    InvalidProblemError
        For shapes that disagree, negative indices, and prices that are negative or not finite.

    Examples
    --------
    >>> Multipliers([0], [0], [1], [0.25]).value.tolist()
    [0.25]
    """

    report: NDArray[np.int32]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    value: NDArray[np.float64]

    def __init__(
        self, report: ArrayLike, source: ArrayLike, target: ArrayLike, value: ArrayLike
    ) -> None:
        prices = np.asarray(value, dtype=float)
        # Without a table of truth values; NaN is neither.
        if prices.ndim != 1 or not 0 <= prices.min(initial=0) <= prices.max(initial=0) < math.inf:
            raise InvalidProblemError(
                "value",
                "a sequence of finite non-negative prices",
                f"shape {prices.shape}, or a negative or infinite price",
            )
        object.__setattr__(self, "value", _read_only(prices, np.float64))
        for name, index in (("report", report), ("source", source), ("target", target)):
            object.__setattr__(self, name, _read_index(index, name, prices.shape))

    def __len__(self) -> int:
        """Count the constraints that have a price."""
        return len(self.value)

    @classmethod
    def empty(cls) -> Multipliers:
        """Return no prices, for which the bound is the loss without privacy."""
        return cls([], [], [], [])

    @classmethod
    def stack(cls, parts: list[Multipliers]) -> Multipliers:
        """Concatenate the prices of several parts, in their order, numbers unchanged; none for an empty list.

        Linear.
        """
        columns = zip(*(part.columns for part in (cls.empty(), *parts)), strict=True)
        return cls(*map(np.concatenate, columns))

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """Reports, sources, targets and values."""
        return self.report, self.source, self.target, self.value

    def take(self, which: NDArray[np.bool_]) -> Multipliers:
        """Return the prices marked in `which` ``(m,)``. Linear."""
        return Multipliers(*(column[which] for column in self.columns))

    def relabel(self, secrets: NDArray[np.integer]) -> Multipliers:
        """Return the prices with the secrets renumbered: secret i becomes ``secrets[i]``. Linear."""
        names = np.asarray(secrets, dtype=np.int32)
        return Multipliers(self.report, names[self.source], names[self.target], self.value)

    def scaled(self, factor: float) -> Multipliers:
        """Return all prices times a factor."""
        return Multipliers(self.report, self.source, self.target, self.value * factor)


def _read_index(index: ArrayLike, field: str, shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Read indices of a shape as read-only int32.

    Raise InvalidProblemError for others, negative ones, or 2^31 and more.
    """
    array = np.asarray(index)
    if array.shape != shape:
        raise InvalidProblemError(field, f"shape {shape}", f"shape {array.shape}")
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= 2**31):
        raise InvalidProblemError(
            field, "non-negative 32-bit indices", f"{array.dtype}, or an index out of range"
        )
    return _read_only(array, np.int32)


def _read_only(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """Return a read-only array of a type: the array itself if it is one already, else a copy. Linear."""
    if array.flags.writeable or array.dtype != dtype:
        array = array.astype(dtype)
        array.setflags(write=False)
    return array


def lower_bound(
    cost: ArrayLike, constraints: Adjacency, epsilon: Fraction, multipliers: Multipliers
) -> float:
    r"""Bound the loss of every private channel from below, by the formula of this module.

    O(n_secrets n_reports), and a bisection for each price.

    Parameters
    ----------
    cost
        ``(n_secrets, n_reports)`` finite non-negative: ``p_i c_ik``.
    constraints
        The stated constraints. Secrets at distance 0 are merged, and their costs added.
    epsilon
        Nats per unit of distance.
    multipliers
        Any prices of stated constraints.

    Returns
    -------
    float
        A number of at most :math:`L(\lambda)`; minus infinity if a price is too high for floats.

    Raises
    ------
    InvalidProblemError
        When a multiplier belongs to no stated constraint or no report.

    Notes
    -----
    *Rounding.* ``e^(epsilon d)`` is replaced by a larger float, which lowers the bound. Each bracket is a sum of T
    floats, some of them rounded products, so that its computed value is off by at most ``(T + 2) u S`` (1 + O(T u)), u
    being ``2^-53`` and S the sum of magnitudes; ``2 (T + 4) u S`` is subtracted, with the computed S, which also covers
    this subtraction for ``T < 2^50``. The minima are added without error and the sum is rounded down once.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> pair = MetricSpace.from_matrix([[0, 1], [1, 0]], unit="km").adjacency()
    >>> price = 0.5 / (1 + 2.718281828459045)
    >>> cheapest = Multipliers([0, 1], [0, 1], [1, 0], [price, price])
    >>> bound = lower_bound([[0, 0.5], [0.5, 0]], pair, Fraction(1), cheapest)
    >>> 0 <= 1 / (1 + 2.718281828459045) - bound < 1e-12
    True
    """
    table = np.asarray(cost, dtype=float)
    return sum_of_levels(row_levels(table, constraints, epsilon, multipliers))


def row_levels(
    table: NDArray[np.float64], constraints: Adjacency, epsilon: Fraction, multipliers: Multipliers
) -> NDArray[np.float64]:
    """Bound each row's least bracket from below; the sum of these is the bound of :func:`lower_bound`.

    Linear in the table, and a bisection for each price. InvalidProblemError for a price of an unconstrained pair or
    of no report.

    Parameters
    ----------
    table
        ``(n_secrets, n_reports)`` finite non-negative: ``p_i c_ik`` of some reports or of all.
    constraints, epsilon, multipliers
        As in :func:`lower_bound`, reports numbered as columns of `table`.

    Returns
    -------
    ndarray
        One number for each class of secrets at distance 0, or for each secret if there are no duplicates. Infinite or
        NaN if a price is too high for floats.
    """
    from discreet.metricdp.kernels.brackets import add_prices

    with np.errstate(over="ignore", invalid="ignore"):
        base, sizes, classes = _merge_duplicates(table, constraints)
        n, n_reports = base.shape
        places, growth = _growth(constraints, multipliers, epsilon, n_reports)
        columns = multipliers.report, multipliers.source, multipliers.target, multipliers.value
        levels, step = np.full(n, np.inf), max(1, LENGTHS_AT_ONCE // n)
        for first in range(0, n_reports, step):
            shape = min(step, n_reports - first), n
            earned, spent, terms = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int32)
            add_prices(*columns, places, first, growth, classes, earned, spent, terms)
            costs = base[:, first : first + step].T
            bracket = costs + (earned - spent)
            magnitude = costs + (earned + spent)
            count = terms + sizes
            error = (count + 4) * (_TWICE_UNIT_ROUNDOFF * magnitude) + count * _MAX_UNDERFLOW
            np.minimum(levels, (bracket - error).min(axis=0), out=levels)
    return levels


def sum_of_levels(levels: NDArray[np.float64]) -> float:
    """Add up lower bounds ``(n,)`` of rows, rounded down; minus infinity if one is not finite or too large. Linear."""
    # Half of the largest float, divided by the number of terms: no sum of them overflows.
    most = np.finfo(np.float64).max / (2 * len(levels))
    if not np.isfinite(levels).all() or float(np.abs(levels).max()) > most:
        return -math.inf
    return math.nextafter(math.fsum(levels), -math.inf)


def exp_up(lengths: NDArray[np.int64], rate: Fraction, *, bits: int = 8) -> NDArray[np.float64]:
    """Bound ``e^(rate * length)`` from above by floats, within one part in ``10^14``; infinite beyond the floats.

    `lengths` must not be negative, which is not checked; `rate` may be. The result has their shape. Integers bracket
    the exponential of each chunk of `bits` bits; the product of chunks is rounded to nearest by IEEE arithmetic, at
    most once for each, and raised by more than that. No libm is trusted. A sort for each chunk, and ``2^bits``
    exponentials at most.
    """
    result = np.ones(lengths.shape)
    mask = (1 << bits) - 1
    largest = int(lengths.max(initial=0))
    shifts = range(0, max(1, largest.bit_length()), bits)
    # Overflow is intended: an infinite factor is an upper bound.
    with np.errstate(over="ignore"):
        for shift in shifts:
            chunk, place = np.unique((lengths >> shift) & mask, return_inverse=True)
            powers = [_exp_up(rate * (value << shift)) for value in chunk.tolist()]
            result *= np.array(powers)[place.reshape(lengths.shape)]
        return result * (1.0 + (len(shifts) + 1) * _TWICE_UNIT_ROUNDOFF)


# A design evaluates its bound many times with the same lengths, which are public.
@lru_cache(maxsize=1 << 15)
def _exp_up(x: Fraction) -> float:
    """Return ``e^x`` rounded up to a float, infinite beyond the largest."""
    if x > _MAX_FINITE_EXPONENT:
        return math.inf
    return float_ceil(Fraction(exp_ceil(x, 64), 1 << 64))


def _growth(
    constraints: Adjacency, multipliers: Multipliers, epsilon: Fraction, n_reports: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the constraint of each price ``(prices,)``, and ``e^(epsilon d)`` of priced constraints ``(m,)``.

    A price of an unconstrained pair or of no report is refused. `epsilon` is exact, per unit; 0 stands for the growth
    of other constraints. An exponential for each different length that is priced, and a bisection for each price.
    """
    reports, source, target, _ = multipliers.columns
    places = np.empty(len(multipliers), dtype=np.int32)
    for first in range(0, len(places), LENGTHS_AT_ONCE):
        some = slice(first, first + LENGTHS_AT_ONCE)
        beyond = np.maximum(source[some], target[some]) >= constraints.n
        places[some] = np.where(beyond, -1, constraints.find(source[some], target[some]))
    invalid = np.flatnonzero((places < 0) | (reports >= n_reports))
    if len(invalid):
        report, s, t = (int(column[invalid[0]]) for column in (reports, source, target))
        if report >= n_reports:
            raise InvalidProblemError("multipliers", f"reports below {n_reports}", report)
        raise InvalidProblemError(
            "multipliers",
            "stated constraints",
            f"the pair {min(s, t)}, {max(s, t)}, which is not constrained",
        )
    # At distance 0 both terms of a price are in the same row and cancel.
    used = np.zeros(len(constraints), dtype=bool)
    used[places] = True
    used &= constraints.lengths > 0
    growth = np.zeros(len(constraints))
    growth[used] = exp_up(constraints.lengths[used], epsilon / (1 << constraints.scale_bits))
    return places, growth


def _merge_duplicates(
    table: NDArray[np.float64], constraints: Adjacency
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Merge secrets at distance 0: add up their rows of `table` ``(n, reports)``.

    Return costs, sizes and labels of classes. Costs are ``(classes, reports)``, sizes ``(classes,)``, labels
    ``(n,)``. Linear in the table and the constraints.
    """
    same_place = constraints.subgraph(np.flatnonzero(constraints.lengths == 0))
    labels = same_place.components.astype(int)
    sizes = np.bincount(labels)
    if len(sizes) == len(labels):
        return table, sizes, labels
    sums = np.zeros((len(sizes), table.shape[1]))
    np.add.at(sums, labels, table)
    return sums, sizes, labels


def route_demands(
    demands: NDArray[np.float64],
    roots: NDArray[np.int64],
    distances: NDArray[np.int64],
    constraints: Adjacency,
    epsilon: Fraction,
    *,
    max_nats: float = 45.0,
) -> Multipliers:
    r"""Convert demands on the entries of columns to prices of stated constraints, along shortest paths.

    A demand r on entry (i, k) lowers its bracket by r and raises that of the column's root: with
    :math:`z_{kk} \le e^{\epsilon D_{ki}} z_{ik}` priced :math:`r e^{-\epsilon D_{ki}}`, the root's bracket rises by
    r. Where (k, i) is no stated constraint, each constraint of a shortest path from k to i gets the price that
    cancels at the secrets between, so that no exponential larger than that of one constraint is ever formed.

    Parameters
    ----------
    demands
        r, ``(n_secrets, n_reports)`` non-negative.
    roots
        ``(n_reports,)``: root of each column, the secret with the raised bracket; -1 for columns without demands.
    distances
        ``(n_secrets, n_secrets)``: lengths of shortest paths of constraints, -1 where there is none.
    constraints
        The stated constraints, no two secrets at distance 0.
    epsilon
        Nats per unit of distance.
    max_nats
        Nats from the root beyond which a demand is left out: at 45 it would raise the root by one part in ``10^19``.

    Returns
    -------
    Multipliers
        Prices of stated constraints.

    Complexity
    ----------
    O(n_reports n_secrets log n_secrets), and O(n_reports) for each constraint where some pairs are no constraints.
    """
    columns = np.flatnonzero(roots >= 0)
    D = distances[:, roots[columns]]
    rate = float(epsilon) * 2.0**-constraints.scale_bits
    near = (D > 0) & (rate * D <= max_nats)
    parent, step = _parents(roots[columns], D, near, constraints)
    flow = np.where(near, demands[:, columns] * PRICE_SHARE, 0.0)
    price = np.zeros_like(flow)
    each = np.arange(len(columns))
    order = np.argsort(np.where(near, -D, 1), axis=0, kind="stable")
    for i in order[: int(near.sum(axis=0).max(initial=0))]:
        # Farthest first: the flow from all secrets behind one is complete when it is processed.
        forwarded = np.where(near[i, each], flow[i, each] * np.exp(-rate * step[i, each]), 0.0)
        price[i, each] = forwarded
        flow[parent[i, each], each] += forwarded
    target, column = np.nonzero(price)
    return Multipliers(columns[column], parent[target, column], target, price[target, column])


def _parents(
    home: NDArray[np.int64], D: NDArray[np.int64], near: NDArray[np.bool_], constraints: Adjacency
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the last constraint of a shortest path from each home to each near secret: its first end, and its length.

    `home` is ``(reports,)``; `D`, the lengths of paths in stored units, the mask `near` and both results are ``(n,
    reports)``; entries that are not near mean nothing. A pass over the reports for each constraint at most.
    """
    n = constraints.n
    direct = np.full((n, n), -1, dtype=int)
    i, j = constraints.pairs.T
    direct[i, j] = direct[j, i] = constraints.lengths
    parent = np.repeat(home[None, :], n, axis=0)
    step = np.where(near, direct[:, home], 0)
    missing = near & (step != D)
    incomplete = missing.any(axis=1)
    if not incomplete.any():
        return parent, step
    ends = np.concatenate([constraints.pairs, constraints.pairs[:, ::-1]])
    lengths = np.tile(constraints.lengths, 2)
    use = incomplete[ends[:, 1]]
    for (a, b), length in zip(ends[use].tolist(), lengths[use].tolist(), strict=True):
        on_path = missing[b] & (D[a] + length == D[b])
        if on_path.any():
            parent[b, on_path], step[b, on_path] = a, length
            missing[b] &= ~on_path
    return parent, step
