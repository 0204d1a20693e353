"""k-anonymity by local recoding: cells generalized as little as possible, in classes of k rows or more.

:func:`anonymize` takes a table and gives it back generalized. Below it, a :class:`Problem` states quasi-identifiers as
codes, and :func:`~discreet.kanonymity.search.search.search` runs methods in order of cost and returns the best
partition of its rows, verified, with a lower bound on the loss of any. :func:`verify` judges a published table by its
cells alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import public_names

# At once, since a module loaded later would take the function's name.
from discreet.kanonymity.anonymize import anonymize as anonymize
from discreet.kanonymity.verify import verify as verify

if TYPE_CHECKING:
    from discreet.kanonymity.problem import Categorical as Categorical
    from discreet.kanonymity.problem import Dates as Dates
    from discreet.kanonymity.problem import Numeric as Numeric
    from discreet.kanonymity.problem import Prefixes as Prefixes
    from discreet.kanonymity.problem import Problem as Problem
    from discreet.kanonymity.problem import Rounded as Rounded
    from discreet.kanonymity.problem import Taxonomy as Taxonomy

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(globals())
