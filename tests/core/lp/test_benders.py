"""The decomposition: equal to the whole program, proved bounds, both kinds of cuts, and every way to stop."""

from __future__ import annotations

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import (
    InfeasibleError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)
from discreet.core.lp import LinearModel, LinearProgram, lagrangian_bound, solve
from discreet.core.lp import benders as module
from discreet.core.lp.angular import Block, Cut, split
from discreet.core.lp.benders import AddedRows, BendersOptions, BendersResult, benders
from discreet.core.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

INF = np.inf


def random_program(seed: int) -> tuple[LinearProgram, NDArray[np.int64]]:
    """Block-angular integers in a box, often infeasible for some values of the master's variables."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, int(rng.integers(1, 4)))
    masters = np.full(int(rng.integers(1, 5)), -1)
    blocks = np.concatenate([masters, np.repeat(np.arange(len(sizes)), sizes)])
    rows, low, high = [np.zeros(len(blocks))], [-1.0], [1.0]
    for block in range(-1, len(sizes)):
        for _ in range(int(rng.integers(0, 4))):
            touched = (blocks == -1) | (blocks == block)
            rows.append(np.where(touched, rng.integers(-4, 5, len(blocks)), 0.0))
            side = float(rng.integers(-6, 3))
            low.append(side if rng.random() < 0.7 else -INF)
            high.append(side + float(rng.integers(0, 6)) if rng.random() < 0.5 else INF)
    cost = rng.integers(-5, 6, len(blocks))
    table = np.array(rows)
    return LinearProgram(cost, table, row_lower=low, row_upper=high, lower=-2, upper=3), blocks


def optimum(program: LinearProgram) -> float:
    try:
        return solve(program).objective
    except InfeasibleError:
        return INF


def feasible_program(seed: int) -> tuple[LinearProgram, NDArray[np.int64]]:
    """The first feasible one from a seed on."""
    while math.isinf(optimum(random_program(seed)[0])):
        seed += 1
    return random_program(seed)


def pair() -> tuple[LinearProgram, list[int]]:
    """One variable of the master, two blocks of one: ``x + y >= 1`` twice, costs 1, 2 and 3."""
    whole = LinearProgram([1, 2, 3], [[1, 1, 0], [1, 0, 1]], row_lower=1, upper=1)
    return whole, [-1, 0, 1]


def needs_feasibility() -> tuple[LinearProgram, list[int]]:
    """The block needs ``y >= 2 - 4 x`` with y at most 1, so that x = 0, which is cheapest, leaves it no point."""
    return LinearProgram([1, 1], [[4, 1]], row_lower=2, upper=1), [-1, 0]


@given(st.integers(0, 100_000))
@settings(max_examples=60)
def test_it_equals_the_whole_program_and_proves_its_bound(seed: int) -> None:
    """With infeasible blocks, infeasible programs, and multipliers that bound the whole program, cuts aside."""
    program, blocks = random_program(seed)
    expected = optimum(program)
    if math.isinf(expected):
        with pytest.raises(InfeasibleError):
            benders(program, blocks)
        return
    found = benders(program, blocks)
    assert found.upper == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert found.lower == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert found.lower <= expected + 1e-7 * max(1.0, abs(expected))
    proof = lagrangian_bound(program, found.row_duals)
    assert proof <= expected + 1e-7 * max(1.0, abs(expected))
    assert proof == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert found.x is not None
    assert program.cost @ found.x == pytest.approx(found.upper, abs=1e-9)
    activity: NDArray[np.float64] = np.asarray(program.matrix @ found.x)
    assert (activity >= program.row_lower - 1e-6).all()
    assert (activity <= program.row_upper + 1e-6).all()


@given(st.integers(0, 100_000))
@settings(max_examples=25)
def test_bounds_are_monotone_and_cuts_hold_at_every_feasible_point(seed: int) -> None:
    """O7: lower bounds rise, upper bounds fall, the optimum is between, and no cut is violated at it."""
    program, blocks = random_program(seed)
    try:
        best = solve(program)
    except InfeasibleError:
        return
    found, parts = benders(program, blocks), split(program, blocks)
    lower = [step.lower for step in found.history]
    upper = [step.upper for step in found.history]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    size = max(1.0, abs(best.objective))
    assert all(value <= best.objective + 1e-7 * size for value in lower)
    assert all(value >= best.objective - 1e-6 * size for value in upper)
    x = best.x[parts.columns]
    for cut in found.cuts:
        block = parts.blocks[cut.block]
        cost = float(block.program.cost @ best.x[block.columns])
        scale = max(1.0, abs(cut.constant))
        assert cut.at(x) <= (cost if cut.kind == "optimality" else 0.0) + 1e-6 * scale


def test_one_variable_each() -> None:
    found = benders(*pair())
    assert found.x is not None
    assert found.x.tolist() == pytest.approx([1, 0, 0], abs=1e-7)
    assert not found.x.flags.writeable
    assert [cut.kind for cut in found.cuts[:2]] == ["optimality", "optimality"]
    assert found.status == "gap reached"


def test_feasibility_cuts_are_needed_and_found() -> None:
    found = benders(*needs_feasibility())
    assert found.upper == pytest.approx(0.5, abs=1e-6)
    kinds = [cut.kind for cut in found.cuts]
    assert "feasibility" in kinds
    assert found.history[-1].feasibility == kinds.count("feasibility")


def test_a_whole_in_one_block_and_a_whole_in_the_master() -> None:
    program, _ = feasible_program(3)
    expected = optimum(program)
    n = program.n_variables
    alone = benders(program, np.zeros(n, dtype=int))
    assert alone.lower == pytest.approx(expected, abs=1e-6)
    assert alone.upper == pytest.approx(expected, abs=1e-6)
    assert alone.history[-1].iteration == 1
    master = benders(program, np.full(n, -1))
    assert master.upper == pytest.approx(expected, abs=1e-6)
    assert (len(master.cuts), master.history[-1].iteration) == (0, 1)


def test_an_infeasible_block_is_no_matter_of_the_master() -> None:
    torn = LinearProgram([1, 1], [[1, 0], [0, 1]], row_lower=[0, 2], upper=1)
    with pytest.raises(InfeasibleError):
        benders(torn, [-1, 0])
    linked = LinearProgram([1, 1], [[1e-3, 1]], row_lower=3, upper=1)
    with pytest.raises(InfeasibleError):
        benders(linked, [-1, 0])


def test_a_block_that_no_point_of_the_master_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof without the master's variables proves the whole infeasible."""
    whole = LinearProgram([1, 1, 1], [[1, 1, 0], [0, 1, 1]], row_lower=[-5, 3], upper=1)
    monkeypatch.setattr(module._Loop, "_start", lambda *_: None)
    with pytest.raises(InfeasibleError):
        benders(whole, [-1, 0, 0])


