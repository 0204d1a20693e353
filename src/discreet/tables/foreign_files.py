"""Tables in files of other programs: workbooks of Excel, files of SPSS, Stata and SAS, and Arrow.

A cell with a value label becomes its label, one by one; user-defined missing values become missing. Floats of a column
that are all whole become integers, since these programs store every number as a float.
"""

from __future__ import annotations

import datetime as dt
import io
import sys
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.extras import require
from discreet.tables.dialect import repeated
from discreet.tables.keys import key_text
from discreet.tables.refusals import refused
from discreet.tables.sizes import BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    import polars as pl

    from discreet.tables.options import FileRequest


@final
@dataclass(frozen=True)
class Labels:
    """Labels of a file of SPSS, Stata or SAS.

    Parameters
    ----------
    columns
        Label of each column that has one.
    values
        Label of each coded number, by column.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[float, str]] = field(default_factory=dict)


def labels_of(path: Path, kind: str, encoding: str = "") -> Labels:
    """Read the labels of a file of SPSS (not the portable form), Stata or SAS; other kinds have none.

    Only metadata is read; for SAS also the catalog beside the file. Raises pyreadstat's errors for a damaged file.

    Parameters
    ----------
    path
        The file.
    kind
        A value of :data:`discreet.tables.sources.READABLE`.
    encoding
        Encoding of its text, if the file states none.
    """
    if kind not in {"spss", "stata", "sas"}:
        return Labels()
    more = {"encoding": encoding} if encoding else {}
    meta = _reader_of(kind)(str(path), metadataonly=True, output_format="polars", **more)[1]
    known = _labels_of_catalog(path, meta) if kind == "sas" else meta.variable_value_labels
    # Letters stand for kinds of missing values.
    values = {
        name: {float(code): text for code, text in each.items() if isinstance(code, int | float)}
        for name, each in known.items()
    }
    return Labels(
        {name: text for name, text in meta.column_names_to_labels.items() if text}, values
    )


def _reader_of(kind: str) -> Callable[..., Any]:
    """Return pyreadstat's reader of a kind of file: "spss", "portable", "stata", "sas" or "transport".

    KeyError for others.
    """
    import pyreadstat

    readers: dict[str, Callable[..., Any]] = {
        "spss": pyreadstat.read_sav,
        "portable": pyreadstat.read_por,
        "stata": pyreadstat.read_dta,
        "sas": pyreadstat.read_sas7bdat,
        "transport": pyreadstat.read_xport,
    }
    return readers[kind]


def read_foreign(path: Path, kind: str, request: FileRequest) -> pl.DataFrame:
    """Read a table from a file of another program.

    The table is read whole, after its size was compared with what may be taken.

    Parameters
    ----------
    path
        The file.
    kind
        A value of :data:`discreet.tables.sources.READABLE` but text and Parquet.
    request
        How it is read. Row by row, formulas count as their last values, and merged and empty cells as missing.

    Raises
    ------
    InvalidProblemError
        For a damaged file, one that takes more memory, a sheet that is not there, or formulas, merged cells and empty
        rows in a workbook.
    """
    if kind != "arrow":
        require("files", request.argument)
    read = {"arrow": _arrow, "workbook": _workbook}.get(kind)
    try:
        return _statistical(path, kind, request) if read is None else read(path, request)
    except InvalidProblemError:
        raise
    except ModuleNotFoundError as error:
        install = f"pip install {error.name}"
        raise refused(
            "polars-missing", request.argument, f"no {error.name}", install=install
        ) from None
    except (OSError, zipfile.BadZipFile, LookupError, ValueError, TypeError, EOFError):
        raise request.refused("file-damaged", _DAMAGED) from None


_DAMAGED = ", which is cut off, damaged or in another encoding"


def _arrow(path: Path, request: FileRequest) -> pl.DataFrame:
    """Read an Arrow file whole; raise InvalidProblemError for a damaged one. Its size is not limited here."""
    import polars as pl

    try:
        return pl.read_ipc(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise request.refused("file-damaged", _DAMAGED) from None


def with_whole_numbers(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with columns of floats as integers if all are whole and below 2^53; NaN becomes a missing value.

    A column of type Null becomes one of text; one of floats without values becomes one of integers. Linear in the
    cells.

    A column with an infinite number, or one of 2^53 or more, stays one of floats.

    Examples
    --------
    >>> import polars as pl
    >>> with_whole_numbers(pl.DataFrame({"age": [34.0, None], "cm": [1.5, 2.0]})).rows()
    [(34, 1.5), (None, 2.0)]
    """
    import polars as pl

    made = []
    for series in table:
        if series.dtype == pl.Null:
            made.append(series.cast(pl.String))
        if series.dtype not in (pl.Float64, pl.Float32):
            continue
        present = series.fill_nan(None)
        is_integer = (present == present.round()) & (present.abs() < 2.0**sys.float_info.mant_dig)
        made.append(present.cast(pl.Int64) if is_integer.all() else present)
    return table.with_columns(made)


