from __future__ import annotations

import itertools
import math
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np
import pytest
from scipy import sparse

from discreet.core.errors import (
    InfeasibleError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)
from discreet.core.lp import LinearProgram, LPSolution, lagrangian_bound, solve
from discreet.core.lp.highs import check, cost_scale, load
from optimality import duality_gap, is_optimal

if TYPE_CHECKING:
    from types import FrameType

INF = np.inf
METHODS: list[dict[str, Any]] = [
    {"method": "simplex"},
    {"method": "ipm"},
    {"method": "ipm", "crossover": False, "tolerance": 1e-9},
    {},
]


def two_secrets(level: float) -> LinearProgram:
    """State the least probability of a wrong report, summed over two secrets at epsilon d = level."""
    e = math.exp(level)
    ratios = [[1, 0, -e, 0], [-e, 0, 1, 0], [0, 1, 0, -e], [0, -e, 0, 1]]
    sums = [[1, 1, 0, 0], [0, 0, 1, 1]]
    return LinearProgram(
        [0, 1, 1, 0],
        ratios + sums,
        row_lower=[-INF] * 4 + [1, 1],
        row_upper=[0] * 4 + [1, 1],
        upper=1,
    )


def covering(rows: int, columns: int, seed: int, **kwargs: Any) -> LinearProgram:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(1, 60, (rows, columns))
    cost = rng.integers(1, 60, columns)
    return LinearProgram(
        cost,
        matrix,
        row_lower=matrix.sum(axis=1) / 3,
        upper=1,
        integrality=np.ones(columns, bool),
        **kwargs,
    )


@pytest.mark.parametrize("kwargs", METHODS)
def test_the_signs_of_duals(kwargs: dict[str, Any]) -> None:
    """Each multiplier is the rise of the optimum for a rise of its side by one."""
    at_most = solve(LinearProgram([-1, -2], [[1, 1], [0, 1]], row_upper=[4, 3]), **kwargs)
    assert at_most.row_duals == pytest.approx([-1, -1])
    assert at_most.reduced_costs == pytest.approx([0, 0], abs=1e-8)
    assert at_most.objective == pytest.approx(-7)
    at_least = solve(LinearProgram([1, 2], [[1, 1], [0, 1]], row_lower=[4, 1]), **kwargs)
    assert at_least.row_duals == pytest.approx([1, 1])
    assert at_least.bound == pytest.approx(5)
    equal = solve(LinearProgram([3, -1], [[1, 1]], row_lower=2, row_upper=2), **kwargs)
    assert equal.row_duals == pytest.approx([-1])
    assert equal.reduced_costs == pytest.approx([4, 0], abs=1e-8)
    box = solve(LinearProgram([1, -2], np.zeros((0, 2)), upper=[1, 5]), **kwargs)
    assert box.reduced_costs == pytest.approx([1, -2])
    assert box.x == pytest.approx([0, 5], abs=1e-8)
    assert all(is_optimal(answer) for answer in (at_most, at_least, equal, box))


@pytest.mark.parametrize("level", [0.1, 1.0, 5.0, 10.0, 15.0])
def test_two_secrets_have_a_closed_form(level: float) -> None:
    """With a = z_01 = z_10 the ratio asks for 1 - a <= e^L a, so that 2 a >= 2 / (1 + e^L)."""
    program = two_secrets(level)
    solution = solve(program)
    truth = 2 / (1 + math.exp(level))
    assert solution.objective == pytest.approx(truth, rel=1e-9)
    assert is_optimal(solution)
    assert solution.row_duals is not None
    bound = lagrangian_bound(program, solution.row_duals)
    assert truth * (1 - 1e-6) <= bound <= truth * (1 + 1e-15)


def test_multipliers_that_presolve_lost_are_noticed() -> None:
    """At epsilon d = 24 HiGHS says optimal and returns multipliers that prove nothing: the record says so."""
    solution = solve(two_secrets(24))
    assert solution.objective == pytest.approx(2 / (1 + math.exp(24)), rel=1e-6)
    assert solution.is_feasible()
    assert duality_gap(solution) > 0.5 * solution.objective
    assert not is_optimal(solution)


