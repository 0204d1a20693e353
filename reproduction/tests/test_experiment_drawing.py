"""Lines and bars of experiments: told apart without color, with holes where there is no number."""

from __future__ import annotations

import math
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import pytest

from discreet_reproduction.drawing import bars, lines, lines_of, styles
from discreet_reproduction.record import Run
from discreet_reproduction.registry import find
from few import few_of

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("matplotlib")

ROWS: list[dict[str, Any]] = [
    {"k": 2, "method": "a", "loss": 1.0, "error": 0.1},
    {"k": 4, "method": "a", "loss": None, "error": 0.1},
    {"k": 6, "method": "a", "loss": 3.0, "error": 0.1},
    {"k": 2, "method": "b", "loss": math.inf, "error": 0.1},
    {"k": 2, "method": "c", "loss": 2.0, "error": 0.2},
]


@pytest.fixture
def ax() -> Any:
    """Make axes without a window."""
    from matplotlib.figure import Figure

    return Figure().add_subplot()


def test_eleven_lines_differ_in_marks_and_neighbors_in_dashes() -> None:
    kinds = list(islice(styles(), 11))
    assert len({kind["marker"] for kind in kinds}) == 11
    assert all(a["linestyle"] != b["linestyle"] for a, b in pairwise(kinds))


def test_a_line_for_each_name_with_holes(ax: Any) -> None:
    lines(ROWS, "k", "loss", "method", ax, log="xy")
    assert [line.get_label() for line in ax.lines] == ["a", "c"]
    first = ax.lines[0].get_ydata()
    assert first[0] == 1.0
    assert math.isnan(first[1])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "c"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "4", "6"]


def test_nothing_to_draw_is_no_error(ax: Any) -> None:
    lines_of({"none": ([1.0], [math.nan])}, "k", "loss", ax, log="x")
    lines_of({"text across": ([math.nan, math.nan], [1.0, 2.0])}, "k", "loss", ax, log="x")
    assert not ax.lines
    assert ax.get_legend() is None


def test_a_bar_for_each_row_that_has_a_number(ax: Any) -> None:
    bars(ROWS, ("method", "k"), "loss", ax, error="error")
    assert [bar.get_width() for bar in ax.patches] == [1.0, 3.0, 2.0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a, 2", "a, 6", "c, 2"]
    assert ax.yaxis_inverted()


@pytest.mark.parametrize(
    "name", few_of(3, ["submodular/sampling", *(f"lrgeo/figure{n}" for n in (6, 13, 8, 10, 12))])
)
def test_what_is_a_figure_is_drawn(name: str) -> None:
    item: Callable[..., Any] = find(name)
    found = item(Run(quick=True))
    assert found.panels
    from matplotlib.figure import Figure

    for panel in found.panels.values():
        ax = Figure().add_subplot()
        panel(ax)
        assert ax.lines or ax.patches
        assert ax.get_xlabel()
