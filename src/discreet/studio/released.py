"""Releases that were paid for, kept so that they can be fetched again: stored bytes, never drawn anew.

Each is a folder of released files alone, whose name cannot be guessed. The files are outputs of the release, which
the ledger keeps until all of them are in place; they stay when the page is closed and when the studio ends. Nothing
private ever lies there.
"""

from __future__ import annotations

import json
import re
import secrets
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fastapi.responses import FileResponse

from discreet.core.errors import DiscreetError, InvalidProblemError
from discreet.studio.parts import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fastapi import FastAPI, Response

_NAME = re.compile(r"[A-Za-z0-9_-]{22}")


def new_name() -> str:
    """Draw the name of a release: 22 letters of 128 random bits, so that it cannot be guessed."""
    return secrets.token_urlsafe(16)


def make_place(root: Path, name: str) -> Path:
    """Create the folder of a release, readable for its owner alone.

    Parameters
    ----------
    root
        Folder of all releases; made if it is not there.
    name
        Name that :func:`new_name` drew.

    Raises
    ------
    InvalidProblemError
        If it can't be made.
    """
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        (root / name).mkdir(mode=0o700)
    except OSError as error:
        raise InvalidProblemError(
            "The folder of releases", "one that can be written", error.strerror or "another"
        ) from None
    return root / name


@contextmanager
def removed_if_empty(place: Path) -> Iterator[None]:
    """Remove the folder of a release that put nothing there, and that of all releases if it was the only one.

    `place` is the folder, as :func:`make_place` returned it; errors of the block are raised on.
    """
    try:
        yield
    finally:
        with suppress(OSError):
            place.rmdir()
            place.parent.rmdir()


def releases_in(root: Path, known: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """List the kept releases below `root`, the latest first; empty where there is no such folder.

    `known`: each kind of release, such as ``"counts"``, to its files, each with a description. A release is a dict of
    texts: ``name`` of its folder, ``kind`` with a capital (``"Counts"``), ``when`` such as ``"2026-01-31 12:00 UTC"``,
    ``guarantee`` as a sentence; and of ``files``, pairs of a name and a description, of the files that exist. Reads one
    small record a release; ``guarantee`` says if it cannot be read.
    """
    releases = []
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        if not _NAME.fullmatch(folder.name) or not folder.is_dir():
            continue
        for kind, downloads in known.items():
            files = [(name, what) for name, what in downloads.items() if (folder / name).is_file()]
            if files:
                releases.append((folder.stat().st_mtime, folder, kind, files))
    return [
        {
            "name": folder.name,
            "kind": kind.capitalize(),
            "when": datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "guarantee": _guarantee(folder / f"{kind}.csv.discreet.json"),
            "files": files,
        }
        for when, folder, kind, files in sorted(releases, key=lambda one: one[0], reverse=True)
    ]


def _guarantee(record: Path) -> str:
    """Return the sentence of a record's guarantee, or one that says that the record cannot be read."""
    from discreet.core.guarantee import guarantee_from_dict

    try:
        return (
            f"{guarantee_from_dict(json.loads(record.read_text(encoding='utf-8'))['guarantee'])}."
        )
    except (OSError, ValueError, LookupError, TypeError, DiscreetError):
        return "Its record cannot be read."


def add_released(app: FastAPI, root: Path, known: Mapping[str, Mapping[str, str]]) -> None:
    """Add the list of releases, and their files, to the studio.

    Adds GET ``/released`` and ``/released/{name}/{file}``; InvalidProblemError, hence 400, for one that is not kept.

    Parameters
    ----------
    app
        The studio; its token stands before each path.
    root
        Where releases are kept.
    known
        What may be published, and for each the files that a release may have; no other file is ever sent.
    """
    names = {name for downloads in known.values() for name in downloads}

    @app.get("/released")
    def released() -> Response:
        return render("released.html", releases=releases_in(root, known), folder=str(root))

    @app.get("/released/{name}/{file}")
    def fetch(name: str, file: str) -> Response:
        path = root / name / file
        if not _NAME.fullmatch(name) or file not in names or not path.is_file():
            raise InvalidProblemError("release", "one that is kept", "none")
        return FileResponse(path, filename=file, media_type="application/octet-stream")
