"""Private choice: a set, or k disjoint ones, of high value among those that a matroid allows.

State what a set is worth to the records (:class:`FacilityLocation`, :class:`Coverage`, ...) and what may be chosen
(:class:`UniformMatroid`, :class:`PartitionMatroid`, ...). Everything is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

# At once, since a module loaded later would take the function's name.
from discreet.submodular.release import Plan, diagnose, plan, release, reproduce
from discreet.submodular.verify import verify

if TYPE_CHECKING:
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.matroids.capacities import (
        LaminarMatroid,
        PartitionMatroid,
        UniformMatroid,
    )
    from discreet.submodular.matroids.derived import Contraction, DirectSum, Dual, Truncation
    from discreet.submodular.matroids.representable import (
        GraphicMatroid,
        LinearMatroid,
        TransversalMatroid,
    )
    from discreet.submodular.methods.algorithm_3 import Algorithm3
    from discreet.submodular.methods.badanidiyuru_vondrak import BadanidiyuruVondrak
    from discreet.submodular.methods.optimal import optimum, upper_bound
    from discreet.submodular.methods.part_sampled import PartSampled
    from discreet.submodular.methods.subsampled import Subsampled
    from discreet.submodular.objectives.checker import check
    from discreet.submodular.objectives.combine import FromFunction, FromRecords
    from discreet.submodular.objectives.concave import ConcaveOverModular, Influence
    from discreet.submodular.objectives.coverage import Coverage, WeightedCoverage
    from discreet.submodular.objectives.entropy import MutualInformation, SensorPlacement
    from discreet.submodular.objectives.facility import FacilityLocation
    from discreet.submodular.objectives.kinds import AdAllocation, ResourceLocation, TopicInfluence
    from discreet.submodular.objectives.objective import Objective, ObjectiveSpec
    from discreet.submodular.problem import Selection

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
    "ObjectiveSpec",
    "PartSampled",
    "PartitionMatroid",
    "Plan",
    "ResourceLocation",
    "Selection",
    "SensorPlacement",
    "Subsampled",
    "TopicInfluence",
    "TransversalMatroid",
    "Truncation",
    "UniformMatroid",
    "WeightedCoverage",
    "check",
    "diagnose",
    "optimum",
    "plan",
    "release",
    "reproduce",
    "upper_bound",
    "verify",
]

_WHERE = {
    "AdAllocation": "objectives.kinds",
    "Algorithm3": "methods.algorithm_3",
    "BadanidiyuruVondrak": "methods.badanidiyuru_vondrak",
    "ConcaveOverModular": "objectives.concave",
    "Contraction": "matroids.derived",
    "Coverage": "objectives.coverage",
    "DirectSum": "matroids.derived",
    "Dual": "matroids.derived",
    "FacilityLocation": "objectives.facility",
    "FromFunction": "objectives.combine",
    "FromRecords": "objectives.combine",
    "GraphicMatroid": "matroids.representable",
    "Influence": "objectives.concave",
    "LaminarMatroid": "matroids.capacities",
    "LinearMatroid": "matroids.representable",
    "Matroid": "matroids.base",
    "MutualInformation": "objectives.entropy",
    "Objective": "objectives.objective",
    "ObjectiveSpec": "objectives.objective",
    "PartSampled": "methods.part_sampled",
    "PartitionMatroid": "matroids.capacities",
    "ResourceLocation": "objectives.kinds",
    "Selection": "problem",
    "SensorPlacement": "objectives.entropy",
    "Subsampled": "methods.subsampled",
    "TopicInfluence": "objectives.kinds",
    "TransversalMatroid": "matroids.representable",
    "Truncation": "matroids.derived",
    "UniformMatroid": "matroids.capacities",
    "WeightedCoverage": "objectives.coverage",
    "check": "objectives.checker",
    "optimum": "methods.optimal",
    "upper_bound": "methods.optimal",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
