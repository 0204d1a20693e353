"""``design``: make a channel. Read, solve, write, whatever interrupts it."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.files import check_outputs, write_channel, write_page
from discreet.cli.implicit import Outputs, SearchOptions, run_implicit
from discreet.cli.info import describe, loss_rows
from discreet.cli.options import (
    PLACES,
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
    Verbose,
    X,
    Y,
)
from discreet.cli.output import Status, emit, facts, warn
from discreet.cli.progress import announcing_compilation, progress
from discreet.cli.statement import (
    AimOptions,
    DesignStatement,
    ImplicitStatement,
    PlaceOptions,
    doubtful_distances,
    state_any,
)
from discreet.core import printed
from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.jit import clock
from discreet.metricdp.methods import METHODS

if TYPE_CHECKING:
    from discreet.core.outcome import Design
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.minimax import Minimax
    from discreet.metricdp.part import Method
    from discreet.metricdp.problem import Problem

    MetricDesign = Design[Problem, Multipliers]

__all__ = ["design", "register", "unprotected"]

_SHOWN = 10
"""Secrets that a warning names; all of them stand in ``--json`` and in ``info``."""

_WHAT = "What is wanted"
_HOW = "How to search"

_EXAMPLES = """Examples:

```
discreet design --grid 7x7 --cell 1 --unit km --epsilon 2 --radius 2 --loss euclidean -o c.channel

discreet design places.csv --x lon --y lat --metric haversine --epsilon 1.5/km --prior weight -o c.channel

discreet design --embeddings words.csv --metric angular --epsilon 4 -o words.channel
```
"""


def design(
    places: Annotated[
        str | None,
        typer.Argument(metavar="PLACES", help="CSV or Parquet file, one row for each secret."),
    ] = None,
    *,
    points: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The same as PLACES, by its name.", rich_help_panel=PLACES
        ),
    ] = None,
    grid: Grid = None,
    cell: Cell = None,
    x: X = None,
    y: Y = None,
    columns: Coordinates = None,
    label: Annotated[
        str | None,
        typer.Option(help="Column of names of the secrets, all different.", rich_help_panel=PLACES),
    ] = None,
    metric: Metric = None,
    unit: Unit = None,
    embeddings: Embeddings = None,
    plane: Plane = False,
    epsilon: Annotated[
        str,
        typer.Option(
            help="Privacy budget per unit of distance: 2, or 2/km. It has no default.",
            rich_help_panel=_WHAT,
        ),
    ],
    radius: Annotated[
        str | None,
        typer.Option(
            help="Constrain only pairs at most this far apart; all pairs without it, the strong guarantee.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    loss: Annotated[
        str,
        typer.Option(
            help="What a wrong report costs: distance, euclidean, manhattan, squared-euclidean, haversine, or a "
            "matrix (.npy, .csv), secrets x reports.",
            rich_help_panel=_WHAT,
        ),
    ] = "distance",
    prior: Annotated[
        str,
        typer.Option(
            help="How likely each secret is: uniform, a column of PLACES, or a file with columns secret and weight. "
            "It is normalized, and it must be public.",
            rich_help_panel=_WHAT,
        ),
    ] = "uniform",
    priors: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Several priors, each as for --prior: the worst loss over all of them is made least.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    reports: Annotated[
        str | None,
        typer.Option(
            help="Secrets that may be reported: indices or labels, with commas, or a file with one a line.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    allow_unprotected: Annotated[
        bool,
        typer.Option(
            "--allow-unprotected",
            help="Leave secrets apart that no chain within the radius joins. By default the shortest links join them.",
            rich_help_panel=_WHAT,
        ),
    ] = False,
    gap: Annotated[
        float | None,
        typer.Option(
            help="Relative gap between loss and lower bound to reach, default: 0.01; when given and missed, the "
            "exit status is 4.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Stop searching then; the best design stands. Compiling, in a first run, does not count.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help=f"auto, optimal (a gap of 1e-6 or status 4), {', '.join(sorted(METHODS.proven))}.",
            rich_help_panel=_HOW,
        ),
    ] = "auto",
    blocks: Annotated[
        int | None,
        typer.Option(
            help="Blocks of --method benders; default: by the paper's model.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    partitioner: Annotated[
        str | None,
        typer.Option(
            help="How --method benders makes them: k-m-dv (default), k-m-rec, k-m-adj or bsc.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    threads: Annotated[int, typer.Option(help="Threads of a solver.", rich_help_panel=_HOW)] = 1,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where the channel goes.")
    ] = None,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Design the channel that loses least under metric privacy, and prove it.

    The design is verified in exact arithmetic before it is written, and the file carries its proof. Places, prior,
    loss and reports are assumed to be public.

    Beyond 5,120 secrets, up to 16,384, the channel is one of exponential tails, computed on demand: private, verified,
    with its loss and a lower bound, but it is not the best that there is, and its file states the bound without proof.
    """
    if points is not None and places is not None:
        raise InvalidProblemError("--points", "either this or PLACES", "both")
    where = PlaceOptions(
        places or points, grid, cell, x, y, columns, label, metric, unit, embeddings, plane
    )
    aims = AimOptions(epsilon, radius, loss, prior, reports, priors)
    search = SearchOptions(gap, time_limit, method, threads, allow_unprotected, blocks, partitioner)
    return _run(where, aims, search, Outputs(output, report, as_json, quiet, verbose))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EXAMPLES)(design)


