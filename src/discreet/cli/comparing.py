"""Run a comparison from the command line: read, design with each method, and lay out what came of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.cli.files import check_outputs, write_page
from discreet.cli.inputs import parse_budget
from discreet.cli.output import Status, emit, warn
from discreet.cli.progress import progress
from discreet.cli.registry import COMPARE, find
from discreet.cli.statement import Aims, Places, Statement, state
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import text_floor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.evaluate.comparison import Entry
    from discreet.metricdp.part import Method

__all__ = ["Contest", "library_choice", "run_compare"]

_HEAD = (
    "epsilon",
    "method",
    "loss",
    "lower bound",
    "over least",
    "eps in radius",
    "eps all pairs",
    "seconds",
    "MiB",
)


@final
@dataclass(frozen=True)
class Contest:
    """The options that say what is compared and how, as they were typed."""

    methods: str
    gap: float
    time_limit: float | None
    threads: int
    allow_unprotected: bool
    report: str | None
    as_json: bool
    quiet: bool


def library_choice() -> None:
    """Name no method: the library chooses among those that prove a bound."""


def run_compare(places: Places, aims: Aims, contest: Contest) -> Status:
    """Compare methods at some epsilons, print what they lose, and return the exit status."""
    from discreet.evaluate.comparison import compare_methods

    check_outputs({"--report": contest.report}, *places.read, *aims.read)
    methods = _methods(contest.methods)
    budgets = [parse_budget(one) for one in aims.epsilon.split(",")]
    epsilons = [epsilon for epsilon, _ in budgets]
    if len(set(epsilons)) < len(epsilons) or len({unit for _, unit in budgets}) > 1:
        raise InvalidProblemError(
            "--epsilon", "different budgets in one unit, such as 0.5,1,2", repr(aims.epsilon)
        )
    first = Aims(aims.epsilon.split(",")[0], aims.radius, aims.loss, aims.prior, aims.reports)
    stated = state(places, first)
    entries: list[Entry] = []
    status = Status.DONE
    try:
        with progress(sys.stderr, quiet=contest.quiet) as on_iteration:
            compare_methods(
                stated.problem,
                stated.guarantee,
                methods,
                epsilons,
                gap=contest.gap,
                time_limit=contest.time_limit,
                threads=contest.threads,
                allow_unprotected=contest.allow_unprotected,
                on_iteration=on_iteration,
                on_entry=entries.append,
            )
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        warn(f"interrupted after {len(entries)} of {len(methods) * len(epsilons)} designs")
    for entry in entries:
        if entry.loss is None:
            warn(
                f"{entry.method} at epsilon {float(entry.epsilon):g}: {entry.note}",
                quiet=contest.quiet,
            )
    if contest.report is not None and entries:
        _report(stated, entries, contest.report)
    emit(
        _data(stated, entries, epsilons, interrupted=status is Status.INTERRUPTED),
        _text(stated, entries),
        as_json=contest.as_json,
        command="compare",
    )
    return status


def _methods(typed: str) -> dict[str, Method | None]:
    names = [name.strip() for name in typed.split(",")]
    if len(set(names)) < len(names):
        raise InvalidProblemError("--methods", "different names", repr(typed))
    return {name: find(COMPARE, name, "--methods")() for name in names}


def _floor(stated: Statement) -> float:
    from discreet.metricdp.baselines import nearest_output_floor

    return nearest_output_floor(stated.problem)


def _data(
    stated: Statement, entries: Sequence[Entry], epsilons: Sequence[Fraction], *, interrupted: bool
) -> dict[str, Any]:
    from discreet.evaluate.comparison import best_lower

    radius = stated.guarantee.radius
    return {
        "unit": stated.guarantee.unit,
        "radius": None if radius is None else float(radius),
        "secrets": stated.problem.n_secrets,
        "reports": stated.problem.n_reports,
        "loss_without_privacy": _floor(stated),
        "bounds": [
            {"epsilon": float(epsilon), "lower": best_lower(entries, epsilon)}
            for epsilon in epsilons
        ],
        "entries": [entry.to_dict() for entry in entries],
        "interrupted": interrupted,
    }


def _text(stated: Statement, entries: Sequence[Entry]) -> str:
    """Lay the entries out in columns, numbers to the right."""
    from discreet.evaluate.comparison import best_lower

    rows: list[tuple[str, ...]] = [_HEAD]
    rows += [_row(entry, best_lower(entries, entry.epsilon)) for entry in entries]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEAD))]
    lines = [
        "  ".join(
            cell.ljust(width) if at == 1 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    n, k, unit = stated.problem.n_secrets, stated.problem.n_reports, stated.guarantee.unit
    return "\n".join(
        [
            f"{n} secrets, {k} reports, epsilon per {unit}; every loss is that of a verified channel.",
            f"Without any privacy the loss would be {_floor(stated):.6g}.",
            "",
            *lines,
        ]
    )


def _row(entry: Entry, lower: float | None) -> tuple[str, ...]:
    start = (f"{float(entry.epsilon):g}", entry.method)
    memory = "" if entry.memory is None else f"{entry.memory / 2**20:.0f}"
    cost = (f"{entry.seconds:.2f}", memory)
    if entry.loss is None or entry.within is None or entry.everywhere is None:
        return (*start, "no channel", "", "", "", "", *cost)
    return (
        *start,
        f"{entry.loss:.6g}",
        "" if entry.lower is None else text_floor(entry.lower),
        "" if lower is None else f"{entry.loss / lower - 1:+.2%}",
        f"{entry.within:.6g}",
        f"{entry.everywhere:.6g}",
        *cost,
    )


def _report(stated: Statement, entries: Sequence[Entry], path: str) -> None:
    from discreet.report import make_chapter

    chapter = make_chapter("comparison", entries, unit=stated.guarantee.unit)
    write_page([chapter], path, title="What privacy costs, by method")
