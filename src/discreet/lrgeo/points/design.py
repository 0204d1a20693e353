"""What is designed for every point: one noise for all points, or rows on a net where those are few and lose less.

Noise is made first: it takes a second, whatever the region. Where a region is some nats across, or thin, or people are
in few of its places, the best mechanism is far from a noise, and its table on a net is small: it is solved for, too.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError, unknown_name
from discreet.core.guarantee import MetricDP
from discreet.core.printed import at_least, at_most, missed_gap
from discreet.core.progress import Reporter
from discreet.core.spaces.geography import longest_geodesics
from discreet.core.spaces.lengths import TOTAL_BITS, TableLengths, closure, scale_for
from discreet.core.spaces.metric import MetricSpace
from discreet.core.verified import mark_verified
from discreet.lrgeo.candidates import bound_from_below
from discreet.lrgeo.places.space import per_unit, space_of
from discreet.lrgeo.points.layout import plane_of
from discreet.lrgeo.points.many_places import WIDER
from discreet.lrgeo.points.noise_design import NoiseDesign, design_noise
from discreet.lrgeo.points.table_design import LatticeDesign, design_table
from discreet.metricdp import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.exact import Exact
    from discreet.core.outcome import Provenance
    from discreet.core.progress import Progress
    from discreet.lrgeo.places.region import Region

POINT_METHODS = ("noise", "table")
"""The names of methods for every point."""

_SAME_PLACE = "no bound for all mechanisms: two places lie at one decimeter."


class _TableLimits(NamedTuple):
    """Limits of the table that is tried beside the noise by default."""

    weights: int = 200_000
    """Weights of a net, control points times reports. Over the noise the table had .89 for 2 x 2 places a nat apart,
    .984 for 8 x 8 at half a nat, .94 for 12 x 12 with people in few of them, .87 for 40 x 3, .85 for six clusters, and
    .999 for 20 x 20 and 431,000 weights of central Rome (2026-11)."""
    work: int = 450_000_000
    """Steps times pairs of a node and a report: some four CPU seconds."""


_TABLE_LIMITS = _TableLimits()


def design_every_point(
    region: Region,
    guarantee: MetricDP,
    problem: Problem,
    *,
    method: str | None = None,
    spacing: Exact | None = None,
    gap: float | None = None,
    time_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    threads: int = 1,
    throw: bool = True,
) -> NoiseDesign | LatticeDesign:
    """Design the mechanism that a server publishes for every point of a region; see :func:`discreet.lrgeo.design`.

    The cost is that of the noise, of the table if it is small or asked for, and of the bound if `gap` is.

    Parameters
    ----------
    region
        The places: locations of reports, and the prior.
    guarantee
        Epsilon per unit, without a radius.
    problem
        What each report costs at each place.
    method
        ``"noise"``, ``"table"``, or ``None`` for whichever loses less.
    spacing, time_limit, on_progress, threads, throw
        As of :func:`discreet.lrgeo.design`.
    gap
        To all mechanisms with these reports; with ``"table"`` to those on that net.

    Raises
    ------
    InvalidProblemError
        For another method, and as the two designs raise.
    LimitReachedError
        With ``throw``, when the gap was not reached; ``best`` is the design.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region
    >>> from discreet.metricdp import Problem
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> problem = Problem(region.space, utility_loss="distance")
    >>> made = design_every_point(region, MetricDP(2, "km"), problem)
    >>> made.published().K
    9
    """
    stated: object = method
    if stated is not None and not isinstance(stated, str):
        expected = '"noise" or "table", or none; scope="places" has others'
        raise InvalidProblemError("method", expected, type(stated).__name__)
    if stated is not None and stated not in POINT_METHODS:
        raise unknown_name("method", stated, POINT_METHODS)
    if method == "table":
        return design_table(
            region,
            guarantee,
            problem,
            spacing=spacing,
            gap=gap,
            time_limit=time_limit,
            on_progress=on_progress,
            threads=threads,
            throw=throw,
        )
    stop = math.inf if time_limit is None else time.perf_counter() + time_limit
    noise = design_noise(
        region,
        guarantee,
        problem,
        spacing=spacing,
        on_progress=on_progress,
        threads=threads,
    )
    made: NoiseDesign | LatticeDesign = noise
    if method is None and _weights(noise) <= _TABLE_LIMITS.weights:
        made = _better(
            noise,
            design_table(
                region,
                guarantee,
                problem,
                spacing=spacing,
                time_limit=None if time_limit is None else max(stop - time.perf_counter(), 1e-3),
                on_progress=on_progress,
                threads=threads,
                effort=_TABLE_LIMITS.work,
            ),
        )
    if gap is None:
        return made
    return _bounded(
        made, problem, gap, stop, threads=threads, tell=Reporter(on_progress), throw=throw
    )


def _weights(made: NoiseDesign) -> float:
    """Estimate the weights of a table over the region of a design: control points times reports.

    Cells have half of one over epsilon as their side. A table is tried only if these are few.
    """
    (left, low), (right, high) = made.net.box
    rate = 2 * float(made.guarantee.epsilon) / per_unit(made.unit)
    return (rate * (right - left) + 2) * (rate * (high - low) + 2) * made.K


def _better(noise: NoiseDesign, table: LatticeDesign) -> NoiseDesign | LatticeDesign:
    """Return the design that loses less, the `noise` in a tie with the `table`, with both losses in its trace.

    A design without a stated loss counts as losing infinitely much.
    """
    losses = [math.inf if one.upper is None else one.upper for one in (noise, table)]
    words = " and ".join(
        f"{name} {at_most(loss)}" for name, loss in zip(("noise", "table"), losses, strict=True)
    )
    trace = f"of two methods the better one: {words} {noise.unit}."
    made = noise if losses[0] <= losses[1] else table
    return mark_verified(replace(made, provenance=_traced(made.provenance, trace)))


def _traced(provenance: Provenance, sentence: str) -> Provenance:
    return replace(provenance, method_trace=(*provenance.method_trace, sentence))


def _bounded(
    made: NoiseDesign | LatticeDesign,
    problem: Problem,
    gap: float,
    stop: float,
    *,
    threads: int,
    tell: Reporter,
    throw: bool,
) -> NoiseDesign | LatticeDesign:
    """Return the design `made` with a lower bound on the loss of all mechanisms with these reports, and a status.

    `problem` has the costs, `gap` is relative; `stop` is when to end, in seconds of the clock. There is no bound if
    two places fall on one decimeter. With `throw` raises LimitReachedError if the gap is not reached. The cost is
    that of :func:`~discreet.lrgeo.candidates.bound_from_below`.
    """
    upper = made.upper
    if upper is None:  # pragma: no cover - a design with a problem has a loss
        raise InvalidProblemError("gap", "a design whose loss is known", "another")
    places, lower = plane_of(made.region)[1], None
    if len(places) == len(np.unique(places, axis=0)):
        flat = made.region.origin is None
        space = space_of(places, made.unit) if flat else _longest_space(made.region)
        lower = bound_from_below(
            Problem(space, utility_loss=problem.loss, prior=problem.prior),
            MetricDP(made.guarantee.epsilon * WIDER, made.unit),
            (1 - gap) * upper,
            gap=gap,
            stop=stop,
            threads=threads,
        )
        lower = max(0.0, min(lower, upper))
    tell("bound", lower=lower, upper=upper)
    sentence = _SAME_PLACE
    if lower is not None:
        sentence = f"no mechanism with these reports loses less than {at_least(lower)} {made.unit}."
    reached = lower is not None and upper - lower <= gap * upper
    made = replace(
        made,
        lower=lower,
        provenance=_traced(made.provenance, sentence),
        status="gap reached" if reached else "limit reached",
    )
    mark_verified(made)
    if throw and not reached:
        text = missed_gap(gap, made.lower, made.upper, "to all mechanisms")
        raise LimitReachedError(text, made)
    return made


def _longest_space(region: Region) -> MetricSpace:
    """Return the metric space of upper bounds on the distances between places on the ground, in the region's unit.

    They are closed under the triangle inequality, ``O(K^3)``. The promise is about distances on the ground, and
    longer ones relax the program: a bound for the plane of the mechanism, where distances are shorter, would leave
    out mechanisms that keep the promise.
    """
    longest = longest_geodesics(region.coordinates) * (per_unit("km") // per_unit(region.unit))
    bits = scale_for(float(longest.max()), TOTAL_BITS)
    table = closure(np.ceil(np.ldexp(np.maximum(longest, longest.T), bits)))
    return MetricSpace(region.unit, "matrix", bits, TableLengths(table), region.points)
