"""k-anonymity by local recoding: cells generalized as little as possible, in classes of k rows or more.

:func:`anonymize` takes a table and gives it back generalized. Below it, a :class:`Problem` states quasi-identifiers as
codes, and :func:`~discreet.kanonymity.search.search.search` runs methods in order of cost and returns the best
partition of its rows, verified, with a lower bound on the loss of any. :func:`verify` judges a published table by its
cells alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

# At once, since a module loaded later would take the function's name.
from discreet.kanonymity.anonymize import anonymize
from discreet.kanonymity.verify import verify

if TYPE_CHECKING:
    from discreet.kanonymity.problem import (
        Categorical,
        Dates,
        Numeric,
        Prefixes,
        Problem,
        Rounded,
        Taxonomy,
    )

__all__ = [
    "Categorical",
    "Dates",
    "Numeric",
    "Prefixes",
    "Problem",
    "Rounded",
    "Taxonomy",
    "anonymize",
    "verify",
]

_WHERE = {
    "Categorical": "problem",
    "Dates": "problem",
    "Numeric": "problem",
    "Prefixes": "problem",
    "Problem": "problem",
    "Rounded": "problem",
    "Taxonomy": "problem",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