def _statistical(path: Path, kind: str, request: FileRequest) -> pl.DataFrame:
    """Read a file of SPSS, Stata or SAS whole, with the labels in place of codes.

    Floats without fractions become integers. The size is compared with the limit first, but for the portable form of
    SPSS. Raises InvalidProblemError for a damaged or too large file.
    """
    import polars as pl
    import pyreadstat

    reader = _reader_of(kind)
    # Polars for the metadata too, whose default needs pandas.
    more: dict[str, Any] = {"output_format": "polars"}
    if request.options.encoding:
        more["encoding"] = request.options.encoding
    try:
        if kind != "portable":
            about = reader(str(path), metadataonly=True, **more)[1]
            cells = (about.number_rows or 0) * max(1, about.number_columns or 1)
            request.refuse_size(cells * BYTES.per_cell, f", with {printed.count(cells)} cells")
        table, meta = reader(str(path), **more)
        labels = _labels_of_catalog(path, meta) if kind == "sas" else meta.variable_value_labels
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
        raise request.refused("file-damaged", _DAMAGED) from None
    short = [
        name
        for name, kind in meta.readstat_variable_types.items()
        if kind == "float" and table.schema.get(name) == pl.Float64
    ]
    # Stata's floats of 32 bits have the digits that they were typed with, and not those of a longer float.
    table = table.with_columns(pl.col(short).cast(pl.Float32).cast(pl.String).cast(pl.Float64))
    table = with_whole_numbers(table)
    return table.with_columns(
        _labeled(table[name], each) for name, each in labels.items() if name in table.columns
    )


def _labels_of_catalog(path: Path, meta: Any) -> dict[str, dict[Any, str]]:  # noqa: ANN401 - what pyreadstat returns
    """Return column -> code -> label from the catalog beside a file of SAS, of its name or ``formats.sas7bcat``.

    Empty without a catalog. `meta` is what pyreadstat returned for the file.
    """
    import pyreadstat

    beside = [path.with_suffix(".sas7bcat"), path.with_name("formats.sas7bcat")]
    catalog = next((one for one in beside if one.is_file()), None)
    if catalog is None:
        return {}
    formats = pyreadstat.read_sas7bcat(str(catalog), output_format="polars")[1].value_labels
    return {name: formats[one] for name, one in meta.variable_to_label.items() if one in formats}


def _labeled(column: pl.Series, labels: dict[Any, str]) -> pl.Series:
    """Return the column as text: values replaced by their labels, values without one by their text."""
    import polars as pl

    known = {key_text(value): label for value, label in labels.items()}
    values = column.drop_nulls().unique()
    texts = [known.get(key_text(value), key_text(value)) for value in values.to_list()]
    return column.replace_strict(values, texts, default=None, return_dtype=pl.String)


def read_written_workbook(
    data: bytes, types: Mapping[str, Any], request: FileRequest
) -> pl.DataFrame:
    """Read the bytes of a workbook that :func:`discreet.tables.writing.bytes_of` wrote; `types` has each column's type.

    Raises
    ------
    InvalidProblemError
        For a damaged workbook, one that takes more memory, or cells of other types.
    """
    import polars as pl

    require("files", request.argument)
    try:
        names, *rows = _rows_of_workbook(io.BytesIO(data), request)
        columns = zip(names, zip(*rows, strict=True), strict=True)
        return pl.DataFrame([pl.Series(name, cells, types[name]) for name, cells in columns])
    except (OSError, zipfile.BadZipFile, LookupError, ValueError, TypeError, EOFError):
        raise request.refused("file-damaged", _DAMAGED) from None


