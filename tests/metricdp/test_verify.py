"""The checker: it passes what is right, and each of its checks has an input that it rejects."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_floor
from discreet.core.guarantee import MetricDP, PointScope, Scope
from discreet.core.outcome import Design, Provenance
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.bounds.bound import Multipliers, lower_bound
from discreet.metricdp.bounds.repair import repair
from discreet.metricdp.problem import Problem
from discreet.metricdp.verify import Claim, _count_longer_paths, verify

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.certificate import Certificate

GRID = MetricSpace.grid(3, 3, cell=1, unit="km")


def failed(certificate: Certificate) -> list[str]:
    return [check.name for check in certificate.checks if not check.passed]


def kernel(space: MetricSpace, epsilon: float, radius: int | None = None) -> NDArray[np.float64]:
    paths = space.adjacency(radius).shortest_paths() * 2.0**-space.scale_bits
    decay = np.exp(-epsilon * paths)
    return np.asarray(decay * np.linalg.solve(decay, np.ones(space.n)))


def scope(on: MetricSpace, **changes: Any) -> Scope:
    """What is true of a connected space with epsilon 2 for all pairs, and what is changed."""
    return dataclasses.replace(Scope(on.digest, on.n, Fraction(2)), **changes)


def made(*, radius: int | None = None, **changes: Any) -> tuple[Channel, MetricDP]:
    """A repaired kernel at epsilon 2 on the grid, with its guarantee."""
    graph = GRID.adjacency(radius)
    channel = repair(kernel(GRID, 2.0, radius), graph, 2, cost=np.ones((9, 9))).channel
    stretch = graph.stretch(GRID)
    assert stretch is not None
    stated = scope(GRID, all_pairs_epsilon=2 * stretch)
    return channel, MetricDP(2, "km", radius, scope=dataclasses.replace(stated, **changes))


def naive(matrix: NDArray[np.float64]) -> Channel:
    """Round to the largest remainder at 62 bits, as one would without the proof."""
    rows = []
    for row in matrix:
        exact = [Fraction(float(x)) for x in row]
        shares = [x / sum(exact) * 2**62 for x in exact]
        whole = [int(share) for share in shares]
        order = sorted(range(len(row)), key=lambda k: whole[k] - shares[k])
        for k in order[: 2**62 - sum(whole)]:
            whole[k] += 1
        rows.append(whole)
    return Channel.from_weights(rows)


# ------------------------------------------------------------------------------------------------ channels


def test_one_claim_judges_one_channel_after_the_other() -> None:
    """What is kept from the first channel changes nothing for the second, whichever passes."""
    private, guarantee = made()
    leaky = Channel.from_weights([[2**62 - 8 if i == k else 1 for k in range(9)] for i in range(9)])
    claim = Claim(GRID, guarantee)
    for channel, passes in ((private, True), (leaky, False), (private, True)):
        found, alone = claim.check(channel), Claim(GRID, guarantee).check(channel)
        assert found.passed is alone.passed is passes
        assert [str(check) for check in found.checks] == [str(check) for check in alone.checks]


@pytest.mark.parametrize("radius", [None, 1, 2])
def test_what_is_repaired_passes(radius: int | None) -> None:
    channel, guarantee = made(radius=radius)
    certificate = Claim(GRID, guarantee).check(channel)
    assert certificate.passed
    assert all(check.exact for check in certificate.checks)


def test_a_guarantee_that_is_bound_to_no_space_is_checked_as_far_as_it_goes() -> None:
    channel, _ = made()
    assert Claim(GRID, MetricDP(2, "km")).check(channel).passed
    assert failed(Claim(GRID, MetricDP("1.9", "km")).check(channel)) == [
        "inequalities violated",
        "achieved epsilon",
    ]


def test_largest_remainders_break_infinitely_many_ratios() -> None:
    """5 x 5 kernel mechanism, 62 bits, epsilon 10: rounding to the nearest leaves zeros beside positives."""
    space = MetricSpace.grid(5, 5, cell=1, unit="km")
    certificate = Claim(space, MetricDP(10, "km")).check(naive(kernel(space, 10.0)))
    by_name = {check.name: check.residual for check in certificate.checks}
    assert by_name["zeros beside positives"] > 100
    assert by_name["achieved epsilon"] == float("inf")
    assert not certificate.passed
    repaired = repair(kernel(space, 10.0), space.adjacency(), 10, cost=np.ones((25, 25)))
    assert Claim(space, MetricDP(10, "km")).check(repaired.channel).passed


def test_one_unit_moved_is_rejected() -> None:
    """Two secrets one nat apart: the largest weight that is allowed passes, and one unit more does not."""
    space = MetricSpace.from_matrix([[0, 1], [1, 0]], unit="km")
    e, total = exp_floor(Fraction(1), 200), 2**62
    most = total * e // (2**200 + e)
    for weight, right in ((most, True), (most + 1, False)):
        channel = Channel.from_weights([[weight, total - weight], [total - weight, weight]])
        certificate = Claim(space, MetricDP(1, "km")).check(channel)
        assert certificate.passed == right
        assert "4 looked at, 2 close ones in integers" in str(certificate)


def test_a_channel_made_without_one_constraint_is_rejected() -> None:
    graph = GRID.adjacency()
    without = graph.subgraph(np.arange(1, len(graph)))
    matrix = np.eye(9)
    channel = repair(matrix, without, 2, cost=1 - matrix).channel
    certificate = Claim(GRID, MetricDP(2, "km")).check(channel)
    assert failed(certificate)[0] == "inequalities violated"
    whole = repair(matrix, graph, 2, cost=1 - matrix).channel
    assert Claim(GRID, MetricDP(2, "km")).check(whole).passed


def test_a_row_that_does_not_sum_to_the_total_is_rejected() -> None:
    channel, guarantee = made()
    forged = channel.limbs.copy()
    forged[0, 3, 3] += 1
    object.__setattr__(channel, "limbs", forged)
    assert failed(Claim(GRID, guarantee).check(channel)) == ["row sums off"]


def test_distances_longer_by_one_unit_are_rejected() -> None:
    """A longer distance asks for less: the channel would pass."""
    channel, _ = made()
    longer = dataclasses.replace(GRID)
    vars(longer)["distances"] = GRID.distances + (GRID.distances > 0)
    assert failed(Claim(longer, MetricDP(2, "km")).check(channel)) == [
        "distances above the true ones"
    ]


def test_another_unit_is_rejected() -> None:
    channel, _ = made()
    assert failed(Claim(GRID, MetricDP(2, "m")).check(channel)) == ["units that differ"]


def test_another_number_of_rows_is_refused() -> None:
    channel, guarantee = made()
    with pytest.raises(InvalidProblemError):
        Claim(GRID, guarantee).check(channel.restrict([0, 1]))


# -------------------------------------------------------------------------------------------------- scopes


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"space": "0" * 64}, "another space than stated"),
        ({"n_secrets": 8}, "another space than stated"),
        ({"components": 2}, "components not stated"),
        ({"isolated": (3,)}, "isolated secrets not stated"),
        ({"joined": 1}, "links not stated"),
        ({"all_pairs_epsilon": Fraction(2)}, "pairs beyond the all-pairs epsilon"),
    ],
)
def test_a_scope_that_is_not_so_is_rejected(changes: dict[str, Any], name: str) -> None:
    channel, guarantee = made(radius=1, **changes)
    assert failed(Claim(GRID, guarantee).check(channel)) == [name]


def test_an_epsilon_for_all_pairs_below_that_of_the_pairs_is_rejected() -> None:
    channel, guarantee = made(all_pairs_epsilon=Fraction("1.999"))
    assert failed(Claim(GRID, guarantee).check(channel)) == ["pairs beyond the all-pairs epsilon"]


@settings(max_examples=50)
@given(st.integers(1, 2**51), st.integers(1, 2**51), st.integers(-2, 2))
@example(2**50 - 1, 2**51, 1)
def test_floats_decide_no_length(length: int, path: int, off: int) -> None:
    """A path that is one unit longer than allowed is found, and one that is just as long is not."""
    factor = Fraction(path, length)
    paths, lengths = np.array([[0, path + off]]), np.array([[0, length]])
    assert _count_longer_paths(paths, lengths, factor) == (off > 0)


@settings(max_examples=25)
@given(st.integers(1, 3), st.integers(2, 9), st.integers(0, 10**6))
def test_the_epsilon_for_all_pairs_is_that_of_shortest_paths(
    radius: int, n: int, seed: int
) -> None:
    """The exact stretch passes, and anything less does not."""
    points = np.random.default_rng(seed).integers(0, 4, (n, 2)).astype(float)
    space = MetricSpace.from_points(points, unit="km")
    graph, links = space.adjacency(radius).join(space)
    stretch = graph.stretch(space)
    assert stretch is not None
    channel = Channel.from_weights([[2**61, 2**61]] * n)
    for factor, right in ((stretch, True), (stretch * (1 - Fraction(1, 2**45)), False)):
        stated = scope(space, all_pairs_epsilon=2 * factor, joined=len(links))
        found = Claim(space, MetricDP(2, "km", radius, scope=stated)).check(channel)
        assert found.passed == (right or bool((space.distances == 0).all()))


APART = MetricSpace.from_points([[0.0], [1.0], [5.0], [6.0], [20.0]], unit="km")
"""Two pairs and one alone, within a radius of 2."""


def test_groups_that_are_stated_pass() -> None:
    """Left apart, each group may have reports of its own: nothing is promised between them."""
    channel = repair(np.eye(5), APART.adjacency(2), 2, cost=1 - np.eye(5)).channel
    stated = scope(APART, all_pairs_epsilon=None, components=3, isolated=(4,))
    guarantee = MetricDP(2, "km", 2, scope=stated)
    assert Claim(APART, guarantee).check(channel).passed


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"isolated": ()}, ["isolated secrets not stated"]),
        ({"isolated": (0, 4)}, ["isolated secrets not stated"]),
        ({"isolated": (4, 4)}, ["isolated secrets not stated"]),
        ({"components": 1}, ["components not stated"]),
        ({"all_pairs_epsilon": Fraction(10**9)}, ["pairs beyond the all-pairs epsilon"]),
    ],
)
def test_an_isolated_secret_that_is_not_declared_is_rejected(
    changes: dict[str, Any], names: list[str]
) -> None:
    channel = repair(np.eye(5), APART.adjacency(2), 2, cost=1 - np.eye(5)).channel
    honest = scope(APART, all_pairs_epsilon=None, components=3, isolated=(4,))
    stated = dataclasses.replace(honest, **changes)
    guarantee = MetricDP(2, "km", 2, scope=stated)
    assert failed(Claim(APART, guarantee).check(channel)) == names


def test_links_bind() -> None:
    """Joined groups: the links are found anew, a channel that ignores them is rejected."""
    graph, links = APART.adjacency(2).join(APART)
    stretch = graph.stretch(APART)
    assert stretch is not None
    stated = scope(APART, all_pairs_epsilon=2 * stretch, joined=2)
    guarantee = MetricDP(2, "km", 2, scope=stated)
    bound = repair(np.eye(5), graph, 2, cost=1 - np.eye(5)).channel
    assert Claim(APART, guarantee).check(bound).passed
    assert Claim(APART, guarantee, links).check(bound).passed
    loose = repair(np.eye(5), APART.adjacency(2), 2, cost=1 - np.eye(5)).channel
    assert "zeros beside positives" in failed(Claim(APART, guarantee).check(loose))
    missing = Claim(APART, guarantee, links[:1]).check(bound)
    assert "links not stated" in failed(missing)
    assert "components not stated" in failed(missing)


# ------------------------------------------------------------------------------------------------- designs


def one_price(value: float = 1e-3) -> Multipliers:
    return Multipliers(np.array([0]), np.array([1]), np.array([0]), np.array([value]))


def whole_design(**changes: Any) -> Design[Problem, Multipliers]:
    """A design with a modest but true bound."""
    problem = Problem(GRID, utility_loss="euclidean")
    channel, guarantee = made()
    upper = channel.expected_loss(problem.cost)
    design: Design[Problem, Multipliers] = Design(
        channel=channel,
        guarantee=guarantee,
        certificate=Claim(GRID, guarantee).check(channel),
        lower=0.0,
        upper=upper,
        provenance=Provenance("test"),
        problem=problem,
    )
    return dataclasses.replace(design, **changes)


def exact_bound(design: Design[Problem, Multipliers], prices: Multipliers) -> float:
    graph = design.problem.space.adjacency(design.guarantee.radius)
    return lower_bound(design.problem.cost, graph, design.guarantee.epsilon, prices)


def random_prices(seed: int, n: int, k: int, count: int) -> Multipliers:
    rng = np.random.default_rng(seed)
    source = rng.integers(0, n, count)
    target = (source + rng.integers(1, n, count)) % n
    return Multipliers(rng.integers(0, k, count), source, target, rng.random(count) * 1e-2)


def test_a_design_passes_with_and_without_its_bound() -> None:
    design = whole_design()
    assert verify(design).checks == design.certificate.checks
    for lower, extra in ((0.0, 4), (None, 1)):
        certificate = verify(dataclasses.replace(design, lower=lower), optimality=True)
        assert certificate.passed
        assert len(certificate.checks) == len(design.certificate.checks) + extra


def test_an_understated_loss_is_rejected() -> None:
    """By one unit in the last place below the exact loss, summed in fractions here."""
    design = whole_design()
    cost = design.problem.cost.ravel().tolist()
    weights = design.channel.weights.ravel().tolist()
    exact = sum(Fraction(c) * w for c, w in zip(cost, weights, strict=True)) / 2**62
    nearest = float(exact)
    above = nearest if Fraction(nearest) >= exact else np.nextafter(nearest, 1)
    below = np.nextafter(above, 0)
    assert verify(dataclasses.replace(design, upper=float(above)), optimality=True).passed
    wrong = dataclasses.replace(design, upper=float(below))
    assert failed(verify(wrong, optimality=True)) == ["expected loss"]


def test_the_loss_of_two_limbs_is_summed_in_integers() -> None:
    fine = repair(kernel(GRID, 2.0), GRID.adjacency(), 2, cost=np.ones((9, 9))).channel
    doubled = fine.then(Channel.from_weights((np.eye(9, dtype=object) * 2**62).tolist()))
    design = whole_design(channel=doubled)
    assert len(doubled.limbs) == 2
    assert verify(design, optimality=True).passed
    low = dataclasses.replace(design, upper=design.upper * (1 - 1e-12))
    assert failed(verify(low, optimality=True)) == ["expected loss"]


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_that_of_the_multipliers(seed: int) -> None:
    """Another evaluation, in floats, agrees from below; anything above the exact value is rejected."""
    design = whole_design()
    # With a loss for every report, so that the bound of prices that are only small is above 0.
    problem = Problem(GRID, utility_loss=design.problem.loss + 1.0)
    upper = design.channel.expected_loss(problem.cost)
    design = dataclasses.replace(design, problem=problem, upper=upper)
    prices = random_prices(seed, 9, 9, 30).scaled(1e-3)
    proven = exact_bound(design, prices)
    assert proven > 0
    assert verify(dataclasses.replace(design, lower=proven, witness=prices), optimality=True).passed
    inflated = proven + 1e-12
    wrong = dataclasses.replace(design, lower=inflated, witness=prices)
    assert failed(verify(wrong, optimality=True)) == ["lower bound"]


def test_no_loss_is_negative_whatever_multipliers_prove() -> None:
    """The bound that is stated for useless prices is 0, and it is true."""
    design = whole_design()
    prices = random_prices(0, 9, 9, 30)
    assert exact_bound(design, prices) < 0
    assert verify(dataclasses.replace(design, witness=prices), optimality=True).passed
    above = dataclasses.replace(design, lower=1e-300, witness=prices)
    assert failed(verify(above, optimality=True)) == ["lower bound"]


def test_a_price_that_no_float_can_pay_is_counted_however_small_it_is() -> None:
    """At 4000 nats a factor is beyond all floats."""
    space = MetricSpace.from_matrix([[0, 4000], [4000, 0]], unit="km")
    problem = Problem(space, utility_loss=[[0.0, 1.0], [1.0, 0.0]])
    channel = Channel.from_weights([[2**62, 0]] * 2)
    design: Design[Problem, Multipliers] = Design(
        channel=channel,
        guarantee=MetricDP(1, "km", scope=scope(space, all_pairs_epsilon=Fraction(1))),
        certificate=whole_design().certificate,
        lower=0.0,
        upper=channel.expected_loss(problem.cost),
        provenance=Provenance("test"),
        problem=problem,
        witness=Multipliers([0], [0], [1], [0.0]),
    )
    assert verify(design, optimality=True).passed
    forged = dataclasses.replace(design, witness=Multipliers([0], [0], [1], [1e-300]))
    assert failed(verify(forged, optimality=True)) == ["multipliers of unconstrained pairs"]


def linked(*binding: tuple[int, int], joined: tuple[tuple[int, int], ...] = ()) -> Certificate:
    """Verify three secrets on a line, the last one apart, with the links of a file."""
    space = MetricSpace.from_points([[0.0], [1.0], [5.0]], unit="km")
    channel = Channel.from_weights([[2**62]] * 3)
    problem = Problem(space, utility_loss=np.zeros((3, 1)))
    stated = scope(space, all_pairs_epsilon=Fraction(2), joined=1)
    design: Design[Problem, Multipliers] = Design(
        channel=channel,
        guarantee=MetricDP(2, "km", 1, scope=stated),
        certificate=whole_design().certificate,
        lower=None,
        upper=0.0,
        provenance=Provenance("test"),
        problem=problem,
    )
    pairs = np.array(binding, dtype=np.int32).reshape(-1, 2)
    return verify(design, joined=np.array(joined, dtype=np.int32), binding=pairs)


def test_the_links_of_a_file_are_those_that_bind() -> None:
    """Another link than the shortest may join groups; it is counted, and bounds the epsilon for all pairs."""
    near, far = (1, 2), (0, 2)
    assert linked((0, 1), near, joined=(near,)).passed
    # From 1 over 0 to 2 is 6 km for a distance of 4.
    assert failed(linked((0, 1), far, joined=(far,))) == ["pairs beyond the all-pairs epsilon"]


def test_binding_links_stand_for_the_constrained_pairs() -> None:
    near = (1, 2)
    assert failed(linked(near, joined=(near,))) == ["constrained pairs not covered"]
    assert failed(linked((0, 1), joined=(near,))) == ["constrained pairs not covered"]
    too_many = linked((0, 1), near, (0, 2), joined=(near,))
    assert failed(too_many) == ["constrained pairs not covered"]
    assert too_many.checks[-1].residual == 1


def test_a_chain_of_binding_links_stands_for_all_pairs() -> None:
    """Paths of many links are found however the links are ordered."""
    space = MetricSpace.from_points([[0.0], [1.0], [2.0], [3.0], [4.0]], unit="km")
    channel = Channel.from_weights([[2**62]] * 5)
    design: Design[Problem, Multipliers] = Design(
        channel=channel,
        guarantee=MetricDP(2, "km", scope=scope(space)),
        certificate=whole_design().certificate,
        lower=None,
        upper=0.0,
        provenance=Provenance("test"),
        problem=Problem(space, utility_loss=np.zeros((5, 1))),
    )
    chain = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    assert verify(design, binding=chain).passed
    broken = verify(design, binding=chain[[0, 1, 3]])
    assert failed(broken) == ["constrained pairs not covered"]
    # Three secrets on one side, two on the other.
    assert broken.checks[-1].residual == 6


def test_an_epsilon_for_all_pairs_beyond_the_floats_is_compared() -> None:
    space = MetricSpace.from_points([[0.0], [1.0]], unit="km")
    least = MetricDP("1e-300", "km", scope=scope(space, all_pairs_epsilon=Fraction(10**300)))
    assert Claim(space, least).check(Channel.from_weights([[2**62]] * 2)).passed


def test_without_multipliers_the_bound_is_the_loss_without_privacy() -> None:
    design = whole_design()
    assert failed(verify(dataclasses.replace(design, lower=1e-300), optimality=True)) == [
        "lower bound"
    ]


def test_a_bound_above_the_loss_is_rejected() -> None:
    found = failed(verify(whole_design(lower=10.0), optimality=True))
    assert found == ["lower bound", "lower bound above the loss"]


def test_secrets_at_one_place_share_a_row_of_the_bound() -> None:
    """Their costs are added before the least is taken, which proves more than each alone."""
    space = MetricSpace.from_points([[0.0], [0.0], [1.0]], unit="km")
    loss = [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    problem = Problem(space, utility_loss=loss)
    channel = Channel.from_weights([[2**62, 0]] * 3)
    design: Design[Problem, Multipliers] = Design(
        channel=channel,
        guarantee=MetricDP(1, "km", scope=scope(space, all_pairs_epsilon=Fraction(1))),
        certificate=whole_design().certificate,
        lower=1 / 3,
        upper=channel.expected_loss(problem.cost),
        provenance=Provenance("test"),
        problem=problem,
        witness=Multipliers.empty(),
    )
    assert verify(design, optimality=True).passed
    above = dataclasses.replace(design, lower=0.34, upper=0.35)
    assert failed(verify(above, optimality=True)) == ["lower bound"]


@pytest.mark.parametrize(
    "changes",
    [
        {"report": np.array([9])},
        {"report": np.array([-1])},
        {"source": np.array([9])},
        {"target": np.array([-1])},
        {"target": np.array([1])},
        {"source": np.array([8])},
        {"value": np.array([np.nan])},
        {"value": np.array([-1.0])},
        {"value": np.array([np.inf])},
    ],
)
def test_a_price_of_no_constraint_is_counted_and_not_used(changes: dict[str, Any]) -> None:
    """Reports and secrets that do not exist, a pair beyond the radius, prices that are none."""
    witness = one_price()
    for name, array in changes.items():
        object.__setattr__(witness, name, array)
    channel, guarantee = made(radius=1)
    design = whole_design(channel=channel, guarantee=guarantee)
    design = dataclasses.replace(design, upper=channel.expected_loss(design.problem.cost))
    honest = dataclasses.replace(design, witness=one_price(0.0))
    assert verify(honest, optimality=True).passed
    forged = dataclasses.replace(design, witness=witness)
    assert failed(verify(forged, optimality=True)) == ["multipliers of unconstrained pairs"]


def test_a_problem_of_another_shape_is_refused() -> None:
    other = Problem(GRID, utility_loss=np.ones((9, 2)))
    with pytest.raises(InvalidProblemError):
        verify(whole_design(problem=other))


def test_a_price_that_no_float_could_pay_proves_nothing_and_takes_no_time() -> None:
    """An exponential of 10^300 has more digits than there are atoms. Without a price it is not computed either."""
    design = whole_design()
    strong = dataclasses.replace(
        design,
        guarantee=MetricDP("1e300", unit="km"),
        upper=10.0,
        witness=one_price(),
    )
    assert failed(verify(strong, optimality=True)) == ["multipliers of unconstrained pairs"]
    assert verify(dataclasses.replace(strong, witness=one_price(0.0)), optimality=True).passed


def test_a_promise_about_points_is_not_that_of_a_space() -> None:
    channel, guarantee = made()
    of_points = MetricDP(guarantee.epsilon, "km", scope=PointScope("ab" * 32))
    assert Claim(GRID, guarantee).check(channel).passed
    assert failed(Claim(GRID, of_points).check(channel)) == ["another space than stated"]
