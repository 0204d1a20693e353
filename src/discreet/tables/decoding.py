"""Text in other encodings than UTF-8: recognized by its mark or named, and copied as UTF-8."""

from __future__ import annotations

import codecs
import shutil
from typing import TYPE_CHECKING

from discreet.tables.dialect import UTF16
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

__all__ = ["ENCODINGS", "copy_as_utf8"]

ENCODINGS = {
    "": "recognize it",
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "cp1252": "Windows-1252 (Western)",
    "iso-8859-2": "ISO 8859-2 (Central European)",
    "cp1251": "Windows-1251 (Cyrillic)",
}
"""Encodings that can be named, and what they are called."""

_PIECE = 1 << 20


def copy_as_utf8(
    path: Path,
    copy: BinaryIO,
    argument: str,
    encoding: str,
    *,
    most: int,
    advice: str,
    row_by_row: bool = False,
) -> str:
    r"""Copy a file of text as UTF-8, and return its encoding.

    Parameters
    ----------
    path
        The file.
    copy
        An empty file, open for writing and seeking.
    argument
        Name of the file in messages.
    encoding
        A key of :data:`ENCODINGS`; empty to recognize UTF-16 by its mark, UTF-8 by its bytes, and else Windows-1252.
        What is no UTF-8 though it was named is copied as it is, for the reader to refuse.
    most
        Largest number of lines.
    advice
        What to do with more lines.
    row_by_row
        Whether rows are those of a mechanism that spends budget. Then the encoding is the named one, else UTF-16 by the
        mark, else UTF-8, whatever bytes the rows have; those that don't decode become U+FFFD, here or in the reader.

    Raises
    ------
    InvalidProblemError
        With the code ``encoding-word``, ``encoding-other`` or ``table-too-large``.

    Examples
    --------
    >>> import io, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, copy = Path(folder, "a.csv"), io.BytesIO()
    ...     _ = path.write_bytes("age;g\xfcn\n".encode("cp1252"))
    ...     copy_as_utf8(path, copy, "table", "", most=10, advice="fewer lines"), copy.getvalue()
    ('cp1252', b'age;g\xc3\xbcn\n')
    """
    if encoding and encoding not in ENCODINGS:
        raise refused("encoding-word", argument, "another")
    with path.open("rb") as file:
        marked = file.read(2) in UTF16
    tried = [encoding] if encoding else ["utf-16"] if marked else ["utf-8-sig", "cp1252"]
    # What is no UTF-8 passes as it is, so that the first line is refused as that of any file, and a row is read.
    lenient = "replace" if "utf-16" in tried else "surrogateescape"
    for one in tried:
        decoder = codecs.getincrementaldecoder(one)(lenient if row_by_row else "strict")
        lines = 0
        copy.seek(0)
        copy.truncate()
        try:
            with path.open("rb") as file:
                for piece in iter(lambda: file.read(_PIECE), b""):
                    text = decoder.decode(piece)
                    lines += text.count("\n")
                    if lines > most + 1:
                        raise refused("table-too-large", argument, "a larger one", expected=advice)
                    copy.write(text.encode(errors="surrogateescape"))
            copy.write(decoder.decode(b"", final=True).encode(errors="surrogateescape"))
        except UnicodeError:
            continue
        return one
    if encoding != "utf-8-sig":
        raise refused("encoding-other", argument, "bytes that are no such text")
    # The reader of tables says in which line there are other bytes.
    copy.seek(0)
    copy.truncate()
    with path.open("rb") as file:
        shutil.copyfileobj(file, copy)
    return encoding
