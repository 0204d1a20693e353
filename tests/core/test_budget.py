from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.budget import Account, Budget, MemoryBudget, charge_of
from discreet.core.calculus import compose, implies
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import (
    ApproxDP,
    KAnonymity,
    MetricDP,
    PureDP,
    Scope,
    ZeroConcentratedDP,
)

if TYPE_CHECKING:
    from discreet.core.guarantee import DPGuarantee, Guarantee

ONE: Literal["replace-one"] = "replace-one"
HERE, THERE = Scope("here", 9, Fraction(2)), Scope("there", 9, Fraction(2))


def metric(epsilon: str, scope: Scope | None = HERE, unit: str = "km") -> MetricDP:
    return MetricDP(epsilon, unit, scope=scope)


SUMS: list[tuple[str, Guarantee, list[Guarantee], tuple[str, ...]]] = [
    ("pure", PureDP(1, ONE), [PureDP("0.1", ONE)] * 3, ("0.7",)),
    (
        "approximate",
        ApproxDP(1, "1e-6", ONE),
        [PureDP("0.3", ONE), ApproxDP("0.2", "1e-7", ONE)],
        ("0.5", "9e-7"),
    ),
    (
        "concentrated",
        ZeroConcentratedDP(1, ONE),
        [PureDP(1, ONE), ZeroConcentratedDP("0.25", ONE)],
        ("0.25",),
    ),
    ("metric", metric("2", scope=None), [metric("0.5"), metric("1")], ("0.5",)),
    ("nothing", PureDP(1, ONE), [], ("1",)),
]


@pytest.mark.parametrize(
    ("limit", "charges", "left"), [s[1:] for s in SUMS], ids=[s[0] for s in SUMS]
)
def test_charges_are_added_up_exactly(
    limit: Guarantee, charges: list[Guarantee], left: tuple[str, ...]
) -> None:
    account = Account(limit)
    for charge in charges:
        account = account.charge(charge)
    assert account.left == tuple(Fraction(amount) for amount in left)


def test_the_last_of_the_budget_may_be_spent_and_no_more() -> None:
    """Ten times 0.1 is 1, which floats would miss."""
    budget = MemoryBudget({"a": PureDP(1, ONE)})
    for _ in range(10):
        budget.reserve("a", PureDP("0.1", ONE))
    assert budget.account("a").left == (Fraction(0),)
    with pytest.raises(BudgetError, match="dataset 'a': epsilon: 1e-30 asked, 0 left"):
        budget.reserve("a", PureDP("1e-30", ONE))


def test_a_refused_charge_changes_nothing() -> None:
    budget = MemoryBudget({"a": ApproxDP(1, "1e-6", ONE)})
    budget.reserve("a", ApproxDP("0.5", "1e-7", ONE))
    before = budget.account("a")
    with pytest.raises(BudgetError, match="epsilon"):
        budget.reserve("a", PureDP("0.6", ONE))
    with pytest.raises(BudgetError, match="delta"):
        budget.reserve("a", ApproxDP("0.1", "1e-6", ONE))
    with pytest.raises(InvalidProblemError):
        budget.reserve("a", KAnonymity(2, ("age",)))
    assert budget.account("a") is before


def test_datasets_have_accounts_of_their_own_and_none_is_opened_by_asking() -> None:
    budget: Budget = MemoryBudget({"a": PureDP(1, ONE), "b": PureDP(1, ONE)})
    budget.reserve("a", PureDP(1, ONE))
    budget.reserve("b", PureDP(1, ONE))
    with pytest.raises(BudgetError, match="'c' has no budget"):
        budget.reserve("c", PureDP("0.1", ONE))


