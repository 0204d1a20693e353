r"""Intersect the discs that a client asks for: each has its center within :math:`\Gamma` of the place (B5).

A center drawn anew with each request is worth a new hint; one that is drawn once and kept is worth one, however often
it is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.evaluate.attack.finding import FAILURE, Finding
from discreet.evaluate.attack.location import count_guesses
from discreet.evaluate.intervals import Estimate, bounded_mean
from discreet.lrgeo.lr_set import lr_set

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.evaluate.attack.location import Session, World

__all__ = ["attack_discs"]


def attack_discs(
    sessions: Sequence[Session],
    world: World,
    *,
    requests: Sequence[int] = (1, 3, 10),
    failure: float = FAILURE,
    label: str = "",
) -> list[Finding]:
    r"""Guess places from the first n discs, by :math:`p_i \prod_t [c_t \in \mathcal{N}_i] / |\mathcal{N}_i|`.

    Parameters
    ----------
    sessions
        Traffic of clients that ask as often as is looked at.
    world
        What is public.
    requests
        Numbers of requests.
    failure
        Most probability with which an interval misses.
    label
        What to add to the name.

    Returns
    -------
    list of Finding
        For each number the guess, judged, and for the last one how far off it is, in the unit of the region.
    """
    size = world.instance.size
    chance = np.zeros((size, size))
    for place in range(size):
        rows = lr_set(world.graph, place, world.reach)
        chance[place, rows] = 1 / len(rows)

    def belief(session: Session, n: int) -> NDArray[np.float64]:
        centers = [disc.center for disc in session.discs[:n]]
        # A center that never changes was kept, and is one hint.
        centers = centers[:1] if len(set(centers)) == 1 else centers
        likely: NDArray[np.float64] = world.instance.prior * chance[:, centers].prod(axis=1)
        return likely

    def guess(n: int) -> Callable[[Session], int]:
        return lambda session: int(belief(session, n).argmax())

    findings = [
        count_guesses(
            f"discs asked for, {n}{label}",
            sessions,
            guess(n),
            world,
            failure=failure,
        )
        for n in requests
    ]
    apart, last = world.instance.distances, max(requests)
    lost = [float(apart[one.place, (belief(one, last) @ apart).argmin()]) for one in sessions]
    blind = float((world.instance.prior @ apart).min())
    most = float(apart.max())
    findings.append(
        Finding(
            f"discs asked for, {last}{label}",
            f"error, {world.instance.unit}",
            bounded_mean(lost, 0.0, most, failure=failure),
            Estimate.computed(blind),
            error=True,
        )
    )
    return findings
