"""k-anonymity by local recoding: each cell generalized as little as possible, so that k rows or more look alike.

:func:`anonymize` takes a table and gives it back generalized. Below it, a :class:`Problem` states quasi-identifiers as
codes, :func:`~discreet.kanonymity.search.search` finds a partition of its rows with a bound on the loss of any, and
methods are tried in turn. :func:`verify` judges a published table by its cells alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

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
    # Hidden from type checkers, which would take it to mean that every name exists.
    def __getattr__(name: str) -> object:
        """Load a public name when it is first asked for."""
        if name not in _WHERE:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        value: object = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
