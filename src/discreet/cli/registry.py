"""Which function stands behind a name: the one place where later mechanisms make themselves known.

Each table maps a name that people type to ``"module:function"``. Nothing is imported before its name is asked for, so
a table costs nothing, and a mechanism adds a line here and no import. What the functions take and return:

``METHODS``
    ``method()``: a frozen method of ``discreet.metricdp.design`` with its default parameters. Behind ``--method``.
``COMPARE``
    ``method()``: a frozen method like those of ``METHODS``, or ``None`` for what the library chooses by itself. Behind
    ``discreet compare --methods``; every method of the library is there under its name.
``COUNT_METHODS``
    ``method()``: a frozen method of ``discreet.hierarchy.release`` with default parameters. Behind ``discreet counts
    --method``.
``REPRODUCE``
    ``item(*, quick, seed, data, on_progress) -> Experiment``: one published table or figure, computed anew, under
    ``"paper/item"``; for ``discreet reproduce``. ``quick`` asks for small sizes, ``data`` is a folder with the paper's
    own data or ``None``, ``on_progress`` takes sentences. Only these and the demo take a seed.
    An item whose runs are limited in time also takes ``limit``, the seconds of each run, or ``None``.
``AUDITS``
    ``audit(asked: AuditRequest) -> Audit``: tries to break what a mechanism's method claims, for ``discreet audit``.
``ATTACKS``, ``FILE_ATTACKS``
    ``attack(asked: AttackRequest) -> Attacked``: infers what can be inferred, from a mechanism on made data or from a
    file of some kind, for ``discreet attack``.
``FRONTIERS``
    ``lost(method, parameter) -> Measure``: what a method loses on made data at an epsilon or a k, for ``discreet
    compare`` with the name of a mechanism.
``JUDGES``
    ``judge(path, *, optimality) -> tuple[Certificate, dict]``: checks one kind of artefact anew, for ``discreet
    verify``; the dictionary holds further plain facts for ``--json``.

Chapters of reports have a table of the same form in :mod:`discreet.report`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.methods import METHODS as COUNT_METHODS
from discreet.metricdp.methods import METHODS as LIBRARY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "ATTACKS",
    "AUDITS",
    "COMPARE",
    "COUNT_METHODS",
    "FILE_ATTACKS",
    "FRONTIERS",
    "JUDGES",
    "METHODS",
    "REPRODUCE",
    "find",
]

METHODS: dict[str, str] = {
    **LIBRARY,
    "best-constant": LIBRARY["constant"],
}

COMPARE: dict[str, str] = {**LIBRARY, "optimal": "discreet.cli.comparing:library_choice"}

_QIU24 = "discreet.experiments.metricdp"

_FVZ21 = "discreet.experiments.hierarchy"

_LS20 = "discreet.experiments.kanonymity"

_RY20 = "discreet.experiments.submodular"

_QLPSX24 = "discreet.experiments.lrgeo"

REPRODUCE: dict[str, str] = {
    "hierarchy/table5": f"{_FVZ21}.examples:table5",
    "hierarchy/table6": f"{_FVZ21}.examples:table6",
    "hierarchy/table7": f"{_FVZ21}.errors:table7",
    "hierarchy/figure7": f"{_FVZ21}.times:figure7",
    "hierarchy/figure8": f"{_FVZ21}.times:figure8",
    "hierarchy/windows": f"{_FVZ21}.times:windows",
    "kanonymity/table1": f"{_LS20}.examples:table1",
    "kanonymity/table2": f"{_LS20}.examples:table2",
    "kanonymity/table3": f"{_LS20}.statistics:table3",
    "kanonymity/table4": f"{_LS20}.examples:table4",
    "kanonymity/tables5-6": f"{_LS20}.examples:tables5to6",
    "kanonymity/table7": f"{_LS20}.examples:table7",
    "kanonymity/table8": f"{_LS20}.statistics:table8",
    "kanonymity/table9": f"{_LS20}.statistics:table9",
    "kanonymity/table10": f"{_LS20}.statistics:table10",
    "kanonymity/figure2": f"{_LS20}.optimality:figure2",
    "kanonymity/figures3-4": f"{_LS20}.utility:figures3to4",
    "kanonymity/figure5": f"{_LS20}.scaling:figure5",
    "kanonymity/figure6": f"{_LS20}.scaling:figure6",
    "kanonymity/figure7": f"{_LS20}.scaling:figure7",
    "kanonymity/figure8": f"{_LS20}.scaling:figure8",
    "kanonymity/figures9-10": f"{_LS20}.scaling:figures9to10",
    "kanonymity/appendix-b": f"{_LS20}.utility:appendix_b",
    "kanonymity/rand": f"{_LS20}.scaling:rand",
    "lrgeo/table1": f"{_QLPSX24}.tables:table1",
    "lrgeo/table2": f"{_QLPSX24}.tables:table2",
    "lrgeo/figure6": f"{_QLPSX24}.figures:figure6",
    "lrgeo/figure8": f"{_QLPSX24}.figures:figure8",
    "lrgeo/figure9": f"{_QLPSX24}.figures:figure9",
    "lrgeo/figure10": f"{_QLPSX24}.figures:figure10",
    "lrgeo/figure11": f"{_QLPSX24}.composite:figure11",
    "lrgeo/figure12": f"{_QLPSX24}.composite:figure12",
    "lrgeo/figure13": f"{_QLPSX24}.figures:figure13",
    "lrgeo/composite": f"{_QLPSX24}.composite:composite",
    "lrgeo/theorems": f"{_QLPSX24}.theorems:theorems",
    "metricdp/table1": f"{_QIU24}.sizes:table1",
    "metricdp/table2": f"{_QIU24}.sizes:table2",
    "metricdp/table3": f"{_QIU24}.decomposition:table3",
    "metricdp/table4": f"{_QIU24}.decomposition:table4",
    "metricdp/figure5": f"{_QIU24}.sizes:figure5",
    "metricdp/figure6": f"{_QIU24}.utility:figure6",
    "metricdp/figure7": f"{_QIU24}.utility:figure7",
    "metricdp/figures8-9": f"{_QIU24}.convergence:figures8to9",
    "metricdp/figures10-11": f"{_QIU24}.convergence:figures10to11",
    "metricdp/figure12": f"{_QIU24}.sizes:figure12",
    "metricdp/figures13-16": f"{_QIU24}.sizes:figures13to16",
    "metricdp/figures17-20": f"{_QIU24}.convergence:figures17to20",
    "metricdp/scaling": f"{_QIU24}.scaling:scaling",
    "submodular/features": "discreet.experiments.submodular.features:features",
    "submodular/location": "discreet.experiments.submodular.location:cardinality",
    "submodular/topics": "discreet.experiments.submodular.topics:topics",
    "submodular/two-parts": "discreet.experiments.submodular.location:two_parts",
    "submodular/counterexamples": f"{_RY20}.counterexamples:counterexamples",
    "submodular/greedy-loses": f"{_RY20}.values:greedy_loses",
    "submodular/sampling": f"{_RY20}.values:sampling",
    "submodular/steps": f"{_RY20}.values:steps",
    "submodular/theorems": f"{_RY20}.theorems:theorems",
    "submodular/value": f"{_RY20}.values:value",
}

AUDITS: dict[str, str] = {
    "hierarchy": "discreet.evaluate.audit_hierarchy:audit_counts",
    "kanonymity": "discreet.evaluate.audit_kanonymity:audit_tables",
    "lrgeo": "discreet.cli.served_audit:audit_location",
    "metricdp": "discreet.evaluate.audit_metricdp:audit_designs",
    "submodular": "discreet.evaluate.audit_submodular:audit_choices",
}

ATTACKS: dict[str, str] = {
    "hierarchy": "discreet.cli.attacks:attack_counts",
    "kanonymity": "discreet.cli.attacks:attack_patients",
    "lrgeo": "discreet.cli.attack_places:attack_places",
    "metricdp": "discreet.cli.attacks:attack_grid",
    "submodular": "discreet.cli.attacks:attack_choices",
}

FILE_ATTACKS: dict[str, str] = {
    "anchored": "discreet.cli.attacks:attack_placed_file",
    "anonymous-table": "discreet.cli.attacks:attack_table_file",
    "channel": "discreet.cli.attacks:attack_channel_file",
    "measurements": "discreet.cli.attacks:refuse_release",
    "mechanism": "discreet.cli.attacks:attack_placed_file",
    "region-counts": "discreet.cli.attacks:refuse_release",
}

FRONTIERS: dict[str, str] = {
    "hierarchy": "discreet.cli.frontiers:counts_lost",
    "kanonymity": "discreet.cli.frontiers:tables_lost",
    "submodular": "discreet.cli.frontiers:choices_lost",
}

JUDGES: dict[str, str] = {
    "anchored": "discreet.cli.judges:judge_anchored",
    "anonymous-table": "discreet.cli.row_judges:judge_anonymous",
    "channel": "discreet.cli.judges:judge_channel",
    "mechanism": "discreet.cli.mechanisms:judge_mechanism",
    "measurements": "discreet.cli.table_judges:judge_measurements",
    "region-counts": "discreet.cli.table_judges:judge_counts",
}


def find(table: Mapping[str, str], name: str, argument: str) -> Callable[..., Any]:
    """Import the function that is registered under a name.

    Parameters
    ----------
    table
        One of the tables of this module, or one of the same form.
    name
        What was asked for.
    argument
        The argument that named it, for the error message.

    Raises
    ------
    InvalidProblemError
        When the table has no such name.

    Examples
    --------
    >>> find(METHODS, "kernel", "--method")()
    Kernel()
    >>> find({"b": "math:exp", "a": "math:log"}, "c", "--method")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: --method: expected one of a, b, got 'c'
    """
    if name not in table:
        raise InvalidProblemError(argument, f"one of {', '.join(sorted(table))}", repr(name))
    module, _, function = table[name].partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found
