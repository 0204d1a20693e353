"""``attack``: infer what can be inferred from what a mechanism or a file gives out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import (  # noqa: TC001 - Typer reads annotations at run time
    Epsilon,
    Json,
    Report,
)
from discreet.cli.output import Status, emit
from discreet.cli.registry import ATTACKS, FILE_ATTACKS, find
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from discreet.evaluate.attack.finding import Attacked

__all__ = ["attack", "register"]

_RUN = "What a mechanism is run with"
_CHANNELS = "Channels"
_TABLES = "Tables"
_HOW = "How hard to try"

_EXAMPLES = """Examples:

```
discreet attack c.channel --reports 1,10,100 --steps 12 --json

discreet attack out.csv --original patients.csv --others neighbors.csv --sensitive disease

discreet attack hierarchy --method m_h_dp --epsilon 1

discreet attack submodular --epsilon 1 --report attack.html

discreet attack lrgeo --mode published --json
```
"""


def attack(
    what: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM|FILE",
            help=f"One of {', '.join(sorted(ATTACKS))}, on made data; or a channel or an anonymized table.",
        ),
    ],
    *,
    method: Annotated[
        str | None, typer.Option(help="A method of the mechanism.", rich_help_panel=_RUN)
    ] = None,
    epsilon: Epsilon = None,
    k: Annotated[
        int | None, typer.Option("-k", help="Rows that look alike.", rich_help_panel=_RUN)
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="published|sound",
            help="How the location service runs, with lrgeo.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    reports: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="Numbers of reports of one secret; 1,2,5,10 unless told.",
            rich_help_panel=_CHANNELS,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Follow somebody who moves and reports so many times.", rich_help_panel=_CHANNELS
        ),
    ] = None,
    stride: Annotated[
        float | None,
        typer.Option(
            help="How far a step goes, about; to the nearest secret unless told.",
            rich_help_panel=_CHANNELS,
        ),
    ] = None,
    original: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The table before: whom the attacker knows.",
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
            help="Draws or games; each attack's own number unless told.", rich_help_panel=_HOW
        ),
    ] = None,
    failure: Annotated[
        float,
        typer.Option(help="Probability with which an interval may miss.", rich_help_panel=_HOW),
    ] = 1e-6,
    report: Report = None,
    as_json: Json = False,
) -> int:
    """Attack what a mechanism or a file gives out, as well as anybody knows how.

    Each line tells how well the attacker does, how well a naive one does who does not look, and how well the attacker
    does against people whom the release does not concern. Where the claim limits every attacker, the exit status is 1
    when the limit was broken. That it was kept proves nothing. Attacks on tables read the original: what they print is
    for the curator.
    """
    from discreet.evaluate.attack.asked import AttackRequest

    check_outputs({"--report": report}, what, original, others, population, again)
    asked = AttackRequest(
        what,
        method,
        epsilon,
        k,
        original,
        others,
        population,
        again,
        sensitive,
        _numbers(reports),
        steps,
        stride,
        trials,
        failure,
        mode=mode,
    )
    found: Attacked = (
        find(ATTACKS, what, "MECHANISM|FILE")(asked)
        if what in ATTACKS
        else find(FILE_ATTACKS, _kind(what), "MECHANISM|FILE")(asked)
    )
    text = f"{found.target}\n\n{found}"
    if found.private:
        text += f"\n\nprivate: {found.private}"
    if report is not None:
        from discreet.report.attacked import chapter

        write_page([chapter(found)], report, title=f"An attack on {found.target}")
    emit(found.to_dict(), text, as_json=as_json, command="attack")
    return Status.CHECK_FAILED if found.kept is False else Status.DONE


def _kind(path: str) -> str:
    from discreet.cli.judging import artefact_kind

    if not Path(path).exists():
        names = ", ".join(sorted(ATTACKS))
        raise InvalidProblemError("MECHANISM|FILE", f"one of {names}, or a file", repr(path))
    return artefact_kind(path)


def _numbers(given: str | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    try:
        return tuple(int(part) for part in given.split(","))
    except ValueError:
        raise InvalidProblemError("--reports", "whole numbers with commas", repr(given)) from None


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(attack)
