"""Options about how a table is read and recoded, for every entrance that reads rows of persons."""

from __future__ import annotations

from discreet.core.option_groups import OptionGroup, option
from discreet.tables.options import ReadingOptions
from discreet.tables.recoding import Recoding

COLUMNS = "Columns"
"""Heading of the options about columns."""

READING = "Reading"
"""Heading of the options about the file."""

ENCODINGS = {
    "": "recognize it",
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "cp1252": "Windows-1252 (Western)",
    "iso-8859-2": "ISO 8859-2 (Central European)",
    "cp1251": "Windows-1251 (Cyrillic)",
}
"""Encodings that a form offers, with a title of each."""

DELIMITERS = {"": "recognize it", ",": "comma", ";": "semicolon", "tab": "tab", "|": "bar"}
"""Separators of cells that a form offers, with a title of each."""


class FileReadingOptions(OptionGroup, panel=READING):
    """How a file is read."""

    encoding: str | None = option(
        "Encoding of text, such as cp1252, iso-8859-2, cp1251 or utf-16. Default: UTF-8.",
        "NAME",
        choices=ENCODINGS,
    )
    delimiter: str | None = option(
        "Separator of cells. Default: recognized.", "MARK", choices=DELIMITERS
    )
    decimal: str | None = option(
        "Decimal mark of numbers: , or . The other one separates thousands.",
        "MARK",
        choices={"": "as programs write numbers", ",": "comma", ".": "point"},
    )
    sheet: str | None = option("Sheet of a workbook. Default: the first one.", "NAME")
    missing: tuple[str, ...] = option(
        "Marks of missing values, such as NA,.,-9, and COLUMN=999 for one column.",
        "MARK,...",
        repeated=True,
    )

    @property
    def reading(self) -> ReadingOptions:
        """The options as the library takes them."""
        return ReadingOptions.of(**self.of(FileReadingOptions))


class QuotesOption(OptionGroup, panel="The data"):
    """How a private CSV file quotes."""

    quotes: str = option(
        "How the private CSV file quotes: by RFC 4180, or not at all, so that a quote is a letter and no file "
        "is refused for one. Public.",
        "doubled|none",
        default="doubled",
        choices={
            "doubled": "stand around a cell, doubled within",
            "none": "are letters: the file has no quoting",
        },
    )


class CodingOptions(OptionGroup, panel=COLUMNS):
    """How numbers are coded before anything else."""

    bins: tuple[str, ...] = option(
        "Cut points: age=18,40,65. The column is recoded before anything else.",
        "NAME=CUT,...",
        repeated=True,
    )
    top: tuple[str, ...] = option(
        "Top code: age=85 stands for 85 or more.", "NAME=NUMBER", repeated=True
    )
    bottom: tuple[str, ...] = option(
        "Bottom code: income=0 stands for 0 or less.", "NAME=NUMBER", repeated=True
    )

    @property
    def recoding(self) -> Recoding:
        """The options as the library takes them."""
        return Recoding.of(**self.of(CodingOptions))


class RecodingOptions(CodingOptions, panel=COLUMNS):
    """How columns are recoded where nothing else generalizes them."""

    rounded: tuple[str, ...] = option(
        "Intervals between multiples of WIDTH: income=1000.",
        "NAME=WIDTH",
        "--round",
        repeated=True,
    )
    prefix: tuple[str, ...] = option(
        "Prefix that codes are cut to: postcode=3.", "NAME=LENGTH", repeated=True
    )

    @property
    def recoding(self) -> Recoding:
        """The options as the library takes them."""
        return Recoding.of(**self.of(RecodingOptions))
