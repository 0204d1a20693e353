"""Files as they are on a disk: what kind a file is, and a plain file or a frame that holds the same table.

Compressed text, text in other encodings, and text with a line ``sep=;`` before the names or with empty lines or Ctrl-Z
after the rows are copied as plain UTF-8 into a private temporary folder, which is removed when the table was read, and
after a crash by the next process that reads a file.
Workbooks and files of SPSS, Stata and SAS are read by :mod:`discreet.tables.foreign_files`.
"""

from __future__ import annotations

import codecs
import gzip
import re
import sys
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, final

from discreet.core import printed
from discreet.core.extras import require
from discreet.tables.dialect import UTF16, foreign, missing_file, names_of_line, stored_file
from discreet.tables.options import ReadingOptions
from discreet.tables.refusals import refused
from discreet.tables.rooms import private_room

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from typing import BinaryIO

    import polars as pl

    from discreet.tables.options import FileRequest

STANDARD_INPUT = "-"
"""Path that stands for standard input."""

READABLE = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".dat": "text",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".xlsx": "workbook",
    ".xlsm": "workbook",
    ".sav": "spss",
    ".zsav": "spss",
    ".por": "portable",
    ".dta": "stata",
    ".sas7bdat": "sas",
    ".xpt": "transport",
}
"""Ending of a name -> the kind of file."""

_PACKED = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
"""Ending of a compressed file -> its first bytes."""

_BEGIN = {
    "parquet": (b"PAR1",),
    "arrow": (b"ARROW1",),
    "workbook": (b"PK\x03\x04",),
    "spss": (b"$FL2", b"$FL3"),
    "stata": (b"<stata_dta>", b"\x71", b"\x72", b"\x73", b"\x6e", b"\x6f", b"\x69", b"\x6c"),
    "sas": (b"\0" * 12 + b"\xc2\xea\x81\x60",),
    "transport": (b"HEADER RECORD*******",),
}
"""Kind of file -> how its bytes begin."""

_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_PIECE = 1 << 20
_TAIL = 1 << 16
_HEAD = 1 << 20


@final
@dataclass(frozen=True, eq=False)
class PlainFile:
    """A table that can be read as it is.

    Parameters
    ----------
    path
        CSV file in UTF-8, or Parquet file.
    mark
        Separator of the cells that the file or the options state; empty to recognize it.
    frame
        The table itself, if its kind of file is neither.
    """

    path: Path
    mark: str = ""
    frame: pl.DataFrame | None = None


def suffix_of(path: str | Path) -> str:
    """Return the ending of a file's name in lower case, without that of its compression: ".csv" for "a.CSV.gz".

    Examples
    --------
    >>> suffix_of("people.csv.gz"), suffix_of("people.CSV"), suffix_of("people.gz")
    ('.csv', '.csv', '')
    """
    where = Path(path)
    return (where.with_suffix("") if where.suffix.lower() in _PACKED else where).suffix.lower()


def is_plain(path: str | os.PathLike[str], options: ReadingOptions | None = None) -> bool:
    """Test whether a file can be scanned as it is: a Parquet file, or text in UTF-8 without a line ``sep=;``.

    False for standard input and with any reading option; True for other endings and unreadable files, whose reader
    raises the error. Only the beginning is read, so that other encodings than UTF-16 are not noticed.
    """
    if str(path) == STANDARD_INPUT or (options is not None and options != ReadingOptions()):
        return False
    where = Path(path)
    kind = READABLE.get(where.suffix.lower())
    if kind != "text":
        return kind in {"parquet", None}
    with suppress(OSError), stored_file(where).open("rb") as file:
        head = file.read(_HEAD)
        return not (head.startswith(UTF16) or _SEPARATOR.match(_text(head)))
    # The reader says what is wrong with it.
    return True


def is_hive_folder(path: str | Path) -> bool:
    """Test whether a folder holds folders named ``column=value``; False if it can't be read."""
    # A path with a null byte is none, which the reader says.
    with suppress(OSError, ValueError):
        return any(one.is_dir() and "=" in one.name for one in Path(path).iterdir())
    return False


@contextmanager
def plain_file(path: str, request: FileRequest) -> Iterator[PlainFile]:
    """Return a context with a :class:`PlainFile` of standard input or a file that :data:`READABLE` lists, unpacked.

    What is unpacked or converted is a private copy, removed at the end; a table of another program is in memory.

    Parameters
    ----------
    path
        The file; ``-`` for standard input.
    request
        How it is read. Row by row, bytes that don't decode become U+FFFD.

    Raises
    ------
    InvalidProblemError
        For no file, one whose bytes are of another kind than its name says, another encoding, or a larger one.
    """
    with private_room(Path(gettempdir())) as folder:
        source = Path(path)
        if path == STANDARD_INPUT:
            request = replace(request, shown="standard input")
            source = _copied(
                iter(lambda: sys.stdin.buffer.read(_PIECE), b""), folder / "input", request
            )
        kind, packed, head = _kind_of(source, request)
        if packed:
            source = _copied(_unpacked(source, packed, request), folder / "unpacked", request)
            with source.open("rb") as file:
                head = file.read(_HEAD)
            kind = kind or _recognized(head)
        kind = kind or "text"
        starts = _BEGIN.get(kind, ())
        if starts and head and not head.startswith(starts):
            if kind == "parquet":
                raise request.refused("parquet-none", ", which is not a Parquet file")
            raise request.refused("kind-other", ", which has another format", kind=_KINDS[kind])
        if kind == "parquet":
            yield PlainFile(_named(source, folder, ".parquet"))
        elif kind != "text":
            from discreet.tables.foreign_files import read_foreign

            yield PlainFile(source, frame=read_foreign(source, kind, request))
        elif what := foreign(head):
            raise request.refused("csv-none", f", {what}")
        else:
            yield _plain_text(source, folder, head, request)


