"""The chapters of counts and of tables by region: what is promised, what they look like, how noisy they are, the proof.

Of a release they show what the guarantee covers and nothing else. True counts are drawn beside published ones only if
they are given, for synthetic data.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import printed
from discreet.core.exact import to_fraction
from discreet.hierarchy.contingency.expected import expected_errors
from discreet.hierarchy.contingency.result import shrunk_in_words
from discreet.hierarchy.noise_sum import Term, half_width
from discreet.hierarchy.reliability import CLASSES, reliability_in_words
from discreet.plot import plot_counts
from discreet.plot.style import BLUE, FAINT, GREY, INK, VERMILION, log_scale, plain
from discreet.report.attacked import outcome_chapter
from discreet.report.check_words import proof_of
from discreet.report.figures import drawn
from discreet.report.page import list_chapter
from discreet.report.region_bars import charts_of_regions
from discreet.report.words import promise_about_a_person, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.outcome import Release
    from discreet.evaluate.attack.finding import Attacked
    from discreet.evaluate.audit.audit import Audit
    from discreet.hierarchy.contingency import RegionTables
    from discreet.hierarchy.contingency.expected import ExpectedError
    from discreet.hierarchy.result import RegionCounts
    from discreet.report.page import Chapter


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
        Step -> seconds that it took; only for synthetic data, since times may depend on records.
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
        (attacked, audits),
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
    """Return for each level number, regions, share of the budget, and the half-width of one measured count.

    The half-width is a text such as "±12", or two with "or" where the lowest regions have other noise; levels count
    from 1.

    `release` is that of the chapter; only its public parameters are read.
    """
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
    """Return the half-width, at 95 %, of the interval of one measured count as "±12", or "" if none was measured.

    `scale` is the scale of the noise as exact text, or "none"; `parameters` are those of the release.
    """
    if scale == "none":
        return ""
    # One size is the difference of two survival counts.
    count = 2 if parameters["kind"] == "survival" else 1
    width = half_width(
        {Term(1, to_fraction(scale, "scale")): count}, parameters["noise"], _COVERAGE
    )
    return f"±{printed.count(width)}"


def _multiples(result: RegionCounts, truth: RegionCounts | None, anchor: str) -> str:
    """Return an SVG of groups by size of the root and of the eight largest regions below it, all over the same sizes.

    `truth` adds rings at the true counts, which are then private; `anchor` makes identifiers unique.
    """
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
    """Return an SVG of published against true counts, a panel for each level, linear below 10, then logarithmic.

    Private, as the true counts are; `anchor` makes identifiers unique.
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
    """Return the rows of a release's table of numbers, names with texts; `seconds` are times by name.

    Facts that are public, and the times that are given.
    """
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


_TABLES_LEAD = (
    "How many {} of each category every region has: whole numbers, none below zero, that add up over regions and "
    "categories. Cells that may not be negative are pushed up where there is nothing, and small ones are too low: ask "
    "discreet query for answers without bias."
)
_TABLE_ERRORS = (
    "Noise and error are upper bounds of standard deviations of one entry: as it was measured by itself, and as it is "
    "estimated from all measurements together. Both are public facts."
)


def tables_chapter(
    release: Release[RegionTables],
) -> Chapter:
    """Render a release of tables.

    Parameters
    ----------
    release
        What :meth:`discreet.hierarchy.contingency.TablesPlan.release` returned.

    Returns
    -------
    Chapter
        Regions with intervals, errors by level and marginal, reliability of the counts, the checks, and what is
        assumed public. Expected errors are computed anew.
    """
    result, frame = release.result, release.result.frame
    guarantee: PureDP | ZeroConcentratedDP = release.guarantee  # type: ignore[assignment] # the verifier saw to it
    errors, promise = expected_errors(frame, guarantee), promise_about_a_person(guarantee)
    classes = {} if result.no_intervals else result.count_by_reliability(guarantee)
    figure = charts_of_regions(result, "tables") + drawn(
        lambda figure: draw_expected(errors, figure.add_subplot()),
        5.6,
        1.6 + 0.24 * len(errors),
        label="Errors by level and marginal",
        salt="tables",
    )
    return list_chapter(
        "Tables by region",
        "tables",
        _TABLES_LEAD.format("people" if frame.max_rows == 1 else "records"),
        warning=_warning(release),
        figure=figure,
        head=["level and marginal", "noise of one entry", "error of its estimate"]
        + [*CLASSES] * bool(classes),
        rows=[
            [
                f"{one.level}, {one.marginal}",
                "not measured" if one.alone is None else printed.at_most(one.alone, 3),
                printed.at_most(one.together, 3),
                *map(printed.count, classes.get((one.level, one.marginal), ())),
            ]
            for one in errors
        ],
        notes=[
            promise["guess"],
            *promise["cautions"],
            promise["guarantee"],
            promise["group"],
            f"Ledger: {release.provenance.charge or 'unknown'}.",
            _TABLE_ERRORS,
            *[f"Counts by reliability. {reliability_in_words()}"] * bool(classes),
            *map(sentence, shrunk_in_words(release.provenance.parameters.get("method", {}))),
            *map(sentence, result.distances_in_words()),
            *(f"Assumed public: {one.name}: {one.description}." for one in frame.assumed_public()),
            *(
                f"{check['name']}: {check['residual']}, limit {check['limit']}"
                for check in proof_of(release.certificate)["checks"]
            ),
        ],
    )


def _warning(release: Release[RegionTables]) -> str:
    """Return the warning of a release that is seeded or failed a check, else ""."""
    if release.provenance.seeded:
        return "Not private: this was made with seeded randomness."
    return "" if release.certificate.passed else "Not certified: a check failed. Do not use this."


def draw_expected(errors: Sequence[ExpectedError], ax: Axes) -> None:
    """Draw the standard error of each marginal on each level, measured alone and estimated, beside naive noise.

    Parameters
    ----------
    errors
        What :func:`discreet.hierarchy.contingency.expected.expected_errors` returned; one row each, the first on top.
    ax
        Axes to draw on.
    """
    places = np.arange(len(errors))
    alone = [np.nan if one.alone is None else one.alone for one in errors]
    together, naive = ([getattr(one, name) for one in errors] for name in ("together", "naive"))
    ax.hlines(places, together, alone, color=FAINT, linewidth=1.2, zorder=1)
    ax.plot(alone, places, "o", mfc="none", mec=GREY, ms=5, label="one entry, as measured")
    ax.plot(together, places, "o", color=BLUE, ms=5, label="its estimate from all measurements")
    ax.plot(naive, places, "|", color=VERMILION, ms=9, label="independent noise, equal parts")
    ax.set_yticks(places, [f"{one.level}, {one.marginal}" for one in errors])
    ax.invert_yaxis()
    log_scale(ax, "x", [*together, *alone, *naive])
    ax.set_xlim(left=0 if not min(together, default=1.0) else None)
    ax.set_xlabel("standard error of one entry")
    ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1))
    plain(ax)
