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

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Protocol

    import numpy as np
    from numpy.typing import NDArray

    class _CheckLike(Protocol):
        """One check, such as :class:`discreet.Check`."""

        @property
        def name(self) -> str: ...
        @property
        def passed(self) -> bool: ...

    class _CertificateLike(Protocol):
        """What a failure carries: a :class:`discreet.Certificate`, whose module imports this one."""

        @property
        def checks(self) -> Sequence[_CheckLike]: ...
        def to_dict(self) -> dict[str, Any]: ...


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
    code
        Public name of the refusal, which stays when sentences change; empty for an argument that has none. All codes of
        tables are the keys of ``discreet.tables.refusals.EXPECTED``.
    """

    def __init__(self, field: str, expected: str, got: object, *, code: str = "") -> None:
        super().__init__(f"{field}: expected {expected}, got {got}")
        self.field = field
        self.expected = expected
        self.got = got
        self.code = code

    def renamed(
        self, field: str, *, expected: str | None = None, got: object = None
    ) -> InvalidProblemError:
        """Return the same refusal of an argument named `field` at an entrance, with the same code.

        `expected` and `got` replace the texts of this error where given.
        """
        expected = self.expected if expected is None else expected
        return InvalidProblemError(
            field, expected, self.got if got is None else got, code=self.code
        )

    def __reduce__(
        self,
    ) -> tuple[type[InvalidProblemError], tuple[str, str, object], dict[str, Any]]:
        """Pickle by its parts, since workers raise this across processes."""
        return type(self), (self.field, self.expected, self.got), vars(self)


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
        What was checked, with the residuals: a :class:`discreet.Certificate`.
    """

    def __init__(self, certificate: _CertificateLike) -> None:
        failed = ", ".join(check.name for check in certificate.checks if not check.passed)
        super().__init__(f"failed checks: {failed or 'none was made'}")
        self.certificate = certificate

    def __reduce__(self) -> tuple[type[CertificateError], tuple[_CertificateLike]]:
        """Pickle by the certificate, since workers raise this across processes."""
        return type(self), (self.certificate,)


class BudgetError(DiscreetError):
    """The privacy budget of a dataset does not cover what was requested."""


MALFORMED = (DiscreetError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading the parts of a file or mapping may raise that is not what it should be."""


@contextmanager
def refuse_malformed(field: str) -> Iterator[None]:
    """Replace errors of Python's about malformed plain values by an InvalidProblemError about `field`.

    A context, or a decorator of a function that reads what `to_dict` wrote. Errors of this library pass unchanged.
    """
    try:
        yield
    except DiscreetError:
        raise
    except MALFORMED as error:
        got = f"no {error}" if isinstance(error, KeyError) else f"another ({type(error).__name__})"
        raise InvalidProblemError(field, "a mapping that its `to_dict` wrote", got) from None


def unknown_name(
    field: str,
    given: object,
    allowed: Iterable[str],
    *,
    expected: str = "one of",
    max_characters: int = 80,
    min_similarity: float = 0.5,
) -> InvalidProblemError:
    """Return the error for an unknown public name: the name and the most similar allowed one.

    Not for names that may be private, such as a table's columns: a message must not repeat those.

    The error is returned, not raised. A value that is no text is shown by its type alone.

    Parameters
    ----------
    field
        The argument that is wrong, as the caller names it.
    given
        What came.
    allowed
        The names that are there, in the order in which they are listed.
    expected
        What stands before them.
    max_characters
        Limit on the characters of `given` that the message repeats.
    min_similarity
        Similarity from which a name is suggested: at 0.5 one letter of two may be wrong.

    Examples
    --------
    >>> print(unknown_name("unit", "kn", ["km", "mile"]))
    unit: expected one of km, mile, got 'kn'; the nearest is 'km'
    """
    names = list(allowed)
    if not isinstance(given, str):
        return InvalidProblemError(field, f"{expected} {', '.join(names)}", type(given).__name__)
    from difflib import get_close_matches

    near = get_close_matches(given[:max_characters].lower(), names, 1, min_similarity)
    hint = f"; the nearest is {near[0]!r}" if near else ""
    came = repr(given if len(given) <= max_characters else f"{given[:max_characters]}...")
    return InvalidProblemError(field, f"{expected} {', '.join(names)}", came + hint)


def first_unfit(values: NDArray[Any], fits: NDArray[np.bool_]) -> str:
    """Describe the first invalid entry of a *public* array: its value and its index.

    Parameters
    ----------
    values
        The array.
    fits
        Whether each entry fits, of the same shape; at least one does not.

    Examples
    --------
    >>> import numpy as np
    >>> lengths = np.array([[3, 1], [-4, 0]])
    >>> first_unfit(lengths, lengths >= 0)
    '-4 at (1, 0)'
    """
    place, where = int(fits.argmin()), []
    value = values.reshape(-1)[place]
    for size in reversed(values.shape):
        place, at = divmod(place, size)
        where.append(at)
    return f"{value} at {where[0] if len(where) == 1 else tuple(reversed(where))}"
