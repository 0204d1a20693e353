"""Which outcomes were verified in this process: what is printed as certified is only what was.

A frozen outcome says what holds, and its certificate what was measured; but a copy with another guarantee, an outcome
that was unpickled and one that was read from a file carry a certificate that may be about something else. Those are
printed as claims until :func:`discreet.verify` has passed them, and so is an outcome whose table was changed in place.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.certificate import Certificate

CLAIMED = "claimed: discreet.verify checks it"


class _Certified(Protocol):
    """An outcome with its certificate."""

    @property
    def certificate(self) -> Certificate: ...


OutcomeT = TypeVar("OutcomeT")

_VERIFIED: WeakKeyDictionary[object, tuple[Callable[[Any], object] | None, object]] = (
    WeakKeyDictionary()
)
"""Outcomes by identity, each frozen and equal to itself alone, and what parts that can be changed were then."""


def mark_verified(
    outcome: OutcomeT, contents: Callable[[OutcomeT], object] | None = None
) -> OutcomeT:
    """Note that an outcome passed its verifier as it is; a copy of it did not.

    The outcome is not kept alive by this; TypeError for a class that has no weak references.

    Parameters
    ----------
    outcome
        What was verified, of a class without equality by value.
    contents
        Gives a value that is another one once a part of the outcome was changed in place.

    Returns
    -------
    OutcomeT
        The same.
    """
    _VERIFIED[outcome] = (contents, None if contents is None else contents(outcome))
    return outcome


def mark_refused(outcome: object) -> None:
    """Note that an outcome failed its verifier, whatever was noted of it before."""
    # One of a class that nobody refers to weakly was never noted.
    with suppress(TypeError):
        _VERIFIED.pop(outcome, None)


def was_verified(outcome: object) -> bool:
    """Whether this process verified this very object in its present state.

    The `contents` that were noted with it are computed anew, and compared.
    """
    try:
        known = _VERIFIED.get(outcome)
    except TypeError:
        # Of a class that nobody refers to weakly, and so never noted.
        return False
    if known is None:
        return False
    contents, then = known
    return contents is None or contents(outcome) == then


def verdict_of(outcome: _Certified) -> str:
    """Return "certified", or "NOT CERTIFIED" if a check failed, or that the outcome's checks are only claimed.

    They are claimed, as :data:`CLAIMED` says, while this process has not verified this very object as it is.

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