def test_without_the_guard_highs_deletes_a_constraint() -> None:
    """The row 1e-10 x <= y with x = 1: HiGHS drops the entry, says optimal, and breaks the row."""
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)  # noqa: FBT003 - HiGHS' own interface
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = 2, 1
    lp.col_cost_ = np.array([0.0, 1.0])
    lp.col_lower_, lp.col_upper_ = np.array([1.0, 0.0]), np.array([1.0, INF])
    lp.row_lower_, lp.row_upper_ = np.array([-INF]), np.array([0.0])
    entries = sparse.csr_array(np.array([[1e-10, -1.0]]))
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = entries.indptr, entries.indices
    lp.a_matrix_.value_ = entries.data
    passed = highs.passModel(lp)
    highspy.Highs.resetGlobalScheduler(True)  # noqa: FBT003 - HiGHS' own interface
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    x, y = highs.getSolution().col_value
    assert (x, y) == (1, 0)
    assert 1e-10 * x - y > 0
    # The warning is all that HiGHS says, and we refuse it as we refuse an error.
    with pytest.raises(SolverError, match="Warning"):
        check(passed, "read the program")
    with pytest.raises(InvalidProblemError, match="entries from 1e-10 to 1"):
        LinearProgram([0, 1], [[1e-10, -1]], row_upper=0, lower=[1, 0], upper=[1, INF])


def test_small_costs_count() -> None:
    """HiGHS takes costs below its tolerance for zero; ours are scaled by an exact power of two."""
    program = LinearProgram([-1e-9, -2e-9], [[1, 1]], row_upper=1.5, upper=1)
    raw = load(program)
    raw.changeColsCost(2, np.arange(2, dtype=np.int32), program.cost)
    highspy.Highs.resetGlobalScheduler(True)  # noqa: FBT003 - HiGHS' own interface
    raw.setOptionValue("presolve", "off")
    raw.run()
    assert raw.getModelStatus() == highspy.HighsModelStatus.kOptimal
    assert list(raw.getSolution().col_value) == [0, 0]
    solution = solve(program)
    assert solution.x.tolist() == [0.5, 1]
    assert is_optimal(solution, 1e-12)
    assert solution.row_duals == pytest.approx([-1e-9], rel=1e-12)


@pytest.mark.parametrize("largest", [0.75, 0.5, 0.3, 1e-9, 1e-300, 1.0, 3.0, 1e9, 0.0])
def test_the_scale_of_costs_is_an_exact_power_of_two(largest: float) -> None:
    scale = cost_scale(np.array([largest, -largest / 2]))
    assert math.frexp(scale)[0] == 0.5
    if 0 < largest < 1:
        assert 1 <= largest * scale < 2
    else:
        assert scale == 1


def test_a_mixed_integer_program_against_enumeration() -> None:
    for seed in range(5):
        program = covering(3, 8, seed)
        points = np.array(list(itertools.product((0, 1), repeat=8)))
        feasible = (points @ program.matrix.T.toarray() >= program.row_lower).all(axis=1)
        best = (points[feasible] @ program.cost).min()
        solution = solve(program)
        assert solution.objective == solution.bound == best
        assert set(solution.x) <= {0, 1}
        assert (solution.row_duals, solution.reduced_costs) == (None, None)
        assert is_optimal(solution)


def test_a_mixed_integer_search_may_stop_at_a_gap() -> None:
    exact = solve(covering(8, 20, 1))
    near = solve(covering(8, 20, 1), gap=0.3)
    assert near.bound <= exact.objective <= near.objective
    assert duality_gap(near) <= 0.3 * near.objective


@pytest.mark.parametrize("integrality", [None, [True, False]])
def test_an_infeasible_program(integrality: list[bool] | None) -> None:
    program = LinearProgram(
        [1, 1], [[1, 1], [1, 1]], row_lower=[3, 0], row_upper=[5, 1], integrality=integrality
    )
    with pytest.raises(InfeasibleError, match="no feasible point of LinearProgram"):
        solve(program)


