"""What many draws tell together: every rule against exact numbers, and the printed rule refuted."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.core.calculus import implies
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, DPGuarantee, PureDP, ZeroConcentratedDP
from discreet.submodular import UniformMatroid
from discreet.submodular.accounting import (
    Draws,
    advanced,
    basic,
    concentrated,
    one_pass,
    strongest,
)
from discreet.submodular.methods.subsampled import Subsampled, subsampled_coefficient
from discreet.submodular.problem import AccountLine, ChoiceFacts

DELTA = Fraction(1, 10**6)


def statement(*, neighbors: str = "add-remove-one", decomposable: bool = True) -> ChoiceFacts:
    return ChoiceFacts(100, 1, 10, decomposable, Fraction(1), neighbors)


def true_delta(k: int, epsilon0: float, epsilon: float) -> float:
    """Delta of k randomized responses at epsilon0, which is the worst case of composition."""
    p = math.exp(epsilon0) / (1 + math.exp(epsilon0))
    total = 0.0
    for i in range(k + 1):
        loss = (2 * i - k) * epsilon0
        if loss > epsilon:
            total += stats.binom.pmf(i, k, p) * (1 - math.exp(epsilon - loss))
    return float(total)


def test_printed_advanced_composition_is_off_by_four_orders_of_magnitude() -> None:
    """Without k under the root: 0.98 is claimed at delta 10^-5, and the true delta there is 0.130."""
    k, loss, delta = 100, 0.1, 1e-5
    printed = k * loss**2 / 2 + math.sqrt(2 * math.log(1 / delta)) * loss
    assert printed == pytest.approx(0.98, abs=0.005)
    assert true_delta(k, loss, printed) == pytest.approx(0.130, abs=0.001)
    sound = float(advanced(k, Fraction(1, 10), Fraction(1, 10**5), "replace-one").epsilon)
    assert sound == pytest.approx(5.30, abs=0.005)
    assert true_delta(k, loss, sound) < delta


@pytest.mark.parametrize(
    ("k", "loss", "converted", "gupta"),
    [(5, ".1", 0.484, None), (10, ".1", 0.700, None), (100, ".05", 1.143, 0.758)],
)
def test_figures_of_the_specification(
    k: int, loss: str, converted: float, gupta: float | None
) -> None:
    """ZCDP of bounded range at delta 10^-6; the sharpened one-pass rule, (e^c - 1) ln(e/delta)."""
    from discreet.core.calculus import to_approx_dp

    found = to_approx_dp(concentrated(k, Fraction(loss), "replace-one"), delta=DELTA)
    assert float(found.epsilon) == pytest.approx(converted, abs=0.002)
    if gupta is not None:
        sharp = float(one_pass(Fraction(loss), DELTA, "add-remove-one").epsilon)
        assert sharp == pytest.approx((math.exp(float(loss)) - 1) * math.log(math.e / 1e-6))
        assert sharp == pytest.approx(gupta, abs=0.002)
        assert sharp < (math.e - 1) * float(loss) * math.log(math.e / 1e-6)


def test_replacing_pays_for_leaving_and_for_joining() -> None:
    c = Fraction(1, 20)
    found = float(one_pass(2 * c, DELTA, "replace-one").epsilon)
    log = 1 + math.log(1 / 1e-6) + 0.05
    assert found == pytest.approx(0.05 + (math.exp(0.05) - 1) * log)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.05, 1)), min_size=1, max_size=7))
def test_the_tail_of_the_one_pass_lemma(steps: list[tuple[float, float]]) -> None:
    """Sums of conditional means of losses from a unit exceed q with probability at most e^(1-q), for every q."""
    # At each step a share of what remains is lost with some probability; nothing is lost otherwise.
    paths = [(1.0, 1.0, 0.0)]
    for share, chance in steps:
        following = []
        for mass, left, total in paths:
            mean = chance * share * left
            following.append((mass * chance, left * (1 - share), total + mean))
            following.append((mass * (1 - chance), left, total + mean))
        paths = following
    for _, _, q in paths:
        tail = sum(mass for mass, _, total in paths if total >= q)
        assert tail <= math.exp(1 - q) * (1 + 1e-9)


@pytest.mark.parametrize(
    "guarantee",
    [
        PureDP(1, "add-remove-one"),
        PureDP("1/3", "replace-one"),
        ApproxDP("0.5", DELTA, "add-remove-one"),
        ApproxDP(20, "0.1", "replace-one"),
        ZeroConcentratedDP("0.1", "add-remove-one"),
    ],
)
@pytest.mark.parametrize("decomposable", [True, False])
def test_the_first_line_proves_the_guarantee(guarantee: DPGuarantee, *, decomposable: bool) -> None:
    stated = statement(neighbors=guarantee.neighbors, decomposable=decomposable)
    coefficient, lines = strongest(Draws(10), stated, guarantee)
    assert implies(lines[0].guarantee, guarantee)
    assert coefficient * stated.width == lines[0].loss
    # A hundredth more, and no rule would do.
    more = lines[0].loss * Fraction(101, 100)
    for line in lines:
        stronger = _again(line, more)
        assert stronger is None or not implies(stronger, guarantee)


def _again(line: AccountLine, loss: Fraction) -> DPGuarantee | None:
    relation = line.guarantee.neighbors
    match line.rule:
        case "basic composition":
            return basic(line.draws, loss, relation)
        case "zCDP of bounded range":
            return concentrated(line.draws, loss, relation)
        case _:
            return None


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 60), st.sampled_from(["0.1", "1", "4"]), st.sampled_from(["1e-9", "1e-3"]))
def test_more_draws_never_allow_a_larger_coefficient(k: int, epsilon: str, delta: str) -> None:
    guarantee = ApproxDP(epsilon, delta, "add-remove-one")
    one, _ = strongest(Draws(k), statement(), guarantee)
    more, _ = strongest(Draws(k + 1), statement(), guarantee)
    assert more <= one * (1 + Fraction(1, 10**5))
    least, _ = strongest(Draws(k), statement(), PureDP(epsilon, "add-remove-one"))
    assert one >= least


def test_a_method_with_one_rule_that_does_not_apply_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="one that this method can have, got PureDP"):
        strongest(
            Draws(3),
            statement(),
            PureDP(1, "add-remove-one"),
            rules=frozenset({"decomposable, one pass"}),
        )


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "7", "1/3"])
def test_the_subsample_s_coefficient_is_rounded_down(epsilon: str) -> None:
    """e^c <= 1 + e^epsilon, checked at 200 bits, and c is within 2^-28 of the limit."""
    from discreet.core.exact import exp_ceil, exp_floor

    e = Fraction(epsilon)
    c = subsampled_coefficient(e)
    assert exp_ceil(c, 200) <= (1 << 200) + exp_floor(e, 200)
    assert float(c) == pytest.approx(math.log1p(math.exp(float(e))), rel=2**-28)


@pytest.mark.parametrize(
    ("guarantee", "joins"),
    [
        (PureDP(1, "add-remove-one"), Fraction(1)),
        (PureDP(1, "replace-one"), Fraction(1, 2)),
        (ApproxDP("1/3", DELTA, "add-remove-one"), Fraction(1, 3)),
    ],
)
def test_the_subsample_halves_epsilon_for_replacement(
    guarantee: DPGuarantee, joins: Fraction
) -> None:
    plan = Subsampled().plan(
        statement(neighbors=guarantee.neighbors), UniformMatroid(100, 10), guarantee
    )
    assert plan.parameters["epsilon_of_subsample"] == str(joins)
    assert plan.coefficient == subsampled_coefficient(joins)


def test_the_subsample_of_a_zcdp_budget_takes_the_root_down() -> None:
    guarantee = ZeroConcentratedDP("0.1", "add-remove-one")
    plan = Subsampled().plan(statement(), UniformMatroid(100, 10), guarantee)
    (line,) = plan.accounting
    assert implies(line.guarantee, guarantee)


def test_lines_are_read_back() -> None:
    _, lines = strongest(Draws(10), statement(), ApproxDP(1, DELTA, "add-remove-one"))
    assert [AccountLine.from_dict(line.to_dict()) for line in lines] == list(lines)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rank": 0}, "rank: expected at least 1, got 0"),
        ({"sensitivity": Fraction(0)}, "sensitivity: expected a positive number"),
        ({"neighbors": "add-remove-person"}, "neighbors: expected add-remove-one or replace-one"),
    ],
)
def test_nonsense_is_refused(change: dict[str, object], said: str) -> None:
    facts = {
        "n_elements": 5,
        "n_kinds": 1,
        "rank": 2,
        "decomposable": True,
        "sensitivity": Fraction(1),
        "neighbors": "replace-one",
    }
    with pytest.raises(InvalidProblemError, match=said):
        ChoiceFacts(**(facts | change))  # type: ignore[arg-type] # the fields by name
