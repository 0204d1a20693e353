"""Metric differential privacy: the channel that loses least among those whose reports can't tell near secrets apart.

State a :class:`Problem`, :func:`design` a channel for it, :func:`verify` what you get. Methods are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names

# At once, since a module loaded later would take the function's name.
from discreet.metricdp.design import design as design
from discreet.metricdp.minimax import minimax as minimax
from discreet.metricdp.verify import verify as verify

if TYPE_CHECKING:
    from discreet.metricdp.bounds.tails import tail_channel as tail_channel
    from discreet.metricdp.methods.baselines import Exponential as Exponential
    from discreet.metricdp.methods.baselines import PlanarLaplace as PlanarLaplace
    from discreet.metricdp.methods.benders import Benders as Benders
    from discreet.metricdp.methods.direct import Direct as Direct
    from discreet.metricdp.methods.kernel import Kernel as Kernel
    from discreet.metricdp.methods.primal_dual import PrimalDual as PrimalDual
    from discreet.metricdp.problem import Problem as Problem

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