def _run(places: PlaceOptions, aims: AimOptions, search: SearchOptions, outputs: Outputs) -> Status:
    """Design a channel, write it, and describe it; return the exit status."""
    named = {"--output": outputs.output, "--report": outputs.report}
    check_outputs(named, *places.read, *aims.read)
    with announcing_compilation(quiet=outputs.quiet):
        stated = state_any(places, aims)
        if isinstance(stated, ImplicitStatement):
            return run_implicit(stated, search, outputs)
        started = clock()
        worst = None
        if stated.priors:
            worst, made, status = _solve_for_all(stated, search)
        else:
            made, status = _solve(stated, search, quiet=outputs.quiet)
        seconds = clock() - started
    if made is None:
        warn("interrupted before anything was verified; nothing was written")
        return status
    write_channel(made, outputs.output, stated.labels)
    if outputs.report is not None:
        _report(made, outputs.report, outputs.output)
    known = doubtful_distances(made.problem.space, made.guarantee)
    for sentence in (*unprotected(made, stated.labels), *known):
        warn(sentence, quiet=outputs.quiet)
    if status is Status.TARGET_MISSED:
        reached = worst or made
        warn(
            f"{printed.missed_gap(search.target, reached.lower, reached.upper)}; the best verified design stands"
        )
    if outputs.output is None and outputs.report is None:
        warn("nothing was written: no --output", quiet=outputs.quiet)
    data = _data(made, stated, seconds, interrupted=status is Status.INTERRUPTED)
    text = _design_text(made, seconds)
    if worst is not None:
        data["worst_case"] = _worst_case(worst, stated)
        text = (
            f"{_worst_case_text(worst, stated)}\n\nFor the worst mixture of the priors:\n\n{text}"
        )
    emit(
        data | {"output": outputs.output},
        text,
        as_json=outputs.as_json,
        command="design",
        certificate=made.certificate,
        verbose=outputs.verbose,
    )
    return status


def _solve(
    stated: DesignStatement, search: SearchOptions, *, quiet: bool
) -> tuple[MetricDesign | None, Status]:
    from discreet.metricdp import design
    from discreet.metricdp.design import Interrupted

    method = None if search.method in {"auto", "optimal"} else _method(search)
    for option in ("blocks", "partitioner"):
        if search.method != "benders" and getattr(search, option) is not None:
            raise InvalidProblemError(f"--{option}", "--method benders with it", search.method)
    try:
        with progress(sys.stderr, quiet=quiet) as on_progress:
            made = design(
                stated.problem,
                stated.guarantee,
                method=method,
                gap=search.target,
                time_limit=search.time_limit,
                threads=search.threads,
                allow_unprotected=search.allow_unprotected,
                on_progress=on_progress,
                throw=False,
            )
    except Interrupted as interrupted:
        return interrupted.best, Status.INTERRUPTED
    missed = search.is_demanded and made.status == "limit reached"
    return made, Status.TARGET_MISSED if missed else Status.DONE


