"""The anchored program: the same optimum as HiGHS, private for all pairs, near the optimum, within its time."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from discreet.core.channels.check_implicit import verify_anchored
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.lp import LinearProgram, solve
from discreet.core.spaces.metric import MetricSpace
from discreet.lrgeo.methods.balls import Balls
from discreet.metricdp import Problem, interior
from discreet.metricdp import anchored as module
from discreet.metricdp.anchored import Answer, _costs, alternate, anchored_blocks
from discreet.metricdp.interior import Blocks, _Normal, solve_blocks
from discreet.metricdp.methods.direct import Direct
from discreet.metricdp.part import Part, PartLimits, WholeProblem


def skewed(n: int, seed: int = 0) -> NDArray[np.float64]:
    prior = np.random.default_rng(seed).gamma(2.0, size=n) + 1e-3
    return np.asarray(prior / prior.sum())


def part_of(
    space: MetricSpace,
    epsilon: str,
    reports: list[int] | None = None,
    seed: int = 0,
) -> Part:
    problem = Problem(space, utility_loss="euclidean", prior=skewed(space.n, seed), reports=reports)
    return WholeProblem(problem, space.adjacency(), Fraction(epsilon)).parts[0]


def as_program(blocks: Blocks, cost: NDArray[np.float64]) -> LinearProgram:
    """The same program, row by row."""
    n, v = len(blocks.tails), len(blocks.block)
    two = np.flatnonzero(blocks.small >= 0)
    m = np.arange(len(two))
    ratios = csr_array(
        (
            np.concatenate([np.ones(len(two)), -blocks.factor[two]]),
            (np.tile(m, 2), np.concatenate([blocks.small[two], blocks.large[two]])),
        ),
        shape=(len(two), v),
    )
    inside = np.flatnonzero(blocks.row >= 0)
    sums = np.zeros((n, v))
    sums[blocks.row[inside], inside] = 1.0
    sums[:, blocks.last] = blocks.tails
    sums[np.abs(sums) < 2e-9] = 0.0
    matrix = csr_array(np.vstack([ratios.toarray(), sums]))
    upper = np.concatenate([np.zeros(len(two)), np.ones(n)])
    lower = np.concatenate([np.full(len(two), -np.inf), np.ones(n)])
    return LinearProgram(cost, matrix, row_lower=lower, row_upper=upper)


CASES = {
    "one step": (MetricSpace.grid(4, 5, cell=1, unit="km"), "1", None, 1.0),
    "larger balls": (MetricSpace.grid(5, 5, cell=1, unit="km"), "0.5", None, 2.0),
    "few reports": (MetricSpace.grid(5, 5, cell=1, unit="km"), "1", [0, 7, 18], 1.0),
    "no tails": (MetricSpace.grid(3, 3, cell=1, unit="km"), "1", None, 9.0),
    "centers only": (MetricSpace.grid(4, 4, cell=1, unit="km"), "2", None, 0.0),
    "points": (
        MetricSpace.from_points(np.random.default_rng(2).random((18, 2)) * 4, unit="km"),
        "1.5",
        None,
        1.0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_interior_points_find_the_optimum_of_highs(name: str) -> None:
    space, epsilon, reports, reach = CASES[name]
    part = part_of(space, epsilon, reports)
    home = part.cost.argmin(axis=0) if reports is None else np.array(reports)
    blocks, start = anchored_blocks(part, home, reach)
    assert blocks.slacks(start).min() > 0
    labels = np.append(np.arange(part.n_reports), part.cost.sum(axis=0).argmin())
    cost = _costs(blocks, part.cost[:, labels])
    found = solve_blocks(blocks, cost, start, tolerance=1e-5)
    exact = solve(as_program(blocks, cost), tolerance=1e-9)
    assert found.objective == pytest.approx(exact.objective, rel=1e-4)
    assert found.residual < 1e-6
    assert blocks.slacks(found.u).min() > 0


def matrix_of(found: Answer, part: Part) -> NDArray[np.float64]:
    """The channel of an answer, columns of one name added up."""
    columns = found.blocks.channel_matrix(found.u)
    matrix = np.zeros_like(part.cost)
    np.add.at(matrix.T, found.labels, columns.T / columns.sum(axis=1))
    return matrix


@pytest.mark.parametrize("name", CASES)
def test_what_it_finds_is_private_for_all_pairs_and_no_better_than_the_optimum(name: str) -> None:
    space, epsilon, reports, reach = CASES[name]
    part = part_of(space, epsilon, reports)
    matrix = matrix_of(alternate(part, radius=reach), part)
    used = matrix[:, matrix.max(axis=0) > 0]
    logs = np.log(used)
    apart = np.abs(logs[:, None] - logs[None]).max(axis=2) - part.rate * part.paths
    # Rows are divided by sums that are 1 up to the tolerance.
    assert apart.max() < 1e-5
    best = Direct().solve(part, PartLimits()).matrix
    assert best is not None
    optimum, reached = float((part.cost * best).sum()), float((part.cost * matrix).sum())
    assert reached > optimum * (1 - 1e-5)
    if reports is None and reach:
        assert reached < optimum * 1.08


@given(st.integers(2, 12), st.integers(0, 10**6), st.floats(0, 3))
@settings(max_examples=25, deadline=None)
def test_the_operators_of_the_blocks_are_adjoint(n: int, seed: int, reach: float) -> None:
    rng = np.random.default_rng(seed)
    space = MetricSpace.from_points(rng.random((n, 2)), unit="km")
    part = part_of(space, "3", reports=rng.permutation(n)[: rng.integers(1, n + 1)].tolist())
    blocks, start = anchored_blocks(part, part.cost.argmin(axis=0), reach)
    assert blocks.slacks(start).min() > 0
    u, y, t = (rng.normal(size=size) for size in (len(start), n, len(blocks.large)))
    assert blocks.rows(u) @ y == pytest.approx(u @ blocks.prices(y), rel=1e-9, abs=1e-9)
    assert blocks.slacks(u) @ t == pytest.approx(u @ blocks.apply_transposed(t), rel=1e-9, abs=1e-9)
    assert blocks.channel_matrix(u).sum(axis=1) == pytest.approx(blocks.rows(u), rel=1e-9, abs=1e-9)


def test_the_schur_complement_is_that_of_the_whole_matrix() -> None:
    part = part_of(*CASES["few reports"][:2], reports=[0, 7, 18])
    blocks, _ = anchored_blocks(part, np.array([0, 7, 18]), 1.0)
    v, m = len(blocks.block), len(blocks.large)
    theta = np.random.default_rng(0).gamma(1.0, size=m) + 0.1
    ratios = np.array([blocks.slacks(unit) for unit in np.eye(v)]).T
    rows = np.array([blocks.rows(unit) for unit in np.eye(v)]).T
    gram = ratios.T @ (theta[:, None] * ratios)
    normal = _Normal(blocks, theta)
    x, side = np.random.default_rng(1).normal(size=(2, v))
    assert normal.apply(x) == pytest.approx(np.linalg.solve(gram, x), rel=1e-6, abs=1e-8)
    schur = rows @ np.linalg.solve(gram, rows.T)
    assert schur @ normal.rows(side[:25]) == pytest.approx(side[:25], rel=1e-6, abs=1e-6)


def test_a_remap_never_costs_more() -> None:
    part = part_of(MetricSpace.grid(8, 8, cell=1, unit="km"), "0.5")
    once, twice = (alternate(part, radius=2.0, rounds=rounds) for rounds in (1, 2))
    assert twice.loss < once.loss
    assert len(np.unique(twice.labels)) < 64


def test_time_that_is_over_ends_with_what_there_is() -> None:
    part = part_of(MetricSpace.grid(6, 6, cell=1, unit="km"), "0.5")
    found = alternate(part, radius=2.0, seconds=0.0)
    assert found.iterations == 0
    assert matrix_of(found, part).sum(axis=1) == pytest.approx(np.ones(36))


def test_interior_points_end_with_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, step = 0.0, interior._step

    def slow(*arguments: Any) -> Any:
        nonlocal seconds
        seconds += 10.0
        return step(*arguments)

    monkeypatch.setattr(interior, "_step", slow)
    monkeypatch.setattr(module, "clock", lambda: seconds)
    part = part_of(MetricSpace.grid(6, 6, cell=1, unit="km"), "0.5")
    alternate(part, radius=2.0, rounds=20, seconds=45.0)
    assert 20 <= seconds <= 45


def test_its_answer_becomes_a_channel_that_is_never_written_down() -> None:
    """The integers are verified, and lose as much as the program says."""
    space = MetricSpace.grid(6, 7, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean", prior=skewed(42))
    guarantee = MetricDP("0.7", "km", "1.5")
    made = Balls(2.0).propose(space, problem, guarantee, PartLimits())
    assert made is not None
    channel = made.channel
    assert verify_anchored(channel, guarantee, totals_share=made.totals_share).passed
    assert len(channel.ball) > 3 * channel.n_reports
    rows = np.array([channel.row(i) for i in range(42)], dtype=np.float64)
    law = rows / rows.sum(axis=1, keepdims=True)
    loss = float((law * problem.cost[:, channel.names]).sum())
    part = WholeProblem(problem, space.adjacency(), Fraction("0.7")).parts[0]
    assert loss == pytest.approx(alternate(part, radius=2.0).loss, rel=2e-3)


def test_where_only_the_constant_is_feasible_it_is_what_comes_out() -> None:
    """Balls may be too small for anything else; the constant column becomes explicit weights of all secrets."""
    space = MetricSpace.grid(5, 5, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean", prior=skewed(25))
    constant = float(problem.cost.sum(axis=0).min())
    part = WholeProblem(problem, space.adjacency(), Fraction("0.5")).parts[0]
    assert alternate(part, radius=1.0).loss == pytest.approx(constant, rel=1e-3)
    assert alternate(part, radius=2.0).loss < 0.9 * constant
    guarantee = MetricDP("0.5", "km")
    made = Balls(1.0).propose(space, problem, guarantee, PartLimits())
    assert made is not None
    channel = made.channel
    assert verify_anchored(channel, guarantee, totals_share=made.totals_share).passed
    assert channel.n_reports == 26
    assert (channel.ball.reports == 25).sum() == 25
    assert channel.names[25] == problem.cost.sum(axis=0).argmin()


@pytest.mark.parametrize("steps", [-1.0, 0.0, np.inf, np.nan])
def test_a_radius_that_is_none_is_refused(steps: float) -> None:
    with pytest.raises(InvalidProblemError, match="steps: expected a positive radius"):
        Balls(steps)
