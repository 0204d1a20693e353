"""``select``: choose a set that is worth much to private records."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from discreet.cli.files import check_outputs, open_ledger, page_content, release_files
from discreet.cli.options import (
    HOW,
    PROMISED,
    Dataset,
    Epsilon,
    Json,
    Ledger,
    NoGuarantee,
    Quiet,
    Quotes,
    Report,
    Rho,
    read_guarantee,
    read_method,
)
from discreet.cli.output import Status, put_out, rendered, warn, warn_of_weakness
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP
from discreet.core.outcome import Release, public_facts
from discreet.core.printed import facts
from discreet.core.release import charge_note
from discreet.submodular.methods import METHODS, WITHOUT_GUARANTEE
from discreet.submodular.objectives.combine import CountedObjective
from discreet.tables.reading import as_quoted

if TYPE_CHECKING:
    from discreet.artefact import ReleaseFiles
    from discreet.artefact.sidecar import FileContent
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.outcome import Unproven
    from discreet.submodular import Objective, Plan, Selection

    Outcome = Release[Selection] | Unproven[Selection]

__all__ = ["register", "select"]

_DATA = "The data"
_PUBLIC = "What is public"


_EXAMPLES = """Examples:

```
discreet select --similarity sim.npy --matroid uniform:20 --epsilon 1 --neighbors add-remove-one -o team.choice

discreet select --coverage edges.parquet --candidates candidates.csv --matroid partition:groups.csv
    --epsilon 0.5 --neighbors replace-one --json

discreet verify team.choice
```
"""


def select(
    *,
    similarity: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.npy",
            help="Clients x candidates: each client is served by the chosen candidate most similar to it. Values are "
            "clipped to the range from 0 to --scale, NaN counts as 0. The columns are the public ground set.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            help="Similarity that counts as 1, such as 100 for percentages; default: 1. Public: choose it without "
            "looking at the data.",
            rich_help_panel=_PUBLIC,
        ),
    ] = None,
    coverage: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="CSV or Parquet file with the columns client, candidate: a client counts once some candidate of its "
            "is chosen. Other candidates than the public ones do not count.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    quotes: Quotes = "doubled",
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The candidates, by the column candidate or the first one. Needed with --coverage, unless the "
            "matroid's file names them.",
            rich_help_panel=_PUBLIC,
        ),
    ] = None,
    matroid: Annotated[
        str,
        typer.Option(
            help="What may be chosen: uniform:R, or partition:FILE (candidate, group, capacity), laminar:FILE (the "
            "same, a row for each group of a candidate), graphic:FILE (candidate, u, v), transversal:FILE "
            "(candidate, slot). Default capacity: 1.",
            rich_help_panel=_PUBLIC,
        ),
    ],
    epsilon: Epsilon = None,
    delta: Annotated[
        str | None,
        typer.Option(
            help="With --epsilon: slack in probability, for approximate privacy. With --rho: the delta that an "
            "(epsilon, delta) budget is charged.",
            rich_help_panel=PROMISED,
        ),
    ] = None,
    rho: Rho = None,
    neighbors: Annotated[
        str | None,
        typer.Option(
            help="add-remove-one or replace-one; one row of the matrix, or one client, is one record. Needed with a "
            "budget.",
            rich_help_panel=PROMISED,
        ),
    ] = None,
    ledger: Ledger = None,
    dataset: Dataset = None,
    accept_no_guarantee: NoGuarantee = False,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(METHODS.proven)}. Default: chosen from public facts.",
            rich_help_panel=HOW,
        ),
    ] = None,
    diagnostics: Annotated[
        bool,
        typer.Option(
            "--diagnostics",
            help="Value, evaluations and seconds on standard error: private, for the curator.",
            rich_help_panel=HOW,
        ),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the choice there, with its matroid and its proof, for `verify`.",
            rich_help_panel=HOW,
        ),
    ] = None,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Choose a set of candidates that is worth much to private records, differentially privately.

    Nothing is printed but the chosen candidates, the guarantee, what each rule of the accountant proves, and how the
    method was chosen.
    """
    from discreet.submodular.selecting import select as select_privately

    check_outputs(
        {"--output": output, "--report": report},
        similarity,
        coverage,
        candidates,
        matroid.partition(":")[2],
        ledger,
    )
    if accept_no_guarantee and (report or output) is not None:
        option = "--output" if report is None else "--report"
        raise InvalidProblemError(option, "no such file for what has no guarantee", "one")
    budget = _Budget(epsilon, delta, rho, neighbors, ledger, dataset, accept_no_guarantee)
    known = WITHOUT_GUARANTEE if accept_no_guarantee else METHODS
    chosen = read_method(known, method, accept_no_guarantee=accept_no_guarantee)
    guarantee = _guarantee(budget)
    warn_of_weakness(guarantee, quiet=quiet)
    data: dict[str, Any] = {
        "similarity": similarity,
        "scale": scale,
        "coverage": None if coverage is None else as_quoted(coverage, quotes, "--quotes"),
        "candidates": candidates,
    }
    watched: list[CountedObjective] = []

    def watch(objective: Objective) -> Objective:
        watched.append(CountedObjective(objective))
        return watched[0] if diagnostics else objective

    outcome: Outcome
    started = time.perf_counter()
    try:
        if guarantee is None:
            if chosen is None:
                names = ", ".join(sorted(WITHOUT_GUARANTEE))
                raise InvalidProblemError("--method", f"one of {names}", "none")  # noqa: TRY301 - as all below
            outcome = _without_guarantee(matroid, data, chosen, watch)
            warn(f"NOT PRIVATE, must not be published: {outcome.reason}", quiet=quiet)
        else:
            outcome = select_privately(
                matroid,
                guarantee,
                **data,
                method=chosen,
                budget=open_ledger(ledger, dataset),
                dataset=dataset,
                budget_delta=None if rho is None else delta,
                watch=watch,
                outputs=lambda planned: _outputs(planned, output, report, as_json=as_json),
            )
    except InvalidProblemError as error:
        stated = _of_the_command(error, "--coverage" if similarity is None else "--similarity")
        stated.add_note(charge_note(error))
        raise stated from None
    if diagnostics:
        _diagnose(watched[0], outcome, time.perf_counter() - started)
    _warn_of_clipping(watched[0], quiet=quiet)
    if guarantee is None:
        put_out(_rendered(outcome, as_json=as_json))
    return Status.DONE


