"""Audit of the decomposition as printed and as released, whose channels are floats."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.core.randomness.replay import Law
from discreet.evaluate.audit.audit import audit_laws
from discreet.evaluate.audit.metricdp import audited_grid, is_constrained, pair_of
from discreet_reproduction.metricdp.as_published.decomposition import as_published, as_released

if TYPE_CHECKING:
    from collections.abc import Hashable

    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

__all__ = ["METHODS", "audit_floats"]

METHODS = {"as-published": as_published, "as-released": as_released}
"""Audited method by name."""


def audit_floats(request: AuditRequest) -> Audit:
    """Audit a method of :data:`METHODS`: its rows, read as fractions, each divided by its sum.

    Parameters
    ----------
    request
        Name of the method, and the claimed epsilon per km.

    Returns
    -------
    Audit
        Exact.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_floats(AuditRequest("as-released", epsilon="1")).rejected
    True
    """
    problem, claim = audited_grid(request, radius=1)
    request.choose("exact")
    space = problem.space
    method = METHODS[(request.method or "as-published").replace("_", "-")]
    laws = []
    for row in method(problem, claim, blocks=2).result.matrix.tolist():
        exact = [Fraction(max(value, 0.0)) for value in row]
        total = sum(exact)
        masses: dict[Hashable, Fraction] = {k: x / total for k, x in enumerate(exact) if x}
        laws.append(Law(MappingProxyType(masses), Fraction(0), 1))
    near = [
        (i, j) for i, j in combinations(range(space.n), 2) if is_constrained(space, claim, i, j)
    ]
    pairs = [pair_of(None, space, i, j) for i, j in near]
    return audit_laws([(laws[i], laws[j]) for i, j in near], pairs, claim)
