"""Designs for several priors: the worst loss is least, and the bound on it needs no trust in the weights."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Direct, Problem, design, minimax, verify
from discreet.metricdp.design import Interrupted
from discreet.metricdp.minimax import Minimax

# The module: the package has the function under this name.
_minimax = import_module("discreet.metricdp.minimax")

GRID = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")


def skewed(n: int, count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n, 0.4), size=count)


def loss_under(channel: Channel, prior: np.ndarray, loss: np.ndarray) -> float:
    return channel.expected_loss(prior[:, None] * loss)


def designed_for(problem: Problem, prior: np.ndarray, asked: MetricDP) -> Channel:
    one = Problem(problem.space, utility_loss=problem.loss, prior=prior, reports=problem.reports)
    return design(one, asked, method=Direct(), gap=1e-6, throw=False).channel


@pytest.mark.parametrize("epsilon", ["0.2", "1", "6"])
@pytest.mark.parametrize("radius", [None, 1])
def test_no_other_channel_has_a_smaller_worst_loss(epsilon: str, radius: int | None) -> None:
    """The bound meets the loss; channels for each prior, and for mixtures, are worse in their worst case."""
    priors, asked = skewed(9, 3), MetricDP(epsilon, "km", radius)
    made = minimax(GRID, list(priors), asked)
    assert made.gap < 1e-5
    assert verify(made.design, optimality=True).passed
    mixtures = [*np.eye(3), *np.random.default_rng(2).dirichlet(np.ones(3), size=3)]
    for weights in mixtures:
        channel = designed_for(GRID, weights @ priors, asked)
        assert max(loss_under(channel, prior, GRID.loss) for prior in priors) >= made.lower


def test_losses_are_those_under_each_prior() -> None:
    priors = skewed(9, 2)
    made = minimax(GRID, list(priors), MetricDP(1, "km"))
    by_hand = [
        float((prior[:, None] * GRID.loss * made.design.channel.probabilities).sum())
        for prior in priors
    ]
    assert made.losses.tolist() == pytest.approx(by_hand, rel=1e-12)
    assert made.upper == max(made.losses)
    # Where both priors have weight, neither loses less than the other.
    assert made.weights.min() > 0.01
    assert made.losses[0] == pytest.approx(made.losses[1], rel=1e-5)


def test_one_prior_is_a_plain_design() -> None:
    prior = skewed(9, 1)[0]
    made = minimax(GRID, [prior], MetricDP(1, "km"))
    alone = Problem(GRID.space, utility_loss=GRID.loss, prior=prior)
    plain = design(alone, MetricDP(1, "km"), gap=1e-6)
    assert made.weights.tolist() == [1]
    assert made.upper == pytest.approx(plain.upper, rel=1e-6)
    assert made.lower <= plain.upper


def test_a_prior_that_is_never_the_worst_has_no_weight() -> None:
    """Under the second prior everybody is at one corner, which costs more whatever the first one says."""
    sure, uniform = np.eye(9)[4], np.full(9, 1 / 9)
    made = minimax(GRID, [sure, uniform, uniform], MetricDP("0.2", "km"))
    assert made.weights[0] < 1e-4
    assert made.losses[0] < made.upper - 0.1


def test_components_duplicates_and_few_reports() -> None:
    points = [[0.0], [1.0], [1.0], [2.0], [9.0], [10.0], [20.0]]
    space = MetricSpace.from_points(points, unit="km")
    problem = Problem(space, utility_loss="distance", reports=[0, 3, 5])
    asked = MetricDP(1, "km", 2)
    priors = skewed(7, 2, seed=5)
    made = minimax(problem, list(priors), asked, allow_unprotected=True)
    assert made.design.certificate.passed
    assert made.gap < 1e-5
    for prior in priors:
        one = Problem(space, utility_loss=problem.loss, prior=prior, reports=problem.reports)
        other = design(one, asked, gap=1e-6, allow_unprotected=True).channel
        assert max(loss_under(other, p, problem.loss) for p in priors) >= made.lower


def test_what_costs_nothing_has_no_gap() -> None:
    free = Problem(GRID.space, utility_loss=np.zeros((9, 2)))
    made = minimax(free, list(skewed(9, 2)), MetricDP(1, "km"))
    assert (made.lower, made.gap) == (0, 0)
    assert made.upper == 0


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 4), epsilon=st.sampled_from(["0.4", "3"]))
def test_the_bound_holds_for_any_priors(seed: int, count: int, epsilon: str) -> None:
    problem = Problem(MetricSpace.grid(2, 3, cell=1, unit="km"), utility_loss="euclidean")
    priors, asked = skewed(6, count, seed), MetricDP(epsilon, "km")
    made = minimax(problem, list(priors), asked)
    assert made.gap < 1e-4
    best = min(
        max(loss_under(designed_for(problem, own, asked), p, problem.loss) for p in priors)
        for own in priors
    )
    assert made.lower <= best
    assert made.upper <= best * (1 + 1e-6)


@pytest.mark.parametrize("weights", [[0.5, 0.5], [0.5, 0.5 + 1e-10], [0.1] * 10])
def test_weights_that_sum_to_more_than_one_do_not_lift_the_bound(weights: list[float]) -> None:
    lower = _minimax._bound_for_worst_prior(1.0, np.array(weights))
    assert 1 - 1e-9 < lower < 1 / max(1.0, sum(weights))


def test_wrong_weights_give_a_worse_bound_and_never_a_false_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    priors, asked = list(skewed(9, 3)), MetricDP(1, "km")
    right = minimax(GRID, priors, asked)
    solve = _minimax._solve_program
    unfit = np.array([0.9, 0.05, 0.05])
    monkeypatch.setattr(_minimax, "_solve_program", lambda *given: (unfit, solve(*given)[1]))
    wrong = minimax(GRID, priors, asked)
    assert wrong.lower < right.lower * (1 - 1e-3)
    assert wrong.upper >= right.lower


def proves(made: Minimax, priors: list[np.ndarray]) -> bool:
    """Whether the design is verified, its bound proved, and the worst loss that of the priors."""
    losses = [loss_under(made.design.channel, prior, made.design.problem.loss) for prior in priors]
    verified = verify(made.design, optimality=True).passed
    return verified and made.lower <= made.upper == max(losses)


def test_a_program_that_would_not_fit_leaves_a_design_for_the_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    priors, asked = list(skewed(9, 2)), MetricDP(1, "km")
    best = minimax(GRID, priors, asked)
    monkeypatch.setattr(_minimax, "MAX_ROWS", 10)
    made = minimax(GRID, priors, asked)
    assert proves(made, priors)
    assert made.weights.tolist() == [0.5, 0.5]
    assert made.lower <= best.upper
    assert best.lower <= made.upper


@pytest.mark.parametrize("quick", [10, 10**9])
def test_time_may_run_out_and_something_stands(monkeypatch: pytest.MonkeyPatch, quick: int) -> None:
    """Whether or not the exponential mechanism was there before the program began."""
    monkeypatch.setattr(_minimax, "MAX_ROWS_FOR_DIRECT", quick)
    problem = Problem(MetricSpace.grid(6, 6, cell=1, unit="km"), utility_loss="euclidean")
    priors = list(skewed(36, 2))
    made = minimax(problem, priors, MetricDP("0.5", "km"), time_limit=1e-3)
    assert proves(made, priors)
    assert made.weights.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("quick", [10, 10**9])
def test_interrupting_keeps_what_is_verified(monkeypatch: pytest.MonkeyPatch, quick: int) -> None:
    def stops(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_minimax, "MAX_ROWS_FOR_DIRECT", quick)
    monkeypatch.setattr(_minimax, "_solve_program", stops)
    with pytest.raises(Interrupted) as caught:
        minimax(GRID, list(skewed(9, 2)), MetricDP(1, "km"))
    assert (caught.value.best is not None) == (quick == 10)
    if caught.value.best is not None:
        assert verify(caught.value.best).passed


@pytest.mark.parametrize(
    ("priors", "complaint"),
    [
        ([], "priors: expected one prior or more"),
        ([np.full(8, 1 / 8)], "prior: expected 9 probabilities"),
        ([np.full(9, 1 / 9), np.full(9, 0.2)], "prior: expected probabilities that sum to 1"),
    ],
)
def test_what_is_no_prior_is_refused(priors: list[np.ndarray], complaint: str) -> None:
    with pytest.raises(InvalidProblemError, match=complaint):
        minimax(GRID, priors, MetricDP(1, "km"))


def test_what_is_returned_is_frozen() -> None:
    made: Minimax = minimax(GRID, list(skewed(9, 2)), MetricDP(1, "km"))
    for array in (made.weights, made.losses):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
