r"""Attack on the reports of a session, the one thing that the guarantee covers.

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

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.guarantee import MetricDP
    from discreet.core.spaces.metric import MetricSpace
    from discreet.evaluate.attack.location import Session

__all__ = ["attack_repeats"]


def attack_repeats(
    sessions: Sequence[Session],
    laws: ArrayLike,
    space: MetricSpace,
    guarantee: MetricDP,
    prior: NDArray[np.float64],
    *,
    allowed: int,
    label: str,
    failure: float = FAILURE,
) -> Finding:
    """Guess places from all reports of a session.

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
