r"""Audit of Algorithm 2 of [RY20]_ on the instance on which its Theorem 4.5 fails.

The scores of two elements straddle the boundary of a layer, and one record moves from one to the other. The claim for
one step is :math:`2 \epsilon_0`; a draw loses :math:`\epsilon_0^2 n / 2`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.audit.audit import Pair
from discreet.evaluate.audit.submodular import PlannedChoice, judge_choices
from discreet.submodular.matroids.capacities import UniformMatroid
from discreet.submodular.objectives.coverage import Coverage
from discreet.submodular.stating import state_choice
from discreet_reproduction.submodular.as_published.algorithm_2 import Algorithm2

if TYPE_CHECKING:
    from discreet.core.guarantee import PureDP
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

_MAX_RECORDS = 200_000


def audit_layers(request: AuditRequest) -> Audit:
    """Audit Algorithm 2 on the least number of records that shows its loss.

    Parameters
    ----------
    request
        The claimed epsilon; neighbors, default ``"replace-one"``.

    Returns
    -------
    Audit
        Default: exact.

    Raises
    ------
    InvalidProblemError
        For an epsilon that needs more than 200,000 records.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_layers(AuditRequest("algorithm-2", epsilon="1", strength="sampled")).rejected
    True
    """
    claim = request.pure("replace-one", "for Algorithm 2")
    return judge_choices([_straddling(claim)], claim, request)


def _straddling(claim: PureDP) -> Pair:
    """Return the two data sets on which layers lose most."""
    step = claim.epsilon / 2
    n = math.ceil(2 * (3 * claim.epsilon + 3) / step**2)
    # The boundary of the first layer is to fall between two numbers of records, not on one.
    while not 1 <= 4 * (step * n % 1) <= 3:
        n += 1
        if n > _MAX_RECORDS:
            raise InvalidProblemError("epsilon", "one for which few records suffice", claim.epsilon)
    above = min(math.floor(step * n) + 1, n)
    cases = []
    for favored in (0, 1):
        table = np.zeros((n, 2), dtype=np.bool_)
        table[: above - 1] = True
        table[above - 1, favored] = True
        objective, matroid = Coverage(table), UniformMatroid(2, 1)
        method = Algorithm2(step)
        plan = method.literal_plan(state_choice(objective, matroid, None), matroid)
        cases.append(PlannedChoice(objective, matroid, method, plan))
    label = f"{n} records, {above - 1} for both elements, and one for this or that element"
    return Pair(cases[0], cases[1], label)
