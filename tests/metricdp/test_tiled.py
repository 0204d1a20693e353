"""Steps on tiles: a channel and a bound from the same steps, when they come first, and what they hand in when."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.core import jit
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Direct, PrimalDual, Problem, design, verify
from discreet.metricdp.bounds import local
from discreet.metricdp.bounds.local import Plan, priceable
from discreet.metricdp.kernels import arcs as arc_kernels
from discreet.metricdp.methods import primal_dual as steps
from discreet.metricdp.part import Candidate, Part, PartLimits, WholeProblem
from discreet.metricdp.primal_dual.arcs import ArcTile
from discreet.metricdp.primal_dual.iterate import LEAST_ENTRY, LEAST_PRICE
from discreet.metricdp.primal_dual.mend import AlongEdges
from discreet.metricdp.primal_dual.order import OrderedProgram
from discreet.metricdp.primal_dual.tiles import Tile, TiledIterate
from few import few_of

_design = import_module("discreet.metricdp.design")

N = 60
CLAIM = MetricDP("0.6", "km", 2)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Tiles of sixteen reports, so that there are several."""
    monkeypatch.setattr(local, "_REPORTS_PER_TILE", 16)
    return monkeypatch


def stated(seed: int = 1, n: int = N) -> Problem:
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2)) * np.sqrt(n)
    prior = rng.gamma(2.0, size=n) + 0.1
    space = MetricSpace.from_points(points, unit="km")
    return Problem(space, utility_loss="euclidean", prior=prior / prior.sum())


def part_of(problem: Problem) -> Part:
    edges, _ = problem.space.adjacency(CLAIM.radius).join(problem.space)
    return WholeProblem(problem, edges, Fraction(CLAIM.epsilon)).parts[0]


def ordered(part: Part) -> OrderedProgram:
    assert part.home is not None
    return OrderedProgram.of(part.cost, part.paths, part.home)


def plan_of(part: Part) -> Plan:
    near = ordered(part)
    return steps._plan(near, near.renumber(part.binding), part, 0.01)


def state_of(part: Part) -> TiledIterate:
    near = ordered(part)
    return Plan(near, priceable(near.renumber(part.binding), part.epsilon), part.epsilon).state(1)


@pytest.mark.parametrize("seed", few_of(1, range(3)))
def test_one_method_gives_channel_and_bound(seed: int) -> None:
    problem = stated(seed)
    made = design(problem, CLAIM, method=PrimalDual(), gap=0.01)
    assert made.provenance.method == "primal-dual"
    assert any("on 4 tiles" in said for said in made.provenance.method_trace)
    assert verify(made, optimality=True).passed
    best = design(problem, CLAIM, method=Direct(), gap=1e-6, throw=False)
    assert made.lower is not None
    assert best.lower is not None
    assert 0.99 * best.lower <= made.lower <= best.upper
    assert best.lower <= made.upper <= 1.01 * best.upper


def test_a_short_reach_still_gives_both(small: pytest.MonkeyPatch) -> None:
    """What tiles leave out has probability zero in the iterate, and mending raises it."""
    small.setattr(steps, "_TUNING", steps._TUNING._replace(max_reach_nats=2.0, max_held_share=1.0))
    problem = stated(4)
    made = design(problem, CLAIM, method=PrimalDual(), gap=0.25)
    assert verify(made, optimality=True).passed
    assert made.gap is not None
    assert made.gap <= 0.25
    assert not (plan_of(part_of(problem)).state(1).matrix(N) > 0).all()
    used = made.channel.probabilities > 0
    assert (used.all(axis=0) == used.any(axis=0)).all()


def test_polishing_aside_keeps_a_better_bound_and_returns_to_the_point() -> None:
    state = state_of(part_of(stated(2)))
    for _ in range(60):
        state.advance(None)
    state.update_best(None)
    kept, before = [(tile.X.copy(), tile.L.copy()) for tile in state.tiles], state.best
    y, count, restarts = state.y.copy(), state.count, state.restarts
    state.polish(64, None)
    assert state.best > before
    assert (state.y == y).all()
    assert (state.count, state.age, state.restarts) == (count, 0, restarts + 1)
    for tile, (x, prices) in zip(state.tiles, kept, strict=True):
        assert (np.where(x > LEAST_ENTRY, x, 0.0) == tile.X).all()
        assert (np.where(np.abs(prices) > LEAST_PRICE, prices, 0.0) == tile.L).all()
        assert (tile.X == tile.X0).all()
        assert (tile.L == tile.L0).all()
        assert isinstance(tile, Tile)
        assert not (tile.best_multipliers == prices).all()


