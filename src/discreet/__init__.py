"""Optimal privacy mechanisms, with the proof attached.

This is the façade: every public name, loaded on first use, and no logic. ``import discreet`` loads neither a solver nor
a compiler.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet import hierarchy as hierarchy
    from discreet import kanonymity as kanonymity
    from discreet import lrgeo as lrgeo
    from discreet import metricdp as metricdp
    from discreet import submodular as submodular
    from discreet.artefact.judging import verify as verify
    from discreet.core.calculus import compose as compose
    from discreet.core.calculus import implies as implies
    from discreet.core.certificate import Certificate as Certificate
    from discreet.core.certificate import Check as Check
    from discreet.core.channels.channel import Channel as Channel
    from discreet.core.errors import BudgetError as BudgetError
    from discreet.core.errors import CertificateError as CertificateError
    from discreet.core.errors import DiscreetError as DiscreetError
    from discreet.core.errors import InfeasibleError as InfeasibleError
    from discreet.core.errors import InvalidProblemError as InvalidProblemError
    from discreet.core.errors import LimitReachedError as LimitReachedError
    from discreet.core.errors import SolverError as SolverError
    from discreet.core.guarantee import ApproxDP as ApproxDP
    from discreet.core.guarantee import KAnonymity as KAnonymity
    from discreet.core.guarantee import MetricDP as MetricDP
    from discreet.core.guarantee import PureDP as PureDP
    from discreet.core.guarantee import ZeroConcentratedDP as ZeroConcentratedDP
    from discreet.core.outcome import Anonymization as Anonymization
    from discreet.core.outcome import Design as Design
    from discreet.core.outcome import Provenance as Provenance
    from discreet.core.outcome import Release as Release
    from discreet.core.outcome import Unproven as Unproven
    from discreet.core.randomness.bits import RandomBits as RandomBits
    from discreet.core.spaces.metric import MetricSpace as MetricSpace
    from discreet.core.tree import Tree as Tree
    from discreet.evaluate.attack.by_name import attack as attack
    from discreet.evaluate.audit.by_name import audit as audit
    from discreet.evaluate.compare import compare as compare
    from discreet.evaluate.risk import risk as risk
    from discreet.hierarchy.counts import counts as counts
    from discreet.kanonymity.anonymize import anonymize as anonymize
    from discreet.submodular.selecting import select as select

    __version__: str

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
    @cache
    def _public() -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
        """Return what loads and lists the names; the import of this package alone loads no module of it."""
        from discreet.core.lazy import public_names

        return public_names(globals())

    def __getattr__(name: str) -> object:
        """Load a public name when it is first used."""
        if name == "__version__":
            return importlib.import_module("importlib.metadata").version("discreet")
        if name in _ELSEWHERE:
            message = f"module {__name__!r} has no attribute {name!r}: {_ELSEWHERE[name]}"
            raise AttributeError(message)
        load, _, names = _public()
        return names if name == "__all__" else load(name)

    def __dir__() -> list[str]:
        return [*_public()[2], "__version__"]
