"""Events learned from samples: thresholds on coordinates, on learned likelihood ratios, and on scores of the caller.

Any event may be learned in any way, as long as it is tested on samples that it was not learned from. What is learned
here: for whole outcomes and for each coordinate how much likelier it is on one input, the sum of the latter (the
likelihood ratio where coordinates are independent, as noise is), and the line along which the means differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.printed import estimate
from discreet.evaluate.audit.claims import rough_strength
from discreet.evaluate.intervals import least_chance, most_chance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.evaluate.audit.claims import Auditable

    Rows = NDArray[np.float64]
    Scores = NDArray[np.float64]


class _Limits(NamedTuple):
    """Limits on what is learned from samples; no verdict depends on them."""

    counted_values: int = 64
    """Values of a coordinate that are counted one by one; a coordinate with more is cut at quantiles."""
    quantile_bins: int = 32
    """Bins of a coordinate that is cut at quantiles."""
    thresholds: int = 200
    """Thresholds tried on a score."""
    coordinates: int = 24
    """Coordinates that are scores by themselves: those whose means differ most."""
    share_of_outcomes: float = 0.25
    """Share of different rows above which outcomes are too rare to be counted."""


_LIMITS = _Limits()


@final
@dataclass(frozen=True, eq=False)
class _Score:
    """A number for each outcome.

    Parameters
    ----------
    words
        Words for the score, in messages.
    of
        Rows of outcomes ``(n, m)`` -> their scores ``(n,)``.
    by_outcome
        Whether events of it are sets of outcomes, better told by naming them.
    """

    words: str
    of: Callable[[Rows], Scores]
    by_outcome: bool = False


@final
@dataclass(frozen=True)
class Event:
    """A threshold on a score, and the direction in which it is to be likelier.

    Parameters
    ----------
    score
        What is computed of each outcome.
    threshold
        Outcomes with a score of at least this, or at most where `upper` is false.
    upper
        Which side.
    forward
        Whether the event should be likelier on the first input of the pair.
    promise
        What it showed on the samples that it was learned from; proves nothing.
    """

    score: _Score
    threshold: float
    upper: bool
    forward: bool
    promise: float

    def holds(self, rows: Rows) -> NDArray[np.bool_]:
        """Return for each row whether the event happens."""
        scores = self.score.of(rows)
        return scores >= self.threshold if self.upper else scores <= self.threshold

    def __str__(self) -> str:
        return f"{self.score.words} {'>=' if self.upper else '<='} {estimate(self.threshold)}"


def learn(
    first: Rows,
    second: Rows,
    claim: Auditable,
    distance: Fraction | None,
    *,
    trials: int,
    failure: float,
    own: Sequence[tuple[str, Callable[[Rows], Scores]]],
    numeric: bool = True,
) -> list[Event]:
    """Learn events from samples of two inputs, the most promising first.

    Each score is computed for all rows and sorted; up to 200 thresholds are tried on it.

    Parameters
    ----------
    first, second
        Rows ``(n, m)`` of outcomes on each input, as many of both.
    claim, distance
        What is to be refused.
    trials, failure
        How many samples the events will be tested on, and with what probability of failure a bound may fail then.
    own
        Named scores of the caller.
    numeric
        Whether rows are numbers; else they are names, of which only whole ones mean anything.

    Returns
    -------
    list of Event
        At most one for each score, side and direction.
    """
    events = []
    for score in _scores(first, second, own, numeric=numeric):
        ours, theirs = np.sort(score.of(first)), np.sort(score.of(second))
        cuts = np.unique(np.concatenate([ours, theirs]))
        if len(cuts) > _LIMITS.thresholds:
            cuts = cuts[np.linspace(0, len(cuts) - 1, _LIMITS.thresholds).astype(np.int64)]
        for upper in (True, False):
            counts = [
                _beyond(side, cuts, upper=upper) * (trials / len(side)) for side in (ours, theirs)
            ]
            for forward in (True, False):
                one, other = counts if forward else counts[::-1]
                p, q = least_chance(one, trials, failure), most_chance(other, trials, failure)
                shown = rough_strength(claim, p, q, distance)
                best = int(np.argmax(shown))
                events.append(Event(score, float(cuts[best]), upper, forward, float(shown[best])))
    return sorted(events, key=lambda event: -event.promise)


def _beyond(ordered: Scores, cuts: Scores, *, upper: bool) -> NDArray[np.int64]:
    """Return how many rising scores are at least, or at most, each cut, ``(cuts,)``."""
    if upper:
        return np.asarray(len(ordered) - np.searchsorted(ordered, cuts, side="left"))
    return np.searchsorted(ordered, cuts, side="right")


def _scores(
    first: Rows,
    second: Rows,
    own: Sequence[tuple[str, Callable[[Rows], Scores]]],
    *,
    numeric: bool,
) -> Iterator[_Score]:
    """Yield scores of outcomes that may tell two sides apart, learned from ``(samples, numbers)`` of each.

    `own` are stated scores, with words; `numeric` tells that outcomes are numbers. A sort for each coordinate.
    """
    yield from (_Score(words, function) for words, function in own)
    by_outcome = _learn_whole(first, second)
    if by_outcome is not None:
        yield by_outcome
    if not numeric:
        return
    spread = np.sqrt(first.var(axis=0) + second.var(axis=0)) + 1e-12
    apart = (first.mean(axis=0) - second.mean(axis=0)) / spread
    places = np.argsort(-np.abs(apart), kind="stable")[: _LIMITS.coordinates]
    for place in places.tolist():
        yield _Score(f"outcome[{place}]", itemgetter((slice(None), place)))
    if first.shape[1] > 1:
        yield _Score("the line between the means", lambda rows: rows @ (apart / spread))
        yield _learn_ratios(first, second)


def _learn_ratios(first: Rows, second: Rows) -> _Score:
    """Add up over coordinates the log ratio of the counts of the value, binned where there are many.

    `first` and `second` are ``(samples, coordinates)``. A sort for each coordinate.
    """
    edges, tables = [], []
    for ours, theirs in zip(first.T, second.T, strict=True):
        values = np.unique(np.concatenate([ours, theirs]))
        if len(values) > _LIMITS.counted_values:
            pooled = np.concatenate([ours, theirs])
            values = np.unique(np.quantile(pooled, np.linspace(0, 1, _LIMITS.quantile_bins + 1)))
        counts = [
            np.bincount(np.searchsorted(values, side, side="right"), minlength=len(values) + 1)
            for side in (ours, theirs)
        ]
        edges.append(values)
        tables.append(_log_ratio(counts[0], counts[1]))

    def total(rows: Rows) -> Scores:
        """Return the sum of log ratios over coordinates, ``(rows,)``."""
        ratios = np.zeros(len(rows))
        for column, cuts, table in zip(rows.T, edges, tables, strict=True):
            ratios += table[np.searchsorted(cuts, column, side="right")]
        return ratios

    return _Score("log-likelihood ratio, learned by coordinates,", total)


def _learn_whole(first: Rows, second: Rows) -> _Score | None:
    """Return the log ratio of the counts of whole outcomes, rows of both samples.

    ``None`` if nearly all of them differ.
    """
    named = [_named(first), _named(second)]
    names, places = np.unique(np.concatenate(named), return_inverse=True)
    if len(names) > _LIMITS.share_of_outcomes * len(places) + 2:
        return None
    counts = [np.bincount(part, minlength=len(names)) for part in np.split(places, [len(named[0])])]
    table = _log_ratio(counts[0], counts[1])

    def ratio(rows: Rows) -> Scores:
        """Return the log ratio of each outcome, ``(rows,)``, 0 for one that was never seen."""
        named_rows = _named(rows)
        at = np.minimum(np.searchsorted(names, named_rows), len(names) - 1)
        return np.where(names[at] == named_rows, table[at], 0.0)

    return _Score("log-likelihood ratio, learned by outcomes,", ratio, by_outcome=True)


def _log_ratio(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Take the logarithm of a ratio of counts of as many samples, each with half a count more."""
    return np.asarray(np.log((ours + 0.5) / (theirs + 0.5)))


def _named(rows: Rows) -> NDArray[np.uint64]:
    """Hash each row to a number, ``(samples,)``.

    Two rows with one number make a weaker event, never a wrong verdict.
    """
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)
    total = np.zeros(len(rows), dtype=np.uint64)
    for place in range(bits.shape[1]):
        total = (total ^ (bits[:, place] >> np.uint64(29)) ^ bits[:, place]) * np.uint64(
            0x9E3779B97F4A7C15
        )
    return total
