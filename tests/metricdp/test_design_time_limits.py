"""Time limits of a design, by a clock that goes on as each stage is made to take: nothing here depends on luck."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numba.core import event

from discreet.core import jit
from discreet.core.errors import LimitReachedError
from discreet.core.guarantee import MetricDP
from discreet.core.jit import clock
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import (
    Direct,
    PrimalDual,
    Problem,
    design,
    verify,
)
from discreet.metricdp import search as _search
from discreet.metricdp.bounds import repair as closing
from discreet.metricdp.bounds.bound import lower_bound
from discreet.metricdp.bounds.closure import close_columns
from discreet.metricdp.bounds.repair import repair
from discreet.metricdp.methods import direct
from discreet.metricdp.methods import primal_dual as steps
from discreet.metricdp.methods.baselines import Uniform
from discreet.metricdp.methods.kernel import Kernel
from discreet.metricdp.primal_dual import mend as mending
from discreet.metricdp.primal_dual.tiles import TiledIterate
from discreet.metricdp.verify import Claim

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.metricdp.search import MetricDesign

# The module: the package has the function under this name.
_design = import_module("discreet.metricdp.design")

SKEWED = Problem(
    MetricSpace.grid(4, 4, cell=1, unit="km"),
    utility_loss="euclidean",
    prior=np.arange(1, 17) / np.arange(1, 17).sum(),
)
CHEAP = {
    f"{name}{remap}"
    for name in ("exponential", "planar-laplace", "tails-and-hub")
    for remap in ("", "-remap")
}
LIMIT = 40.0
MOST = 1.1 * LIMIT + 2
CHECK = Claim.check


class Clock:
    """Seconds that pass where a test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def perf_counter(self) -> float:
        return self.seconds

    def takes(self, seconds: float, work: Callable[..., Any]) -> Callable[..., Any]:
        """Make something take so long, before it does what it does."""

        def slow(*arguments: Any, **options: Any) -> Any:
            self.seconds += seconds
            return work(*arguments, **options)

        return slow


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Put a clock in the place of that of the system, after everything was compiled and each verification has 1 s."""
    design(SKEWED, MetricDP("0.3", "km"), throw=False)
    made = Clock()
    monkeypatch.setattr(jit, "time", SimpleNamespace(perf_counter=made.perf_counter))
    monkeypatch.setattr(Claim, "check", made.takes(1.0, CHECK))
    return made


def timed(**options: Any) -> tuple[MetricDesign, float]:
    """Design with the limit, to a gap that is never reached, and say how long it took."""
    begun = clock()
    made = design(SKEWED, MetricDP("0.3", "km"), gap=0.0, time_limit=LIMIT, throw=False, **options)
    assert verify(made, optimality=True).passed
    return made, clock() - begun


def test_what_is_compiled_does_not_count(wall: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Kernel.solve

    def compiled(*arguments: Any) -> Any:
        with event.trigger_event("numba:compile"):
            wall.seconds += 10 * LIMIT
        return plain(*arguments)

    monkeypatch.setattr(Kernel, "solve", compiled)
    made, seconds = timed()
    assert made.provenance.method not in CHEAP
    assert seconds <= MOST


def test_what_is_not_compiled_counts_and_nothing_starts_after_it(
    wall: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kernel, "solve", wall.takes(LIMIT, Kernel.solve))

    def started(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(_design, "_costly_methods", started)
    made, seconds = timed()
    assert made.provenance.method in CHEAP
    assert seconds <= MOST


def test_no_method_starts_when_another_took_all_of_the_time(
    wall: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow:
        def solve(self, *_: object) -> None:
            wall.seconds += LIMIT

    class Started:
        def solve(self, *_: object) -> None:
            raise AssertionError

    monkeypatch.setattr(_design, "_costly_methods", lambda *_, **__: ((Slow(), Started()), ""))
    made, seconds = timed()
    assert made.provenance.method in CHEAP
    assert seconds <= MOST


@pytest.mark.parametrize("each", [0.05, 1.0, 4.0])
def test_steps_leave_time_for_what_comes_after_them(
    wall: Clock, monkeypatch: pytest.MonkeyPatch, each: float
) -> None:
    """Steps, mending, bounds and verification all take their time."""
    monkeypatch.setattr(TiledIterate, "advance", wall.takes(each, TiledIterate.advance))
    monkeypatch.setattr(steps._Run, "_mend", wall.takes(6.0, steps._Run._mend))
    monkeypatch.setattr(_search, "lower_bound", wall.takes(0.5, lower_bound))
    made, seconds = timed(method=PrimalDual())
    assert seconds <= MOST
    assert made.provenance.method_trace


def test_preparing_the_steps_may_take_all_of_the_limit(
    wall: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_design, "MAX_ROWS_FOR_DIRECT", 0)
    monkeypatch.setattr(steps, "_plan", wall.takes(LIMIT, steps._plan))
    made, seconds = timed()
    assert made.provenance.method in CHEAP
    assert seconds <= MOST


@pytest.mark.parametrize("limit", [1e-3, 0.5, 3.0, 20.0])
@pytest.mark.parametrize("each", [0.01, 0.3])
def test_whatever_the_limit_no_more_is_lost_than_need_be(
    wall: Clock, monkeypatch: pytest.MonkeyPatch, limit: float, each: float
) -> None:
    """Limits that end before, at and after the first checkpoint; closures and steps look at the clock."""
    monkeypatch.setattr(_design, "MAX_ROWS_FOR_DIRECT", 0)
    monkeypatch.setattr(Claim, "check", wall.takes(0.2, CHECK))
    monkeypatch.setattr(TiledIterate, "advance", wall.takes(each, TiledIterate.advance))
    for module in (closing, mending):
        monkeypatch.setattr(module, "close_columns", wall.takes(each, close_columns))
    begun = clock()
    guarantee = MetricDP("0.3", "km")
    made = design(SKEWED, guarantee, gap=0.0, time_limit=limit, throw=False)
    seconds = clock() - begun
    assert verify(made, optimality=True).passed
    assert made.upper <= design(SKEWED, guarantee, method="exponential", throw=False).upper
    assert seconds <= 1.1 * limit + 2 + 3 * each


def test_nothing_is_handed_in_again_once_the_limit_is_over(
    wall: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first time was late already; another step gains nothing that is worth as long again."""
    monkeypatch.setattr(_design, "MAX_ROWS_FOR_DIRECT", 0)
    monkeypatch.setattr(TiledIterate, "advance", wall.takes(0.4 * LIMIT, TiledIterate.advance))
    mended: list[object] = []
    plain = wall.takes(0.7 * LIMIT, steps._Run._mend)

    def counted(*arguments: Any) -> Any:
        mended.append(arguments)
        return plain(*arguments)

    monkeypatch.setattr(steps._Run, "_mend", counted)
    made, _ = timed()
    assert len(mended) <= 1
    assert made.lower is not None
    assert made.lower > 0