_KINDS = {
    "arrow": "an Arrow file",
    "workbook": "a workbook of Excel",
    "spss": "a file of SPSS",
    "portable": "a portable file of SPSS",
    "stata": "a file of Stata",
    "sas": "a file of SAS",
    "transport": "a transport file of SAS",
}


def _named(source: Path, folder: Path, suffix: str) -> Path:
    """Return a path of the file `source` that ends as its reader needs it, in `suffix` or another ending of that kind.

    That is `source` itself, the file renamed if it is in `folder`, or a link to it in `folder`.
    """
    if READABLE.get(source.suffix.lower()) == READABLE[suffix]:
        return source
    named = folder / f"table{suffix}"
    if folder == source.parent:
        return source.rename(named)
    named.symlink_to(source.absolute())
    return named


def _kind_of(source: Path, request: FileRequest) -> tuple[str | None, str, bytes]:
    """Return the kind that the name states, the compression, such as ".gz" or empty, and the first bytes.

    Standard input has the kind of its bytes; kind is ``None`` if that is not recognized or it is compressed. Refuses
    an unknown name, no file, or another compression than stated.
    """
    named = request.shown != "standard input"
    kind = READABLE.get(suffix_of(source)) if named else None
    stated = source.suffix.lower() if source.suffix.lower() in _PACKED else ""
    if named and kind is None:
        suffixes = ", ".join(READABLE)
        raise refused("file-name", request.argument, repr(request.shown), suffixes=suffixes)
    if source.is_dir():
        raise request.refused("file-missing", ", which is a folder")
    try:
        with stored_file(source).open("rb") as file:
            head = file.read(_HEAD)
    except FileNotFoundError:
        raise refused("file-missing", request.argument, missing_file(source)) from None
    except OSError as error:
        raise request.refused(
            "file-unreadable", f": {error.strerror or 'it cannot be opened'}"
        ) from None
    packed = next((end for end, start in _PACKED.items() if head.startswith(start)), "")
    if stated and packed != stated:
        raise request.refused("packed-none", ", which is not compressed so", suffix=stated)
    if packed and not stated and named:
        raise request.refused("csv-none", f", {foreign(head)}")
    if not named and not packed:
        kind = _recognized(head)
    return kind, packed, head


def _recognized(head: bytes) -> str:
    """Return the kind of a file by its first bytes: a key of `_BEGIN`, or "text"; an old Stata file counts as text."""
    # A version of Stata is one letter, which text may begin with too.
    long = ((kind, tuple(s for s in starts if len(s) > 1)) for kind, starts in _BEGIN.items())
    return next((kind for kind, starts in long if starts and head.startswith(starts)), "text")


def _unpacked(path: Path, packed: str, request: FileRequest) -> Iterator[bytes]:
    """Yield the bytes of a compressed file in pieces of 1 MiB; `packed` is ``".gz"`` or ``".zst"``.

    Linear, in the memory of one piece. While it is read: InvalidProblemError for a damaged file or where zstandard is
    missing, OSError where the file cannot be opened. `request` names it in messages.
    """
    damaged: tuple[type[Exception], ...] = (EOFError, zlib.error, gzip.BadGzipFile)
    opener: Any = gzip.open
    if packed == ".zst":
        require("files", request.argument)
        import zstandard

        opener, damaged = zstandard.open, (EOFError, zstandard.ZstdError)
    try:
        with opener(path, "rb") as file:
            yield from iter(lambda: file.read(_PIECE), b"")
    except damaged:
        raise request.refused("packed-damaged", ", which is cut off or damaged") from None


def _copied(pieces: Iterator[bytes], target: Path, request: FileRequest) -> Path:
    """Write pieces to a file, at most as many bytes as are allowed, and return its path; InvalidProblemError beyond."""
    size = 0
    with target.open("wb") as copy:
        for piece in pieces:
            size += len(piece)
            request.refuse_size(size, ", which unpacks to more")
            copy.write(piece)
    return target


def _text(head: bytes, *, max_bytes: int = 64) -> str:
    """Decode the first bytes, which hold a line that states the separator if there is one."""
    return head[:max_bytes].decode("utf-8-sig", errors="replace")


