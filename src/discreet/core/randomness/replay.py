"""The replay harness: the exact law of a sampler, from running it over its possible draws.

A sampler that draws only through ``randrange`` and ``randranges`` is a function from draws to outcomes. The harness
runs it, unmodified, over its possible draws, the likeliest first, and adds up what comes out in fractions. What it did
not reach is a number, not a hope: :attr:`Law.unexplored`.
"""

from __future__ import annotations

import heapq
import operator
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits

    Step = tuple[int, int]

_PATIENCE = 1 << 10
"""A run is put back when it has become this much less likely than another that waits."""


@final
@dataclass(frozen=True)
class Law:
    """The explored part of a sampler's law.

    Parameters
    ----------
    masses
        For each outcome that was reached, the mass that surely falls on it.
    unexplored
        The mass of all draws that were not followed to an outcome. Each outcome may have up to this much more, and
        so may any set of outcomes.
    runs
        How many times the sampler was run.
    """

    masses: Mapping[Hashable, Fraction]
    unexplored: Fraction
    runs: int

    def bounds(self, outcome: Hashable) -> tuple[Fraction, Fraction]:
        """Bracket the probability of an outcome: its explored mass, and that plus all unexplored mass.

        Both ends are exact; an outcome that was never seen has the lower end 0.
        """
        least = self.masses.get(outcome, Fraction(0))
        return least, least + self.unexplored


class _SuspendedError(BaseException):
    """Ends a run that is to be continued later; not an Exception, so that no sampler catches it by accident."""


@final
class _Replay:
    """A source of bits that follows a given path of draws, then extends it with zeros."""

    def __init__(self, path: tuple[Step, ...], weight: int, limit: int, max_depth: int) -> None:
        self.path = list(path)
        self.fixed = len(path)
        self.weights = [weight]
        self.limit = limit
        self.max_depth = max_depth
        self.at = 0
        self.open: int | None = None

    def randrange(self, stop: int, /) -> int:
        """Return the number of this run's path at the next draw, or 0 for a draw beyond it, which joins the path.

        Raises
        ------
        InvalidProblemError
            If an earlier run with the same draws asked for another bound here.
        """
        stop = operator.index(stop)
        if stop < 1:
            raise InvalidProblemError("stop", "a positive integer", stop)
        if stop == 1:
            return 0
        if self.at == len(self.path):
            self._extend(stop)
        value, known = self.path[self.at]
        if known != stop:
            raise InvalidProblemError(
                "run", "a function of its draws alone", f"a draw below {known}, then below {stop}"
            )
        self.at += 1
        return value

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        """Return `size` draws below `stop`, ``(size,)`` uint64, each as of :meth:`randrange`."""
        return np.array([self.randrange(stop) for _ in range(size)], dtype=np.uint64)

    def _extend(self, stop: int) -> None:
        """Add a draw below `stop` to the path, at its 0; suspend the run where the path is too unlikely or too deep."""
        weight = self.weights[-1] * stop
        if len(self.weights) == 1:
            # The other values of this draw are about to wait; do not fall far behind them.
            self.limit = min(self.limit, weight * _PATIENCE)
        elif weight > self.limit:
            self.open = stop
            raise _SuspendedError
        if len(self.path) >= self.max_depth:
            self.open = 0
            raise _SuspendedError
        self.path.append((0, stop))
        self.weights.append(weight)


def enumerate_law(
    run: Callable[[RandomBits], object],
    *,
    max_runs: int = 20_000,
    max_depth: int = 10_000,
    min_mass: Fraction = Fraction(0),
) -> Law:
    """Find the exact law of a sampler by running it over its possible draws, the likeliest first.

    Parameters
    ----------
    run
        The sampler, given a source of bits. It must be a function of its draws; a dependence on anything else is
        found out when a path is run again. Outcomes are made hashable: arrays and lists become tuples.
    max_runs
        When to stop.
    max_depth
        Longest sequence of draws that is followed.
    min_mass
        Draws less likely than this are not followed.

    Returns
    -------
    Law
        The explored masses, exactly, and the mass that was left out.

    Raises
    ------
    InvalidProblemError
        When the sampler is found to depend on more than its draws.

    Notes
    -----
    ``randranges(stop, size)`` counts as ``size`` draws. A draw with many values, such as one below ``2^62``, is
    followed value by value, so that nearly all of it stays unexplored, and is counted as such.

    Complexity
    ----------
    One run for each outcome-deciding sequence of draws, and at most a few for each that is put back.

    Examples
    --------
    >>> law = enumerate_law(lambda bits: bits.randrange(2) + bits.randrange(2))
    >>> law.masses[1], law.unexplored
    (Fraction(1, 2), Fraction(0, 1))
    """
    explored: dict[Hashable, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    order = count()
    # (1 / mass, order, path before the draw, its next value, its bound); the first stands for no draw at all.
    waiting: list[tuple[int, int, tuple[Step, ...], int, int]] = [(1, next(order), (), 0, 1)]
    runs = 0
    while waiting and runs < max_runs:
        weight, _, before, value, stop = heapq.heappop(waiting)
        if min_mass * weight > 1:
            break
        if value + 1 < stop:
            heapq.heappush(waiting, (weight, next(order), before, value + 1, stop))
        path = before if stop == 1 else (*before, (value, stop))
        best = waiting[0][0] if waiting else weight
        replay = _Replay(path, weight, best * _PATIENCE, max_depth)
        runs += 1
        try:
            outcome = _hashable(run(replay))
        except _SuspendedError:
            if replay.open:
                last = (
                    replay.weights[-1] * replay.open,
                    next(order),
                    tuple(replay.path),
                    0,
                    replay.open,
                )
                heapq.heappush(waiting, last)
        else:
            explored[outcome][replay.weights[-1]] += 1
        if replay.at < replay.fixed:
            raise InvalidProblemError(
                "run", "a function of its draws alone", f"{replay.fixed} draws, then {replay.at}"
            )
        for i, heavier in enumerate(replay.weights[1:]):
            place = replay.fixed + i
            siblings = (heavier, next(order), tuple(replay.path[:place]), 1, replay.path[place][1])
            heapq.heappush(waiting, siblings)
    masses = {
        outcome: sum((Fraction(n, weight) for weight, n in parts.items()), Fraction(0))
        for outcome, parts in explored.items()
    }
    return Law(MappingProxyType(masses), 1 - sum(masses.values(), Fraction(0)), runs)


def _hashable(outcome: Any) -> Hashable:  # noqa: ANN401 - a sampler may return anything
    """Return an outcome with arrays and lists as tuples; raise TypeError for another that is not hashable.

    Objects of other types, such as mappings, are not converted; of arrays, numbers become Python's.
    """
    if isinstance(outcome, np.ndarray | np.generic):
        outcome = outcome.tolist()
    if isinstance(outcome, list | tuple):
        return tuple(_hashable(item) for item in outcome)
    hash(outcome)
    return outcome  # type: ignore[no-any-return] # hash() has just succeeded
