"""What follows from guarantees: sums (``compose``), the partial order (``implies``), the zCDP conversion.

k-anonymity takes no part in composition: two k-anonymous tables of the same people can identify them all.

Trusted: the guarantee rests on this code wherever guarantees are added or compared.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import overload

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, log_above, log_below, to_fraction
from discreet.core.guarantee import (
    ApproxDP,
    DPGuarantee,
    Guarantee,
    KAnonymity,
    MetricDP,
    PointScope,
    PureDP,
    Scope,
    ZeroConcentratedDP,
)


@overload
def compose(first: PureDP, *rest: PureDP) -> PureDP: ...
@overload
def compose(first: ZeroConcentratedDP, *rest: ZeroConcentratedDP) -> ZeroConcentratedDP: ...
@overload
def compose(first: MetricDP, *rest: MetricDP) -> MetricDP: ...
@overload
def compose(first: DPGuarantee, *rest: DPGuarantee) -> DPGuarantee: ...
def compose(first: DPGuarantee | MetricDP, *rest: DPGuarantee | MetricDP) -> DPGuarantee | MetricDP:
    """Guarantee of all outputs together, when each was made with its own randomness.

    ``O(k)`` fractions for k guarantees.

    Parameters
    ----------
    first, *rest
        Guarantees of one kind; pure with approximate, and pure with zero-concentrated, may be mixed. All with
        the same neighbors; metric ones on the same space, with the same unit and radius.

    Returns
    -------
    PureDP, ApproxDP, ZeroConcentratedDP or MetricDP
        The sum of the budgets. Holds also when later mechanisms are chosen after seeing earlier outputs, as long
        as the budgets are fixed beforehand.

    Raises
    ------
    InvalidProblemError
        Where no composition theorem applies: k-anonymity, different neighbors, different spaces, a metric
        guarantee that is bound to no space, approximate with zero-concentrated.

    Notes
    -----
    Sequential composition [DR14]_, Theorem 3.16; zero-concentrated [BS16]_, Lemma 1.7, with
    ``PureDP(epsilon)`` counted as ``rho = epsilon^2 / 2``, Proposition 1.4.

    Examples
    --------
    >>> compose(PureDP(1, neighbors="replace-one"), PureDP("0.5", neighbors="replace-one")).epsilon
    Fraction(3, 2)
    """
    parts = (first, *rest)
    for part in parts:
        if not isinstance(part, PureDP | ApproxDP | ZeroConcentratedDP | MetricDP):
            raise InvalidProblemError("compose", "differential privacy", type(part).__name__)
    metric = [part for part in parts if isinstance(part, MetricDP)]
    if metric:
        return _compose_metric(metric, len(parts))
    data = [part for part in parts if not isinstance(part, MetricDP)]
    neighbors = data[0].neighbors
    if any(part.neighbors != neighbors for part in data):
        raise InvalidProblemError(
            "compose", f"neighbors {neighbors!r} throughout", "different relations"
        )
    pure = sum((part.epsilon for part in data if isinstance(part, PureDP)), Fraction(0))
    approx = [part for part in data if isinstance(part, ApproxDP)]
    concentrated = [part for part in data if isinstance(part, ZeroConcentratedDP)]
    if approx and concentrated:
        raise InvalidProblemError(
            "compose",
            "one notion: convert with to_approx_dp first",
            "approximate and zero-concentrated",
        )
    if approx:
        epsilon = pure + sum(part.epsilon for part in approx)
        return ApproxDP(epsilon, sum((part.delta for part in approx), Fraction(0)), neighbors)
    if concentrated:
        halves = sum(
            (part.epsilon**2 / 2 for part in data if isinstance(part, PureDP)), Fraction(0)
        )
        return ZeroConcentratedDP(halves + sum(part.rho for part in concentrated), neighbors)
    return PureDP(pure, neighbors)


def _compose_metric(parts: list[MetricDP], count: int) -> MetricDP:
    """Return the metric guarantee of several releases about one secret: the sum of their epsilons.

    `count` is the number of all guarantees, of which `parts` are the metric ones. The scope is that of the first,
    with the sum of the epsilons for all pairs, or ``None`` if one of them has none.

    Raises
    ------
    InvalidProblemError
        For other guarantees among the `count`, unbound ones, or other units, radii or spaces.
    """
    one = parts[0]
    if len(parts) != count:
        raise InvalidProblemError(
            "compose", "metric guarantees only", "metric and other guarantees"
        )
    if one.scope is None:
        raise InvalidProblemError(
            "compose", "guarantees bound to a space by design", "an unbound one"
        )
    for part in parts[1:]:
        if (part.unit, part.radius) != (one.unit, one.radius):
            raise InvalidProblemError(
                "compose", "one unit and radius", f"{part.unit}, radius {part.radius}"
            )
        if part.scope is None or _frame(part.scope) != _frame(one.scope):
            raise InvalidProblemError("compose", "guarantees on the same space", "different spaces")
    epsilon = sum((part.epsilon for part in parts), Fraction(0))
    s = one.scope
    if isinstance(s, PointScope):
        return MetricDP(epsilon, one.unit, scope=s)
    scopes = [part.scope for part in parts if isinstance(part.scope, Scope)]
    all_pairs = [scope.all_pairs_epsilon for scope in scopes]
    total = None if None in all_pairs else sum((e for e in all_pairs if e is not None), Fraction(0))
    scope = Scope(s.space, s.n_secrets, total, s.components, s.isolated, s.joined)
    return MetricDP(epsilon, one.unit, one.radius, scope=scope)


def _frame(scope: Scope | PointScope) -> tuple[object, ...]:
    """Return the fields on which two scopes must agree to bind the same pairs."""
    if isinstance(scope, PointScope):
        return ("points", scope.region)
    return scope.space, scope.components, scope.isolated, scope.joined


def implies(a: Guarantee, b: Guarantee) -> bool:
    """Whether everything that has guarantee `a` has guarantee `b`, by a proof that this function knows.

    Constant time. It does not raise; guarantees of kinds that are not comparable give False.

    Parameters
    ----------
    a, b
        Any two guarantees.

    Returns
    -------
    bool
        True only where it follows. False means "not shown here", never "false".

    Notes
    -----
    Pure implies approximate with any delta, and zero-concentrated with ``rho = epsilon^2/2`` ([BS16]_, Proposition
    1.4). Zero-concentrated implies approximate by :func:`to_approx_dp`. Adding or removing implies replacing at twice
    epsilon (group privacy of two), for pure guarantees. A metric guarantee bound to a space implies those with a
    smaller radius there, and a wider one at its all-pairs epsilon. Between any two points of a region, it implies the
    promise at true distances, which is bound to no space; not the one about a space of places, whose stored distances
    were rounded down. None about places implies one about points. k-anonymity implies smaller k on fewer columns.

    Examples
    --------
    >>> implies(PureDP(1, "add-remove-one"), ApproxDP(1, "1e-9", "add-remove-one"))
    True
    >>> implies(PureDP(1, "add-remove-one"), PureDP(1, "replace-one"))
    False
    """
    match a, b:
        case PureDP(), PureDP():
            return _translated(a, b.neighbors) <= b.epsilon
        case PureDP(), ApproxDP():
            return _translated(a, b.neighbors) <= b.epsilon
        case PureDP(), ZeroConcentratedDP():
            epsilon = _translated(a, b.neighbors)
            return math.isfinite(epsilon) and Fraction(epsilon) ** 2 <= 2 * b.rho
        case ApproxDP(), ApproxDP():
            return a.neighbors == b.neighbors and a.epsilon <= b.epsilon and a.delta <= b.delta
        case ZeroConcentratedDP(), ZeroConcentratedDP():
            return a.neighbors == b.neighbors and a.rho <= b.rho
        case ZeroConcentratedDP(), ApproxDP():
            return (
                a.neighbors == b.neighbors and to_approx_dp(a, delta=b.delta).epsilon <= b.epsilon
            )
        case MetricDP(), MetricDP():
            return _implies_metric(a, b)
        case KAnonymity(), KAnonymity():
            return a.k >= b.k and set(b.quasi_identifiers) <= set(a.quasi_identifiers)
        case _:
            return False


def _translated(a: PureDP, neighbors: str) -> Fraction | float:
    """Epsilon of `a` under another relation; infinite where nothing follows.

    `neighbors` is the other relation. Adding or removing gives replacing at twice epsilon; nothing else follows.
    """
    if a.neighbors == neighbors:
        return a.epsilon
    added, replaced = "add-remove-", "replace-"
    if a.neighbors.startswith(added) and neighbors == a.neighbors.replace(added, replaced):
        return 2 * a.epsilon
    return math.inf


def _implies_metric(a: MetricDP, b: MetricDP) -> bool:
    """Return whether the metric guarantee `a` implies `b`: units agree, and b's space, if it has one, is that of a.

    Then `a` needs as wide a radius and no larger epsilon, or an epsilon for all pairs that is no larger than b's; an
    epsilon for all pairs that `b` states must hold for `a` too. Scopes of points imply equal ones, or none.
    """
    if a.unit != b.unit:
        return False
    if isinstance(a.scope, PointScope) or isinstance(b.scope, PointScope):
        return b.scope in {None, a.scope} and a.epsilon <= b.epsilon
    if b.scope is not None and (a.scope is None or a.scope.space != b.scope.space):
        return False
    wide = a.radius is None or (b.radius is not None and b.radius <= a.radius)
    # A claim about the space itself, unprotected secrets included, follows only from the same claim.
    if b.scope is not None and a.scope is not None:
        claimed_epsilon, held_epsilon = b.scope.all_pairs_epsilon, a.scope.all_pairs_epsilon
        if claimed_epsilon is not None and (held_epsilon is None or held_epsilon > claimed_epsilon):
            return False
    if wide and a.epsilon <= b.epsilon:
        return True
    all_pairs_epsilon = None if a.scope is None else a.scope.all_pairs_epsilon
    return all_pairs_epsilon is not None and all_pairs_epsilon <= b.epsilon


def to_approx_dp(guarantee: ZeroConcentratedDP, *, delta: Exact) -> ApproxDP:
    """Approximate DP that zero-concentrated DP implies, by the best conversion known in closed form.

    For every order ``a > 1``, rho-zCDP implies (epsilon, delta)-DP with

        epsilon = rho a + ln(1 - 1/a) - (ln delta + ln a) / (a - 1).

    Constant time: 100 steps of a search, and three exact logarithms.

    Parameters
    ----------
    guarantee
        What holds.
    delta
        The slack in probability that is accepted.

    Returns
    -------
    ApproxDP
        With the least epsilon over a, found numerically and then *evaluated in rational arithmetic rounded up*, to a
        multiple of ``2^-40``: a valid guarantee whatever the search did.

    Raises
    ------
    InvalidProblemError
        For a delta outside (0, 1), or a guarantee that is not zero-concentrated.

    References
    ----------
    [CKS20]_, Proposition 12 and Corollary 13.

    Examples
    --------
    >>> float(to_approx_dp(ZeroConcentratedDP("0.1", "replace-one"), delta="1e-6").epsilon)  # doctest: +ELLIPSIS
    2.14193...
    """
    if not isinstance(guarantee, ZeroConcentratedDP):
        raise InvalidProblemError("guarantee", "ZeroConcentratedDP", type(guarantee).__name__)
    small = to_fraction(delta, "delta")
    if not 0 < small < 1:
        raise InvalidProblemError("delta", "a number strictly between 0 and 1", delta)
    order = _best_order(
        float(guarantee.rho), math.log(small.numerator) - math.log(small.denominator)
    )
    a = order
    # -ln(delta) and -ln(a) enter divided by a - 1 > 0, ln(1 - 1/a) enters as it is: all three rounded up.
    tail = -(log_below(small) + log_below(a)) / (a - 1)
    epsilon = guarantee.rho * a + log_above(1 - 1 / a) + tail
    grid = Fraction(1, 1 << 40)
    rounded = max(grid, math.ceil(epsilon / grid) * grid)
    return ApproxDP(rounded, small, guarantee.neighbors)


def _best_order(rho: float, log_delta: float) -> Fraction:
    """Find a nearly best order, above 1, to convert `rho` at ``ln delta``; any order above 1 gives a valid guarantee.

    100 steps of golden section.
    """

    def epsilon(t: float) -> float:
        b = math.exp(t)
        a = 1 + b
        return rho * a + math.log(b / a) - (log_delta + math.log(a)) / b

    # The best order is near 1 + sqrt(ln(1/delta) / rho); the bracket is four decades either side.
    centre = 0.5 * (math.log(max(-log_delta, 1e-300)) - math.log(max(rho, 1e-300)))
    low, high = centre - 10, centre + 10
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(100):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if epsilon(left) <= epsilon(right):
            high = right
        else:
            low = left
    best = Fraction(math.exp((low + high) / 2)).limit_denominator(1 << 40)
    return 1 + max(best, Fraction(1, 1 << 40))
