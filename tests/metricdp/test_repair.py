"""Repair: whatever comes in, what goes out is private in integers, and near to what came in where that was near."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_floor
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.bounds import repair as module
from discreet.metricdp.bounds.repair import repair
from discreet.metricdp.verify import Claim

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.channels.channel import Channel


def violations(channel: Channel, graph: Adjacency, epsilon: Fraction) -> int:
    """Count inequalities that fail on the edges, in integers: the oracle."""
    rows = channel.weights.tolist()
    count = 0
    for (i, j), length in zip(graph.pairs.tolist(), graph.lengths.tolist(), strict=True):
        ratio = exp_floor(epsilon * Fraction(length, 2**graph.scale_bits), 200)
        for a, b in zip(rows[i], rows[j], strict=True):
            count += (a << 200 > b * ratio) + (b << 200 > a * ratio)
    return count


def line(lengths: list[int]) -> Adjacency:
    """A path with the given lengths in units of one."""
    return graph_of(len(lengths) + 1, [(i, i + 1) for i in range(len(lengths))], lengths)


def graph_of(n: int, pairs: list[tuple[int, int]], lengths: list[int]) -> Adjacency:
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return Adjacency(n, ends, np.array(lengths, dtype=np.int64), 0)


def table(n: int, k: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).random((n, k))


def kernel(space: MetricSpace, graph: Adjacency, epsilon: float) -> NDArray[np.float64]:
    """The closed form at full epsilon."""
    decay = np.exp(-epsilon * graph.shortest_paths() * 2.0**-space.scale_bits)
    return np.asarray(decay * np.linalg.solve(decay, np.ones(space.n)))


@settings(max_examples=60)
@given(
    lengths=st.lists(st.integers(0, 400), min_size=1, max_size=5),
    k=st.integers(1, 20),
    epsilon=st.sampled_from(["1/1000", "0.1", "1", "3"]),
    zeros=st.floats(0, 0.9),
    seed=st.integers(0, 10**6),
)
def test_every_matrix_becomes_private(
    lengths: list[int], k: int, epsilon: str, zeros: float, seed: int
) -> None:
    """Noise, zeros beside positives, duplicates (length 0), and edges of 1200 nats, all at once."""
    graph, rng = line(lengths), np.random.default_rng(seed)
    matrix = table(graph.n, k, seed)
    matrix[rng.random(matrix.shape) < zeros] = 0.0
    matrix[:, 0] += 1e-3
    repaired = repair(matrix, graph, epsilon, cost=table(graph.n, k, seed + 1))
    assert violations(repaired.channel, graph, Fraction(epsilon)) == 0
    assert repaired.upper >= 0


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(3, 9),
    k=st.integers(1, 20),
    longest=st.sampled_from([2, 40, 4000]),
    epsilon=st.sampled_from(["1/1000", "0.1", "1", "3"]),
    seed=st.integers(0, 10**6),
)
def test_all_pairs_at_once(n: int, k: int, longest: int, epsilon: str, seed: int) -> None:
    """Complete graphs are closed by products of matrices, also where lengths are no metric, or zero."""
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    graph = graph_of(n, pairs, rng.integers(0, longest, len(pairs)).tolist())
    repaired = repair(table(n, k, seed), graph, epsilon, cost=table(n, k, seed + 1))
    assert violations(repaired.channel, graph, Fraction(epsilon)) == 0


def test_all_pairs_at_once_are_what_sweeps_find(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = MetricSpace.grid(3, 4, cell=1, unit="km").adjacency()
    cost = table(12, 12, 2)
    closed = repair(table(12, 12, 1) ** 4, graph, "0.5", cost=cost)
    monkeypatch.setattr(module, "_TUNING", module._TUNING._replace(min_binding_share_for_product=2))
    swept = repair(table(12, 12, 1) ** 4, graph, "0.5", cost=cost)
    assert closed.upper == pytest.approx(swept.upper, rel=1e-3)


def test_the_identity_becomes_randomized_response() -> None:
    """Two secrets: the optimum is q/(1+q) for the wrong report, q = e^-epsilon."""
    repaired = repair(np.eye(2), line([1]), 2, cost=(1 - np.eye(2)) / 2)
    q = np.exp(-2)
    assert repaired.upper == pytest.approx(q / (1 + q), rel=1e-7)
    assert repaired.limbs == 1


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 10, 70])
def test_a_kernel_with_zeros_loses_next_to_nothing(epsilon: float) -> None:
    """What a solver returns: the optimum up to 1e-9, with zeros where probabilities are tiny."""
    space = MetricSpace.grid(4, 4, cell=1, unit="km")
    graph = space.adjacency(2)
    matrix = kernel(space, graph, max(epsilon, 1.0))
    matrix[matrix < 1e-9] = 0.0
    matrix *= 1 + 1e-9 * np.random.default_rng(0).standard_normal(matrix.shape)
    assert violations_in_floats(matrix, graph, epsilon) > 0
    cost = space.distances * 2.0**-space.scale_bits / space.n
    repaired = repair(matrix, graph.prune(), str(epsilon), cost=cost)
    assert violations(repaired.channel, graph, Fraction(str(epsilon))) == 0
    if epsilon >= 1:
        exact = float((kernel(space, graph, epsilon) * cost).sum())
        # At 70 nats the loss is 1e-30: even 124 bits tell it to a part in a hundred only.
        assert repaired.upper <= exact * (1 + (1e-2 if epsilon == 70 else 1e-5))


def violations_in_floats(matrix: NDArray[np.float64], graph: Adjacency, epsilon: float) -> int:
    """Count inequalities that fail by more than rounding could explain."""
    ratio = np.exp(epsilon * graph.lengths * 2.0**-graph.scale_bits)[:, None] * (1 + 1e-12)
    a, b = matrix[graph.pairs[:, 0]], matrix[graph.pairs[:, 1]]
    return int((a > ratio * b).sum() + (b > ratio * a).sum())


def test_nothing_underflows_at_seven_hundred_nats() -> None:
    """A path of 700 nats in steps of 7: neither end's own report vanishes at the other."""
    graph = line([7] * 100)
    apart = np.abs(np.subtract.outer(np.arange(101), np.arange(101)))
    repaired = repair(np.eye(101), graph, 1, cost=apart / 101)
    assert violations(repaired.channel, graph, Fraction(1)) == 0
    assert int(repaired.channel.weights.min()) > 0
    # Almost all the loss is that of the nearest two: 2 q / (1 + q), less one half at each end.
    q = np.exp(-7)
    assert repaired.upper == pytest.approx((2 * 100 / 101) * q / (1 + q), rel=2e-3)


