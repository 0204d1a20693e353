"""A bar for each region: its published count, and the interval and reliability of the estimate without bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core import printed
from discreet.hierarchy import contingency, query
from discreet.hierarchy.query import COUNTED_KINDS
from discreet.hierarchy.reliability import CLASSES
from discreet.hierarchy.result import RegionCounts, region_names
from discreet.plot.counts import MAX_BARS
from discreet.plot.style import BLUE, FAINT, GREY, INK, plain
from discreet.report.figures import drawn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from discreet.hierarchy.contingency import RegionTables

_COLORS = dict(zip(CLASSES, (BLUE, GREY, FAINT), strict=True))
"""Class of reliability -> color of the bar."""


@final
@dataclass(frozen=True)
class LevelBars:
    """The regions of one level with the greatest published counts.

    Parameters
    ----------
    level
        The level; the root's is 1.
    n_regions
        Number of regions of the level.
    names
        The regions, in the order of the tree.
    published
        Their published counts.
    answers
        Columns ``value``, ``low``, ``high`` and ``reliability`` of their estimates; ``None`` without measurements.
    """

    level: int
    n_regions: int
    names: Sequence[str]
    published: Sequence[float]
    answers: Mapping[str, Sequence[Any]] | None

    def rows(self) -> list[tuple[str, float, str, str]]:
        """Return name, published count, interval and reliability of each region; without answers the last are empty."""
        if self.answers is None:
            return [
                (name, count, "", "")
                for name, count in zip(self.names, self.published, strict=True)
            ]
        ends = zip(self.answers["low"], self.answers["high"], strict=True)
        intervals = [" to ".join(printed.interval(low, high)) for low, high in ends]
        marks = self.answers["reliability"]
        return list(zip(self.names, self.published, intervals, marks, strict=True))


def level_bars(result: RegionCounts | RegionTables) -> list[LevelBars]:
    """Return the 40 largest regions of each level, the root's first, by records or by units of size 1 or more.

    With kept measurements they have estimates with intervals of 95 %: one query for each level, structural zeros
    unused, so that no domain is too large.

    `result` is what was released; regions are in the order of the tree.
    """
    tree, names = result.frame.tree, region_names(result.frame.tree)
    if isinstance(result, RegionCounts):
        totals = result.counts[:, 1 - result.frame.first_size :].sum(axis=1)
    else:
        totals = result.cells.sum(axis=1)
    made = []
    for level in range(tree.depth + 1):
        nodes = np.arange(tree.level_start[level], tree.level_start[level + 1])
        shown = np.sort(nodes[np.argsort(-totals[nodes], kind="stable")[:MAX_BARS]])
        made.append(
            LevelBars(
                level + 1,
                len(nodes),
                [names[node] for node in shown.tolist()],
                totals[shown].tolist(),
                _answers(result, [tree.path(node) for node in shown.tolist()]),
            )
        )
    return made


def _answers(
    result: RegionCounts | RegionTables, regions: Sequence[tuple[Any, ...]]
) -> Mapping[str, Sequence[Any]] | None:
    """Return the estimates of `regions`, paths below the root, as columns value, low, high and reliability, rounded.

    None without measurements that can be queried, and for tables that no interval belongs to.
    """
    answers: Any
    if isinstance(result, RegionCounts):
        measured = result.measurements
        if measured is None or measured.kind not in COUNTED_KINDS:
            return None
        answers = query(measured, sizes=range(1, result.frame.max_size + 1), regions=regions)
    elif result.measurements is None or result.no_intervals:
        return None
    else:
        answers = contingency.query(result.measurements, regions=regions, zeros="free")
    columns: Mapping[str, Sequence[Any]] = answers.to_frame("dict", rounded=True)
    return columns


def charts_of_regions(result: RegionCounts | RegionTables, anchor: str) -> str:
    """Return the SVG charts of the regions of each level below the root, joined; "" where there is the root alone.

    `anchor` makes their identifiers unique on the page. One query for each level if measurements were kept.
    """

    def chart(bars: LevelBars) -> str:
        largest = f": the {len(bars.names)} largest" * (len(bars.names) < bars.n_regions)
        return drawn(
            lambda figure: draw_bars(bars, figure.add_subplot()),
            5.6,
            bar_chart_height(bars),
            label=f"Regions of level {bars.level}{', with intervals' * bool(bars.answers)}{largest}",
            salt=f"{anchor}-level-{bars.level}",
        )

    return "".join(map(chart, level_bars(result)[1:]))


def bar_chart_height(bars: LevelBars) -> float:
    """Return the height of the chart in inches."""
    return 1.3 + 0.2 * len(bars.names)


def draw_bars(bars: LevelBars, ax: Axes) -> None:
    """Draw published counts as bars, and estimates with their intervals as points with whiskers.

    Parameters
    ----------
    bars
        The regions.
    ax
        Axes to draw on.
    """
    places, answers = np.arange(len(bars.names)), bars.answers
    if answers is None:
        ax.barh(places, bars.published, height=0.7, color=BLUE, label="published")
    else:
        marks = np.array(answers["reliability"])
        for mark, color in _COLORS.items():
            mine = np.flatnonzero(marks == mark)
            if len(mine):
                widths = np.array(bars.published)[mine]
                ax.barh(mine, widths, height=0.7, color=color, label=f"published, {mark}")
        ax.hlines(places, answers["low"], answers["high"], color=INK, linewidth=1.2)
        ax.plot(answers["value"], places, "|", color=INK, ms=6, label="estimate, 95 % interval")
    ax.set_yticks(places, bars.names)
    ax.set_ylim(len(places) - 0.4, -0.6)
    ax.set_xlabel(f"count, level {bars.level}")
    ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    plain(ax)
    ax.grid(visible=False, axis="y")
