"""The certified audit: a verifier's checks, in the words of an audit."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.guarantee import KAnonymity
from discreet.evaluate._exact_audit import claimed_parameter
from discreet.evaluate.audit import Audit

if TYPE_CHECKING:
    from discreet.core.certificate import Certificate
    from discreet.core.guarantee import Guarantee

__all__ = ["certified"]


def certified(
    certificate: Certificate,
    guarantee: Guarantee,
    *,
    lower: float = 0.0,
    pair: str = "",
    event: str = "",
    pairs: int = 0,
) -> Audit:
    """State what a verifier found as an audit.

    Parameters
    ----------
    certificate
        Of a mechanism's verifier.
    guarantee
        What was verified.
    lower, pair, event, pairs
        What is known beside, as in :class:`~discreet.evaluate.audit.Audit`.

    Returns
    -------
    Audit
        Rejected when a check failed, or when there is none.

    Examples
    --------
    >>> from discreet import Certificate, Check, PureDP
    >>> wrong = Certificate((Check("noise that is too small", 1, 0, exact=True),))
    >>> made = certified(wrong, PureDP(1, "replace-one"))
    >>> made.rejected, made.event
    (True, 'failed: noise that is too small')
    """
    if isinstance(guarantee, KAnonymity):
        parameter, claimed = "k", Fraction(guarantee.k)
    else:
        parameter, claimed = claimed_parameter(guarantee)
    names = ", ".join(check.name for check in certificate.checks if not check.passed)
    failed = f"failed: {names or 'nothing was checked'}" if not certificate.passed else ""
    told = "; ".join(part for part in (event, failed) if part)
    return Audit(
        guarantee,
        "certified",
        parameter,
        claimed,
        lower,
        not certificate.passed,
        pair,
        told,
        pairs=pairs,
    )
