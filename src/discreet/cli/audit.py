"""``audit``: try to break what a mechanism or a file claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.calls import TypedOption, from_call
from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import Json, Report  # noqa: TC001 - Typer reads annotations at run time
from discreet.cli.output import Status, emit, renamed_arguments
from discreet.core.moved import INSTALL
from discreet.evaluate.audit.by_name import audit as audit_target
from discreet.evaluate.registry import methods_by_mechanism

if TYPE_CHECKING:
    import typer

__all__ = ["audit", "register"]

_CLAIM = "What is claimed"
_HOW = "How hard to try"

_METHODS = (
    methods_by_mechanism("hierarchy", "kanonymity", "metricdp", "submodular", unproven=True)
    + "; lrgeo: design, every-point, places-only, service. Published ones whose claim is false, such as m-c-ch, "
    f"come with `{INSTALL}`"
)

_EXAMPLES = """Examples:

```
discreet audit submodular --method lazy-greedy --epsilon 1 --json

discreet audit hierarchy --method m-c-dp --epsilon 1 --strength sampled --samples 100000

discreet audit kanonymity --method mondrian -k 5

discreet audit c.channel --strength sampled
```
"""


_SHOWN = {
    "target": TypedOption("MECHANISM|FILE"),
    "method": TypedOption(more=f"One of {_METHODS}."),
    "epsilon": TypedOption(panel=_CLAIM),
    "delta": TypedOption(panel=_CLAIM),
    "rho": TypedOption(panel=_CLAIM),
    "neighbors": TypedOption(panel=_CLAIM),
    "k": TypedOption(panel=_CLAIM, flag="-k"),
    "strength": TypedOption(panel=_HOW),
    "samples": TypedOption(panel=_HOW),
    "failure": TypedOption(panel=_HOW),
    "points": TypedOption(panel=_HOW),
}


@from_call(audit_target, _SHOWN)
def audit(given: dict[str, Any], *, report: Report = None, as_json: Json = False) -> int:
    """Try to break what is claimed: by replaying every draw, by the verifier, or by samples.

    The published claim is tested, also where it is known to be false: nothing is released, so that no acceptance is
    needed. The exit status is 1 when the claim is refused. That it is not refused proves nothing but what the verdict
    says. Inputs are synthetic; an audit reads no private data.
    """
    target, method = given["target"], given.get("method")
    check_outputs({"--report": report}, target)
    with renamed_arguments({"target": "MECHANISM|FILE", "path": "MECHANISM|FILE"}):
        verdict = audit_target(**given)
    if report is not None:
        from discreet.report.judged import audit_row, chapter

        title = f"{target}, {method}" if method else target
        page = chapter([audit_row(verdict)], notes=[str(verdict.guarantee)])
        write_page([page], report, title=f"An audit of {title}")
    name = {"audited": target, "method": method}
    emit({**name, **verdict.to_dict()}, str(verdict), as_json=as_json, command="audit")
    return Status.CHECK_FAILED if verdict.rejected else Status.DONE


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(audit)
