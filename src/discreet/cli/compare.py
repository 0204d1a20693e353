"""``compare``: what several methods lose under one guarantee, at several strengths."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.calls import TypedOption, from_call
from discreet.cli.files import check_outputs, write_page
from discreet.cli.inputs import parse_budget
from discreet.cli.options import (  # noqa: TC001 - Typer reads annotations at run time
    Cell,
    Coordinates,
    Embeddings,
    Grid,
    Json,
    Metric,
    Plane,
    Quiet,
    Report,
    Unit,
    X,
    Y,
)
from discreet.cli.output import Status, emit, renamed_arguments, warn
from discreet.cli.progress import progress
from discreet.cli.statement import AimOptions, PlaceOptions, state
from discreet.core.errors import InvalidProblemError
from discreet.evaluate.compare import ComparisonInterrupted, MechanismComparison
from discreet.evaluate.compare import compare as compare_target
from discreet.evaluate.registry import COMPARED, FRONTIERS

if TYPE_CHECKING:
    from discreet.metricdp.problem import Problem

__all__ = ["compare", "register"]

_EXAMPLES = """Examples:

```
discreet compare --grid 6x6 --unit km --epsilon 0.5,1,2 --methods optimal,exponential,planar-laplace

discreet compare places.csv --x lon --y lat --metric haversine --epsilon 1,2 --prior weight --report frontier.html

discreet compare hierarchy --epsilon 0.5,1,2 --methods m-c-dp-weighted,m-h-dp

discreet compare kanonymity -k 2,5,10 --report frontier.html
```
"""


_SHOWN = {
    "epsilon": TypedOption(more="No default."),
    "k": TypedOption("K,K,...", flag="-k"),
    "methods": TypedOption("A,B,...", more=f"Of a problem: {', '.join(sorted(COMPARED))}."),
    "time_limit": TypedOption("SECONDS"),
}


@from_call(compare_target, _SHOWN, skip=("target", "on_progress"))
def compare(
    given: dict[str, Any],
    places: Annotated[
        str | None,
        typer.Argument(
            metavar="PLACES|MECHANISM",
            help="CSV or Parquet file, one row for each secret; or hierarchy, kanonymity or submodular, whose methods "
            "are then run on synthetic data.",
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
    plane: Plane = False,
    loss: Annotated[
        str, typer.Option(help="What a wrong report costs, as in design.")
    ] = "distance",
    prior: Annotated[
        str, typer.Option(help="How likely each secret is, as in design.")
    ] = "uniform",
    reports: Annotated[
        str | None, typer.Option(help="Secrets that may be reported, as in design.")
    ] = None,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Compare what methods lose under the same guarantee, at one or more strengths.

    Every channel is repaired, rounded and verified like a design, so that losses are certified, and the epsilon that
    each channel keeps is computed from its integers: within the radius, and for all pairs. Memory is the peak beyond
    what was held before, where the system tells. With the name of another mechanism: what its methods lose on synthetic
    data, with intervals.
    """
    target: Problem | str = places or ""
    mechanism = places in FRONTIERS and grid is None
    if mechanism:
        check_outputs({"--report": report})
    else:
        epsilon = given.get("epsilon")
        if epsilon is None:
            raise InvalidProblemError("--epsilon", "a value", "none")
        side = "1" if grid is not None and cell is None else cell
        where = PlaceOptions(
            places, grid, side, x, y, columns, None, metric, unit, embeddings, plane
        )
        aims = AimOptions(epsilon.split(",")[0], given.get("radius"), loss, prior, reports)
        check_outputs({"--report": report}, *where.read, *aims.read)
        budgets, units = zip(*map(parse_budget, epsilon.split(",")), strict=True)
        if len(set(budgets)) < len(budgets) or len(set(units)) > 1:
            expected = "different budgets in one unit, such as 0.5,1,2"
            raise InvalidProblemError("--epsilon", expected, repr(epsilon))
        target, given["epsilon"] = state(where, aims).problem, budgets
    status = Status.DONE
    try:
        with (
            progress(sys.stderr, quiet=quiet or mechanism) as on_progress,
            renamed_arguments({"target": "PLACES"}),
        ):
            outcome = compare_target(target, **given, on_progress=on_progress)
    except ComparisonInterrupted as interrupt:
        status, outcome = Status.INTERRUPTED, interrupt.best
        warn(f"interrupted after {len(outcome.entries)} of {outcome.planned} designs")
    for warning in outcome.warnings:
        warn(warning, quiet=quiet)
    if report is not None:
        from discreet.report import make_chapter

        if isinstance(outcome, MechanismComparison):
            parameter, title = outcome.parameter, f"What {outcome.mechanism} loses"
            chapter = make_chapter(
                "frontier", outcome.points, parameter=parameter, title=title, note=outcome.data
            )
            write_page([chapter], report, title=f"What a choice of {parameter} costs")
        elif outcome.entries:
            chapter = make_chapter("comparison", outcome.entries, unit=outcome.guarantee.unit)
            write_page([chapter], report, title="What privacy costs, by method")
    emit(outcome.to_dict(), str(outcome), as_json=as_json, command="compare")
    return status


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(compare)
