"""What a file is that should hold a table: its kind, encoding and separator, and what is wrong with it.

Messages name the file, columns by position and lines by number; never a cell, nor the first line, which in a file
without names is a row.
"""

from __future__ import annotations

import codecs
import errno
import io
import mmap
import re
import stat
from collections import Counter
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.tables.parsing import CellError, cells_of_lines, scan
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What may stand between cells."""

SUFFIXES = (".csv", ".tsv", ".parquet")

_HEAD = 1 << 20
"""Bytes in which the first line must end."""

_PIECE = 1 << 20

_FORMATS = {
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"PK\x03\x04": "a workbook or an archive; let its name end in .xlsx, or save the sheet as “CSV UTF-8”",
    b"\xd0\xcf\x11\xe0": "a spreadsheet of an older Excel; save it as .xlsx, or save the sheet as “CSV UTF-8”",
    b"\x1f\x8b": "a compressed file; let its name end in .gz, or unpack it first",
    b"\x28\xb5\x2f\xfd": "a compressed file; let its name end in .zst, or unpack it first",
    b"$FL": "a file of SPSS; let its name end in .sav",
    b"<stata_dta>": "a file of Stata; let its name end in .dta",
    b"\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60": "a file of SAS; let its name end in .sas7bdat",
    b"ARROW1": "an Arrow file; let its name end in .arrow",
    b"%PDF": "a PDF document; take the table out of it first",
}
"""How files begin that are no text."""

UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How text in UTF-16 begins."""