def test_an_anchor_gives_a_point_at_once_and_the_same_optimum() -> None:
    program, blocks = needs_feasibility()
    found = benders(program, blocks, anchor=[1.0, 1.0])
    assert found.history[0].iteration == 0
    assert found.history[0].upper == pytest.approx(1.0)
    assert found.upper == pytest.approx(0.5, abs=1e-6)
    assert found.lower == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_stabilized_runs_reach_the_same_optimum(seed: int) -> None:
    program, blocks = feasible_program(10 * seed)
    expected = optimum(program)
    anchor = solve(LinearProgram(
        np.zeros(program.n_variables), program.matrix, row_lower=program.row_lower,
        row_upper=program.row_upper, lower=program.lower, upper=program.upper,
    )).x  # fmt: skip
    found = benders(program, blocks, anchor=anchor)
    assert found.upper == pytest.approx(expected, abs=1e-4)
    assert found.lower == pytest.approx(expected, abs=1e-4)


def test_an_interior_point_master_and_a_pool_of_threads_give_the_same() -> None:
    program, blocks = feasible_program(5)
    expected = optimum(program)
    with ThreadPoolExecutor(2) as pool:
        found = benders(program, blocks, options=BendersOptions(gap=1e-5, executor=pool))
    assert found.upper == pytest.approx(expected, abs=1e-4)


def test_rows_of_the_caller_count_in_the_bound_and_come_back_with_their_tags() -> None:
    program, blocks = needs_feasibility()
    rows = AddedRows([[1.0]], 0.25, INF, ["x >= 1/4"])
    found = benders(program, blocks, implied=rows)
    assert found.added == ("x >= 1/4",)
    assert "feasibility" not in [cut.kind for cut in found.cuts]
    assert found.upper == pytest.approx(0.5, abs=1e-6)


def test_a_row_that_is_not_valid_makes_the_bound_false() -> None:
    """What the caller adds is believed: this is why it comes back with its multiplier."""
    program, blocks = pair()
    found = benders(program, blocks, implied=AddedRows([[1.0]], -INF, 0.5, [0]))
    assert found.lower > optimum(program) + 0.5
    assert found.added_duals[0] < -1


def test_amended_cuts_are_believed() -> None:
    program, blocks = pair()
    double = benders(
        program,
        blocks,
        amend=lambda cut: dataclasses.replace(cut, gradient=cut.gradient + 1.0),
    )
    assert double.lower > optimum(program) + 0.5


def test_progress_is_told() -> None:
    steps: list[Progress] = []
    found = benders(*needs_feasibility(), on_progress=steps.append)
    assert [step.done for step in steps] == [step.iteration for step in found.history]
    assert (steps[-1].lower, steps[-1].upper) == (found.lower, found.upper)
    assert found.history[-1].step == 1.0
    assert steps[0].upper is None


