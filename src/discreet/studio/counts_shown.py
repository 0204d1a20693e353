"""What the page shows of published counts: only what the guarantee covers, so that the page may be copied."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import printed
from discreet.hierarchy import query
from discreet.hierarchy.result import region_names
from discreet.plot import plot_answers, plot_counts
from discreet.plot.style import INK
from discreet.report.figures import new_figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from discreet.core.outcome import Release
    from discreet.core.tree import Tree
    from discreet.hierarchy.query import CountAnswers
    from discreet.hierarchy.result import RegionCounts

__all__ = ["describe_release", "largest_regions"]

MAX_LISTED_REGIONS = 40
"""Regions of one level that are drawn and listed, those with the greatest published counts; and sizes of the whole."""

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
        "levels": _levels(result),
        "sizes": _sizes(result),
        "measured": result.measurements is not None,
        "rows": _sample(result),
        "n_rows": frame.tree.n * frame.n_sizes,
    }


def _levels(result: RegionCounts) -> list[dict[str, Any]]:
    """Return the number of units of the regions of each level, with intervals if measurements were kept."""
    tree, names = result.frame.tree, region_names(result.frame.tree)
    counted = result.counts[:, 1 - result.frame.first_size :].sum(axis=1)
    levels = []
    for level, nodes, largest in largest_regions(tree, counted):
        answers = _answers(result, largest)
        listed = zip(largest.tolist(), _ends(answers, len(largest)), strict=True)
        levels.append(
            {
                "level": level,
                "regions": len(nodes),
                "shown": len(largest),
                "picture": None if answers is None or len(largest) < 2 else _draw_answers(answers),
                "rows": [(names[node], counted[node].item(), ends) for node, ends in listed],
            }
        )
    return levels


def largest_regions(
    tree: Tree, totals: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield each level, its regions, and those of them with the largest published totals, in order."""
    for level in range(tree.depth + 1):
        nodes = np.arange(tree.level_start[level], tree.level_start[level + 1])
        first = np.argsort(-totals[nodes], kind="stable")[:MAX_LISTED_REGIONS]
        yield level + 1, nodes, np.sort(nodes[first])


def _ends(answers: CountAnswers | None, many: int) -> list[str]:
    """Return the intervals as text, empty if there are no measurements."""
    if answers is None:
        return [""] * many
    low, high = answers.values - answers.half_widths, answers.values + answers.half_widths
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return [" to ".join(printed.interval(least, most)) for least, most in ends]


def _answers(result: RegionCounts, nodes: NDArray[np.int64]) -> CountAnswers | None:
    if result.measurements is None:
        return None
    tree, most = result.frame.tree, result.frame.max_size
    regions = [tree.path(node) for node in nodes.tolist()]
    return query(result.measurements, sizes=range(1, most + 1), regions=regions)


def _draw_answers(answers: CountAnswers) -> str:
    figure = new_figure(4.9, 0.22 * len(answers.nodes) + 0.7)
    plot_answers(answers, ax=figure.add_subplot())
    return _picture(figure)


def _sizes(result: RegionCounts) -> dict[str, Any]:
    """Return the counts of the root by size: published, and measured with intervals if measurements were kept."""
    figure, measured = new_figure(4.9, 2.4), result.measurements
    axes = plot_counts(result, ax=figure.add_subplot())
    shown = min(len(axes.patches), MAX_LISTED_REGIONS)
    sizes, rows = result.frame.sizes[:shown].tolist(), []
    for at, size in enumerate(sizes):
        answer = None if measured is None else query(measured, sizes=[size], level=1)
        if answer is not None:
            whiskers: dict[str, Any] = {"fmt": "none", "ecolor": INK, "capsize": 3, "lw": 1}
            axes.errorbar([size], answer.values, yerr=answer.half_widths, **whiskers)
        rows.append((size, result.counts[0, at].item(), *_ends(answer, 1)))
    return {"picture": _picture(figure), "rows": rows, "more": shown < result.frame.n_sizes}


def _picture(figure: Figure) -> str:
    """Return a figure as the address of an image, since the page forbids inline styles."""
    written = io.BytesIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(written.getvalue()).decode()}"


def _sample(result: RegionCounts) -> list[tuple[int, str, int, str]]:
    """Take the first sizes of the first region of each level."""
    tree, names, sizes = result.frame.tree, region_names(result.frame.tree), result.frame.sizes
    each = max(1, _SAMPLE_ROWS // (tree.depth + 1))
    return [
        (level + 1, names[node], int(sizes[at]), result.counts[node, at].item())
        for level, node in enumerate(tree.level_start[:-1].tolist())
        for at in range(min(each, len(sizes)))
    ]
