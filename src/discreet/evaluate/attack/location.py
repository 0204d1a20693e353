r"""What the attacks on a location service have in common: recorded sessions, what is public, and how guesses count.

The attacker is the server, or a reader of its traffic. It knows what is public: the region, the parameters, the
costs. It does not know where a client is, and wants to. A session holds everything that one client sent and was told,
as recorded at the server's door, with the place that the client was at, which only the judge of the guess reads.

A service is *sound* when traffic tells nothing of the place: no guess may be right more often than the best one
without looking, :math:`\max_i p_i`, by more than the interval of the count. Reports are judged apart, by what the
guarantee allows for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.finding import FAILURE, Finding
from discreet.evaluate.intervals import Estimate, clopper_pearson
from discreet_reproduction.lrgeo.as_published.coefficients import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients
    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
    from discreet_reproduction.lrgeo.as_published.instance import Instance

__all__ = ["CostPart", "Request", "Session", "World", "count_guesses"]

GUESSED = "places guessed"


@final
@dataclass(frozen=True)
class Request:
    """What a client sent once.

    Parameters
    ----------
    line
        Method and path.
    head
        All headers, as bytes.
    body
        All of it.
    """

    line: str
    head: bytes
    body: bytes


@final
@dataclass(frozen=True, eq=False)
class CostPart:
    """A part of the cost table: ``costs[i, j]`` of reporting ``places[j]`` when being at ``places[i]``."""

    places: NDArray[np.int64]
    costs: NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Session:
    """All traffic of one client that stays where it is.

    Parameters
    ----------
    place
        Where it is: for the judge.
    requests
        What it sent, byte for byte.
    uploads
        Coefficients that it uploaded by the published protocol.
    centers
        Centers of the discs of the cost table for which it asked.
    tables
        Parts of the cost table that it was told.
    matrices
        Obfuscation matrices that it was told.
    reports
        Epoch and report of what it reported, as numbers.
    """

    place: int = field(repr=False)
    requests: tuple[Request, ...]
    uploads: tuple[Coefficients, ...] = ()
    centers: tuple[int, ...] = ()
    tables: tuple[CostPart, ...] = ()
    matrices: tuple[NDArray[np.float64], ...] = ()
    reports: tuple[tuple[int, int], ...] = ()


@final
@dataclass(frozen=True, eq=False)
class World:
    """What everybody knows.

    Parameters
    ----------
    instance
        Places, distances, costs and prior. The server knows the costs, since they are its table.
    graph
        The Geo-Ind graph.
    reach, r_obf
        Radii of the location set and of the obfuscation range.
    """

    instance: Instance
    graph: GeoIndGraph
    reach: float
    r_obf: float

    @property
    def blind(self) -> int:
        """The best guess without looking."""
        return int(self.instance.prior.argmax())

    @property
    def naive(self) -> float:
        """How often that is right."""
        return float(self.instance.prior.max())

    def upload(self, place: int) -> Coefficients:
        """Work out what a client at a place uploads: anybody can."""
        one = prepare(self.instance, self.graph, place, reach=self.reach, r_obf=self.r_obf)
        return one.coefficients


def count_guesses(
    attack: str,
    sessions: Sequence[Session],
    guess: Callable[[Session], int],
    world: World,
    *,
    limit: float | None = None,
    failure: float = FAILURE,
    note: str = "",
) -> Finding:
    """Count how often the place of a session is guessed, and how often that of another session.

    Parameters
    ----------
    attack
        What to call it.
    sessions
        Recorded traffic of clients whose places were drawn from the prior.
    guess
        The attacker.
    world
        What is public.
    limit
        What any attacker may reach. Default: the best guess without looking.
    failure
        Most probability with which the interval misses.
    note
        What a reader should know.

    Returns
    -------
    Finding
        The control group is judged by the place of the next session, which this one says nothing of.

    Raises
    ------
    InvalidProblemError
        For fewer than two sessions.
    """
    if len(sessions) < 2:
        raise InvalidProblemError("sessions", "two or more", len(sessions))
    guesses = np.array([guess(one) for one in sessions])
    places = np.array([one.place for one in sessions])

    def share(truth: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Estimate:
        return clopper_pearson(int((guesses == truth).sum()), len(sessions), failure=failure)

    return Finding(
        attack,
        GUESSED,
        share(places),
        Estimate.computed(world.naive),
        share(np.roll(places, 1)),
        limit=world.naive if limit is None else limit,
        note=note,
    )