def _solve_for_all(
    stated: DesignStatement, search: SearchOptions
) -> tuple[Minimax | None, MetricDesign | None, Status]:
    from discreet.metricdp.design import Interrupted

    if search.method not in {"auto", "optimal"}:
        raise InvalidProblemError("--method", "auto or optimal with --priors", repr(search.method))
    try:
        worst = _design_for_all(
            stated,
            time_limit=search.time_limit,
            threads=search.threads,
            allow_unprotected=search.allow_unprotected,
        )
    except Interrupted as interrupted:
        return None, interrupted.best, Status.INTERRUPTED
    missed = search.is_demanded and worst.gap > search.target
    return worst, worst.design, Status.TARGET_MISSED if missed else Status.DONE


def _method(search: SearchOptions) -> Method:
    """Make the method that was requested, with its own options where it is the decomposition."""
    if search.method not in METHODS.proven:
        raise unknown_name("--method", search.method, sorted(["auto", "optimal", *METHODS.proven]))
    given = {"blocks": search.blocks, "partitioner": search.partitioner}
    options = {name: value for name, value in given.items() if value is not None}
    if search.method != "benders":
        options = {}
    try:
        method: Method = METHODS[search.method].make(**options)
    except InvalidProblemError as error:
        raise error.renamed(f"--{error.field}") from None
    return method


def _report(design: MetricDesign, path: str, output: str | None) -> None:
    from discreet.report import make_chapter

    about: dict[str, str] = {}
    if output is not None:
        digest = hashlib.sha256(Path(output).read_bytes()).hexdigest()
        about = {"artefact": Path(output).name, "sha256": digest}
    write_page([make_chapter("metricdp", design, **about)], path)


def _data(
    made: MetricDesign, stated: DesignStatement, seconds: float, *, interrupted: bool
) -> dict[str, Any]:
    return {
        **describe(made),
        "seconds": seconds,
        "prior_normalized_from": stated.prior_sum,
        "interrupted": interrupted,
    }


def _design_for_all(
    stated: DesignStatement, *, time_limit: float | None, threads: int, allow_unprotected: bool
) -> Minimax:
    """Design for the worst of the stated priors."""
    from discreet.metricdp import minimax

    return minimax(
        stated.problem,
        [prior for _, prior in stated.priors],
        stated.guarantee,
        time_limit=time_limit,
        threads=threads,
        allow_unprotected=allow_unprotected,
    )


def _worst_case(made: Minimax, stated: DesignStatement) -> dict[str, Any]:
    """Give the losses under each prior, the worst, and what no channel can beat."""
    names = [name for name, _ in stated.priors]
    return {
        "loss": made.upper,
        "lower": made.lower,
        "gap": made.gap,
        "losses": dict(zip(names, made.losses.tolist(), strict=True)),
        "weights": dict(zip(names, made.weights.tolist(), strict=True)),
    }


def _worst_case_text(made: Minimax, stated: DesignStatement) -> str:
    """Say the same to people."""
    lines = [f"worst expected loss  {printed.bounds(made.lower, made.upper)}"]
    for (name, _), loss, weight in zip(
        stated.priors, made.losses.tolist(), made.weights.tolist(), strict=True
    ):
        share = printed.share(weight)
        lines.append(
            f"  under {name}: {printed.at_most(loss)}, weight {share} in the worst mixture"
        )
    return "\n".join(lines)


def _design_text(design: MetricDesign, seconds: float) -> str:
    """Describe a new design to people."""
    took = printed.estimate(seconds, 3)
    return facts([("guarantee", design.guarantee), *loss_rows(design), ("seconds", took)])


def unprotected(design: MetricDesign, labels: tuple[str, ...] | None) -> list[str]:
    """Say which secrets the guarantee does not protect, and which it joined so that it does."""
    scope = design.guarantee.space_scope
    if scope is None:
        return []
    said = []
    if scope.joined:
        said.append(f"joined separate groups of secrets by {scope.joined} links beyond the radius")
    if scope.components > 1:
        said.append(f"nothing is promised between {scope.components} separate groups of secrets")
    if scope.isolated:
        named = [labels[i] if labels else str(i) for i in scope.isolated[:_SHOWN]]
        more = len(scope.isolated) - len(named)
        tail = f" and {more} more" if more else ""
        said.append(f"{len(scope.isolated)} secrets are NOT protected: {', '.join(named)}{tail}")
    return said
