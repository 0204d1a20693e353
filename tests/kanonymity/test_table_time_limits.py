"""Time that is over, or Ctrl-C, between any two looks at the clock: classes are whole, and the best is kept.

A clock that counts how often it is looked at stands for the true one, so that nothing here depends on the machine.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from numba.core import event

from discreet.core.errors import CertificateError
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity import bound, candidate
from discreet.kanonymity.bound import nearest_bound
from discreet.kanonymity.candidate import (
    Method,
    SearchInterrupted,
    SearchLimits,
    audit,
    portions,
    without_gaps,
)
from discreet.kanonymity.demand import Demand, failing_classes
from discreet.kanonymity.exact.pricing import Pricer
from discreet.kanonymity.methods.greedy_search import GreedySearch
from discreet.kanonymity.methods.k_member import KMember
from discreet.kanonymity.methods.local_search import LocalSearch
from discreet.kanonymity.methods.mondrian import Mondrian
from discreet.kanonymity.methods.partitioning import SetPartitioning
from discreet.kanonymity.methods.segmentation import Segmentation
from discreet.kanonymity.methods.top_down import TopDown
from discreet.kanonymity.models import DistinctDiversity, EntropyDiversity
from discreet.kanonymity.problem import Categorical, Numeric, Problem
from discreet.kanonymity.search.parts import SplittingTuning
from discreet.kanonymity.search.search import search
from kanonymity.tables import anonymize_kept as anonymize

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 60


class Clock:
    """Says one more each time, and presses Ctrl-C at one of the looks where it was told to."""

    def __init__(self, press: int | None = None) -> None:
        self.looks, self.press = 0, press

    def __call__(self) -> float:
        self.looks += 1
        if self.looks == self.press:
            raise KeyboardInterrupt
        return float(self.looks)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Clock]:
    """Put another clock in the place of the true one."""

    def put(press: int | None = None) -> Clock:
        made = Clock(press)
        monkeypatch.setattr("discreet.core.jit._compilation.now", made)
        return made

    return put


def mixed(rows: int = ROWS) -> Problem:
    rng = np.random.default_rng(5)
    columns = {
        "age": rng.integers(0, 30, rows).tolist(),
        "zip": rng.integers(0, 9, rows).tolist(),
        "job": rng.choice(list("abcd"), rows).tolist(),
    }
    return Problem.from_columns(columns, [Numeric("age"), Numeric("zip"), Categorical("job")])


ILL = Demand("ill", DistinctDiversity(3), np.arange(ROWS) // 15)
MUCH = Demand("ill", EntropyDiversity("2.5"), np.arange(ROWS) // 15)

METHODS: dict[str, Method] = {
    "segmentation": Segmentation(4),
    "greedy search": GreedySearch(),
    "k-member": KMember(),
    "mondrian": Mondrian(),
    "local search": LocalSearch(),
    "optimal": SetPartitioning(),
    "diverse": LocalSearch(demands=(ILL,)),
    "much entropy": LocalSearch(demands=(ILL, MUCH)),
    "top-down": TopDown(),
    "top-down, strong": TopDown("strong", (ILL,)),
}


def test_portions_cover_the_work_and_end_with_the_time(clock: Callable[..., Clock]) -> None:
    clock()
    assert list(portions(3, SearchLimits())) == [(0, 1), (1, 2), (2, 3)]
    clock()
    assert [stop - begin for begin, stop in portions(10_000, SearchLimits(deadline=4))] == [1, 1]
    assert list(portions(0, SearchLimits())) == []


def test_portions_grow_while_they_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(np.arange(10_000) * 0.001)
    monkeypatch.setattr("discreet.core.jit._compilation.now", lambda: float(next(now)))
    sizes = [stop - begin for begin, stop in portions(10_000, SearchLimits())]
    assert sizes[:4] == [1, 4, 16, 64]
    assert sum(sizes) == 10_000


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("looks", [0, 1, 3, 6, 12, 30, 70])
def test_time_may_be_over_at_any_look(name: str, looks: int, clock: Callable[..., Clock]) -> None:
    """A clock that runs by looks alone makes every portion a single piece, so that all stages are cut off."""
    clock()
    problem, k = mixed(), 4
    found = METHODS[name].solve(problem, k, SearchLimits(deadline=looks))
    certificate = audit(found.labels, k)
    assert certificate.passed, str(certificate)
    assert (found.labels >= 0).all()
    assert found.lower <= problem.loss_of(found.labels)
    if getattr(METHODS[name], "demands", ()) and name != "top-down, strong":
        assert not failing_classes([ILL], without_gaps(found.labels)).any()


@pytest.mark.parametrize(
    "method", [GreedySearch(), KMember(3), Segmentation(3), Mondrian(), TopDown()]
)
def test_where_portions_end_changes_nothing(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = method.solve(mixed(), 3, SearchLimits()).labels
    few_rows = SplittingTuning(rows_between_clock_reads=1)
    monkeypatch.setattr("discreet.kanonymity.search.parts.SPLITTING", few_rows)
    single = SearchLimits(clock_interval=0.0)
    assert np.array_equal(method.solve(mixed(), 3, single).labels, whole)


def test_near_points_and_bounds_are_the_same_in_portions() -> None:
    problem = mixed()
    points = searching_points(problem)
    whole, lower = bound.near_points(problem, points, 4, SearchLimits()), nearest_bound(problem, 3)
    single = SearchLimits(clock_interval=0.0)
    assert np.array_equal(whole, bound.near_points(problem, points, 4, single))
    assert nearest_bound(problem, 3, single) == pytest.approx(lower)
    # Without time for all pairs, near points are those of orders, and some have none.
    some = bound.near_points(problem, points, 4, SearchLimits.within(0))
    assert some.shape == whole.shape
    assert (some >= -1).all()
    assert (some >= 0).any()


def searching_points(problem: Problem) -> Any:
    from discreet.kanonymity.arrays import points_of

    return points_of(problem, candidate.order_of(problem, range(problem.m)))


@pytest.mark.parametrize("press", [*range(1, 60, 4), *range(60, 400, 40)])
@pytest.mark.parametrize("asked", ["default", "optimal", "demands", "local search"])
def test_ctrl_c_at_any_look_leaves_the_best(
    asked: str, press: int, clock: Callable[..., Clock]
) -> None:
    ways: dict[str, dict[str, Any]] = {
        "default": {},
        "optimal": {"method": SetPartitioning()},
        "demands": {"demands": [ILL]},
        "local search": {"method": LocalSearch(rounds=40)},
    }
    given = ways[asked]
    problem, steps = mixed(), list[Any]()
    found: Any
    early, ticking = False, clock(press)
    try:
        found = search(problem, 3, on_step=steps.append, **given)
    except SearchInterrupted as interrupt:
        found = interrupt.best
    except KeyboardInterrupt:
        # The first looks are those of the limits, before anything is searched.
        found = None
        early = ticking.looks <= 3
    if found is None:
        assert early or not steps
        return
    assert audit(found.labels, 3).passed
    assert found.loss == problem.loss_of(found.labels)
    assert found.lower <= found.loss


def test_ctrl_c_keeps_what_the_exact_search_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes are listed once the relaxation is solved: the partition by then is there, with its bound."""
    true = Pricer.price

    def pressed(self: Pricer, *given: Any, **more: Any) -> Any:
        if "each" not in more:
            raise KeyboardInterrupt
        return true(self, *given, **more)

    monkeypatch.setattr(Pricer, "price", pressed)
    problem = mixed(40)
    with pytest.raises(SearchInterrupted) as caught:
        SetPartitioning().solve(problem, 3, SearchLimits())
    best = caught.value.best
    assert audit(best.labels, 3).passed
    assert 0 < best.lower <= problem.loss_of(best.labels)


