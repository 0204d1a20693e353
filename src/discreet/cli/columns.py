"""Options that say what the columns of a table are, for all commands that read microdata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import PROMISED
from discreet.cli.output import warn
from discreet.core import printed
from discreet.tables.columns import columns_at
from discreet.tables.refusals import warning

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

    from discreet.tables.roles import AssignedRoles

__all__ = [
    "COLUMNS",
    "Categoricals",
    "DateOption",
    "Drop",
    "Keep",
    "Numerics",
    "PrefixOption",
    "Quasi",
    "RoundOption",
    "Sensitive",
    "ShowColumns",
    "Taxonomies",
    "Unassigned",
    "warn_of_kept",
]

COLUMNS = "Columns"

Quasi = Annotated[
    list[str],
    typer.Option(
        metavar="A,B,...",
        help="Quasi-identifiers: columns that an attacker may know of a person.",
        rich_help_panel=PROMISED,
    ),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,...",
        help="Sensitive attributes: columns that are published as they are; l and t of each are told.",
        rich_help_panel=PROMISED,
    ),
]
Taxonomies = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE",
        help="A taxonomy in ARX's column format: each value, then what stands for it level by level. Again for each.",
        rich_help_panel=COLUMNS,
    ),
]
Numerics = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,...",
        help="Columns to publish as intervals; columns of numbers are by default.",
        rich_help_panel=COLUMNS,
    ),
]
Categoricals = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,...", help="Columns to publish as sets of values.", rich_help_panel=COLUMNS
    ),
]

Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,...",
        help="Columns that are published as they are, though nothing protects them.",
        rich_help_panel=PROMISED,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,...",
        help="Columns that are left out, such as names and numbers of persons.",
        rich_help_panel=PROMISED,
    ),
]
Unassigned = Annotated[
    str | None,
    typer.Option(
        metavar="keep|drop",
        help="The role of columns that are in none of these options. Default: such columns are refused. What looks "
        "like an identifier is kept only by --keep.",
        rich_help_panel=PROMISED,
    ),
]
PrefixOption = Annotated[
    list[str] | None,
    typer.Option(
        "--prefix",
        metavar="A,B,...",
        help="Hierarchical codes to publish by their first characters: postal codes, ICD. NAME=3,2 for these lengths.",
        rich_help_panel=COLUMNS,
    ),
]
DateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--date",
        metavar="NAME=FORMAT",
        help="How dates are written, such as DD/MM/YYYY; needed where day and month cannot be told apart. "
        "NAME=FORMAT:year publishes nothing finer than years.",
        rich_help_panel=COLUMNS,
    ),
]
RoundOption = Annotated[
    list[str] | None,
    typer.Option(
        "--round",
        metavar="NAME=STEP",
        help="Numbers to publish as intervals between multiples of STEP, or of each of STEP,STEP,...: age=5,10,20.",
        rich_help_panel=COLUMNS,
    ),
]

ShowColumns = Annotated[
    bool,
    typer.Option(
        "--show-columns",
        help="Name all columns in messages. Without a line of names they would be cells of a row.",
        rich_help_panel=COLUMNS,
    ),
]


def warn_of_kept(
    table: pl.DataFrame,
    roles: AssignedRoles,
    typed: Collection[str],
    *,
    show: bool,
    quiet: bool,
) -> None:
    """Say how many rows the columns that are published as they are single out; only typed names are repeated."""
    from discreet.tables.frames import singled_out

    for name in (*roles.keep, *roles.sensitive):
        alone = singled_out(table, name)
        if alone:
            told = columns_at([name], table.columns, show=show or name in typed)
            of, has = printed.count(table.height), "has" if alone == 1 else "have"
            rows = f"{printed.count(alone)} of {of} rows {has} a value there that no other row has"
            warn(warning("singled-out", column=told, rows=rows), quiet=quiet)
