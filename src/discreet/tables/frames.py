"""Frames of any library that Narwhals knows, files scanned as such, and frames of the same kind back.

No message holds a value of a row. What a library says about a table that it cannot read may quote one, so its words are
not passed on. Rows are named by position.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from discreet.core import printed
from discreet.core.extras import install_command
from discreet.tables.cells import read_cells
from discreet.tables.columns import columns_at, plain_names
from discreet.tables.dialect import look
from discreet.tables.keys import check_types, key_text, with_plain_cells
from discreet.tables.options import ReadingOptions
from discreet.tables.parsing import UnquotedFile, scan
from discreet.tables.reading import PUBLIC_SUFFIXES, read_rows, read_whole
from discreet.tables.refusals import refused
from discreet.tables.sources import is_plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from discreet.core.errors import InvalidProblemError

    Table = nw.DataFrame[Any] | nw.LazyFrame[Any]

_FILES = (str, Path, UnquotedFile)

ROW = "discreet row"
"""Column of our own: the position of a row."""


def frame_of(
    given: Any,  # noqa: ANN401 - anything
    argument: str,
    expected: str = "a table or a path",
) -> Any:  # noqa: ANN401 - a frame of Narwhals, eager or lazy
    """Wrap a dataframe of any library that Narwhals knows, whose columns have different names that are text.

    Names of lazy frames are not looked at. Constant time for each column.

    Raises
    ------
    InvalidProblemError
        For what is no dataframe, and for other names, which Pandas allows: no name is repeated in the message.

    Examples
    --------
    >>> import polars as pl
    >>> frame_of(pl.DataFrame({"a": [1]}), "table").columns
    ['a']
    >>> frame_of([1], "table")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: table: expected a table or a path, got list
    """
    try:
        frame: Any = nw.from_native(given)
    except TypeError:
        raise refused("table-type", argument, type(given).__name__, expected=expected) from None
    except nw.exceptions.DuplicateError:
        raise refused("columns-repeated", argument, "one name for several columns") from None
    if isinstance(frame, nw.DataFrame):
        names: list[Any] = frame.columns
        for place, name in enumerate(names, start=1):
            if not isinstance(name, str) or "\0" in name:
                came = "a zero character" if isinstance(name, str) else type(name).__name__
                raise refused("columns-no-text", argument, f"{came} for column {place}")
    return frame


def open_table(
    given: Any,  # noqa: ANN401 - any table or path
    argument: str,
    wanted: Sequence[str],
    *,
    row_by_row: bool = False,
) -> Table:
    """Open a table lazily where it can be, with the columns that are wanted and the position of each row.

    The result is a frame of Narwhals with the columns `wanted` and the row's number from 0 in the column `ROW`; of a
    file or lazy frame nothing but the schema is read yet, unless the file must be read whole.

    Parameters
    ----------
    given
        A table of any library that Narwhals knows, or the path of a CSV or Parquet file.
    argument
        What the caller calls it.
    wanted
        The columns.
    row_by_row
        Whether odd rows of a CSV file are read instead of refused; see :func:`~discreet.tables.parsing.scan`.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read or is of another kind, something that is no table, or a missing column.
    """
    table: Any
    if isinstance(given, _FILES):
        table = _scan(given, argument, row_by_row=row_by_row)
    else:
        table = frame_of(given, argument)
        if isinstance(table, nw.LazyFrame) and table.implementation.is_polars():
            # Rows of lazy frames of Polars have an order, which Narwhals does not count.
            table = nw.from_native(table.to_native().with_row_index(ROW))
        else:
            table = _in_polars(collect(table, argument)).with_row_index(ROW)
    try:
        names = table.collect_schema().names()
    except Exception as error:  # noqa: BLE001 - each library has errors of its own
        raise _unreadable(error, argument) from None
    for name in wanted:
        if name not in names:
            raise refused(
                "column-missing",
                name,
                "none of this name",
                argument=argument,
                known=_known(given, names),
            )
    check_types(table, wanted)
    opened: Table = with_plain_cells(table.select(ROW, *wanted), wanted)
    return opened


def _in_polars(table: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Convert a table of Arrow, some of whose types Arrow cannot compute with, if Polars is there."""
    if not table.implementation.is_pyarrow() or find_spec("polars") is None:
        return table
    return nw.from_native(table.to_polars(), eager_only=True)


