"""Optimal privacy mechanisms, with the proof attached.

This is the façade: every public name, loaded on first use, and no logic. ``import discreet`` loads neither a solver nor
a compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import hierarchy, kanonymity, lrgeo, metricdp, submodular
    from discreet.artefact.judging import verify
    from discreet.core.calculus import compose, implies
    from discreet.core.certificate import Certificate, Check
    from discreet.core.channels.channel import Channel
    from discreet.core.errors import (
        BudgetError,
        CertificateError,
        DiscreetError,
        InfeasibleError,
        InvalidProblemError,
        LimitReachedError,
        SolverError,
    )
    from discreet.core.guarantee import (
        ApproxDP,
        KAnonymity,
        MetricDP,
        PureDP,
        ZeroConcentratedDP,
    )
    from discreet.core.outcome import Anonymization, Design, Provenance, Release, Unproven
    from discreet.core.randomness.bits import RandomBits
    from discreet.core.spaces.metric import MetricSpace
    from discreet.core.tree import Tree
    from discreet.evaluate.attack.by_name import attack
    from discreet.evaluate.audit.by_name import audit
    from discreet.evaluate.compare import compare
    from discreet.evaluate.risk import risk
    from discreet.hierarchy.counts import counts
    from discreet.kanonymity.anonymize import anonymize
    from discreet.submodular.selecting import select

    __version__: str

__all__ = [
    "Anonymization",
    "ApproxDP",
    "BudgetError",
    "Certificate",
    "CertificateError",
    "Channel",
    "Check",
    "Design",
    "DiscreetError",
    "InfeasibleError",
    "InvalidProblemError",
    "KAnonymity",
    "LimitReachedError",
    "MetricDP",
    "MetricSpace",
    "Provenance",
    "PureDP",
    "RandomBits",
    "Release",
    "SolverError",
    "Tree",
    "Unproven",
    "ZeroConcentratedDP",
    "anonymize",
    "attack",
    "audit",
    "compare",
    "compose",
    "counts",
    "hierarchy",
    "implies",
    "kanonymity",
    "lrgeo",
    "metricdp",
    "risk",
    "select",
    "submodular",
    "verify",
]

_WHERE = {
    name: module
    for module, names in {
        "": "hierarchy kanonymity lrgeo metricdp submodular",
        "artefact.judging": "verify",
        "core.calculus": "compose implies",
        "core.certificate": "Certificate Check",
        "core.channels.channel": "Channel",
        "core.errors": "BudgetError CertificateError DiscreetError InfeasibleError InvalidProblemError "
        "LimitReachedError SolverError",
        "core.guarantee": "ApproxDP KAnonymity MetricDP PureDP ZeroConcentratedDP",
        "core.outcome": "Anonymization Design Provenance Release Unproven",
        "core.randomness.bits": "RandomBits",
        "core.spaces.metric": "MetricSpace",
        "core.tree": "Tree",
        "evaluate.attack.by_name": "attack",
        "evaluate.audit.by_name": "audit",
        "evaluate.compare": "compare",
        "evaluate.risk": "risk",
        "hierarchy.counts": "counts",
        "kanonymity.anonymize": "anonymize",
        "submodular.selecting": "select",
    }.items()
    for name in names.split()
}
"""Public name -> the module that defines it; empty for a mechanism."""

_ELSEWHERE = {
    "Ledger": "it is discreet.ledger.Ledger",
    "design": "it is discreet.metricdp.design, or discreet.lrgeo.design for a region",
    "load": "it is discreet.artefact.load; discreet.artefact has a reader for each kind of file",
    "plan": "it is discreet.hierarchy.plan or discreet.submodular.plan",
    "query": "it is discreet.hierarchy.query",
    "release": "it is discreet.hierarchy.release or discreet.submodular.release",
}
"""Name that is looked for here -> the sentence that says where it is, or what replaces it."""


if not TYPE_CHECKING:
    # Hidden from type checkers, which would take it to mean that every name exists.
    def __getattr__(name: str) -> object:
        """Load a public name when it is first used."""
        if name == "__version__":
            return importlib.import_module("importlib.metadata").version("discreet")
        if name not in _WHERE:
            instead = f": {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
            message = f"module {__name__!r} has no attribute {name!r}{instead}"
            raise AttributeError(message)
        module = importlib.import_module(f"{__name__}.{_WHERE[name] or name}")
        value: object = getattr(module, name) if _WHERE[name] else module
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
