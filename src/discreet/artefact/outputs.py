"""Output files of a release: opened before the charge, rendered before anything is written, placed or recovered."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.artefact.placing import beside, unwritable
from discreet.artefact.sidecar import FileContent, encoded, sidecar_of, write_content
from discreet.core.errors import InvalidProblemError
from discreet.core.system import is_foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from discreet.core.outcome import Release

PAGE_BYTES = 1 << 20
"""Bytes that are reserved for a file of unknown size; a page of a release has about half of it."""

_MAX_RESERVED_BYTES = 1 << 30
"""Bytes that are reserved at most for one file: an estimate that is too high must not refuse a release."""


@final
@dataclass(frozen=True)
class OutputFile:
    """One output file of a release.

    Parameters
    ----------
    argument
        Name of the argument or option in messages.
    path
        Target, replaced if it is there.
    render
        Function that renders the file from the verified release.
    expected_bytes
        Estimated size, from public facts.
    """

    argument: str
    path: str | os.PathLike[str]
    render: Callable[[Release[Any]], FileContent]
    expected_bytes: int = PAGE_BYTES


@final
class ReleaseFiles:
    """Output files of a release, and text for standard output; :class:`discreet.core.release.ReleaseOutputs` for files.

    Parameters
    ----------
    files
        Output files, the result first.
    command
        Name of the entrance, for the ledger.
    text
        Function that renders the text from the verified release and what the budget has left.
    show
        Function that prints the text.
    text_has_result
        Whether the text holds the result; otherwise a release without files is refused.

    Examples
    --------
    >>> import tempfile
    >>> from discreet import PureDP, Tree
    >>> from discreet.artefact import load_counts
    >>> from discreet.artefact.counts import counts_content
    >>> from discreet.hierarchy import GroupSizes, plan
    >>> data = GroupSizes.from_counts(Tree.from_paths([("GA",), ("NY",)]), [[2, 0], [1, 1]], units="private")
    >>> planned = plan(data.frame, PureDP(1, neighbors="add-remove-person"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = OutputFile("path", f"{folder}/counts.csv", lambda made: counts_content(made, ".csv"))
    ...     made = planned.release(data, outputs=ReleaseFiles([file]))
    ...     load_counts(file.path).provenance.charge
    'charged to no ledger'
    """

    def __init__(
        self,
        files: Sequence[OutputFile],
        *,
        command: str = "Python",
        text: Callable[[Release[Any], tuple[Fraction, ...] | None], str] | None = None,
        show: Callable[[str], object] = print,
        text_has_result: bool = False,
    ) -> None:
        self.command = command
        self._files = {Path(one.path).absolute(): one for one in files}
        self._same = len(self._files) < len(files)
        self._text, self._show, self._text_has_result = text, show, text_has_result
        self._new: dict[Path, Path] = {}
        self._failed: tuple[str, BaseException] | None = None

    @property
    def expected_bytes(self) -> int:
        """Estimate the bytes of all files together, at most 2^30; ``O(files)``."""
        expected = sum(one.expected_bytes for one in self._files.values())
        return min(expected, _MAX_RESERVED_BYTES)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Open a new file beside each target, and reserve its space where the system can.

        Raises
        ------
        InvalidProblemError
            If there is no output, or a target is a folder, a device, a link, another user's file or an output already,
            or can't be written.
        """
        if not self._files and not self._text_has_result:
            expected = "a file for the result, for without one the budget is spent for nothing"
            raise InvalidProblemError("outputs", expected, "none")
        claimed: set[Path] = set()
        with ExitStack() as stack:
            for path, one in self._files.items():
                targets = {path.resolve(), sidecar_of(path).resolve()}
                if self._same or claimed & targets:
                    raise InvalidProblemError(one.argument, "a file of its own", str(one.path))
                claimed |= targets
                try:
                    for target in (path, sidecar_of(path)):
                        _refuse_target(one.argument, target)
                    self._new[path] = stack.enter_context(beside(path))
                    _reserve(self._new[path], min(one.expected_bytes, _MAX_RESERVED_BYTES))
                except OSError as error:
                    expected = "a file that can be written, on a disk with room for it"
                    got = f"{one.path}: {error.strerror}"
                    raise InvalidProblemError(one.argument, expected, got) from None
            yield

    def pack(self, made: Release[Any], left: tuple[Fraction, ...] | None) -> bytes:
        """Render all files and the text as one sequence of bytes.

        The first file is the result, or the text if it has the result. If anything else can't be rendered, or the user
        interrupts that, the rest is kept, and :meth:`place` raises the error once all is in place.

        `made` is the release that passed its verifier, `left` what the ledger has left of its budget, ``None``
        without a ledger. The bytes hold every file whole: memory is twice their size.
        """
        contents: dict[Path, FileContent] = {}
        text: str | None = None

        def postpone(argument: str, error: BaseException) -> None:
            if not contents and text is None:
                raise error
            self._failed = (argument, error)

        if self._text is not None and self._text_has_result:
            text = self._text(made, left)
        for path, one in self._files.items():
            try:
                contents[path] = one.render(made)
            except BaseException as error:  # noqa: BLE001 - an interrupt is raised later, too
                postpone(one.argument, error)
        if self._text is not None and text is None:
            try:
                text = self._text(made, left)
            except BaseException as error:  # noqa: BLE001 - as above
                postpone("standard output", error)
        stated = {
            "text": text or "",
            "files": [
                {"path": str(path), "bytes": len(one.data), "record": dict(one.record)}
                for path, one in contents.items()
            ],
        }
        return b"\n".join(
            [json.dumps(stated).encode(), b"".join(one.data for one in contents.values())]
        )

    def place(self, packed: bytes) -> Mapping[str, str]:
        """Write all files to their paths, and print the text; return the SHA-256 of each file and record by path.

        `packed` is the sequence of bytes that :meth:`pack` returned. Linear in its length. Raises InvalidProblemError
        for a file that cannot be written, which ends the placing, and after all for a file or text that could not be
        rendered; an interrupt of the rendering is raised again.
        """
        text, contents = _unpack(packed)
        for path, content in contents.items():
            try:
                content.place(path, self._new[path])
            except OSError as error:
                raise unwritable(path, error) from None
        if text:
            self._show(text)
        if self._failed is not None:
            argument, failure = self._failed
            if not isinstance(failure, Exception):
                raise failure
            expected = "a text that can be rendered; all other outputs are in place"
            raise InvalidProblemError(argument, expected, type(failure).__name__) from failure
        return _digests(contents)


def recover_files(
    packed: bytes, target: Path | None, show: Callable[[str], object]
) -> Mapping[str, str]:
    """Write the outputs of a spooled release. If it has no file, print its text, or write the text to `target`.

    Files that are there are replaced, one after another. Linear in the bytes.

    Parameters
    ----------
    packed
        What :meth:`ReleaseFiles.pack` returned.
    target
        Path of the main output, or a folder; other outputs go beside it under their names. By default all outputs go
        to the targets of the release.
    show
        Function that prints the text.

    Returns
    -------
    dict
        SHA-256 of each file by path.

    Raises
    ------
    InvalidProblemError
        For a target that can't be written, or has another suffix than the main output.
    """
    text, contents = _unpack(packed)
    if not contents and target is not None:
        write_content(FileContent(text.encode()), target)
        return {str(target.absolute()): hashlib.sha256(text.encode()).hexdigest()}
    if not contents:
        show(text)
    if target is not None:
        main, folder = next(iter(contents)), target if target.is_dir() else target.parent
        names = {path: folder.absolute() / path.name for path in contents}
        if not target.is_dir():
            if contents[main].record and target.suffix.lower() != main.suffix.lower():
                expected = f"a file that ends in {main.suffix}, as the result was rendered"
                raise InvalidProblemError("--output", expected, str(target))
            names[main] = target.absolute()
        contents = {names[path]: content for path, content in contents.items()}
    for path, content in contents.items():
        write_content(content, path)
    return _digests(contents)


def _unpack(packed: bytes) -> tuple[str, dict[Path, FileContent]]:
    """Return the text to print, and the contents by path, from the bytes of :meth:`ReleaseFiles.pack`.

    Linear in the bytes, which are copied.
    """
    head, _, data = packed.partition(b"\n")
    stated, at = json.loads(head), 0
    contents = {}
    for one in stated["files"]:
        contents[Path(one["path"])] = FileContent(data[at : at + one["bytes"]], one["record"])
        at += one["bytes"]
    return stated["text"], contents


def _digests(contents: Mapping[Path, FileContent]) -> dict[str, str]:
    """Return the SHA-256 of each file and of its record, by path; linear in the bytes."""
    data = {str(path): content.data for path, content in contents.items()}
    for path, content in contents.items():
        if content.record:
            data[str(sidecar_of(path))] = encoded(content.record)
    return {path: hashlib.sha256(written).hexdigest() for path, written in data.items()}


def _refuse_target(argument: str, path: Path) -> None:
    """Refuse a target that exists and is a link, no plain file, another user's, or not writable.

    Raises InvalidProblemError with the field `argument`.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise InvalidProblemError(argument, "a file, not a link to one", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise InvalidProblemError(argument, "a file, not a folder or a device", str(path))
    if is_foreign(status) or not os.access(path, os.W_OK):
        raise InvalidProblemError(argument, "a file of yours that can be written", str(path))


def _reserve(path: Path, size: int) -> None:
    """Reserve `size` bytes for the existing file at `path` if the system can; OSError if there is no room."""
    if size and hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)
