r"""The design of a mechanism for every point of a road network: metric privacy on the graph of its nodes.

For a part of a road of length h the condition :math:`|z_a - z_b| \le \epsilon h \min(z_a, z_b)` of the verifier is a
ratio of at most :math:`1 + \epsilon h`. So this is the program of :func:`discreet.metricdp.design` on the graph in
which the part is :math:`\ln(1 + \epsilon h) / \epsilon` long, and its engines, bounds and repair serve as they are.
What they return keeps the ratios on the integers; the verifier of this mechanism looks at them again, by its own
condition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.guarantee import MetricDP, RoadScope
from discreet.core.outcome import Provenance, PublicInput
from discreet.core.printed import at_least, at_most, missed_gap
from discreet.core.spaces.metric import MetricSpace
from discreet.core.verified import mark_verified, verdict_of, was_verified
from discreet.core.views import view
from discreet.lrgeo.along_roads.mechanism import RoadRows
from discreet.lrgeo.along_roads.network import CutRoads
from discreet.lrgeo.along_roads.verify import ClaimedRoads, verify
from discreet.lrgeo.places.space import per_unit
from discreet.metricdp import Problem
from discreet.metricdp import design as design_channel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.progress import Progress
    from discreet.lrgeo.places.region import Region

__all__ = ["RoadDesign", "design_roads"]

_FINE = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2))
"""Epsilon times the length of a part, at most: the first with which the nodes are few enough."""

_MOST_NODES = 5120
"""Nodes of a metric space with a table of its distances."""

_GAP, _SECONDS = 0.01, 30.0
"""The gap that is aimed at, and the time limit in seconds, where the caller states neither."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class RoadDesign(RoadRows):
    """A mechanism for every point of a road network with its certificate, and bounds on what it loses.

    Parameters
    ----------
    region
        The places, which are its reports.
    status
        ``"gap reached"``, ``"limit reached"``, or ``"no gap asked for"``.
    """

    region: Region
    status: str

    def __repr__(self) -> str:
        bound = "" if self.lower is None else f", at least {at_least(self.lower, 4)}"
        loss = f"loss {at_most(self.upper, 4)} {self.unit}{bound}"
        return f"RoadDesign({self.K} reports, {self.network.n_nodes} nodes, {loss}, {verdict_of(self)})"

    def _repr_html_(self) -> str:
        facts = (f"{self.K} reports; expected loss {at_most(self.upper, 4)} {self.unit}",)
        return view(
            self.guarantee,
            facts,
            picture="",
            certificate=self.certificate,
            verified=was_verified(self),
        )


def design_roads(
    region: Region,
    guarantee: MetricDP,
    problem: Problem,
    *,
    gap: float | None = None,
    time_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    threads: int = 1,
    throw: bool = True,
) -> RoadDesign:
    """Design the mechanism for every point of a region's roads; see :func:`discreet.lrgeo.design`.

    Parameters
    ----------
    region
        With roads. Its places are the reports. Who is thought to be at a place is thought to be anywhere on the roads
        that are nearer to it, along them, than to other places.
    guarantee
        Epsilon per unit along the roads, without a radius.
    problem
        What each report costs at each place.
    gap
        Relative gap to be proved, to all mechanisms with these nodes and reports; ``None`` tries for one percent, for
        half a minute.
    time_limit
        Seconds.
    on_progress, threads, throw
        As everywhere.

    Raises
    ------
    InvalidProblemError
        For a region without roads, or with too many.
    LimitReachedError
        With ``throw``, when the gap was not reached; ``best`` is the design.

    Guarantee
    ---------
    That of the design, by :func:`discreet.lrgeo.along_roads.verify.verify`, for the integers that are drawn from,
    between any two points of the roads at the length of a shortest way along them.

    Complexity
    ----------
    That of :func:`discreet.metricdp.design` for as many secrets as there are nodes.
    """
    if region.roads is None:
        raise InvalidProblemError("region", "one with roads, by Region.from_roads", "no roads")
    network = _cut(region, guarantee.epsilon)
    space = _space(network, guarantee.epsilon)
    nearest, share = _spread(network, region.roads.stops)
    prior = problem.prior[nearest] * share
    loss = problem.loss[nearest]
    made = design_channel(
        Problem(space, utility_loss=loss, prior=prior),
        MetricDP(guarantee.epsilon, guarantee.unit),
        gap=_GAP if gap is None else gap,
        time_limit=_SECONDS if gap is None and time_limit is None else time_limit,
        on_progress=on_progress,
        threads=threads,
        throw=False,
    )
    weights, bits = _rows(made.channel.weights)
    claim = MetricDP(guarantee.epsilon, guarantee.unit, scope=RoadScope(network.digest))
    certificate = verify(
        ClaimedRoads(
            network.unit,
            len(network.vertices),
            network.segments,
            network.lengths,
            network.parts,
            weights,
            bits,
            claim,
        )
    )
    certificate.raise_for_failure()
    loses = float((prior[:, None] * loss * weights).sum()) / 2**bits
    facts: dict[str, int | float | str] = {"nodes": network.n_nodes, "reports": region.K}
    public = PublicInput("region", region.digest, f"{region.K} places, in {region.unit}")
    done = RoadDesign(
        network,
        None if region.origin is None else (repr(region.origin[0]), repr(region.origin[1])),
        np.array(region.roads.stops),
        _told(region),
        weights,
        bits,
        claim,
        certificate,
        made.lower,
        # A sum of floats that are not negative: its relative error is far below this.
        loses * (1 + 2.0**-40),
        Provenance(
            "metric privacy on the roads",
            facts,
            (public, *problem.assumed_public()),
            made.provenance.method_trace,
        ),
        region,
        "no gap asked for",
    )
    if gap is None:
        return mark_verified(done)
    reached = done.gap is not None and done.gap <= gap
    done = mark_verified(replace(done, status="gap reached" if reached else "limit reached"))
    if throw and not reached:
        raise LimitReachedError(missed_gap(gap, done.lower, done.upper), done)
    return done