MIXED: list[tuple[str, Guarantee, Guarantee, str]] = [
    ("other neighbors", PureDP(1, ONE), PureDP("0.1", "add-remove-one"), "neighbors 'replace-one'"),
    ("other protected units", PureDP(1, ONE), PureDP("0.1", "replace-person"), "neighbors"),
    (
        "approximate to pure",
        PureDP(1, ONE),
        ApproxDP("0.1", "1e-9", ONE),
        "adds up to PureDP, got ApproxDP",
    ),
    ("concentrated to pure", PureDP(1, ONE), ZeroConcentratedDP("0.1", ONE), "PureDP"),
    (
        "concentrated to approximate",
        ApproxDP(1, "1e-6", ONE),
        ZeroConcentratedDP("0.1", ONE),
        "budget_delta: expected a delta that this release spends",
    ),
    (
        "approximate to concentrated",
        ZeroConcentratedDP(1, ONE),
        ApproxDP("0.1", "1e-9", ONE),
        "budget_delta: expected none",
    ),
    ("metric to pure", PureDP(1, ONE), metric("0.1"), "got MetricDP"),
    ("pure to metric", metric("1"), PureDP("0.1", ONE), "adds up to MetricDP, got PureDP"),
    ("k-anonymity", PureDP(1, ONE), KAnonymity(5, ("age",)), "got KAnonymity"),
    ("another unit", metric("1"), metric("0.1", unit="mile"), "unit"),
    ("a radius", metric("1"), MetricDP("0.1", "km", 2, scope=HERE), "radius"),
    ("no space", metric("1", scope=None), metric("0.1", scope=None), "bound to a space"),
    ("no space to one", metric("1"), metric("0.1", scope=None), "same space"),
]


@pytest.mark.parametrize(
    ("limit", "charge", "message"), [m[1:] for m in MIXED], ids=[m[0] for m in MIXED]
)
def test_what_does_not_add_up_is_refused(limit: Guarantee, charge: Guarantee, message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        Account(limit).charge(charge)


def test_the_first_metric_charge_settles_the_space() -> None:
    account = Account(metric("1", scope=None)).charge(metric("0.1"))
    with pytest.raises(InvalidProblemError, match="same space"):
        account.charge(metric("0.1", scope=THERE))
    assert account.charge(metric("0.9")).left == (Fraction(0),)


def test_a_limit_on_one_space_is_not_spent_on_another() -> None:
    with pytest.raises(InvalidProblemError, match="same space"):
        Account(metric("1", scope=HERE)).charge(metric("0.1", scope=THERE))


def test_k_anonymity_is_no_limit() -> None:
    with pytest.raises(InvalidProblemError, match="KAnonymity"):
        MemoryBudget({"a": KAnonymity(5, ("age",))})


def test_two_callers_at_once_do_not_spend_twice() -> None:
    budget = MemoryBudget({"a": PureDP(1, ONE)})

    def spend(_: int) -> bool:
        try:
            budget.reserve("a", PureDP("0.01", ONE))
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(spend, range(400)))
    assert granted == 100


@pytest.mark.parametrize("spent", [(Fraction(-1),), (Fraction(0), Fraction(0))])
def test_sums_that_do_not_fit_the_limit_are_refused(spent: tuple[Fraction, ...]) -> None:
    with pytest.raises(InvalidProblemError, match="spent: expected 1 nonnegative sums"):
        Account(PureDP(1, ONE), spent)


def test_an_account_goes_on_from_stored_sums() -> None:
    account = Account(PureDP(1, ONE)).charge(PureDP("0.7", ONE))
    again = Account(PureDP(1, ONE), account.spent)
    assert again == account
    with pytest.raises(BudgetError, match="0.3 left"):
        again.charge(PureDP("0.4", ONE))


charges = st.lists(
    st.one_of(
        st.fractions("0.001", 1).map(lambda e: PureDP(e, ONE)),
        st.fractions("0.001", 1).map(lambda r: ZeroConcentratedDP(r, ONE)),
    ),
    min_size=1,
    max_size=6,
)


@given(charges, st.fractions("0.1", 2))
def test_what_was_granted_implies_the_limit(
    asked: list[PureDP | ZeroConcentratedDP], rho: Fraction
) -> None:
    """All granted releases together have the guarantee of the limit, by the calculus of guarantees."""
    limit = ZeroConcentratedDP(rho, ONE)
    account = Account(limit)
    granted: list[PureDP | ZeroConcentratedDP] = []
    for guarantee in asked:
        try:
            account = account.charge(guarantee)
        except BudgetError:
            continue
        granted.append(guarantee)
    if granted:
        # One concentrated guarantee makes compose add rho, as the account does.
        tiny: DPGuarantee = ZeroConcentratedDP("1e-60", ONE)
        total = compose(tiny, *granted)
        assert implies(total, ZeroConcentratedDP(rho + Fraction("1e-60"), ONE))
        assert sum(account.spent) <= rho


