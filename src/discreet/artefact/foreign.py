"""Say what a file is that is not what was wanted, and what can be done with it.

A file of another kind, a table without its record and a file that was cut short are three mistakes, and one who made
one of them has to be told which. Bytes are looked at, never repeated.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import zipfile
from typing import TYPE_CHECKING

from discreet.core.printed import one_line
from discreet.tables.dialect import foreign as other_program

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERIFY = "`discreet verify FILE` says what holds of it"

_EVERY_POINT = (
    "a mechanism for every point: `discreet serve --mechanism FILE` publishes it, and in Python "
    "lrgeo.PointClient(artefact.load_points(FILE)).report(POINT) draws from it"
)

USES: Mapping[str, str] = {
    "anchored": "an implicit channel: `discreet sample FILE --secret NAME` draws from it",
    "anonymous-table": f"an anonymized table: {_VERIFY}",
    "channel": "a channel: `discreet sample FILE --secret NAME` draws from it",
    "choice": f"a private choice, which is made: {_VERIFY}",
    "lattice-mechanism": _EVERY_POINT,
    "measurements": "kept measurements of counts: `discreet query FILE` asks them",
    "mechanism": "a mechanism for places: `discreet serve --mechanism FILE` publishes it, and in Python "
    "lrgeo.Client(artefact.load_mechanism(FILE)).report(POINT) draws from it",
    "noise-mechanism": _EVERY_POINT,
    "region-counts": f"a table of counts: {_VERIFY}",
    "region-tables": f"tables by region: {_VERIFY}",
    "table-measurements": "kept marginals of tables: `discreet query FILE` asks them",
}
"""Kind of file -> what it is, and which command or function takes it."""


def use_of(kind: str, path: str | os.PathLike[str]) -> str:
    """Describe a file of another kind, and the command or function that takes it.

    An unknown `kind` is quoted, cut to 60 characters; the file is not read.

    Examples
    --------
    >>> use_of("choice", "my team.choice")
    "my team.choice, a private choice, which is made: `discreet verify 'my team.choice'` says what holds of it"
    """
    name = os.fspath(path)
    use = USES.get(kind, f"of the kind {one_line(repr(kind), 60)}")
    return f"{name}, {use}".replace(" FILE", f" {shlex.quote(name)}").replace(
        "(FILE)", f"({name!r})"
    )


_SQLITE = b"SQLite format 3\0"


def what_else(data: bytes) -> str:
    """Describe bytes that are no complete file of ours.

    Parameters
    ----------
    data
        All bytes of the file.

    Returns
    -------
    str
        What it is and what to do; empty for an archive that is whole, of whatever content.

    Examples
    --------
    >>> what_else(b"")
    'an empty file'
    >>> what_else(b"secret,weight")
    'text that is no channel and no mechanism'
    """
    if not data:
        return "an empty file"
    if data.startswith(_SQLITE):
        return "a database of SQLite; if it is a ledger, `discreet budget show` reads it"
    if data.startswith(b"PK"):
        is_complete = zipfile.is_zipfile(io.BytesIO(data))
        return "" if is_complete else "an archive that was cut short or damaged; copy it again"
    if data.startswith(b"PAR1"):
        return "a Parquet table"
    what = other_program(data)
    if what:
        return what
    try:
        stated = json.loads(data)
    except (ValueError, RecursionError):
        return (
            "text that is no channel and no mechanism" if _is_text(data) else "no file of discreet"
        )
    kind = stated.get("kind") if isinstance(stated, dict) else None
    if isinstance(kind, str) and "table" in stated:
        return "the record of a table; name the table that it stands beside"
    form = stated.get("form") if isinstance(stated, dict) else None
    if isinstance(form, str):
        return f"JSON of the form {one_line(repr(form), 60)}; a newer discreet may know it"
    return "JSON that no command of discreet wrote"


def _is_text(data: bytes) -> bool:
    """Return whether bytes are UTF-8 without a zero byte."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data
