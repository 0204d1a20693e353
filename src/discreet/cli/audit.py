"""``audit``: try to break what a mechanism or a file claims."""

from __future__ import annotations

from typing import Any

from discreet.cli.calls import from_call
from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import ResultOptions
from discreet.cli.output import Status, emit, renamed_arguments
from discreet.core.moved import INSTALL
from discreet.core.option_groups import Option
from discreet.evaluate.audit.by_name import audit as audit_target
from discreet.evaluate.registry import methods_by_mechanism

_CLAIM = "What is claimed"
_HOW = "How hard to try"

_METHODS = (
    methods_by_mechanism("hierarchy", "kanonymity", "metricdp", "submodular", unproven=True)
    + "; lrgeo: design, every-point, places-only, service. Published ones whose claim is false, such as m-c-ch, "
    f"come with `{INSTALL}`"
)

_EXAMPLES = (
    "discreet audit submodular --method lazy-greedy --epsilon 1 --json",
    "discreet audit hierarchy --method m-c-dp --epsilon 1 --strength sampled --samples 100000",
    "discreet audit kanonymity --method mondrian -k 5",
    "discreet audit c.channel --strength sampled",
)


_SHOWN = {
    "target": Option("MECHANISM|FILE"),
    "method": Option(help=f"One of {_METHODS}."),
    **dict.fromkeys(("epsilon", "delta", "rho", "neighbors"), Option(panel=_CLAIM)),
    "k": Option(panel=_CLAIM, flags=("-k", "--k")),
    **dict.fromkeys(("strength", "samples", "failure", "points"), Option(panel=_HOW)),
}


@from_call(audit_target, _SHOWN, ResultOptions, examples=_EXAMPLES)
def audit(given: dict[str, Any], options: ResultOptions) -> Status:
    """Try to break what is claimed: by replaying every draw, by the verifier, or by samples.

    The published claim is tested, also where it is known to be false: nothing is released, so that no acceptance is
    needed. The exit status is 1 when the claim is refused. That it is not refused proves nothing but what the verdict
    says. Inputs are synthetic; an audit reads no private data.
    """
    target, method = given["target"], given.get("method")
    check_outputs({"--report": options.report}, target)
    with renamed_arguments({"target": "MECHANISM|FILE", "path": "MECHANISM|FILE"}):
        verdict = audit_target(**given)
    title = f"{target}, {method}" if method else target
    write_page(options.report, "audit", verdict, headline=f"An audit of {title}")
    name = {"audited": target, "method": method}
    emit("audit", options, {**name, **verdict.to_dict()}, str(verdict))
    return Status.CHECK_FAILED if verdict.rejected else Status.DONE
