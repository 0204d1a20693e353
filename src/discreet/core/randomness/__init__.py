"""Chance: the bits, and the exact samplers that draw from them."""

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names
from discreet.core.randomness.bernoulli import bernoulli as bernoulli
from discreet.core.randomness.bernoulli import bernoulli_exp as bernoulli_exp
from discreet.core.randomness.bernoulli import bernoulli_exps as bernoulli_exps
from discreet.core.randomness.bernoulli import bernoullis as bernoullis
from discreet.core.randomness.bits import RandomBits as RandomBits
from discreet.core.randomness.bits import SeededBits as SeededBits
from discreet.core.randomness.bits import SystemBits as SystemBits
from discreet.core.randomness.bits import UniformSource as UniformSource
from discreet.core.randomness.bits import as_bits as as_bits
from discreet.core.randomness.bits import is_private as is_private
from discreet.core.randomness.choice import categorical as categorical
from discreet.core.randomness.choice import categoricals as categoricals
from discreet.core.randomness.choice import exponential_mechanism as exponential_mechanism
from discreet.core.randomness.gaussian import discrete_gaussian as discrete_gaussian
from discreet.core.randomness.gaussian import discrete_gaussians as discrete_gaussians
from discreet.core.randomness.noise import discrete_laplace as discrete_laplace
from discreet.core.randomness.noise import discrete_laplaces as discrete_laplaces

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
