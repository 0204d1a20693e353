"""Audits of anonymized tables: what a method makes of small synthetic tables, by counting each class."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import narwhals as nw

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.core.randomness import SystemBits
from discreet.evaluate.audit.audit import Audit
from discreet.kanonymity.anonymize import anonymize
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.problem import Numeric, Problem
from discreet.kanonymity.verify import classes_of, verify
from discreet_reproduction.kanonymity.as_published.split_carry import reproduce

if TYPE_CHECKING:
    from discreet.core.certificate import Certificate
    from discreet.evaluate.audit.request import AuditRequest

__all__ = ["audit_tables"]

DEFAULT = "local-search"
_COLUMNS = ("age", "visits")
_VALUES = (40, 6)
_TABLES = 20


def audit_tables(request: AuditRequest) -> Audit:
    """Audit a method by its name, on small tables made by chance.

    Parameters
    ----------
    request
        A name of :data:`discreet.kanonymity.methods.METHODS`, and k.

    Returns
    -------
    Audit
        Certified: every table that the method published was counted by the verifier, or some was not k-anonymous.
        `lower` is the size of the smallest class that was seen.

    Raises
    ------
    InvalidProblemError
        For an unknown method, or without k.

    Examples
    --------
    >>> from discreet.evaluate.audit.request import AuditRequest
    >>> audit_tables(AuditRequest("mondrian", k=3)).rejected
    False
    """
    request.refuse("epsilon", "delta", "rho", "neighbors")
    request.choose("certified")
    if request.k is None:
        raise InvalidProblemError("k", "the claimed size of the smallest class", "none")
    name = request.method or DEFAULT
    record = METHODS.find(name)
    method = record.make()
    claim = KAnonymity(request.k, _COLUMNS)
    smallest, failed, judged = None, "", 0
    bits = request.bits or SystemBits()
    for number in range(_TABLES):
        rows = (2 + number % 3) * request.k + number % request.k
        made = {
            column: [bits.randrange(stop) for _ in range(rows)]
            for column, stop in zip(_COLUMNS, _VALUES, strict=True)
        }
        try:
            size, certificate = _publish(made, claim, method, proven=record.guarantee is not None)
        except InfeasibleError:
            # A method may refuse a table; it then publishes nothing.
            continue
        judged += 1
        smallest = size if smallest is None else min(smallest, size)
        if size < request.k or (certificate is not None and not certificate.passed):
            failed = f"a table of {rows} rows was published with a class of {size}"
            break
    return _stated(claim, smallest, failed, judged)


def _publish(
    made: dict[str, list[int]],
    claim: KAnonymity,
    method: Any,  # noqa: ANN401 - any method
    *,
    proven: bool,
) -> tuple[int, Certificate | None]:
    if not proven:
        problem = Problem.from_columns(made, [Numeric(name) for name in _COLUMNS])
        return reproduce(problem, claim.k, method).result.smallest_class, None
    frame = nw.from_dict(made, backend="polars").to_native()
    published = anonymize(frame, claim, method=method).table
    certificate = verify(published, claim, against=frame, attributes=_attributes())
    return int(classes_of(published, _COLUMNS).sizes.min()), certificate


def _attributes() -> tuple[Numeric, ...]:
    return tuple(Numeric(name) for name in _COLUMNS)


def _stated(claim: KAnonymity, smallest: int | None, failed: str, judged: int) -> Audit:
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