def test_what_has_slack_is_rounded_as_it_is() -> None:
    """A kernel made at 0.99 epsilon is private already: no closure, no delta."""
    space = MetricSpace.grid(5, 5, cell=1, unit="km")
    graph = space.adjacency(2)
    matrix = kernel(space, graph, 0.99 * 2)
    repaired = repair(matrix, graph.prune(), 2, cost=np.ones((25, 25)))
    assert repaired.delta == 0
    assert violations(repaired.channel, graph, Fraction(2)) == 0
    assert np.abs(repaired.channel.probabilities - matrix).max() < 1e-15


def test_slack_that_rounding_would_pay_for_is_not_taken() -> None:
    """Slack of 1e-10 nats costs more in the rounding than a closure: the closure is taken."""
    graph = line([1, 1])
    decay = np.exp(-(1 - 1e-10) * np.abs(np.subtract.outer(np.arange(3), np.arange(3))))
    matrix = decay * np.linalg.solve(decay, np.ones(3))
    cost = 1e9 * (1 - np.eye(3)) * np.array([1e-12, 1.0, 1e-12])[:, None]
    taken = repair(matrix, graph, 1, cost=cost)
    assert violations(taken.channel, graph, Fraction(1)) == 0


def test_two_limbs_where_one_would_cost_too_much() -> None:
    """At epsilon 30 the loss is 1e-13 of the mean cost: one limb would add more than a ten thousandth."""
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    graph = space.adjacency(2)
    cost = space.distances * 2.0**-space.scale_bits / 9
    matrix = kernel(space, graph, 30.0)
    repaired = repair(matrix, graph.prune(), 30, cost=cost)
    assert repaired.limbs == 2
    assert repaired.channel.total == 2**124
    assert violations(repaired.channel, graph, Fraction(30)) == 0
    assert repaired.upper <= float((matrix * cost).sum()) * (1 + 1e-6)