@final
@dataclass(frozen=True)
class _Budget:
    """The guarantee that is wanted and who pays, as it was typed."""

    epsilon: str | None
    delta: str | None
    rho: str | None
    neighbors: str | None
    ledger: str | None
    dataset: str | None
    accept_no_guarantee: bool


def _without_guarantee(
    matroid: str,
    data: dict[str, Any],
    method: Any,  # noqa: ANN401 - of several kinds
    watch: Any,  # noqa: ANN401 - a function of an objective
) -> Unproven[Selection]:
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


def _of_the_command(error: InvalidProblemError, records: str) -> InvalidProblemError:
    """Say an error in the words of the command: which option named the records."""
    options = {"source": records}
    options |= {
        name: f"--{name}" for name in ("similarity", "method", "candidates", "matroid", "scale")
    }
    return error.renamed(options.get(error.field, error.field))


def _outputs(
    planned: Plan, output: str | None, report: str | None, *, as_json: bool
) -> ReleaseFiles:
    """Name the files of a choice; without any it is printed alone."""
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
            "--output": (output, choice_content, None),
            "--report": (report, page, None),
        },
        lambda made, _left: _rendered(made, as_json=as_json),
        text_has_result=True,
    )


def _guarantee(budget: _Budget) -> DPGuarantee | None:
    """Read the guarantee that is wanted, or that there is none."""
    given = budget.epsilon, budget.rho
    if budget.accept_no_guarantee:
        if any(value is not None for value in (*given, budget.delta, budget.ledger)):
            raise InvalidProblemError(
                "--accept-no-guarantee", "neither a budget nor a ledger with it", "one"
            )
        return None
    if None not in given or given == (None, None):
        return read_guarantee(*given, budget.neighbors)
    if budget.neighbors is None:
        expected = "add-remove-one or replace-one: a budget means nothing without it"
        raise InvalidProblemError("--neighbors", expected, "none")
    promised = read_guarantee(*given, budget.neighbors)
    if budget.delta is None:
        return promised
    if isinstance(promised, PureDP):
        return ApproxDP(promised.epsilon, budget.delta, promised.neighbors)
    if budget.ledger is None:
        expected = "none with --rho but with --ledger, whose budget it is a part of"
        raise InvalidProblemError("--delta", expected, repr(budget.delta))
    return promised


def _diagnose(counted: CountedObjective, outcome: Outcome, seconds: float) -> None:
    from discreet.submodular import diagnose

    evaluations = counted.evaluations
    value = float(diagnose(counted, outcome.result).value)
    sys.stderr.write(
        f"discreet: PRIVATE diagnostics, not for publication: value {printed.estimate(value)}, {evaluations} "
        f"evaluations, {printed.estimate(seconds, 3)} s\n"
    )


def _warn_of_clipping(objective: Objective, *, quiet: bool) -> None:
    """Print the number of similarities outside of the public range, for the curator alone."""
    if objective.clipped:
        scale, n = printed.decimal(objective.scale), printed.count(objective.clipped)
        warn(
            f"PRIVATE, for the curator only: similarities outside of 0 to {scale} or missing: "
            f"{n}. Larger ones count as {scale}, all others as 0. --scale states "
            "another range, such as 100 for percentages.",
            quiet=quiet,
        )


def _rendered(outcome: Outcome, *, as_json: bool) -> str:
    text = str(outcome) if isinstance(outcome, Release) else facts(public_facts(outcome))
    return rendered(_describe(outcome), text, as_json=as_json, command="select")


def _describe(outcome: Outcome) -> dict[str, Any]:
    provenance, selection = outcome.provenance, outcome.result
    data: dict[str, Any] = {
        "chosen": list(selection.names),
        "guarantee": None if outcome.guarantee is None else outcome.guarantee.to_dict(),
        "accounting": [line.to_dict() for line in selection.accounting],
        "method": provenance.method,
        "why": list(provenance.method_trace),
        "parameters": dict(provenance.parameters),
        "assumed_public": provenance.to_dict()["assumed_public"],
        "seeded": provenance.seeded,
        "charge": provenance.charge or None,
    }
    if isinstance(outcome, Release):
        return data | {"certificate": outcome.certificate.to_dict()}
    return data | {"reason": outcome.reason}


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(select)
