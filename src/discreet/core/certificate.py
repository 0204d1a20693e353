"""Certificates: what was measured, against which limit, and whether the measurement was exact.

A check is a number and its limit, not an opinion. Certificates are made only by verifiers, which share no code
with what they check. An empty certificate does not pass: a check nobody made proves nothing.

Trusted: the guarantee rests on this code, which decides whether a check passed.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import TYPE_CHECKING, Any

from discreet.core.errors import CertificateError, InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.printed import at_least, at_most, one_line
from discreet.core.printed import count as count_of

if TYPE_CHECKING:
    from collections.abc import Callable

Number = int | float | Fraction


@dataclass(frozen=True)
class Check:
    """One measured residual and the limit that it must not pass.

    Parameters
    ----------
    name
        What was measured, as a claim: ``"inequalities violated"``.
    residual
        The measured number.
    limit
        The largest residual that passes.
    exact
        True when no rounding could have changed the verdict: integers, fractions, or floats whose error is
        bounded in the safe direction.
    detail
        A few words for the reader, such as how many inequalities were looked at.

    Raises
    ------
    InvalidProblemError
        For a residual or a limit that is no number.

    Examples
    --------
    >>> Check("inequalities violated", 0, 0, exact=True).passed
    True
    >>> Check("row sum error", float("nan"), 0, exact=True).passed
    False
    """

    name: str
    residual: Number
    limit: Number
    exact: bool
    detail: str = ""

    def __post_init__(self) -> None:
        for name in ("residual", "limit"):
            value: Any = getattr(self, name)
            if not isinstance(value, int | float | Fraction):
                try:
                    # An integer of NumPy is one, and JSON does not know it.
                    object.__setattr__(self, name, index(value))
                except TypeError:
                    raise InvalidProblemError(name, "a number", type(value).__name__) from None

    @property
    def passed(self) -> bool:
        """Whether the residual is within its limit; NaN is not."""
        return bool(self.residual <= self.limit)

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON: ``name``, ``residual``, ``limit``, ``exact``, ``passed`` and ``detail``.

        Fractions become text such as ``"1/3"``, and so do infinities and NaN.
        """
        return {
            "name": self.name,
            "residual": _plain(self.residual),
            "limit": _plain(self.limit),
            "exact": self.exact,
            "passed": self.passed,
            "detail": self.detail,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Check:
        """Read what :meth:`to_dict` wrote; the verdict is computed anew.

        ``data["passed"]`` is not read. Residual and limit are numbers, or texts such as ``"1/3"``, ``"inf"`` and
        ``"nan"``.

        Raises
        ------
        KeyError
            If an entry is missing.
        InvalidProblemError
            For entries of other types.
        """
        residual, limit = _number(data["residual"]), _number(data["limit"])
        if [type(data[key]) for key in ("name", "exact", "detail")] != [str, bool, str]:
            raise InvalidProblemError("certificate", "checks of names, numbers and words", "others")
        return cls(data["name"], residual, limit, data["exact"], data["detail"])


_POSITIVE = {
    "inequalities violated": "privacy inequalities hold",
    "classes smaller than k": "equivalence classes have k rows or more, counted",
}
"""What it means that a check passed of which the detail begins with a number."""

_COUNT = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Certificate:
    """A tuple of checks that stands or falls as a whole.

    Parameters
    ----------
    checks
        The checks, in the order in which they were made.

    Raises
    ------
    InvalidProblemError
        For anything but a tuple or a list of checks: an iterator, empty at its second use, would seem to pass.

    Examples
    --------
    >>> certificate = Certificate((Check("row sums off", 0, 0, exact=True, detail="25 rows"),))
    >>> certificate.passed
    True
    >>> print(certificate)
    check         residual  limit  exact  verdict
    row sums off         0      0    yes  passed   25 rows
    >>> Certificate(()).passed
    False
    """

    checks: tuple[Check, ...]

    def __post_init__(self) -> None:
        checks: Any = self.checks
        if not isinstance(checks, tuple | list) or not all(
            isinstance(one, Check) for one in checks
        ):
            raise InvalidProblemError("checks", "a tuple of Check", type(checks).__name__)
        object.__setattr__(self, "checks", tuple(checks))

    @property
    def passed(self) -> bool:
        """Whether there is at least one check and all of them passed."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def sentence(self) -> str:
        """One sentence: the number of inequalities or classes checked where known, else of checks passed.

        Examples
        --------
        >>> Certificate((Check("inequalities violated", 0, 0, exact=True, detail="15000 looked at"),)).sentence
        'All 15,000 privacy inequalities hold exactly: 1 check passed.'
        >>> Certificate((Check("row sums off", 2, 0, exact=True),)).sentence
        'FAILED: row sums off; 0 of 1 checks passed.'
        """
        failed = [one_line(check.name) for check in self.checks if not check.passed]
        good, count = len(self.checks) - len(failed), len(self.checks)
        if failed or not count:
            return f"FAILED: {', '.join(failed) or 'nothing was checked'}; {good} of {count} checks passed."
        exactly = " exactly" if all(check.exact for check in self.checks) else ""
        passed = f"{count} check{'' if count == 1 else 's'} passed"
        for check in self.checks:
            words, number = _POSITIVE.get(check.name), _COUNT.match(check.detail)
            if words is not None and number is not None:
                return f"All {count_of(int(number[0]))} {words}{exactly}: {passed}."
        return f"All checks hold{exactly}: {passed}."

    def raise_for_failure(self) -> None:
        """Do nothing if everything passed.

        Raises
        ------
        CertificateError
            If a check failed or there is none.
        """
        if not self.passed:
            raise CertificateError(self)

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON: ``passed``, and in the list ``checks`` each check as of :meth:`Check.to_dict`."""
        return {"passed": self.passed, "checks": [check.to_dict() for check in self.checks]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Certificate:
        """Read what :meth:`to_dict` wrote; the verdict is computed anew.

        `data` has the list ``checks``; its ``passed`` is not read.

        Raises
        ------
        KeyError
            If an entry is missing.
        InvalidProblemError
            For entries of other types.
        """
        return cls(tuple(Check.from_dict(check) for check in data["checks"]))

    def __str__(self) -> str:
        rows = [("check", "residual", "limit", "exact", "verdict", "")]
        rows += [_row(check) for check in self.checks]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = []
        for row in rows:
            numbers = [row[i].rjust(widths[i]) for i in (1, 2, 3)]
            line = "  ".join([row[0].ljust(widths[0]), *numbers, row[4].ljust(widths[4])])
            lines.append(f"{line}  {row[5]}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the checks as a table in HTML."""
        head = "<tr><th>check</th><th>residual</th><th>limit</th><th>exact</th><th>verdict</th><th></th></tr>"
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _row(check)) + "</tr>"
            for check in self.checks
        )
        return f"<table>{head}{body}</table>"


def _row(check: Check) -> tuple[str, str, str, str, str, str]:
    """Return the cells of a check's row: name, residual, limit, exact, verdict and detail, in one line each."""
    verdict = "passed" if check.passed else "FAILED"
    exact = "yes" if check.exact else "no"
    # A certificate may have been read from a file, and a detail may quote one.
    name, detail = one_line(check.name), one_line(check.detail)
    # What is a lower bound must not be printed higher than it is.
    rounded = at_least if name.startswith("lower bound") else at_most
    residual, limit = (_short(one, rounded) for one in (check.residual, check.limit))
    return name, residual, limit, exact, verdict, detail


def _short(value: Number, rounded: Callable[[Number], str], *, max_digits: int = 40) -> str:
    """Format a residual or a limit, an integer in at most so many digits."""
    return one_line(value, max_digits) if isinstance(value, int) else rounded(value)


def _plain(value: Number) -> int | float | str:
    """JSON has no fractions, infinities or NaN: write those as text."""
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return str(value)
    return str(value) if isinstance(value, Fraction) else value


def _number(value: float | str) -> Number:
    """Read a residual: a number as it is, or the text of a fraction, "inf", "-inf" or "nan"; refuse anything else.

    Of numbers, infinite ones and NaN are not refused. InvalidProblemError for a boolean or another type.
    """
    if isinstance(value, str):
        return float(value) if value in {"inf", "-inf", "nan"} else to_fraction(value, "residual")
    if type(value) not in (int, float):
        raise InvalidProblemError("residual", "a number", type(value).__name__)
    return value