def test_components_keep_their_own_reports() -> None:
    """Two pairs far apart and one isolated secret: a report unused in a component stays unused there."""
    graph = graph_of(5, [(0, 1), (2, 3)], [1, 1])
    matrix = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    weights = repair(matrix, graph, 1, cost=1 - matrix).channel.weights
    assert (weights[:2, 2:] == 0).all()
    assert (weights[2:4, :2] == 0).all()
    assert (weights[:2, :2] > 0).all()
    assert weights[4].tolist() == [0, 0, 2**62, 0]


def test_no_edge_needs_no_slack() -> None:
    """Isolated secrets are rounded as they are."""
    graph = graph_of(2, [], [])
    repaired = repair([[1.0, 0.0], [0.0, 2.0]], graph, 1, cost=np.ones((2, 2)))
    assert repaired.channel.weights.tolist() == [[2**62, 0], [0, 2**62]]
    assert repaired.delta == 0


def test_secrets_nearly_the_same_are_made_the_same() -> None:
    """An edge of 1e-9 of the others does not dictate delta: its rows become equal, bit for bit."""
    graph = line([10**9, 1, 10**9])
    repaired = repair(np.eye(4), graph, "1e-9", cost=1 - np.eye(4))
    weights = repaired.channel.weights
    assert weights[1].tolist() == weights[2].tolist() != weights[0].tolist()
    assert violations(repaired.channel, graph, Fraction("1e-9")) == 0
    assert repaired.delta < Fraction(1, 10**5)


def test_an_epsilon_too_small_for_floats_makes_all_rows_equal() -> None:
    """1e-20 nats between secrets: no float can vouch for slack, and equal rows need none."""
    graph = line([1, 1])
    repaired = repair(table(3, 4, 0), graph, "1e-20", cost=np.ones((3, 4)))
    assert repaired.delta == 1
    assert len({tuple(row) for row in repaired.channel.weights.tolist()}) == 1
    assert violations(repaired.channel, graph, Fraction("1e-20")) == 0


def test_a_crude_answer_costs_a_larger_delta_and_stays_private() -> None:
    """Entries off by a factor of e each way: more rounds, or more delta, never a violation."""
    space = MetricSpace.grid(5, 5, cell=1, unit="km")
    graph = space.adjacency(2)
    noise = np.exp(2 * np.random.default_rng(3).standard_normal((25, 25)))
    cost = space.distances * 2.0**-space.scale_bits
    repaired = repair(kernel(space, graph, 1.0) * noise, graph.prune(), "0.3", cost=cost)
    assert violations(repaired.channel, graph, Fraction("0.3")) == 0
    assert repaired.delta > 0


def test_negative_entries_count_as_zero() -> None:
    solved = repair([[1.0, -1e-9], [0.5, 0.5]], line([1]), 1, cost=np.ones((2, 2)))
    assert violations(solved.channel, line([1]), Fraction(1)) == 0


@pytest.mark.parametrize(
    ("matrix", "cost", "epsilon", "field"),
    [
        (np.eye(3), np.eye(3), 1, "matrix"),
        (np.ones(2), np.ones(2), 1, "matrix"),
        (np.zeros((2, 0)), np.zeros((2, 0)), 1, "matrix"),
        ([[1.0, np.nan], [1.0, 0.0]], np.eye(2), 1, "matrix"),
        ([[1.0, np.inf], [1.0, 0.0]], np.eye(2), 1, "matrix"),
        ([[1.0, 0.0], [0.0, -1.0]], np.eye(2), 1, "matrix"),
        (np.eye(2), np.eye(3), 1, "matrix"),
    ],
)
def test_nonsense_is_refused(matrix: object, cost: object, epsilon: object, field: str) -> None:
    with pytest.raises(InvalidProblemError) as refused:
        repair(matrix, line([1]), epsilon, cost=cost)  # type: ignore[arg-type]
    assert refused.value.field == field


