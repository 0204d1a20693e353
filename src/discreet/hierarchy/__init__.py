"""Counts of groups by size for every region of a hierarchy: differentially private, whole numbers, that add up.

:func:`plan` a release from public inputs, let :meth:`Plan.release` read the table, :func:`verify` what you get. Parts
are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names

# At once, since a module loaded later would take the function's name.
from discreet.hierarchy.diagnose import diagnose as diagnose
from discreet.hierarchy.plan import Plan as Plan
from discreet.hierarchy.plan import plan as plan
from discreet.hierarchy.query import query as query
from discreet.hierarchy.release import release as release
from discreet.hierarchy.release import reproduce as reproduce
from discreet.hierarchy.verify import verify as verify

if TYPE_CHECKING:
    from discreet.hierarchy.measure import Measured as Measured
    from discreet.hierarchy.problem import Frame as Frame
    from discreet.hierarchy.problem import GroupSizes as GroupSizes
    from discreet.hierarchy.records import from_records as from_records
    from discreet.hierarchy.records import from_units as from_units
    from discreet.hierarchy.result import RegionCounts as RegionCounts

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