def test_integers_may_be_infeasible_where_fractions_are_not() -> None:
    rows: dict[str, Any] = {"row_lower": 1, "row_upper": 1, "upper": 5}
    assert solve(LinearProgram([1, 1], [[2, 2]], **rows)).objective == pytest.approx(0.5)
    with pytest.raises(InfeasibleError):
        solve(LinearProgram([1, 1], [[2, 2]], **rows, integrality=[1, 1]))


@pytest.mark.parametrize("kwargs", METHODS)
def test_an_unbounded_program_is_an_error_of_its_own(kwargs: dict[str, Any]) -> None:
    program = LinearProgram([-1, -1], [[1, -1]], row_lower=-1, row_upper=1)
    with pytest.raises(SolverError, match="Unbounded.*no lower bound") as caught:
        solve(program, **kwargs)
    assert caught.value.status == "Unbounded"


def test_numerical_failure_is_not_an_answer() -> None:
    """Entries over twenty decades: HiGHS 1.15 says Unknown, 1.16 infeasible, and nothing is returned."""
    rng = np.random.default_rng(12)
    m, n = rng.integers(2, 9, 2)
    signs = rng.uniform(0.5, 1, (m, n)) * rng.choice([-1, 1], (m, n))
    matrix = signs * 10.0 ** rng.uniform(-7.5, 13.5, (m, n))
    sides = matrix @ rng.random(n)
    cost = rng.normal(size=n) * 10.0 ** rng.uniform(-6, 12, n)
    program = LinearProgram(cost, matrix, row_lower=sides, row_upper=sides, upper=1)
    with pytest.raises((SolverError, InfeasibleError), match=r"Unknown.*rescale|no feasible point"):
        solve(program)


def test_costs_too_small_to_scale_are_still_solved() -> None:
    solution = solve(LinearProgram([5e-324, -5e-324], [[1, 1]], row_upper=1))
    assert solution.x.min() >= 0


def test_limits_of_a_linear_program() -> None:
    rng = np.random.default_rng(0)
    program = LinearProgram(rng.random(80), rng.random((60, 80)), row_lower=1, upper=1)
    with pytest.raises(LimitReachedError, match="iteration limit.*no feasible point") as caught:
        solve(program, method="simplex", iteration_limit=3)
    assert caught.value.best is None
    with pytest.raises(LimitReachedError, match="time limit"):
        solve(program, time_limit=0)
    assert is_optimal(solve(program, time_limit=60, iteration_limit=10**12))


def test_a_feasible_point_at_the_limit_is_kept() -> None:
    """From the origin, which is feasible, the primal steps of the interior-point method stay feasible."""
    rng = np.random.default_rng(0)
    program = LinearProgram(-rng.random(80), rng.random((60, 80)), row_upper=20, upper=1)
    optimum = solve(program).objective
    with pytest.raises(
        LimitReachedError, match="iteration limit reached, the best feasible point is kept"
    ) as caught:
        solve(program, method="ipm", iteration_limit=4)
    best = pickle.loads(pickle.dumps(caught.value)).best  # noqa: S301 - as it comes from another process
    assert isinstance(best, LPSolution)
    assert best.bound == -INF
    assert best.primal_residual() <= 1e-6
    assert best.objective >= optimum
    assert not is_optimal(best)


def test_limits_of_a_mixed_integer_search() -> None:
    program = covering(20, 40, 3)
    with pytest.raises(LimitReachedError, match="node limit") as caught:
        solve(program, iteration_limit=1)
    best = caught.value.best
    assert isinstance(best, LPSolution)
    assert best.is_feasible()
    assert best.bound < best.objective
    assert not is_optimal(best)
    with pytest.raises(LimitReachedError, match="time limit") as caught:
        solve(program, time_limit=0)
    assert caught.value.best is None


def test_a_limit_does_not_change_the_answer_that_is_reached_before() -> None:
    """A limit on nodes does not cut the linear programs of the search short."""
    program = covering(8, 20, 1)
    assert solve(program, iteration_limit=10**6).objective == solve(program).objective


