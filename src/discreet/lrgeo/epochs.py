r"""Time: one fresh report in each epoch of a public clock, repeated whatever the place.

Whether a report is fresh is decided by the clock and the spent epsilon, never by the place. So a sequence of reports is
T independent draws at known times, and for two ways x and x' of spending those times

.. math:: \Pr[r_1, \dots, r_T \mid x] \le \exp\Big(\sum_{t} \epsilon\, d(x_t, x'_t)\Big) \Pr[r_1, \dots, r_T \mid x'] :

the loss is epsilon times the sum of the distances over the epochs with a fresh report. A client who stays at one of two
places a kilometer apart loses epsilon for each of them, which is what the budgets count.

*Pinned places* are an exception that the user asks for: a place like home has one report, drawn once, which is shown
whenever one is there. Averaging then learns nothing of the place, but who sees the same report again learns that it is
the same place. The sum above does not cover that.

Trusted: the guarantee rests on this code, which repeats reports and counts what they spend.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.core.options import instance_of
from discreet.lrgeo.client import Client
from discreet.lrgeo.points.client import PointClient
from discreet.lrgeo.state import Source, State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.core.randomness.bits import RandomBits

SECONDS_PER_DAY = 86_400
"""Seconds in a day of the public clock: days begin at midnight UTC."""


@final
@dataclass(frozen=True, init=False)
class Epochs:
    """The public rule of when a report is fresh, and how much may be spent.

    Parameters
    ----------
    seconds
        Length of an epoch, a positive integer that divides a day, or days.
    per_day
        Epsilon per unit of distance that may be spent in a day of the clock; ``None`` for no limit.
    for_life
        The same in all; ``None`` for no limit.

    Raises
    ------
    InvalidProblemError
        For lengths or budgets that make no sense.

    Examples
    --------
    >>> hourly = Epochs(3600, per_day=24, for_life=1000)
    >>> hourly.number(7300), hourly.day(7300)
    (2, 0)
    """

    seconds: int
    per_day: Fraction | None
    for_life: Fraction | None

    def __init__(
        self, seconds: int = 3600, *, per_day: Exact | None = None, for_life: Exact | None = None
    ) -> None:
        number: Any = seconds
        is_positive = isinstance(number, int) and not isinstance(number, bool) and number > 0
        if not is_positive or (SECONDS_PER_DAY % number and number % SECONDS_PER_DAY):
            raise InvalidProblemError("seconds", "a divisor or a multiple of a day", repr(seconds))
        object.__setattr__(self, "seconds", seconds)
        for name, value in (("per_day", per_day), ("for_life", for_life)):
            budget = None if value is None else to_fraction(value, name)
            if budget is not None and budget <= 0:
                raise InvalidProblemError(name, "a positive budget, or None", value)
            object.__setattr__(self, name, budget)

    def number(self, now: float) -> int:
        """Return the number of the epoch at a time from 0 to 2^53 seconds since 1970, UTC; refuse others."""
        return int(_time(now) // self.seconds)

    def day(self, now: float) -> int:
        """Return the number of the day, UTC, at a time from 0 to 2^53 seconds since 1970; refuse others."""
        return int(_time(now) // SECONDS_PER_DAY)

    def allows(self, epsilon: Fraction, spent_today: Fraction, spent_in_all: Fraction) -> bool:
        """Test whether one more report of `epsilon` fits the limits per day and for life; ``None`` limits nothing.

        `spent_today` and `spent_in_all` are the sums of epsilon of the reports drawn so far, per unit of distance.
        """
        today = self.per_day is None or spent_today + epsilon <= self.per_day
        return today and (self.for_life is None or spent_in_all + epsilon <= self.for_life)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: seconds, and the limits as text or ``None``."""
        per_day, for_life = (None if x is None else str(x) for x in (self.per_day, self.for_life))
        return {"seconds": self.seconds, "per_day": per_day, "for_life": for_life}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Epochs:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        KeyError
            If an entry is missing.
        InvalidProblemError
            For values that the constructor refuses.
        """
        return cls(data["seconds"], per_day=data["per_day"], for_life=data["for_life"])


def _check(client: object, state: object, epochs: object) -> None:
    """Raise InvalidProblemError for a client, state or epochs of another type."""
    instance_of(client, (Client, PointClient), "client", "a Client")
    instance_of(state, State, "state", "a State")
    instance_of(epochs, Epochs, "epochs", "Epochs")


def locate(
    client: Client | PointClient,
    state: State,
    point: tuple[float, float] | tuple[str, str],
    now: float,
    *,
    epochs: Epochs,
    bits: RandomBits | None = None,
) -> tuple[tuple[float, float], State]:
    """Report where one is: afresh at the first call in an epoch, else what was reported before.

    The cost is that of one report of the client: ``O(K)`` for K places.

    Parameters
    ----------
    client
        The client with its mechanism, for places or for every point.
    state
        What is remembered; ``State()`` at first.
    point
        Where one is, in the coordinates of the region; for every point also as decimal texts.
    now
        Seconds since 1970, UTC: of a public clock.
    epochs
        The public rule.
    bits
        Source of randomness; the operating system's by default.

    Returns
    -------
    report : tuple
        What may be told.
    state : State
        What is to be stored *before* the report is shown: else a crash in between would lose a charge.

    Raises
    ------
    BudgetError
        When nothing may be spent and there is no last report.
    InvalidProblemError
        For a point outside the region when a fresh report is due, without a word on the point; an invalid time; or
        when places of another region are pinned, or any with a mechanism for every point, whatever the place.

    Guarantee
    ---------
    Without pinned places: that of the mechanism for each fresh report, and the sum over them; see
    :mod:`discreet.lrgeo.epochs`. Whether one is drawn depends on the clock and the budget alone. Within an epoch, when
    the clock was set back, and when the budget is gone, the last report is repeated, whatever the place. Points are
    snapped to places first, unless the mechanism is for every point. That no report is given outside the region tells
    that one is outside.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Client, Mechanism, Region, design
    >>> region = Region.from_grid(4, 4, cell="0.5", unit="km")
    >>> client = Client(Mechanism.from_design(design(region, MetricDP(2, "km"), scope="places")))
    >>> first, state = locate(client, State(), (0.3, 0.2), 7200, epochs=Epochs(3600))
    >>> again, state = locate(client, state, (1.7, 1.9), 7300, epochs=Epochs(3600))
    >>> first == again, state.spent_in_all
    (True, Fraction(2, 1))
    """
    _check(client, state, epochs)
    number, day = epochs.number(now), epochs.day(now)
    if state.epoch is not None and state.report is not None and number <= state.epoch:
        return state.report, state
    if state.pinned:
        place = _refuse_elsewhere(client, state).snap(point)
        if place in state.pinned:
            shown, source = state.pinned[place], state.pinned_sources[place]
            return shown, replace(state, epoch=number, report=shown, source=source)
    charged = _charge(client, state, day, epochs)
    if charged is None:
        if state.report is None:
            raise BudgetError("no report may be drawn, and there is none to repeat")
        return state.report, state
    report = client.report(point, bits=bits)
    return report, replace(charged, epoch=number, report=report, source=_source(client))


def pin(
    client: Client | PointClient,
    state: State,
    point: tuple[float, float],
    now: float,
    *,
    epochs: Epochs,
    bits: RandomBits | None = None,
) -> State:
    """Draw the report that is shown from now on whenever one is at the place of `point`, and charge it to the state.

    `point` is as in :func:`locate`, `now` in seconds since 1970. Returns the state with the pin; no argument changes.
    It is no fresh report of the epoch, before it is shown. See :mod:`discreet.lrgeo.epochs` for what it gives
    away. It is drawn once: a place that is pinned keeps its report, and nothing is charged. In another region than that
    of earlier pins, these are forgotten, since their places are no places there.

    The cost is that of one report; `client`, `epochs` and `bits` are as in :func:`locate`.

    Raises
    ------
    BudgetError
        When nothing may be spent.
    InvalidProblemError
        With a mechanism for every point, which has no place to be pinned.
    """
    _check(client, state, epochs)
    snapping = _snapping(client)
    place, region = snapping.snap(point), snapping.mechanism.region.digest
    is_here = state.region in ("", region)
    if is_here and place in state.pinned:
        return state
    charged = _charge(client, state, epochs.day(now), epochs)
    if charged is None:
        raise BudgetError("no report may be drawn for a pinned place")
    return replace(
        charged,
        pinned={**(state.pinned if is_here else {}), place: client.report(point, bits=bits)},
        pinned_sources={**(state.pinned_sources if is_here else {}), place: _source(client)},
        region=region,
    )


def reserve(
    client: Client | PointClient, state: State, now: float, *, epochs: Epochs
) -> State | None:
    """Charge the fresh report of an epoch before it is drawn, by a browser that alone knows the place.

    Parameters
    ----------
    client, state, now, epochs
        As in :func:`locate`.

    Returns
    -------
    State or None
        What is to be remembered before the draw; ``None`` when the last report is to be repeated instead.

    Raises
    ------
    BudgetError
        When nothing may be spent and there is no last report.
    InvalidProblemError
        When places of another region are pinned, or any with a mechanism for every point.
    """
    if state.epoch is not None and epochs.number(now) <= state.epoch:
        return None
    if state.pinned:
        _refuse_elsewhere(client, state)
    charged = _charge(client, state, epochs.day(now), epochs)
    if charged is None and state.report is None:
        raise BudgetError("no report may be drawn, and there is none to repeat")
    return charged


def keep(
    client: Client | PointClient, state: State, report: tuple[float, float], epoch: int
) -> State:
    """Return a state that remembers a report drawn after :func:`reserve`; the same state if `epoch` is not a later one.

    `report` is a pair of coordinates, `epoch` the number of its epoch. Its source is the client's mechanism, or
    unknown if a pinned place shows the same report from another one. The state passed in is not changed, nothing is
    charged, and nothing is written to a disk. Whether :func:`reserve` was called is not checked.
    """
    if state.epoch is not None and epoch <= state.epoch:
        return state
    # It may be that of a pinned place, which an earlier mechanism may have drawn; only who drew it knows.
    sources = {state.pinned_sources[at] for at, shown in state.pinned.items() if shown == report}
    sources.add(_source(client))
    source = sources.pop() if len(sources) == 1 else Source()
    return replace(state, epoch=epoch, report=report, source=source)


def _source(client: Client | PointClient) -> Source:
    return Source(client.mechanism.digest, client.mechanism.guarantee)


def _snapping(client: Client | PointClient) -> Client:
    """Return the client of a mechanism for places.

    InvalidProblemError for one for every point, which has none to pin.
    """
    if not isinstance(client, Client):
        expected = "a mechanism for places, which points are snapped to"
        raise InvalidProblemError("pinned places", expected, "one for every point")
    return client


def _refuse_elsewhere(client: Client | PointClient, state: State) -> Client:
    """Return the client if the pinned places are of its region; InvalidProblemError for those of another one.

    What is shown at one of the other region's places would be shown at any of this one. A mechanism for every point
    is refused, too.
    """
    snapping = _snapping(client)
    if state.region != snapping.mechanism.region.digest:
        expected = "pinned places of this server's region; pin them anew with --pin"
        raise InvalidProblemError(
            "state", expected, "those of another region, or of an old version"
        )
    return snapping


def _charge(client: Client | PointClient, state: State, day: int, epochs: Epochs) -> State | None:
    """Return the state with one more report charged on `day`, or ``None`` where the budget does not allow it.

    `client` gives the cost of a report, `epochs` the limits. `day` counts days since 1970; a later one than the
    state's starts a new sum per day, an earlier one does not. BudgetError for a mechanism whose reports have no
    finite cost.
    """
    epsilon = client.cost
    # A clock that was set back opens no new day.
    fresh = state.day is None or day > state.day
    today = Fraction(0) if fresh else state.spent_today
    if not epochs.allows(epsilon, today, state.spent_in_all):
        return None
    return replace(
        state,
        day=day if fresh else state.day,
        spent_today=today + epsilon,
        spent_in_all=state.spent_in_all + epsilon,
    )


def _time(now: float) -> float:
    """Return a time from 0 to 2^53 seconds since 1970; refuse anything else."""
    known: Any = now
    if isinstance(known, bool) or not isinstance(known, int | float) or not 0 <= known < 2**53:
        raise InvalidProblemError("now", "seconds since 1970", "something else")
    return now
