"""Audit of the mechanism for places that :func:`discreet.lrgeo.design` makes, on a small grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.audit.channels import audit_channel
from discreet.lrgeo.design import design
from discreet.lrgeo.places.region import Region
from discreet.lrgeo.verify import verify

if TYPE_CHECKING:
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

DEFAULT = "design"


def audit_places(request: AuditRequest, *, side: int = 4) -> Audit:
    """Audit the designed mechanism on a square grid of places 1 km apart.

    One design and its verification, then the cost of the strength. A claim of another kind is refused too.

    Parameters
    ----------
    request
        The method, ``"design"`` or none; the claimed epsilon per km; strength ``"certified"``, ``"exact"`` or
        ``"sampled"``.
    side
        Places along a side of the grid: all pairs of 4 x 4 places can be compared exactly.

    Returns
    -------
    Audit
        Default: certified.

    Raises
    ------
    InvalidProblemError
        For an unknown method, or without an epsilon.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_places(AuditRequest("design", epsilon="1")).rejected
    False
    """
    if request.method not in (None, DEFAULT):
        raise InvalidProblemError("method", DEFAULT, repr(request.method))
    region = Region.from_grid(side, side, cell=1, unit="km")
    made = design(region, request.metric(), scope="places")
    checks = verify(made.channel, made.guarantee, totals_share=made.totals_share)
    return audit_channel(made.channel, region.space, made.guarantee, checks, request)
