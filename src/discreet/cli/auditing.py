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
from discreet.cli.registry import AUDITS, JUDGES, find
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from discreet.core.guarantee import Neighbors
    from discreet.evaluate.asked import AuditRequest
    from discreet.evaluate.audit import Audit

__all__ = ["audit", "audit_file", "register"]

_CLAIM = "What is claimed"
_HOW = "How hard to try"

_EXAMPLES = """Examples:

```
discreet audit hierarchy --method m_c_ch --epsilon 1 --json

discreet audit hierarchy --method m_c_dp --epsilon 1 --strength sampled --samples 100000

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
        typer.Option(help="A method of the mechanism, published ones with false claims included."),
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
        typer.Option("-k", help="Rows that are to look alike.", rich_help_panel=_CLAIM),
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
        int, typer.Option(help="Most samples of each input.", rich_help_panel=_HOW)
    ] = 20_000,
    failure: Annotated[
        float,
        typer.Option(
            help="Probability with which a sampled audit may refuse a true claim.",
            rich_help_panel=_HOW,
        ),
    ] = 1e-9,
    report: Report = None,
    as_json: Json = False,
) -> int:
    """Try to break what is claimed: by replaying every draw, by the verifier, or by samples.

    The published claim is tested, also where it is known to be false: nothing is released, so that no acceptance is
    needed. The exit status is 1 when the claim is refused. That it is not refused proves nothing but what the verdict
    says. Inputs are made ones; an audit reads no private data.
    """
    from discreet.evaluate.asked import AuditRequest

    check_outputs({"--report": report}, what)
    asked = AuditRequest(
        method,
        epsilon,
        delta,
        rho,
        cast("Neighbors | None", neighbors),
        k,
        strength,
        samples,
        failure,
    )
    found = (
        find(AUDITS, what, "MECHANISM|FILE")(asked) if what in AUDITS else audit_file(what, asked)
    )
    if report is not None:
        from discreet.report.judged import audit_row, chapter

        title = f"{what}, {method}" if method else what
        page = chapter([audit_row(found)], notes=[str(found.guarantee)])
        write_page([page], report, title=f"An audit of {title}")
    name = {"audited": what, "method": method}
    emit({**name, **found.to_dict()}, str(found), as_json=as_json, command="audit")
    return Status.CHECK_FAILED if found.rejected else Status.DONE


def audit_file(path: str, asked: AuditRequest) -> Audit:
    """Audit what a file claims: channels and mechanisms in all three strengths, everything else by its verifier.

    Raises
    ------
    InvalidProblemError
        For a file that nothing is known of, or a claim beside the file's own.
    """
    from discreet.cli.files import open_channel
    from discreet.cli.judging import artefact_kind
    from discreet.cli.mechanisms import open_placed
    from discreet.core.guarantee import guarantee_from_dict
    from discreet.evaluate.audit_metricdp import audit_channel
    from discreet.evaluate.certified import certified

    if not Path(path).exists():
        names = ", ".join(sorted(AUDITS))
        raise InvalidProblemError("MECHANISM|FILE", f"one of {names}, or a file", repr(path))
    for name in ("method", "epsilon", "delta", "rho", "neighbors", "k"):
        if getattr(asked, name) is not None:
            raise InvalidProblemError(
                f"--{name}" if name != "k" else "-k",
                "none with a file, which states its own",
                "a value",
            )
    kind = artefact_kind(path)
    if kind not in ("channel", "anchored", "mechanism"):
        asked.choose("certified")
    certificate, facts = find(JUDGES, kind, "FILE")(path, optimality=False)
    if kind == "channel":
        design = open_channel(path).design
        return audit_channel(
            design.channel, design.problem.space, design.guarantee, certificate, asked
        )
    if kind in ("anchored", "mechanism"):
        from discreet.evaluate.audit_anchored import audit_anchored

        placed = open_placed(path, kind)
        return audit_anchored(placed.channel, placed.guarantee, certificate, asked)
    return certified(certificate, guarantee_from_dict(facts["guarantee"]))


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(audit)
