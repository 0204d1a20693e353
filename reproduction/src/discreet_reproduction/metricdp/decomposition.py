"""Tables 3 and 4 of [Qiu24]_: how long the decomposition and two classic solvers take, and what they return."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.errors import InfeasibleError, LimitReachedError, SolverError
from discreet.core.exact import float_ceil
from discreet.core.lp import solve
from discreet.core.lp.solution import LPSolution
from discreet.metricdp import Benders, design
from discreet.metricdp.blocks import PARTITIONERS
from discreet_reproduction.metricdp.as_published.decomposition import as_published, as_released
from discreet_reproduction.metricdp.flat import excess, flat_program
from discreet_reproduction.metricdp.instances import EPSILON, NOTES, make_instance
from discreet_reproduction.metricdp.tracing import Size
from discreet_reproduction.record import Experiment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.core.outcome import Unproven
    from discreet_reproduction.metricdp.as_published.decomposition import PublishedDecomposition
    from discreet_reproduction.metricdp.instances import MetricInstance
    from discreet_reproduction.record import Cell, Run

_DATA = {"road": "Road", "grid": "Grid", "strip": "Grid", "text": "Text", "synthetic": "Syn"}
_GAP, _CAP = 0.01, 10_000

QUICK = Size(60, 10, 5, iterations=500, seconds=3)
FULL = Size(500, 100, 25, iterations=500, seconds=1800)

# [Qiu24]_, Tables 3 and 4, columns as PARTITIONERS; the last two of Table 3: dual simplex, interior point.
TABLE_3 = {
    "Road": "290.7±33.5 1066.9±154.4 max max max max",
    "Grid": "161.4±14.3 159.8±4.8 max 238.2±6.0 max max",
    "Text": "27.2±0.3 925.0±79.0 58.7±9.7 1218.6±78.3 max max",
    "Syn": "185.1±23.9 162.7±12.0 max 434.1±21.1 max max",
}
TABLE_4 = {
    "Road": "128±10 180±17 >=500 >=500",
    "Grid": "143±4 130±6 >=500 185±7",
    "Text": "41±6 204±19 42±5 154±14",
    "Syn": "142±11 144±15 >=500 237±19",
}

_NOTES = (
    (
        "As released: ratios relaxed by 0.01 and probabilities kept above 0.001, as in the paper's code; what it "
        "returns is not private, and its seconds and losses are not those of the stated program (E15)."
    ),
    (
        "As printed: the optimality cut counts the boundary twice, so that the lower bound passes the optimum (E1) and "
        "an absolute gap of 0.01 may be reached early (E4)."
    ),
    "Corrected: `discreet design --method benders`, stopped at 1 %; channel verified in integers, bound proved.",
    (
        "Excess is by how many nats the worst ratio passes epsilon times distance: what a solver calls optimal is not "
        "private either. A verified channel has none."
    ),
    (
        "Flat: the program with all constraints within the radius that are at most 20 nats; HiGHS, not MATLAB. The cap "
        "is the paper's 10,000 iterations: it is what fails there, not the program."
    ),
    (
        "By D.3 an iteration takes 2.70 s on average, by Tables 3 and 4 half as much (E10). Blocks run one after "
        "the other here."
    ),
    "Seconds are those of the processor, one thread, one run.",
)


@final
@dataclass(frozen=True)
class Solved:
    """One method on one instance.

    Parameters
    ----------
    method, partitioner
        Which; the partitioner is empty where there is none.
    seconds
        Of the processor.
    iterations
        Of the master, or of the solver.
    ended
        Why it stopped.
    loss, lower
        Its utility loss and lower bound; ``None`` where it has none.
    excess
        Nats by which the worst ratio passes its budget; ``None`` without a matrix.
    infinite
        Ratios of a positive to a zero probability.
    verified
        Whether what it returned is a verified channel.
    """

    method: str
    partitioner: str
    seconds: float
    iterations: int | None
    ended: str
    loss: float | None = None
    lower: float | None = None
    excess: float | None = None
    infinite: int | None = None
    verified: bool = False


def table3(run: Run) -> Experiment:
    """Seconds of the decomposition with four partitioners, and of two classic solvers (Table 3)."""
    rows: list[dict[str, Cell]] = []
    size = (QUICK if run.quick else FULL).within(run.limit)
    for dataset, kind in _DATA.items():
        printed = TABLE_3[kind].split()
        for one, label in _all_runs(run, dataset, size, flat=True):
            rows.append(_row(one, label) | {"seconds (paper)": _in_paper(one, printed)})
    columns = ("data", "method", "partitioner", "seconds", "seconds (paper)", "iterations", "ended")
    return Experiment(
        "metricdp/table3",
        "Seconds to the end, and what was returned",
        columns=(*columns, "loss", "lower bound", "excess (nats)", "infinite ratios", "verified"),
        rows=rows,
        notes=(*_NOTES, *NOTES.values()),
        settings=size.settings(run.seed),
    )


def table4(run: Run) -> Experiment:
    """Iterations of the decomposition with four partitioners (Table 4)."""
    rows: list[dict[str, Cell]] = []
    size = (QUICK if run.quick else FULL).within(run.limit)
    for dataset, kind in _DATA.items():
        printed = TABLE_4[kind].split()
        solved = list(_all_runs(run, dataset, size, flat=False))
        label = solved[0][1]
        found = {(one.partitioner, one.method): one for one, _ in solved}
        for at, partitioner in enumerate(PARTITIONERS):
            row: dict[str, Cell] = {"data": label, "partitioner": partitioner}
            for method in ("as released", "as printed", "corrected"):
                one = found[partitioner, method]
                row[method] = one.iterations
                row[f"{method}: ended"] = one.ended
            row["iterations (paper)"] = printed[at]
            rows.append(row)
    return Experiment(
        "metricdp/table4",
        "Iterations until the decomposition stops",
        rows=rows,
        notes=(
            *_NOTES[:3],
            "The paper's counts are those of the released code: early stops on a bound that is none (E1).",
            *NOTES.values(),
        ),
        settings=size.settings(run.seed),
    )


def _row(one: Solved, label: str) -> dict[str, Cell]:
    return {
        "data": label,
        "method": one.method,
        "partitioner": one.partitioner,
        "seconds": round(one.seconds, 3),
        "iterations": one.iterations,
        "ended": one.ended,
        "loss": one.loss,
        "lower bound": one.lower,
        "excess (nats)": one.excess,
        "infinite ratios": one.infinite,
        "verified": one.verified,
    }


def _in_paper(one: Solved, printed: list[str]) -> str | None:
    """Find the printed figure that belongs to a run: those of its code, and those of solvers with the cap."""
    if one.method == "as released":
        return printed[PARTITIONERS.index(one.partitioner)]
    capped = {"flat, dual simplex, cap": printed[4], "flat, interior point, cap": printed[5]}
    return capped.get(one.method)


def _all_runs(run: Run, dataset: str, size: Size, *, flat: bool) -> Iterator[tuple[Solved, str]]:
    """Solve one instance in all ways; the decomposition only once in a process."""
    instance = make_instance(dataset, size.n, size.k, seed=run.seed, data=run.data)
    label = instance.label
    for method in ("as released", "as printed", "corrected"):
        for partitioner in PARTITIONERS:
            run.say(f"{label}: {method}, {partitioner}")
            yield decompose(dataset, size, method, partitioner, seed=run.seed, data=run.data), label
    if flat:
        for solver in ("simplex", "ipm"):
            for cap in (_CAP, None):
                run.say(f"{label}: flat, {solver}, cap {cap}")
                yield run_flat(instance, solver, cap, size.seconds), label
        run.say(f"{label}: portfolio")
        yield _designed(instance, "discreet's choice", "", None, size), label


@lru_cache(maxsize=128)
def decompose(
    dataset: str, size: Size, method: str, partitioner: str, *, seed: int, data: Path | None
) -> Solved:
    """Run one variant of the decomposition: ``"as released"``, ``"as printed"`` or ``"corrected"``."""
    instance = make_instance(dataset, size.n, size.k, seed=seed, data=data)
    if method == "corrected":
        how = Benders(
            blocks=size.blocks, partitioner=partitioner, iterations=size.iterations, seed=seed
        )
        try:
            return _designed(instance, method, partitioner, how, size)
        except SolverError as error:
            # A program that would be too large.
            return Solved(method, partitioner, 0.0, None, _said(error))
    start = time.process_time()
    variant = as_published if method == "as printed" else as_released
    try:
        found: Unproven[PublishedDecomposition] = variant(
            instance.problem,
            instance.guarantee(),
            blocks=size.blocks,
            partitioner=partitioner,
            iterations=size.iterations,
            seed=seed,
            time_limit=size.seconds,
        )
    except (LimitReachedError, SolverError, InfeasibleError) as error:
        spent = time.process_time() - start
        return Solved(method, partitioner, spent, None, _said(error))
    spent, made = time.process_time() - start, found.result
    return Solved(
        method,
        partitioner,
        spent,
        made.iterations,
        made.status,
        made.upper,
        made.claimed_lower,
        made.excess,
        made.infinite,
    )


def _designed(
    instance: MetricInstance, method: str, partitioner: str, how: Benders | None, size: Size
) -> Solved:
    """Design with a method, all bounds proved, and measure what the channel keeps."""
    start = time.process_time()
    made = design(
        instance.problem,
        instance.guarantee(),
        method=how,
        gap=_GAP,
        time_limit=size.seconds,
        allow_unprotected=True,
        throw=False,
    )
    spent = time.process_time() - start
    achieved = made.channel.privacy_loss(instance.space, radius=made.guarantee.radius).epsilon
    over = math.inf if achieved is None else max(0.0, float_ceil(achieved) - EPSILON)
    iterations = made.provenance.parameters.get("iterations")
    return Solved(
        method if how else f"{method}: {made.provenance.method}",
        partitioner,
        spent,
        iterations if isinstance(iterations, int) else None,
        made.status,
        made.upper,
        made.lower,
        over,
        0 if math.isfinite(over) else None,
        made.certificate.passed,
    )


def run_flat(instance: MetricInstance, solver: str, cap: int | None, seconds: float) -> Solved:
    """Solve the program as it stands, by one method of HiGHS.

    Parameters
    ----------
    instance
        The problem.
    solver
        ``"simplex"`` (dual) or ``"ipm"`` (interior point, without crossover).
    cap
        Most iterations, or ``None``.
    seconds
        Wall-clock limit.
    """
    method: Literal["simplex", "ipm"] = "simplex" if solver == "simplex" else "ipm"
    name = "flat, dual simplex" if solver == "simplex" else "flat, interior point"
    name += ", cap" if cap is not None else ""
    program, scale = flat_program(instance)
    start = time.process_time()
    found: object = None
    try:
        found = solve(
            program, method=method, crossover=False, iteration_limit=cap, time_limit=seconds
        )
        ended = "optimal"
    except LimitReachedError as error:
        found, ended = error.best, _said(error)
    except (SolverError, InfeasibleError) as error:
        ended = _said(error)
    spent = time.process_time() - start
    if not isinstance(found, LPSolution):
        return Solved(name, "", spent, None, ended)
    matrix = np.maximum(found.x, 0.0).reshape(instance.problem.cost.shape)
    over, infinite = excess(matrix, instance)
    loss = float((instance.problem.cost * matrix).sum())
    lower = found.bound * scale if math.isfinite(found.bound) else None
    return Solved(name, "", spent, found.iterations, ended, loss, lower, over, infinite)


def _said(error: Exception) -> str:
    """Shorten why a run has no answer, for a table."""
    said = str(error).replace(" before all subproblems were feasible at once", "")
    return f"no answer: {said.partition(' (')[0]}"
