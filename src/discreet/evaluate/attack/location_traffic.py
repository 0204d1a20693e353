"""Compare the bytes of a session with those of the attacker's own: whatever a service sends, in whatever form.

It needs no idea of the protocol. The attacker runs the same client at every place, keeps what it sends, and looks for
the place whose sessions look most like the one it sees. If all sessions are the same, byte for byte, there is nothing
to find.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from discreet.evaluate.attack.finding import FAILURE, Finding
from discreet.evaluate.attack.location import count_guesses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.evaluate.attack.location import Request, Session, World

__all__ = ["attack_traffic", "distinct_sessions"]


def attack_traffic(
    sessions: Sequence[Session],
    own: Sequence[Session],
    world: World,
    *,
    failure: float = FAILURE,
) -> Finding:
    """Guess places from bytes.

    Parameters
    ----------
    sessions
        Traffic that is attacked.
    own
        The attacker's sessions, one or more at each place.
    world
        What is public.
    failure
        Most probability with which the interval misses.

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

    def guess(session: Session) -> int:
        score: Counter[int] = Counter({world.blind: 0})
        for request in session.requests:
            for token in _tokens(request):
                places = known.get(token, set())
                if 0 < len(places) < everywhere:
                    # A long coincidence tells more than a short one.
                    worth = math.log(everywhere / len(places)) * (1 + len(token[1]))
                    score.update(dict.fromkeys(places, round(worth * 1e6)))
        return score.most_common(1)[0][0]

    seen = distinct_sessions(sessions)
    return count_guesses(
        "bytes of the traffic, compared with one's own",
        sessions,
        guess,
        world,
        failure=failure,
        note=f"{len(sessions)} sessions, {seen} different ones",
    )


def distinct_sessions(sessions: Sequence[Session]) -> int:
    """Count sessions that differ in any byte."""
    return len({one.requests for one in sessions})


def _tokens(request: Request) -> Iterator[tuple[str, bytes]]:
    yield request.line, request.head + request.body
    yield f"length {request.line}", str(len(request.body)).encode()
