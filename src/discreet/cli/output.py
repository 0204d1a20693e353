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
import re
import sys
from contextlib import contextmanager
from dataclasses import asdict
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
from discreet.core.printed import facts, one_line
from discreet.core.release import ChargedError, charge_note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TextIO

    from discreet.cli.options import JsonOption
    from discreet.core.certificate import Certificate
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.outcome import Release, Unproven

_SAME = (
    "again against allow_unprotected bins bottom categorical cell dataset decimal delimiter delta effort "
    "encoding epsilon failure for_life max_error missing sheet top "
    "gap host interval k_map level levels max_quantity max_size memory method methods metric mode "
    "neighbors numeric optimality others per_day population port prior public_units radius "
    "region_list regions reports rho samples scale scheduler sensitive server sizes spacing "
    "state steps strength stride suppress taxonomy threads time_limit trials unit units"
)
"""Arguments of the library whose option has the same name."""

_ARGUMENTS = {name: f"--{name.replace('_', '-')}" for name in _SAME.split()} | {
    "accepts": "--max-epsilon",
    "budget_delta": "--delta",
    "forbidden": "--forbid",
    "guarantee": "--epsilon",
    "k": "-k",
    "labels": "--label",
    "ledger": "LEDGER",
    "level, regions": "--level or --region",
    "people": "PEOPLE",
    "point": "PLACE",
    "points": "PLACES or --embeddings",
    "rounded": "--round",
    "seconds": "--epoch",
    "utility_loss": "--loss",
}
"""Argument of the library -> name on the command line."""

_SEVERAL_ARGUMENTS = re.compile(r"(, and |, | and | or )")
"""Words between the names of several arguments in one refusal."""

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
    ChargedError: Status.INTERNAL,
    CertificateError: Status.CHECK_FAILED,
    InvalidProblemError: Status.BAD_INPUT,
    InfeasibleError: Status.INFEASIBLE,
    LimitReachedError: Status.TARGET_MISSED,
    BudgetError: Status.BUDGET_REFUSED,
    SolverError: Status.INTERNAL,
}


def status_of(error: BaseException) -> Status:
    """Return the exit status of an error; foreign errors are internal."""
    return next(
        (status for kind, status in _STATUS.items() if isinstance(error, kind)), Status.INTERNAL
    )


def emit(
    command: str,
    options: JsonOption,
    data: Mapping[str, Any],
    text: str,
    certificate: Certificate | None = None,
) -> None:
    """Print a command's result, `data` as JSON or `text`, with its certificate; see :func:`rendered`."""
    put_out(rendered(command, options, data, text, certificate))


def rendered(
    command: str,
    options: JsonOption,
    data: Mapping[str, Any],
    text: str,
    certificate: Certificate | None = None,
) -> str:
    """Return a command's result as JSON of `data`, or as `text`, which ends with what `certificate` proves.

    Lines of text are escaped and cut for a terminal. ValueError for a float in JSON that is not finite.
    """
    if options.as_json:
        return json.dumps({"command": command, **data}, indent=2, allow_nan=False, default=_plain)
    if certificate is not None:
        text = f"{text}\n\n{proved(certificate, verbose=getattr(options, 'verbose', False))}"
    return _fit(text)


