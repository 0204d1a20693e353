"""Design: run the methods in order of cost and verify each result, until the proven gap is small enough."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.core.calls import explained
from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.guarantee import MetricDP, PointScope, Scope
from discreet.core.jit import clock
from discreet.core.options import (
    callback,
    instance_of,
    positive_seconds,
    relative_gap,
    whole_number,
)
from discreet.core.printed import missed_gap
from discreet.metricdp.methods import METHODS
from discreet.metricdp.methods.direct import Direct, program_rows
from discreet.metricdp.methods.kernel import Kernel
from discreet.metricdp.methods.primal_dual import PrimalDual
from discreet.metricdp.part import Method, PartLimits, WholeProblem
from discreet.metricdp.problem import Problem
from discreet.metricdp.search import Search, Trivial

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from discreet.core.progress import Progress
    from discreet.metricdp.search import MetricDesign

_FIRST_METHODS: tuple[Method, ...] = (Trivial(), Kernel())
"""Methods that always run first."""

MAX_ROWS_FOR_DIRECT = 20_000
"""Rows of a linear program up to which it runs before primal-dual steps: HiGHS solves it within a second."""


@final
class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a design, with the best verified design so far.

    Parameters
    ----------
    best
        The best design that passed every check, or ``None``.
    """

    def __init__(self, best: MetricDesign | None) -> None:
        super().__init__()
        self.best = best


@explained("design(problem, dc.MetricDP(1, unit='km'))")
def design(
    problem: Problem,
    guarantee: MetricDP,
    *,
    method: Method | str | None = None,
    gap: float = 0.01,
    time_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    executor: Executor | None = None,
    threads: int = 1,
    allow_unprotected: bool = False,
    throw: bool = True,
) -> MetricDesign:
    r"""Design the channel that loses least under metric privacy, with proven bounds: [Qiu24]_, Equations (4) to (7).

    .. math::

        \min_{Z \ge 0} \sum_{ik} p_i c_{ik} z_{ik} \quad\text{subject to}\quad
        z_{ik} \le e^{\epsilon d_{ij}} z_{jk} \text{ for all constrained } (i, j) \text{ and all } k,
        \qquad \sum_k z_{ik} = 1.

    Parameters
    ----------
    problem
        The problem; all of it public.
    guarantee
        Epsilon per unit of distance, the unit of the problem's space, and the radius within which pairs are
        constrained (``None`` for all pairs).
    method
        One method: an instance such as ``Direct()``, or a name of :data:`discreet.metricdp.methods.METHODS`. ``None``
        runs several, in order of cost, until the gap is reached; the design then never loses more than the
        exponential mechanism, planar Laplace noise, each with renamed reports, and exponential tails with a hub, the
        latter if a tenth of the limit is enough.
    gap
        Relative gap ``(upper - lower) / upper`` to reach, in [0, 1). A difference below ``2^-40`` of the loss of the
        best constant report counts as reached.
    time_limit
        Seconds of wall-clock time for the search without compilation, checked by solvers and between methods. Repair
        and verification of the best channel come on top, as do channels without a search if the limit is too short.
    on_progress
        Called after each method, at each checkpoint of an iterative method, and about every second.
    executor
        Executor with ``map`` that solves components in parallel; by default they run one after another.
    threads
        Threads of a solver.
    allow_unprotected
        Whether components without constraints between them stay separate, as in the papers; the guarantee then states
        their number. ``False`` joins them by their shortest links.
    throw
        Whether to raise if the gap is not reached.

    Returns
    -------
    Design
        A verified channel. ``lower`` and ``upper``, in the loss's unit, are for the stored integer distances, links
        included; ``witness`` proves ``lower``. The cost is that of the methods, and ``O(pairs K)`` for the check.

    Raises
    ------
    InvalidProblemError
        For an invalid argument, as another unit or a gap outside [0, 1).
    LimitReachedError
        With ``throw``, if the gap is not reached; ``best`` is the best verified design.
    SolverError
        If the requested method does not apply to the problem, or its solver fails.
    CertificateError
        If a channel fails verification, which is a bug; the channel is not returned.
    Interrupted
        On Ctrl-C, after verification of the best channel so far; a ``KeyboardInterrupt`` whose ``best`` is that design.
        A second Ctrl-C ends the verification, too.

    Guarantee
    ---------
    That of the returned design: `guarantee`, bound to the space. Proved for the sampled integers by
    :func:`~discreet.metricdp.verify`, independently of the methods. Prior, loss, reports and space are assumed public.

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> space = MetricSpace.grid(3, 3, cell=1.0, unit="km")
    >>> result = design(Problem(space, utility_loss="euclidean"), MetricDP(2, unit="km"))
    >>> result.certificate.passed, result.gap < 0.01
    (True, True)
    """
    start = clock()
    _check_claim(problem, guarantee)
    forced: Method | None = METHODS.resolve(method, optional=True)
    relative_gap(gap, optional=False)
    positive_seconds(time_limit)
    whole_number(threads, "threads", "at least one thread")
    callback(on_progress)
    limits = PartLimits(time_limit, threads, gap)
    whole_problem, bound = _constrain(problem, guarantee, allow_unprotected=allow_unprotected)
    search = Search(whole_problem, bound, limits, on_progress, executor, start=start)
    try:
        result = search.force(forced) if forced else search.run(_FIRST_METHODS, _costly_methods)
    except KeyboardInterrupt:
        raise Interrupted(search.best) from None
    if throw and result.status == "limit reached":
        raise LimitReachedError(missed_gap(gap, result.lower, result.upper), result)
    return result


