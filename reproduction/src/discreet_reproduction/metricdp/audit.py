"""Audit of the decomposition as printed and as released, whose channels are floats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.evaluate.audit.channels import audit_channel, channel_of
from discreet.evaluate.audit.metricdp import audited_grid
from discreet_reproduction.metricdp.as_published.decomposition import as_published, as_released

if TYPE_CHECKING:
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

METHODS = {"as-published": as_published, "as-released": as_released}
"""Audited method by name."""

_UNITS_PER_ONE = 2.0**53


def audit_floats(request: AuditRequest) -> Audit:
    """Audit a method of :data:`METHODS`: its rows in units of ``2^-53``, rounded up, each divided by its sum.

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
    method = METHODS[(request.method or "as-published").replace("_", "-")]
    # Rounded up, so that nothing that was possible becomes impossible.
    matrix = np.maximum(method(problem, claim, blocks=2).result.matrix, 0.0)
    rows = np.ceil(matrix * _UNITS_PER_ONE).astype(np.int64).tolist()
    return audit_channel(channel_of(rows), problem.space, claim, None, request)
