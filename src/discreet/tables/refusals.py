"""All refusals of tables: a public code, which stays, and the sentence that every entrance prints with it.

``InvalidProblemError.code`` has the code, and so have errors of ``--json`` and the bodies of HTTP 400.
"""

from __future__ import annotations

from typing import Final

from discreet.core.errors import InvalidProblemError

EXPECTED: Final = {
    "array-format": "a .npy file of numbers, as numpy.save writes it",
    "array-no-numbers": "a table of numbers alone, one row for each point",
    "array-no-words": "at least one row below the line of names, one for each word",
    "array-row": "{numbers} numbers in each row{where}",
    "array-suffix": "a file that ends in .npy or .csv",
    "array-too-long": "at most {most} rows, one for each secret; leave out rows",
    "cell-too-long": "cells of at most 32,767 bytes in a workbook or a file of SPSS; let the output end in .csv or "
    ".parquet",
    "cells-nested": "one value in each cell; unpack or drop the nested columns",
    "column-missing": "a column of {argument} ({known})",
    "column-not-there": "a column of the table ({known})",
    "column-unknown": "columns of the table{which}",
    "columns-no-text": "names of columns that are text; rename them, as with columns.astype(str)",
    "columns-repeated": "columns of different names",
    "csv-dates": "dates from year 1 to 9999 in a CSV file; correct the row, let --output end in .parquet, or convert "
    "or drop the column",
    "csv-none": "a CSV file, as its name says",
    "csv-type": "columns that a CSV file can hold; let --output end in .parquet, or convert or drop the column",
    "decimal-mark": "a point or a comma",
    "delimiter": "one character that separates cells, such as a comma, a semicolon or a tab",
    "dates-range": "dates in the years 1 to 9999{zones} and times within a day; correct or drop such columns",
    "encoding-mixed": "text in one encoding: leave the encoding out if it is UTF-8, or correct these lines; if each "
    "line is right in {encoding}, run `iconv -f {encoding} -t UTF-8 FILE > NEW.csv`",
    "encoding-other": "text in the chosen encoding; choose another encoding, or save the table as CSV in UTF-8",
    "encoding-word": "the name of a text encoding, such as utf-8, cp1252, iso-8859-2, cp1251 or utf-16",
    "encoding": "text in UTF-8: name its encoding, such as --encoding cp1252, save it as “CSV UTF-8”, or run "
    "`iconv -f {encoding} -t UTF-8 FILE > NEW.csv`",
    "file-damaged": "a complete file that its program can open; copy or write the file again",
    "file-empty": "a table: a first line with the names of the columns, and rows below it",
    "file-missing": "the path of a file that exists",
    "file-name": "a file that ends in {suffixes}; save a spreadsheet as “CSV UTF-8” first",
    "file-holds": "values that {kind} can hold: {form}; let the output end in .csv or .parquet, or {cure}",
    "file-unreadable": "a regular file that you have permission to read",
    "folder-hive": "a folder of folders named column=value, whose files have the same columns",
    "free-text": "values that persons share; leave {name} out, or put its values into groups by a taxonomy (or into "
    "one set, as categorical)",
    "half-numbers": "numbers or dates in all cells of {name}: name its marks of missing values (--missing), put "
    "values above a limit into one group (--top {name}=90), or state its kind (--categorical, --taxonomy, or --prefix "
    "for codes such as ICD)",
    "identifiers": "{drop} or {keep} to name each column that may single people out{shown}",
    "integers-too-long": "whole numbers of at most 64 bits in published columns; convert them to text, or drop them",
    "key-type": "a column of text, numbers, dates or Booleans",
    "intervals-of-text": "numbers in all cells of a column with widths; correct the other cells, or give no widths",
    "keys-equal": "labels that differ as numbers, since 1 and 1.0 are one value; rename one",
    "kind-other": "{kind}, as its name says; rename it by what it is",
    "label-missing": "a name in each row of column {name}; fill the empty cells, or delete their rows",
    "label-type": "text or numbers in column {name}; convert the column",
    "line-ends": "lines that end in a line feed; open the file in an editor, and save it with line ends LF or CRLF",
    "list-too-long": "at most 5,000 values in a list; {instead}",
    "matrix-empty": "a matrix of numbers with at least one row",
    "matrix-row": "a matrix of numbers, {width} in each row",
    "memory-exceeded": "a table that takes {most} of memory or less, half of what is free; make room, allow the "
    "process more, or leave out rows and columns that are not needed",
    "names-none": "a table whose first line holds a name for each column; write the names there",
    "names-repeated": "different names in the first line; rename one of the equal names",
    "names-too-long": "a first line of names that is shorter than a mebibyte; check that the file is a table",
    "number-commas": "numbers such as 1.5 or 1000; name the decimal mark of {name} (--decimal), or state that "
    "{name} is categorical, without order",
    "number-units": "numbers without a unit in {name}; remove the unit from its cells, or state that {name} is "
    "categorical, without order",
    "numbers-as-text": "numbers such as 1.5 in column {name}; correct the cells, or name another column",
    "numbers-not-finite": "finite numbers in column {name}; correct the row, or delete it",
    "options-of-files": "one file or a dataframe in memory, for options of reading or recoding; load the source first",
    "outline-empty": "a nested list: each group on a line of its own, and its values on indented lines below it",
    "outline-indented": "a first line without spaces at its start",
    "output-name": "a file that ends in {suffixes}",
    "packed-damaged": "a complete compressed file; copy or compress the file again",
    "packed-none": "a compressed file, as its name says; if the file is plain text, remove {suffix} from its name",
    "parquet-damaged": "a complete Parquet file of numbers, text, dates and truth values; copy or write the file "
    "again, or save it as CSV",
    "parquet-none": "a Parquet file, as its name says; if the file is text, let its name end in .csv",
    "polars-missing": "the packages that tables need: {install}",
    "quotes": "a CSV file that can be read; put a cell that holds a quote between quotes and double the quote, or "
    "state that the file has no quoting (quotes none)",
    "quotes-word": "doubled (as in RFC 4180), or none for a file without quoting",
    "reader-died": "a table that can be read; write the file again with the program that made it",
    "reader-late": "a table that can be read within minutes; allow the process more memory, or divide the file",
    "reader-memory": "enough memory to start the process that reads tables; allow the process more memory",
    "reader-process": "permission to start one more process; end other processes, or raise the limit",
    "records-lengths": "columns of equal length",
    "records-type": "a mapping of columns, a list of records, or a GeoJSON feature collection",
    "recoding": "{form}",
    "region-type": "a column of text or integers; convert the column",
    "roles-missing": "a role for each column: {drop}, {keep}, {quasi} or {sensitive} NAME, or {unassigned} drop for "
    "the rest{shown}",
    "roles-none-left": "at least one column that is not dropped",
    "roles-two": "one role for each column; remove {name} from {first} or from {second}",
    "rows-none": "a table with rows",
    "rows-ragged": "as many cells in each row as in the first line, with {marks} between them; correct the row, or put "
    "a cell with such a mark between quotes, and close each quote",
    "rows-refused": "rows that are counted without a change (refuse_rows); correct them, or leave refuse_rows out",
    "sheet-missing": "the name of a sheet of the workbook ({known})",
    "table-too-large": "{expected}",
    "table-type": "{expected}",
    "table-unreadable": "a table that its library can read; write it again, or pass a path or another dataframe",
    "taxonomy-empty": "a taxonomy with a row for each value",
    "taxonomy-format": "a value and then its more general labels on each line, separated by commas",
    "taxonomy-list": "a list of values, such as ['FR', 'DE']",
    "taxonomy-nothing-below": "at least one value below each label; add values, or remove the label",
    "taxonomy-repeated": "each value once; remove the second row of the value",
    "taxonomy-row": "{width} entries in each row, as in the first row",
    "taxonomy-two-above": "the same label above a label in every row; correct the row",
    "text-encoding": "text in UTF-8; save the file as “CSV UTF-8”",
    "text-unreadable": "a CSV file that exists and that you have permission to read",
    "unassigned-word": "{expected}",
    "widths-multiples": "widths that each are a multiple of the width before, such as 10, 50",
    "widths-positive": "positive widths of intervals, such as 10, 50",
    "workbook-cells": "a sheet with one value in each cell and one row for each record: paste values over formulas, "
    "unmerge cells and delete empty rows, or save the sheet as “CSV UTF-8”",
    "zero-bytes": "text in UTF-8, without zero bytes; if the file is text in UTF-16, save it as “CSV UTF-8”, or "
    "run `iconv -f UTF-16LE -t UTF-8 FILE > NEW.csv`",
}
"""Code -> what was expected; words between braces follow from the table and the names of its options."""