def _plain_text(source: Path, folder: Path, head: bytes, request: FileRequest) -> PlainFile:
    """Return text as a :class:`PlainFile`: as it is if it is plain, else a copy in UTF-8 in `folder`.

    A line ``sep=;`` and, unless read row by row, empty lines and Ctrl-Z at the end are left out of the copy. `head`
    is the beginning. InvalidProblemError for bytes of another encoding. One or two passes.
    """
    mark = request.options.delimiter
    encoding = request.options.encoding or ("utf-16" if head.startswith(UTF16) else "utf-8")
    if encoding in {"utf-8", "utf-8-sig", "ascii"}:
        stated = _SEPARATOR.match(_text(head))
        if stated is None and (request.row_by_row or not _has_odd_end(source, head, mark)):
            return PlainFile(_named(source, folder, ".csv"), mark)
    if not request.row_by_row:
        _refuse_lines_in_utf8(source, encoding, request)
    plain = folder / "table-utf-8.csv"
    with plain.open("w+b") as copy:
        _write_as_utf8(source, copy, encoding, request)
        copy.seek(0)
        start = _text(copy.read(_HEAD))
        stated = _SEPARATOR.match(start)
        if stated is not None:
            mark = mark or stated[1]
            _drop_start(copy, len(start[: stated.end()].encode()))
        if not request.row_by_row:
            _drop_end(copy, mark)
    return PlainFile(plain, mark)


def _refuse_lines_in_utf8(path: Path, encoding: str, request: FileRequest) -> None:
    """Raise InvalidProblemError for text in a single-byte encoding with a line that is in UTF-8; one pass."""
    if len(bytes(range(256)).decode(encoding, errors="replace")) < 256:
        return
    first: dict[bool, int] = {}
    in_utf8 = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.isascii():
                is_utf8 = _is_utf8(line, encoding)
                first.setdefault(is_utf8, number)
                in_utf8 += is_utf8
    if in_utf8:
        got = f" with UTF-8 in {printed.count(in_utf8)} of its lines, such as line {first[True]}"
        got += f", and another encoding in line {first[False]}" if False in first else ""
        raise request.refused("encoding-mixed", got, encoding=encoding)


def _is_utf8(line: bytes, encoding: str) -> bool:
    """Test whether a line is UTF-8 whose characters the encoding has too, as "MÃ¼ller" is "Müller" to cp1252.

    Capitals before other letters are UTF-8 by accident, such as "PÓŁNOC" in iso-8859-2, but of characters that such a
    text has not: of 1.2 million lines of translations and names into 23 languages, and their capitals, ten passed, all
    of which were UTF-8 (2026-11).
    """
    try:
        line.decode().encode(encoding)
    except UnicodeError:
        return False
    return True


def _has_odd_end(source: Path, head: bytes, mark: str) -> bool:
    """Test whether a file ends in Ctrl-Z, or in an empty line with several columns, which is no row of several cells.

    `head` is its beginning, with the names; only the end is read.
    """
    with source.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        tail = file.read()
    if tail.endswith(b"\x1a"):
        return True
    return tail.endswith((b"\n\n", b"\n\r\n")) and _cells_of_names(head, mark) > 1


def _cells_of_names(head: bytes, mark: str) -> int:
    """Return the number of cells of the first line with a delimiter."""
    line = head.partition(b"\n")[0].decode("utf-8-sig", errors="replace")
    return len(names_of_line(line, mark))


def _drop_start(copy: BinaryIO, count: int) -> None:
    """Remove the first `count` bytes of a file in place; the rest is held in memory."""
    copy.seek(count)
    rest = copy.read()
    copy.seek(0)
    copy.truncate()
    copy.write(rest)


def _drop_end(copy: BinaryIO, mark: str) -> None:
    """Remove Ctrl-Z and empty lines at the end; in a file of one column an empty line is an empty cell."""
    copy.seek(0)
    several = _cells_of_names(copy.read(_HEAD), mark) > 1
    size = copy.seek(0, 2)
    copy.seek(max(0, size - _TAIL))
    tail = copy.read()
    trimmed = tail.rstrip(b"\x1a")
    if several:
        trimmed = trimmed.rstrip(b"\r\n") + b"\n"
    copy.truncate(min(size, size - len(tail) + len(trimmed)))


def _write_as_utf8(path: Path, copy: BinaryIO, encoding: str, request: FileRequest) -> None:
    """Copy a file of text as UTF-8; raise InvalidProblemError for other bytes, by line and byte, counted from 1.

    Read row by row, other bytes are replaced. One pass.
    """
    name = "utf-8-sig" if encoding == "utf-8" else encoding
    decoder = codecs.getincrementaldecoder(name)("replace" if request.row_by_row else "strict")
    lines, seen = 1, 0
    with path.open("rb") as file:
        for piece in (*iter(lambda: file.read(_PIECE), b""), b""):
            seen += len(piece)
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(name, errors="replace")
                line, at = lines + before.count("\n"), seen - len(error.object) + error.start + 1
                got = f" with a byte of another encoding in line {line} (byte {printed.count(at)} of the file)"
                raise request.refused("encoding-other", got) from None
            except UnicodeError:
                # UTF-16 begins with a mark of its order of bytes.
                raise request.refused("encoding-other", " without a byte-order mark") from None
            lines += text.count("\n")
            copy.write(text.encode(errors="replace"))
