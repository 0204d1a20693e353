"""A client of the location service: it fetches the mechanism whole, verifies it once, and draws by itself.

The order is what hides the place. First the mechanism is fetched, without a place; then the place is read, and from
there on nothing is sent.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, final

from discreet import lrgeo
from discreet.artefact.private_files import default_folder
from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Epochs
from discreet.lrgeo.client import held_everywhere
from discreet.lrgeo.epochs import SECONDS_PER_DAY, keep, pin, reserve
from discreet.lrgeo.messages import read_mechanism
from discreet.lrgeo.points.client import PointClient
from discreet.lrgeo.points.published import PublishedPoints
from discreet.service.asking import Server
from discreet.service.keeping import MechanismCache, StateFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from discreet.core.randomness import RandomBits
    from discreet.lrgeo import Mechanism, State
    from discreet.lrgeo.state import Source


@final
@dataclass(frozen=True)
class Located:
    """A report, and what reports have cost.

    Parameters
    ----------
    report
        The reported place: latitude and longitude where the region has an origin, else east and north.
    epoch
        Number of the public epoch that it is of.
    spent_today, spent_in_all
        Exact sums of the epsilons of all fresh and pinned reports, per `unit`: of this day of the public clock, and
        ever.
    unit
        Unit of distance, such as ``"km"``.
    source
        What drew the report: where it is repeated, maybe another mechanism than the server's present one, with another
        guarantee.
    """

    report: tuple[float, float]
    epoch: int
    spent_today: Fraction
    spent_in_all: Fraction
    unit: str
    source: Source


@final
@dataclass(frozen=True)
class Reserved:
    """A charge for a report that is drawn elsewhere, by the browser that alone knows the place.

    Parameters
    ----------
    epoch
        Number of the epoch whose report it is.
    pinned
        Index of a pinned place -> the report that is shown there instead of a draw: as private as the places are.
    """

    epoch: int
    pinned: Mapping[int, tuple[float, float]] = field(repr=False)


@final
class Client:
    """Reports where one is, privately, by the mechanism that a server publishes.

    Parameters
    ----------
    server
        The server, or its address.
    state
        The file of the ledger and the last report; one of this user's by default.
    cache
        The folder of mechanisms; one of this user's by default.
    epochs
        The public clock, and the budgets; hours and no limits by default.
    accepts
        The weakest guarantee that its user accepts, for any two points; with `scope` ``"places"`` for any two places,
        where the server publishes for these alone. Who chooses the mechanism chooses its
        epsilon, and a mechanism that gives the place away keeps what it claims. By default the first that a server
        publishes is taken, and none that is weaker than the last one, nor one for places after one for every point;
        over plain HTTP from another machine, where anybody on the way could choose, this must be given.
    scope
        ``"points"``: only a mechanism whose promise is between any two points of the region is taken, so that `accepts`
        bounds these; one for places alone is refused. ``"places"`` takes both kinds.
    refresh
        Seconds for which a mechanism is used before the server is asked whether it still is the one. Asking says
        that a client is here, and when.
    now
        Returns the seconds since 1970 of the clock on the wall.

    Raises
    ------
    InvalidProblemError
        For an invalid address, one that needs HTTPS or `accepts`, or an unknown scope.

    Guarantee
    ---------
    For each fresh report that of the mechanism, in :attr:`mechanism`, between places, to which points are snapped, or
    between any two points, as it says; for reports of several epochs, epsilon times the
    sum of the distances, where epsilon is the one for any two places (:attr:`discreet.lrgeo.Client.cost`). No byte that
    is sent depends on the place.
    """

    def __init__(
        self,
        server: Server | str,
        *,
        state: Path | None = None,
        cache: Path | None = None,
        epochs: Epochs | None = None,
        accepts: MetricDP | None = None,
        scope: Literal["points", "places"] = "points",
        refresh: float = SECONDS_PER_DAY,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._server = Server(server) if isinstance(server, str) else server
        if accepts is None and self._server.is_exposed:
            expected = "the weakest guarantee that you accept, since anybody on the way could offer another"
            raise InvalidProblemError("accepts", expected, "none, over plain HTTP")
        if scope not in {"points", "places"}:
            raise unknown_name("scope", scope, ("points", "places"))
        self._accepts, self._scope = accepts, scope
        self._unknown = False
        self._cache = MechanismCache(cache or default_folder("cache"), self._server.url)
        self._state = StateFile(state or default_folder("state") / "locate.json")
        self._epochs = epochs or Epochs()
        self._refresh = refresh
        self._now = now
        self._client: lrgeo.Client | PointClient | None = None

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def pin(self, point: tuple[float, float], *, bits: RandomBits | None = None) -> None:
        """Draw once what is reported from now on whenever one is at a place, and keep it.

        Who sees the same report again learns that it is the same place. The place is kept, in the state's file.

        `point` is the place, in the coordinates of the region (latitude and longitude if it has an origin); it snaps
        to the nearest of the mechanism's places. `bits` is the source of randomness. A place that is not pinned yet
        is charged like one report. Fetches the mechanism if that is not done.

        Raises
        ------
        InvalidProblemError
            For a point outside the region, and with a mechanism for every point, which snaps none.
        BudgetError
            When nothing may be spent. A place that is pinned keeps its report, and costs nothing.
        """
        client, now = self.prepared(), self._now()
        unit = client.mechanism.guarantee.unit
        with self._state.changing(self._epochs.seconds, unit) as change:
            change.state = pin(client, change.state, point, now, epochs=self._epochs, bits=bits)

    @property
    def mechanism(self) -> Mechanism | PublishedPoints:
        """The verified mechanism: from the cache where it is new enough, else from the server.

        Raises
        ------
        InvalidProblemError
            For what is no whole mechanism.
        CertificateError
            For a mechanism that does not keep what it claims, or is weaker than what is accepted.
        LimitReachedError
            When the server does not answer.
        """
        return self.prepared().mechanism

    @property
    def is_first(self) -> bool:
        """Whether any mechanism was taken: none was cached, and `accepts` is None. Fetches it as :meth:`prepared`."""
        self.prepared()
        return self._unknown and self._accepts is None

    def prepared(self) -> lrgeo.Client | PointClient:
        """Fetch and verify the mechanism, once, and return the client that draws: from here on nothing is sent.

        A mechanism is taken from the cache while it is younger than `refresh` seconds. Verifying a new one takes
        seconds.

        Raises
        ------
        InvalidProblemError
            For what is no whole mechanism, or one for places alone where `scope` is ``"points"``.
        CertificateError
            For a mechanism that does not keep what it claims, or is weaker than what is accepted.
        LimitReachedError
            When the server does not answer.
        """
        if self._client is None:
            self._client = self._fetched()
        return self._client

    def _fetched(self) -> lrgeo.Client | PointClient:
        """Return the client of the stored mechanism while it is fresh, else of the server's, verified and stored.

        Raises InvalidProblemError where the server states nothing, CertificateError for a weaker mechanism than before.
        """
        stored, now = self._cache.read(), self._now()
        self._unknown = stored is None
        if stored is not None and 0 <= now - stored.fetched < self._refresh:
            return self._trusted(stored.mechanism)
        known = None if stored is None else stored.mechanism.digest
        mechanism = self._server.get("/v1/mechanism", read_mechanism, known=known)
        if mechanism is None:
            if stored is None:
                raise InvalidProblemError(
                    "server", "a mechanism", "nothing new, though none is known"
                )
            trusted = self._trusted(stored.mechanism)
            self._cache.write(stored.mechanism, now)
            return trusted
        accepts = self._accepts
        if accepts is None and stored is not None:
            accepts = _held_before(stored.mechanism, mechanism)
        # Seconds, once for each mechanism: every pair of places, or every triangle and report, in integers.
        client = self._made(mechanism, accepts=accepts)
        self._cache.write(mechanism, now)
        return client

    def locate(
        self, point: tuple[float, float] | tuple[str, str], *, bits: RandomBits | None = None
    ) -> Located:
        """Report: one fresh report in each epoch, repeated whatever the place.

        Parameters
        ----------
        point
            Latitude and longitude, or east and north in the region's unit, as in :class:`Located`; for every point
            also as decimal texts. It is not kept, and no message repeats it.
        bits
            Source of randomness; the operating system's by default. A seeded one gives no privacy.

        Returns
        -------
        Located
            The report, which is on the disk before this returns, and what reports have cost. Within an epoch, and
            where nothing more may be spent, the last report is repeated without a charge.

        Raises
        ------
        InvalidProblemError
            For a point outside the region, or a state that is not whole. The place itself is never reported.
        BudgetError
            When nothing may be spent and there is no report to repeat.
        """
        client, now = self.prepared(), self._now()
        unit = client.mechanism.guarantee.unit
        # The report is on the disk when this block ends, before anybody sees it: what was shown is paid for.
        with self._state.changing(self._epochs.seconds, unit) as change:
            report, change.state = lrgeo.locate(
                client, change.state, point, now, epochs=self._epochs, bits=bits
            )
            after = change.state
        epoch = self._epochs.number(now) if after.epoch is None else after.epoch
        today = self._today(after, now)
        return Located(report, epoch, today, after.spent_in_all, unit, after.source)

    def reserve(self) -> Reserved | None:
        """Charge for this epoch's report before it is drawn elsewhere: no place is needed for that.

        Returns
        -------
        Reserved or None
            The epoch and the pinned reports; ``None`` when nothing was charged, since the last report is to be
            repeated: see :meth:`last`.

        Raises
        ------
        BudgetError
            When nothing may be spent and there is no report to repeat.
        """
        client, now = self.prepared(), self._now()
        with self._state.changing(self._epochs.seconds, client.mechanism.guarantee.unit) as change:
            charged = reserve(client, change.state, now, epochs=self._epochs)
            if charged is None:
                return None
            change.state = charged
        return Reserved(self._epochs.number(now), charged.pinned)

    def keep(self, reserved: Reserved, report: tuple[float, float]) -> None:
        """Keep a report that was drawn for the charge `reserved`, so that it is repeated until the epoch ends.

        `report` is a pair of coordinates as the mechanism names its reports; it is ignored if a report of this or a
        later epoch is kept already. The first call lists all reports of the mechanism, ``O(K)`` time and memory.

        Raises
        ------
        InvalidProblemError
            When the pair is neither a report of the mechanism nor one that was pinned.
        """
        if report not in self._reports and report not in reserved.pinned.values():
            raise InvalidProblemError("report", "one that the mechanism names", "another")
        client = self.prepared()
        with self._state.changing(self._epochs.seconds, client.mechanism.guarantee.unit) as change:
            change.state = keep(client, change.state, report, reserved.epoch)

    def last(self) -> tuple[State, Fraction, bool]:
        """Return the stored state, the epsilon spent today (per unit), and whether its report is that of this epoch.

        The state is read from the disk under its lock. InvalidProblemError for a state that is not whole or of other
        epochs.
        """
        unit, now = self.mechanism.guarantee.unit, self._now()
        with self._state.changing(self._epochs.seconds, unit) as change:
            state = change.state
        current = state.epoch is not None and self._epochs.number(now) <= state.epoch
        return state, self._today(state, now), current

    @property
    def seconds(self) -> int:
        """Length of an epoch."""
        return self._epochs.seconds

    @cached_property
    def _reports(self) -> frozenset[tuple[float, float]]:
        """Return the coordinates of all reports of the mechanism."""
        mechanism = self.mechanism
        if isinstance(mechanism, PublishedPoints):
            return frozenset(mechanism.where(report) for report in range(mechanism.K))
        region = mechanism.region
        return frozenset(region.where(name) for name in mechanism.channel.names.tolist())

    def _today(self, state: State, now: float) -> Fraction:
        # On a day before the last charge the clock was set back: what counts is what a charge would count.
        """Return what is spent on the day of `now`, in seconds since 1970."""
        fresh = state.day is None or self._epochs.day(now) > state.day
        return Fraction(0) if fresh else state.spent_today

    def _trusted(self, mechanism: Mechanism | PublishedPoints) -> lrgeo.Client | PointClient:
        return self._made(mechanism, verified_digest=mechanism.digest, accepts=self._accepts)

    def _made(
        self,
        mechanism: Mechanism | PublishedPoints,
        *,
        accepts: MetricDP | None,
        verified_digest: str | None = None,
    ) -> lrgeo.Client | PointClient:
        """Return the client without input and output for a mechanism for places or for every point.

        `accepts` is the weakest guarantee accepted, None for any. Without a `verified_digest` the mechanism is
        verified first, which takes seconds; CertificateError where it fails or is weaker. InvalidProblemError for one
        for places where the scope is points.
        """
        if isinstance(mechanism, PublishedPoints):
            return PointClient(mechanism, verified_digest=verified_digest, accepts=accepts)
        if self._scope == "points":
            expected = (
                "a mechanism for every point, whose promise is about where you are; --places-only, or "
                'scope="places", accepts one about places'
            )
            raise InvalidProblemError("server", expected, "one for places alone")
        return lrgeo.Client(mechanism, verified_digest=verified_digest, accepts=accepts)


def _held_before(
    before: Mechanism | PublishedPoints, now: Mechanism | PublishedPoints
) -> MetricDP | None:
    """Return the guarantee that a new mechanism `now` must have at least.

    It is that of the mechanism `before`, from the same server; for one for places the guarantee that holds between
    all places, or None if it has none. InvalidProblemError where a mechanism for places follows one for every point.
    """
    if not isinstance(before, PublishedPoints):
        return held_everywhere(before)
    if not isinstance(now, PublishedPoints):
        expected = (
            "a mechanism for every point, as before, where nothing else was said to be accepted"
        )
        raise InvalidProblemError("server", expected, "one for places alone")
    return MetricDP(before.guarantee.epsilon, before.guarantee.unit)
