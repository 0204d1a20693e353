"""Metric differential privacy: the channel that loses least among those whose reports can't tell near secrets apart.

State a :class:`Problem`, :func:`design` a channel for it, :func:`verify` what you get. Methods are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

# At once, since a module loaded later would take the function's name.
from discreet.metricdp.design import design
from discreet.metricdp.frontier import frontier
from discreet.metricdp.minimax import minimax
from discreet.metricdp.verify import verify

if TYPE_CHECKING:
    from discreet.metricdp.bounds.tails import tail_channel
    from discreet.metricdp.methods.baselines import Exponential, PlanarLaplace
    from discreet.metricdp.methods.benders import Benders
    from discreet.metricdp.methods.direct import Direct
    from discreet.metricdp.methods.kernel import Kernel
    from discreet.metricdp.methods.primal_dual import PrimalDual
    from discreet.metricdp.problem import Problem

__all__ = [
    "Benders",
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
    "Benders": "methods.benders",
    "Direct": "methods.direct",
    "Exponential": "methods.baselines",
    "Kernel": "methods.kernel",
    "PlanarLaplace": "methods.baselines",
    "PrimalDual": "methods.primal_dual",
    "Problem": "problem",
    "tail_channel": "bounds.tails",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
