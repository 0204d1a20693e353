"""Losses of methods beside one another, on a design problem or on a mechanism's synthetic data, as one public call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, final

from discreet.core import printed
from discreet.core.errors import InvalidProblemError, unknown_name
from discreet.core.exact import to_fraction
from discreet.core.guarantee import MetricDP
from discreet.core.lazy import registered
from discreet.core.options import instance_of
from discreet.core.printed import in_columns
from discreet.evaluate.comparison import best_lower, compare_methods, comparison_cells
from discreet.evaluate.registry import COMPARED, FRONTIERS
from discreet.evaluate.utility.measure import frontier
from discreet.metricdp.methods import METHODS
from discreet.metricdp.methods.baselines import nearest_output_floor
from discreet.metricdp.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from discreet.core.exact import Exact
    from discreet.core.progress import Progress
    from discreet.evaluate.comparison import Entry
    from discreet.evaluate.utility.measure import Point
    from discreet.metricdp.part import Method

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

_USUAL_METHODS = {
    "hierarchy": "m-c-dp-weighted,m-h-dp,bottom-up",
    "kanonymity": "local-search,mondrian",
    "metricdp": "optimal,exponential,planar-laplace",
    "submodular": "subsampled,permute-and-flip",
}
"""Mechanism -> methods that are compared by default."""

_DATA = (
    "On synthetic data: choose on these or on public ones, never on the data that will be released."
)


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Losses of methods on one problem, at one or more epsilons; prints as ``discreet compare`` does.

    Parameters
    ----------
    problem
        The problem.
    guarantee
        Guarantee at the first epsilon: its unit and radius are those of all.
    epsilons
        Privacy budgets, per unit of distance.
    entries
        Entries of the methods, in the order of computation.
    planned
        Number of designs of a comparison that is not interrupted.
    """

    problem: Problem
    guarantee: MetricDP
    epsilons: tuple[Fraction, ...]
    entries: tuple[Entry, ...]
    planned: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each method that found no channel."""
        return tuple(
            f"{entry.method} at epsilon {printed.decimal(entry.epsilon)}: {entry.note}"
            for entry in self.entries
            if entry.loss is None
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, under the keys below.

        ``"unit"``; ``"radius"``, ``None`` without one; ``"secrets"`` and ``"reports"``, their numbers;
        ``"loss_without_privacy"``; ``"bounds"``, for each epsilon ``"epsilon"`` and ``"lower"``; ``"entries"``, as
        :meth:`~discreet.evaluate.comparison.Entry.to_dict`; and ``"interrupted"``, a boolean.
        """
        radius = self.guarantee.radius
        return {
            "unit": self.guarantee.unit,
            "radius": None if radius is None else float(radius),
            "secrets": self.problem.n_secrets,
            "reports": self.problem.n_reports,
            "loss_without_privacy": nearest_output_floor(self.problem),
            "bounds": [
                {"epsilon": float(epsilon), "lower": best_lower(self.entries, epsilon)}
                for epsilon in self.epsilons
            ],
            "entries": [entry.to_dict() for entry in self.entries],
            "interrupted": len(self.entries) < self.planned,
        }

    def __str__(self) -> str:
        n, m, unit = self.problem.n_secrets, self.problem.n_reports, self.guarantee.unit
        rows = [
            (printed.decimal(entry.epsilon), entry.method, *cells)
            for entry, cells in zip(self.entries, comparison_cells(self.entries), strict=True)
        ]
        numbers = [at for at, name in enumerate(_HEAD) if name != "method"]
        return (
            f"{n} secrets, {m} reports, epsilon per {unit}; every loss is that of a verified channel.\n"
            f"Without any privacy the loss would be {printed.at_least(nearest_output_floor(self.problem))}.\n\n"
            f"{in_columns([_HEAD, *rows], numbers)}"
        )


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C during a comparison; `best` holds what was compared by then."""

    def __init__(self, best: Comparison) -> None:
        super().__init__()
        self.best = best


@final
@dataclass(frozen=True)
class MechanismComparison:
    """Losses of a mechanism's methods on synthetic data; prints as ``discreet compare`` does.

    Parameters
    ----------
    mechanism
        ``"hierarchy"``, ``"kanonymity"`` or ``"submodular"``.
    parameter
        Name of the parameter, ``"epsilon"`` or ``"k"``.
    points
        Measured loss of each method at each parameter.
    """

    mechanism: str
    parameter: str
    points: tuple[Point, ...]
    warnings: tuple[str, ...] = ()

    @property
    def data(self) -> str:
        """A sentence about the data on which losses were measured."""
        return _DATA

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        ``"mechanism"``, ``"parameter"``, ``"data"``, and ``"points"``, a dict for each point.
        """
        return {
            "mechanism": self.mechanism,
            "parameter": self.parameter,
            "data": self.data,
            "points": [point.to_dict() for point in self.points],
        }

    def __str__(self) -> str:
        measure = self.points[0].measure
        rows: list[tuple[str, ...]] = [
            ("method", self.parameter, measure.name, "without privacy", "without data"),
        ]
        for point in self.points:
            one = point.measure
            ends = (printed.estimate(end, 4) for end in (one.best, one.worst))
            rows.append((point.method, printed.estimate(point.parameter), str(one.estimate), *ends))
        notes = dict.fromkeys(point.measure.note for point in self.points if point.measure.note)
        return "\n".join([in_columns(rows), "", *notes, self.data])


