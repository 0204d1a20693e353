r"""Benders decomposition of block-angular programs: the master guesses, the blocks answer with cuts.

The master holds a variable :math:`w_l` for the cost of each block and minimizes over what is known of it so far; a
block solved at the master's point x returns its cost with a linear function below it (an optimality cut), or the proof
that x leaves it no point (a feasibility cut). The master's value and the best point found close in on the optimum.

*In-out separation.* Where a feasible point of the whole is known, the blocks are asked at a point between it and the
master's, and every better point replaces it. Without that the master jumps from corner to corner.

The lower bound is not the solver's: it is the value of multipliers, evaluated with outward rounding. A cut holds for
whatever multipliers made it, see :class:`~discreet.core.lp.angular.Block`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from discreet.core.errors import (
    InfeasibleError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)
from discreet.core.lp.angular import split
from discreet.core.lp.bounds import lagrangian_bound
from discreet.core.lp.model import LinearModel
from discreet.core.lp.program import HIGHS
from discreet.core.lp.solution import LPSolution
from discreet.core.lp.solve import solve
from discreet.core.printed import at_least
from discreet.core.progress import Progress, Reporter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Executor

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.lp.angular import Angular, Block, Cut
    from discreet.core.lp.program import LinearProgram


class _Tolerances(NamedTuple):
    """What counts as zero."""

    cut_violation: float = 1e-9
    """Least violation of a cut that is added, relative to the size of the cut."""
    feasibility: float = 1e-6
    """Largest violation of a row or a bound at a point that counts as feasible."""
    second_solve: float = 1e-7
    """Tolerance for a second solve of blocks that the first reports infeasible by rounding."""


_TOLERANCES = _Tolerances()
_SHRINK, _GROW, _LEAST_STEP = 0.7, 1.3, 0.1
"""How the step from the inner point changes after a query that failed, and after one that did not."""


@final
@dataclass(frozen=True, eq=False)
class AddedRows:
    """Further rows for the master.

    Parameters
    ----------
    matrix
        ``(rows, master's variables)``, dense or sparse.
    lower, upper
        Sides, one for each row or one for all.
    tags
        What the caller wants to have back beside the multiplier of each row.
    """

    matrix: Any
    lower: ArrayLike
    upper: ArrayLike
    tags: Sequence[object]


@final
@dataclass(frozen=True)
class BendersStep:
    """Where the decomposition stands after an iteration.

    Parameters
    ----------
    iteration
        From 1; 0 for the anchor.
    lower, upper
        Best bounds so far.
    optimality, feasibility
        Numbers of cuts of each kind so far.
    step
        How far from the inner point to the master's point the blocks were asked; 1 is at the master's.
    """

    iteration: int
    lower: float
    upper: float
    optimality: int
    feasibility: int
    step: float


@final
@dataclass(frozen=True)
class BendersOptions:
    """When to stop, and how to solve.

    Parameters
    ----------
    gap
        Stop when ``upper - lower <= gap * abs(upper)``.
    absolute_gap
        Stop when ``upper - lower`` is at most this.
    iterations
        Most solves of the master.
    time_limit
        Seconds.
    threads
        Threads of a solver.
    tolerance
        Of all programs, see :func:`~discreet.core.lp.solve`.
    executor
        Solves the blocks side by side: anything whose ``map`` stays in this process, such as a pool of threads.
    """

    gap: float = 1e-6
    absolute_gap: float = 0.0
    iterations: int = 500
    time_limit: float | None = None
    threads: int = 1
    tolerance: float = 1e-9
    executor: Executor | None = None

    def __post_init__(self) -> None:
        for field in ("gap", "absolute_gap"):
            if not 0 <= getattr(self, field) < math.inf:
                raise InvalidProblemError(field, "a nonnegative gap", getattr(self, field))
        if self.iterations < 1:
            raise InvalidProblemError("iterations", "at least one iteration", self.iterations)


@final
@dataclass(frozen=True, eq=False)
class BendersResult:
    """What the decomposition found.

    Parameters
    ----------
    x
        The best point of the whole program, feasible up to tolerances; ``None`` where none was found.
    upper
        Its cost; infinite without one.
    lower
        No point costs less: the value of multipliers of the master's program at its best iterate, rounded down. It
        rests on the cuts, which are proved, on the rows that the caller added, and on nothing the solver said.
    row_duals
        Multipliers of the rows of the whole program that give `lower`, shape (m,), those of cuts added up.
    added, added_duals
        Tags and multipliers of the rows that the caller added.
    cuts
        All cuts, in order.
    history
        One entry for each iteration.
    status
        ``"gap reached"``, ``"no cut left"``, ``"iteration limit"``, ``"time limit"`` or ``"master failed"``.
    """

    x: NDArray[np.float64] | None
    upper: float
    lower: float
    row_duals: NDArray[np.float64]
    added: tuple[object, ...]
    added_duals: NDArray[np.float64]
    cuts: tuple[Cut, ...]
    history: tuple[BendersStep, ...]
    status: str


def benders(
    program: LinearProgram,
    blocks: ArrayLike,
    *,
    options: BendersOptions | None = None,
    implied: AddedRows | None = None,
    anchor: ArrayLike | None = None,
    amend: Callable[[Cut], Cut] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> BendersResult:
    """Solve a block-angular program by Benders decomposition.

    Parameters
    ----------
    program, blocks
        As for :func:`~discreet.core.lp.angular.split`: variables with finite bounds, and the block of each.
    options
        When to stop, and how to solve.
    implied
        Rows over the master's variables that every feasible point keeps: initial cuts.
    anchor
        ``(n,)``: a feasible point of the whole, for in-out separation.
    amend
        Changes each cut before it is used. What it returns is believed: this is how a published cut is tried as it was
        printed, right or wrong.
    on_progress
        Called after each iteration.

    Returns
    -------
    BendersResult
        The best point, with bounds and multipliers.

    Raises
    ------
    InfeasibleError
        When no point is feasible.
    InvalidProblemError
        For a program that is not block-angular, or an anchor that is not feasible within 1e-6.
    SolverError
        When the master cannot be solved, and no point was found before.

    Complexity
    ----------
    Finitely many iterations, without a rate: there are finitely many bases of the blocks.

    References
    ----------
    [Qiu24]_, Section 3.2, and the survey [RCGR17]_.

    Examples
    --------
    >>> from discreet.core.lp import LinearProgram
    >>> whole = LinearProgram([1, 2, 3], [[1, 1, 0], [1, 0, 1]], row_lower=[1, 1], upper=1)
    >>> found = benders(whole, [-1, 0, 1])
    >>> round(found.upper, 6), round(found.lower, 6), found.status
    (1.0, 1.0, 'gap reached')
    """
    loop = _Loop(split(program, blocks), options or BendersOptions(), amend, on_progress)
    if implied is not None:
        loop.master.add(implied)
    status = loop.run(None if anchor is None else loop.read(anchor))
    return loop.result(status)


class _Master:
    """The master's program, and where each of its rows comes from.

    Parameters
    ----------
    parts
        The program taken apart.
    """

    def __init__(self, parts: Angular) -> None:
        self.parts = parts
        self.model = LinearModel(parts.master())
        self.cuts: list[Cut] = []
        self.origin: list[tuple[str, int]] = [("row", row) for row in parts.rows.tolist()]
        self.scale = [1.0] * len(self.origin)
        self.tags: list[object] = []

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.origin)

    def add(self, rows: AddedRows) -> None:
        """Append rows of the caller, in the master's variables, to the model in place."""
        from scipy.sparse import csr_array, hstack

        matrix = csr_array(rows.matrix)
        count = int(matrix.shape[0])
        zeros = csr_array((count, len(self.parts.blocks)))
        self.model.add_rows(hstack([matrix, zeros], format="csr"), rows.lower, rows.upper)
        self.origin += [("added", len(self.tags) + i) for i in range(count)]
        self.scale += [1.0] * count
        self.tags += list(rows.tags)

    def cut(self, block: Block, cut: Cut) -> None:
        """Append a `cut` of `block` to the model in place, unless it is too steep for numbers that the solver reads."""
        gradient, weight, constant = block.row(cut)
        if 0 < weight <= 10 * HIGHS.small_matrix_value:
            return
        row = np.zeros((1, len(gradient) + len(self.parts.blocks)))
        row[0, : len(gradient)] = -gradient
        row[0, len(gradient) + block.number] = weight
        self.model.add_rows(row, constant, math.inf)
        self.origin.append(("cut", len(self.cuts)))
        self.scale.append(block.scale(cut))
        self.cuts.append(cut)

    def sum_of_blocks(self) -> NDArray[np.float64]:
        """Return multipliers ``(rows,)`` that count every cut once, undoing its scale, and no other row."""
        weights = [
            1 / scale if kind == "cut" else 0.0
            for (kind, _), scale in zip(self.origin, self.scale, strict=True)
        ]
        return np.array(weights)

    def unfold(self, duals: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Map multipliers `duals` of the master's rows to multipliers of the program's rows and of the added rows.

        ``(n_rows,)`` and ``(added rows,)``. Linear in the cuts that have a multiplier.
        """
        row_duals, added = np.zeros(self.parts.program.n_rows), np.zeros(len(self.tags))
        for (kind, index), scale, dual in zip(self.origin, self.scale, duals.tolist(), strict=True):
            if kind == "row":
                row_duals[index] = dual
            elif kind == "added":
                added[index] = dual
            elif dual > 0:
                cut = self.cuts[index]
                row_duals[self.parts.blocks[cut.block].rows] += dual * scale * cut.duals
        return row_duals, added


@dataclass(frozen=True, eq=False)
class _Answer:
    """What a block said at a point."""

    value: float = math.inf
    y: NDArray[np.float64] | None = None
    cut: Cut | None = None


class _Loop:
    def __init__(
        self,
        parts: Angular,
        options: BendersOptions,
        amend: Callable[[Cut], Cut] | None,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self.parts, self.options = parts, options
        self.amend, self.report = amend, Reporter(on_progress)
        self.stop = None if options.time_limit is None else time.monotonic() + options.time_limit
        self.master = _Master(parts)
        self.models = [LinearModel(block.program) for block in parts.blocks]
        self.lower, self.upper = -math.inf, math.inf
        self.row_duals = np.zeros(parts.program.n_rows)
        self.added_duals = np.zeros(0)
        self.x: NDArray[np.float64] | None = None
        self.inner: NDArray[np.float64] | None = None
        self.history: list[BendersStep] = []

    def read(self, anchor: ArrayLike) -> NDArray[np.float64]:
        """Return the master's part of a feasible point `anchor` of the whole, ``(n_variables,)``.

        Its cost becomes the upper bound. A point of another shape, or that is not feasible, is refused.
        """
        program = self.parts.program
        point = np.array(anchor, dtype=np.float64)
        if point.shape != (program.n_variables,):
            expected = f"shape ({program.n_variables},)"
            raise InvalidProblemError("anchor", expected, f"shape {point.shape}")
        cost = float(program.cost @ point)
        off = LPSolution(program, point, None, None, cost, -math.inf).primal_residual()
        if not off <= _TOLERANCES.feasibility:
            raise InvalidProblemError(
                "anchor", "a feasible point", f"one that is {at_least(off, 3)} off"
            )
        self.x, self.upper, self.inner = point, cost, point[self.parts.columns]
        return self.inner

    def run(self, anchor: NDArray[np.float64] | None) -> str:
        """Run to a gap, a limit or no more cuts, from a feasible master's point `anchor` if any; return the status."""
        try:
            for block in self.parts.blocks:
                self._start(block)
            # Before the master is solved, and in case it never is.
            self._prove(self.master.sum_of_blocks())
            if anchor is not None:
                self._take(anchor, self._ask(anchor), None)
                self._tell(0, 0.0)
            return self._iterate()
        except LimitReachedError:
            return "time limit"

    def _iterate(self) -> str:
        """Solve master and blocks in turns, between the last inner point and the master's; return why it ended."""
        options, step = self.options, 0.5 if self.inner is not None else 1.0
        for count in range(1, options.iterations + 1):
            try:
                solution = self._solve_master()
            except SolverError:
                if self.x is None:
                    raise
                return "master failed"
            if solution.row_duals is not None:
                self._prove(solution.row_duals)
            if self._is_closed():
                self._tell(count, step)
                return "gap reached"
            n = len(self.parts.columns)
            inner = self.inner
            query = solution.x[:n] if inner is None else step * solution.x[:n] + (1 - step) * inner
            answers = self._ask(query)
            added = self._take(query, answers, solution.x)
            self._tell(count, step)
            if self._is_closed():
                return "gap reached"
            if not added and step >= 1:
                return "no cut left"
            feasible = all(answer.y is not None for answer in answers)
            if not added:
                step = min(1.0, step * 1.5)
            elif self.inner is not None:
                step = min(1.0, step * _GROW) if feasible else max(_LEAST_STEP, step * _SHRINK)
        return "iteration limit"

    def _solve_master(self) -> LPSolution:
        """Solve the master by the simplex method, once more without its basis on a SolverError, or raise the second."""
        how = {"method": "simplex", **self._how()}
        try:
            return self.master.model.solve(**how)
        except SolverError:
            # A basis that many cuts have worn out: start anew, once.
            self.master.model = LinearModel(self.master.model.program)
            return self.master.model.solve(**how)

    def _is_closed(self) -> bool:
        """Return whether the bounds are as near to each other as asked for."""
        wide = max(self.options.gap * abs(self.upper), self.options.absolute_gap)
        return math.isfinite(self.upper) and self.upper - self.lower <= wide

    def _how(self) -> dict[str, Any]:
        """Return the options of a solve: seconds left, threads and tolerance."""
        left = None if self.stop is None else max(0.0, self.stop - time.monotonic())
        options = self.options
        return {"time_limit": left, "threads": options.threads, "tolerance": options.tolerance}

    def _start(self, block: Block) -> None:
        """Add the cut from the optimum of the block's program without the master's rows: one linear program."""
        alone, rows = block.alone()
        duals = np.zeros(len(block.rows))
        row_duals = solve(alone, **self._how()).row_duals
        if row_duals is not None:
            duals[rows] = row_duals
        self.master.cut(block, block.cut("optimality", duals))

    def _ask(self, x: NDArray[np.float64]) -> list[_Answer]:
        """Return the answer of each block at the master's variables `x`, at the same time if there is an executor.

        A linear program a block.
        """
        ask: Callable[[Callable[[int], _Answer], Iterable[int]], Iterable[_Answer]] = (
            map if self.options.executor is None else self.options.executor.map
        )
        return list(ask(lambda number: self._answer(number, x), range(len(self.models))))

    def _answer(self, number: int, x: NDArray[np.float64]) -> _Answer:
        """Solve block `number` with the master's ``(n,)`` variables fixed at x: one linear program, warm.

        Returns
        -------
        _Answer
            Value, solution and optimality cut; or a feasibility cut; or nothing if the solver failed.
        """
        block, model = self.parts.blocks[number], self.models[number]
        shift = block.linking @ x
        program = block.program
        model.set_row_bounds(program.row_lower - shift, program.row_upper - shift)
        how = self._how()
        for tolerance in (how["tolerance"], max(_TOLERANCES.second_solve, how["tolerance"])):
            try:
                solution = model.solve(method="simplex", **{**self._how(), "tolerance": tolerance})
                break
            except InfeasibleError:
                try:
                    ray = model.farkas_ray(time_limit=self._how()["time_limit"])
                    cut = block.cut("feasibility", ray)
                except SolverError:
                    continue
                if cut.constant > 0 and not cut.gradient.any():
                    raise
                return _Answer(cut=cut)
            except SolverError:
                continue
        else:
            # Neither a value nor a proof: the point is not used, and nothing is learnt.
            return _Answer()
        duals = np.zeros(len(block.rows)) if solution.row_duals is None else solution.row_duals
        return _Answer(solution.objective, solution.x, block.cut("optimality", duals))

    def _take(
        self,
        query: NDArray[np.float64],
        answers: list[_Answer],
        guess: NDArray[np.float64] | None,
    ) -> int:
        """Add the cuts that the master's guess violates, all of them without one; keep a better point.

        Return their number. `query` ``(master's variables,)`` is where blocks answered, `guess` the master's point
        and its values of blocks.
        """
        n, before = len(query), self.master.count
        for block, answer in zip(self.parts.blocks, answers, strict=True):
            if answer.cut is None:
                continue
            cut = answer.cut if self.amend is None else self.amend(answer.cut)
            if guess is not None:
                w = float(guess[n + block.number]) if cut.kind == "optimality" else 0.0
                if cut.at(guess[:n]) <= w + _TOLERANCES.cut_violation * max(1.0, abs(cut.constant)):
                    continue
            self.master.cut(block, cut)
        cost = self.parts.program.cost[self.parts.columns]
        upper = float(cost @ query) + sum(answer.value for answer in answers)
        if upper < self.upper:
            self.upper = upper
            self.inner = None if self.inner is None else query
            self.x = np.empty(self.parts.program.n_variables)
            self.x[self.parts.columns] = query
            for block, answer in zip(self.parts.blocks, answers, strict=True):
                self.x[block.columns] = answer.y
        return self.master.count - before

    def _prove(self, duals: NDArray[np.float64]) -> None:
        """Raise the lower bound to what multipliers `duals` of the master's rows prove, if that is more; keep them."""
        lower = lagrangian_bound(self.master.model.program, duals)
        if lower > self.lower:
            self.lower = lower
            self.row_duals, self.added_duals = self.master.unfold(duals)

    def _tell(self, count: int, step: float) -> None:
        """Append iteration `count` to the history and report it; `step` is the master's share in the last point."""
        master = self.master
        kinds = [cut.kind == "optimality" for cut in master.cuts]
        optimality = sum(kinds)
        state = BendersStep(
            count,
            self.lower,
            self.upper,
            optimality,
            len(kinds) - optimality,
            step,
        )
        self.history.append(state)
        upper = self.upper if math.isfinite(self.upper) else None
        lower = self.lower if math.isfinite(self.lower) else None
        self.report("benders", done=count, total=self.options.iterations, lower=lower, upper=upper)

    def result(self, status: str) -> BendersResult:
        """Return the result with the given status; its arrays become read-only."""
        for array in (self.row_duals, self.added_duals):
            array.setflags(write=False)
        if self.x is not None:
            self.x.setflags(write=False)
        return BendersResult(
            self.x,
            self.upper,
            self.lower,
            self.row_duals,
            tuple(self.master.tags),
            self.added_duals,
            tuple(self.master.cuts),
            tuple(self.history),
            status,
        )