def outcome_facts(outcome: Release[Any] | Unproven[Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - facts of any kind
    """Return what JSON states of every release, or of an outcome without a guarantee, with the facts in `more`.

    Keys: guarantee, method, parameters, assumed_public, certificate, charge (None where there is none), and reason.
    """
    provenance, guarantee = outcome.provenance, outcome.guarantee
    certificate, reason = getattr(outcome, "certificate", None), getattr(outcome, "reason", "")
    stated = None if guarantee is None else {**guarantee.to_dict(), "sentence": str(guarantee)}
    return {
        "guarantee": stated,
        "method": provenance.method,
        **more,
        "parameters": dict(provenance.parameters),
        "assumed_public": provenance.to_dict()["assumed_public"],
        "certificate": None if certificate is None else certificate.to_dict(),
        "charge": provenance.charge or None,
        **({"reason": reason} if reason else {}),
    }


def rendered_plan(
    command: str,
    options: JsonOption,
    planned: Any,  # noqa: ANN401 - a plan of any release
    stated: Mapping[str, Any],
    lines: Iterable[tuple[str, object]],
) -> str:
    """Render what a release would do and cost: public facts alone.

    Parameters
    ----------
    command, options
        Name of the command, and its options.
    planned
        The plan: its guarantee and its public inputs are printed.
    stated, lines
        Its expected errors and the like, for JSON and for text.
    """
    guarantee, public = planned.guarantee, planned.assumed_public
    data = {
        "guarantee": {**guarantee.to_dict(), "sentence": str(guarantee)},
        **stated,
        "assumed_public": [asdict(one) for one in public],
        "charged": False,
    }
    text = facts(
        [
            ("guarantee", guarantee),
            *lines,
            *(("assumed public", f"{one.name}: {one.description}") for one in public),
            ("charged", "nothing: this is a plan"),
        ]
    )
    return rendered(command, options, data, text)


def put_out(text: str) -> None:
    """Write a rendered result to standard output with one newline at its end; nothing for an empty text.

    A reader that has stopped is ignored; InvalidProblemError where there is no room.
    """
    if text:
        _put(sys.stdout, text.rstrip("\n") + "\n")


def proved(certificate: Certificate, *, verbose: bool) -> str:
    """Return a sentence about the certificate, with a table of its checks if details are wanted or one failed.

    Examples
    --------
    >>> from discreet.core.certificate import Certificate, Check
    >>> proved(Certificate((Check("row sums off", 0, 0, exact=True),)), verbose=False)
    'All checks hold exactly: 1 check passed. -v lists them.'
    """
    if verbose or not certificate.passed:
        return f"{certificate.sentence}\n\n{certificate}"
    return f"{certificate.sentence} -v lists them."


def _fit(text: str, *, max_letters: int = 4_000) -> str:
    """Escape each line of a text for a terminal, and cut it after `max_letters`: several values may stand in one."""
    return "\n".join(one_line(line, max_letters) for line in text.split("\n"))


def _put(stream: TextIO, text: str) -> None:
    """Write and flush; if the reader of the pipe has gone, or standard error is full, go on without.

    InvalidProblemError if standard output cannot be written for another reason.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _close(stream)
    except OSError as error:
        if stream is not sys.stdout:
            _discard(stream)
        else:
            _close(stream)
            raise InvalidProblemError(
                "standard output", "a place with room for it", error.strerror
            ) from None


def _close(stream: TextIO) -> None:
    """Lead a stream nowhere, so that what it still holds is no second error when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _discard(stream: TextIO) -> None:
    """Drop what a stream could not write, and keep the stream: its disk may have room again for later lines."""
    copy = os.dup(stream.fileno())
    _close(stream)
    stream.flush()
    os.dup2(copy, stream.fileno())
    os.close(copy)


def _plain(value: object) -> object:
    """Return a fraction as text and NumPy's values as lists or numbers, for JSON; TypeError for others."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(type(value).__name__)


@contextmanager
def renamed_arguments(options: Mapping[str, str], *, others: str | None = None) -> Iterator[None]:
    """Rename arguments of the library to options of a command in errors.

    Parameters
    ----------
    options
        Argument -> option, where the two differ from what all commands have in common.
    others
        Name for all other arguments; default: their own.
    """
    try:
        yield
    except InvalidProblemError as error:
        renamed = error.renamed(_option_of(error.field, options, others))
        renamed.add_note(charge_note(error))
        raise renamed from None


def _option_of(field: str, options: Mapping[str, str], other: str | None = None) -> str:
    """Return the option that an argument is typed as, or the options of a list such as "columns, by, person".

    `options` go before the names that all commands share; `other` is the name of an unknown argument, by default its
    own.

    `field` is the argument of the library that an error names.
    """
    if field in options:
        return options[field]
    names = _SEVERAL_ARGUMENTS.split(field)
    # A list keeps its words between the names; one name that is a column or a file is no list.
    if len(names) > 1 and all(name in options or name in _ARGUMENTS for name in names[::2]):
        known = _ARGUMENTS | dict(options)
        return "".join(known.get(part, part) for part in names)
    return other or field


def log_line(text: str) -> None:
    """Write a line of a log to standard error; a full disk costs the line and nothing else."""
    _put(sys.stderr, f"{text}\n")


def warn(message: str, *, quiet: bool = False) -> None:
    """Write a warning to standard error."""
    if not quiet:
        _put(sys.stderr, f"discreet: {one_line(message)}\n")


def warn_of_weakness(guarantee: DPGuarantee | None, *, quiet: bool) -> None:
    """Print a warning about an epsilon or rho that gives no protection, or a delta that lets records be published.

    Nothing for None, for a guarantee without such a weakness, or if `quiet`.
    """
    from discreet.core.guarantee import cautions

    for caution in () if guarantee is None else cautions(guarantee):
        warn(caution, quiet=quiet)


def fail(error: BaseException, *, as_json: bool, grid: bool = False) -> Status:
    """Write an error to standard error in one line, or as JSON, and return the exit status.

    Foreign errors are reduced to their kind and place: their words may quote a value. `grid` names arguments of a
    grid.

    With `as_json` the line is an object ``{"error": ...}`` with status, kind, message and what else is known.
    """
    status = status_of(error)
    parts: dict[str, Any] = {"status": int(status), "kind": type(error).__name__}
    message = str(error)
    if isinstance(error, InvalidProblemError):
        names = _ARGUMENTS | _OF_A_GRID if grid else _ARGUMENTS
        argument = _option_of(error.field, names)
        message = f"{argument}: expected {error.expected}, got {error.got}"
        parts |= {"argument": argument, "expected": error.expected, "got": str(error.got)}
        parts |= {"code": error.code} if error.code else {}
    elif status is Status.INTERNAL and not isinstance(error, SolverError | ChargedError):
        # A report of it needs to say where it happened.
        parts["where"] = place_of(error)
        message = f"{_cause(error)}: {parts['where']}"
    note = charge_note(error)
    if note not in message:
        message = f"{message}. {note}"
    parts["message"] = one_line(" ".join(message.split()))
    return _write_error(parts, as_json=as_json)


def _cause(error: BaseException) -> str:
    """Return what went wrong in words that hold nothing of the error's own message, which may quote a value."""
    if isinstance(error, MemoryError):
        return "there was not enough memory; give the process more, or less to do"
    if isinstance(error, OSError) and error.strerror:
        return f"internal error, please report it: {error.strerror}"
    return "internal error, please report it"


def stopped(*, as_json: bool, error: BaseException | None = None) -> Status:
    """Report on standard error that the run was interrupted, and the charge of `error` that stays.

    Return INTERRUPTED.
    """
    note = charge_note(error) or charge_note(getattr(error, "__cause__", None))
    message = ". ".join(filter(None, ("interrupted; what was written before is whole", note)))
    parts = {"status": int(Status.INTERRUPTED), "kind": "Interrupted", "message": message}
    return _write_error(parts, as_json=as_json)


def _write_error(parts: dict[str, Any], *, as_json: bool) -> Status:
    """Print `parts` ("status", "kind", "message", ...) to standard error, as text or JSON; return the status."""
    line = json.dumps({"error": parts}) if as_json else f"discreet: {parts['message']}"
    _put(sys.stderr, line + "\n")
    return Status(parts["status"])
