"""Which function stands behind a name: the one place where later mechanisms make themselves known.

Each table maps a name that people type to ``"module:function"``, or to the record of a method, which says the same.
Nothing is imported before its name is used, so that a table costs nothing, and a mechanism adds a line here and no
import. What the functions take and return:

``METHODS``
    ``method()``: a frozen method of ``discreet.metricdp.design`` with its default parameters. Behind ``--method``.
``COMPARE``
    ``method()``: a frozen method like those of ``METHODS``, or ``None`` for what the library chooses by itself. Behind
    ``discreet compare --methods``; every method of the library is there under its name.
``AUDITS``
    ``audit(request: AuditRequest) -> Audit``: tries to break what a mechanism's method claims, for ``discreet audit``.
``ATTACKS``, ``FILE_ATTACKS``
    ``attack(request: AttackRequest) -> Attacked``: infers what can be inferred, from a mechanism on synthetic data or
    from a file of some kind, for ``discreet attack``.
``FRONTIERS``
    ``lost(method, parameter) -> Measure``: what a method loses on synthetic data at an epsilon or a k, for ``discreet
    compare`` with the name of a mechanism.
``JUDGES``
    ``judge(path, *, optimality) -> tuple[Certificate, dict]``: checks one kind of artefact anew, for ``discreet
    verify``; the dictionary holds further plain facts for ``--json``.

Chapters of reports have a table of the same form in :mod:`discreet.report`.
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
    "ATTACKS",
    "AUDITS",
    "COMPARE",
    "FILE_ATTACKS",
    "FRONTIERS",
    "JUDGES",
    "METHODS",
    "find",
    "methods_by_mechanism",
]

METHODS: Mapping[str, str | MethodRecord] = LIBRARY.proven

COMPARE: Mapping[str, str | MethodRecord] = {
    **LIBRARY.proven,
    "optimal": "discreet.cli.compare:library_choice",
}

AUDITS: dict[str, str] = {
    "hierarchy": "discreet.evaluate.audit.hierarchy:audit_counts",
    "kanonymity": "discreet.evaluate.audit.kanonymity:audit_tables",
    "lrgeo": "discreet.cli.audit:audit_location",
    "metricdp": "discreet.evaluate.audit.metricdp:audit_designs",
    "submodular": "discreet.evaluate.audit.submodular:audit_choices",
    "tables": "discreet.evaluate.audit.tables:audit_tables",
}

ATTACKS: dict[str, str] = {
    "hierarchy": "discreet.evaluate.simulate.attacks:attack_counts",
    "kanonymity": "discreet.evaluate.simulate.attacks:attack_patients",
    "lrgeo": "discreet.cli.attack:attack_service",
    "metricdp": "discreet.evaluate.simulate.attacks:attack_grid",
    "submodular": "discreet.evaluate.simulate.attacks:attack_choices",
}

FILE_ATTACKS: dict[str, str] = {
    "anchored": "discreet.cli.attack:attack_placed_file",
    "anonymous-table": "discreet.cli.attack:attack_table_file",
    "channel": "discreet.cli.attack:attack_channel_file",
    "choice": "discreet.cli.attack:refuse_choice",
    "lattice-mechanism": "discreet.cli.attack:refuse_points",
    "measurements": "discreet.cli.attack:refuse_release",
    "mechanism": "discreet.cli.attack:attack_placed_file",
    "noise-mechanism": "discreet.cli.attack:refuse_points",
    "point-mechanism": "discreet.cli.attack:refuse_points",
    "region-counts": "discreet.cli.attack:refuse_release",
    "region-tables": "discreet.cli.attack:refuse_release",
    "road-mechanism": "discreet.cli.attack:refuse_points",
    "table-measurements": "discreet.cli.attack:refuse_release",
}

FRONTIERS: dict[str, str] = {
    "hierarchy": "discreet.evaluate.simulate.losses:counts_lost",
    "kanonymity": "discreet.evaluate.simulate.losses:tables_lost",
    "submodular": "discreet.evaluate.simulate.losses:choices_lost",
}


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
