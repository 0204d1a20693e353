"""What goes to standard output and what to standard error, and which status a run ends with.

Data go to standard output: text for people, or with ``--json`` one JSON object and nothing else. Progress, warnings and
errors go to standard error. An error is one line; with ``--json`` that line is an object ``{"error": {...}}``, and
standard output stays empty.

What comes from files and from the network is printed on one line, with what a terminal would obey escaped, and cut: a
value after 1,000 characters, a line of a result after 4,000. JSON is whole, since it is ASCII and escaped.

A reader of either of them may stop, as ``| head`` does: the work goes on to its end, and the status says how it went.
"""

from __future__ import annotations

import json
import os
import sys
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import (
    BudgetError,
    CertificateError,
    InfeasibleError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)
from discreet.core.faults import place_of
from discreet.core.printed import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

    from discreet.core.certificate import Certificate
    from discreet.core.guarantee import DPGuarantee

_LONGEST_LINE = 4_000
"""Characters of a line of a result; several values may stand in one."""

__all__ = [
    "Status",
    "emit",
    "facts",
    "fail",
    "proved",
    "status_of",
    "stopped",
    "warn",
    "warn_of_weakness",
]

_ARGUMENTS = {
    "accepts": "--max-epsilon",
    "allow_unprotected": "--allow-unprotected",
    "cell": "--cell",
    "dataset": "--dataset",
    "delta": "--delta",
    "epsilon": "--epsilon",
    "failure": "--failure",
    "for_life": "--for-life",
    "gap": "--gap",
    "guarantee": "--epsilon",
    "host": "--host",
    "interval": "--interval",
    "k": "-k",
    "labels": "--label",
    "ledger": "LEDGER",
    "level": "--level",
    "level, regions": "--level or --region",
    "levels": "--levels",
    "max_quantity": "--max-quantity",
    "max_size": "--max-size",
    "method": "--method",
    "metric": "--metric",
    "neighbors": "--neighbors",
    "per_day": "--per-day",
    "optimality": "--optimality",
    "people": "PEOPLE",
    "point": "PLACE",
    "points": "PLACES or --embeddings",
    "port": "--port",
    "prior": "--prior",
    "public_units": "--public-units",
    "radius": "--radius",
    "region_list": "--region-list",
    "regions": "--regions",
    "reports": "--reports",
    "rho": "--rho",
    "samples": "--samples",
    "seconds": "--epoch",
    "server": "--server",
    "sizes": "--sizes",
    "spacing": "--spacing",
    "state": "--state",
    "strength": "--strength",
    "threads": "--threads",
    "time_limit": "--time-limit",
    "unit": "--unit",
    "units": "--units",
    "utility_loss": "--loss",
}
"""How people who use the command line call the arguments of the library."""

_OF_A_GRID = {"columns": "--grid", "rows": "--grid"}
"""The same where a grid was requested; elsewhere these words are about tables."""


class Status(IntEnum):
    """Exit statuses; every command means the same by them."""

    DONE = 0
    CHECK_FAILED = 1
    BAD_INPUT = 2
    INFEASIBLE = 3
    TARGET_MISSED = 4
    BUDGET_REFUSED = 5
    INTERNAL = 70
    INTERRUPTED = 130


_STATUS: dict[type[BaseException], Status] = {
    CertificateError: Status.CHECK_FAILED,
    InvalidProblemError: Status.BAD_INPUT,
    InfeasibleError: Status.INFEASIBLE,
    LimitReachedError: Status.TARGET_MISSED,
    BudgetError: Status.BUDGET_REFUSED,
    SolverError: Status.INTERNAL,
}


def status_of(error: BaseException) -> Status:
    """Exit status of an error; what is none of ours is internal."""
    return next(
        (status for kind, status in _STATUS.items() if isinstance(error, kind)), Status.INTERNAL
    )