def test_two_numbers_of_threads_in_one_process() -> None:
    """Without a reset of its scheduler HiGHS fails on the second: run() is an error and the status Not Set."""
    program = two_secrets(1)
    first = [solve(program, threads=threads).objective for threads in (1, 2, 1, 3)]
    assert first == [first[0]] * 4
    raw = load(program)
    raw.setOptionValue("threads", 2)
    assert raw.run() == highspy.HighsStatus.kError
    assert raw.getModelStatus() == highspy.HighsModelStatus.kNotset


def test_solves_in_threads_of_python_do_not_disturb_each_other() -> None:
    program = covering(8, 20, 1)
    truth = solve(program).objective
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: solve(program, threads=1 + k % 2).objective, range(8)))
    assert found == [truth] * 8


@pytest.mark.parametrize(
    "options",
    [
        {"method": "barrier"},
        {"time_limit": -1},
        {"time_limit": math.nan},
        {"gap": -0.1},
        {"gap": math.inf},
        {"threads": 0},
        {"iteration_limit": -1},
        {"tolerance": 1e-11},
        {"tolerance": 1},
    ],
)
def test_options_out_of_range_are_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblemError, match=next(iter(options))):
        solve(two_secrets(1), **options)


def test_a_mixed_integer_program_takes_no_method() -> None:
    with pytest.raises(InvalidProblemError, match="method"):
        solve(covering(3, 8, 0), method="simplex")


def test_a_loose_tolerance_ends_sooner() -> None:
    program = two_secrets(1)
    loose = solve(program, method="ipm", crossover=False, tolerance=1e-3)
    tight = solve(program, method="ipm", crossover=False, tolerance=1e-10)
    assert loose.iterations < tight.iterations
    assert is_optimal(tight, 1e-9)


def long_program(method: str) -> tuple[LinearProgram, dict[str, Any]]:
    rng = np.random.default_rng(0)
    if method == "mip":
        return covering(20, 40, 3), {}
    return LinearProgram(rng.random(80), rng.random((60, 80)), row_lower=1, upper=1), {
        "method": method
    }


@pytest.mark.parametrize("method", ["simplex", "ipm", "mip"])
def test_ctrl_c_stops_the_solver(method: str) -> None:
    """The signal comes while HiGHS writes its first line, so that the test waits for nothing."""
    lines: list[str] = []

    def press(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            signal.raise_signal(signal.SIGINT)

    program, options = long_program(method)
    former = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        solve(program, log=press, **options)
    assert signal.getsignal(signal.SIGINT) is former
    assert not any("Optimal" in line for line in lines)


def test_a_handler_of_the_caller_is_called_and_decides() -> None:
    """A handler that does not raise leaves a solver that was interrupted, which is no answer."""
    seen: list[int] = []

    def handler(number: int, _frame: FrameType | None) -> None:
        seen.append(number)

    program, options = long_program("simplex")
    former = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(SolverError, match="[Ii]nterrupt"):
            solve(program, log=lambda _line: signal.raise_signal(signal.SIGINT), **options)
    finally:
        signal.signal(signal.SIGINT, former)
    assert seen == [signal.SIGINT]


def test_a_process_that_ignores_ctrl_c_goes_on_ignoring_it() -> None:
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        solution = solve(two_secrets(1), log=lambda _line: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, former)
    assert is_optimal(solution)


def test_the_log_goes_to_the_callback_and_nowhere_else(capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    solve(two_secrets(1), log=lines.append)
    assert any("HiGHS" in line or "LP" in line for line in lines)
    solve(two_secrets(1))
    assert capfd.readouterr() == ("", "")


def test_a_solver_is_silent_before_it_is_asked_to_call_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From 1.16 on HiGHS prints its banner at that moment, into what `--json` prints."""
    loud, plain = [], highspy.Highs.enableCallbacks

    def enable(self: Any) -> None:
        loud.append(self.getOptionValue("output_flag")[1])
        plain(self)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(highspy.Highs, "enableCallbacks", enable)
    solve(two_secrets(1.0))
    assert set(loud) == {False}


def test_an_error_of_the_callback_is_raised_after_the_solver_stopped() -> None:
    def fail(_line: str) -> None:
        raise ZeroDivisionError

    program, options = long_program("simplex")
    with pytest.raises(ZeroDivisionError):
        solve(program, log=fail, **options)
