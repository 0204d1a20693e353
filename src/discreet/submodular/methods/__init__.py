"""The methods by name: one table for ``method=``, commands, audits and reports.

Values are ``"module:class"``; nothing is imported before its name is looked up.
"""

from __future__ import annotations

__all__ = ["METHODS", "WITHOUT_GUARANTEE"]

_HERE = "discreet.submodular.methods"

METHODS: dict[str, str] = {
    "algorithm-1": f"{_HERE}.algorithm_1:Algorithm1",
    "algorithm-3": f"{_HERE}.algorithm_3:Algorithm3",
    "algorithm-4": "discreet.submodular.as_published.algorithm_4:Algorithm4",
    "badanidiyuru-vondrak": f"{_HERE}.badanidiyuru_vondrak:BadanidiyuruVondrak",
    "base-continuous-greedy": f"{_HERE}.bases:BaseContinuousGreedy",
    "gupta": f"{_HERE}.gupta:Gupta",
    "measured-continuous-greedy": f"{_HERE}.bases:MeasuredContinuousGreedy",
    "mitrovic": f"{_HERE}.mitrovic:Mitrovic",
    "part-sampled": f"{_HERE}.part_sampled:PartSampled",
    "permute-and-flip": f"{_HERE}.permute_and_flip:PermuteAndFlip",
    "random-base": f"{_HERE}.baselines:RandomBase",
    "subsampled": f"{_HERE}.subsampled:Subsampled",
    "subsampled-rounds": f"{_HERE}.subsampled_rounds:SubsampledRounds",
}
"""What ``release`` takes as its method, with default parameters."""

WITHOUT_GUARANTEE: dict[str, str] = {
    "algorithm-2": "discreet.submodular.as_published.algorithm_2:Algorithm2",
    "algorithm-4-as-published": "discreet.submodular.as_published.algorithm_4:Algorithm4",
    "continuous-greedy": f"{_HERE}.baselines:ContinuousGreedy",
    "lazy-greedy": f"{_HERE}.baselines:LazyGreedy",
    "non-private-greedy": f"{_HERE}.baselines:Greedy",
    "stochastic-greedy": f"{_HERE}.baselines:StochasticGreedy",
}
"""What ``reproduce`` takes: without noise, or with a published claim that is false."""
