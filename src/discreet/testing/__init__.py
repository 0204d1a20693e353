"""Tests of one's own: the exact law of a sampler, checks of laws, and strategies for Hypothesis.

The strategies need Hypothesis; the rest does not.
"""

from discreet.core.randomness.replay import Law, enumerate_law
from discreet.testing.matroids import assert_matroid
from discreet.testing.neighbors import (
    Moved,
    most_moved,
    neighboring_pairs,
    small_data_sets,
)
from discreet.testing.strategies import dp_guarantees, guarantees, metric_spaces, rationals
from discreet.testing.verdicts import DPVerdict, assert_law, assert_pure_dp

__all__ = [
    "DPVerdict",
    "Law",
    "Moved",
    "assert_law",
    "assert_matroid",
    "assert_pure_dp",
    "dp_guarantees",
    "enumerate_law",
    "guarantees",
    "metric_spaces",
    "most_moved",
    "neighboring_pairs",
    "rationals",
    "small_data_sets",
]
