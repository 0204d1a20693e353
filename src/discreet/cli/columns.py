"""Options about the columns of microdata, for all commands that read it: roles, demands, and how cells are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.cli.options import PROMISED, names
from discreet.cli.output import warn
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import REQUIRED, Option, OptionGroup, option
from discreet.tables.columns import columns_at
from discreet.tables.option_groups import COLUMNS, READING
from discreet.tables.refusals import warning

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

    from discreet.tables.roles import AssignedRoles

__all__ = ["SHOWN", "DemandOptions", "Kinds", "RoleOptions", "StatedKinds", "warn_of_kept"]


class RoleOptions(OptionGroup, panel=PROMISED):
    """The role of each column."""

    quasi: tuple[str, ...] = names(
        "Quasi-identifiers: columns that an attacker may know of a person.", default=REQUIRED
    )
    sensitive: tuple[str, ...] = names(
        "Sensitive attributes: columns that are published as they are; l and t of each are printed."
    )
    keep: tuple[str, ...] = names(
        "Columns that are published as they are, though nothing protects them."
    )
    drop: tuple[str, ...] = names(
        "Columns that are left out, such as names and numbers of persons."
    )
    unassigned: str | None = option(
        "The role of columns that are in none of these options. Default: such columns are refused. What looks "
        "like an identifier is kept only by --keep.",
        "keep|drop",
    )


class DemandOptions(OptionGroup, panel=PROMISED):
    """What each class must hold in a sensitive column."""

    l_diversity: int | None = option(
        "Short for --require NAME=distinct:L in each column of --sensitive.", "L"
    )
    t_closeness: str | None = option(
        "Short for --require NAME=closeness:T: the largest distance of a class's values from the table's.",
        "T",
    )
    alpha: str | None = option(
        "Short for --require NAME=alpha:SHARE: the largest share of a class that one value may have.",
        "SHARE",
    )
    require: tuple[str, ...] = option(
        "What each class must hold in a column: distinct:L, entropy:L, recursive:C,L, closeness:T, "
        "ordered-closeness:T or alpha:A. Again for each.",
        "NAME=MODEL",
        repeated=True,
    )

    def demanded(self, sensitive: Collection[str]) -> tuple[str, ...]:
        """Return all demands as ``--require`` takes them, the short forms for each sensitive column first.

        Raises
        ------
        InvalidProblemError
            When something is demanded of sensitive columns and there are none.

        Examples
        --------
        >>> DemandOptions(l_diversity=3, alpha="1/2").demanded(["disease"])
        ('disease=distinct:3', 'disease=alpha:1/2')
        """
        short = {"distinct": self.l_diversity, "closeness": self.t_closeness, "alpha": self.alpha}
        models = [f"{kind}:{value}" for kind, value in short.items() if value is not None]
        if models and not sensitive:
            expected = "columns, with --l-diversity, --t-closeness or --alpha"
            raise InvalidProblemError("--sensitive", expected, "none")
        return (*(f"{name}={model}" for name in sensitive for model in models), *self.require)


class StatedKinds(OptionGroup, panel=COLUMNS):
    """The kind of columns of a table that is judged."""

    taxonomy: tuple[str, ...] = option(
        "A taxonomy in ARX's column format: each value, then what stands for it level by level. Again for each.",
        "NAME=FILE",
        repeated=True,
    )
    numeric: tuple[str, ...] = names(
        "Columns to publish as intervals; columns of numbers are by default."
    )
    categorical: tuple[str, ...] = names("Columns to publish as sets of values.")


class Kinds(StatedKinds, panel=COLUMNS):
    """The kind of columns of a table that is published."""

    prefix: tuple[str, ...] = option(
        "Hierarchical codes to publish by their first characters: postal codes, ICD. NAME=3,2 for these lengths.",
        "A,B,...",
        repeated=True,
    )
    date: tuple[str, ...] = option(
        "How dates are written, such as DD/MM/YYYY; needed where day and month cannot be told apart. "
        "NAME=FORMAT:year publishes nothing finer than years.",
        "NAME=FORMAT",
        repeated=True,
    )
    rounded: tuple[str, ...] = option(
        "Numbers to publish as intervals between multiples of STEP, or of each of STEP,STEP,...: age=5,10,20.",
        "NAME=STEP",
        "--round",
        repeated=True,
    )
    weight: tuple[str, ...] = option(
        "What a wholly generalized cell costs. Default: 1.", "NAME=W", repeated=True
    )
    bounds: tuple[str, ...] = option(
        "Range of a numeric column. Default: that of the table.", "NAME=LOW:HIGH", repeated=True
    )
    show_columns: bool = option(
        "Name all columns in messages. Without a line of names they would be cells of a row.",
        default=False,
    )


SHOWN = {
    **{name: Option("MARK", READING) for name in ("delimiter", "decimal")},
    **{name: Option("NAME", READING) for name in ("encoding", "sheet")},
    "missing": Option("MARK,...", READING, repeated=True),
    "bins": Option("NAME=CUT,...", COLUMNS, repeated=True),
    **{name: Option("NAME=NUMBER", COLUMNS, repeated=True) for name in ("top", "bottom")},
    "rounded": Option("NAME=WIDTH", COLUMNS, flags=("--round",), repeated=True),
    "prefix": Option("NAME=LENGTH", COLUMNS, repeated=True),
    **{name: Option("COLUMN", PROMISED) for name in ("person", "weights")},
}
"""Argument of a public call -> how it is typed."""


def warn_of_kept(
    table: pl.DataFrame,
    roles: AssignedRoles,
    typed: Collection[str],
    *,
    show: bool,
    quiet: bool,
) -> None:
    """Print a warning of rows that columns published unchanged single out; only `typed` names are repeated.

    A pass over each such column; with `show` every column may be named.
    """
    from discreet.tables.frames import singled_out

    for name in (*roles.keep, *roles.sensitive):
        alone = singled_out(table, name)
        if alone:
            column = columns_at([name], table.columns, show=show or name in typed)
            of, has = printed.count(table.height), "has" if alone == 1 else "have"
            rows = f"{printed.count(alone)} of {of} rows {has} a value there that no other row has"
            warn(warning("singled-out", column=column, rows=rows), quiet=quiet)
