"""The bound for very many secrets: below the optimum of another solver, whatever the multipliers, and never missing."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, kron

from discreet.core.channels.check_implicit import verify_anchored
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces import lengths as measures
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, tail_channel
from discreet.metricdp.bounds import local
from discreet.metricdp.bounds.bound import Multipliers, lower_bound
from discreet.metricdp.bounds.local import local_bound
from discreet.metricdp.bounds.tails import expected_loss
from discreet.metricdp.costs import ImplicitCosts
from discreet.metricdp.primal_dual.tiles import Tile
from few import each_once, few_of
from made_places import FAMILIES, made_places

if TYPE_CHECKING:
    from discreet.core.progress import Progress
    from discreet.core.spaces.adjacency import Adjacency

LONG = 25.0
"""Nats beyond which the second solver leaves a constraint out, which can only lower its optimum."""


def optimum(costs: ImplicitCosts, edges: Adjacency, epsilon: float) -> float:
    """Solve the whole program by SciPy, from the definition."""
    n = costs.n
    nats = epsilon * 2.0**-edges.scale_bits * edges.lengths
    pairs = edges.pairs[nats <= LONG]
    nats = nats[nats <= LONG]
    s, t = np.concatenate([pairs, pairs[:, ::-1]]).T
    rows = np.arange(len(s))
    ones, growth = np.ones(len(s)), np.exp(np.tile(nats, 2))
    # Divided by the growth, so that no coefficient exceeds 1.
    ratios = coo_array(
        (np.concatenate([ones / growth, -ones]), (np.tile(rows, 2), np.concatenate([s, t]))),
        shape=(len(s), n),
    )
    every = np.arange(n)
    # The types that SciPy states know no sparse tables.
    above: Any = kron(ratios, np.eye(n))
    sums: Any = kron(np.eye(n), np.ones((1, n)))
    found = linprog(
        costs.block(every, every).ravel(),
        A_ub=above,
        b_ub=np.zeros(len(s) * n),
        A_eq=sums,
        b_eq=np.ones(n),
        method="highs",
    )
    assert found.status == 0
    assert found.fun is not None
    return float(found.fun)


def instance(seed: int, n: int = 12) -> tuple[ImplicitCosts, Adjacency, Fraction]:
    """Draw points, a prior with zeros, a radius, a loss and epsilon."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2)) * math.sqrt(n)
    if seed % 4 == 1:
        points[1] = points[0] + 1e-6
    if seed % 4 == 2:
        points[:, 1] = 0.0
    prior = rng.gamma(0.7, size=n) * (rng.random(n) < 0.8) + 1e-9
    space = MetricSpace.from_points(points, unit="km")
    loss = ("euclidean", "squared-euclidean", "manhattan", "distance")[seed // 4 % 4]
    costs = ImplicitCosts(space, loss, prior / prior.sum())
    edges, _ = space.adjacency((None, 2, 1)[seed % 3]).join(space)
    return costs, edges, Fraction(1, 4) * 2 ** int(rng.integers(0, 5))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Groups of four reports, so that a dozen secrets have tiles."""
    monkeypatch.setattr(local, "_REPORTS_PER_TILE", 4)
    return monkeypatch


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", few_of(16, range(60)))
def test_the_bound_is_below_the_optimum_and_near_to_it(seed: int) -> None:
    costs, edges, epsilon = instance(seed)
    best = optimum(costs, edges, float(epsilon))
    found = local_bound(costs, edges, epsilon)
    assert found.lower <= best * (1 + 1e-7) + 1e-9
    # 0.87 of it for seed 6, squared losses on a line, after 4,000 steps; the others are nearer.
    assert found.lower >= 0.85 * best - 1e-6


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("seed", "reach"), each_once(range(100, 112), [0.25, 1.0, 3.0]))
def test_a_short_reach_bounds_too(seed: int, reach: float) -> None:
    costs, edges, epsilon = instance(seed)
    found = local_bound(costs, edges, epsilon, farthest=reach)
    assert found.reach == reach
    assert found.lower <= optimum(costs, edges, float(epsilon)) * (1 + 1e-7) + 1e-9


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("family", few_of(5, [*FAMILIES[1::2], *FAMILIES[::2]]))
def test_no_family_is_bounded_from_above(family: str) -> None:
    places = made_places(family, 30, seed=7)
    costs = ImplicitCosts(places.space, "distance", places.prior)
    edges, _ = places.space.adjacency(f"{places.radius:.9g}").join(places.space)
    epsilon = Fraction(f"{0.5 / places.spacing:.6g}")
    found = local_bound(costs, edges, epsilon)
    best = optimum(costs, edges, float(epsilon))
    assert 0.9 * best <= found.lower <= best * (1 + 1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_wrong_multipliers_are_no_danger(small: pytest.MonkeyPatch, seed: int) -> None:
    """Whatever a kernel writes into the multipliers, what comes out is a bound."""
    costs, edges, epsilon = instance(200 + seed)
    best = optimum(costs, edges, float(epsilon))
    proven = local_bound(costs, edges, epsilon).lower
    rng = np.random.default_rng(seed)

    def wrong(tile: Tile, least: float) -> Multipliers:
        right = listed(tile, least)
        noise = rng.gamma(0.5, size=len(right)) * rng.integers(0, 3, len(right))
        return Multipliers(right.report, right.source, right.target, right.value * noise)

    listed = Tile.prices
    small.setattr(Tile, "prices", wrong)
    found = local_bound(costs, edges, epsilon).lower
    assert found <= best * (1 + 1e-7)
    assert found < proven


def test_tiles_add_up_to_what_one_table_gives(small: pytest.MonkeyPatch) -> None:
    """The multipliers of all tiles, by the formula for one table of all secrets and reports."""
    costs, edges, epsilon = instance(303, n=40)
    kept: list[Multipliers] = []

    def remembered(tile: Tile, least: float) -> Multipliers:
        found = listed(tile, least)
        named = found.relabel(tile.secrets)
        kept.append(
            Multipliers(tile.reports[named.report], named.source, named.target, named.value)
        )
        return found

    def with_loans(plan: local.Plan) -> float:
        kept.extend(plan.prices_of_loans(every, every))
        return plain(plan)

    listed, plain, every = Tile.prices, local.Plan.lower_bound, np.arange(costs.n)
    small.setattr(Tile, "prices", remembered)
    small.setattr(local.Plan, "lower_bound", with_loans)
    found = local_bound(costs, edges, epsilon, farthest=2.0).lower
    whole = lower_bound(costs.block(every, every), edges, epsilon, Multipliers.stack(kept))
    assert len(kept) > 10
    assert found == pytest.approx(whole, rel=1e-11)
    assert found <= whole * (1 + 1e-14)


@pytest.mark.parametrize("seed", few_of(1, range(400, 404)))
def test_threads_change_nothing(small: pytest.MonkeyPatch, seed: int) -> None:
    costs, edges, epsilon = instance(seed, n=60)
    one, two = (local_bound(costs, edges, epsilon, threads=threads) for threads in (1, 2))
    assert one == two
    assert small is not None


@pytest.mark.usefixtures("small")
def test_there_is_a_bound_without_time() -> None:
    costs, edges, epsilon = instance(500, n=60)
    told: list[Progress] = []
    hasty = local_bound(costs, edges, epsilon, time_limit=1e-9, on_progress=told.append)
    patient = local_bound(costs, edges, epsilon)
    assert hasty.steps == 100 < patient.steps
    assert 0 < hasty.lower <= patient.lower * 1.001
    assert len(told) == 2


def test_steps_that_are_too_long_are_taken_back(small: pytest.MonkeyPatch) -> None:
    costs, edges, epsilon = instance(501, n=60)
    assert small is not None
    state = local.Plan(costs, local.priceable(edges.prune(), epsilon), epsilon).state(1)
    state.step_size *= 1000
    begun = state.step_size
    for _ in range(200):
        state.advance(None)
    assert state.step_size < begun
    assert np.isfinite(state.y).all()
    assert math.isfinite(state.dual_objective())


def test_nothing_constrained_is_bounded_by_nothing_lost() -> None:
    space = MetricSpace.from_points([[0.0], [5.0]], unit="km")
    apart = local_bound(ImplicitCosts(space, "distance"), space.adjacency(1), Fraction(1))
    assert apart.lower == pytest.approx(0.0)
    assert apart.reach == 0


def test_secrets_at_one_place_are_bounded() -> None:
    """Constraints of length 0 are left out, which relaxes the program."""
    space = MetricSpace.from_points([[0.0], [0.0], [1.0]], unit="km")
    found = local_bound(ImplicitCosts(space, "distance"), space.adjacency(), Fraction(1))
    # Two classes at distance 1, of weights 2/3 and 1/3: the optimum is known.
    pair = MetricSpace.from_points([[0.0], [1.0]], unit="km")
    best = optimum(ImplicitCosts(pair, "distance", [2 / 3, 1 / 3]), pair.adjacency(), 1.0)
    assert 0.6 * best <= found.lower <= best * (1 + 1e-9)


def test_too_little_memory_shortens_the_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    costs, edges, epsilon = instance(600, n=80)
    wide = local_bound(costs, edges, epsilon, gap=0.05)
    monkeypatch.setattr(local, "TUNING", local.TUNING._replace(max_state_bytes=480_000))
    narrow = local_bound(costs, edges, epsilon, gap=0.05)
    assert narrow.reach < wide.reach
    assert narrow.lower > 0


@pytest.mark.parametrize("metric", ["points", "grid"])
def test_a_large_channel_has_loss_and_bound(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a table of distances, as beyond 5120 secrets; the optimum lies between."""
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    if metric == "grid":
        space = MetricSpace.grid(4, 5, cell=1, unit="km")
    else:
        space = MetricSpace.from_points(np.random.default_rng(1).random((20, 2)) * 4, unit="km")
    prior = np.arange(1.0, 21.0) / 210
    claim = MetricDP("0.8", "km", "2.5")
    made = tail_channel(space, claim, utility_loss="euclidean", prior=prior, threads=2)
    assert made.costs is not None
    best = optimum(made.costs, space.adjacency("2.5"), 0.8)
    assert made.lower is not None
    assert made.upper is not None
    assert made.gap is not None
    assert 0.97 * best < made.lower <= best * (1 + 1e-9)
    assert made.upper >= best * (1 - 1e-9)
    assert made.gap == pytest.approx(1 - made.lower / made.upper)


def exactly(made_loss: NDArray[np.float64], rows: list[list[int]], prior: list[float]) -> Fraction:
    """Expected loss in fractions."""
    total = Fraction(0)
    for losses, weights, likely in zip(made_loss.tolist(), rows, prior, strict=True):
        spent = sum(Fraction(c) * w for c, w in zip(losses, weights, strict=True))
        total += Fraction(likely) * spent / sum(weights)
    return total


def test_the_loss_is_rounded_up_and_hardly() -> None:
    space = MetricSpace.from_points(np.random.default_rng(3).random((30, 2)) * 5, unit="km")
    made = tail_channel(space, MetricDP(1, "km"))
    costs = ImplicitCosts(space, "euclidean")
    every = np.arange(30)
    rows = [made.channel.row(i).tolist() for i in range(30)]
    exact = exactly(costs.losses(every, every), rows, costs.prior.tolist())
    upper = Fraction(expected_loss(made.channel, costs))
    assert 0 <= upper - exact <= exact / 10**12


def test_names_are_the_best_where_all_are_seen() -> None:
    """The names that the whole table asks for; weights and privacy are those of before."""
    space = MetricSpace.from_points(np.random.default_rng(5).random((70, 2)) * 5, unit="km")
    prior = np.random.default_rng(6).gamma(0.3, size=70)
    claim = MetricDP("0.7", "km", 5)
    plain = tail_channel(space, claim).channel
    made = tail_channel(space, claim, utility_loss="euclidean", prior=prior / prior.sum())
    assert made.costs is not None
    every = np.arange(70)
    cost = made.costs.block(every, every)
    rows = np.array([plain.row(i) for i in range(70)], dtype=np.float64)
    spent = cost.T @ (rows / rows.sum(axis=1, keepdims=True))
    assert made.channel.names.tolist() == spent.argmin(axis=0).tolist()
    assert made.upper == pytest.approx(spent.min(axis=0).sum(), rel=1e-9)
    assert made.upper is not None
    assert made.upper < 0.97 * expected_loss(plain, made.costs)
    assert (made.channel.row(3) == plain.row(3)).all()
    assert verify_anchored(made.channel, claim, totals_share=made.totals_share).passed


@pytest.mark.parametrize("name", ["euclidean", "distance", "squared-euclidean", "manhattan"])
def test_costs_are_those_of_the_problem(name: str) -> None:
    space = MetricSpace.grid(3, 4, cell="0.3", unit="km")
    prior = np.arange(12.0) / 66
    problem = Problem(space, utility_loss=name, prior=prior)
    every = np.arange(12)
    assert (ImplicitCosts(space, name, prior).block(every, every) == problem.cost).all()


def test_a_channel_without_a_loss_has_no_bound() -> None:
    made = tail_channel(MetricSpace.grid(3, 3, cell=1, unit="km"), MetricDP(1, "km"))
    assert (made.lower, made.upper, made.gap) == (None, None, None)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"prior": [1.0]}, "prior"),
        ({"utility_loss": "distance", "prior": [0.5] * 9}, "prior"),
        ({"utility_loss": "miles"}, "utility_loss"),
        ({"utility_loss": "distance", "gap": 1.5}, "gap"),
        ({"utility_loss": "distance", "time_limit": 0}, "time_limit"),
        ({"utility_loss": "distance", "threads": 0}, "threads"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], field: str) -> None:
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    with pytest.raises(InvalidProblemError, match=field):
        tail_channel(space, MetricDP(1, "km"), **options)  # type: ignore[arg-type]
