"""Chance: the bits, and the exact samplers that draw from them."""

from discreet.core.randomness.bernoulli import bernoulli, bernoulli_exp, bernoulli_exps, bernoullis
from discreet.core.randomness.bits import (
    RandomBits,
    SeededBits,
    SystemBits,
    UniformSource,
    as_bits,
    is_private,
)
from discreet.core.randomness.choice import categorical, categoricals, exponential_mechanism
from discreet.core.randomness.gaussian import discrete_gaussian, discrete_gaussians
from discreet.core.randomness.noise import discrete_laplace, discrete_laplaces

__all__ = [
    "RandomBits",
    "SeededBits",
    "SystemBits",
    "UniformSource",
    "as_bits",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_exps",
    "bernoullis",
    "categorical",
    "categoricals",
    "discrete_gaussian",
    "discrete_gaussians",
    "discrete_laplace",
    "discrete_laplaces",
    "exponential_mechanism",
    "is_private",
]
