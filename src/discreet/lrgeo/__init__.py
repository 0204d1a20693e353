"""LR-Geo: places are reported such that near ones can't be told apart, by a mechanism that is published whole.

Make a :class:`Region`, :func:`design` a mechanism for it, publish the :class:`Mechanism`; a :class:`Client` rebuilds
its own row and draws. Nothing is uploaded. Loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

# At once, since a module loaded later would take the function's name.
from discreet.lrgeo.design import design
from discreet.lrgeo.verify import verify

if TYPE_CHECKING:
    from discreet.lrgeo.audited import audited_design
    from discreet.lrgeo.client import Client
    from discreet.lrgeo.composite import composite_check
    from discreet.lrgeo.design import RegionDesign
    from discreet.lrgeo.epochs import Epochs, State, locate, pin
    from discreet.lrgeo.frozen_scales import FrozenScales
    from discreet.lrgeo.instance import Instance
    from discreet.lrgeo.lr_geo import LRGeo
    from discreet.lrgeo.mechanism import Mechanism
    from discreet.lrgeo.problem import travel_loss
    from discreet.lrgeo.published import reproduce
    from discreet.lrgeo.region import Region
    from discreet.lrgeo.roads import Roads

__all__ = [
    "Client",
    "Epochs",
    "FrozenScales",
    "Instance",
    "LRGeo",
    "Mechanism",
    "Region",
    "RegionDesign",
    "Roads",
    "State",
    "audited_design",
    "composite_check",
    "design",
    "locate",
    "pin",
    "reproduce",
    "travel_loss",
    "verify",
]

_WHERE = {
    "Client": "client",
    "Epochs": "epochs",
    "FrozenScales": "frozen_scales",
    "Instance": "instance",
    "LRGeo": "lr_geo",
    "Mechanism": "mechanism",
    "Region": "region",
    "RegionDesign": "design",
    "Roads": "roads",
    "State": "epochs",
    "audited_design": "audited",
    "composite_check": "composite",
    "locate": "epochs",
    "pin": "epochs",
    "reproduce": "published",
    "travel_loss": "problem",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    # Hidden from type checkers, which would take it to mean that every name exists.
    def __getattr__(name: str) -> object:
        """Load a public name when it is first asked for."""
        if name not in _WHERE:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        value: object = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
