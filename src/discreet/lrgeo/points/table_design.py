r"""The design of a mechanism for every point with a table on a net: a row of weights for each control point.

.. math:: \min \sum_i p_i \sum_k \beta_{ik} z_k(x_i)

over the tables with :math:`|G(z_k)| \le \rho V(z_k)` at all nodes of the net, where a point draws a control point by
the weights of the biquadratic B-spline, so that :math:`z_k(x_i)` is linear in the rows and no prior is moved. The
program is solved to a gap that is proved, its answer mended and rounded to integers by a proof, and verified.

Beside one noise for all points (November 2026): 1.144 and 1.163 for 8 x 8 places half a nat apart with people
everywhere, 1.112 and 1.278 for 40 x 3, .740 and .871 for six clusters, .266 and .333 where people are in few of 6 x 5
places; as much for 20 x 20, and for 1,331 places of central Rome at 2 per km.

Proposes; checked by `discreet.lrgeo.points.verify_table.verify_table`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core import printed
from discreet.core.errors import InvalidProblemError, LimitReachedError, SolverError
from discreet.core.jit import clock
from discreet.core.outcome import Provenance
from discreet.core.printed import at_least, estimate, missed_gap
from discreet.core.progress import Reporter
from discreet.core.verified import mark_verified
from discreet.lrgeo.candidates import public_inputs
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.designed import NetDesign, claim_about
from discreet.lrgeo.points.layout import cell_sides, plane_of, report_texts
from discreet.lrgeo.points.net import ControlNet
from discreet.lrgeo.points.net_mend import NET_BITS, mend_net, round_net
from discreet.lrgeo.points.net_steps import NetIterate
from discreet.lrgeo.points.published import plane_and_net
from discreet.lrgeo.points.table import LatticeRows
from discreet.lrgeo.points.verify_table import ClaimedTable, verify_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.certificate import Certificate
    from discreet.core.exact import Exact
    from discreet.core.guarantee import MetricDP
    from discreet.core.progress import Progress
    from discreet.lrgeo.places.region import Region
    from discreet.metricdp import Problem

METHOD = "rows on a net, cone-primal-dual"

_RATES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1))
"""Epsilon times the side of a cell, the first that fits."""

_FEW, _MOST_TABLE = 40_000, 2_600_000
"""Weights up to which the finest net is taken, and at most: a file of 21 MB."""

_LARGEST_FACTOR, _COARSER = 2, Fraction(5, 4)
"""How much finer than wanted a net may be so that its cells divide those of a grid, and how much coarser."""


class _Tuning(NamedTuple):
    """Parameters of the search for a table."""

    first_check: int = 150
    """Steps before the first computation of the bound."""
    check_growth: float = 1.3
    max_steps: int = 20_000
    repair_steps: int = 200
    """Cost of a repair, in steps."""
    min_sweeps: int = 20
    """Sweeps of projection below which a repair leaves too much to be added."""
    min_repair_increase: float = 0.005
    """Relative increase of the loss by a repair, at least: while the gap is smaller, none is tried."""
    max_work: int = 900_000_000
    """Steps times pairs of a node and a report, in blocks of 64 reports, without a gap and a time limit: 8 CPU s for
    441 control points and 400 reports; November 2026."""
    default_gap: float = 0.01
    """Gap to the net's own program that is aimed at where the caller states none."""
    rounding_share: float = 1 / 2000
    """Share of epsilon that is left to the rounding."""


_TUNING = _Tuning()


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LatticeDesign(LatticeRows, NetDesign):
    """A mechanism for every point with a row for each control point, its certificate, and bounds on what it loses.

    Its parameters are those of :class:`~discreet.lrgeo.points.table.LatticeRows`, the region and a status.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region
    >>> from discreet.metricdp import Problem
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> made = design_table(region, MetricDP(2, "km"), Problem(region.space, utility_loss="distance"))
    >>> made.status, made.mesh_gap < 0.01
    ('no gap asked for', True)
    """