def _workbook(path: Path, request: FileRequest) -> pl.DataFrame:
    # The reader leaves a file open that it cannot read, but not ours.
    """Read one sheet of a workbook whole."""
    with path.open("rb") as file:
        return _frame_of(_rows_of_workbook(file, request), request)


def _rows_of_workbook(file: BinaryIO, request: FileRequest) -> list[list[Any]]:
    """Return the cells of a sheet as lists by row, header included.

    Refuses a workbook that is too large or without that sheet, and unless read row by row, formulas and merged cells.
    """
    import openpyxl

    with zipfile.ZipFile(file) as packed:
        size = sum(one.file_size for one in packed.infolist())
    request.refuse_size(size * BYTES.per_workbook_byte, ", which unpacks to more")
    book = openpyxl.load_workbook(file, data_only=request.row_by_row)
    names, sheet = [one.title for one in book.worksheets], request.options.sheet
    if not names:
        raise request.refused("rows-none", " without rows")
    if sheet and sheet not in names:
        known = ", ".join(map(repr, names))
        raise refused("sheet-missing", request.argument, repr(sheet), known=known)
    page = book[sheet or names[0]]
    if not request.row_by_row and page.merged_cells.ranges:
        area = min(page.merged_cells.ranges, key=lambda one: (one.min_row, one.min_col))
        raise request.refused("workbook-cells", f", with merged cells in {area.coord}")
    rows: list[list[Any]] = []
    for row in page.iter_rows():
        formula = next((cell for cell in row if cell.data_type == "f"), None)
        if formula is not None and not request.row_by_row:
            raise request.refused("workbook-cells", f", with a formula in {formula.coordinate}")
        rows.append([cell.value for cell in row])
    return rows


def _frame_of(rows: list[list[Any]], request: FileRequest) -> pl.DataFrame:
    """Convert the cells of a sheet, by row, whose first row holds the names, into a table.

    Raises InvalidProblemError without rows, for a name that is empty or comes twice, and for an empty row unless read
    row by row.
    """
    import polars as pl

    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise request.refused("file-empty", ", which is empty")
    filled = (at for row in rows for at, cell in enumerate(row, start=1) if cell is not None)
    width = max(filled)
    names = ["" if cell is None else str(cell) for cell in rows[0][:width]]
    if "" in names:
        raise request.refused("names-none", f" without a name in column {names.index('') + 1}")
    again = repeated(names)
    if again:
        raise request.refused("names-repeated", f", where {again}")
    if not rows[1:]:
        raise request.refused("rows-none", " without rows")
    empty = [at for at, row in enumerate(rows, start=1) if all(cell is None for cell in row)]
    if empty and width > 1 and not request.row_by_row:
        raise request.refused("workbook-cells", f", with the empty row {empty[0]}")
    columns = zip(*(row[:width] for row in rows[1:]), strict=True)
    return with_whole_numbers(
        pl.DataFrame([_series(name, cells) for name, cells in zip(names, columns, strict=True)])
    )


def _series(name: str, cells: Sequence[Any]) -> pl.Series:
    """Convert cells of a workbook into a column: numbers to Float64, times to dates if all are at midnight, else text.

    Booleans, dates and texts keep their type, if the column has one type. Missing cells are null.
    """
    import polars as pl

    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        return pl.Series(name, cells, dtype=pl.Float64, strict=False)
    if kinds == {dt.datetime}:
        days = all(cell is None or cell.time() == dt.time() for cell in cells)
        return pl.Series(name, cells, dtype=pl.Datetime).cast(pl.Date if days else pl.Datetime)
    if len(kinds) == 1 and kinds <= {bool, str, dt.date}:
        return pl.Series(name, cells)
    texts = [None if cell is None else key_text(cell) for cell in cells]
    return pl.Series(name, texts, dtype=pl.String)
