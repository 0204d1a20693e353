"""Metric differential privacy: the channel that loses least among those whose reports can't tell near secrets apart.

State a :class:`Problem`, :func:`design` a channel for it, :func:`verify` what you get. Methods are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

# At once, since a module loaded later would take the function's name.
from discreet.metricdp.verify import verify

if TYPE_CHECKING:
    from discreet.metricdp._design import design
    from discreet.metricdp._frontier import frontier
    from discreet.metricdp._minimax import minimax
    from discreet.metricdp.anchored import Anchored
    from discreet.metricdp.baselines import Exponential, PlanarLaplace
    from discreet.metricdp.benders import Benders
    from discreet.metricdp.columns import Columns
    from discreet.metricdp.direct import Direct
    from discreet.metricdp.kernel import Kernel
    from discreet.metricdp.primaldual import PrimalDual
    from discreet.metricdp.problem import Problem
    from discreet.metricdp.tails import tail_channel

__all__ = [
    "Anchored",
    "Benders",
    "Columns",
    "Direct",
    "Exponential",
    "Kernel",
    "PlanarLaplace",
    "PrimalDual",
    "Problem",
    "design",
    "frontier",
    "minimax",
    "tail_channel",
    "verify",
]

_WHERE = {
    "Anchored": "anchored",
    "Benders": "benders",
    "Columns": "columns",
    "Direct": "direct",
    "Exponential": "baselines",
    "Kernel": "kernel",
    "PlanarLaplace": "baselines",
    "PrimalDual": "primaldual",
    "Problem": "problem",
    "design": "_design",
    "frontier": "_frontier",
    "minimax": "_minimax",
    "tail_channel": "tails",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
