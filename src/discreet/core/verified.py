"""Which outcomes were verified in this process: what is printed as certified is only what was.

A frozen outcome says what holds, and its certificate what was measured; but a copy with another guarantee, an outcome
that was unpickled and one that was read from a file carry a certificate that may be about something else. Those are
printed as claims until :func:`discreet.verify` has passed them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from discreet.core.certificate import Certificate

__all__ = ["CLAIMED", "mark_verified", "verdict_of", "was_verified"]

CLAIMED = "claimed: discreet.verify checks it"


class _Certified(Protocol):
    """An outcome with its certificate."""

    @property
    def certificate(self) -> Certificate: ...


OutcomeT = TypeVar("OutcomeT")

_VERIFIED: WeakSet[object] = WeakSet()
"""Outcomes by identity: each is frozen, and equal to itself alone."""


def mark_verified(outcome: OutcomeT) -> OutcomeT:
    """Note that an outcome passed its verifier as it is; a copy of it did not.

    Parameters
    ----------
    outcome
        What was verified, of a class without equality by value.

    Returns
    -------
    OutcomeT
        The same.
    """
    _VERIFIED.add(outcome)
    return outcome


def was_verified(outcome: object) -> bool:
    """Tell whether this very object was verified by this process."""
    return outcome in _VERIFIED


def verdict_of(outcome: _Certified) -> str:
    """Say in a few words whether what an outcome claims was verified.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from discreet import MetricDP, MetricSpace
    >>> from discreet.metricdp import Problem, design
    >>> made = design(Problem(MetricSpace.grid(1, 3, cell=1, unit="km"), utility_loss="euclidean"), MetricDP(1, "km"))
    >>> verdict_of(made), verdict_of(replace(made, guarantee=MetricDP("0.1", "km")))
    ('certified', 'claimed: discreet.verify checks it')
    """
    if not outcome.certificate.passed:
        return "NOT CERTIFIED"
    return "certified" if was_verified(outcome) else CLAIMED
