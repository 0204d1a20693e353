"""The chapter of tables by region: what was published and how noisy it is, and nothing that no guarantee covers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core import printed
from discreet.hierarchy.contingency.expected import expected_errors
from discreet.hierarchy.result import region_names
from discreet.plot.style import BLUE, FAINT, GREY, INK, log_scale, plain
from discreet.report.check_words import proof_of
from discreet.report.figures import drawn
from discreet.report.page import Chapter, render_template
from discreet.report.words import promise_about_a_person, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.outcome import Release
    from discreet.hierarchy.contingency import RegionTables
    from discreet.hierarchy.contingency.expected import ExpectedError

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
_MOST_TILES = 1500
"""Regions that are drawn, at most: the level below is then left out."""


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
        A map of the regions, errors by level and marginal, gaps and what is assumed to be public.
    """
    result, frame = release.result, release.result.frame
    guarantee: PureDP | ZeroConcentratedDP = release.guarantee  # type: ignore[assignment] # the verifier saw to it
    errors, promise = expected_errors(frame, guarantee), promise_about_a_person(guarantee)
    lead = _LEAD.format("people" if frame.max_rows == 1 else "records")
    figure = drawn(
        lambda figure: draw_regions(result, figure.add_subplot()),
        5.6,
        3.6,
        label="Regions by their published totals",
        salt=f"{anchor}-map",
    )
    figure += drawn(
        lambda figure: draw_expected(errors, figure.add_subplot()),
        5.6,
        1.4 + 0.24 * len(errors),
        label="Errors by level and marginal",
        salt=anchor,
    )
    body = render_template(
        "listed.html",
        title=title,
        anchor=anchor,
        lead=lead,
        warning=_warning(release),
        figure=figure,
        head=["level and marginal", "noise of one entry", "error of its estimate"],
        rows=[
            [
                f"{one.level}, {one.marginal}",
                "not measured" if one.alone is None else printed.at_most(one.alone, 3),
                printed.at_most(one.together, 3),
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
            *map(sentence, result.distances_in_words()),
            *(f"Assumed public: {one.name}: {one.description}." for one in frame.assumed_public()),
            *(
                f"{check['name']}: {check['residual']}, limit {check['limit']}"
                for check in proof_of(release.certificate)["checks"]
            ),
        ],
    )
    return Chapter(title, anchor, body, lead)


def _warning(release: Release[RegionTables]) -> str:
    if release.provenance.seeded:
        return "Not private: this was made with seeded randomness."
    return "" if release.certificate.passed else "Not certified: a check failed. Do not use this."


def draw_regions(result: RegionTables, ax: Axes) -> None:
    """Draw the regions as tiles, side by side below their parents, as wide as their published totals.

    Parameters
    ----------
    result
        Published tables.
    ax
        Axes to draw on.
    """
    tree = result.frame.tree
    totals = result.cells.sum(axis=1).astype(np.float64)
    depth = max(
        level
        for level in range(tree.depth + 1)
        if int(tree.level_start[level + 1]) <= _MOST_TILES or not level
    )
    left, width = np.zeros(tree.n), np.zeros(tree.n)
    width[0] = 1.0
    names = region_names(tree)
    shade = np.log1p(totals) / max(float(np.log1p(totals.max())), 1e-9)
    for node in range(int(tree.level_start[depth + 1])):
        level = int(tree.levels[node])
        if level < depth:
            at = left[node]
            for child in tree.children(node):
                left[child] = at
                width[child] = width[node] * totals[child] / totals[node] if totals[node] else 0.0
                at += width[child]
        ax.barh(
            -level,
            width[node],
            left=left[node],
            height=0.94,
            color=BLUE,
            alpha=0.08 + 0.32 * float(shade[node]),
            edgecolor="white",
            linewidth=0.4,
        )
        if width[node] > 0.09:
            label = names[node].rsplit("/", 1)[-1]
            text = f"{label}\n{printed.count(int(totals[node]))}"
            ax.text(
                left[node] + width[node] / 2,
                -level,
                text,
                ha="center",
                va="center",
                color=INK,
                size="x-small",
            )
    ax.set_xlim(0, 1)
    ax.set_yticks(
        [-level for level in range(depth + 1)], [f"level {level + 1}" for level in range(depth + 1)]
    )
    ax.set_xticks([])
    ax.set_title("regions, as wide as their published totals", loc="left", color=INK)
    for side in ("top", "right", "left", "bottom"):
        ax.spines[side].set_visible(False)


def draw_expected(errors: Sequence[ExpectedError], ax: Axes) -> None:
    """Draw the standard deviation of each marginal on each level: by itself, and from all measurements.

    Parameters
    ----------
    errors
        What :func:`discreet.hierarchy.contingency.exact.expected_errors` gave.
    ax
        Axes to draw on.
    """
    places = np.arange(len(errors))
    together = [one.together for one in errors]
    measured = [
        (at, one.alone)
        for at, one in zip(places.tolist(), errors, strict=True)
        if one.alone is not None
    ]
    for at, alone in measured:
        ax.plot([alone, together[at]], [at, at], color=FAINT, linewidth=1.2, zorder=1)
    ax.plot(
        [alone for _, alone in measured],
        [at for at, _ in measured],
        "o",
        mfc="none",
        mec=GREY,
        ms=5,
        label="one entry, as measured",
    )
    ax.plot(together, places, "o", color=BLUE, ms=5, label="its estimate from all measurements")
    ax.set_yticks(places, [f"{one.level}, {one.marginal}" for one in errors])
    ax.invert_yaxis()
    log_scale(ax, "x", [*together, *(alone for _, alone in measured)])
    ax.set_xlim(left=0 if not min(together, default=1.0) else None)
    ax.set_xlabel("standard deviation")
    ax.legend(
        frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, 1.25), ncols=2
    )
    plain(ax)
