"""``compare``: what several methods lose under one guarantee, at several strengths."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.comparing import Contest, run_compare
from discreet.cli.frontiers import Frontier, run_frontier
from discreet.cli.options import (  # noqa: TC001 - Typer reads annotations at run time
    Cell,
    Coordinates,
    Embeddings,
    Grid,
    Json,
    Metric,
    Quiet,
    Report,
    Unit,
    X,
    Y,
)
from discreet.cli.registry import COMPARE, FRONTIERS
from discreet.cli.statement import Aims, Places
from discreet.core.errors import InvalidProblemError

__all__ = ["compare", "register"]

_USUAL = "optimal,exponential,planar-laplace"

_EXAMPLES = """Examples:

```
discreet compare --grid 6x6 --unit km --epsilon 0.5,1,2 --methods optimal,exponential,planar-laplace

discreet compare places.csv --x lon --y lat --metric haversine --epsilon 1,2 --prior weight --report frontier.html

discreet compare hierarchy --epsilon 0.5,1,2 --methods m_c_dp_weighted,m_h_dp

discreet compare kanonymity -k 2,5,10 --report frontier.html
```
"""


def compare(
    places: Annotated[
        str | None,
        typer.Argument(
            metavar="PLACES|MECHANISM",
            help="CSV or Parquet file, one row for each secret; or hierarchy, kanonymity or submodular, whose methods "
            "are then run on made data.",
        ),
    ] = None,
    *,
    grid: Grid = None,
    cell: Cell = None,
    x: X = None,
    y: Y = None,
    columns: Coordinates = None,
    metric: Metric = None,
    unit: Unit = None,
    embeddings: Embeddings = None,
    epsilon: Annotated[
        str | None,
        typer.Option(help="Budgets (per unit of distance), with commas: 0.5,1,2. No default."),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option("-k", metavar="K,K,...", help="Rows that look alike, for kanonymity: 2,5,10."),
    ] = None,
    radius: Annotated[
        str | None, typer.Option(help="Constrain only pairs at most this far apart.")
    ] = None,
    loss: Annotated[
        str, typer.Option(help="What a wrong report costs, as in design.")
    ] = "distance",
    prior: Annotated[
        str, typer.Option(help="How likely each secret is, as in design.")
    ] = "uniform",
    reports: Annotated[
        str | None, typer.Option(help="Secrets that may be reported, as in design.")
    ] = None,
    allow_unprotected: Annotated[
        bool,
        typer.Option("--allow-unprotected", help="Leave secrets apart that no chain joins."),
    ] = False,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help=f"Any of {', '.join(sorted(COMPARE))}, or of the mechanism; {_USUAL} unless told.",
        ),
    ] = None,
    gap: Annotated[
        float, typer.Option(help="Relative gap at which a method that proves one stops.")
    ] = 0.01,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop each search then; its best design stands."),
    ] = None,
    threads: Annotated[int, typer.Option(help="Threads of a solver.")] = 1,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Compare what methods lose under the same guarantee, at one or more strengths.

    Every channel is repaired, rounded and verified like a design, so that losses are certified, and the epsilon that
    each channel keeps is computed from its integers: within the radius, and for all pairs. Memory is the peak beyond
    what was held before, where the system tells. With the name of another mechanism: what its methods lose on made
    data, with intervals.
    """
    if places in FRONTIERS and grid is None:
        return run_frontier(Frontier(places, epsilon, k, methods, report, as_json))
    if k is not None:
        raise InvalidProblemError("-k", "nothing, but with kanonymity", repr(k))
    if epsilon is None:
        raise InvalidProblemError("--epsilon", "a value", "none")
    side = "1" if grid is not None and cell is None else cell
    where = Places(places, grid, side, x, y, columns, None, metric, unit, embeddings)
    aims = Aims(epsilon, radius, loss, prior, reports)
    contest = Contest(
        methods or _USUAL, gap, time_limit, threads, allow_unprotected, report, as_json, quiet
    )
    return run_compare(where, aims, contest)


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(compare)
