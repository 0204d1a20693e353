"""What is designed for every point: one noise for all points, or rows on a mesh where those are few and lose less.

Noise is made first: it takes a second, whatever the region. Where a region is some nats across, or people are in few of
its places, the best mechanism is far from a noise, and its table on a mesh is small: it is solved for, too. Rows
on a net, which lose less than either, are designed by name.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError, LimitReachedError, unknown_name
from discreet.core.exact import text_ceil, text_floor
from discreet.core.guarantee import MetricDP
from discreet.core.progress import Reporter
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.bounding import SAME_PLACE, bound_for_all
from discreet.lrgeo.points.design import PointDesign, design_points
from discreet.lrgeo.points.layout import plane_of
from discreet.lrgeo.points.noise_design import NoiseDesign, design_noise
from discreet.lrgeo.points.table_design import LatticeDesign, design_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.exact import Exact
    from discreet.core.outcome import Provenance
    from discreet.core.progress import Progress
    from discreet.lrgeo.places.region import Region
    from discreet.metricdp import Problem

__all__ = ["POINT_METHODS", "design_every_point"]

POINT_METHODS = ("noise", "table", "mesh")
"""The names of methods for every point."""

_MOST_TRIED = 40_000
"""Weights of a mesh, vertices times reports, up to which its program is solved by default. Over the noise the mesh had
.97 for 2 x 2 places a nat apart, .92 and .97 for 10 x 10 and 8 x 8 at half a nat with people in few of them, and 1.03
for 6 x 6 with people everywhere; at 76,000 weights it lost more with any prior (2026-11)."""

_EFFORT = 200_000_000
"""Its steps times pairs of a triangle and a report: a second or two."""


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
) -> NoiseDesign | LatticeDesign | PointDesign:
    """Design the mechanism that a server publishes for every point of a region; see :func:`discreet.lrgeo.design`.

    Parameters
    ----------
    region
        The places: where reports are, and where people are thought to be.
    guarantee
        Epsilon per unit, without a radius.
    problem
        What each report costs at each place.
    method
        ``"noise"``, ``"table"``, ``"mesh"``, or ``None`` for whichever of the first and the last loses less.
    spacing, time_limit, on_progress, threads, throw
        As of :func:`discreet.lrgeo.design`.
    gap
        To all mechanisms with these reports; with ``"table"`` and ``"mesh"`` to those on that net or mesh.

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
        expected = '"noise", "table" or "mesh", or none; scope="places" has others'
        raise InvalidProblemError("method", expected, type(stated).__name__)
    if stated is not None and stated not in POINT_METHODS:
        raise unknown_name("method", stated, POINT_METHODS)
    if method in {"mesh", "table"}:
        rows = design_points if method == "mesh" else design_table
        return rows(
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
    made: NoiseDesign | PointDesign = noise
    if method is None and _weights(noise) <= _MOST_TRIED:
        made = _better(
            noise,
            design_points(
                region,
                guarantee,
                problem,
                spacing=spacing,
                time_limit=None if time_limit is None else max(stop - time.perf_counter(), 1e-3),
                on_progress=on_progress,
                threads=threads,
                effort=_EFFORT,
            ),
        )
    if gap is None:
        return made
    return _bounded(
        made, problem, gap, stop, threads=threads, tell=Reporter(on_progress), throw=throw
    )


def _weights(made: NoiseDesign) -> float:
    """Estimate the weights of a mesh over the region of a design, with four cells for one over epsilon."""
    (left, low), (right, high) = made.net.box
    rate = 4 * float(made.guarantee.epsilon) / per_unit(made.unit)
    return (rate * (right - left) + 1) * (rate * (high - low) + 1) * made.K


def _better(noise: NoiseDesign, mesh: PointDesign) -> NoiseDesign | PointDesign:
    """Take what loses less, and say what the other one loses."""
    losses = [math.inf if one.upper is None else one.upper for one in (noise, mesh)]
    told = " and ".join(
        f"{name} {text_ceil(loss)}" for name, loss in zip(("noise", "mesh"), losses, strict=True)
    )
    trace = f"of two methods the better one: {told} {noise.unit}."
    made = noise if losses[0] <= losses[1] else mesh
    return replace(made, provenance=_traced(made.provenance, trace))


def _traced(provenance: Provenance, sentence: str) -> Provenance:
    return replace(provenance, method_trace=(*provenance.method_trace, sentence))


def _bounded(
    made: NoiseDesign | PointDesign,
    problem: Problem,
    gap: float,
    stop: float,
    *,
    threads: int,
    tell: Reporter,
    throw: bool,
) -> NoiseDesign | PointDesign:
    """Prove what no mechanism with these reports can do better, and say whether that is enough."""
    upper = made.upper
    if upper is None:  # pragma: no cover - a design with a problem has a loss
        raise InvalidProblemError("gap", "a design whose loss is known", "another")
    _, places, _ = plane_of(made.region)
    lower = bound_for_all(
        places,
        problem.loss,
        problem.prior,
        MetricDP(made.guarantee.epsilon, made.unit),
        upper,
        gap=gap,
        stop=stop,
        threads=threads,
    )
    tell("bound", lower=lower, upper=upper)
    sentence = SAME_PLACE
    if lower is not None:
        sentence = (
            f"no mechanism with these reports loses less than {text_floor(lower)} {made.unit}."
        )
    reached = lower is not None and upper - lower <= gap * upper
    made = replace(
        made,
        lower=lower,
        provenance=_traced(made.provenance, sentence),
        status="gap reached" if reached else "limit reached",
    )
    if throw and not reached:
        got = "none" if made.gap is None else f"{made.gap:.3g}"
        text = f"asked for a gap of {gap:g} to all mechanisms, reached {got}"
        raise LimitReachedError(text, made)
    return made