def _known(given: object, names: Sequence[str]) -> str:
    """Return the names of the columns; of a file their number alone, since its first line may be a row."""
    known = [name for name in names if name != ROW]
    if not isinstance(given, _FILES):
        return ", ".join(known)
    return f"{len(known)} name{'' if len(known) == 1 else 's'} in its first line"


def _scan(path: str | Path | UnquotedFile, argument: str, *, row_by_row: bool) -> nw.LazyFrame[Any]:
    """Scan a file lazily with the number of each row, from 0, in the column `ROW`; InvalidProblemError if unreadable.

    A file that cannot be scanned as it is, is read whole. Names lose blanks at their ends.
    """
    if not is_plain(str(path)):
        rows = read_whole(path, argument) if row_by_row else read_rows(str(path), argument)
        return nw.from_native(rows.lazy().with_row_index(ROW))
    mark = look(str(path), argument, PUBLIC_SUFFIXES, whole=False)
    try:
        table = scan(path, mark, row_index=ROW, row_by_row=row_by_row)
        return nw.from_native(table.rename(plain_names(table.collect_schema().names())))
    except Exception as error:  # noqa: BLE001 - each library has errors of its own
        raise _unreadable(error, argument) from None


def collect(table: Table, argument: str) -> nw.DataFrame[Any]:
    """Compute a lazy table, in a stream where its library can; return any other table as it is.

    Raises
    ------
    InvalidProblemError
        When the library cannot; the message has only the kind of its error.
    """
    if isinstance(table, nw.DataFrame):
        return table
    options: dict[str, Any] = {"engine": "streaming"} if table.implementation.is_polars() else {}
    try:
        return table.collect(**options)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - each library has errors of its own
        raise _unreadable(error, argument) from None


def is_lazy(table: Any) -> bool:  # noqa: ANN401 - anything
    """Return whether a table is a lazy or distributed frame.

    Examples
    --------
    >>> import polars as pl
    >>> is_lazy(pl.LazyFrame({"a": [1]})), is_lazy(pl.DataFrame({"a": [1]})), is_lazy({"a": [1]})
    (True, False, False)
    """
    try:
        return isinstance(nw.from_native(table), nw.LazyFrame)
    except (TypeError, nw.exceptions.DuplicateError):
        return False


def group_sizes(
    table: Any,  # noqa: ANN401 - a lazy frame of any library
    names: Sequence[str],
    argument: str,
) -> tuple[Any, NDArray[np.int64]]:
    """Group a lazy frame by columns `names` where it is.

    Return a frame of Polars of its groups, and int64 rows of each. Only the groups are collected. `argument` names
    the table in messages.

    Raises
    ------
    InvalidProblemError
        For a column that is not there, a table without rows, or one that its library cannot compute.

    Examples
    --------
    >>> import polars as pl
    >>> group_sizes(pl.LazyFrame({"a": [1, 1]}), ["a"], "table")[1].tolist()
    [2]
    """
    frame = nw.from_native(table)
    known = frame.collect_schema().names()
    for name in names:
        if name not in known:
            raise refused(
                "column-missing",
                name,
                "none of this name",
                argument=argument,
                known=f"which has {len(known)}",
            )
    counted = collect(frame.group_by(*names).agg(nw.len().alias(ROW)), argument).to_polars()
    if not counted.height:
        raise refused("rows-none", argument, "no rows")
    return counted.drop(ROW), counted[ROW].to_numpy().astype("int64")


def _unreadable(error: Exception, argument: str) -> InvalidProblemError:
    """Return the error for a frame whose library fails, without the words of that error."""
    if isinstance(error, ModuleNotFoundError):
        got = f"no {error.name or 'polars'}"
        return refused("polars-missing", argument, got, install=install_command("tables"))
    return refused("table-unreadable", argument, type(error).__name__)


def text_of(table: Table, column: str, shown: str) -> nw.Expr:
    """Return an expression for a column as text; what is missing is empty.

    `shown` names the column in messages.

    Raises
    ------
    InvalidProblemError
        For a column of another type than text and integers: 1 and 1.0 are one region, but two texts.
    """
    dtype = table.collect_schema()[column]
    if not (dtype.is_integer() or dtype in (nw.String, nw.Categorical, nw.Enum)):
        raise refused("region-type", shown, f"a column of {type(dtype).__name__}")
    return nw.col(column).cast(nw.String).fill_null("")


