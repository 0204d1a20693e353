r"""The design of a mechanism for every point of a region.

.. math:: \min \sum_i p_i \sum_k \beta_{ik} z_k(x_i)

over the mechanisms on a mesh with :math:`|\nabla_T z_k| \le \epsilon \min_T z_k` on each triangle, where a point of a
triangle draws one of its corners by its barycentric weights, so that :math:`z_k(x_i)` is linear in the rows of the
corners and no prior is moved to a vertex. The program is solved to a proved gap, its answer mended and rounded to
integers by a proof, and verified.

Two gaps are reported. The one to the mesh's own program says how well that was solved. The other is to all mechanisms
with these reports that keep the promise between the places, on whatever mesh or none: what protecting every point in
this way can cost at most.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import LimitReachedError, SolverError
from discreet.core.exact import text_ceil, text_floor
from discreet.core.guarantee import MetricDP, PointScope
from discreet.core.jit import clock
from discreet.core.outcome import Provenance, PublicInput
from discreet.core.progress import Reporter
from discreet.core.views import most_central, row_on_map, view
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.bounding import SAME_PLACE, bound_for_all
from discreet.lrgeo.points.coarse import coarser_meshes, lift
from discreet.lrgeo.points.layout import MOST_WEIGHTS, lay_out, told
from discreet.lrgeo.points.mechanism import PointRows
from discreet.lrgeo.points.mend import BITS, exponential, mended, rounded
from discreet.lrgeo.points.mesh import region_digest
from discreet.lrgeo.points.steps import ConeIterate
from discreet.lrgeo.points.verify import Claimed, verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.certificate import Certificate
    from discreet.core.exact import Exact
    from discreet.core.progress import Progress
    from discreet.lrgeo.places.region import Region
    from discreet.lrgeo.points.layout import PointLayout
    from discreet.lrgeo.points.mesh import Mesh
    from discreet.metricdp import Problem

__all__ = ["EFFORT", "PointDesign", "design_points"]

_GAP = 0.01
"""The gap to the mesh's own program that is aimed at where the caller states none."""

_FIRST, _GROWTH, _MOST_STEPS = 120, 1.5, 20_000
"""Steps before the first look at the bound, from one look to the next, and in all."""

_MENDS, _RARER, _AS_STEPS = 270, 3, 600
"""Steps before an iterate is mended for the first time, from one time to the next, and what mending takes, in steps."""

EFFORT = 4_000_000_000
"""Steps, with those that mending takes, times pairs of a triangle and a report, at most, where neither a gap nor
seconds were stated: 36 CPU s for 1,521 vertices and 400 reports; November 2026."""

_FAR = 0.1
"""Gap from which on the exponential mechanism is looked at, too: steps that were few may have done worse."""

_COARSE_STEPS = 400
"""On each coarse mesh: a fine mesh with four times the vertices pays for them with a hundred steps."""

_COARSE_PART = 0.3
"""Part of the time for all coarse meshes, at most."""

_FEW_SWEEPS = 60
"""Sweeps of projection, one about as long as a step, below which the exponential mechanism is better."""

_COARSEST = 1.01
"""Epsilon times the side of a coarse mesh, at most: what is found on a coarser one is no start, and takes longer."""