def design_table(
    region: Region,
    guarantee: MetricDP,
    problem: Problem,
    *,
    spacing: Exact | None = None,
    gap: float | None = None,
    time_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    threads: int = 1,
    throw: bool = True,
    effort: int = _TUNING.max_work,
) -> LatticeDesign:
    """Design the mechanism with a row for each control point of a net.

    Parameters
    ----------
    region
        The places: locations of reports, and the prior.
    guarantee
        Epsilon per unit, without a radius.
    problem
        What each report costs at each place.
    spacing
        Side of the net's cells, in the unit; by default half over epsilon, a quarter where the table is small, and
        coarser where it would be too large.
    gap
        Relative gap to the net's own program to be proved; ``None`` tries for one percent.
    time_limit
        Seconds, looked at between steps.
    on_progress, threads, throw
        As everywhere.
    effort
        Work without a gap or a time limit, in steps times pairs of a node and a report.

    Raises
    ------
    InvalidProblemError
        For places on one line, a spacing below a decimeter, or a region that is too large for a table.
    LimitReachedError
        With ``throw``, when the gap was not reached; ``best`` is the design.

    Guarantee
    ---------
    That of the design, by :func:`discreet.lrgeo.points.verify.verify`, for the integers that are drawn from, between
    any two points within the reach of the region.

    Complexity
    ----------
    A step takes 6 nanoseconds for each pair of a node and a report; one percent some hundred steps.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region
    >>> from discreet.metricdp import Problem
    >>> region = Region.from_grid(3, 3, cell="0.5", unit="km")
    >>> problem = Problem(region.space, utility_loss="distance")
    >>> made = design_table(region, MetricDP(2, "km"), problem, spacing="0.25")
    >>> made.K, len(made.weights), made.upper < 0.47, made.certificate.passed
    (9, 36, True, True)
    """
    search = _Search(
        region,
        guarantee,
        problem,
        spacing=spacing,
        tell=Reporter(on_progress),
        stop=math.inf if time_limit is None else clock() + time_limit,
        threads=threads,
    )
    endless = gap is not None or time_limit is not None
    search.solve(_TUNING.default_gap if gap is None else gap, math.inf if endless else effort)
    done = search.outcome(gap)
    if gap is not None and throw and done.status != "gap reached":
        raise LimitReachedError(missed_gap(gap, done.mesh_lower, done.upper, "on the net"), done)
    return done


class _Search:
    """One design: the best integers that were verified, and the best bound."""

    def __init__(
        self,
        region: Region,
        guarantee: MetricDP,
        problem: Problem,
        *,
        spacing: Exact | None,
        tell: Reporter,
        stop: float,
        threads: int,
    ) -> None:
        self.region, self.problem = region, problem
        self.tell, self.stop, self.threads = tell, stop, threads
        self.frame, self.places, reach = plane_of(region)
        rate = guarantee.epsilon / per_unit(guarantee.unit)
        self.net = _net(region, self.places, reach, rate, spacing)
        self.rho = rate * self.net.side
        self.claim = claim_about(self.frame, self.net, guarantee)
        self.cost = _on_points(self.net, self.places, problem.prior[:, None] * problem.loss)
        self.best: tuple[NDArray[np.int64], Certificate] | None = None
        self.upper, self.lower = math.inf, 0.0
        self.steps, self.trace = 0, [f"net of {estimate(self.rho, 4)} nats a cell."]

    def solve(self, gap: float, effort: float) -> None:
        """Take steps until the gap or the effort is reached or time is up; keep the best verified mechanism and bound.

        The bound is evaluated, and an iterate repaired, more and more rarely. A step costs ``O(nodes K)``, `effort`
        is the sum of these.
        """
        rho = float(self.rho)
        state = NetIterate(
            self.net.cells,
            self.cost,
            rho * (1 - _TUNING.rounding_share),
            self._away(),
            threads=self.threads,
        )
        look, pairs = _TUNING.first_check, state.D.size // state.D.shape[2]
        most = min(_TUNING.max_steps, max(_TUNING.first_check, effort / pairs))
        began, used = clock(), 0
        with state.pool() as pool:
            while True:
                state.advance(pool)
                # What is mended last has to be done in time, in as many sweeps as there is time for steps.
                elapsed = max(clock() - began, 1e-9)
                left = (self.stop - clock()) * (state.count + used) / elapsed
                last = state.count >= most or left < _TUNING.repair_steps
                if state.count < look and not last:
                    continue
                look = int(_TUNING.check_growth * state.count)
                raw = self._look(state, rho)
                if last or (1 - gap) * raw * (1 + _TUNING.min_repair_increase) <= self.lower:
                    self._mend(state, rho, sweeps=int(max(0, min(left, _TUNING.repair_steps))))
                    used += _TUNING.repair_steps
                self.tell("steps", done=state.count, lower=self.lower, upper=self.upper)
                if last or (1 - gap) * self.upper <= self.lower:
                    break
        self.steps = state.count
        if self.best is None:
            self._hand_in(np.full(self.cost.shape, 1 / self.cost.shape[1]))
        if self.best is None:
            raise SolverError("no mechanism on this net passed the verifier", "not verified")
        self.trace.append(f"{state.count} primal-dual steps, {state.restarts} restarts.")

    def _away(self) -> NDArray[np.float64]:
        """Return the distances from control points to reports, float64 ``(V, K)``, in sides of a cell. ``O(V K)``."""
        columns, rows = np.divmod(np.arange(len(self.cost)), self.net.points[1])
        at = (np.stack([columns, rows], axis=1) - 0.5)[:, None]
        home = (self.places - self.net.low) / self.net.side
        away: NDArray[np.float64] = np.hypot(*(at - home).transpose(2, 0, 1))
        return away

    def _look(self, state: NetIterate, rho: float) -> float:
        """Update the lower bound, and return the loss of the iterate with its rows scaled to sum 1.

        It is no upper bound: the iterate may violate the condition. `rho` is nats a cell. ``O(nodes K)``.
        """
        # The bound is for all of epsilon: a little less of the decay is all that the multipliers lose.
        for multipliers in (state.L, state.mean()):
            self.lower = max(self.lower, state.bound(multipliers, rho))
        matrix = state.matrix()
        sums = np.maximum(matrix.sum(axis=1), 1e-30)
        return float(((self.cost * matrix).sum(axis=1) / sums).sum())

    def _mend(self, state: NetIterate, rho: float, *, sweeps: int) -> None:
        """Repair the iterate in at most `sweeps` sweeps and hand it in, if there is time for enough of them.

        `rho` is nats a cell. Nothing happens if a row of the iterate is zero.
        """
        matrix, within = state.matrix(), rho * (1 - _TUNING.rounding_share)
        if matrix.sum(axis=1).min() > 0 and sweeps >= _TUNING.min_sweeps:
            cells = self.net.cells
            self._hand_in(mend_net(cells, matrix, within, sweeps=sweeps, threads=self.threads))

    def _hand_in(self, table: NDArray[np.float64]) -> None:
        """Round a table ``(V, K)`` to integers, verify it, and keep it if it is private and loses less.

        Else nothing changes.
        """
        if self.best is not None and float((self.cost * table).sum()) >= self.upper:
            return
        weights = round_net(self.net.cells, table, float(self.rho))
        if weights is None:
            return
        plane = plane_and_net(self.frame, self.net)
        certificate = verify_table(ClaimedTable(*plane, NET_BITS, self.claim, weights))
        if not certificate.passed:
            self.trace.append("an iterate did not pass the verifier.")
            return
        upper = float((self.cost * weights).sum()) / 2**NET_BITS
        # A sum of non-negative floats, pairwise: its relative error is far below this.
        upper *= 1 + 2.0**-40
        if upper < self.upper:
            self.best, self.upper = (weights, certificate), upper

    def outcome(self, gap: float | None) -> LatticeDesign:
        """Return the design of the best table, with its bound for this net; SolverError without a table.

        The status says whether `gap`, relative to the loss, is reached; ``None`` asks for none.
        """
        if self.best is None:  # pragma: no cover - solve raised
            raise SolverError("no mechanism on this net passed the verifier", "not verified")
        weights, certificate = self.best
        region, unit = self.region, self.region.unit
        lower = min(self.lower, self.upper)
        self.trace.append(f"no mechanism on this net loses less than {at_least(lower)} {unit}.")
        status = "no gap asked for"
        if gap is not None:
            reached = self.upper - lower <= gap * self.upper
            status = "gap reached" if reached else "limit reached"
        facts: dict[str, int | float | str] = {
            "columns": self.net.points[0],
            "rows": self.net.points[1],
            "reports": len(self.places),
            "steps": self.steps,
        }
        inputs = public_inputs(region, self.problem)
        made = LatticeDesign(
            frame=self.frame,
            net=self.net,
            reports=self.places,
            shown=report_texts(region, self.frame, self.places),
            weights=weights,
            bits=NET_BITS,
            guarantee=self.claim,
            certificate=certificate,
            lower=None,
            mesh_lower=lower,
            upper=self.upper,
            provenance=Provenance(METHOD, facts, inputs, tuple(self.trace)),
            region=region,
            status=status,
        )
        return mark_verified(made)


