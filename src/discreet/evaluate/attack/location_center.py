r"""Find the row that is the user's: the one whose columns are all within its range (B1, B4).

The paper does not upload which row is the user's. The columns are a disc around the user, so that the largest distance
from the user's row to any column is the smallest of all rows'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.evaluate.attack.finding import FAILURE, Finding
from discreet.evaluate.intervals import Estimate, clopper_pearson
from discreet.lrgeo.lr_set import lr_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.evaluate.attack.location import Session, World

__all__ = ["attack_center"]


def attack_center(
    sessions: Sequence[Session], world: World, *, failure: float = FAILURE
) -> list[Finding]:
    """Guess which of the uploaded rows is the one that the user samples from.

    Parameters
    ----------
    sessions
        Traffic that is attacked.
    world
        What is public.
    failure
        Most probability with which the interval misses.

    Returns
    -------
    list of Finding
        One; none where nothing was uploaded. The limit is a blind guess among the rows.
    """
    right = strange = trials = 0
    blind = 0.0
    owners = [session for session in sessions if session.uploads]
    for session in owners:
        upload = session.uploads[0]
        rows = lr_set(world.graph, session.place, world.reach)
        own = int(np.searchsorted(rows, session.place))
        # The rows' places are those whose distances to the named columns are the uploaded ones; none are needed here.
        farthest = np.asarray(upload.away).max(axis=1)
        total = np.asarray(upload.away).sum(axis=1)
        guess = int(np.lexsort((total, farthest))[0])
        right += guess == own
        # The same answer for an upload whose rows are in an order that has nothing to do with it.
        strange += guess == (own + 1 + trials) % len(rows)
        blind += 1 / len(rows)
        trials += 1
    if not trials:
        return []
    return [
        Finding(
            "the row in the middle of an upload",
            "own rows guessed",
            clopper_pearson(right, trials, failure=failure),
            Estimate.computed(blind / trials),
            clopper_pearson(strange, trials, failure=failure),
            limit=blind / trials,
        )
    ]
