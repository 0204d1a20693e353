"""Audits of anonymized tables: what a method makes of small synthetic tables, by counting each class."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import narwhals as nw

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.core.randomness import SystemBits
from discreet.evaluate.audit.audit import Audit
from discreet.kanonymity.anonymize import anonymize
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.problem import Numeric
from discreet.kanonymity.verify import classes_of, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.core.certificate import Certificate
    from discreet.evaluate.audit.request import AuditRequest

    Columns = Mapping[str, list[int]]

DEFAULT = "local-search"
ATTRIBUTES = (Numeric("age"), Numeric("visits"))
"""Quasi-identifiers of the tables."""
_VALUES_PER_COLUMN = (40, 6)
"""Different values of each quasi-identifier."""


def audit_tables(request: AuditRequest) -> Audit:
    """Audit a method by its name, on small tables made by chance.

    Up to 20 tables of fewer than 5 k rows. Options of other claims, and other strengths, are refused too.

    Parameters
    ----------
    request
        k, and the name of a method with a guarantee in :data:`discreet.kanonymity.methods.METHODS`, or none for the
        default.

    Returns
    -------
    Audit
        Certified: every table that the method published was counted by the verifier, or some was not k-anonymous.
        `lower` is the size of the smallest equivalence class.

    Raises
    ------
    InvalidProblemError
        For an unknown method, one without a guarantee, or without k.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_tables(AuditRequest("mondrian", k=3)).rejected
    False
    """
    method = METHODS.resolve(request.method or DEFAULT)

    def publish(columns: Columns, claim: KAnonymity) -> tuple[int, Certificate | None]:
        frame = nw.from_dict(dict(columns), backend="polars").to_native()
        published = anonymize(frame, claim, method=method).table
        certificate = verify(published, claim, against=frame, attributes=ATTRIBUTES)
        return int(classes_of(published, claim.quasi_identifiers).sizes.min()), certificate

    return judge_tables(request, publish)


def judge_tables(
    request: AuditRequest,
    publish: Callable[[Columns, KAnonymity], tuple[int, Certificate | None]],
    tables: int = 20,
) -> Audit:
    """Publish small tables made by chance, until one has an equivalence class of fewer than k rows.

    Without a claimed k, and for options of other claims, InvalidProblemError. Tables have 2 k to less than 5 k rows.
    If none is published, `lower` is 0 and the claim is not rejected.

    Parameters
    ----------
    request
        The claimed k, and the source of chance.
    publish
        From columns of integers and the claim to the size of the smallest equivalence class and, for a method with a
        guarantee, the certificate of the verifier. It may raise `InfeasibleError`; then it publishes nothing.
    tables
        Number of tables, if all are k-anonymous.

    Returns
    -------
    Audit
        As of :func:`audit_tables`.
    """
    request.refuse("epsilon", "delta", "rho", "neighbors")
    request.choose("certified")
    if request.k is None:
        raise InvalidProblemError("k", "the claimed size of the smallest class", "none")
    claim = KAnonymity(request.k, tuple(one.name for one in ATTRIBUTES))
    smallest, failed, judged = None, "", 0
    bits = request.bits or SystemBits()
    for number in range(tables):
        rows = (2 + number % 3) * request.k + number % request.k
        columns = {
            one.name: [bits.randrange(stop) for _ in range(rows)]
            for one, stop in zip(ATTRIBUTES, _VALUES_PER_COLUMN, strict=True)
        }
        try:
            size, certificate = publish(columns, claim)
        except InfeasibleError:
            continue
        judged += 1
        smallest = size if smallest is None else min(smallest, size)
        if size < request.k or (certificate is not None and not certificate.passed):
            failed = f"a table of {rows} rows was published with a class of {size}"
            break
    return Audit(
        claim,
        "certified",
        "k",
        Fraction(claim.k),
        float(smallest or 0),
        bool(failed),
        "",
        failed,
        runs=judged,
    )