def _check_claim(problem: Problem, guarantee: MetricDP) -> None:
    """Raise InvalidProblemError for another type, unit or scope than a design on this problem may have.

    A scope must be about secrets, and name the digest of the problem's space; none at all is allowed.
    """
    instance_of(problem, Problem, "problem", "a Problem")
    instance_of(guarantee, MetricDP, "guarantee", "a MetricDP")
    if guarantee.unit != problem.space.unit:
        raise InvalidProblemError(
            "guarantee", f"epsilon per {problem.space.unit}", f"per {guarantee.unit}"
        )
    if isinstance(guarantee.scope, PointScope):
        raise InvalidProblemError("guarantee", "one about secrets", "one about points")
    if guarantee.scope is not None and guarantee.scope.space != problem.space.digest:
        raise InvalidProblemError(
            "guarantee",
            f"one bound to no space, or to that of the problem ({problem.space.digest[:16]})",
            f"one bound to the space {guarantee.scope.space[:16]}",
        )


def _constrain(
    problem: Problem, guarantee: MetricDP, *, allow_unprotected: bool
) -> tuple[WholeProblem, MetricDP]:
    """Return the problem with its constraints, links included, and the guarantee bound to its space.

    Pairs within the guarantee's radius are constrained. Unless `allow_unprotected` is set, components are joined by
    their shortest links, which are constraints too. The guarantee has components, links, and the epsilon for all pairs,
    rounded up to twelve digits, ``None`` if constraints do not connect all secrets. ``O(n^2)``, and all shortest paths
    for a radius.
    """
    space, joined = problem.space, 0
    constraints = space.adjacency(guarantee.radius)
    if not allow_unprotected:
        constraints, links = constraints.join(space)
        joined = len(links)
    components = int(constraints.components.max()) + 1
    isolated = tuple(constraints.isolated.tolist()) if components > 1 else ()
    stretch = Fraction(1) if guarantee.radius is None else constraints.stretch(space)
    all_pairs_epsilon = None if stretch is None else _round_up(guarantee.epsilon * stretch)
    scope = Scope(space.digest, space.n, all_pairs_epsilon, components, isolated, joined)
    bound = MetricDP(guarantee.epsilon, guarantee.unit, guarantee.radius, scope=scope)
    return WholeProblem(problem, constraints, guarantee.epsilon), bound


def _costly_methods(whole: WholeProblem) -> tuple[tuple[Method, ...], str]:
    """Return the methods that may take long, in the order in which they run, and the reason for the order.

    The reason is a sentence for the trace, ``""`` if the linear program of the largest part is small enough to be
    solved first. Computes the constraints that no others imply, up to ``O(n^3)``.
    """
    rows = max(program_rows(part, part.binding) for part in whole.parts)
    if rows <= MAX_ROWS_FOR_DIRECT:
        return (Direct(), PrimalDual()), ""
    return (
        (PrimalDual(), Direct()),
        f"The linear program has {rows} rows: primal-dual steps come first.",
    )


def _round_up(budget: Fraction) -> Fraction:
    """Round a positive budget up to twelve significant digits, exactly; zero raises ValueError."""
    digits = 12 - math.floor(math.log10(budget)) - 1
    unit = Fraction(10) ** -digits
    return math.ceil(budget / unit) * unit
