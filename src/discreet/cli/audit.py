"""``audit``: try to break what a mechanism or a file claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import (  # noqa: TC001 - Typer reads annotations at run time
    Epsilon,
    Json,
    Report,
    Rho,
)
from discreet.cli.output import Status, emit, renamed_arguments
from discreet.cli.registry import methods_by_mechanism
from discreet.evaluate.registry import AUDITS

if TYPE_CHECKING:
    from discreet.core.guarantee import Neighbors

__all__ = ["audit", "register"]

_CLAIM = "What is claimed"
_HOW = "How hard to try"

_MOST_SAMPLES = 100_000_000
_MOST_POINTS = 10_000_000
_MOST_K = 1_000
"""Audited tables have a few thousand rows."""

_METHODS = (
    methods_by_mechanism("hierarchy", "kanonymity", "metricdp", "submodular", unproven=True)
    + "; lrgeo: along-roads, design, every-point, frozen-scales, lr-geo, places-only, service"
)

_EXAMPLES = """Examples:

```
discreet audit hierarchy --method m-c-ch --epsilon 1 --json

discreet audit hierarchy --method m-c-dp --epsilon 1 --strength sampled --samples 100000

discreet audit kanonymity --method mondrian -k 5

discreet audit c.channel --strength sampled
```
"""


def audit(
    what: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM|FILE",
            help=f"One of {', '.join(sorted(AUDITS))}; or any file that `verify` knows.",
        ),
    ],
    *,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"A method of the mechanism, published ones with false claims included. {_METHODS}."
        ),
    ] = None,
    epsilon: Epsilon = None,
    delta: Annotated[
        str | None,
        typer.Option(help="Slack in probability that is claimed.", rich_help_panel=_CLAIM),
    ] = None,
    rho: Rho = None,
    neighbors: Annotated[
        str | None,
        typer.Option(
            help="Neighbors that are claimed; what is usual for the mechanism without it.",
            rich_help_panel=_CLAIM,
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            help="The claimed least size of an equivalence class.",
            max=_MOST_K,
            rich_help_panel=_CLAIM,
        ),
    ] = None,
    strength: Annotated[
        str | None,
        typer.Option(
            help="exact (every draw replayed on tiny inputs), certified (the verifier) or sampled; the strongest that "
            "says something without it.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(help="Most samples of each input.", max=_MOST_SAMPLES, rich_help_panel=_HOW),
    ] = 20_000,
    failure: Annotated[
        float,
        typer.Option(
            help="Probability with which a sampled audit may refuse a true claim.",
            rich_help_panel=_HOW,
        ),
    ] = 1e-9,
    points: Annotated[
        int | None,
        typer.Option(
            help="With lrgeo: compare so many pairs of points exactly, also across borders, in place of places.",
            min=2,
            max=_MOST_POINTS,
            rich_help_panel=_HOW,
        ),
    ] = None,
    report: Report = None,
    as_json: Json = False,
) -> int:
    """Try to break what is claimed: by replaying every draw, by the verifier, or by samples.

    The published claim is tested, also where it is known to be false: nothing is released, so that no acceptance is
    needed. The exit status is 1 when the claim is refused. That it is not refused proves nothing but what the verdict
    says. Inputs are synthetic; an audit reads no private data.
    """
    from discreet.evaluate.audit.by_name import audit as audit_target

    check_outputs({"--report": report}, what)
    with renamed_arguments({"target": "MECHANISM|FILE", "path": "MECHANISM|FILE"}):
        verdict = audit_target(
            what,
            method=method,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            neighbors=cast("Neighbors | None", neighbors),
            k=k,
            strength=strength,
            samples=samples,
            failure=failure,
            points=points,
        )
    if report is not None:
        from discreet.report.judged import audit_row, chapter

        title = f"{what}, {method}" if method else what
        page = chapter([audit_row(verdict)], notes=[str(verdict.guarantee)])
        write_page([page], report, title=f"An audit of {title}")
    name = {"audited": what, "method": method}
    emit({**name, **verdict.to_dict()}, str(verdict), as_json=as_json, command="audit")
    return Status.CHECK_FAILED if verdict.rejected else Status.DONE


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(audit)
