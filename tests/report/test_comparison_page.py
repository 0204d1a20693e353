"""The chapter of a comparison: lines only where there are channels, infinite budgets in words."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.comparison import Entry
from discreet.report import make_chapter
from discreet.report.listed import _curves


def entry(method: str, epsilon: int, loss: float | None, lower: float | None = None) -> Entry:
    kept = None if loss is None else math.inf
    return Entry(
        method, Fraction(epsilon), "x", loss, lower, kept, kept, 0.5, 3 << 20, "no <channel>"
    )


def test_lines_run_over_the_budgets_where_there_are_channels() -> None:
    given = [
        entry("optimal", 2, 0.5, 0.4),
        entry("optimal", 1, 0.9),
        entry("kernel", 1, None),
        entry("kernel", 2, 0.6),
        entry("never", 1, None),
    ]
    curves = {curve.label: curve for curve in _curves(given)}
    assert list(curves) == ["lower bound", "optimal", "kernel"]
    assert curves["optimal"].epsilons == (1.0, 2.0)
    assert curves["optimal"].losses == (0.9, 0.5)
    assert curves["lower bound"].losses == (0.4, 0.4)
    assert curves["kernel"].epsilons == (2.0,)
    assert [curve.role for curve in curves.values()] == ["bound", "optimum", "baseline"]


def test_the_table_says_what_is_infinite_and_what_is_missing() -> None:
    page = make_chapter("comparison", [entry("optimal", 1, 0.9), entry("kernel", 1, None)]).body
    assert "infinite" in page
    assert "no &lt;channel&gt;" in page
    assert ">none<" in page


def test_without_a_channel_there_is_no_figure() -> None:
    assert "<svg" not in make_chapter("comparison", [entry("kernel", 1, None)]).body


def test_nothing_makes_no_chapter() -> None:
    with pytest.raises(InvalidProblemError, match="entries: expected one entry or more"):
        make_chapter("comparison", [])
