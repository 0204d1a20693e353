"""LR-Geo: places are reported such that near ones can't be told apart, by a mechanism that is published whole.

Make a :class:`Region`, :func:`design` a mechanism for every point of it and publish that: a :class:`NoiseMechanism` or
a :class:`LatticeMechanism`; a :class:`PointClient` draws from it. For places alone these are a :class:`Mechanism` and a
:class:`Client`. Nothing is uploaded. Loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

# At once, since a module loaded later would take the function's name.
from discreet.lrgeo.design import design
from discreet.lrgeo.verify import verify

if TYPE_CHECKING:
    from discreet.lrgeo.client import Client
    from discreet.lrgeo.design import RegionDesign
    from discreet.lrgeo.epochs import Epochs, locate, pin
    from discreet.lrgeo.mechanism import Mechanism
    from discreet.lrgeo.places.region import Region
    from discreet.lrgeo.places.roads import Roads
    from discreet.lrgeo.points.client import PointClient
    from discreet.lrgeo.points.noise import NoiseMechanism
    from discreet.lrgeo.points.noise_design import NoiseDesign
    from discreet.lrgeo.points.table import LatticeMechanism
    from discreet.lrgeo.points.table_design import LatticeDesign
    from discreet.lrgeo.problem import travel_loss
    from discreet.lrgeo.state import State

__all__ = [
    "Client",
    "Epochs",
    "LatticeDesign",
    "LatticeMechanism",
    "Mechanism",
    "NoiseDesign",
    "NoiseMechanism",
    "PointClient",
    "Region",
    "RegionDesign",
    "Roads",
    "State",
    "design",
    "locate",
    "pin",
    "travel_loss",
    "verify",
]

_WHERE = {
    "Client": "client",
    "Epochs": "epochs",
    "LatticeDesign": "points.table_design",
    "LatticeMechanism": "points.table",
    "Mechanism": "mechanism",
    "NoiseDesign": "points.noise_design",
    "NoiseMechanism": "points.noise",
    "PointClient": "points.client",
    "Region": "places.region",
    "RegionDesign": "design",
    "Roads": "places.roads",
    "State": "state",
    "locate": "epochs",
    "pin": "epochs",
    "travel_loss": "problem",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