def compare(
    target: Problem | str,
    *,
    epsilon: str | Exact | Sequence[Exact] | None = None,
    k: str | int | Sequence[int] | None = None,
    radius: Exact | None = None,
    methods: str | Sequence[str] | None = None,
    gap: float = 0.01,
    time_limit: float | None = None,
    threads: int = 1,
    allow_unprotected: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Comparison | MechanismComparison:
    """Compare the losses of methods under the same guarantee, at one or more strengths.

    Parameters
    ----------
    target
        Design problem, for methods of :mod:`discreet.metricdp`; or ``"hierarchy"``, ``"kanonymity"`` or
        ``"submodular"``, whose methods run on synthetic data.
    epsilon
        Privacy budgets, per unit of distance for a problem, such as ``"0.5,1,2"``. In Python also numbers.
    k
        Values of k, for ``"kanonymity"``.
    radius
        Largest distance of pairs that are constrained.
    methods
        Names of methods; ``"optimal"`` is the library's choice. Default: the usual ones of the mechanism.
    gap
        Relative gap at which a method that proves one stops.
    time_limit
        Limit of each search, in seconds.
    threads
        Threads of a solver.
    allow_unprotected
        Whether secrets that no chain joins may stay apart.
    on_progress
        Called with the progress of each design; a mechanism has none.

    Returns
    -------
    Comparison or MechanismComparison
        Certified losses, bounds and achieved epsilons, a design each; or measured losses with intervals, a run each.

    Raises
    ------
    InvalidProblemError
        For an unknown name, a value given twice, no value, and for options of a design with a mechanism.
    ComparisonInterrupted
        On Ctrl-C, for a problem only; its ``best`` is the comparison by then.

    Examples
    --------
    >>> from discreet import MetricSpace
    >>> from discreet.metricdp import Problem
    >>> line = Problem(MetricSpace.grid(1, 4, cell=1, unit="km"), utility_loss="euclidean")
    >>> outcome = compare(line, epsilon="1,2", methods=["optimal", "exponential"])
    >>> print(str(outcome).splitlines()[0])
    4 secrets, 4 reports, epsilon per km; every loss is that of a verified channel.
    >>> outcome.entries[0].loss <= outcome.entries[1].loss
    True
    """
    if isinstance(target, str):
        designing = {"radius": radius, "time_limit": time_limit, "gap": gap, "threads": threads}
        _refuse_stated({**designing, "allow_unprotected": allow_unprotected}, target)
        return _compare_mechanism(target, epsilon, k, methods)
    instance_of(target, Problem, "target", "a design problem, or the name of a mechanism")
    if k is not None:
        raise InvalidProblemError("k", "none but with kanonymity", repr(k))
    if epsilon is None:
        raise InvalidProblemError("epsilon", "a value", "none")
    names = _names("metricdp", methods)
    chosen: dict[str, Method | None] = {}
    for name in names:
        if name not in COMPARED:
            raise unknown_name("methods", name, sorted(COMPARED))
        chosen[name] = None if name == "optimal" else registered(METHODS.proven, name, "methods")()
    budgets = tuple(to_fraction(one, "epsilon") for one in _listed(epsilon))
    if not budgets or len(set(budgets)) < len(budgets):
        raise InvalidProblemError("epsilon", "different budgets, one or more", repr(epsilon))
    guarantee = MetricDP(budgets[0], target.space.unit, radius)
    entries: list[Entry] = []
    planned = len(chosen) * len(budgets)
    try:
        compare_methods(
            target,
            guarantee,
            chosen,
            budgets,
            gap=gap,
            time_limit=time_limit,
            threads=threads,
            allow_unprotected=allow_unprotected,
            on_progress=on_progress,
            on_entry=entries.append,
        )
    except KeyboardInterrupt:
        best = Comparison(target, guarantee, budgets, tuple(entries), planned)
        raise ComparisonInterrupted(best) from None
    return Comparison(target, guarantee, budgets, tuple(entries), planned)


def _listed(values: Any) -> list[Any]:  # noqa: ANN401 - numbers, or text
    """Return values as a list; text is divided at commas and stripped, and one number becomes a list of it."""
    if isinstance(values, str):
        return [value.strip() for value in values.split(",")]
    return list(values) if isinstance(values, Iterable) else [values]


def _names(mechanism: str, methods: str | Sequence[str] | None) -> list[str]:
    """Return the names of methods, the usual ones by default; refuse one that comes twice."""
    names = _listed(_USUAL_METHODS[mechanism] if methods is None else methods)
    if len(set(names)) < len(names):
        raise InvalidProblemError("methods", "different names", ", ".join(names))
    return names


def _refuse_stated(options: Mapping[str, object], mechanism: str) -> None:
    """Raise InvalidProblemError for an option of :func:`compare` with another value than its default."""
    for name, value in options.items():
        if value != signature(compare).parameters[name].default:
            raise InvalidProblemError(name, f"none with {mechanism}", repr(value))


def _compare_mechanism(
    mechanism: str,
    epsilon: Any,  # noqa: ANN401 - numbers, or text
    k: Any,  # noqa: ANN401 - as above
    methods: str | Sequence[str] | None,
) -> MechanismComparison:
    """Measure the losses of a mechanism's methods on synthetic data, one run for each method and value.

    Raises InvalidProblemError for no value of its parameter, or one of the other's.
    """
    measure = registered(FRONTIERS, mechanism, "target")
    tables = mechanism == "kanonymity"
    parameter, values = ("k", k) if tables else ("epsilon", epsilon)
    other, unused = ("epsilon", epsilon) if tables else ("k", k)
    if values is None:
        raise InvalidProblemError(parameter, "one number or more", "none")
    if unused is not None:
        raise InvalidProblemError(other, f"none with {mechanism}", repr(unused))
    named = {name: partial(measure, name) for name in _names(mechanism, methods)}
    return MechanismComparison(mechanism, parameter, tuple(frontier(named, _listed(values))))
