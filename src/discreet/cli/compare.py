"""``compare``: what several methods lose under one guarantee, at several strengths."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from discreet.cli.files import check_outputs, write_page
from discreet.cli.frontiers import MechanismContest, run_frontier
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
from discreet.cli.output import Status, emit, warn
from discreet.cli.progress import progress
from discreet.cli.registry import COMPARE, FRONTIERS, find
from discreet.cli.statement import AimOptions, DesignStatement, PlaceOptions, state
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import text_floor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.evaluate.comparison import Entry
    from discreet.metricdp.part import Method

__all__ = ["compare", "library_choice", "register"]

_USUAL = "optimal,exponential,planar-laplace"

_EXAMPLES = """Examples:

```
discreet compare --grid 6x6 --unit km --epsilon 0.5,1,2 --methods optimal,exponential,planar-laplace

discreet compare places.csv --x lon --y lat --metric haversine --epsilon 1,2 --prior weight --report frontier.html

discreet compare hierarchy --epsilon 0.5,1,2 --methods m-c-dp-weighted,m-h-dp

discreet compare kanonymity -k 2,5,10 --report frontier.html
```
"""


_HEAD = (
    "epsilon",
    "method",
    "loss",
    "lower bound",
    "over least",
    "eps in radius",
    "eps all pairs",
    "seconds",
    "MiB",
)


@final
@dataclass(frozen=True)
class Contest:
    """The options that say what is compared and how, as they were typed."""

    methods: str
    gap: float
    time_limit: float | None
    threads: int
    allow_unprotected: bool
    report: str | None
    as_json: bool
    quiet: bool


def compare(
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
    epsilon: Annotated[
        str | None,
        typer.Option(help="Budgets (per unit of distance), with commas: 0.5,1,2. No default."),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option("-k", metavar="K,K,...", help="k of k-anonymity, for kanonymity: 2,5,10."),
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
            help=f"Any of {', '.join(sorted(COMPARE))}, or of the mechanism; default: {_USUAL}.",
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
    what was held before, where the system tells. With the name of another mechanism: what its methods lose on synthetic
    data, with intervals.
    """
    if places in FRONTIERS and grid is None:
        return run_frontier(MechanismContest(places, epsilon, k, methods, report, as_json))
    if k is not None:
        raise InvalidProblemError("-k", "nothing, but with kanonymity", repr(k))
    if epsilon is None:
        raise InvalidProblemError("--epsilon", "a value", "none")
    side = "1" if grid is not None and cell is None else cell
    where = PlaceOptions(places, grid, side, x, y, columns, None, metric, unit, embeddings, plane)
    aims = AimOptions(epsilon, radius, loss, prior, reports)
    contest = Contest(
        methods or _USUAL, gap, time_limit, threads, allow_unprotected, report, as_json, quiet
    )
    return _run(where, aims, contest)


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(compare)


def library_choice() -> None:
    """Name no method: the library chooses among those that prove a bound."""


def _run(places: PlaceOptions, aims: AimOptions, contest: Contest) -> Status:
    """Compare methods at some epsilons, print what they lose, and return the exit status."""
    from discreet.evaluate.comparison import compare_methods

    check_outputs({"--report": contest.report}, *places.read, *aims.read)
    methods = _methods(contest.methods)
    budgets = [parse_budget(one) for one in aims.epsilon.split(",")]
    epsilons = [epsilon for epsilon, _ in budgets]
    if len(set(epsilons)) < len(epsilons) or len({unit for _, unit in budgets}) > 1:
        raise InvalidProblemError(
            "--epsilon", "different budgets in one unit, such as 0.5,1,2", repr(aims.epsilon)
        )
    first = AimOptions(aims.epsilon.split(",")[0], aims.radius, aims.loss, aims.prior, aims.reports)
    stated = state(places, first)
    entries: list[Entry] = []
    status = Status.DONE
    try:
        with progress(sys.stderr, quiet=contest.quiet) as on_progress:
            compare_methods(
                stated.problem,
                stated.guarantee,
                methods,
                epsilons,
                gap=contest.gap,
                time_limit=contest.time_limit,
                threads=contest.threads,
                allow_unprotected=contest.allow_unprotected,
                on_progress=on_progress,
                on_entry=entries.append,
            )
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        warn(f"interrupted after {len(entries)} of {len(methods) * len(epsilons)} designs")
    for entry in entries:
        if entry.loss is None:
            warn(
                f"{entry.method} at epsilon {float(entry.epsilon):g}: {entry.note}",
                quiet=contest.quiet,
            )
    if contest.report is not None and entries:
        _report(stated, entries, contest.report)
    emit(
        _data(stated, entries, epsilons, interrupted=status is Status.INTERRUPTED),
        _text(stated, entries),
        as_json=contest.as_json,
        command="compare",
    )
    return status