def _net(
    region: Region,
    places: NDArray[np.int64],
    reach: int,
    rate: Fraction,
    spacing: Exact | None,
) -> ControlNet:
    """Return a net over the box around places: the finest of a few whose table is small enough.

    `places` are ``(K, 2)`` decimeters, as `reach`; `rate` is epsilon per decimeter; `spacing`, in the unit of
    `region`, is the only side tried. InvalidProblemError if all tables are too large.
    """
    sides = cell_sides(region, rate, _RATES, spacing, coarser=_COARSER, finer=_LARGEST_FACTOR)
    x, y = places.min(axis=0).tolist()
    size = 0
    for number, side in enumerate(sides):
        wide, tall = (max(1, -(-across // side)) for across in np.ptp(places, axis=0).tolist())
        size = (wide + 2) * (tall + 2) * len(places)
        finest = number == 0 and len(sides) > 1
        if size <= (_FEW if finest else _MOST_TABLE):
            return ControlNet((x, y), side, (wide, tall), reach)
    expected = (
        f"a table of at most {printed.count(_MOST_TABLE)} weights; use one noise, or places only"
    )
    raise InvalidProblemError("region", expected, printed.count(size))


def _on_points(
    net: ControlNet, places: NDArray[np.int64], cost: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the cost ``(V, K)`` at control points from `cost` ``(P, K)`` at `places` ``(P, 2)`` drawn there.

    `net` gives the weights of a place at its nine control points; `places` are in decimeters. ``O(P K)``.
    """
    first, weights = net.coefficients(places)
    columns, rows = net.points
    moved = np.zeros((columns * rows, cost.shape[1]))
    for i in range(3):
        for j in range(3):
            at = (first[:, 0] + i) * rows + first[:, 1] + j
            np.add.at(moved, at, (weights[:, 0, i] * weights[:, 1, j])[:, None] * cost)
    return moved
