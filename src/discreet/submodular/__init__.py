"""Private choice: a set, or k disjoint ones, of high value among those that a matroid allows.

State what a set is worth to the records (:class:`FacilityLocation`, :class:`Coverage`, ...) and what may be chosen
(:class:`UniformMatroid`, :class:`PartitionMatroid`, ...). Everything is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

# At once, since a module loaded later would take the function's name.
from discreet.submodular.verify import verify

if TYPE_CHECKING:
    from discreet.submodular._release import diagnose, release, reproduce
    from discreet.submodular.advertising import AdAllocation
    from discreet.submodular.algorithm_3 import Algorithm3
    from discreet.submodular.algorithm_4 import PartSampled
    from discreet.submodular.badanidiyuru_vondrak import BadanidiyuruVondrak
    from discreet.submodular.checker import check
    from discreet.submodular.combine import FromFunction, FromRecords, Sum
    from discreet.submodular.concave import ConcaveOverModular
    from discreet.submodular.coverage import Coverage, WeightedCoverage
    from discreet.submodular.facility import FacilityLocation
    from discreet.submodular.influence import Influence
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.matroids.derived import Contraction, DirectSum, Dual, Truncation
    from discreet.submodular.matroids.graphic import GraphicMatroid
    from discreet.submodular.matroids.laminar import LaminarMatroid
    from discreet.submodular.matroids.linear import LinearMatroid
    from discreet.submodular.matroids.partition import PartitionMatroid
    from discreet.submodular.matroids.transversal import TransversalMatroid
    from discreet.submodular.matroids.uniform import UniformMatroid
    from discreet.submodular.mutual import MutualInformation
    from discreet.submodular.objective import Objective
    from discreet.submodular.optimal import optimum, upper_bound
    from discreet.submodular.problem import Selection
    from discreet.submodular.resources import ResourceLocation
    from discreet.submodular.sensors import SensorPlacement
    from discreet.submodular.subsampled import Subsampled
    from discreet.submodular.topics import TopicInfluence

__all__ = [
    "AdAllocation",
    "Algorithm3",
    "BadanidiyuruVondrak",
    "ConcaveOverModular",
    "Contraction",
    "Coverage",
    "DirectSum",
    "Dual",
    "FacilityLocation",
    "FromFunction",
    "FromRecords",
    "GraphicMatroid",
    "Influence",
    "LaminarMatroid",
    "LinearMatroid",
    "Matroid",
    "MutualInformation",
    "Objective",
    "PartSampled",
    "PartitionMatroid",
    "ResourceLocation",
    "Selection",
    "SensorPlacement",
    "Subsampled",
    "Sum",
    "TopicInfluence",
    "TransversalMatroid",
    "Truncation",
    "UniformMatroid",
    "WeightedCoverage",
    "check",
    "diagnose",
    "optimum",
    "release",
    "reproduce",
    "upper_bound",
    "verify",
]

_WHERE = {
    "AdAllocation": "advertising",
    "Algorithm3": "algorithm_3",
    "BadanidiyuruVondrak": "badanidiyuru_vondrak",
    "ConcaveOverModular": "concave",
    "Contraction": "matroids.derived",
    "Coverage": "coverage",
    "DirectSum": "matroids.derived",
    "Dual": "matroids.derived",
    "FacilityLocation": "facility",
    "FromFunction": "combine",
    "FromRecords": "combine",
    "GraphicMatroid": "matroids.graphic",
    "Influence": "influence",
    "LaminarMatroid": "matroids.laminar",
    "LinearMatroid": "matroids.linear",
    "Matroid": "matroids.base",
    "MutualInformation": "mutual",
    "Objective": "objective",
    "PartSampled": "algorithm_4",
    "PartitionMatroid": "matroids.partition",
    "ResourceLocation": "resources",
    "Selection": "problem",
    "SensorPlacement": "sensors",
    "Subsampled": "subsampled",
    "Sum": "combine",
    "TopicInfluence": "topics",
    "TransversalMatroid": "matroids.transversal",
    "Truncation": "matroids.derived",
    "UniformMatroid": "matroids.uniform",
    "WeightedCoverage": "coverage",
    "check": "checker",
    "diagnose": "_release",
    "optimum": "optimal",
    "release": "_release",
    "reproduce": "_release",
    "upper_bound": "optimal",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
