"""``audit``: try to break what a mechanism or a file claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import (  # noqa: TC001 - Typer reads annotations at run time
    Epsilon,
    Json,
    Report,
    Rho,
)
from discreet.cli.output import Status, emit
from discreet.cli.registry import AUDITS, find, methods_by_mechanism
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from discreet.core.guarantee import Neighbors
    from discreet.evaluate.audit.audit import Audit
    from discreet.evaluate.audit.request import AuditRequest

__all__ = ["audit", "audit_file", "audit_location", "register"]

_SERVICE = "service"
"""The name under which the location service as its users run it is audited."""

_POINTWISE = ("along-roads", "every-point", "places-only")
"""The names under which mechanisms along roads, for every point, and for places, are audited by points."""

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
    from discreet.evaluate.audit.request import AuditRequest

    check_outputs({"--report": report}, what)
    request = AuditRequest(
        method,
        epsilon,
        delta,
        rho,
        cast("Neighbors | None", neighbors),
        k,
        strength,
        samples,
        failure,
        points=points,
    )
    if points is not None and what != "lrgeo":
        raise InvalidProblemError("--points", "nothing but with lrgeo", points)
    found = (
        find(AUDITS, what, "MECHANISM|FILE")(request)
        if what in AUDITS
        else audit_file(what, request)
    )
    if report is not None:
        from discreet.report.judged import audit_row, chapter

        title = f"{what}, {method}" if method else what
        page = chapter([audit_row(found)], notes=[str(found.guarantee)])
        write_page([page], report, title=f"An audit of {title}")
    name = {"audited": what, "method": method}
    emit({**name, **found.to_dict()}, str(found), as_json=as_json, command="audit")
    return Status.CHECK_FAILED if found.rejected else Status.DONE


def audit_location(request: AuditRequest) -> Audit:
    """Audit what people use to report places: a method by its name, or the service.

    Raises
    ------
    InvalidProblemError
        For an unknown method.
    """
    from discreet.evaluate.audit.lrgeo import DEFAULT, PUBLISHED, audit_places

    names = sorted([DEFAULT, *_POINTWISE, _SERVICE, *PUBLISHED])
    if request.method is not None and request.method not in names:
        raise InvalidProblemError("method", f"one of {', '.join(names)}", repr(request.method))
    if request.method in _POINTWISE:
        from discreet.evaluate.simulate.borders import audit_points

        return audit_points(request)
    if request.points is not None and request.method != _SERVICE:
        expected = f"--method {', '.join(_POINTWISE)} or {_SERVICE}"
        raise InvalidProblemError("--points", expected, repr(request.method))
    if request.method != _SERVICE:
        return audit_places(request)
    from discreet.cli.serve import need_service

    need_service("audit lrgeo")
    from discreet.service.recorded import record

    if request.points is not None:
        from discreet.evaluate.simulate.borders import audit_service_points

        return audit_service_points(request, record)
    from discreet.evaluate.simulate.location import audit_service

    return audit_service(request, record)


def audit_file(path: str, request: AuditRequest) -> Audit:
    """Audit what a file claims: channels and mechanisms in all three strengths, everything else by its verifier.

    Raises
    ------
    InvalidProblemError
        For a file that nothing is known of, or a claim beside the file's own.
    """
    from discreet.cli.files import open_channel
    from discreet.cli.mechanisms import open_placed
    from discreet.cli.verify import artefact_kind, judge_file
    from discreet.core.guarantee import guarantee_from_dict
    from discreet.evaluate.audit.audit import certified
    from discreet.evaluate.audit.metricdp import audit_channel

    if not Path(path).exists():
        names = ", ".join(sorted(AUDITS))
        raise InvalidProblemError("MECHANISM|FILE", f"one of {names}, or a file", repr(path))
    for name in ("method", "epsilon", "delta", "rho", "neighbors", "k"):
        if getattr(request, name) is not None:
            raise InvalidProblemError(
                f"--{name}" if name != "k" else "-k",
                "none with a file, which states its own",
                "a value",
            )
    kind = artefact_kind(path)
    if kind not in ("channel", "anchored", "mechanism"):
        request.choose("certified")
    certificate, facts = judge_file(path)
    if kind == "channel":
        design = open_channel(path).design
        return audit_channel(
            design.channel, design.problem.space, design.guarantee, certificate, request
        )
    if kind in ("anchored", "mechanism"):
        from discreet.evaluate.audit.implicit import audit_anchored

        placed = open_placed(path, kind)
        return audit_anchored(placed.channel, placed.guarantee, certificate, request)
    return certified(certificate, guarantee_from_dict(facts["guarantee"]))


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(audit)
