"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP

if TYPE_CHECKING:
    from discreet.core.method import Methods

__all__ = [
    "HOW",
    "PLACES",
    "PROMISED",
    "Cell",
    "Channel",
    "Coordinates",
    "Dataset",
    "Delta",
    "Embeddings",
    "Epsilon",
    "Grid",
    "Json",
    "Ledger",
    "Memory",
    "Metric",
    "NoGuarantee",
    "Plane",
    "Quiet",
    "Quotes",
    "Report",
    "Rho",
    "RowThreads",
    "Scheduler",
    "Unit",
    "Verbose",
    "X",
    "Y",
    "demand",
    "read_guarantee",
    "read_method",
]

PROMISED = "What is promised"
"""The panel of options about the guarantee."""

HOW = "How"
"""The panel of options that say how the work is done."""

Channel = Annotated[str, typer.Argument(metavar="CHANNEL", help="A file that `design` wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="List each check, with what was found.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings.")]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="For a table larger than memory, or a folder: what each process may use, such as 4GB.",
        rich_help_panel=HOW,
    ),
]
RowThreads = Annotated[
    int,
    typer.Option(
        help="Pieces of a folder, or with --memory, that are read at a time.",
        rich_help_panel=HOW,
    ),
]
Quotes = Annotated[
    str,
    typer.Option(
        metavar="doubled|none",
        help="How the private CSV file quotes: by RFC 4180, or not at all, so that a quote is a letter and no file "
        "is refused for one. Public.",
        rich_help_panel="The data",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Use the workers of a Dask scheduler: tcp://127.0.0.1:8786, or tls:// beyond this machine.",
        rich_help_panel=HOW,
    ),
]
PLACES = "Places"
"""The panel of options that say what the secrets are."""

Grid = Annotated[
    str | None,
    typer.Option(
        metavar="RxC", help="A grid of R rows and C columns instead.", rich_help_panel=PLACES
    ),
]
Cell = Annotated[
    str | None,
    typer.Option(
        help="Side of a grid cell, in the unit; read exactly. Default: 1.",
        rich_help_panel=PLACES,
    ),
]
X = Annotated[
    str | None,
    typer.Option(
        help="Column of x, or of the longitude. Default: x (lon), if y (lat) is there, too.",
        rich_help_panel=PLACES,
    ),
]
Y = Annotated[
    str | None, typer.Option(help="Column of y, or of the latitude.", rich_help_panel=PLACES)
]
Coordinates = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...", help="Columns of any number of coordinates.", rich_help_panel=PLACES
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(
        help="euclidean (default), manhattan, haversine, angular or hyperbolic.",
        rich_help_panel=PLACES,
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(help="Unit of distance; haversine means km, angular rad.", rich_help_panel=PLACES),
]
Plane = Annotated[
    bool, typer.Option("--plane", help="lon and lat are in a plane.", rich_help_panel=PLACES)
]
Embeddings = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Words as points of any dimension instead: .npy, or .csv with or without the words.",
        rich_help_panel=PLACES,
    ),
]
Report = Annotated[
    str | None, typer.Option(metavar="FILE.html", help="Write a page about it, in one file.")
]
Epsilon = Annotated[
    str | None,
    typer.Option(help="Privacy budget. It has no default.", rich_help_panel=PROMISED),
]
Rho = Annotated[
    str | None,
    typer.Option(
        help="Budget of zero-concentrated differential privacy instead.", rich_help_panel=PROMISED
    ),
]
Delta = Annotated[
    str | None,
    typer.Option(
        help="With --rho: charge an (epsilon, delta) budget this delta, and the epsilon that follows.",
        rich_help_panel=PROMISED,
    ),
]
Ledger = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Charge this ledger before the data are read; see `discreet budget`.",
        rich_help_panel=PROMISED,
    ),
]
Dataset = Annotated[
    str | None, typer.Option(help="Name of the data in the ledger.", rich_help_panel=PROMISED)
]


def demand(flag: str, panel: str) -> Any:  # noqa: ANN401 - what Typer reads
    """Return an option that is short for a demand on each column of --sensitive."""
    unit, meaning = _DEMANDS[flag]
    told = f"Short for --require NAME={meaning}"
    return typer.Option(flag, metavar=unit, help=told, rich_help_panel=panel)


_DEMANDS = {
    "--l-diversity": ("L", "distinct:L in each column of --sensitive."),
    "--t-closeness": (
        "T",
        "closeness:T: the largest distance of a class's values from the table's.",
    ),
    "--alpha": ("SHARE", "alpha:SHARE: the largest share of a class that one value may have."),
}

NoGuarantee = Annotated[
    bool,
    typer.Option(
        "--accept-no-guarantee",
        help="Run a method without a guarantee, for comparison. Its output must not be published.",
        rich_help_panel=PROMISED,
    ),
]


def read_guarantee(
    epsilon: str | None,
    rho: str | None,
    neighbors: Any,  # noqa: ANN401 - the guarantee checks it
) -> PureDP | ZeroConcentratedDP:
    """Read the guarantee of a release from its epsilon or its rho, as typed.

    Examples
    --------
    >>> read_guarantee(None, "0.5", "replace-one")
    ZeroConcentratedDP(rho=Fraction(1, 2), neighbors='replace-one')
    """
    if (epsilon is None) == (rho is None):
        got = "neither" if rho is None else "both"
        raise InvalidProblemError("--epsilon", "a budget here, or with --rho", got)
    if rho is not None:
        return ZeroConcentratedDP(rho, neighbors)
    return PureDP(epsilon or "", neighbors)


def read_method(methods: Methods, typed: str | None, *, accept_no_guarantee: bool = False) -> Any:  # noqa: ANN401 - each mechanism has its own protocol of methods
    """Read ``--method``, and say where a method without a guarantee is refused how to run it for comparison."""
    if typed is not None and not accept_no_guarantee:
        record = methods.find(typed, "--method", methods.proven)
        if record.guarantee is None:
            expected = "one with a guarantee, or --accept-no-guarantee"
            raise InvalidProblemError("--method", expected, f"{record.name}: {record.why_none}")
    return methods.resolve(
        typed, field="--method", optional=True, accept_no_guarantee=accept_no_guarantee
    )
