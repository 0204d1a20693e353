"""Where a computation stands, as told to every ``on_progress``.

Only the command line prints; everything else calls back with one frozen record. Progress of a differentially private
release holds no total, time or count that depends on private data.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.core.options import callback
from discreet.core.printed import at_least, at_most, gap, seconds, seconds_left, share_at_least

if TYPE_CHECKING:
    from collections.abc import Callable

FINAL_VERIFICATION = "final verification"
"""Stage of a design whose search has ended, to which its time limit does not apply."""


def gap_between(lower: float | None, upper: float | None) -> float | None:
    """Return ``(upper - lower) / upper``, 0 where the bounds meet; ``None`` without both.

    Examples
    --------
    >>> gap_between(9.0, 10.0), gap_between(0.0, 0.0)
    (0.1, 0.0)
    """
    if lower is None or upper is None:
        return None
    return 0.0 if upper <= lower else (upper - lower) / upper


@final
@dataclass(frozen=True)
class Progress:
    """Where a computation stands.

    Parameters
    ----------
    elapsed
        Seconds since its start; ``None`` in a differentially private release, where they depend on private data.
    stage
        What has just ended, or what is going on, in a few words.
    done, total
        Steps of the stage that are done, and how many there are, where they are counted.
    lower, upper
        Best proven bounds so far, where there are some; a lower one of 0 says nothing and is not printed.

    Examples
    --------
    >>> print(Progress(1.5, "columns", done=3, total=10, lower=0.9, upper=1.0))
    1.5 s, columns, 3 of 10, loss 1, gap 10 %
    >>> Progress(0.1, "kernel").gap is None
    True
    """

    elapsed: float | None
    stage: str
    done: int | None = None
    total: int | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def gap(self) -> float | None:
        """``(upper - lower) / upper``, 0 where the bounds meet; ``None`` without both bounds."""
        return gap_between(self.lower, self.upper)

    def __str__(self) -> str:
        parts = [self.stage] if self.elapsed is None else [seconds(self.elapsed), self.stage]
        if self.done is not None:
            parts.append(f"{self.done}" if self.total is None else f"{self.done} of {self.total}")
        if self.upper is not None:
            parts.append(f"loss {at_most(self.upper)}")
        elif self.lower:
            parts.append(f"loss at least {at_least(self.lower)}")
        if self.gap is not None:
            parts.append(f"gap {gap(self.lower, self.upper)}")
        return ", ".join(parts)


@final
class Pace:
    """Text of each step, with the share of its stage that is done and the time left at the pace of this stage.

    The steps of a search are not counted: its share is that of the way to the target gap, on a logarithmic scale, on
    which a gap falls evenly. A step without a time, as of a differentially private release, has no time left either.

    Parameters
    ----------
    target
        Gap at which a search ends; ``None`` or 0 for no estimate.
    time_limit
        Seconds after which a search ends.

    Examples
    --------
    >>> pace = Pace()
    >>> print(pace(Progress(2.0, "columns", done=0, total=10)))
    2 s, columns, 0 of 10
    >>> print(pace(Progress(5.0, "columns", done=3, total=10)))
    5 s, columns, 3 of 10, 30 %, about 7 s left
    >>> search = Pace(target=0.01)
    >>> print(search(Progress(1.0, "direct", lower=0.0, upper=1.0)))
    1 s, direct, loss 1, gap 100 %
    >>> print(search(Progress(4.0, "direct", lower=0.9, upper=1.0)))
    4 s, direct, loss 1, gap 10 %, 50 %, about 3 s left
    """

    def __init__(self, target: float | None = None, time_limit: float | None = None) -> None:
        self._begun: Progress | None = None
        self._done = 0
        self._target, self._time_limit = target, time_limit

    def __call__(self, step: Progress) -> str:
        """Return the text of a step, which is later than those before.

        `step` is of the same computation as those before. The time left needs two steps with times of one stage.
        """
        if step.total is None and step.elapsed is not None:
            return self._search(step, step.elapsed)
        first, done = self._begun, step.done or 0
        if first is None or first.total != step.total or done < self._done:
            first = self._begun = step
        self._done = done
        if not step.done or not step.total or step.done >= step.total:
            return str(step)
        text = f"{step}, {share_at_least(Fraction(step.done, step.total), 0)}"
        steps = done - (first.done or 0)
        if step.elapsed is None or first.elapsed is None or not steps:
            return text
        left = (step.elapsed - first.elapsed) / steps * (step.total - step.done)
        return f"{text}, about {seconds_left(left)} left"

    def _search(self, step: Progress, elapsed: float) -> str:
        """Return the text of a step of a search, whose time left is no more than its limit leaves.

        `elapsed` is seconds since the start. The time left is extrapolated from the logarithm of the gap; without a
        target and a limit of time only the step's own text is returned.
        """
        text, estimate = str(step), math.inf
        if self._target and step.gap is not None and step.gap > self._target:
            first = self._begun
            if first is None or first.elapsed is None or not first.gap or first.gap <= step.gap:
                self._begun = step
            else:
                covered, ahead = math.log(first.gap / step.gap), math.log(step.gap / self._target)
                text += f", {share_at_least(covered / (covered + ahead), 0)}"
                estimate = (elapsed - first.elapsed) * ahead / covered
        if step.stage == FINAL_VERIFICATION:
            return str(step)
        if self._time_limit is not None and 0 < self._time_limit - elapsed < estimate:
            return f"{text}, at most {seconds_left(self._time_limit - elapsed)} left"
        return text if math.isinf(estimate) else f"{text}, about {seconds_left(estimate)} left"


@final
class Reporter:
    """Calls ``on_progress``, if there is one, with the seconds since it was made; a release tells none.

    Parameters
    ----------
    on_progress
        Called with each :class:`Progress`; ``None`` for nothing.
    clock
        Tells seconds. Default: a monotonic clock. ``None`` where they must not be told.

    Examples
    --------
    >>> told = []
    >>> report = Reporter(told.append, clock=lambda: 7.0)
    >>> report("isotonic regression", done=1, total=2)
    >>> told
    [Progress(elapsed=0.0, stage='isotonic regression', done=1, total=2, lower=None, upper=None)]
    >>> Reporter(lambda step: print(step), clock=None)("draws", done=1, total=2)
    draws, 1 of 2
    """

    def __init__(
        self,
        on_progress: Callable[[Progress], None] | None,
        clock: Callable[[], float] | None = time.monotonic,
        *,
        start: float | None = None,
    ) -> None:
        callback(on_progress)
        self._on_progress, self._clock = on_progress, clock
        self._start = clock() if start is None and clock is not None else start or 0.0

    def __call__(
        self,
        stage: str,
        *,
        done: int | None = None,
        total: int | None = None,
        lower: float | None = None,
        upper: float | None = None,
    ) -> None:
        """Report a stage, the share done and the bounds.

        `stage` names the stage; `done` of `total` steps are done; `lower` and `upper` are bounds in the unit of the
        loss. Nothing is done without ``on_progress``, whose errors pass through.
        """
        if self._on_progress is not None:
            elapsed = None if self._clock is None else self._clock() - self._start
            self._on_progress(Progress(elapsed, stage, done, total, lower, upper))
