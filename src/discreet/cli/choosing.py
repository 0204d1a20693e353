"""Choose a set from the command line: what is public first, then the charge, then the records."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from discreet.cli.files import check_outputs, write_page
from discreet.cli.ground import ground_set, read_matroid, read_objective
from discreet.cli.output import Status, emit, facts, warn
from discreet.cli.registry import find
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP

if TYPE_CHECKING:
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.outcome import Release, Unproven
    from discreet.submodular import Matroid, Objective, Selection

    Outcome = Release[Selection] | Unproven[Selection]

__all__ = ["Asked", "Promised", "run_select"]


@final
@dataclass(frozen=True)
class Asked:
    """Where the data are and what may be chosen, as it was typed."""

    similarity: str | None
    coverage: str | None
    candidates: str | None
    matroid: str
    method: str | None


@final
@dataclass(frozen=True)
class Promised:
    """What is promised and who pays, as it was typed."""

    epsilon: str | None
    delta: str | None
    rho: str | None
    neighbors: str | None
    ledger: str | None
    dataset: str | None
    accept_no_guarantee: bool


def run_select(
    asked: Asked,
    promised: Promised,
    *,
    diagnostics: bool,
    as_json: bool,
    quiet: bool,
    report: str | None = None,
) -> Status:
    """Choose a set, and return the exit status.

    All that can be refused without the records is refused before the ledger is charged, and the ledger is charged
    before the records are read.
    """
    from discreet.core.outcome import Release
    from discreet.submodular import release, reproduce
    from discreet.submodular.counted import Counted
    from discreet.submodular.methods import METHODS, WITHOUT_GUARANTEE

    check_outputs(
        {"--report": report},
        asked.similarity,
        asked.coverage,
        asked.candidates,
        asked.matroid.partition(":")[2],
        promised.ledger,
    )
    if report is not None and promised.accept_no_guarantee:
        raise InvalidProblemError("--report", "none for what has no guarantee", "one")
    names = ground_set(asked.similarity, asked.coverage, asked.candidates, asked.matroid)
    matroid = read_matroid(asked.matroid, names)
    accepted = promised.accept_no_guarantee
    table = WITHOUT_GUARANTEE if accepted else METHODS
    if not accepted and asked.method in WITHOUT_GUARANTEE:
        expected = "one with a guarantee, or --accept-no-guarantee"
        raise InvalidProblemError("--method", expected, asked.method)
    method = None if asked.method is None else find(table, asked.method, "--method")()
    guarantee = _guarantee(promised)
    if guarantee is None:
        if method is None:
            known = ", ".join(sorted(WITHOUT_GUARANTEE))
            raise InvalidProblemError("--method", f"one of {known}", "none")
    else:
        _rehearse(matroid, guarantee, method)
        _charge(promised, guarantee)
    objective: Objective = read_objective(asked.similarity, asked.coverage, names)
    counted = Counted(objective) if diagnostics else None
    started = time.perf_counter()
    outcome: Outcome
    if guarantee is None:
        outcome = reproduce(counted or objective, matroid, method)
        warn(f"NOT PRIVATE, must not be published: {outcome.reason}", quiet=quiet)
    else:
        outcome = release(counted or objective, matroid, guarantee, method=method)
    if counted is not None:
        _diagnose(objective, outcome.result, counted.evaluations, time.perf_counter() - started)
    if report is not None and isinstance(outcome, Release):
        from discreet.report import make_chapter
        from discreet.report.trying import audit_choice

        audits = audit_choice(outcome, matroid)
        chapter = make_chapter("submodular", outcome, names=names, audits=audits)
        write_page([chapter], report, title="A private choice, with its proof")
    data = _describe(outcome, names)
    emit(data, _text(outcome, data), as_json=as_json, command="select")
    return Status.DONE


def _guarantee(promised: Promised) -> DPGuarantee | None:
    """Read what is promised, or that nothing is."""
    given = [promised.epsilon, promised.rho]
    if promised.accept_no_guarantee:
        if any(value is not None for value in (*given, promised.delta, promised.ledger)):
            raise InvalidProblemError(
                "--accept-no-guarantee", "neither a budget nor a ledger with it", "one"
            )
        return None
    if sum(value is not None for value in given) != 1:
        got = "both" if all(value is not None for value in given) else "neither"
        raise InvalidProblemError("--epsilon", "a budget here, or with --rho", got)
    if promised.neighbors is None:
        expected = "add-remove-one or replace-one: a budget means nothing without it"
        raise InvalidProblemError("--neighbors", expected, "none")
    neighbors: Any = promised.neighbors
    if promised.rho is not None:
        if promised.delta is not None:
            raise InvalidProblemError("--delta", "no delta with --rho", promised.delta)
        return ZeroConcentratedDP(promised.rho, neighbors)
    if promised.delta is not None:
        return ApproxDP(promised.epsilon or "", promised.delta, neighbors)
    return PureDP(promised.epsilon or "", neighbors)


def _rehearse(matroid: Matroid, guarantee: DPGuarantee, method: Any) -> None:  # noqa: ANN401 - several kinds
    """Plan as the release will, without the records: both functions here are sums over clients with parts in [0, 1]."""
    from discreet.submodular._release import choose_method
    from discreet.submodular.problem import Statement

    statement = Statement(
        n_elements=matroid.n_elements,
        n_kinds=1,
        rank=matroid.rank,
        decomposable=True,
        sensitivity=Fraction(1),
        neighbors=guarantee.neighbors,
    )
    chosen = method or choose_method(statement, matroid, guarantee)[0]
    chosen.plan(statement, matroid, guarantee)


def _charge(promised: Promised, guarantee: DPGuarantee) -> None:
    if (promised.ledger is None) != (promised.dataset is None):
        missing = "--ledger" if promised.ledger is None else "--dataset"
        raise InvalidProblemError(missing, "both --ledger and --dataset, or none", "one of them")
    if promised.ledger is not None and promised.dataset is not None:
        from discreet.ledger import Ledger

        Ledger(promised.ledger).reserve(promised.dataset, guarantee)


def _diagnose(objective: Objective, selection: Selection, evaluations: int, seconds: float) -> None:
    from discreet.submodular import diagnose

    value = float(diagnose(objective, selection).value)
    sys.stderr.write(
        f"discreet: PRIVATE diagnostics, not for publication: value {value:.6g}, {evaluations} evaluations, "
        f"{seconds:.3g} s\n"
    )


def _describe(outcome: Outcome, names: list[str]) -> dict[str, Any]:
    from discreet.core.outcome import Release

    provenance, selection = outcome.provenance, outcome.result
    data: dict[str, Any] = {
        "chosen": [names[element] for element in selection.elements],
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

    pairs: list[tuple[str, object]] = [("chosen", ", ".join(data["chosen"]))]
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
