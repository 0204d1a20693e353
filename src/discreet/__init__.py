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
    "compose",
    "hierarchy",
    "implies",
    "kanonymity",
    "lrgeo",
    "metricdp",
    "submodular",
    "verify",
]

_WHERE = {
    "Anonymization": "discreet.core.outcome",
    "ApproxDP": "discreet.core.guarantee",
    "BudgetError": "discreet.core.errors",
    "Certificate": "discreet.core.certificate",
    "CertificateError": "discreet.core.errors",
    "Channel": "discreet.core.channels.channel",
    "Check": "discreet.core.certificate",
    "Design": "discreet.core.outcome",
    "DiscreetError": "discreet.core.errors",
    "InfeasibleError": "discreet.core.errors",
    "InvalidProblemError": "discreet.core.errors",
    "KAnonymity": "discreet.core.guarantee",
    "LimitReachedError": "discreet.core.errors",
    "MetricDP": "discreet.core.guarantee",
    "MetricSpace": "discreet.core.spaces.metric",
    "Provenance": "discreet.core.outcome",
    "PureDP": "discreet.core.guarantee",
    "RandomBits": "discreet.core.randomness.bits",
    "Release": "discreet.core.outcome",
    "SolverError": "discreet.core.errors",
    "Tree": "discreet.core.tree",
    "Unproven": "discreet.core.outcome",
    "ZeroConcentratedDP": "discreet.core.guarantee",
    "compose": "discreet.core.calculus",
    "hierarchy": "discreet.hierarchy",
    "implies": "discreet.core.calculus",
    "kanonymity": "discreet.kanonymity",
    "lrgeo": "discreet.lrgeo",
    "metricdp": "discreet.metricdp",
    "submodular": "discreet.submodular",
    "verify": "discreet.artefact.judging",
}
"""Public name -> the module that defines it; a mechanism's name -> the mechanism."""


if not TYPE_CHECKING:
    # Hidden from type checkers, which would take it to mean that every name exists.
    def __getattr__(name: str) -> object:
        """Load a public name when it is first asked for."""
        if name == "__version__":
            return importlib.import_module("importlib.metadata").version("discreet")
        if name not in _WHERE:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        module = importlib.import_module(_WHERE[name])
        value: object = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
