"""Methods side by side on one problem: certified loss, achieved epsilon, seconds, peak memory.

Whatever a method is, what is compared are channels of integers that were repaired, rounded and verified alike, under
the same guarantee. A mechanism as it is published may lose less, by keeping less. Memory includes that of solvers
written in other languages.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.core import printed
from discreet.core.errors import InvalidProblemError, SolverError
from discreet.core.exact import float_ceil
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design
from discreet.metricdp.methods.baselines import (
    BestConstant,
    Exponential,
    PlanarLaplace,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from discreet.core.channels.channel import Channel
    from discreet.core.progress import Progress
    from discreet.metricdp.part import Method

_STATUS = Path("/proc/self/status")

_RESET = Path("/proc/self/clear_refs")


@final
class PeakMemory:
    """Resident memory that the process needed at most since this was made, beyond what it held then.

    Linux keeps a high-water mark that can be set back; elsewhere nothing is measured, and :attr:`extra` is ``None``.

    Examples
    --------
    >>> peak = PeakMemory()
    >>> peak.extra is None or peak.extra >= 0
    True
    """

    def __init__(self) -> None:
        self._before: int | None = None
        try:
            _RESET.write_text("5", encoding="ascii")
        except OSError:
            # A mark that cannot be set back would tell of earlier work.
            return
        self._before = _read("VmRSS")

    @property
    def extra(self) -> int | None:
        """Bytes by which the process's peak rose since the start; ``None`` if the system does not say."""
        peak = _read("VmHWM")
        if self._before is None or peak is None:
            return None
        return max(0, peak - self._before)


def _read(name: str) -> int | None:
    """Return a field of ``/proc/self/status``, such as ``"VmRSS"``, in bytes.

    ``None`` if the system has no such file or field.
    """
    try:
        text = _STATUS.read_text(encoding="ascii")
    except OSError:
        return None
    for line in text.splitlines():
        field, _, value = line.partition(":")
        if field == name:
            return int(value.split()[0]) * 1024
    return None


_TINY = (0.4, 0.3, 0.2, 0.1)
"""A prior without symmetry, so that nothing is solved before the solvers are loaded."""


