"""Which function stands behind a name: the one place where later mechanisms make themselves known.

Each table maps a name that people type to ``"module:function"``, or to the record of a method, which says the same.
Nothing is imported before its name is used, so that a table costs nothing, and a mechanism adds a line here and no
import. What the functions take and return:

``METHODS``
    ``method()``: a frozen method of ``discreet.metricdp.design`` with its default parameters. Behind ``--method``.
``JUDGES``
    ``judge(path, *, optimality) -> tuple[Certificate, dict]``: checks one kind of artefact anew, for ``discreet
    verify``; the dictionary holds further plain facts for ``--json``.

Audits, attacks and frontiers have tables of the same form in :mod:`discreet.evaluate.registry`, chapters of reports in
:mod:`discreet.report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.artefact.judging import JUDGES
from discreet.core.lazy import registered as find
from discreet.hierarchy.methods import METHODS as COUNT_METHODS
from discreet.kanonymity.methods import METHODS as TABLE_METHODS
from discreet.metricdp.methods import METHODS as LIBRARY
from discreet.submodular.methods import METHODS as CHOICE_METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.core.method import MethodRecord

__all__ = [
    "JUDGES",
    "METHODS",
    "find",
    "methods_by_mechanism",
]

METHODS: Mapping[str, str | MethodRecord] = LIBRARY.proven


def methods_by_mechanism(*mechanisms: str, unproven: bool) -> str:
    """Name the methods of some mechanisms for the help of ``--method``.

    Parameters
    ----------
    mechanisms
        The mechanisms.
    unproven
        Whether to name those without a guarantee, too.

    Examples
    --------
    >>> methods_by_mechanism("submodular", unproven=False).startswith("submodular: ")
    True
    """
    tables = {
        "hierarchy": COUNT_METHODS,
        "kanonymity": TABLE_METHODS,
        "metricdp": LIBRARY,
        "submodular": CHOICE_METHODS,
    }
    return "; ".join(
        f"{name}: {', '.join(tables[name] if unproven else tables[name].proven)}"
        for name in mechanisms
    )
