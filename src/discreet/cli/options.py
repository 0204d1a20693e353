"""Groups of options that several commands share: each is stated here once, and the record of a command inherits it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.option_groups import OptionGroup, argument, option
from discreet.tables.options import split_names

if TYPE_CHECKING:
    from discreet.core.method import Methods

PROMISED = "What is promised"
"""Panel of the options about the guarantee."""

HOW = "How"
"""Panel of the options about the work."""


def names_of(typed: Any) -> tuple[str, ...]:  # noqa: ANN401 - a text, or the texts of an option that was repeated
    """Return the names of an option: split at commas, quoted as in CSV, of all its repetitions; empty for None.

    Examples
    --------
    >>> names_of(["age,sex", "zip"]), names_of("age")
    (('age', 'sex', 'zip'), ('age',))
    """
    texts = [typed] if isinstance(typed, str) else list(typed or ())
    return tuple(name for text in texts for name in split_names(text))


def names(help: str, **more: Any) -> Any:  # noqa: A002, ANN401 - as of `option`
    """Return the field of an option that lists names of columns."""
    return option(help, "A,B,...", read=names_of, repeated=True, **more)


def output_file(help: str, metavar: str = "FILE", **more: Any) -> Any:  # noqa: A002, ANN401 - as of `option`
    """Return the field of the option that names what a command writes."""
    return option(help, metavar, "--output", "-o", **more)


class ChannelOption(OptionGroup):
    """The channel that a command reads."""

    channel: str = argument("A file that `design` wrote.", "CHANNEL")


class JsonOption(OptionGroup):
    """The form of the result."""

    as_json: bool = option("Print one JSON object instead of text.", None, "--json", default=False)


def _show_all_options(context: Any, typed: bool) -> bool:  # noqa: ANN401, FBT001 - as Typer calls it
    """Print the whole help of a command whose ``--help`` is brief, and exit."""
    if typed:
        TyperCommand.format_help(context.command, context, context.make_formatter())
        context.exit()
    return typed


class HelpAllOption(OptionGroup):
    """The whole help of a command that has many options."""

    help_all: bool = option(
        "Show all options and examples, and exit.",
        default=False,
        is_eager=True,
        callback=_show_all_options,
    )


class QuietOption(OptionGroup):
    """Whether progress and warnings are shown."""

    quiet: bool = option("No progress and no warnings.", None, "--quiet", "-q", default=False)


class VerboseOption(OptionGroup):
    """Whether all checks are listed."""

    verbose: bool = option(
        "List each check, with what was found.", None, "--verbose", "-v", default=False
    )


class ReportOption(OptionGroup):
    """The page about the result."""

    report: str | None = option("Write a page about it, in one file.", "FILE.html")


class ResultOptions(ReportOption, JsonOption):
    """The page and the form of the result."""


class QuietResultOptions(ResultOptions, QuietOption):
    """The same, of a command that warns."""


class RowEngineOptions(OptionGroup, panel=HOW):
    """How rows are read that are too many for memory or one machine."""

    memory: str | None = option(
        "For a table larger than memory, or a folder: what each process may use, such as 4GB.",
        "SIZE",
    )
    scheduler: str | None = option(
        "Use the workers of a Dask scheduler: tcp://127.0.0.1:8786, or tls:// beyond this machine.",
        "ADDRESS",
    )


class PlaceOptions(OptionGroup, panel="Places"):
    """The secrets of a channel: points of a table, words, or cells of a grid."""

    grid: str | None = option("A grid of R rows and C columns instead.", "RxC")
    cell: str | None = option("Side of a grid cell, in the unit; read exactly. Default: 1.")
    x: str | None = option(
        "Column of x, or of the longitude. Default: x (lon), if y (lat) is there, too."
    )
    y: str | None = option("Column of y, or of the latitude.")
    columns: str | None = option("Columns of any number of coordinates.", "A,B,...")
    metric: str | None = option("euclidean (default), manhattan, haversine, angular or hyperbolic.")
    unit: str | None = option("Unit of distance; haversine means km, angular rad.")
    embeddings: str | None = option(
        "Words as points of any dimension instead: .npy, or .csv with or without the words.", "FILE"
    )
    plane: bool = option("lon and lat are in a plane.", default=False)


class BudgetOptions(OptionGroup, panel=PROMISED):
    """The budget of a release, and the ledger that is charged."""

    epsilon: str | None = option("Privacy budget. It has no default.")
    rho: str | None = option("Budget of zero-concentrated differential privacy instead.")
    ledger: str | None = option(
        "Charge this ledger before the data are read; see `discreet budget`.", "FILE"
    )
    dataset: str | None = option("Name of the data in the ledger.")
    accept_no_guarantee: bool = option(
        "Run a method without a guarantee, for comparison. Its output must not be published.",
        default=False,
    )


class PlanOptions(OptionGroup, panel=HOW):
    """A plan in place of a release."""

    plan: bool = option(
        "Print the expected errors, the cost and what is assumed; charge nothing and read no value.",
        default=False,
    )
    plan_count: int | None = option(
        "With --plan, also the coefficient of variation of a count of this size.", "N"
    )


def require_one(option: str, expected: str, *values: object) -> None:
    """Raise InvalidProblemError, of `option` and `expected`, unless exactly one of two values is not None."""
    count = sum(value is not None for value in values)
    if count != 1:
        raise InvalidProblemError(option, expected, "both" if count else "neither")


def read_guarantee(
    epsilon: str | None,
    rho: str | None,
    neighbors: Any,  # noqa: ANN401 - the guarantee checks it
) -> PureDP | ZeroConcentratedDP:
    """Return pure epsilon or rho, read exactly, for `neighbors`.

    InvalidProblemError for both, neither, bad amounts, or no neighbors.

    Examples
    --------
    >>> read_guarantee(None, "0.5", "replace-one")
    ZeroConcentratedDP(rho=Fraction(1, 2), neighbors='replace-one')
    """
    require_one("--epsilon", "a budget here, or with --rho", epsilon, rho)
    if neighbors is None:
        expected = "add-remove-one or replace-one: a budget means nothing without it"
        raise InvalidProblemError("--neighbors", expected, "none")
    if rho is not None:
        return ZeroConcentratedDP(rho, neighbors)
    return PureDP(epsilon or "", neighbors)


def read_method(methods: Methods, typed: str | None, *, accept_no_guarantee: bool = False) -> Any:  # noqa: ANN401 - each mechanism has its own protocol of methods
    """Return the method named `typed` of `methods`, or None, the default, if nothing is typed.

    InvalidProblemError for an unknown name, or, unless `accept_no_guarantee`, for a method without a guarantee.
    """
    if typed is not None and not accept_no_guarantee:
        record = methods.find(typed, "--method", methods.proven)
        if record.guarantee is None:
            expected = "one with a guarantee, or --accept-no-guarantee"
            raise InvalidProblemError("--method", expected, f"{record.name}: {record.why_none}")
    return methods.resolve(
        typed, field="--method", optional=True, accept_no_guarantee=accept_no_guarantee
    )
