"""Trees with hubs: which lengths have one, what their edges imply, and what prices of edges prove of pairs."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Direct, PrimalDual, Problem, design, verify
from discreet.metricdp.bounds.bound import Multipliers, lower_bound
from discreet.metricdp.kernels import brackets as kernels
from discreet.metricdp.methods import primal_dual as steps
from discreet.metricdp.part import Part, WholeProblem
from discreet.metricdp.primal_dual.hubs import HubProgram, with_hubs, with_middle
from discreet.metricdp.primal_dual.order import OrderedProgram
from made_places import made_places


def terms(n: int, *, legs: float, seed: int = 1) -> tuple[Problem, Part]:
    """A taxonomy whose terms are up to `legs` farther from all others: lengths of a tree, with 0 an ultrametric."""
    rng = np.random.default_rng(seed)
    places = made_places("taxonomy", n, seed=seed)
    leg = legs * rng.random(n)
    lengths = places.loss + (leg[:, None] + leg) * (1 - np.eye(n))
    space = MetricSpace.from_matrix(lengths, unit="km")
    problem = Problem(space, utility_loss=lengths, prior=places.prior)
    return problem, WholeProblem(problem, space.adjacency(), Fraction("0.3")).parts[0]


def hubs_of(part: Part) -> HubProgram | None:
    assert part.home is not None
    near = OrderedProgram.of(part.cost, part.paths, part.home)
    return with_hubs(near, part.rate, part.constraints.scale_bits)


@pytest.mark.parametrize("legs", [0.0, 2.0])
def test_paths_on_the_tree_are_as_long_as_pairs(legs: float) -> None:
    _, part = terms(70, legs=legs)
    found = hubs_of(part)
    assert found is not None
    paths, nodes = found.graph.shortest_paths(), np.arange(found.n)
    assert paths[:70, :70] == pytest.approx(found.near.lengths, rel=1e-9)
    between = found.between(*np.meshgrid(nodes, nodes))
    assert between == pytest.approx(paths, rel=1e-9, abs=10)
    assert len(found.graph) == found.graph.n - 1
    # Each node comes right after all that are below it.
    assert sorted(found.order.tolist()) == list(range(found.graph.n))
    assert found.first[-1] == 0
    assert (found.proxies < 70).all()


def test_equal_heights_are_one_hub() -> None:
    lengths = np.where(np.arange(24)[:, None] // 6 == np.arange(24) // 6, 1.0, 3.0)
    np.fill_diagonal(lengths, 0.0)
    space = MetricSpace.from_matrix(lengths, unit="km")
    problem = Problem(space, utility_loss=lengths)
    found = hubs_of(WholeProblem(problem, space.adjacency(), Fraction(1)).parts[0])
    assert found is not None
    # Four groups, their own, and the root, which is at a secret.
    assert found.graph.n - 24 == 4 + 1 + 1


@pytest.mark.parametrize("family", ["uniform", "grid", "words, euclidean"])
def test_other_lengths_have_no_tree(family: str) -> None:
    places = made_places(family, 60, seed=2)
    problem = Problem(places.space, utility_loss=places.loss)
    part = WholeProblem(problem, places.space.adjacency(), Fraction(1)).parts[0]
    assert hubs_of(part) is None


def test_hundreds_of_nats_have_no_tree() -> None:
    """Their exponentials are no floats."""
    problem, _ = terms(40, legs=0.0)
    part = WholeProblem(problem, problem.space.adjacency(), Fraction(1000)).parts[0]
    assert hubs_of(part) is None


@pytest.mark.parametrize("compiled", [True, False])
def test_prices_of_edges_become_prices_of_pairs(
    monkeypatch: pytest.MonkeyPatch, *, compiled: bool
) -> None:
    """Flows along paths of the tree change brackets of secrets alone: pairs change them by no less."""
    if not compiled:
        plain = getattr(kernels.pair_demands, "py_func", kernels.pair_demands)
        monkeypatch.setattr(kernels, "pair_demands", plain)
    _, part = terms(40, legs=1.0, seed=3)
    found = hubs_of(part)
    assert found is not None
    rng, nodes = np.random.default_rng(4), found.graph.n
    above: dict[int, list[int]] = {v: [] for v in range(nodes)}
    for i, j in found.graph.pairs.tolist():
        above[i].append(j)
        above[j].append(i)

    def path(a: int, b: int) -> list[int]:
        before, todo = {a: a}, [a]
        for v in todo:
            fresh = [w for w in above[v] if w not in before]
            before |= dict.fromkeys(fresh, v)
            todo += fresh
        way = [b]
        while way[-1] != a:
            way.append(before[way[-1]])
        return way

    rows, wanted = [], np.zeros((40, 40))
    for _ in range(300):
        k, s, t = (int(v) for v in rng.integers(40, size=3))
        amount, way = rng.random(), path(t, s)
        wanted[s, k] += amount * (s != t)
        for near, far in pairwise(way):
            rows.append((k, near, far, amount))
            amount *= np.exp(found.rate * abs(found.depth[near] - found.depth[far]))
        wanted[t, k] -= amount * (s != t)
    report, source, target, value = zip(*rows, strict=True)
    prices = found.to_pairs(Multipliers(report, source, target, value))
    place = np.argsort(found.near.secrets)
    sources, targets = place[prices.source], place[prices.target]
    growth = np.exp(part.rate * found.near.lengths[sources, targets])
    change = np.zeros((40, 40))
    np.add.at(change, (sources, prices.report), prices.value)
    np.add.at(change, (targets, prices.report), -growth * prices.value)
    assert (change >= wanted - 1e-9 * np.abs(wanted).max()).all()
    assert change.sum() > 0.5 * wanted.sum() or wanted.sum() < 0
    assert len(prices) <= 40 * 40
    assert lower_bound(part.cost, part.constraints, part.epsilon, prices) < 1


@pytest.mark.parametrize("legs", [1.5, pytest.param(0.0, marks=pytest.mark.slow)])
def test_bounds_with_hubs_are_beside_the_optimum(legs: float) -> None:
    problem, _ = terms(40, legs=legs, seed=5)
    claim = MetricDP("0.3", "km")
    made = design(problem, claim, method=PrimalDual(), gap=0.005)
    assert "infinite" in made.provenance.method_trace[-1]
    best = design(problem, claim, method=Direct("simplex"), gap=1e-6)
    assert best.lower is not None
    assert made.lower is not None
    assert verify(made, optimality=True).passed
    assert made.lower <= best.upper
    assert made.upper >= best.lower


def words(n: int, epsilon: str, *, seed: int = 1) -> tuple[Problem, Part]:
    """Words by their distance."""
    places = made_places("words, euclidean", n, seed=seed)
    problem = Problem(places.space, utility_loss=places.loss, prior=places.prior)
    return problem, WholeProblem(problem, places.space.adjacency(), Fraction(epsilon)).parts[0]


def middle_of(part: Part) -> HubProgram | None:
    assert part.home is not None
    near = OrderedProgram.of(part.cost, part.paths, part.home)
    return with_middle(near, near.renumber(part.constraints), part.rate)


@pytest.mark.parametrize("seed", range(3))
def test_radii_are_least(seed: int) -> None:
    """Those of two secrets add up to their distance at least, and no radius can fall alone."""
    _, part = words(60, "0.2", seed=seed)
    found = middle_of(part)
    assert found is not None
    radius, lengths = found.depth[:-1], found.near.lengths
    room = radius[:, None] + radius - lengths
    np.fill_diagonal(room, radius.max())
    assert room.min() >= 0
    assert (room.min(axis=1) < 1e-3 * radius).all()
    assert found.depth[-1] == 0
    assert len(found.graph) == 60 * 59 // 2 + 60
    spokes = found.graph.lengths[found.graph.pairs[:, 1] == 60]
    assert spokes.tolist() == radius.tolist()
    every = np.arange(60)
    assert found.between(every, np.full(60, 60)) == pytest.approx(radius, rel=1e-3)


def test_a_middle_far_away_has_no_hub() -> None:
    assert middle_of(words(40, "0.2")[1]) is not None
    assert middle_of(words(40, "5")[1]) is None


def test_prices_to_the_middle_become_prices_of_pairs() -> None:
    """Those of pairs stay, and each demand at a secret is met by supplies at others, with what their distance takes."""
    _, part = words(40, "0.2")
    found = middle_of(part)
    assert found is not None
    rng = np.random.default_rng(5)
    k, secret, other = rng.integers(40, size=(3, 400))
    towards = rng.random(400) < 0.25
    source, target = np.where(towards, secret, 40), np.where(towards, 40, secret)
    direct = np.arange(400) % 4 == 0
    source[direct], target[direct] = secret[direct], (secret + 1 + other % 39)[direct] % 40
    value = rng.random(400)
    prices = found.to_pairs(Multipliers(k, source, target, value))
    place = np.argsort(found.near.secrets)
    lengths = np.zeros((41, 41))
    lengths[:40, :40], lengths[40] = found.near.lengths, found.depth
    lengths[:, 40] = found.depth
    change, wanted = np.zeros((2, 41, 40))
    sources, targets = place[prices.source], place[prices.target]
    for table, s, t, of, amount in (
        (change, sources, targets, prices.report, prices.value),
        (wanted, source, target, k, value),
    ):
        np.add.at(table, (s, of), amount)
        np.add.at(table, (t, of), -amount * np.exp(part.rate * lengths[s, t]))
    # A hub whose bracket is negative has more demands than supplies.
    whole = wanted[40] >= 0
    assert 5 < whole.sum() < 40
    assert (change[:40, whole] >= wanted[:40, whole] - 1e-9).all()
    assert (change[40] == 0).all()
    assert lower_bound(part.cost, part.constraints, part.epsilon, prices) < 1


@pytest.mark.parametrize("epsilon", ["0.05", "0.2"])
def test_bounds_with_a_middle_are_beside_the_optimum(epsilon: str) -> None:
    problem, part = words(30, epsilon, seed=4)
    assert middle_of(part) is not None
    claim = MetricDP(epsilon, problem.space.unit)
    made = design(problem, claim, method=PrimalDual(), gap=0.005)
    best = design(problem, claim, method=Direct("simplex"), gap=1e-5)
    assert best.lower is not None
    assert made.lower is not None
    assert verify(made, optimality=True).passed
    assert made.lower <= best.upper
    assert made.upper >= best.lower


def test_pairs_within_a_radius_have_no_hubs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A price of two secrets that are not constrained would be refused."""
    problem, _ = terms(60, legs=0.0)

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(steps, "with_hubs", never)
    monkeypatch.setattr(steps, "with_middle", never)
    radius = float(np.unique(problem.loss)[-2])
    made = design(problem, MetricDP("0.3", "km", radius), method=PrimalDual(200), throw=False)
    assert made.certificate.passed
