"""``compare`` with the name of a mechanism: what methods lose at several epsilons or k, on made data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

from discreet.cli.files import check_outputs, write_page
from discreet.cli.output import Status, emit
from discreet.cli.registry import FRONTIERS, find
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.evaluate.utility.frontier import Point
    from discreet.evaluate.utility.measure import Measure

__all__ = ["Frontier", "choices_lost", "counts_lost", "run_frontier", "tables_lost"]

_DEFAULTS = {
    "hierarchy": "m_c_dp_weighted,m_h_dp,bottom_up",
    "kanonymity": "local-search,mondrian",
    "submodular": "subsampled,permute-and-flip",
}
_MADE = "On made data: choose on these or on public ones, never on the data that will be released."


@final
@dataclass(frozen=True)
class Frontier:
    """What was typed: a mechanism, parameters, methods, and where results go."""

    mechanism: str
    epsilon: str | None
    k: str | None
    methods: str | None
    report: str | None
    as_json: bool


def run_frontier(asked: Frontier) -> Status:
    """Measure methods at parameters, and return the exit status."""
    from discreet.evaluate.utility.frontier import frontier

    check_outputs({"--report": asked.report})
    lost = find(FRONTIERS, asked.mechanism, "PLACES")
    name = "k" if asked.mechanism == "kanonymity" else "epsilon"
    option, other = ("-k", "--epsilon") if name == "k" else ("--epsilon", "-k")
    given, unused = (asked.k, asked.epsilon) if name == "k" else (asked.epsilon, asked.k)
    if given is None:
        raise InvalidProblemError(option, "numbers with commas", "none")
    if unused is not None:
        raise InvalidProblemError(other, f"nothing with {asked.mechanism}", "a value")
    typed = asked.methods or _DEFAULTS[asked.mechanism]
    methods = [method.strip() for method in typed.split(",")]
    if len(set(methods)) < len(methods):
        raise InvalidProblemError("--methods", "different names", repr(typed))
    points = frontier({method: partial(lost, method) for method in methods}, given.split(","))
    data = {
        "mechanism": asked.mechanism,
        "parameter": name,
        "data": _MADE,
        "points": [point.to_dict() for point in points],
    }
    if asked.report is not None:
        from discreet.report.frontier import chapter

        page = chapter(points, parameter=name, title=f"What {asked.mechanism} loses", note=_MADE)
        write_page([page], asked.report, title=f"What a choice of {name} costs")
    emit(data, _text(points, name), as_json=asked.as_json, command="compare")
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
    return "\n".join([*lines, "", *notes, _MADE])


def _row(point: Point) -> tuple[str, ...]:
    measure = point.measure
    ends = ("" if end is None else f"{end:.4g}" for end in (measure.best, measure.worst))
    return (point.method, f"{float(point.parameter):g}", str(measure.estimate), *ends)


def counts_lost(method: str, epsilon: Fraction) -> Measure:
    """Measure the absolute error of counts of the smallest regions of a made census."""
    from discreet.core.guarantee import PureDP
    from discreet.datasets import made_census
    from discreet.evaluate.utility.counts import count_utility
    from discreet.hierarchy import GroupSizes, release

    made = made_census(states=3, counties=12, groups=4000, max_size=10, outliers=5, seed=3)
    data = GroupSizes.from_counts(made.tree, made.with_size_zero(), units="public")
    claim = PureDP(epsilon, "add-remove-person")

    def run(bits: Any) -> Any:  # noqa: ANN401 - a source of bits, a release
        return release(data, claim, method=method, bits=bits)

    return count_utility(run, data, trials=6)[made.tree.depth]


def choices_lost(method: str, epsilon: Fraction) -> Measure:
    """Measure the value of a choice of 5 of 20 places for 400 made clients."""
    from discreet.core.guarantee import PureDP
    from discreet.core.randomness import as_bits
    from discreet.datasets.choices import clustered_similarity
    from discreet.evaluate.utility.choices import choice_utility
    from discreet.submodular import FacilityLocation, UniformMatroid
    from discreet.submodular._release import state_choice
    from discreet.submodular.methods import METHODS

    objective = FacilityLocation(clustered_similarity(400, 20, seed=4))
    matroid, claim = UniformMatroid(20, 5), PureDP(epsilon, "add-remove-one")
    chosen = find(METHODS, method, "--methods")()
    plan = chosen.plan(state_choice(objective, matroid, claim), matroid, claim)

    def run(bits: Any) -> Any:  # noqa: ANN401 - a source of bits, pairs
        return chosen.choose(objective, matroid, plan, as_bits(bits))

    return choice_utility(run, objective, matroid, trials=12)


def tables_lost(method: str, k: Fraction) -> Measure:
    """Measure the loss of a cell of a table of made patients."""
    import polars as pl

    from discreet.cli.curating import method_of
    from discreet.core.guarantee import KAnonymity
    from discreet.core.tree import Tree
    from discreet.datasets import made_patients
    from discreet.datasets.microdata import zip_paths
    from discreet.evaluate.utility.tables import table_utility
    from discreet.kanonymity import Categorical, Numeric, Taxonomy, anonymize

    if k.denominator != 1:
        raise InvalidProblemError("-k", "whole numbers", str(k))
    people = pl.DataFrame(made_patients(300, seed=9))
    kinds = (
        Numeric("age", low=0, high=99),
        Categorical("sex"),
        Taxonomy("zip", Tree.from_paths(zip_paths(), root="*")),
    )
    made = anonymize(
        people,
        KAnonymity(int(k), ("age", "sex", "zip")),
        attributes=kinds,
        method=method_of(method),
        time_limit=2.0,
        throw=False,
    )
    return table_utility(made.table, people, kinds)[0]
