"""What the footer of a Parquet file states of its columns, so that a table's memory is bounded before it is decoded.

The footer is a structure of Apache Thrift in the compact protocol, at the end of the file and followed by its length.
Names and numbers of fields are those of ``parquet.thrift`` in the Parquet format. Polars does not hand these sizes out.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"PAR1"

_KINDS = (
    "BOOLEAN",
    "INT32",
    "INT64",
    "INT96",
    "FLOAT",
    "DOUBLE",
    "BYTE_ARRAY",
    "FIXED_LEN_BYTE_ARRAY",
)
"""Physical types by their number."""


@final
@dataclass(frozen=True)
class ColumnChunk:
    """One column in one group of rows.

    Parameters
    ----------
    kind
        Physical type, such as ``"INT64"``.
    width
        Bytes of a cell of a type of fixed length; 0 for others.
    cells
        Rows of the group, or values where there are more, as in nested columns.
    uncompressed
        Bytes of its pages before compression.
    """

    kind: str
    width: int
    cells: int
    uncompressed: int


@final
@dataclass(frozen=True)
class Footer:
    """Shape and column chunks of a file.

    Parameters
    ----------
    rows, columns
        Shape of the table; columns of a nested table count by their innermost ones.
    chunks
        All columns of all groups of rows.
    """

    rows: int
    columns: int
    chunks: tuple[ColumnChunk, ...]


def read_footer(file: Path | io.BytesIO) -> Footer | None:
    """Read the footer of a Parquet file; ``None`` when it has none that can be read, as an encrypted one.

    Parameters
    ----------
    file
        The file, or its bytes.

    Examples
    --------
    >>> import polars as pl
    >>> written = io.BytesIO()
    >>> pl.DataFrame({"age": [30, 40]}).write_parquet(written)
    >>> footer = read_footer(written)
    >>> footer.rows, footer.columns, footer.chunks[0].kind
    (2, 1, 'INT64')

    Notes
    -----
    Time and memory are linear in the bytes of the footer. It states what its writer wrote, true or not.
    """
    data = _footer_bytes(file)
    if data is None:
        return None
    try:
        meta = _Compact(data).structure(0)
        # 2: schema, 3: num_rows, 4: row_groups; in the schema 1: type, 2: type_length. Leaves have a type.
        widths = [element.get(2, 0) for element in meta[2] if 1 in element]
        chunks = [
            _chunk(column[3], group[3], width)
            for group in meta.get(4, ())
            for column, width in zip(group[1], widths, strict=True)
        ]
        return Footer(int(meta[3]), len(widths), tuple(chunks))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None


def _chunk(stated: dict[int, Any], rows: int, width: int) -> ColumnChunk:
    """Return one column chunk from its ``ColumnMetaData``, by field number: 1 type, 5 num_values, 6 uncompressed size.

    `width` is the bytes of a value. ValueError for a number below 0.
    """
    cells, uncompressed = max(rows, stated[5]), stated[6]
    if min(stated[1], cells, uncompressed, width) < 0:
        raise ValueError
    return ColumnChunk(_KINDS[stated[1]], width, cells, uncompressed)


def _footer_bytes(file: Path | io.BytesIO) -> bytes | None:
    """Return the bytes of the footer alone.

    ``None`` for a file that cannot be read or has no plain footer at its end.
    """
    tail = len(_MAGIC) + 4
    try:
        opened = io.BytesIO(file.getbuffer()) if isinstance(file, io.BytesIO) else file.open("rb")
        with opened as source:
            end = source.seek(0, io.SEEK_END)
            if end < tail:
                return None
            source.seek(end - tail)
            length, magic = struct.unpack("<I4s", source.read(tail))
            if magic != _MAGIC or length > end - tail:
                return None
            source.seek(end - tail - length)
            return source.read(length)
    except OSError:
        return None


class _Compact:
    """A reader of Thrift's compact protocol: structures as dictionaries by the numbers of their fields.

    Parameters
    ----------
    data
        The bytes; reading beyond them raises :class:`IndexError`.
    max_values
        Limit on the values of a footer: each takes up to 75 bytes here for one in the file.
    max_depth
        Limit on structures within structures, of which the format has six.
    """

    def __init__(self, data: bytes, *, max_values: int = 10_000_000, max_depth: int = 32) -> None:
        self.data, self.at, self.values = data, 0, 0
        self.max_values, self.max_depth = max_values, max_depth

    def byte(self) -> int:
        """Read one byte."""
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        """Read a whole number without sign, seven bits a byte, the lowest first; ValueError if it is too long."""
        value = 0
        for shift in range(0, 64, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError

    def integer(self) -> int:
        """Read a whole number with its sign in the lowest bit."""
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def skip(self, length: int) -> bytes:
        """Read so many bytes as they are; IndexError if there are fewer."""
        if length > len(self.data) - self.at:
            raise IndexError
        self.at += length
        return self.data[self.at - length : self.at]

    def structure(self, depth: int) -> dict[int, Any]:
        """Read a structure: number of a field -> its value; true and false are booleans, bytes stay bytes.

        `depth` is the number of structures around it. Raises ValueError for too many or too deep values, IndexError
        at the end of the data.
        """
        fields: dict[int, Any] = {}
        number = 0
        while header := self.byte():
            # The upper half is the step from the last number, or 0 before a number in full.
            number = number + (header >> 4) if header >> 4 else self.integer()
            kind = header & 0x0F
            # 1 and 2 are true and false, without a value of their own.
            fields[number] = kind == 1 if kind in (1, 2) else self.value(kind, depth + 1)
        return fields

    def value(self, kind: int, depth: int) -> Any:  # noqa: ANN401 - of the kind that is asked for
        """Read one value; ValueError for another kind, or too many or too deep values.

        Parameters
        ----------
        kind
            Number of its type: 1 and 2 booleans (a byte each, in lists), 3 byte, 4 to 6 integers, 7 double, 8 bytes,
            9 and 10 list and set, 11 map, 12 structure.
        depth
            Structures around it.
        """
        self.values += 1
        if depth > self.max_depth or self.values > self.max_values:
            raise ValueError
        match kind:
            case 1 | 2 | 3:
                return self.byte()
            case 4 | 5 | 6:
                return self.integer()
            case 7:
                return self.skip(8)
            case 8:
                return self.skip(self.varint())
            case 9 | 10:
                header = self.byte()
                length = header >> 4 if header >> 4 < 15 else self.varint()
                return [self.value(header & 0x0F, depth + 1) for _ in range(length)]
            case 11:
                length = self.varint()
                kinds = self.byte() if length else 0
                return [
                    (self.value(kinds >> 4, depth + 1), self.value(kinds & 0x0F, depth + 1))
                    for _ in range(length)
                ]
            case 12:
                return self.structure(depth)
            case _:
                raise ValueError
