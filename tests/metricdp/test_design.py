"""Design: whatever is asked, what comes back is verified, bounded, and the best so far."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from importlib import import_module
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import (
    CertificateError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)
from discreet.core.guarantee import MetricDP, Scope
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import (
    Direct,
    Exponential,
    Kernel,
    Problem,
    design,
    verify,
)
from discreet.metricdp import search as _search
from discreet.metricdp.design import Interrupted
from discreet.metricdp.part import Candidate, Part, PartLimits
from discreet.metricdp.verify import Claim

if TYPE_CHECKING:
    from discreet.core.progress import Progress
    from discreet.metricdp.search import MetricDesign

# The module: the package has the function under this name.
_design = import_module("discreet.metricdp.design")

GRID = MetricSpace.grid(3, 3, cell=1, unit="km")
PROBLEM = Problem(GRID, utility_loss="euclidean")
ISLANDS = MetricSpace.from_points([[0, 0], [1, 0], [0, 1], [9, 9], [10, 9], [30, 0]], unit="km")


def made(problem: Problem, epsilon: Any = 2, radius: Any = None, **options: Any) -> MetricDesign:
    outcome = design(
        problem, MetricDP(epsilon, problem.space.unit, radius), **{"gap": 1e-4, **options}
    )
    assert verify(outcome, optimality=True).passed
    assert outcome.lower is not None
    assert outcome.lower <= outcome.upper
    return outcome


@pytest.mark.parametrize("method", [None, Kernel(), Direct()])
@pytest.mark.parametrize("radius", [None, 2])
def test_methods_agree(method: Any, radius: Any) -> None:
    outcome = made(PROBLEM, 2, radius, method=method)
    best = made(PROBLEM, 2, radius)
    assert outcome.upper == pytest.approx(best.upper, rel=1e-4)
    assert outcome.gap is not None
    assert outcome.gap <= 1e-4
    assert outcome.status in {"optimal", "gap reached"}


@pytest.mark.parametrize("epsilon", ["1e-12", "0.001", "0.5", 30, 500, 100_000])
@pytest.mark.parametrize("radius", [None, 1])
def test_extreme_budgets_work(epsilon: Any, radius: Any) -> None:
    """O2: a vanishing budget leaves the best constant report, a huge one the loss without privacy, which is zero."""
    outcome = made(PROBLEM, epsilon, radius, gap=1e-2)
    constant = float(PROBLEM.cost.sum(axis=0).min())
    assert 0 <= outcome.upper <= constant * (1 + 1e-6)
    if float(Fraction(epsilon)) < 1e-6:
        assert outcome.upper == pytest.approx(constant, rel=1e-6)
    if float(Fraction(epsilon)) > 20:
        assert outcome.upper < 1e-9


def test_budgets_beyond_any_limb_still_work() -> None:
    """So little budget that rounding needs a slack of 1e-60 nats."""
    outcome = made(PROBLEM, "1e-60", gap=1e-2)
    assert outcome.upper == pytest.approx(float(PROBLEM.cost.sum(axis=0).min()), rel=1e-6)


def test_the_exponential_mechanism_is_private_and_dearer() -> None:
    """O10."""
    with pytest.raises(LimitReachedError) as caught:
        made(PROBLEM, 1, method=Exponential())
    blunt: Any = caught.value.best
    assert verify(blunt, optimality=True).passed
    assert blunt.upper > 1.2 * made(PROBLEM, 1).upper


def test_one_secret() -> None:
    space = MetricSpace.from_points([[1.0, 2.0]], unit="km")
    outcome = made(Problem(space, utility_loss=[[3.0, 1.0, 2.0]]), 1)
    assert outcome.upper == pytest.approx(1.0)
    assert outcome.lower == pytest.approx(1.0)
    assert outcome.channel.probabilities.tolist() == [[0.0, 1.0, 0.0]]


def test_one_report() -> None:
    outcome = made(Problem(GRID, utility_loss="euclidean", reports=[4]), 1)
    assert outcome.upper == pytest.approx(PROBLEM.cost[:, 4].sum())
    assert outcome.status == "optimal"


def test_reports_that_cost_nothing() -> None:
    outcome = made(Problem(GRID, utility_loss=np.zeros((9, 4))), 1)
    assert (outcome.lower, outcome.upper, outcome.gap, outcome.status) == (0.0, 0.0, 0.0, "optimal")


def test_secrets_that_never_occur() -> None:
    prior = np.zeros(9)
    prior[[0, 8]] = 0.25, 0.75
    outcome = made(Problem(GRID, utility_loss="euclidean", prior=prior), 1)
    assert outcome.gap is not None
    assert outcome.gap < 1e-4


def test_fewer_reports_than_secrets() -> None:
    outcome = made(Problem(GRID, utility_loss="euclidean", reports=[0, 4, 8]), 1)
    assert outcome.provenance.method in {"direct", "tails-and-hub"}
    assert any(line.startswith("Direct") for line in outcome.provenance.method_trace)


def test_more_reports_than_secrets() -> None:
    loss = np.hstack([PROBLEM.loss, PROBLEM.loss + 0.5])
    assert made(Problem(GRID, utility_loss=loss), 2).upper == pytest.approx(
        made(PROBLEM, 2).upper, rel=1e-5
    )


def test_duplicates_share_their_rows_bit_for_bit() -> None:
    points = np.array([[0, 0], [1, 0], [0, 0], [1, 1], [1, 0], [0, 0]], dtype=float)
    prior = np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
    space = MetricSpace.from_points(points, unit="km")
    outcome = made(Problem(space, utility_loss="euclidean", prior=prior), 1)
    rows = outcome.channel.limbs[0]
    assert (rows[0] == rows[2]).all()
    assert (rows[1] == rows[4]).all()
    # As good as the problem in which each place stands once.
    once = MetricSpace.from_points(points[[0, 1, 3]], unit="km")
    merged = Problem(once, utility_loss="euclidean", prior=[0.5, 0.3, 0.2])
    assert outcome.upper == pytest.approx(made(merged, 1).upper, rel=1e-5)


def test_duplicates_between_components_that_are_joined() -> None:
    points = np.array([[0, 0], [0, 0], [1, 0], [9, 0], [9, 0]], dtype=float)
    problem = Problem(MetricSpace.from_points(points, unit="km"), utility_loss="euclidean")
    outcome = made(problem, 1, 1)
    assert isinstance(outcome.guarantee.scope, Scope)
    assert outcome.guarantee.scope.joined == 1
    apart = made(problem, 1, 1, allow_unprotected=True)
    assert apart.upper < outcome.upper


def test_components_are_joined_by_default() -> None:
    problem = Problem(ISLANDS, utility_loss="euclidean")
    scope = made(problem, 1, 2).guarantee.scope
    assert isinstance(scope, Scope)
    assert (scope.components, scope.isolated, scope.joined) == (1, (), 2)
    assert scope.all_pairs_epsilon is not None
    assert scope.all_pairs_epsilon >= 1


def test_components_may_stay_apart_and_the_guarantee_says_so() -> None:
    outcome = made(Problem(ISLANDS, utility_loss="euclidean"), 1, 2, allow_unprotected=True)
    scope = outcome.guarantee.scope
    assert isinstance(scope, Scope)
    assert (scope.components, scope.isolated, scope.joined) == (3, (5,), 0)
    assert scope.all_pairs_epsilon is None
    # The isolated secret is reported as it is.
    assert outcome.channel.probabilities[5].tolist() == [0, 0, 0, 0, 0, 1.0]


def test_components_cost_what_they_cost_alone() -> None:
    """O6: the whole is the sum of its parts."""
    whole = made(Problem(ISLANDS, utility_loss="euclidean"), 1, 2, allow_unprotected=True)
    total = 0.0
    for inside in ([0, 1, 2], [3, 4]):
        part = Problem(ISLANDS.restrict(inside), utility_loss="euclidean")
        total += made(part, 1, 2).upper * len(inside) / 6
    assert whole.upper == pytest.approx(total, rel=1e-5)
    assert whole.lower == pytest.approx(total, rel=1e-4)


@pytest.mark.parametrize("pool", ["threads", "processes"])
def test_an_executor_changes_nothing(pool: str) -> None:
    problem = Problem(ISLANDS, utility_loss="euclidean")
    alone = made(problem, 1, 2, allow_unprotected=True)
    executor = (
        ThreadPoolExecutor(2) if pool == "threads" else ProcessPoolExecutor(1, get_context("spawn"))
    )
    with executor:
        side_by_side = made(problem, 1, 2, allow_unprotected=True, executor=executor)
    assert side_by_side.channel.digest == alone.channel.digest
    assert side_by_side.lower == alone.lower


@given(st.randoms(use_true_random=False))
@settings(max_examples=5)
def test_the_order_of_secrets_does_not_matter(random: Any) -> None:
    order = list(range(9))
    random.shuffle(order)
    space = MetricSpace.from_points(np.asarray(GRID.points)[order], unit="km")
    prior = np.linspace(1, 2, 9)[order]
    shuffled = made(Problem(space, utility_loss="euclidean", prior=prior / prior.sum()), 1)
    plain = Problem(
        GRID, utility_loss="euclidean", prior=np.linspace(1, 2, 9) / np.linspace(1, 2, 9).sum()
    )
    assert shuffled.upper == pytest.approx(made(plain, 1).upper, rel=2e-4)


@pytest.mark.parametrize("factor", ["0.001", "7"])
def test_distance_times_a_over_epsilon_by_a(factor: str) -> None:
    """O3: only epsilon times distance counts."""
    scaled = MetricSpace.grid(3, 3, cell=factor, unit="km")
    problem = Problem(scaled, utility_loss=PROBLEM.loss)
    assert made(problem, 2 / Fraction(factor)).upper == pytest.approx(
        made(PROBLEM, 2).upper, rel=1e-6
    )


def test_a_constant_for_each_secret_is_added_to_the_loss() -> None:
    """O3: c_ik + s_i costs the sum of p_i s_i more."""
    shift = np.linspace(0, 3, 9)
    shifted = made(Problem(GRID, utility_loss=PROBLEM.loss + shift[:, None]), 1)
    assert shifted.upper == pytest.approx(made(PROBLEM, 1).upper + shift.mean(), rel=1e-4)


@pytest.mark.parametrize("radius", [None, 1])
def test_hundreds_of_nats_across(radius: Any) -> None:
    """A line of 40 nats a step, and one of 9 whose ends are 531 nats apart: no zero beside a positive weight."""
    for epsilon, size in ((40, 12), (9, 60)):
        line = Problem(MetricSpace.grid(1, size, cell=1, unit="km"), utility_loss="euclidean")
        outcome = made(line, epsilon, radius, gap=1e-3)
        assert (outcome.channel.limbs[-1] > 0).all()
        assert outcome.certificate.passed


def test_a_negligible_loss_says_so_instead_of_a_relative_gap() -> None:
    """At 10^5 nats a cell nothing but rounding is lost, and no relative gap can be proved for it."""
    outcome = made(PROBLEM, 10**5)
    assert outcome.status == "loss negligible"
    assert outcome.upper < 1e-12 * float(PROBLEM.cost.sum(axis=0).min())


def test_the_scope_names_the_space_and_a_sound_all_pairs_epsilon() -> None:
    outcome = made(PROBLEM, 1, 1)
    scope = outcome.guarantee.scope
    assert isinstance(scope, Scope)
    assert scope.space == GRID.digest
    stretch = GRID.adjacency(1).stretch(GRID)
    assert stretch is not None
    assert scope.all_pairs_epsilon is not None
    assert 0 <= scope.all_pairs_epsilon - stretch < Fraction(1, 10**9)
    everywhere = made(PROBLEM, "0.3").guarantee.scope
    assert isinstance(everywhere, Scope)
    assert everywhere.all_pairs_epsilon == Fraction(3, 10)


def test_progress_and_trace_tell_the_story() -> None:
    told: list[Progress] = []
    outcome = made(PROBLEM, "0.5", on_progress=told.append)
    assert [one.stage for one in told] == [
        "Kernel",
        "Exponential",
        "PlanarLaplace",
        "TailsAndHub",
        "Cheap channels",
        "Direct",
        "final verification",
    ]
    assert told[0].upper is None
    assert told[0].gap is None
    assert (told[-1].upper, told[-1].lower) == (outcome.upper, outcome.lower)
    bounds = [(one.lower or 0.0, math.inf if one.upper is None else one.upper) for one in told]
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in itertools.pairwise(bounds))
    assert len(outcome.provenance.method_trace) == 5
    assert outcome.provenance.parameters["limbs"] == 1
    assert outcome.provenance.assumed_public[0].name == "space"


def test_same_input_same_design() -> None:
    assert made(PROBLEM, 1).channel.digest == made(PROBLEM, 1).channel.digest


def test_no_time_still_gives_a_private_channel() -> None:
    with pytest.raises(LimitReachedError, match="asked for a gap") as caught:
        made(PROBLEM, "0.5", time_limit=1e-9)
    best = caught.value.best
    assert verify(best, optimality=True).passed  # type: ignore[arg-type]
    outcome = made(PROBLEM, "0.5", time_limit=1e-9, throw=False)
    assert outcome.status == "limit reached"
    assert outcome.provenance.method == "exponential-remap"
    forced = made(PROBLEM, "0.5", method=Direct(), time_limit=1e-9, throw=False)
    assert forced.provenance.method == "exponential-remap"


def test_a_method_that_does_not_apply_is_an_error() -> None:
    with pytest.raises(SolverError, match="Kernel: found no channel .*does not apply"):
        made(PROBLEM, "0.1", method=Kernel())


def test_a_solver_that_fails_leaves_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise SolverError("HiGHS", "Unknown")

    monkeypatch.setattr(Direct, "solve", fails)
    outcome = made(PROBLEM, "0.5", gap=1e-3)
    assert outcome.gap is not None
    assert outcome.gap <= 1e-3
    assert "Direct: HiGHS: Unknown." in outcome.provenance.method_trace


def test_a_method_of_ones_own_is_not_believed() -> None:
    class Boastful:
        def solve(self, part: Part, _limits: PartLimits) -> Candidate:
            return Candidate("boastful", np.eye(part.n), None, "Trust me.")

    with pytest.raises(LimitReachedError) as caught:
        made(PROBLEM, 1, method=Boastful())
    best: Any = caught.value.best
    assert best.upper >= made(PROBLEM, 1).lower
    assert verify(best, optimality=True).passed

    class Empty:
        def solve(self, part: Part, _limits: PartLimits) -> Candidate:
            return Candidate("empty", np.zeros((part.n, part.n)), None, "Nothing.")

    with pytest.raises(SolverError, match="Empty: found no channel"):
        made(PROBLEM, 1, method=Empty())


def test_interrupting_hands_in_the_best_channel_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Direct, "solve", stops)
    with pytest.raises(KeyboardInterrupt) as caught:
        made(PROBLEM, "0.5")
    assert isinstance(caught.value, Interrupted)
    assert caught.value.best is not None
    assert verify(caught.value.best, optimality=True).passed
    assert caught.value.best.status == "interrupted"
    monkeypatch.setattr(Kernel, "solve", stops)
    with pytest.raises(Interrupted) as early:
        made(PROBLEM, "0.5")
    assert early.value.best is not None
    assert early.value.best.provenance.method == "exponential-remap"
    assert verify(early.value.best, optimality=True).passed


def test_nothing_that_fails_verification_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Certificate((Check("inequalities violated", 1, 0, exact=True),))
    monkeypatch.setattr(Claim, "check", lambda *_: broken)
    with pytest.raises(CertificateError):
        made(PROBLEM, 1)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("problem", {"problem": GRID}),
        ("guarantee", {"guarantee": 1.0}),
        ("guarantee", {"guarantee": MetricDP(1, "m")}),
        ("guarantee", {"guarantee": made(Problem(ISLANDS, utility_loss="distance"), 1).guarantee}),
        ("gap", {"gap": 1.0}),
        ("gap", {"gap": -0.1}),
        ("gap", {"gap": math.nan}),
        ("time_limit", {"time_limit": 0}),
        ("time_limit", {"time_limit": math.nan}),
        ("threads", {"threads": 0}),
        ("method", {"method": "drect"}),
        ("method", {"method": Direct}),
        ("method", {"method": "as-published"}),
    ],
)
def test_nonsense_is_refused_by_name(field: str, given: dict[str, Any]) -> None:
    arguments = {"problem": PROBLEM, "guarantee": MetricDP(1, "km"), **given}
    with pytest.raises(InvalidProblemError, match=f"{field}: "):
        design(arguments.pop("problem"), arguments.pop("guarantee"), **arguments)


def test_a_method_does_not_start_when_its_time_is_all_but_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is left would go into building its program: the limit would be overrun for nothing."""
    skewed = Problem(
        GRID, utility_loss="euclidean", prior=np.array([8, 1, 1, 1, 4, 1, 1, 1, 2]) / 20
    )
    guarantee = MetricDP("0.3", "km")
    assert design(skewed, guarantee, time_limit=60).provenance.method == "direct"
    monkeypatch.setattr(_search, "_LIMITS", _search._LIMITS._replace(method_time_share=1.0))
    late = design(skewed, guarantee, time_limit=60, throw=False)
    assert late.provenance.method == "tails-and-hub"
    assert not any(line.startswith("Direct") for line in late.provenance.method_trace)
    assert verify(late).passed


def test_a_method_may_be_named() -> None:
    assert made(PROBLEM, 1, method="direct").channel.digest == (
        made(PROBLEM, 1, method=Direct()).channel.digest
    )


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("drect", "got 'drect'; the nearest is 'direct'"),
        (Direct, "got the class Direct"),
        ("as-released", "which has none: it relaxes every ratio constraint by 0.01"),
    ],
)
def test_what_is_no_method_is_refused_with_what_is(method: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match="planar-laplace") as caught:
        design(PROBLEM, MetricDP(1, "km"), method=method)
    assert said in str(caught.value)
