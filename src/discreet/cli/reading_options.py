"""Options that say how a table is read and recoded, for all commands that read rows of persons."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from discreet.cli.calls import TypedOption
from discreet.cli.columns import COLUMNS

__all__ = [
    "READING",
    "SHOWN",
    "Bins",
    "Bottom",
    "Decimal",
    "Delimiter",
    "Encoding",
    "Missing",
    "Orders",
    "Prefix",
    "Rounded",
    "Sheet",
    "Top",
]

READING = "Reading"

_HELP: dict[str, tuple[str, str, str]] = {
    "encoding": (
        "NAME",
        READING,
        "Encoding of text, such as cp1252, iso-8859-2, cp1251 or utf-16. Default: UTF-8.",
    ),
    "delimiter": ("MARK", READING, "Separator of cells. Default: recognized."),
    "decimal": (
        "MARK",
        READING,
        "Decimal mark of numbers: , or . The other one separates thousands.",
    ),
    "sheet": ("NAME", READING, "Sheet of a workbook. Default: the first one."),
    "missing": (
        "MARK,...",
        READING,
        "Marks of missing values, such as NA,.,-9, and COLUMN=999 for one column.",
    ),
    "bins": (
        "NAME=CUT,...",
        COLUMNS,
        "Cut points: age=18,40,65. The column is recoded before anything else.",
    ),
    "top": ("NAME=NUMBER", COLUMNS, "Top code: age=85 stands for 85 or more."),
    "bottom": ("NAME=NUMBER", COLUMNS, "Bottom code: income=0 stands for 0 or less."),
    "round": ("NAME=WIDTH", COLUMNS, "Intervals between multiples of WIDTH: income=1000."),
    "prefix": ("NAME=LENGTH", COLUMNS, "Prefix that codes are cut to: postcode=3."),
    "order": (
        "NAME=LOW,...,HIGH",
        COLUMNS,
        "Order of the values of a column of text, for ordered-closeness: severity=none,mild,severe.",
    ),
}


def _option(name: str) -> Any:  # noqa: ANN401 - what Typer makes is of no public type
    metavar, panel, help_ = _HELP[name]
    return typer.Option(f"--{name}", metavar=metavar, help=help_, rich_help_panel=panel)


Encoding = Annotated[str | None, _option("encoding")]
Delimiter = Annotated[str | None, _option("delimiter")]
Decimal = Annotated[str | None, _option("decimal")]
Sheet = Annotated[str | None, _option("sheet")]
Missing = Annotated[list[str] | None, _option("missing")]
Bins = Annotated[list[str] | None, _option("bins")]
Top = Annotated[list[str] | None, _option("top")]
Bottom = Annotated[list[str] | None, _option("bottom")]
Rounded = Annotated[list[str] | None, _option("round")]
Prefix = Annotated[list[str] | None, _option("prefix")]
Orders = Annotated[list[str] | None, _option("order")]

SHOWN = {
    **{
        name: TypedOption(_HELP[name][0], READING)
        for name in ("encoding", "delimiter", "decimal", "sheet")
    },
    "missing": TypedOption(_HELP["missing"][0], READING, repeated=True),
    **{
        name: TypedOption(_HELP[name][0], COLUMNS, repeated=True)
        for name in ("bins", "top", "bottom")
    },
    "rounded": TypedOption("NAME=WIDTH", COLUMNS, flag="--round", repeated=True),
    "prefix": TypedOption("NAME=LENGTH", COLUMNS, repeated=True),
}
"""Arguments of a public call -> how they are typed."""
