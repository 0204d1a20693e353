"""Uploads as tables: format, encoding and delimiter recognized or stated, or a sentence that says what to do.

No message holds a value of the table.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import rows_of
from discreet.tables.columns import holds_numbers, is_prose
from discreet.tables.dialect import UTF16, look
from discreet.tables.foreign_files import Labels
from discreet.tables.looks import Look
from discreet.tables.option_groups import (
    DELIMITERS,
    ENCODINGS,
    CodingOptions,
    FileReadingOptions,
    QuotesOption,
    RecodingOptions,
)
from discreet.tables.options import FileRequest, ReadingOptions
from discreet.tables.reading import read_labels, read_row_by_row, read_rows
from discreet.tables.recoding import Recoding, recode
from discreet.tables.roles import look_of
from discreet.tables.sizes import in_words, parquet_size, refuse_many
from discreet.tables.sources import READABLE, plain_file, suffix_of

if TYPE_CHECKING:
    import polars as pl

    from discreet.core.option_groups import OptionGroup


class _UploadLimits(NamedTuple):
    """Size of a table, at most."""

    rows: int = 1_000_000
    columns: int = 200
    memory: int = 1 << 30
    """Bytes of it once it is read."""


LIMITS = _UploadLimits()

_FILE = "The file"
_LARGE = (
    f"{printed.count(LIMITS.rows)} rows or fewer; a larger one goes through `discreet anonymize FILE -k K --quasi A,B "
    "--memory 4GB -o OUT` on the command line"
)
_FITS = (
    f"a table of at most {in_words(LIMITS.memory)} once it is read, where a cell of text takes 16 bytes; leave columns "
    "out, or use `discreet anonymize FILE -k K --quasi A,B --memory 4GB -o OUT` on the command line"
)

ENDINGS = ",".join([*READABLE, ".gz", ".zst"])
"""Endings of the files that are read, for the field of a file."""


@final
@dataclass(frozen=True, eq=False)
class Upload:
    """A table that was read.

    Parameters
    ----------
    table
        The table; cells of a CSV file are text as it stands there.
    how
        How it was read, a sentence.
    notices
        What a person should look at.
    reading, recoding
        How it was read and recoded.
    labels
        Labels of a file of SPSS, Stata or SAS.
    ending
        Ending of the file's name.
    """

    table: pl.DataFrame
    how: str
    notices: tuple[str, ...]
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    recoding: Recoding = field(default_factory=Recoding)
    labels: Labels = field(default_factory=Labels)
    ending: str = ".csv"


@final
@dataclass(frozen=True)
class ColumnSummary:
    """What a column holds. For the curator alone.

    Parameters
    ----------
    name
        Its name.
    numeric
        Whether its cells are numbers.
    different, empty
        Counts of different values and of empty cells.
    examples
        Some of its values.
    free_text
        Whether its cells look like sentences, nearly each another one.
    look
        What it looks like, and so the role and the form that are suggested.
    cells
        Its first cells.
    """

    name: str
    numeric: bool
    different: int
    empty: int
    examples: tuple[str, ...]
    free_text: bool
    look: Look = field(default_factory=Look)
    cells: tuple[str, ...] = ()


class UploadOptions(FileReadingOptions, CodingOptions):
    """How a file is read and coded before its columns are shown."""


class PrivateUploadOptions(FileReadingOptions, RecodingOptions, QuotesOption):
    """How a private file is read and recoded for a release, row by row."""


def upload_form(group: type[OptionGroup]) -> dict[str, Any]:
    """Return ``reading`` (rows of the fields of the options `group`) and ``endings`` (of files), for the first step."""
    return {"reading": list(rows_of(group)), "endings": ENDINGS}


def read_upload(
    path: Path,
    name: str,
    options: UploadOptions | PrivateUploadOptions | None = None,
    *,
    nested: bool = False,
) -> Upload:
    r"""Read a file of any kind that :data:`discreet.tables.sources.READABLE` lists.

    At most a million rows, 200 columns and 1 GiB in memory. Text that is no UTF-8 is read as Windows-1252 if no
    encoding is stated and the file is not private. A hard link beside `path` is made meanwhile.

    Parameters
    ----------
    path
        The file, in a private folder.
    name
        What it is called; its ending says what it is.
    options
        How it is read and recoded. Rows of :class:`PrivateUploadOptions` are those of a mechanism that spends budget:
        none is refused for what it holds, nor changes how others are read; see
        :func:`~discreet.tables.reading.read_row_by_row`.
    nested
        Whether columns of lists and records are read; see :func:`~discreet.tables.reading.read_rows`.

    Raises
    ------
    InvalidProblemError
        With what to do, for a file without rows or with too many, in another encoding or with rows of other lengths.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a")
    ...     _ = path.write_bytes(b"age;zip\n30;00100\n40;00100\n")
    ...     read = read_upload(path, "a.csv")
    >>> read.how, read.table.shape
    ('2 rows and 2 columns, in UTF-8, separated by semicolon.', (2, 2))
    """
    options = options or UploadOptions()
    # The library goes by the ending of a name.
    place = path.with_name(f"{path.name}-table{_ending(path, name)}")
    reading, recoding, guessed = options.reading, options.recoding, False
    read = partial(read_rows, unknown=True, nested=nested)
    private = False
    if isinstance(options, PrivateUploadOptions):
        private = True
        read = partial(read_row_by_row, quoted=options.quotes == "doubled")
    try:
        place.hardlink_to(path)
        size = parquet_size(place) if place.suffix == ".parquet" else None
        refuse_many(0 if size is None else size.rows, LIMITS.rows, _FILE, _LARGE)
        try:
            table = read(str(place), _FILE, options=reading, most=LIMITS.memory, fits=_FITS)
        except InvalidProblemError as error:
            if error.code != "encoding" or private or reading.encoding:
                raise
            reading, guessed = replace(reading, encoding=_WESTERN), True
            table = read(str(place), _FILE, options=reading, most=LIMITS.memory, fits=_FITS)
        refuse_many(table.height, LIMITS.rows, _FILE, _LARGE)
        few = f"{LIMITS.columns} columns or fewer; drop what is not published"
        refuse_many(table.width, LIMITS.columns, _FILE, few)
        table = recode(table, recoding, _FILE)
        request = FileRequest(_FILE, str(place), reading, LIMITS.memory, _FITS, row_by_row=private)
        how, notices = _described(table, str(place), request, guessed=guessed)
        labels = read_labels(str(place), reading)
        return Upload(table, how, notices, reading, recoding, labels, place.suffix)
    except InvalidProblemError as error:
        got = str(error.got).replace(str(place), name)
        raise error.renamed(error.field, got=got) from None
    finally:
        place.unlink(missing_ok=True)


_WESTERN = "cp1252"
"""Encoding of text that is no UTF-8, if none is stated."""


def _ending(path: Path, name: str) -> str:
    """Return the ending by which a file is read: Parquet by its bytes, another by its name, and else CSV.

    That of a compressed file has two parts, such as ".csv.gz".

    `path` is the uploaded file, whose first four bytes are read; `name` is what it is called.
    """
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return ".parquet"
    suffix, last = suffix_of(name), Path(name).suffix.lower()
    if suffix not in READABLE:
        return ".csv"
    return suffix if last == suffix else f"{suffix}{last}"


def _described(
    table: pl.DataFrame, place: str, request: FileRequest, *, guessed: bool
) -> tuple[str, tuple[str, ...]]:
    """Return how a file was read, as a sentence, and notices that a person should check, none for files of no text.

    `place` is its path, `request` the options used; `guessed` tells that its encoding was guessed.
    """
    kind = READABLE[suffix_of(place)]
    if kind != "text":
        return f"{_shape(table)}, {_KINDS.get(kind, kind.capitalize())}.", ()
    with plain_file(place, request) as plain:
        mark = look(str(plain.path), _FILE, mark=plain.mark, whole=False)
    with Path(place).open("rb") as file:
        utf16 = file.read(2) in UTF16
    used = request.options.encoding or ("utf-16" if utf16 else "utf-8")
    titles = {codecs.lookup(code).name: title for code, title in ENCODINGS.items() if code}
    encoding = titles.get(used, used)
    delimiter = DELIMITERS.get("tab" if mark == "\t" else mark, repr(mark))
    notices = []
    if table.width == 1:
        notices.append(
            f"Only one column was found with {delimiter} as the delimiter. If the file has more, choose its "
            "delimiter above and load it again."
        )
    if guessed:
        notices.append(
            f"The file is not in UTF-8; it was read as {encoding}. If letters look wrong, choose its encoding "
            "above and load it again."
        )
    if request.row_by_row and not request.options.encoding and not utf16:
        # Always, since whether a byte of a row is no UTF-8 is private.
        notices.append(
            "Cells are read as UTF-8, whatever their bytes are. If the file was saved in another encoding, such as "
            "Windows-1252, choose it above and load the file again: rows with other letters would be left out."
        )
    return f"{_shape(table)}, in {encoding}, separated by {delimiter}.", tuple(notices)


_KINDS = {"arrow": "Arrow", "workbook": "a workbook", "spss": "SPSS", "sas": "SAS"}


def describe(table: pl.DataFrame) -> list[ColumnSummary]:
    """Return a summary of each column of a table, in its order; scans each column a few times. For the curator alone.

    Examples
    --------
    >>> import polars as pl
    >>> describe(pl.DataFrame({"age": ["30", "40", ""]}))[0].numeric
    True
    """
    return [_column(table, name) for name in table.columns]


def _column(table: pl.DataFrame, name: str, *, preview_rows: int = 5) -> ColumnSummary:
    """Return the summary of a column: kind, different values, empty cells, three examples and the first few cells.

    Texts are cut at 24 letters. Scans the column a few times.

    `name` is a column of `table`; values are private.
    """
    import polars as pl

    series = table[name]
    cells = series.cast(pl.String, strict=False)
    full = cells.drop_nulls()
    full = full.filter(full.str.strip_chars() != "")
    different = full.n_unique()
    numeric = holds_numbers(series)
    return ColumnSummary(
        name,
        numeric,
        different,
        len(cells) - len(full),
        tuple(value[:24] for value in full.head(200).unique(maintain_order=True).head(3).to_list()),
        not numeric and is_prose(full),
        look_of(table, name),
        tuple((value or "")[:24] for value in cells.head(preview_rows).to_list()),
    )


def _shape(table: pl.DataFrame) -> str:
    """Return the numbers of rows and columns in words."""
    rows = "1 row" if table.height == 1 else f"{printed.count(table.height)} rows"
    return f"{rows} and {table.width} column{'' if table.width == 1 else 's'}"
