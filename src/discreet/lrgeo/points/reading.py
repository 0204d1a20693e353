"""Read what is published for every point, whichever form it states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.lrgeo.points.mechanism import PointMechanism
from discreet.lrgeo.points.noise import NOISE_FORM, NoiseMechanism
from discreet.lrgeo.points.table import LATTICE_FORM, LatticeMechanism

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.lrgeo.points.published import PublishedPoints

__all__ = ["read_published"]


def read_published(data: Mapping[str, Any]) -> PublishedPoints:
    """Read a mechanism for every point, and refuse what was altered.

    Parameters
    ----------
    data
        What :meth:`~discreet.lrgeo.points.published.PublishedPoints.to_dict` wrote, in any form.

    Raises
    ------
    InvalidProblemError
        As the ``from_dict`` of the form that it states: that of a mesh, where it states another one.
    """
    if data.get("form") == NOISE_FORM:
        return NoiseMechanism.from_dict(data)
    if data.get("form") == LATTICE_FORM:
        return LatticeMechanism.from_dict(data)
    return PointMechanism.from_dict(data)
