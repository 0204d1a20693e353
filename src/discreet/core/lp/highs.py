"""The adapter: hands a program to HiGHS, runs it, and reads the answer back. Nothing else talks to HiGHS.

Facts of HiGHS 1.15 that decide what stands here, each with a test:

- return codes say what the model status hides: a rejected model is *Not Set* with objective 0;
- one thread of Python runs all its solvers with one number of threads, unless its scheduler is reset;
- tolerances are absolute, and costs below 1e-7 count as zero, so that small costs are scaled up by a power of two;
- the clock behind the time limit is never set back between two solves of one object;
- Ctrl-C is seen only through its callbacks;
- 1.16 prints a banner from its constructor, whatever the options.

Proposes; checked by the verifier of each mechanism.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import (
    InfeasibleError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)
from discreet.core.lp.bounds import dual_objective
from discreet.core.lp.program import HIGHS
from discreet.core.lp.solution import LPSolution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from highspy import HighsStatus
    from numpy.typing import NDArray

    from discreet.core.lp.program import LinearProgram

BACKEND = "HiGHS"

Solver = Any
"""A ``highspy.Highs``; its type stubs lack half of its methods."""

_SOLVERS = {"auto": "choose", "simplex": "simplex", "ipm": "ipm"}
_ITERATION_LIMITS = ("simplex_iteration_limit", "ipm_iteration_limit")
_LIMITS = {
    "kTimeLimit": "time limit",
    "kIterationLimit": "iteration limit",
    "kSolutionLimit": "node limit",
}
_ADVICE = {
    "kUnbounded": "the cost has no lower bound on the feasible set; check the signs of the costs and the bounds",
    "kUnboundedOrInfeasible": "presolve could not tell which; give the variables finite bounds",
    "kUnknown": "the coefficients are too far apart for floating point; rescale, or drop implied constraints",
}


@dataclass(frozen=True)
class Options:
    """What a caller may ask of one solve; see :func:`discreet.core.lp.solve`."""

    method: str = "auto"
    time_limit: float | None = None
    gap: float | None = None
    threads: int = 1
    iteration_limit: int | None = None
    tolerance: float | None = None
    crossover: bool = True
    log: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        for field, right, expected in (
            ("method", self.method in _SOLVERS, f"one of {', '.join(_SOLVERS)}"),
            ("time_limit", self.time_limit is None or self.time_limit >= 0, "nonnegative seconds"),
            ("gap", self.gap is None or 0 <= self.gap < math.inf, "a nonnegative relative gap"),
            ("threads", self.threads >= 1, "at least one thread"),
            (
                "iteration_limit",
                self.iteration_limit is None or self.iteration_limit >= 0,
                "a nonnegative count",
            ),
            (
                "tolerance",
                self.tolerance is None or 1e-10 <= self.tolerance < 1,
                "a number from 1e-10 to 1",
            ),
        ):
            if not right:
                raise InvalidProblemError(field, expected, getattr(self, field))


def check(status: HighsStatus, action: str) -> None:
    """Raise SolverError unless HiGHS reports success: with a warning it changed the program.

    `action` is a verb and its object, for the message.
    """
    if status.name != "kOk":
        raise SolverError(BACKEND, status.name.removeprefix("k"), f"while it was asked to {action}")


def cost_scale(cost: NDArray[np.float64]) -> float:
    """Return the power of two that lifts the largest cost to at least 1; exact to apply and to undo.

    `cost` is ``(n,)``; the result is 1 for costs of 1 and more, and for zeros alone.
    """
    largest = float(np.abs(cost).max())
    # Subnormal costs would need a factor beyond the floats.
    return 2.0 ** min(1000, 1 - math.frexp(largest)[1]) if 0 < largest < 1 else 1.0


def load(program: LinearProgram) -> Solver:
    """Create a solver and copy a program into it; raise SolverError if HiGHS would change the program.

    Costs are multiplied by :func:`cost_scale`. Linear in the entries of the matrix.
    """
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.n_variables, program.n_rows
    lp.col_cost_ = program.cost * cost_scale(program.cost)
    lp.col_lower_, lp.col_upper_ = program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = program.n_variables, program.n_rows
    lp.a_matrix_.start_ = program.matrix.indptr
    lp.a_matrix_.index_ = program.matrix.indices
    lp.a_matrix_.value_ = program.matrix.data
    if program.integrality is not None:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[is_integer] for is_integer in program.integrality.tolist()]
    highs = _silent()()
    check(highs.passModel(lp), "read the program")
    return highs


@cache
def _silent() -> type[Any]:
    """Derive a solver that says nothing: HiGHS 1.16 prints its banner when its constructor asks for callbacks."""
    import highspy

    class Silent(highspy.Highs):
        def enableCallbacks(self) -> None:  # noqa: N802 - the name is that of highspy
            self.setOptionValue("output_flag", False)  # noqa: FBT003 - HiGHS takes its options by position
            super().enableCallbacks()  # type: ignore[no-untyped-call]

    return Silent


def run(highs: Solver, program: LinearProgram, options: Options) -> LPSolution:
    """Solve the loaded `program`, and return an optimal solution, or raise.

    `highs` is the solver of :func:`load`; after a change of the program it starts from its last basis. A solve may
    take exponential time; see `options` for limits.

    Raises
    ------
    InvalidProblemError
        For a mixed-integer program with another method than ``"auto"``.
    InfeasibleError
        When no point is feasible.
    LimitReachedError
        When a limit was reached; ``best`` is the last feasible point, or ``None``.
    SolverError
        For any other end, such as an unbounded program.
    """
    import highspy

    if program.is_mixed_integer and options.method != "auto":
        raise InvalidProblemError(
            "method", "'auto' for a mixed-integer program", repr(options.method)
        )
    _set_options(highs, options, mixed_integer=program.is_mixed_integer)
    # The scheduler belongs to the thread and remembers its number of workers; a solver with another number fails.
    highspy.Highs.resetGlobalScheduler(True)  # noqa: FBT003 - a C++ function without keywords
    start = time.perf_counter()
    with _listening(highs, options.log):
        returned = highs.run()
    seconds = time.perf_counter() - start
    status = highs.getModelStatus().name
    if status == "kOptimal":
        check(returned, "solve the program")
        return _read(highs, program, seconds, finished=True)
    if status == "kInfeasible" and _is_feasible(program, options):
        raise SolverError(BACKEND, "Unbounded", _ADVICE["kUnboundedOrInfeasible"])
    if status == "kInfeasible":
        raise InfeasibleError(f"{BACKEND} finds no feasible point of {program!r}")
    if status in _LIMITS:
        best = _incumbent(highs, program, seconds, options.tolerance or HIGHS.tolerance)
        # No objective here: it may have been computed from private data, and a message may be printed.
        best_text = "no feasible point" if best is None else "the best feasible point is kept"
        raise LimitReachedError(f"{BACKEND}: {_LIMITS[status]} reached, {best_text}", best)
    raise SolverError(
        BACKEND, highs.modelStatusToString(highs.getModelStatus()), _ADVICE.get(status, "")
    )


def _is_feasible(program: LinearProgram, options: Options) -> bool:
    """Whether the program without its cost is feasible: HiGHS 1.15 reports some unbounded programs as infeasible.

    It solves the program once more, without a cost; False without a solve if all costs are 0, or if a limit ends it.
    """
    if not program.cost.any():
        return False
    bare = load(program)
    for column in range(program.n_variables):
        bare.changeColCost(column, 0.0)
    _set_options(bare, options, mixed_integer=program.is_mixed_integer)
    bare.run()
    return bool(bare.getModelStatus().name == "kOptimal")


def _set_options(highs: Solver, options: Options, *, mixed_integer: bool) -> None:
    """Set the solver's options; time limits are in seconds from now on.

    `options` are those of the solve; for a mixed-integer program the limit of iterations is one of nodes. SolverError
    for a value that HiGHS refuses.
    """
    largest = 2**31 - 1
    limit = largest if options.iteration_limit is None else min(options.iteration_limit, largest)
    # A limit on iterations would also cut the small programs inside a mixed-integer search short.
    limits = {"mip_max_nodes": limit} if mixed_integer else dict.fromkeys(_ITERATION_LIMITS, limit)
    seconds = math.inf if options.time_limit is None else highs.getRunTime() + options.time_limit
    tolerance = HIGHS.tolerance if options.tolerance is None else options.tolerance
    for name, value in {
        "solver": _SOLVERS[options.method],
        "threads": options.threads,
        "time_limit": seconds,
        **limits,
        "run_crossover": "on" if options.crossover else "off",
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
        "ipm_optimality_tolerance": 1e-8 if options.tolerance is None else options.tolerance,
        "mip_feasibility_tolerance": tolerance,
        # These judge the answer once more; a looser wish must loosen them too, or the answer is "Unknown".
        "optimality_tolerance": max(tolerance, HIGHS.tolerance),
        "primal_residual_tolerance": max(tolerance, HIGHS.tolerance),
        "dual_residual_tolerance": max(tolerance, HIGHS.tolerance),
        "mip_rel_gap": options.gap or 0.0,
        "mip_abs_gap": 0.0,
        "output_flag": options.log is not None,
        "log_to_console": False,
    }.items():
        check(highs.setOptionValue(name, value), f"set {name} to {value}")


@contextmanager
def _listening(highs: Solver, log: Callable[[str], None] | None) -> Iterator[None]:
    """Pass log lines on to `log`, and stop the solver at its next iteration when the user presses Ctrl-C.

    A context manager. An exception must not fly through the C++ of the solver: the signal, and an error of `log`, which
    stops the solver too, are raised once it has stopped.
    """
    from highspy import cb

    Kind = cb.HighsCallbackType
    pressed: list[Any] = []
    failed: list[Exception] = []

    def listen(kind: Any, message: str, _out: Any, answer: Any, _data: Any) -> None:  # noqa: ANN401 - of C++
        if int(kind) != int(Kind.kCallbackLogging):
            answer.user_interrupt = bool(pressed or failed)
        elif log is not None and not failed:
            try:
                log(message)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again when HiGHS has stopped
                failed.append(error)

    check(highs.setCallback(listen, None), "report")
    for kind in (
        Kind.kCallbackLogging,
        Kind.kCallbackSimplexInterrupt,
        Kind.kCallbackIpmInterrupt,
        Kind.kCallbackMipInterrupt,
    ):
        check(highs.startCallback(kind), "report")
    former = signal.getsignal(signal.SIGINT)
    # Python runs handlers of signals in the main thread alone.
    mine = callable(former) and threading.current_thread() is threading.main_thread()
    if mine:
        signal.signal(signal.SIGINT, lambda *event: pressed.append(event))
    try:
        yield
    finally:
        if mine:
            signal.signal(signal.SIGINT, former)
    if callable(former) and pressed:
        former(*pressed[0])
    if failed:
        raise failed[0]


def _read(highs: Solver, program: LinearProgram, seconds: float, *, finished: bool) -> LPSolution:
    """Return the solver's solution, with duals and their bound if it `finished`, or the bound of branch and bound.

    `seconds` is the time that the solve took. Costs are in the program's own unit again; duals and bound are ``None``
    and minus infinity where the solver has none.
    """
    solution, info = highs.getSolution(), highs.getInfo()
    scale = cost_scale(program.cost)
    x = np.array(solution.col_value, dtype=np.float64)
    y = d = None
    bound = -math.inf
    if program.integrality is not None:
        x[program.integrality] = np.rint(x[program.integrality])
        bound = info.mip_dual_bound / scale
    elif finished and solution.dual_valid:
        y = np.array(solution.row_dual, dtype=np.float64) / scale
        d = np.array(solution.col_dual, dtype=np.float64) / scale
        bound = dual_objective(program, y, d)
    counts = (
        info.simplex_iteration_count,
        info.ipm_iteration_count,
        info.crossover_iteration_count,
    )
    return LPSolution(
        program=program,
        x=x,
        row_duals=y,
        reduced_costs=d,
        objective=float(program.cost @ x),
        bound=bound,
        iterations=sum(max(0, int(count)) for count in counts),
        seconds=seconds,
    )


def _incumbent(
    highs: Solver, program: LinearProgram, seconds: float, tolerance: float
) -> LPSolution | None:
    """Return the point at which a limit ended the search, where it was measured to be feasible, else ``None``."""
    if not highs.getSolution().value_valid:
        return None
    solution = _read(highs, program, seconds, finished=False)
    return solution if solution.is_feasible(10 * tolerance) else None