def emit(
    data: Mapping[str, Any],
    text: str,
    *,
    as_json: bool,
    command: str,
    certificate: Certificate | None = None,
    verbose: bool = False,
) -> None:
    """Write a command's result to standard output, as JSON or as text, which ends with what was proved."""
    if certificate is not None:
        text = f"{text}\n\n{proved(certificate, verbose=verbose)}"
    if as_json:
        text = json.dumps({"command": command, **data}, indent=2, allow_nan=False, default=_plain)
    elif text:
        text = _fit(text)
    if text:
        _put(sys.stdout, text.rstrip("\n") + "\n")


def proved(certificate: Certificate, *, verbose: bool) -> str:
    """Say what holds; each check by itself where details are wanted, or where one failed.

    Examples
    --------
    >>> from discreet.core.certificate import Certificate, Check
    >>> proved(Certificate((Check("row sums off", 0, 0, exact=True),)), verbose=False)
    'All checks hold exactly: 1 check passed. -v lists them.'
    """
    if verbose or not certificate.passed:
        return f"{certificate.sentence}\n\n{certificate}"
    return f"{certificate.sentence} -v lists them."


def _fit(text: str) -> str:
    """Make each line of a text fit for a terminal, whatever stands in it."""
    return "\n".join(one_line(line, _LONGEST_LINE) for line in text.split("\n"))


def _put(stream: TextIO, text: str) -> None:
    """Write and flush; where nobody reads any more, go on without."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _close(stream)
    except OSError as error:
        _close(stream)
        if stream is sys.stdout:
            raise InvalidProblemError(
                "standard output", "a place with room for it", error.strerror
            ) from None


def _close(stream: TextIO) -> None:
    """Lead a stream nowhere, so that what it still holds is no second error when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _plain(value: object) -> object:
    """Turn what JSON does not know into what it knows."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(type(value).__name__)


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Lay out names and values in two columns; each takes one line, wherever it comes from."""
    rows = [(one_line(name), one_line(value)) for name, value in pairs]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in rows)


def warn(message: str, *, quiet: bool = False) -> None:
    """Say something on standard error that is no error."""
    if not quiet:
        _put(sys.stderr, f"discreet: {one_line(message)}\n")


def warn_of_weakness(guarantee: DPGuarantee | None, *, quiet: bool) -> None:
    """Warn of a guarantee that protects nobody, or allows to publish some records."""
    from discreet.report.words import cautions

    for caution in () if guarantee is None else cautions(guarantee):
        warn(caution, quiet=quiet)


def fail(error: BaseException, *, as_json: bool, grid: bool = False) -> Status:
    """Say on standard error, in one line, what went wrong; return the status to exit with.

    Of an error that is none of ours only its kind and its place are told: its words may quote a value.
    """
    status = status_of(error)
    parts: dict[str, Any] = {"status": int(status), "kind": type(error).__name__}
    message = str(error)
    if isinstance(error, InvalidProblemError):
        names = _ARGUMENTS | _OF_A_GRID if grid else _ARGUMENTS
        argument = names.get(error.field, error.field)
        message = f"{argument}: expected {error.expected}, got {error.got}"
        parts |= {"argument": argument, "expected": error.expected, "got": str(error.got)}
    elif status is Status.INTERNAL and not isinstance(error, SolverError):
        # A report of it needs to say where it happened.
        parts["where"] = place_of(error)
        message = f"{_cause(error)}: {parts['where']}"
    parts["message"] = one_line(" ".join(message.split()))
    return _told(parts, as_json=as_json)


def _cause(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "there was not enough memory; give the process more, or less to do"
    if isinstance(error, OSError) and error.strerror:
        return f"internal error, please report it: {error.strerror}"
    return "internal error, please report it"


def stopped(*, as_json: bool) -> Status:
    """Say on standard error that the run was ended, and what is kept; return the status."""
    parts = {
        "status": int(Status.INTERRUPTED),
        "kind": "Interrupted",
        "message": "interrupted; what was written before is whole",
    }
    return _told(parts, as_json=as_json)


def _told(parts: dict[str, Any], *, as_json: bool) -> Status:
    line = json.dumps({"error": parts}) if as_json else f"discreet: {parts['message']}"
    _put(sys.stderr, line + "\n")
    return Status(parts["status"])
