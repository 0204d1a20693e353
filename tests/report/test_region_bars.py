"""Bars of regions: what is published, the intervals of kept measurements, and the largest regions alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet import ZeroConcentratedDP
from discreet.core.tree import Tree
from discreet.hierarchy import GroupSizes, query, release
from discreet.hierarchy.contingency import CellCounts, plan
from discreet.hierarchy.reliability import CLASSES
from discreet.plot.counts import MAX_BARS
from discreet.report import make_chapter
from discreet.report.figures import new_figure
from discreet.report.region_bars import draw_bars, level_bars

TREE = Tree.from_paths([("GA", "Fulton"), ("GA", "Cobb"), ("DC",)], root="US")
RHO = ZeroConcentratedDP(1, neighbors="add-remove-person")


def tables(*, kept: bool) -> Any:
    planned = plan(TREE, RHO, columns=["state", "county"], domain={"sex": ["F", "M"]})
    data = CellCounts(planned.frame, np.array([[4000, 3000], [9, 0], [30, 11]]))
    return planned.release(data, keep_measurements=kept)


def test_intervals_and_marks_are_those_of_the_query() -> None:
    for made in (
        tables(kept=True),
        release(
            GroupSizes.from_counts(TREE, [[500, 90], [1, 3], [20, 0]], units="private"),
            RHO,
            keep_measurements=True,
            method="m-h-dp",
        ),
    ):
        result: Any = made.result
        for bars in level_bars(result):
            assert len(bars.names) == bars.n_regions
            assert bars.answers is not None
            figure = new_figure()
            axes = figure.add_subplot()
            draw_bars(bars, axes)
            shown: list[Any] = list(axes.patches)
            widths = [bar.get_width() for bar in shown]
            assert sorted(widths) == sorted(bars.published)
    measured = result.measurements
    regions = [("GA", "Fulton"), ("GA", "Cobb")]
    answers = query(measured, sizes=[1, 2], regions=regions)
    assert bars.answers == answers.to_frame("dict", rounded=True)


def test_without_measurements_there_are_bars_alone() -> None:
    [_, states, counties] = level_bars(tables(kept=False).result)
    assert states.answers is counties.answers is None
    assert [row[2:] for row in states.rows()] == [("", "")] * 2


def test_the_largest_regions_are_shown_in_their_order() -> None:
    paths = [(f"{at:03d}",) for at in range(MAX_BARS + 5)]
    planned = plan(paths, RHO, columns=["state"], domain={"sex": ["F", "M"]})
    counts = np.full((len(paths), 2), 500)
    counts[:5] = 0
    [_, bars] = level_bars(planned.release(CellCounts(planned.frame, counts)).result)
    assert bars.names == [f"{at:03d}" for at in range(5, MAX_BARS + 5)]
    assert bars.n_regions == MAX_BARS + 5


def test_pages_have_a_chart_of_each_level_below_the_root() -> None:
    made = tables(kept=True)
    page = make_chapter("tables", made).body
    marks = made.result.to_reliability(RHO)
    for (level, marginal), numbers in made.result.count_by_reliability(RHO).items():
        of_table = marks.filter(level=level, marginal=marginal)["reliability"].to_list()
        assert numbers == [of_table.count(one) for one in CLASSES]
    assert page.count("Regions of level") == 2
    assert "use with caution" in page
    assert "Counts by reliability" in page
