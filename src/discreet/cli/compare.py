"""``compare``: what several methods lose under one guarantee, at several strengths."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, final

from discreet.cli.calls import from_call
from discreet.cli.files import check_outputs, write_page
from discreet.cli.inputs import parse_budget
from discreet.cli.options import PlaceOptions, QuietResultOptions
from discreet.cli.output import Status, emit, renamed_arguments, warn
from discreet.cli.progress import progress
from discreet.cli.statement import AimOptions, state
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import Option, argument, option
from discreet.evaluate.compare import ComparisonInterrupted, MechanismComparison
from discreet.evaluate.compare import compare as compare_target
from discreet.evaluate.registry import COMPARED, FRONTIERS

if TYPE_CHECKING:
    from discreet.metricdp.problem import Problem

_EXAMPLES = (
    "discreet compare --grid 6x6 --unit km --epsilon 0.5,1,2 --methods optimal,exponential,planar-laplace",
    (
        "discreet compare places.csv --x lon --y lat --metric haversine --epsilon 1,2 --prior weight "
        "--report frontier.html"
    ),
    "discreet compare hierarchy --epsilon 0.5,1,2 --methods m-c-dp-weighted,m-h-dp",
    "discreet compare kanonymity -k 2,5,10 --report frontier.html",
)


_SHOWN = {
    "epsilon": Option(help="No default."),
    "k": Option("K,K,...", flags=("-k", "--k")),
    "methods": Option("A,B,...", help=f"Of a problem: {', '.join(sorted(COMPARED))}."),
    "time_limit": Option("SECONDS"),
}


@final
class CompareOptions(PlaceOptions, QuietResultOptions):
    """Options of ``compare`` that state a problem, and its results."""

    places: str | None = argument(
        "CSV or Parquet file, one row for each secret; or hierarchy, kanonymity or submodular, whose methods "
        "are then run on synthetic data.",
        "PLACES|MECHANISM",
        default=None,
    )
    loss: str = option("What a wrong report costs, as in design.", default="distance")
    prior: str = option("How likely each secret is, as in design.", default="uniform")
    reports: str | None = option("Secrets that may be reported, as in design.")


@from_call(
    compare_target, _SHOWN, CompareOptions, skip=("target", "on_progress"), examples=_EXAMPLES
)
def compare(given: dict[str, Any], options: CompareOptions) -> Status:
    """Compare what methods lose under the same guarantee, at one or more strengths.

    Every channel is repaired, rounded and verified like a design, so that losses are certified, and the epsilon that
    each channel keeps is computed from its integers: within the radius, and for all pairs. Memory is the peak beyond
    what was held before, where the system tells. With the name of another mechanism: what its methods lose on synthetic
    data, with intervals.
    """
    target: Problem | str = options.places or ""
    mechanism = options.places in FRONTIERS and options.grid is None
    report = options.report
    if mechanism:
        stated = (*options.of(PlaceOptions), "loss", "prior", "reports")
        options.refuse(stated, f"none with {target}")
        check_outputs({"--report": report})
    else:
        epsilon = given.get("epsilon")
        if epsilon is None:
            raise InvalidProblemError("--epsilon", "budgets such as 0.5,1,2", "none")
        aims = AimOptions(
            epsilon=epsilon.split(",")[0],
            radius=given.get("radius"),
            loss=options.loss,
            prior=options.prior,
            reports=options.reports,
        )
        check_outputs({"--report": report}, options.places, options.embeddings, *aims.read)
        budgets, units = zip(*map(parse_budget, epsilon.split(",")), strict=True)
        if len(set(budgets)) < len(budgets) or len(set(units)) > 1:
            expected = "different budgets in one unit, such as 0.5,1,2"
            raise InvalidProblemError("--epsilon", expected, repr(epsilon))
        target, given["epsilon"] = state(options.places, options, aims).problem, budgets
    status = Status.DONE
    try:
        with (
            progress(sys.stderr, quiet=options.quiet or mechanism) as on_progress,
            renamed_arguments({"target": "PLACES"}),
        ):
            outcome = compare_target(target, **given, on_progress=on_progress)
    except ComparisonInterrupted as interrupt:
        status, outcome = Status.INTERRUPTED, interrupt.best
        warn(f"interrupted after {len(outcome.entries)} of {outcome.planned} designs")
    for warning in outcome.warnings:
        warn(warning, quiet=options.quiet)
    if isinstance(outcome, MechanismComparison):
        about: dict[str, Any] = {
            "parameter": outcome.parameter,
            "title": f"What {outcome.mechanism} loses",
            "note": outcome.data,
        }
        headline = f"What a choice of {outcome.parameter} costs"
        write_page(report, "frontier", outcome.points, headline=headline, **about)
    elif outcome.entries:
        unit, headline = outcome.guarantee.unit, "What privacy costs, by method"
        write_page(report, "comparison", outcome.entries, headline=headline, unit=unit)
    emit("compare", options, outcome.to_dict(), str(outcome))
    return status
