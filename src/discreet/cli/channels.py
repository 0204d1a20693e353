"""``design``, ``info`` and ``sample``: make a channel, describe it, draw from it."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from discreet.cli.anchored import anchored_facts, anchored_text, draw_anchored
from discreet.cli.describe import describe, info_text
from discreet.cli.designing import Outputs, Search, run_design
from discreet.cli.files import channel_kind, open_any
from discreet.cli.mechanisms import mechanism_facts, mechanism_text, open_mechanism
from discreet.cli.options import (
    PLACES,
    Cell,
    Channel,
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
from discreet.cli.output import emit, warn
from discreet.cli.registry import METHODS
from discreet.cli.sampling import draw, find_secret
from discreet.cli.statement import Aims, Places
from discreet.core.exact import decimal_up

__all__ = ["design", "info", "register", "sample"]

_WHAT = "What is wanted"
_HOW = "How to search"

_DESIGN_EXAMPLES = """Examples:

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
            help="Relative gap between loss and lower bound to reach, 0.01 unless told; when given and missed, the "
            "exit status is 4.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Stop searching then; the best design stands.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help=f"auto, optimal (a gap of 1e-6 or status 4), {', '.join(sorted(METHODS))}.",
            rich_help_panel=_HOW,
        ),
    ] = "auto",
    blocks: Annotated[
        int | None,
        typer.Option(
            help="Blocks of --method benders; chosen by the paper's model unless told.",
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
    threads: Annotated[
        int | None,
        typer.Option(help="Threads of a solver; all cores by default.", rich_help_panel=_HOW),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where the channel goes.")
    ] = None,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Design the channel that loses least under metric privacy, and prove it.

    The design is verified in exact arithmetic before it is written, and the file carries its proof. Places, prior,
    loss and reports are assumed to be public.
    """
    where = Places(places, grid, cell, x, y, columns, label, metric, unit, embeddings)
    aims = Aims(epsilon, radius, loss, prior, reports, priors)
    workers = threads if threads is not None else os.cpu_count() or 1
    search = Search(gap, time_limit, method, workers, allow_unprotected, blocks, partitioner)
    return run_design(where, aims, search, Outputs(output, report, as_json, quiet))


def info(channel: Channel, *, as_json: Json = False) -> None:
    """Say what a channel file guarantees, loses, assumes, and how it was made.

    Nothing is checked beyond the file being whole; `discreet verify` checks what it claims.
    """
    from discreet.artefact import MECHANISM, Artefact

    if channel_kind(channel) == MECHANISM:
        mechanism = open_mechanism(channel)
        told = mechanism_facts(mechanism)
        emit(told, mechanism_text(mechanism), as_json=as_json, command="info")
        return
    stored = open_any(channel)
    if not isinstance(stored, Artefact):
        emit(anchored_facts(stored), anchored_text(stored), as_json=as_json, command="info")
        return
    made = stored.design
    labels = None if stored.labels is None else list(stored.labels)
    data = {**describe(made), "provenance": made.provenance.to_dict(), "labels": labels}
    emit(data, info_text(made, stored.labels), as_json=as_json, command="info")


def sample(
    channel: Channel,
    *,
    secret: Annotated[
        str,
        typer.Option(
            help="Index or label of the true secret; - reads it from standard input, out of the history."
        ),
    ],
    n: Annotated[int, typer.Option("-n", help="How many reports.", min=1)] = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw reports for a secret, with the operating system's randomness.

    Each report of one secret spends epsilon again: n reports cost n epsilon. There is no seed.
    """
    from discreet.artefact import Artefact

    stored = open_any(channel)
    typed = sys.stdin.readline() if secret == "-" else secret  # noqa: S105 - a place, no password
    made = stored.design if isinstance(stored, Artefact) else stored
    place = find_secret(typed, made.channel.n_secrets, stored.labels)
    if n > 1:
        cost = f"{decimal_up(n * made.guarantee.epsilon)} per {made.guarantee.unit}"
        warn(f"{n} reports of one secret cost {n} times epsilon: {cost}", quiet=quiet)
    data, text = (
        draw(stored, place, n) if isinstance(stored, Artefact) else draw_anchored(stored, place, n)
    )
    emit(data, text, as_json=as_json, command="sample")


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(epilog=_DESIGN_EXAMPLES)(design)
    app.command(epilog="Example:\n\n```\ndiscreet info c.channel --json\n```")(info)
    app.command(epilog="Example:\n\n```\ndiscreet sample c.channel --secret 17\n```")(sample)
