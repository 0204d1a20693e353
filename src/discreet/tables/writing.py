"""Write tables: CSV with commas, Parquet, workbooks of Excel and files of SPSS, by the ending of the file's name."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from discreet.tables.foreign_files import Labels
from discreet.tables.keys import key_text
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl


def bytes_of(
    table: pl.DataFrame, suffix: str, *, statistics: bool = True, labels: Labels | None = None
) -> bytes:
    r"""Write a table as the bytes of a file.

    Linear in the cells; the bytes are in memory. Equal tables give equal bytes of a workbook.

    Parameters
    ----------
    table
        The table. For a workbook and SPSS one that passed
        :func:`~discreet.tables.validate.refuse_unwritable`.
    suffix
        A key of :data:`WRITABLE`, or anything else for Parquet.
    statistics
        Whether row groups of Parquet have statistics, which tell of the order of the rows.
    labels
        Labels of a file of SPSS: a column of coded values is written as codes, see :func:`_codes`.

    Raises
    ------
    InvalidProblemError
        For a cell that is too long for a workbook or a file of SPSS.

    Examples
    --------
    >>> import polars as pl
    >>> bytes_of(pl.DataFrame({"age": [30], "sex": ["F"]}), ".csv")
    b'age,sex\n30,F\n'
    """
    write = WRITABLE.get(suffix.lower(), _parquet)
    return write(table, statistics=statistics, labels=labels or Labels())


def _csv(table: pl.DataFrame, **_: object) -> bytes:
    return table.write_csv().encode()


def _parquet(table: pl.DataFrame, *, statistics: bool, **_: object) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, statistics=statistics)
    return buffer.getvalue()


def _workbook(table: pl.DataFrame, **_: object) -> bytes:
    """Return the bytes of a workbook of one sheet. Text is text: a cell that begins with an equals sign is no formula.

    Numbers have all their digits, of which openpyxl alone would write sixteen. Raises InvalidProblemError for a cell
    of more than 32,767 bytes.
    """
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    table = _plain(table)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("table")

    def cell_of(value: Any) -> Any:  # noqa: ANN401 - a cell of any kind
        is_long = type(value) in {int, float} and float(f"{value:.16g}") != value
        if not is_long and not (isinstance(value, str) and value.startswith("=")):
            return value
        cell = WriteOnlyCell(sheet, repr(value) if is_long else value)
        cell.data_type = "n" if is_long else "s"
        return cell

    sheet.append([cell_of(name) for name in table.columns])
    for row in table.iter_rows():
        sheet.append([cell_of(value) for value in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return _without_times(buffer)


def _without_times(book: io.BytesIO) -> bytes:
    """Return a workbook's bytes without the times at which it was written: equal tables give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(book) as dated, zipfile.ZipFile(buffer, "w") as packed:
        for name in dated.namelist():
            body = dated.read(name)
            if name == "docProps/core.xml":
                body = re.sub(rb"(<dcterms:[^>]*>)[^<]*", rb"\g<1>1980-01-01T00:00:00Z", body)
            packed.writestr(zipfile.ZipInfo(name), body, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _spss(table: pl.DataFrame, *, labels: Labels, **_: object) -> bytes:
    """Return the bytes of a file of SPSS, with the labels of columns and of coded values."""
    import pyreadstat

    table = _plain(table)
    coded = {}
    for name in table.columns:
        codes = _codes(table[name], labels.values.get(name, {}))
        if codes is not None:
            table, coded[name] = table.with_columns(codes[0]), codes[1]
    titles: dict[str, str | None] = {
        name: title for name, title in labels.columns.items() if name in table.columns
    }
    # The library writes to a path alone.
    with TemporaryDirectory(prefix="discreet-") as folder:
        path = Path(folder, "table.sav")
        pyreadstat.write_sav(
            table,
            str(path),
            column_labels=titles,
            variable_value_labels=coded,
            row_compress=True,
        )
        return path.read_bytes()


WRITABLE: dict[str, Callable[..., bytes]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".xlsx": _workbook,
    ".sav": _spss,
}
"""Ending of a name -> the function that writes such a file."""


def _plain(table: pl.DataFrame, *, max_cell_bytes: int = 32_767) -> pl.DataFrame:
    """Return a table as a workbook or a file of SPSS holds it: decimals as floats, NaN as missing, categories as text.

    Raises InvalidProblemError for text of more than `max_cell_bytes`, with the place of the column.
    """
    import polars as pl

    text = pl.selectors.by_dtype(pl.Null, pl.Categorical, pl.Enum)
    table = table.with_columns(
        text.cast(pl.String),
        pl.selectors.decimal().cast(pl.Float64),
        pl.selectors.float().fill_nan(None),
    )
    for place, name in enumerate(table.columns, start=1):
        if table.schema[name] != pl.String:
            continue
        longest: Any = table[name].str.len_bytes().max()
        if (longest or 0) > max_cell_bytes:
            raise refused("cell-too-long", "path", f"a longer cell in column {place}")
    return table


def _codes(
    column: pl.Series, labels: Mapping[float, str], *, max_label_bytes: int = 120
) -> tuple[pl.Series, dict[float, str]] | None:
    """Return a column of labels as codes, with the label of each code that occurs; ``None`` if it stays as it is.

    It stays if it is no text, has none of the labels, has one of more than `max_label_bytes`, or has a number that is
    the code of a label. A label has its own code, and the text of a number that has none is that number. Other texts,
    such as sets of labels, have codes above those of the labels, in the order of the text.

    Examples
    --------
    >>> import polars as pl
    >>> codes, labels = _codes(pl.Series("sex", ["F", "{F; M}", "9", None]), {1.0: "F", 2.0: "M"})
    >>> codes.to_list(), labels
    ([1.0, 10.0, 9.0, None], {1.0: 'F', 10.0: '{F; M}'})
    """
    import polars as pl

    if not labels or column.dtype != pl.String:
        return None
    known: dict[str, float] = {}
    for code, label in sorted(labels.items()):
        known.setdefault(label, code)
    texts = column.drop_nulls().unique().sort().to_list()
    numbers = {
        text: float(text)
        for text in texts
        if text not in known and _NUMBER.fullmatch(text) and key_text(float(text)) == text
    }
    # A number that has another label would be read as that.
    if not any(text in known for text in texts) or numbers.values() & labels.keys():
        return None
    first = int(max(*labels, *numbers.values())) + 1
    sets = [text for text in texts if text not in known and text not in numbers]
    codes = {**{text: known[text] for text in texts if text in known}}
    codes |= {text: float(first + at) for at, text in enumerate(sets)}
    if any(len(text.encode()) > max_label_bytes for text in codes):
        return None
    as_codes = column.replace_strict(codes | numbers, default=None, return_dtype=pl.Float64)
    return as_codes, dict(sorted((code, text) for text, code in codes.items()))


_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?")


def store(table: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet, without compression, for this process to read again."""
    table.write_parquet(path, compression="uncompressed")


def join_files(files: Sequence[Path], target: Path, columns: Sequence[str]) -> None:
    """Write files of :func:`bytes_of` one after the other into `target`, of its kind, ``.csv`` or else Parquet.

    `columns` are the names of the columns of every file, in order. One pass over all of them.
    """
    import polars as pl

    if target.suffix.lower() == ".csv":
        names = bytes_of(pl.DataFrame(schema=list(columns)), ".csv")
        with target.open("wb") as joined:
            joined.write(names)
            for path in files:
                with path.open("rb") as file:
                    file.seek(len(names))
                    shutil.copyfileobj(file, joined)
        return
    # Statistics of row groups would tell of the order of the rows.
    pl.scan_parquet(list(files), glob=False).sink_parquet(target, statistics=False)
