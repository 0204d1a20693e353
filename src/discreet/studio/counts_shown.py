"""What the page shows of published counts: only what the guarantee covers, so that the page may be copied."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

from discreet.core import printed
from discreet.hierarchy import query
from discreet.plot import plot_counts
from discreet.plot.style import INK
from discreet.report.figures import new_figure
from discreet.report.region_bars import MAX_BARS, bar_chart_height, draw_bars, level_bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.core.outcome import Release
    from discreet.hierarchy.contingency import RegionTables
    from discreet.hierarchy.query import CountAnswers
    from discreet.hierarchy.result import RegionCounts
    from discreet.report.region_bars import LevelBars

__all__ = ["describe_levels", "describe_release", "picture", "sample_rows"]

_SAMPLE_ROWS = 12

_WHOLE_AND_SUMS = {"numbers that are not whole", "numbers below zero", "sums that do not hold"}
"""Checks that a table passes whose numbers are counts that add up; some methods do not promise all of them."""


def describe_release(release: Release[RegionCounts], _planned: object = None) -> dict[str, Any]:
    """Return the values and drawings of a release for its page.

    Parameters
    ----------
    release
        What :func:`discreet.hierarchy.release` returned.

    Returns
    -------
    dict
        What the template ``counts_result.html`` names besides what all publications do.
    """
    result, assumed = release.result, release.provenance.assumed_public
    frame = result.frame
    return {
        "method": release.provenance.method,
        "public_units": frame.units == "public",
        "max_size": frame.max_size,
        "assumed": [(public.name, public.description) for public in assumed],
        "declared": any(public.name.startswith("declaration") for public in assumed),
        "adds_up": {check.name for check in release.certificate.checks} >= _WHOLE_AND_SUMS,
        "levels": describe_levels(result),
        "sizes": _sizes(result),
        "measured": result.measurements is not None,
        **sample_rows(result),
    }


def describe_levels(result: RegionCounts | RegionTables) -> list[dict[str, Any]]:
    """Return the regions of each level for a page: rows of a table, and a chart where there are several."""
    return [
        {
            "level": bars.level,
            "regions": bars.n_regions,
            "picture": _draw_level(bars) if len(bars.names) > 1 else None,
            "rows": bars.rows(),
        }
        for bars in level_bars(result)
    ]


def _draw_level(bars: LevelBars) -> str:
    """Return the picture of a level's bars."""
    figure = new_figure(4.9, bar_chart_height(bars))
    draw_bars(bars, figure.add_subplot())
    return picture(figure)


def _ends(answers: CountAnswers | None) -> list[str]:
    """Return the intervals of answers as text, empty without measurements."""
    if answers is None:
        return [""]
    low, high = answers.values - answers.half_widths, answers.values + answers.half_widths
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return [" to ".join(printed.interval(least, most)) for least, most in ends]


def _sizes(result: RegionCounts) -> dict[str, Any]:
    """Return a picture and the rows of the root's counts by size: published, and measured with intervals if kept."""
    figure, measured = new_figure(4.9, 2.4), result.measurements
    axes = plot_counts(result, ax=figure.add_subplot())
    shown = min(len(axes.patches), MAX_BARS)
    sizes, rows = result.frame.sizes[:shown].tolist(), []
    for at, size in enumerate(sizes):
        answer = None if measured is None else query(measured, sizes=[size], level=1)
        if answer is not None:
            whiskers: dict[str, Any] = {"fmt": "none", "ecolor": INK, "capsize": 3, "lw": 1}
            axes.errorbar([size], answer.values, yerr=answer.half_widths, **whiskers)
        rows.append((size, result.counts[0, at].item(), *_ends(answer)))
    return {"picture": picture(figure), "rows": rows, "more": shown < result.frame.n_sizes}


def picture(figure: Figure) -> str:
    """Return a figure as the address of an image, since the page forbids inline styles."""
    written = io.BytesIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(written.getvalue()).decode()}"


def sample_rows(result: RegionCounts | RegionTables) -> dict[str, Any]:
    """Return the first rows of a published table as texts, its columns, and the number of its rows."""
    table = result.to_frame("polars")
    rows = [
        ["" if one is None else str(one) for one in row] for row in table.head(_SAMPLE_ROWS).rows()
    ]
    return {"columns": table.columns, "rows": rows, "n_rows": table.height}
