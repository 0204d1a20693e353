"""Plots of counts, tables and choices: what is drawn is what was given."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from discreet import Tree
from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP
from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate.audit.audit import Audit
from discreet.hierarchy import Frame, RegionCounts
from discreet.hierarchy.answers import Answers
from discreet.plot import (
    plot_answers,
    plot_audits,
    plot_bounds,
    plot_channel_row,
    plot_class_sizes,
    plot_counts,
    plot_frontier,
    plot_intervals,
    plot_rows,
    plot_selection,
)
from discreet.plot.frontier import Curve
from discreet.submodular.problem import ChoiceFacts, Selection


@dataclass(frozen=True)
class Step:
    lower: float
    upper: float


FRAME = Frame(Tree.from_paths([("GA", "a"), ("GA", "b"), ("NY",)], root="US"), 4, "private")


def test_cells_of_a_grid_are_shaded_by_what_a_computed_row_says() -> None:
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    channel = AnchoredChannel(space, "0.5", range(9), [2**40] * 9, lift=2**16)
    points = space.points
    assert points is not None
    ax = plot_channel_row(channel, points, 4, cell=1.0)
    (cells,) = [c for c in ax.collections if c.get_label() == "reported"]
    shades = np.asarray(cells.get_array())
    row = channel.row(4)
    assert shades == pytest.approx(row / row.sum())
    assert shades.argmax() == 4


def test_counts_are_drawn_up_to_the_last_size_that_matters_and_truth_over_them() -> None:
    result = RegionCounts(
        FRAME, np.array([[9, 3, 0, 0], [6, 2, 0, 0], [3, 1, 0, 0], [3, 1, 0, 0], [3, 1, 0, 0]])
    )
    ax = plot_counts(result, ["GA"], truth=[5, 2, 1, 0])
    assert [int(bar.get_height()) for bar in ax.patches] == [6, 2, 0]  # type: ignore[attr-defined]
    assert np.asarray(ax.lines[0].get_ydata()).tolist() == [5, 2, 1]
    assert ax.get_title(loc="left") == "GA"
    with pytest.raises(InvalidProblemError, match="^truth: "):
        plot_counts(result, truth=[1, 2])


def test_answers_are_sorted_and_many_have_no_names() -> None:
    def answers(values: Any, half: Any, interval: Fraction) -> Answers:
        names, levels = tuple(map(str, values)), (2,) * len(values)
        ends = values - half, values + half
        return Answers(names, levels, values, *ends, half**2, interval, "Units")

    ax = plot_answers(answers(np.array([9, 2]), np.array([1, 4]), Fraction(9, 10)))
    assert np.asarray(ax.lines[0].get_xdata()).tolist() == [2, 9]
    (drawn,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    assert [segment[:, 0].tolist() for segment in drawn.get_segments()] == [[-2, 6], [8, 10]]
    assert ax.get_xlabel().endswith("90 %")
    crowded = plot_answers(answers(np.arange(41), np.ones(41, dtype=np.int64), Fraction(1, 2)))
    assert crowded.get_ylabel() == "41 regions"
    assert not crowded.get_yticklabels()


def test_a_number_outside_its_interval_is_marked() -> None:
    ax = plot_intervals([1, 2, 3], [1, 1, 4], [2, 2, 5])
    marked = [line for line in ax.lines if line.get_label() == "outside its interval"]
    assert np.asarray(marked[0].get_ydata()).tolist() == [3]
    assert len(plot_intervals([1, 2], [1, 1], [2, 2]).lines) == 1
    with pytest.raises(InvalidProblemError, match="^low and high: "):
        plot_intervals([1, 2], [1], [2])


def test_classes_below_k_look_different_in_grey_too() -> None:
    ax = plot_class_sizes([1, 5, 5], k=5)
    small, large = ax.patches
    assert small.get_hatch() == "///"
    assert not large.get_hatch()
    assert len(plot_class_sizes([5], k=5).patches) == 1
    for sizes in ([], [0, 3]):
        with pytest.raises(InvalidProblemError, match="^sizes: "):
            plot_class_sizes(sizes, k=2)


def test_cells_that_changed_stand_out_and_no_others() -> None:
    ax = plot_rows(["age", "sex"], [(34, "f"), (35, "m")], [("30 .. 39", "f"), (35, "*")])
    bold = {
        cell.get_text().get_text()
        for cell in ax.tables[0].get_celld().values()
        if cell.get_text().get_fontweight() == "bold"
    }
    assert bold == {"30 .. 39", "*"}
    with pytest.raises(InvalidProblemError, match="^after: "):
        plot_rows(["age"], [(1,)], [])
    with pytest.raises(InvalidProblemError, match="^before and after: "):
        plot_rows(["age"], [(1,)], [(1, 2)])


def test_disjoint_sets_have_a_marker_each_and_people_are_drawn_where_given() -> None:
    statement = ChoiceFacts(
        4, 2, 2, decomposable=True, sensitivity=Fraction(1), neighbors="add-remove-one"
    )
    chosen = Selection(((0, 0), (3, 1)), statement)
    points = [(0, 0), (1, 0), (0, 1), (1, 1)]
    ax = plot_selection(chosen, points, people=[(0.5, 0.5)], unit="km")
    shown = {part.get_label(): np.asarray(part.get_offsets()).tolist() for part in ax.collections}
    assert shown["chosen, set 1"] == [[0.0, 0.0]]
    assert shown["chosen, set 2"] == [[1.0, 1.0]]
    assert shown["records"] == [[0.5, 0.5]]
    with pytest.raises(InvalidProblemError, match="^points: "):
        plot_selection(chosen, points[:3])


def test_a_frontier_may_be_about_k_and_bounds_about_seconds() -> None:
    ax = plot_frontier([Curve("ours", (2, 5), (0.1, 0.2))], parameter="k", quantity="mean loss")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("k", "mean loss")
    steps = [Step(0.1, 2.0), Step(0.2, 1.0)]
    timed = plot_bounds(steps, seconds=[0.5, 3.0])
    assert np.asarray(timed.lines[0].get_xdata()).tolist() == [0.5, 3.0]
    assert timed.get_xlabel() == "seconds"
    with pytest.raises(InvalidProblemError, match="^seconds: "):
        plot_bounds(steps, seconds=[1.0])


def judged(claimed: str, lower: float, *, parameter: str = "epsilon") -> Audit:
    return Audit(
        PureDP(claimed, "replace-one"),
        "exact",
        parameter,
        Fraction(claimed),
        lower,
        rejected=lower > Fraction(claimed),
    )


def test_an_audit_s_bar_ends_at_what_was_proved_and_its_stroke_at_the_claim() -> None:
    ax = plot_audits({"kept": judged("2", 1.5), "false": judged("1", 1.5)})
    widths = [float(bar.get_width()) for bar in ax.patches]  # type: ignore[attr-defined]
    assert widths == [1.5, 1.5]
    assert [np.asarray(line.get_xdata()).tolist() for line in ax.lines] == [[2, 2], [1, 1]]
    assert [bar.get_hatch() for bar in ax.patches] == [None, "////"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["kept", "false: refused"]


def test_what_is_infinite_ends_in_an_arrow_at_the_edge() -> None:
    ax = plot_audits({"ruled out": judged("1", float("inf"))})
    *_, arrow = ax.lines
    assert arrow.get_marker() == ">"
    assert np.asarray(arrow.get_xdata()).tolist() == [ax.get_xlim()[1]]


@pytest.mark.parametrize(
    "audits",
    [
        {},
        {"one": judged("1", 0.5), "another": judged("1", 0.5, parameter="rho")},
        {"rows": judged("5", 4, parameter="k")},
    ],
)
def test_audits_of_several_parameters_or_of_none_are_refused(audits: dict[str, Audit]) -> None:
    with pytest.raises(InvalidProblemError, match="^audits: "):
        plot_audits(audits)


def test_sizes_are_whole_numbers_and_the_label_of_k_is_above_the_bars() -> None:
    ax = plot_class_sizes([5, 5, 5, 6], k=5)
    assert all(float(tick).is_integer() for tick in ax.get_xticks())
    assert ax.get_ylim()[1] >= 1.1 * max(float(bar.get_height()) for bar in ax.patches)  # type: ignore[attr-defined]