def test_near_pairs_within_the_limit_do_not_pay_for_far_ones() -> None:
    """Of one epsilon within the radius, one channel may give away more beyond it than another."""
    limit = MetricDP(1, "km", 2, scope=Scope("here", 9, Fraction(6, 5)))
    half = MetricDP("1/2", "km", 2, scope=Scope("here", 9, Fraction(3, 5)))
    account = Account(limit).charge(half)
    assert account.charge(half).together == limit
    for far in (Fraction(61, 100), None):
        more = MetricDP("1/2", "km", 2, scope=Scope("here", 9, far))
        with pytest.raises(BudgetError, match="between all pairs"):
            account.charge(more)
    # A limit that promises nothing about them is not overdrawn by them.
    free = Account(MetricDP(1, "km", 2, scope=Scope("here", 9, None)))
    assert free.charge(MetricDP(1, "km", 2, scope=Scope("here", 9, None))).left == (Fraction(0),)


@pytest.mark.parametrize("limit", [None, 1, "epsilon"])
def test_what_is_no_guarantee_is_no_limit(limit: Any) -> None:
    with pytest.raises(InvalidProblemError, match="limit: expected differential privacy"):
        Account(limit)


@pytest.mark.parametrize("rho", ["0.0001", "0.01", "0.5", "3"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.05"])
def test_rho_is_charged_at_the_least_epsilon_over_all_orders_rounded_up(
    rho: str, delta: str
) -> None:
    """Canonne, Kamath and Steinke (2020), Proposition 12, by brute force over orders of divergence."""
    budget = MemoryBudget({"census": ApproxDP(100, "0.1", ONE)})
    budget.reserve("census", charge_of(ZeroConcentratedDP(rho, ONE), budget, delta))
    epsilon, spent_delta = budget.account("census").spent
    orders = [1 + math.exp(k / 2000) for k in range(-20_000, 30_000)]
    least = min(
        float(rho) * a + math.log1p(-1 / a) - (math.log(float(delta)) + math.log(a)) / (a - 1)
        for a in orders
    )
    # Below zero the formula says that (0, delta) holds already.
    assert least * (1 - 1e-9) <= epsilon <= max(least, 0) * (1 + 1e-6) + 1e-9
    assert spent_delta == Fraction(delta)


def test_rho_of_a_hundredth_at_a_millionth_costs_six_tenths() -> None:
    budget = MemoryBudget({"census": ApproxDP(3, "1e-6", ONE)})
    charge = charge_of(ZeroConcentratedDP("0.01", ONE), budget, "1e-6")
    assert charge == ApproxDP("0.6216927", "1e-6", ONE)
    budget.reserve("census", charge)
    # Deltas add up: nothing is left of them.
    with pytest.raises(BudgetError, match="delta: 1e-09 asked, 0 left"):
        budget.reserve("census", charge_of(ZeroConcentratedDP("0.01", ONE), budget, "1e-9"))


@pytest.mark.parametrize(
    ("guarantee", "budgeted", "delta"),
    [
        (ZeroConcentratedDP("0.01", ONE), False, "1e-6"),
        (PureDP(1, ONE), True, "1e-6"),
        (ZeroConcentratedDP("0.01", ONE), True, "1"),
        (ZeroConcentratedDP("0.01", ONE), True, "0"),
        (ZeroConcentratedDP("0.01", ONE), True, "some"),
    ],
)
def test_a_delta_that_converts_nothing_is_refused(
    guarantee: Any, *, budgeted: bool, delta: str
) -> None:
    budget = MemoryBudget({"census": ApproxDP(3, "1e-6", ONE)}) if budgeted else None
    with pytest.raises(InvalidProblemError, match="budget_delta"):
        charge_of(guarantee, budget, delta)