def test_a_closed_form_that_loses_more_than_the_exponential_mechanism_is_not_verified(
    wall: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a limit of 2 s for 1,000 secrets that took one."""
    guarantee, checked = MetricDP("3", "km"), list[float]()
    worst = design(SKEWED, guarantee, method=Uniform(), throw=False).upper

    def counted(claim: Claim, channel: Any) -> Any:
        checked.append(channel.expected_loss(SKEWED.cost))
        return CHECK(claim, channel)

    monkeypatch.setattr(Kernel, "solve", lambda _, *arguments: Uniform().solve(*arguments))
    monkeypatch.setattr(Claim, "check", counted)
    design(SKEWED, guarantee, throw=False)
    assert checked
    assert max(checked) < worst


def test_steps_are_not_begun_where_choosing_constraints_would_take_too_long(
    wall: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_design, "MAX_ROWS_FOR_DIRECT", 0)
    monkeypatch.setattr(steps, "seconds_for_spanner", lambda _: 2 * LIMIT)
    monkeypatch.setattr(TiledIterate, "advance", wall.takes(2 * LIMIT, TiledIterate.advance))
    monkeypatch.setattr(Direct, "solve", wall.takes(LIMIT, lambda *_: None))
    made, seconds = timed()
    assert "it was not started" in " ".join(made.provenance.method_trace)
    assert made.provenance.method in CHEAP
    assert seconds <= MOST


def test_steps_that_do_not_look_at_the_clock_are_noticed(
    wall: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TiledIterate, "advance", wall.takes(1.0, TiledIterate.advance))
    standing = 0.0
    monkeypatch.setattr(steps, "clock", lambda: standing)
    _, seconds = timed(method=PrimalDual(iterations=200))
    assert seconds > MOST


@pytest.mark.parametrize(("building", "allowed"), [(0.25, 30.0), (0.75, 10.0), (2.0, 0.0)])
def test_building_a_program_counts(
    wall: Clock, monkeypatch: pytest.MonkeyPatch, building: float, allowed: float
) -> None:
    """Of a limit of 5 s for 1,000 secrets it took one or two, after which the solver was given all of the rest."""
    asked: list[float] = []

    def solve(*_: Any, time_limit: float, **__: Any) -> Any:
        asked.append(time_limit)
        wall.seconds += time_limit
        raise LimitReachedError("time limit")

    monkeypatch.setattr("discreet.core.lp.solve", solve)
    slow = wall.takes(building * LIMIT, direct.constraint_matrix)
    monkeypatch.setattr(direct, "constraint_matrix", slow)
    made, seconds = timed(method=Direct())
    assert asked == pytest.approx([allowed])
    assert made.provenance.method in CHEAP
    assert round(seconds, 6) <= max(MOST, building * LIMIT + 2)


def test_a_program_is_not_built_where_that_would_take_too_long(
    wall: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """992 secrets and 248 reports, limit 2 s: 0.3 s were left, and it took 2.2 to build and to hand over."""
    monkeypatch.setattr(direct, "MIN_SECONDS_PER_ROW", 1.0)
    monkeypatch.setattr(direct, "constraint_matrix", wall.takes(2 * LIMIT, lambda *_: None))
    made, seconds = timed(method=Direct())
    assert "no time left to build" in " ".join(made.provenance.method_trace)
    assert made.provenance.method in CHEAP
    assert seconds <= MOST


def test_all_methods_together_keep_the_limit(wall: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_design, "MAX_ROWS_FOR_DIRECT", 0)
    monkeypatch.setattr(TiledIterate, "advance", wall.takes(0.3, TiledIterate.advance))
    monkeypatch.setattr(_search, "repair", wall.takes(1.0, repair))
    made, seconds = timed()
    assert seconds <= MOST
    assert made.lower is not None
    assert made.lower > 0


def test_a_signal_between_bound_and_witness_leaves_a_bound_that_is_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stopped(_search.Search):
        """A search that is stopped as soon as it has written down a part of a bound."""

        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name in {"lower", "witness"} and self.__dict__.get("lower", 0.0) > 0:
                raise KeyboardInterrupt

    monkeypatch.setattr(_design, "Search", Stopped)
    with pytest.raises(_design.Interrupted) as caught:
        design(SKEWED, MetricDP("0.3", "km"), gap=1e-6)
    assert caught.value.best is not None
    assert verify(caught.value.best, optimality=True).passed
