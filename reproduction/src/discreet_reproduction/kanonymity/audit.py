"""Audit of published algorithms that are not k-anonymous: the rows with equal cells are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.evaluate.audit.kanonymity import ATTRIBUTES, judge_tables
from discreet.kanonymity.methods import UNPROVEN
from discreet.kanonymity.problem import Problem
from discreet_reproduction.kanonymity.as_published.split_carry import reproduce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.core.guarantee import KAnonymity
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest


def audit_recodings(request: AuditRequest) -> Audit:
    """Audit a method of :data:`~discreet.kanonymity.methods.UNPROVEN`, on small tables made by chance.

    Parameters
    ----------
    request
        Name of the method, and k.

    Returns
    -------
    Audit
        `lower` is the size of the smallest equivalence class.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_recodings(AuditRequest("doka-greedy", k=3)).rejected
    True
    """
    method = UNPROVEN.resolve(request.method, accept_no_guarantee=True)

    def publish(columns: Mapping[str, list[int]], claim: KAnonymity) -> tuple[int, None]:
        problem = Problem.from_columns(columns, list(ATTRIBUTES))
        return reproduce(problem, claim.k, method).result.smallest_class, None

    return judge_tables(request, publish)
