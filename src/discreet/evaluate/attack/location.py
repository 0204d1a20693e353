r"""Attacks on a location service by its traffic: recorded sessions, counted guesses, and guesses from bytes.

The attacker is the server, or a reader of its traffic. It knows what is public: the region, the parameters, the prior.
It does not know where a client is. A session holds everything that one client sent, as recorded at the server, with
the place of the client, which only the judge of the guess reads.

A service is *sound* if traffic is independent of the place: no guess is right more often than the best one without
looking, :math:`\max_i p_i`, by more than the interval of the count. Reports are judged by themselves, against the
limit of the guarantee. The attack by bytes needs no idea of the protocol: the attacker runs the same client at every
place, keeps what it sends, and looks for the place whose sessions look most like the one that it sees.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.bayes import success_limit
from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.intervals import Estimate, clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.guarantee import MetricDP
    from discreet.core.spaces.metric import MetricSpace


@final
@dataclass(frozen=True)
class Request:
    """One request of a client.

    Parameters
    ----------
    line
        Method and path.
    head
        All headers, as bytes.
    body
        The whole body.
    """

    line: str
    head: bytes
    body: bytes


class HasPlace(Protocol):
    """A session whose place is known to the judge."""

    @property
    def place(self) -> int:
        """Index of the place of the client."""


class HasRequests(HasPlace, Protocol):
    """A session with its requests."""

    @property
    def requests(self) -> tuple[Request, ...]:
        """Requests of the client, byte for byte."""


S = TypeVar("S", bound=HasPlace)


@final
@dataclass(frozen=True, eq=False)
class Session:
    """All traffic of one client that stays where it is.

    Parameters
    ----------
    place
        Index of the place of the client: for the judge.
    requests
        Requests, byte for byte.
    reports
        Epoch and report of each report, as numbers.
    """

    place: int = field(repr=False)
    requests: tuple[Request, ...]
    reports: tuple[tuple[int, int], ...] = ()


def count_guesses(
    attack: str,
    sessions: Sequence[S],
    guess: Callable[[S], int],
    prior: NDArray[np.float64],
    *,
    limit: float | None = None,
    failure: float = DEFAULT_FAILURE,
    note: str = "",
) -> Finding:
    """Count right guesses of the places of sessions, and of the places of other sessions as a control.

    One guess for each session.

    Parameters
    ----------
    attack
        Name of the attack.
    sessions
        Recorded traffic of clients whose places were drawn from the prior.
    guess
        The attacker: from a session to the index of a place.
    prior
        ``(K,)`` probabilities of the places.
    limit
        Highest probability of a right guess that the service allows. Default: that of the best guess without looking.
    failure
        Upper bound on the error probability of the interval.
    note
        A remark for the reader.

    Returns
    -------
    Finding
        The control group is judged by the place of the session before, of which this one is independent.

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

    blind = float(prior.max())
    return Finding(
        attack,
        "places guessed",
        share(places),
        Estimate.computed(blind),
        share(np.roll(places, 1)),
        limit=blind if limit is None else limit,
        note=note,
    )


def attack_traffic(
    sessions: Sequence[HasRequests],
    own: Sequence[HasRequests],
    prior: NDArray[np.float64],
    *,
    failure: float = DEFAULT_FAILURE,
) -> Finding:
    """Guess places from bytes.

    Linear in the bytes of all requests. InvalidProblemError for fewer than two sessions.

    Parameters
    ----------
    sessions
        Traffic that is attacked.
    own
        Sessions of the attacker, one or more at each place.
    prior
        ``(K,)`` probabilities of the places.
    failure
        Upper bound on the error probability of the interval.

    Returns
    -------
    Finding
        The limit is the best guess without looking.
    """
    known: dict[tuple[str, bytes], set[int]] = {}
    for one in own:
        for request in one.requests:
            for token in _tokens(request):
                known.setdefault(token, set()).add(one.place)
    everywhere = len({one.place for one in own})
    blind = int(prior.argmax())

    def guess(session: HasRequests) -> int:
        score: Counter[int] = Counter({blind: 0})
        for request in session.requests:
            for token in _tokens(request):
                places = known.get(token, set())
                if 0 < len(places) < everywhere:
                    # A long coincidence is stronger evidence than a short one.
                    worth = math.log(everywhere / len(places)) * (1 + len(token[1]))
                    score.update(dict.fromkeys(places, round(worth * 1e6)))
        return score.most_common(1)[0][0]

    return count_guesses(
        "bytes of the traffic, compared with one's own",
        sessions,
        guess,
        prior,
        failure=failure,
        note=f"{len(sessions)} sessions, {distinct_sessions(sessions)} different ones",
    )


def attack_repeats(
    sessions: Sequence[Session],
    laws: ArrayLike,
    space: MetricSpace,
    guarantee: MetricDP,
    prior: NDArray[np.float64],
    *,
    allowed: int,
    label: str,
    failure: float = DEFAULT_FAILURE,
) -> Finding:
    """Guess places from all reports of a session, the one thing that the guarantee covers.

    The attacker multiplies the probabilities of all reports that were drawn anew. It knows the clock: a report that is
    repeated within an epoch is not a new one.

    Reports are columns of `laws`. One pass over K places for each new report. InvalidProblemError for fewer than two
    sessions, or a guarantee that does not fit the space.

    Parameters
    ----------
    sessions
        Sessions with reports.
    laws
        ``(K, K')``; row i: distribution of reports from place i.
    space, guarantee
        The region, and the claim for one report.
    prior
        ``(K,)`` probabilities of the places.
    allowed
        Number of independent reports assumed by the limit.
    label
        Name of the attack.
    failure
        Upper bound on the error probability of the interval.

    Returns
    -------
    Finding
        Kept if the guess is right no more often than so many reports allow.
    """
    with np.errstate(divide="ignore"):
        nats, start = np.log(np.asarray(laws, dtype=np.float64)), np.log(prior)

    def guess(session: Session) -> int:
        drawn: list[tuple[int, int]] = []
        for one in session.reports:
            # A clock that stands still draws nothing, unless another report shows that it did.
            if one not in drawn or len({r for e, r in session.reports if e == one[0]}) > 1:
                drawn.append(one)
        return int((start + sum(nats[:, report] for _, report in drawn)).argmax())

    limit = success_limit(space, guarantee, prior, reports=allowed)
    return count_guesses(label, sessions, guess, prior, limit=limit, failure=failure)


def distinct_sessions(sessions: Sequence[HasRequests]) -> int:
    """Count sessions that differ in any byte."""
    return len({one.requests for one in sessions})


def _tokens(request: Request) -> Iterator[tuple[str, bytes]]:
    """Yield the contents and the length of a request, each under its first line."""
    yield request.line, request.head + request.body
    yield f"length {request.line}", str(len(request.body)).encode()
