r"""Find a place by trying all: what is uploaded is a function of the place that anybody can compute (B2, B3).

The attacker computes for each place what a client there uploads, and looks for the upload that it sees. It is done
three times: with the upload as it is; with the numbers of the columns left out, all entries rounded and sorted, as if
somebody had wanted to hide them; and with nothing but the shapes of the matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.evaluate.attack.finding import FAILURE, Finding
from discreet.evaluate.attack.location import count_guesses

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from discreet.evaluate.attack.location import Session, World

__all__ = ["attack_uploads"]

_ROUNDED = 0.1
"""What costs are rounded to, in units of distance; distances with them."""


def attack_uploads(
    sessions: Sequence[Session], world: World, *, failure: float = FAILURE
) -> list[Finding]:
    """Guess places from uploads, as sent, blurred and sorted, and by their shapes.

    Parameters
    ----------
    sessions
        Traffic that is attacked. A session without an upload gets the best guess without looking.
    world
        What is public.
    failure
        Most probability with which an interval misses.

    Returns
    -------
    list of Finding
        Three.
    """
    size = world.instance.size
    computed = [world.upload(place) for place in range(size)]
    forms: tuple[tuple[str, Callable[[Any], Hashable]], ...] = (
        ("uploads, all places tried", _whole),
        ("uploads, rounded, sorted, without columns", _blurred),
        ("uploads, shapes alone", _shape),
    )
    findings = []
    for name, form in forms:
        places: dict[Hashable, int] = {}
        # Where several look the same, the most probable.
        for place in np.argsort(world.instance.prior, kind="stable").tolist():
            places[form(computed[place])] = place

        def guess(
            session: Session,
            form: Callable[[Any], Hashable] = form,
            places: dict[Hashable, int] = places,
        ) -> int:
            for upload in session.uploads:
                return places.get(form(upload), world.blind)
            return world.blind

        note = f"{len(places)} different uploads by {size} places: {name}"
        findings.append(count_guesses(name, sessions, guess, world, failure=failure, note=note))
    return findings


def _whole(sent: Any) -> Hashable:  # noqa: ANN401 - coefficients, or a message that holds them
    digits = [np.round(part, 9).tobytes() for part in (sent.between, sent.away)]
    return (*digits, sent.columns.tobytes())


def _blurred(sent: Any) -> Hashable:  # noqa: ANN401 - coefficients, or a message that holds them
    # Costs come with the share of their row in them.
    priced = np.asarray(sent.cost) * len(sent.between)
    parts = (sent.between, sent.away, priced)
    return tuple(np.sort(np.rint(np.asarray(part).ravel() / _ROUNDED)).tobytes() for part in parts)


def _shape(sent: Any) -> Hashable:  # noqa: ANN401 - coefficients, or a message that holds them
    rows, columns = sent.away.shape
    return int(rows), int(columns)
