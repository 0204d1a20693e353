r"""Lazy thinning: the exponential mechanism's law exactly, with as few evaluations as lazy greedy needs.

Gains of a submodular function only fall while a set grows, so that a gain known from before is an upper bound
:math:`u_e \ge q_e`. To feed such stale bounds to the exponential mechanism is not private: which of them were refreshed
depends on the records. Instead propose an element with probability proportional to :math:`e^{c u_e}`, evaluate it, and
accept it with probability :math:`e^{-c (u_e - q_e)}`; otherwise set :math:`u_e = q_e` and propose again.

The law of the accepted element is that of the exponential mechanism, whatever the bounds were. By induction over the
number of stale bounds, with :math:`Z_u = \sum_e e^{c u_e}` and :math:`Z = \sum_e e^{c q_e}`: e is accepted first with
probability :math:`e^{c q_e} / Z_u`, and later with :math:`(1 - Z / Z_u)\, e^{c q_e} / Z`, together
:math:`e^{c q_e} / Z`. The induction does not ask which bounds are refreshed after a rejection, as long as the one that
was rejected is.

Draws from the gains of a growing set, and the loop that all greedy algorithms share.

Trusted: the guarantee rests on this code, which draws. A test enumerates its law.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, final

import numpy as np

from discreet.core.randomness import bernoulli_exp, exponential_mechanism
from discreet.submodular.accounting import Draws, strongest
from discreet.submodular.method import DrawPlan

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import IndependentSet, Matroid
    from discreet.submodular.method import Chosen
    from discreet.submodular.objectives.objective import GrowingChoice, Objective
    from discreet.submodular.problem import ChoiceFacts

    Among = Callable[[int, tuple[int, ...], NDArray[np.int64]], NDArray[np.int64]]


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

    def __init__(self, state: GrowingChoice, rate: Fraction, bits: RandomBits) -> None:
        self._state = state
        self._rate = rate
        self._bits = bits
        objective = state.objective
        self._bounds = np.zeros((objective.n_elements, objective.n_kinds), dtype=np.int64)
        self._known = np.zeros(objective.n_elements, dtype=np.bool_)

    def draw(self, candidates: NDArray[np.int64]) -> tuple[int, int]:
        """Draw one pair of an element and its kind.

        Evaluates the gains of candidates that are new, and then those of some proposals, at most all.
        The set stays as it is.

        Parameters
        ----------
        candidates
            ``(m,)`` different elements that may be chosen; a function of public facts and earlier draws alone.

        Returns
        -------
        element, kind : int
        """
        new = candidates[~self._known[candidates]]
        if new.size:
            self._bounds[new], self._known[new] = self._state.gains(new), True
        scores = self._bounds[candidates]
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
            self._bounds[candidates] = flat.reshape(scores.shape)
            return element, kind

    def _refresh(
        self,
        candidates: NDArray[np.int64],
        flat: NDArray[np.int64],
        fresh: NDArray[np.bool_],
        rejections: int,
        max_refreshed: int = 64,
    ) -> None:
        """Refresh, with each rejection, twice as many of the highest stale bounds: they are the next proposals.

        At most `max_refreshed` bounds are refreshed at once; the number changes the cost, not the law.

        `candidates` are ``(m,)``; `flat`, bounds, and `fresh`, whether they are exact, ``(m kinds,)``, changed in
        place. A sort, and some gains.
        """
        some = min(1 << (rejections - 1), max_refreshed)
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


class Drawer(Protocol):
    """A rule that draws the next pair of an element and its kind."""

    def draw(self, candidates: NDArray[np.int64]) -> tuple[int, int]:
        """Return a pair of an element and its kind.

        `candidates` ``(m,)``, at least one, are the elements that may be chosen.
        """
        ...


@final
@dataclass(frozen=True)
class FreshGains:
    """Draws from gains that are all evaluated anew.

    Parameters
    ----------
    state
        The set that grows.
    pick
        Index of the drawn gain, among the gains of all candidates and kinds.
    """

    state: GrowingChoice
    pick: Callable[[NDArray[np.int64]], int]

    def draw(self, candidates: NDArray[np.int64]) -> tuple[int, int]:
        """Evaluate the gains of all `candidates` ``(m,)`` and return the picked pair of an element and its kind."""
        gains = self.state.gains(candidates)
        at = self.pick(gains.reshape(-1))
        return int(candidates[at // gains.shape[1]]), at % gains.shape[1]


def grow(
    state: GrowingChoice,
    grown: IndependentSet,
    drawer: Drawer,
    draws: int,
    *,
    among: Among | None = None,
    on_draw: Callable[[int], None] | None = None,
) -> tuple[tuple[int, int], ...]:
    """Draw one pair after another, and add each to the choice.

    Draws end early where there is no candidate. `state` and `grown` are changed. One draw and one
    :meth:`IndependentSet.feasible` each.

    Parameters
    ----------
    state, grown
        The choice, with its value and gains, and its independent set, with the elements that still fit.
    drawer
        Law of each draw.
    draws
        Number of draws.
    among
        The candidates, from the number of the draw, from 0, the elements chosen so far and those that fit. Default:
        all that fit.
    on_draw
        Called after each draw with the number of draws so far.

    Returns
    -------
    tuple of tuple
        Pairs of an element and its kind, in order.
    """
    chosen = []
    for number in range(draws):
        feasible = np.flatnonzero(grown.feasible())
        candidates = feasible if among is None else among(number, grown.members, feasible)
        if not candidates.size:
            break
        element, kind = drawer.draw(candidates)
        state.add(element, kind)
        grown.add(element)
        chosen.append((element, kind))
        if on_draw is not None:
            on_draw(number + 1)
    return tuple(chosen)


def subset(elements: NDArray[np.int64], size: int, bits: RandomBits) -> NDArray[np.int64]:
    """Return a uniform subset of `size` of the elements ``(n,)``, ascending; all of them if there are no more.

    The input is not changed. `size` random integers.
    """
    if size >= elements.size:
        return elements
    left = elements.copy()
    for i in range(size):
        j = i + bits.randrange(left.size - i)
        left[i], left[j] = left[j], left[i]
    return np.sort(left[:size])


class GreedyDraws:
    """A base by r draws from the gains of the pairs that still fit.

    A subclass may limit the rules of the accountant, the inputs or the candidates. By default each draw is one of the
    exponential mechanism among all elements that fit, by lazy thinning if `lazy` holds and the function is known to be
    submodular.
    """

    name: ClassVar[str]
    rules: ClassVar[frozenset[str] | None] = None
    """Names of the rules of composition that the accountant may use; ``None`` for all."""
    lazy: bool

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Return the plan of r draws, r the matroid's rank, with the largest coefficient that the guarantee allows.

        `statement` holds the public facts, from which the width of a gain follows. About 30 evaluations of the
        accountant.

        Raises
        ------
        InvalidProblemError
            For a guarantee that no allowed rule of composition proves.
        """
        draws = Draws(matroid.rank)
        coefficient, accounting = strongest(draws, statement, guarantee, rules=self.rules)
        return DrawPlan(coefficient, accounting, matroid.rank, parameters=self.parameters)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the method, for the record of a release."""
        return {"lazy": self.lazy}

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: DrawPlan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Draw a base, one pair of an element and its kind after another; return the pairs in this order.

        `objective` holds the private records, `matroid` the public constraint; `plan` has the number of draws and the
        coefficient, the factor of a gain in the exponent, and `bits` is the source of chance. `on_draw` gets the
        number of draws so far. A draw computes the gains of all candidates; with `lazy` and a submodular function
        only the first does, later ones some gains.
        """
        state = self._start(objective, plan, bits)
        rate = Fraction(plan.coefficient or 0) / (1 << objective.scale_bits)
        grown, among = matroid.start(), self._candidates(matroid, plan, bits)
        drawer = self._drawer(state, rate, bits)
        return grow(state, grown, drawer, plan.draws, among=among, on_draw=on_draw)

    def _start(self, objective: Objective, plan: DrawPlan, bits: RandomBits) -> GrowingChoice:
        """Start with nothing chosen, on all records unless a method draws some of them."""
        del plan, bits
        return objective.start()

    def _drawer(self, state: GrowingChoice, rate: Fraction, bits: RandomBits) -> Drawer:
        """Return the law of each draw.

        Exact sampling by old gains as bounds, or the exponential mechanism on all gains. `rate` is the factor of a
        gain in the exponent, exact.

        `state` is the set that grows; old gains bound new ones where its function is submodular.
        """
        if self.lazy and state.objective.submodular:
            return LazyThinning(state, rate, bits)
        return FreshGains(
            state,
            lambda gains: exponential_mechanism(gains, rate, 1, monotone=True, bits=bits),
        )

    def _candidates(self, matroid: Matroid, plan: DrawPlan, bits: RandomBits) -> Among | None:
        """Return the choice of candidates among the elements that fit; ``None`` for all of them."""
        del matroid, plan, bits
        return None
