"""Counts of groups by size for every region of a hierarchy: differentially private, whole numbers, that add up.

:func:`plan` a release from public inputs, let :meth:`Plan.release` read the table, :func:`verify` what you get. Parts
are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

# At once, since a module loaded later would take the function's name.
from discreet.hierarchy.diagnose import diagnose
from discreet.hierarchy.plan import Plan, plan
from discreet.hierarchy.query import query
from discreet.hierarchy.release import release, reproduce
from discreet.hierarchy.verify import verify

if TYPE_CHECKING:
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import Frame, GroupSizes
    from discreet.hierarchy.records import from_records, from_units
    from discreet.hierarchy.result import RegionCounts

__all__ = [
    "Frame",
    "GroupSizes",
    "Measured",
    "Plan",
    "RegionCounts",
    "diagnose",
    "from_records",
    "from_units",
    "plan",
    "query",
    "release",
    "reproduce",
    "verify",
]

_WHERE = {
    "Frame": "problem",
    "GroupSizes": "problem",
    "Measured": "measure",
    "RegionCounts": "result",
    "from_records": "records",
    "from_units": "records",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
