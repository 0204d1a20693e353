r"""The exponential form that ties the users' matrices together: Equation (18) of [QLPSX24]_ and its indicator Q.

Where :math:`q_{ik} = 1`, which is where :math:`d_{ik} > r_\text{exp}`,

.. math::

    z_{ik} = \begin{cases}
        y_k\, e^{-\lambda \epsilon d_{ik}} & v_k \in \mathcal{O}, \\
        y_k\, e^{-\lambda \epsilon r_\text{obf}} & \text{otherwise,}
    \end{cases}

with one :math:`y_k \ge 0` for each report, shared by all users, and :math:`\lambda = 1/2`. What lies outside the range
always has the form.

*Proposition 4.2.* Entries that have the form inside the range keep every ratio :math:`e^{\lambda \epsilon d_{ij}}`, for
any y, by the triangle inequality. So :math:`\lambda` may be as large as 1: the 1/2 is what normalizing an exponential
mechanism costs, and nothing is normalized here. With ``rate=1`` a global design costs about a tenth less.

*Theorem 4.5.* With a location-centered range the exponent is
:math:`\lambda \epsilon \min(d_{ik}, r_\text{obf})`, which changes by at most :math:`\lambda \epsilon d_{ij}` from i to
j. With a user-centered range it jumps (A2).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import within

if TYPE_CHECKING:
    from numpy.typing import NDArray


@final
@dataclass(frozen=True)
class ExponentialForm:
    r"""Equation (18), with its parameters.

    Parameters
    ----------
    epsilon
        Nats per unit of distance.
    r_exp
        Entries farther than this from their report have the form. Negative: all have it.
    r_obf
        Radius of the obfuscation range; beyond it the weight is that at the radius. Infinite for true tails.
    rate
        :math:`\lambda` in (0, 1]. 1/2 as published.

    Raises
    ------
    InvalidProblemError
        For an epsilon that is not positive, a rate outside (0, 1], or an r_exp that is larger than r_obf.

    Examples
    --------
    >>> form = ExponentialForm(2.0, r_exp=1.0, r_obf=3.0)
    >>> away = np.array([[0.0, 2.0, 4.0]])
    >>> form.forced(away, away <= 3).tolist(), form.weights(away, away <= 3).round(3).tolist()
    ([[False, True, True]], [[1.0, 0.135, 0.05]])
    """

    epsilon: float
    r_exp: float
    r_obf: float = np.inf
    rate: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < np.inf:
            raise InvalidProblemError("epsilon", "a positive number", self.epsilon)
        if not 0 < self.rate <= 1:
            raise InvalidProblemError("rate", "a part of epsilon in (0, 1]", self.rate)
        if not self.r_exp <= self.r_obf or self.r_obf < 0:
            raise InvalidProblemError("r_exp", "at most r_obf, which is at least 0", self.r_exp)

    @property
    def floor(self) -> float:
        r"""The weight outside the range, :math:`e^{-\lambda \epsilon r_\text{obf}}`."""
        return float(np.exp(-float(self.rate) * self.epsilon * self.r_obf))

    def forced(self, away: NDArray[np.float64], inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Q: which entries have the form.

        Parameters
        ----------
        away
            ``(rows, reports)`` distances.
        inside
            ``(rows, reports)``: what is within the obfuscation range.
        """
        return ~(within(away, self.r_exp) & inside) if self.r_exp >= 0 else np.ones_like(inside)

    def weights(self, away: NDArray[np.float64], inside: NDArray[np.bool_]) -> NDArray[np.float64]:
        """What multiplies y, for all entries; the only place where Equation (18) is computed."""
        decay = np.exp(-float(self.rate) * self.epsilon * away)
        return np.where(inside, decay, self.floor)
