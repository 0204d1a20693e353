"""Audit of the methods of :mod:`discreet.metricdp`, each on what it designs for a small grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate.audit.channels import audit_channel
from discreet.metricdp import Problem, design, verify

if TYPE_CHECKING:
    from discreet.core.guarantee import MetricDP
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest


def audit_designs(request: AuditRequest) -> Audit:
    """Audit a method by its name, on what it designs for a small grid of cells of 1 km.

    One design of nine places and its verification, then the cost of the strength.

    Parameters
    ----------
    request
        The method, by default the one that the library takes for a given kernel; the claimed epsilon per km; strength
        ``"certified"``, ``"exact"`` or ``"sampled"``.

    Returns
    -------
    Audit
        Default: certified.

    Raises
    ------
    InvalidProblemError
        For an unknown method, or one without a guarantee, and without an epsilon.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_designs(AuditRequest("exponential", epsilon="1")).rejected
    False
    """
    problem, claim = audited_grid(request)
    made = design(problem, claim, method=request.method or "kernel", throw=False)
    return audit_channel(made.channel, problem.space, made.guarantee, verify(made), request)


def audited_grid(
    request: AuditRequest, radius: int | None = None, *, side: int = 3
) -> tuple[Problem, MetricDP]:
    """Return the problem of an audit of a method, `side` x `side` cells of 1 km, and the claim for it.

    `radius` is in km, ``None`` for all pairs; the request has the claimed epsilon per km. All pairs of nine cells can
    be compared exactly.

    Raises
    ------
    InvalidProblemError
        If there is no epsilon, or a claim of another kind.
    """
    claim = request.metric(radius)
    space = MetricSpace.grid(side, side, cell=1, unit="km")
    return Problem(space, utility_loss="distance"), claim
