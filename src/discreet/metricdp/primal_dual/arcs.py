"""Primal-dual steps on arcs that each report has of its own, for spaces without a sparse spanner, as words.

An *arc* of a report is one direction of a constraint, ``e^-d z_source <= z_target``. Any arcs give a valid bound, since
leaving others out relaxes the program. They begin with fans: from the home of the report to every other secret, and,
if there is a hub in the middle, from and to that one. The closure of the iterate names the most violated arc of each
entry, and the costly ones among these are added. Variables and multipliers have steps of their own [PC11]_: a home has
as many arcs as there are secrets, others a few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.primal_dual.iterate import TileState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.metricdp.kernels.sizes import StepSizes


@final
@dataclass(eq=False)
class ArcTile(TileState):
    """Some reports, all secrets, and the arcs of each report.

    Parameters
    ----------
    homes
        ``(k,)``: home of each report.
    decay
        ``(n, n)``: ``e^-d`` of the constraints, 0 for other pairs and on the diagonal.
    has_hub
        Whether the last secret is a hub in the middle.
    """

    homes: NDArray[np.int64]
    decay: NDArray[np.float32]
    has_hub: bool

    def prepare(self, unit: float, _degree: NDArray[np.float64]) -> None:
        """Begin with the fans of each report, their prices 0, and costs divided by `unit`.

        The second argument is not used. Linear in secrets times reports and in the arcs.
        """
        n, k = self.cost.shape
        self.unit = unit
        hub = np.full((k, 2 * self.has_hub), n - 1)
        self.centers = np.concatenate([self.homes[:, None], hub], axis=1)
        self.inward = np.arange(self.centers.shape[1]) == 2
        shape = (*self.centers.shape, n)
        center = np.broadcast_to(self.centers[..., None], shape)
        leaf = np.broadcast_to(np.arange(n), shape)
        is_inward = self.inward[:, None]
        i = np.where(is_inward, leaf, center).ravel()
        j = np.where(is_inward, center, leaf).ravel()
        self.load = self.units.T * np.sqrt(self.local)
        self.shrink, self.R = self._weigh(np.repeat(np.arange(k), len(i) // k), i, j)
        self.source = i.astype(np.uint16)
        self.target = j.astype(np.uint16)
        self.keys = np.zeros(0, dtype=int)
        self.first = np.full(k + 1, len(i))
        self.L, self.L0 = np.zeros((2, len(i)), dtype=np.float32)
        self.best_multipliers = self.L[:0]
        self.X = np.ascontiguousarray(self.start.T, dtype=np.float32)
        self.S = np.ones((k, n), dtype=np.float32)
        self._scale()
        self.X0 = self.X.copy()
        self.G = np.zeros_like(self.X)
        self.sums = np.zeros(n)
        self.moved = np.zeros(2)

    def _weigh(
        self, report: NDArray[Any], i: NDArray[Any], j: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return factors and scales of arcs from `i` to `j`, and add them to the load of their ends. Linear.

        Steps of Pock and Chambolle: the inverse of the sum of a row's, or of a column's coefficients.
        """
        shrink = self.decay[i, j]
        units = self.units.T
        forth = shrink * units[report, i]
        back = np.where(shrink > 0, units[report, j], 0.0)
        larger = np.maximum(np.maximum(forth, back), np.finfo(float).tiny)
        norm = np.sqrt(larger * (forth + back))
        scale = np.divide(1.0, norm, out=np.zeros_like(norm), where=shrink > 0)
        n = len(self.cost)
        size = self.load.size
        for end, part in ((i, forth), (j, back)):
            self.load += np.bincount(report * n + end, part / larger, size).reshape(-1, n)
        return shrink, scale.astype(np.float32)

    def _scale(self) -> None:
        """Set the scales of variables by the load of each, and convert the point. Linear in the tables."""
        before, self.S = self.S, (self.units.T / np.sqrt(self.load)).astype(np.float32)
        self.X *= before / self.S
        self.W = self.cost.T.astype(np.float32) / np.float32(self.unit) * self.S
        self.squares = np.square(self.S, dtype=float).sum(axis=0)

    def _add(self, report: NDArray[Any], source: NDArray[Any], target: NDArray[Any]) -> None:
        """Add arcs with price 0, those that exist left out; call :meth:`set_anchor` afterwards.

        `report`, `source` and `target` are ``(arcs,)``, numbered as in the tile. Scales change with the number of
        arcs. A sort of the new ones, which are inserted.
        """
        n, k = self.cost.shape
        is_new = source != self.homes[report]
        report = report[is_new]
        i = source[is_new].astype(int)
        target = target[is_new]
        # By report, and then so that neighbors share no secret: a step would wait for each sum before the next is added
        # to it.
        keys = np.unique((report * n + (target - i) % n) * n + i)
        place = np.searchsorted(self.keys, keys)
        known = np.append(self.keys, -1)[place] == keys
        keys = keys[~known]
        place = place[~known]
        rest, i = np.divmod(keys, n)
        report, offset = np.divmod(rest, n)
        j = (i + offset) % n
        shrink, scale = self._weigh(report, i, j)
        self.keys = np.insert(self.keys, place, keys)
        fixed = int(self.first[0])
        self.first = fixed + np.searchsorted(self.keys, np.arange(k + 1) * n * n)
        at = fixed + place
        self.source = np.insert(self.source, at, i)
        self.target = np.insert(self.target, at, j)
        self.shrink = np.insert(self.shrink, at, shrink)
        self.R = np.insert(self.R, at, scale)
        self.L, self.L0 = (
            np.insert(self.L, at, 0.0),
            np.zeros(fixed + len(self.keys), dtype=np.float32),
        )
        if len(self.best_multipliers):
            self.best_multipliers = np.insert(self.best_multipliers, at, 0.0)
        self._scale()

    @property
    def reports_of_arcs(self) -> NDArray[np.int64]:
        """Report of each arc, ``(arcs,)``."""
        k = len(self.centers)
        every = np.arange(k)
        in_fans = np.repeat(every, self.first[0] // k)
        return np.concatenate([in_fans, np.repeat(every, np.diff(self.first))])

    @property
    def n_multipliers(self) -> int:
        """Number of multipliers."""
        return len(self.source)

    def largest_value(self) -> float:
        """Return an upper bound of the largest squared singular value of the scaled ratios: 1 for such steps."""
        return 1.0

    def grow(
        self,
        required: NDArray[np.float32],
        cover: float,
        *,
        min_violation: float = 0.02,
        min_required: float = 1e-7,
    ) -> None:
        """Add the most costly of the violated arcs.

        Parameters
        ----------
        required
            ``(k, n)``: the maximum of each entry and of its lower limits by the arcs, ``max_i decay_ij Z_ki``.
        cover
            Share of the loss added by raising that the added arcs account for.
        min_violation, min_required
            Least relative violation of an arc that is added, and least probability that it requires: smaller ones cost
            a step more than the loss that they save.
        """
        from discreet.metricdp.kernels.arcs import find_sources

        Z = self.table()
        added = self.cost.T * np.maximum(required - Z * (1 + min_violation), 0.0)
        added[required < min_required] = 0.0
        order = np.sort(added[added > 0])[::-1]
        if len(order):
            total = np.cumsum(order)
            least = order[min(int(np.searchsorted(total, cover * total[-1])), len(order) - 1)]
            report, target = np.nonzero(added >= least)
            source = np.zeros(len(report), dtype=int)
            find_sources(Z, self.decay, required, report, target, source)
            self._add(report, source, target)

    def table(self) -> NDArray[np.float32]:
        """Return the channel of the iterate, ``(k, n)``: a row for each report."""
        return np.asarray(np.maximum(self.X * self.S, np.float32(0.0)))

    def matrix(self) -> NDArray[np.float64]:
        """Return the channel of the iterate, ``(n, k)``."""
        return self.table().T.astype(float)

    def raised(self) -> NDArray[np.float64]:
        """Return the channel of the iterate after one round of raising along its arcs, ``(n, k)``. Linear."""
        table = self.table()
        row = self.reports_of_arcs * len(self.cost)
        entries = table.ravel()
        required = self.shrink * entries[row + self.source]
        np.maximum.at(entries, row + self.target, required)
        return table.T.astype(float)

    def step(self, y: NDArray[np.float32], sizes: StepSizes) -> None:
        """Take one step at the row prices `y` ``(n,)``, in place; sets `sums`, the row sums, and `moved`.

        ``O(n)`` a report, ``O(1)`` an arc.
        """
        from discreet.metricdp.kernels import arcs as kernels

        graph = self.centers, self.inward, self.decay
        arcs = kernels.Arcs(*graph, self.first, self.source, self.target, self.shrink)
        self.sums = kernels.step_on_arcs(self.arrays, y, arcs, sizes, self.moved)

    def set_anchor(self) -> None:
        """Make the point the new anchor, negative multipliers 0, as prices of arcs cannot be. Linear."""
        np.maximum(self.L, 0.0, out=self.L)
        super().set_anchor()

    def sum_prices(self) -> None:
        """Sum anew what multipliers add to reduced costs. Linear."""
        self.G = np.ascontiguousarray(self._flow(self.L).T, dtype=np.float32)

    def _flow(self, L: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what multipliers `L` ``(arcs,)`` add to each reduced cost: ``(n, k)``, in scaled units. Linear."""
        n, k = self.cost.shape
        row = self.reports_of_arcs * n
        price = L * self.R.astype(float)
        inflow = np.bincount(row + self.source, self.shrink * price, n * k)
        outflow = np.bincount(row + self.target, price, n * k)
        return np.asarray((inflow - outflow).reshape(k, n).T, dtype=float)

    def least(self, factors: Sequence[float]) -> NDArray[np.float64]:
        """Return the least bracket of each row, for multipliers times each factor.

        ``(n, factors)``, in the unit of the loss; negative multipliers count as 0. ``O(n k)`` for each factor.
        """
        flow = self.unit * self._flow(np.maximum(self.L, np.float32(0.0)))
        return np.stack([(self.cost + by * flow).min(axis=1) for by in factors], axis=1)

    def prices(self, least: float) -> Multipliers:
        """Return the best multipliers above `least`, numbered as in the tile, in the unit of the loss.

        `least` is in units of a typical row's cost. Linear in the arcs.
        """
        price = self.best_multipliers * self.R.astype(float) * self.shrink
        arcs = np.flatnonzero(price > least)
        report = self.reports_of_arcs[arcs]
        return Multipliers(report, self.source[arcs], self.target[arcs], self.unit * price[arcs])
