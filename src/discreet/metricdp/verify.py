"""The verifier of a channel of integers: the claimed privacy, loss and bound.

It shares no code with the design and relies on no result of it. Constrained pairs, exponentials and components are
computed anew from the integers of the channel, the integers of the space, and the statement of the guarantee. Floats
only decide inequalities that are far from equality, by products whose error is bounded with IEEE arithmetic alone; the
others are decided in integers.

Trusted: the guarantee rests on this code, which verifies it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.channels.channel import LIMB_BITS
from discreet.core.channels.check_ratios import (
    BoundPairs,
    implied_pairs,
    ratio_checks,
    row_sum_check,
)
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import FRACTIONAL_BITS, exp_ceil, float_ceil, float_floor
from discreet.core.options import instance_of, pairs_of
from discreet.core.outcome import Design
from discreet.core.printed import decimal_up
from discreet.core.spaces.check_distances import distance_checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.channels.channel import Channel
    from discreet.core.guarantee import MetricDP
    from discreet.core.spaces.metric import MetricSpace

_NO_PATH_LENGTH = 1 << 60
"""Length of a pair without a path: longer than any path of lengths below ``2^52`` within the library's sizes."""

_MAX_EXPONENT_IN_NATS = Fraction(2000)
"""Nats beyond which an exponential exceeds every ratio of floats and is not computed."""


def verify(
    design: Design[Any, Any],
    *,
    optimality: bool = False,
    joined: NDArray[np.integer[Any]] | None = None,
    binding: NDArray[np.integer[Any]] | None = None,
) -> Certificate:
    r"""Check a design: its channel against its guarantee, and on request its loss and its lower bound.

    Each constrained pair of secrets times its reports, in integers of 62 bits and more; with `optimality` each pair
    with multipliers times its reports in fractions.

    Parameters
    ----------
    design
        The design, from any source.
    optimality
        Whether to check the expected loss and the lower bound, too.
    joined
        ``(m, 2)``: links between components beyond the radius, as a file states them; computed by default.
    binding
        ``(m, 2)``: constrained pairs whose paths imply all others, as a file states them; by default not checked.

    Returns
    -------
    Certificate
        The checks of :class:`Claim`; with `binding` that each of these pairs is constrained, and that every
        constrained pair has a path of them that is no longer than its distance; with `optimality` also that the
        expected loss is at most ``upper``, that the multipliers price constrained pairs only, that they prove
        ``lower``, and that it is at most ``upper``.

    Raises
    ------
    InvalidProblemError
        If the channel has not one row for each secret, or the problem not one column for each report.

    Notes
    -----
    The bound is evaluated in integers: :math:`\sum_i \min_k [c_{ik} + \sum \lambda_\text{out} - \sum e^{\epsilon d}
    \lambda_\text{in}]`, with every term rounded down and secrets at distance 0 merged.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design, verify
    >>> problem = Problem(MetricSpace.grid(2, 2, cell=1.0, unit="km"), utility_loss="euclidean")
    >>> verify(design(problem, MetricDP(1, unit="km")), optimality=True).passed
    True
    """
    instance_of(design, Design, "design", "a Design")
    channel, problem, guarantee = design.channel, design.problem, design.guarantee
    joined = None if joined is None else pairs_of(joined, "joined", "secrets")
    binding = None if binding is None else pairs_of(binding, "binding", "secrets")
    if problem.cost.shape != channel.limbs.shape[1:]:
        raise InvalidProblemError(
            "design", f"a channel of shape {problem.cost.shape}", channel.limbs.shape[1:]
        )
    claim = Claim(problem.space, guarantee, joined)
    certificate, (bound, _) = claim.check(channel), claim.bound
    checks = [] if binding is None else [_check_cover(bound, binding)]
    checks += _optimality(design, bound) if optimality else []
    return Certificate((*certificate.checks, *checks))