@pytest.mark.parametrize("anchor", [None, [1.0, 1.0]])
def test_limits_end_it_with_what_there_is(anchor: Any) -> None:
    program, blocks = needs_feasibility()
    late = benders(program, blocks, anchor=anchor, options=BendersOptions(time_limit=0.0))
    assert late.status == "time limit"
    assert late.lower <= 0.5 <= late.upper
    once = benders(program, blocks, anchor=anchor, options=BendersOptions(iterations=1, gap=0.0))
    assert once.status == "iteration limit"
    wide = benders(program, blocks, anchor=[1.0, 1.0], options=BendersOptions(absolute_gap=10.0))
    assert wide.status == "gap reached"


@pytest.mark.parametrize("limit", [None, 600.0])
def test_proofs_of_infeasibility_keep_to_the_limit(
    monkeypatch: pytest.MonkeyPatch, limit: float | None
) -> None:
    """A ray may take as long as a solve; it has the time that the decomposition has left."""
    asked: list[float | None] = []
    find = LinearModel.farkas_ray

    def noted(model: LinearModel, *, time_limit: float | None = None) -> Any:
        asked.append(time_limit)
        return find(model, time_limit=time_limit)

    monkeypatch.setattr(LinearModel, "farkas_ray", noted)
    program, blocks = needs_feasibility()
    benders(program, blocks, options=BendersOptions(time_limit=limit))
    assert asked
    assert all((time is None) == (limit is None) for time in asked)
    assert all(time is None or 0 < time < 600 for time in asked)


def test_an_absolute_gap_ends_it_too() -> None:
    found = benders(*needs_feasibility(), options=BendersOptions(gap=0.0, absolute_gap=1e-3))
    assert found.upper - found.lower <= 1e-3


def test_it_ends_where_nothing_is_left_to_cut() -> None:
    """A gap of zero is never reached exactly with outward rounding."""
    program, blocks = pair()
    found = benders(program, blocks, anchor=[0.5, 0.5, 0.5], options=BendersOptions(gap=0.0))
    assert found.status == "no cut left"
    assert found.upper - found.lower < 1e-9


def test_a_block_without_an_answer_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a value nor a proof: nothing is learnt, the point isn't used, and the loop ends."""

    def fails(*_: object, **__: object) -> Any:
        raise SolverError("HiGHS", "Unknown")

    program, blocks = needs_feasibility()
    monkeypatch.setattr(LinearModel, "farkas_ray", fails)
    found = benders(program, blocks)
    assert (found.status, found.x) == ("no cut left", None)
    assert found.lower <= 0.5 < found.upper
    anchored = benders(program, blocks, anchor=[1.0, 1.0], options=BendersOptions(iterations=4))
    assert anchored.upper <= 1.0
    real = LinearModel.solve

    def fails_for_blocks(model: LinearModel, **options: Any) -> Any:
        return fails() if model.program.n_variables == 1 else real(model, **options)

    monkeypatch.setattr(LinearModel, "solve", fails_for_blocks)
    assert benders(program, blocks).x is None


def test_a_master_that_fails_is_started_anew_once(monkeypatch: pytest.MonkeyPatch) -> None:
    real, fails, asked = LinearModel.solve, {2}, []

    def solve_or_fail(model: LinearModel, **options: Any) -> Any:
        if model.program.n_variables == 2:
            asked.append(model)
            if len(asked) in fails:
                raise SolverError("HiGHS", "Not Set")
        return real(model, **options)

    monkeypatch.setattr(LinearModel, "solve", solve_or_fail)
    found = benders(*needs_feasibility())
    assert found.upper == pytest.approx(0.5, abs=1e-6)
    assert asked[1] is not asked[2]
    fails |= set(range(100))
    with pytest.raises(SolverError, match="Not Set"):
        benders(*needs_feasibility())
    best = benders(*needs_feasibility(), anchor=[1.0, 1.0])
    assert best.status == "master failed"
    assert best.upper == pytest.approx(1.0)


def test_multipliers_that_are_missing_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = LinearModel.solve

    def bare(model: LinearModel, **options: Any) -> Any:
        return dataclasses.replace(real(model, **options), row_duals=None)

    monkeypatch.setattr(LinearModel, "solve", bare)
    monkeypatch.setattr(
        module, "solve", lambda *a, **k: dataclasses.replace(solve(*a, **k), row_duals=None)
    )
    found = benders(*pair(), options=BendersOptions(iterations=3))
    assert found.lower == pytest.approx(0.0, abs=1e-9)