@pytest.mark.parametrize("n_reports", [1, 15, 16, 37])
def test_rows_are_compared_in_all_columns(n_reports: int) -> None:
    """The compiled comparison equals NumPy's, whichever column is the worst."""
    from discreet.metricdp.kernels.columns import farthest_apart

    logs = np.log(table(6, n_reports, n_reports))
    pairs = np.argwhere(np.triu(np.ones((6, 6)), 1)).astype(np.int32)
    apart = np.abs(logs[pairs[:, 0]] - logs[pairs[:, 1]])
    assert farthest_apart(logs, pairs).tolist() == apart.max(axis=1).tolist()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("columns", [5, 80])
def test_a_closure_is_the_least_majorant(columns: int, threads: int) -> None:
    """Against the definition on all pairs: u_i = max_j e^(-w D_ij) z_j."""
    from discreet.metricdp.bounds.closure import close_columns

    graph = MetricSpace.grid(3, 3, cell=1, unit="km").adjacency(1)
    nats = graph.lengths * 2.0**-graph.scale_bits
    i, j = graph.pairs.T
    order = np.argsort(np.concatenate([i, j]), kind="stable")
    start = np.zeros(10, dtype=np.int64)
    np.cumsum(np.bincount(graph.pairs.ravel(), minlength=9), out=start[1:])
    closed = table(9, columns, 1) ** 8
    paths = graph.shortest_paths() * 2.0**-graph.scale_bits
    expected = (np.exp(-paths)[:, :, None] * closed[None]).max(axis=1)
    factors = np.exp(-np.tile(nats, 2))[order]
    close_columns(closed, start, np.concatenate([j, i])[order], factors, threads=threads)
    assert np.abs(closed / expected - 1).max() < 1e-13


def test_most_pairs_and_products_give_what_sweeps_over_edges_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Points of which some lie on a line: all pairs are constrained, and most but not all of them bind."""
    rng = np.random.default_rng(7)
    points = np.concatenate([rng.uniform(0, 10, (90, 2)), np.stack([np.arange(12.0)] * 2, axis=1)])
    space = MetricSpace.from_points(points, unit="km")
    binding = space.adjacency().prune()
    assert 0.5 * 102 * 101 / 2 < len(binding) < 102 * 101 / 2
    cost = rng.random((102, 20))
    matrix = rng.random((102, 20)) ** 4
    # A random matrix is far from private: what closing alone makes of it is compared.
    monkeypatch.setattr(module, "_mix", lambda *_: None)
    tuning, uppers = module._TUNING, []
    for share in (0.5, 2.0):
        monkeypatch.setattr(module, "_TUNING", tuning._replace(min_binding_share_for_product=share))
        repaired = repair(matrix, binding, Fraction(1, 2), cost=cost)
        assert Claim(space, MetricDP("0.5", "km")).check(repaired.channel).passed
        uppers.append(repaired.upper)
    assert uppers[0] == pytest.approx(uppers[1], rel=1e-3)


def test_rows_are_in_one_piece_for_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, layouts = module._least_slack, []

    def seen(table: NDArray[np.float64], *others: Any) -> float | None:
        layouts.append(table.flags.c_contiguous)
        return whole(table, *others)

    monkeypatch.setattr(module, "_least_slack", seen)
    space = MetricSpace.grid(2, 3, cell=1, unit="km")
    nats = space.distances / 2**space.scale_bits
    matrix = np.exp(-nats / 2)
    matrix[:, 4] = 0.0
    for table in (matrix, np.asfortranarray(matrix), np.asfortranarray(matrix[:, :4])):
        repair(table, space.adjacency(), 1, cost=nats[:, : table.shape[1]])
    assert len(layouts) >= 3
    assert all(layouts)
