"""Counts of groups by size for every region of a hierarchy: differentially private, whole numbers, that add up.

State what is counted as :class:`GroupSizes`, :func:`release` the counts, :func:`verify` what you get. Parts are loaded
on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

# At once, since a module loaded later would take the function's name.
from discreet.hierarchy.verify import verify

if TYPE_CHECKING:
    from discreet.hierarchy._diagnose import diagnose
    from discreet.hierarchy._query import query
    from discreet.hierarchy._release import release, reproduce
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import Frame, GroupSizes
    from discreet.hierarchy.result import RegionCounts

__all__ = [
    "Frame",
    "GroupSizes",
    "Measured",
    "RegionCounts",
    "diagnose",
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
    "diagnose": "_diagnose",
    "query": "_query",
    "release": "_release",
    "reproduce": "_release",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
