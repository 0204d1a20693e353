r"""Exact counts of broken promises between points: a judge of laws that are mixtures of rows, as on triangles.

A mechanism for every point has integer weights :math:`W_{vk}` at the vertices of a mesh of triangles. A point x with
barycentric weights :math:`w_v(x)` reports k with probability :math:`z_k(x) \propto \sum_v w_v(x) W_{vk}`. What is
promised is

.. math:: z_k(x) \le e^{\epsilon |x - y|}\, z_k(y) \qquad \text{for all points x, y and all reports k,}

and that is what is counted here: for pairs of points, not for triangles. Nothing of the design or of its verifier is
used: neither their condition nor their location of points, nor their arithmetic.

**Exact.** Points are rational. Most comparisons are decided by floats whose error is bounded: with
:math:`z_k(x) / z_k(y) = 1 + r_k`,

.. math:: r_k = \frac{\sum_v (w_v(x) - w_v(y)) W_{vk}}{\sum_v w_v(y) W_{vk}},

where the differences of weights are taken in integers before anything is rounded, so that points that are nearly equal
are told apart. A product and a sum of six, or of eighteen on a net of control points, are off by at most :math:`20 u`
of the sum of magnitudes, :math:`u = 2^{-53}`. What is not cleared with three times that error is decided in fractions:
:math:`\ln q \le \sqrt s` for rational q and s, with as many digits as it takes. For s > 0 both sides differ, since the
exponential of an algebraic number other than 0 is transcendental.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import SeededBits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Broken",
    "Ends",
    "MixedLaws",
    "Pairs",
    "PointLaws",
    "PointPairs",
    "count_broken",
    "edge_pairs",
    "exceeds",
    "random_pairs",
]

_UNIT = 2.0**-53
_SAFE = 64.0
"""Roundings that a comparison is granted, in units of 2^-53: more than twice the 28 that it may need."""

_GRAIN = 1 << 20
"""Parts into which a side of a triangle is cut: what random points are made of."""

_CHUNK = 1 << 21
"""Entries of a table of pairs, vertices and reports at a time."""

_LARGEST_WEIGHT = 1 << 53
_LARGEST_COORDINATE = 1 << 30


Spot = tuple[Fraction, Fraction]


class Ends(NamedTuple):
    """Two points of each of some pairs, by the rows of weights that they mix.

    Parameters
    ----------
    first, second
        ``(P, n)`` numbers of rows.
    left, right
        ``(P, n)`` integers: by how much each row counts.
    unit
        ``(P, 1)``: what these sum to.
    far
        ``(P,)`` distances, in the unit of coordinates.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    left: NDArray[Any]
    right: NDArray[Any]
    unit: NDArray[Any]
    far: NDArray[np.float64]


class Pairs(Protocol):
    """Pairs of points, and how they were made."""

    @property
    def label(self) -> str:
        """How they were made."""

    def __len__(self) -> int:
        """Count them."""


Q = TypeVar("Q", bound=Pairs)
Q_contra = TypeVar("Q_contra", bound=Pairs, contravariant=True)


class MixedLaws(Protocol[Q_contra]):
    """Laws of all points, each a mixture of rows of weights."""

    @property
    def weights(self) -> NDArray[np.int64]:
        """``(V, K)`` integers with one sum a row."""

    @property
    def epsilon(self) -> Fraction:
        """Nats per unit of the coordinates."""

    def ends(self, pairs: Q_contra, some: slice) -> Ends:
        """Give which rows two points mix, by which integers, and how far apart they are."""

    def exactly(self, pairs: Q_contra, at: int) -> list[tuple[list[Fraction], Spot]]:
        """Give the laws of both points of a pair, and where they are."""


