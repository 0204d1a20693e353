"""Design: run the methods in order of cost and verify each result, until the proven gap is small enough."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.calls import explained
from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.guarantee import MetricDP, PointScope, Scope
from discreet.core.jit import clock
from discreet.core.options import callback, positive_seconds, relative_gap, whole_number
from discreet.core.printed import estimate, missed_gap
from discreet.metricdp.methods import METHODS
from discreet.metricdp.methods.direct import LARGEST_EXPONENT, Direct, priced_edges, program_rows
from discreet.metricdp.methods.kernel import Kernel
from discreet.metricdp.methods.primal_dual import PrimalDual, can_polish, fits
from discreet.metricdp.part import Method, Part, PartLimits, WholeProblem
from discreet.metricdp.primal_dual.seeds import has_near_structure, is_dense
from discreet.metricdp.primal_dual.tiled import Tiled, tiles_pay
from discreet.metricdp.problem import Problem
from discreet.metricdp.search import Search, Trivial

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from discreet.core.progress import Progress
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.search import MetricDesign

__all__ = ["Interrupted", "design"]

_QUICK: tuple[Method, ...] = (Trivial(), Kernel())
"""What is always tried first."""

_MAX_ROWS_FOR_DIRECT = 20_000
"""Rows of a linear program that HiGHS solves within a second, whatever epsilon is."""


_MAX_ROWS_FOR_SIMPLEX, _STEEP = 600_000, 5.0
"""Rows, and nats of the median constraint, up to and from which simplex took seconds: 500 secrets, 100 reports at ten
nats a kilometer, three kinds of points, 2 to 4 s; with primal-dual steps and columns first 1, 27 and 43 s."""

_APART_FOR_SIMPLEX = 3.0
"""Nats from a secret to the nearest, in the median, from which on simplex may come before steps. Limit 12 s, 1 %, CPU
seconds with simplex first and with steps: 225 points on lines, one nat, 8.1 and .7; 225 uniform ones, two nats, 5.9 and
.3; 500 clustered ones, 100 reports, ten nats a kilometer, 3.4 to the nearest, .85 and a gap of 1.2 % after 11.8;
November 2026."""

_FOR_NEAR, _FOR_NEAR_A_ROW = 1.0, 1e-5
"""Seconds that the program of the steepest constraints may take at least, and for each row, up to half of the time: at
four nats 92,000 rows of 225 uniform points took .5 CPU seconds, 310,000 of 400 clustered ones 1.5, and 128,000 of 225
junctions had no answer after 3.7; November 2026."""

_BEYOND = 2.0
"""Nats beyond the logarithm of the gap up to which it was enough to look at constraints: 500 secrets and 100 reports on
roads at ten nats a kilometer, without those above 5, 7, 10, 14 nats, left gaps of 2.5e-4, 4.6e-5, 5.7e-6, 1.9e-7 after
0.2, 0.4, 0.7, 1.4 CPU seconds; with all 4.9 s."""

_HALF = 0.5
"""Part of the time left that simplex may take before steps: 225 points, four nats to the nearest, half a million rows,
had no channel from it after 2 s, and gaps of 39 to 96 % where it took all of them; November 2026."""

_SECONDS_A_ROW = 8e-6
"""Seconds for each row below which steps come before simplex: half a million rows take 0.8 s to build alone; 225 words,
four nats to the nearest, prior zeros, limit 2 s: a gap of 40 % with simplex first, November 2026."""

_TILES = Tiled()
"""What comes first where the state of steps on one table is too large, or too large to be polished, or where tiles hold
few of its multipliers. 5,041 random points, half a nat a kilometer: a gap of 2.0 % after 841 steps and 239 CPU
seconds; 500 random points, one nat, 1 %: 1.7 CPU seconds by tiles, 2.7 by one table; November 2026."""

_SECRETS_FOR_TILES = 1200
"""Secrets from which on steps on tiles of a sparse spanner come first where all pairs are constrained: 2,000 junctions
had a gap of 32 % after 60 s by steps on one table of a finer spanner."""

_GAP_FOR_TILES, _SECONDS_FOR_TILES = 5e-3, 2e-6
"""Least gap, and seconds for each row, at and from which tiles come before steps on one table: what a reach of nine
nats leaves out may matter for narrower gaps, and steps on one table do more about short limits."""


@final
class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a design, with what was verified by then.

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
    r"""Design the channel that loses least under metric privacy, with proven bounds.

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
        tries several, in order of cost, until the gap is reached; the design then never loses more than the
        exponential mechanism and planar Laplace noise, each with its reports renamed; nor, where a tenth of the limit
        is enough for them, than exponential tails with a hub.
    gap
        Relative gap ``(upper - lower) / upper`` to reach, in [0, 1). A difference below ``2^-40`` of the loss of the
        best constant report counts as reached.
    time_limit
        Seconds of wall-clock time for the search, compilation of kernels not counted, looked at by solvers and between
        methods. Repair and verification of the best channel are always finished and come on top, as do the channels
        that take no search where the limit is shorter than these take.
    on_progress
        Called after each method, at each checkpoint of one that improves its answer step by step, and otherwise about
        each second while steps are taken.
    executor
        Where components are solved side by side; by default one after another. Anything with ``map``.
    threads
        Threads of a solver.
    allow_unprotected
        What to do with secrets that no chain of constraints joins. ``False`` joins separate components by their
        shortest links; ``True`` leaves them apart as the papers do, and the guarantee says how many there are.
    throw
        Whether to raise when the gap was not reached.

    Returns
    -------
    Design
        A verified channel. ``lower`` and ``upper`` are for the problem with the stored integer distances, links
        included. ``witness`` holds the multipliers that prove ``lower``.

    Raises
    ------
    InvalidProblemError
        When an argument makes no sense: another unit, a gap outside [0, 1).
    LimitReachedError
        With ``throw``, when the gap was not reached; ``best`` is the best verified design.
    SolverError
        When the method that was requested does not apply to the problem, or its solver fails.
    CertificateError
        When a channel fails verification; a bug, and never returned.
    Interrupted
        On Ctrl-C, after the best channel so far was verified; a ``KeyboardInterrupt`` whose ``best`` is that design. A
        second Ctrl-C ends the verification too.

    Guarantee
    ---------
    That of the returned design: `guarantee`, bound to the space. Proved for the integers that are sampled, by
    :func:`~discreet.metricdp.verify`, whatever the methods did. Prior, loss, reports and space are assumed public.

    References
    ----------
    [Qiu24]_, Equations (4) to (7).

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> space = MetricSpace.grid(3, 3, cell=1.0, unit="km")
    >>> made = design(Problem(space, utility_loss="euclidean"), MetricDP(2, unit="km"))
    >>> made.certificate.passed, made.gap < 0.01
    (True, True)
    """
    start = clock()
    _check(problem, guarantee)
    chosen: Method | None = METHODS.resolve(method, optional=True)
    _check_limits(gap, time_limit, threads)
    callback(on_progress)
    constraints, joined = problem.space.adjacency(guarantee.radius), 0
    if not allow_unprotected:
        constraints, links = constraints.join(problem.space)
        joined = len(links)
    whole = WholeProblem(problem, constraints, guarantee.epsilon)
    bound = _bind(guarantee, problem, constraints, joined)
    limits = PartLimits(time_limit, threads, gap)
    search = Search(whole, bound, limits, on_progress, executor, start=start)
    try:
        made = (
            search.force(chosen)
            if chosen
            else search.run(_QUICK, partial(_costly, gap=gap, seconds=time_limit))
        )
    except KeyboardInterrupt:
        raise Interrupted(search.best) from None
    if throw and made.status == "limit reached":
        raise LimitReachedError(missed_gap(gap, made.lower, made.upper), made)
    return made


def _check(problem: Problem, guarantee: MetricDP) -> None:
    stated: Any = problem
    if not isinstance(stated, Problem):
        raise InvalidProblemError("problem", "a Problem", type(stated).__name__)
    claim: Any = guarantee
    if not isinstance(claim, MetricDP):
        raise InvalidProblemError("guarantee", "a MetricDP", type(claim).__name__)
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


def _check_limits(gap: float, time_limit: float | None, threads: int) -> None:
    relative_gap(gap, optional=False)
    positive_seconds(time_limit)
    whole_number(threads, "threads", "at least one thread")


def _costly(
    whole: WholeProblem, gap: float, seconds: float | None = None
) -> tuple[tuple[Method, ...], str]:
    """List the methods that may take long, in an order that was measured, and say why."""
    rows = max(program_rows(part, part.binding) for part in whole.parts)
    if rows <= _MAX_ROWS_FOR_DIRECT:
        return (Direct(), PrimalDual()), ""
    size = f"The linear program has {rows} rows"
    steep = min(
        float(np.median(part.nats(part.binding.lengths))) for part in whole.parts if part.n > 1
    )
    if steep < _STEEP or _nearest(whole) < _APART_FOR_SIMPLEX:
        return _without(whole, gap, seconds, rows)
    near = _near(whole, gap, seconds)
    if rows <= _MAX_ROWS_FOR_SIMPLEX:
        if seconds is not None and seconds < _SECONDS_A_ROW * rows:
            why = f"{size} and a limit of {estimate(seconds)} s is short for simplex: steps come first."
            return (PrimalDual(persistent=False), *near, Direct()), why
        why = f"{size}, and most constraints are {estimate(steep, 2)} nats or looser: simplex comes first."
        steps, simplex = PrimalDual(persistent=False), Direct(share=_HALF)
        # Where few constraints matter steps are next: what is left is little for them.
        return (*near, *((steps, simplex) if near else (simplex, steps)), PrimalDual()), why
    methods, why = _without(whole, gap, seconds, rows)
    if near:
        why += " Before that, the program of its steepest constraints is small."
    return (*near, *methods), why


def _nearest(whole: WholeProblem) -> float:
    """Find the least, over the parts, of the median nats from a secret to the nearest."""
    medians = []
    for part in whole.parts:
        if part.n > 1:
            nearest = np.full(part.n, np.inf)
            for side in part.binding.pairs.T:
                np.minimum.at(nearest, side, part.nats(part.binding.lengths))
            medians.append(float(np.median(nearest)))
    return min(medians)


def _near(whole: WholeProblem, gap: float, seconds: float | None) -> tuple[Method, ...]:
    """Leave out constraints that are looser than the gap can see, if that makes the program small."""
    nats = _BEYOND - math.log(max(gap, 1e-300))
    if nats >= LARGEST_EXPONENT:
        return ()
    rows = max(program_rows(part, priced_edges(part, nats)) for part in whole.parts)
    if rows > _MAX_ROWS_FOR_SIMPLEX:
        return ()
    most = max(_FOR_NEAR, _FOR_NEAR_A_ROW * rows)
    share = _HALF if seconds is None else min(_HALF, most / seconds)
    return (Direct(steepest=nats, share=share),)


def _without(
    whole: WholeProblem, gap: float, seconds: float | None, rows: int
) -> tuple[tuple[Method, ...], str]:
    """Return the methods that do not build the whole program, in the order in which they are tried, and why."""
    size = f"The linear program has {rows} rows"
    steps = PrimalDual(persistent=False)
    if any(_needs_seeds(part) for part in whole.parts):
        why = f"{size}, and no few constraints are enough: steps on some of them come first."
        return (_TILES, steps, Direct()), why
    if not all(fits(part) and can_polish(part) for part in whole.parts):
        return (_TILES, steps, Direct()), f"{size}: steps on tiles come first."
    patient = seconds is None or seconds >= _SECONDS_FOR_TILES * rows
    if patient and gap >= _GAP_FOR_TILES and all(tiles_pay(part, gap) for part in whole.parts):
        return (_TILES, steps, Direct(), PrimalDual()), f"{size}: steps on tiles come first."
    return (steps, Direct(), PrimalDual()), f"{size}: primal-dual steps come first."


def _needs_seeds(part: Part) -> bool:
    """Whether very many constraints bind, and too many would have to stand for them in one table."""
    if not is_dense(part.binding):
        return False
    return part.n >= _SECRETS_FOR_TILES or not has_near_structure(part.paths)


def _bind(guarantee: MetricDP, problem: Problem, constraints: Adjacency, joined: int) -> MetricDP:
    """State what holds on this space, for all pairs too."""
    space = problem.space
    components = int(constraints.components.max()) + 1
    isolated = tuple(constraints.isolated.tolist()) if components > 1 else ()
    stretch = Fraction(1) if guarantee.radius is None else constraints.stretch(space)
    whole = None if stretch is None else _round_up(guarantee.epsilon * stretch)
    scope = Scope(space.digest, space.n, whole, components, isolated, joined)
    return MetricDP(guarantee.epsilon, guarantee.unit, guarantee.radius, scope=scope)


def _round_up(budget: Fraction) -> Fraction:
    """Shorten a budget to twelve digits, upwards; one that is short stays what it is."""
    digits = 12 - math.floor(math.log10(budget)) - 1
    unit = Fraction(10) ** -digits
    return math.ceil(budget / unit) * unit
