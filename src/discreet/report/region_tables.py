"""The chapter of tables by region: what was published and how noisy it is, and nothing that no guarantee covers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core import printed
from discreet.hierarchy.contingency.expected import expected_errors
from discreet.hierarchy.reliability import CLASSES, reliability_in_words
from discreet.plot.style import BLUE, FAINT, GREY, VERMILION, log_scale, plain
from discreet.report.check_words import proof_of
from discreet.report.figures import drawn
from discreet.report.page import list_chapter
from discreet.report.region_bars import charts_of_regions
from discreet.report.words import promise_about_a_person, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.outcome import Release
    from discreet.hierarchy.contingency import RegionTables
    from discreet.hierarchy.contingency.expected import ExpectedError
    from discreet.report.page import Chapter

__all__ = ["chapter"]

_LEAD = (
    "How many {} of each category every region has: whole numbers, none below zero, that add up over regions and "
    "categories. Cells that may not be negative are pushed up where there is nothing, and small ones are too low: ask "
    "discreet query for answers without bias."
)
_ERRORS = (
    "Noise and error are upper bounds of standard deviations of one entry: as it was measured by itself, and as it is "
    "estimated from all measurements together. Both are public facts."
)


def chapter(
    release: Release[RegionTables],
    *,
    title: str = "Tables by region",
    anchor: str = "tables",
) -> Chapter:
    """Render a release of tables.

    Parameters
    ----------
    release
        What :meth:`discreet.hierarchy.contingency.TablesPlan.release` returned.
    title, anchor
        The heading, and its name in links.

    Returns
    -------
    Chapter
        Regions with intervals, errors by level and marginal, what whole tables cost and what is assumed public.
    """
    result, frame = release.result, release.result.frame
    guarantee: PureDP | ZeroConcentratedDP = release.guarantee  # type: ignore[assignment] # the verifier saw to it
    errors, promise = expected_errors(frame, guarantee), promise_about_a_person(guarantee)
    classes = result.count_by_reliability(guarantee)
    lead = _LEAD.format("people" if frame.max_rows == 1 else "records")
    figure = charts_of_regions(result, anchor) + drawn(
        lambda figure: draw_expected(errors, figure.add_subplot()),
        5.6,
        1.6 + 0.24 * len(errors),
        label="Errors by level and marginal",
        salt=anchor,
    )
    return list_chapter(
        title,
        anchor,
        lead,
        warning=_warning(release),
        figure=figure,
        head=["level and marginal", "noise of one entry", "error of its estimate", *CLASSES],
        rows=[
            [
                f"{one.level}, {one.marginal}",
                "not measured" if one.alone is None else printed.at_most(one.alone, 3),
                printed.at_most(one.together, 3),
                *map(printed.count, classes[one.level, one.marginal]),
            ]
            for one in errors
        ],
        notes=[
            promise["guess"],
            *promise["cautions"],
            promise["guarantee"],
            promise["group"],
            f"Ledger: {release.provenance.charge or 'unknown'}.",
            _ERRORS,
            f"Counts by reliability. {reliability_in_words()}",
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
        What :func:`discreet.hierarchy.contingency.expected.expected_errors` returned.
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
