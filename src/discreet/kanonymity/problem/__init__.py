"""The table to be anonymized as numbers: which columns an adversary knows, and what a generalized cell costs.

Rows are private: no message and no ``repr`` of this package shows a value or a count of values. It imports core alone.
"""

from __future__ import annotations

from discreet.kanonymity.problem.attributes import (
    Attribute,
    Categorical,
    Dates,
    Numeric,
    Prefixes,
    Rounded,
    Taxonomy,
)
from discreet.kanonymity.problem.column import LOSSES, CodedColumn
from discreet.kanonymity.problem.table import Boxes, Problem

__all__ = [
    "LOSSES",
    "Attribute",
    "Boxes",
    "Categorical",
    "CodedColumn",
    "Dates",
    "Numeric",
    "Prefixes",
    "Problem",
    "Rounded",
    "Taxonomy",
]
