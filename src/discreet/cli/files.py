"""Files: where a command reads a channel, and where it may write, which is never over what it reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.artefact.foreign import use_of
from discreet.artefact.sidecar import FileContent, interruption_of, is_table, kind_of, sidecar_of
from discreet.cli.output import put_out, renamed_arguments, warn
from discreet.core.errors import InvalidProblemError
from discreet.tables.rooms import remove_left_behind
from discreet.tables.writing import WRITABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from discreet.artefact import ReleaseFiles
    from discreet.artefact.implicit import AnchoredArtefact
    from discreet.artefact.reader import Artefact
    from discreet.core.outcome import Design, Release
    from discreet.ledger import Ledger
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.problem import Problem

T = TypeVar("T")


def open_file(load: Callable[[str], T], path: str) -> T:
    """Return what `load` reads from `path`; an InvalidProblemError of it names the argument CHANNEL."""
    with renamed_arguments({}, others="CHANNEL"):
        return load(path)


def channel_kind(path: str) -> str:
    """Return the kind of channel in a file, such as "channel", "anchored" or "mechanism"; little of it is read.

    InvalidProblemError, naming CHANNEL, for a table or a file that is no artefact.
    """
    from discreet.artefact.reader import zip_kind

    if Path(path).suffix.lower() in WRITABLE:
        kind = kind_of(path) if is_table(path) else ""
        expected = "a file that `design` wrote; `discreet verify` says what holds of a table"
        raise InvalidProblemError("CHANNEL", expected, use_of(kind, path) if kind else repr(path))
    return open_file(zip_kind, path)


def open_any(path: str) -> Artefact | AnchoredArtefact:
    """Return the channel of the file at `path`: an Artefact with a table, or an AnchoredArtefact without.

    Its claims are not verified. InvalidProblemError, naming CHANNEL, for files of other kinds or damaged ones.
    """
    from discreet.artefact import load_anchored
    from discreet.artefact.reader import read

    kind = channel_kind(path)
    if kind == "channel":
        return open_file(read, path)
    if kind != "anchored":
        raise InvalidProblemError("CHANNEL", "a channel, as `design` writes it", use_of(kind, path))
    return open_file(load_anchored, path)


def write_channel(
    design: Design[Problem, Multipliers], path: str | None, labels: Sequence[str] | None
) -> None:
    """Write a design with the names of its secrets to `path`, in the library's own format; nothing without a path.

    Raises InvalidProblemError, naming ``--output``, as :func:`discreet.artefact.save`.

    `labels` are names of the secrets in their order, or None.
    """
    if path is None:
        return
    from discreet.artefact import save

    with renamed_arguments({"path": "--output"}):
        save(design, path, labels=labels)


def check_outputs(written: Mapping[str, str | None], *read: str | None) -> None:
    """Refuse outputs before the work, not after it.

    What is read is never written over, nor what stands beside a table; and no two outputs go to one file. A file that
    is there is replaced, whole or not at all. Files that a killed run left in a folder are removed, and a warning names
    a table that it did not finish.

    Parameters
    ----------
    written
        Options, and the files that they name.
    read
        What is read: files, or words that would be files if there were such.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be written, or must not be.
    """
    identities = {_identity(one) for path in read if path for one in _with_record(path)}
    for option, path in written.items():
        if path is None:
            continue
        where = Path(path)
        if not _fits(where):
            expected = "a name that a file can have, with what is written beside it"
            raise InvalidProblemError(option, expected, "one that is too long")
        folder = where.absolute().parent
        odd = where.exists() and not (where.is_file() and os.access(where, os.W_OK))
        if odd or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise InvalidProblemError(option, "a file in a folder that can be written", repr(path))
        mine = {_identity(one) for one in _with_record(path)}
        if mine & identities:
            raise InvalidProblemError(option, "a file of its own", repr(path))
        identities |= mine
    for path in filter(None, written.values()):
        remove_left_behind(Path(path).absolute().parent)
        state = interruption_of(path)
        if state:
            warn(f"{path}: {state}; this run writes it anew")


def check_table_names(
    written: Mapping[str, str | None], suffixes: Sequence[str] = (".csv", ".parquet")
) -> None:
    """Raise InvalidProblemError for paths of tables, by option, that end in none of `suffixes`.

    `suffixes` are endings in small letters, at least two; paths that are None pass.
    """
    *first_endings, last_ending = suffixes
    for option, path in written.items():
        if path is not None and Path(path).suffix.lower() not in suffixes:
            expected = f"a file that ends in {', '.join(first_endings)} or {last_ending}"
            raise InvalidProblemError(option, expected, repr(path))


def write_page(
    path: str | None,
    kind: str,
    outcome: object,
    *,
    headline: str = "A privacy mechanism, with its proof",
    private: bool = False,
    **given: object,
) -> None:
    """Write the page of an outcome where one was requested; a private one can be read by its owner alone.

    Parameters
    ----------
    path
        The file.
    kind, outcome, **given
        As for :func:`discreet.report.make_chapter`.
    headline
        Heading of the page.
    private
        Whether it holds what was computed from private data.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be written.
    """
    if path is None:
        return
    from discreet.report import make_chapter, write_report

    chapter = make_chapter(kind, outcome, **given)
    try:
        write_report([chapter], path, private=private, title=headline)
    except OSError as error:
        got = f"{path}: {error.strerror}"
        raise InvalidProblemError("--report", "a file that can be written", got) from None


def page_content(kind: str, made: Release[Any], *, title: str, **given: object) -> FileContent:
    """Return the HTML of a release's report as the content of a file; `kind` and `given` as for ``make_chapter``."""
    from discreet.report import make_chapter, render_report

    return FileContent(render_report([make_chapter(kind, made, **given)], title=title).encode())