def test_roots_that_were_not_priced_have_no_bound() -> None:
    problem = mixed(20)
    pi = np.full(20, 0.3)
    cut = Pricer(problem, 3).price(pi, limits=SearchLimits.within(0))
    assert not cut.complete
    assert cut.lower == -np.inf
    whole = Pricer(problem, 3).price(pi)
    assert whole.complete
    assert np.isfinite(whole.lower)


def test_what_is_compiled_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred seconds of compilation leave the search its five."""
    late = [0.0]
    true = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: true() + late[0])
    left: list[float] = []

    class Compiled:
        def solve(
            self, problem: Problem, k: int, limits: SearchLimits
        ) -> candidate.CandidateClasses:
            found = Segmentation(1).solve(problem, k, limits)
            with event.trigger_event("numba:compile"):
                late[0] += 100.0
            left.append(limits.left)
            return found

    found = search(mixed(), 3, method=Compiled(), time_limit=5.0)
    assert late == [100.0]
    assert left[0] > 0
    assert found.seconds < 100


def test_time_of_the_search_and_what_comes_after_are_told_apart() -> None:
    table = pl.DataFrame({"age": [1, 2, 3, 4]})
    found = anonymize(table, KAnonymity(2, ("age",))).diagnostics
    assert found.seconds > 0
    assert found.seconds_after > 0


def test_a_method_that_is_stopped_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Ctrl-C leaves is audited like anything else."""

    class Broken:
        def solve(self, problem: Problem, k: int, limits: SearchLimits) -> Any:
            del k, limits
            labels = np.arange(problem.n, dtype=np.int32)
            raise SearchInterrupted(candidate.CandidateClasses("broken", labels))

    with pytest.raises(CertificateError):
        search(mixed(), 3, method=Broken())
