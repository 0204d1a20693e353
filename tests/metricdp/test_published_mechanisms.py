"""Published mechanisms as methods: remaps, TEM, the spanner program, ConstOPT; each against what defines it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.core.errors import InvalidProblemError, SolverError
from discreet.core.guarantee import MetricDP
from discreet.core.lp import LinearProgram, solve
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Direct, Exponential, Kernel, PlanarLaplace, Problem, design
from discreet.metricdp.methods import constopt
from discreet.metricdp.methods.baselines import Uniform
from discreet.metricdp.methods.constopt import ConstOPT
from discreet.metricdp.methods.remap import Remapped
from discreet.metricdp.methods.spanner import Spanner
from discreet.metricdp.methods.truncated import TruncatedExponential
from discreet.metricdp.part import Method, PartLimits, WholeProblem
from unrepaired import baseline_matrix

GRID = MetricSpace.grid(3, 4, cell=1, unit="km")


def raw(
    method: Method, problem: Problem, epsilon: str, radius: int | None = None
) -> NDArray[np.float64]:
    constraints = problem.space.adjacency(radius)
    return baseline_matrix(method, problem, constraints, Fraction(epsilon))


def distances(space: MetricSpace) -> NDArray[np.float64]:
    return np.asarray(np.ldexp(space.distances.astype(float), -space.scale_bits))


def most_nats_per_unit(matrix: NDArray[np.float64], space: MetricSpace) -> float:
    logs = np.log(matrix)
    i, j = np.triu_indices(space.n, 1)
    return float((np.abs(logs[i] - logs[j]).max(axis=1) / distances(space)[i, j]).max())


def loss(method: Method | None, problem: Problem, epsilon: str, radius: int | None = None) -> float:
    asked = MetricDP(epsilon, problem.space.unit, radius)
    made = design(problem, asked, method=method, throw=False, gap=1e-6)
    assert made.certificate.passed
    return made.upper


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6), method=st.sampled_from([Exponential(), PlanarLaplace(), Uniform()])
)
def test_renaming_is_the_bayes_remap_and_never_loses(seed: int, method: Method) -> None:
    prior = np.random.default_rng(seed).dirichlet(np.full(GRID.n, 0.3))
    problem = Problem(GRID, utility_loss="euclidean", prior=prior)
    plain = design(problem, MetricDP("0.3", "km"), method=method, throw=False)
    renamed = design(problem, MetricDP("0.3", "km"), method=Remapped(method), throw=False)
    names = (plain.channel.probabilities.T @ problem.cost).argmin(axis=1)
    by_hand = plain.channel.expected_loss(problem.cost[:, names])
    assert renamed.upper <= plain.upper * (1 + 1e-9)
    assert renamed.upper == pytest.approx(by_hand, rel=1e-6)


def test_a_remap_keeps_prices_and_passes_on_what_does_not_apply() -> None:
    problem = Problem(GRID, utility_loss="euclidean")
    made = design(problem, MetricDP(1, "km"), method=Remapped(Direct()), throw=False)
    assert made.provenance.method == "direct-remap"
    assert made.gap is not None
    assert made.gap < 1e-6
    with pytest.raises(SolverError, match="does not apply"):
        design(problem, MetricDP("0.1", "km"), method=Remapped(Kernel()))


def test_tem_is_what_gumbel_noise_on_its_scores_gives() -> None:
    """Scores with noise, the words beyond as one candidate, then one of them at random."""
    space = MetricSpace.from_points([[0.0], [1.0], [2.0], [9.0], [10.0]], unit="1")
    problem = Problem(space, utility_loss="distance")
    epsilon, beta = 2.0, Fraction(1, 10)
    matrix = raw(TruncatedExponential(beta), problem, "2")
    threshold = 2 / epsilon * math.log((1 - 0.1) * 4 / 0.1)
    assert 2 < threshold < 9
    rng = np.random.default_rng(5)
    draws = 200_000
    scores = [0.0, -1.0, -2.0, -threshold + 2 / epsilon * math.log(2)]
    winner = (np.array(scores) + rng.gumbel(0, 2 / epsilon, (draws, 4))).argmax(axis=1)
    reported = np.where(winner == 3, 3 + rng.integers(0, 2, draws), winner)
    counted = np.bincount(reported, minlength=5) / draws
    assert np.abs(counted - matrix[0]).max() < 6 * 0.5 / math.sqrt(draws)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    epsilon=st.sampled_from(["0.2", "2", "20"]),
    beta=st.fractions(Fraction(1, 1000), Fraction(9, 10)),
)
def test_tem_is_private_before_any_repair_and_seldom_far(
    seed: int, epsilon: str, beta: Fraction
) -> None:
    points = np.random.default_rng(seed).normal(size=(7, 3))
    space = MetricSpace.from_points(points, unit="1")
    matrix = raw(TruncatedExponential(beta), Problem(space, utility_loss="distance"), epsilon)
    assert most_nats_per_unit(matrix, space) <= float(epsilon) * (1 + 1e-9)
    threshold = 2 / float(epsilon) * math.log((1 - beta) * 6 / beta) if 6 * (1 - beta) > beta else 0
    far = distances(space) > max(threshold, 0)
    if threshold > 0:
        assert (matrix * far).sum(axis=1).max() <= float(beta) * (1 + 1e-9)


def test_tem_with_one_report_reports_it() -> None:
    problem = Problem(GRID, utility_loss="euclidean", reports=[4])
    assert raw(TruncatedExponential(), problem, "1").tolist() == [[1.0]] * GRID.n


@pytest.mark.parametrize("beta", [0, 1, Fraction(-1, 2)])
def test_tem_refuses_what_is_no_chance(beta: Fraction) -> None:
    with pytest.raises(InvalidProblemError, match="beta: expected a chance"):
        TruncatedExponential(beta)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "3"])
@pytest.mark.parametrize("radius", [None, 1])
def test_the_spanner_program_brackets_the_optimum(epsilon: str, radius: int | None) -> None:
    prior = np.random.default_rng(2).dirichlet(np.ones(GRID.n))
    problem = Problem(GRID, utility_loss="euclidean", prior=prior)
    asked = MetricDP(epsilon, "km", radius)
    best = loss(Direct(), problem, epsilon, radius)
    made = design(problem, asked, method=Spanner(), throw=False)
    assert made.lower is not None
    assert 0 < made.lower <= best <= made.upper * (1 + 1e-9)
    assert made.upper <= 1.3 * best


def test_what_is_solved_on_a_spanner_is_private_for_all_pairs() -> None:
    problem = Problem(GRID, utility_loss="euclidean")
    matrix = raw(Spanner(Fraction(3, 2)), problem, "1")
    kept = matrix[:, matrix.min(axis=0) > 1e-5]
    assert kept.shape[1] > 3
    assert most_nats_per_unit(kept, GRID) <= 1 + 1e-3


def test_a_longer_dilation_has_fewer_edges_and_loses_more() -> None:
    problem = Problem(GRID, utility_loss="euclidean")
    asked = MetricDP(1, "km")
    made = [
        design(problem, asked, method=Spanner(Fraction(t)), throw=False)
        for t in ("1.05", "1.5", "3")
    ]
    edges = [one.provenance.parameters["edges"] for one in made]
    assert edges == sorted(edges, reverse=True)
    losses = [one.upper for one in made]
    assert losses == sorted(losses)


def test_the_spanner_takes_components_and_duplicates() -> None:
    space = MetricSpace.from_points([[0.0], [1.0], [1.0], [9.0], [10.0], [11.0]], unit="km")
    problem = Problem(space, utility_loss="distance")
    asked = MetricDP(1, "km", 2)
    made = design(problem, asked, method=Spanner(), allow_unprotected=True, throw=False)
    best = design(problem, asked, allow_unprotected=True, gap=1e-6)
    assert made.lower is not None
    assert made.lower <= best.upper <= made.upper * (1 + 1e-9)


@pytest.mark.parametrize("dilation", [1, 0, Fraction(1, 2)])
def test_a_spanner_must_stretch(dilation: Fraction) -> None:
    with pytest.raises(InvalidProblemError, match="dilation: expected a factor above 1"):
        Spanner(dilation)


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
@pytest.mark.parametrize("reports", [None, [0, 5, 6, 11]])
def test_with_everything_free_constopt_is_the_program_itself(
    epsilon: str, reports: list[int] | None
) -> None:
    problem = Problem(GRID, utility_loss="euclidean", reports=reports)
    free = loss(ConstOPT(free=Fraction(10)), problem, epsilon)
    assert free == pytest.approx(loss(Direct(), problem, epsilon), rel=1e-5)


def test_with_little_free_and_the_full_rate_constopt_is_the_closed_form() -> None:
    problem = Problem(GRID, utility_loss="euclidean")
    tight = loss(ConstOPT(rate=Fraction(1), free=Fraction(0)), problem, "3")
    assert tight == pytest.approx(loss(Kernel(), problem, "3"), rel=1e-6)


def full_constopt(problem: Problem, epsilon: float, rate: float, free: float) -> float:
    """Solve ConstOPT with a row for every pair and every report, written down from its definition."""
    D = distances(problem.space)
    n = len(D)
    form = np.exp(-rate * epsilon * D)
    where = np.full((n, n), -1)
    near = free * (1 + 1e-9) >= D
    where[near] = n + np.arange(near.sum())
    size = n + int(near.sum())

    def entry(i: int, k: int) -> NDArray[np.float64]:
        row = np.zeros(size)
        row[where[i, k] if near[i, k] else k] = 1.0 if near[i, k] else form[i, k]
        return row

    rows = [
        entry(i, k) - math.exp(epsilon * D[i, j]) * entry(j, k)
        for i in range(n)
        for j in range(n)
        for k in range(n)
        if i != j and (near[i, k] or near[j, k])
    ]
    sums = [sum(entry(i, k) for k in range(n)) for i in range(n)]
    cost = sum(problem.cost[i, k] * entry(i, k) for i in range(n) for k in range(n))
    lower = [-np.inf] * len(rows) + [1.0] * n
    upper = [0.0] * len(rows) + [1.0] * n
    program = LinearProgram(cost, np.array(rows + sums), row_lower=lower, row_upper=upper)
    return solve(program).objective


@pytest.mark.parametrize(
    ("rate", "free", "epsilon"), [("1/2", "1", "1"), ("1", "1.5", "0.7"), ("1/2", "0", "3")]
)
def test_fewer_rows_say_the_same_as_all_rows(rate: str, free: str, epsilon: str) -> None:
    prior = np.random.default_rng(3).dirichlet(np.ones(9))
    problem = Problem(
        MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean", prior=prior
    )
    expected = full_constopt(problem, float(epsilon), float(Fraction(rate)), float(free))
    found = loss(ConstOPT(Fraction(rate), Fraction(free)), problem, epsilon)
    assert found == pytest.approx(expected, rel=1e-6)


def test_far_entries_have_the_exponential_form() -> None:
    problem = Problem(GRID, utility_loss="euclidean")
    matrix, D = raw(ConstOPT(), problem, "1"), distances(GRID)
    assert most_nats_per_unit(matrix[:, matrix.min(axis=0) > 1e-6], GRID) <= 1 + 1e-4
    assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-6
    for k in np.flatnonzero(matrix.min(axis=0) > 1e-6):
        far = D[:, k] > 1 + 1e-6
        scale = matrix[far, k] * np.exp(0.5 * D[far, k])
        assert np.ptp(scale) <= 1e-9 * scale.max()


def test_a_radius_without_a_channel_is_doubled() -> None:
    problem = Problem(MetricSpace.grid(5, 5, cell=1, unit="km"), utility_loss="euclidean")
    asked = MetricDP("0.5", "km")
    made = design(problem, asked, method=ConstOPT(rate=Fraction(1)), throw=False)
    assert "radius number 2" in made.provenance.method_trace[-1]
    assert made.upper < loss(Remapped(PlanarLaplace()), problem, "0.5") * 1.1


def test_too_many_rows_are_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constopt, "MAX_ROWS", 10)
    with pytest.raises(SolverError, match="rows and was not built"):
        design(Problem(GRID, utility_loss="euclidean"), MetricDP(1, "km"), method=ConstOPT())


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"rate": Fraction(0)}, "rate: expected"),
        ({"rate": Fraction(3, 2)}, "rate: expected"),
        ({"free": Fraction(-1)}, "free: expected"),
    ],
)
def test_constopt_refuses_nonsense(options: dict[str, Fraction], complaint: str) -> None:
    with pytest.raises(InvalidProblemError, match=complaint):
        ConstOPT(**options)


def test_a_part_of_two_secrets_is_enough() -> None:
    problem = Problem(MetricSpace.from_points([[0.0], [1.0]], unit="km"), utility_loss="distance")
    whole = WholeProblem(problem, problem.space.adjacency(), Fraction(1))
    for method in (ConstOPT(), Spanner(), TruncatedExponential(), Remapped(Exponential())):
        found = method.solve(whole.parts[0], PartLimits())
        assert found is not None
        assert found.matrix is not None
        assert found.matrix.shape == (2, 2)


def test_secrets_that_never_occur_are_no_place_for_all_reports() -> None:
    """Everything costs nothing at a secret of probability zero; reports stand where they are named."""
    prior = np.full(GRID.n, 1 / (GRID.n - 1))
    prior[0] = 0
    problem = Problem(GRID, utility_loss="euclidean", prior=prior)
    matrix = raw(TruncatedExponential(), problem, "3")
    assert matrix.argmax(axis=1).tolist() == list(range(GRID.n))


@pytest.mark.parametrize("method", [Exponential(), TruncatedExponential(), ConstOPT()])
def test_fewer_reports_than_secrets_stand_where_they_are_named_too(method: Method) -> None:
    """A secret that never occurs costs nothing wherever a report stands, and is no place for it."""
    line = MetricSpace.grid(1, 4, cell=1, unit="km")
    prior = [0, 1 / 3, 1 / 3, 1 / 3]
    problem = Problem(line, utility_loss="distance", prior=prior, reports=[1, 3])
    matrix = raw(method, problem, "2")
    assert matrix.argmax(axis=1)[[1, 3]].tolist() == [0, 1]
    assert matrix[3, 1] > 0.7