def _cut(region: Region, epsilon: Fraction) -> CutRoads:
    """Cut roads into parts as short as leave few enough nodes."""
    roads: Any = region.roads
    for fine in _FINE:
        network = CutRoads.of(roads, region.unit, fine / epsilon * per_unit(region.unit))
        if network.n_nodes <= _MOST_NODES:
            return network
    expected = f"at most {_MOST_NODES} nodes with parts of {_FINE[-1]} over epsilon"
    raise InvalidProblemError("roads", expected, network.n_nodes)


def _spread(
    network: CutRoads, stops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give for each node the place that is nearest along the roads, and its share of the road length there."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    n, (start, stop) = network.n_nodes, network.pieces.T
    lengths = network.piece_lengths.astype(np.float64)
    order = np.lexsort((lengths, stop, start))
    start, stop, lengths = start[order], stop[order], lengths[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(start) != 0) | (np.diff(stop) != 0)
    graph = coo_array((lengths[first], (start[first], stop[first])), shape=(n, n)).tocsr()
    _, _, source = dijkstra(
        graph, directed=False, indices=stops, min_only=True, return_predecessors=True
    )
    number = np.zeros(n, dtype=np.int64)
    number[stops] = np.arange(len(stops))
    nearest = number[source]
    around = np.bincount(network.pieces.ravel(), np.repeat(network.piece_lengths, 2), minlength=n)
    share: NDArray[np.float64] = around / np.bincount(nearest, around)[nearest]
    return nearest, share


def _space(network: CutRoads, epsilon: Fraction) -> MetricSpace:
    """Make the graph in which a part is as long as its ratio allows, rounded down."""
    rate = float(epsilon) / per_unit(network.unit)
    # A few units of the last place, far less than what distances are rounded to.
    lengths = np.log1p(rate * network.piece_lengths * (1 - 2.0**-50)) / float(epsilon)
    lengths *= 1 - 2.0**-48
    return MetricSpace.from_graph(
        network.n_nodes, network.pieces, lengths, unit=network.unit, points=_nodes(network)
    )


def _nodes(network: CutRoads) -> NDArray[np.float64]:
    """Lay nodes out, for plots."""
    points = np.zeros((network.n_nodes, 2))
    points[: len(network.vertices)] = network.vertices
    cut = len(network.vertices)
    for (start, stop), parts in zip(network.segments.tolist(), network.parts.tolist(), strict=True):
        share = np.arange(1, parts)[:, None] / parts
        ends = network.vertices[[start, stop]]
        points[cut : cut + parts - 1] = ends[0] + share * (ends[1] - ends[0])
        cut += parts - 1
    return points / per_unit(network.unit)


def _rows(weights: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Take the integers of a channel as they are."""
    total = int(weights[0].astype(object).sum())
    if weights.dtype == object or total.bit_count() != 1:
        expected = "one for which weights of 62 bits are enough"
        raise InvalidProblemError("guarantee", expected, "a larger epsilon")
    return weights.astype(np.int64), total.bit_length() - 1


def _told(region: Region) -> tuple[tuple[str, str], ...]:
    """Say what is told of each report."""
    if region.origin is None:
        per = per_unit(region.unit)
        digits = len(str(per)) - 1
        return tuple(
            (f"{x / per:.{digits}f}", f"{y / per:.{digits}f}") for x, y in region.places.tolist()
        )
    return tuple((f"{lat:.7f}", f"{lon:.7f}") for lat, lon in region.coordinates.tolist())
