"""``attack``: infer what can be inferred from what a mechanism or a file gives out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import (  # noqa: TC001 - Typer reads annotations at run time
    Epsilon,
    Json,
    Report,
)
from discreet.cli.output import Status, emit
from discreet.cli.registry import ATTACKS, FILE_ATTACKS, find, methods_by_mechanism
from discreet.core.errors import InvalidProblemError
from discreet.core.printed import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.evaluate.attack.finding import Attacked
    from discreet.evaluate.attack.request import AttackRequest
    from discreet.kanonymity.problem import Attribute

__all__ = [
    "attack",
    "attack_channel_file",
    "attack_placed_file",
    "attack_service",
    "attack_table_file",
    "refuse_release",
    "register",
]

_RUN = "What a mechanism is run with"
_CHANNELS = "Channels"
_TABLES = "Tables"
_HOW = "How hard to try"

_MANY, _FEWER = 400, 2_000
"""Places beyond which fewer reports are drawn by default: each draw of the production sampler computes a row."""

_MOST_REPORTS = 10_000
"""Of one secret: half a minute on a channel of nine secrets, 2026-11-22."""

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
        typer.Option("-k", "--k", help="Least size of an equivalence class.", rich_help_panel=_RUN),
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
    from discreet.evaluate.attack.request import AttackRequest

    check_outputs({"--report": report}, what, against, others, population, again)
    request = AttackRequest(
        what,
        method,
        epsilon,
        k,
        against,
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
        find(ATTACKS, what, "MECHANISM|FILE")(request)
        if what in ATTACKS
        else find(FILE_ATTACKS, _kind(what), "MECHANISM|FILE")(request)
    )
    text = f"{one_line(found.target)}\n\n{found}"
    if found.private:
        text += f"\n\nprivate: {one_line(found.private)}"
    if report is not None:
        from discreet.report.attacked import chapter

        title = f"An attack on {found.target}"
        write_page([chapter(found)], report, title=title, private=bool(found.private))
    emit(found.to_dict(), text, as_json=as_json, command="attack")
    return Status.CHECK_FAILED if found.kept is False else Status.DONE


def attack_service(request: AttackRequest) -> Attacked:
    """Attack the modes of the location service through the recorded traffic of its clients, or by borders of places."""
    from discreet.cli.serve import need_service
    from discreet.evaluate.simulate.borders import BORDER_MODES, attack_borders
    from discreet.evaluate.simulate.location import attack_places

    request.only(("mode", "epsilon"))
    if request.mode in BORDER_MODES:
        return attack_borders(request)
    need_service("attack lrgeo")
    from discreet.service.recorded import record

    return attack_places(request, record)


def attack_channel_file(request: AttackRequest) -> Attacked:
    """Attack the channel of a file, within what its guarantee allows."""
    from discreet.cli.files import open_channel
    from discreet.evaluate.attack.design import attack_channel

    request.only(("reports", "steps", "stride"))
    made = open_channel(request.target).design
    return attack_channel(
        made.channel, made.problem, made.guarantee, target=request.target, **request.draws
    )


def attack_placed_file(request: AttackRequest) -> Attacked:
    """Attack the rows of a channel without a table, or of a location service's mechanism, by an even prior."""
    from discreet.cli.mechanisms import open_placed
    from discreet.cli.verify import artefact_kind
    from discreet.evaluate.attack.design import attack_shown
    from discreet.evaluate.attack.rows import ShownRows

    request.only(("reports", "steps", "stride"))
    kept = open_placed(request.target, artefact_kind(request.target))
    drawn = request.draws
    if drawn["trials"] is None and kept.channel.n_secrets > _MANY:
        drawn["trials"] = _FEWER
    return attack_shown(
        ShownRows(kept.channel), kept.channel.space, kept.guarantee, target=request.target, **drawn
    )


def refuse_release(request: AttackRequest) -> Attacked:
    """Refuse counts and measurements: what they were made of is in no file.

    Raises
    ------
    InvalidProblemError
        Always.
    """
    raise InvalidProblemError(
        "FILE",
        "a channel, a mechanism or an anonymized table: an attack on counts needs the truth, and a release "
        "does not hold it; `discreet attack hierarchy` attacks releases of synthetic counts",
        f"a release, {request.target!r}",
    )


def refuse_choice(request: AttackRequest) -> Attacked:
    """Refuse a choice: the records that it was made of are in no file.

    Raises
    ------
    InvalidProblemError
        Always.
    """
    raise InvalidProblemError(
        "FILE",
        "a channel, a mechanism for places or an anonymized table: an attack on a choice needs the records; "
        "`discreet attack submodular` attacks choices of synthetic records",
        f"a choice, {request.target!r}",
    )


def refuse_points(request: AttackRequest) -> Attacked:
    """Refuse a mechanism for every point, or along roads: attacks are on rows of places.

    Raises
    ------
    InvalidProblemError
        Always.
    """
    raise InvalidProblemError(
        "FILE",
        "a channel, a mechanism for places or an anonymized table; `discreet attack lrgeo --mode every-point` attacks "
        f"borders between places, and `discreet audit {shlex.quote(request.target)}` judges this file",
        f"a mechanism for points, {request.target!r}",
    )


def attack_table_file(request: AttackRequest) -> Attacked:
    """Attack a published table, with the original to know people from."""
    from discreet.artefact import load_anonymous
    from discreet.evaluate.attack.tables import attack_tables
    from discreet.tables.columns import no_column
    from discreet.tables.reading import read_rows

    request.only(("against", "others", "population", "again", "sensitive"))
    kept = load_anonymous(request.target)
    names = kept.guarantee.quasi_identifiers
    attributes: list[Attribute] = [one for one in kept.attributes if one.name in names]
    files = {
        name: read_rows(path, f"--{name}")
        for name in ("against", "others", "population", "again")
        if (path := getattr(request, name)) is not None
    }
    if "against" not in files:
        request.need("against")
    for name, column in ((name, column) for name in files if name != "again" for column in names):
        if column not in files[name].columns:
            raise no_column(f"--{name}", column, files[name].columns)
    files["original"] = files.pop("against")
    published = read_rows(request.target, "FILE")
    again: tuple[Any, Sequence[Attribute]] | None = None
    if request.again is not None:
        second = load_anonymous(request.again)
        promised = second.guarantee.quasi_identifiers
        known: list[Attribute] = [one for one in second.attributes if one.name in promised]
        again = (files.pop("again"), known)
    return attack_tables(published, kept.guarantee, attributes, request, files=files, again=again)


def _kind(path: str) -> str:
    from discreet.cli.verify import artefact_kind

    if not Path(path).exists():
        names = ", ".join(sorted(ATTACKS))
        raise InvalidProblemError("MECHANISM|FILE", f"one of {names}, or a file", repr(path))
    return artefact_kind(path)


def _numbers(given: str | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    expected = f"whole numbers of at most {_MOST_REPORTS:,} with commas"
    try:
        numbers = tuple(int(part) for part in given.split(","))
    except ValueError:
        raise InvalidProblemError("--reports", expected, repr(given)) from None
    if max(numbers) > _MOST_REPORTS:
        raise InvalidProblemError("--reports", expected, repr(given))
    return numbers


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(attack)
