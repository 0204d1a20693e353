"""Split & Carry with the printed carry rule: the counterexample to it, its links, and the worked example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import Unproven
from discreet.kanonymity.candidate import SearchLimits, audit
from discreet.kanonymity.methods.initial import variance_order
from discreet.kanonymity.methods.split_carry import SplitCarry
from discreet.kanonymity.problem import Problem
from discreet.kanonymity.search.search import search
from discreet_reproduction.kanonymity.as_published.split_carry import (
    PublishedSplitCarry,
    carried_rows,
    links,
    reproduce,
)
from kanonymity.tables import fars, mixed, numeric


def carry_counterexample() -> Problem:
    """Nine equal rows and five near pairs (E3)."""
    rows = np.zeros((19, 5))
    for pair, apart in enumerate((0.10, 0.11, 0.12, 0.13, 0.14)):
        rows[9 + 2 * pair : 11 + 2 * pair, pair] = apart
    return numeric(rows, low=0.0, high=1.0)


def test_the_printed_carry_rule_publishes_a_class_of_two() -> None:
    """E3: seven of nine equal rows are carried and published with wider cells; two stay behind."""
    problem = carry_counterexample()
    assert set(variance_order(problem)[:9].tolist()) == set(range(9))
    found = reproduce(problem, 3, PublishedSplitCarry())
    assert isinstance(found, Unproven)
    assert found.guarantee is None
    assert "fewer than k" in found.reason
    assert found.result.smallest_class == 2
    sound = SplitCarry().solve(problem, 3, SearchLimits())
    assert audit(sound.labels, 3).passed


def test_a_ring_of_nine_is_broken_by_the_rule() -> None:
    rows = np.arange(9)
    linked = links(rows, [rows], 3, rows)
    assert (linked.sum(axis=1) == 2).all()
    assert carried_rows(linked, 3).tolist() == [0, 1, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(("k", "size"), [(3, 3), (3, 5), (4, 4), (4, 6), (5, 9), (2, 2), (2, 3)])
def test_links_are_as_many_as_the_program_asks_for(k: int, size: int) -> None:
    rows = np.arange(size)
    links_of_row = links(rows, [rows], k, rows).sum(axis=1)
    # An odd class has no perfect matching, so that an even k has no solution there (E1).
    impossible = k % 2 == 0 and size % 2 == 1
    assert (links_of_row == (size - 1 if impossible else k - 1)).all()


def test_as_published_it_solves_the_worked_example_too() -> None:
    found = reproduce(fars(), 3, PublishedSplitCarry(), SearchLimits.within(60)).result
    assert found.loss == pytest.approx(19.266129, abs=1e-6)
    assert found.smallest_class == 3
    assert found.fewest_matches(fars()) >= 3


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: PublishedSplitCarry(1),
        lambda: reproduce(mixed(9, 0), 3, PublishedSplitCarry()),
    ],
)
def test_nonsense_is_refused(attempt: Any) -> None:
    with pytest.raises(InvalidProblemError):
        attempt()


def test_what_has_no_guarantee_is_not_a_method_of_the_search() -> None:
    with pytest.raises(InvalidProblemError, match="which has none: "):
        search(fars(), 3, method=PublishedSplitCarry())  # type: ignore[arg-type]
    with pytest.raises(InvalidProblemError, match="expected one of doka-greedy, .*'mondrian'"):
        reproduce(fars(), 3, "mondrian")
    assert reproduce(fars(), 3, "split-carry-as-published").guarantee is None
    assert reproduce(fars(), 3, PublishedSplitCarry()).guarantee is None
