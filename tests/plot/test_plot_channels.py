"""Plots draw what they are given, on the axes they are given, and leave the world alone."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.plot import Curve, plot_bounds, plot_channel_row, plot_frontier
from discreet.plot.style import spread

POINTS = [(0.0, 0.0), (1.0, 0.0), (2.0, 1.0)]


@pytest.fixture
def channel() -> Channel:
    quarter = 2**60
    return Channel.from_weights(
        [
            [2 * quarter, quarter, quarter],
            [quarter, 2 * quarter, quarter],
            [0, quarter, 3 * quarter],
        ]
    )


@dataclass(frozen=True)
class Step:
    lower: float | None
    upper: float | None


def test_areas_are_the_probabilities_of_the_secret(channel: Channel) -> None:
    ax = plot_channel_row(channel, POINTS, 2, edges=[(0, 1), (1, 2)])
    assert isinstance(ax, Axes)
    (discs,) = [c for c in ax.collections if c.get_label() == "reported"]
    sizes = np.asarray(discs.get_sizes())  # type: ignore[attr-defined]
    assert sizes / sizes.sum() == pytest.approx([0, 0.25, 0.75])
    assert np.asarray(discs.get_offsets()).tolist() == [list(point) for point in POINTS]
    (ring,) = [c for c in ax.collections if c.get_label() == "true place"]
    assert np.asarray(ring.get_offsets()).tolist() == [[2.0, 1.0]]
    (roads,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert len(roads.get_segments()) == 2


def test_reports_may_be_few(channel: Channel) -> None:
    ax = plot_channel_row(channel.then([0, 1, 1]), POINTS, 0, reports=[2, 0], unit="km")
    (discs,) = [c for c in ax.collections if c.get_label() == "reported"]
    assert np.asarray(discs.get_offsets()).tolist() == [[0.0, 0.0], [2.0, 1.0]]
    assert ax.get_xlabel() == "km"


@pytest.mark.parametrize(
    ("points", "secret", "reports", "field"),
    [
        (POINTS[:2], 0, None, "points"),
        (POINTS, 3, None, "secret"),
        (POINTS, -1, None, "secret"),
        (POINTS, 0, [0, 1], "reports"),
    ],
)
def test_a_row_that_does_not_fit_is_refused(
    channel: Channel,
    points: list[tuple[float, float]],
    secret: int,
    reports: list[int] | None,
    field: str,
) -> None:
    with pytest.raises(InvalidProblemError, match=f"^{field}: "):
        plot_channel_row(channel, points, secret, reports=reports)


def test_the_frontier_draws_each_curve_on_the_axes_given() -> None:
    given = Figure().add_subplot()
    curves = [
        Curve("bound", (1, 2, 4), (0.8, 0.4, 0.1), "bound"),
        Curve("reached", (1, 2, 4), (0.9, 0.5, 0.1), "optimum"),
        Curve("one", (1, 2, 4), (0.9, 0.8, 0.7)),
        Curve("another", (1, 2, 4), (1.0, 1.0, 1.0)),
    ]
    ax = plot_frontier(curves, unit="km", loss_unit="minutes", ax=given)
    assert ax is given
    drawn = {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in ax.lines}
    assert drawn == {curve.label: list(curve.losses) for curve in curves}
    assert [text.get_text() for text in ax.texts] == ["reached", "bound", "one", "another"] or {
        text.get_text() for text in ax.texts
    } == set(drawn)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("epsilon per km", "expected loss, minutes")
    assert ax.get_ylim()[0] == 0


def test_baselines_differ_in_color_in_marker_and_in_dashes() -> None:
    ax = plot_frontier([Curve(str(i), (1, 2), (i + 1, i)) for i in range(4)])
    for trait in ("get_color", "get_marker", "_unscaled_dash_pattern"):
        seen = {
            str(getattr(line, trait)() if trait.startswith("get") else getattr(line, trait))
            for line in ax.lines
        }
        assert len(seen) == 4


def test_bounds_close_in_and_what_is_unknown_is_left_out() -> None:
    steps = [Step(None, float("inf")), Step(0.2, 2.0), Step(0.5, 3.0), Step(0.4, 1.0)]
    ax = plot_bounds(steps)
    lower, upper = ax.lines
    assert np.asarray(lower.get_ydata()).tolist() == [0.2, 0.5, 0.5]
    assert np.asarray(upper.get_ydata()).tolist() == [2.0, 2.0, 1.0]
    assert np.asarray(lower.get_xdata()).tolist() == [2, 3, 4]


def test_where_no_bound_is_known_no_line_is_drawn() -> None:
    assert len(plot_bounds([Step(None, 1.0)]).lines) == 1


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="^curves: "):
        plot_frontier([])
    with pytest.raises(InvalidProblemError, match="^iterations: "):
        plot_bounds([])
    with pytest.raises(InvalidProblemError, match="^losses: "):
        Curve("x", (1.0, 2.0), (1.0,))
    with pytest.raises(InvalidProblemError, match="^losses: "):
        Curve("x", (), ())


def test_plots_neither_open_windows_nor_set_a_style(channel: Channel) -> None:
    before = dict(mpl.rcParams)
    ax = plot_channel_row(channel, POINTS, 0)
    plot_frontier([Curve("x", (1, 2), (2, 1))])
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or ax.figure is not None
    assert ax.figure.canvas.manager is None


def test_labels_are_pushed_apart_and_stay_inside() -> None:
    moved = spread(np.array([0.0, 0.01, 0.5, 0.97, 0.99]))
    assert (np.diff(moved) > 0.06).all()
    assert moved[-1] <= 1
    assert moved[2] == 0.5
