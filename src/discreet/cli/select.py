"""``select``: choose a set that is worth much to private records."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

from discreet.cli.calls import from_options
from discreet.cli.files import check_outputs, open_ledger, page_content, release_files
from discreet.cli.options import (
    HOW,
    PROMISED,
    BudgetOptions,
    HelpAllOption,
    PlanOptions,
    QuietResultOptions,
    output_file,
    read_guarantee,
    read_method,
    require_one,
)
from discreet.cli.output import (
    Status,
    outcome_facts,
    put_out,
    renamed_arguments,
    rendered,
    rendered_plan,
    warn,
    warn_of_weakness,
)
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP
from discreet.core.option_groups import REQUIRED, OptionGroup, option
from discreet.core.outcome import Release, public_facts
from discreet.core.printed import facts
from discreet.core.spaces.inputs import positive_count
from discreet.submodular.methods import METHODS, WITHOUT_GUARANTEE
from discreet.tables.option_groups import FileReadingOptions, QuotesOption
from discreet.tables.reading import as_quoted, read_private
from discreet.tables.recoding import Recoding

if TYPE_CHECKING:
    from discreet.artefact import ReleaseFiles
    from discreet.artefact.sidecar import FileContent
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.outcome import Unproven
    from discreet.submodular import Objective, Plan, Selection
    from discreet.submodular.method import Method

    Outcome = Release[Selection] | Unproven[Selection]

_EXAMPLES = (
    "discreet select --similarity sim.npy --matroid uniform:20 --epsilon 1 --neighbors add-remove-one -o team.choice",
    (
        "discreet select --coverage edges.parquet --candidates candidates.csv --matroid partition:groups.csv\n"
        "    --epsilon 0.5 --neighbors replace-one --json"
    ),
    "discreet verify team.choice",
)


class RecordOptions(OptionGroup, panel="The data"):
    """The private records."""

    similarity: str | None = option(
        "Clients x candidates: each client is served by the chosen candidate most similar to it. Values are "
        "clipped to the range from 0 to --scale, NaN counts as 0. The columns are the public ground set.",
        "FILE.npy",
    )
    coverage: str | None = option(
        "CSV or Parquet file with the columns client, candidate: a client counts once some candidate of its "
        "is chosen. Other candidates than the public ones do not count.",
        "FILE",
    )


class GroundOptions(OptionGroup, panel="What is public"):
    """The public ground set, and the sets that may be chosen."""

    scale: str | None = option(
        "Similarity that counts as 1, such as 100 for percentages; default: 1. Public: choose it without "
        "looking at the data."
    )
    candidates: str | None = option(
        "The candidates, by the column candidate or the first one. Needed with --coverage, unless the "
        "matroid's file names them.",
        "FILE",
    )
    matroid: str = option(
        "What may be chosen: uniform:R, or partition:FILE (candidate, group, capacity), laminar:FILE (the "
        "same, a row for each group of a candidate), graphic:FILE (candidate, u, v), transversal:FILE "
        "(candidate, slot). Default capacity: 1.",
        default=REQUIRED,
    )


class ChoiceGuarantee(BudgetOptions, panel=PROMISED):
    """The guarantee of a choice."""

    delta: str | None = option(
        "With --epsilon: slack in probability, for approximate privacy. With --rho: the delta that an "
        "(epsilon, delta) budget is charged."
    )
    neighbors: str | None = option(
        "add-remove-one or replace-one; one row of the matrix, or one client, is one record. Needed with a "
        "budget."
    )


class RunOptions(OptionGroup, panel=HOW):
    """The method, and the file of the choice."""

    method: str | None = option(
        f"One of {', '.join(METHODS.proven)}. Default: chosen from public facts."
    )
    diagnostics: bool = option(
        "Value, evaluations and seconds on standard error: private, for the curator.", default=False
    )
    output: str | None = output_file(
        "Write the choice there, with its matroid and its proof, for `verify`."
    )


@final
class SelectOptions(
    RecordOptions,
    GroundOptions,
    ChoiceGuarantee,
    RunOptions,
    PlanOptions,
    FileReadingOptions,
    QuotesOption,
    QuietResultOptions,
    HelpAllOption,
):
    """Options of ``select``."""


@from_options(
    SelectOptions,
    examples=_EXAMPLES,
    first=("similarity", "coverage", "epsilon", "neighbors", "output"),
)
def select(options: SelectOptions) -> Status:
    """Choose a set of candidates that is worth much to private records, differentially privately.

    Nothing is printed but the chosen candidates, the guarantee, what each rule of the accountant proves, and how the
    method was chosen.
    """
    from discreet.submodular.selecting import select as select_privately

    check_outputs(
        {"--output": options.output, "--report": options.report},
        options.similarity,
        options.coverage,
        options.candidates,
        options.matroid.partition(":")[2],
        options.ledger,
    )
    if options.accept_no_guarantee and (options.report or options.output) is not None:
        option_typed = "--output" if options.report is None else "--report"
        raise InvalidProblemError(option_typed, "no file with --accept-no-guarantee", "a file")
    known = WITHOUT_GUARANTEE if options.accept_no_guarantee else METHODS
    chosen = read_method(known, options.method, accept_no_guarantee=options.accept_no_guarantee)
    guarantee = _guarantee(options)
    warn_of_weakness(guarantee, quiet=options.quiet)
    files = options.similarity, options.coverage
    require_one("--similarity", "a file here, or with --coverage", *files)
    records = "--coverage" if options.similarity is None else "--similarity"
    watched: list[Objective] = []

    def watch(objective: Objective) -> Objective:
        watched.append(objective)
        return objective

    outcome: Outcome
    started = time.perf_counter()
    with renamed_arguments({**_ARGUMENTS, "source": records}):
        data = {
            "similarity": options.similarity,
            "scale": options.scale,
            "coverage": _coverage(options),
            "candidates": options.candidates,
        }
        if options.plan:
            put_out(_rendered_plan(options, guarantee, chosen, data))
            return Status.DONE
        if guarantee is None:
            if chosen is None:
                names = ", ".join(sorted(WITHOUT_GUARANTEE))
                raise InvalidProblemError("--method", f"one of {names}", "none")
            outcome = _without_guarantee(options.matroid, data, chosen, watch)
            warn(f"NOT PRIVATE, must not be published: {outcome.reason}", quiet=options.quiet)
        else:
            outcome = select_privately(
                options.matroid,
                guarantee,
                **data,
                method=chosen,
                budget=open_ledger(options.ledger, options.dataset),
                dataset=options.dataset,
                budget_delta=None if options.rho is None else options.delta,
                watch=watch,
                outputs=lambda planned: _outputs(planned, options),
            )
    if options.diagnostics:
        _diagnose(watched[0], outcome, time.perf_counter() - started)
    _warn_of_clipping(watched[0], quiet=options.quiet)
    if guarantee is None:
        put_out(_rendered(outcome, options))
    return Status.DONE


_ARGUMENTS = {
    name: f"--{name}" for name in ("similarity", "method", "candidates", "matroid", "scale")
}
"""Argument of the library -> option."""


def _coverage(options: SelectOptions) -> Any:  # noqa: ANN401 - a path or a frame
    """Return the table of coverage, read row by row, or None without the option; InvalidProblemError if unreadable."""
    if options.coverage is None:
        return None
    source = as_quoted(options.coverage, options.quotes, "--quotes")
    return read_private(source, "--coverage", options.reading, Recoding())


def _without_guarantee(
    matroid: str,
    data: dict[str, Any],
    method: Any,  # noqa: ANN401 - of several kinds
    watch: Any,  # noqa: ANN401 - a function of an objective
) -> Unproven[Selection]:
    """Choose by a method without a guarantee, from all records; `watch` wraps the objective, to read its evaluations.

    `matroid` is its text, `data` the arguments of :func:`state_selection`. The cost is that of the method; the result
    must not be published.
    """
    from discreet.submodular import reproduce
    from discreet.submodular.selecting import state_selection

    stated = state_selection(matroid, **data)
    n_elements = stated.matroid.n_elements
    named = stated.candidates if isinstance(stated.candidates, list) else None
    stated.objective.check(stated.records, n_elements)
    objective = stated.objective.open(stated.records, n_elements, named)
    made = reproduce(watch(objective), stated.matroid, method)
    return replace(
        made, result=replace(made.result, candidates=None if named is None else tuple(named))
    )


def _outputs(planned: Plan, options: SelectOptions) -> ReleaseFiles:
    """Return the files of a choice and what is printed of it; without any file it is only printed.

    The report audits the method by replaying draws on synthetic records, for a few seconds.

    `planned` is the plan, whose candidates name the elements.
    """
    from discreet.artefact.choice import choice_content

    def page(made: Release[Selection]) -> FileContent:
        from discreet.report.trying import audit_choice

        audits, title = audit_choice(made, planned.matroid), "A private choice, with its proof"
        names = planned.candidates or range(planned.matroid.n_elements)
        return page_content(
            "submodular", made, title=title, names=[str(one) for one in names], audits=audits
        )

    return release_files(
        "select",
        {
            "--output": (options.output, choice_content, None),
            "--report": (options.report, page, None),
        },
        lambda made, _left: _rendered(made, options),
        text_has_result=True,
    )


def _rendered_plan(
    options: SelectOptions,
    guarantee: DPGuarantee | None,
    method: Method | None,
    data: dict[str, Any],
) -> str:
    """Check the names and the shape of the records, and render what a choice would do and cost.

    `data` are the arguments of :func:`state_selection`. No value of a record is read.

    `method` None lets the plan choose. InvalidProblemError without a guarantee, and for candidates that do not fit.
    """
    from discreet.submodular import plan
    from discreet.submodular.method import draws_in_words, score_noise
    from discreet.submodular.selecting import state_selection

    if guarantee is None:
        raise InvalidProblemError("--plan", "none with --accept-no-guarantee", "both")
    stated = state_selection(options.matroid, **data)
    planned = plan(
        stated.candidates, stated.matroid, guarantee, objective=stated.objective, method=method
    )
    planned.check(stated.records)
    name, draws, count = planned.method.name, planned.draws, options.plan_count
    noise, law = score_noise(name, draws), draws_in_words(name, draws.mechanism, draws.coefficient)
    rows: dict[str, Any] = {
        "method": name,
        "why": planned.why,
        "draws": draws.draws,
        "law": law,
        "coefficient": draws.coefficient,
        "score_noise": noise,
        "accounting": [line.to_dict() for line in draws.accounting],
    }
    lines = [
        ("method", f"{name}: {planned.why}"),
        ("draws", f"{draws.draws}: {law}"),
        *(("accounting", f"{one.rule}: {one.guarantee}") for one in draws.accounting),
    ]
    if noise is not None:
        words = (
            f"as by Gumbel noise of standard deviation {printed.estimate(noise, 3)} on each score"
        )
        if count is not None:
            positive_count(count, "--plan-count")
            rows["coefficient_of_variation"] = noise / count
            share = printed.share(noise / count, 1)
            words += f"; coefficient of variation at a score of {printed.count(count)}: {share}"
        lines.append(("plan", words))
    return rendered_plan("select", options, planned, rows, lines)


def _guarantee(budget: SelectOptions) -> DPGuarantee | None:
    """Return the requested guarantee, or None with ``--accept-no-guarantee``.

    InvalidProblemError for amounts or options that do not fit together, or no neighbors.
    """
    if budget.accept_no_guarantee:
        amounts = (budget.epsilon, budget.rho, budget.delta)
        if any(value is not None for value in (*amounts, budget.ledger)):
            raise InvalidProblemError(
                "--accept-no-guarantee", "neither a budget nor a ledger with it", "one"
            )
        return None
    promised = read_guarantee(budget.epsilon, budget.rho, budget.neighbors)
    if budget.delta is None:
        return promised
    if isinstance(promised, PureDP):
        return ApproxDP(promised.epsilon, budget.delta, promised.neighbors)
    if budget.ledger is None:
        expected = "none with --rho but with --ledger, whose budget it is a part of"
        raise InvalidProblemError("--delta", expected, repr(budget.delta))
    return promised


def _diagnose(objective: Objective, outcome: Outcome, seconds: float) -> None:
    """Write value, evaluations and `seconds` of a choice to standard error, marked as private; one evaluation of f.

    `objective` is the one that the choice was made on, which counts its evaluations.
    """
    from discreet.submodular import diagnose

    evaluations = objective.evaluations
    value = float(diagnose(objective, outcome.result).value)
    sys.stderr.write(
        f"discreet: PRIVATE diagnostics, not for publication: value {printed.estimate(value)}, {evaluations} "
        f"evaluations, {printed.estimate(seconds, 3)} s\n"
    )


def _warn_of_clipping(objective: Objective, *, quiet: bool) -> None:
    """Print the number of similarities outside of the public range, if any, marked as private, unless `quiet`."""
    if objective.clipped:
        scale, n = printed.decimal(objective.scale), printed.count(objective.clipped)
        warn(
            f"PRIVATE, for the curator only: similarities outside of 0 to {scale} or missing: "
            f"{n}. Larger ones count as {scale}, all others as 0. --scale states "
            "another range, such as 100 for percentages.",
            quiet=quiet,
        )


def _rendered(outcome: Outcome, options: SelectOptions) -> str:
    """Return the chosen elements, the guarantee and the accountant's lines as text or JSON."""
    text = str(outcome) if isinstance(outcome, Release) else facts(public_facts(outcome))
    data = outcome_facts(
        outcome,
        chosen=list(outcome.result.names),
        accounting=[line.to_dict() for line in outcome.result.accounting],
        why=list(outcome.provenance.method_trace),
        seeded=outcome.provenance.seeded,
    )
    return rendered("select", options, data, text)