@final
@dataclass(frozen=True)
class Entry:
    """Outcome of one method at one epsilon.

    Parameters
    ----------
    method
        The name that was requested.
    epsilon
        Nats per unit of distance that were requested.
    found_by
        What found the channel; several methods may have been tried. Empty where there is none.
    loss
        Certified expected loss, rounded up; ``None`` where the method found no channel, and `note` says why.
    lower
        Lower bound on the loss of any private channel; ``None`` if the method proves none. A bound of 0 is given
        where the design met its target by it.
    within, everywhere
        The least epsilon that the channel keeps for the pairs within the radius, and for all pairs, rounded up;
        infinite where some report rules a secret out, ``None`` where there is no channel.
    seconds
        Wall-clock time of design, repair and verification, libraries loaded before.
    memory
        Bytes beyond what was held before, at the peak; ``None`` where the system does not say.
    note
        The last sentence of the method's trace.
    """

    method: str
    epsilon: Fraction
    found_by: str
    loss: float | None
    lower: float | None
    within: float | None
    everywhere: float | None
    seconds: float
    memory: int | None
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; an infinite epsilon and a missing value are ``None``.

        Keys: ``"method"``, ``"epsilon"``, ``"found_by"``, ``"loss"``, ``"lower"``, ``"epsilon_within_radius"``,
        ``"epsilon_all_pairs"``, ``"seconds"``, ``"peak_memory_bytes"``, ``"certified"`` (whether there is a loss) and
        ``"note"``.
        """
        finite = {
            name: value if value is not None and math.isfinite(value) else None
            for name, value in (("within", self.within), ("everywhere", self.everywhere))
        }
        return {
            "method": self.method,
            "epsilon": float(self.epsilon),
            "found_by": self.found_by or None,
            "loss": self.loss,
            "lower": self.lower,
            "epsilon_within_radius": finite["within"],
            "epsilon_all_pairs": finite["everywhere"],
            "seconds": self.seconds,
            "peak_memory_bytes": self.memory,
            "certified": self.loss is not None,
            "note": self.note,
        }


def compare_methods(
    problem: Problem,
    guarantee: MetricDP,
    methods: Mapping[str, Method | None],
    epsilons: Sequence[Fraction],
    *,
    gap: float = 0.01,
    time_limit: float | None = None,
    threads: int = 1,
    allow_unprotected: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_entry: Callable[[Entry], None] | None = None,
) -> list[Entry]:
    """Design with each method at each epsilon.

    One design, repair and verification for each method and epsilon, after a tiny design with each method, which loads
    its libraries. A solver that fails gives an entry without a loss.

    Parameters
    ----------
    problem
        The problem.
    guarantee
        Unit and radius; its epsilon is not used.
    methods
        Name and method; ``None`` for what :func:`discreet.metricdp.design` does by itself.
    epsilons
        Different budgets, in nats per unit.
    gap, time_limit, threads, allow_unprotected, on_progress
        As in :func:`discreet.metricdp.design`, for each design.
    on_entry
        Called with each entry as soon as there is one.

    Returns
    -------
    list of Entry
        By epsilon, then by method, in the orders given. A method that does not apply has an entry without a loss.

    Raises
    ------
    InvalidProblemError
        Without methods or epsilons, for one epsilon twice, or as ``design`` does.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Exponential, Problem
    >>> problem = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")
    >>> found = compare_methods(
    ...     problem, MetricDP(1, unit="km"), {"best": None, "blunt": Exponential()}, [Fraction(2)]
    ... )
    >>> [(entry.method, entry.loss < 1, entry.everywhere <= 2) for entry in found]
    [('best', True, True), ('blunt', True, True)]
    """
    if not methods:
        raise InvalidProblemError("methods", "one method or more", "none")
    if not epsilons or len(set(epsilons)) < len(epsilons):
        raise InvalidProblemError("epsilons", "different budgets, one or more", "others")
    _warm_up(methods)
    entries = []
    for epsilon in epsilons:
        target = MetricDP(epsilon, guarantee.unit, guarantee.radius)
        for name, method in methods.items():
            peak, start = PeakMemory(), time.perf_counter()
            try:
                made = design(
                    problem,
                    target,
                    method=method,
                    gap=gap,
                    time_limit=time_limit,
                    threads=threads,
                    allow_unprotected=allow_unprotected,
                    on_progress=on_progress,
                    throw=False,
                )
            except SolverError as error:
                spent = time.perf_counter() - start
                note = error.detail or str(error)
                entry = Entry(name, epsilon, "", None, None, None, None, spent, peak.extra, note)
            else:
                spent, memory = time.perf_counter() - start, peak.extra
                entry = Entry(
                    name,
                    epsilon,
                    made.provenance.method,
                    made.upper,
                    made.lower if made.lower or made.status != "limit reached" else None,
                    _achieved(made.channel, problem.space, target.radius),
                    _achieved(made.channel, problem.space, None),
                    spent,
                    memory,
                    made.provenance.method_trace[-1] if made.provenance.method_trace else "",
                )
            entries.append(entry)
            if on_entry is not None:
                on_entry(entry)
    return entries


def best_lower(entries: Sequence[Entry], epsilon: Fraction) -> float | None:
    """Return the greatest lower bound on the loss at an epsilon, of all methods; ``None`` if there is none.

    A bound at a larger epsilon holds too.

    `entries` may be of several epsilons; linear in them.

    Examples
    --------
    >>> from fractions import Fraction
    >>> made = [
    ...     Entry("a", Fraction(e), "a", 1.0, lower, 1.0, 1.0, 0.0, None, "") for e, lower in ((1, 0.2), (2, 0.3))
    ... ]
    >>> best_lower(made, Fraction(1)), best_lower(made, Fraction(3))
    (0.3, None)
    """
    proven = [e.lower for e in entries if e.lower is not None and e.epsilon >= epsilon]
    return max(proven, default=None)


def comparison_cells(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Return the cells of each entry that follow its method and epsilon, as texts.

    Loss, lower bound, excess of the loss over the best bound, least epsilon within the radius and for all pairs,
    seconds, and MiB. Losses and budgets are rounded up, bounds down; what is missing is empty, but for a loss.
    """
    return [
        (
            "no channel" if entry.loss is None else printed.at_most(entry.loss),
            printed.at_least(entry.lower),
            printed.excess(best_lower(entries, entry.epsilon), entry.loss),
            printed.at_most(entry.within),
            printed.at_most(entry.everywhere),
            printed.estimate(entry.seconds, 3),
            printed.estimate(None if entry.memory is None else entry.memory / 2**20, 3),
        )
        for entry in entries
    ]


