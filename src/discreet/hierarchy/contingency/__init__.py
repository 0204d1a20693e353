"""Tables of any attributes by region: measured with exact noise, estimated without bias, made whole with a proved gap.

People by sex, age band and race for every region, with marginals measured at budgets of their own. :func:`plan` a
release from public inputs, let :meth:`TablesPlan.release` read the records, :func:`query` the kept measurements,
:func:`verify` what you get. Parts are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

# At once, since a module loaded later would take the function's name.
from discreet.hierarchy.contingency.plan import TablesPlan, plan
from discreet.hierarchy.contingency.query import query
from discreet.hierarchy.contingency.verify import verify

if TYPE_CHECKING:
    from discreet.hierarchy.contingency.cell_counts import CellCounts
    from discreet.hierarchy.contingency.estimates import estimate
    from discreet.hierarchy.contingency.measure import MeasuredTables
    from discreet.hierarchy.contingency.problem import Domain, TableFrame
    from discreet.hierarchy.contingency.records import count_cells
    from discreet.hierarchy.contingency.result import RegionTables

__all__ = [
    "CellCounts",
    "Domain",
    "MeasuredTables",
    "RegionTables",
    "TableFrame",
    "TablesPlan",
    "count_cells",
    "estimate",
    "plan",
    "query",
    "verify",
]

_WHERE = {
    "CellCounts": "cell_counts",
    "Domain": "problem",
    "MeasuredTables": "measure",
    "RegionTables": "result",
    "TableFrame": "problem",
    "count_cells": "records",
    "estimate": "estimates",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