def rows_where(table: Table, condition: nw.Expr, argument: str, *more: str) -> nw.DataFrame[Any]:
    """Return the first rows that meet a condition.

    Their positions, from 0, in the column `ROW`, and the columns `more`. One row more than messages list is returned
    at most, in the order of the table. One pass.
    """
    matching = table.filter(condition).select(ROW, *more)
    if isinstance(matching, nw.LazyFrame):
        return collect(matching.sort(ROW).head(printed.MAX_LISTED + 1), argument)
    return matching.sort(ROW).head(printed.MAX_LISTED + 1)


def name_rows(rows: Iterable[int]) -> str:
    """Return positions of rows, given from 0, as text counted from 1 without the header; empty without rows.

    Only the first ones are listed.

    Examples
    --------
    >>> name_rows([0, 6])
    'rows 1, 7'
    """
    at = [row + 1 for row in rows]
    return f"rows {printed.first_of(at)}" if at else ""


def has_nested_cells(series: nw.Series[Any]) -> bool:
    """Return whether cells are lists or records, by the type of the column or, for objects, by their values.

    An object counts as nested if it cannot be hashed. Linear for objects.
    """
    if series.dtype != nw.Object:
        return series.dtype.is_nested()
    try:
        set(series.to_list())
    except TypeError:
        return True
    return False


def refuse_nested_cells(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    names: Sequence[str],
    argument: str,
) -> None:
    """Raise for columns of lists or of records among `names`, the compared columns; dropped columns may hold anything.

    Raises
    ------
    InvalidProblemError
        With their places.
    """
    frame = nw.from_native(table, eager_only=True)
    nested = [name for name in names if has_nested_cells(frame[name])]
    if nested:
        raise refused("cells-nested", argument, columns_at(nested, frame.columns))


def singled_out(table: Any, name: str) -> int:  # noqa: ANN401 - a dataframe of any library
    """Return the number of rows whose value in column `name` no other row has; missing values do not count. Linear.

    Examples
    --------
    >>> import polars as pl
    >>> singled_out(pl.DataFrame({"ill": ["flu", "flu", "gout", None]}), "ill")
    1
    """
    series = nw.from_native(table, eager_only=True)[name]
    return int((series.is_unique() & ~series.is_null()).sum())


def names_of(table: Any) -> list[str]:  # noqa: ANN401 - a dataframe of any library
    """Return the names of the columns."""
    return list(nw.from_native(table, eager_only=True).columns)


def opened(table: Any, argument: str, options: ReadingOptions | None = None) -> Any:  # noqa: ANN401 - as above
    """Read a file as a frame of Polars, its cells as they stand there; return a frame as it is.

    Relations of DuckDB and lazy frames are computed, a frame with reading options is read anew as one of Polars, and
    mixed columns of pandas become text. Raises InvalidProblemError for anything else, or a file that cannot be read.
    """
    if isinstance(table, str | os.PathLike):
        return read_rows(os.fspath(table), argument, options=options)
    frame = frame_of(table, argument, "a dataframe, or the path of a file")
    if isinstance(frame, nw.LazyFrame):
        return collect(frame, argument).to_polars()
    if options is not None and options != ReadingOptions():
        return read_cells(frame.to_polars(), options)
    return _of_pandas(table, frame) if frame.implementation.is_pandas() else table


def _of_pandas(table: Any, frame: Any) -> Any:  # noqa: ANN401 - a dataframe of pandas, and as Narwhals sees it
    """Return the table with periods, and columns of numbers with text among them, as text, as a file has them.

    Columns of other objects stay as they are. One pass over each column of objects.
    """
    texts = {}
    for name in frame.columns:
        if str(table[name].dtype).startswith("period"):
            texts[name] = table[name].astype("str").where(table[name].notna(), None)
        elif frame[name].dtype == nw.Object:
            kinds = {type(cell) for cell in table[name] if not _is_missing(cell)}
            if str in kinds and kinds <= {str, int, float, bool}:
                texts[name] = table[name].map(
                    lambda cell: None if _is_missing(cell) else key_text(cell)
                )
    return (
        table.assign(**{name: cells.astype("object") for name, cells in texts.items()})
        if texts
        else table
    )


def _is_missing(cell: object) -> bool:
    return cell is None or type(cell).__name__ in {"NAType", "NaTType"} or cell != cell  # noqa: PLR0124 - NaN alone


