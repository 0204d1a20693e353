"""What writing and reading agree on, and one sentence for whatever is wrong with the bytes of a file."""

from __future__ import annotations

import json
import math
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.artefact.foreign import what_else
from discreet.core.errors import MALFORMED, InvalidProblemError
from discreet.tables.dialect import stored_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.core.outcome import Provenance, PublicInput

FORMAT = "discreet.artefact"
SCHEMA_VERSION = 1
"""Version of the fields and members of a file, of every kind; others are refused."""

PARTS = ("report", "source", "target", "value")
"""The fields of multipliers, each a member."""

TYPES = {
    "limbs": "<u8",
    "distances": "<i8",
    "points": "<f8",
    "places": "<i8",
    "joined": "<i4",
    "binding": "<i4",
    "loss": "<f8",
    "prior": "<f8",
    "reports": "<i8",
    "multipliers_report": "<i4",
    "multipliers_source": "<i4",
    "multipliers_target": "<i4",
    "multipliers_value": "<f8",
    "centers": "<i8",
    "anchors": "<i8",
    "names": "<i8",
    "factors": "<i8",
    "ball_secrets": "<i8",
    "ball_reports": "<i8",
    "ball_weights": "<i8",
}
"""The members and their types, little-endian."""

NEEDED = ("limbs", "distances", "joined", "binding", "loss", "prior")
"""Members that every file with a table of weights has."""

FOREIGN = ("centers", "anchors", "names", "factors", "ball_secrets", "ball_reports", "ball_weights")
"""Members that it never has."""


_MALFORMED = (*MALFORMED, zipfile.BadZipFile, EOFError, RuntimeError)
"""What the parts of a file that is no artefact may cause; RuntimeError: encrypted, or nested without end."""


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Read the bytes of a file, whole; raise InvalidProblemError for a path that cannot be read."""
    try:
        return stored_file(path).read_bytes()
    except ValueError:
        raise InvalidProblemError("path", "a path that a file can have", repr(path)) from None
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: str | os.PathLike[str], error: OSError) -> InvalidProblemError:
    """Return the refusal of a file that the system does not let read."""
    return InvalidProblemError("path", "a file that can be read", f"{path}: {error.strerror}")


@contextmanager
def refuse_malformed(
    path: str | os.PathLike[str],
    expected: str = "a whole discreet artefact",
    data: bytes | None = None,
) -> Iterator[None]:
    """Return a context that turns every error of reading the parts of a file into one InvalidProblemError.

    `path` and `expected` are named in it; with `data`, the bytes of the file, it states what they are if they are no
    archive and no JSON.
    """
    try:
        yield
    except _MALFORMED as error:
        detail = f"no {error}" if isinstance(error, KeyError) else str(error)
        if data is not None and isinstance(error, zipfile.BadZipFile | json.JSONDecodeError):
            detail = what_else(data) or detail
        raise InvalidProblemError("path", expected, f"{path}: {detail}") from None


@contextmanager
def is_whole(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Return a context with the bytes of a file; errors of reading its parts inside become one InvalidProblemError.

    A file that cannot be read is refused, too.
    """
    data = read_file(path)
    with refuse_malformed(path, data=data):
        yield data


def read_json(text: bytes | str) -> dict[str, Any]:
    """Read a mapping in which no key comes twice and every number is finite: one text, one meaning.

    Raises
    ------
    InvalidProblemError
        For anything else that is JSON.
    ValueError
        For what is not JSON.

    Examples
    --------
    >>> read_json('{"epsilon": "1", "epsilon": "2"}')
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: epsilon: expected one value for each key, got two
    """
    read = json.loads(text, object_pairs_hook=_once, parse_constant=_float, parse_float=_float)
    if not isinstance(read, dict):
        raise InvalidProblemError("JSON", "a mapping", type(read).__name__)
    return read


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a mapping; raise InvalidProblemError for a key that comes twice."""
    made: dict[str, Any] = {}
    for key, value in pairs:
        expect(key not in made, key, "one value for each key", "two")
        made[key] = value
    return made


def _float(text: str) -> float:
    """Read a finite float; raise InvalidProblemError for NaN, infinity or a number beyond floats."""
    number = float(text)
    expect(math.isfinite(number), "JSON", "finite numbers", text[:40])
    return number


def head(kind: str) -> dict[str, Any]:
    """Return what a file or record of `kind` states first: format, version and kind."""
    return {"format": FORMAT, "schema_version": SCHEMA_VERSION, "kind": kind}


def claims(made: Any, field: str) -> dict[str, Any]:  # noqa: ANN401 - any outcome
    """Return guarantee, certificate and provenance of an outcome as plain values.

    Raises InvalidProblemError with `field` as its name for a certificate that failed.
    """
    expect(made.certificate.passed, field, "a certificate that passed", "one that failed")
    parts = ("guarantee", "certificate", "provenance")
    return {part: getattr(made, part).to_dict() for part in parts}


def expect(holds: object, field: str, expected: str, got: object = "others") -> None:
    """Refuse a file of which `holds` is false; `field`, `expected` and `got` are those of InvalidProblemError."""
    if not holds:
        raise InvalidProblemError(field, expected, got)


def check_version(stated: Mapping[str, Any]) -> None:
    """Raise InvalidProblemError for the metadata of a file whose version is another one."""
    version = stated.get("schema_version")
    expected = f"{SCHEMA_VERSION}; a newer discreet may read it"
    expect(version == SCHEMA_VERSION, "schema_version", expected, repr(version))


def check_public(provenance: Provenance, inputs: Iterable[PublicInput]) -> None:
    """Raise InvalidProblemError for a public input with another digest than the provenance states, or with none."""
    stated = {one.name: one.digest for one in provenance.assumed_public}
    for one in inputs:
        expect(stated.get(one.name) == one.digest, one.name, "the hash that is stated", "another")


def different_labels(labels: Sequence[str], n: int) -> tuple[str, ...]:
    """Return labels of secrets as texts; raise InvalidProblemError unless they are n different ones."""
    names = tuple(str(label) for label in labels)
    if len(names) != n or len(set(names)) != n:
        got = f"{len(set(names))} different among {len(names)}"
        raise InvalidProblemError("labels", f"{n} different names", got)
    return names


def whole_numbers(stated: Any, field: str) -> NDArray[np.int64]:  # noqa: ANN401 - as read from JSON
    """Read a list of integers as int64 ``(m,)``.

    A float that is nearly one is no integer: the file says another number.

    Raises
    ------
    InvalidProblemError
        For anything else, and integers beyond 64 bits.

    Examples
    --------
    >>> whole_numbers([-1, 0, 0], "parents").tolist()
    [-1, 0, 0]
    >>> whole_numbers([9.000000009], "group_totals")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: group_totals: expected a list of integers, got others
    """
    is_shape = isinstance(stated, list) and all(type(x) is int for x in stated)
    if not is_shape or any(not -(1 << 63) <= x < 1 << 63 for x in stated):
        raise InvalidProblemError(field, "a list of integers", "others")
    return np.array(stated, dtype=np.int64)
