"""Attacks on releases of private data: membership within what the claim allows, counts from averages and levels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP, ZeroConcentratedDP
from discreet.core.randomness import SeededBits, UniformSource, as_bits, discrete_laplaces
from discreet.core.tree import Tree
from discreet.evaluate.attack import membership, reconstruction
from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Finding
from discreet.evaluate.attack.membership import attack_membership, membership_limit
from discreet.evaluate.attack.reconstruction import (
    attack_levels,
    attack_repeated_counts,
    fit_levels,
)
from discreet.evaluate.attack.request import AttackRequest
from discreet.evaluate.intervals import Estimate
from discreet.evaluate.simulate.attacks import attack_counts
from discreet.hierarchy.measure import Measured, measure, truth
from discreet.hierarchy.problem import GroupSizes
from discreet.submodular import Coverage, UniformMatroid
from discreet.submodular.methods.permute_and_flip import PermuteAndFlip
from discreet.submodular.stating import state_choice

CLAIM = PureDP(1, "add-remove-one")
ONE_OF_THREE = UniformMatroid(3, 1)


def flip(one_in: int, of: int) -> Callable[[int, UniformSource | None], int]:
    """Randomized response: a bit, wrong `one_in` times in `of`."""
    return lambda bit, bits: bit ^ (as_bits(bits).randrange(of) < one_in)


@pytest.mark.parametrize("epsilon", [0.1, 1, 5, 800])
def test_randomized_response_reaches_the_limit_of_pure_privacy(epsilon: float) -> None:
    keep = 1 / (1 + math.exp(-epsilon))
    assert membership_limit(PureDP(epsilon, "replace-one")) == pytest.approx(keep)


def test_limits_of_other_kinds() -> None:
    pure = membership_limit(PureDP(1, "replace-one"))
    approx = membership_limit(ApproxDP(1, "0.1", "replace-one"))
    assert approx == pytest.approx((math.e + 0.1) / (1 + math.e))
    assert approx > pure
    assert membership_limit(PureDP(1, "replace-one"), releases=3) == pytest.approx(
        membership_limit(PureDP(3, "replace-one"))
    )
    assert membership_limit(ApproxDP("1e-9", "0.9999", "replace-one"), releases=9) <= 1
    small, large = (
        membership_limit(ZeroConcentratedDP(rho, "replace-one")) for rho in ("0.02", "5")
    )
    assert small == pytest.approx(0.55)
    assert 0.99 < large < 1
    # Two normal laws one apart with the same rho = 1/2 are told apart less often than the limit.
    success = 0.5 * (1 + math.erf(0.5 / math.sqrt(2)))
    assert success <= membership_limit(ZeroConcentratedDP("0.5", "replace-one"))
    with pytest.raises(InvalidProblemError):
        membership_limit(CLAIM, releases=0)


def test_the_game_is_won_as_often_as_the_best_can_win_it() -> None:
    """Randomized response that lies 1 in 4 times: 3/4 for one report, 27/32 for three."""
    one = attack_membership(flip(1, 4), (1, 0), trials=3000, bits=SeededBits(1))
    assert one.attacker.low <= 0.75 <= one.attacker.high
    assert one.limit is None
    three = attack_membership(flip(1, 4), (1, 0), releases=3, trials=3000, bits=SeededBits(2))
    assert three.attacker.low <= 27 / 32 <= three.attacker.high
    assert three.attack == "membership, 3 releases"
    for found in (one, three):
        assert found.control is not None
        assert found.control.low <= 0.5 <= found.control.high


def test_a_claim_that_holds_is_kept_and_one_that_does_not_is_broken() -> None:
    """A lie in 4 is ln 3 = 1.0986: the claim of 1.1 stands, that of a half does not."""
    holds, broken = (
        attack_membership(
            flip(1, 4), (1, 0), PureDP(claim, "replace-one"), trials=8000, bits=SeededBits(3)
        )
        for claim in ("1.1", "0.5")
    )
    assert holds.kept is True
    assert broken.kept is False


def choose_best(data: Coverage, bits: UniformSource | None) -> tuple[int, ...]:
    """No noise at all."""
    return (int(np.asarray([data.value(((e, 0),)) for e in range(3)]).argmax()),)


def test_a_record_is_not_found_in_a_private_choice() -> None:
    records = [[True, False, False]] * 3 + [[False, True, False]] * 3
    pair = (Coverage([*records, [False, True, False]]), Coverage(records))
    method = PermuteAndFlip()
    plan = method.plan(state_choice(pair[0], ONE_OF_THREE, CLAIM), ONE_OF_THREE, CLAIM)

    def choose(data: Coverage, bits: UniformSource | None) -> list[tuple[int, int]]:
        """Do what release does, with the plan made once: it is public, and takes most of the time."""
        return list(method.choose(data, ONE_OF_THREE, plan, as_bits(bits)))

    found = attack_membership(choose, pair, CLAIM, trials=1000, bits=SeededBits(4))
    assert found.kept is True
    assert found.attacker.low < 0.65
    bare = attack_membership(choose_best, pair, CLAIM, trials=200, failure=1e-3)
    assert bare.attacker.value == 1
    assert bare.kept is False


def itself(data: str, bits: UniformSource | None) -> str:
    return data


def one_count(bits: UniformSource | None) -> list[int]:
    return [1]


def test_outputs_are_read_as_told() -> None:
    def run(data: int, bits: UniformSource | None) -> list[int]:
        return [data, int(as_bits(bits).randrange(10**9))]

    blind = attack_membership(
        run, (1, 2), read=lambda output: (output[1],), trials=200, bits=SeededBits(5)
    )
    assert blind.attacker.low <= 0.5
    sees = attack_membership(run, (1, 2), trials=200, bits=SeededBits(5))
    assert sees.attacker.value > 0.95
    text = attack_membership(itself, ("ab", "ba"), trials=40)
    assert text.attacker.value == 1
    with pytest.raises(InvalidProblemError, match="40 games"):
        attack_membership(run, (1, 2), trials=39)


@pytest.fixture(scope="module")
def census() -> tuple[GroupSizes, GroupSizes]:
    tree = Tree.from_paths([(a, b) for a in "xyz" for b in "pqrs"], root="all")
    generator = np.random.default_rng(6)
    parts = [generator.poisson(6, size=(12, 3)) for _ in range(2)]
    return tuple(  # type: ignore[return-value]
        GroupSizes.from_counts(tree, part, units="private") for part in parts
    )


def test_repeated_releases_give_counts_away(census: tuple[GroupSizes, GroupSizes]) -> None:
    data, strangers = census
    claim = PureDP(3, "add-remove-person")
    from discreet.hierarchy import release as publish

    def run(bits: UniformSource | None) -> NDArray[Any]:
        return publish(data, claim, method="m-h-dp", bits=bits).result.counts

    found = attack_repeated_counts(
        run,
        data.node_counts(),
        releases=(1, 12),
        others=strangers.node_counts(),
        trials=3,
        failure=0.05,
        bits=SeededBits(7),
    )
    assert [one.attack for one in found] == ["one release", "average of 12 releases"]
    assert found[1].attacker.value > found[0].attacker.value + 0.1
    assert found[1].control is not None
    assert found[1].control.value < found[1].attacker.value - 0.2


def test_an_average_is_as_good_as_the_law_of_its_noise_says() -> None:
    """Discrete Laplace noise with ratio q is 0 with probability (1 - q) / (1 + q)."""
    true = np.arange(4000)
    found = attack_repeated_counts(
        lambda bits: true + discrete_laplaces(1, 4000, bits),
        true,
        releases=(1,),
        trials=5,
        bits=SeededBits(8),
    )[0]
    q = math.exp(-1)
    assert found.attacker.low <= (1 - q) / (1 + q) <= found.attacker.high
    assert found.control is None
    assert found.baseline.value == 1 / 4000


def test_levels_that_add_up_take_error_away(census: tuple[GroupSizes, GroupSizes]) -> None:
    data, _ = census
    claim = PureDP(1, "add-remove-person")

    def run(bits: UniformSource | None) -> Measured:
        return measure(data, "direct", claim, bits=bits)

    found = attack_levels(
        run,
        truth(data, "direct"),
        trials=40,
        failure=0.05,
        bits=SeededBits(9),
    )
    assert [one.error for one in found] == [True] * 3
    for one in found:
        assert one.attacker.value < one.baseline.value


def test_no_linear_guess_beats_the_fit(census: tuple[GroupSizes, GroupSizes]) -> None:
    """The fit is the weighted least squares of all measurements on the leaves, by its normal equations."""
    data, _ = census
    given = measure(data, "direct", PureDP(1, "add-remove-person"), bits=SeededBits(10))
    tree = data.frame.tree
    below = np.zeros((tree.n, len(tree.leaves)))
    for at, leaf in enumerate(tree.leaves.tolist()):
        node = leaf
        while node >= 0:
            below[node, at] = 1
            node = int(tree.parents[node])
    weights = np.diag(1 / given.variances())
    leaves = np.linalg.solve(below.T @ weights @ below, below.T @ weights @ given.values)
    assert fit_levels(given) == pytest.approx(below @ leaves)


def test_what_makes_no_sense_is_refused(census: tuple[GroupSizes, GroupSizes]) -> None:
    data, _ = census
    claim = PureDP(1, "add-remove-person")

    def noisy(bits: UniformSource | None) -> Measured:
        return measure(data, "direct", claim, bits=bits)

    for wrong in (
        lambda: attack_repeated_counts(one_count, [1, 2]),
        lambda: attack_repeated_counts(one_count, [1], others=[1, 2]),
        lambda: attack_repeated_counts(one_count, [1], releases=(0,)),
        lambda: attack_repeated_counts(one_count, [1], trials=1),
        lambda: attack_levels(noisy, [[1]]),
        lambda: attack_levels(noisy, [[1]], trials=1),
        lambda: fit_levels(measure(data, "direct", claim, levels=[1, 0, 0])),
    ):
        with pytest.raises(InvalidProblemError):
            wrong()


@pytest.mark.parametrize(("failure", "used"), [(0.2, 0.2), (DEFAULT_FAILURE, 0.05)])
def test_trials_and_failure_are_those_of_every_attack_on_counts(
    monkeypatch: pytest.MonkeyPatch, failure: float, used: float
) -> None:
    given: list[tuple[int, float]] = []
    found = Finding("a", "b", Estimate.computed(1.0), Estimate.computed(0.5))

    def noted(answer: object, *_: object, **more: Any) -> object:
        given.append((more["trials"], more["failure"]))
        return answer

    answers: dict[str, object] = {"attack_repeated_counts": [found], "attack_levels": [found]}
    for name, answer in answers.items():
        monkeypatch.setattr(reconstruction, name, partial(noted, answer))
    monkeypatch.setattr(membership, "attack_membership", partial(noted, found))
    attacked = attack_counts(AttackRequest("hierarchy", epsilon="1", trials=40, failure=failure))
    assert given == [(40, used), (40, failure), (40, used)]
    assert attacked.findings == (found,) * 3
