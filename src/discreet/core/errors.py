"""The six things that can go wrong, and nothing else.

::

    DiscreetError
    ├── InvalidProblemError (also a ValueError)   the input makes no sense; nothing was done
    ├── InfeasibleError                           no answer exists
    ├── SolverError                               a solver gave no answer that may be used
    ├── LimitReachedError                         time or iterations ran out; `best` holds what was verified
    ├── CertificateError                          a check failed; never caught inside the library
    └── BudgetError                               the ledger refused

No message holds a value that came from private data: names, types, shapes and public parameters only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.core.certificate import Certificate

__all__ = [
    "BudgetError",
    "CertificateError",
    "DiscreetError",
    "InfeasibleError",
    "InvalidProblemError",
    "LimitReachedError",
    "SolverError",
]


class DiscreetError(Exception):
    """Everything that this library raises on purpose."""


class InvalidProblemError(DiscreetError, ValueError):
    """An argument that states nonsense, refused before any work is done.

    Parameters
    ----------
    field
        The argument or column that is wrong, as the caller names it.
    expected
        What would have been right.
    got
        What came: a type, a shape, or a public value. Never a private one.
    """

    def __init__(self, field: str, expected: str, got: object) -> None:
        super().__init__(f"{field}: expected {expected}, got {got}")
        self.field = field
        self.expected = expected
        self.got = got

    def __reduce__(self) -> tuple[type[InvalidProblemError], tuple[str, str, object]]:
        """Pickle by the three parts, since workers raise this across processes."""
        return type(self), (self.field, self.expected, self.got)


class InfeasibleError(DiscreetError):
    """No answer exists for the problem as stated."""


class SolverError(DiscreetError):
    """A solver ended without an answer that may be used.

    Parameters
    ----------
    backend
        The solver.
    status
        What it said.
    detail
        What the caller can do about it.
    """

    def __init__(self, backend: str, status: str, detail: str = "") -> None:
        super().__init__(f"{backend}: {status}" + (f" ({detail})" if detail else ""))
        self.backend = backend
        self.status = status
        self.detail = detail

    def __reduce__(self) -> tuple[type[SolverError], tuple[str, str, str]]:
        """Pickle by the three parts, since workers raise this across processes."""
        return type(self), (self.backend, self.status, self.detail)


class LimitReachedError(DiscreetError):
    """A limit ended the search before the target was met.

    Parameters
    ----------
    message
        Which limit, and what was reached.
    best
        The best outcome that passed every check, or ``None`` where there is none.
    """

    def __init__(self, message: str, best: object = None) -> None:
        super().__init__(message)
        self.best = best

    def __reduce__(self) -> tuple[type[LimitReachedError], tuple[str, object]]:
        """Pickle with the outcome, since workers raise this across processes."""
        return type(self), (str(self), self.best)


class CertificateError(DiscreetError):
    """A check failed. The outcome must not be used.

    Parameters
    ----------
    certificate
        What was checked, with the residuals.
    """

    def __init__(self, certificate: Certificate) -> None:
        failed = ", ".join(check.name for check in certificate.checks if not check.passed)
        super().__init__(f"failed checks: {failed or 'none was made'}")
        self.certificate = certificate

    def __reduce__(self) -> tuple[type[CertificateError], tuple[Certificate]]:
        """Pickle by the certificate, since workers raise this across processes."""
        return type(self), (self.certificate,)


class BudgetError(DiscreetError):
    """The privacy budget of a dataset does not cover what was asked for."""