_DELTA = Fraction(1, 2000)
"""Part of epsilon that is left to the rounding."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class PointDesign(PointRows):
    """A mechanism for every point with its certificate, and bounds on what it loses.

    Parameters
    ----------
    region
        The places.
    status
        ``"gap reached"``, ``"limit reached"``, or ``"no gap asked for"``.

    Examples
    --------
    >>> from discreet.lrgeo import Region, design
    >>> made = design(Region.from_grid(3, 3, cell="0.5", unit="km"), MetricDP(2, "km"), method="mesh")
    >>> made.status, made.mesh_gap < 0.01
    ('no gap asked for', True)
    """

    region: Region
    status: str

    def __repr__(self) -> str:
        loss = "" if self.upper is None else f", loss {text_ceil(self.upper, 4)} {self.unit}"
        bound = "" if self.lower is None else f", at least {text_floor(self.lower, 4)}"
        return f"PointDesign({self.K} reports, {len(self.mesh.vertices)} vertices{loss}{bound}, certified)"

    def _repr_html_(self) -> str:
        places = self.reports / per_unit(self.unit)
        middle = most_central(places)
        away = self.mesh.vertices - self.reports[middle]
        row = self.weights[int((away**2).sum(axis=1).argmin())] / 2.0**self.bits
        loss = "not computed" if self.upper is None else text_ceil(self.upper, 4)
        return view(
            self.guarantee,
            (f"{self.K} reports; expected loss {loss} {self.unit}",),
            picture=row_on_map(places, "euclidean", middle, row),
            certificate=self.certificate,
        )


def design_points(
    region: Region,
    guarantee: MetricDP,
    problem: Problem,
    *,
    spacing: Exact | None = None,
    max_weights: int = MOST_WEIGHTS,
    gap: float | None = None,
    time_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    threads: int = 1,
    throw: bool = True,
    effort: int = EFFORT,
) -> PointDesign:
    """Design the mechanism that a server publishes for every point of a region; see :func:`discreet.lrgeo.design`.

    Parameters
    ----------
    region
        The places: where reports are, and where people are thought to be.
    guarantee
        Epsilon per unit, without a radius.
    problem
        What each report costs at each place.
    spacing
        Side of the mesh's cells where places are, in the unit; by default fine enough for epsilon.
    max_weights
        Vertices times reports, at most.
    gap
        Relative gap to the mesh's own program to be proved. ``None`` tries for one percent, for half a minute or so of
        work that depends on nothing but the sizes, and spends no time on the bound for all mechanisms.
    time_limit
        Seconds, looked at between steps.
    on_progress, threads, throw
        As everywhere.
    effort
        Work without a gap or a time limit, in steps times pairs of a triangle and a report.

    Raises
    ------
    InvalidProblemError
        For places on one line, a spacing below two decimeters, or a region that is too large for a table.
    LimitReachedError
        With ``throw``, when the gap was not reached; ``best`` is the design.

    Guarantee
    ---------
    That of the design, by :func:`discreet.lrgeo.points.verify.verify`, for the integers that are drawn from, between
    any two points within the reach of the region.

    Complexity
    ----------
    A step takes a few nanoseconds for each pair of a triangle and a report; one percent some thousand steps.

    References
    ----------
    docs/theory/lrgeo-points.md.

    Examples
    --------
    >>> from discreet.lrgeo import Region
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> from discreet.metricdp import Problem
    >>> problem = Problem(region.space, utility_loss="distance")
    >>> design_points(region, MetricDP(2, "km"), problem, spacing="0.25")
    PointDesign(9 reports, 25 vertices, loss 0.4982 km, certified)
    """
    laid = lay_out(region, guarantee.epsilon, spacing=spacing, max_weights=max_weights)
    search = _Search(
        laid,
        guarantee,
        problem,
        on_progress=on_progress,
        time_limit=time_limit,
        threads=threads,
        effort=effort,
    )
    search.solve(_GAP if gap is None else gap, endless=gap is not None or time_limit is not None)
    if gap is not None:
        search.bound_all(gap)
    done = search.outcome(region, gap)
    if gap is not None and throw and done.status != "gap reached":
        got = "none" if done.mesh_gap is None else f"{done.mesh_gap:.3g}"
        raise LimitReachedError(f"asked for a gap of {gap:g} on the mesh, reached {got}", done)
    return done


class _Search:
    """One design: the best integers that were verified, and the best bounds."""

    def __init__(
        self,
        laid: PointLayout,
        guarantee: MetricDP,
        problem: Problem,
        *,
        on_progress: Callable[[Progress], None] | None,
        time_limit: float | None,
        threads: int,
        effort: int,
    ) -> None:
        self.effort = effort
        self.laid, self.guarantee, self.problem = laid, guarantee, problem
        scope = PointScope(region_digest(laid.frame, laid.mesh))
        self.claim = MetricDP(guarantee.epsilon, guarantee.unit, scope=scope)
        self.tell, self.threads = Reporter(on_progress), threads
        self.stop = math.inf if time_limit is None else clock() + time_limit
        self.per = per_unit(guarantee.unit)
        self.loss = problem.loss[:, laid.chosen]
        self.reports = laid.places[laid.chosen]
        self.cost = _on_vertices(laid.mesh, laid.places, problem.prior[:, None] * self.loss)
        self.best: tuple[NDArray[np.int64], Certificate] | None = None
        self.upper, self.mesh_lower = math.inf, 0.0
        self.lower: float | None = None
        self.trace = list(laid.notes)
        self.steps = 0

    def solve(self, gap: float, *, endless: bool) -> None:
        """Take steps; look at the bound, and hand in an iterate, more and more rarely."""
        epsilon = float(self.guarantee.epsilon) / self.per
        state = self._start(epsilon * float(1 - _DELTA))
        look, mend, began = _FIRST, _MENDS, clock()
        pairs = len(self.laid.mesh.triangles) * len(self.reports)
        used = 0
        most = math.inf if endless else max(_FIRST, self.effort // pairs - _AS_STEPS)
        with state.pool() as pool:
            while True:
                state.advance(pool)
                # What is mended last has to be done in time, in as many sweeps as there is time for steps.
                taken = max(clock() - began, 1e-9)
                left = (self.stop - clock()) * (state.count + used) / taken
                last = left < _AS_STEPS
                last |= state.count + used >= most or state.count == _MOST_STEPS
                if state.count < look and not last:
                    continue
                look = int(_GROWTH * state.count)
                mends = (last or state.count >= mend) and left >= _FEW_SWEEPS
                self._look(state, epsilon, sweeps=int(min(left, _AS_STEPS)) if mends else 0)
                if mends:
                    mend, used = _RARER * state.count, used + _AS_STEPS
                if last or (1 - gap) * self.upper <= self.mesh_lower:
                    break
        self.steps = state.count
        if (1 - _FAR) * self.upper > self.mesh_lower:
            away = _away(self.laid.mesh, self.reports)
            known = self.upper
            plain = exponential(self.laid.mesh, away, self.cost, epsilon * float(1 - _DELTA))
            self._hand_in(plain, epsilon)
            if self.upper < known:
                self.trace.append(
                    "the exponential mechanism on the mesh, its reports renamed, loses least of what was found."
                )
        if self.best is None:
            self._hand_in(np.full(self.cost.shape, 1 / self.cost.shape[1]), epsilon)
        if self.best is None:
            raise SolverError("no mechanism on this mesh passed the verifier", "not verified")
        self.trace.append(f"{state.count} primal-dual steps, {state.restarts} restarts.")

    def _start(self, epsilon: float) -> ConeIterate:
        """Take some steps on coarse meshes first, each starting where the one before it stands."""
        state: ConeIterate | None = None
        held, stop = 0, clock() + _COARSE_PART * (self.stop - clock())
        coarse = [one for one in coarser_meshes(self.laid.mesh) if epsilon * one[1] <= _COARSEST]
        for mesh, side in (*coarse, (self.laid.mesh, 0)):
            away, cost = _away(mesh, self.reports), self.cost
            if side:
                weighed = self.problem.prior[:, None] * self.loss
                cost = _on_vertices(mesh, self.laid.places, weighed)
            following = ConeIterate(mesh, cost, epsilon, away, threads=self.threads)
            if state is not None:
                lift(state, held, following)
            state, held = following, side
            if side:
                with state.pool() as pool:
                    while state.count < _COARSE_STEPS and clock() < stop:
                        state.advance(pool)
                self.tell("coarse steps", done=state.count)
        if state is None:  # pragma: no cover - there is always the mesh itself
            raise SolverError("a design", "no mesh")
        return state

    def _look(self, state: ConeIterate, epsilon: float, *, sweeps: int) -> None:
        """Look at the bound, and with some sweeps of projection hand in the iterate."""
        # The bound is for all of epsilon: a little less of the decay is all that the multipliers lose.
        for multipliers in (state.L, state.mean()):
            self.mesh_lower = max(self.mesh_lower, state.bound(multipliers, epsilon))
        matrix, within = state.matrix(), epsilon * float(1 - _DELTA)
        if sweeps and matrix.sum(axis=1).min() > 0:
            mesh, threads = self.laid.mesh, self.threads
            self._hand_in(mended(mesh, matrix, within, sweeps=sweeps, threads=threads), epsilon)
        self.tell("steps", done=state.count, lower=self.mesh_lower, upper=self.upper)

    def _hand_in(self, table: NDArray[np.float64], epsilon: float) -> None:
        """Round, verify, and keep what loses less."""
        if self.best is not None and float((self.cost * table).sum()) >= self.upper:
            return
        weights = rounded(self.laid.mesh, table, epsilon)
        if weights is None:
            return
        certificate = verify(self._rows(weights))
        if not certificate.passed:
            self.trace.append("an iterate did not pass the verifier.")
            return
        upper = float((self.cost * weights).sum()) / 2**BITS
        # A sum of non-negative floats, pairwise: its relative error is far below this.
        upper *= 1 + 2.0**-40
        if upper < self.upper:
            self.best, self.upper = (weights, certificate), upper

    def _rows(self, weights: NDArray[np.int64]) -> Claimed:
        mesh, frame = self.laid.mesh, self.laid.frame
        return Claimed(
            frame.unit,
            frame.origin,
            (frame.east, frame.north),
            mesh.reach,
            mesh.vertices,
            mesh.triangles,
            mesh.outline,
            weights,
            BITS,
            self.claim,
        )

    def bound_all(self, gap: float) -> None:
        """Prove what no mechanism with these reports can do better that keeps the promise at the places."""
        stop = math.inf if math.isinf(self.stop) else time.perf_counter() + self.stop - clock()
        self.lower = bound_for_all(
            self.laid.places,
            self.loss,
            self.problem.prior,
            self.guarantee,
            self.upper,
            gap=gap,
            stop=stop,
            threads=self.threads,
        )
        if self.lower is None:
            self.trace.append(SAME_PLACE)
            return
        self.tell("bound", lower=self.lower, upper=self.upper)

    def outcome(self, region: Region, gap: float | None) -> PointDesign:
        """Put the design together."""
        if self.best is None:  # pragma: no cover - solve raised
            raise SolverError("no mechanism on this mesh passed the verifier", "not verified")
        weights, certificate = self.best
        unit, laid = region.unit, self.laid
        self.trace.append(
            f"no mechanism on this mesh loses less than {text_floor(self.mesh_lower)} {unit}."
        )
        status = "no gap asked for"
        if gap is not None:
            reached = self.upper - self.mesh_lower <= gap * self.upper
            status = "gap reached" if reached else "limit reached"
        return PointDesign(
            laid.frame,
            laid.mesh,
            self.reports,
            told(region, laid.frame, laid.places, laid.chosen),
            weights,
            BITS,
            self.claim,
            certificate,
            self.lower,
            self.mesh_lower,
            self.upper,
            self._provenance(region),
            region,
            status,
        )

    def _provenance(self, region: Region) -> Provenance:
        mesh = self.laid.mesh
        places = PublicInput("region", region.digest, f"{region.K} places, in {region.unit}")
        facts: dict[str, int | float | str] = {
            "vertices": len(mesh.vertices),
            "triangles": len(mesh.triangles),
            "reports": len(self.reports),
            "steps": self.steps,
        }
        public = (places, *self.problem.assumed_public())
        return Provenance("cone-primal-dual", facts, public, tuple(self.trace))


def _away(mesh: Mesh, reports: NDArray[np.int64]) -> NDArray[np.float64]:
    """Measure from vertices to reports, in decimeters."""
    across = (mesh.vertices[:, None] - reports).transpose(2, 0, 1)
    away: NDArray[np.float64] = np.hypot(*across)
    return away


def _on_vertices(
    mesh: Mesh, places: NDArray[np.int64], cost: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Move what reports cost at places to the corners of their triangles, exactly as the draw does."""
    corners, weights = mesh.coefficients(places)
    moved = np.zeros((len(mesh.vertices), cost.shape[1]))
    for corner, weight in zip(corners.T, weights.T, strict=True):
        np.add.at(moved, corner, weight[:, None] * cost)
    return moved
