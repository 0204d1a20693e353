"""Name of a mechanism, or kind of file -> the function that judges it, as text: nothing is imported before its use.

The functions of ``AUDITS`` take an ``AuditRequest`` and return an ``Audit``; those of ``ATTACKS`` take an
``AttackRequest`` and return an ``Attacked``. ``FRONTIERS`` holds ``measure(method, parameter) -> Measure``.
"""

from __future__ import annotations

from discreet.metricdp.methods import METHODS

__all__ = ["ATTACKS", "AUDITS", "COMPARED", "FRONTIERS"]

COMPARED = (*METHODS.proven, "optimal")
"""Methods of a design problem that can be compared; the last is the library's choice."""

AUDITS: dict[str, str] = {
    "hierarchy": "discreet.evaluate.audit.hierarchy:audit_counts",
    "kanonymity": "discreet.evaluate.audit.kanonymity:audit_tables",
    "lrgeo": "discreet.evaluate.simulate.location:audit_location",
    "metricdp": "discreet.evaluate.audit.metricdp:audit_designs",
    "submodular": "discreet.evaluate.audit.submodular:audit_choices",
    "tables": "discreet.evaluate.audit.tables:audit_tables",
}
"""Mechanism -> the audit of its methods on synthetic data."""

ATTACKS: dict[str, str] = {
    "hierarchy": "discreet.evaluate.simulate.attacks:attack_counts",
    "kanonymity": "discreet.evaluate.simulate.attacks:attack_patients",
    "lrgeo": "discreet.evaluate.simulate.location:attack_service",
    "metricdp": "discreet.evaluate.simulate.attacks:attack_grid",
    "submodular": "discreet.evaluate.simulate.attacks:attack_choices",
}
"""Mechanism -> the attack on its methods on synthetic data."""

FRONTIERS: dict[str, str] = {
    "hierarchy": "discreet.evaluate.simulate.losses:counts_lost",
    "kanonymity": "discreet.evaluate.simulate.losses:tables_lost",
    "submodular": "discreet.evaluate.simulate.losses:choices_lost",
}
"""Mechanism -> the loss of its methods on synthetic data, at an epsilon or a k."""
