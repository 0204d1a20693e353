"""``attack``: infer what can be inferred from what a mechanism or a file gives out."""

from __future__ import annotations

import sys
from typing import Any

from discreet.cli.calls import from_call
from discreet.cli.files import check_outputs, write_page
from discreet.cli.options import QuietResultOptions
from discreet.cli.output import Status, emit, renamed_arguments
from discreet.cli.progress import announcing_compilation, progress
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import Option
from discreet.evaluate.attack.by_name import attack as attack_target
from discreet.evaluate.registry import methods_by_mechanism

_RUN = "What a mechanism is run with"
_CHANNELS = "Channels"
_TABLES = "Tables"
_HOW = "How hard to try"

_METHODS = methods_by_mechanism("hierarchy", "kanonymity", "metricdp", "submodular", unproven=False)

_EXAMPLES = (
    "discreet attack c.channel --reports 1,10,100 --steps 12 --json",
    "discreet attack out.csv --against patients.csv --others neighbors.csv --sensitive disease",
    "discreet attack hierarchy --method m-h-dp --epsilon 1",
    "discreet attack submodular --epsilon 1 --report attack.html",
    "discreet attack lrgeo --mode sound --json",
    "discreet attack lrgeo --mode places-only",
)


def _numbers(given: str) -> tuple[int, ...]:
    """Return the whole numbers of a text with commas between them, such as ``1,10``; InvalidProblemError for others."""
    try:
        return tuple(int(part) for part in given.split(","))
    except ValueError:
        expected = "whole numbers with commas"
        raise InvalidProblemError("--reports", expected, repr(given)) from None


_SHOWN = {
    "target": Option("MECHANISM|FILE"),
    "method": Option(panel=_RUN, help=f"One of {_METHODS}."),
    "epsilon": Option(panel=_RUN),
    "k": Option(panel=_RUN, flags=("-k", "--k")),
    "mode": Option("sound|every-point|places-only", _RUN),
    "reports": Option("N,N,...", _CHANNELS, read=_numbers),
    **dict.fromkeys(("steps", "stride"), Option(panel=_CHANNELS)),
    **dict.fromkeys(("against", "others", "population", "again"), Option("FILE", _TABLES)),
    "sensitive": Option(panel=_TABLES),
    **dict.fromkeys(("trials", "failure"), Option(panel=_HOW)),
}


@from_call(attack_target, _SHOWN, QuietResultOptions, skip=("on_progress",), examples=_EXAMPLES)
def attack(given: dict[str, Any], options: QuietResultOptions) -> Status:
    """Attack what a mechanism or a file gives out, by the best attacks known.

    Each line tells how well the attacker does, how well a naive one does who does not look, and how well the attacker
    does against people whom the release does not concern. Where the claim limits every attacker, the exit status is 1
    when the limit was broken. That it was kept proves nothing. Attacks on tables read the original: what they print is
    for the curator.
    """
    read = (given.get(name) for name in ("target", "against", "others", "population", "again"))
    check_outputs({"--report": options.report}, *read)
    with (
        renamed_arguments({"target": "MECHANISM|FILE", "path": "MECHANISM|FILE"}),
        announcing_compilation(quiet=options.quiet),
        progress(sys.stderr, quiet=options.quiet, start="attacking") as on_progress,
    ):
        outcome = attack_target(**given, on_progress=on_progress)
    headline, private = f"An attack on {outcome.target}", bool(outcome.private)
    write_page(options.report, "attack", outcome, headline=headline, private=private)
    emit("attack", options, outcome.to_dict(), str(outcome))
    return Status.CHECK_FAILED if outcome.kept is False else Status.DONE
