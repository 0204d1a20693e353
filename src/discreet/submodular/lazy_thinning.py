r"""Lazy thinning: the exponential mechanism's law exactly, with as few evaluations as lazy greedy needs.

Gains of a submodular function only fall while a set grows, so that a gain known from before is an upper bound
:math:`u_e \ge q_e`. To feed such stale bounds to the exponential mechanism is not private: which of them were refreshed
depends on the records. Instead propose an element with probability proportional to :math:`e^{c u_e}`, evaluate it, and
accept it with probability :math:`e^{-c (u_e - q_e)}`; otherwise set :math:`u_e = q_e` and propose again.

The law of what is accepted is that of the exponential mechanism, whatever the bounds were. By induction over the number
of stale bounds, with :math:`Z_u = \sum_e e^{c u_e}` and :math:`Z = \sum_e e^{c q_e}`: e comes out at once with
probability :math:`e^{c q_e} / Z_u`, and later with :math:`(1 - Z / Z_u)\, e^{c q_e} / Z`, together
:math:`e^{c q_e} / Z`. The induction does not ask which bounds are refreshed after a rejection, as long as the one that
was rejected is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.randomness import bernoulli_exp, exponential_mechanism

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.objective import State

__all__ = ["LazyThinning"]

_MOST_AT_ONCE = 64
"""Bounds that are refreshed at once after many rejections; it changes the cost, not the law."""


@final
class LazyThinning:
    """Draws of the exponential mechanism from the gains of a set that grows.

    Parameters
    ----------
    state
        The set; it must be that of a (k-)submodular function. Elements are added to it by the caller.
    rate
        c divided by the unit of the gains: a draw is proportional to exp(rate times the gain).
    bits
        Source of chance.

    Notes
    -----
    How many elements are evaluated depends on the records, and so does the time. Neither is returned.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.randomness import SeededBits
    >>> from discreet.submodular import Coverage
    >>> state = Coverage([[True, False]] * 1000).start()
    >>> LazyThinning(state, Fraction(1), SeededBits(0)).draw(np.arange(2))
    (0, 0)
    """

    def __init__(self, state: State, rate: Fraction, bits: RandomBits) -> None:
        self._state = state
        self._rate = rate
        self._bits = bits
        self._bounds: NDArray[np.int64] | None = None
        self._known: NDArray[np.bool_] | None = None

    def draw(self, candidates: NDArray[np.int64]) -> tuple[int, int]:
        """Draw one pair of an element and its kind.

        Parameters
        ----------
        candidates
            ``(m,)`` different elements that may be chosen; a function of public facts and earlier draws alone.

        Returns
        -------
        element, kind : int
        """
        bounds = self._bounds_of(candidates)
        scores = bounds[candidates]
        kinds = scores.shape[1]
        flat = scores.reshape(-1)
        fresh = np.zeros(flat.size, dtype=np.bool_)
        rejections = 0
        while True:
            at = exponential_mechanism(flat, self._rate, 1, monotone=True, bits=self._bits)
            element, kind = int(candidates[at // kinds]), at % kinds
            if not fresh[at]:
                # A bound below the gain means that the function is not submodular; its gain then counts as the bound.
                gain = min(self._state.gain(element, kind), int(flat[at]))
                excess = int(flat[at]) - gain
                flat[at], fresh[at] = gain, True
                if not bernoulli_exp(self._rate * excess, self._bits):
                    rejections += 1
                    self._refresh(candidates, flat, fresh, rejections)
                    continue
            bounds[candidates] = flat.reshape(scores.shape)
            return element, kind

    def _bounds_of(self, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bounds for all pairs, with those of the candidates filled in where nothing was known."""
        state = self._state
        if self._bounds is None or self._known is None:
            first = state.gains(candidates)
            n = int(candidates.max()) + 1
            self._bounds = np.zeros((n, first.shape[1]), dtype=np.int64)
            self._known = np.zeros(n, dtype=np.bool_)
            self._bounds[candidates], self._known[candidates] = first, True
            return self._bounds
        lacking = int(candidates.max()) + 1 - len(self._known)
        if lacking > 0:
            self._bounds = np.pad(self._bounds, ((0, lacking), (0, 0)))
            self._known = np.pad(self._known, (0, lacking))
        new = candidates[~self._known[candidates]]
        if new.size:
            self._bounds[new], self._known[new] = state.gains(new), True
        return self._bounds

    def _refresh(
        self,
        candidates: NDArray[np.int64],
        flat: NDArray[np.int64],
        fresh: NDArray[np.bool_],
        rejections: int,
    ) -> None:
        """Refresh, with each rejection, twice as many of the highest stale bounds: they are the next proposals."""
        some = min(1 << (rejections - 1), _MOST_AT_ONCE)
        stale = np.flatnonzero(~fresh)
        if rejections == 1 or not stale.size:
            return
        order = np.argsort(-flat[stale], kind="stable")[:some]
        rows = np.unique(stale[order] // (flat.size // candidates.size))
        gains = self._state.gains(candidates[rows])
        kinds = gains.shape[1]
        places = (rows[:, None] * kinds + np.arange(kinds)).reshape(-1)
        flat[places] = np.minimum(flat[places], gains.reshape(-1))
        fresh[places] = True