def test_new_units_change_no_point_and_no_bound() -> None:
    state = state_of(part_of(stated(2)))
    for _ in range(60):
        state.advance(None)
    state.update_best(None)
    before = [1.0 / tile.R[:, :, 0] for tile in state.tiles]
    point, bounds = state.matrix(N), state.bounds([1.0, 0.9], None)
    prices = [tile.prices(1e-6).value.sum() for tile in state.tiles]
    state.remeasure(None)
    assert state.matrix(N) == pytest.approx(point, rel=1e-4, abs=1e-6)
    assert state.bounds([1.0, 0.9], None) == pytest.approx(bounds, rel=1e-4)
    after = [tile.prices(1e-6).value.sum() for tile in state.tiles]
    assert after == pytest.approx(prices, rel=1e-4)
    changes = [1.0 / tile.R[:, :, 0] / old for tile, old in zip(state.tiles, before, strict=True)]
    assert max(change.max() / change.min() for change in changes) > 1.3


def test_steps_measure_anew_but_not_those_that_polish(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    monkeypatch.setattr(TiledIterate, "remeasure", lambda state, _pool: counts.append(state.count))
    state = state_of(part_of(stated(2)))
    state.measuring = [5, 15]
    for _ in range(20):
        state.advance(None)
    state.polish(20, None)
    assert counts == [5, 15]


def test_the_weight_moves_to_where_more_is_lacking() -> None:
    state = state_of(part_of(stated(3)))
    state.balance(4.0, 1.0)
    assert state.target == 2 * state.weight
    # It has not been tried yet.
    state.balance(1.0, 4.0)
    assert state.target == 2 * state.weight
    state.weight = state.target
    state.balance(1.0, 4.0)
    assert state.target == state.weight / 2


def test_threads_change_nothing() -> None:
    one, two = (design(stated(), CLAIM, method=PrimalDual(), threads=count) for count in (1, 2))
    assert (one.lower, one.upper) == (two.lower, two.upper)
    assert (one.channel.probabilities == two.channel.probabilities).all()


def test_both_are_handed_in_before_the_limit_ends(
    small: pytest.MonkeyPatch,
) -> None:
    """A clock by which a step takes a second, and a gap that is never reached."""
    wall, told = SimpleNamespace(seconds=0.0), []
    part = part_of(stated(5))

    def advance(state: TiledIterate, pool: None) -> None:
        wall.seconds += 1.0
        plain(state, pool)

    def listens(found: Candidate) -> bool:
        told.append((wall.seconds, found.matrix is not None, found.multipliers is not None))
        return False

    plain = TiledIterate.advance
    small.setattr(TiledIterate, "advance", advance)
    small.setattr(jit, "time", SimpleNamespace(perf_counter=lambda: wall.seconds))
    last = PrimalDual().solve(part, PartLimits(900.0, 1, 0.0, listens))
    assert last is not None
    assert last.matrix is None
    assert any(channel and bound for _, channel, bound in told)
    # The polishing steps take their seconds, too, so that an offer without time for them is left out.
    assert 450 <= max(seconds for seconds, *_ in told) <= 900


def test_nothing_is_handed_in_twice(small: pytest.MonkeyPatch) -> None:
    """Without a limit and with a gap that is never reached, at fixed numbers of steps and after the last one."""
    part, told = part_of(stated(6)), []

    def listens(found: Candidate) -> bool:
        told.append(found)
        return False

    found = PrimalDual(iterations=600).solve(part, PartLimits(None, 1, 0.0, listens))
    assert found is not None
    assert found.matrix is None
    assert found.multipliers is None
    counts = [one.parameters["iterations"] for one in told]
    assert counts == sorted(set(counts))
    assert counts[-1] == 600
    assert any(one.matrix is not None for one in told)


def test_secrets_that_never_occur_have_rows_all_the_same(small: pytest.MonkeyPatch) -> None:
    """A report outside of their tiles costs them nothing, so that steps leave their rows empty."""
    small.setattr(steps, "_TUNING", steps._TUNING._replace(max_reach_nats=2.0, max_held_share=1.0))
    problem = stated(7)
    prior = np.where(np.arange(N) % 3, problem.prior, 0.0)
    zeros = Problem(problem.space, utility_loss="euclidean", prior=prior / prior.sum())
    made = design(zeros, CLAIM, method=PrimalDual(), throw=False)
    assert verify(made, optimality=True).passed
    assert made.lower is not None
    assert 0 < made.lower <= made.upper
    assert made.upper < design(zeros, CLAIM, method="exponential", throw=False).upper


def test_a_row_of_zeros_gets_what_its_neighbors_require() -> None:
    ends, lengths = np.array([[0, 1], [1, 2]], dtype=np.int32), np.array([1, 1])
    edges = Adjacency(3, ends, lengths, scale_bits=0)
    matrix = np.array([[0.8, 0.2], [0.0, 0.0], [0.2, 0.8]])
    raised = AlongEdges(edges, np.array([1.0, 1.0])).estimate(matrix)
    assert raised[[0, 2]] == pytest.approx(matrix[[0, 2]])
    assert raised[1] == pytest.approx(np.exp(-1) * np.array([0.8, 0.8]))


def far_apart(n: int = 48, dimensions: int = 12) -> Problem:
    """Points without near structure, as words have: no few pairs stand for the others."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(n, dimensions))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    prior = rng.gamma(1.0, size=n) + 0.01
    space = MetricSpace.from_points(points, unit="km")
    return Problem(space, utility_loss="euclidean", prior=prior / prior.sum())


def whole_part(problem: Problem, epsilon: int) -> Part:
    return WholeProblem(problem, problem.space.adjacency(), Fraction(epsilon)).parts[0]


def test_stars_grow_until_both_sides_meet_the_linear_program() -> None:
    problem, claim = far_apart(24), MetricDP(3, "km")
    exact = design(problem, claim, method=Direct(), gap=1e-5)
    small_gap = design(problem, claim, method=PrimalDual(), gap=0.02, throw=False)
    assert exact.lower is not None
    assert small_gap.lower is not None
    assert small_gap.lower <= exact.upper * (1 + 1e-9)
    assert small_gap.upper >= exact.lower * (1 - 1e-9)
    assert small_gap.gap is not None
    assert small_gap.gap <= 0.02
    assert verify(small_gap, optimality=True).passed


def test_added_constraints_have_no_price_and_change_no_bound() -> None:
    part = whole_part(far_apart(), 3)
    near = ordered(part)
    plan = plan_of(part)
    assert plan.stars
    state = plan.state(1)
    for _ in range(80):
        state.advance(None)
    state.update_best(None)
    before, had = state.bounds((1.0, 0.95), None), plan.multipliers
    matrix = state.matrix(part.n_reports)
    raised = plan.grow(state, None)
    assert plan.multipliers > had
    assert state.bounds((1.0, 0.95), None) == pytest.approx(before, rel=1e-9)
    assert state.matrix(part.n_reports) == pytest.approx(matrix, rel=1e-4)
    # The raised channel keeps every ratio: what is asked of each entry is the largest of all constraints.
    nats = part.nats(near.lengths)
    asked = np.exp(-nats)[:, :, None] * matrix[None]
    assert raised == pytest.approx(asked.max(axis=1), rel=1e-4, abs=1e-12)
    assert plan.lower_bound() <= state.best * (1 + 1e-6)


def test_raising_along_arcs_requires_what_each_arc_says() -> None:
    part = whole_part(far_apart(), 3)
    plan = plan_of(part)
    state = plan.state(1)
    for _ in range(2):
        for _ in range(30):
            state.advance(None)
        plan.grow(state, None)
    for tile in state.tiles:
        assert isinstance(tile, ArcTile)
        expected = tile.matrix()
        start = tile.matrix()
        for arc, k in enumerate(tile.reports_of_arcs):
            i, j = tile.source[arc], tile.target[arc]
            expected[j, k] = max(expected[j, k], tile.shrink[arc] * start[i, k])
        assert tile.raised() == pytest.approx(expected, rel=1e-6)
        assert (tile.raised() > tile.matrix() * 1.01).any()
    before, after = plan.losses()
    assert 0 < before < after


def test_prices_need_no_point() -> None:
    for part in (whole_part(far_apart(), 3), whole_part(stated(1), 1)):
        lists = []
        for drops in (False, True):
            plan = plan_of(part)
            state = plan.state(1)
            for _ in range(40):
                state.advance(None)
            state.update_best(None)
            if drops:
                state.drop_points()
            listed = plan.list_multipliers(1e-12, np.arange(part.n), np.arange(part.n_reports))
            lists.append(listed)
        assert len(lists[0]) > 0
        for name in ("report", "source", "target", "value"):
            one, other = (getattr(listed, name).tolist() for listed in lists)
            assert one == other


@pytest.mark.parametrize("epsilon", [3, 5])
def test_steps_on_arcs_are_the_same_compiled_or_not(
    monkeypatch: pytest.MonkeyPatch, epsilon: int
) -> None:
    """With a hub in the middle, and without."""
    part = whole_part(far_apart(), epsilon)
    points, raised = [], []
    for compiled in (True, False):
        if not compiled:
            for name in ("step_on_arcs", "find_sources", "move", "pull_fan"):
                function = getattr(arc_kernels, name)
                monkeypatch.setattr(arc_kernels, name, getattr(function, "py_func", function))
        plan = plan_of(part)
        state = plan.state(1)
        for _ in range(2):
            for _ in range(15):
                state.advance(None)
            raised.append(plan.grow(state, None))
        points.append(state.matrix(part.n_reports))
        assert plan.multipliers > len(part.cost) * (len(part.cost) - 1)
    assert points[0] == pytest.approx(points[1], rel=1e-3, abs=1e-6)
    assert raised[1] == pytest.approx(raised[3], rel=1e-3, abs=1e-6)
    assert (points[0] > 0).mean() > 0.1


def test_steps_of_arcs_scale_them_to_norm_one() -> None:
    part = whole_part(far_apart(), 3)
    plan = plan_of(part)
    state = plan.state(1)
    for _ in range(30):
        state.advance(None)
    plan.grow(state, None)
    norms = []
    for tile in state.tiles:
        assert isinstance(tile, ArcTile)
        for k in range(len(tile.reports)):
            own = np.flatnonzero(tile.reports_of_arcs == k)
            rows, row = np.zeros((len(own), len(tile.secrets))), np.arange(len(own))
            i, j, r = tile.source[own], tile.target[own], tile.R[own]
            rows[row, i] = r * tile.shrink[own] * tile.S[k, i]
            rows[row, j] -= r * tile.S[k, j]
            norms.append(np.linalg.norm(rows, 2))
    assert 0.3 < max(norms) <= 1 + 1e-5


def test_an_interrupt_hands_in_the_prices_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = TiledIterate.advance

    def stops(state: TiledIterate, pool: None) -> None:
        plain(state, pool)
        if state.count == 90:
            raise KeyboardInterrupt

    monkeypatch.setattr(TiledIterate, "advance", stops)
    handed: list[Candidate] = []

    def listens(candidate: Candidate) -> bool:
        handed.append(candidate)
        return False

    beats: list[int] = []
    limits = PartLimits(None, 1, 0.0, listens, beat=lambda: beats.append(1))
    with pytest.raises(KeyboardInterrupt):
        PrimalDual().solve(whole_part(far_apart(), 3), limits)
    assert any(one.multipliers is not None for one in handed)
    assert len(beats) >= 89


def test_a_spanner_stands_for_all_pairs_of_a_large_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its channel is mended over all pairs, after near reports are merged."""
    monkeypatch.setattr(steps, "_TUNING", steps._TUNING._replace(merging_share_of_gap=2.0))
    problem, claim = stated(n=48), MetricDP(1, "km")
    made = design(problem, claim, method=PrimalDual(), gap=0.05, time_limit=20, throw=False)
    best = design(problem, claim, gap=0.01)
    assert verify(made, optimality=True).passed
    assert best.lower is not None
    assert made.lower is not None
    assert made.lower <= best.upper
    assert best.lower <= made.upper <= 1.2 * best.upper
    used = (made.channel.probabilities > 1e-9).any(axis=0).sum()
    assert used <= 24


def test_tiles_hold_all_secrets_where_a_reach_saves_little(small: pytest.MonkeyPatch) -> None:
    """What a reach leaves out bounds the gap from below: 1,000 points were left at 2.6 %, and at .8 % without it."""
    part = part_of(stated(2))
    near = ordered(part)
    graph = priceable(near.renumber(part.binding), part.epsilon)

    def reach(most_held: float) -> float:
        return Plan(near, graph, part.epsilon, farthest=2.0, max_share=most_held).reach

    assert (reach(1.0), reach(0.01)) == (2.0, np.inf)
    small.setattr(local, "TUNING", local.TUNING._replace(max_state_bytes=1))
    assert 0.8 < reach(0.01) <= 1.0


def test_the_bound_comes_back_without_time_for_a_channel(small: pytest.MonkeyPatch) -> None:
    small.setattr(steps._Run, "_has_time_for_offer", lambda *_, **__: False)

    def fails(_: Candidate) -> bool:
        raise AssertionError

    last = PrimalDual(iterations=300).solve(part_of(stated(2)), PartLimits(None, 1, 0.0, fails))
    assert last is not None
    assert last.matrix is None
    assert last.multipliers is not None
