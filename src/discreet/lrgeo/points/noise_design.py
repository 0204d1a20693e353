r"""The design of a mechanism for every point with one noise for all: a net, a table of noise, and a name for each node.

.. math:: \min \sum_p \pi_p \sum_z f_z(x_p) \ell(p, k(z))

over the names k, for noise that falls off as fast as its condition allows. On a net of side h such noise loses about
:math:`(\epsilon h)^2 / 5` more than it would without a net, whatever the places, the loss and the prior are. What it
gives away is shape: where a region is so small, or where people are in so few of its places, that the best mechanism
is no noise at all, rows for each control point lose less: :mod:`~discreet.lrgeo.points.table_design`.

Proposes; checked by `discreet.lrgeo.points.verify_noise.verify_noise`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core import printed
from discreet.core.errors import InvalidProblemError, SolverError
from discreet.core.outcome import Provenance
from discreet.core.printed import estimate
from discreet.core.progress import Reporter
from discreet.core.spaces.geography import great_circle
from discreet.core.verified import mark_verified
from discreet.lrgeo.candidates import public_inputs
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.designed import NetDesign, claim_about
from discreet.lrgeo.points.layout import cell_sides, in_plane, plane_of, report_texts
from discreet.lrgeo.points.near_names import name_by_medians
from discreet.lrgeo.points.net import ControlNet
from discreet.lrgeo.points.noise import NoiseRows
from discreet.lrgeo.points.noise_table import WEIGHT_SUM_BITS, noise_table
from discreet.lrgeo.points.published import plane_and_net
from discreet.lrgeo.points.renaming import RENAMING, renamed
from discreet.lrgeo.points.verify_noise import MOST_NODES, ClaimedNoise, verify_noise
from discreet.metricdp.costs import ImplicitCosts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.core.guarantee import MetricDP
    from discreet.core.progress import Progress
    from discreet.core.spaces.metric import MetricSpace
    from discreet.lrgeo.places.region import Region
    from discreet.lrgeo.points.frame import PointFrame
    from discreet.metricdp import Problem

METHOD = "noise, reports renamed"

_RATES = (*(Fraction(1, over) for over in (32, 16, 8, 6, 4, 3, 2)), Fraction(3, 4), Fraction(1))
"""Epsilon times the side of a cell, the first that fits: at 1/16 noise loses .1 % more than without a net, at 1/8 .3 %,
and at 1 about a fifth."""

_NODES = 1 << 16, 1 << 18
"""Nodes of a torus up to which the finest net is taken, and at most: 197,136 of them make a file of 2.2 MB."""

_NODES_OF_MANY_PLACES = MOST_NODES, MOST_NODES
"""The same beyond 5120 places, whose regions are larger: the finest net that fits at all, 1/32 included."""

_SHAVED = (0.0, 1e-9, 1e-6, 1e-4, 1e-2)
"""Parts of the rate that are given up, in turn, until the verifier passes: the first nearly always does."""


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NoiseDesign(NoiseRows, NetDesign):
    """A mechanism for every point with one noise for all, its certificate, and bounds on what it loses.

    Its parameters are those of :class:`~discreet.lrgeo.points.noise.NoiseRows`, the region and a status.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region, design
    >>> made = design(Region.from_grid(8, 8, cell="0.5", unit="km"), MetricDP(1, "km"), method="noise")
    >>> made
    NoiseDesign(64 reports, 25600 nodes, loss 1.163 km, certified)
    """


def design_noise(
    region: Region,
    guarantee: MetricDP,
    problem: Problem | ImplicitCosts,
    *,
    spacing: Exact | None = None,
    moved: float = 0.0,
    on_progress: Callable[[Progress], None] | None = None,
    threads: int = 1,
) -> NoiseDesign:
    """Design the mechanism with one noise for every point of a region; see :func:`discreet.lrgeo.design`.

    Parameters
    ----------
    region
        The places: locations of reports, and the prior.
    guarantee
        Epsilon per unit, without a radius.
    problem
        What each report costs at each place, as a table or, for more than 5120 places, as their distances.
    spacing
        Side of the net's cells, in the unit; by default fine enough for epsilon, and as fine as a torus of 2^18 nodes
        allows, or of 2^22 beyond 5120 places.
    moved
        Distance between a secret and the place of the problem that stands for it, in the unit, at most.
    on_progress, threads
        As everywhere. There is no search, hence no time limit.

    Raises
    ------
    InvalidProblemError
        For places on one line, a spacing below a decimeter, or a region that is too large.

    Guarantee
    ---------
    That of the design, by :func:`discreet.lrgeo.points.verify.verify`, for the integers that are drawn from, between
    any two points within the reach of the region.

    Complexity
    ----------
    That of :func:`~discreet.lrgeo.points.renaming.renamed`: a tenth of a second for 8 x 8 places, five for 40 x 40.

    References
    ----------
    docs/theory/lrgeo/lattice.md.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region
    >>> from discreet.metricdp import Problem
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> problem = Problem(region.space, utility_loss="distance")
    >>> design_noise(region, MetricDP(2, "km"), problem, spacing="0.25")
    NoiseDesign(9 reports, 1600 nodes, loss 0.486 km, certified)
    """
    tell = Reporter(on_progress)
    per = per_unit(region.unit)
    rate = guarantee.epsilon / per
    if isinstance(problem, ImplicitCosts):
        frame, places, reach = plane_of(region, math.ceil(_RATES[-1] / rate))
        nodes, rates = _NODES_OF_MANY_PLACES, _RATES
    else:
        frame, places, reach = plane_of(region)
        nodes, rates = _NODES, _RATES[1:]
    net, shape = _lay_net(region, places, reach, rate, rates, nodes=nodes, spacing=spacing)
    claim = claim_about(frame, net, guarantee)
    rho = guarantee.epsilon * net.side / per
    noise = _certified(frame, net, shape, len(places), claim)
    tell("noise", done=noise.size)
    if isinstance(problem, ImplicitCosts):
        fall = math.asinh(float(rho))
        exact = in_plane(frame, np.asarray(problem.space.points, dtype=np.float64))
        names, loss = name_by_medians(noise, net, exact, problem, fall, threads=threads)
        # Floats of places below 2^30 decimeters err by less than a thousandth of one.
        moved += 1e-3 / per
        offset = _farthest_report(problem.space, report_texts(region, frame, places))
    else:
        first, weights = net.coefficients(places)
        costs = problem.prior[:, None] * problem.loss
        # Places of prior 0 add nothing to the loss of a name.
        peopled = problem.prior > 0
        names, loss = renamed(
            noise, first[peopled], weights[peopled], costs[peopled], threads=threads
        )
        offset = 0.0
    certificate = verify_noise(_claimed(frame, net, (noise, names), len(places), claim))
    certificate.raise_for_failure()
    # A secret that is moved has probabilities within the promise, and distances within the move.
    growth = math.exp(float(guarantee.epsilon) * moved)
    upper = (loss / 2**WEIGHT_SUM_BITS * (1 + 2.0**-36) + moved + offset) * growth
    tell("names", upper=upper)
    trace = [f"net of {estimate(rho, 4)} nats a cell, on a torus of {shape[0]} x {shape[1]} nodes."]
    facts: dict[str, int | float | str] = {
        "columns": net.points[0],
        "rows": net.points[1],
        "nodes": noise.size,
        "reports": len(places),
    }
    made = NoiseDesign(
        frame=frame,
        net=net,
        noise=noise,
        names=names,
        reports=places,
        shown=report_texts(region, frame, places),
        bits=WEIGHT_SUM_BITS,
        guarantee=claim,
        certificate=certificate,
        lower=None,
        upper=upper,
        provenance=Provenance(METHOD, facts, public_inputs(region, problem), tuple(trace)),
        region=region,
        status="no gap asked for",
    )
    return mark_verified(made)


def _lay_net(
    region: Region,
    places: NDArray[np.int64],
    reach: int,
    rate: Fraction,
    rates: tuple[Fraction, ...],
    *,
    nodes: tuple[int, int],
    spacing: Exact | None = None,
    max_factor: int = 4,
    max_printed: int = 10**15,
) -> tuple[ControlNet, tuple[int, int]]:
    """Return a net over the box around places, and the size of its torus: columns and rows of nodes.

    `places` are ``(K, 2)`` decimeters, as `reach`; `rate` is epsilon per decimeter. Sides are tried in the order of
    `rates`, or `spacing` alone, in the unit of `region`; the first on at most `nodes[0]` nodes, and the others on
    `nodes[1]`. A side may be `max_factor` times finer than needed, to divide that of a grid's cells.
    InvalidProblemError if each torus is larger; it states up to `max_printed` nodes.
    """
    most = nodes[spacing is not None]
    for side in cell_sides(region, rate, rates, spacing, coarser=Fraction(1), finer=max_factor):
        cells, shape = _torus(places, side, rate)
        if shape[0] * shape[1] <= most:
            x, y = places.min(axis=0).tolist()
            return ControlNet((x, y), side, cells, reach), shape
        most = nodes[1]
    wide, tall = (float(rate * size) for size in np.ptp(places, axis=0).tolist())
    limit = printed.count(nodes[1])
    expected = (
        f"a torus of at most {limit} nodes; use a larger spacing, a smaller epsilon, or places only"
    )
    total = shape[0] * shape[1]
    words = printed.count(total) if total < max_printed else "far more"
    got = f"{words} for a region of {estimate(wide, 3)} x {estimate(tall, 3)} over epsilon"
    raise InvalidProblemError("region", expected, got)


def _torus(
    places: NDArray[np.int64], side: int, rate: Fraction, *, margin_nats: int = 8
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the cells of a net, and the size of its torus: the control points, and a margin on each side.

    `places` is ``(K, 2)`` decimeters, `side` decimeters of a cell, `rate` epsilon per decimeter. The margin has
    `margin_nats`: for 20 x 20 places at 1/2 with 400 reports, 5 nats lose .9 % more and 9 lose .1 % less (2026-11).
    """
    wide, tall = (max(1, -(-size // side)) for size in np.ptp(places, axis=0).tolist())
    margin = math.ceil(2 * margin_nats / (rate * side))
    step = RENAMING.block_side
    m, n = (-(-(count + 2 + margin) // step) * step for count in (wide, tall))
    return (wide, tall), (m, n)


def _farthest_report(space: MetricSpace, shown: tuple[tuple[str, str], ...]) -> float:
    """Return the largest distance, in the unit, from a secret to the coordinates `shown` of its report. ``O(K)``."""
    points, reports = np.asarray(space.points, dtype=np.float64), np.array(shown, dtype=np.float64)
    if space.metric != "haversine":
        return float(np.linalg.norm(points - reports, axis=1).max())
    return float(great_circle(points, reports).max()) * per_unit("km") / per_unit(space.unit)


def _certified(
    frame: PointFrame, net: ControlNet, shape: tuple[int, int], reports: int, claim: MetricDP
) -> NDArray[np.int64]:
    """Return noise on the torus, int64 of `shape`, that passes the verifier; SolverError if none of a few does.

    `net` and `frame` give the side of a cell, `claim` the epsilon, `reports` the number of reports. A verification
    for each try, linear in the nodes.
    """
    rho = claim.epsilon * net.side / per_unit(frame.unit)
    for shaved in _SHAVED:
        noise = noise_table(rho, shape, shaved=shaved)
        unnamed = np.zeros_like(noise)
        certificate = verify_noise(_claimed(frame, net, (noise, unnamed), reports, claim))
        if certificate.passed:
            return noise
    failed = ", ".join(check.name for check in certificate.checks if not check.passed)
    raise SolverError("no noise on this net passed the verifier", failed)


def _claimed(
    frame: PointFrame,
    net: ControlNet,
    tables: tuple[NDArray[np.int64], NDArray[np.int64]],
    reports: int,
    claim: MetricDP,
) -> ClaimedNoise:
    """Gather a claim for the verifier from noise and names, ``(m, n)`` each; nothing is checked here."""
    return ClaimedNoise(*plane_and_net(frame, net), WEIGHT_SUM_BITS, claim, *tables, reports)
