"""LR-Geo: places are reported such that near ones can't be told apart, by a mechanism that is published whole.

Make a :class:`Region`, :func:`design` a mechanism for every point of it and publish that: a :class:`NoiseMechanism` or
a :class:`LatticeMechanism`; a :class:`PointClient` draws from it. For places alone these are a :class:`Mechanism` and a
:class:`Client`. Nothing is uploaded. Loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names

# At once, since a module loaded later would take the function's name.
from discreet.lrgeo.design import design as design
from discreet.lrgeo.verify import verify as verify

if TYPE_CHECKING:
    from discreet.lrgeo.client import Client as Client
    from discreet.lrgeo.design import RegionDesign as RegionDesign
    from discreet.lrgeo.epochs import Epochs as Epochs
    from discreet.lrgeo.epochs import locate as locate
    from discreet.lrgeo.epochs import pin as pin
    from discreet.lrgeo.mechanism import Mechanism as Mechanism
    from discreet.lrgeo.places.region import Region as Region
    from discreet.lrgeo.places.roads import Roads as Roads
    from discreet.lrgeo.points.client import PointClient as PointClient
    from discreet.lrgeo.points.noise import NoiseMechanism as NoiseMechanism
    from discreet.lrgeo.points.noise_design import NoiseDesign as NoiseDesign
    from discreet.lrgeo.points.table import LatticeMechanism as LatticeMechanism
    from discreet.lrgeo.points.table_design import LatticeDesign as LatticeDesign
    from discreet.lrgeo.problem import travel_loss as travel_loss
    from discreet.lrgeo.state import State as State

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