def stored_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a regular file or a folder; refuse a pipe or a device, whose bytes may have no end.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    OSError
        If no file is there, if the path holds a zero byte, and for a pipe or a device: reading one that nobody writes
        to never ends.

    Examples
    --------
    >>> stored_file("/dev/null")
    Traceback (most recent call last):
    OSError: [Errno 22] a pipe or a device; save what comes out of it to a file
    """
    where = Path(path)
    try:
        mode = where.stat().st_mode
    except ValueError:
        raise OSError(errno.EINVAL, "a path with a zero byte") from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "a pipe or a device; save what comes out of it to a file")
    return where


def look(
    path: str,
    argument: str,
    suffixes: Sequence[str] = SUFFIXES,
    *,
    whole: bool = True,
    mark: str = "",
) -> str:
    """Check by name, first line and bytes whether a file may hold a table; return what separates its cells.

    Reads the first line, or with `whole` the whole file once; Parquet only at its beginning.

    Parameters
    ----------
    path
        The file. It is read and never changed.
    argument
        The argument that named it.
    suffixes
        How its name may end.
    whole
        Whether all of it is searched for zero bytes, or its first line alone.
    mark
        What separates the cells of text; recognized by default.

    Returns
    -------
    str
        One of :data:`MARKS`; empty for a Parquet file.

    Raises
    ------
    InvalidProblemError
        For no file, one of another kind, an empty one, one in another encoding, or names that come twice.
    """
    where = Path(path)
    kind = where.suffix.lower()
    if kind not in suffixes:
        raise refused("file-name", argument, repr(path), suffixes=", ".join(suffixes))
    if where.is_dir():
        raise refused("file-missing", argument, f"{path}, which is a folder")
    try:
        with stored_file(where).open("rb") as file:
            head = file.read(_HEAD)
    except FileNotFoundError:
        raise refused("file-missing", argument, missing_file(where)) from None
    except OSError as error:
        got = f"{path}: {error.strerror or 'it cannot be opened'}"
        raise refused("file-unreadable", argument, got) from None
    if kind == ".parquet":
        _check_parquet(head, path, argument)
        return ""
    _check_text(head, where, argument, whole=whole)
    return _check_names(head, path, argument, mark)


def _check_parquet(head: bytes, path: str, argument: str) -> None:
    """Raise InvalidProblemError, naming `argument`, for a file that is empty or does not begin as Parquet does."""
    if not head:
        raise refused("rows-none", argument, f"{path}, which is empty")
    if not head.startswith(b"PAR1"):
        raise refused("parquet-none", argument, f"{path}, which is not a Parquet file")


def foreign(head: bytes) -> str:
    """Return the format of a file that is no text, by its first bytes, and a cure; an empty text for text.

    Examples
    --------
    >>> foreign(b"%PDF-1.7"), foreign(b"age,sex")
    ('a PDF document; take the table out of it first', '')
    """
    return next((what for start, what in _FORMATS.items() if head.startswith(start)), "")


def _check_text(head: bytes, where: Path, argument: str, *, whole: bool) -> None:
    """Raise InvalidProblemError for a file that is empty, another format, UTF-16, or holds zero bytes.

    `head` is its beginning; with `whole` all of it is read for zero bytes.
    """
    what = foreign(head)
    if what:
        raise refused("csv-none", argument, f"{where}, {what}")
    if head.startswith(UTF16):
        raise refused("encoding", argument, f"{where} in UTF-16", encoding="UTF-16")
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise refused("file-empty", argument, f"{where}, which is empty")
    zero = b"\0" in head.partition(b"\n")[0]
    if whole and not zero:
        with where.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            zero = data.find(b"\0") >= 0
    if zero:
        raise refused("zero-bytes", argument, f"{where}, which holds zero bytes")


def _check_names(head: bytes, path: str, argument: str, mark: str) -> str:
    """Return the delimiter of a file from its beginning `head`: `mark` if stated, else recognized in the first line.

    Raises InvalidProblemError for names that are empty, repeated, too long or in another encoding, or for lines that
    end with carriage returns alone.
    """
    first = head.partition(b"\n")[0]
    if b"\n" not in head and b"\r" in head.strip():
        raise refused("line-ends", argument, f"{path} with only carriage returns")
    if b"\n" not in head and len(head) == _HEAD:
        raise refused("names-too-long", argument, f"{path} with a longer first line")
    try:
        line = first.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _encoded(path, 1, argument) from None
    mark = mark or mark_of([line])
    names = names_of_line(line, mark)
    if not any(name.strip() for name in names):
        raise refused("names-none", argument, f"{path} with an empty first line")
    again = repeated(names)
    if again:
        raise refused("names-repeated", argument, f"{path}, where {again}")
    return mark


def repeated(names: Sequence[str]) -> str:
    """Return a sentence about two columns of one name, by their positions, or an empty text.

    Examples
    --------
    >>> repeated(["age", "sex", "age"]), repeated(["age", "", ""])
    ('columns 1 and 3 have the same name', '')
    """
    seen: dict[str, int] = {}
    for at, name in enumerate(names, start=1):
        if name and seen.setdefault(name, at) != at:
            return f"columns {seen[name]} and {at} have the same name"
    return ""


def mark_of(lines: Sequence[str]) -> str:
    """Find what separates the cells of some lines: the mark that divides most of them into equally many, and into most.

    A mark that divides none of the cells between quotes comes before one that does. Where lines may be private, give it
    the line of names alone. A comma where no mark divides any line.

    Linear in the text, for each mark of :data:`MARKS`.

    Examples
    --------
    >>> mark_of(["age;note"]), mark_of(["30;a, b, c", "40;d"]), mark_of(['"a;b;c",d']), mark_of(["age"])
    (';', ';', ',', ',')
    >>> mark_of(['age|"city, street, number"'])
    '|'
    """
    best, most = ",", (0.0, False, 1)
    for mark in MARKS:
        try:
            rows = [row for row in cells_of_lines(lines, mark) if row]
        except CellError:
            # A cell longer than a reader takes.
            continue
        width, times = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
        merit = (
            times / max(1, len(rows)),
            not any('"' in cell for row in rows for cell in row),
            width,
        )
        if width > 1 and merit > most:
            best, most = mark, merit
    return best


def names_in(path: str | os.PathLike[str], mark: str) -> list[str]:
    """Return the names of the columns in the first line of a CSV file, whatever bytes follow it.

    An empty `mark` stands for a Parquet file, whose schema is read. Raises OSError, or for Parquet the reader's
    errors.
    """
    if not mark:
        return scan(Path(path), "").collect_schema().names()
    with Path(path).open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return names_of_line(file.readline(_HEAD), mark)


def names_of_line(line: str, mark: str = "") -> list[str]:
    """Return the cells of a line of names, divided by `mark` or by the one that :func:`mark_of` finds in it.

    A line that cannot be divided is one cell; an empty line has none.
    """
    mark = mark or mark_of([line])
    try:
        return next(cells_of_lines([line], mark), [])
    except CellError:
        # A cell longer than a reader takes is one cell.
        return [line]


def text_in(path: str | os.PathLike[str], argument: str) -> str:
    """Read a public file of UTF-8 text whole, without its byte-order mark; its size is not limited.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read or is not in UTF-8.
    """
    try:
        text = stored_file(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        got = f"{path}: {error.strerror or 'it cannot be opened'}"
        raise refused("text-unreadable", argument, got) from None
    except UnicodeDecodeError:
        raise refused("text-encoding", argument, f"{path} in another encoding") from None
    if "\0" in text:
        raise refused("text-encoding", argument, f"{path} with zero bytes")
    return text


def cells_of_text(text: str, mark: str = "") -> list[list[str]]:
    r"""Divide a public text into rows of cells, without empty lines; by default by the mark that all its lines show.

    Raises
    ------
    CellError
        For a text that cannot be divided.

    Examples
    --------
    >>> cells_of_text("FR;Europe\n\nJP;Asia\n")
    [['FR', 'Europe'], ['JP', 'Asia']]
    """
    # Not splitlines(), which knows more ends of lines than a file of cells has.
    lines = io.StringIO(text).readlines()
    return [row for row in cells_of_lines(lines, mark or mark_of(lines)) if row]


def first_ragged(path: str | os.PathLike[str], mark: str, *, row_by_row: bool = False) -> str:
    """Describe the first row whose number of cells differs from the header; "" if there is none.

    A reader of tables takes an empty line, or a row with too few cells, for a row with missing values. Of people that
    would be one who is nobody, and a class of k rows would have fewer than k people. With `row_by_row` only a quote
    out of place counts; see :func:`first_misquoted`.

    Raises
    ------
    UnicodeDecodeError
        For a file that is not in UTF-8.

    Complexity
    ----------
    The whole file is divided into cells, about a second for a million rows.
    """
    if row_by_row:
        at = first_misquoted(path, mark)
        return f"a quote out of place in line {at}" if at else ""
    line = 0
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        rows = cells_of_lines(file, mark, strict=True)
        try:
            width = len(next(rows, []))
            line = rows.line_num
            for row in rows:
                # A line without anything is a missing value in the only column, and no row of several.
                if len(row) != width and (row or width > 1):
                    return f"{len(row)} instead of {width} cells in line {line + 1}"
                line = rows.line_num
        except CellError:
            return f"a quote out of place in line {line + 1}"
    return ""


def first_misquoted(path: str | os.PathLike[str], mark: str) -> int:
    """Return the line of the first quote for which RFC 4180 has no place; 0 if there is none.

    A cell either begins and ends with a quote, and has its own quotes doubled, or has none. Polars finds the ends of
    lines by counting quotes, wherever they stand: two cells x"y, beyond the last name too, would hide all rows between.
    A table of any values that was written by the rule passes, however long its cells are.

    `mark` is the delimiter. Lines are counted from 1; linear in the file.
    """
    between = re.escape(mark.encode())
    end = rb"(?:%s|\r?\n?\Z)" % between
    inner = rb'[^"]*+(?:""[^"]*+)*+'
    cells = rb'(?:(?:"%s"|[^"%s]*+)%s)*+' % (inner, between, end)
    inside, closing = re.compile(inner), re.compile(inner + rb'"' + end)
    row = re.compile(cells + rb'(?P<open>"%s(?!"))?' % inner)
    began = 0
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, start=1):
            text, at = line.removeprefix(codecs.BOM_UTF8 if number == 1 else b""), 0
            if began:
                if inside.fullmatch(text):
                    continue
                closed = closing.match(text)
                if closed is None:
                    return began
                began, at = 0, closed.end()
            elif b'"' not in text:
                continue
            match = row.fullmatch(text, at)
            if match is None:
                return number
            if match["open"] is not None:
                began = number
    return began


def why_unreadable(
    path: str, mark: str, argument: str, *, row_by_row: bool = False
) -> InvalidProblemError:
    """Return the error for a file that cannot be read: damaged Parquet, another encoding, or a row of another length.

    A CSV file is read once more. Without a cause that is found, its quotes are named.

    Parameters
    ----------
    path
        The file.
    mark
        What :func:`look` gave.
    argument
        The argument that named it.
    row_by_row
        As for :func:`refuse_rows`.
    """
    if not mark:
        got = f"{path}, which is cut off, damaged or of other types"
        return refused("parquet-damaged", argument, got)
    try:
        refuse_rows(path, mark, argument, row_by_row=row_by_row)
    except InvalidProblemError as error:
        return error
    return refused("quotes", argument, path)


def refuse_rows(path: str, mark: str, argument: str, *, row_by_row: bool = False) -> None:
    """Refuse a CSV file with a row that has other than as many cells as the first line has names.

    Parameters
    ----------
    path
        The file.
    mark
        What separates its cells: a comma, semicolon, tab or bar, as :func:`look` returned it.
    argument
        The argument that named the file, for the message.
    row_by_row
        Whether rows are read by the rule of :mod:`discreet.tables.keys`: then a quote that is not closed is refused
        alone, since such a file has no rows.

    Raises
    ------
    InvalidProblemError
        With the line in which the first such row begins, or for text in another encoding.

    Complexity
    ----------
    The whole file is divided into cells, about a second for a million rows.
    """
    try:
        ragged = first_ragged(path, mark, row_by_row=row_by_row)
    except UnicodeDecodeError:
        raise _encoded(path, _line_of_other_bytes(path) or 1, argument) from None
    if ragged:
        code = "quotes" if row_by_row else "rows-ragged"
        raise refused(code, argument, f"{path} with {ragged}", marks=MARKS.get(mark, repr(mark)))


def _line_of_other_bytes(path: str) -> int | None:
    """Return the line, from 1, of the first bytes that are not UTF-8, or ``None``; one pass."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    before = 0
    with Path(path).open("rb") as file:
        while True:
            piece = file.read(_PIECE)
            try:
                decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                return before + error.object.count(b"\n", 0, error.start) + 1
            if not piece:
                return None
            before += piece.count(b"\n")


def missing_file(where: Path) -> str:
    """Return the message for a missing file, with the most similar name in its folder.

    The folder is listed; names are compared as text.
    """
    near: list[str] = []
    with suppress(OSError):
        names = [path.name for path in where.parent.iterdir()]
        near = get_close_matches(where.name, names, 1)
    return f"no such file: {where}" + (
        f"; did you mean {where.with_name(near[0])}?" if near else ""
    )


def _encoded(path: str, line: int, argument: str) -> InvalidProblemError:
    """Return the error for bytes that are not UTF-8 in a line."""
    return refused(
        "encoding", argument, f"{path} with invalid bytes in line {line}", encoding="WINDOWS-1252"
    )