def _check_cover(bound: BoundPairs, binding: NDArray[np.integer[Any]]) -> Check:
    """Count the constrained pairs that no path of the links covers, and the links that are not constrained.

    The returned check fails unless both are 0. `binding` ``(m, 2)`` are the links; a path covers a pair if it is no
    longer than the pair's distance. Paths are lengthened link by link, ``O(m n)`` a sweep, until nothing changes.
    """
    i, j = np.asarray(binding, dtype=np.int64).T
    links = np.zeros_like(bound.mask)
    links[i, j] = links[j, i] = True
    foreign = int((links & ~bound.mask).sum()) // 2

    def uncovered(paths: NDArray[np.int64]) -> int:
        return int((bound.mask & (paths > bound.lengths)).sum()) // 2

    return Check(
        "constrained pairs not covered",
        foreign + _fewest(uncovered, links, np.argwhere(links), bound.lengths),
        0,
        exact=True,
        detail=f"paths of {len(i)} binding links",
    )


def _fewest(
    count: Callable[[NDArray[np.int64]], int],
    links: NDArray[np.bool_],
    edges: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> int:
    """Lengthen paths of `links` ``(n, n)`` by `edges` ``(m, 2)`` until a count of paths is 0, or nothing changes.

    Return the last count. Every entry is the length of some path at any time, so that stopping early is valid.
    `lengths` are ``(n, n)`` in stored units. ``O(m n)`` a sweep.
    """
    paths = np.where(links, lengths, _NO_PATH_LENGTH)
    np.fill_diagonal(paths, 0)
    ordered = _order_edges(edges, lengths)
    while count(paths) and _shorten_paths(paths, ordered, lengths):
        ordered.reverse()
    return count(paths)


def _order_edges(edges: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[list[int]]:
    """Order edges by their distance from a peripheral secret, so that one sweep follows long paths.

    `edges` is ``(m, 2)``, `lengths` ``(n, n)`` in stored units. Returns a list of pairs. A sort. 1,000 points on
    lines took 173 sweeps in random order, and 5 in this order; November 2026.
    """
    away = lengths[lengths.sum(axis=1).argmax()]
    order = np.lexsort((away[edges[:, 1]], away[edges[:, 0]]))
    ordered: list[list[int]] = edges[order].tolist()
    return ordered


def _shorten_paths(
    paths: NDArray[np.int64], edges: list[list[int]], lengths: NDArray[np.int64]
) -> bool:
    """Replace paths, in place, by shorter ones that begin with one of the edges; return whether there were any.

    `paths` and `lengths` are ``(n, n)`` in stored units, `edges` directed pairs, taken in this order; ``O(n)`` an
    edge, and a copy of `paths`.
    """
    before = paths.copy()
    for i, j in edges:
        np.minimum(paths[i], paths[j] + lengths[i, j], out=paths[i])
    return bool((paths < before).any())


def _optimality(design: Design[Any, Any], bound: BoundPairs) -> list[Check]:
    """Return the checks of the stated loss and lower bound, both computed anew in integers.

    One check if the design states no lower bound, else four. A product for each entry of the channel, and ``O(n k)``
    and two products for each multiplier.
    """
    cost, witness = design.problem.cost, design.witness
    loss = float_ceil(_expected_loss(design.channel.limbs, cost))
    checks = [Check("expected loss", loss, design.upper, exact=True, detail="summed in integers")]
    if design.lower is None:
        return checks
    proven, misplaced = _lower_bound(cost, bound, design.guarantee.epsilon, witness)
    count = f"{0 if witness is None else len(witness.value)} multipliers"
    return [
        *checks,
        Check("multipliers of unconstrained pairs", misplaced, 0, exact=True, detail=count),
        Check("lower bound", design.lower, proven, exact=True, detail="at most what they prove"),
        Check("lower bound above the loss", design.lower, design.upper, exact=True),
    ]


@final
@dataclass(frozen=True, eq=False)
class Claim:
    """A guarantee on a space, against which channels are checked, exactly.

    Checks of space and guarantee alone, such as the epsilon for all pairs, run once: for 1,000 random points they take
    as long as those of a channel.

    Parameters
    ----------
    space
        At most 5120 secrets.
    guarantee
        The claim, with its scope if it has one.
    joined
        ``(m, 2)``: links between components beyond the radius; computed by default if the scope states links.

    Guarantee
    ---------
    The class gives none; it checks one. A passed certificate proves ``W_ik <= e^(epsilon d_ij) W_jk`` for all
    constrained pairs, in both directions, and all reports, with d the stored distances.

    Notes
    -----
    Rows sum to the total. No zero stands beside a positive weight. No inequality is violated: every pair whose stored
    distance is at most ``floor(radius 2^s)`` counts, and every link. A pair may be left out when two strictly shorter
    constrained pairs over a third secret add up to no more than its length, since these imply it. Stored distances are
    symmetric, and do not exceed the true ones: in integers for Euclidean, Manhattan and grid distances, up to ``1e-10``
    of the extent for great circles and angles. The scope names this space, its groups, its isolated secrets, the number
    of links, and an epsilon for all pairs that shortest paths support.
    """

    space: MetricSpace
    guarantee: MetricDP
    joined: NDArray[np.integer[Any]] | None = None

    def check(self, channel: Channel) -> Certificate:
        """Check a channel against this guarantee: a certificate, passed or not.

        ``O(pairs n_reports)``: 125,000 pairs of 500 secrets and 500 reports take about a second. The first call checks
        the space, too. InvalidProblemError if the channel has not one row for each secret.
        """
        if channel.limbs.shape[1] != self.space.n:
            raise InvalidProblemError(
                "channel", f"a row for each of {self.space.n} secrets", channel.limbs.shape[1]
            )
        bound, _ = self.bound
        ratios = ratio_checks(channel, bound, self.guarantee.epsilon)
        return Certificate((row_sum_check(channel), *ratios, *self._space_checks))

    @cached_property
    def bound(self) -> tuple[BoundPairs, int]:
        """The constrained pairs, and how many links were added."""
        return _bound_pairs(self.space, self.guarantee, self.joined)

    @cached_property
    def _space_checks(self) -> tuple[Check, ...]:
        """Checks of the guarantee's statements about the space."""
        space, guarantee = self.space, self.guarantee
        checks = distance_checks(space)
        if guarantee.unit != space.unit:
            detail = f"epsilon per {guarantee.unit}, distances in {space.unit}"
            checks.append(Check("units that differ", 1, 0, exact=True, detail=detail))
        if guarantee.scope is not None:
            checks += _scope_checks(guarantee, space, *self.bound)
        return tuple(checks)


def _bound_pairs(
    space: MetricSpace, guarantee: MetricDP, joined: NDArray[np.integer[Any]] | None
) -> tuple[BoundPairs, int]:
    """Return the constrained pairs, within the radius or links, and the number of links; ``O(n^2)``.

    `joined` ``(m, 2)`` are the links; by default they are computed if the guarantee's scope states some.
    """
    lengths, radius, scope = space.distances, guarantee.radius, guarantee.space_scope
    mask = ~np.eye(space.n, dtype=bool)
    if radius is not None:
        mask &= lengths <= min(math.floor(radius * 2**space.scale_bits), 2**62)
    if joined is None and scope is not None and scope.joined:
        joined = space.adjacency(radius).join(space)[1]
    count_within_radius = int(mask.sum())
    if joined is not None:
        i, j = np.asarray(joined, dtype=np.int64).reshape(-1, 2).T
        mask[i, j] = mask[j, i] = True
    return BoundPairs(mask, lengths, space.scale_bits), (int(mask.sum()) - count_within_radius) // 2


def _groups(near: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Label the connected components of `near` ``(n, n)`` by breadth-first search: ``(n,)`` from 0.

    ``O(n^2)``.
    """
    labels = np.full(len(near), -1)
    while labels.min() < 0:
        front, label = np.arange(len(near)) == labels.argmin(), labels.max() + 1
        while front.any():
            labels[front] = label
            front = near[front].any(axis=0) & (labels < 0)
    return labels


def _scope_checks(
    guarantee: MetricDP, space: MetricSpace, bound: BoundPairs, links: int
) -> list[Check]:
    """Return the checks of the scope's statements: space, components, isolated secrets, links, all-pairs epsilon.

    `links` is the number that was found. A scope about points gives one check, which fails. ``O(n^2)``, and shortest
    paths if an epsilon for all pairs is stated.
    """
    scope = guarantee.space_scope
    if scope is None:
        return [Check("another space than stated", 1, 0, exact=True, detail="points of a region")]
    groups = int(_groups(bound.mask).max()) + 1
    isolated = set(np.flatnonzero(~bound.mask.any(axis=1)).tolist()) if groups > 1 else set()
    differing = (scope.space != space.digest) + (scope.n_secrets != space.n)
    # A secret that is stated twice would be counted twice in the guarantee's sentence.
    misstated = len(isolated ^ set(scope.isolated)) + len(scope.isolated) - len(set(scope.isolated))
    stated = scope.all_pairs_epsilon
    uncovered = (
        0 if stated is None else _count_uncovered_pairs(stated / guarantee.epsilon, bound, groups)
    )
    counts = (
        ("another space than stated", differing, "digest and number of secrets"),
        ("components not stated", abs(groups - scope.components), f"{groups} found"),
        ("isolated secrets not stated", misstated, f"{len(isolated)} found"),
        ("links not stated", abs(links - scope.joined), f"{links} found"),
        (
            "pairs beyond the all-pairs epsilon",
            uncovered,
            "none is stated" if stated is None else f"{decimal_up(stated)} is stated",
        ),
    )
    return [Check(name, number, 0, exact=True, detail=detail) for name, number, detail in counts]


def _count_uncovered_pairs(factor: Fraction, bound: BoundPairs, groups: int) -> int:
    """Count pairs without a path of constrained pairs of at most ``factor`` times their distance.

    Each pair counts once. `groups` is the number of components; with several no sweep is made. ``O(n)`` for each
    constrained pair and sweep.
    """
    lengths = bound.lengths
    if factor >= 1 and bound.mask.sum() == len(lengths) * (len(lengths) - 1):
        return 0
    edges = (
        np.argwhere(bound.mask & ~implied_pairs(bound)) if groups == 1 else np.zeros((0, 2), int)
    )

    def longer(paths: NDArray[np.int64]) -> int:
        return _count_longer_paths(paths, lengths, factor)

    return _fewest(longer, bound.mask, edges, lengths) // 2


def _count_longer_paths(
    paths: NDArray[np.int64], lengths: NDArray[np.int64], factor: Fraction
) -> int:
    """Count paths longer than ``factor`` times the distance: in floats if beyond their error, else in integers.

    `paths` and `lengths` are ``(n, n)``, in stored units; both directions of a pair count, and so does a pair without
    a path. ``O(n^2)``.
    """
    # No path exceeds this factor, and the factor of a file may exceed the floats.
    factor = min(factor, Fraction(1 << 64))
    close = paths > lengths * (float(factor) * (1 - 2.0**-50))
    if factor >= 1:
        close &= paths > lengths
    # Pairs without a path count as longer.
    longer = (paths > lengths * (float(factor) * (1 + 2.0**-50))) | (paths >= _NO_PATH_LENGTH >> 1)
    close &= ~longer
    undecided = zip(paths[close].tolist(), lengths[close].tolist(), strict=True)
    top, bottom = factor.numerator, factor.denominator
    exceeding: int = sum(path * bottom > length * top for path, length in undecided)
    return int(longer.sum()) + exceeding


def _expected_loss(limbs: NDArray[np.uint64], cost: NDArray[np.float64]) -> Fraction:
    """Return the sum of cost times probability, exact: floats of equal exponent are integers over one power of two.

    `limbs` is ``(n_limbs, n, k)``, `cost` ``(n, k)`` with the prior. One product of integers for each limb and entry.
    """
    mantissas, exponents = np.frexp(cost)
    mantissa_integers, total = (mantissas * 2.0**53).astype(np.int64), Fraction(0)
    for exponent in np.unique(exponents).tolist():
        at = exponents == exponent
        products = 0
        for limb in limbs:
            terms = zip(mantissa_integers[at].tolist(), limb[at].tolist(), strict=True)
            products = (products << LIMB_BITS) + sum(w * c for w, c in terms)
        total += products * Fraction(2) ** (exponent - 53)
    return total / (1 << (LIMB_BITS * len(limbs)))


def _round_down(values: NDArray[np.float64], bits: int) -> list[int]:
    """Round floats ``(m,)``, not negative, down to whole numbers of ``2^-bits``, exactly: a list of Python integers."""
    mantissas, exponents = np.frexp(values)
    integers, shifts = (
        (mantissas * 2.0**53).astype(np.int64).tolist(),
        (exponents + (bits - 53)).tolist(),
    )
    return [m << s if s >= 0 else m >> -s for m, s in zip(integers, shifts, strict=True)]


def _lower_bound(
    cost: NDArray[np.float64],
    bound: BoundPairs,
    epsilon: Fraction,
    witness: Any,  # noqa: ANN401 - multipliers belong to a module that a verifier does not import
) -> tuple[float, int]:
    """Return the bound of the multipliers, rounded down, and the number of multipliers without a constraint.

    `cost` is ``(n, k)`` with the prior; `witness` has the multipliers, ``None`` for none. Integers of 160 bits and
    more: ``O(n k)``, and two for each multiplier.
    """
    bits = 160 - int(np.frexp(cost.max())[1])
    labels = _groups(bound.mask & (bound.lengths == 0)).tolist()
    rows = [[0] * cost.shape[1] for _ in range(max(labels) + 1)]
    for label, values in zip(labels, cost, strict=True):
        units = _round_down(values, bits)
        rows[label] = [a + b for a, b in zip(rows[label], units, strict=True)]
    misplaced = 0
    if witness is not None:
        valid = (witness.report < cost.shape[1]) & (witness.report >= 0)
        for secret in (witness.source, witness.target):
            valid &= (secret >= 0) & (secret < len(labels))
        valid &= np.isfinite(witness.value) & (witness.value >= 0)
        source, target = np.where(valid, witness.source, 0), np.where(valid, witness.target, 0)
        valid &= bound.mask[source, target]
        misplaced = int((~valid).sum())
        lengths = bound.lengths[source, target]
        columns = (witness.report, source, target, lengths)
        values = witness.value[valid]
        prices = zip(values.tolist(), _round_down(values, bits), strict=True)
        growth: dict[int, int] = {}
        far: dict[int, bool] = {}
        for (value, price), k, s, t, length in zip(
            prices, *(c[valid].tolist() for c in columns), strict=True
        ):
            if length not in growth:
                x = epsilon * Fraction(length, 2**bound.scale_bits)
                growth[length] = exp_ceil(min(x, _MAX_EXPONENT_IN_NATS), FRACTIONAL_BITS)
                far[length] = x > _MAX_EXPONENT_IN_NATS
            if value and far[length]:
                # The subtracted term exceeds the floats; no useful multiplier is so large.
                misplaced += 1
                continue
            # A price rounded down is a valid price; only its negative term is rounded away from zero.
            rows[labels[s]][k] += price
            rows[labels[t]][k] += -price * growth[length] >> FRACTIONAL_BITS
    # The loss is at least 0.
    proven = max(Fraction(0), Fraction(sum(min(row) for row in rows)) / Fraction(2) ** bits)
    return float_floor(proven), misplaced
