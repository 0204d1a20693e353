"""Options under which a table is read: encoding, delimiter, decimal mark, sheet, marks of missing values."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core.options import instance_of, items_of
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.errors import InvalidProblemError

_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}


@final
@dataclass(frozen=True)
class ReadingOptions:
    """Options under which a table is read; the defaults recognize what a file shows.

    Parameters
    ----------
    encoding
        Encoding of text, such as ``cp1252``; empty for UTF-8, or UTF-16 with its byte-order mark.
    delimiter
        Separator of the cells of text: a comma, semicolon, tab, bar or another character; empty to recognize it.
    decimal
        Decimal mark of numbers, a point or a comma: the other one, blanks and apostrophes then separate thousands.
        Empty for numbers as programs write them.
    sheet
        Name of the sheet of a workbook; empty for the first one.
    missing
        Marks that stand for a missing value in every column.
    missing_by_column
        Pairs of a column and a mark that stands for a missing value in this column.

    Examples
    --------
    >>> ReadingOptions.of(missing=["NA,-9", "age=999"])
    ReadingOptions(encoding='', delimiter='', decimal='', sheet='', missing=('NA', '-9'), missing_by_column=(('age', ...
    """

    encoding: str = ""
    delimiter: str = ""
    decimal: str = ""
    sheet: str = ""
    missing: tuple[str, ...] = ()
    missing_by_column: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name in ("encoding", "delimiter", "decimal", "sheet"):
            instance_of(getattr(self, name), str, name, "text")
        if self.decimal not in {"", ".", ","}:
            raise refused("decimal-mark", "decimal", repr(self.decimal))
        if self.encoding:
            try:
                text = codecs.lookup(self.encoding)
                # Of no bytes, any codec makes text.
                b"ab\0\0".decode(text.name, "ignore")
            except (LookupError, ValueError):
                raise refused("encoding-word", "encoding", repr(self.encoding)) from None
            object.__setattr__(self, "encoding", text.name)
        delimiter = _DELIMITERS.get(self.delimiter, self.delimiter)
        if len(delimiter.encode()) > 1 or delimiter in {'"', "\n", "\r", "\0"}:
            raise refused("delimiter", "delimiter", repr(self.delimiter))
        object.__setattr__(self, "delimiter", delimiter)

    @classmethod
    def of(
        cls,
        *,
        encoding: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        sheet: str | None = None,
        missing: Sequence[str] | Mapping[str, Sequence[str]] | str = (),
    ) -> ReadingOptions:
        """Parse options as they are typed.

        Also raises for a decimal mark other than a point or a comma, and a delimiter of several bytes or a line end.

        Parameters
        ----------
        encoding, delimiter, decimal, sheet
            As of the record; ``None`` for the default.
        missing
            Marks, separated by commas; ``COLUMN=MARK`` for a mark of one column. Or a mapping from columns to marks.

        Raises
        ------
        InvalidProblemError
            For an unknown encoding, or a value that is not text.
        """
        everywhere: list[str] = []
        columns: list[tuple[str, str]] = []
        if isinstance(missing, Mapping):
            columns = [
                (name, str(mark)) for name, marks in missing.items() for mark in _listed(marks)
            ]
        else:
            for text in _listed(missing):
                for item in split_names(str(text)):
                    name, equals, mark = item.rpartition("=")
                    if equals and name:
                        columns.append((name, mark))
                    else:
                        everywhere.append(item)
        return cls(
            encoding or "",
            delimiter or "",
            decimal or "",
            sheet or "",
            tuple(everywhere),
            tuple(columns),
        )

    @classmethod
    def from_dict(cls, stated: Mapping[str, Any]) -> ReadingOptions:
        """Return the options of a mapping that :meth:`to_dict` returned, and check them anew.

        Raises InvalidProblemError for a value that is not allowed, TypeError for an unknown key.
        """
        marks = tuple(stated.get("missing", ()))
        columns = tuple((name, mark) for name, mark in stated.get("missing_by_column", ()))
        return cls(**{**stated, "missing": marks, "missing_by_column": columns})

    def to_dict(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, for a record.

        Examples
        --------
        >>> ReadingOptions.of(decimal=",").to_dict()
        {'decimal': ','}
        """
        default = asdict(ReadingOptions())
        stated = {name: value for name, value in asdict(self).items() if value != default[name]}
        if self.missing:
            stated["missing"] = list(self.missing)
        if self.missing_by_column:
            stated["missing_by_column"] = [list(pair) for pair in self.missing_by_column]
        return stated


@final
@dataclass(frozen=True)
class FileRequest:
    """A file to read: its names in messages, the options, and limits.

    Parameters
    ----------
    argument, shown
        Names of the argument and of the file in messages.
    options
        How it is read.
    most, advice
        Bytes that a copy or a table may take, and what to do with a larger one.
    row_by_row
        Whether rows are those of a mechanism that spends budget, which refuses nothing for what a row holds.
    """

    argument: str
    shown: str
    options: ReadingOptions
    most: int
    advice: str
    row_by_row: bool = False

    def refused(self, code: str, got: str, **words: object) -> InvalidProblemError:
        """Return the refusal of a code; `got` follows the name of the file."""
        return refused(code, self.argument, f"{self.shown}{got}", **words)

    def refuse_size(self, size: int, got: str) -> None:
        """Raise InvalidProblemError if `size` bytes exceed the limit of the request.

        `got` is a phrase for the message, which follows the name of the file.
        """
        if size > self.most:
            raise self.refused("table-too-large", got, expected=self.advice)


def _listed(marks: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as it came
    return (marks,) if isinstance(marks, str | int | float) else items_of(marks, "missing", "marks")


class QuotedName(str):
    """Name that was quoted: its letters are taken as they are."""

    __slots__ = ()


def split_names(text: str) -> list[str]:
    r"""Split names at commas. A name that holds a comma or a quote, or that begins or ends with a blank, may be quoted.

    Between quotes of either kind a doubled quote is a quote, as in CSV. Blanks around names without quotes are dropped.
    A name from between quotes is a :class:`QuotedName`.

    Examples
    --------
    >>> split_names('age, "name, first" ,zip'), split_names("' education'"), split_names('"a""b"')
    (['age', 'name, first', 'zip'], [' education'], ['a"b'])
    """
    names: list[str] = []
    at, end = 0, len(text)
    while at < end:
        while at < end and text[at] in " \t":
            at += 1
        quote = text[at] if at < end and text[at] in "\"'" else ""
        closed = _closing(text, at + 1, quote) if quote else -1
        after = text[closed + 1 :].lstrip(" \t") if closed >= 0 else "-"
        if closed >= 0 and (not after or after[0] == ","):
            names.append(QuotedName(text[at + 1 : closed].replace(quote * 2, quote)))
            at = end - len(after) + 1
            continue
        comma = text.find(",", at)
        comma = end if comma < 0 else comma
        name = text[at:comma].strip()
        if name:
            names.append(name)
        at = comma + 1
    return names


def _closing(text: str, at: int, quote: str) -> int:
    """Return the place, from `at` on, of the quote that closes a quoted name; -1 if there is none."""
    while True:
        at = text.find(quote, at)
        if at < 0 or text[at : at + 2] != quote * 2:
            return at
        at += 2
