"""Run a design from the command line: read, solve, write, whatever interrupts it."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.cli.describe import describe, design_text, unprotected
from discreet.cli.files import check_outputs, write_channel, write_page
from discreet.cli.output import Status, emit, warn
from discreet.cli.progress import progress
from discreet.cli.registry import METHODS, find
from discreet.cli.robust import design_for_all, worst_case, worst_case_text
from discreet.cli.statement import Aims, Places, Statement, state
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from discreet.core.outcome import Design
    from discreet.metricdp._minimax import Minimax
    from discreet.metricdp.bound import Multipliers
    from discreet.metricdp.part import Method
    from discreet.metricdp.problem import Problem

    MetricDesign = Design[Problem, Multipliers]

__all__ = ["Outputs", "Search", "run_design"]

_DEFAULT_GAP = 0.01
_OPTIMAL_GAP = 1e-6
"""What ``--method optimal`` asks for: the library calls a design optimal below it."""


@final
@dataclass(frozen=True)
class Search:
    """The options that say how to search, as they were typed."""

    gap: float | None
    time_limit: float | None
    method: str
    threads: int
    allow_unprotected: bool
    blocks: int | None = None
    partitioner: str | None = None

    @property
    def target(self) -> float:
        """The gap to reach."""
        if self.gap is not None:
            return self.gap
        return _OPTIMAL_GAP if self.method == "optimal" else _DEFAULT_GAP

    @property
    def is_demanded(self) -> bool:
        """Whether missing the target is a failure: somebody asked for it."""
        return self.gap is not None or self.method == "optimal"


@final
@dataclass(frozen=True)
class Outputs:
    """Where results go."""

    output: str | None
    report: str | None
    as_json: bool
    quiet: bool


def run_design(places: Places, aims: Aims, search: Search, outputs: Outputs) -> Status:
    """Design a channel, write it, and describe it; return the exit status."""
    named = {"--output": outputs.output, "--report": outputs.report}
    check_outputs(named, *places.read, *aims.read)
    stated = state(places, aims)
    started = time.perf_counter()
    worst = None
    if stated.priors:
        worst, made, status = _solve_for_all(stated, search)
    else:
        made, status = _solve(stated, search, quiet=outputs.quiet)
    seconds = time.perf_counter() - started
    if made is None:
        warn("interrupted before anything was verified; nothing was written")
        return status
    write_channel(made, outputs.output, stated.labels)
    if outputs.report is not None:
        _report(made, outputs.report)
    for sentence in unprotected(made, stated.labels):
        warn(sentence, quiet=outputs.quiet)
    if status is Status.TARGET_MISSED:
        gap = made.gap if worst is None else worst.gap
        reached = "none" if gap is None else f"{gap:.3g}"
        warn(
            f"asked for a gap of {search.target:g}, reached {reached}; the best verified design stands"
        )
    if outputs.output is None and outputs.report is None:
        warn("nothing was written: no --output", quiet=outputs.quiet)
    data = _data(made, stated, seconds, interrupted=status is Status.INTERRUPTED)
    text = design_text(made, seconds)
    if worst is not None:
        data["worst_case"] = worst_case(worst, stated)
        text = f"{worst_case_text(worst, stated)}\n\nFor the worst mixture of the priors:\n\n{text}"
    emit(
        data | {"output": outputs.output},
        text,
        as_json=outputs.as_json,
        command="design",
    )
    return status


def _solve(stated: Statement, search: Search, *, quiet: bool) -> tuple[MetricDesign | None, Status]:
    from discreet.metricdp import design
    from discreet.metricdp._design import Interrupted

    named = search.method not in {"auto", "optimal"}
    if named and search.method not in METHODS:
        known = ", ".join(["auto", "optimal", *sorted(METHODS)])
        raise InvalidProblemError("--method", f"one of {known}", repr(search.method))
    method = _method(search) if named else None
    for option in ("blocks", "partitioner"):
        if search.method != "benders" and getattr(search, option) is not None:
            raise InvalidProblemError(f"--{option}", "--method benders with it", search.method)
    try:
        with progress(sys.stderr, quiet=quiet) as on_iteration:
            made = design(
                stated.problem,
                stated.guarantee,
                method=method,
                gap=search.target,
                time_limit=search.time_limit,
                threads=search.threads,
                allow_unprotected=search.allow_unprotected,
                on_iteration=on_iteration,
                throw=False,
            )
    except Interrupted as interrupted:
        return interrupted.best, Status.INTERRUPTED
    missed = search.is_demanded and made.status == "limit reached"
    return made, Status.TARGET_MISSED if missed else Status.DONE


def _solve_for_all(
    stated: Statement, search: Search
) -> tuple[Minimax | None, MetricDesign | None, Status]:
    from discreet.metricdp._design import Interrupted

    if search.method not in {"auto", "optimal"}:
        raise InvalidProblemError("--method", "auto or optimal with --priors", repr(search.method))
    try:
        worst = design_for_all(
            stated,
            time_limit=search.time_limit,
            threads=search.threads,
            allow_unprotected=search.allow_unprotected,
        )
    except Interrupted as interrupted:
        return None, interrupted.best, Status.INTERRUPTED
    missed = search.is_demanded and worst.gap > search.target
    return worst, worst.design, Status.TARGET_MISSED if missed else Status.DONE


def _method(search: Search) -> Method:
    """Make the method that was asked for, with its own options where it is the decomposition."""
    make = find(METHODS, search.method, "--method")
    given = {"blocks": search.blocks, "partitioner": search.partitioner}
    options = {name: value for name, value in given.items() if value is not None}
    if search.method != "benders":
        options = {}
    try:
        method: Method = make(**options)
    except InvalidProblemError as error:
        raise InvalidProblemError(f"--{error.field}", error.expected, error.got) from None
    return method


def _report(design: MetricDesign, path: str) -> None:
    from discreet.report import make_chapter

    write_page([make_chapter("metricdp", design)], path)


def _data(
    made: MetricDesign, stated: Statement, seconds: float, *, interrupted: bool
) -> dict[str, Any]:
    return {
        **describe(made),
        "seconds": round(seconds, 3),
        "prior_normalized_from": stated.prior_sum,
        "interrupted": interrupted,
    }
