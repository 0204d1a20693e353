r"""The truncated exponential mechanism for words: TEM of [CVFW23]_.

The score of a word within a threshold :math:`\gamma` of the secret is minus its distance. One more candidate represents
all F words beyond it, with the score :math:`-\gamma + (2/\epsilon) \ln |F|`. Gumbel noise of scale :math:`2/\epsilon`
is added to each score, and if that candidate wins, one of the words beyond is drawn uniformly. The winner of scores
with Gumbel noise is distributed like the exponential mechanism, so that this is

.. math:: z_{ik} \propto e^{-\epsilon \min(d_{ik}, \gamma) / 2}, \qquad
          \gamma = \frac{2}{\epsilon} \ln \frac{(1 - \beta)(K - 1)}{\beta},

with K reports: the sum over the words beyond is at most :math:`(K - 1) e^{-\epsilon \gamma / 2} = \beta / (1 - \beta)`,
so that the chance of any of them is at most :math:`\beta`. Since :math:`\min(d, \gamma)` obeys the triangle inequality
too, privacy is that of the exponential mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import at_least
from discreet.metricdp.methods.baselines import exponential_rows
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from discreet.metricdp.part import Part, PartLimits


@final
@dataclass(frozen=True)
class TruncatedExponential:
    """The truncated exponential mechanism as a table.

    Parameters
    ----------
    beta
        Upper bound on the probability of a report beyond the threshold, in (0, 1).

    Raises
    ------
    InvalidProblemError
        For a probability outside (0, 1).

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> words = MetricSpace.from_points([[0, 0, 1], [0, 1, 1], [1, 1, 0], [9, 9, 9]], unit="1")
    >>> problem = Problem(words, utility_loss="distance")
    >>> result = design(problem, MetricDP(2, unit="1"), method=TruncatedExponential(), throw=False)
    >>> result.certificate.passed
    True
    """

    beta: Fraction = Fraction(1, 1000)

    def __post_init__(self) -> None:
        if not 0 < self.beta < 1:
            raise InvalidProblemError("beta", "a chance between 0 and 1", self.beta)

    def solve(self, part: Part, limits: PartLimits) -> Candidate:  # noqa: ARG002 - every method has both
        """Return the exponential mechanism with distances cut off at a threshold in nats, as ``(n, K)`` floats.

        The threshold follows from ``self.beta`` and the number of reports; `limits` is not used. ``O(n K)`` after all
        shortest paths.
        """
        odds = (1 - self.beta) * (part.n_reports - 1) / self.beta
        threshold = max(0.0, 2 * math.log(odds)) if odds > 0 else 0.0
        nats = np.minimum(part.rate * part.paths[:, part.places], threshold)
        matrix = exponential_rows(-0.5 * nats)
        note = (
            f"The exponential mechanism, cut off beyond {at_least(threshold, 3)} nats, as a table."
        )
        return Candidate("tem", matrix, None, note, {"beta": str(self.beta)})
