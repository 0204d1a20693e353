"""Comparisons: certified losses, achieved budgets, bounds that hold across budgets, and methods that do not apply."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate import comparison
from discreet.evaluate.comparison import Entry, PeakMemory, best_lower, compare_methods
from discreet.metricdp import Direct, Exponential, Kernel, PlanarLaplace, Problem, design

GRID = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")
ASKED = MetricDP(1, unit="km")
TWO = [Fraction(1), Fraction(3)]


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    methods = {"best": None, "direct": Direct(), "exponential": Exponential(), "kernel": Kernel()}
    return compare_methods(GRID, ASKED, methods, [Fraction(1, 10), *TWO], gap=1e-4)


def test_entries_come_by_epsilon_and_then_by_method(entries: list[Entry]) -> None:
    names = ["best", "direct", "exponential", "kernel"]
    assert [entry.method for entry in entries] == names * 3
    assert [float(entry.epsilon) for entry in entries] == [0.1] * 4 + [1.0] * 4 + [3.0] * 4


def test_losses_and_bounds_are_those_of_design(entries: list[Entry]) -> None:
    made = design(GRID, ASKED, method=Direct(), throw=False)
    entry = entries[5]
    assert entry.loss == made.upper
    assert entry.lower == made.lower
    assert entry.found_by == "direct"
    assert entries[6].loss == design(GRID, ASKED, method=Exponential(), throw=False).upper
    assert entries[6].lower is None


def test_a_bound_of_0_that_the_loss_reaches_is_kept() -> None:
    known = Problem(GRID.space, utility_loss="euclidean", prior=(1.0, *[0.0] * 8))
    methods = {"best": None, "exponential": Exponential()}
    best, exponential = compare_methods(known, ASKED, methods, [Fraction(1)])
    assert (best.loss, best.lower) == (0.0, 0.0)
    assert exponential.lower is None


def test_nothing_keeps_more_than_was_asked_for(entries: list[Entry]) -> None:
    for entry in entries:
        if entry.loss is not None:
            assert entry.within is not None
            assert entry.within <= float(entry.epsilon) * (1 + 1e-9)
    # Over-spending would be seen: the optimum spends all of it, the exponential mechanism less.
    assert entries[4].within == pytest.approx(1, rel=1e-6)
    assert entries[6].within is not None
    assert entries[6].within < 0.95


def test_what_does_not_apply_has_no_loss_and_says_why(entries: list[Entry]) -> None:
    kernel = entries[3]
    assert (kernel.loss, kernel.lower, kernel.within, kernel.everywhere) == (None,) * 4
    assert "does not apply" in kernel.note
    plain = kernel.to_dict()
    assert plain["certified"] is False
    assert plain["loss"] is None


def test_within_a_radius_the_budget_for_all_pairs_may_be_larger() -> None:
    """On a line the pairs two apart follow from neighbors; on a grid, diagonals cost sqrt 2 in one step of two."""
    near = MetricDP(2, unit="km", radius=1)
    (entry,) = compare_methods(GRID, near, {"best": None}, [Fraction(2)])
    assert entry.within is not None
    assert entry.everywhere is not None
    assert entry.within <= 2 * (1 + 1e-9) < entry.everywhere <= 2 * math.sqrt(2) * (1 + 1e-9)


def test_a_report_that_rules_a_secret_out_is_infinitely_telling() -> None:
    channel = Channel.from_weights(np.diag([2**62] * 9).tolist())
    assert comparison._achieved(channel, GRID.space, None) == math.inf
    told = Entry("a", Fraction(1), "a", 1.0, None, 1.0, math.inf, 0.0, None, "")
    assert told.to_dict()["epsilon_all_pairs"] is None


def test_a_bound_for_a_weaker_promise_holds_for_a_stronger_one(entries: list[Entry]) -> None:
    for entry in entries:
        lower = best_lower(entries, entry.epsilon)
        assert lower is not None
        assert entry.loss is None or lower <= entry.loss
    alone = [entry for entry in entries if entry.epsilon == 3]
    assert best_lower(alone, Fraction(1)) == best_lower(alone, Fraction(3))
    assert best_lower(alone, Fraction(4)) is None


def test_entries_are_told_as_they_come() -> None:
    told: list[Entry] = []
    found = compare_methods(GRID, ASKED, {"blunt": Exponential()}, TWO, on_entry=told.append)
    assert told == found


def test_a_method_without_its_plane_does_not_stop_the_others() -> None:
    line = Problem(MetricSpace.from_points([[0.0], [1.0]], unit="km"), utility_loss="distance")
    found = compare_methods(line, ASKED, {"a": PlanarLaplace(), "b": Exponential()}, [Fraction(1)])
    assert [entry.loss is None for entry in found] == [True, False]


@pytest.mark.parametrize("epsilons", [[], [Fraction(1), Fraction(1)]], ids=["none", "twice"])
def test_budgets_must_be_different(epsilons: list[Fraction]) -> None:
    with pytest.raises(InvalidProblemError, match="epsilons: expected different budgets"):
        compare_methods(GRID, ASKED, {"a": Exponential()}, epsilons)


def test_something_must_be_compared() -> None:
    with pytest.raises(InvalidProblemError, match="methods: expected one method or more"):
        compare_methods(GRID, ASKED, {}, TWO)


def test_memory_counts_what_was_held_and_let_go() -> None:
    peak = PeakMemory()
    if peak.extra is None:
        pytest.skip("this system has no mark that can be set back")
    held = np.ones(8_000_000)
    del held
    assert 48e6 < peak.extra < 256e6


def test_memory_is_unknown_where_the_system_does_not_tell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(comparison, "_RESET", tmp_path / "missing" / "file")
    assert PeakMemory().extra is None
    monkeypatch.setattr(comparison, "_STATUS", tmp_path / "missing")
    assert comparison._read("VmRSS") is None
    assert comparison._read("VmNone") is None
