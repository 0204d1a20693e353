r"""Algorithm 3: the private greedy algorithm for monotone k-submodular functions under a matroid constraint.

For :math:`r` rounds, among the elements e that keep the support independent and all kinds i, draw one pair with
probability proportional to :math:`\exp(c\, \Delta_{e,i} F(s))`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from discreet.submodular.draws.growing import GreedyDraws


@final
@dataclass(frozen=True)
class Algorithm3(GreedyDraws):
    r"""Private greedy for (k-)submodular functions and any matroid.

    Parameters
    ----------
    lazy
        Whether gains are evaluated by lazy thinning, which has the same law, or all anew for each draw as published.

    Guarantee
    ---------
    Theorem 5.4 of [RY20]_ with its constant: each of the r draws is c w-DP, w the width of a score, since the common
    constant F(s) drops out of the law. The coefficient is the largest that some valid rule of composition allows.
    With probability at least :math:`1 - r\beta`, :math:`F \ge OPT/2 - (r/2c) \ln(k n/\beta)` (Theorem 5.3, where the
    paper's logarithm lacks k).

    Complexity
    ----------
    At most k n r evaluations.

    References
    ----------
    [RY20]_, Algorithm 3, Theorems 5.3 to 5.5. The printed advanced composition (Theorem 2.6) lacks k under the root.

    Examples
    --------
    >>> Algorithm3().name
    'algorithm-3'
    """

    lazy: bool = True
    name: ClassVar[str] = "algorithm-3"
