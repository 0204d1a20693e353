"""``attack``: infer what can be inferred from what a mechanism or a file gives out."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import (  # noqa: TC001 - Typer reads annotations at run time
    Epsilon,
    Json,
    Report,
)
from discreet.cli.output import Status, emit, renamed_arguments
from discreet.cli.registry import methods_by_mechanism
from discreet.core.errors import InvalidProblemError
from discreet.evaluate.registry import ATTACKS

__all__ = ["attack", "register"]

_RUN = "What a mechanism is run with"
_CHANNELS = "Channels"
_TABLES = "Tables"
_HOW = "How hard to try"

_MOST_STEPS = 10_000
_MOST_TRIALS = 10_000_000

_METHODS = "; ".join(
    (
        methods_by_mechanism("hierarchy", unproven=True),
        methods_by_mechanism("kanonymity", "metricdp", "submodular", unproven=False),
    )
)

_EXAMPLES = """Examples:

```
discreet attack c.channel --reports 1,10,100 --steps 12 --json

discreet attack out.csv --against patients.csv --others neighbors.csv --sensitive disease

discreet attack hierarchy --method m-h-dp --epsilon 1

discreet attack submodular --epsilon 1 --report attack.html

discreet attack lrgeo --mode published --json

discreet attack lrgeo --mode places-only
```
"""


def attack(
    what: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM|FILE",
            help=f"One of {', '.join(sorted(ATTACKS))}, on synthetic data; or a channel or an anonymized table.",
        ),
    ],
    *,
    method: Annotated[
        str | None,
        typer.Option(help=f"A method of the mechanism. {_METHODS}.", rich_help_panel=_RUN),
    ] = None,
    epsilon: Epsilon = None,
    k: Annotated[
        int | None,
        typer.Option("-k", help="Least size of an equivalence class.", rich_help_panel=_RUN),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="published|sound|every-point|places-only",
            help="How the location service runs, with lrgeo; the last two attack borders between places.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    reports: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="Numbers of reports of one secret. Default: 1,2,5,10.",
            rich_help_panel=_CHANNELS,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Follow a user who moves and reports so many times.",
            max=_MOST_STEPS,
            rich_help_panel=_CHANNELS,
        ),
    ] = None,
    stride: Annotated[
        float | None,
        typer.Option(
            help="About how far a step goes. Default: the distance to the nearest secret.",
            rich_help_panel=_CHANNELS,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The original table: whom the attacker knows.",
            rich_help_panel=_TABLES,
        ),
    ] = None,
    others: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="People like those, who are not in the table: the control group.",
            rich_help_panel=_TABLES,
        ),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="All people among whom the attacker looks, those of the table with them.",
            rich_help_panel=_TABLES,
        ),
    ] = None,
    again: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A second anonymized table of the same people, to intersect with.",
            rich_help_panel=_TABLES,
        ),
    ] = None,
    sensitive: Annotated[
        str | None,
        typer.Option(help="The column that the attacker wants to know.", rich_help_panel=_TABLES),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            help="Draws or games. Default: each attack's own number.",
            max=_MOST_TRIALS,
            rich_help_panel=_HOW,
        ),
    ] = None,
    failure: Annotated[
        float,
        typer.Option(help="Probability with which an interval may miss.", rich_help_panel=_HOW),
    ] = 1e-6,
    report: Report = None,
    as_json: Json = False,
) -> int:
    """Attack what a mechanism or a file gives out, by the best attacks known.

    Each line tells how well the attacker does, how well a naive one does who does not look, and how well the attacker
    does against people whom the release does not concern. Where the claim limits every attacker, the exit status is 1
    when the limit was broken. That it was kept proves nothing. Attacks on tables read the original: what they print is
    for the curator.
    """
    from discreet.evaluate.attack.by_name import attack as attack_target

    check_outputs({"--report": report}, what, against, others, population, again)
    with renamed_arguments({"target": "MECHANISM|FILE", "path": "MECHANISM|FILE"}):
        outcome = attack_target(
            what,
            method=method,
            epsilon=epsilon,
            k=k,
            mode=mode,
            reports=_numbers(reports),
            steps=steps,
            stride=stride,
            against=against,
            others=others,
            population=population,
            again=again,
            sensitive=sensitive,
            trials=trials,
            failure=failure,
        )
    if report is not None:
        from discreet.report.attacked import chapter

        title = f"An attack on {outcome.target}"
        write_page([chapter(outcome)], report, title=title, private=bool(outcome.private))
    emit(outcome.to_dict(), str(outcome), as_json=as_json, command="attack")
    return Status.CHECK_FAILED if outcome.kept is False else Status.DONE


def _numbers(given: str | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    try:
        return tuple(int(part) for part in given.split(","))
    except ValueError:
        expected = "whole numbers with commas"
        raise InvalidProblemError("--reports", expected, repr(given)) from None


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(attack)
