"""The sampled audit: events learned from the samples so far, tested on the next ones, with a stated failure.

Each stage doubles the samples. What they show is tested on fresh ones alone, and the probability of failure is divided
among all the bounds of all stages beforehand, so that an audit may stop as soon as it has shown enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import estimate
from discreet.core.randomness import as_bits
from discreet.evaluate.audit.claims import strength
from discreet.evaluate.audit.events import learn
from discreet.evaluate.audit.exact import MAX_NAMED_OUTCOMES, Shown
from discreet.evaluate.intervals import least_chance, most_chance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits, UniformSource
    from discreet.evaluate.audit.claims import Auditable
    from discreet.evaluate.audit.events import Event

    Rows = NDArray[np.float64]
    Run = Callable[[Any, RandomBits], object]
    Batch = Callable[[Any, int, RandomBits], Any]


class SamplingPlan(NamedTuple):
    """How samples are taken and judged."""

    claim: Auditable
    claimed: Fraction
    failure: float
    samples: int
    own: Sequence[tuple[str, Callable[[Rows], NDArray[np.float64]]]]
    events_per_stage: int = 4
    """Events that are tested at each stage; each takes its part of the probability of failure."""
    pairs_after_first_stage: int = 6
    """Pairs that are followed beyond the first stage: the most promising ones."""


def stages(samples: int, *, min_first_stage: int = 512) -> list[int]:
    """Divide the samples of one input into stages, each as large as all before it.

    The first of three stages or more has at least `min_first_stage` samples.

    `samples` is at least 2, and the stages add up to it.

    Examples
    --------
    >>> stages(100_000)
    [781, 781, 1563, 3125, 6250, 12500, 25000, 50000]
    >>> stages(10)
    [5, 5]
    """
    ends = [samples]
    while ends[-1] // 2 >= min_first_stage or len(ends) < 2:
        ends.append(ends[-1] // 2)
    ends.reverse()
    return [ends[0], *(after - before for before, after in pairwise(ends))]


@final
@dataclass(eq=False)
class Samples:
    """Samples of the outcomes on each input, taken when they are requested.

    Parameters
    ----------
    run, batch
        The mechanism, one outcome at a time or many.
    bits
        Where chance comes from.
    executor
        Who runs it; ``None`` for this thread.
    samples_per_task
        Largest number of samples that one call draws.
    names
        Numbers of outcomes that are no numbers.
    """

    run: Run | None
    batch: Batch | None
    bits: UniformSource | None
    executor: Executor | None
    samples_per_task: int = 4096
    names: dict[object, int] = field(default_factory=dict)
    _rows: dict[int, list[Rows]] = field(default_factory=dict)

    def of(self, stage: int, sizes: list[int], data: object) -> list[Rows]:
        """Return the rows of each stage from 0 to `stage`, one array each; `data` is sampled once for each stage."""
        drawn_rows = self._rows.setdefault(id(data), [])
        while len(drawn_rows) <= stage:
            drawn_rows.append(self._draw(data, sizes[len(drawn_rows)]))
        return drawn_rows[: stage + 1]

    def _draw(self, data: object, size: int) -> Rows:
        """Run the mechanism `size` times on one input, in processes if there is an executor; floats ``(size, m)``.

        Outcomes that are not numbers are numbered.
        """
        most = self.samples_per_task
        parts = [min(most, size - first) for first in range(0, size, most)]
        if self.executor is None:
            drawn = [draw(self.run, self.batch, data, part, self.bits) for part in parts]
        else:
            futures = [
                self.executor.submit(draw, self.run, self.batch, data, part, None) for part in parts
            ]
            drawn = [future.result() for future in futures]
        rows = [row for part in drawn for row in part] if isinstance(drawn[0], list) else None
        return self._coded(rows) if rows is not None else np.concatenate(drawn)

    def _coded(self, outcomes: list[object]) -> Rows:
        """Number outcomes that are no numbers, in the order of their appearance."""
        numbers = [self.names.setdefault(outcome, len(self.names)) for outcome in outcomes]
        return np.array(numbers, dtype=np.float64)[:, None]


def draw(
    run: Run | None, batch: Batch | None, data: object, size: int, bits: UniformSource | None
) -> Any:  # noqa: ANN401 - rows of numbers, or a list of other outcomes
    """Draw `size` independent outcomes; at the top of the module, so that a process can be sent it.

    Returns
    -------
    ndarray or list
        Rows ``(size, m)`` where outcomes are numbers or arrays of one shape, else a list of hashable outcomes.

    Raises
    ------
    InvalidProblemError
        If `batch` returns another number of outcomes.
    """
    source = as_bits(bits)
    if batch is not None:
        outcomes = batch(data, size, source)
    elif run is not None:
        outcomes = [run(data, source) for _ in range(size)]
    if len(outcomes) != size:
        raise InvalidProblemError("batch", f"{size} outcomes", len(outcomes))
    try:
        rows = np.asarray(outcomes, dtype=np.float64)
    except (TypeError, ValueError):
        return [_plain(outcome) for outcome in outcomes]
    return rows.reshape(size, -1)


def _plain(outcome: Any) -> object:  # noqa: ANN401 - a sampler may return anything
    """Return an outcome with arrays and lists as tuples."""
    if isinstance(outcome, np.ndarray | np.generic):
        outcome = outcome.tolist()
    if isinstance(outcome, list | tuple):
        return tuple(_plain(part) for part in outcome)
    return outcome


def try_pairs(
    samples: Samples,
    pairs: Sequence[tuple[object, object, Fraction | None]],
    plan: SamplingPlan,
    on_stage: Callable[[int, float], None] | None,
) -> tuple[Shown, int, int]:
    """Sample, learn and test, stage by stage, until the claim is refused or the samples are used up.

    At most ``plan.samples`` runs of each input; each stage also sorts the samples of all followed pairs by each
    score.

    Parameters
    ----------
    samples, plan
        Where samples come from, and how they are judged.
    pairs
        First input, second input, and the distance between them, or ``None`` if the claim has no distances.
    on_stage
        ``on_stage(n, bound)`` after each stage: the `used` and the best bound so far, which never falls.

    Returns
    -------
    shown : Shown
        The best bound of all stages; all of them hold together but for the stated probability.
    pair : int
        Index of the pair that showed it; 0 if none did.
    used : int
        Samples of each input of the most sampled pairs. Pairs that promise less get fewer, after the first stage.
    """
    sizes = stages(plan.samples)
    share = plan.failure / (2 * plan.events_per_stage * (len(sizes) - 1))
    followed = list(range(len(pairs)))
    best, where = Shown(Fraction(0), "none", 0.0, 1.0, forward=True), 0
    for stage in range(1, len(sizes)):
        learned: list[tuple[float, int, Event]] = []
        for number in followed:
            first, second, distance = pairs[number]
            ours, theirs = (
                np.concatenate(samples.of(stage - 1, sizes, data)) for data in (first, second)
            )
            events = learn(
                ours,
                theirs,
                plan.claim,
                distance,
                trials=sizes[stage],
                failure=share,
                own=plan.own,
                numeric=not samples.names,
            )
            learned += [(event.promise, number, event) for event in events[: plan.events_per_stage]]
        learned.sort(key=lambda entry: -entry[0])
        for _, number, event in learned[: plan.events_per_stage]:
            first, second, distance = pairs[number]
            rows = [samples.of(stage, sizes, data)[-1] for data in (first, second)]
            shown = _tested(event, rows, plan.claim, distance, share)
            shown = replace(shown, event=_words(event, rows, samples.names))
            if shown.rank > best.rank:
                best, where = shown, number
        if on_stage is not None:
            on_stage(sum(sizes[: stage + 1]), float(best.strength))
        if best.strength < 0 or best.strength > plan.claimed:
            return best, where, sum(sizes[: stage + 1])
        followed = list(dict.fromkeys(number for _, number, _ in learned))[
            : plan.pairs_after_first_stage
        ]
    return best, where, sum(sizes)


def _tested(
    event: Event, rows: list[Rows], claim: Auditable, distance: Fraction | None, share: float
) -> Shown:
    """Return the strength that an event proves on fresh samples; each of two bounds fails with chance `share`.

    `rows` are the samples on the first and on the second input, ``(n, m)`` each; `distance` is for metric claims.
    """
    one, other = rows if event.forward else rows[::-1]
    least = float(least_chance(int(event.holds(one).sum()), len(one), share))
    most = float(most_chance(int(event.holds(other).sum()), len(other), share))
    bound = strength(claim, Fraction(least), Fraction(most), distance)
    return Shown(bound, str(event), least, most, event.forward)


def _words(event: Event, rows: list[Rows], names: dict[object, int]) -> str:
    """List outcomes of an event by outcome, or of any if there are `names`, if 1 to 5 were seen; else its threshold."""
    if not (event.score.by_outcome or names):
        return str(event)
    seen = np.unique(np.concatenate([part[event.holds(part)] for part in rows]), axis=0)
    if not 0 < len(seen) <= MAX_NAMED_OUTCOMES:
        return str(event)
    if names:
        known = {number: outcome for outcome, number in names.items()}
        outcomes = [repr(known[int(row[0])]) for row in seen]
    else:
        outcomes = [_short(row) for row in seen]
    return (
        f"the outcome {outcomes[0]}"
        if len(outcomes) == 1
        else f"one of the outcomes {', '.join(outcomes)}"
    )


def _short(row: Rows) -> str:
    """Return the numbers of an outcome as text."""
    values = [estimate(value) for value in row.tolist()]
    return values[0] if len(values) == 1 else f"({', '.join(values)})"
