"""k-anonymity by local recoding: each cell generalized as little as possible, so that k rows or more look alike.

:func:`anonymize` takes a table and gives it back generalized. Below it, a :class:`Problem` states quasi-identifiers as
codes, :func:`~discreet.kanonymity.search.search` finds a partition of its rows with a bound on the loss of any, and
methods are tried in turn. :func:`verify` judges a published table by its cells alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import on_first_use

# At once, since a module loaded later would take the function's name.
from discreet.kanonymity.verify import verify

if TYPE_CHECKING:
    from discreet.kanonymity._anonymize import anonymize
    from discreet.kanonymity.as_published import reproduce
    from discreet.kanonymity.problem import Categorical, Numeric, Problem, Taxonomy

__all__ = ["Categorical", "Numeric", "Problem", "Taxonomy", "anonymize", "reproduce", "verify"]

_WHERE = {
    "Categorical": "problem",
    "Numeric": "problem",
    "Problem": "problem",
    "Taxonomy": "problem",
    "anonymize": "_anonymize",
    "reproduce": "as_published",
}
"""Public name -> the module that defines it."""


if not TYPE_CHECKING:
    __getattr__ = on_first_use(globals(), _WHERE)


def __dir__() -> list[str]:
    return __all__