def published_losses(
    problem: Problem, guarantee: MetricDP, *, max_remapped_share: float = 0.999
) -> list[tuple[str, float]]:
    """Return the losses of published mechanisms under one guarantee, each repaired, rounded and verified like a design.

    Parameters
    ----------
    problem
        The problem.
    guarantee
        What is promised; a scope, where there is one, says whether separate groups are joined.
    max_remapped_share
        Share of its loss below which the remapped reports of a mechanism get a line of their own.

    Returns
    -------
    list of (str, float)
        Name and certified loss: the exponential mechanism, planar Laplace noise where the secrets lie in a plane or on
        a sphere, each also with its reports renamed for the prior (Bayes remap) where that helps, and the best constant
        report.

    Raises
    ------
    InvalidProblemError
        When the guarantee does not fit the problem.

    Complexity
    ----------
    A verification each: O(constrained pairs n_reports).

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem
    >>> line = Problem(MetricSpace.grid(1, 4, cell=1, unit="km"), utility_loss="euclidean")
    >>> [(name, round(loss, 3)) for name, loss in published_losses(line, MetricDP(1, unit="km"))][-1]
    ('always the same report', 1.0)
    """
    target = MetricDP(guarantee.epsilon, guarantee.unit, guarantee.radius)
    scope = guarantee.space_scope
    apart = scope is not None and scope.components > 1
    methods: list[tuple[str, Method]] = [("exponential mechanism", Exponential())]
    points = problem.space.points
    in_plane = (
        points is not None
        and points.shape[1] == 2
        and problem.space.metric in {"euclidean", "grid", "haversine"}
    )
    if in_plane and problem.reports is not None:
        methods.append(("planar Laplace", PlanarLaplace()))
    losses = []
    for name, method in methods:
        made = design(problem, target, method=method, allow_unprotected=apart, throw=False)
        losses.append((name, made.upper))
        names = (made.channel.probabilities.T @ problem.cost).argmin(axis=1)
        renamed = made.channel.expected_loss(problem.cost[:, names])
        if renamed < max_remapped_share * made.upper:
            losses.append((f"{name}, remapped", renamed))
    constant = design(problem, target, method=BestConstant(), allow_unprotected=apart, throw=False)
    return [*losses, ("always the same report", constant.upper)]


def _warm_up(methods: Mapping[str, Method | None]) -> None:
    """Design a channel for 4 secrets with each method, so that the first method does not pay for loading the libraries.

    Failures of solvers are ignored.
    """
    tiny = Problem(MetricSpace.grid(2, 2, cell=1, unit="km"), utility_loss="distance", prior=_TINY)
    for method in methods.values():
        with suppress(SolverError):
            design(tiny, MetricDP("0.1", "km"), method=method, gap=0, throw=False)


def _achieved(channel: Channel, space: MetricSpace, radius: Fraction | None) -> float:
    """Return the least epsilon that a channel keeps within a radius, in nats per unit of distance, rounded up.

    `radius` ``None`` is for all pairs. Infinite if a report rules a secret out. One pass over pairs times reports.
    """
    epsilon = channel.privacy_loss(space, radius=radius).epsilon
    return math.inf if epsilon is None else float_ceil(epsilon)
