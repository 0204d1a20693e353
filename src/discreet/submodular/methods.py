"""The methods by the names that people type: one table for commands and reports.

Values are ``"module:class"``; nothing is imported before it is asked for.
"""

from __future__ import annotations

__all__ = ["METHODS", "WITHOUT_GUARANTEE"]

_HERE = "discreet.submodular"

METHODS: dict[str, str] = {
    "algorithm-1": f"{_HERE}.algorithm_1:Algorithm1",
    "algorithm-3": f"{_HERE}.algorithm_3:Algorithm3",
    "algorithm-4": f"{_HERE}.algorithm_4:Algorithm4",
    "badanidiyuru-vondrak": f"{_HERE}.badanidiyuru_vondrak:BadanidiyuruVondrak",
    "base-continuous-greedy": f"{_HERE}.bases:BaseContinuousGreedy",
    "gupta": f"{_HERE}.gupta:Gupta",
    "measured-continuous-greedy": f"{_HERE}.bases:MeasuredContinuousGreedy",
    "mitrovic": f"{_HERE}.mitrovic:Mitrovic",
    "part-sampled": f"{_HERE}.algorithm_4:PartSampled",
    "permute-and-flip": f"{_HERE}.permute_and_flip:PermuteAndFlip",
    "random-base": f"{_HERE}.reference:Blind",
    "subsampled": f"{_HERE}.subsampled:Subsampled",
    "subsampled-rounds": f"{_HERE}.subsampled_rounds:SubsampledRounds",
}
"""What ``release`` takes as its method, with default parameters."""

WITHOUT_GUARANTEE: dict[str, str] = {
    "algorithm-2": f"{_HERE}.algorithm_2:Algorithm2",
    "algorithm-4-as-published": f"{_HERE}.algorithm_4:Algorithm4",
    "continuous-greedy": f"{_HERE}.reference:continuous_greedy",
    "lazy-greedy": f"{_HERE}.reference:lazy_greedy",
    "non-private-greedy": f"{_HERE}.reference:NonPrivate",
    "stochastic-greedy": f"{_HERE}.reference:stochastic_greedy",
}
"""What ``reproduce`` takes: without noise, or with a published claim that is false."""