def left_out(table: Any, names: Sequence[str]) -> Any:  # noqa: ANN401 - as above
    """Return a new dataframe without some columns, or the same one if `names` is empty."""
    return nw.from_native(table, eager_only=True).drop(list(names)).to_native() if names else table


def rebuilt(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    texts: Mapping[str, Sequence[str]],
    rows: NDArray[np.int64],
    which: NDArray[np.signedinteger],
) -> Any:  # noqa: ANN401 - the same kind
    """Build a frame of the same library and with the same columns anew from some of its rows.

    Index, metadata and dictionaries of the original are dropped, since they tell of rows that are left out.

    Every column of the result has ``len(rows)`` cells, and `which` are indices into the texts. Linear in the result.

    Parameters
    ----------
    table
        The original.
    texts
        Name -> cells of text, for columns that are replaced.
    rows
        Rows that the other columns are taken from, in order.
    which
        ``(len(rows),)`` which of the cells of text each row has.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [30, 40, 50], "ill": [True, False, True]})
    >>> rebuilt(table, {"age": ["[30, 50]"]}, np.array([2, 0]), np.array([0, 0])).rows()
    [('[30, 50]', True), ('[30, 50]', True)]
    """
    frame = nw.from_native(table, eager_only=True)
    backend: Any = frame.implementation
    made: dict[str, nw.Series[Any]] = {}
    packed = []
    for name in frame.columns:
        if name in texts:
            # Text is made once for each class, and not for each row.
            cells = nw.new_series(name, texts[name], nw.String, backend=backend)
            made[name] = nw.maybe_reset_index(cells[which])
            continue
        column = frame[name]
        if column.dtype == nw.Categorical:
            # A dictionary tells of values in other rows, so it is made anew below.
            packed.append(name)
            column = column.cast(nw.String)
        made[name] = column[rows.tolist()]
    # A column of Narwhals would go through PyArrow, which need not be there.
    native = {name: column.to_native() for name, column in made.items()}
    out = nw.maybe_reset_index(nw.from_dict(native, backend=backend))
    return out.with_columns(*(nw.col(name).cast(nw.Categorical) for name in packed)).to_native()


def records_of(table: Any, argument: str) -> list[dict[str, Any]]:  # noqa: ANN401 - any table
    """Return the rows of a public table as mappings.

    Keys are the names of columns, those of a record as they are; a feature has ``"id"``, its properties, and
    ``"geometry"``. Linear in the cells, all in memory.

    Parameters
    ----------
    table
        Columns by name, a dataframe, records, or features as in GeoJSON, whose geometry becomes a list of points.
        The named levels of a dataframe's index count as columns, as u, v and key of the edges of OSMnx.
    argument
        What the caller calls it.

    Raises
    ------
    InvalidProblemError
        For something else, or columns of different lengths.

    Examples
    --------
    >>> records_of({"u": [1], "v": [2]}, "edges") == records_of([{"u": 1, "v": 2}], "edges")
    True
    """
    levels = [
        name for name in getattr(getattr(table, "index", None), "names", ()) if name is not None
    ]
    if levels:
        table = table.reset_index(level=[name for name in levels if name not in table.columns])
    features = getattr(table, "__geo_interface__", table)
    if isinstance(features, Mapping) and features.get("type") == "FeatureCollection":
        return [_feature(feature) for feature in features["features"]]
    if isinstance(table, Mapping) or hasattr(table, "columns"):
        names = [str(name) for name in (table if isinstance(table, Mapping) else table.columns)]
        columns = {name: list(table[name]) for name in names}
        if len({len(column) for column in columns.values()}) != 1:
            raise refused("records-lengths", argument, "different lengths")
        return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        return [dict(row) for row in table]
    raise refused("records-type", argument, type(table).__name__)


def _feature(feature: Mapping[str, Any]) -> dict[str, Any]:
    """Return a GeoJSON feature as a row: id, properties, and the course of a point or line as pairs, else ``None``."""
    geometry = feature.get("geometry") or {}
    coordinates: Any = geometry.get("coordinates")
    course: list[tuple[float, float]] | None = None
    if geometry.get("type") == "Point":
        course = [(float(coordinates[0]), float(coordinates[1]))]
    if geometry.get("type") == "LineString":
        course = [(float(point[0]), float(point[1])) for point in coordinates]
    return {"id": feature.get("id"), **(feature.get("properties") or {}), "geometry": course}