def release_files(
    command: str,
    written: Mapping[str, tuple[str | None, Callable[[Release[Any]], FileContent], int | None]],
    text: Callable[[Release[Any], tuple[Fraction, ...] | None], str],
    *,
    text_has_result: bool = False,
) -> ReleaseFiles:
    """Return the outputs of a release.

    For each option its path (None: no file), renderer, and size in bytes if it grows. `command` is recorded; `text`
    renders what is printed, from the release and what the ledger has left, if there is one. `text_has_result` says
    that what is printed is the result itself, so that it is kept if no file is.
    """
    from discreet.artefact import OutputFile, ReleaseFiles
    from discreet.artefact.outputs import PAGE_BYTES

    files = [
        OutputFile(option, path, render, size or PAGE_BYTES)
        for option, (path, render, size) in written.items()
        if path is not None
    ]
    return ReleaseFiles(
        files, command=command, text=text, show=put_out, text_has_result=text_has_result
    )


def open_ledger(ledger: str | None, dataset: str | None) -> Ledger | None:
    """Return the ledger that is charged, or None if neither ledger nor dataset is named.

    InvalidProblemError for one without the other, or a file that is no ledger.
    """
    if (ledger is None) != (dataset is None):
        missing = "--ledger" if ledger is None else "--dataset"
        raise InvalidProblemError(missing, "both --ledger and --dataset, or none", "one of them")
    if ledger is None:
        return None
    from discreet.ledger import Ledger as Book

    return Book(ledger)


_BESIDE = len(".discreet.json") + len("..12345678.part")
"""Bytes that a table's record, and a file while it is written, have more in their names than the file."""


def _fits(path: Path) -> bool:
    """Return whether the system takes the name of a path, and the longer ones of files that are written beside it.

    Tested before a budget is charged for the file.
    """
    try:
        path.with_name(f"{path.name}{'x' * _BESIDE}").exists()
    except OSError:
        return False
    except ValueError:
        # A folder, or nothing: that is refused in other words.
        return True
    return True


def _with_record(path: str) -> tuple[Path, Path, Path]:
    """Return a file, the record beside it if it is a table, and the journal of SQLite if it is a ledger."""
    return Path(path), sidecar_of(path), Path(f"{os.path.realpath(path)}-journal")


def _identity(path: Path) -> object:
    """Return device and inode of the file at `path`, the same under all its names, or its resolved path if missing."""
    try:
        status = path.stat()
    except OSError:
        return path.resolve()
    return status.st_dev, status.st_ino
