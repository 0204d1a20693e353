"""The best mixture of multipliers so far, by line searches: the bound is concave in them.

Each checkpoint has two new points, the last multipliers and their mean. Between what is kept and each of them the bound
is concave, so that some places on the way show where it is highest. That helps early: 1,000 random points, after 240
steps, had a bound of 2.591 by the last multipliers, 2.753 by their mean, and 2.808 by half of each; after 1,480 steps
nothing was gained (November 2026).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.metricdp.primal_dual.iterate import share

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.metricdp.primal_dual.iterate import Iterate

__all__ = ["Mixture"]

_PLACES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
"""Where the way to new multipliers is looked at first."""

_BETWEEN = 4
"""Places that are looked at between the best of these and its neighbors."""

_BACK = np.array([0.0005, 0.002, 0.0075, 0.02, 0.05])
"""How far multipliers are scaled back: most brackets gain, and few that are the least lose."""

_ROWS = 16
"""Rows that are looked at together, so that they stay in the cache."""


@final
class Mixture:
    """Multipliers that are kept, with their bound; at first none.

    Parameters
    ----------
    cost
        ``(n, n_reports)``, in the order of the iterate.
    state
        The iterate.
    """

    def __init__(self, cost: NDArray[np.float64], state: Iterate) -> None:
        self.cost, self.state = cost, state
        self.brackets = cost.copy()
        self.L = np.zeros_like(state.L)
        self.lower = float(cost.min(axis=1).sum())
        self.fresh = False

    def learn(self, pool: ThreadPoolExecutor | None) -> None:
        """Mix in the last multipliers, and their mean, as far as the bound gains; then scale back."""
        self.mix(self.state.L, pool)
        if self.state.summands:
            self.mix(self.state.mean(), pool)
        self._back(pool)

    def polish(self, steps: int, pool: ThreadPoolExecutor | None, late: Callable[[], bool]) -> None:
        """Mix in the last multipliers after so many steps that only make them feasible, fewer once it is late."""
        self.mix(self.state.polished(steps, pool, late), pool)
        self._back(pool)

    def mix(self, L: NDArray[np.float32], pool: ThreadPoolExecutor | None) -> None:
        """Go towards multipliers as far as the bound gains."""
        target = self.state.flows(L, pool)
        target += self.cost
        target -= self.brackets
        at, value = self._highest(target, _PLACES, pool)
        if value > self.lower:
            self._go(target, at, L, value, pool)

    def _back(self, pool: ThreadPoolExecutor | None) -> None:
        # The kept ones are the last or the mean where it went all the way.
        target = self.cost - self.brackets
        at, value = self._highest(target, _BACK, pool)
        if value > self.lower:
            self._go(target, at, None, value, pool)

    def _highest(
        self,
        target: NDArray[np.float64],
        places: NDArray[np.float64],
        pool: ThreadPoolExecutor | None,
    ) -> tuple[float, float]:
        """Find the best of some places on the way, then of some around it."""
        for _ in range(2):
            values = self._values(target, places, pool)
            best = int(values.argmax())
            at, value = float(places[best]), float(values[best])
            if value <= self.lower and best > 0:
                break
            low = float(places[best - 1]) if best else 0.0
            high = float(places[best + 1]) if best + 1 < len(places) else at
            between = np.linspace(low, high, _BETWEEN + 2)[1:]
            places = np.append(between, at)
        return at, value

    def _values(
        self,
        target: NDArray[np.float64],
        places: NDArray[np.float64],
        pool: ThreadPoolExecutor | None,
    ) -> NDArray[np.float64]:
        """Evaluate the bound at places on the way."""
        from discreet.metricdp.kernels.primal_dual import least_on_the_way

        n = len(target)
        pieces = -(-n // _ROWS)
        sums = np.zeros((pieces, len(places)))

        def add(piece: int) -> None:
            last = min(_ROWS * (piece + 1), n)
            least_on_the_way(_ROWS * piece, last, self.brackets, target, places, sums[piece])

        share(pool, self.state.threads, pieces, add)
        values: NDArray[np.float64] = sums.sum(axis=0)
        return values

    def _go(
        self,
        target: NDArray[np.float64],
        at: float,
        L: NDArray[np.float32] | None,
        value: float,
        pool: ThreadPoolExecutor | None,
    ) -> None:
        """Go so far on the way; ``None`` stands for no multipliers."""
        self.brackets += at * target
        kept, part = self.L, np.float32(at)

        def mix(block: int) -> None:
            mine = kept[block]
            mine *= np.float32(1) - part
            if L is not None:
                mine += part * np.maximum(L[block], np.float32(0))

        share(pool, self.state.threads, len(kept), mix)
        self.lower, self.fresh = value, True