def _methods(typed: str) -> dict[str, Method | None]:
    names = [name.strip() for name in typed.split(",")]
    if len(set(names)) < len(names):
        raise InvalidProblemError("--methods", "different names", repr(typed))
    return {name: find(COMPARE, name, "--methods")() for name in names}


def _floor(stated: DesignStatement) -> float:
    from discreet.metricdp.methods.baselines import nearest_output_floor

    return nearest_output_floor(stated.problem)


def _data(
    stated: DesignStatement,
    entries: Sequence[Entry],
    epsilons: Sequence[Fraction],
    *,
    interrupted: bool,
) -> dict[str, Any]:
    from discreet.evaluate.comparison import best_lower

    radius = stated.guarantee.radius
    return {
        "unit": stated.guarantee.unit,
        "radius": None if radius is None else float(radius),
        "secrets": stated.problem.n_secrets,
        "reports": stated.problem.n_reports,
        "loss_without_privacy": _floor(stated),
        "bounds": [
            {"epsilon": float(epsilon), "lower": best_lower(entries, epsilon)}
            for epsilon in epsilons
        ],
        "entries": [entry.to_dict() for entry in entries],
        "interrupted": interrupted,
    }


def _text(stated: DesignStatement, entries: Sequence[Entry]) -> str:
    """Lay the entries out in columns, numbers to the right."""
    from discreet.evaluate.comparison import best_lower

    rows: list[tuple[str, ...]] = [_HEAD]
    rows += [_row(entry, best_lower(entries, entry.epsilon)) for entry in entries]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEAD))]
    lines = [
        "  ".join(
            cell.ljust(width) if at == 1 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    n, k, unit = stated.problem.n_secrets, stated.problem.n_reports, stated.guarantee.unit
    return "\n".join(
        [
            f"{n} secrets, {k} reports, epsilon per {unit}; every loss is that of a verified channel.",
            f"Without any privacy the loss would be {_floor(stated):.6g}.",
            "",
            *lines,
        ]
    )


def _row(entry: Entry, lower: float | None) -> tuple[str, ...]:
    start = (f"{float(entry.epsilon):g}", entry.method)
    memory = "" if entry.memory is None else f"{entry.memory / 2**20:.0f}"
    cost = (f"{entry.seconds:.2f}", memory)
    if entry.loss is None or entry.within is None or entry.everywhere is None:
        return (*start, "no channel", "", "", "", "", *cost)
    return (
        *start,
        f"{entry.loss:.6g}",
        "" if entry.lower is None else text_floor(entry.lower),
        "" if lower is None else f"{entry.loss / lower - 1:+.2%}",
        f"{entry.within:.6g}",
        f"{entry.everywhere:.6g}",
        *cost,
    )


def _report(stated: DesignStatement, entries: Sequence[Entry], path: str) -> None:
    from discreet.report import make_chapter

    chapter = make_chapter("comparison", entries, unit=stated.guarantee.unit)
    write_page([chapter], path, title="What privacy costs, by method")