@final
@dataclass(frozen=True, eq=False)
class PointLaws:
    """Laws of all points of a mesh.

    Parameters
    ----------
    vertices
        ``(V, 2)`` integers, of magnitude below 2^30.
    triangles
        ``(T, 3)`` numbers of vertices. They need not be a sound mesh: that is what is tried.
    weights
        ``(V, K)`` integers from 0 to 2^53.
    epsilon
        Nats per unit of the coordinates.

    Raises
    ------
    InvalidProblemError
        For other shapes or numbers, or a vertex without any weight.

    Examples
    --------
    >>> corners = np.array([[0, 0], [4, 0], [0, 4], [4, 4]])
    >>> laws = PointLaws(corners, np.array([[0, 1, 2], [1, 3, 2]]), np.array([[2, 1]] * 2 + [[1, 2]] * 2), Fraction(1))
    >>> laws.law(0, (1, 1, 0))
    [Fraction(2, 3), Fraction(1, 3)]
    """

    vertices: NDArray[np.int64]
    triangles: NDArray[np.int64]
    weights: NDArray[np.int64]
    epsilon: Fraction

    def __post_init__(self) -> None:
        count = len(self.vertices)
        if self.vertices.shape != (count, 2) or np.abs(self.vertices).max() >= _LARGEST_COORDINATE:
            raise InvalidProblemError("vertices", "coordinates within 2^30", self.vertices.shape)
        corners = self.triangles
        if (
            corners.ndim != 2
            or corners.shape[1] != 3
            or not 0 <= corners.min() <= corners.max() < count
        ):
            raise InvalidProblemError("triangles", "numbers of vertices, (T, 3)", corners.shape)
        if (corners == np.roll(corners, 1, axis=1)).any():
            raise InvalidProblemError("triangles", "three vertices each", "one of them twice")
        held = self.weights
        if held.ndim != 2 or len(held) != count or held.min() < 0 or held.max() > _LARGEST_WEIGHT:
            raise InvalidProblemError("weights", "integers from 0 to 2^53, (V, K)", held.shape)
        if len(np.unique(held.sum(axis=1, dtype=object))) != 1:
            raise InvalidProblemError("weights", "rows with one sum", "others")
        if self.epsilon <= 0:
            raise InvalidProblemError("epsilon", "a positive number", self.epsilon)

    @property
    def total(self) -> int:
        """What each row sums to."""
        return sum(self.weights[0].tolist())

    def law(self, triangle: int, parts: Sequence[int]) -> list[Fraction]:
        """Give the law of a point by its integer barycentric weights, whose sum is their unit."""
        rows = [self.weights[vertex].tolist() for vertex in self.triangles[triangle]]
        unit = sum(parts) * self.total
        return [
            Fraction(sum(a * w for a, w in zip(parts, column, strict=True)), unit)
            for column in zip(*rows, strict=True)
        ]

    def point(self, triangle: int, parts: Sequence[int]) -> tuple[Fraction, Fraction]:
        """Give the coordinates of a point by its barycentric weights."""
        corners = self.vertices[self.triangles[triangle]].tolist()
        unit = sum(parts)
        x, y = (
            Fraction(sum(a * c for a, c in zip(parts, axis, strict=True)), unit)
            for axis in zip(*corners, strict=True)
        )
        return x, y

    def holding(self, x: Fraction, y: Fraction) -> list[tuple[int, tuple[int, int, int]]]:
        """Find all triangles that hold a point, edges included, with its weights there, by trying each near one."""
        low, high = self._boxes
        near = (low <= [float(x) + 1, float(y) + 1]) & (high >= [float(x) - 1, float(y) - 1])
        unit = math.lcm(x.denominator, y.denominator)
        at = (x.numerator * (unit // x.denominator), y.numerator * (unit // y.denominator))
        found = []
        for triangle in np.flatnonzero(near.all(axis=1)).tolist():
            parts = _barycentric(self.vertices[self.triangles[triangle]].tolist(), at, unit)
            if parts is not None:
                found.append((triangle, parts))
        return found

    def ends(self, pairs: PointPairs, some: slice) -> Ends:
        """Give which rows two points mix, by which integers, and how far apart they are."""
        first, second = self.triangles[pairs.first[some]], self.triangles[pairs.second[some]]
        one, two = pairs.first_parts[some], pairs.second_parts[some]
        unit_one, unit_two = one.sum(axis=1, keepdims=True), two.sum(axis=1, keepdims=True)
        # All in integers until the division: close points have weights that are large and nearly equal.
        plain = object not in {one.dtype, two.dtype}
        if plain and (unit_one == unit_two).all():
            left, right, unit = one, two, unit_one
        else:
            one, two = one.astype(object), two.astype(object)
            left, right, unit = one * unit_two, two * unit_one, unit_one * unit_two
        apart = [
            (left * self.vertices[first, axis]).sum(axis=1)
            - (right * self.vertices[second, axis]).sum(axis=1)
            for axis in (0, 1)
        ]
        whole = unit[:, 0]
        far = np.hypot(*((part / whole).astype(np.float64) for part in apart))
        return Ends(first, second, left, right, unit, far)

    def exactly(self, pairs: PointPairs, at: int) -> list[tuple[list[Fraction], Spot]]:
        """Give the laws of both points of a pair, and where they are."""
        found = []
        for triangles, parts in (
            (pairs.first, pairs.first_parts),
            (pairs.second, pairs.second_parts),
        ):
            triangle, weights = int(triangles[at]), [int(part) for part in parts[at]]
            found.append((self.law(triangle, weights), self.point(triangle, weights)))
        return found

    @cached_property
    def _boxes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        corners = self.vertices[self.triangles]
        return corners.min(axis=1), corners.max(axis=1)


def _barycentric(
    corners: Sequence[Sequence[int]], at: tuple[int, int], unit: int
) -> tuple[int, int, int] | None:
    """Give integer weights of a point ``at / unit`` in a triangle of either orientation; nothing outside it."""
    parts = []
    for first, second in ((1, 2), (2, 0), (0, 1)):
        (ax, ay), (bx, by) = corners[first], corners[second]
        parts.append((bx - ax) * (at[1] - ay * unit) - (by - ay) * (at[0] - ax * unit))
    if sum(parts) < 0:
        parts = [-part for part in parts]
    if min(parts) < 0 or sum(parts) == 0:
        return None
    shared = math.gcd(*parts)
    a, b, c = (part // shared for part in parts)
    return a, b, c


@final
@dataclass(frozen=True, eq=False)
class PointPairs:
    """Pairs of points, each by a triangle and integer weights in it.

    Parameters
    ----------
    first, second
        ``(P,)`` triangles.
    first_parts, second_parts
        ``(P, 3)`` non-negative integers, as Python's where they are large (``dtype=object``).
    label
        How they were made.
    """

    first: NDArray[np.int64]
    first_parts: NDArray[Any]
    second: NDArray[np.int64]
    second_parts: NDArray[Any]
    label: str

    def __len__(self) -> int:
        return len(self.first)


@final
@dataclass(frozen=True)
class Broken:
    """What a count found.

    Parameters
    ----------
    pairs
        Pairs of points that were compared, both ways, for all reports.
    violated
        How many of them break the promise, exactly.
    exact
        Comparisons of a pair and a report that floats could not decide.
    worst
        Largest log-ratio as a part of epsilon times the distance, to a float's digits; infinite where a report
        rules one of two points out, or where two points at one spot have two laws.
    where
        The pair that shows it, and the report, in words.
    """

    pairs: int
    violated: int
    exact: int
    worst: float
    where: str


def random_pairs(laws: PointLaws, count: int, *, seed: int = 0) -> PointPairs:
    """Draw pairs of points evenly from the region, each in a triangle chosen by its area.

    Parameters
    ----------
    laws
        Which mesh.
    count
        Number of pairs.
    seed
        The pairs are public, and can be had again.

    Returns
    -------
    PointPairs
        Of points whose weights are multiples of 2^-20.
    """
    bits = SeededBits(seed)
    corners = laws.vertices[laws.triangles].astype(np.float64)
    (one, other) = (corners[:, at] - corners[:, 0] for at in (1, 2))
    area = np.cumsum(np.abs(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]))
    drawn = bits.randranges(1 << 52, 2 * count).reshape(2, count) / 2.0**52
    chosen = np.minimum(np.searchsorted(area, drawn * area[-1], side="right"), len(area) - 1)
    sides = bits.randranges(_GRAIN + 1, 4 * count).astype(np.int64).reshape(2, count, 2)
    sides.sort(axis=2)
    parts = np.stack([sides[..., 0], sides[..., 1] - sides[..., 0], _GRAIN - sides[..., 1]], axis=2)
    return PointPairs(chosen[0], parts[0], chosen[1], parts[1], "random points")


def edge_pairs(laws: PointLaws, count: int, *, seed: int = 0) -> PointPairs:
    """Draw pairs that straddle edges: a point on a side of a triangle, against what other triangles hold near it.

    A third of the pairs are one spot in two triangles, which must have one law; a third are very close,
    down to 2^-60 of a side; a third are up to a side apart. Sides, corners and the outline come as often as triangles
    have them. All triangles that touch a spot are found by its coordinates, so that cracks, overlaps and hanging
    vertices show.

    Parameters
    ----------
    laws
        Which mesh.
    count
        Number of pairs.
    seed
        The pairs are public, and can be had again.

    Returns
    -------
    PointPairs
        With weights as Python integers.
    """
    bits = SeededBits(seed)
    ends: list[tuple[int, tuple[int, int, int], int, tuple[int, int, int]]] = []
    while len(ends) < count:
        triangle, apex = bits.randrange(len(laws.triangles)), bits.randrange(3)
        along = bits.randrange(_GRAIN + 1) if bits.randrange(8) else 0
        spot = [0, 0, 0]
        spot[(apex + 1) % 3], spot[(apex + 2) % 3] = along, _GRAIN - along
        holders = laws.holding(*laws.point(triangle, spot))
        for other, parts in holders:
            ends += [
                (triangle, _inwards(spot, grain, bits), other, _inwards(parts, grain, bits))
                for grain in (0, 60, bits.randrange(20))
            ]
    first, one, second, two = zip(*ends[:count], strict=True)
    return PointPairs(
        np.array(first, dtype=np.int64),
        np.array(one, dtype=object),
        np.array(second, dtype=np.int64),
        np.array(two, dtype=object),
        "across edges",
    )


def _inwards(parts: Sequence[int], grain: int, bits: SeededBits) -> tuple[int, int, int]:
    """Move a point towards a random point of its triangle by ``2^-grain`` of the way; 0 moves nothing."""
    a, b, c = parts
    if not grain:
        return a, b, c
    aims = [bits.randrange(1 << 10) + 1 for _ in range(3)]
    unit, whole = sum(aims), sum(parts)
    near = (1 << grain) - 1
    moved = [part * near * unit + aim * whole for part, aim in zip(parts, aims, strict=True)]
    shared = math.gcd(*moved)
    a, b, c = (part // shared for part in moved)
    return a, b, c


def count_broken(
    laws: MixedLaws[Q],
    pairs: Q,
    *,
    on_stage: Callable[[int, float], None] | None = None,
) -> Broken:
    """Count the pairs that break the promise, both ways and for all reports, exactly.

    Parameters
    ----------
    laws
        The mesh or the net, and its integers.
    pairs
        Which points.
    on_stage
        Called with how many pairs are done, and the worst so far.

    Returns
    -------
    Broken
        ``violated`` is exact: no tolerance is granted.

    Complexity
    ----------
    ``O(P K)`` floats, and fractions for what they leave open.
    """
    step = max(1, _CHUNK // (18 * laws.weights.shape[1]))
    violated = exact = 0
    worst, where = 0.0, ""
    for begin in range(0, len(pairs), step):
        some = slice(begin, begin + step)
        strength, open_ = _compare(laws, pairs, some)
        for at in np.flatnonzero(open_.any(axis=1)).tolist():
            reports = np.flatnonzero(open_[at]).tolist()
            exact += len(reports)
            broken, ratio = _decide(laws, pairs, begin + at, reports)
            violated += broken
            strength[at] = np.where(open_[at], ratio, strength[at])
        highest = strength.max(axis=1)
        at = int(highest.argmax())
        if highest[at] > worst:
            worst = float(highest[at])
            where = _words(laws, pairs, begin + at, int(strength[at].argmax()))
        if on_stage is not None:
            on_stage(min(begin + step, len(pairs)), worst)
    return Broken(len(pairs), violated, exact, worst, where)


def _compare(
    laws: MixedLaws[Q], pairs: Q, some: slice
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Give log-ratios as parts of epsilon times the distance, and which of them floats do not clear."""
    first, second, left, right, unit, far = laws.ends(pairs, some)
    same = first[:, :, None] == second[:, None, :]
    held = np.where(same, right[:, None, :], 0).sum(axis=2)
    delta = np.concatenate([left - held, np.where(same.any(axis=1), 0, -right)], axis=1)
    allowed = float(laws.epsilon) * far
    change = (delta / unit).astype(np.float64)
    rows = laws.weights[np.concatenate([first, second], axis=1)].astype(np.float64)
    moved = np.einsum("pv,pvk->pk", change, rows)
    slack = np.einsum("pv,pvk->pk", np.abs(change), rows) * (_SAFE * _UNIT)
    at_one = np.einsum("pv,pvk->pk", (left / unit).astype(np.float64), rows[:, : first.shape[1]])
    at_two = np.einsum("pv,pvk->pk", (right / unit).astype(np.float64), rows[:, first.shape[1] :])
    base = np.where(moved >= 0, at_two, at_one)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.log1p((np.abs(moved) + slack) / base)
        strength = np.log1p(np.abs(moved) / base) / allowed[:, None]
    silent = (moved == 0) & (slack == 0)
    cleared = silent | (most * (1 + _SAFE * _UNIT) <= allowed[:, None] * (1 - _SAFE * _UNIT))
    return np.where(np.isfinite(strength), strength, 0.0), ~cleared


def _decide(laws: MixedLaws[Q], pairs: Q, at: int, reports: Sequence[int]) -> tuple[bool, float]:
    """Tell in fractions whether a pair breaks the promise with some of these reports, and how strong the worst is."""
    (law, (x, y)), (other, (u, v)) = laws.exactly(pairs, at)
    squared = laws.epsilon**2 * ((x - u) ** 2 + (y - v) ** 2)
    broken, worst = False, 0.0
    for report in reports:
        low, high = sorted((law[report], other[report]))
        if low == high:
            continue
        if not low:
            return True, math.inf
        if not squared:
            return True, math.inf
        broken = broken or exceeds(high / low, squared)
        worst = max(worst, math.log1p(float(high / low - 1)) / math.sqrt(float(squared)))
    return broken, worst


def exceeds(ratio: Fraction, squared: Fraction) -> bool:
    """Tell whether the logarithm of a rational number above 1 is greater than the root of a positive one."""
    digits = 64
    while True:
        low = math.isqrt((squared.numerator << (2 * digits)) // squared.denominator)
        if low >> digits > ratio.numerator.bit_length():
            return False
        least, most = (
            _exponential(root, digits, up=up) for root, up in ((low, False), (low + 1, True))
        )
        scaled = (ratio.numerator << digits) // ratio.denominator
        if scaled > most:
            return True
        if scaled + 1 < least:
            return False
        digits *= 2


def _exponential(x: int, digits: int, *, up: bool) -> int:
    """Bound ``e^(x / 2^digits)`` from one side, in units of ``2^-digits``, by its series."""
    one = 1 << digits
    term = total = one << digits
    n = 1
    # Each term is x / n of the last; beyond n = 2x those that are left add up to no more than the last one.
    while term > one >> 1 or n * one < 2 * x:
        term = term * x // (n * one) + up
        total += term
        n += 1
    return -(-(total + term + n) // one) if up else (total // one)


def _words(laws: MixedLaws[Q], pairs: Q, at: int, report: int) -> str:
    (_, (x, y)), (_, (u, v)) = laws.exactly(pairs, at)
    far = math.hypot(float(x - u), float(y - v))
    return f"report {report}, {pairs.label}, {far:.3g} apart at ({float(x):.6g}, {float(y):.6g})"
