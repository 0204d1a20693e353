r"""Audit of LR-Geo as published, across its users.

A user of LR-Geo samples from one row of a program of its own. The published claim is metric privacy between *places*;
rows of different programs meet no constraint. The audit puts a user at every place, takes the rows as the laws that
they are, and compares places at most :math:`\gamma` apart, as the claim does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate.audit.channels import audit_channel, channel_of
from discreet_reproduction.lrgeo.as_published.instance import Instance, trip_cost
from discreet_reproduction.lrgeo.as_published.lr_geo import LRGeo
from discreet_reproduction.lrgeo.as_published.protocol import reproduce
from discreet_reproduction.lrgeo.frozen_scales import FrozenScales

if TYPE_CHECKING:
    from discreet.core.guarantee import MetricDP
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

METHODS: dict[str, Any] = {
    "frozen-scales": FrozenScales(reach=3.0, r_exp=2.0, r_obf=4.0),
    "lr-geo": LRGeo(reach=3.0, r_exp=2.0, r_obf=4.0),
}
"""Audited method by name, with radii in cells of the grid of the audit."""

_SIDE = 4
_TARGET = 5
_UNITS_PER_ONE = 2.0**53


def audit_users(request: AuditRequest) -> Audit:
    """Audit a method of :data:`METHODS` on a grid of 4 x 4 places 1 km apart.

    Parameters
    ----------
    request
        Name of the method, and the claimed epsilon per km.

    Returns
    -------
    Audit
        Default: exact.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_users(AuditRequest("lr-geo", epsilon="1")).rejected
    True
    """
    # The paper's gamma: places next to each other.
    claim = request.metric(radius=1)
    rows = rows_of_users(METHODS[request.method or "lr-geo"], claim)
    space = MetricSpace.grid(_SIDE, _SIDE, cell=1, unit="km")
    return audit_channel(channel_of(rows), space, claim, None, request, noun="users at places")


def rows_of_users(method: Any, claim: MetricDP) -> list[list[int]]:  # noqa: ANN401 - a published method
    """Run a published method with a user at every place of the grid.

    Returns
    -------
    list of list of int
        Row i: weights from which the user at place i samples, in units of ``2^-53``, rounded up.
    """
    xy = np.array([(column, row) for row in range(_SIDE) for column in range(_SIDE)], dtype=float)
    distances = np.sqrt(((xy[:, None] - xy[None]) ** 2).sum(axis=2))
    places = Instance(distances, trip_cost(distances[:, [_TARGET]]), unit="km")
    made = reproduce(places, claim, method).result
    # Rounded up, so that nothing that was possible becomes impossible.
    rows: list[list[int]] = np.ceil(made.matrix * _UNITS_PER_ONE).astype(np.int64).tolist()
    return rows
