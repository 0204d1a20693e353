r"""The design of a mechanism for a region: one for everybody, published whole, so that nothing is ever uploaded.

It is the sound counterpart of the program that [QLPSX24]_ solves for each user anew. A report's column falls off
as :math:`e^{-\epsilon d}` from its own place; one program makes all columns at once, so that the promise holds between
any two places, for every user. The result is a few integers for each place.

Three candidates are made from public inputs alone: the solution of :math:`Ty = 1` if it is not negative; tails with
nearly equal row totals; and for up to 500 places, some 400 without a time limit, tails with the best heights and the
rest of each row to one report. Of those that pass the verifier the one that loses least is kept. Very many places have
tails with nearly equal totals alone.

Proposes; checked by `discreet.lrgeo.verify.verify`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, final, overload

from discreet.core.calls import explained
from discreet.core.errors import InvalidProblemError, LimitReachedError, unknown_name
from discreet.core.guarantee import MetricDP, Scope
from discreet.core.options import instance_of, positive_seconds, relative_gap, whole_number
from discreet.core.outcome import Provenance
from discreet.core.printed import at_least, at_most, missed_gap
from discreet.core.progress import Reporter
from discreet.core.verified import mark_verified, verdict_of, was_verified
from discreet.core.views import most_central, row_on_map, view
from discreet.lrgeo.candidates import (
    bound_from_below,
    expected_loss,
    public_inputs,
    seconds_left,
)
from discreet.lrgeo.mechanism import CertifiedChannel
from discreet.lrgeo.methods import METHODS
from discreet.lrgeo.places.region import Region
from discreet.lrgeo.problem import travel_loss
from discreet.lrgeo.verify import MAX_PLACES_FOR_TRIPLES, verify
from discreet.metricdp import Problem
from discreet.metricdp.part import PartLimits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from discreet.core.certificate import Certificate
    from discreet.core.exact import Exact
    from discreet.core.progress import Progress
    from discreet.lrgeo.candidates import Made, Method
    from discreet.lrgeo.points.noise_design import NoiseDesign
    from discreet.lrgeo.points.table_design import LatticeDesign


@final
@dataclass(frozen=True, eq=False, repr=False)
class RegionDesign(CertifiedChannel):
    """A mechanism for a region with its certificate, and bounds on what it loses.

    Parameters
    ----------
    problem
        The cost of each report at each place; ``None`` beyond 5120 places.
    status
        ``"gap reached"``, ``"limit reached"``, or ``"no gap asked for"``.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region
    >>> region = Region.from_grid(4, 4, cell="0.5", unit="km")
    >>> made = design(region, MetricDP(2, "km"), gap=0.1, scope="places")
    >>> made.status, made.gap < 0.1
    ('gap reached', True)
    """

    problem: Problem | None
    status: str

    def __repr__(self) -> str:
        loss = "" if self.upper is None else f", loss {at_most(self.upper, 4, self.region.unit)}"
        bound = "" if self.lower is None else f", at least {at_least(self.lower, 4)}"
        return f"RegionDesign({self.region.K} places{loss}{bound}, {verdict_of(self)})"

    def _repr_html_(self) -> str:
        """Return the design as HTML, with the reports of the most central place on a map."""
        loss = "not computed" if self.upper is None else at_most(self.upper, 4)
        bound = at_least(self.lower, 4)
        middle = most_central(self.region.points)
        row = self.channel.row(middle)
        return view(
            self.promise,
            (
                f"{self.region.K} places; expected loss {loss} {self.region.unit}, lower bound {bound}",
            ),
            picture=row_on_map(self.region.points, "euclidean", middle, row / row.sum()),
            certificate=self.certificate,
            verified=was_verified(self),
        )


class _Options(TypedDict, total=False):
    """What :func:`design` takes whatever the scope; it says what each is."""

    targets: ArrayLike | None
    weights: ArrayLike | None
    prior: ArrayLike | None
    spacing: Exact | None
    gap: float | None
    time_limit: float | None
    on_progress: Callable[[Progress], None] | None
    threads: int
    throw: bool


@overload
def design(
    region: Region,
    guarantee: MetricDP,
    *,
    scope: Literal["points"] = "points",
    method: Literal["noise"],
    **options: Unpack[_Options],
) -> NoiseDesign: ...
@overload
def design(
    region: Region,
    guarantee: MetricDP,
    *,
    scope: Literal["points"] = "points",
    method: Literal["table"],
    **options: Unpack[_Options],
) -> LatticeDesign: ...
@overload
def design(
    region: Region,
    guarantee: MetricDP,
    *,
    scope: Literal["points"] = "points",
    method: None = None,
    **options: Unpack[_Options],
) -> NoiseDesign | LatticeDesign: ...
@overload
def design(
    region: Region,
    guarantee: MetricDP,
    *,
    scope: Literal["places"],
    method: Method | str | None = None,
    **options: Unpack[_Options],
) -> RegionDesign: ...
@explained("design(region, dc.MetricDP(1, unit='km'))")
def design(
    region: Region,
    guarantee: MetricDP,
    *,
    scope: Literal["points", "places"] = "points",
    targets: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    method: Method | str | None = None,
    spacing: Exact | None = None,
    gap: float | None = None,
    time_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    threads: int = 1,
    throw: bool = True,
) -> RegionDesign | NoiseDesign | LatticeDesign:
    r"""Design the mechanism that a server publishes for a region.

    .. math:: \min \sum_i p_i \sum_k \beta_{ik} z_{ik}, \qquad \beta_{ik} = \sum_l q_l |T_{il} - T_{kl}|

    over the mechanisms of one form for which :math:`z_k(x) \le e^{\epsilon |x - y|} z_k(y)` holds between any two
    points of the region; or, with ``scope="places"``, over those for which it holds between any two places.

    Parameters
    ----------
    region
        The places, and how one travels.
    guarantee
        Epsilon per unit. A radius is for places alone; without one all pairs of them are bound.
    scope
        ``"points"``: the promise is about any two points of the region, near or far, with no borders between places;
        see :mod:`discreet.lrgeo.points`. ``"places"``: a point is snapped to its nearest place, and the promise is
        about places, so that two points on two sides of a border may be told apart. It loses a little less, and takes
        more places.
    targets, weights
        Places that people travel to, and how likely each is; without them the loss is the distance between the true
        place and the reported one.
    prior
        ``(K,)`` how likely people are at each place; uniform by default. All of this is public.
    method
        For every point ``"noise"``, one noise for all points whose outcomes are named by reports; or ``"table"``, a
        row of weights for each control point of a net. ``None`` makes the first, and the second too where its table is
        small, and takes whichever loses less.
        For places an instance such as ``Hub()``, or a name of
        :data:`discreet.lrgeo.methods.METHODS`; ``None`` tries several.
    spacing
        For every point: the side of cells, in the unit; by default a small part of one over epsilon.
    gap
        Relative gap between loss and lower bound to be proved; ``None`` for no bound. With ``"table"``,
        the gap to the program of that net.
    time_limit
        Seconds of wall-clock time, looked at between methods and while bounds are sought. What is verified by then is
        returned.
    on_progress
        Called after each method, and after the bound.
    threads
        Threads of a solver.
    throw
        Whether to raise when a requested gap was not reached.

    Returns
    -------
    RegionDesign, NoiseDesign or LatticeDesign
        A verified mechanism: for places, or for every point (the next two; ``published()`` returns what a server
        publishes).

    Raises
    ------
    InvalidProblemError
        For another unit, targets that are no places, an unknown method, or targets and priors beyond 5120 places.
    LimitReachedError
        With ``throw``, when the gap was not reached; ``best`` is the design.
    CertificateError
        When the requested method gives no private mechanism.

    Guarantee
    ---------
    That of the design, for the integers that are sampled: between any two points of the region, by
    :func:`discreet.lrgeo.points.verify.verify`; or between *places*, by :func:`discreet.lrgeo.verify`.

    Complexity
    ----------
    For every point, without a gap, some seconds. For places about ``20 K^3``
    operations: some seconds for 900, half a minute for 1600; 10^5 cells take a minute of tails.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region
    >>> region = Region.from_grid(5, 5, cell="0.5", unit="km")
    >>> design(region, MetricDP(2, "km"), targets=[0, 12], scope="places")
    RegionDesign(25 places, loss 0.3163 km, certified)
    >>> made = design(region, MetricDP(2, "km"), targets=[0, 12])
    >>> made.upper < 0.35, "any two points of the region" in str(made.guarantee)
    (True, True)
    """
    _check(region, guarantee, gap, time_limit, threads)
    if scope == "points":
        return _for_every_point(
            region,
            guarantee,
            _problem(region, targets, weights, prior),
            method=method,
            spacing=spacing,
            gap=gap,
            time_limit=time_limit,
            on_progress=on_progress,
            threads=threads,
            throw=throw,
        )
    if scope != "places":
        raise unknown_name("scope", scope, ("points", "places"))
    if spacing is not None:
        raise InvalidProblemError("spacing", 'none with scope="places"', spacing)
    chosen: Method | None = METHODS.resolve(method, optional=True)
    problem = _problem(region, targets, weights, prior)
    search = _Search(
        region,
        guarantee,
        problem,
        on_progress=on_progress,
        time_limit=time_limit,
        threads=threads,
    )
    if chosen is not None:
        search.attempt(METHODS.name_of(chosen), chosen, only=True)
    else:
        # For more places no other channel is verified.
        few = region.K <= MAX_PLACES_FOR_TRIPLES
        for name in ("closed-form", "tails", "tails-and-hub") if few else ("tails",):
            search.attempt(name, METHODS[name].make(), only=name == "tails")
    if gap is not None:
        search.bound(gap)
    return search.outcome(gap, throw=throw)


def _for_every_point(
    region: Region,
    guarantee: MetricDP,
    problem: Problem | None,
    **options: Any,  # noqa: ANN401 - those of design_every_point, which names them
) -> NoiseDesign | LatticeDesign:
    """Return the design for every point: by noise or a table; beyond 5120 places one noise for the region alone.

    `problem` is ``None`` beyond 5120 places; `options` are those of :func:`design`, of which `throw` raises
    LimitReachedError for a missed gap. Raises InvalidProblemError for a radius, or another method or a spacing beyond
    5120 places.
    """
    from discreet.lrgeo.points.design import design_every_point
    from discreet.lrgeo.points.many_places import costs_of_region, design_many_places

    if guarantee.radius is not None:
        expected = 'none for every point; scope="places" takes one'
        raise InvalidProblemError("radius", expected, guarantee.radius)
    if problem is not None:
        return design_every_point(region, guarantee, problem, **options)
    if options["method"] not in {None, "noise"} or options["spacing"] is not None:
        raise InvalidProblemError("method and spacing", "neither beyond 5120 places", "one")
    made = design_many_places(
        costs_of_region(region),
        guarantee,
        region=region,
        **{name: options[name] for name in ("gap", "time_limit", "on_progress", "threads")},
    )
    if options["throw"] and made.status == "limit reached":
        raise LimitReachedError(missed_gap(options["gap"], made.lower, made.upper), made)
    return made


class _Search:
    """One design: what was tried, and the best that was verified."""

    def __init__(
        self,
        region: Region,
        guarantee: MetricDP,
        problem: Problem | None,
        *,
        on_progress: Callable[[Progress], None] | None,
        time_limit: float | None,
        threads: int,
    ) -> None:
        self.region, self.guarantee, self.problem = region, guarantee, problem
        self.tell = Reporter(on_progress)
        self.stop = math.inf if time_limit is None else time.perf_counter() + time_limit
        self.threads = threads
        self.best: tuple[Made, Certificate] | None = None
        self.lower: float | None = None
        self.upper: float | None = None
        self.trace: list[str] = []

    def attempt(self, name: str, method: Method, *, only: bool = False) -> None:
        """Compute a candidate of `method`, verify it, and keep it if it loses least; the trace says how it went.

        With `only` a candidate that fails the verifier raises CertificateError. Once there is a mechanism, nothing is
        tried after the time limit. The cost is that of the method and of :func:`discreet.lrgeo.verify`.
        """
        if self.best is not None and time.perf_counter() > self.stop:
            return
        limits = PartLimits(seconds_left(self.stop), self.threads)
        made = method.propose(self.region.space, self.problem, self.guarantee, limits)
        if made is None:
            self.trace.append(f"{name}: there is no such mechanism.")
            return
        certificate = verify(made.channel, self.guarantee, totals_share=made.totals_share)
        if not certificate.passed:
            self.trace.append(f"{name}: did not pass the verifier.")
            if only:
                certificate.raise_for_failure()
            return
        upper = None if self.problem is None else expected_loss(made.channel, self.problem)
        loss = "" if upper is None else f" loses {at_most(upper)} {self.region.unit} and"
        self.trace.append(f"{name}:{loss} passed the verifier.")
        if upper is None or self.upper is None or upper < self.upper:
            self.best, self.upper = (made, certificate), upper
        self.tell(name, lower=self.lower, upper=self.upper)

    def bound(self, gap: float) -> None:
        """Set `lower` to a proven lower bound on the loss of every private mechanism, in the region's unit.

        The search stops at ``(1 - gap)`` times the best loss, or when time is up. Without a problem or a mechanism
        nothing is computed.
        """
        if self.problem is None or self.upper is None:
            self.trace.append("bound: there is none for so many places.")
            return
        target = (1 - gap) * self.upper
        self.lower = bound_from_below(
            self.problem, self.guarantee, target, gap=gap, stop=self.stop, threads=self.threads
        )
        unit = self.region.unit
        self.trace.append(
            f"bound: no private mechanism loses less than {at_least(self.lower)} {unit}."
        )
        self.tell("bound", lower=self.lower, upper=self.upper)

    def outcome(self, gap: float | None, *, throw: bool) -> RegionDesign:
        """Return the best design; raise LimitReachedError if the gap was not reached and `throw` is set.

        With `gap` ``None`` the status is "no gap asked for". InvalidProblemError if no method gave a mechanism.
        """
        if self.best is None:
            tried = " ".join(self.trace)
            raise InvalidProblemError("method", "one that there is for this region", tried)
        made, certificate = self.best
        done = RegionDesign(
            self.region,
            made.channel,
            _bind(self.region, self.guarantee),
            made.totals_share,
            certificate,
            self.lower,
            self.upper,
            Provenance(
                made.method,
                made.facts,
                public_inputs(self.region, self.problem),
                tuple(self.trace),
            ),
            self.problem,
            "no gap asked for",
        )
        if gap is None:
            return mark_verified(done)
        reached = done.gap is not None and done.gap <= gap
        done = mark_verified(replace(done, status="gap reached" if reached else "limit reached"))
        if throw and not reached:
            raise LimitReachedError(missed_gap(gap, done.lower, done.upper), done)
        return done


def _check(
    region: Region,
    guarantee: MetricDP,
    gap: float | None,
    time_limit: float | None,
    threads: int,
) -> None:
    """Raise InvalidProblemError for another type, unit, gap, time limit or number of threads than is allowed.

    The guarantee must be in the region's unit, `gap` in [0, 1) or ``None``, `time_limit` positive seconds or
    ``None``.
    """
    instance_of(guarantee, MetricDP, "guarantee", "a MetricDP")
    expected = "a Region, made by Region.from_osmnx, from_roads or from_grid"
    instance_of(region, Region, "region", expected)
    if guarantee.unit != region.unit:
        raise InvalidProblemError(
            "guarantee", f"epsilon per {region.unit}", f"per {guarantee.unit}"
        )
    relative_gap(gap)
    positive_seconds(time_limit)
    whole_number(threads, "threads", "at least one thread")


def _problem(
    region: Region,
    targets: ArrayLike | None,
    weights: ArrayLike | None,
    prior: ArrayLike | None,
) -> Problem | None:
    """Return the loss ``(K, K)``, in the region's unit, and prior of the places, or ``None`` beyond 5120 places.

    `targets` ``(L,)`` and `weights` ``(L,)`` give the loss of misjudged ways, else it is the distance; `prior` is
    ``(K,)``. ``O(K^2 L)``. InvalidProblemError for weights without targets, or for targets or a prior beyond 5120
    places.
    """
    if not region.space.has_matrix:
        if targets is not None or prior is not None:
            raise InvalidProblemError("targets and prior", "none beyond 5120 places", "some")
        return None
    if targets is None:
        if weights is not None:
            raise InvalidProblemError("weights", "none without targets", "some")
        return Problem(region.space, utility_loss="distance", prior=prior)
    loss = travel_loss(region.travel, targets, weights)
    return Problem(region.space, utility_loss=loss, prior=prior)


def _bind(region: Region, guarantee: MetricDP) -> MetricDP:
    """Return the guarantee bound to the space of this region, with its epsilon for all pairs.

    For a radius that is epsilon times the stretch of shortest paths, rounded up; all shortest paths.
    """
    space, all_pairs_epsilon = region.space, guarantee.epsilon
    if guarantee.radius is not None:
        stretch = space.adjacency(guarantee.radius).stretch(space)
        # Upwards, to twelve digits after the point; the verifier found one group.
        all_pairs_epsilon *= Fraction(math.ceil((stretch or Fraction(1)) * 10**12), 10**12)
    scope = Scope(space.digest, space.n, all_pairs_epsilon)
    return MetricDP(guarantee.epsilon, guarantee.unit, guarantee.radius, scope=scope)