def test_blocks_alone_give_a_bound_before_the_master_is_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second block costs 2 whatever x is; its multipliers prove that for the whole."""
    whole = LinearProgram([1, 1, 2], [[1, 1, 0], [0, 0, 1]], row_lower=1, lower=[0, 0, 0], upper=3)

    def late(*_: object) -> Any:
        raise LimitReachedError("time limit")

    monkeypatch.setattr(module._Loop, "_solve_master", late)
    found = benders(whole, [-1, 0, 1])
    assert found.status == "time limit"
    assert found.lower == pytest.approx(2.0)
    assert lagrangian_bound(whole, found.row_duals) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"gap": -1.0}, "gap: "),
        ({"gap": math.nan}, "gap: "),
        ({"absolute_gap": INF}, "absolute_gap: "),
        ({"iterations": 0}, "iterations: "),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidProblemError, match=match):
        BendersOptions(**options)


@pytest.mark.parametrize(
    ("anchor", "match"),
    [
        ([1.0], "shape"),
        ([0.0, 0.0, 1.0], "a feasible point, got one that is 1 off"),
        ([1.0, math.nan, 1.0], "a feasible point, got one that is infinite off"),
    ],
)
def test_an_anchor_that_is_none_is_refused(anchor: list[float], match: str) -> None:
    with pytest.raises(InvalidProblemError, match=f"anchor: .*{match}"):
        benders(*pair(), anchor=anchor)


def whole_block(cost: float, linking: float) -> Block:
    return split(
        LinearProgram([0, cost], [[linking, 1.0]], row_lower=0.0, lower=-2, upper=3), [-1, 0]
    ).blocks[0]


@given(
    st.floats(-3, 3),
    st.floats(-10, 10),
    st.floats(-2, 3),
    st.sampled_from(["optimality", "feasibility"]),
)
@settings(max_examples=60)
def test_cuts_hold_for_any_multipliers(cost: float, dual: float, x: float, kind: Any) -> None:
    """Also for negative ones, whose side of the row is infinite: they count as zero."""
    block = whole_block(cost, 1.5)
    cut = block.cut(kind, np.array([dual]))
    assert cut.duals[0] == max(dual, 0.0)
    if -1.5 * x <= 3:
        least = max(-2.0, -1.5 * x) if cost >= 0 else 3.0
        assert cut.at(np.array([x])) <= (cost * least if kind == "optimality" else 0.0) + 1e-12


def test_entries_that_the_solver_would_delete_leave_the_cut_valid() -> None:
    block = whole_block(1.0, 1.0)
    cut = Cut(0, "optimality", 0.5, np.array([1e-9]), np.zeros(1))
    g, weight, constant = block.row(cut)
    assert (g.tolist(), weight) == ([0.0], 1.0)
    assert constant <= 0.5 - 2e-9
    steep = dataclasses.replace(cut, gradient=np.array([-4e9]))
    assert block.scale(steep) == pytest.approx(1 / 4000)
    flat = dataclasses.replace(cut, kind="feasibility", gradient=np.zeros(1))
    assert block.scale(flat) == 1.0


def test_a_cut_too_steep_to_be_written_is_left_out() -> None:
    program, blocks = pair()
    steep = benders(
        program,
        blocks,
        amend=lambda cut: dataclasses.replace(cut, gradient=cut.gradient * 1e16),
    )
    assert len(steep.cuts) == 2
    assert steep.status == "no cut left"


@pytest.mark.parametrize(
    ("program", "blocks", "match"),
    [
        (pair()[0], [-1, 0], "blocks: expected labels"),
        (pair()[0], [-2, 0, 1], "blocks: expected labels"),
        (pair()[0], [-1.0, 0.0, 1.0], "blocks: expected labels"),
        (pair()[0], [0, 0, 1], "blocks 0 and 1 in row 1"),
        (LinearProgram([1, 1], [[1, 1]]), [-1, 0], "finite bounds"),
        (LinearProgram([1], [[1]], upper=1, integrality=[1]), [0], "a linear program"),
    ],
)
def test_what_is_not_block_angular_is_refused(
    program: LinearProgram, blocks: list[int], match: str
) -> None:
    with pytest.raises(InvalidProblemError, match=match):
        split(program, blocks)


def test_labels_may_have_gaps() -> None:
    program, _ = pair()
    assert benders(program, [-1, 7, 3]).upper == pytest.approx(1.0, abs=1e-6)
    assert isinstance(benders(program, [-1, 7, 3]), BendersResult)


def test_time_runs_out_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = module._Loop._ask, []

    def ask(loop: Any, x: Any) -> Any:
        asked.append(x)
        if len(asked) == 2:
            raise LimitReachedError("time limit")
        return real(loop, x)

    monkeypatch.setattr(module._Loop, "_ask", ask)
    found = benders(*needs_feasibility())
    assert found.status == "time limit"
    assert found.lower > 0
