"""The primal-dual method as a method of design: its checkpoints, and when it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.jit import clock
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.methods.direct import priced_edges
from discreet.metricdp.part import Candidate
from discreet.metricdp.primal_dual.iterate import LANES, Iterate, Scaling
from discreet.metricdp.primal_dual.mend import mend, mend_all

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.part import Part, SearchLimits

__all__ = ["PrimalDual"]

_FIRST, _GROWTH = 200, 1.12
"""Steps before the first checkpoint, and from one to the next."""

_PATIENCE, _PATIENCE_ALL = 2.0, 3.0
"""How much longer the method runs before it hands in what is not thought enough."""

_SLOW, _LITTLE = 4000, 0.7
"""Steps from which on it matters whether twice as many have closed at least so much of the gap."""

_THETAS = (1.0, 0.9995, 0.999, 0.9975, 0.995, 0.99, 0.98, 0.96, 0.92, 0.85, 0.7, 0.5)
"""Factors by which multipliers are scaled back: most brackets gain, and few that are the least lose."""

_DELTA, _DELTA_ALL = 1e-4, 1e-3
"""Most of epsilon that mending leaves for rows that do not sum to one, and most where it takes all pairs at a time,
whose rounds take long."""

_SAFE = 0.97
"""Part of the gap to reach before prices alone are handed in for a channel that is there: rounding takes the rest."""

_MARGIN = 1.3
"""How much longer than the last time it may take to hand in the last iterate."""

_LEAST = 1e-6
"""What all prices that are left out may sum to for each report, in units of what a typical secret costs."""

_LEFT_OUT = 1e-4
"""What each of them may be, times the gap if that is known and at most 0.1: a bracket has few of them."""

_LISTING = 1.7e-7
"""Seconds for each multiplier that listing and evaluating take: 20 s for 200 million."""

_ALWAYS = 0.5
"""Seconds that a first bound may take although less is left."""

_SPARE = 4.0
"""Mending may take one part in so many of the time, as long as nothing says that it is the last."""

_MEND, _MEND_ALL = 25.0, 4.0
"""Steps that take as long as mending along the edges; and over all pairs, times their number for an edge: 900 secrets
and 15,700 edges took 5 CPU seconds for one, 0.024 for a step."""

_RARELY = 3.0
"""The first iterate is handed in after twice as many steps as mending so many times would take."""

_DENSE = 18
"""Constraints a secret beyond which a spanner stands for them."""

_FEW = 20
"""Edges a secret that the spanner may have."""

_DILATIONS = (1.002, 1.005, 1.01, 1.02, 1.04, 1.08, 1.15)
"""How much longer than a constraint its path in the spanner may be: the first that leaves few enough edges."""

_LARGEST_STATE = 6 * 2**30
"""Bytes beyond which the method does not start; a fixed number, so that the same input gives the same design."""


@final
@dataclass(frozen=True)
class PrimalDual:
    """Restarted primal-dual steps on the whole program, compiled.

    Parameters
    ----------
    iterations
        Steps after which to give up.
    persistent
        Whether to go on although twice the steps gained little, as where nothing else is left to try.

    Examples
    --------
    >>> PrimalDual(iterations=0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: iterations: expected at least one step, got 0
    """

    iterations: int = 30_000
    persistent: bool = True

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InvalidProblemError("iterations", "at least one step", self.iterations)

    def solve(self, part: Part, limits: SearchLimits) -> Candidate | None:
        """Take steps until what was handed in is enough, time is up, or the last step is taken.

        Returns
        -------
        Candidate or None
            ``None`` where nothing is constrained. Without a matrix where the state would not fit into memory, and
            where everything was handed in already.

        Raises
        ------
        LimitReachedError
            When the time would not be enough for a bound: to prepare the steps takes as long as many of them.

        Complexity
        ----------
        A step takes about a nanosecond for each of the ``2 m n_reports`` multipliers, and a gap of 1 % some 1,000 steps
        for 225 secrets, 5,000 for 1,000. Twenty bytes for each multiplier.
        """
        edges = priced_edges(part)
        if not len(edges) or part.n_reports < 2:
            return None
        # Of more a spanner with so many is taken, if there is one.
        first = _bounding(min(len(edges), _FEW * part.n), part.n_reports)
        left = np.inf if limits.seconds is None else max(limits.seconds, _ALWAYS)
        if limits.offer is not None and left < first:
            raise LimitReachedError(
                f"the first bound would take about {first:.2g} s, which are not left"
            )
        edges, dilation = _thinned(edges)
        blocks = -(-part.n_reports // LANES)
        needed = 4 * LANES * blocks * (9 * len(edges) + 12 * part.n)
        if needed > _LARGEST_STATE:
            note = f"Its state would take {needed / 2**30:.1f} GiB; it was not started. Anchored() needs less."
            return Candidate("primal-dual", None, None, note)
        home = part.cost.argmin(axis=0) if part.home is None else part.home
        nats = part.nats(edges.lengths)
        # Long edges of a spanner say nothing of how far the nearest are apart.
        step = float(np.median(nats if dilation == 1 else _nearest(edges, nats)))
        scaling = Scaling(part.cost, part.nats(part.paths), home, step)
        state = Iterate(part.cost, scaling, edges, nats, limits.threads)
        run = _Run(part, limits, state, dilation, persistent=self.persistent)
        return run.until(self.iterations)


def _bounding(edges: int, n_reports: int) -> float:
    """Estimate the seconds of a bound: its prices are listed and evaluated."""
    return _LISTING * 2 * edges * n_reports


def _thinned(edges: Adjacency) -> tuple[Adjacency, float]:
    """Choose edges whose paths are little longer than the constraints, where there are too many of these.

    The program on the spanner is then a relaxation, good for the bound, and its iterates are mended over all pairs.
    Nothing is claimed of either: repair and bound look at all constraints.
    """
    if len(edges) <= _DENSE * edges.n:
        return edges, 1.0
    from discreet.core.kernels.distances import spanner

    order = np.argsort(edges.lengths, kind="stable")
    pairs, lengths = edges.pairs[order], edges.lengths[order].astype(np.float64)
    for dilation in _DILATIONS:
        kept = spanner(edges.n, pairs, lengths, dilation * lengths)
        if kept.sum() <= _FEW * edges.n or dilation == _DILATIONS[-1]:
            break
    return edges.subgraph(np.sort(order[kept])), dilation


def _nearest(edges: Adjacency, nats: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the shortest edge of each secret."""
    nearest: NDArray[np.float64] = np.full(edges.n, np.inf)
    for side in edges.pairs.T:
        np.minimum.at(nearest, side, nats)
    return nearest


class _Run:
    """One run: the best bound so far, and what has been handed in."""

    def __init__(
        self, part: Part, limits: SearchLimits, state: Iterate, dilation: float, *, persistent: bool
    ) -> None:
        self.part, self.limits, self.state, self.persistent = part, limits, state, persistent
        self.dilation = dilation
        seconds = math.inf if limits.seconds is None else limits.seconds
        self.stop = clock() + seconds
        self.lower = -math.inf
        self.kept: tuple[NDArray[np.float32], float] | None = None
        # Before anything is measured: listing prices and evaluating their bound, and what else there is to do.
        self.bounding = _bounding(len(state.edges), part.n_reports)
        self.handing_in = max(0.15 * min(seconds, 60.0), 3 * self.bounding)
        short = seconds < 4 * _MARGIN * self.handing_in
        self.bounds_only = limits.offer is not None and short
        # In steps and not in seconds, so that the same input gives the same design.
        self.mending = _MEND if dilation == 1 else _MEND_ALL * part.n**2 / len(state.edges)
        self.mended, self.offered = 0.0, _RARELY * self.mending
        # What takes long is done more rarely.
        self.patience = _PATIENCE if dilation == 1 else _PATIENCE_ALL
        self.every = part.nats(part.paths) if dilation > 1 else None
        self.gap = self.upper = math.inf
        self.ready: NDArray[np.float64] | None = None
        self.pool: ThreadPoolExecutor | None = None

    def until(self, iterations: int) -> Candidate:
        state = self.state
        with state.pool() as self.pool:
            pool, checkpoint = self.pool, _FIRST
            while state.count < iterations:
                state.advance(pool)
                # The last iterate has to be mended and handed in, too, which may take as long as the last time.
                ahead = self.bounding if self.bounds_only else _MARGIN * self.handing_in
                late = clock() + ahead > self.stop
                last = late or state.count == iterations
                if last and self.bounds_only:
                    self._bound()
                    return self._candidate(None, self._multipliers())
                if last or (state.count >= checkpoint and not self.bounds_only):
                    checkpoint = int(_GROWTH * state.count)
                    found = self._check(last=last)
                    if found is not None:
                        return found
                if late:
                    break
        return self._candidate(None, None)

    def _check(self, *, last: bool) -> Candidate | None:
        """Evaluate bound and loss roughly; hand in what looks enough, or was waited for long enough."""
        part, state = self.part, self.state
        matrix = state.matrix()
        sums = matrix.sum(axis=1)
        if not sums.min() > 0:
            return None
        self._bound()
        loss = float(((part.cost * matrix).sum(axis=1) / sums).sum())
        gap, listens = self.limits.gap, self.limits.offer
        if listens is not None and self.lower >= (1 - _SAFE * gap) * self.upper:
            # What was mended before, handed in or not, may be enough now.
            ready, self.ready, self.upper = self.ready, None, math.inf
            if listens(self._candidate(ready, self._multipliers())):
                return self._candidate(None, None)
        # Before it is mended it breaks constraints and loses too little.
        near = abs(loss - self.lower) <= 0.8 * gap * abs(loss)
        wait = not last and (listens is None or state.count < self.patience * self.offered)
        if wait and not (near and state.count - self.mended >= _SPARE * self.mending):
            return None
        start = clock()
        matrix = self._mend(matrix)
        self.mended = state.count
        loss = float((part.cost * matrix).sum())
        if wait and loss - self.lower > (0.9 * gap if listens is None else gap) * loss:
            if listens is not None and loss < self.upper:
                self.ready, self.upper = matrix, loss
            return None
        self.offered, self.upper, self.ready = state.count, loss, None
        found = self._candidate(matrix, self._multipliers())
        if listens is None:
            return found
        before, self.gap = self.gap, (loss - self.lower) / (loss or 1.0)
        stalled = state.count >= _SLOW and self.gap > _LITTLE * before and not self.persistent
        enough = listens(found)
        self.handing_in = clock() - start
        return self._candidate(None, None) if enough or stalled else None

    def _mend(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        part, edges, gap = self.part, self.state.edges, self.limits.gap
        if self.every is not None:
            return mend_all(matrix, self.every, min(_DELTA_ALL, 0.1 * gap + 1e-7), self.pool)
        delta = min(_DELTA, 0.02 * gap + 1e-9)
        return mend(matrix, edges, part.nats(edges.lengths), delta)

    def _bound(self) -> None:
        """Bound by the last multipliers and by their mean, scaled back as far as the bound gains; keep the best."""
        cost, state = self.part.cost, self.state
        for L in (state.L, state.mean()):
            flows = state.flows(L, self.pool)
            value, theta = -math.inf, 0.0
            for factor in _THETAS:
                scaled = float((cost + factor * flows).min(axis=1).sum())
                # A sum of minima is concave in the factor.
                if scaled < value:
                    break
                value, theta = scaled, factor
            if value > self.lower:
                self.lower, self.kept = value, (L.copy(), theta)

    def _multipliers(self) -> Multipliers | None:
        """State the best prices since the last time, if there are any, unscaled and at full epsilon."""
        if self.kept is None:
            return None
        from discreet.metricdp.kernels.primal_dual import list_prices

        (L, theta), self.kept = self.kept, None
        state, columns, prices = self.state, np.empty((3, 0), dtype=np.int32), np.empty(0)
        # Prices are in units of what a row costs: as many as there are secrets and constraints change little.
        gap = min(self.gap, 0.1) if self.limits.offer is not None else 0.0
        least = max(_LEAST / len(state.edges), _LEFT_OUT * gap)
        for _ in range(2):
            count = list_prices(L, state.S, state.ends, state.shrink, least, columns, prices)
            if len(prices) < count:
                columns, prices = np.empty((3, count), dtype=np.int32), np.empty(count)
        report, source, target = columns
        return Multipliers(report, source, target, prices * (theta * state.scaling.unit))

    def _candidate(
        self, matrix: NDArray[np.float64] | None, prices: Multipliers | None
    ) -> Candidate:
        count, restarts = self.state.count, self.state.restarts
        note = f"{count} primal-dual steps, {restarts} restarts."
        facts = {"iterations": count, "restarts": restarts}
        if self.dilation > 1:
            note = f"{note[:-1]}, on {len(self.state.edges)} edges of a {self.dilation:g}-spanner."
        return Candidate("primal-dual", matrix, prices, note, facts, rough=True)
