r"""Use the reports themselves: the one thing that the guarantee covers, and the one thing that may tell something.

The attacker multiplies the chances of all reports that were drawn anew. It knows the clock: a report that is repeated
within an epoch is no new one. What any attacker may reach after n fresh reports follows from the guarantee, see
:func:`~discreet.evaluate.attack.bayes.success_limit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.evaluate.attack.bayes import success_limit
from discreet.evaluate.attack.finding import FAILURE, Finding
from discreet.evaluate.attack.location import count_guesses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from discreet.core.guarantee import MetricDP
    from discreet.core.metric import MetricSpace
    from discreet.evaluate.attack.location import Session, World

__all__ = ["attack_repeats"]


def attack_repeats(
    sessions: Sequence[Session],
    laws: ArrayLike,
    space: MetricSpace,
    guarantee: MetricDP,
    world: World,
    *,
    allowed: int,
    label: str,
    failure: float = FAILURE,
) -> Finding:
    """Guess places from all reports of a session.

    Parameters
    ----------
    sessions
        With reports.
    laws
        ``(K, K')``: what each place reports.
    space, guarantee
        The claim for one report.
    world
        What is public.
    allowed
        How many fresh reports the service says that it gave: what the limit is for.
    label
        What to call it.
    failure
        Most probability with which the interval misses.

    Returns
    -------
    Finding
        Kept while the guess is right no more often than so many reports may make it.
    """
    with np.errstate(divide="ignore"):
        nats, start = np.log(np.asarray(laws, dtype=np.float64)), np.log(world.instance.prior)

    def guess(session: Session) -> int:
        drawn: list[tuple[int, int]] = []
        for one in session.reports:
            # A clock that stands still draws nothing, unless another report shows that it did.
            if one not in drawn or len({r for e, r in session.reports if e == one[0]}) > 1:
                drawn.append(one)
        return int((start + sum(nats[:, report] for _, report in drawn)).argmax())

    limit = success_limit(space, guarantee, world.instance.prior, reports=allowed)
    return count_guesses(label, sessions, guess, world, limit=limit, failure=failure)
