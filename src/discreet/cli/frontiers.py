"""``compare`` with the name of a mechanism: what methods lose at several epsilons or k, on synthetic data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

from discreet.cli.files import check_outputs, write_page
from discreet.cli.output import Status, emit
from discreet.cli.registry import FRONTIERS, find
from discreet.core import printed
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.evaluate.utility.measure import Point

__all__ = ["MechanismContest", "run_frontier"]

_DEFAULTS = {
    "hierarchy": "m-c-dp-weighted,m-h-dp,bottom-up",
    "kanonymity": "local-search,mondrian",
    "submodular": "subsampled,permute-and-flip",
}
_DATA = (
    "On synthetic data: choose on these or on public ones, never on the data that will be released."
)


@final
@dataclass(frozen=True)
class MechanismContest:
    """What was typed: a mechanism, parameters, methods, and where results go."""

    mechanism: str
    epsilon: str | None
    k: str | None
    methods: str | None
    report: str | None
    as_json: bool


def run_frontier(contest: MechanismContest) -> Status:
    """Measure methods at parameters, and return the exit status."""
    from discreet.evaluate.utility.measure import frontier

    check_outputs({"--report": contest.report})
    lost = find(FRONTIERS, contest.mechanism, "PLACES")
    name = "k" if contest.mechanism == "kanonymity" else "epsilon"
    option, other = ("-k", "--epsilon") if name == "k" else ("--epsilon", "-k")
    given, unused = (contest.k, contest.epsilon) if name == "k" else (contest.epsilon, contest.k)
    if given is None:
        raise InvalidProblemError(option, "numbers with commas", "none")
    if unused is not None:
        raise InvalidProblemError(other, f"nothing with {contest.mechanism}", "a value")
    typed = contest.methods or _DEFAULTS[contest.mechanism]
    methods = [method.strip() for method in typed.split(",")]
    if len(set(methods)) < len(methods):
        raise InvalidProblemError("--methods", "different names", repr(typed))
    points = frontier({method: partial(lost, method) for method in methods}, given.split(","))
    data = {
        "mechanism": contest.mechanism,
        "parameter": name,
        "data": _DATA,
        "points": [point.to_dict() for point in points],
    }
    if contest.report is not None:
        from discreet.report.comparison import frontier_chapter

        page = frontier_chapter(
            points, parameter=name, title=f"What {contest.mechanism} loses", note=_DATA
        )
        write_page([page], contest.report, title=f"What a choice of {name} costs")
    emit(data, _text(points, name), as_json=contest.as_json, command="compare")
    return Status.DONE


def _text(points: Sequence[Point], name: str) -> str:
    head = ("method", name, points[0].measure.name, "without privacy", "without data")
    rows = [head, *(_row(point) for point in points)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    notes = dict.fromkeys(point.measure.note for point in points if point.measure.note)
    return "\n".join([*lines, "", *notes, _DATA])


def _row(point: Point) -> tuple[str, ...]:
    measure = point.measure
    ends = (
        "" if end is None else printed.estimate(end, 4) for end in (measure.best, measure.worst)
    )
    return (point.method, printed.estimate(point.parameter), str(measure.estimate), *ends)
