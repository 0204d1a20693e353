"""``select``: choose a set that is worth much to private records."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from discreet.cli.files import check_outputs, write_page
from discreet.cli.ground import EDGES, ground_set, read_matroid, records
from discreet.cli.options import (
    HOW,
    PROMISED,
    Dataset,
    Epsilon,
    Json,
    Ledger,
    NoGuarantee,
    Quiet,
    Report,
    Rho,
    read_method,
)
from discreet.cli.output import Status, emit, facts, warn, warn_of_weakness
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.submodular.methods import METHODS, WITHOUT_GUARANTEE
from discreet.tables.dialect import why_unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.outcome import Release, Unproven
    from discreet.submodular import Matroid, Objective, ObjectiveSpec, Plan, Selection
    from discreet.submodular.method import Method
    from discreet.submodular.objectives.combine import CountedObjective

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
            help="Clients x candidates, values in [0, 1]: each client is served by the chosen candidate most similar "
            "to it. The columns are the public ground set.",
            rich_help_panel=_DATA,
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
            help="Slack in probability, for approximate privacy.", rich_help_panel=PROMISED
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
    ground = ground_set(similarity, coverage, candidates, matroid)
    named = None if isinstance(ground, int) else ground
    numbered = [str(i) for i in range(ground)] if isinstance(ground, int) else ground
    allowed = read_matroid(matroid, numbered)
    known = WITHOUT_GUARANTEE if accept_no_guarantee else METHODS
    chosen = read_method(known, method, accept_no_guarantee=accept_no_guarantee)
    guarantee = _guarantee(budget)
    warn_of_weakness(guarantee, quiet=quiet)
    source, mark = records(similarity, coverage)
    watched: list[CountedObjective] = []

    def watch(objective: Objective) -> Objective:
        from discreet.submodular.objectives.combine import CountedObjective

        watched.append(CountedObjective(objective))
        return watched[0]

    outcome: Outcome
    started = time.perf_counter()
    try:
        if guarantee is None:
            if chosen is None:
                names = ", ".join(sorted(WITHOUT_GUARANTEE))
                raise InvalidProblemError("--method", f"one of {names}", "none")  # noqa: TRY301 - as all below
            outcome = _without_guarantee(source, _spec(similarity), allowed, chosen, named, watch)
            warn(f"NOT PRIVATE, must not be published: {outcome.reason}", quiet=quiet)
        else:
            outcome = _planned(ground, allowed, guarantee, _spec(similarity), chosen).release(
                source,
                budget=_ledger(budget),
                dataset=dataset,
                watch=watch if diagnostics else None,
            )
    except InvalidProblemError as error:
        for note in getattr(error, "__notes__", ()):
            warn(note)
        raise _of_the_command(error, similarity, coverage, mark) from None
    if diagnostics:
        _diagnose(watched[0], outcome, time.perf_counter() - started)
    if guarantee is not None:
        _write(outcome, allowed, numbered, output, report)
    data = _describe(outcome, named)
    emit(data, _text(outcome, data), as_json=as_json, command="select")
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


def _spec(similarity: str | None) -> ObjectiveSpec:
    from discreet.submodular import Coverage, FacilityLocation

    return FacilityLocation.spec() if similarity is not None else Coverage.spec(edges=EDGES)


def _planned(
    ground: list[str] | int,
    matroid: Matroid,
    guarantee: DPGuarantee,
    spec: ObjectiveSpec,
    method: Method | None,
) -> Plan:
    from discreet.submodular import plan

    return plan(ground, matroid, guarantee, objective=spec, method=method)


def _without_guarantee(  # noqa: PLR0917 - all that a run takes
    source: object,
    spec: ObjectiveSpec,
    matroid: Matroid,
    method: Any,  # noqa: ANN401 - as above
    names: list[str] | None,
    watch: Any,  # noqa: ANN401 - a function of an objective
) -> Unproven[Selection]:
    from discreet.submodular import reproduce

    spec.check(source, matroid.n_elements)
    objective = spec.open(source, matroid.n_elements, names)
    return reproduce(watch(objective), matroid, method)


def _ledger(budget: _Budget) -> Any:  # noqa: ANN401 - a ledger, or none
    if (budget.ledger is None) != (budget.dataset is None):
        missing = "--ledger" if budget.ledger is None else "--dataset"
        raise InvalidProblemError(missing, "both --ledger and --dataset, or none", "one of them")
    if budget.ledger is None:
        return None
    from discreet.ledger import Ledger

    return Ledger(budget.ledger)


def _of_the_command(
    error: InvalidProblemError, similarity: str | None, coverage: str | None, mark: str
) -> InvalidProblemError:
    """Say an error in the words of the command: which option named the records, and what is wrong with their file."""
    if error.field == "method":
        return InvalidProblemError("--method", error.expected, error.got)
    if error.field == "candidates":
        return InvalidProblemError("--candidates", error.expected, error.got)
    if similarity is not None and error.field in {"similarity", "source"}:
        return InvalidProblemError("--similarity", error.expected, error.got)
    if coverage is None or error.field != "source":
        return error
    if error.expected.startswith("the columns "):
        expected = f"{error.expected} in its first line"
        got = (
            str(error.got).replace(" columns,", " names there,").replace(" column,", " name there,")
        )
        return InvalidProblemError("--coverage", expected, f"{coverage} with {got}")
    if error.expected.startswith("text or numbers"):
        return InvalidProblemError("--coverage", error.expected, error.got)
    # What a reader says of a row that it can't read would show that row.
    return why_unreadable(coverage, mark, "--coverage")


def _write(
    outcome: Outcome, matroid: Matroid, names: list[str], output: str | None, report: str | None
) -> None:
    """Write the choice and its page, where they are wanted."""
    from discreet.core.outcome import Release

    if not isinstance(outcome, Release):
        return
    if output is not None:
        from discreet.artefact import save_choice

        try:
            save_choice(outcome, output)
        except InvalidProblemError as error:
            field = "--output" if error.field == "path" else error.field
            raise InvalidProblemError(field, error.expected, error.got) from None
    if report is not None:
        from discreet.report import make_chapter
        from discreet.report.trying import audit_choice

        audits = audit_choice(outcome, matroid)
        chapter = make_chapter("submodular", outcome, names=names, audits=audits)
        write_page([chapter], report, title="A private choice, with its proof")


def _guarantee(budget: _Budget) -> DPGuarantee | None:
    """Read the guarantee that is wanted, or that there is none."""
    given = [budget.epsilon, budget.rho]
    if budget.accept_no_guarantee:
        if any(value is not None for value in (*given, budget.delta, budget.ledger)):
            raise InvalidProblemError(
                "--accept-no-guarantee", "neither a budget nor a ledger with it", "one"
            )
        return None
    if sum(value is not None for value in given) != 1:
        got = "both" if all(value is not None for value in given) else "neither"
        raise InvalidProblemError("--epsilon", "a budget here, or with --rho", got)
    if budget.neighbors is None:
        expected = "add-remove-one or replace-one: a budget means nothing without it"
        raise InvalidProblemError("--neighbors", expected, "none")
    neighbors: Any = budget.neighbors
    if budget.rho is not None:
        if budget.delta is not None:
            raise InvalidProblemError("--delta", "no delta with --rho", budget.delta)
        return ZeroConcentratedDP(budget.rho, neighbors)
    if budget.delta is not None:
        return ApproxDP(budget.epsilon or "", budget.delta, neighbors)
    return PureDP(budget.epsilon or "", neighbors)


def _diagnose(counted: CountedObjective, outcome: Outcome, seconds: float) -> None:
    from discreet.submodular import diagnose

    evaluations = counted.evaluations
    value = float(diagnose(counted, outcome.result).value)
    sys.stderr.write(
        f"discreet: PRIVATE diagnostics, not for publication: value {value:.6g}, {evaluations} evaluations, "
        f"{seconds:.3g} s\n"
    )


def _describe(outcome: Outcome, names: Sequence[str] | None) -> dict[str, Any]:
    from discreet.core.outcome import Release

    provenance, selection = outcome.provenance, outcome.result
    data: dict[str, Any] = {
        "chosen": [element if names is None else names[element] for element in selection.elements],
        "guarantee": None if outcome.guarantee is None else outcome.guarantee.to_dict(),
        "accounting": [line.to_dict() for line in selection.accounting],
        "method": provenance.method,
        "why": list(provenance.method_trace),
        "parameters": dict(provenance.parameters),
        "assumed_public": provenance.to_dict()["assumed_public"],
        "seeded": provenance.seeded,
    }
    if isinstance(outcome, Release):
        return data | {"certificate": outcome.certificate.to_dict()}
    return data | {"reason": outcome.reason}


def _text(outcome: Outcome, data: dict[str, Any]) -> str:
    from discreet.core.outcome import Release

    pairs: list[tuple[str, object]] = [("chosen", ", ".join(str(name) for name in data["chosen"]))]
    if isinstance(outcome, Release):
        pairs.append(("guarantee", str(outcome.guarantee)))
        pairs += [
            (f"  {line.rule}", str(line.guarantee).partition("):")[0] + ")")
            for line in outcome.result.accounting
        ]
    else:
        pairs.append(("guarantee", f"NONE: {outcome.reason}"))
    pairs.append(("method", outcome.provenance.method))
    pairs += [("", sentence) for sentence in outcome.provenance.method_trace]
    return facts(pairs)


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(select)
