"""The chapter of published counts: what is promised, what the tables look like, how noisy they are, and the proof.

Of a release it shows what the guarantee covers and nothing else. The true counts are drawn beside it only if they are
given, for synthetic data.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import printed
from discreet.core.exact import to_fraction
from discreet.hierarchy.noise_sum import Term, half_width
from discreet.hierarchy.reliability import reliability_in_words
from discreet.plot import plot_counts
from discreet.plot.style import BLUE, FAINT, GREY, INK, plain
from discreet.report.attacked import outcome_chapter, section
from discreet.report.figures import drawn
from discreet.report.region_bars import charts_of_regions
from discreet.report.words import promise_about_a_person

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from discreet.core.outcome import Release
    from discreet.evaluate.attack.finding import Attacked
    from discreet.evaluate.audit.audit import Audit
    from discreet.hierarchy.result import RegionCounts
    from discreet.report.page import Chapter

__all__ = ["chapter"]

_COVERAGE = Fraction(19, 20)


def chapter(
    release: Release[RegionCounts],
    *,
    title: str = "Counts by region and size",
    anchor: str = "counts",
    lead: Sequence[str] = (),
    truth: RegionCounts | None = None,
    artefact: str | None = None,
    seconds: Mapping[str, float] | None = None,
    attacked: Attacked | None = None,
    audits: Sequence[Audit] = (),
) -> Chapter:
    """Render a release of counts.

    Parameters
    ----------
    release
        What :func:`discreet.hierarchy.release` returned.
    title
        Heading of the chapter.
    anchor
        Its name in links.
    lead
        Paragraphs under the heading, plain text.
    truth
        The true counts of *made* data, drawn beside the published ones. Never those of real people: the page is
        for everybody.
    artefact
        Name of the file that holds the table, for the command that checks it.
    seconds
        How long each step took; only for synthetic data, since times may depend on records.
    attacked, audits
        What was tried against it, on synthetic data: attacks that know the truth are private.

    Returns
    -------
    Chapter
        For :func:`discreet.report.write_report`.
    """
    result = release.result
    levels = _levels(release)
    figures = [
        (
            "Groups by size: the whole, and the largest regions of the second level. Bars are published"
            + ("; rings are the true counts of the synthetic data." if truth is not None else "."),
            _multiples(result, truth, anchor),
        )
    ]
    if charts := charts_of_regions(result, anchor):
        caption = "Units of size 1 or more by region: bars are published. Whiskers, where measurements were kept, "
        figures.append((f"{caption}are estimates without bias. {reliability_in_words()}", charts))
    if truth is not None:
        figures.append(
            (
                "Every cell of every level: published against true. On the line the two are equal.",
                _scatter(result, truth, anchor),
            )
        )
    return outcome_chapter(
        "hierarchy.html",
        release,
        (title, anchor, lead),
        section(attacked, audits, anchor=f"{anchor}-attacked"),
        promise=promise_about_a_person(release.guarantee),
        figures=figures,
        levels=levels,
        missed=printed.share_or_less(1 - _COVERAGE),
        made=truth is not None,
        public_units=result.frame.units == "public",
        max_size=result.frame.max_size,
        artefact=artefact,
        numbers=_numbers(release, seconds or {}),
    )


def _levels(release: Release[RegionCounts]) -> list[tuple[int, int, str, str]]:
    """Return for each level its regions, its part of the budget, and the half-width of one measured count."""
    parameters, tree = release.provenance.parameters, release.result.frame.tree
    rows = []
    scales = zip(parameters["scale_by_level"], parameters["scale_of_leaves_by_level"], strict=True)
    for level, (inner, leaf) in enumerate(scales):
        regions = int(tree.level_start[level + 1] - tree.level_start[level])
        widths = [_width(parameters, scale) for scale in dict.fromkeys((inner, leaf))]
        widths_in_words = " or ".join(width for width in widths if width) or "not measured"
        rows.append((level + 1, regions, str(parameters["shares"][level]), widths_in_words))
    return rows


def _width(parameters: Mapping[str, Any], scale: str) -> str:
    """Return the half-width of the interval of one measured count, or an empty text if none was measured."""
    if scale == "none":
        return ""
    # One size is the difference of two survival counts.
    count = 2 if parameters["kind"] == "survival" else 1
    width = half_width(
        {Term(1, to_fraction(scale, "scale")): count}, parameters["noise"], _COVERAGE
    )
    return f"±{printed.count(width)}"


def _multiples(result: RegionCounts, truth: RegionCounts | None, anchor: str) -> str:
    """Return an SVG of groups by size of the root and of the largest regions below it, all over the same sizes."""
    tree = result.frame.tree
    second = np.flatnonzero(tree.levels == 1)
    totals = result.counts[second].sum(axis=1)
    largest = second[np.argsort(-totals, kind="stable")[:8]]
    nodes = [0, *largest.tolist()]

    def draw(figure: Figure) -> None:
        axes = figure.subplots(-(-len(nodes) // 3), 3, sharex=True, squeeze=False).ravel()
        for node, ax in zip(nodes, axes, strict=False):
            known = None if truth is None else truth.counts[node]
            plot_counts(result, tree.path(node), truth=known, ax=ax)
            if known is not None:
                ax.get_legend().remove()
            ax.set(yticks=[], xlabel="", ylabel="")
            ax.tick_params(labelsize=7, length=2)
        for ax in axes[len(nodes) :]:
            ax.remove()
        figure.supxlabel("size", fontsize=8, color=GREY)

    height = 1.7 * -(-len(nodes) // 3) + 0.3
    label = "Published groups by size and region"
    return drawn(draw, 7.4, height, label=label, salt=f"{anchor}-sizes")


def _scatter(result: RegionCounts, truth: RegionCounts, anchor: str) -> str:
    """Return an SVG of published counts against true ones, a panel a level, on scales that are linear near zero.

    Private.
    """
    tree = result.frame.tree
    top = max(1.0, float(max(truth.counts.max(), result.counts.max())))

    def draw(figure: Figure) -> None:
        for level in range(tree.depth + 1):
            ax = figure.add_subplot(1, tree.depth + 1, level + 1)
            ax.plot([0, top], [0, top], color=FAINT, lw=1)
            # Many cells are one point: each is drawn once.
            cells = np.stack([one.counts[tree.levels == level].ravel() for one in (truth, result)])
            ax.plot(*np.unique(cells, axis=1), "o", color=BLUE, ms=2.4, alpha=0.6, mew=0)
            for axis in ("x", "y"):
                getattr(ax, f"set_{axis}scale")("symlog", linthresh=10)
            ax.set_title(f"level {level + 1}", fontsize=8, loc="left", color=INK)
            ax.set_xlabel("true", fontsize=8, color=GREY)
            if not level:
                ax.set_ylabel("published", fontsize=8, color=GREY)
            plain(ax)
            ax.tick_params(labelsize=6.5, length=2)

    label = "Published against true counts"
    return drawn(draw, 7.4, 2.7, label=label, salt=f"{anchor}-cells")


def _numbers(release: Release[RegionCounts], seconds: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return the rows of a release's table of numbers, names with texts; `seconds` are times by name."""
    frame, parameters = release.result.frame, release.provenance.parameters
    rows = [
        ("method", release.provenance.method),
        ("ledger", release.provenance.charge or "unknown"),
        ("measured", f"{parameters['kind']} counts"),
        ("noise", f"discrete {str(parameters['noise']).capitalize()}"),
        ("regions", printed.count(frame.tree.n)),
        ("sizes", f"{frame.first_size} to {printed.count(frame.max_size)}"),
        ("most that a person adds", printed.count(frame.max_quantity)),
    ]
    return rows + [(name, printed.seconds(value)) for name, value in seconds.items()]
