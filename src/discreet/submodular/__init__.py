"""Private choice: a set, or k disjoint ones, of high value among those that a matroid allows.

State what a set is worth to the records (:class:`FacilityLocation`, :class:`Coverage`, ...) and what may be chosen
(:class:`UniformMatroid`, :class:`PartitionMatroid`, ...). Everything is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names

# At once, since a module loaded later would take the function's name.
from discreet.submodular.release import Plan as Plan
from discreet.submodular.release import diagnose as diagnose
from discreet.submodular.release import plan as plan
from discreet.submodular.release import release as release
from discreet.submodular.release import reproduce as reproduce
from discreet.submodular.verify import verify as verify

if TYPE_CHECKING:
    from discreet.submodular.matroids.base import Matroid as Matroid
    from discreet.submodular.matroids.capacities import LaminarMatroid as LaminarMatroid
    from discreet.submodular.matroids.capacities import PartitionMatroid as PartitionMatroid
    from discreet.submodular.matroids.capacities import UniformMatroid as UniformMatroid
    from discreet.submodular.matroids.derived import Contraction as Contraction
    from discreet.submodular.matroids.derived import DirectSum as DirectSum
    from discreet.submodular.matroids.derived import Dual as Dual
    from discreet.submodular.matroids.derived import Truncation as Truncation
    from discreet.submodular.matroids.representable import GraphicMatroid as GraphicMatroid
    from discreet.submodular.matroids.representable import LinearMatroid as LinearMatroid
    from discreet.submodular.matroids.representable import TransversalMatroid as TransversalMatroid
    from discreet.submodular.methods.algorithm_3 import Algorithm3 as Algorithm3
    from discreet.submodular.methods.badanidiyuru_vondrak import (
        BadanidiyuruVondrak as BadanidiyuruVondrak,
    )
    from discreet.submodular.methods.optimal import optimum as optimum
    from discreet.submodular.methods.optimal import upper_bound as upper_bound
    from discreet.submodular.methods.part_sampled import PartSampled as PartSampled
    from discreet.submodular.methods.subsampled import Subsampled as Subsampled
    from discreet.submodular.objectives.checker import check as check
    from discreet.submodular.objectives.combine import FromFunction as FromFunction
    from discreet.submodular.objectives.combine import FromRecords as FromRecords
    from discreet.submodular.objectives.concave import ConcaveOverModular as ConcaveOverModular
    from discreet.submodular.objectives.concave import Influence as Influence
    from discreet.submodular.objectives.coverage import Coverage as Coverage
    from discreet.submodular.objectives.coverage import WeightedCoverage as WeightedCoverage
    from discreet.submodular.objectives.entropy import MutualInformation as MutualInformation
    from discreet.submodular.objectives.entropy import SensorPlacement as SensorPlacement
    from discreet.submodular.objectives.facility import FacilityLocation as FacilityLocation
    from discreet.submodular.objectives.kinds import AdAllocation as AdAllocation
    from discreet.submodular.objectives.kinds import ResourceLocation as ResourceLocation
    from discreet.submodular.objectives.kinds import TopicInfluence as TopicInfluence
    from discreet.submodular.objectives.objective import Objective as Objective
    from discreet.submodular.objectives.objective import ObjectiveSpec as ObjectiveSpec
    from discreet.submodular.problem import Selection as Selection

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