WARNINGS: Final = {
    "missing-read": "{cells} of {name} {says} {marks} {verb} read as missing",
    "missing-unread": "{cells} of {name} say {marks}, which counts as a value; --missing makes it count as missing",
    "persons-repeat": "{column} repeats in {rows}: if it identifies persons, state so (--person), and persons are "
    "counted, not rows",
    "rows-left-out": "rows of {table} that were left out or mapped: {listed}",
    "singled-out": "{column} is published as it is, and {rows}: anyone who knows such a value finds the row",
}
"""Code -> warning for the curator, which refuses nothing."""


def warning(code: str, **words: object) -> str:
    """Return a sentence of :data:`WARNINGS`, followed by its code.

    Examples
    --------
    >>> warning("rows-left-out", table="people", listed="3 without a region")
    'rows of people that were left out or mapped: 3 without a region [rows-left-out]'
    """
    return f"{WARNINGS[code].format(**words)} [{code}]"


def refused(code: str, field: str, got: object, **words: object) -> InvalidProblemError:
    """Return the refusal of a code.

    Parameters
    ----------
    code
        Key of :data:`EXPECTED`.
    field
        The argument or column that is wrong, as the caller names it.
    got
        What came, without a private value.
    words
        Words of the sentence; those that it does not need are left out.

    Examples
    --------
    >>> error = refused("rows-none", "table", "a.csv without rows")
    >>> error.code, str(error)
    ('rows-none', 'table: expected a table with rows, got a.csv without rows')
    """
    return InvalidProblemError(field, EXPECTED[code].format(**words), got, code=code)
