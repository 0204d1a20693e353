"""Tables of any attributes by region: measured with exact noise, estimated without bias, made whole with a proved gap.

People by sex, age band and race for every region, with marginals measured at budgets of their own. :func:`plan` a
release from public inputs, let :meth:`TablesPlan.release` read the records, :func:`query` the kept measurements,
:func:`verify` what you get. Parts are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names

# At once, since a module loaded later would take the function's name.
from discreet.hierarchy.contingency.plan import TablesPlan as TablesPlan
from discreet.hierarchy.contingency.plan import plan as plan
from discreet.hierarchy.contingency.query import query as query
from discreet.hierarchy.contingency.verify import verify as verify

if TYPE_CHECKING:
    from discreet.hierarchy.contingency.cell_counts import CellCounts as CellCounts
    from discreet.hierarchy.contingency.estimates import estimate as estimate
    from discreet.hierarchy.contingency.measure import MeasuredTables as MeasuredTables
    from discreet.hierarchy.contingency.problem import Domain as Domain
    from discreet.hierarchy.contingency.problem import TableFrame as TableFrame
    from discreet.hierarchy.contingency.records import count_cells as count_cells
    from discreet.hierarchy.contingency.result import RegionTables as RegionTables

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
